//! Unknown orders: they count as filled, and status requests are sent until the outcome is known.

use super::inquiry::Inquiry;
use super::{Step, Trading};
use crate::config::AfterLoss;
use crate::orders::{Mention, Order, Question};
use crate::quotes::NEVER;
use crate::setup::ns;
use touchline_fx_events::event::{Alarm, Asked, Event, Message, OrderEvent, OrderLine};
use touchline_fx_events::orders::{OrderState, RejectCode};
use touchline_fx_events::setup::Bank;

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
                OrderState::Unknown if self.is_gone(at) => {
                    self.order_dropped(at, OrderEvent::Down, step);
                }
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
        self.order_line(at, what, None, None, step);
        self.conduct.note_unknown(&self.setup, self.orders.get(at));
        self.count_outcome(at, true, step.now_ns);
        self.fail(terms.bank, terms.pair, None, step);
        // mutant: fx: unknown orders do not trigger the kill switch
        if self.orders.unknown() >= self.setup.risk.kill_unknown {
            self.kill_by_rule(b"auto:unknown", step);
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
        let is_dropped = self.orders.get(at).is_dropped() && !self.is_restoring;
        match question {
            // mutant: fx: an order is gone by a rule before all missed messages have come
            Question::CallDesk if is_dropped && now_ns < self.rule_ns(terms.bank) => {
                self.end_later(at, step);
            }
            // mutant: fx: a bank's rule ends no order that it does not answer for
            Question::CallDesk if is_dropped => self.order_dropped(at, OrderEvent::Timeout, step),
            Question::CallDesk => {
                step.alarm(Alarm::Manual, Some(terms.bank), Some(terms.id));
            }
            Question::Ask => self.send_status_request(at, step),
        }
    }

    /// Time at which a last look that began before the loss is over.
    fn answered_ns(&self, bank: Bank) -> u64 {
        let answer_ns = ns(self.setup.banks[bank].config.answer_ms);
        self.sessions.up_ns(bank).saturating_add(answer_ns)
    }

    /// Time from which on a rule of a bank ends orders: everything that was missed has come, too.
    fn rule_ns(&self, bank: Bank) -> u64 {
        match self.sessions.is_settled(bank) {
            true => self.answered_ns(bank),
            false => NEVER,
        }
    }

    /// All questions were asked, and it is too early for the rule that ends an order.
    fn end_later(&mut self, at: usize, step: &mut Step<'_>) {
        let bank = self.orders.get(at).terms.bank;
        let status_ns = ns(self.setup.banks[bank].config.status_ms);
        let again_ns = step.now_ns.saturating_add(status_ns);
        let due_ns = again_ns.max(self.answered_ns(bank));
        self.orders
            .change(at, |order| order.asking.call_later(due_ns));
        self.wake_at(due_ns);
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
            let is_dropped = self.drops[bank];
            self.orders
                .change(at, |order| order.lose_connection(is_dropped));
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
        if !self.sessions.set_up(bank, step.now_ns) {
            return;
        }
        for at in self.live_of(bank) {
            self.ask_cancel(at, step);
        }
        let mut unknown = self.unknown_of(bank);
        for at in &unknown {
            self.orders.change(*at, |order| order.asking.restart());
        }
        if self.setup.banks[bank].config.after_loss == AfterLoss::Canceled {
            // Missed reports may still come; behind them the bank's rule ends these orders.
            unknown.retain(|at| !self.orders.get(*at).is_dropped());
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

    /// Everything that was missed has come: by the rule of a bank that answers no questions the orders that were lost with the
    /// connection are gone, once a last look that began before the loss has had its time. One that the bank has called alive since is
    /// asked for.
    pub(super) fn order_session_settled(&mut self, bank: Bank, step: &mut Step<'_>) {
        self.sessions.set_settled(bank);
        if self.setup.banks[bank].config.after_loss != AfterLoss::Canceled {
            return;
        }
        let answered_ns = self.answered_ns(bank);
        // mutant: fx: an order is gone before its bank's last look is over
        let due_ns = answered_ns.max(step.now_ns);
        self.wake_at(due_ns);
        // Orders that the journal lost are gone as well, and their fills have come: the bank will not say more. A rule that is set later
        // does not answer for a run that is restored.
        if self.drops[bank] {
            self.sessions
                .change_inquiry(bank, |inquiry| inquiry.settle(due_ns));
        }
        // A journal has the ends of orders, and not that of a question.
        if self.is_restoring {
            return;
        }
        for at in self.unknown_of(bank) {
            match self.orders.get(at).is_dropped() {
                true => self
                    .orders
                    .change(at, |order| order.asking.ask_later(due_ns)),
                false => self.ask(at, step),
            }
        }
    }

    /// Whether an order whose timer is due is gone by the rule of its bank.
    fn is_gone(&self, at: usize) -> bool {
        let order = self.orders.get(at);
        let rule = self.setup.banks[order.terms.bank].config.after_loss;
        rule == AfterLoss::Canceled && order.is_dropped() && !self.is_restoring
    }

    /// Reports may be missing: no rule ends an order of now. One that waited for the rule is asked for. The questions for others go on at
    /// their times: a bank whose answers cannot be read gets no more of them.
    pub(super) fn order_session_doubted(&mut self, bank: Bank, step: &mut Step<'_>) {
        self.sessions.change_inquiry(bank, Inquiry::doubt);
        for at in self.live_of(bank) {
            let order = self.orders.get(at);
            let is_unasked = order.asking.due_ns() == NEVER && !order.asking.is_called();
            let is_due = order.is_dropped() || order.state() == OrderState::Unknown && is_unasked;
            // mutant: fx: a rule ends an order that was open when its report was lost
            self.orders.change(at, Order::doubt);
            if is_due {
                self.ask(at, step);
            }
        }
    }

    /// The session ends soon, and the next one has other numbers: a report that is missed will not come again. So each order
    /// is asked for, and the bank gets no further one. A session that comes up so asks for its orders itself.
    pub(super) fn order_session_closing(&mut self, bank: Bank, step: &mut Step<'_>) {
        // Orders that the journal lost are not asked for.
        // mutant: fx: a rule answers behind the end of a session for orders that the journal lost
        self.sessions.change_inquiry(bank, Inquiry::doubt);
        if !self.sessions.set_closing(bank) {
            return;
        }
        for at in self.live_of(bank) {
            // mutant: fx: orders of the night are not asked for before the end
            if self.orders.get(at).state() != OrderState::Disputed {
                self.send_status_request(at, step);
            }
        }
    }

    /// Ends an order that its bank dropped with the connection.
    fn order_dropped(&mut self, at: usize, what: OrderEvent, step: &mut Step<'_>) {
        self.orders
            .change(at, |order| order.end_by_rule(OrderState::Canceled));
        let code = self.code_of_end(at, RejectCode::NeverArrived);
        self.order_line(at, what, code, None, step);
        self.order_ended(at, code, step);
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
        let config = &self.setup.banks[bank].config;
        let (status_ns, tries) = (ns(config.status_ms), config.status_tries.max(1));
        let later_ns = step.now_ns.saturating_add(status_ns);
        let last_ns = (step.now_ns).saturating_add(status_ns.saturating_mul(u64::from(tries)));
        for at in unknown {
            self.orders.change(*at, |order| {
                order.asking.await_mention();
                // Without an answer its bank's rule ends it, so it has the timer of a question; else the desk is called, and the bank has
                // the time of all questions to list its orders.
                let due_ns = if order.is_dropped() {
                    later_ns
                } else {
                    last_ns
                };
                // mutant: fx: a mass status without an answer leaves an order unknown
                order.asking.ask_later(due_ns);
            });
        }
        self.wake_at(later_ns);
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

    /// The bank refused to list its orders: each that it was asked for so is asked for by itself.
    pub(super) fn ask_for_each(&mut self, bank: Bank, step: &mut Step<'_>) {
        for at in self.unknown_of(bank) {
            let mention = self.orders.change(at, |order| order.asking.end_mass());
            // mutant: fx: a refused mass status leaves an order unknown
            if mention != Mention::NotAsked {
                self.ask(at, step);
            }
        }
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
