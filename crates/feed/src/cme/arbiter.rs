//! Arbitration of the two lines: each sequence number once, in order, from whichever line is
//! first; packets behind a hole wait for it for a bounded time and within a bounded window.
//!
//! The lines are equal. Sources: CME client systems wiki, "Incremental Feed Arbitration" and
//! "Packet Structure"; the detection of a restarted numbering is ours (`docs/venues/cme.md`).

use super::hold::{Held, Hold};
use super::settings::Replay;
use crate::When;
use awaited::Awaited;

mod awaited;

/// What became of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the next one: process it now.
    Deliver,
    /// It waits behind a hole.
    Held,
    /// Another copy was processed or waits already.
    Duplicate,
    /// Its number was declared lost before it came.
    Late,
    /// It was sent before the numbering started again.
    OldNumbering,
    /// Its number is low and its sending time further ahead than time has passed here: a restart of
    /// numbering that nobody can believe.
    Implausible,
    /// It is beyond the window; it waits for a second one near it.
    FarAhead,
    /// Something comes before it: take all [`Arbiter::pop`] steps, then offer it again.
    Again,
}

/// What is to be done next, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first packet of all has this number; everything before it is missed.
    Joined(u32),
    /// These numbers are lost on both lines.
    Lost {
        /// First lost number.
        first: u32,
        /// Last lost number.
        last: u32,
    },
    /// This packet is the next one; its bytes are at [`Arbiter::payload`].
    Packet(Held),
    /// Numbering started again at 1.
    Restarted {
        /// When the packet that showed it was sent.
        sending_ns: u64,
    },
    /// A packet far ahead says that this number and more may be lost, and nothing denies it.
    Doubt(u32),
    /// What is missing of these numbers is asked for again; nothing goes on until it comes, or is
    /// given up.
    Awaited {
        /// First number, which is missing.
        first: u32,
        /// Last number, which is missing.
        last: u32,
    },
    /// All that was asked for is there.
    Filled,
}

/// A packet beyond the window. One forged packet must not blind the channel, so the window jumps
/// only when a second packet, near the first, confirms it.
#[derive(Clone, Copy, Debug)]
struct Aside {
    held: Held,
    /// A packet of the present window came since.
    contested: bool,
    doubted: bool,
}

/// Where the present numbering began, for telling packets of the one before it.
#[derive(Clone, Copy, Debug)]
struct Numbering {
    /// Number and sending time of the packet that showed it.
    sequence: u64,
    sending_ns: u64,
    /// Sending time of the last packet of the numbering before.
    old_ns: u64,
}

/// How much further the venue's clock may come between two packets than ours: drift over a weekend,
/// and packets that were long on their way.
const CLOCKS_APART_NS: u64 = 60_000_000_000;

/// Arbitration of one feed's two lines.
#[derive(Debug)]
pub struct Arbiter {
    wait_ns: u64,
    /// Next number to deliver; 0 before the first packet.
    next: u64,
    /// Latest sending time of the packets delivered, and when that packet was received.
    processed_ns: u64,
    processed_receive_ns: u64,
    hold: Hold,
    /// No packet in `hold` was received before this.
    oldest_ns: u64,
    /// Holes up to here are lost.
    release_to: u64,
    numbering: Option<Numbering>,
    restarting: bool,
    joined: bool,
    /// The range lost last, to tell a late packet from a duplicate.
    lost: (u64, u64),
    aside: Option<Aside>,
    aside_hold: Hold,
    /// The window is to move here.
    jump: Option<u64>,
    doubt: bool,
    /// How holes wait for TCP replay, if they do.
    replay: Option<Replay>,
    awaited: Option<Awaited>,
    /// Before this nothing is asked for.
    ask_from_ns: u64,
    /// The time at which packets were last let go.
    released_ns: u64,
}

impl Arbiter {
    /// Memory for `hold_packets_max` waiting packets of `packet_bytes_max` bytes is taken now.
    pub fn new(
        wait_ns: u64,
        hold_packets_max: usize,
        packet_bytes_max: usize,
        replay: Option<Replay>,
    ) -> Arbiter {
        Arbiter {
            wait_ns,
            next: 0,
            processed_ns: 0,
            processed_receive_ns: 0,
            hold: Hold::new(hold_packets_max, packet_bytes_max),
            oldest_ns: u64::MAX,
            release_to: 0,
            numbering: None,
            restarting: false,
            joined: false,
            lost: (0, 0),
            aside: None,
            aside_hold: Hold::new(1, packet_bytes_max),
            jump: None,
            doubt: false,
            replay,
            awaited: None,
            ask_from_ns: 0,
            released_ns: 0,
        }
    }

    /// The verdict on a packet that is of no use whatever its contents: a second copy, one that is
    /// late, or one of the old numbering. `None` for one that must be looked at.
    #[inline]
    pub fn old_copy(&self, sequence: u32, sending_ns: u64) -> Option<Verdict> {
        let sequence = u64::from(sequence);
        if sequence >= self.next || sending_ns > self.processed_ns {
            return None;
        }
        if self.is_old_numbering(sequence, sending_ns) {
            return Some(Verdict::OldNumbering);
        }
        Some(self.duplicate_or_late(sequence))
    }

    /// Offers a valid packet.
    #[inline]
    pub fn accept(
        &mut self,
        sequence: u32,
        sending_ns: u64,
        when: When,
        payload: &[u8],
    ) -> Verdict {
        let sequence = u64::from(sequence);
        let in_order = sequence == self.next && self.hold.is_empty() && self.aside.is_none();
        if in_order && !self.is_old_numbering(sequence, sending_ns) {
            self.delivered(sending_ns, when.receive_ns);
            return Verdict::Deliver;
        }
        self.accept_out_of_order(sequence, sending_ns, when, payload)
    }

    /// Lets packets that waited long enough go, and doubts a packet far ahead that nothing denied.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        if self.oldest_ns != u64::MAX && is_over(self.oldest_ns, now_ns, self.wait_ns) {
            self.release_overdue(now_ns);
        }
        if let Some(aside) = &mut self.aside {
            let overdue = is_over(aside.held.when.now_ns, now_ns, self.wait_ns);
            if overdue && aside.contested && self.hold.is_empty() {
                self.forget_aside();
            } else if overdue && !aside.contested && !aside.doubted {
                aside.doubted = true;
                self.doubt = true;
            }
        }
    }

    /// Nothing will come any more: every hole is lost.
    pub fn finish(&mut self) {
        (self.replay, self.awaited) = (None, None);
        self.release_to = self.hold.highest();
        self.jump = self
            .aside
            .filter(|aside| !aside.contested)
            .map(|aside| aside.held.sequence);
        if self.jump.is_none() {
            self.forget_aside();
        }
    }

    /// The next step, if one is due.
    #[inline]
    pub fn pop(&mut self) -> Option<Step> {
        let idle = self.hold.is_empty() && self.aside.is_none() && !self.joined && !self.restarting;
        if idle { None } else { self.pop_waiting() }
    }

    /// The bytes of a packet popped just now.
    pub fn payload(&self, held: &Held) -> &[u8] {
        self.hold.payload(held)
    }

    fn accept_out_of_order(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        when: When,
        payload: &[u8],
    ) -> Verdict {
        if self.is_old_numbering(sequence, sending_ns) {
            return Verdict::OldNumbering;
        }
        if self.next == 0 {
            self.next = sequence;
            self.joined = true;
            return Verdict::Again;
        }
        if sequence < self.next {
            return self.accept_before_next(sequence, sending_ns, when.receive_ns);
        }
        if sequence - self.next >= self.hold.capacity() {
            return self.accept_far_ahead(sequence, sending_ns, when, payload);
        }
        if let Some(aside) = &mut self.aside {
            aside.contested = true;
        }
        if !self.hold.keep(sequence, sending_ns, when, payload) {
            return Verdict::Duplicate;
        }
        self.oldest_ns = self.oldest_ns.min(when.now_ns);
        self.came(sequence);
        Verdict::Held
    }

    /// A lower number that was sent later than all we processed: numbering started again.
    fn accept_before_next(&mut self, sequence: u64, sending_ns: u64, receive_ns: u64) -> Verdict {
        if sending_ns > self.processed_ns {
            if !self.is_plausible(sending_ns, receive_ns) {
                return Verdict::Implausible;
            }
            self.numbering = Some(Numbering {
                sequence,
                sending_ns,
                old_ns: 0,
            });
            self.restarting = true;
            return Verdict::Again;
        }
        self.duplicate_or_late(sequence)
    }

    fn duplicate_or_late(&self, sequence: u64) -> Verdict {
        let (first, last) = self.lost;
        if (first..=last).contains(&sequence) {
            Verdict::Late
        } else {
            Verdict::Duplicate
        }
    }

    fn accept_far_ahead(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        when: When,
        payload: &[u8],
    ) -> Verdict {
        if let Some(aside) = self.aside {
            let other = aside.held.sequence;
            if other == sequence {
                return Verdict::Duplicate;
            }
            if other.abs_diff(sequence) < self.hold.capacity() {
                self.jump = Some(other.min(sequence));
                return Verdict::Again;
            }
            self.forget_aside();
        }
        self.aside_hold.keep(sequence, sending_ns, when, payload);
        let held = self.aside_hold.waiting(sequence).next().copied();
        self.aside = held.map(|held| Aside {
            held,
            contested: false,
            doubted: false,
        });
        Verdict::FarAhead
    }

    /// Sent before the numbering started again, and not one of its own packets out of order.
    #[inline]
    fn is_old_numbering(&self, sequence: u64, sending_ns: u64) -> bool {
        self.numbering.is_some_and(|new| {
            let out_of_order = sequence < new.sequence && sending_ns > new.old_ns;
            sending_ns < new.sending_ns && !out_of_order
        })
    }

    fn pop_waiting(&mut self) -> Option<Step> {
        if std::mem::take(&mut self.joined) {
            return Some(Step::Joined(self.next as u32));
        }
        if std::mem::take(&mut self.doubt) {
            return Some(Step::Doubt(self.next as u32));
        }
        let flush = self.restarting || self.jump.is_some();
        if let Some(step) = self.pop_awaited(flush) {
            return step;
        }
        self.adopt_aside();
        if let Some(held) = self.hold.take(self.next) {
            self.delivered(held.sending_ns, held.when.receive_ns);
            if self.hold.is_empty() {
                self.oldest_ns = u64::MAX;
            }
            return Some(Step::Packet(held));
        }
        if let Some(first) = self
            .hold
            .first(self.next)
            .filter(|_| flush || self.next <= self.release_to)
        {
            return Some(self.lose_to(first));
        }
        if let Some(target) = self.jump.take() {
            return self.jump_to(target);
        }
        std::mem::take(&mut self.restarting).then(|| self.restart())
    }

    #[inline]
    fn delivered(&mut self, sending_ns: u64, receive_ns: u64) {
        self.next += 1;
        if sending_ns > self.processed_ns && self.is_plausible(sending_ns, receive_ns) {
            (self.processed_ns, self.processed_receive_ns) = (sending_ns, receive_ns);
        }
    }

    /// Whether the venue's clock can have come that far since the packet processed last, by ours. A
    /// forged time must not make every packet after it look old. Only differences are compared, so
    /// that clocks may be apart; where ours was set back, we begin anew.
    #[inline]
    fn is_plausible(&self, sending_ns: u64, receive_ns: u64) -> bool {
        let first = self.processed_ns == 0;
        let set_back = receive_ns < self.processed_receive_ns;
        let passed_ns = receive_ns.saturating_sub(self.processed_receive_ns);
        first
            || set_back
            || sending_ns - self.processed_ns <= passed_ns.saturating_add(CLOCKS_APART_NS)
    }

    /// Declares everything before `target` lost.
    fn lose_to(&mut self, target: u64) -> Step {
        self.lost = (self.next, target - 1);
        let step = Step::Lost {
            first: self.next as u32,
            last: (target - 1) as u32,
        };
        self.next = target;
        step
    }

    /// Moves the window to `target`, where the packet set aside and its neighbour belong.
    fn jump_to(&mut self, target: u64) -> Option<Step> {
        // What waited behind the last hole may have reached the target by itself.
        let step = (target > self.next).then(|| self.lose_to(target));
        self.adopt_aside();
        step.or_else(|| self.pop_waiting())
    }

    /// Takes the packet set aside into the window once the window has reached it.
    fn adopt_aside(&mut self) {
        let Some(Aside { held, .. }) = self.aside else {
            return;
        };
        if held.sequence >= self.next + self.hold.capacity() {
            return;
        }
        self.aside = None;
        let Arbiter {
            hold,
            aside_hold,
            next,
            ..
        } = self;
        if let Some(held) = aside_hold
            .take(held.sequence)
            .filter(|held| held.sequence >= *next)
        {
            let payload = aside_hold.payload(&held);
            hold.keep(held.sequence, held.sending_ns, held.when, payload);
            self.oldest_ns = self.oldest_ns.min(held.when.now_ns);
        }
    }

    fn restart(&mut self) -> Step {
        self.next = 1;
        self.release_to = 0;
        self.lost = (0, 0);
        self.forget_aside();
        let old_ns = self.processed_ns;
        self.numbering = self.numbering.map(|numbering| Numbering {
            old_ns,
            ..numbering
        });
        Step::Restarted {
            sending_ns: self.numbering.map_or(old_ns, |new| new.sending_ns),
        }
    }

    fn forget_aside(&mut self) {
        if let Some(aside) = self.aside.take() {
            self.aside_hold.take(aside.held.sequence);
        }
    }

    #[cold]
    fn release_overdue(&mut self, now_ns: u64) {
        self.released_ns = now_ns;
        if self.is_awaiting(now_ns) {
            return;
        }
        self.oldest_ns = u64::MAX;
        for held in self.hold.waiting(self.next) {
            if is_over(held.when.now_ns, now_ns, self.wait_ns) {
                self.release_to = held.sequence;
            } else {
                self.oldest_ns = self.oldest_ns.min(held.when.now_ns);
            }
        }
        self.await_overdue(now_ns);
    }
}

/// Whether a time is over. Our clock may be set back while something waits, and then it has waited
/// for nobody knows how long; waiting until the clock is there again could take an hour.
#[inline]
fn is_over(since_ns: u64, now_ns: u64, wait_ns: u64) -> bool {
    now_ns.abs_diff(since_ns) >= wait_ns
}

#[cfg(test)]
mod tests;
