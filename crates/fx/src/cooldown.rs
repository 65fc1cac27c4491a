//! Cool-downs: a bank that did not deal is left alone for a while, longer each time in a row.

use crate::orders::RejectCode;
use crate::setup::{Bank, Setup, Slot, ns};

/// Doublings at most.
const DOUBLINGS_MAX: u32 = 4;

/// Which slots are left alone, and how long.
#[derive(Debug, Clone)]
pub struct Cooldowns {
    slots: Vec<Cooling>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cooling {
    until_ns: u64,
    /// How often in a row.
    row: u32,
    is_disabled: bool,
}

impl Cooldowns {
    /// Everybody may deal.
    pub fn new(setup: &Setup) -> Cooldowns {
        Cooldowns {
            slots: vec![Cooling::default(); setup.slots()],
        }
    }

    /// Whether a slot may deal.
    pub fn may_deal(&self, slot: Slot, now_ns: u64) -> bool {
        let cooling = &self.slots[slot];
        // mutant: fx: a disabled bank deals
        // mutant: fx: a cooling bank deals
        !cooling.is_disabled && now_ns >= cooling.until_ns
    }

    /// A slot deals no more until it is enabled.
    pub fn disable(&mut self, slot: Slot) {
        self.slots[slot].is_disabled = true;
    }

    /// The desk lets a slot deal again.
    pub fn enable(&mut self, slot: Slot) {
        self.slots[slot].is_disabled = false;
    }

    /// Another failure in a row. Gives when the slot may deal again: a later end holds against an earlier one.
    pub fn fail(&mut self, setup: &Setup, slot: Slot, now_ns: u64) -> u64 {
        let cooling = &mut self.slots[slot];
        cooling.row = cooling.row.saturating_add(1);
        let doublings = (cooling.row - 1).min(DOUBLINGS_MAX);
        // mutant: fx: cool-downs do not get longer
        let pause_ns = ns(setup.router.cooldown_ms).saturating_mul(1 << doublings);
        self.pause(slot, now_ns.saturating_add(pause_ns))
    }

    /// No deal before a time. Gives the time that holds.
    pub fn pause(&mut self, slot: Slot, until_ns: u64) -> u64 {
        let cooling = &mut self.slots[slot];
        // mutant: fx: an earlier end of a cool-down holds
        cooling.until_ns = cooling.until_ns.max(until_ns);
        cooling.until_ns
    }

    /// Something was filled: failures count from the beginning.
    pub fn succeed(&mut self, slot: Slot) {
        self.slots[slot].row = 0;
    }

    /// When the next cool-down ends.
    pub fn due_ns(&self, now_ns: u64) -> u64 {
        let ends = self.slots.iter().map(|cooling| cooling.until_ns);
        ends.filter(|until_ns| *until_ns > now_ns)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// What a code does to a bank: see [`Measure`].
    pub fn measure(code: Option<RejectCode>) -> Measure {
        match code {
            Some(code) if code.disables() => Measure::Disable(code),
            Some(RejectCode::Credit) => Measure::PauseBank,
            _ => Measure::CoolDown,
        }
    }
}

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The slot deals no more until the desk enables it.
    Disable(RejectCode),
    /// All pairs of the bank pause: it is out of credit.
    PauseBank,
    /// The slot cools down.
    CoolDown,
}

/// The pairs of a bank, in the order in which their cool-downs are printed.
pub fn pairs_of(setup: &Setup, bank: Bank) -> impl Iterator<Item = usize> + '_ {
    (0..setup.pairs.len()).filter(move |pair| setup.banks[bank].pairs.contains(pair))
}
