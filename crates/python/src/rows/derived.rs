//! Rows that follow from an event and the kept books.

use super::{Column, Field, Row, TopRow, TradeRow};
use crate::number::{Form, Number, Time};
use crate::numpy::Stored;
use touchline_client::{Instrument, State, Times, Top, Trade};
use zerocopy::{Immutable, IntoBytes};

/// Levels a side.
pub const LEVELS: usize = 10;

/// Levels of one side.
#[derive(Debug, Clone, Copy)]
pub struct SideLevels {
    pub price: [Number; LEVELS],
    pub size: [Number; LEVELS],
    pub orders: [u32; LEVELS],
}

impl Field for [Number; LEVELS] {
    fn format(form: Form) -> &'static str {
        match form {
            Form::Float => "(10,)<f8",
            Form::Raw => "(10,)<i8",
        }
    }
}

impl Field for [u32; LEVELS] {
    fn format(_: Form) -> &'static str {
        "(10,)<u4"
    }
}

row! {
    /// Ten levels a side. The fields from `bid` to `state` are the contents.
    MbpRow, rest 3 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        bid: [Number; LEVELS],
        bid_size: [Number; LEVELS],
        bid_orders: [u32; LEVELS],
        ask: [Number; LEVELS],
        ask_size: [Number; LEVELS],
        ask_orders: [u32; LEVELS],
        instrument: u32,
        state: u8,
    }
}

row! {
    /// A trade, and the best bid and ask before it.
    TbboRow, rest 2 {
        sequence: u64,
        exchange_ns: Time,
        receive_ns: Time,
        trade_id: u64,
        price: Number,
        size: Number,
        bid: Number,
        bid_size: Number,
        ask: Number,
        ask_size: Number,
        instrument: u32,
        orders: u32,
        aggressor: u8,
        action: u8,
        bid_book: u8,
        ask_book: u8,
        state: u8,
        end_of_batch: bool,
    }
}

impl MbpRow {
    /// Row of an instrument, with its state and the message of the change.
    pub fn new(
        (instrument, state, sequence): (Instrument, State, u64),
        times: Times,
        [bids, asks]: [SideLevels; 2],
    ) -> MbpRow {
        MbpRow {
            sequence,
            exchange_ns: Time::new(times.exchange_ns),
            receive_ns: Time::new(times.receive_ns),
            bid: bids.price,
            bid_size: bids.size,
            bid_orders: bids.orders,
            ask: asks.price,
            ask_size: asks.size,
            ask_orders: asks.orders,
            instrument: instrument.index() as u32,
            state: state as u8,
            rest: [0; 3],
        }
    }

    /// Whether both have the same levels and state.
    pub fn has_contents_of(&self, other: &MbpRow) -> bool {
        let from = std::mem::offset_of!(MbpRow, bid);
        self.as_bytes()[from..] == other.as_bytes()[from..]
    }
}

impl TbboRow {
    /// Row of a trade.
    pub fn new(form: Form, trade: &Trade, before: &Top) -> TbboRow {
        let (trade, quote) = (TradeRow::new(form, trade), TopRow::new(form, before));
        TbboRow {
            sequence: trade.sequence,
            exchange_ns: trade.exchange_ns,
            receive_ns: trade.receive_ns,
            trade_id: trade.trade_id,
            price: trade.price,
            size: trade.size,
            bid: quote.bid,
            bid_size: quote.bid_size,
            ask: quote.ask,
            ask_size: quote.ask_size,
            instrument: trade.instrument,
            orders: trade.orders,
            aggressor: trade.aggressor,
            action: trade.action,
            bid_book: quote.bid_book,
            ask_book: quote.ask_book,
            state: quote.state,
            end_of_batch: trade.end_of_batch,
            rest: [0; 2],
        }
    }
}
