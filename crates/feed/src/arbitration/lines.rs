//! Arbitration of any number of lines whose packets name their session, or whose sequence is never reset.

use super::reorder_buffer::BufferedPacket;
use super::span::Span;
use super::window::{Retransmission, Wait, Window};
use crate::ReceiveTime;

/// A venue's rule for sequence resets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The venue never resets its sequence numbers: lower numbers are copies.
    Never,
    /// Packets name their session; a session other than the present and the previous one is a sequence reset.
    NewSession,
}

/// Packet received on a line.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// Session; 0 if the venue has none.
    pub session: u64,
    /// Sequence numbers.
    pub span: Span,
    /// Sending time, nanoseconds since the Unix epoch; 0 if not stated.
    pub sending_ns: u64,
    /// Receive time.
    pub time: ReceiveTime,
    /// Payload.
    pub payload: &'a [u8],
}

/// Result of offering a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet contains the next number: process it now, without the numbers before `from`.
    Deliver {
        /// First number that was not processed yet.
        from: u64,
    },
    /// Buffered behind a gap.
    Buffered,
    /// All its numbers were processed, lost, or are buffered already.
    Duplicate,
    /// The packet belongs to the previous session.
    Old,
    /// Other steps come first: take the due steps, and offer it again.
    Again,
}

/// Steps of the arbitrated stream, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sequence reset.
    Restarted {
        /// With this session.
        session: u64,
    },
    /// These numbers are lost on all lines.
    Lost {
        /// First lost number.
        first: u64,
        /// Last lost number.
        last: u64,
    },
    /// These numbers are requested again; processing stops until they arrive or are given up.
    Awaited {
        /// First number, which is missing.
        first: u64,
        /// Last number, which is missing.
        last: u64,
    },
    /// All requested packets have arrived.
    Filled,
    /// This packet is the next one; its bytes are at [`Arbitration::payload`].
    Packet {
        /// The packet.
        packet: BufferedPacket,
        /// Its first number that was not processed yet.
        from: u64,
    },
}

/// Arbitration of a venue's equal lines: the first copy of each number is processed.
///
/// The caller takes all steps with [`Arbitration::pop`] after every call that takes `&mut self`.
#[derive(Debug)]
pub struct Arbitration {
    window: Window,
    restart: Restart,
    /// First number of a session.
    begin: u64,
    session: Option<u64>,
    former: Option<u64>,
    /// The present session has started, and this is not published yet.
    is_new: bool,
    /// Numbers below this are lost, so that the window reaches a packet beyond it.
    make_room_to: u64,
}

impl Arbitration {
    /// Sessions start with number `begin`, at least 1. The memory of `window` was allocated with it.
    #[must_use]
    pub fn new(begin: u64, restart: Restart, mut window: Window) -> Arbitration {
        assert!(begin > 0, "numbers-begin-behind-0");
        window.begin(begin);
        Arbitration {
            window,
            restart,
            begin,
            session: None,
            former: None,
            is_new: false,
            make_room_to: 0,
        }
    }

    /// Like [`Arbitration::new`], with a new window: a gap waits `wait_ns` for other lines, then for retransmission.
    #[must_use]
    pub fn with_room(
        begin: u64,
        restart: Restart,
        wait_ns: u64,
        (packets_max, packet_bytes_max): (usize, usize),
        retransmission: Option<Retransmission>,
    ) -> Arbitration {
        let window = Window::new(wait_ns, packets_max, packet_bytes_max, retransmission);
        Arbitration::new(begin, restart, window)
    }

    /// Next number to process.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.window.next()
    }

    /// Offers a packet of a line.
    pub fn offer(&mut self, offered: Offered<'_>) -> Verdict {
        if !self.is_of_session(offered.session) {
            return Verdict::Old;
        }
        let Offered { span, .. } = offered;
        let next = self.window.next();
        if self.is_new || self.is_due() {
            return Verdict::Again;
        }
        if span.end() <= next {
            return Verdict::Duplicate;
        }
        if span.first <= next && !self.window.is_held_up() {
            self.window.pass(span.end() - next);
            // mutant: arbitration: processed packets are processed again
            return Verdict::Deliver { from: next };
        }
        if span.first >= next && !self.window.contains(span.first) {
            self.make_room_to = span.first - self.window.capacity() + 1;
            return Verdict::Again;
        }
        self.keep(offered)
    }

    /// Buffers a packet behind a gap or behind awaited packets; of a partly processed packet, the rest.
    fn keep(&mut self, offered: Offered<'_>) -> Verdict {
        let Offered {
            mut span,
            sending_ns,
            time,
            payload,
            ..
        } = offered;
        let passed = self.window.next().saturating_sub(span.first);
        (span.first, span.count) = (span.first + passed, span.count - passed);
        match self.window.keep(span, sending_ns, time, payload) {
            true => Verdict::Buffered,
            false => Verdict::Duplicate,
        }
    }

    /// Processes a requested packet. `false` if it was not requested, or is not needed any more.
    pub fn accept_retransmitted(&mut self, offered: Offered<'_>) -> bool {
        let Offered {
            span,
            sending_ns,
            time,
            payload,
            session,
        } = offered;
        let is_of_session = self.restart == Restart::Never || self.session == Some(session);
        is_of_session && (self.window).keep_retransmitted(span, sending_ns, 0, time, payload)
    }

    /// Next due step, if any.
    pub fn pop(&mut self) -> Option<Step> {
        if std::mem::take(&mut self.is_new) {
            let session = self.session.expect("a new session has a name");
            return Some(Step::Restarted { session });
        }
        let flush = self.make_room_to > self.window.next();
        match self.window.pop_wait(flush) {
            Wait::Nothing => {}
            Wait::Filled => return Some(Step::Filled),
            Wait::Asked { first, last } => return Some(Step::Awaited { first, last }),
            Wait::Awaiting => return None,
        }
        let from = self.window.next();
        if let Some(packet) = self.window.take_next() {
            self.window.pass(packet.span().end() - from);
            return Some(Step::Packet { packet, from });
        }
        let behind = self.window.behind_lost(flush);
        let behind = behind.map(|packet| packet.sequence);
        let beyond = flush.then_some(self.make_room_to);
        let number = behind.into_iter().chain(beyond).min()?;
        self.window.lose_to(number);
        Some(Step::Lost {
            first: from,
            last: number - 1,
        })
    }

    /// Payload of the packet of the last step.
    #[must_use]
    pub fn payload(&self, packet: &BufferedPacket) -> &[u8] {
        self.window.payload(packet)
    }

    /// Advances time: gaps whose wait time is over are requested, or lost.
    pub fn advance(&mut self, now_ns: u64) {
        self.window.advance(now_ns, true);
    }

    /// Time of the next timeout, by the clock of [`Arbitration::advance`].
    #[must_use]
    pub fn next_timeout(&self) -> Option<u64> {
        self.window.next_timeout()
    }

    /// End of input: every gap is lost.
    pub fn finish(&mut self) {
        self.window.finish();
    }

    /// The requested packets that are still missing: first and last number.
    #[must_use]
    pub fn awaited(&self) -> Option<(u64, u64)> {
        let awaited = self.window.awaited()?;
        Some((awaited.first, awaited.last))
    }

    /// The request has ended without further packets, and no request is allowed before `again_ns`.
    pub fn give_up(&mut self, again_ns: u64) {
        self.window.give_up(again_ns);
    }

    /// Whether buffered packets can be processed.
    fn is_due(&self) -> bool {
        let is_next = self.window.buffer().covers(self.window.next());
        let is_held_up = self.window.is_held_up();
        is_next && !is_held_up || self.make_room_to > self.window.next()
    }

    /// Whether a packet belongs to the current session; one of a session other than the previous one is a sequence
    /// reset.
    fn is_of_session(&mut self, session: u64) -> bool {
        if self.restart == Restart::Never || self.session == Some(session) {
            return true;
        }
        // mutant: arbitration: the previous session becomes current again
        if self.former == Some(session) {
            return false;
        }
        self.is_new = self.session.is_some();
        (self.former, self.session) = (self.session, Some(session));
        self.window.give_up(0);
        self.window.clear();
        self.window.begin(self.begin);
        self.make_room_to = 0;
        true
    }
}

#[cfg(test)]
mod tests;
