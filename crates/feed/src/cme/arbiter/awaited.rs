//! Gaps that wait for TCP replay before they are lost.
//!
//! One request at a time, for what is missing up to a number. Until it is there, or given up, no
//! packet goes on; whichever copy comes first counts, a replayed one or a late one of a line.

use super::{Arbiter, Step, is_over};
use crate::ReceiveTime;

/// Numbers of which some are asked for again.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// The first number, which is missing.
    pub first: u64,
    /// The last number that is missing; the one behind it waits.
    pub last: u64,
    /// How many are still missing.
    missing: u64,
    /// When the packet behind them was sent: none of them was sent later.
    behind_ns: u64,
    /// Since when they are awaited, and how long they may be.
    since_ns: u64,
    wait_ns: u64,
    published: bool,
}

impl Arbiter {
    /// What is asked for and has not come yet.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.awaited.as_ref().filter(|awaited| awaited.missing > 0)
    }

    /// Offers a valid packet that was replayed. `false` if it was not asked for or is not needed any
    /// more, or if it cannot be what was lost: it must have been sent between its neighbours.
    pub fn accept_replayed(
        &mut self,
        sequence: u32,
        sending_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        let sequence = u64::from(sequence);
        let Some(awaited) = self.awaited else {
            return false;
        };
        let asked = (awaited.first.max(self.next)..=awaited.last).contains(&sequence);
        let in_time = (self.delivered_ns..=awaited.behind_ns).contains(&sending_ns);
        // mutant: feed: a replayed packet of another week is believed
        let kept = asked && in_time && self.buffer.keep(sequence, sending_ns, time, payload);
        if kept {
            self.came(sequence);
        }
        kept
    }

    /// Nothing more will come of what was asked for, and nothing is to be asked for before
    /// `again_ns`.
    pub fn give_up(&mut self, again_ns: u64) {
        self.awaited = None;
        self.ask_from_ns = again_ns;
    }

    /// Whether every packet that could go on has, so that books are as new as they can be.
    pub fn is_caught_up(&self) -> bool {
        let overdue = |buffered: &super::BufferedPacket| {
            is_over(buffered.time.mono_ns, self.released_ns, self.wait_ns)
        };
        self.awaited.is_none()
            && !self.buffer.has(self.next)
            && !self.buffer.waiting(self.next).any(overdue)
    }

    /// When time alone lets something go at the earliest, by the clock of waiting. What contradicts, and what is awaited, is
    /// looked at each time: there is little of it.
    pub fn next_timeout(&self) -> Option<u64> {
        if !self.is_undisputed() {
            return Some(0);
        }
        // mutant: feed: a gap has no timeout
        (self.oldest_ns != u64::MAX).then(|| self.oldest_ns.saturating_add(self.wait_ns))
    }

    /// A number came that may have been asked for.
    pub(super) fn came(&mut self, sequence: u64) {
        if let Some(awaited) = &mut self.awaited
            && sequence <= awaited.last
        {
            awaited.missing -= 1;
        }
    }

    /// A number is missing again: which of two packets is the venue's is not known.
    pub(super) fn went(&mut self, sequence: u64) {
        if let Some(awaited) = &mut self.awaited
            && sequence <= awaited.last
        {
            awaited.missing += 1;
        }
    }

    /// Whether packets are or were awaited: then nothing else is let go now. What was awaited for
    /// too long is given up.
    pub(super) fn is_awaiting(&mut self, now_ns: u64) -> bool {
        let awaited = self.awaited;
        if awaited.is_some_and(|awaited| is_over(awaited.since_ns, now_ns, awaited.wait_ns)) {
            self.awaited = None;
        }
        awaited.is_some()
    }

    /// Lets the gaps before overdue packets wait for replay, as far as one request reaches. If it
    /// does not reach the end of the first, nothing is changed: it is lost.
    pub(super) fn await_overdue(&mut self, now_ns: u64) {
        let may_ask = self.jump.is_none() && now_ns >= self.ask_from_ns;
        let Some(replay) = self.replay.filter(|_| may_ask) else {
            return;
        };
        let (first, mut missing, mut expected) = (self.next, 0, self.next);
        let overdue = self
            .buffer
            .waiting(first)
            .take_while(|buffered| buffered.sequence <= self.release_to);
        for buffered in overdue {
            if buffered.sequence > expected {
                if buffered.sequence - first > u64::from(replay.packets_max) {
                    break;
                }
                missing += buffered.sequence - expected;
                self.awaited = Some(Awaited {
                    first,
                    last: buffered.sequence - 1,
                    missing,
                    behind_ns: buffered.sending_ns,
                    since_ns: now_ns,
                    wait_ns: replay.wait_ns,
                    published: false,
                });
            }
            expected = buffered.sequence + 1;
        }
        if let Some(awaited) = self.awaited {
            // What is behind has its turn later, with a request of its own.
            self.release_to = awaited.last;
            self.oldest_ns = now_ns.saturating_sub(self.wait_ns);
        }
    }

    /// What is to be done about packets that are awaited; `None` if there are none (any more).
    pub(super) fn pop_awaited(&mut self, flush: bool) -> Option<Option<Step>> {
        let awaited = self.awaited.as_mut()?;
        if flush {
            self.awaited = None;
            return None;
        }
        // mutant: feed: half of a hole goes on
        if awaited.missing == 0 {
            self.awaited = None;
            return Some(Some(Step::Filled));
        }
        let (first, last) = (awaited.first as u32, awaited.last as u32);
        let published = std::mem::replace(&mut awaited.published, true);
        Some((!published).then_some(Step::Awaited { first, last }))
    }
}
