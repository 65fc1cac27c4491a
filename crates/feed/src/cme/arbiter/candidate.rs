//! Packets that contradict the present numbering, and what makes them believed.
//!
//! A number far from the next one, or a sending time that the venue's clock cannot show yet, is either a jump that
//! both lines made (an outage, a sequence reset, a clock that was set) or a packet that the venue did not send now:
//! an old one, a forged one. One packet decides nothing. Contradicting packets are stored in a buffer of their own
//! until others agree with them, or until the stream continues without them.

use super::clock::{CLOCK_BACK_NS, CLOCKS_APART_NS};
use crate::ReceiveTime;
use crate::arbitration::{BufferedPacket, ReorderBuffer, Span};
use crate::cme::settings::Line;

/// Rising numbers that both lines must bring, with the same sending times.
const AGREED_MIN: u32 = 2;

/// Rising numbers that one line must bring while the other is silent.
const ALONE_MIN: u32 = 8;

/// Rising numbers of one line that make the state unconfirmed, if they are against the clock.
const ALONE_WARNING_MIN: u32 = 3;

/// If the clock is against it: how many times the wait for a gap the numbers must continue.
const WAITS_MIN: u64 = 10;

/// Where the clock speaks against it and one line alone brings it although there are two: a line may be so far behind
/// the other.
const BEHIND_NS_MAX: u64 = 60_000_000_000;

/// Limit for an overtaken packet: it was sent at most this long before the others. Without it a stream and its
/// restart with a clock behind would look like one.
const OVERTAKEN_NS_MAX: u64 = 250_000_000;

/// Packets kept.
const PACKETS_MAX: usize = 256;

/// How the window moves to a candidate that is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The first numbering begins.
    Join,
    /// Sequence reset.
    Restart,
    /// The present epoch continues.
    Forward,
}

/// Where packets that contradict lie, as seen from the present numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// There is no epoch yet.
    First,
    /// In the window, which has reached it.
    Inside,
    /// Beyond the window.
    OutOfWindow,
    /// Below the next number, and sent later than all that was processed: a sequence reset.
    Reset,
    /// The clock speaks against it: sent too early or too late for its number.
    AgainstClock,
}

/// What the arbiter knows that decides whether a candidate is believed.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Where the candidate lies.
    pub place: Place,
    /// The present time of waiting.
    pub now_ns: u64,
    /// How long a gap is waited for.
    pub wait_ns: u64,
    /// When each line brought a packet last; 0 for never.
    pub activity_ns: [u64; 2],
}

/// A candidate that is forgotten although a packet of it could be of the present numbering, or both lines had brought some
/// of it.
#[derive(Clone, Copy, Debug)]
pub struct Forgotten {
    /// The lowest number that came.
    pub began: u64,
    /// The packet with the highest number.
    pub newest: BufferedPacket,
    /// A packet of it could be of the present numbering.
    pub is_ambiguous: bool,
    /// Both lines had brought enough of it for a numbering of its own.
    pub is_agreed: bool,
}

/// The jump that packets speak for. Empty if nothing contradicts.
#[derive(Debug)]
pub struct JumpCandidate {
    buffer: ReorderBuffer,
    /// By slot: the lines that brought the number.
    lines: Vec<u8>,
    lowest: BufferedPacket,
    highest: BufferedPacket,
    /// The lowest number that came, whether or not it is still kept.
    began: u64,
    since_ns: u64,
    /// When something spoke for it last.
    spoken_ns: u64,
    distinct: u32,
    agreed: u32,
    /// The line that brought the first packet.
    line: usize,
    passed_over: bool,
    ambiguous: bool,
    /// Others contradicted before it, since the stream went on last.
    replaces: bool,
    /// What was forgotten last, and may be so nevertheless.
    forgotten: Option<Forgotten>,
}

impl JumpCandidate {
    /// Memory for packets of `packet_bytes_max` bytes, at most as many as a window of `packets_max` has.
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
        }
    }

    /// Whether nothing contradicts.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.distinct == 0
    }

    /// The packet with the lowest number.
    pub fn lowest(&self) -> &BufferedPacket {
        &self.lowest
    }

    /// The lowest number that came, whether or not it is still kept.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// The packet with the highest number.
    pub fn highest(&self) -> &BufferedPacket {
        &self.highest
    }

    /// When the first packet came.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Whether the stream went on without it.
    pub fn is_passed_over(&self) -> bool {
        self.passed_over
    }

    /// The stream continues without it.
    pub fn pass_over(&mut self) {
        self.passed_over = true;
    }

    /// Whether others contradicted before it, since the stream went on last.
    pub fn replaces_others(&self) -> bool {
        self.replaces
    }

    /// A packet of it could be of the present numbering as well.
    pub fn set_ambiguous(&mut self) {
        self.ambiguous = true;
    }

    /// The copy of the packet that was taken last came before it on the other line, and was refused. It does not
    /// confirm further: a packet from both lines must be as easy to replace as one.
    pub fn set_of_both(&mut self, sequence: u64) {
        let slot = sequence as usize & (self.lines.len() - 1);
        self.lines[slot] = 3;
    }

    /// What was forgotten since the last time this was asked, and may be so nevertheless.
    pub fn take_forgotten(&mut self) -> Option<Forgotten> {
        self.forgotten.take()
    }

    /// There will be no witness any more, and nothing denies it.
    pub fn set_shown(&mut self) {
        self.agreed += 1;
    }

    /// Whether it contains all from number 1 on, confirmed by two packets. If the clock was set between them, number
    /// 1 may be of an exchange that restarted twice.
    pub fn is_whole(&self) -> bool {
        let is_shown = self.agreed > 0 || self.distinct > 1 && self.buffer.has(2);
        let sent_ns = (self.highest.sending_ns).saturating_sub(self.lowest.sending_ns);
        let came_ns = (self.highest.time.mono_ns).saturating_sub(self.lowest.time.mono_ns);
        let is_of_one_clock = sent_ns <= came_ns.saturating_add(CLOCK_BACK_NS);
        // mutant: feed: a numbering is whole by two clocks
        self.lowest.sequence == 1 && is_shown && is_of_one_clock && !self.ambiguous
    }

    /// Whether a packet continues behind the highest number.
    pub fn continues(&self, sequence: u64, sending_ns: u64, time: ReceiveTime) -> bool {
        sequence > self.highest.sequence && self.agrees(sequence, sending_ns, time)
            || sequence == self.highest.sequence && sending_ns == self.highest.sending_ns
    }

    /// Whether a packet that does not agree with the candidate takes its place: nothing else has spoken for it, or not
    /// for so long. A stray packet of old must not end a sequence reset that is on its way.
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

    /// Takes a packet that contradicts. One that does not agree with those before it replaces them: the newest is
    /// the most likely to be of now. `false` if it is a copy of one that is kept.
    pub fn offer(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        line: Line,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        if !self.is_empty() && !self.agrees(sequence, sending_ns, time) {
            // mutant: feed: a wrong first packet stays
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
            if self.buffer.disputes(sequence, sending_ns, payload.len()) {
                // Neither is believed; the next copy of either takes the place.
                self.buffer.take(sequence);
                return true;
            }
            // mutant: feed: a copy on the same line is a witness
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

    /// Whether it says that what is known may be over. One packet from the past may be a copy of what was processed long
    /// ago; both lines bring such a one only if the venue sent it.
    pub fn is_warning_due(&self, place: Place) -> bool {
        match place {
            Place::First | Place::Inside => false,
            Place::OutOfWindow | Place::Reset => true,
            Place::AgainstClock => self.agreed > 0 || self.distinct >= ALONE_WARNING_MIN,
        }
    }

    /// Whether a packet continues behind several of its packets.
    pub fn is_continued_by(&self, buffered: &BufferedPacket) -> bool {
        let is_many = !self.is_empty() && self.distinct >= ALONE_WARNING_MIN;
        is_many && self.agrees(buffered.sequence, buffered.sending_ns, buffered.time)
    }

    /// Whether both lines brought some of it.
    pub fn is_shown(&self) -> bool {
        self.agreed > 0
    }

    /// Whether both lines brought enough of it for a numbering of its own.
    pub fn is_agreed(&self) -> bool {
        self.agreed >= AGREED_MIN
    }

    /// Whether all that spoke for it came before the other one began.
    pub fn ended_before(&self, other: &JumpCandidate) -> bool {
        self.spoken_ns < other.since_ns
    }

    /// Whether something spoke for it since it could have been believed last.
    pub fn may_be_believed(&self, now_ns: u64, wait_ns: u64) -> bool {
        self.goes_on(now_ns, WAITS_MIN.saturating_mul(wait_ns))
    }

    /// Whether something spoke for it less than `wait_ns` ago.
    fn goes_on(&self, now_ns: u64, wait_ns: u64) -> bool {
        now_ns.saturating_sub(self.spoken_ns) < wait_ns
    }

    /// Whether it is to be believed now.
    pub fn is_believed(&self, situation: Situation) -> bool {
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
            // A number near it, or its copy on the other line.
            Place::First => {
                // mutant: feed: the first packet of all is believed alone
                let is_shown = self.distinct > 1 || self.agreed > 0;
                is_shown && (self.lowest.sequence != 1 || self.is_whole() || age_ns >= wait_ns)
            }
            // mutant: feed: one packet far ahead is believed
            // mutant: feed: a packet far ahead is never believed
            Place::OutOfWindow => self.distinct > 1,
            Place::Reset => {
                // mutant: feed: one packet resets the numbering
                // mutant: feed: a line alone resets nothing
                let is_shown = self.is_agreed() || is_alone && self.distinct >= ALONE_MIN;
                // Its beginning may have been overtaken.
                // mutant: feed: a reset does not wait for its beginning
                is_shown && (self.lowest.sequence == 1 || age_ns >= wait_ns)
            }
            // What began against the clock lies inside where its first packets had no room any more.
            // mutant: feed: what began against the clock and has no room any more is believed by nobody
            Place::AgainstClock | Place::Inside => {
                // mutant: feed: a clock that is behind is believed at once
                let a_while = age_ns >= WAITS_MIN.saturating_mul(wait_ns);
                // mutant: feed: a line far behind the other sets the clock back
                let alone_ns = if other == 0 { 0 } else { BEHIND_NS_MAX };
                let is_alone = is_alone && self.distinct >= ALONE_MIN && age_ns >= alone_ns;
                // What others have followed may be over as well.
                let goes_on = self.goes_on(now_ns, wait_ns);
                // mutant: feed: a clock that is behind is never believed
                // mutant: feed: what has ended is believed
                a_while && goes_on && (self.is_agreed() || is_alone)
            }
        }
    }

    /// Forgets what one line alone brought before the first number of both lines, or beyond the last: that may be of
    /// another time. If no number is of both lines, all of it stays.
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

    /// Gives each packet, lowest number first, to `keep`, with whether both lines brought it, and forgets all.
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

    /// Forgets all.
    pub fn clear(&mut self) {
        self.buffer.clear(self.lowest.sequence);
        // mutant: feed: what one line brought is no less than what both did
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

    /// Whether a packet may be of the same stream: near in number, and sent in the order of the numbers.
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

    /// Lets the lowest go where a higher number has no room.
    fn make_room(&mut self, sequence: u64) {
        while !self.is_empty() && sequence >= self.lowest.sequence + self.buffer.capacity() {
            self.buffer.take(self.lowest.sequence);
            let next = self.buffer.first(self.lowest.sequence + 1);
            self.lowest = next.map_or(self.highest, |next| *self.buffer.peek(next));
        }
    }
}
