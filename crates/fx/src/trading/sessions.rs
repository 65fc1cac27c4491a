//! Order sessions of the banks: their connection state, the requests to each bank, and the number of orders sent to
//! each in the last second.

use super::inquiry::Inquiry;
use crate::quotes::NEVER;
use crate::setup::Setup;
use crate::window::LastSecond;
use touchline_fx_events::setup::Bank;

/// Order sessions of all banks.
///
/// Invariant: a session that is down waits for no answer to a mass status request; `is_asking` says whether an inquiry waits.
#[derive(Debug, Clone)]
pub struct Sessions {
    sessions: Vec<OrderSession>,
    /// Number of the last status request of the run.
    status: u64,
    /// Number of the last mass status request of the run.
    mass_status: u64,
    /// Whether a bank's list of its orders is missing: no order is sent then, because it may belong to a parent whose
    /// orders are lost.
    is_asking: bool,
}

/// State of a bank's order session.
#[derive(Debug, Clone, Default)]
struct OrderSession {
    is_up: bool,
    /// Time at which it came up last.
    up_ns: u64,
    /// Everything that was missed before it came up has come.
    is_settled: bool,
    /// The session's end is near or past: no order would be answered before it.
    is_closing: bool,
    /// The first and the last unanswered mass status request: an answer to any of them is one.
    mass_status: Option<(u64, u64)>,
    inquiry: Inquiry,
    /// Orders of the last second.
    rate: LastSecond,
}

impl Sessions {
    /// Sessions that are down.
    pub fn new(setup: &Setup) -> Sessions {
        Sessions {
            sessions: vec![OrderSession::default(); setup.banks.len()],
            status: 0,
            mass_status: 0,
            is_asking: false,
        }
    }

    /// Reserves memory for this many further orders.
    pub fn reserve(&mut self, setup: &Setup, orders: usize) {
        for (session, bank) in self.sessions.iter_mut().zip(&setup.banks) {
            let rate = bank.config.max_orders_per_s.min(orders);
            session.rate.reserve(rate);
        }
    }

    /// Number of banks.
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Whether the session of a bank is up.
    pub fn is_up(&self, bank: Bank) -> bool {
        self.sessions[bank].is_up
    }

    /// Time at which the session of a bank came up last.
    pub fn up_ns(&self, bank: Bank) -> u64 {
        self.sessions[bank].up_ns
    }

    /// The session is up. False if it was.
    pub fn set_up(&mut self, bank: Bank, now_ns: u64) -> bool {
        let session = &mut self.sessions[bank];
        let was_up = std::mem::replace(&mut session.is_up, true);
        session.up_ns = now_ns;
        assert!(
            was_up || session.mass_status.is_none(),
            "a session that is down waits for no answer"
        );
        !was_up
    }

    /// The session was lost. False if it was down.
    pub fn set_down(&mut self, bank: Bank) -> bool {
        let session = &mut self.sessions[bank];
        session.mass_status = None;
        session.is_closing = false;
        session.is_settled = false;
        session.inquiry.stop();
        std::mem::take(&mut session.is_up)
    }

    /// Everything that was missed has come.
    pub fn set_settled(&mut self, bank: Bank) {
        let session = &mut self.sessions[bank];
        session.is_settled = session.is_up;
    }

    /// Whether everything that was missed before the session came up has come.
    pub fn is_settled(&self, bank: Bank) -> bool {
        self.sessions[bank].is_settled
    }

    /// The end of a session is near or past, until it is down. A session may come up so. False if it is down, or closing already.
    pub fn set_closing(&mut self, bank: Bank) -> bool {
        let session = &mut self.sessions[bank];
        let was_closing = std::mem::replace(&mut session.is_closing, true);
        session.is_up && !was_closing
    }

    /// An order is sent to a bank.
    pub fn note_order(&mut self, bank: Bank, now_ns: u64) {
        self.sessions[bank].rate.add(now_ns);
    }

    /// Whether a bank is up and may have another order in this second.
    pub fn may_take(&self, setup: &Setup, bank: Bank, now_ns: u64) -> bool {
        let session = &self.sessions[bank];
        let sent = session.rate.count(now_ns);
        // mutant: fx: a bank receives more orders than its rate limit
        // mutant: simulation: a bank has no limit of its orders in a second
        session.is_up && !session.is_closing && sent < setup.banks[bank].config.max_orders_per_s
    }

    /// Time at which a bank at its rate limit may have an order again.
    pub fn rate_due_ns(&self, setup: &Setup, bank: Bank, now_ns: u64) -> u64 {
        let rate = &self.sessions[bank].rate;
        let is_at_limit = rate.count(now_ns) >= setup.banks[bank].config.max_orders_per_s;
        match is_at_limit {
            true => rate.due_ns(now_ns),
            false => NEVER,
        }
    }

    /// Number of the next status request.
    pub fn next_status(&mut self) -> u64 {
        self.status += 1;
        self.status
    }

    /// Number of the next mass status request to a bank; its answer is awaited from now on.
    pub fn next_mass_status(&mut self, bank: Bank) -> u64 {
        self.mass_status += 1;
        let (asked, request) = (&mut self.sessions[bank].mass_status, self.mass_status);
        *asked = Some((asked.map_or(request, |(first, _)| first), request));
        request
    }

    /// Whether a bank's answer to this mass status request is awaited.
    pub fn awaits(&self, bank: Bank, request: u64) -> bool {
        let asked = self.sessions[bank].mass_status;
        asked.is_some_and(|(first, last)| (first..=last).contains(&request))
    }

    /// Notes that the bank's answer is complete: its orders are listed.
    pub fn mass_status_ended(&mut self, bank: Bank) {
        self.sessions[bank].mass_status = None;
        self.change_inquiry(bank, |inquiry| *inquiry = Inquiry::default());
    }

    /// The question to a bank for all its orders.
    pub fn inquiry(&self, bank: Bank) -> &Inquiry {
        &self.sessions[bank].inquiry
    }

    /// Changes the question to a bank for all its orders.
    pub fn change_inquiry<T>(&mut self, bank: Bank, change: impl FnOnce(&mut Inquiry) -> T) -> T {
        let result = change(&mut self.sessions[bank].inquiry);
        let mut sessions = self.sessions.iter();
        self.is_asking = sessions.any(|session| session.inquiry.is_waiting());
        result
    }

    /// Whether all orders wait because a bank's list of its orders is missing.
    pub fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Earliest time at which a bank may have an order again, is asked again, or the desk is called for it.
    pub fn due_ns(&self, setup: &Setup, now_ns: u64) -> u64 {
        let banks = 0..self.sessions.len();
        let due = banks.map(|bank| {
            let inquiry_ns = self.sessions[bank].inquiry.due_ns();
            inquiry_ns.min(self.rate_due_ns(setup, bank, now_ns))
        });
        due.min().unwrap_or(NEVER)
    }
}
