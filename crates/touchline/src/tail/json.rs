//! A message as a JSON object: everything that it says.

use super::books::Books;
use super::known::Known;
use super::names;
use crate::books::{push_level, push_lists, push_symbol};
use crate::json::{push_best, push_price, push_quantity};
use std::fmt::Write;
use touchline_book::Touch;
use touchline_transport::SubscriptionEvent;
use touchline_transport::shm::{Item, Received};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Instrument, InstrumentDefinition, Legs,
    Level, LevelAction, OptionRight, OrderAction, OrderChange, Price, Quantity, SecurityType, Side,
    Statistic, Timestamps, Trade, TradingStatus, Update, Validity,
};

/// Writes an item as one line.
pub fn write(line: &mut String, item: &Item<'_>, known: &Known, books: &Books) {
    match item {
        Item::Update(received) => write_update(line, received, known, books),
        Item::Top {
            sequence,
            timestamps,
            top,
        } => {
            let _ = write!(line, "{{\"message\":\"top\",\"sequence\":{sequence}");
            push_times(line, timestamps);
            let validity = books.channel().price_of(top.validity);
            push_top(line, top, validity, &known.of(top.instrument));
        }
        Item::SubscriptionEvent(event) => write_event(line, event),
        Item::BatchEnd => return,
    }
    line.push('}');
}

fn write_update(line: &mut String, received: &Received<'_>, known: &Known, books: &Books) {
    let message = names::message(&received.update);
    let (sequence, image, batch_end) = (received.sequence, received.is_image, received.batch_end);
    let _ = write!(
        line,
        "{{\"message\":\"{message}\",\"sequence\":{sequence},\"image\":{image},\"batch_end\":{batch_end}"
    );
    push_timestamps(line, received);
    let of = |instrument: Instrument| known.of(instrument);
    let channel = books.channel();
    match &received.update {
        Update::Book(book) => {
            let definition = of(book.instrument);
            push_book(line, book, channel, &definition);
            push_touches(line, books.touches(book.instrument), &definition);
        }
        Update::BookSnapshot(book) => {
            let definition = of(book.instrument);
            push_snapshot(line, book, channel, &definition);
            push_touches(line, books.touches(book.instrument), &definition);
        }
        Update::Orders(orders) => {
            let definition = of(orders.instrument);
            push_instrument(line, &definition);
            push_state(line, channel.orders_of(orders.validity));
            push_order_changes(line, "changes", orders.changes, &definition);
        }
        Update::OrdersSnapshot(orders) => {
            let definition = of(orders.instrument);
            push_instrument(line, &definition);
            push_state(line, channel.orders_of(orders.validity));
            push_order_changes(line, "orders", orders.orders, &definition);
        }
        Update::Trade(trade) => push_trade(line, trade, &of(trade.instrument)),
        Update::Statistic(statistic) => push_statistic(line, statistic, &of(statistic.instrument)),
        Update::Status(status) => push_status(line, status, known),
        Update::State(state) => {
            push_instrument(line, &of(state.instrument));
            push_state(line, channel.price_of(state.validity));
        }
        Update::Gap(gap) => {
            let (first, last, orders) = (gap.first, gap.last, gap.orders.name());
            let _ = write!(
                line,
                ",\"first_lost\":{first},\"last_lost\":{last},\"orders_state\":\"{orders}\""
            );
        }
        Update::Reset => {}
        Update::Download(phase) => {
            let _ = write!(line, ",\"phase\":\"{}\"", names::phase(*phase));
        }
        Update::Channel(state) => {
            push_state(line, state.price);
            let (orders, sequence) = (state.orders.name(), state.sequence);
            let _ = write!(
                line,
                ",\"orders_state\":\"{orders}\",\"channel_sequence\":\"{sequence}\""
            );
        }
        Update::Definition(definition) => push_definition(line, definition),
    }
}

fn write_event(line: &mut String, event: &SubscriptionEvent) {
    let (name, about) = match event {
        SubscriptionEvent::CaughtUp => ("caught_up", String::new()),
        SubscriptionEvent::Overrun { messages, bytes } => (
            "lapped",
            format!(",\"messages_lost\":{messages},\"bytes_lost\":{bytes}"),
        ),
        SubscriptionEvent::Restarted { generation } => {
            ("restarted", format!(",\"epoch\":{generation}"))
        }
        SubscriptionEvent::PublisherGone => ("publisher_gone", String::new()),
        SubscriptionEvent::PublisherStalled => ("publisher_stalled", String::new()),
        SubscriptionEvent::PublisherResumed => ("publisher_resumed", String::new()),
        SubscriptionEvent::Corrupt { sequence } => ("corrupt", format!(",\"sequence\":{sequence}")),
        SubscriptionEvent::Damaged => ("damaged", String::new()),
    };
    let _ = write!(line, "{{\"notice\":\"{name}\"{about}");
}

/// When things happened, and the marks; an image has none.
fn push_timestamps(line: &mut String, received: &Received<'_>) {
    let timestamps = &received.timestamps;
    push_times(line, timestamps);
    if !received.is_image {
        let _ = write!(
            line,
            ",\"sending_ns\":\"{}\",\"packet\":{},\"polled\":\"{}\",\"decoded\":\"{}\",\"applied\":\"{}\",\"published\":\"{}\"",
            timestamps.packet.sending_ns,
            timestamps.packet.sequence,
            timestamps.polled,
            timestamps.decoded,
            timestamps.applied,
            timestamps.published
        );
    }
}

/// The venue's time and that of receipt.
fn push_times(line: &mut String, timestamps: &Timestamps) {
    let _ = write!(
        line,
        ",\"exchange_ns\":\"{}\",\"receive_ns\":\"{}\"",
        timestamps.exchange_ns, timestamps.packet.receive_ns
    );
}

fn push_instrument(line: &mut String, definition: &InstrumentDefinition) {
    let (index, security_id) = (definition.instrument.0, definition.security_id);
    let _ = write!(line, ",\"instrument\":{index},\"security_id\":");
    let _ = match definition.defined || security_id != 0 {
        true => write!(line, "{security_id}"),
        false => write!(line, "null"),
    };
    line.push_str(",\"symbol\":");
    push_symbol(line, definition);
}

fn push_state(line: &mut String, validity: Validity) {
    let _ = write!(line, ",\"state\":\"{}\"", validity.name());
}

fn push_book(
    line: &mut String,
    book: &BookUpdate<'_>,
    channel: &ChannelState,
    definition: &InstrumentDefinition,
) {
    push_instrument(line, definition);
    push_state(line, channel.price_of(book.validity));
    let _ = write!(line, ",\"whole\":{},\"changes\":[", book.whole);
    for (index, change) in book.changes.iter().enumerate() {
        let _ = write!(
            line,
            "{}{{\"book\":\"{}\",\"side\":\"{}\",\"action\":\"{}\",\"index\":{}",
            if index > 0 { "," } else { "" },
            names::book(change.book),
            names::side(change.side),
            names::level_action(change.action),
            change.index
        );
        if matches!(change.action, LevelAction::Insert | LevelAction::Replace) {
            line.push_str(",\"level\":");
            push_level(line, &change.level, change.book, definition);
        }
        line.push('}');
    }
    line.push(']');
    push_both(line, book.best_bid, book.best_ask, definition);
}

fn push_snapshot(
    line: &mut String,
    book: &BookSnapshot<'_>,
    channel: &ChannelState,
    definition: &InstrumentDefinition,
) {
    push_instrument(line, definition);
    push_state(line, channel.price_of(book.validity));
    push_lists(line, definition, |kind, side| match (kind, side) {
        (BookKind::Direct, Side::Bid) => book.bids,
        (BookKind::Direct, Side::Ask) => book.asks,
        (BookKind::Implied, Side::Bid) => book.implied_bids,
        (BookKind::Implied, Side::Ask) => book.implied_asks,
    });
}

fn push_top(
    line: &mut String,
    top: &TopOfBook,
    validity: Validity,
    definition: &InstrumentDefinition,
) {
    push_instrument(line, definition);
    push_state(line, validity);
    let level = |price: Price, quantity: Quantity| {
        (!price.is_null()).then_some(Level {
            price,
            quantity,
            ..Level::UNKNOWN
        })
    };
    let bid = level(top.bid_price, top.bid_quantity);
    push_both(
        line,
        bid,
        level(top.ask_price, top.ask_quantity),
        definition,
    );
}

/// The best bid and ask, each as `[price, quantity, book]`.
fn push_touches(line: &mut String, touches: [Option<Touch>; 2], definition: &InstrumentDefinition) {
    for (name, touch) in ["best_bid", "best_ask"].into_iter().zip(touches) {
        let _ = write!(line, ",\"{name}\":");
        let Some(touch) = touch else {
            line.push_str("null");
            continue;
        };
        line.push('[');
        push_price(line, touch.price);
        line.push(',');
        push_quantity(line, touch.quantity, definition.quantity_exponent);
        let _ = write!(line, ",\"{}\"]", touch.source.name());
    }
}

fn push_both(
    line: &mut String,
    bid: Option<Level>,
    ask: Option<Level>,
    definition: &InstrumentDefinition,
) {
    line.push_str(",\"bid\":");
    push_best(line, bid, definition.quantity_exponent);
    line.push_str(",\"ask\":");
    push_best(line, ask, definition.quantity_exponent);
}

fn push_order_changes(
    line: &mut String,
    name: &str,
    changes: &[OrderChange],
    definition: &InstrumentDefinition,
) {
    let _ = write!(line, ",\"{name}\":[");
    for (index, change) in changes.iter().enumerate() {
        let _ = write!(
            line,
            "{}{{\"side\":\"{}\",\"action\":\"{}\",\"order_id\":\"{}\"",
            if index > 0 { "," } else { "" },
            names::side(change.side),
            names::order_action(change.action),
            change.order_id
        );
        if change.action != OrderAction::Delete {
            let _ = write!(line, ",\"priority\":\"{}\"", change.priority);
            push_amount(line, change.price, change.quantity, definition);
        }
        line.push('}');
    }
    line.push(']');
}

fn push_trade(line: &mut String, trade: &Trade, definition: &InstrumentDefinition) {
    push_instrument(line, definition);
    push_amount(line, trade.price, trade.quantity, definition);
    let action = names::update_action(trade.action);
    let _ = write!(
        line,
        ",\"trade_id\":{},\"orders\":{},\"action\":\"{action}\",\"aggressor\":",
        trade.trade_id, trade.orders
    );
    let _ = match trade.aggressor {
        Some(side) => write!(line, "\"{}\"", names::side(side)),
        None => write!(line, "null"),
    };
}

fn push_statistic(line: &mut String, statistic: &Statistic, definition: &InstrumentDefinition) {
    push_instrument(line, definition);
    let (kind, action) = (
        names::statistic(statistic.kind),
        names::update_action(statistic.action),
    );
    let _ = write!(line, ",\"kind\":\"{kind}\",\"action\":\"{action}\"");
    push_amount(line, statistic.price, statistic.quantity, definition);
}

fn push_status(line: &mut String, status: &TradingStatus, known: &Known) {
    if let Some(instrument) = status.instrument {
        push_instrument(line, &known.of(instrument));
    }
    let group = String::from_utf8_lossy(&status.group);
    let group = serde_json::to_string(group.trim_end_matches(['\0', ' ']));
    let _ = write!(
        line,
        ",\"group\":{},\"status\":{},\"reason\":{},\"event\":{}",
        group.as_deref().unwrap_or("null"),
        status.status,
        status.reason,
        status.event
    );
}

fn push_definition(line: &mut String, definition: &InstrumentDefinition) {
    push_instrument(line, definition);
    let text = |text: &str| serde_json::to_string(text).unwrap_or_default();
    // Every level is no number.
    let depth = (!definition.depth.is_all()).then(|| definition.depth.direct.to_string());
    let _ = write!(
        line,
        ",\"group\":{},\"asset\":{},\"depth\":{},\"implied_depth\":{},\"quantity_exponent\":{},\"defined\":{},\"tick\":",
        text(definition.group.as_str()),
        text(definition.asset.as_str()),
        depth.as_deref().unwrap_or("null"),
        definition.depth.implied,
        definition.quantity_exponent,
        definition.defined
    );
    push_price(line, definition.tick);
    push_reference(line, definition);
}

/// What the venue states; what it does not state is left out.
fn push_reference(line: &mut String, definition: &InstrumentDefinition) {
    let reference = &definition.reference;
    let texts = [
        ("venue", reference.venue.as_str()),
        (
            "security_type",
            reference.security_type.map_or("", SecurityType::name),
        ),
        ("currency", reference.currency.as_str()),
        (
            "settlement_currency",
            reference.settlement_currency.as_str(),
        ),
        ("right", reference.right.map_or("", OptionRight::name)),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let text = serde_json::to_string(text).unwrap_or_default();
        let _ = write!(line, ",\"{name}\":{text}");
    }
    if let Some(factor) = reference.display_factor {
        let (numerator, denominator) = (factor.numerator(), factor.denominator());
        let _ = write!(line, ",\"display_factor\":[{numerator},{denominator}]");
    }
    let prices = [
        ("multiplier", reference.multiplier),
        ("strike", reference.strike),
        ("high_limit", reference.high_limit),
        ("low_limit", reference.low_limit),
    ];
    for (name, price) in prices.into_iter().filter(|(_, price)| !price.is_null()) {
        let _ = write!(line, ",\"{name}\":\"{price}\"");
    }
    let quantities = [
        ("lot", reference.lot),
        ("quantity_min", reference.quantity_min),
        ("quantity_max", reference.quantity_max),
    ];
    for (name, quantity) in quantities.into_iter().filter(|(_, q)| !q.is_null()) {
        let _ = write!(line, ",\"{name}\":");
        push_quantity(line, quantity, definition.quantity_exponent);
    }
    let numbers = [
        ("expiry_ns", reference.expiry_ns.into(), 0),
        ("maturity", i128::from(reference.maturity), 0),
        ("status", reference.status.into(), u8::MAX.into()),
    ];
    for (name, number, _) in numbers.into_iter().filter(|(_, n, null)| n != null) {
        let _ = write!(line, ",\"{name}\":{number}");
    }
    if let Some(underlying) = reference.underlying {
        let _ = write!(line, ",\"underlying\":{underlying}");
    }
    push_legs(line, &reference.legs);
}

/// Each leg as `[security id, side, ratio]`.
fn push_legs(line: &mut String, legs: &Legs) {
    if legs.count() == 0 {
        return;
    }
    let _ = write!(line, ",\"leg_count\":{},\"legs\":[", legs.count());
    for (index, leg) in legs.as_slice().iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let (security_id, side, ratio) = (leg.security_id, names::side(leg.side), leg.ratio);
        let _ = write!(line, "{comma}[{security_id},\"{side}\",{ratio}]");
    }
    line.push(']');
}

fn push_amount(
    line: &mut String,
    price: Price,
    quantity: Quantity,
    definition: &InstrumentDefinition,
) {
    line.push_str(",\"price\":");
    push_price(line, price);
    line.push_str(",\"quantity\":");
    push_quantity(line, quantity, definition.quantity_exponent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Code, Depth, DisplayFactor, Leg, ReferenceData, Symbol};

    /// What a venue states stands in the line; what it does not is left out.
    #[test]
    fn reference_data_of_a_definition() {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut definition = InstrumentDefinition::unknown(Instrument(3), 118, depth);
        definition.symbol = Symbol::new(b"OPT");
        definition.quantity_exponent = -1;
        let line = |definition: &InstrumentDefinition| {
            let mut line = String::new();
            push_definition(&mut line, definition);
            line
        };
        let plain = line(&definition);
        assert!(
            plain.ends_with(",\"defined\":false,\"tick\":null"),
            "{plain}"
        );
        let mut legs = Legs::NONE;
        for side in Side::BOTH {
            legs.push(Leg {
                security_id: 7,
                ratio: 2,
                side,
            });
        }
        definition.reference = ReferenceData {
            venue: Code::lossy(b"cme"),
            security_type: Some(SecurityType::OptionSpread),
            currency: Code::lossy(b"USD"),
            settlement_currency: Code::lossy(b"EUR"),
            display_factor: DisplayFactor::new(1, 100),
            multiplier: Price(50_000_000_000),
            lot: Quantity(5),
            quantity_min: Quantity(10),
            quantity_max: Quantity(30_000),
            expiry_ns: 1,
            maturity: 20_240_900,
            strike: Price(-500_000_000),
            right: Some(OptionRight::Put),
            underlying: Some(-8),
            high_limit: Price(0),
            low_limit: Price(1),
            status: 17,
            legs,
        };
        let stated = line(&definition);
        let added = stated.strip_prefix(plain.as_str());
        let expected = concat!(
            r#","venue":"cme","security_type":"option_spread","currency":"USD","settlement_currency":"EUR","#,
            r#""right":"put","display_factor":[1,100],"multiplier":"50","strike":"-0.5","high_limit":"0","#,
            r#""low_limit":"0.000000001","lot":"0.5","quantity_min":1,"quantity_max":3000,"expiry_ns":1,"#,
            r#""maturity":20240900,"status":17,"underlying":-8,"leg_count":2,"legs":[[7,"bid",2],[7,"ask",2]]"#,
        );
        assert_eq!(added, Some(expected));
    }
}
