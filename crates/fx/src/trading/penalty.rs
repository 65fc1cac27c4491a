//! Penalty of a stream: the average cost of a bank's rejects and hold times.

use crate::setup::{Setup, Slot};
use std::collections::VecDeque;

/// Minimum number of outcomes in a mean: one reject proves little.
const OUTCOMES_MIN: i64 = 5;

/// Last outcomes of all slots.
#[derive(Debug, Clone)]
pub struct Penalties {
    slots: Vec<Window>,
}

/// Last outcomes of a slot.
#[derive(Debug, Clone, Default)]
struct Window {
    outcomes: VecDeque<Outcome>,
    bad: i64,
    hold_ms: i64,
}

/// Outcome of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the order was not filled, or its outcome is unknown.
    pub is_bad: bool,
    /// Time from sending to the outcome.
    pub hold_ns: u64,
}

impl Outcome {
    fn hold_ms(&self) -> i64 {
        (self.hold_ns / 1_000_000) as i64
    }
}

impl Penalties {
    /// Makes the state before the first outcome.
    pub fn new(setup: &Setup) -> Penalties {
        // A clone would have no memory of its own yet.
        let window = |_| Window {
            outcomes: VecDeque::with_capacity(setup.router.window),
            ..Window::default()
        };
        Penalties {
            slots: (0..setup.slots()).map(window).collect(),
        }
    }

    /// Adds an outcome and drops the oldest beyond the window.
    pub fn add(&mut self, setup: &Setup, slot: Slot, outcome: Outcome) {
        let window = &mut self.slots[slot];
        if window.outcomes.len() == setup.router.window
            && let Some(old) = window.outcomes.pop_front()
        {
            window.bad -= i64::from(old.is_bad);
            window.hold_ms -= old.hold_ms();
        }
        window.bad += i64::from(outcome.is_bad);
        window.hold_ms += outcome.hold_ms();
        window.outcomes.push_back(outcome);
        assert!(
            window.bad <= window.outcomes.len() as i64,
            "bad outcomes are outcomes, too"
        );
    }

    /// Penalty in tenths of a tick, without the weight of an urgency.
    pub fn of(&self, setup: &Setup, slot: Slot) -> i64 {
        let (window, router) = (&self.slots[slot], &setup.router);
        let outcomes = window.outcomes.len() as i64;
        if outcomes == 0 {
            return 0;
        }
        let rejects = window.bad * router.reject_cost / outcomes.max(OUTCOMES_MIN);
        let holds = window.hold_ms / outcomes / router.hold_ms_per_tenth;
        router.penalty_max.min(rejects + holds)
    }
}
