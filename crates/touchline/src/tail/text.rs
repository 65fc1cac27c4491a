//! An event as text.
//!
//! Unlike [`json`](super::json), a line shows selected fields: the best prices first (`12@4500.25`), then the change.
//! [`names`] has the shared words.

use super::names;
use crate::format::{count, counted, time_of_day};
use crate::missing::nearest;
use std::fmt::Write;
use touchline_client::{
    BookChange, BookKind, Bus, ChannelChange, ChannelEvent, Connection, Event, Instrument,
    LevelAction, LevelChange, OrderAction, OrderChange, OrdersChange, Price, Quantity, Quote,
    QuoteAction, QuotesChange, Side, Statistic, Status, Times, Top, Trade, UpdateAction,
};

/// Writes an event as one line.
pub fn write(line: &mut String, bus: &Bus, event: &Event) {
    match event {
        Event::Top(top) => write_top(line, bus, top),
        Event::Book(change) => write_book(line, bus, change),
        Event::Orders(change) => write_orders(line, bus, change),
        Event::Quotes(change) => write_quotes(line, bus, change),
        Event::Trade(trade) => write_trade(line, bus, trade),
        Event::Statistic(statistic) => write_statistic(line, bus, statistic),
        Event::Status(status) => write_status(line, bus, status),
        Event::State(change) => {
            push_time(line, &change.times);
            push_head(line, bus, change.instrument, change.state.name());
        }
        Event::Channel(event) => write_channel(line, event),
        Event::Defined(defined) => write_definition(line, bus, defined.instrument),
        Event::Connection(what) => write_connection(line, what),
        _ => {}
    }
}

/// Reports that no instrument matches the patterns, and names some instruments.
pub fn nothing_fits(line: &mut String, patterns: &[String], symbols: &[&str]) {
    let instruments = counted(symbols.len() as u64, "instrument");
    let _ = write!(
        line,
        "-- no instrument matches {}: the bus has {instruments}",
        patterns.join(", ")
    );
    let meant = patterns
        .iter()
        .find_map(|pattern| nearest(pattern, symbols.iter().copied()));
    let _ = match (meant, symbols.first()) {
        (Some(meant), _) => write!(line, "; did you mean {meant}?"),
        (None, Some(first)) => write!(line, ", {first} for example"),
        (None, None) => Ok(()),
    };
}

fn write_top(line: &mut String, bus: &Bus, top: &Top) {
    push_time(line, &top.times);
    push_head(line, bus, top.instrument, top.state.name());
    push_best(line, [top.bid, top.ask]);
    line.push_str("  top");
}

fn write_book(line: &mut String, bus: &Bus, change: &BookChange) {
    push_time(line, &change.times);
    push_head(line, bus, change.instrument, change.state.name());
    let Ok(book) = bus.book(change.instrument) else {
        return;
    };
    push_best(line, [change.bid, change.ask]);
    if !change.is_whole {
        bus.changes()
            .iter()
            .for_each(|change| push_change(line, change));
        return;
    }
    let length = |kind, side| book.list(kind, side).len();
    let [bids, asks] = Side::BOTH.map(|side| length(BookKind::Direct, side));
    let _ = write!(line, "  whole book of {bids} bids, {asks} asks");
    let [bids, asks] = Side::BOTH.map(|side| length(BookKind::Implied, side));
    if bids + asks > 0 {
        let _ = write!(line, ", implied {bids} bids, {asks} asks");
    }
}

/// `composite  bid 2000000@1.1 LP01  bid[1000000] 1.1`: a quote with its id, and the price of a tier.
fn write_quotes(line: &mut String, bus: &Bus, change: &QuotesChange) {
    push_time(line, &change.times);
    push_head(line, bus, change.instrument, change.state.name());
    let _ = write!(line, "  quotes of {}", change.provider);
    for change in bus.quote_changes() {
        let side = names::side(change.side);
        let _ = match (change.action, change.tier) {
            (QuoteAction::Set, Some(_)) if change.price.is_null() => {
                write!(line, "  {side}[{}] -", change.quantity)
            }
            (QuoteAction::Set, Some(_)) => {
                write!(line, "  {side}[{}] {}", change.quantity, change.price)
            }
            (QuoteAction::Set, None) => write!(
                line,
                "  {side} {}@{} {}",
                change.quantity, change.price, change.quote_id
            ),
            (action, _) => write!(line, "  {} {}", names::quote_action(action), change.entry),
        };
    }
}

fn write_orders(line: &mut String, bus: &Bus, change: &OrdersChange) {
    push_time(line, &change.times);
    push_head(line, bus, change.instrument, change.state.name());
    match change.is_whole {
        true => {
            let steps = bus.order_changes().iter();
            let orders = steps.filter(|step| step.action == OrderAction::New);
            let number = counted(orders.count() as u64, "order");
            let _ = write!(line, " order book of {number}");
        }
        false => bus
            .order_changes()
            .iter()
            .for_each(|order| push_order(line, order)),
    }
}

fn write_trade(line: &mut String, bus: &Bus, trade: &Trade) {
    push_time(line, &trade.times);
    push_head(line, bus, trade.instrument, "trade");
    line.push(' ');
    push_amount(line, trade.quantity, Some(trade.price));
    let _ = write!(line, "  aggressor {}", trade.aggressor);
    let _ = match trade.action {
        UpdateAction::New => Ok(()),
        UpdateAction::Delete => write!(line, ", busted"),
        _ => write!(line, ", corrected"),
    };
}

fn write_statistic(line: &mut String, bus: &Bus, statistic: &Statistic) {
    push_time(line, &statistic.times);
    push_head(line, bus, statistic.instrument, "statistic");
    let _ = write!(line, " {}", names::statistic_words(statistic.kind));
    let _ = match (statistic.price, statistic.quantity) {
        (Some(price), Some(quantity)) => write!(line, " {quantity}@{price}"),
        (Some(price), None) => write!(line, " {price}"),
        (None, Some(quantity)) => write!(line, " {quantity}"),
        (None, None) => write!(line, " none"),
    };
    if statistic.action == UpdateAction::Delete {
        line.push_str(", withdrawn");
    }
}

fn write_status(line: &mut String, bus: &Bus, status: &Status) {
    push_time(line, &status.times);
    match status.instrument {
        Some(instrument) => push_head(line, bus, instrument, "status"),
        None => {
            let _ = write!(line, " {:<20} {:<10}", status.group, "status");
        }
    }
    let _ = write!(line, " {status}");
}

fn write_channel(line: &mut String, event: &ChannelEvent) {
    push_time(line, &event.times);
    let _ = match event.what {
        ChannelChange::Gap {
            first,
            last,
            orders,
        } => write!(
            line,
            " packets {first} to {last} lost: live books are gapped, order books {orders}"
        ),
        ChannelChange::Reset => write!(line, " reset: every book is empty and live"),
        ChannelChange::State { price, orders, .. } => write!(
            line,
            " channel: live price books are {price}, live order books {orders}"
        ),
        ChannelChange::DownloadStarted => write!(
            line,
            " download started: definitions and whole books of all chosen instruments follow"
        ),
        ChannelChange::DownloadEnded => {
            write!(line, " download ended: every chosen instrument was defined")
        }
        _ => Ok(()),
    };
}

fn write_definition(line: &mut String, bus: &Bus, instrument: Instrument) {
    push_time(line, &Times::default());
    push_head(line, bus, instrument, "definition");
    let Ok(definition) = bus.definition(instrument) else {
        return;
    };
    let depth = definition.depth;
    let _ = write!(
        line,
        " id {}, {}, depth {} direct {} implied, tick {}",
        definition.security_id,
        definition.asset,
        names::depth(depth.direct),
        depth.implied,
        definition.tick.unwrap_or(Price::NULL)
    );
    if let Some(fraction) = definition.price_fraction {
        let _ = write!(line, ", quoted in {fraction}");
    }
}

fn write_connection(line: &mut String, what: &Connection) {
    let _ = match what {
        Connection::Overrun { messages, bytes } => write!(
            line,
            "-- overrun: this reader was too slow, {} ({} bytes) lost; every book follows again",
            counted(*messages, "message"),
            count(*bytes)
        ),
        Connection::PublisherGone => write!(line, "-- {what}; waiting for the next publisher"),
        what => write!(line, "-- {what}"),
    };
}

/// The venue's time of day, else the receive time; blanks of the same width if there is neither.
fn push_time(line: &mut String, times: &Times) {
    let ns = match times.exchange_ns {
        0 => times.receive_ns,
        ns => ns,
    };
    let _ = write!(line, "{:<18}", time_of_day(ns));
}

fn push_head(line: &mut String, bus: &Bus, instrument: Instrument, state: &str) {
    let security_id = bus
        .definition(instrument)
        .map_or(0, |definition| definition.security_id);
    let _ = match bus.symbol(instrument) {
        "?" => write!(line, " {security_id:<20}"),
        symbol => write!(line, " {symbol:<20}"),
    };
    let _ = write!(line, " {state:<10}");
}

fn push_best(line: &mut String, [bid, ask]: [Option<Quote>; 2]) {
    let text = |quote: Option<Quote>| match quote {
        Some(quote) => format!("{}@{} {}", quote.quantity, quote.price, quote.source.name()),
        None => "-".to_owned(),
    };
    let _ = write!(line, " {:>23} | {:<23}", text(bid), text(ask));
}

fn push_change(line: &mut String, change: &LevelChange) {
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
        match change.level.is_known {
            true => push_amount(line, change.level.quantity, Some(change.level.price)),
            false => line.push('?'),
        }
    }
}

fn push_order(line: &mut String, change: &OrderChange) {
    let sign = match change.action {
        OrderAction::New => '+',
        OrderAction::Update => '=',
        OrderAction::Delete => '-',
        // Of a whole book alone, which is written as the number of its orders.
        OrderAction::Clear => return,
    };
    let _ = write!(
        line,
        " {}{sign}{}",
        names::side(change.side),
        change.order_id
    );
    if change.action != OrderAction::Delete {
        line.push(' ');
        push_amount(line, change.quantity, Some(change.price));
    }
}

/// `12@4500.25`.
fn push_amount(line: &mut String, quantity: Quantity, price: Option<Price>) {
    let _ = match price.filter(|price| !price.is_null()) {
        Some(price) => write!(line, "{quantity}@{price}"),
        None => write!(line, "{quantity}@?"),
    };
}
