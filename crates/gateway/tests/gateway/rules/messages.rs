//! Messages of one instrument, number 7, with the fields of the rules. Prices are whole numbers; an
//! irrelevant quantity is 1.

use touchline_lab::cme::encode::Version;
use touchline_lab::cme::encode::definition as definitions;
use touchline_lab::cme::encode::incremental::{self, Body, LevelEntry, OrderEntry, StatisticEntry};
use touchline_lab::cme::encode::snapshot::{self, Head};
use touchline_lab::cme::instrument::{Activity, Instrument, Kind};
use touchline_lab::cme::ladder::{Ladder, Rung};
use touchline_lab::cme::market::RestingOrder;
use touchline_lab::picture::Side;

/// The instrument.
pub const ID: i32 = 7;
/// Insert, replace, remove, set.
pub const NEW: u8 = 0;
pub const CHANGE: u8 = 1;
pub const DELETE: u8 = 2;
pub const OVERLAY: u8 = 5;

const UNIT: i64 = 1_000_000_000;
const END_OF_EVENT: u8 = 0x80;

/// A bid of the direct book.
pub fn bid(rpt_seq: u32, action: u8, level: u8, price: i64) -> LevelEntry {
    LevelEntry {
        security_id: ID,
        rpt_seq,
        entry_type: b'0',
        action,
        level,
        price: price * UNIT,
        quantity: 1,
        orders: Some(1),
    }
}

/// A bid of the implied book.
pub fn implied_bid(rpt_seq: u32, action: u8, level: u8, price: i64) -> LevelEntry {
    LevelEntry {
        entry_type: b'E',
        orders: None,
        ..bid(rpt_seq, action, level, price)
    }
}

/// A book message that ends its event, with TransactTime 0.
pub fn book(levels: &[LevelEntry]) -> Vec<u8> {
    incremental(&book_body(levels), 0, END_OF_EVENT)
}

/// A book message that does not end its event.
pub fn open_book(levels: &[LevelEntry]) -> Vec<u8> {
    incremental(&book_body(levels), 0, 0)
}

/// A message with the session's volume: it has a RptSeq and changes no book.
pub fn volume(rpt_seq: u32) -> Vec<u8> {
    let body = Body::Volume {
        wide: false,
        entries: vec![statistic(rpt_seq, b'e')],
    };
    alone(&body, 0)
}

/// An entry of a statistic.
pub fn statistic(rpt_seq: u32, entry_type: u8) -> StatisticEntry {
    StatisticEntry {
        security_id: ID,
        rpt_seq,
        entry_type,
        price: 0,
        quantity: 1,
    }
}

/// A message that is an event of its own, of this time.
pub fn alone(body: &Body, transact_ns: u64) -> Vec<u8> {
    incremental(body, transact_ns, END_OF_EVENT)
}

/// A message that only ends the event.
pub fn end_of_event() -> Vec<u8> {
    book(&[])
}

/// A message without effect; its packet has a number.
pub fn heartbeat() -> Vec<u8> {
    incremental(&Body::Heartbeat, 0, 0)
}

/// A channel reset.
pub fn channel_reset() -> Vec<u8> {
    incremental(&Body::ChannelReset, 0, END_OF_EVENT)
}

/// A buy order.
pub fn order(action: u8, id: u64, priority: u64, quantity: i64, price: i64) -> OrderEntry {
    OrderEntry {
        security_id: ID,
        id,
        priority: Some(priority),
        price: Some(price * UNIT),
        quantity: Some(quantity),
        side: Side::Bid,
        action,
    }
}

/// A message of orders that ends its event, which began at `transact_ns`.
pub fn orders(transact_ns: u64, entries: &[OrderEntry]) -> Vec<u8> {
    let body = Body::Orders(entries.to_vec());
    incremental(&body, transact_ns, END_OF_EVENT)
}

/// A message of orders that does not end its event.
pub fn open_orders(transact_ns: u64, entries: &[OrderEntry]) -> Vec<u8> {
    incremental(&Body::Orders(entries.to_vec()), transact_ns, 0)
}

/// A price snapshot with these bids, in a cycle of one instrument.
pub fn snapshot(snapshot_sequence: u32, rpt_seq: u32, bids: &[i64]) -> Vec<u8> {
    snapshot_of(ID, 1, snapshot_sequence, rpt_seq, bids)
}

/// A price snapshot of an instrument in a cycle of `reports`.
pub fn snapshot_of(
    security_id: i32,
    reports: u32,
    snapshot_sequence: u32,
    rpt_seq: u32,
    bids: &[i64],
) -> Vec<u8> {
    let bids: Vec<_> = bids.iter().map(|price| (*price, 1)).collect();
    sized(security_id, reports, snapshot_sequence, rpt_seq, &bids)
}

/// A price snapshot with bids of these prices and quantities.
pub fn snapshot_sized(snapshot_sequence: u32, rpt_seq: u32, bids: &[(i64, i64)]) -> Vec<u8> {
    sized(ID, 1, snapshot_sequence, rpt_seq, bids)
}

fn sized(
    security_id: i32,
    reports: u32,
    snapshot_sequence: u32,
    rpt_seq: u32,
    bids: &[(i64, i64)],
) -> Vec<u8> {
    let head = Head {
        security_id,
        last_packet: snapshot_sequence,
        reports,
        transact_time: 0,
    };
    let rung = |&(price, quantity): &(i64, i64)| Rung {
        price: price * UNIT,
        quantity,
        orders: Some(1),
    };
    let mut ladders: [Ladder; 4] = Default::default();
    ladders[0] = bids.iter().map(rung).collect();
    snapshot::prices(Version::V9, false, head, rpt_seq, &ladders)
}

/// A chunk (from 1) of a snapshot of buy orders: id, priority, quantity and price of each.
pub fn order_chunk(
    snapshot_sequence: u32,
    transact_time: u64,
    chunk: (u32, u32),
    orders: &[(u64, u64, i64, i64)],
) -> Vec<u8> {
    let head = Head {
        security_id: ID,
        last_packet: snapshot_sequence,
        reports: 1,
        transact_time,
    };
    let backing_off = |&(id, priority, quantity, price): &(u64, u64, i64, i64)| RestingOrder {
        id,
        side: Side::Bid,
        price: price * UNIT,
        quantity,
        priority,
    };
    let orders: Vec<_> = orders.iter().map(backing_off).collect();
    snapshot::order_chunk(Version::V9, head, chunk, &orders)
}

/// The definition of an instrument with a direct book of this depth.
pub fn definition(security_id: i32, depth: u8) -> Vec<u8> {
    let instrument = Instrument {
        security_id,
        symbol: format!("SYM{security_id}"),
        kind: Kind::Future,
        tick: UNIT,
        price: UNIT,
        listed_depth: Some(depth),
        listed_implied_depth: Some(2),
        display_factor: 1_000_000_000,
        wide: false,
        activity: Activity::Traded,
    };
    definitions::encode(Version::V9, &instrument, 1, 0)
}

fn book_body(levels: &[LevelEntry]) -> Body {
    Body::Book {
        wide: false,
        levels: levels.to_vec(),
        orders: Vec::new(),
    }
}

fn incremental(body: &Body, transact_ns: u64, indicator: u8) -> Vec<u8> {
    incremental::encode(Version::V9, false, body, transact_ns, indicator)
}
