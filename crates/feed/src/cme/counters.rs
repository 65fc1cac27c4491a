//! Counters of the CME feed.

use super::arbiter::Verdict;
use super::settings::{FeedType, Line};

touchline_types::counters! {
    /// Counters of one channel.
    pub struct Counters {
        packets_a: "packets" = "Incremental packets received on line A.",
        packets_b: "packets" = "Incremental packets received on line B.",
        packets_snapshot: "packets" = "Packets received on the snapshot feeds, both lines.",
        packets_definition: "packets" = "Packets received on the definition feed, both lines.",
        packets_invalid: "packets" = "Packets that broke a rule of the packet format or a limit; dropped.",
        packets_delivered: "packets" = "Incremental packets processed, each sequence number once.",
        packets_first_a: "packets" = "Packets whose copy on line A came first.",
        packets_first_b: "packets" = "Packets whose copy on line B came first.",
        packets_duplicate: "packets" = "Copies of packets already processed or buffered.",
        packets_buffered: "packets" = "Packets that waited behind a gap.",
        packets_late: "packets" = "Copies that arrived after their number had been declared lost.",
        packets_lost: "packets" = "Packet numbers declared lost on both lines.",
        packets_old_epoch: "packets" = "Packets from before the last sequence reset.",
        packets_implausible: "packets" = "Packets that contradict processed ones, by their number or their sending time; several that agree are a sequence reset.",
        packets_conflicting: "times" = "Two different packets arrived with one number at the same time; every book that may contain the wrong one is gapped.",
        packets_different: "packets" = "Copies whose bytes differ from those of the processed or buffered packet of their number (compare_copies); books are recovered.",
        packets_out_of_window: "packets" = "Packets beyond the window that waited for a second one to confirm the jump.",
        packets_replayed: "packets" = "Packets from TCP replay that filled a gap.",
        packets_replay_unused: "packets" = "Packets from TCP replay that were no longer needed, or cannot be the lost packets.",
        replays_requested: "times" = "Gaps for which TCP replay was requested.",
        replays_filled: "times" = "Replays whose packets all arrived, by TCP replay or late on a line.",
        gaps: "gaps" = "Gaps declared lost.",
        jumps_unconfirmed: "times" = "Packets contradicted processed packets, and no packet confirmed or refuted them within the wait time of a gap; books were marked gapped.",
        numbering_restarts: "times" = "Sequence resets of the channel (weekly reset, failover).",
        feed_timeouts: "times" = "No packet arrived on either line of the incremental feed for the feed timeout, or for silence_limit_ms while snapshots showed that the venue sent some; books were marked stale.",
        channel_silences: "times" = "No packet of any group of the channel arrived for silence_limit_ms, snapshots and definitions included; books were marked stale.",
        channel_silent: "yes/no now" = "The channel is silent since the last such time.",
        silence_limit_ms: "ms now" = "Time without a packet of any group after which the channel is silent; it follows from the rate of snapshots and definitions. 0: they do not repeat, or the check is disabled.",
        channel_resets: "messages" = "Channel resets (template 4).",
        messages: "messages" = "Messages processed on the incremental feed.",
        messages_unknown: "messages" = "Messages of a template that this version does not know, skipped by their size.",
        instrument_gaps: "times" = "A gap in an instrument's RptSeq emptied its price book.",
        instrument_restarts: "times" = "An instrument's RptSeq started again without a reset.",
        entries_contained: "entries" = "Entries already in a snapshot; ignored.",
        entries_queued: "entries" = "Entries queued for recovery.",
        entries_unknown: "entries" = "Entries of a type or action that this version does not know.",
        queue_full: "times" = "The recovery queue was full and was dropped; later snapshots recover its books.",
        snapshots_used: "snapshots" = "Price snapshots that replaced a book.",
        snapshots_too_old: "snapshots" = "Price snapshots older than the first queued entry.",
        snapshots_stale: "snapshots" = "Snapshot messages from before the last reset.",
        snapshots_early: "packets" = "Packets of snapshots that were ahead of the incremental feed, and waited for it.",
        recovery_refused: "packets" = "Packets of snapshots or definitions with a number or a sending time ahead of the venue.",
        order_snapshots_used: "snapshots" = "Order snapshots that replaced an order book.",
        order_snapshots_refused: "snapshots" = "Complete order snapshots that contradicted the received packets.",
        order_snapshots_too_large: "snapshots" = "Order snapshots beyond the limits.",
        snapshot_cycles: "cycles" = "Snapshot cycles seen complete.",
        instruments_absent: "instruments" = "Instruments confirmed as empty because a complete snapshot cycle did not name them.",
        instruments_full: "entries" = "Entries or definitions dropped because the limit of instruments was reached.",
        definitions: "messages" = "Definition messages processed.",
        definition_cycles: "cycles" = "Definition cycles seen complete.",
        depth_changes: "times" = "A definition changed the depth of a book in use, which starts its recovery.",
        price_overflow: "prices" = "Prices that do not fit 1e-9 units; shown as null.",
        quantity_overflow: "quantities" = "Quantities that do not fit; shown as null.",
        quantities_negative: "entries" = "Entries with a negative quantity. Such a level or order makes its book unknown until its next snapshot; such a trade or statistic is left out; a snapshot with one is not used.",
        orders_overflowed: "times" = "The limit of orders was reached and one instrument's order book was dropped.",
    }
}

impl Counters {
    /// Counts a received packet.
    #[inline]
    pub(super) fn note_arrival(&mut self, feed: FeedType, line: Line) {
        match (feed, line) {
            (FeedType::Incremental, Line::A) => self.packets_a += 1,
            (FeedType::Incremental, Line::B) => self.packets_b += 1,
            (FeedType::Definition, _) => self.packets_definition += 1,
            (FeedType::Snapshot | FeedType::SnapshotOrders, _) => self.packets_snapshot += 1,
            // The result of the offer counts it.
            (FeedType::Replay, _) => {}
        }
    }

    /// Counts the result of offering a packet of the incremental feed.
    #[inline]
    pub(super) fn note(&mut self, verdict: Verdict, line: Line) {
        let first_of_line = match line {
            Line::A => &mut self.packets_first_a,
            Line::B => &mut self.packets_first_b,
        };
        match verdict {
            Verdict::Deliver | Verdict::First => *first_of_line += 1,
            Verdict::Buffered => {
                *first_of_line += 1;
                self.packets_buffered += 1;
            }
            Verdict::Duplicate => self.packets_duplicate += 1,
            Verdict::Late => self.packets_late += 1,
            Verdict::OldEpoch => self.packets_old_epoch += 1,
            Verdict::Contradicts => self.packets_implausible += 1,
            Verdict::Differs => self.packets_different += 1,
            Verdict::OutOfWindow => self.packets_out_of_window += 1,
        }
    }
}
