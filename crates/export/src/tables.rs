//! The tables: what a row of each one is of, and its columns.

use crate::column::{Column, Kind, columns};
use touchline_types::{OptionRight, SecurityType, TouchSource, Validity};

/// Words of the columns `validity`.
pub const VALIDITIES: &[&str] = &{
    let mut words = [""; Validity::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = Validity::ALL[at].name();
        at += 1;
    }
    words
};
/// Words of the columns `side` and `aggressor`.
pub const SIDES: &[&str] = &["bid", "ask"];
/// Words of the column `book`.
pub const BOOKS: &[&str] = &["direct", "implied", "orders"];
/// Index in [`BOOKS`] of an order book.
pub const ORDERS: i64 = 2;
/// Words of the column `action` of a level.
pub const LEVEL_ACTIONS: &[&str] = &["insert", "replace", "remove", "clear"];
/// Words of the column `action` of an order.
pub const ORDER_ACTIONS: &[&str] = &["new", "update", "delete", "clear"];
/// Index in [`ORDER_ACTIONS`] of an order book that is emptied.
pub const ORDER_CLEAR: i64 = 3;
/// Words of the column `action` of a trade or a statistic.
pub const UPDATE_ACTIONS: &[&str] = &[
    "new",
    "change",
    "delete",
    "delete_thru",
    "delete_from",
    "overlay",
];
/// Words of the column `kind` of a statistic.
pub const STATISTICS: &[&str] = &[
    "open",
    "high",
    "low",
    "vwap",
    "highest_bid",
    "lowest_ask",
    "settlement",
    "cleared_volume",
    "open_interest",
    "fixing",
    "volume",
    "high_limit",
    "low_limit",
    "price_band",
    "other",
];
/// Words of the columns `bid_book` and `ask_book`.
pub const SOURCES: &[&str] = &{
    let mut words = [""; TouchSource::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = TouchSource::ALL[at].name();
        at += 1;
    }
    words
};
/// Words of the column `stamp`.
pub const STAMPS: &[&str] = &["poll", "kernel", "card", "capture"];
/// Words of the column `cause` of a gap.
pub const CAUSES: &[&str] = &[
    "packets",
    "overrun",
    "recorder_not_running",
    "damaged",
    "corrupt_message",
    "other",
];

/// Cause of a gap; the numbers are those of the column `cause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Packets of the venue that the gateway lost.
    Packets = 0,
    /// The bus has overrun its recorder.
    Overrun = 1,
    /// The recorder did not run.
    NotRunning = 2,
    /// Records of the tape are damaged.
    Damaged = 3,
    /// A message of the bus was corrupt.
    Corrupt = 4,
    /// Another cause.
    Other = 5,
}
/// Words of the column `security_type`.
const SECURITY_TYPES: &[&str] = &{
    let mut words = [""; SecurityType::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = SecurityType::ALL[at].name();
        at += 1;
    }
    words
};
/// Words of the column `option_right`.
const RIGHTS: &[&str] = &[OptionRight::ALL[0].name(), OptionRight::ALL[1].name()];

columns! {
    /// First columns of every table.
    pub struct Common {
        /// Number of the message in its publication.
        sequence: Kind::U64,
        /// Receive time of the packet.
        ts_recv: Kind::Time,
        /// The venue's time of the event.
        ts_event: Kind::Time,
        /// The venue's sending time of the packet.
        ts_sent: Kind::Time,
        /// Venue.
        venue: Kind::Text,
        /// Symbol of the instrument.
        symbol: Kind::Text,
        /// Index of the instrument in its publication.
        instrument: Kind::U32,
        /// The venue's id of the instrument.
        security_id: Kind::I64,
        /// The venue's number of the packet.
        packet_sequence: Kind::U64,
        /// Whether the message is the last one of its packet.
        event_end: Kind::Bool,
        /// Who took the receive time.
        stamp: Kind::Word(STAMPS),
        /// Validity of the book after the message.
        validity: Kind::Word(VALIDITIES),
    }
}

columns! {
    /// A change of a price book.
    pub struct BookUpdateRow {
        /// Side of the list.
        side: Kind::Word(SIDES),
        /// Change of the list.
        action: Kind::Word(LEVEL_ACTIONS),
        /// Book of the list.
        book: Kind::Word(BOOKS),
        /// Place in the list, from 0, the best.
        level: Kind::U16,
        /// Price of the level.
        price: Kind::Price,
        /// Quantity of the level.
        quantity: Kind::I64,
        /// Orders of the level.
        orders: Kind::I32,
        /// Place in the message.
        entry: Kind::U32,
    }
}

columns! {
    /// A change of the best bid or offer, of the better of the direct and the implied book.
    pub struct TopRow {
        /// Best bid.
        bid_price: Kind::Price,
        /// Quantity at the best bid.
        bid_quantity: Kind::I64,
        /// Book of the best bid.
        bid_book: Kind::Word(SOURCES),
        /// Best offer.
        ask_price: Kind::Price,
        /// Quantity at the best offer.
        ask_quantity: Kind::I64,
        /// Book of the best offer.
        ask_book: Kind::Word(SOURCES),
    }
}

columns! {
    /// A change of an order.
    pub struct OrderUpdateRow {
        /// Side of the order; absent with clear.
        side: Kind::Word(SIDES),
        /// Change; clear removes all orders of the instrument.
        action: Kind::Word(ORDER_ACTIONS),
        /// The venue's id of the order.
        order_id: Kind::OptionalU64,
        /// Rank within the price, lowest first.
        priority: Kind::OptionalU64,
        /// Price.
        price: Kind::Price,
        /// Quantity; 0 of a removed order.
        quantity: Kind::I64,
        /// Place in the message.
        entry: Kind::U32,
    }
}

columns! {
    /// A trade, or the correction or bust of one.
    pub struct TradeRow {
        /// Side of the aggressor.
        aggressor: Kind::Word(SIDES),
        /// New, or change or delete of an earlier trade.
        action: Kind::Word(UPDATE_ACTIONS),
        /// Price.
        price: Kind::Price,
        /// Quantity.
        quantity: Kind::I64,
        /// Orders of the trade.
        orders: Kind::I32,
        /// The venue's id of the trade; 0 without one.
        trade_id: Kind::U64,
    }
}

columns! {
    /// A statistic of a session or a day.
    pub struct StatisticRow {
        /// Kind of statistic.
        kind: Kind::Word(STATISTICS),
        /// Set or deleted.
        action: Kind::Word(UPDATE_ACTIONS),
        /// Price, if it has one.
        price: Kind::Price,
        /// Quantity, if it has one.
        quantity: Kind::I64,
    }
}

columns! {
    /// Trading state of an instrument, or of a product group without an instrument.
    pub struct StatusRow {
        /// Product group.
        group: Kind::Text,
        /// The venue's code of the state.
        status: Kind::I32,
        /// The venue's code of the reason.
        reason: Kind::I32,
        /// The venue's code of the event.
        event: Kind::I32,
    }
}

columns! {
    /// Definition of an instrument.
    pub struct DefinitionRow {
        /// Whether the venue has defined it.
        defined: Kind::Bool,
        /// Product group.
        group: Kind::Text,
        /// Product.
        asset: Kind::Text,
        /// Price increment.
        tick: Kind::Price,
        /// Power of ten of a unit of the columns `quantity`.
        quantity_exponent: Kind::I32,
        /// Levels a side of the direct book; 65535 for every level.
        direct_levels: Kind::U16,
        /// Levels a side of the implied book.
        implied_levels: Kind::U16,
        /// Kind of contract.
        security_type: Kind::Word(SECURITY_TYPES),
        /// Currency of prices.
        currency: Kind::Text,
        /// Currency of settlement.
        settlement_currency: Kind::Text,
        /// Above the line of the display factor.
        display_numerator: Kind::I64,
        /// Below the line of the display factor.
        display_denominator: Kind::I64,
        /// Contract size, in units of 1e-9.
        multiplier: Kind::Price,
        /// Quantities are multiples of it.
        lot: Kind::I64,
        /// Smallest quantity of an order.
        quantity_min: Kind::I64,
        /// Largest quantity of an order.
        quantity_max: Kind::I64,
        /// End of trading.
        expiry: Kind::Time,
        /// Maturity as YYYYMMDD, the day 00 for a month.
        maturity: Kind::I32,
        /// Strike of an option.
        strike: Kind::Price,
        /// Right of an option.
        option_right: Kind::Word(RIGHTS),
        /// The venue's id of the underlying instrument.
        underlying: Kind::I64,
        /// Highest price that is accepted.
        high_limit: Kind::Price,
        /// Lowest price that is accepted.
        low_limit: Kind::Price,
        /// Legs of a combination.
        legs: Kind::I32,
    }
}

columns! {
    /// A loss: packets of the venue, or messages of the bus.
    pub struct GapRow {
        /// Cause: packets that the gateway lost, or messages that the tape lacks.
        cause: Kind::Word(CAUSES),
        /// First lost number, of packets or of messages; 0 if it is unknown.
        first: Kind::U64,
        /// Last lost number; 0 if it is unknown.
        last: Kind::U64,
        /// Lost packets or messages; absent if their number is unknown.
        count: Kind::I64,
    }
}

columns! {
    /// A level of a whole price book, or an order of a whole order book.
    pub struct SnapshotRow {
        /// Side; absent of an empty book.
        side: Kind::Word(SIDES),
        /// Book.
        book: Kind::Word(BOOKS),
        /// Place in the list, from 0, the best; absent of an empty book.
        level: Kind::U32,
        /// Price.
        price: Kind::Price,
        /// Quantity.
        quantity: Kind::I64,
        /// Orders of the level.
        orders: Kind::I32,
        /// The venue's id of the order, in an order book.
        order_id: Kind::OptionalU64,
        /// Rank of the order within its price.
        priority: Kind::OptionalU64,
    }
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// A row a change of a price book.
    BookUpdates,
    /// A row a change of the best bid or offer.
    Tops,
    /// A row a change of an order.
    OrderUpdates,
    /// A row a trade.
    Trades,
    /// A row a statistic.
    Statistics,
    /// A row a trading state.
    Status,
    /// A row a definition.
    Definitions,
    /// A row a loss.
    Gaps,
    /// A row a level of a whole book.
    Snapshots,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 9] = [
        Table::BookUpdates,
        Table::Tops,
        Table::OrderUpdates,
        Table::Trades,
        Table::Statistics,
        Table::Status,
        Table::Definitions,
        Table::Gaps,
        Table::Snapshots,
    ];

    /// Name in commands and of files.
    pub const fn name(self) -> &'static str {
        match self {
            Table::BookUpdates => "book_updates",
            Table::Tops => "tops",
            Table::OrderUpdates => "order_updates",
            Table::Trades => "trades",
            Table::Statistics => "statistics",
            Table::Status => "status",
            Table::Definitions => "definitions",
            Table::Gaps => "gaps",
            Table::Snapshots => "snapshots",
        }
    }

    /// Columns behind [`Common::COLUMNS`].
    pub const fn own_columns(self) -> &'static [Column] {
        match self {
            Table::BookUpdates => BookUpdateRow::COLUMNS,
            Table::Tops => TopRow::COLUMNS,
            Table::OrderUpdates => OrderUpdateRow::COLUMNS,
            Table::Trades => TradeRow::COLUMNS,
            Table::Statistics => StatisticRow::COLUMNS,
            Table::Status => StatusRow::COLUMNS,
            Table::Definitions => DefinitionRow::COLUMNS,
            Table::Gaps => GapRow::COLUMNS,
            Table::Snapshots => SnapshotRow::COLUMNS,
        }
    }

    /// All columns, in order.
    pub fn columns(self) -> impl ExactSizeIterator<Item = &'static Column> + Clone {
        let own = self.own_columns();
        let common = Common::COLUMNS.len();
        (0..common + own.len()).map(move |at| match at.checked_sub(common) {
            Some(at) => &own[at],
            None => &Common::COLUMNS[at],
        })
    }
}
