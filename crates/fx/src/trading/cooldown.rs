//! Cool-downs: a bank that did not fill receives no orders for a while, longer after each
//! consecutive failure.

use crate::setup::{Setup, Slot, ns};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::setup::Bank;

/// Maximum number of doublings.
const DOUBLINGS_MAX: u32 = 4;

/// Cool-downs of all slots.
#[derive(Debug, Clone)]
pub struct Cooldowns {
    slots: Vec<Cooling>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cooling {
    until_ns: u64,
    /// Consecutive failures.
    row: u32,
    is_disabled: bool,
}

impl Cooldowns {
    /// Makes the state without cool-downs.
    pub fn new(setup: &Setup) -> Cooldowns {
        Cooldowns {
            slots: vec![Cooling::default(); setup.slots()],
        }
    }

    /// Whether a slot may receive orders.
    pub fn may_deal(&self, slot: Slot, now_ns: u64) -> bool {
        let cooling = &self.slots[slot];
        !cooling.is_disabled && now_ns >= cooling.until_ns
    }

    /// Whether a slot is disabled until it is enabled.
    pub fn is_disabled(&self, slot: Slot) -> bool {
        self.slots[slot].is_disabled
    }

    /// Disables a slot until it is enabled.
    pub fn disable(&mut self, slot: Slot) {
        self.slots[slot].is_disabled = true;
    }

    /// Enables a slot on request of the desk.
    pub fn enable(&mut self, slot: Slot) {
        self.slots[slot].is_disabled = false;
    }

    /// Counts a consecutive failure. Returns the end of the cool-down; the later of two ends applies.
    pub fn fail(&mut self, setup: &Setup, slot: Slot, now_ns: u64) -> u64 {
        let cooling = &mut self.slots[slot];
        cooling.row = cooling.row.saturating_add(1);
        let doublings = (cooling.row - 1).min(DOUBLINGS_MAX);
        let pause_ns = ns(setup.router.cooldown_ms).saturating_mul(1 << doublings);
        self.pause(slot, now_ns.saturating_add(pause_ns))
    }

    /// Pauses a slot until a time. Returns the end that applies.
    pub fn pause(&mut self, slot: Slot, until_ns: u64) -> u64 {
        let cooling = &mut self.slots[slot];
        cooling.until_ns = cooling.until_ns.max(until_ns);
        cooling.until_ns
    }

    /// A fill resets the consecutive failures.
    pub fn succeed(&mut self, slot: Slot) {
        self.slots[slot].row = 0;
    }

    /// Time at which the next cool-down ends.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        let ends = self.slots.iter().map(|cooling| cooling.until_ns);
        ends.filter(|until_ns| *until_ns > now_ns)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// The measure for a code.
    pub fn measure(code: Option<RejectCode>) -> Measure {
        match code {
            Some(code) if code.disables() => Measure::Disable(code),
            Some(RejectCode::Credit) => Measure::PauseBank,
            _ => Measure::CoolDown,
        }
    }
}

/// Measure after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The slot is disabled until the desk enables it.
    Disable(RejectCode),
    /// All pairs of the bank pause: it has no credit.
    PauseBank,
    /// The slot cools down.
    CoolDown,
}

/// The pairs of a bank, in the order in which their cool-downs are printed.
pub fn pairs_of(setup: &Setup, bank: Bank) -> impl Iterator<Item = usize> + '_ {
    (0..setup.pairs.len()).filter(move |pair| setup.banks[bank].pairs.contains(pair))
}
