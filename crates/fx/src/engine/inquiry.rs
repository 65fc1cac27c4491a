//! Each bank is asked for all its orders after a start that may lack some; before all have answered, no order leaves.

use super::Engine;
use crate::event::{Alarm, Batch};
use crate::quotes::NEVER;
use crate::setup::{Bank, ns};

/// Oldest command of the desk that is executed, ns.
pub const COMMAND_AGE_MAX_NS: u64 = 2_000_000_000;

/// The question to a bank for its orders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inquiry {
    /// It has not answered.
    is_open: bool,
    /// When the desk was called for it.
    called_ns: Option<u64>,
    /// The desk has asked it.
    is_released: bool,
    /// The desk is called then.
    call_ns: u64,
    /// It is asked again then: a question may be lost in a resend that covers it.
    again_ns: u64,
}

impl Default for Inquiry {
    fn default() -> Inquiry {
        Inquiry {
            is_open: false,
            called_ns: None,
            is_released: false,
            call_ns: NEVER,
            again_ns: NEVER,
        }
    }
}

impl Inquiry {
    /// Whether the bank must be asked.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The session was lost, or the bank refuses questions.
    pub fn stop(&mut self) {
        self.again_ns = NEVER;
    }

    fn is_waiting(&self) -> bool {
        self.is_open && !self.is_released
    }

    fn due_ns(&self) -> u64 {
        self.call_ns.min(self.again_ns)
    }
}

impl Engine {
    /// A start after which the journal may lack orders of earlier epochs.
    pub(super) fn reboot(&mut self, epoch: u64, out: &mut Batch) {
        self.restart(out);
        self.lost.before = self.lost.before.max(epoch);
        for bank in 0..self.order_sessions.len() {
            let config = &self.setup.banks[bank].config;
            let wait_ns = ns(config.status_ms).saturating_mul(u64::from(config.status_tries));
            let call_ns = self.now().saturating_add(wait_ns.max(1));
            self.order_sessions[bank].inquiry = Inquiry {
                is_open: true,
                call_ns,
                ..Inquiry::default()
            };
            self.wake_at(call_ns);
        }
        self.count_inquiries();
    }

    /// Whether a bank has said which orders it has, since the journal may lack some.
    pub fn has_said_all(&self, bank: Bank) -> bool {
        !self.order_sessions[bank].inquiry.is_open
    }

    /// Whether no order leaves because a bank has not said which orders it has.
    pub fn is_asking(&self) -> bool {
        self.lost.is_asking
    }

    /// Whether no order leaves before the desk has asked this bank and enables a pair of it: the desk was called, and the bank has
    /// not answered.
    pub fn waits_for_desk(&self, bank: Bank) -> bool {
        let inquiry = &self.order_sessions[bank].inquiry;
        inquiry.called_ns.is_some() && inquiry.is_waiting()
    }

    /// Requests all orders of a bank, repeatedly until it answers. The answer includes `unknown` ones.
    pub(super) fn inquire(&mut self, bank: Bank, unknown: &[usize], out: &mut Batch) {
        let config = &self.setup.banks[bank].config;
        if !config.mass_status {
            self.call_desk(bank, out);
            return;
        }
        let again_ns = self.now().saturating_add(ns(config.status_ms.max(1)));
        self.order_sessions[bank].inquiry.again_ns = again_ns;
        self.wake_at(again_ns);
        self.ask_for_all(bank, unknown, out);
    }

    /// The bank has said all.
    pub(super) fn inquiry_ended(&mut self, bank: Bank) {
        self.order_sessions[bank].inquiry = Inquiry::default();
        self.count_inquiries();
    }

    /// The bank refused the question.
    pub(super) fn mass_status_refused(&mut self, bank: Bank, out: &mut Batch) {
        let inquiry = &mut self.order_sessions[bank].inquiry;
        if inquiry.is_open {
            inquiry.stop();
            self.call_desk(bank, out);
        }
    }

    /// The desk enables a bank for which it was called: it has asked for itself. The bank is still asked, if it can be. A command that
    /// may have been sent before the call is none of it: it only enables a pair.
    pub(super) fn desk_has_asked(&mut self, bank: Bank) {
        let now_ns = self.now();
        let is_after = |called_ns: u64| now_ns > called_ns.saturating_add(COMMAND_AGE_MAX_NS);
        let inquiry = &mut self.order_sessions[bank].inquiry;
        // mutant: fx: a pair that is enabled before the desk was called releases its bank
        inquiry.is_released |= inquiry.called_ns.is_some_and(is_after);
        self.count_inquiries();
    }

    /// Earliest time at which a bank is asked again, or the desk is called.
    pub(super) fn inquiry_due_ns(&self) -> u64 {
        let sessions = self.order_sessions.iter();
        let due = sessions.map(|session| session.inquiry.due_ns());
        due.min().unwrap_or(NEVER)
    }

    /// Calls the desk for each bank that did not answer in time, and asks each again whose question is due.
    pub(super) fn inquiry_timers(&mut self, out: &mut Batch) {
        for bank in 0..self.order_sessions.len() {
            let inquiry = self.order_sessions[bank].inquiry;
            if inquiry.call_ns <= self.now() {
                self.call_desk(bank, out);
            }
            if inquiry.again_ns <= self.now() {
                self.inquire(bank, &[], out);
            }
        }
    }

    /// Calls the desk for a bank, once.
    fn call_desk(&mut self, bank: Bank, out: &mut Batch) {
        let now_ns = self.now();
        let inquiry = &mut self.order_sessions[bank].inquiry;
        inquiry.call_ns = NEVER;
        if inquiry.called_ns.is_none() {
            inquiry.called_ns = Some(now_ns);
            self.alarm(Alarm::NoMassStatus, Some(bank), None, out);
        }
    }

    fn count_inquiries(&mut self) {
        let mut sessions = self.order_sessions.iter();
        self.lost.is_asking = sessions.any(|session| session.inquiry.is_waiting());
    }
}
