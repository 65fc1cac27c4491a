//! Events of a bus: small values without a lifetime; long data is read from the bus.

use crate::{Connection, Instrument, Quantity, State, Times};
use std::fmt;
use touchline_types::{
    BookKind, Code, Id, LevelAction, Price, QuoteAction, Side, StatisticKind, TouchSource,
    UpdateAction,
};

/// An event.
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
    /// Quotes of a provider changed: [`Bus::quote_changes`](crate::Bus::quote_changes) has the steps.
    Quotes(QuotesChange),
    /// A statistic of a session or a day.
    Statistic(Statistic),
    /// Trading status of an instrument or of a product group.
    Status(Status),
    /// The state of a book changed, with unchanged contents, or its contents are unknown from now on.
    State(StateChange),
    /// A change of all books of the channel. The events of the changed instruments precede it: [`Event::Top`] and
    /// [`Event::Book`] of books that are empty now, [`Event::State`] of the others, [`Event::Orders`] of order books.
    Channel(ChannelEvent),
    /// An instrument was defined or redefined: [`Bus::definition`](crate::Bus::definition) has the definition.
    Defined(Defined),
    /// An event of the connection.
    Connection(Connection),
}

/// Best bid or ask: the better of the direct and the implied book, or both together if they have the same price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Price.
    pub price: Price,
    /// Quantity at the price, direct and implied together.
    pub quantity: Quantity,
    /// Book that it is from.
    pub source: TouchSource,
}

/// The best bid and ask of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// Instrument.
    pub instrument: Instrument,
    /// Validity of the book.
    pub state: State,
    /// Best bid; `None` if there is none or it is unknown.
    pub bid: Option<Quote>,
    /// Best ask, likewise.
    pub ask: Option<Quote>,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given: the program may act.
    pub end_of_batch: bool,
}

/// Side that took liquidity in a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggressor {
    /// Buyer.
    Buy,
    /// Seller.
    Sell,
    /// Not stated.
    None,
}

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Instrument.
    pub instrument: Instrument,
    /// Price.
    pub price: Price,
    /// Quantity.
    pub quantity: Quantity,
    /// Side that took liquidity.
    pub aggressor: Aggressor,
    /// New, or a correction (`Change`) or bust (`Delete`) of an earlier trade.
    pub action: UpdateAction,
    /// The venue's id of the trade; 0 if there is none.
    pub trade_id: u64,
    /// Number of orders in the trade; `None` if the venue does not state it.
    pub orders: Option<u32>,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Change of a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookChange {
    /// Instrument.
    pub instrument: Instrument,
    /// Validity of the book after the change.
    pub state: State,
    /// Number of steps in [`Bus::changes`](crate::Bus::changes); without one only the state changed.
    pub changes: u32,
    /// Whether the steps are the whole book: they begin with [`LevelAction::Clear`] of each list.
    pub is_whole: bool,
    /// Whether the direct book changed; if not, only the implied one did.
    pub is_direct: bool,
    /// Whether a lost packet, or the end of the input, truncated the venue's event.
    pub is_cut: bool,
    /// Best bid after the change; `None` if there is none or it is unknown.
    pub bid: Option<Quote>,
    /// Best ask, likewise.
    pub ask: Option<Quote>,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// One level of a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Price; [`Price::NULL`] for an unknown level.
    pub price: Price,
    /// Quantity.
    pub quantity: Quantity,
    /// Number of orders; `None` if the venue does not state it.
    pub orders: Option<u32>,
    /// False for a level that must exist, because a worse one is known, but was never published.
    pub is_known: bool,
}

/// One step in a price book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// Side.
    pub side: Side,
    /// Direct or implied book.
    pub book: BookKind,
    /// Action.
    pub action: LevelAction,
    /// Index of the level, from 0, the best.
    pub index: u16,
    /// The level after the step; unknown if it was removed.
    pub level: Level,
}

/// Change of an order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersChange {
    /// Instrument.
    pub instrument: Instrument,
    /// Validity of the order book after the change.
    pub state: State,
    /// Number of steps in [`Bus::order_changes`](crate::Bus::order_changes); without one only the state changed.
    pub changes: u32,
    /// Whether the steps are the whole book: they begin with [`OrderAction::Clear`] of each side.
    pub is_whole: bool,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Action of a step in an order book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderAction {
    /// A new order.
    New,
    /// New values of an order.
    Update,
    /// The order was removed.
    Delete,
    /// The side was emptied.
    Clear,
}

/// One step in an order book; a side that was emptied has no id and no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderChange {
    /// The venue's id of the order; 0 if the side was emptied.
    pub order_id: u64,
    /// Rank within its price, lowest first.
    pub priority: u64,
    /// Price.
    pub price: Price,
    /// Visible quantity.
    pub quantity: Quantity,
    /// Side.
    pub side: Side,
    /// Action.
    pub action: OrderAction,
}

/// Change of a provider's quotes in an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotesChange {
    /// Instrument.
    pub instrument: Instrument,
    /// Provider of the quotes: a bank, or `composite` for the banks at the best price of a composite.
    pub provider: Code,
    /// Value date as `YYYYMMDD`; 0 if the provider does not state it.
    pub value_date: u32,
    /// Validity of the provider's quotes.
    pub state: State,
    /// Number of steps in [`Bus::quote_changes`](crate::Bus::quote_changes).
    pub changes: u32,
    /// Whether the steps are all quotes of the provider in the instrument, which are removed first.
    pub is_whole: bool,
    /// Timestamps.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// One step in the quotes of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteChange {
    /// Action.
    pub action: QuoteAction,
    /// Handle of the quote, valid until the quote is removed.
    pub entry: u32,
    /// Side.
    pub side: Side,
    /// Price; [`Price::NULL`] if there is none.
    pub price: Price,
    /// Amount at the price.
    pub quantity: Quantity,
    /// Minimum amount of an order; null if not stated.
    pub quantity_min: Quantity,
    /// Expiry, nanoseconds since the Unix epoch; 0 if not stated.
    pub expiry_ns: u64,
    /// Number of the last change of the quote, counted over all quotes of the provider: the lower of two is older.
    pub priority: u64,
    /// Tier of the provider's ladder, from 0.
    pub tier: Option<u16>,
    /// Whether the quote is indicative: it cannot be traded.
    pub is_indicative: bool,
    /// Whether the quote is a band: good for one order of at most its amount, and never added to another quote.
    pub is_full_amount: bool,
    /// The provider's id of the quote; in a composite the name of the bank.
    pub quote_id: Id,
}

/// Statistic of a session or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Instrument.
    pub instrument: Instrument,
    /// Kind of statistic.
    pub kind: StatisticKind,
    /// Set, or withdrawn (`Delete`).
    pub action: UpdateAction,
    /// The price; `None` for statistics without one.
    pub price: Option<Price>,
    /// The quantity; `None` for statistics without one.
    pub quantity: Option<Quantity>,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Trading status of an instrument or of a product group, in the venue's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The instrument; `None` for a status of the whole group.
    pub instrument: Option<Instrument>,
    /// The product group, as the venue writes it.
    pub group: Code,
    /// Code of the status (SecurityTradingStatus, FIX tag 326); 255 if not stated.
    pub status: u8,
    /// Code of the reason (HaltReason, FIX tag 327); 255 if not stated.
    pub reason: u8,
    /// Code of an additional event (SecurityTradingEvent, FIX tag 1174); 255 if not stated.
    pub event: u8,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Change of the state of a price book. Contents are those last published, except that [`State::Recovering`] means that
/// they are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// Instrument.
    pub instrument: Instrument,
    /// The new state.
    pub state: State,
    /// Times; 0 after an event of the connection.
    pub times: Times,
    /// Number of the message on its bus; 0 after an event of the connection.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Definition of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Instrument.
    pub instrument: Instrument,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Change of all books of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelEvent {
    /// The change.
    pub what: ChannelChange,
    /// Times.
    pub times: Times,
    /// Number of the message on its bus.
    pub sequence: u64,
    /// Whether this is the last event of its venue packet that this reader is given.
    pub end_of_batch: bool,
}

/// Kind of change of all books of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelChange {
    /// Packets were lost: books that were live are gapped, order books are empty.
    Gap {
        /// First lost packet.
        first: u64,
        /// Last lost packet.
        last: u64,
        /// New state of the order books.
        orders: State,
    },
    /// The venue restarted: every book is empty and live.
    Reset,
    /// New state of the books that are live by themselves.
    State {
        /// Price books.
        price: State,
        /// Order books.
        orders: State,
        /// The venue's packet of this state.
        sequence: u64,
    },
    /// The venue's download of definitions and whole books has started.
    DownloadStarted,
    /// The download has ended: every selected instrument is defined.
    DownloadEnded,
}

/// Evaluates an expression for the event of a message about books, trades or the channel, whose fields have the same names in each
/// kind; `$other` for a definition and the connection.
macro_rules! of_message {
    ($event:expr, $message:ident => $value:expr, $other:expr) => {
        match $event {
            Event::Top($message) => $value,
            Event::Trade($message) => $value,
            Event::Book($message) => $value,
            Event::Orders($message) => $value,
            Event::Statistic($message) => $value,
            Event::Status($message) => $value,
            Event::Quotes($message) => $value,
            Event::State($message) => $value,
            Event::Channel($message) => $value,
            Event::Defined(_) | Event::Connection(_) => $other,
        }
    };
}

impl Event {
    /// The instrument of the event, if it has one.
    pub fn instrument(&self) -> Option<Instrument> {
        match self {
            Event::Top(event) => Some(event.instrument),
            Event::Trade(event) => Some(event.instrument),
            Event::Book(event) => Some(event.instrument),
            Event::Orders(event) => Some(event.instrument),
            Event::Statistic(event) => Some(event.instrument),
            Event::Status(event) => event.instrument,
            Event::Quotes(event) => Some(event.instrument),
            Event::State(event) => Some(event.instrument),
            Event::Defined(event) => Some(event.instrument),
            Event::Channel(_) | Event::Connection(_) => None,
        }
    }

    /// State of the book after the event, if it is of a book.
    pub fn state(&self) -> Option<State> {
        match self {
            Event::Top(event) => Some(event.state),
            Event::Book(event) => Some(event.state),
            Event::Orders(event) => Some(event.state),
            Event::Quotes(event) => Some(event.state),
            Event::State(event) => Some(event.state),
            _ => None,
        }
    }

    /// Best bid and ask after the event, if it is of tops or of a price book.
    pub fn quotes(&self) -> (Option<Quote>, Option<Quote>) {
        match self {
            Event::Top(top) => (top.bid, top.ask),
            Event::Book(change) => (change.bid, change.ask),
            _ => (None, None),
        }
    }

    /// Number of the message on its bus; a definition and the connection have none.
    pub fn sequence(&self) -> Option<u64> {
        of_message!(self, event => Some(event.sequence), None)
    }

    /// Times of the message; a definition and the connection have none.
    pub fn times(&self) -> Option<Times> {
        of_message!(self, event => Some(event.times), None)
    }

    /// Whether this is the last event of its venue packet that this reader is given, whichever kinds and symbols it joined
    /// for.
    pub fn end_of_batch(&self) -> bool {
        match self {
            Event::Defined(event) => event.end_of_batch,
            _ => of_message!(self, event => event.end_of_batch, false),
        }
    }

    /// Marks an event as the last one of its packet.
    #[inline]
    pub(crate) fn mark_end_of_batch(&mut self) {
        match self {
            Event::Defined(event) => event.end_of_batch = true,
            _ => of_message!(self, event => event.end_of_batch = true, {}),
        }
    }
}

impl OrderAction {
    pub(crate) fn of(action: touchline_types::OrderAction) -> OrderAction {
        match action {
            touchline_types::OrderAction::New => OrderAction::New,
            touchline_types::OrderAction::Update => OrderAction::Update,
            touchline_types::OrderAction::Delete => OrderAction::Delete,
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

/// `12@4500.25`, and the book if it is not the direct one alone: `12@4500.25 implied`.
impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.quantity, self.price)?;
        match self.source {
            TouchSource::Direct => Ok(()),
            source => write!(f, " {}", source.name()),
        }
    }
}

/// `live 12@4500.25 | 7@4500.5`, with `-` for a side that is empty or unknown.
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
