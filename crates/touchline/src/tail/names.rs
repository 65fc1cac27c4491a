//! Words for what messages say, the same in lines for people and in JSON.

use touchline_types::{
    BookKind, Depth, LevelAction, OrderAction, Phase, Side, StatisticKind, Update, UpdateAction,
};

/// What kind of message an update is.
pub fn message(update: &Update<'_>) -> &'static str {
    match update {
        Update::Book(_) => "book",
        Update::Orders(_) => "orders",
        Update::Trade(_) => "trade",
        Update::Statistic(_) => "statistic",
        Update::Status(_) => "status",
        Update::BookSnapshot(_) => "book_snapshot",
        Update::OrdersSnapshot(_) => "orders_snapshot",
        Update::State(_) => "state",
        Update::Gap(_) => "gap",
        Update::Reset => "reset",
        Update::Definition(_) => "definition",
        Update::Download(_) => "download",
        Update::Channel(_) => "channel",
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
    }
}

pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Begun => "begun",
        Phase::Ended => "ended",
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
