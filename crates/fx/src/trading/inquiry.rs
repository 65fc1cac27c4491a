//! Request to each bank for all its orders, after a start that may lack some; no order is sent before all banks have
//! answered.

use super::{Step, Trading};
use crate::quotes::NEVER;
use crate::setup::ns;
use touchline_fx_events::event::Alarm;
use touchline_fx_events::setup::Bank;

/// Oldest command of the desk that is executed, ns.
pub const COMMAND_AGE_MAX_NS: u64 = 2_000_000_000;

/// The request to a bank for its orders.
#[derive(Debug, Clone, Copy)]
pub struct Inquiry {
    /// Whether the bank's answer is missing.
    is_open: bool,
    /// Time at which the desk was called for the bank.
    called_ns: Option<u64>,
    /// Whether the desk has asked the bank itself.
    is_released: bool,
    /// Time at which the desk is called.
    call_ns: u64,
    /// Time at which the bank is asked again: the request may be lost in a resend that covers it.
    again_ns: u64,
    /// Time at which the rule of a bank that drops orders is its answer.
    settled_ns: u64,
    /// Reports of orders that the journal lacks may be lost: no rule is the answer.
    is_doubted: bool,
}

impl Default for Inquiry {
    fn default() -> Inquiry {
        Inquiry {
            is_open: false,
            called_ns: None,
            is_released: false,
            call_ns: NEVER,
            again_ns: NEVER,
            settled_ns: NEVER,
            is_doubted: false,
        }
    }
}

impl Inquiry {
    /// Begins a request for which the desk is called at `call_ns`, unless the bank answers first.
    pub fn open(&mut self, call_ns: u64) {
        *self = Inquiry {
            is_open: true,
            call_ns,
            // Reports that were missed before another loss of the journal do not come, so the doubt stays unless the desk has asked.
            is_doubted: self.is_doubted && self.is_waiting(),
            ..Inquiry::default()
        }
    }

    /// Whether the bank's answer is missing.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether orders wait for the bank's answer.
    pub fn is_waiting(&self) -> bool {
        self.is_open && !self.is_released
    }

    /// Whether the desk was called and still has to ask the bank.
    pub fn waits_for_desk(&self) -> bool {
        self.called_ns.is_some() && self.is_waiting()
    }

    /// Time at which the bank is asked again or has answered by its rule, or the desk is called.
    pub fn due_ns(&self) -> u64 {
        self.call_ns.min(self.again_ns).min(self.settled_ns)
    }

    /// The session was lost.
    pub fn stop(&mut self) {
        self.again_ns = NEVER;
        self.settled_ns = NEVER;
    }

    /// A bank that drops orders has sent everything that was missed: from `due_ns` on its orders are gone, and it will not say more.
    pub fn settle(&mut self, due_ns: u64) {
        // mutant: fx: a bank's rule answers for orders whose reports were lost
        if self.is_open && !self.is_doubted {
            self.settled_ns = due_ns;
        }
    }

    /// Reports may be missing, and will not come again: only the bank's list or the desk answers.
    pub fn doubt(&mut self) {
        self.is_doubted = self.is_open;
        self.settled_ns = NEVER;
    }

    /// The desk is called. False if it was.
    fn call(&mut self, now_ns: u64) -> bool {
        self.call_ns = NEVER;
        self.called_ns
            .replace(self.called_ns.unwrap_or(now_ns))
            .is_none()
    }

    /// Notes that the desk has asked the bank itself. A command that may have been sent before the call does not count.
    fn release(&mut self, now_ns: u64) {
        let is_after = |called_ns: u64| now_ns > called_ns.saturating_add(COMMAND_AGE_MAX_NS);
        // mutant: fx: a pair that is enabled before the desk was called releases its bank
        self.is_released |= self.called_ns.is_some_and(is_after);
    }
}

impl Trading {
    /// A start after which the journal may lack orders of earlier epochs.
    pub(super) fn reboot(&mut self, epoch: u64, step: &mut Step<'_>) {
        self.restart(step);
        self.lost.before = self.lost.before.max(epoch);
        for bank in 0..self.sessions.count() {
            let config = &self.setup.banks[bank].config;
            let wait_ns = ns(config.status_ms).saturating_mul(u64::from(config.status_tries));
            let call_ns = step.now_ns.saturating_add(wait_ns.max(1));
            self.sessions
                .change_inquiry(bank, |inquiry| inquiry.open(call_ns));
            self.wake_at(call_ns);
        }
    }

    /// Requests all orders of a bank, repeatedly until it answers. The answer includes `unknown` ones.
    pub(super) fn inquire(&mut self, bank: Bank, unknown: &[usize], step: &mut Step<'_>) {
        let config = &self.setup.banks[bank].config;
        if !config.mass_status {
            self.call_desk(bank, step);
            return;
        }
        let again_ns = step.now_ns.saturating_add(ns(config.status_ms));
        self.sessions
            .change_inquiry(bank, |inquiry| inquiry.again_ns = again_ns);
        self.wake_at(again_ns);
        self.ask_for_all(bank, unknown, step);
    }

    /// The bank refused the question.
    pub(super) fn mass_status_refused(&mut self, bank: Bank, step: &mut Step<'_>) {
        if self.sessions.inquiry(bank).is_open() {
            self.sessions
                .change_inquiry(bank, |inquiry| inquiry.again_ns = NEVER);
            self.call_desk(bank, step);
        }
        self.ask_for_each(bank, step);
    }

    /// The desk enables a bank for which it was called: it has asked for itself. The bank is still asked, if it can be.
    pub(super) fn desk_has_asked(&mut self, bank: Bank, now_ns: u64) {
        self.sessions
            .change_inquiry(bank, |inquiry| inquiry.release(now_ns));
    }

    /// Calls the desk for each bank that did not answer in time, and asks each bank again whose request is due.
    pub(super) fn inquiry_timers(&mut self, step: &mut Step<'_>) {
        for bank in 0..self.sessions.count() {
            let inquiry = *self.sessions.inquiry(bank);
            if inquiry.settled_ns <= step.now_ns {
                self.sessions
                    .change_inquiry(bank, |inquiry| *inquiry = Inquiry::default());
                continue;
            }
            if inquiry.call_ns <= step.now_ns {
                self.call_desk(bank, step);
            }
            if inquiry.again_ns <= step.now_ns {
                self.inquire(bank, &[], step);
            }
        }
    }

    /// Calls the desk for a bank, once.
    fn call_desk(&mut self, bank: Bank, step: &mut Step<'_>) {
        let now_ns = step.now_ns;
        if self
            .sessions
            .change_inquiry(bank, |inquiry| inquiry.call(now_ns))
        {
            step.alarm(Alarm::NoMassStatus, Some(bank), None);
        }
    }
}
