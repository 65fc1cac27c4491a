//! Periodic checks of the publisher while no messages arrive.

use super::Error;
use std::time::{Duration, Instant};
use touchline_shm::broadcast::RingEvent;

/// Most polls without a message before the clock is read.
const POLLS: u32 = 64;
/// Interval of checks; each is a few system calls.
const EVERY: Duration = Duration::from_millis(100);
/// Time between two readings of the clock from which on the reader polls rarely: then more of its polls read the clock.
const RARE: Duration = Duration::from_millis(12);

/// Time of the next check, and results of the last.
#[derive(Debug)]
pub struct Watch {
    /// Polls without a message since the clock was read, and those after which it is read again.
    polls: u32,
    step: u32,
    clock_read: Option<Instant>,
    looked: Option<Instant>,
    /// No process publishes, as of the last check.
    pub is_gone: bool,
    /// The publisher is stalled, and that was reported: no book is handed out as live.
    pub is_stalled: bool,
    /// A stall has started or ended, to be reported once everything published is read.
    pub turn_seen: bool,
    /// The end of the publisher was detected, to be reported once everything published is read.
    pub gone_seen: bool,
    /// The publisher does not wait for a reader that joined for that, to be reported once everything published is read.
    pub unwaited_seen: bool,
    /// The bus goes on in other files, to which the reader moves once everything published in these is read.
    pub move_seen: bool,
    /// The end was reported since the last message.
    pub gone_notified: bool,
    /// Damage of the files was reported.
    pub damage_notified: bool,
    /// Attempts in a row to move to other files that were refused.
    refusals: u32,
    /// Position at which the ring was corrupt last, and the one at which the reader went on.
    corrupt_at: Option<(u64, u64)>,
    /// Number of a writer whose start was not read, as of the last check.
    unread: Option<u64>,
}

impl Watch {
    /// The first poll without a message checks at once.
    pub fn new(is_gone: bool, is_stalled: bool) -> Watch {
        Watch {
            polls: POLLS,
            step: 1,
            clock_read: None,
            looked: None,
            is_gone,
            is_stalled: is_stalled && !is_gone,
            turn_seen: false,
            gone_seen: false,
            unwaited_seen: false,
            move_seen: false,
            gone_notified: false,
            damage_notified: false,
            refusals: 0,
            corrupt_at: None,
            unread: None,
        }
    }

    /// A publisher is present.
    pub fn is_back(&mut self) {
        self.is_gone = false;
        self.gone_seen = false;
        self.gone_notified = false;
        self.is_stalled = false;
        self.turn_seen = false;
        self.damage_notified = false;
        self.refusals = 0;
    }

    /// Whether the caller reports the refusal of a move to other files: once, when a second attempt was refused too, because the files of a
    /// starting publisher may not belong together for a moment.
    pub fn is_refusal_due(&mut self, error: &Error) -> bool {
        self.refusals = match error.is_of_a_start() {
            true => 0,
            false => self.refusals.saturating_add(1),
        };
        // mutant: bus: a refused move to other files is not reported
        self.refusals == 2
    }

    /// Whether an event repeats the last one without any progress: the reader, which goes on at `next`, has the same position, and its
    /// message was overwritten. Then the reader has no message to read until a publisher writes again.
    #[cold]
    pub fn is_repeated(&mut self, event: &RingEvent, next: u64) -> bool {
        match event {
            // mutant: bus: a reader passes over a corrupt message without an event
            RingEvent::Corrupt { position } => {
                let at = (*position, next);
                self.corrupt_at.replace(at) == Some(at)
            }
            RingEvent::Overrun(overrun) => overrun.bytes == 0,
            RingEvent::Generation(_) => false,
        }
    }

    /// Whether the start of the present writer cannot be read, at a check with everything read that finds its number:
    /// it had no start at the last check either. Its predecessor's end was overwritten, and this reader is ahead of it.
    pub fn is_start_lost(&mut self, reader: u64, writer: u64) -> bool {
        let unread = (reader != writer).then_some(writer);
        // mutant: bus: a reader ahead of the next publisher waits for it to catch up
        std::mem::replace(&mut self.unread, unread) == unread && unread.is_some()
    }

    /// Makes the next poll without a message check.
    pub fn look_again(&mut self) {
        self.polls = POLLS;
        self.looked = None;
    }

    /// Whether an event is due once every message is read.
    pub fn is_any_seen(&self) -> bool {
        self.gone_seen || self.turn_seen || self.move_seen || self.unwaited_seen
    }

    /// Whether the reader moves to other files; called at a check that found every message read. The publisher may have published in the old
    /// files until just now: the first check that finds other files only lets the old ones be read once more.
    pub fn is_moving(&mut self, is_elsewhere: bool) -> bool {
        // mutant: bus: a reader moves to other files before it has read the old ones
        let is_first = !std::mem::take(&mut self.move_seen);
        self.move_seen = is_elsewhere && is_first;
        is_elsewhere && !is_first
    }

    /// Whether a check is due, after a poll without a message.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.polls += 1;
        self.polls >= self.step && self.is_time()
    }

    /// Reads the clock: a reader that polls rarely does so at each poll, and one that polls all the time seldom.
    #[inline(never)]
    fn is_time(&mut self) -> bool {
        let now = Instant::now();
        let before = self.clock_read.replace(now);
        let is_rare = before.is_some_and(|before| now.duration_since(before) >= RARE);
        self.polls = 0;
        // mutant: bus: a reader that polls rarely looks late
        self.step = if is_rare { 1 } else { POLLS.min(2 * self.step) };
        let due = self
            .looked
            .is_none_or(|looked| now.duration_since(looked) >= EVERY);
        if due {
            self.looked = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    /// A program that polls ten times a second checks as often, also behind a time in which it polled without a pause.
    #[test]
    fn a_reader_that_polls_rarely_looks_in_time() {
        let mut watch = Watch::new(false, false);
        assert!(watch.is_due());
        for _ in 0..10 * POLLS {
            watch.is_due();
        }
        // The clock is read within as many polls as at the pace of before.
        for _ in 0..POLLS {
            sleep(RARE);
            watch.is_due();
        }
        for _ in 0..3 {
            sleep(EVERY);
            assert!(watch.is_due());
        }
    }

    /// The reader has no progress at a corrupt message; the jump to the next join point loses messages.
    #[test]
    fn a_jump_from_a_corrupt_message_is_no_repetition() {
        let mut watch = Watch::new(false, false);
        let corrupt = RingEvent::Corrupt { position: 64 };
        let found = [64, 64, 4_096, 4_096].map(|next| watch.is_repeated(&corrupt, next));
        assert_eq!(found, [false, true, false, true]);
    }
}
