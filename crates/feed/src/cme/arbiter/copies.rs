//! Copies of a packet: the stored facts of processed and of buffered packets, and whether another packet is the same.
//!
//! A copy has the number, the sending time and the length of the first one, and the same bytes if they are compared
//! ([`Settings::compare_copies`](crate::cme::Settings::compare_copies)).

use super::candidate::Place;
use super::sent::{Likeness, Sent};
use super::{Arbiter, Verdict};
use crate::ReceiveTime;
use crate::arbitration::Span;

/// Bytes of the header, which the lines may stamp apart.
const HEADER_BYTES: usize = 12;

impl Arbiter {
    /// Result for a packet that is useless with any contents: a second copy. `None` if the contents must be
    /// examined.
    #[inline]
    pub fn old_copy(&self, sequence: u32, sending_ns: u64, payload: &[u8]) -> Option<Verdict> {
        let (sequence, next) = (u64::from(sequence), self.window.next());
        let is_copy =
            sequence < next && (self.sent).is_copy(sequence, self.sent(sending_ns, payload), next);
        // mutant: feed: a second copy is delivered
        is_copy.then_some(Verdict::Duplicate)
    }

    /// Facts of a packet that are stored to compare it with others of its number.
    #[inline]
    pub(super) fn sent(&self, sending_ns: u64, payload: &[u8]) -> Sent {
        let messages = payload.get(HEADER_BYTES..).unwrap_or_default();
        Sent {
            sending_ns,
            bytes: payload.len() as u32,
            hash: self.compare.map_or(0, |hash| hash.of(messages)),
        }
    }

    /// Comparison of a packet with the processed one of its number.
    pub(super) fn likeness(&self, sequence: u64, sent: Sent) -> Likeness {
        let next = self.window.next();
        if sequence >= next {
            return Likeness::Unknown;
        }
        self.sent.compare(sequence, sent, next, self.delivered_ns)
    }

    /// A packet conflicts with the processed one of its number: one of both is not the venue's.
    pub(super) fn conflicts(&mut self, sequence: u64, likeness: Likeness) {
        // The books were distrusted already, behind that packet.
        let is_known = likeness == Likeness::Different && self.differed == Some(sequence);
        if !is_known && !std::mem::replace(&mut self.has_conflict, true) {
            self.conflict = Some(sequence);
        }
        if likeness == Likeness::Different {
            self.differed = Some(sequence);
        }
    }

    /// Buffers a packet in the window.
    pub(super) fn keep(
        &mut self,
        sequence: u64,
        sending_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> Verdict {
        let buffer = self.window.buffer();
        if buffer.disputes(sequence, sending_ns, payload.len()) {
            // Neither is accepted; the next copy of either one replaces it.
            self.window.discard(sequence);
            return Verdict::Contradicts;
        }
        if self.compare.is_some() && buffer.differs(sequence, sending_ns, payload) {
            // mutant: feed: of two buffered copies with other bytes the first is processed
            self.window.discard(sequence);
            return Verdict::Differs;
        }
        let span = Span::one(sequence);
        if !self.window.keep(span, sending_ns, time, payload) {
            return Verdict::Duplicate;
        }
        if !self.candidate.is_empty() && self.place() == Place::OutOfWindow {
            self.candidate.pass_over();
        }
        Verdict::Buffered
    }
}
