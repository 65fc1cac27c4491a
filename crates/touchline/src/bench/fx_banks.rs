//! Banks of the FX benchmarks: a bus in shared memory for each, whose quotes lie around one mid.

use touchline_lab::bank::bus;
use touchline_transport::clock::wall_ns;
use touchline_transport::shm::{Error, Publisher, Root, Settings};
use touchline_transport::{Publish, boot_ns};
use touchline_types::{
    Id, Price, Quantity, Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteUpdate, ReceiveTime,
    Side, Timestamps, Update,
};

/// Mid, ticks.
pub const MID: i64 = 110_000;
/// Units of the first tier; each tier behind it has as many more.
pub const TIER_UNITS: i64 = 1_000_000;

/// The banks' buses.
pub struct Banks {
    publishers: Vec<Publisher>,
    tiers: u32,
}

impl Banks {
    /// Opens a bus of each bank, with its definition and the state of its session.
    pub fn open(root: &Root, buses: &[String], tiers: u32) -> Result<Banks, Error> {
        let settings = Settings {
            ring_bytes: 1 << 20,
            instruments_max: 1,
            orders_max: 1,
            ..Settings::default()
        };
        let publishers = buses
            .iter()
            .map(|bus| Publisher::open(root, bus, &settings));
        let mut banks = Banks {
            publishers: publishers.collect::<Result<_, _>>()?,
            tiers,
        };
        for bank in 0..banks.len() {
            banks.announce(bank);
        }
        Ok(banks)
    }

    /// Number of banks.
    pub fn len(&self) -> usize {
        self.publishers.len()
    }

    fn announce(&mut self, bank: usize) {
        bus::announce(|update| self.publish(bank, update));
    }

    /// All quotes of each bank; the best of a bank is `away` from the mid, or up to three ticks more.
    pub fn snapshots(&mut self, away: i64) {
        for bank in 0..self.len() {
            let away = away + bank as i64 % 4;
            let quotes = all_quotes(self.tiers, away);
            let snapshot = QuoteSnapshot {
                stream: bus::stream(),
                quotes: &quotes,
            };
            self.publish(bank, &Update::QuoteSnapshot(snapshot));
        }
    }

    /// One quote of a bank changes.
    pub fn change(&mut self, bank: usize, quote: Quote) {
        let changes = [QuoteChange {
            action: QuoteAction::Set,
            quote,
        }];
        let update = QuoteUpdate {
            stream: bus::stream(),
            changes: &changes,
        };
        self.publish(bank, &Update::Quotes(update));
    }

    fn publish(&mut self, bank: usize, update: &Update<'_>) {
        let mut timestamps = Timestamps::default();
        timestamps.packet.receive_ns = now().wall_ns;
        let publisher = &mut self.publishers[bank];
        publisher.publish(update, &timestamps);
        publisher.commit();
    }
}

/// All quotes of a bank whose best is so far from the mid.
pub fn all_quotes(tiers: u32, away: i64) -> Vec<Quote> {
    let quote = |tier| Side::BOTH.map(|side| quote_of(tier, side, away));
    (0..tiers).flat_map(quote).collect()
}

/// A tier of a bank whose best price is so far from the mid.
pub fn quote_of(tier: u32, side: Side, away: i64) -> Quote {
    let away = i64::from(tier) + away;
    let ticks = match side {
        Side::Bid => MID - away,
        Side::Ask => MID + away,
    };
    Quote {
        entry: 2 * tier + side.index() as u32,
        side,
        price: Price(ticks * bus::TICK),
        quantity: Quantity(TIER_UNITS * (1 + i64::from(tier))),
        priority: 1,
        quote_id: Id::lossy(b"Q1"),
        ..Quote::NULL
    }
}

/// The present time.
pub fn now() -> ReceiveTime {
    ReceiveTime {
        wall_ns: wall_ns(),
        mono_ns: boot_ns(),
    }
}
