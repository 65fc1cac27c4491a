//! An event as a JSON object with every field of its message. This module alone lists the fields of a message;
//! [`Record`] defines the format of values. A test compares the fields with the layout of the native format.

use super::names;
use crate::books::{client_level, client_lists};
use crate::record::Record;
use touchline_client::{
    BookChange, Bus, ChannelChange, ChannelEvent, Connection, Definition, Event, Instrument,
    LevelAction, LevelChange, OptionRight, OrderAction, OrderChange, OrdersChange, Price, Quantity,
    Quote, QuoteAction, QuoteChange, QuotesChange, SecurityType, Statistic, Status, Times, Trade,
};

/// Writes an event as one line.
pub fn write(line: &mut String, bus: &Bus, event: &Event) {
    let mut row = Record::json(line);
    match event {
        Event::Connection(what) => connection(&mut row, what),
        event => message(&mut row, bus, event),
    }
    row.end();
}

/// Reports that no instrument matches the patterns.
pub fn nothing_fits(line: &mut String, patterns: &[String], defined: usize) {
    let mut row = Record::json(line);
    row.word("notice", "no_instrument_fits");
    row.text("symbols", &patterns.join(","));
    row.number("defined", defined);
    row.end();
}

fn message(row: &mut Record<'_>, bus: &Bus, event: &Event) {
    let message = names::message(event);
    let sequence = bus.trace().sequence;
    row.word("message", message);
    row.number("sequence", sequence);
    row.number("image", bus.trace().is_kept);
    row.number("batch_end", event.end_of_batch());
    match event {
        Event::Top(top) => {
            trace(row, bus, &top.times);
            instrument(row, bus, top.instrument);
            row.word("state", top.state.name());
            best(row, [top.bid, top.ask]);
        }
        Event::Book(change) => book(row, bus, change),
        Event::Orders(change) => orders(row, bus, change),
        Event::Quotes(change) => quotes(row, bus, change),
        Event::Trade(event) => trade(row, bus, event),
        Event::Statistic(event) => statistic(row, bus, event),
        Event::Status(event) => status(row, bus, event),
        Event::State(change) => {
            trace(row, bus, &change.times);
            instrument(row, bus, change.instrument);
            row.word("state", change.state.name());
        }
        Event::Channel(event) => channel(row, bus, event),
        Event::Defined(of) => {
            trace(row, bus, &bus.trace().times());
            instrument(row, bus, of.instrument);
            if let Ok(stated) = bus.definition(of.instrument) {
                definition(row, stated);
            }
        }
        _ => {}
    }
}

fn connection(row: &mut Record<'_>, what: &Connection) {
    let name = match what {
        Connection::CaughtUp { .. } => "caught_up",
        Connection::Overrun { .. } => "overrun",
        Connection::Restarted { .. } => "restarted",
        Connection::PublisherGone => "publisher_gone",
        Connection::PublisherStalled => "publisher_stalled",
        Connection::PublisherResumed => "publisher_resumed",
        Connection::Corrupt { .. } => "corrupt",
        Connection::Damaged => "damaged",
        Connection::Incompatible { .. } => "incompatible",
        Connection::Forked => "forked",
        Connection::Refused => "refused",
        Connection::NotWaitedFor => "not_waited_for",
        _ => "other",
    };
    row.word("notice", name);
    match what {
        Connection::CaughtUp { instruments } => row.number("instruments", instruments),
        Connection::Overrun { messages, bytes } => {
            row.number("messages_lost", messages);
            row.number("bytes_lost", bytes);
        }
        Connection::Restarted { generation } => row.number("generation", generation),
        Connection::Corrupt { sequence } => row.number("sequence", sequence),
        Connection::Incompatible { layout } => row.number("layout", layout),
        _ => {}
    }
}

/// Times and the latency trace; a kept value has no trace.
fn trace(row: &mut Record<'_>, bus: &Bus, times: &Times) {
    let trace = bus.trace();
    row.exact("exchange_ns", times.exchange_ns);
    row.exact("receive_ns", times.receive_ns);
    if !trace.is_kept {
        row.exact("sending_ns", trace.sending_ns);
        row.number("packet", trace.packet);
        row.exact("polled", trace.polled.0);
        row.exact("decoded", trace.decoded.0);
        row.exact("applied", trace.applied.0);
        row.exact("published", trace.published.0);
    }
}

fn instrument(row: &mut Record<'_>, bus: &Bus, instrument: Instrument) {
    row.number("instrument", instrument.index());
    let definition = bus.definition(instrument).ok();
    row.optional(
        "security_id",
        definition.map(|definition| definition.security_id),
    );
    match bus.symbol(instrument) {
        "?" => row.optional("symbol", None::<u8>),
        symbol => row.text("symbol", symbol),
    }
}

fn book(row: &mut Record<'_>, bus: &Bus, change: &BookChange) {
    trace(row, bus, &change.times);
    instrument(row, bus, change.instrument);
    row.word("state", change.state.name());
    let Ok(book) = bus.book(change.instrument) else {
        return;
    };
    match change.is_whole {
        true => client_lists(row, &book),
        false => {
            row.number("whole", !change.is_cut);
            row.list("changes", |list| {
                for change in bus.changes() {
                    list.record(|row| level_change(row, change));
                }
            });
        }
    }
    best(row, [change.bid, change.ask]);
}

fn level_change(row: &mut Record<'_>, change: &LevelChange) {
    row.word("book", names::book(change.book));
    row.word("side", names::side(change.side));
    row.word("action", names::level_action(change.action));
    row.number("index", change.index);
    match change.action {
        LevelAction::Insert | LevelAction::Replace if change.level.is_known => {
            row.list("level", |list| {
                client_level(list, &change.level, change.book)
            });
        }
        LevelAction::Insert | LevelAction::Replace => row.optional("level", None::<u8>),
        LevelAction::Remove | LevelAction::Clear => {}
    }
}

/// The best bid and ask, each as `[price, quantity, book]`.
fn best(row: &mut Record<'_>, quotes: [Option<Quote>; 2]) {
    for (name, quote) in ["best_bid", "best_ask"].into_iter().zip(quotes) {
        let Some(quote) = quote else {
            row.optional(name, None::<u8>);
            continue;
        };
        row.list(name, |list| {
            list.price(quote.price);
            list.decimal(quote.quantity.decimal());
            list.exact(quote.source.name());
        });
    }
}

fn orders(row: &mut Record<'_>, bus: &Bus, change: &OrdersChange) {
    trace(row, bus, &change.times);
    instrument(row, bus, change.instrument);
    row.word("state", change.state.name());
    let name = if change.is_whole { "orders" } else { "changes" };
    row.list(name, |list| {
        // A whole book is the list of its orders, without the steps that empty it.
        let steps = bus.order_changes().iter();
        for order in steps.filter(|step| step.action != OrderAction::Clear) {
            list.record(|row| order_change(row, order));
        }
    });
}

fn order_change(row: &mut Record<'_>, change: &OrderChange) {
    row.word("side", names::side(change.side));
    row.word("action", names::order_action(change.action));
    row.exact("order_id", change.order_id);
    if change.action != OrderAction::Delete {
        row.exact("priority", change.priority);
        row.price("price", change.price);
        row.decimal("quantity", change.quantity.decimal());
    }
}

fn quotes(row: &mut Record<'_>, bus: &Bus, change: &QuotesChange) {
    trace(row, bus, &change.times);
    instrument(row, bus, change.instrument);
    row.word("state", change.state.name());
    row.text("provider", change.provider.as_str());
    row.number("value_date", change.value_date);
    let name = if change.is_whole { "quotes" } else { "changes" };
    row.list(name, |list| {
        for change in bus.quote_changes() {
            list.record(|row| quote_change(row, change));
        }
    });
}

fn quote_change(row: &mut Record<'_>, change: &QuoteChange) {
    row.word("action", names::quote_action(change.action));
    row.number("entry", change.entry);
    if change.action != QuoteAction::Set {
        return;
    }
    row.word("side", names::side(change.side));
    row.price("price", change.price);
    row.decimal("quantity", change.quantity.decimal());
    row.decimal("quantity_min", change.quantity_min.decimal());
    row.exact("expiry_ns", change.expiry_ns);
    row.exact("priority", change.priority);
    row.optional("tier", change.tier);
    row.number("indicative", change.is_indicative);
    row.number("full_amount", change.is_full_amount);
    row.text("quote_id", change.quote_id.as_str());
}

fn trade(row: &mut Record<'_>, bus: &Bus, trade: &Trade) {
    trace(row, bus, &trade.times);
    instrument(row, bus, trade.instrument);
    row.price("price", trade.price);
    row.decimal("quantity", trade.quantity.decimal());
    row.number("trade_id", trade.trade_id);
    row.optional("orders", trade.orders);
    row.word("action", names::update_action(trade.action));
    row.word("aggressor", trade.aggressor.name());
}

fn statistic(row: &mut Record<'_>, bus: &Bus, statistic: &Statistic) {
    trace(row, bus, &statistic.times);
    instrument(row, bus, statistic.instrument);
    row.word("kind", names::statistic(statistic.kind));
    row.word("action", names::update_action(statistic.action));
    row.price("price", statistic.price.unwrap_or(Price::NULL));
    row.decimal("quantity", statistic.quantity.and_then(Quantity::decimal));
}

fn status(row: &mut Record<'_>, bus: &Bus, status: &Status) {
    trace(row, bus, &status.times);
    if let Some(of) = status.instrument {
        instrument(row, bus, of);
    }
    row.text("group", status.group.as_str());
    row.number("status", status.status);
    row.exact_or_none("status_name", status.status_name());
    row.number("reason", status.reason);
    row.exact_or_none("reason_name", status.reason_name());
    row.number("event", status.event);
    row.exact_or_none("event_name", status.event_name());
}

fn channel(row: &mut Record<'_>, bus: &Bus, event: &ChannelEvent) {
    trace(row, bus, &event.times);
    match event.what {
        ChannelChange::Gap {
            first,
            last,
            orders,
        } => {
            row.number("first_lost", first);
            row.number("last_lost", last);
            row.word("orders_state", orders.name());
        }
        ChannelChange::State {
            price,
            orders,
            sequence,
        } => {
            row.word("state", price.name());
            row.word("orders_state", orders.name());
            row.exact("channel_sequence", sequence);
        }
        ChannelChange::DownloadStarted => row.word("phase", "started"),
        ChannelChange::DownloadEnded => row.word("phase", "ended"),
        _ => {}
    }
}

/// Definition of an instrument; absent reference data is left out.
pub fn definition(row: &mut Record<'_>, definition: &Definition) {
    row.text("group", definition.group.as_str());
    row.text("asset", definition.asset.as_str());
    // "Every level" is not a number.
    let depth = (!definition.depth.is_all()).then_some(definition.depth.direct);
    row.optional("depth", depth);
    row.number("implied_depth", definition.depth.implied);
    row.number("quantity_exponent", definition.quantity_exponent);
    row.number("defined", definition.is_defined);
    row.price("tick", definition.tick.unwrap_or(Price::NULL));
    reference(row, definition);
}

fn reference(row: &mut Record<'_>, definition: &Definition) {
    let texts = [
        ("venue", definition.venue.as_str()),
        (
            "security_type",
            definition.security_type.map_or("", SecurityType::name),
        ),
        ("currency", definition.currency.as_str()),
        (
            "settlement_currency",
            definition.settlement_currency.as_str(),
        ),
        ("right", definition.right.map_or("", OptionRight::name)),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        row.text(name, text);
    }
    if let Some(factor) = definition.display_factor {
        row.list("display_factor", |list| {
            list.number(factor.numerator());
            list.number(factor.denominator());
        });
    }
    if let Some(fraction) = definition.price_fraction {
        row.list("price_fraction", |list| {
            list.number(fraction.main);
            list.number(fraction.sub);
        });
    }
    let prices = [
        ("multiplier", definition.multiplier),
        ("strike", definition.strike),
        ("high_limit", definition.high_limit),
        ("low_limit", definition.low_limit),
    ];
    for (name, price) in prices {
        if let Some(price) = price {
            row.price(name, price);
        }
    }
    let quantities = [
        ("lot", definition.lot),
        ("quantity_min", definition.quantity_min),
        ("quantity_max", definition.quantity_max),
    ];
    for (name, quantity) in quantities {
        if let Some(quantity) = quantity {
            row.decimal(name, quantity.decimal());
        }
    }
    trading_status(row, definition);
    let numbers = [
        ("expiry_ns", definition.expiry_ns.into(), 0),
        ("maturity", i128::from(definition.maturity), 0),
    ];
    for (name, number, _) in numbers.into_iter().filter(|(_, n, null)| n != null) {
        row.number(name, number);
    }
    if let Some(underlying) = definition.underlying {
        row.number("underlying", underlying);
    }
    legs(row, definition);
}

/// Trading status in the definition.
fn trading_status(row: &mut Record<'_>, definition: &Definition) {
    if definition.status != u8::MAX {
        row.number("status", definition.status);
    }
    if let Some(name) = definition.status_name() {
        row.word("status_name", name);
    }
}

/// Each leg as `[security_id, side, ratio]`, and the number of legs that the venue stated.
fn legs(row: &mut Record<'_>, definition: &Definition) {
    if definition.leg_count() == 0 {
        return;
    }
    row.number("leg_count", definition.leg_count());
    row.list("legs", |list| {
        for leg in definition.legs() {
            list.list(|fields| {
                fields.number(leg.security_id);
                fields.exact(names::side(leg.side));
                fields.number(leg.ratio);
            });
        }
    });
}

#[cfg(test)]
mod tests;
