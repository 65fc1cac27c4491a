//! Packets of a sequence that was passed on already: copies, late packets, and conflicting ones.

use super::Arbitration;
use crate::reference::cme::packet::Packet;
use crate::reference::cme::suspects::SECOND;

impl Arbitration {
    /// A second copy of a processed packet, or of a lost one of this epoch.
    pub(super) fn is_old_copy(&self, next: u64, bytes: usize, packet: &Packet) -> bool {
        let sequence = u64::from(packet.sequence);
        if sequence + self.window < next {
            return false;
        }
        let is_copy = self.processed.get(&sequence) == Some(&(packet.sending_time, bytes));
        is_copy || sequence >= self.begun.sequence && self.is_late(packet)
    }

    /// A lost packet that may still arrive.
    pub(super) fn is_late(&self, packet: &Packet) -> bool {
        let sequence = u64::from(packet.sequence);
        let behind = self.processed.range(sequence..).next();
        !self.processed.contains_key(&sequence)
            && self
                .next
                .is_some_and(|next| (1..=self.window).contains(&next.saturating_sub(sequence)))
            && behind.is_none_or(|(_, (sent, _))| packet.sending_time <= *sent)
            && packet.sending_time <= self.last_sent_ns
            && self.last_sent_ns - packet.sending_time < SECOND
    }

    /// A different packet with the sequence of a processed one.
    pub(super) fn conflicts(&self, next: u64, bytes: usize, packet: &Packet) -> bool {
        let sequence = u64::from(packet.sequence);
        let sent = |sequence: u64| {
            self.processed
                .get(&sequence)
                .map(|(sending_time, _)| *sending_time)
        };
        let Some((sending_time, length)) = self
            .processed
            .get(&sequence)
            .filter(|_| sequence + self.window >= next)
        else {
            return false;
        };
        *length != bytes
            && sending_time.abs_diff(packet.sending_time) < 2 * SECOND
            && sent(sequence - 1).is_none_or(|before| packet.sending_time >= before)
            && sent(sequence + 1).is_none_or(|behind| packet.sending_time <= behind)
    }
}
