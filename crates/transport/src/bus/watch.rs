//! Periodic checks of the publisher while no messages arrive.

use super::Error;
use std::time::{Duration, Instant};
use touchline_shm::broadcast::RingEvent;

/// Polls without a message before the clock is read.
const POLLS: u32 = 64;
/// Interval of checks; each is a few system calls.
const EVERY: Duration = Duration::from_millis(100);

/// Time of the next check, and results of the last.
#[derive(Debug)]
pub struct Watch {
    polls: u32,
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
    /// Position at which the ring was corrupt last.
    corrupt_at: Option<u64>,
    /// Number of a writer whose start was not read, as of the last check.
    unread: Option<u64>,
}

impl Watch {
    /// The first poll without a message checks at once.
    pub fn new(is_gone: bool, is_stalled: bool) -> Watch {
        Watch {
            polls: POLLS,
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

    /// Whether an event repeats the last one without any progress: the reader has the same position, and its message was overwritten.
    /// Then the reader has no message to read until a publisher writes again.
    #[cold]
    pub fn is_repeated(&mut self, event: &RingEvent) -> bool {
        match event {
            RingEvent::Corrupt { position } => {
                self.corrupt_at.replace(*position) == Some(*position)
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
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        let due = self.looked.is_none_or(|looked| looked.elapsed() >= EVERY);
        if due {
            self.looked = Some(Instant::now());
        }
        due
    }
}
