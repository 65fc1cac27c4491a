//! A message as a person reads it.
//!
//! It does not go over the fields as [`json`](super::json) does: a line of a screen chooses some of them, and puts the
//! best prices and quantities at prices (`12@4500.25`) before what changed. Only the words are shared ([`names`]).

use super::books::Books;
use super::known::Known;
use super::names;
use crate::format::{count, counted};
use std::fmt::Write;
use touchline_book::{Touch, TouchSource};
use touchline_transport::SubscriptionEvent;
use touchline_transport::shm::{Item, Received};
use touchline_types::native::TopOfBook;
use touchline_types::{
    BookKind, BookSnapshot, Instrument, InstrumentDefinition, LevelAction, LevelChange,
    OrderAction, OrderChange, Phase, Price, Quantity, Timestamps, Update, Validity,
};
use touchline_wire::sbe::UtcTime;

/// Writes an item as one line.
pub fn write(line: &mut String, item: &Item<'_>, known: &Known, books: &Books) {
    match item {
        Item::Update(received) => write_update(line, received, known, books),
        Item::Top {
            top, timestamps, ..
        } => {
            push_time(line, timestamps);
            let validity = books.channel().price_of(top.validity);
            write_top(line, top, validity, &known.of(top.instrument));
        }
        Item::SubscriptionEvent(event) => write_event(line, event),
        Item::BatchEnd => {}
    }
}

fn write_update(line: &mut String, received: &Received<'_>, known: &Known, books: &Books) {
    push_time(line, &received.timestamps);
    let of = |instrument: Instrument| known.of(instrument);
    let channel = books.channel();
    let _ = match &received.update {
        Update::Book(book) => {
            let definition = of(book.instrument);
            push_head(line, &definition, channel.price_of(book.validity).name());
            push_best(line, books.touches(book.instrument), &definition);
            for change in book.changes {
                push_change(line, change, &definition);
            }
            Ok(())
        }
        Update::BookSnapshot(book) => {
            let definition = of(book.instrument);
            push_head(line, &definition, channel.price_of(book.validity).name());
            push_best(line, books.touches(book.instrument), &definition);
            push_lengths(line, book);
            Ok(())
        }
        Update::Orders(orders) => {
            let definition = of(orders.instrument);
            push_head(line, &definition, channel.orders_of(orders.validity).name());
            push_orders(line, orders.changes, &definition);
            Ok(())
        }
        Update::OrdersSnapshot(orders) => {
            push_head(
                line,
                &of(orders.instrument),
                channel.orders_of(orders.validity).name(),
            );
            let number = counted(orders.orders.len() as u64, "order");
            write!(line, " order book of {number}")
        }
        Update::Trade(trade) => {
            let definition = of(trade.instrument);
            push_head(line, &definition, "trade");
            line.push(' ');
            push_amount(line, trade.quantity, trade.price, &definition);
            let aggressor = trade.aggressor.map_or("nobody", names::side);
            let action = names::update_action(trade.action);
            write!(line, "  aggressor {aggressor}, {action}")
        }
        Update::Statistic(statistic) => {
            let definition = of(statistic.instrument);
            push_head(line, &definition, "figure");
            let _ = write!(line, " {} ", names::statistic(statistic.kind));
            push_amount(line, statistic.quantity, statistic.price, &definition);
            Ok(())
        }
        Update::Status(status) => {
            let group = String::from_utf8_lossy(&status.group);
            let group = group.trim_end_matches(['\0', ' ']);
            match status.instrument {
                Some(instrument) => push_head(line, &of(instrument), "status"),
                None => {
                    let _ = write!(line, " {group:<20} {:<10}", "status");
                }
            }
            let (code, reason, event) = (status.status, status.reason, status.event);
            write!(line, " {code}, reason {reason}, event {event}")
        }
        Update::State(state) => {
            push_head(
                line,
                &of(state.instrument),
                channel.price_of(state.validity).name(),
            );
            Ok(())
        }
        Update::Gap(gap) => {
            let orders = gap.orders.name();
            let (first, last) = (gap.first, gap.last);
            write!(
                line,
                " packets {first} to {last} are lost: live books are gapped, order books {orders}"
            )
        }
        Update::Reset => write!(line, " reset: every book is empty and live"),
        Update::Download(Phase::Begun) => write!(
            line,
            " download begun: definitions and whole books of all chosen instruments follow"
        ),
        Update::Download(Phase::Ended) => {
            write!(line, " download ended: every chosen instrument was told of")
        }
        Update::Channel(state) => {
            let (price, orders) = (state.price.name(), state.orders.name());
            write!(
                line,
                " channel: live price books are {price}, live order books {orders}"
            )
        }
        Update::Definition(definition) => {
            push_head(line, definition, "definition");
            let depth = definition.depth;
            write!(
                line,
                " id {}, {}, depth {} direct {} implied, tick {}",
                definition.security_id,
                definition.asset,
                names::depth(depth.direct),
                depth.implied,
                definition.tick
            )
        }
    };
}

fn write_event(line: &mut String, event: &SubscriptionEvent) {
    let _ = match event {
        SubscriptionEvent::CaughtUp => write!(line, "-- joined: what follows is live"),
        SubscriptionEvent::Overrun { messages, bytes } => write!(
            line,
            "-- too slow: {} ({} bytes) were overwritten unread; every book follows anew",
            counted(*messages, "message"),
            count(*bytes)
        ),
        SubscriptionEvent::Restarted { generation } => {
            write!(
                line,
                "-- another publisher begins, the bus's number {generation}: all books are void"
            )
        }
        SubscriptionEvent::PublisherGone => {
            write!(line, "-- the publisher is gone: books are stale")
        }
        SubscriptionEvent::PublisherStalled => write!(
            line,
            "-- the publisher is stalled: no sign of life from it, books are stale"
        ),
        SubscriptionEvent::PublisherResumed => write!(
            line,
            "-- the publisher has resumed: books follow as they are now"
        ),
        SubscriptionEvent::Corrupt { sequence } => write!(
            line,
            "-- message {sequence} makes no sense: somebody else writes this memory; every book follows anew"
        ),
        SubscriptionEvent::Damaged => write!(
            line,
            "-- a file of the bus was made shorter: start its publisher again"
        ),
        SubscriptionEvent::Incompatible { layout } => write!(
            line,
            "-- another publisher goes on in format {layout}, which this program cannot read: use the program of its version"
        ),
    };
}

fn write_top(
    line: &mut String,
    top: &TopOfBook,
    validity: Validity,
    definition: &InstrumentDefinition,
) {
    push_head(line, definition, validity.name());
    let direct = |price: Price, quantity: Quantity| {
        (!price.is_null()).then_some(Touch {
            price,
            quantity,
            source: TouchSource::Direct,
        })
    };
    let touches = [
        direct(top.bid_price, top.bid_quantity),
        direct(top.ask_price, top.ask_quantity),
    ];
    push_best(line, touches, definition);
    line.push_str("  top");
}

/// The time of day, the venue's or else that of receipt; of what has neither, as wide a blank.
fn push_time(line: &mut String, timestamps: &Timestamps) {
    let ns = match timestamps.exchange_ns {
        0 => timestamps.packet.receive_ns,
        ns => ns,
    };
    let time = UtcTime(ns).to_string();
    let time = time.get(11..29).filter(|_| ns != 0).unwrap_or_default();
    let _ = write!(line, "{time:<18}");
}

fn push_head(line: &mut String, definition: &InstrumentDefinition, state: &str) {
    let _ = match (definition.symbol.is_empty(), definition.security_id) {
        (false, _) => write!(line, " {:<20}", definition.symbol),
        (true, 0) => write!(line, " {:<20}", format!("#{}", definition.instrument.0)),
        (true, security_id) => write!(line, " {security_id:<20}"),
    };
    let _ = write!(line, " {state:<10}");
}

/// How many levels a whole book has.
fn push_lengths(line: &mut String, book: &BookSnapshot<'_>) {
    let (bids, asks) = (book.bids.len(), book.asks.len());
    let _ = write!(line, "  whole book of {bids} bids, {asks} asks");
    let (bids, asks) = (book.implied_bids.len(), book.implied_asks.len());
    if bids + asks > 0 {
        let _ = write!(line, ", implied {bids} bids, {asks} asks");
    }
}

fn push_best(line: &mut String, [bid, ask]: [Option<Touch>; 2], definition: &InstrumentDefinition) {
    let text = |touch: Option<Touch>| {
        let mut text = String::new();
        match touch {
            Some(touch) => {
                push_amount(&mut text, touch.quantity, touch.price, definition);
                let _ = write!(text, " {}", touch.source.name());
            }
            None => text.push('-'),
        }
        text
    };
    let _ = write!(line, " {:>23} | {:<23}", text(bid), text(ask));
}

fn push_change(line: &mut String, change: &LevelChange, definition: &InstrumentDefinition) {
    let implied = match change.book {
        BookKind::Direct => "",
        BookKind::Implied => "i",
    };
    let (side, place) = (names::side(change.side), u32::from(change.index) + 1);
    let _ = write!(line, " {implied}{side}");
    let _ = match change.action {
        LevelAction::Insert => write!(line, "+{place} "),
        LevelAction::Replace => write!(line, "={place} "),
        LevelAction::Remove => write!(line, "-{place}"),
        LevelAction::Clear => write!(line, " clear"),
    };
    if matches!(change.action, LevelAction::Insert | LevelAction::Replace) {
        match change.level.known {
            true => push_amount(line, change.level.quantity, change.level.price, definition),
            false => line.push('?'),
        }
    }
}

fn push_orders(line: &mut String, changes: &[OrderChange], definition: &InstrumentDefinition) {
    for change in changes {
        let side = names::side(change.side);
        let sign = match change.action {
            OrderAction::New => '+',
            OrderAction::Update => '=',
            OrderAction::Delete => '-',
        };
        let _ = write!(line, " {side}{sign}{}", change.order_id);
        if change.action != OrderAction::Delete {
            line.push(' ');
            push_amount(line, change.quantity, change.price, definition);
        }
    }
}

/// `12@4500.25`.
fn push_amount(
    line: &mut String,
    quantity: Quantity,
    price: Price,
    definition: &InstrumentDefinition,
) {
    let _ = match definition.decimal(quantity) {
        Some(quantity) => write!(line, "{quantity}"),
        None => write!(line, "?"),
    };
    let _ = match price.is_null() {
        true => write!(line, "@?"),
        false => write!(line, "@{price}"),
    };
}
