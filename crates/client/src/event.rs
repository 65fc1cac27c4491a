//! Events: what reading a bus gives. Small values without a lifetime; what is long is read from the bus.

use crate::{Connection, Instrument, Quantity, State, Times};
use std::fmt;
use touchline_types::{
    BookKind, Code, LevelAction, OrderAction, Price, Side, StatisticKind, UpdateAction,
};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The best bid or ask of an instrument changed.
    Top(Top),
    /// A trade.
    Trade(Trade),
    /// A price book changed: [`Bus::changes`](crate::Bus::changes) has the steps, [`Bus::book`](crate::Bus::book) the
    /// book.
    Book(BookChange),
    /// An order book changed: [`Bus::order_changes`](crate::Bus::order_changes) has the steps.
    Orders(OrdersChange),
    /// A figure of a session or a day.
    Statistic(Statistic),
    /// Trading status of an instrument or of a product group.
    Status(Status),
    /// A book keeps its contents and has another state.
    State(StateChange),
    /// Something happened to all books of the channel at once.
    Channel(ChannelEvent),
    /// An instrument was defined, or defined again: [`Bus::definition`](crate::Bus::definition) says how.
    Defined(Instrument),
    /// Something happened to the connection.
    Connection(Connection),
}

/// A price with the quantity there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Price.
    pub price: Price,
    /// Quantity at the price.
    pub quantity: Quantity,
}

/// The best bid and ask of an instrument's direct book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// Which instrument.
    pub instrument: Instrument,
    /// How far the book may be trusted.
    pub state: State,
    /// Best bid; `None` where there is none, or it is not known.
    pub bid: Option<Quote>,
    /// Best ask, likewise.
    pub ask: Option<Quote>,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet: act now.
    pub end_of_batch: bool,
}

/// Who took liquidity in a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggressor {
    /// A buyer did.
    Buy,
    /// A seller did.
    Sell,
    /// The venue names none.
    None,
}

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Which instrument.
    pub instrument: Instrument,
    /// Price.
    pub price: Price,
    /// Quantity.
    pub quantity: Quantity,
    /// Who took liquidity.
    pub aggressor: Aggressor,
    /// New, or a correction (`Change`) or bust (`Delete`) of an earlier trade.
    pub action: UpdateAction,
    /// The venue's id of the trade; 0 where there is none.
    pub trade_id: u64,
    /// Orders that took part; `None` where the venue does not say.
    pub orders: Option<u32>,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// A price book changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookChange {
    /// Which instrument.
    pub instrument: Instrument,
    /// How far the book may be trusted after it.
    pub state: State,
    /// Steps in [`Bus::changes`](crate::Bus::changes).
    pub changes: u32,
    /// Whether the steps are the whole book, emptied first.
    pub is_whole: bool,
    /// Whether the direct book was touched; else only the implied one.
    pub is_direct: bool,
    /// Whether the venue's event was cut short by a lost packet.
    pub is_cut: bool,
    /// Best direct bid after it; `None` where there is none, or it is not known.
    pub bid: Option<Quote>,
    /// Best direct ask after it, likewise.
    pub ask: Option<Quote>,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// One level of a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Price; [`Price::NULL`] of a level that is not known.
    pub price: Price,
    /// Quantity.
    pub quantity: Quantity,
    /// Number of orders; `None` where the venue does not say.
    pub orders: Option<u32>,
    /// False for a level that must exist, since a worse one is known, but was never stated.
    pub is_known: bool,
}

/// One step in a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// Which side.
    pub side: Side,
    /// Which book.
    pub book: BookKind,
    /// What happened.
    pub action: LevelAction,
    /// Index of the level, from 0, the best.
    pub index: u16,
    /// The level after it; not known where it was removed.
    pub level: Level,
}

/// An order book changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersChange {
    /// Which instrument.
    pub instrument: Instrument,
    /// How far the order book may be trusted after it.
    pub state: State,
    /// Steps in [`Bus::order_changes`](crate::Bus::order_changes).
    pub changes: u32,
    /// Whether the steps are the whole book, emptied first.
    pub is_whole: bool,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// One step in an order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderChange {
    /// The venue's id of the order.
    pub order_id: u64,
    /// Rank within its price, lowest first.
    pub priority: u64,
    /// Price.
    pub price: Price,
    /// Visible quantity.
    pub quantity: Quantity,
    /// Which side.
    pub side: Side,
    /// What happened.
    pub action: OrderAction,
}

/// A figure of a session or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Which instrument.
    pub instrument: Instrument,
    /// Which figure.
    pub kind: StatisticKind,
    /// Set, or taken back (`Delete`).
    pub action: UpdateAction,
    /// The price; `None` of figures that have none.
    pub price: Option<Price>,
    /// The quantity; `None` of figures that have none.
    pub quantity: Option<Quantity>,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// Trading status of an instrument or of a product group, in the venue's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The instrument; `None` where the status is of the whole group.
    pub instrument: Option<Instrument>,
    /// The product group, as the venue writes it.
    pub group: Code,
    /// Code of the status (SecurityTradingStatus, FIX tag 326); 255 where not stated.
    pub status: u8,
    /// Code of the reason (HaltReason, FIX tag 327); 255 where not stated.
    pub reason: u8,
    /// Code of an additional event (SecurityTradingEvent, FIX tag 1174); 255 where not stated.
    pub event: u8,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// A price book keeps its contents and has another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Which instrument.
    pub instrument: Instrument,
    /// From here on.
    pub state: State,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// Something happened to all books of the channel at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelEvent {
    /// What.
    pub what: ChannelChange,
    /// When.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether it is the last event of its venue packet.
    pub end_of_batch: bool,
}

/// What happened to all books of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelChange {
    /// Packets were lost: books that were live are gapped, order books are empty.
    Gap {
        /// First lost packet.
        first: u64,
        /// Last lost packet.
        last: u64,
        /// State of order books from here on.
        orders: State,
    },
    /// The venue began again: every book is empty and live.
    Reset,
    /// What books that are live by themselves are from here on.
    State {
        /// Price books.
        price: State,
        /// Order books.
        orders: State,
        /// The venue's packet that this is as of.
        sequence: u64,
    },
    /// The venue's download of definitions and whole books has begun.
    DownloadStarted,
    /// The download is over: every chosen instrument was defined.
    DownloadEnded,
}

impl Event {
    /// The instrument that it is about, if it is about one.
    pub fn instrument(&self) -> Option<Instrument> {
        match self {
            Event::Top(event) => Some(event.instrument),
            Event::Trade(event) => Some(event.instrument),
            Event::Book(event) => Some(event.instrument),
            Event::Orders(event) => Some(event.instrument),
            Event::Statistic(event) => Some(event.instrument),
            Event::Status(event) => event.instrument,
            Event::State(event) => Some(event.instrument),
            Event::Defined(instrument) => Some(*instrument),
            Event::Channel(_) | Event::Connection(_) => None,
        }
    }

    /// Whether it is the last event of its venue packet.
    pub fn end_of_batch(&self) -> bool {
        match self {
            Event::Top(event) => event.end_of_batch,
            Event::Trade(event) => event.end_of_batch,
            Event::Book(event) => event.end_of_batch,
            Event::Orders(event) => event.end_of_batch,
            Event::Statistic(event) => event.end_of_batch,
            Event::Status(event) => event.end_of_batch,
            Event::State(event) => event.end_of_batch,
            Event::Channel(event) => event.end_of_batch,
            Event::Defined(_) | Event::Connection(_) => false,
        }
    }

    /// Says of an event that it is the last one of its packet.
    #[inline]
    pub(crate) fn mark_end_of_batch(&mut self) {
        match self {
            Event::Top(event) => event.end_of_batch = true,
            Event::Trade(event) => event.end_of_batch = true,
            Event::Book(event) => event.end_of_batch = true,
            Event::Orders(event) => event.end_of_batch = true,
            Event::Statistic(event) => event.end_of_batch = true,
            Event::Status(event) => event.end_of_batch = true,
            Event::State(event) => event.end_of_batch = true,
            Event::Channel(event) => event.end_of_batch = true,
            Event::Defined(_) | Event::Connection(_) => {}
        }
    }
}

impl Aggressor {
    pub(crate) fn of(side: Option<Side>) -> Aggressor {
        match side {
            Some(Side::Bid) => Aggressor::Buy,
            Some(Side::Ask) => Aggressor::Sell,
            None => Aggressor::None,
        }
    }

    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Aggressor::Buy => "buy",
            Aggressor::Sell => "sell",
            Aggressor::None => "none",
        }
    }
}

impl fmt::Display for Aggressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `12@4500.25`.
impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.quantity, self.price)
    }
}

/// `live 12@4500.25 | 7@4500.5`, with `-` for a side that is empty or not known.
impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.state)?;
        match self.bid {
            Some(bid) => write!(f, "{bid} | ")?,
            None => f.write_str("- | ")?,
        }
        match self.ask {
            Some(ask) => write!(f, "{ask}"),
            None => f.write_str("-"),
        }
    }
}
