//! A random market whose instruments have last values, too.

use super::{LISTS, levels};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    Instrument, Level, Price, Quantity, Side, Statistic, StatisticKind, Timestamps, Trade,
    TradingStatus, Update, UpdateAction, Validity,
};

/// Instruments of a market.
pub const INSTRUMENTS: u32 = 16;

/// Time between the receive times of two batches.
const BATCH_NS: u64 = 1_000;

/// Books, orders and values that change at random.
#[derive(Debug)]
pub struct Market(super::Market);

impl Market {
    /// The market of this seed.
    pub fn new(seed: u64) -> Market {
        let mut market = super::Market::new(seed, INSTRUMENTS);
        market.timestamps = times();
        Market(market)
    }

    /// Gives updates a receive time: of this one, and of each batch after it a microsecond later.
    pub fn received_at(&mut self, ns: u64) {
        self.0.timestamps.packet.receive_ns = ns;
    }

    /// Only the first instruments, this many, change from now on.
    pub fn narrow(&mut self, instruments: u32) {
        self.0.instruments = instruments;
    }

    /// Receive time of the next update, ns since the Unix epoch; 0 without one.
    pub fn received_ns(&self) -> u64 {
        self.0.timestamps.packet.receive_ns
    }

    /// Defines every instrument, and resets their books.
    pub fn define(&mut self, out: &mut impl Publish) {
        self.0.define(out);
        self.0.reset(out);
        out.commit();
    }

    /// Applies this number of events.
    pub fn events(&mut self, count: usize, out: &mut impl Publish) {
        for _ in 0..count {
            let instrument = self.0.pick();
            match self.0.random.below(10) {
                0 => self.0.order(instrument, out),
                1 => self.value(instrument, out),
                _ => self.0.change(instrument, out),
            }
            if self.0.random.below(2) == 0 {
                out.commit();
                let receive_ns = &mut self.0.timestamps.packet.receive_ns;
                *receive_ns += if *receive_ns > 0 { BATCH_NS } else { 0 };
            }
        }
        out.commit();
    }

    fn value(&mut self, instrument: Instrument, out: &mut impl Publish) {
        let random = &mut self.0.random;
        let (price, quantity) = (Price(random.below(1_000) as i64), Quantity(3));
        let trade_id = random.below(1 << 40) + 1;
        let trade = Trade {
            instrument,
            orders: 1,
            price,
            quantity,
            aggressor: Some(Side::Bid),
            action: UpdateAction::New,
            trade_id,
        };
        let statistic = Statistic {
            instrument,
            kind: StatisticKind::High,
            action: UpdateAction::New,
            price,
            quantity: Quantity::NULL,
        };
        let status = TradingStatus {
            instrument: Some(instrument),
            group: *b"GROUP1",
            status: 17,
            reason: 0,
            event: 0,
        };
        let times = &self.0.timestamps;
        out.publish(&Update::Trade(&trade), times);
        out.publish(&Update::Statistic(&statistic), times);
        out.publish(&Update::Status(&status), times);
    }
}

/// Times of every update.
pub fn times() -> Timestamps {
    Timestamps {
        exchange_ns: 1_700_000_000_000_000_000,
        ..Timestamps::default()
    }
}

/// Lists of levels, orders, and both validities.
pub type Seen = (Vec<Vec<Level>>, Vec<(u64, Price)>, Validity, Validity);

/// State of an instrument in a mirror.
pub fn seen(mirror: &Mirror, instrument: Instrument) -> Seen {
    let levels = |(kind, side)| levels(mirror.book(instrument), kind, side);
    let mut all = Vec::new();
    for side in Side::BOTH {
        mirror.orders().visit(instrument, side, |order| {
            all.push((order.order_id, order.price))
        });
    }
    (
        LISTS.map(levels).into(),
        all,
        mirror.validity(instrument),
        mirror.orders_validity(instrument),
    )
}
