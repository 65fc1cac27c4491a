//! A message as a JSON object: everything that it says. Which fields a message has is written here once, how a value is
//! written in [`Record`]. A test holds it to the layout of the native format: a field that is added there stands here.

use super::books::Books;
use super::known::Known;
use super::names;
use crate::books::{level, lists};
use crate::record::Record;
use touchline_book::Touch;
use touchline_transport::SubscriptionEvent;
use touchline_transport::shm::{Item, Received};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Instrument, InstrumentDefinition, Legs,
    Level, LevelAction, LevelChange, OptionRight, OrderAction, OrderChange, Price, Quantity,
    SecurityType, Side, Statistic, Timestamps, Trade, TradingStatus, Update, Validity,
};

/// Writes an item as one line.
pub fn write(line: &mut String, item: &Item<'_>, known: &Known, books: &Books) {
    if matches!(item, Item::BatchEnd) {
        return;
    }
    let mut row = Record::json(line);
    match item {
        Item::Update(received) => update(&mut row, received, known, books),
        Item::Top {
            sequence,
            timestamps,
            top,
        } => {
            row.word("message", "top");
            row.number("sequence", sequence);
            times(&mut row, timestamps);
            let validity = books.channel().price_of(top.validity);
            top_of_book(&mut row, top, validity, &known.of(top.instrument));
        }
        Item::SubscriptionEvent(event) => notice(&mut row, event),
        Item::BatchEnd => {}
    }
    row.end();
}

fn update(row: &mut Record<'_>, received: &Received<'_>, known: &Known, books: &Books) {
    row.word("message", names::message(&received.update));
    row.number("sequence", received.sequence);
    row.number("image", received.is_image);
    row.number("batch_end", received.batch_end);
    trace(row, received);
    let of = |instrument: Instrument| known.of(instrument);
    let channel = books.channel();
    match &received.update {
        Update::Book(update) => {
            let definition = of(update.instrument);
            book(row, update, channel, &definition);
            touches(row, books.touches(update.instrument), &definition);
        }
        Update::BookSnapshot(whole) => {
            let definition = of(whole.instrument);
            snapshot(row, whole, channel, &definition);
            touches(row, books.touches(whole.instrument), &definition);
        }
        Update::Orders(orders) => {
            let definition = of(orders.instrument);
            instrument(row, &definition);
            row.word("state", channel.orders_of(orders.validity).name());
            order_changes(row, "changes", orders.changes, &definition);
        }
        Update::OrdersSnapshot(orders) => {
            let definition = of(orders.instrument);
            instrument(row, &definition);
            row.word("state", channel.orders_of(orders.validity).name());
            order_changes(row, "orders", orders.orders, &definition);
        }
        Update::Trade(update) => trade(row, update, &of(update.instrument)),
        Update::Statistic(update) => statistic(row, update, &of(update.instrument)),
        Update::Status(update) => status(row, update, known),
        Update::State(state) => {
            instrument(row, &of(state.instrument));
            row.word("state", channel.price_of(state.validity).name());
        }
        Update::Gap(gap) => {
            row.number("first_lost", gap.first);
            row.number("last_lost", gap.last);
            row.word("orders_state", gap.orders.name());
        }
        Update::Reset => {}
        Update::Download(phase) => row.word("phase", names::phase(*phase)),
        Update::Channel(state) => {
            row.word("state", state.price.name());
            row.word("orders_state", state.orders.name());
            row.exact("channel_sequence", state.sequence);
        }
        Update::Definition(update) => definition(row, update),
    }
}

fn notice(row: &mut Record<'_>, event: &SubscriptionEvent) {
    let name = match event {
        SubscriptionEvent::CaughtUp => "caught_up",
        SubscriptionEvent::Overrun { .. } => "lapped",
        SubscriptionEvent::Restarted { .. } => "restarted",
        SubscriptionEvent::PublisherGone => "publisher_gone",
        SubscriptionEvent::PublisherStalled => "publisher_stalled",
        SubscriptionEvent::PublisherResumed => "publisher_resumed",
        SubscriptionEvent::Corrupt { .. } => "corrupt",
        SubscriptionEvent::Damaged => "damaged",
        SubscriptionEvent::Incompatible { .. } => "incompatible",
    };
    row.word("notice", name);
    match event {
        SubscriptionEvent::Overrun { messages, bytes } => {
            row.number("messages_lost", messages);
            row.number("bytes_lost", bytes);
        }
        SubscriptionEvent::Restarted { generation } => row.number("epoch", generation),
        SubscriptionEvent::Corrupt { sequence } => row.number("sequence", sequence),
        SubscriptionEvent::Incompatible { layout } => row.number("layout", layout),
        _ => {}
    }
}

/// When things happened, and the latency trace; an image has none.
fn trace(row: &mut Record<'_>, received: &Received<'_>) {
    let timestamps = &received.timestamps;
    times(row, timestamps);
    if !received.is_image {
        row.exact("sending_ns", timestamps.packet.sending_ns);
        row.number("packet", timestamps.packet.sequence);
        row.exact("polled", timestamps.polled);
        row.exact("decoded", timestamps.decoded);
        row.exact("applied", timestamps.applied);
        row.exact("published", timestamps.published);
    }
}

/// The venue's time and that of receipt.
fn times(row: &mut Record<'_>, timestamps: &Timestamps) {
    row.exact("exchange_ns", timestamps.exchange_ns);
    row.exact("receive_ns", timestamps.packet.receive_ns);
}

fn instrument(row: &mut Record<'_>, definition: &InstrumentDefinition) {
    let security_id = definition.security_id;
    let is_known = definition.defined || security_id != 0;
    row.number("instrument", definition.instrument.0);
    row.optional("security_id", is_known.then_some(security_id));
    row.symbol(definition);
}

fn book(
    row: &mut Record<'_>,
    book: &BookUpdate<'_>,
    channel: &ChannelState,
    definition: &InstrumentDefinition,
) {
    instrument(row, definition);
    row.word("state", channel.price_of(book.validity).name());
    row.number("whole", book.whole);
    row.list("changes", |list| {
        for change in book.changes {
            list.record(|row| level_change(row, change, definition));
        }
    });
    best(row, [book.best_bid, book.best_ask], definition);
}

fn level_change(row: &mut Record<'_>, change: &LevelChange, definition: &InstrumentDefinition) {
    row.word("book", names::book(change.book));
    row.word("side", names::side(change.side));
    row.word("action", names::level_action(change.action));
    row.number("index", change.index);
    match change.action {
        LevelAction::Insert | LevelAction::Replace if change.level.known => {
            row.list("level", |list| {
                level(list, &change.level, change.book, definition);
            });
        }
        LevelAction::Insert | LevelAction::Replace => row.optional("level", None::<u8>),
        LevelAction::Remove | LevelAction::Clear => {}
    }
}

fn snapshot(
    row: &mut Record<'_>,
    book: &BookSnapshot<'_>,
    channel: &ChannelState,
    definition: &InstrumentDefinition,
) {
    instrument(row, definition);
    row.word("state", channel.price_of(book.validity).name());
    lists(row, definition, |kind, side| match (kind, side) {
        (BookKind::Direct, Side::Bid) => book.bids,
        (BookKind::Direct, Side::Ask) => book.asks,
        (BookKind::Implied, Side::Bid) => book.implied_bids,
        (BookKind::Implied, Side::Ask) => book.implied_asks,
    });
}

fn top_of_book(
    row: &mut Record<'_>,
    top: &TopOfBook,
    validity: Validity,
    definition: &InstrumentDefinition,
) {
    instrument(row, definition);
    row.word("state", validity.name());
    let level = |price: Price, quantity: Quantity| {
        (!price.is_null()).then_some(Level {
            price,
            quantity,
            ..Level::UNKNOWN
        })
    };
    let bid = level(top.bid_price, top.bid_quantity);
    best(
        row,
        [bid, level(top.ask_price, top.ask_quantity)],
        definition,
    );
}

/// The best bid and ask of the direct book.
fn best(row: &mut Record<'_>, [bid, ask]: [Option<Level>; 2], definition: &InstrumentDefinition) {
    row.best("bid", bid, definition.quantity_exponent);
    row.best("ask", ask, definition.quantity_exponent);
}

/// The best bid and ask, each as `[price, quantity, book]`.
fn touches(row: &mut Record<'_>, touches: [Option<Touch>; 2], definition: &InstrumentDefinition) {
    for (name, touch) in ["best_bid", "best_ask"].into_iter().zip(touches) {
        let Some(touch) = touch else {
            row.optional(name, None::<u8>);
            continue;
        };
        row.list(name, |list| {
            list.price(touch.price);
            list.quantity(touch.quantity, definition.quantity_exponent);
            list.exact(touch.source.name());
        });
    }
}

fn order_changes(
    row: &mut Record<'_>,
    name: &str,
    changes: &[OrderChange],
    definition: &InstrumentDefinition,
) {
    row.list(name, |list| {
        for change in changes {
            list.record(|row| {
                row.word("side", names::side(change.side));
                row.word("action", names::order_action(change.action));
                row.exact("order_id", change.order_id);
                if change.action != OrderAction::Delete {
                    row.exact("priority", change.priority);
                    amount(row, change.price, change.quantity, definition);
                }
            });
        }
    });
}

fn trade(row: &mut Record<'_>, trade: &Trade, definition: &InstrumentDefinition) {
    instrument(row, definition);
    amount(row, trade.price, trade.quantity, definition);
    row.number("trade_id", trade.trade_id);
    row.number("orders", trade.orders);
    row.word("action", names::update_action(trade.action));
    row.exact_or_none("aggressor", trade.aggressor.map(names::side));
}

fn statistic(row: &mut Record<'_>, statistic: &Statistic, definition: &InstrumentDefinition) {
    instrument(row, definition);
    row.word("kind", names::statistic(statistic.kind));
    row.word("action", names::update_action(statistic.action));
    amount(row, statistic.price, statistic.quantity, definition);
}

fn status(row: &mut Record<'_>, status: &TradingStatus, known: &Known) {
    if let Some(of) = status.instrument {
        instrument(row, &known.of(of));
    }
    let group = String::from_utf8_lossy(&status.group);
    row.text("group", group.trim_end_matches(['\0', ' ']));
    row.number("status", status.status);
    row.number("reason", status.reason);
    row.number("event", status.event);
}

fn definition(row: &mut Record<'_>, definition: &InstrumentDefinition) {
    instrument(row, definition);
    row.text("group", definition.group.as_str());
    row.text("asset", definition.asset.as_str());
    // Every level is no number.
    let depth = (!definition.depth.is_all()).then_some(definition.depth.direct);
    row.optional("depth", depth);
    row.number("implied_depth", definition.depth.implied);
    row.number("quantity_exponent", definition.quantity_exponent);
    row.number("defined", definition.defined);
    row.price("tick", definition.tick);
    reference(row, definition);
}

/// What the venue states; what it does not state is left out.
fn reference(row: &mut Record<'_>, definition: &InstrumentDefinition) {
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
        row.text(name, text);
    }
    if let Some(factor) = reference.display_factor {
        row.list("display_factor", |list| {
            list.number(factor.numerator());
            list.number(factor.denominator());
        });
    }
    let prices = [
        ("multiplier", reference.multiplier),
        ("strike", reference.strike),
        ("high_limit", reference.high_limit),
        ("low_limit", reference.low_limit),
    ];
    for (name, price) in prices.into_iter().filter(|(_, price)| !price.is_null()) {
        row.price(name, price);
    }
    let quantities = [
        ("lot", reference.lot),
        ("quantity_min", reference.quantity_min),
        ("quantity_max", reference.quantity_max),
    ];
    for (name, quantity) in quantities.into_iter().filter(|(_, q)| !q.is_null()) {
        row.quantity(name, quantity, definition.quantity_exponent);
    }
    let numbers = [
        ("expiry_ns", reference.expiry_ns.into(), 0),
        ("maturity", i128::from(reference.maturity), 0),
        ("status", reference.status.into(), u8::MAX.into()),
    ];
    for (name, number, _) in numbers.into_iter().filter(|(_, n, null)| n != null) {
        row.number(name, number);
    }
    if let Some(underlying) = reference.underlying {
        row.number("underlying", underlying);
    }
    legs(row, &reference.legs);
}

/// Each leg as `[security_id, side, ratio]`, and how many the venue stated.
fn legs(row: &mut Record<'_>, legs: &Legs) {
    if legs.count() == 0 {
        return;
    }
    row.number("leg_count", legs.count());
    row.list("legs", |list| {
        for leg in legs.as_slice() {
            list.list(|fields| {
                fields.number(leg.security_id);
                fields.exact(names::side(leg.side));
                fields.number(leg.ratio);
            });
        }
    });
}

fn amount(
    row: &mut Record<'_>,
    price: Price,
    quantity: Quantity,
    definition: &InstrumentDefinition,
) {
    row.price("price", price);
    row.quantity("quantity", quantity, definition.quantity_exponent);
}

#[cfg(test)]
mod tests;
