//! The rows of the two series, column by column.

use super::form::{Form, Row};
use touchline_book::Touch;
use touchline_types::{
    Decimal, InstrumentDefinition, Quantity, Side, Timestamps, Trade, UpdateAction, Validity,
};

/// What a row of quotes says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// How far the book may be trusted.
    pub state: Validity,
    /// The best bid.
    pub bid: Option<Touch>,
    /// The best offer.
    pub ask: Option<Touch>,
}

/// A row of quotes.
pub struct QuoteRow<'a> {
    /// When.
    pub timestamps: &'a Timestamps,
    /// Of which instrument.
    pub definition: &'a InstrumentDefinition,
    /// What.
    pub quote: Quote,
}

/// A row of trades.
pub struct TradeRow<'a> {
    /// When.
    pub timestamps: &'a Timestamps,
    /// Of which instrument.
    pub definition: &'a InstrumentDefinition,
    /// How far its book may be trusted: whether trades may be missing here.
    pub state: Validity,
    /// What.
    pub trade: &'a Trade,
}

impl QuoteRow<'_> {
    /// The head of a CSV file.
    pub const COLUMNS: &'static str = "exchange_ns,receive_ns,sequence,security_id,symbol,state,\
                               bid_price,bid_quantity,bid_book,ask_price,ask_quantity,ask_book";

    /// Writes it.
    pub fn write(&self, line: &mut String, form: Form) {
        let mut row = Row::new(line, form);
        head(&mut row, self.timestamps, self.definition, self.quote.state);
        for (names, touch) in [
            (["bid_price", "bid_quantity", "bid_book"], self.quote.bid),
            (["ask_price", "ask_quantity", "ask_book"], self.quote.ask),
        ] {
            row.decimal(names[0], touch.map(|touch| touch.price));
            let quantity = touch.map_or(Quantity::NULL, |touch| touch.quantity);
            push_quantity(&mut row, names[1], self.definition.decimal(quantity));
            row.text(names[2], touch.map(|touch| touch.source.name()));
        }
        row.end();
    }
}

impl TradeRow<'_> {
    /// The head of a CSV file.
    pub const COLUMNS: &'static str = "exchange_ns,receive_ns,sequence,security_id,symbol,state,\
                               price,quantity,aggressor,trade_id,action";

    /// Writes it.
    pub fn write(&self, line: &mut String, form: Form) {
        let trade = self.trade;
        let mut row = Row::new(line, form);
        head(&mut row, self.timestamps, self.definition, self.state);
        let price = (!trade.price.is_null()).then_some(trade.price);
        row.decimal("price", price);
        push_quantity(
            &mut row,
            "quantity",
            self.definition.decimal(trade.quantity),
        );
        let aggressor = trade.aggressor.map(|side| match side {
            Side::Bid => "buy",
            Side::Ask => "sell",
        });
        row.text("aggressor", aggressor);
        row.optional("trade_id", (trade.trade_id != 0).then_some(trade.trade_id));
        let action = match trade.action {
            UpdateAction::Change => "correction",
            UpdateAction::Delete => "bust",
            _ => "new",
        };
        row.text("action", Some(action));
        row.end();
    }
}

/// As in every output: in JSON a number when it is whole, else a string.
fn push_quantity(row: &mut Row<'_>, name: &str, quantity: Option<Decimal>) {
    match quantity {
        Some(whole) if whole.is_whole() => row.number(name, whole),
        other => row.decimal(name, other),
    }
}

/// When, of which instrument, and how far it may be trusted.
fn head(
    row: &mut Row<'_>,
    timestamps: &Timestamps,
    definition: &InstrumentDefinition,
    state: Validity,
) {
    let exchange_ns = (timestamps.exchange_ns != 0).then_some(timestamps.exchange_ns);
    row.decimal("exchange_ns", exchange_ns);
    row.decimal("receive_ns", Some(timestamps.packet.receive_ns));
    row.number("sequence", timestamps.packet.sequence);
    row.number("security_id", definition.security_id);
    let symbol = definition.symbol.as_str();
    row.text("symbol", (!symbol.is_empty()).then_some(symbol));
    row.text("state", Some(state.name()));
}
