//! A CME MDP 3.0 exchange: real packets of a generated market, with the truth.
//!
//! The markets are real limit order books; what is published is derived from them, so that the truth of a session is
//! true by construction. Everything depends on the seed alone.

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

/// What a session is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// The schema version.
    pub version: Version,
    /// Number of instruments.
    pub instruments: usize,
    /// Number of events.
    pub events: usize,
    /// Use DeleteThru, DeleteFrom and Overlay where they are natural.
    pub bulk_actions: bool,
    /// Share of events that bring a message of an unknown template, 0 to 1.
    pub unknown_share: f64,
    /// Share of messages of the incremental feed written as a version would that nobody knows yet, 0 to 1.
    pub future_share: f64,
    /// Number of channel resets, spread over the session.
    pub channel_resets: usize,
    /// Packet numbers start again at 1 after a channel reset; otherwise they go on.
    pub renumber_after_channel_reset: bool,
    /// Number of weekly restarts of all numbers, spread over the session.
    pub weekly_resets: usize,
    /// Faults leave the packets alone that show a reset. One that is lost cannot be noticed where the RptSeq of an
    /// instrument happens to go on at the old number, and then a book is wrong for good: a limit of the protocol.
    pub spare_resets: bool,
    /// The last instrument is defined in the middle of the session, on the incremental feed.
    pub late_definition: bool,
    /// Quantities beyond 32 bits in the instruments whose messages have room for them.
    pub large_quantities: bool,
    /// Another course of the same market: the instruments are those of the seed, what happens to them is of this one.
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
            course: None,
        }
    }
}

impl Options {
    /// A session with everything in it, as varied as the seed will have it.
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
            spare_resets: true,
            late_definition: random.chance(0.5),
            large_quantities: random.chance(0.5),
            course: None,
        }
    }
}

/// One packet, before it is sent over two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// When it arrives on an undisturbed line, nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed it belongs to.
    pub feed: Feed,
    /// Its sequence in that feed.
    pub sequence: u32,
    /// Faults leave it alone. So are the heartbeats and whole loops that end a session and heal everything, and, if
    /// [`Options::spare_resets`] says so, the packets that show a reset.
    pub spared: bool,
    /// The datagram.
    pub payload: Vec<u8>,
}

/// A session and its truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Everything sent, in order of time.
    pub packets: Vec<SentPacket>,
    /// What a subscriber that misses nothing has in the end.
    pub expected: Picture,
}

impl Session {
    /// An exchange that dies in the middle of its session and begins anew, with an empty market and another course: the
    /// packets before the given one, and after a pause all of the next session. Each keeps its own sending times; those
    /// of the next go on from the last before it, by a clock that is wrong by so many seconds.
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

/// True for the events at which one of `count` happenings falls that are spread evenly over `events`. The phase keeps
/// different happenings apart.
fn falls_on(event: usize, events: usize, count: usize, phase: usize) -> bool {
    (1..=count).any(|k| event == (k * events / (count + 1) + phase).min(events - 1))
}
