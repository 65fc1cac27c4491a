//! Parents: terms, why they wait, and why they end.

use crate::plan::Style;
use crate::setup::Pair;
use touchline_types::{Id, Side};

/// Lifetime of a parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// Until its deadline.
    #[default]
    Deadline,
    /// One attempt; the unfilled rest is dropped.
    Immediate,
    /// One attempt for the whole quantity.
    AllOrNothing,
}

/// Terms of a parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentTerms {
    /// Name of the parent.
    pub id: Id,
    /// Pair.
    pub pair: Pair,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub limit: Option<i64>,
    /// Lifetime.
    pub lifetime: Lifetime,
    /// Lifetime of a parent with a deadline, milliseconds.
    pub deadline_ms: u64,
    /// Urgency, 0 to 2.
    pub urgency: usize,
    /// Style of plans.
    pub style: Style,
    /// Whether plans may fill a part.
    pub partial: bool,
}

/// Reason for the end of a parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// Completely filled.
    Filled,
    /// Less than a lot is open, which no order can have.
    Rest,
    /// The only attempt of an IOC parent is over.
    Ioc,
    /// The only attempt of a FOK parent is over.
    Fok,
    /// The deadline has passed.
    Deadline,
    /// Canceled by the desk.
    Cancel,
    /// The kill switch.
    Kill,
    /// The process restarted.
    Restart,
    /// The day of its pair ended.
    Roll,
}

impl EndReason {
    /// Name of the reason, as in a line.
    pub fn name(self) -> &'static str {
        match self {
            EndReason::Filled => "filled",
            EndReason::Rest => "rest",
            EndReason::Ioc => "ioc",
            EndReason::Fok => "fok",
            EndReason::Deadline => "deadline",
            EndReason::Cancel => "cancel",
            EndReason::Kill => "kill",
            EndReason::Restart => "restart",
            EndReason::Roll => "roll",
        }
    }
}

/// Reason why a parent sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// The spot date of the pair has passed; live only.
    ValueDate,
    /// Too few banks quote the side.
    Thin,
    /// A side of the composite is missing.
    NoMid,
    /// The pair has no reference.
    NoReference,
    /// The composite is crossed too far.
    Crossed,
    /// No offer is available.
    NoPrice,
}
