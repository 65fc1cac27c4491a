//! Unknown orders: they count as filled, and status requests are sent until the outcome is known.

use super::{Step, Trading};
use crate::orders::{Mention, Question};
use crate::setup::ns;
use touchline_fx_events::event::{Alarm, Asked, Event, Message, OrderEvent, OrderLine};
use touchline_fx_events::orders::OrderState;
use touchline_fx_events::setup::Bank;
use touchline_types::Id;

impl Trading {
    /// Runs answer timeouts and due status requests.
    pub(super) fn order_timers(&mut self, step: &mut Step<'_>) {
        let now_ns = step.now_ns;
        if self.orders.due_ns() > now_ns {
            return;
        }
        let live = self.orders.live().to_vec();
        for at in live {
            let order = self.orders.get(at);
            // An earlier order may have triggered the kill switch and changed this one; its timer
            // stays due.
            if order.asking.due_ns() > now_ns {
                continue;
            }
            match order.state() {
                OrderState::Unknown => self.ask(at, step),
                _ => self.order_unknown(at, OrderEvent::Timeout, step),
            }
        }
    }

    /// Marks an order as unknown.
    pub(super) fn order_unknown(&mut self, at: usize, what: OrderEvent, step: &mut Step<'_>) {
        self.orders.change(at, |order| {
            order.lose();
            order.asking.restart();
        });
        let terms = self.orders.get(at).terms;
        let slot = self.setup.slot(terms.bank, terms.pair);
        self.order_line(at, what, None, None, step);
        self.conduct.note_unknown(slot);
        self.count_outcome(at, true, step.now_ns);
        self.fail(terms.bank, terms.pair, None, step);
        // mutant: fx: unknown orders do not trigger the kill switch
        if self.orders.unknown() >= self.setup.risk.kill_unknown {
            self.kill_by(Id::new(b"auto:unknown"), step);
        }
        // mutant: simulation: an order without an outcome is taken as rejected
        self.ask(at, step);
    }

    /// Sends a status request for an unknown order, if its session is up.
    pub(super) fn ask(&mut self, at: usize, step: &mut Step<'_>) {
        let terms = self.orders.get(at).terms;
        if !self.sessions.is_up(terms.bank) {
            self.orders.change(at, |order| order.asking.stop());
            return;
        }
        let config = &self.setup.banks[terms.bank].config;
        let (now_ns, status_ns, tries_max) =
            (step.now_ns, ns(config.status_ms), config.status_tries);
        let question = self
            .orders
            .change(at, |order| order.asking.next(now_ns, status_ns, tries_max));
        self.wake_at(self.orders.get(at).asking.due_ns());
        match question {
            Question::CallDesk => {
                step.alarm(Alarm::Manual, Some(terms.bank), Some(terms.id));
            }
            Question::Ask => self.send_status_request(at, step),
        }
    }

    /// Sends a status request for an order.
    pub(super) fn send_status_request(&mut self, at: usize, step: &mut Step<'_>) {
        let terms = self.orders.get(at).terms;
        let request = self.sessions.next_status();
        let order = Asked::from(&terms);
        let message = Message::Status { request, order };
        self.order_line(at, OrderEvent::Sent, None, Some(message), step);
    }

    /// Handles a lost order session: the outcomes of its open orders are unknown.
    pub(super) fn order_session_down(&mut self, bank: Bank, step: &mut Step<'_>) {
        if !self.sessions.set_down(bank) {
            return;
        }
        for at in self.live_of(bank) {
            self.orders.change(at, |order| order.lose_cancel());
            match self.orders.get(at).state() {
                OrderState::Disputed => {}
                OrderState::Unknown => self.orders.change(at, |order| order.asking.lose()),
                // A kill in this loop ends no order.
                _ => self.order_unknown(at, OrderEvent::Down, step),
            }
        }
    }

    /// Handles an order session that is up again: status requests for unknown orders.
    pub(super) fn order_session_up(&mut self, bank: Bank, step: &mut Step<'_>) {
        if !self.sessions.set_up(bank) {
            return;
        }
        for at in self.live_of(bank) {
            self.ask_cancel(at, step);
        }
        let unknown = self.unknown_of(bank);
        for at in &unknown {
            self.orders.change(*at, |order| order.asking.restart());
        }
        let is_asked_for_all = self.setup.banks[bank].asks_for_all();
        if self.sessions.inquiry(bank).is_open() {
            let mentioned = if is_asked_for_all { &unknown[..] } else { &[] };
            self.inquire(bank, mentioned, step);
        } else if is_asked_for_all && !unknown.is_empty() {
            self.ask_for_all(bank, &unknown, step);
        }
        if is_asked_for_all {
            return;
        }
        for at in unknown {
            self.ask(at, step);
        }
    }

    /// Handles the last report of a mass status request: orders missing from it get a request each, and those that are still
    /// unknown get theirs later.
    pub(super) fn mass_status_ended(&mut self, bank: Bank, step: &mut Step<'_>) {
        self.sessions.mass_status_ended(bank);
        let status_ns = ns(self.setup.banks[bank].config.status_ms);
        let later_ns = step.now_ns.saturating_add(status_ns);
        for at in self.unknown_of(bank) {
            match self.orders.change(at, |order| order.asking.end_mass()) {
                Mention::Awaited => self.ask(at, step),
                Mention::Mentioned => {
                    self.orders
                        .change(at, |order| order.asking.ask_later(later_ns));
                    self.wake_at(later_ns);
                }
                Mention::NotAsked => {}
            }
        }
    }

    pub(super) fn ask_for_all(&mut self, bank: Bank, unknown: &[usize], step: &mut Step<'_>) {
        let request = self.sessions.next_mass_status(bank);
        for at in unknown {
            self.orders
                .change(*at, |order| order.asking.await_mention());
        }
        let line = OrderLine {
            id: None,
            number: None,
            bank,
            what: OrderEvent::Sent,
            status: None,
            code: None,
            message: Some(Message::MassStatus { request }),
        };
        step.push(Event::Order(line));
    }

    fn unknown_of(&self, bank: Bank) -> Vec<usize> {
        let mut unknown = self.live_of(bank);
        unknown.retain(|at| self.orders.get(*at).state() == OrderState::Unknown);
        unknown
    }

    /// Open orders of a bank, oldest first.
    fn live_of(&self, bank: Bank) -> Vec<usize> {
        let live = self.orders.live().iter().copied();
        live.filter(|at| self.orders.get(*at).terms.bank == bank)
            .collect()
    }
}
