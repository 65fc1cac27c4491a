//! Messages as rows of tables.

use crate::about::Loss;
use crate::column::{NULL, NULL_U64};
use crate::files::Files;
use crate::message::Message;
use crate::state::State;
use crate::tables::{
    BookUpdateRow, Common, DefinitionRow, ORDERS, OrderUpdateRow, SnapshotRow, StatisticRow,
    StatusRow, Table, TopRow, TradeRow,
};
use touchline_types::{
    BookKind, BookUpdate, Instrument, InstrumentDefinition, Level, LevelAction, OrderChange,
    OrdersUpdate, Side, Statistic, Touch, Trade, TradingStatus, Update, Validity,
};

/// Makes rows of messages.
#[derive(Debug, Default)]
pub struct Tabulate {
    /// Last row of `tops` of each instrument, with its validity.
    tops: Vec<Option<(TopRow, Validity)>>,
}

impl Tabulate {
    /// Another publication begins.
    pub fn restart(&mut self) {
        self.tops.clear();
    }

    /// The rows of a message that the state has taken.
    pub fn message(&mut self, message: &Message<'_>, state: &mut State, take: &mut [Files]) {
        let instrument = message.update.instrument();
        let mut common = common(message, instrument, state);
        match message.update {
            Update::Book(update) => book_update(update, &common, take),
            Update::Orders(update) => {
                common.validity = state.books().orders_validity(update.instrument) as i64;
                orders_update(update, &common, take);
            }
            Update::BookSnapshot(book) => {
                let lists = [book.bids, book.asks, book.implied_bids, book.implied_asks];
                let has_implied = state.has_implied(book.instrument);
                level_rows(&lists, has_implied, &common, take);
            }
            Update::OrdersSnapshot(orders) => {
                common.validity = state.books().orders_validity(orders.instrument) as i64;
                order_rows(orders.orders, &common, take);
            }
            Update::Trade(trade) if !message.is_image => trade_row(trade, &common, take),
            Update::Statistic(statistic) if !message.is_image => {
                statistic_row(statistic, &common, take);
            }
            Update::Status(status) if !message.is_image => {
                status_row(status, &common, state, take);
            }
            Update::Definition(definition) => definition_row(definition, &common, state, take),
            Update::Gap(gap) => {
                let loss = Loss::of_packets(gap, message.sequence);
                self.gap(&loss, message, state, take);
            }
            _ => {}
        }
        self.top_rows(message, state, take);
    }

    /// The row of a loss at the place of a message.
    pub fn gap(&self, loss: &Loss, message: &Message<'_>, state: &State, take: &mut [Files]) {
        let common = common(message, None, state);
        row(take, Table::Gaps, &common, &loss.row().cells());
    }

    /// The state before the first message of a unit, as definitions and whole books: each unit can be read alone.
    pub fn state(&mut self, before: &Message<'_>, state: &mut State, files: &mut Files) {
        let wanted = [Table::Definitions, Table::Snapshots, Table::Tops];
        if !wanted.iter().any(|table| files.wants(*table)) {
            return;
        }
        // Best prices of the unit begin with all instruments.
        self.tops.clear();
        let take = std::slice::from_mut(files);
        let known: Vec<InstrumentDefinition> =
            state.all_known().map(|known| known.definition).collect();
        for definition in &known {
            let instrument = definition.instrument;
            let mut common = common(before, Some(instrument), state);
            definition_row(definition, &common, state, take);
            if let Some(book) = state.book(instrument) {
                let mut lists: [Vec<Level>; 4] = Default::default();
                for (list, (kind, side)) in lists.iter_mut().zip(LISTS) {
                    list.extend(book.levels(kind, side));
                }
                level_rows(&lists, state.has_implied(instrument), &common, take);
                self.top_row(instrument, &common, state, take);
            }
            common.validity = state.books().orders_validity(instrument) as i64;
            let mut orders = Vec::new();
            state.books().orders().gather(instrument, &mut orders);
            if state.has_orders() {
                order_rows(&orders, &common, take);
            }
        }
    }

    /// Rows of the instruments whose best prices may have changed with a message.
    pub fn top_rows(&mut self, message: &Message<'_>, state: &State, take: &mut [Files]) {
        if !take.iter().any(|files| files.wants(Table::Tops)) {
            return;
        }
        let named = match message.update {
            Update::Book(_) | Update::BookSnapshot(_) | Update::State(_) => {
                let instrument = message.update.instrument();
                instrument.map_or(0..0, |named| named.0..named.0.saturating_add(1))
            }
            Update::Gap(_) | Update::Reset | Update::Channel(_) => 0..self.tops.len() as u32,
            _ => return,
        };
        for instrument in named.map(Instrument) {
            let common = common(message, Some(instrument), state);
            self.top_row(instrument, &common, state, take);
        }
    }

    fn top_row(
        &mut self,
        instrument: Instrument,
        common: &Common,
        state: &State,
        take: &mut [Files],
    ) {
        let touch = |side| state.book(instrument).and_then(|book| book.touch(side));
        let parts = |touch: Option<Touch>| match touch {
            Some(touch) => (touch.price.0, touch.quantity.0, touch.source as i64),
            None => (NULL, NULL, NULL),
        };
        let (bid_price, bid_quantity, bid_book) = parts(touch(Side::Bid));
        let (ask_price, ask_quantity, ask_book) = parts(touch(Side::Ask));
        let cells = TopRow {
            bid_price,
            bid_quantity,
            bid_book,
            ask_price,
            ask_quantity,
            ask_book,
        };
        if self.tops.len() <= instrument.index() {
            self.tops.resize(instrument.index() + 1, None);
        }
        let now = Some((cells, state.books().validity(instrument)));
        let last = &mut self.tops[instrument.index()];
        // An instrument gets its first row with its first book.
        let is_new = *last != now;
        if is_new {
            *last = now;
            row(take, Table::Tops, common, &cells.cells());
        }
    }
}

/// Common cells of a row; the validity is that of the price book.
pub fn common(message: &Message<'_>, instrument: Option<Instrument>, state: &State) -> Common {
    let [venue, symbol, security_id] = state.names(instrument);
    let packet = &message.timestamps.packet;
    let validity = match (instrument, message.update) {
        (Some(instrument), _) => state.books().validity(instrument),
        (None, _) => state.books().channel().price,
    };
    Common {
        sequence: message.sequence as i64,
        ts_recv: time(packet.receive_ns),
        ts_event: time(message.timestamps.exchange_ns),
        ts_sent: time(packet.sending_ns),
        venue,
        symbol,
        instrument: instrument.map_or(NULL, |instrument| instrument.0.into()),
        security_id,
        packet_sequence: packet.sequence as i64,
        event_end: 0,
        stamp: message.stamp as i64,
        validity: validity as i64,
    }
}

/// Cell of a time: 0 is unknown.
fn time(ns: u64) -> i64 {
    match ns {
        0 => NULL,
        // Later than the year 2262.
        ns => i64::try_from(ns).unwrap_or(NULL),
    }
}

/// Cell of a number of orders.
fn orders(number: i32) -> i64 {
    match number {
        ..0 => NULL,
        number => number.into(),
    }
}

/// Cell of a code of the venue.
fn code(code: u8) -> i64 {
    match code {
        u8::MAX => NULL,
        code => code.into(),
    }
}

fn book_update(update: &BookUpdate<'_>, common: &Common, take: &mut [Files]) {
    for (entry, change) in update.changes.iter().enumerate() {
        let [price, quantity, orders] = match change.action {
            LevelAction::Insert | LevelAction::Replace => level(&change.level),
            LevelAction::Remove | LevelAction::Clear => [NULL; 3],
        };
        let cells = BookUpdateRow {
            side: change.side as i64,
            action: change.action as i64,
            book: change.book as i64,
            level: change.index.into(),
            price,
            quantity,
            orders,
            entry: entry as i64,
        };
        row(take, Table::BookUpdates, common, &cells.cells());
    }
}

/// Price, quantity and orders of a level; all absent in one that was never stated.
fn level(level: &Level) -> [i64; 3] {
    match level.known {
        true => [level.price.0, level.quantity.0, orders(level.orders)],
        false => [NULL; 3],
    }
}

fn orders_update(update: &OrdersUpdate<'_>, common: &Common, take: &mut [Files]) {
    for (entry, change) in update.changes.iter().enumerate() {
        let cells = OrderUpdateRow {
            side: change.side as i64,
            action: change.action as i64,
            order_id: change.order_id as i64,
            priority: change.priority as i64,
            price: change.price.0,
            quantity: change.quantity.0,
            entry: entry as i64,
        };
        row(take, Table::OrderUpdates, common, &cells.cells());
    }
}

/// Lists of a book, in the order of [`level_rows`].
const LISTS: [(BookKind, Side); 4] = [
    (BookKind::Direct, Side::Bid),
    (BookKind::Direct, Side::Ask),
    (BookKind::Implied, Side::Bid),
    (BookKind::Implied, Side::Ask),
];

fn level_rows(
    lists: &[impl AsRef<[Level]>; 4],
    has_implied: bool,
    common: &Common,
    take: &mut [Files],
) {
    let [bids, asks, implied_bids, implied_asks] = lists.each_ref().map(|list| list.as_ref());
    if bids.is_empty() && asks.is_empty() {
        empty_row(BookKind::Direct as i64, common, take);
    }
    if has_implied && implied_bids.is_empty() && implied_asks.is_empty() {
        empty_row(BookKind::Implied as i64, common, take);
    }
    for ((kind, side), levels) in LISTS.into_iter().zip(lists) {
        for (index, shown) in levels.as_ref().iter().enumerate() {
            let [price, quantity, orders] = level(shown);
            let cells = SnapshotRow {
                side: side as i64,
                book: kind as i64,
                level: index as i64,
                price,
                quantity,
                orders,
                order_id: NULL_U64,
                priority: NULL_U64,
            };
            row(take, Table::Snapshots, common, &cells.cells());
        }
    }
}

/// The row of a whole book that is empty: without it, levels and orders from before would stay.
fn empty_row(book: i64, common: &Common, take: &mut [Files]) {
    let cells = SnapshotRow {
        side: NULL,
        book,
        level: NULL,
        price: NULL,
        quantity: NULL,
        orders: NULL,
        order_id: NULL_U64,
        priority: NULL_U64,
    };
    row(take, Table::Snapshots, common, &cells.cells());
}

fn order_rows(orders: &[OrderChange], common: &Common, take: &mut [Files]) {
    // mutant: export: a whole order book that is empty has no row
    if orders.is_empty() {
        empty_row(ORDERS, common, take);
    }
    for (index, order) in orders.iter().enumerate() {
        let cells = SnapshotRow {
            side: order.side as i64,
            book: ORDERS,
            level: index as i64,
            price: order.price.0,
            quantity: order.quantity.0,
            orders: NULL,
            order_id: order.order_id as i64,
            priority: order.priority as i64,
        };
        row(take, Table::Snapshots, common, &cells.cells());
    }
}

/// A row of each file of its table.
pub fn row(take: &mut [Files], table: Table, common: &Common, cells: &[i64]) {
    for files in take {
        files.row(table, common, cells);
    }
}

fn trade_row(trade: &Trade, common: &Common, take: &mut [Files]) {
    let cells = TradeRow {
        aggressor: trade.aggressor.map_or(NULL, |side| side as i64),
        action: trade.action as i64,
        price: trade.price.0,
        quantity: trade.quantity.0,
        orders: orders(trade.orders),
        trade_id: trade.trade_id as i64,
    };
    row(take, Table::Trades, common, &cells.cells());
}

fn statistic_row(statistic: &Statistic, common: &Common, take: &mut [Files]) {
    let cells = StatisticRow {
        kind: statistic.kind as i64,
        action: statistic.action as i64,
        price: statistic.price.0,
        quantity: statistic.quantity.0,
    };
    row(take, Table::Statistics, common, &cells.cells());
}

fn status_row(status: &TradingStatus, common: &Common, state: &mut State, take: &mut [Files]) {
    let cells = StatusRow {
        group: state.texts.cell(&group(&status.group)),
        status: code(status.status),
        reason: code(status.reason),
        event: code(status.event),
    };
    row(take, Table::Status, common, &cells.cells());
}

/// A product group as text, without the zeros and spaces behind it.
pub fn group(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches(['\0', ' ']).to_owned()
}

fn definition_row(
    definition: &InstrumentDefinition,
    common: &Common,
    state: &mut State,
    take: &mut [Files],
) {
    let reference = &definition.reference;
    let factor = reference.display_factor;
    let part = |part: Option<u64>| part.map_or(NULL, |part| part as i64);
    let cells = DefinitionRow {
        defined: definition.defined.into(),
        group: state.texts.cell(definition.group.as_str()),
        asset: state.texts.cell(definition.asset.as_str()),
        tick: definition.tick.0,
        quantity_exponent: definition.quantity_exponent.into(),
        direct_levels: definition.depth.direct.into(),
        implied_levels: definition.depth.implied.into(),
        security_type: reference.security_type.map_or(NULL, |kind| kind as i64),
        currency: state.texts.cell(reference.currency.as_str()),
        settlement_currency: state.texts.cell(reference.settlement_currency.as_str()),
        display_numerator: part(factor.map(|factor| factor.numerator())),
        display_denominator: part(factor.map(|factor| factor.denominator())),
        multiplier: reference.multiplier.0,
        lot: reference.lot.0,
        quantity_min: reference.quantity_min.0,
        quantity_max: reference.quantity_max.0,
        expiry: time(reference.expiry_ns),
        maturity: match reference.maturity {
            0 => NULL,
            maturity => maturity.into(),
        },
        strike: reference.strike.0,
        option_right: reference.right.map_or(NULL, |right| right as i64),
        underlying: reference.underlying.unwrap_or(NULL),
        high_limit: reference.high_limit.0,
        low_limit: reference.low_limit.0,
        legs: reference.legs.count().into(),
    };
    row(take, Table::Definitions, common, &cells.cells());
}
