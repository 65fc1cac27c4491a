//! Parameters of a session.

use super::encode::Version;
use crate::random::Random;

/// Parameters of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// The schema version.
    pub version: Version,
    /// Number of instruments.
    pub instruments: usize,
    /// Number of events.
    pub events: usize,
    /// Use DeleteThru, DeleteFrom and Overlay where they apply.
    pub bulk_actions: bool,
    /// Share of events with a message of an unknown template, 0 to 1.
    pub unknown_share: f64,
    /// Share of messages of the incremental feed written in a future schema version, 0 to 1.
    pub future_share: f64,
    /// Number of channel resets, spread over the session.
    pub channel_resets: usize,
    /// Packet numbers start again at 1 after a channel reset; otherwise they continue.
    pub renumber_after_channel_reset: bool,
    /// Number of weekly restarts of all numbers, spread over the session.
    pub weekly_resets: usize,
    /// Faults do not affect the packets that show a reset. A lost reset cannot be detected if the RptSeq of an instrument
    /// happens to continue at the old number; then a book stays wrong: a limit of the protocol.
    pub spare_resets: bool,
    /// The last instrument is defined in the middle of the session, on the incremental feed.
    pub late_definition: bool,
    /// Quantities beyond 32 bits in the instruments with wide messages.
    pub large_quantities: bool,
    /// DisplayFactor of every instrument, 1e-9: traders quote its prices multiplied by this factor.
    pub display_factor: i64,
    /// Seed of another course of the same market: the instruments depend on the session's seed, their events on this
    /// one.
    pub course: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: Version::V9,
            instruments: 10,
            events: 400,
            bulk_actions: false,
            unknown_share: 0.0,
            future_share: 0.0,
            channel_resets: 0,
            renumber_after_channel_reset: false,
            weekly_resets: 0,
            spare_resets: true,
            late_definition: false,
            large_quantities: false,
            display_factor: 1_000_000_000,
            course: None,
        }
    }
}

impl Options {
    /// A session with all features, varied by the seed.
    pub fn varied(seed: u64) -> Self {
        let mut random = Random::from_seed(seed ^ 0x6f70_7469_6f6e_7321);
        Self {
            version: *random.pick(&[Version::V9, Version::V13]),
            instruments: random.between(3, 24) as usize,
            events: random.between(150, 600) as usize,
            bulk_actions: random.chance(0.5),
            unknown_share: *random.pick(&[0.0, 0.05]),
            future_share: *random.pick(&[0.0, 0.1]),
            channel_resets: random.index(3),
            renumber_after_channel_reset: random.chance(0.5),
            weekly_resets: random.index(2),
            late_definition: random.chance(0.5),
            large_quantities: random.chance(0.5),
            ..Self::default()
        }
    }
}
