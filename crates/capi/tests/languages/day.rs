//! A simulated day of a large bus, for the publisher of these tests.

use crate::publisher::define;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Settings};
use touchline_types::{
    BookKind, BookUpdate, Instrument, Level, LevelAction, LevelChange, OrderAction, OrderChange,
    OrderRow, OrdersUpdate, PacketInfo, Price, Quantity, Side, Statistic, StatisticKind,
    Timestamps, Trade, TradingStatus, Update, UpdateAction, Validity,
};

/// Instruments, of which the first has all the orders.
pub const INSTRUMENTS: u32 = 5_000;
/// Orders of one book.
pub const ORDERS: u64 = 100_000;
/// Nanoseconds of a day.
const DAY_NS: u64 = 86_400_000_000_000;
/// Changes in one message.
const CHANGES: usize = 1_000;

/// Sizes of its bus.
pub fn settings() -> Settings {
    Settings {
        instruments_max: INSTRUMENTS as usize + 1,
        image_levels_max: 12,
        orders_max: 1 << 17,
        ..Settings::default()
    }
}

/// Defines the instruments, each with its book, and adds the orders.
pub fn begin(out: &mut Publisher) {
    for index in 0..INSTRUMENTS {
        define(out, index.into(), &format!("SYM{index}"), index.into());
        book(out, index, LevelAction::Insert, 1, &Timestamps::default());
        out.commit();
    }
    let numbers: Vec<u64> = (0..ORDERS).collect();
    for numbers in numbers.chunks(CHANGES) {
        let changes: Vec<OrderChange> = numbers
            .iter()
            .map(|number| order(*number, OrderAction::New))
            .collect();
        orders(out, &changes, &Timestamps::default());
        out.commit();
    }
}

/// Publishes `count` packets from number `from` on, of `all` in the day.
pub fn packets(out: &mut Publisher, from: u64, count: u64, all: u64) {
    for packet in from..from + count {
        let now = (u128::from(DAY_NS) * u128::from(packet) / u128::from(all)) as u64;
        let timestamps = Timestamps {
            exchange_ns: now,
            packet: PacketInfo {
                sequence: packet,
                sending_ns: now,
                receive_ns: now + 1_000,
            },
            ..Timestamps::default()
        };
        let index = (packet % u64::from(INSTRUMENTS)) as u32;
        let quantity = 1 + (packet % 997) as i64;
        book(out, index, LevelAction::Replace, quantity, &timestamps);
        if packet.is_multiple_of(5) {
            trade(out, index, packet, &timestamps);
        }
        if packet.is_multiple_of(7) {
            // The oldest order goes, and another takes its row.
            let oldest = order(packet / 7, OrderAction::Delete);
            let newest = order(packet / 7 + ORDERS, OrderAction::New);
            orders(out, &[oldest, newest], &timestamps);
        }
        if packet.is_multiple_of(50) {
            figures(out, index, quantity, &timestamps);
        }
        out.commit();
    }
}

fn level(side: Side, quantity: i64) -> Level {
    let cents = match side {
        Side::Bid => 450_025,
        Side::Ask => 450_050,
    };
    Level {
        price: Price(cents * 1_000_000_000),
        quantity: Quantity(quantity),
        orders: 1,
        known: true,
    }
}

fn book(out: &mut Publisher, index: u32, action: LevelAction, quantity: i64, at: &Timestamps) {
    let changes = [Side::Bid, Side::Ask].map(|side| LevelChange {
        level: level(side, quantity),
        book: BookKind::Direct,
        side,
        action,
        index: 0,
    });
    let update = BookUpdate {
        instrument: Instrument(index),
        security_id: index.into(),
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes: &changes,
        best_bid: Some(changes[0].level),
        best_ask: Some(changes[1].level),
    };
    out.publish(&Update::Book(update), at);
}

fn trade(out: &mut Publisher, index: u32, trade_id: u64, at: &Timestamps) {
    let trade = Trade {
        instrument: Instrument(index),
        orders: 2,
        price: level(Side::Ask, 1).price,
        quantity: Quantity(1),
        aggressor: Some(Side::Bid),
        action: UpdateAction::New,
        trade_id,
    };
    out.publish(&Update::Trade(&trade), at);
}

fn order(number: u64, action: OrderAction) -> OrderChange {
    let side = [Side::Bid, Side::Ask][(number % 2) as usize];
    OrderChange {
        order_id: number,
        priority: number,
        price: level(side, 1).price,
        quantity: Quantity(1 + (number % 9) as i64),
        side,
        action,
        row: OrderRow {
            index: (number % ORDERS) as u32,
            number,
        },
    }
}

fn orders(out: &mut Publisher, changes: &[OrderChange], at: &Timestamps) {
    let update = OrdersUpdate {
        instrument: Instrument(0),
        validity: Validity::Live,
        changes,
    };
    out.publish(&Update::Orders(update), at);
}

/// A statistic and a trading status.
fn figures(out: &mut Publisher, index: u32, quantity: i64, at: &Timestamps) {
    let statistic = Statistic {
        instrument: Instrument(index),
        kind: StatisticKind::Volume,
        action: UpdateAction::New,
        price: Price::NULL,
        quantity: Quantity(quantity),
    };
    out.publish(&Update::Statistic(&statistic), at);
    let status = TradingStatus {
        instrument: Some(Instrument(index)),
        group: *b"GROUP\0",
        status: 17,
        reason: 0,
        event: 0,
    };
    out.publish(&Update::Status(&status), at);
}
