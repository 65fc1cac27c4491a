//! Settings of a channel, and the names of its feeds and lines.

use crate::arbitration::CopyHash;
use touchline_types::Depth;

/// A feed of a channel that this handler reads (`feed-type` in CME's config.xml).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedType {
    /// `I`: the live updates.
    Incremental,
    /// `S`: market-by-price snapshots in a cycle.
    Snapshot,
    /// `SMBO`: market-by-order snapshots in a cycle.
    SnapshotOrders,
    /// `N`: instrument definitions in a cycle.
    Definition,
    /// `H`: packets of the incremental feed, replayed over TCP.
    Replay,
}

/// One of the two copies of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Line {
    /// The first copy.
    A,
    /// The second copy.
    B,
}

impl Line {
    /// Name in CME's `config.xml`.
    pub fn name(self) -> &'static str {
        match self {
            Line::A => "A",
            Line::B => "B",
        }
    }
}

/// Presentation of a book with a gap until a snapshot arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Empty, `Recovering`.
    #[default]
    Snapshot,
    /// Emptied and refilled from live updates, `Natural` (CME: natural refresh).
    Natural,
}

/// TCP replay of packets that both lines lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Additional wait time of a gap for requested packets, nanoseconds, after [`Settings::wait_ns`].
    pub wait_ns: u64,
    /// Most packets of one request; a longer gap is lost at once. CME answers at most 2,000 (client systems wiki,
    /// "TCP Recovery").
    pub packets_max: u32,
}

/// Settings and limits; memory is allocated from these at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Presentation of books with a gap.
    pub join: Join,
    /// Wait time of packets behind a gap, nanoseconds.
    pub wait_ns: u64,
    /// Number of packet numbers in the reorder buffer; rounded up to a power of two.
    pub hold_packets_max: usize,
    /// Longest packet, bytes; a longer one counts as not received.
    pub packet_bytes_max: usize,
    /// Most instruments.
    pub instruments_max: usize,
    /// Most entries queued for recovery, over all instruments.
    pub queue_entries_max: usize,
    /// Whether order books are kept; if not, the entries of single orders are skipped, as if the venue published none.
    pub order_books: bool,
    /// Most orders in one instrument's snapshot.
    pub snapshot_orders_max: usize,
    /// Depth of an instrument without a definition.
    pub default_depth: Depth,
    /// Whether books of instruments without a definition are published. Their depth is unknown, and with the default
    /// depth a book may show levels that the venue has dropped. Captures rarely contain definitions; a live channel
    /// repeats them continuously, so its books can wait for a definition and for a snapshot after it.
    pub trust_undefined: bool,
    /// Feed timeout: books are stale after this long without a packet of the incremental feed, nanoseconds; `u64::MAX`
    /// disables it.
    pub stale_ns: u64,
    /// Channel silence: books are stale after this long without a packet of any group, nanoseconds, if the groups of snapshots or
    /// definitions repeat; longer if they repeat slowly. `u64::MAX` disables it.
    pub silence_ns: u64,
    /// Hash by which the copies of a packet are compared, beyond their sending times and lengths; `None`: they are not. Without
    /// it a packet that was forged or damaged and is still valid may stay unnoticed, if it came first.
    pub compare_copies: Option<CopyHash>,
    /// TCP replay of lost packets, before snapshots recover the loss; `None`: no replay.
    pub replay: Option<Replay>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            join: Join::Snapshot,
            wait_ns: 20_000_000,
            hold_packets_max: 4096,
            packet_bytes_max: 9000,
            instruments_max: 65_536,
            queue_entries_max: 262_144,
            order_books: true,
            snapshot_orders_max: 65_536,
            default_depth: Depth {
                direct: 10,
                implied: 2,
            },
            trust_undefined: true,
            stale_ns: u64::MAX,
            silence_ns: u64::MAX,
            compare_copies: None,
            replay: None,
        }
    }
}
