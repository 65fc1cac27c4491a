//! Markets that benchmarks replay: an ordinary session, and channels with the traits that vendors publish.

use super::endless::Endless;
use crate::capture::{Feed, Line};
use crate::cme::crowded::{self, Traits};
use crate::cme::header::sending_time;
use crate::cme::{Options, generate};
use crate::fault::{FaultPlan, deliver};

/// A generated market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Market {
    /// Ten instruments of all kinds, with trades and statistics.
    Mixed,
    /// A channel with many instruments and full books.
    Crowded(Traits),
}

/// Events of a round of the mixed session.
const EVENTS: usize = 4_000;
/// Packets of a round of a crowded channel: several of each instrument.
const PACKETS: usize = 20_000;

impl Market {
    /// Number of instruments.
    pub fn instruments_max(self) -> usize {
        match self {
            Market::Mixed => 4_096,
            Market::Crowded(traits) => traits.instruments + 1,
        }
    }

    /// Largest number of orders of all instruments at any time.
    pub fn orders_max(self) -> usize {
        match self {
            Market::Mixed => 65_536,
            Market::Crowded(traits) => traits.instruments * (traits.orders_max + 16),
        }
    }

    /// Packets of these lines as they arrive; the same for each call with the same seed.
    pub fn rounds(self, seed: u64, lines: &[Line]) -> Endless<Line> {
        match self {
            Market::Mixed => mixed(EVENTS, seed, lines),
            Market::Crowded(traits) => crowded(traits, PACKETS, seed, lines),
        }
    }

    /// [`Market::rounds`] of about `packets` packets a line.
    pub fn short_rounds(self, packets: usize, seed: u64, lines: &[Line]) -> Endless<Line> {
        match self {
            Market::Mixed => mixed(packets, seed, lines),
            Market::Crowded(traits) => crowded(traits, packets, seed, lines),
        }
    }
}

fn mixed(events: usize, seed: u64, lines: &[Line]) -> Endless<Line> {
    let options = Options {
        events,
        ..Options::default()
    };
    let delivery = deliver(&generate(&options, seed), &FaultPlan::default(), seed);
    let mut rounds = Endless::new();
    for arrival in &delivery.arrivals {
        if arrival.feed == Feed::Incremental && lines.contains(&arrival.line) {
            rounds.add(arrival.line, arrival.time_ns, &arrival.payload);
        }
    }
    rounds
}

fn crowded(traits: Traits, packets: usize, seed: u64, lines: &[Line]) -> Endless<Line> {
    let channel = crowded::generate(traits, packets, seed);
    let mut rounds = Endless::new();
    for packet in &channel.opening {
        rounds.add_opening(Line::A, packet);
    }
    for packet in &channel.round {
        for line in lines {
            rounds.add(*line, sending_time(packet), packet);
        }
    }
    rounds
}
