//! Names of messages and values, shared by text and JSON.

use touchline_client::{
    BookKind, Depth, Event, LevelAction, OrderAction, Side, StatisticKind, UpdateAction,
};

/// Name of a change of a quote.
pub fn quote_action(action: touchline_client::QuoteAction) -> &'static str {
    use touchline_client::QuoteAction;
    match action {
        QuoteAction::Set => "set",
        QuoteAction::Remove => "remove",
        QuoteAction::Clear => "clear",
    }
}

/// Name of an event's message.
pub fn message(event: &Event) -> &'static str {
    use touchline_client::ChannelChange;
    match event {
        Event::Top(_) => "top",
        Event::Book(change) if change.is_whole => "book_snapshot",
        Event::Book(_) => "book",
        Event::Orders(change) if change.is_whole => "orders_snapshot",
        Event::Orders(_) => "orders",
        Event::Quotes(change) if change.is_whole => "quotes_snapshot",
        Event::Quotes(_) => "quotes",
        Event::Trade(_) => "trade",
        Event::Statistic(_) => "statistic",
        Event::Status(_) => "status",
        Event::State(_) => "state",
        Event::Defined(_) => "definition",
        Event::Channel(event) => match event.what {
            ChannelChange::Gap { .. } => "gap",
            ChannelChange::Reset => "reset",
            ChannelChange::DownloadStarted | ChannelChange::DownloadEnded => "download",
            _ => "channel",
        },
        _ => "other",
    }
}

/// Levels a side that a venue keeps.
pub fn depth(levels: u16) -> String {
    match levels {
        Depth::ALL => "every level".to_owned(),
        levels => levels.to_string(),
    }
}

pub fn side(side: Side) -> &'static str {
    match side {
        Side::Bid => "bid",
        Side::Ask => "ask",
    }
}

pub fn book(book: BookKind) -> &'static str {
    match book {
        BookKind::Direct => "direct",
        BookKind::Implied => "implied",
    }
}

pub fn level_action(action: LevelAction) -> &'static str {
    match action {
        LevelAction::Insert => "insert",
        LevelAction::Replace => "replace",
        LevelAction::Remove => "remove",
        LevelAction::Clear => "clear",
    }
}

pub fn order_action(action: OrderAction) -> &'static str {
    match action {
        OrderAction::New => "new",
        OrderAction::Update => "update",
        OrderAction::Delete => "delete",
        OrderAction::Clear => "clear",
    }
}

pub fn update_action(action: UpdateAction) -> &'static str {
    match action {
        UpdateAction::New => "new",
        UpdateAction::Change => "change",
        UpdateAction::Delete => "delete",
        UpdateAction::DeleteThru => "delete_thru",
        UpdateAction::DeleteFrom => "delete_from",
        UpdateAction::Overlay => "overlay",
    }
}

/// JSON key of a statistic.
pub fn statistic(kind: StatisticKind) -> &'static str {
    match kind {
        StatisticKind::Open => "open",
        StatisticKind::High => "high",
        StatisticKind::Low => "low",
        StatisticKind::Vwap => "vwap",
        StatisticKind::HighestBid => "highest_bid",
        StatisticKind::LowestAsk => "lowest_ask",
        StatisticKind::Settlement => "settlement",
        StatisticKind::ClearedVolume => "cleared_volume",
        StatisticKind::OpenInterest => "open_interest",
        StatisticKind::Fixing => "fixing",
        StatisticKind::Volume => "volume",
        StatisticKind::HighLimit => "high_limit",
        StatisticKind::LowLimit => "low_limit",
        StatisticKind::PriceBand => "price_band",
        StatisticKind::Other => "other",
    }
}

/// Text of a statistic.
pub fn statistic_words(kind: StatisticKind) -> &'static str {
    match kind {
        StatisticKind::Open => "opening price",
        StatisticKind::High => "session high",
        StatisticKind::Low => "session low",
        StatisticKind::Vwap => "volume-weighted average price",
        StatisticKind::HighestBid => "highest bid",
        StatisticKind::LowestAsk => "lowest ask",
        StatisticKind::Settlement => "settlement price",
        StatisticKind::ClearedVolume => "cleared volume",
        StatisticKind::OpenInterest => "open interest",
        StatisticKind::Fixing => "fixing price",
        StatisticKind::Volume => "traded volume",
        StatisticKind::HighLimit => "upper price limit",
        StatisticKind::LowLimit => "lower price limit",
        StatisticKind::PriceBand => "largest accepted price variation",
        StatisticKind::Other => "other figure",
    }
}
