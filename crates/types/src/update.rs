//! Updates of a publication: whole events only.

use crate::{
    ChannelState, Instrument, InstrumentDefinition, Level, LevelChange, OrderChange, PacketInfo,
    Phase, QuoteSnapshot, QuoteUpdate, Statistic, Trade, TradingStatus, Validity,
};

/// Timestamps of one update: when things happened.
///
/// The four times of the latency trace are ticks of the host's clock (`net::clock`), 0 where it is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// Start of the event by the venue's clock, nanoseconds since the Unix epoch; 0 if unknown.
    pub exchange_ns: u64,
    /// The packet it came from.
    pub packet: PacketInfo,
    /// The receive call returned the packet.
    pub polled: u64,
    /// The packet was decoded into events.
    pub decoded: u64,
    /// The books had taken the event.
    pub applied: u64,
    /// The update was handed to the publisher.
    pub published: u64,
}

/// The changes of one instrument's price book by one venue event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookUpdate<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// The venue's identifier of it.
    pub security_id: i64,
    /// How far the book may be trusted after it.
    pub validity: Validity,
    /// Whether the direct book was touched (else only the implied one).
    pub direct: bool,
    /// False if a lost packet truncated the event.
    pub whole: bool,
    /// The steps, in order.
    pub changes: &'a [LevelChange],
    /// Best direct bid after the event, if there is one; it may be unknown.
    pub best_bid: Option<Level>,
    /// Best direct ask after the event, likewise.
    pub best_ask: Option<Level>,
}

/// The whole price book of one instrument: replaces the reader's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookSnapshot<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far it may be trusted.
    pub validity: Validity,
    /// Bids, best first.
    pub bids: &'a [Level],
    /// Asks, best first.
    pub asks: &'a [Level],
    /// Implied bids, best first.
    pub implied_bids: &'a [Level],
    /// Implied asks, best first.
    pub implied_asks: &'a [Level],
}

/// The changes of one instrument's order book by one venue event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersUpdate<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far the order book may be trusted after it.
    pub validity: Validity,
    /// The steps, in order.
    pub changes: &'a [OrderChange],
}

/// The whole order book of one instrument, as `New` steps: replaces the reader's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersSnapshot<'a> {
    /// The instrument.
    pub instrument: Instrument,
    /// How far it may be trusted.
    pub validity: Validity,
    /// The orders.
    pub orders: &'a [OrderChange],
}

/// An instrument's price book keeps its contents and has another validity now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The instrument.
    pub instrument: Instrument,
    /// From here on.
    pub validity: Validity,
}

/// Packets were lost: every price book is `Gapped` until an update says otherwise, and every
/// order book is empty and `Recovering` (or `Natural`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// First lost packet.
    pub first: u64,
    /// Last lost packet; not below the first.
    pub last: u64,
    /// Validity of order books after the gap.
    pub orders: Validity,
}

/// Update of a publication. A reader that applies every update in order has, after each one,
/// books that the venue showed between two of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update<'a> {
    /// Price-book changes of one instrument by one event.
    Book(BookUpdate<'a>),
    /// Order-book changes of one instrument by one event.
    Orders(OrdersUpdate<'a>),
    /// A trade.
    Trade(&'a Trade),
    /// A session or day figure.
    Statistic(&'a Statistic),
    /// Trading state of an instrument or a group.
    Status(&'a TradingStatus),
    /// A whole price book.
    BookSnapshot(BookSnapshot<'a>),
    /// A whole order book.
    OrdersSnapshot(OrdersSnapshot<'a>),
    /// A validity alone.
    State(State),
    /// Loss on the channel.
    Gap(Gap),
    /// Every price and order book is empty and `Live`.
    Reset,
    /// An instrument, defined or redefined.
    Definition(&'a InstrumentDefinition),
    /// The venue's download, of definitions and whole books, has started or ended.
    Download(Phase),
    /// Validity of the whole channel, of all its instruments at once.
    Channel(&'a ChannelState),
    /// Changes of a provider's quotes of an instrument by one message.
    Quotes(QuoteUpdate<'a>),
    /// All quotes of a provider of an instrument.
    QuoteSnapshot(QuoteSnapshot<'a>),
}

impl Update<'_> {
    /// The instrument that it is of; `None` for one of the channel or of a product group.
    pub fn instrument(&self) -> Option<Instrument> {
        Some(match self {
            Update::Book(book) => book.instrument,
            Update::Orders(orders) => orders.instrument,
            Update::Trade(trade) => trade.instrument,
            Update::Statistic(statistic) => statistic.instrument,
            Update::Status(status) => return status.instrument,
            Update::BookSnapshot(book) => book.instrument,
            Update::OrdersSnapshot(orders) => orders.instrument,
            Update::State(state) => state.instrument,
            Update::Definition(definition) => definition.instrument,
            Update::Quotes(quotes) => quotes.stream.instrument,
            Update::QuoteSnapshot(quotes) => quotes.stream.instrument,
            Update::Gap(_) | Update::Reset | Update::Download(_) | Update::Channel(_) => {
                return None;
            }
        })
    }
}
