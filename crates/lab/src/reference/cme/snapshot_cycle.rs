//! Instruments of a snapshot cycle. An instrument that is missing in a complete cycle had no activity.

use std::collections::BTreeSet;

/// Tracks the cycles of one snapshot feed, both lines together.
#[derive(Clone, Debug, Default)]
pub struct SnapshotCycle {
    /// SendingTime of the cycle's packet 1; `None` if the start of the cycle was missed.
    started_ns: Option<u64>,
    /// The latest SendingTime of a packet 1.
    newest_start_ns: u64,
    last_sequence: u32,
    last_ns: u64,
    reports: Option<u32>,
    lowest_last_packet: u32,
    named: BTreeSet<i32>,
}

/// A complete cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompleteCycle {
    /// Instruments with a snapshot in it.
    pub named: BTreeSet<i32>,
    /// The lowest LastMsgSeqNumProcessed of its messages.
    pub last_packet: u32,
}

impl SnapshotCycle {
    /// Processes the header of a packet. Copies and packets of earlier cycles are ignored.
    pub fn see_packet(&mut self, sequence: u32, sending_time: u64) {
        if sequence == 1 && sending_time > self.newest_start_ns {
            // The first packet may arrive after packets of its own cycle; those are counted by their other copy.
            *self = Self {
                started_ns: Some(sending_time),
                newest_start_ns: sending_time,
                lowest_last_packet: u32::MAX,
                ..Self::default()
            };
        } else if sending_time <= self.last_ns {
            return;
        } else if sequence <= self.last_sequence {
            // The start of this cycle was missed.
            *self = Self {
                newest_start_ns: self.newest_start_ns,
                ..Self::default()
            };
        }
        (self.last_sequence, self.last_ns) = (sequence, sending_time);
    }

    /// Discards the current cycle; the next one is tracked.
    pub fn abandon(&mut self) {
        self.started_ns = None;
    }

    /// Processes a message of a packet. Returns the cycle once it is complete.
    pub fn see_message(
        &mut self,
        sending_time: u64,
        security_id: i32,
        reports: u32,
        last_packet: u32,
    ) -> Option<CompleteCycle> {
        self.started_ns.filter(|&started| sending_time >= started)?;
        if *self.reports.get_or_insert(reports) != reports {
            // Another cycle has started, and its first packets were missed.
            self.started_ns = None;
            return None;
        }
        self.lowest_last_packet = self.lowest_last_packet.min(last_packet);
        self.named.insert(security_id);
        if (self.named.len() as u64) < u64::from(reports) {
            return None;
        }
        self.started_ns = None;
        Some(CompleteCycle {
            named: std::mem::take(&mut self.named),
            last_packet: self.lowest_last_packet,
        })
    }
}
