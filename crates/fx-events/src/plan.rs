//! Plans of the router.

/// Allowed candidates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// All.
    #[default]
    Best,
    /// One ticket, from bands and amounts.
    Full,
    /// A sweep only.
    Sweep,
}

/// Kind of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// One ticket.
    Full,
    /// A sweep.
    Sweep,
    /// A ticket, then a sweep.
    Both,
}
