//! Rows of the two series, column by column.

use crate::record::{Form, Prices, Record};
use touchline_types::{
    InstrumentDefinition, Price, Quantity, Side, Timestamps, Touch, Trade, UpdateAction, Validity,
};

/// Content of a row of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Validity of the book.
    pub state: Validity,
    /// The best bid.
    pub bid: Option<Touch>,
    /// The best offer.
    pub ask: Option<Touch>,
}

/// A row of quotes.
pub struct QuoteRow<'a> {
    /// Times.
    pub timestamps: &'a Timestamps,
    /// Instrument.
    pub definition: &'a InstrumentDefinition,
    /// Quote.
    pub quote: Quote,
    /// Price scale.
    pub prices: Prices,
}

/// A row of trades.
pub struct TradeRow<'a> {
    /// Times.
    pub timestamps: &'a Timestamps,
    /// Instrument.
    pub definition: &'a InstrumentDefinition,
    /// Validity of its book: whether trades may be missing.
    pub state: Validity,
    /// Trade.
    pub trade: &'a Trade,
    /// Price scale.
    pub prices: Prices,
}

impl QuoteRow<'_> {
    /// Header of a CSV file.
    pub const COLUMNS: &'static str = "exchange_ns,receive_ns,sequence,security_id,symbol,state,\
                               bid_price,bid_quantity,bid_book,ask_price,ask_quantity,ask_book";

    /// Writes the row.
    pub fn write(&self, line: &mut String, form: Form) {
        let exponent = self.definition.quantity_exponent;
        let mut row = Record::new(line, form);
        head(&mut row, self.timestamps, self.definition, self.quote.state);
        for (names, touch) in [
            (["bid_price", "bid_quantity", "bid_book"], self.quote.bid),
            (["ask_price", "ask_quantity", "ask_book"], self.quote.ask),
        ] {
            let price = touch.map_or(Price::NULL, |touch| touch.price);
            row.price(names[0], self.prices.of(self.definition, price));
            let quantity = touch.map_or(Quantity::NULL, |touch| touch.quantity);
            row.quantity(names[1], quantity, exponent);
            row.exact_or_none(names[2], touch.map(|touch| touch.source.name()));
        }
        row.end();
    }
}

impl TradeRow<'_> {
    /// Header of a CSV file.
    pub const COLUMNS: &'static str = "exchange_ns,receive_ns,sequence,security_id,symbol,state,\
                               price,quantity,aggressor,trade_id,action";

    /// Writes the row.
    pub fn write(&self, line: &mut String, form: Form) {
        let trade = self.trade;
        let mut row = Record::new(line, form);
        head(&mut row, self.timestamps, self.definition, self.state);
        row.price("price", self.prices.of(self.definition, trade.price));
        let exponent = self.definition.quantity_exponent;
        row.quantity("quantity", trade.quantity, exponent);
        let aggressor = trade.aggressor.map(|side| match side {
            Side::Bid => "buy",
            Side::Ask => "sell",
        });
        row.exact_or_none("aggressor", aggressor);
        row.optional("trade_id", (trade.trade_id != 0).then_some(trade.trade_id));
        let action = match trade.action {
            UpdateAction::Change => "correction",
            UpdateAction::Delete => "bust",
            _ => "new",
        };
        row.word("action", action);
        row.end();
    }
}

/// Common columns: times, instrument, validity.
fn head(
    row: &mut Record<'_>,
    timestamps: &Timestamps,
    definition: &InstrumentDefinition,
    state: Validity,
) {
    row.exact("exchange_ns", timestamps.exchange_ns);
    row.exact("receive_ns", timestamps.packet.receive_ns);
    row.number("sequence", timestamps.packet.sequence);
    row.number("security_id", definition.security_id);
    row.symbol(definition);
    row.word("state", state.name());
}
