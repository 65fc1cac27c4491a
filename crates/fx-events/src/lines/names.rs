//! Words of the lines.

use crate::composite::State;
use crate::event::Event;
use crate::orders::{FillKind, OrderState};
use crate::parents::{Lifetime, WaitReason};
use crate::plan::Style;
use touchline_types::Side;

pub(super) fn event_name(event: &Event) -> &'static str {
    match event {
        Event::Accepted { .. } => "accepted",
        Event::Refused { .. } => "refused",
        Event::Waits { .. } => "waits",
        Event::Plan { .. } => "plan",
        Event::Ended(_) => "ended",
        Event::Settled(_) => "settled",
        Event::Cooldown { .. } => "cooldown",
        Event::Disabled { .. } => "disabled",
        Event::Enabled { .. } => "enabled",
        Event::Kill { .. } => "kill",
        Event::Lift { .. } => "lift",
        Event::OffMarket { .. } => "off_market",
        Event::Book { .. } => "book",
        Event::Day(_) => "day",
        Event::BankDay { .. } => "bank_day",
        Event::Alarm { .. } => "alarm",
        Event::Composite { .. }
        | Event::Adopted(_)
        | Event::Order(_)
        | Event::Fill(_)
        | Event::Position { .. }
        | Event::Benchmark(_)
        | Event::Seen(_)
        | Event::Score { .. } => "",
    }
}

pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Empty => "empty",
        State::OneSided => "one_sided",
        State::Normal => "normal",
        State::Locked => "locked",
        State::Crossed => "crossed",
    }
}

/// Why a parent waits.
pub fn wait_name(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::ValueDate => "value_date",
        WaitReason::Thin => "thin",
        WaitReason::NoMid => "no_mid",
        WaitReason::NoReference => "no_reference",
        WaitReason::Crossed => "crossed",
        WaitReason::NoPrice => "no_price",
    }
}

/// State of an order.
pub fn order_state_name(state: OrderState) -> &'static str {
    match state {
        OrderState::Sent => "sent",
        OrderState::PendingNew => "pending_new",
        OrderState::New => "new",
        OrderState::Partial => "partial",
        OrderState::PendingCancel => "pending_cancel",
        OrderState::Unknown => "unknown",
        OrderState::Disputed => "disputed",
        OrderState::Filled => "filled",
        OrderState::Rejected => "rejected",
        OrderState::Canceled => "canceled",
        OrderState::Expired => "expired",
    }
}

/// Source of a fill.
pub fn fill_name(kind: FillKind) -> &'static str {
    match kind {
        FillKind::Fill => "fill",
        FillKind::Status => "status",
        FillKind::Manual => "manual",
        FillKind::Named => "named",
        FillKind::Bust => "bust",
        FillKind::Correct => "correct",
        FillKind::Book => "book",
    }
}

/// Side of an order.
pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::Bid => "buy",
        Side::Ask => "sell",
    }
}

/// Lifetime of a parent.
pub fn lifetime_name(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Deadline => "gtd",
        Lifetime::Immediate => "ioc",
        Lifetime::AllOrNothing => "fok",
    }
}

/// Style of plans.
pub fn style_name(style: Style) -> &'static str {
    match style {
        Style::Best => "best",
        Style::Full => "full",
        Style::Sweep => "sweep",
    }
}
