//! Packets that contradict the current epoch, and the rules that confirm them.
//!
//! A number far from the next one, or an implausible sending time, is either a jump on both lines (an outage, a
//! sequence reset, a changed clock) or a packet that the venue did not send now (old or forged). One packet does
//! not prove a jump. Contradicting packets are buffered separately until others agree with them, or until the stream continues
//! without them.

use super::clock::{CLOCK_BACK_NS, CLOCKS_APART_NS};
use crate::ReceiveTime;
use crate::arbitration::{BufferedPacket, ReorderBuffer, Span};
use crate::cme::settings::Line;

/// Consecutive numbers that both lines must bring, with the same sending times.
const AGREED_MIN: u32 = 2;

/// Consecutive numbers that one line must bring while the other has no packets.
const ALONE_MIN: u32 = 8;

/// Consecutive numbers of one line that make the state unconfirmed, if the clock contradicts them.
const ALONE_WARNING_MIN: u32 = 3;

/// If the clock contradicts the jump: the numbers must continue for this many times the wait time of a gap.
const WAITS_MIN: u64 = 10;

/// Wait time if the clock contradicts the jump and only one of two lines brings it: one line may lag the other by this
/// much.
const BEHIND_NS_MAX: u64 = 60_000_000_000;

/// Limit for a reordered packet: it was sent at most this long before the others. Without the limit, a stream and its
/// restart with a clock behind would look like one stream.
const OVERTAKEN_NS_MAX: u64 = 250_000_000;

/// Number of buffered packets.
const PACKETS_MAX: usize = 256;

/// How the window moves to a confirmed candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The first epoch starts.
    Join,
    /// Sequence reset.
    Restart,
    /// The current epoch continues.
    Forward,
}

/// Position of contradicting packets relative to the current epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// There is no epoch yet.
    First,
    /// In the window: the window has reached them.
    Inside,
    /// Beyond the window.
    OutOfWindow,
    /// Below the next number, and sent later than all processed packets: a sequence reset.
    Reset,
    /// The clock contradicts them: sent too early or too late for their numbers.
    AgainstClock,
}

/// Inputs from the arbiter to the decision about a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Position of the candidate.
    pub place: Place,
    /// Current time of the monotonic clock.
    pub now_ns: u64,
    /// Wait time of a gap.
    pub wait_ns: u64,
    /// Time of the last packet of each line; 0 for never.
    pub activity_ns: [u64; 2],
}

/// A dropped candidate that may nevertheless be a real jump: one of its packets can be of the current epoch, or both
/// lines had brought some of it.
#[derive(Clone, Copy, Debug)]
pub struct Forgotten {
    /// Lowest number that arrived.
    pub began: u64,
    /// Packet with the highest number.
    pub newest: BufferedPacket,
    /// One of its packets can be of the current epoch.
    pub is_ambiguous: bool,
    /// Both lines had brought enough of it for a sequence reset.
    pub is_agreed: bool,
}

/// Candidate for a jump: contradicting packets that agree with each other. Empty if no packet contradicts.
#[derive(Debug)]
pub struct JumpCandidate {
    buffer: ReorderBuffer,
    /// By slot: the lines that brought the number.
    lines: Vec<u8>,
    lowest: BufferedPacket,
    highest: BufferedPacket,
    /// Lowest number that arrived, whether or not it is still buffered.
    began: u64,
    since_ns: u64,
    /// Time of the last packet that supported it.
    spoken_ns: u64,
    distinct: u32,
    agreed: u32,
    /// Line of the first packet.
    line: usize,
    passed_over: bool,
    ambiguous: bool,
    /// An earlier candidate was replaced since the stream last continued.
    replaces: bool,
    /// The candidate dropped last, if it may nevertheless be real.
    forgotten: Option<Forgotten>,
    /// Copies are compared by their bytes.
    compare: bool,
}

impl JumpCandidate {
    /// Allocates memory for packets of `packet_bytes_max` bytes, at most as many as a window of `packets_max` has.
    pub fn new(packets_max: usize, packet_bytes_max: usize) -> JumpCandidate {
        let buffer = ReorderBuffer::new(packets_max.min(PACKETS_MAX), packet_bytes_max);
        JumpCandidate {
            lines: vec![0; buffer.capacity() as usize],
            buffer,
            lowest: BufferedPacket::default(),
            highest: BufferedPacket::default(),
            began: 0,
            since_ns: 0,
            spoken_ns: 0,
            distinct: 0,
            agreed: 0,
            line: 0,
            passed_over: false,
            ambiguous: false,
            replaces: false,
            forgotten: None,
            compare: false,
        }
    }

    /// Sets whether copies are compared by their bytes.
    pub fn comparing(self, compare: bool) -> JumpCandidate {
        JumpCandidate { compare, ..self }
    }

    /// Whether the candidate is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.distinct == 0
    }

    /// Packet with the lowest number.
    pub fn lowest(&self) -> &BufferedPacket {
        &self.lowest
    }

    /// Lowest number that arrived, whether or not it is still buffered.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// Packet with the highest number.
    pub fn highest(&self) -> &BufferedPacket {
        &self.highest
    }

    /// Receive time of the first packet.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Whether the stream has continued without it.
    pub fn is_passed_over(&self) -> bool {
        self.passed_over
    }

    /// Records that the stream continues without it.
    pub fn pass_over(&mut self) {
        self.passed_over = true;
    }

    /// Whether an earlier candidate was replaced since the stream last continued.
    pub fn replaces_others(&self) -> bool {
        self.replaces
    }

    /// Records that one of its packets can be of the current epoch as well.
    pub fn set_ambiguous(&mut self) {
        self.ambiguous = true;
    }

    /// Records that the other line brought a copy of the last packet earlier, which was rejected. The copy does not
    /// confirm the candidate: a packet from both lines must be as easy to replace as any other.
    pub fn set_of_both(&mut self, sequence: u64) {
        let slot = sequence as usize & (self.lines.len() - 1);
        self.lines[slot] = 3;
    }

    /// Takes the candidate dropped since the last call, if it may nevertheless be real.
    pub fn take_forgotten(&mut self) -> Option<Forgotten> {
        self.forgotten.take()
    }

    /// End of input: no later packet will confirm or refute the candidate.
    pub fn set_shown(&mut self) {
        self.agreed += 1;
    }

    /// Whether the candidate contains everything from number 1 on, confirmed by two packets. If the clock was set between them,
    /// number 1 may be of an earlier restart.
    pub fn is_whole(&self) -> bool {
        let is_shown = self.agreed > 0 || self.distinct > 1 && self.buffer.has(2);
        let sent_ns = (self.highest.sending_ns).saturating_sub(self.lowest.sending_ns);
        let came_ns = (self.highest.time.mono_ns).saturating_sub(self.lowest.time.mono_ns);
        let is_of_one_clock = sent_ns <= came_ns.saturating_add(CLOCK_BACK_NS);
        self.lowest.sequence == 1 && is_shown && is_of_one_clock && !self.ambiguous
    }

    /// Whether a packet continues after the highest number.
    pub fn continues(&self, sequence: u64, sending_ns: u64, time: ReceiveTime) -> bool {
        sequence > self.highest.sequence && self.agrees(sequence, sending_ns, time)
            || sequence == self.highest.sequence && sending_ns == self.highest.sending_ns
    }

    /// Whether a packet that does not agree with the candidate replaces it: no other packet supported the candidate, or
    /// none for this long. A stray old packet must not end a sequence reset in progress.
    pub fn gives_way(
        &self,
        sequence: u64,
        sending_ns: u64,
        time: ReceiveTime,
        wait_ns: u64,
    ) -> bool {
        let is_alone = self.distinct == 1 && self.agreed == 0;
        is_alone || !self.goes_on(time.mono_ns, wait_ns) || self.agrees(sequence, sending_ns, time)
    }

    /// Adds a contradicting packet. A packet that does not agree with the buffered ones replaces them: the newest is
    /// the most likely to be current. `false` for a copy of a buffered packet.
    pub fn offer(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        line: Line,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        if !self.is_empty() && !self.agrees(sequence, sending_ns, time) {
            // mutant: feed: a wrong first packet is not replaced
            self.clear();
            self.replaces = true;
        }
        self.spoken_ns = time.mono_ns;
        let bit = 1 << line as usize;
        let slot = sequence as usize & (self.lines.len() - 1);
        if !self.is_empty()
            && (self.lowest.sequence..=self.highest.sequence).contains(&sequence)
            && self.buffer.has(sequence)
        {
            let differs = || self.compare && self.buffer.differs(sequence, sending_ns, payload);
            if self.buffer.disputes(sequence, sending_ns, payload.len()) || differs() {
                // Neither is accepted; the next copy of either one replaces it.
                self.buffer.take(sequence);
                return true;
            }
            self.agreed += u32::from(self.lines[slot] | bit == 3 && self.lines[slot] != 3);
            self.lines[slot] |= bit;
            return false;
        }
        self.make_room(sequence);
        self.buffer
            .keep(Span::one(sequence), sending_ns, time, payload);
        self.lines[slot] = bit;
        let buffered = *self.buffer.peek(sequence);
        if self.is_empty() {
            (self.lowest, self.highest, self.since_ns, self.line) =
                (buffered, buffered, time.mono_ns, line as usize);
        } else if sequence < self.lowest.sequence {
            self.lowest = buffered;
        } else if sequence > self.highest.sequence {
            self.highest = buffered;
        }
        self.began = match self.distinct {
            0 => sequence,
            _ => self.began.min(sequence),
        };
        self.distinct += 1;
        true
    }

    /// Whether the candidate makes the state unconfirmed. A single old packet may be a copy of a packet processed long ago; both
    /// lines bring one only if the venue sent it.
    pub fn is_warning_due(&self, place: Place) -> bool {
        match place {
            Place::First | Place::Inside => false,
            Place::OutOfWindow | Place::Reset => true,
            Place::AgainstClock => self.agreed > 0 || self.distinct >= ALONE_WARNING_MIN,
        }
    }

    /// Whether a packet continues after several of its packets.
    pub fn is_continued_by(&self, buffered: &BufferedPacket) -> bool {
        let is_many = !self.is_empty() && self.distinct >= ALONE_WARNING_MIN;
        is_many && self.agrees(buffered.sequence, buffered.sending_ns, buffered.time)
    }

    /// Whether both lines brought some of it.
    pub fn is_shown(&self) -> bool {
        self.agreed > 0
    }

    /// Whether both lines brought enough of it for a sequence reset.
    pub fn is_agreed(&self) -> bool {
        self.agreed >= AGREED_MIN
    }

    /// Whether all its packets arrived before the other candidate began.
    pub fn ended_before(&self, other: &JumpCandidate) -> bool {
        self.spoken_ns < other.since_ns
    }

    /// Whether a packet supported it since it could last have been confirmed.
    pub fn may_be_confirmed(&self, now_ns: u64, wait_ns: u64) -> bool {
        self.goes_on(now_ns, WAITS_MIN.saturating_mul(wait_ns))
    }

    /// Whether a packet supported it less than `wait_ns` ago.
    fn goes_on(&self, now_ns: u64, wait_ns: u64) -> bool {
        now_ns.saturating_sub(self.spoken_ns) < wait_ns
    }

    /// Whether the candidate is confirmed now.
    pub fn is_confirmed(&self, situation: Situation) -> bool {
        let Situation {
            place,
            now_ns,
            wait_ns,
            activity_ns,
        } = situation;
        let age_ns = now_ns.saturating_sub(self.since_ns);
        let other = activity_ns[1 - self.line];
        let is_alone = other == 0 || other < self.since_ns;
        match place {
            // A nearby number, or its copy on the other line.
            Place::First => {
                let is_shown = self.distinct > 1 || self.agreed > 0;
                is_shown && (self.lowest.sequence != 1 || self.is_whole() || age_ns >= wait_ns)
            }
            Place::OutOfWindow => self.distinct > 1,
            Place::Reset => {
                // mutant: feed: one packet causes a sequence reset
                let is_shown = self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;
                // Its first packets may have been reordered.
                is_shown && (self.lowest.sequence == 1 || age_ns >= wait_ns)
            }
            // A candidate against the clock can be inside the window once its first packets have left the buffer.
            Place::AgainstClock | Place::Inside => {
                let a_while = age_ns >= WAITS_MIN.saturating_mul(wait_ns);
                let alone_ns = if other == 0 { 0 } else { BEHIND_NS_MAX };
                let is_alone = is_alone && self.distinct >= ALONE_MIN && age_ns >= alone_ns;
                // The packets before a continuation may be outdated as well.
                let goes_on = self.goes_on(now_ns, wait_ns);
                a_while && goes_on && (self.is_agreed() || is_alone)
            }
        }
    }

    /// Drops packets of one line alone before the first number of both lines, or after the last: they may be of another
    /// time. If no number is of both lines, all packets stay.
    pub fn keep_agreed(&mut self) {
        let JumpCandidate {
            buffer,
            lines,
            lowest,
            highest,
            ..
        } = self;
        let slot = |sequence: u64| sequence as usize & (lines.len() - 1);
        let mut agreed = (lowest.sequence..=highest.sequence)
            .filter(|sequence| buffer.has(*sequence) && lines[slot(*sequence)] == 3);
        let Some(first) = agreed.next() else {
            return;
        };
        let last = agreed.next_back().unwrap_or(first);
        for sequence in (lowest.sequence..first).chain(last + 1..=highest.sequence) {
            buffer.take(sequence);
        }
        (*lowest, *highest) = (*buffer.peek(first), *buffer.peek(last));
    }

    /// Passes each packet, lowest number first, to `keep`, with whether both lines brought it, and clears the
    /// candidate.
    pub fn drain(&mut self, mut keep: impl FnMut(&BufferedPacket, &[u8], bool)) {
        for sequence in self.lowest.sequence..=self.highest.sequence {
            if let Some(buffered) = self.buffer.take(sequence) {
                let of_both_lines = self.lines[sequence as usize & (self.lines.len() - 1)] == 3;
                keep(&buffered, self.buffer.payload(&buffered), of_both_lines);
            }
        }
        (self.ambiguous, self.agreed) = (false, 0);
        self.clear();
    }

    /// Clears the candidate.
    pub fn clear(&mut self) {
        self.buffer.clear(self.lowest.sequence);
        // mutant: feed: packets of one line count as much as those of both
        if self.ambiguous || self.agreed > 0 {
            self.forgotten = Some(Forgotten {
                began: self.began,
                newest: self.highest,
                is_ambiguous: self.ambiguous,
                is_agreed: self.is_agreed(),
            });
        }
        (self.distinct, self.agreed) = (0, 0);
        (self.passed_over, self.ambiguous, self.replaces) = (false, false, false);
    }

    /// Whether a packet may be of the same stream: its number is near, and sending times ascend with the numbers.
    pub fn agrees(&self, sequence: u64, sending_ns: u64, time: ReceiveTime) -> bool {
        let JumpCandidate {
            lowest, highest, ..
        } = self;
        let near = self.buffer.capacity();
        let passed_ns = time.wall_ns.saturating_sub(highest.time.wall_ns);
        let latest_ns = highest
            .sending_ns
            .saturating_add(passed_ns)
            .saturating_add(CLOCKS_APART_NS);
        if sequence > highest.sequence {
            sequence - highest.sequence < near
                && (highest.sending_ns..=latest_ns).contains(&sending_ns)
        } else if sequence < lowest.sequence {
            let earliest_ns = lowest.sending_ns.saturating_sub(OVERTAKEN_NS_MAX);
            highest.sequence - sequence < near
                && (earliest_ns..=lowest.sending_ns).contains(&sending_ns)
        } else if self.buffer.has(sequence) {
            self.buffer.peek(sequence).sending_ns == sending_ns
        } else {
            (lowest.sending_ns..=highest.sending_ns).contains(&sending_ns)
        }
    }

    /// Drops the lowest packet if a higher number has no slot.
    fn make_room(&mut self, sequence: u64) {
        while !self.is_empty() && sequence >= self.lowest.sequence + self.buffer.capacity() {
            self.buffer.take(self.lowest.sequence);
            let next = self.buffer.first(self.lowest.sequence + 1);
            self.lowest = next.map_or(self.highest, |next| *self.buffer.peek(next));
        }
    }
}
