//! Arbitration of the two lines: each sequence number once, in order, from whichever line is
//! first; packets behind a gap wait for it for a bounded time and within a bounded window.
//!
//! The lines are equal. A packet that contradicts the processed packets, by its number or by its sending time, has
//! no effect by itself: it waits for confirmation ([`candidate`]), and while no other packet arrives the books are
//! gapped.
//!
//! Sources: CME client systems wiki, "Incremental Feed Arbitration" and "Packet Structure"; the rules of confirmation
//! are ours (`docs/venues/cme.md`).

use super::settings::{Line, Replay};
use crate::ReceiveTime;
use crate::arbitration::{BufferedPacket, CopyHash, Retransmission, Span, Wait, Window};
use candidate::{Jump, JumpCandidate, Place};
use clock::VenueClock;
use refused::Refused;
use sent::{Likeness, Sent, SentTimes};

mod candidate;
mod clock;
mod copies;
mod jump;
mod refused;
mod sent;

/// Result of offering a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is the next one: process it now.
    Deliver,
    /// The packet waits behind a gap.
    Buffered,
    /// A copy was processed or is buffered.
    Duplicate,
    /// Its number was declared lost before it arrived.
    Late,
    /// The packet was sent before the last sequence reset.
    OldEpoch,
    /// Its number is below the next one and its sending time differs from that of the processed packet of this number,
    /// or its sending time is implausible now: it waits for packets that agree with it.
    Contradicts,
    /// A packet with its number, sending time and length was processed or is buffered, and has other bytes.
    Differs,
    /// The very first packet; it waits for confirmation.
    First,
    /// The packet is beyond the window; it waits for a second packet near it.
    OutOfWindow,
}

/// Due steps, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The first packet has this number; everything before it was missed.
    Joined {
        /// Its number.
        first: u32,
        /// The number is 1, confirmed by a copy or by the next packet: no packet was missed.
        whole: bool,
    },
    /// These numbers are lost on both lines.
    Lost {
        /// First lost number.
        first: u32,
        /// Last lost number.
        last: u32,
    },
    /// This packet is the next one; its bytes are at [`Arbiter::payload`].
    Packet(BufferedPacket),
    /// Sequence reset.
    Restarted {
        /// First number that arrived.
        first: u32,
        /// The number is 1, and none of the packets can be of the previous epoch: no packet was missed.
        whole: bool,
        /// Sending time of the first packet.
        sending_ns: u64,
    },
    /// Packets contradict processed ones, and no other packet has arrived since: the current state may be outdated.
    JumpUnconfirmed,
    /// Two different packets arrived with this number, and one was processed. Which of them the venue sent is not
    /// known.
    Conflict(u32),
    /// Missing packets of these numbers are requested; processing stops until they arrive or are given up.
    Awaited {
        /// First number, which is missing.
        first: u32,
        /// Last number, which is missing.
        last: u32,
    },
    /// All requested packets have arrived.
    Filled,
}

/// A packet's place in the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPoint {
    /// Sequence number.
    pub sequence: u64,
    /// Sending time.
    pub sending_ns: u64,
}

/// Arbitration of one feed's two lines.
#[derive(Debug)]
pub struct Arbiter {
    window: Window,
    clock: VenueClock,
    /// Sending time of the packet delivered last.
    delivered_ns: u64,
    begun: StreamPoint,
    /// Receive time of that packet, by the monotonic clock.
    begun_at_ns: u64,
    sent: SentTimes,
    candidate: JumpCandidate,
    /// Candidate of contradicting packets with an earlier sending time.
    earlier: JumpCandidate,
    refused: Refused,
    /// The candidate is confirmed: the window must move there.
    jump: Option<Jump>,
    /// Number of a processed packet that may not be the venue's.
    conflict: Option<u64>,
    /// A conflict was found since the last processed packet; further ones are not reported.
    has_conflict: bool,
    /// Hash by which copies are compared, if they are.
    compare: Option<CopyHash>,
    /// The last processed number of which a packet with other bytes arrived.
    differed: Option<u64>,
    /// The next processed packet contradicts a possible sequence reset: it may not be the venue's either.
    denied: bool,
    warning: JumpWarning,
    /// Time of the last packet of each line.
    activity_ns: [u64; 2],
}

/// State of the warning about an unconfirmed jump: packets contradict processed ones, and no other packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JumpWarning {
    /// No contradiction.
    None,
    /// Contradicted since this time, too short for a warning.
    Since(u64),
    /// The warning is due.
    Due,
    /// The warning was reported.
    Given,
}

impl Arbiter {
    /// Allocates memory for `hold_packets_max` buffered packets of `packet_bytes_max` bytes.
    pub fn new(
        wait_ns: u64,
        hold_packets_max: usize,
        packet_bytes_max: usize,
        replay: Option<Replay>,
    ) -> Arbiter {
        let retransmission = replay.map(|replay| Retransmission {
            wait_ns: replay.wait_ns,
            numbers_max: u64::from(replay.packets_max),
        });
        let window = Window::new(wait_ns, hold_packets_max, packet_bytes_max, retransmission);
        Arbiter {
            clock: VenueClock::default(),
            delivered_ns: 0,
            begun: StreamPoint::default(),
            begun_at_ns: 0,
            sent: SentTimes::new(window.capacity()),
            candidate: JumpCandidate::new(hold_packets_max, packet_bytes_max),
            earlier: JumpCandidate::new(hold_packets_max, packet_bytes_max),
            refused: Refused::default(),
            window,
            jump: None,
            conflict: None,
            has_conflict: false,
            compare: None,
            differed: None,
            denied: false,
            warning: JumpWarning::None,
            activity_ns: [0; 2],
        }
    }

    /// Compares the bytes of copies, by this hash.
    pub fn comparing(self, compare: Option<CopyHash>) -> Arbiter {
        Arbiter {
            candidate: self.candidate.comparing(compare.is_some()),
            earlier: self.earlier.comparing(compare.is_some()),
            compare,
            ..self
        }
    }

    /// A line received a packet.
    #[inline]
    pub fn record_activity(&mut self, line: Line, now_ns: u64) {
        self.activity_ns[line as usize] = now_ns;
    }

    /// Offers a valid packet that is not an old copy.
    #[inline]
    pub fn accept(
        &mut self,
        sequence: u32,
        sending_ns: u64,
        line: Line,
        time: ReceiveTime,
        payload: &[u8],
    ) -> Verdict {
        let sequence = u64::from(sequence);
        let next = self.window.next();
        let in_order = sequence == next && self.is_idle() && !self.window.is_held_up();
        if in_order && self.clock.fits(sending_ns, time.wall_ns) {
            self.delivered(self.sent(sending_ns, payload), time.wall_ns);
            return Verdict::Deliver;
        }
        self.accept_out_of_order(sequence, sending_ns, line, time, payload)
    }

    /// Releases packets whose wait time is over, and marks the state unconfirmed if contradictions were not refuted.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        self.window.advance(now_ns, self.jump.is_none());
        if !self.is_undisputed() {
            self.advance_candidates(now_ns);
        }
    }

    /// End of input: every gap is lost.
    pub fn finish(&mut self) {
        self.window.finish();
        if self.candidate.is_empty() || self.candidate.is_passed_over() {
            return;
        }
        let place = self.place();
        if place != Place::AgainstClock {
            self.candidate.set_shown();
            self.jump = Some(self.way(place));
        }
    }

    /// The next step, if one is due.
    #[inline]
    pub fn pop(&mut self) -> Option<Step> {
        match self.is_idle() {
            true => None,
            false => self.pop_waiting(),
        }
    }

    /// Whether no packet is buffered and no step is due.
    pub fn is_idle(&self) -> bool {
        self.window.is_empty() && self.is_undisputed() && self.conflict.is_none()
    }

    /// Payload of the packet popped last.
    pub fn payload(&self, buffered: &BufferedPacket) -> &[u8] {
        self.window.payload(buffered)
    }

    /// The first packet of the current epoch, or since the venue's clock was last set.
    pub fn begun(&self) -> StreamPoint {
        self.begun
    }

    /// Whether a packet received at `now_ns` was sent more than `age_ns` longer before the first packet than it was
    /// received before it. Such a packet is an old one.
    pub fn is_long_before(&self, sending_ns: u64, now_ns: u64, age_ns: u64) -> bool {
        let came_before_ns = self.begun_at_ns.saturating_sub(now_ns);
        sending_ns
            .saturating_add(came_before_ns)
            .saturating_add(age_ns)
            < self.begun.sending_ns
    }

    /// The newest processed packet; `None` before the first.
    #[inline]
    pub fn newest(&self) -> Option<StreamPoint> {
        let next = self.window.next();
        (next > 0).then(|| StreamPoint {
            sequence: next - 1,
            sending_ns: self.delivered_ns,
        })
    }

    /// Whether a packet with this sending time can arrive now.
    pub fn is_of_now(&self, sending_ns: u64, receive_ns: u64) -> bool {
        self.clock.is_reached(sending_ns, receive_ns)
    }

    /// Nanoseconds that a snapshot received now was sent ahead of the venue's clock, as the incremental feed shows it.
    pub fn ahead_ns(&self, sending_ns: u64, receive_ns: u64) -> u64 {
        self.clock.ahead_ns(sending_ns, receive_ns)
    }

    /// Whether a snapshot with this sending time may belong to an epoch that both lines show and that is not confirmed
    /// yet.
    pub fn may_be_of_next(&self, sending_ns: u64, now_ns: u64) -> bool {
        let is_behind = |candidate: &JumpCandidate| {
            !candidate.is_empty()
                && candidate.is_agreed()
                && candidate.may_be_confirmed(now_ns, self.window.wait_ns())
                && sending_ns >= candidate.lowest().sending_ns
        };
        self.window.next() > 0 && (is_behind(&self.candidate) || is_behind(&self.earlier))
    }

    /// Highest number that the venue may have reached.
    pub fn reach(&self) -> u64 {
        self.window.capacity()
    }

    /// Requested packets that are still missing: first and last number.
    pub fn awaited(&self) -> Option<(u64, u64)> {
        let awaited = self.window.awaited()?;
        Some((awaited.first, awaited.last))
    }

    /// Offers a valid replayed packet. `false` if it is not needed, or cannot be the lost packet.
    pub fn accept_replayed(
        &mut self,
        sequence: u32,
        sending_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        let (span, processed_ns) = (Span::one(u64::from(sequence)), self.delivered_ns);
        self.window
            .keep_retransmitted(span, sending_ns, processed_ns, time, payload)
    }

    /// The request has ended without further packets, and no request is allowed before `again_ns`.
    pub fn give_up(&mut self, again_ns: u64) {
        self.window.give_up(again_ns);
    }

    /// Earliest time at which a packet is released without further input, by the monotonic clock. Contradictions are
    /// checked in each call: they are few.
    pub fn next_timeout(&self) -> Option<u64> {
        match self.is_undisputed() {
            true => self.window.next_timeout(),
            false => Some(0),
        }
    }

    /// Whether every processable packet was processed, so that books are up to date.
    pub fn is_caught_up(&self) -> bool {
        self.window.is_caught_up()
    }

    /// Whether no packet contradicts the processed ones.
    #[inline]
    fn is_undisputed(&self) -> bool {
        self.candidate.is_empty() && self.earlier.is_empty()
    }

    #[inline(never)]
    fn accept_out_of_order(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        line: Line,
        time: ReceiveTime,
        payload: &[u8],
    ) -> Verdict {
        let is_inside = self.is_inside(sequence, sending_ns, time.wall_ns);
        let goes_on_earlier = self.goes_on_earlier(sequence, sending_ns, time);
        if is_inside && !goes_on_earlier && !self.may_be_of_reset(sequence, sending_ns, time) {
            return self.keep(sequence, sending_ns, time, payload);
        }
        let sent = self.sent(sending_ns, payload);
        let likeness = self.likeness(sequence, sent);
        let is_conflict = matches!(likeness, Likeness::Conflict | Likeness::Different)
            && sending_ns >= self.begun.sending_ns;
        if is_conflict && !self.is_spoken_for(sequence, sending_ns, time, true) {
            self.conflicts(sequence, likeness);
            if !self.is_spoken_for(sequence, sending_ns, time, false) {
                if likeness == Likeness::Different {
                    return Verdict::Differs;
                }
                // A copy of the packet is not a further conflict.
                self.sent.record(sequence, sent);
                return Verdict::Contradicts;
            }
        }
        // Packets before a late join may also be of an exchange that restarted a little behind the clock.
        if likeness == Likeness::Lost && sequence >= self.begun.sequence {
            return Verdict::Late;
        }
        let is_earlier =
            self.window.next() > 0 && (goes_on_earlier || self.is_earlier(sequence, sending_ns));
        if is_earlier && self.jump.is_some() {
            return Verdict::Contradicts;
        }
        let offer = |arbiter: &mut Arbiter| {
            arbiter.contradicted(sequence, sending_ns, line, time, payload, is_inside)
        };
        let verdict = match is_earlier {
            true => self.on_earlier(offer),
            false => offer(self),
        };
        match (verdict, likeness) {
            (Verdict::Contradicts | Verdict::OldEpoch, Likeness::Lost) => Verdict::Late,
            _ => verdict,
        }
    }

    /// Offers a contradicting packet to the candidate.
    fn contradicted(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        line: Line,
        time: ReceiveTime,
        payload: &[u8],
        is_inside: bool,
    ) -> Verdict {
        let sent = self.sent(sending_ns, payload);
        let Arbiter {
            candidate,
            refused,
            window,
            ..
        } = self;
        let takes_two = !candidate.is_empty()
            && !candidate.gives_way(sequence, sending_ns, time, window.wait_ns());
        if takes_two && !refused.is_shown(sequence, sent, line) {
            return Verdict::Contradicts;
        }
        let is_new = candidate.offer(sequence, sending_ns, line, time, payload);
        if takes_two {
            candidate.set_of_both(sequence);
        }
        if is_inside {
            candidate.set_ambiguous();
        }
        self.note_forgotten();
        let place = self.place();
        if self.warning == JumpWarning::None && self.candidate.is_warning_due(place) {
            self.warning = JumpWarning::Since(time.mono_ns);
        }
        self.accept_candidate(time.mono_ns);
        match (is_new, place) {
            (false, _) => Verdict::Duplicate,
            (true, _) if sending_ns < self.clock.begun_ns => Verdict::OldEpoch,
            (true, Place::First) => Verdict::First,
            (true, Place::OutOfWindow) => Verdict::OutOfWindow,
            (true, _) => Verdict::Contradicts,
        }
    }

    /// Whether a contradicting packet has an earlier sending time: an old copy, or a clock that was set back. These
    /// packets have a candidate of their own, so that old copies do not disturb a sequence reset.
    fn is_earlier(&self, sequence: u64, sending_ns: u64) -> bool {
        sending_ns < self.clock.earliest_ns()
            || sequence < self.window.next() && sending_ns <= self.clock.newest_ns
    }

    /// Whether a packet is in the window, has a plausible sending time, and was sent before the buffered packets after
    /// it.
    fn is_inside(&self, sequence: u64, sending_ns: u64, receive_ns: u64) -> bool {
        let is_in_window = self.window.next() > 0 && self.window.contains(sequence);
        if !is_in_window || !self.clock.fits(sending_ns, receive_ns) {
            return false;
        }
        self.is_in_order(sequence, sending_ns)
    }

    /// Whether a packet of this epoch can have this sending time, before the highest buffered number.
    fn is_in_order(&self, sequence: u64, sending_ns: u64) -> bool {
        let buffer = self.window.buffer();
        let is_last = buffer.is_empty() || sequence >= buffer.highest();
        is_last || sending_ns <= buffer.peek(buffer.highest()).sending_ns
    }

    /// Whether a packet in the window also continues an unconfirmed sequence reset: numbers were low, and are low
    /// again.
    fn may_be_of_reset(&self, sequence: u64, sending_ns: u64, time: ReceiveTime) -> bool {
        !self.candidate.is_empty()
            && self.place() == Place::Reset
            && self.candidate.continues(sequence, sending_ns, time)
    }

    /// Whether a packet agrees with packets that contradict the clock and that both lines brought: packets of an
    /// exchange that restarted with its clock a little behind. Their numbers and times may by now look like those of
    /// the previous epoch.
    fn goes_on_earlier(&self, sequence: u64, sending_ns: u64, time: ReceiveTime) -> bool {
        sequence >= self.window.next()
            && !self.earlier.is_empty()
            && self.earlier.is_shown()
            && self.earlier.agrees(sequence, sending_ns, time)
    }

    /// Whether a packet agrees with other contradicting packets; optionally only with those that both lines brought.
    fn is_spoken_for(
        &self,
        sequence: u64,
        sending_ns: u64,
        time: ReceiveTime,
        by_both: bool,
    ) -> bool {
        let agrees = |candidate: &JumpCandidate| {
            let counts = !candidate.is_empty() && (candidate.is_shown() || !by_both);
            counts && candidate.agrees(sequence, sending_ns, time)
        };
        agrees(&self.candidate) || agrees(&self.earlier)
    }

    fn pop_waiting(&mut self) -> Option<Step> {
        if let Some(sequence) = self.conflict.take() {
            return Some(Step::Conflict(sequence as u32));
        }
        if self.warning == JumpWarning::Due {
            self.warning = JumpWarning::Given;
            return Some(Step::JumpUnconfirmed);
        }
        match self.window.pop_wait(self.jump.is_some()) {
            Wait::Nothing => {}
            Wait::Filled => return Some(Step::Filled),
            Wait::Asked { first, last } => {
                let (first, last) = (first as u32, last as u32);
                return Some(Step::Awaited { first, last });
            }
            Wait::Awaiting => return None,
        }
        self.adopt_reached();
        if self.window.has_next()
            && let Some(sequence) = self.deny()
        {
            return Some(Step::Conflict(sequence as u32));
        }
        if let Some(buffered) = self.window.take_next() {
            let payload = self.window.payload(&buffered);
            let sent = self.sent(buffered.sending_ns, payload);
            self.delivered(sent, buffered.time.wall_ns);
            if std::mem::take(&mut self.denied) {
                self.conflict = Some(buffered.sequence);
            }
            return Some(Step::Packet(buffered));
        }
        if let Some(behind) = self.window.behind_lost(self.jump.is_some()) {
            return Some(self.lose_to(&behind));
        }
        let jump = self.jump.take()?;
        self.jump_to_candidate(jump)
    }

    /// A packet is processed.
    #[inline]
    fn delivered(&mut self, sent: Sent, receive_ns: u64) {
        self.sent.record(self.window.next(), sent);
        self.window.pass(1);
        self.delivered_ns = sent.sending_ns;
        self.clock.pass(sent.sending_ns, receive_ns);
        self.warning = JumpWarning::None;
        self.has_conflict = false;
    }

    /// Declares everything before a packet lost. If the clock was set within the lost part, the exchange may have
    /// restarted there, and its numbers may have reached the old ones.
    fn lose_to(&mut self, behind: &BufferedPacket) -> Step {
        let (next, target) = (self.window.next(), behind.sequence);
        self.sent.forget(next..target);
        if behind.sending_ns < self.delivered_ns || self.clock.was_set_ahead(behind) {
            self.conflict = Some(target - 1);
        }
        let step = Step::Lost {
            first: next as u32,
            last: (target - 1) as u32,
        };
        self.window.lose_to(target);
        step
    }
}

#[cfg(test)]
mod tests;
