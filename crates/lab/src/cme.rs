//! Simulated CME MDP 3.0 exchange: packets of a generated market, with the expected books.
//!
//! The markets are limit order books, and the published data are derived from them, so the expected books are correct
//! by construction. Everything depends on the seed only.

pub mod config;
pub mod crowded;
pub mod encode;
mod exchange;
pub mod expected_books;
pub mod flow;
mod hashes;
pub mod header;
pub mod instrument;
pub mod ladder;
pub mod live;
pub mod market;
mod options;
pub mod publisher;
pub mod replay_server;
mod sent_packet;
pub mod snapshots;

use crate::picture::Picture;
pub use exchange::Exchange;
pub use options::Options;
pub use sent_packet::SentPacket;

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
