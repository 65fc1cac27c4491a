//! Simulated CME MDP 3.0 exchange: packets of a generated market, with the expected books.
//!
//! The markets are limit order books, and the published data are derived from them, so the expected books are correct
//! by construction. Everything depends on the seed only.

pub mod config;
pub mod encode;
mod exchange;
pub mod expected_books;
pub mod flow;
pub mod header;
pub mod instrument;
pub mod ladder;
pub mod live;
pub mod market;
pub mod publisher;
pub mod replay_server;
pub mod snapshots;

use crate::capture::Feed;
use crate::picture::Picture;
use crate::random::Random;
use encode::Version;
pub use exchange::Exchange;

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

/// One packet, before it is sent over two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// Time of arrival on a line without faults, nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed it belongs to.
    pub feed: Feed,
    /// Its sequence in that feed.
    pub sequence: u32,
    /// Faults do not affect this packet: a heartbeat or complete cycle at the end of a session, in which all books
    /// recover, or, with [`Options::spare_resets`], a packet that shows a reset.
    pub spared: bool,
    /// The datagram.
    pub payload: Vec<u8>,
}

/// A session and its expected books.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// All packets, in order of time.
    pub packets: Vec<SentPacket>,
    /// Final state of a subscriber without losses.
    pub expected: Picture,
}

impl Session {
    /// An exchange that restarts in the middle of its session, with an empty market and another course: the packets
    /// before the given one, and after a pause all packets of the next session. Each session has its own sending times;
    /// those of the next continue from the last one before, by a clock that is wrong by this number of seconds.
    #[must_use]
    pub fn begun_anew(
        &self,
        at: usize,
        next: &Session,
        pause_ns: u64,
        clock_seconds: i64,
    ) -> Session {
        let mut packets: Vec<_> = self.packets.iter().take(at).cloned().collect();
        let first_ns = next.packets.first().map_or(0, |first| first.time_ns);
        let begins_ns = packets
            .last()
            .map_or(first_ns, |last| last.time_ns + pause_ns);
        packets.extend(next.packets.iter().map(|sent| {
            let mut sent = sent.clone();
            let moved_ns = begins_ns.wrapping_sub(first_ns);
            sent.time_ns = sent.time_ns.wrapping_add(moved_ns);
            let sending_ns = header::sending_time(&sent.payload).wrapping_add(moved_ns);
            let said_ns = header::moved(sending_ns, clock_seconds);
            header::set_sending_time(&mut sent.payload, said_ns);
            sent
        }));
        Session {
            packets,
            expected: next.expected.clone(),
        }
    }
}

/// Generates a session.
pub fn generate(options: &Options, seed: u64) -> Session {
    let mut exchange = Exchange::new(options, seed);
    let mut packets = Vec::new();
    exchange.keep_tops();
    exchange.open();
    for event in 0..options.events {
        exchange.pass_time();
        if falls_on(event, options.events, options.channel_resets, 1) {
            exchange.reset_channel(options.renumber_after_channel_reset);
        }
        if falls_on(event, options.events, options.weekly_resets, 2) {
            exchange.pass_weekend();
            exchange.reset_week();
        }
        if event == options.events / 2 {
            exchange.define_rest();
        }
        exchange.event();
        exchange.send_around();
        packets.append(exchange.packets());
    }
    exchange.wind_down();
    packets.append(exchange.packets());
    packets.sort_by_key(|packet| packet.time_ns);
    Session {
        packets,
        expected: exchange.expected(),
    }
}

/// True for the events at which one of `count` occurrences falls that are spread evenly over `events`. The phase
/// separates different kinds.
fn falls_on(event: usize, events: usize, count: usize, phase: usize) -> bool {
    (1..=count).any(|k| event == (k * events / (count + 1) + phase).min(events - 1))
}
