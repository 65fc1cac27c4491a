//! One event, flat: fields of other kinds are 0, absent prices and sizes `TL_NONE`, absent times `TL_NO_TIME`.

#![allow(unsafe_code, reason = "a struct of C programs")]

use touchline_client::{Event, Price, Quantity, Quote, Trade};

/// No price and no size.
pub const TL_NONE: i64 = i64::MAX;

/// No time: the venue, or the publisher, states none.
pub const TL_NO_TIME: u64 = 0;

/// No date.
pub const TL_NO_DATE: u32 = 0;

// As the client has them.
const _: () = assert!(TL_NO_TIME == 0 && TL_NO_DATE == 0);

/// No state: the event concerns no book.
pub const TL_NO_STATE: u8 = u8::MAX;

/// No book: there is no best price.
pub const TL_NO_BOOK: u8 = u8::MAX;

/// An event. `size` is the caller's `sizeof(tl_event)`: later versions add fields at the end, and write no more than that.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(non_camel_case_types, reason = "as C spells it")]
pub struct tl_event {
    /// The caller's `sizeof(tl_event)`.
    pub size: u32,
    /// `TL_EVENT_TOP` and others.
    pub kind: u8,
    /// State of the book after the event: `TL_STATE_LIVE` and others, `TL_NO_STATE` for other kinds.
    pub state: u8,
    /// `TL_CONNECTION_…` of a connection event, `TL_AGGRESSOR_…` of a trade, `TL_STATISTIC_…` of a statistic, the venue's
    /// code of a trading status.
    pub detail: u8,
    /// Power of ten of sizes.
    pub exponent: i8,
    /// Index of the instrument; `UINT32_MAX` if there is none.
    pub instrument: u32,
    /// 1 if it is the last event of its venue packet that this reader is given.
    pub end_of_batch: u8,
    /// Action of a trade: `TL_TRADE_NEW`, or a correction or bust of an earlier one; of a statistic: `TL_TRADE_DELETE` if it is withdrawn,
    /// else it is set.
    pub action: u8,
    /// 1 if the steps of a change are the whole book: they begin with those that empty it.
    pub whole: u8,
    /// 0.
    pub reserved: u8,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Time of the venue, nanoseconds since 1970; `TL_NO_TIME` if it states none.
    pub exchange_ns: u64,
    /// Time of reception, nanoseconds since 1970; `TL_NO_TIME` if unknown.
    pub receive_ns: u64,
    /// Best bid, in 1e-9: the better of the direct and the implied book.
    pub bid: i64,
    /// Its size; direct and implied together if both have the price.
    pub bid_size: i64,
    /// Best ask, in 1e-9.
    pub ask: i64,
    /// Its size.
    pub ask_size: i64,
    /// Price of a trade or a statistic, in 1e-9.
    pub price: i64,
    /// Size of a trade or a statistic.
    pub quantity: i64,
    /// Id of a trade, messages lost in an overrun, generation of a publisher, number of defined instruments.
    pub id: u64,
    /// Book of the best bid: `TL_BOOK_DIRECT`, `TL_BOOK_IMPLIED`, `TL_BOOK_MERGED` if both have the price; `TL_NO_BOOK` without a bid.
    pub bid_book: u8,
    /// Book of the best ask, likewise.
    pub ask_book: u8,
    /// 0.
    pub reserved_books: [u8; 6],
}

crate::sized::versioned!(tl_event, 96);

impl tl_event {
    fn none() -> tl_event {
        tl_event {
            size: size_of::<tl_event>() as u32,
            kind: 0,
            state: TL_NO_STATE,
            detail: 0,
            exponent: 0,
            instrument: u32::MAX,
            end_of_batch: 0,
            action: 0,
            whole: 0,
            reserved: 0,
            sequence: 0,
            exchange_ns: TL_NO_TIME,
            receive_ns: TL_NO_TIME,
            bid: TL_NONE,
            bid_size: TL_NONE,
            ask: TL_NONE,
            ask_size: TL_NONE,
            price: TL_NONE,
            quantity: TL_NONE,
            id: 0,
            bid_book: TL_NO_BOOK,
            ask_book: TL_NO_BOOK,
            reserved_books: [0; 6],
        }
    }

    /// Event in C of an event of the client.
    pub fn of(event: &Event) -> tl_event {
        let mut flat = tl_event::none();
        flat.end_of_batch = u8::from(event.end_of_batch());
        if let Some(instrument) = event.instrument() {
            flat.instrument = instrument.index() as u32;
        }
        flat.kind = event.kind() as u8;
        if let Some(state) = event.state() {
            flat.state = state as u8;
        }
        if let (Some(sequence), Some(times)) = (event.sequence(), event.times()) {
            flat.sequence = sequence;
            flat.exchange_ns = times.exchange_ns;
            flat.receive_ns = times.receive_ns;
        }
        let (bid, ask) = event.quotes();
        flat.quotes(bid, ask);
        match event {
            Event::Trade(trade) => flat.trade(trade),
            Event::Book(change) => flat.whole = u8::from(change.is_whole),
            Event::Orders(change) => flat.whole = u8::from(change.is_whole),
            Event::Quotes(change) => flat.whole = u8::from(change.is_whole),
            Event::Statistic(statistic) => {
                flat.traded(statistic.price, statistic.quantity);
                flat.detail = statistic.kind as u8;
                flat.action = statistic.action as u8;
            }
            Event::Status(status) => flat.detail = status.status,
            Event::Connection(what) => {
                flat.detail = what.kind() as u8;
                [flat.id, _] = what.counts();
            }
            _ => {}
        }
        flat
    }

    fn quotes(&mut self, bid: Option<Quote>, ask: Option<Quote>) {
        if let Some(bid) = bid {
            (self.bid, self.bid_size) = (bid.price.0, bid.quantity.mantissa());
            self.exponent = bid.quantity.exponent();
            self.bid_book = bid.source as u8;
        }
        if let Some(ask) = ask {
            (self.ask, self.ask_size) = (ask.price.0, ask.quantity.mantissa());
            self.exponent = ask.quantity.exponent();
            self.ask_book = ask.source as u8;
        }
    }

    fn traded(&mut self, price: Option<Price>, quantity: Option<Quantity>) {
        self.price = price.map_or(TL_NONE, |price| price.0);
        if let Some(quantity) = quantity {
            (self.quantity, self.exponent) = (quantity.mantissa(), quantity.exponent());
        }
    }

    fn trade(&mut self, trade: &Trade) {
        self.traded(Some(trade.price), Some(trade.quantity));
        self.detail = trade.aggressor as u8;
        self.action = trade.action as u8;
        self.id = trade.trade_id;
    }
}
