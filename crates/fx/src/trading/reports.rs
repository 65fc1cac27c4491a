//! Reports of banks about orders: execution reports (8), order cancel rejects (9), business rejects
//! (j).

use super::{Step, Trading};
use crate::orders::{Bookings, Dispute, Order, Report, ReportKind, code_of};
use touchline_fx_events::event::{Alarm, DontKnow, Event, Message, OrderEvent, OrderLine};
use touchline_fx_events::lines::request_number;
use touchline_fx_events::orders::{OrderState, RejectCode};
use touchline_fx_events::setup::Bank;
use touchline_types::Id;
use touchline_wire::fix;

impl Trading {
    pub(super) fn report(&mut self, bank: Bank, message: &fix::Message<'_>, step: &mut Step<'_>) {
        let report = Report::read(message);
        match message.msg_type() {
            b"8" => self.execution_report(bank, &report, step),
            b"9" => self.cancel_reject(bank, &report, step),
            b"j" => self.business_reject(bank, &report, step),
            _ => {}
        }
    }

    fn execution_report(&mut self, bank: Bank, report: &Report<'_>, step: &mut Step<'_>) {
        let kind = report.kind();
        let is_reversal = matches!(kind, ReportKind::Bust | ReportKind::Correct);
        let by_id = self.orders.find(bank, report.cl_ord_id);
        let known = by_id.or_else(|| self.orders.find(bank, report.orig_cl_ord_id));
        let known = match (report.cl_ord_id, report.orig_cl_ord_id) {
            (None, None) => self.orders.find_by_bank_id(bank, report.order_id),
            _ => known,
        };
        if let Some(at) = known {
            self.orders.note_bank_id(at, report.order_id);
        }
        let found = match known {
            None if !is_reversal => self.adopt(bank, report, step),
            known => known,
        };
        let is_execution = is_reversal || kind == ReportKind::Trade;
        let ids = [report.cl_ord_id, report.exec_id];
        if is_execution && !self.orders.is_new_execution(bank, found, ids) {
            return;
        }
        match found {
            _ if is_reversal => {
                self.reverse(bank, found, report, step);
                return;
            }
            None => self.foreign_report(bank, report, step),
            Some(at) => {
                self.own_report(at, report, step);
                let is_adopted = known.is_none();
                // mutant: fx: an order that is alive is not canceled again
                if report.says_alive() || is_adopted {
                    self.ask_cancel(at, step);
                }
            }
        }
        self.mass_status_report(bank, found, report, step);
    }

    /// Handles a report about an order that does not exist or belongs to another bank.
    fn foreign_report(&mut self, bank: Bank, report: &Report<'_>, step: &mut Step<'_>) {
        self.foreign_line(bank, report, OrderEvent::Report, None, step);
        if report.kind() == ReportKind::Trade {
            let reason = Dispute::NoOrder.reason();
            let order = report.cl_ord_id.map(Id::lossy);
            step.alarm(Alarm::DontKnow(reason), Some(bank), order);
            self.foreign_line(
                bank,
                report,
                OrderEvent::Sent,
                Some(dont_know(reason, report)),
                step,
            );
        }
    }

    fn foreign_line(
        &self,
        bank: Bank,
        report: &Report<'_>,
        what: OrderEvent,
        message: Option<Message>,
        step: &mut Step<'_>,
    ) {
        let line = OrderLine {
            id: report.cl_ord_id.map(Id::lossy),
            number: None,
            bank,
            what,
            status: None,
            code: None,
            message,
        };
        step.push(Event::Order(line));
    }

    fn own_report(&mut self, at: usize, report: &Report<'_>, step: &mut Step<'_>) {
        let order = self.orders.get(at);
        let pair = &self.setup.pairs[order.terms.pair];
        let state = order.state();
        let disputed = match report.kind() {
            // mutant: fx: a trade that differs from its order is booked
            ReportKind::Trade => report.dispute(order, pair),
            _ if state.is_end() => report.dispute_of_growth(order),
            _ => report.dispute_of_state(order, pair),
        };
        if let Some(dispute) = disputed {
            self.dispute(at, report, dispute, step);
            return;
        }
        // mutant: fx: a report books a disputed order
        if state == OrderState::Disputed {
            self.order_line(at, OrderEvent::Report, None, None, step);
            return;
        }
        let bookings = Bookings::of(order, report, pair.config.precision);
        let is_contradiction = self.book_all(at, report, &bookings, step);
        if is_contradiction {
            self.contradiction(at, step);
            return;
        }
        // An answer: the bank's rule for orders without one does not end the order. A repeated report is older than the loss of the connection.
        if !report.is_old_state() {
            self.orders.change(at, Order::call_alive);
        }
        if self.is_final(at, report) {
            let is_rest_dead = report.is_rest_dead();
            self.orders.change(at, |order| {
                order.take_status(report.ord_status, is_rest_dead)
            });
        }
        let has_ended = !state.is_end() && self.orders.get(at).state().is_end();
        let code = match has_ended {
            true => self.reject_code(at, report),
            false => None,
        };
        self.order_line(at, OrderEvent::Report, code, None, step);
        if has_ended {
            self.order_ended(at, code, step);
        }
    }

    /// Books a report. True if the report contradicts itself or the booked quantities.
    fn book_all(
        &mut self,
        at: usize,
        report: &Report<'_>,
        bookings: &Bookings,
        step: &mut Step<'_>,
    ) -> bool {
        let is_late = self.orders.get(at).state().is_end();
        let mut is_booked = false;
        for booking in bookings.fills.iter().flatten() {
            self.book(at, booking, is_late, step);
            is_booked = true;
        }
        let is_named = bookings.late.is_none_or(|late| self.name(at, &late, step));
        is_booked |= bookings.late.is_some() && is_named;
        let ours = self.setup.labels.account.as_str().as_bytes();
        if is_booked && report.account.is_some_and(|account| account != ours) {
            let terms = self.orders.get(at).terms;
            step.alarm(Alarm::Account, Some(terms.bank), Some(terms.id));
        }
        bookings.is_contradiction || !is_named
    }

    /// Handles a report that contradicts itself or the booked quantities: no quantity becomes free, the desk decides,
    /// and the bank is asked once for the state of the order. An ended order stays ended.
    fn contradiction(&mut self, at: usize, step: &mut Step<'_>) {
        let is_open = self.set_disputed(at);
        self.order_line(at, OrderEvent::Report, None, None, step);
        let terms = self.orders.get(at).terms;
        step.alarm(Alarm::Contradiction, Some(terms.bank), Some(terms.id));
        if is_open {
            self.send_status_request(at, step);
        }
    }

    /// Marks an order as disputed. False if it has ended.
    fn set_disputed(&mut self, at: usize) -> bool {
        self.orders.change(at, |order| {
            let is_open = order.dispute();
            if is_open {
                order.asking.stop();
            }
            is_open
        })
    }

    /// Whether a status answer "unknown order" ends the order, which the bank's configuration sets.
    fn is_final(&self, at: usize, report: &Report<'_>) -> bool {
        let bank = self.orders.get(at).terms.bank;
        let rule = self.setup.banks[bank].config.status_final.unwrap_or(true);
        // A journal has the ends.
        !report.says_never_arrived() || (rule && !self.is_restoring)
    }

    /// Reject code of an order that has ended.
    fn reject_code(&self, at: usize, report: &Report<'_>) -> Option<RejectCode> {
        let order = self.orders.get(at);
        let is_miss = match order.state() {
            OrderState::Rejected => false,
            OrderState::Canceled | OrderState::Expired => true,
            _ => return None,
        };
        let bank = &self.setup.banks[order.terms.bank];
        let never_arrived = report.says_never_arrived();
        let code = code_of(
            bank,
            report.text,
            report.ord_rej_reason,
            is_miss,
            never_arrived,
        );
        self.code_of_end(at, code)
    }

    /// Handles a report that is not as ordered: it is not booked, and the desk decides. Q is sent for trades only: it names an
    /// execution.
    fn dispute(&mut self, at: usize, report: &Report<'_>, dispute: Dispute, step: &mut Step<'_>) {
        self.set_disputed(at);
        self.order_line(at, OrderEvent::Report, None, None, step);
        let (terms, reason) = (self.orders.get(at).terms, dispute.reason());
        let what = Alarm::DontKnow(reason);
        step.alarm(what, Some(terms.bank), Some(terms.id));
        if report.kind() == ReportKind::Trade {
            let message = dont_know(reason, report);
            self.order_line(at, OrderEvent::Sent, None, Some(message), step);
        }
    }

    fn mass_status_report(
        &mut self,
        bank: Bank,
        found: Option<usize>,
        report: &Report<'_>,
        step: &mut Step<'_>,
    ) {
        let named = report.mass_status_req_id;
        let number = named.and_then(|id| request_number(&self.setup.labels, 'M', id));
        if !number.is_some_and(|number| self.sessions.awaits(bank, number)) {
            return;
        }
        if let Some(at) = found {
            self.orders.change(at, |order| order.asking.mention());
        }
        if report.last_rpt_requested == Some(b"Y") {
            self.mass_status_ended(bank, step);
        }
    }

    /// 9: the bank rejected our cancel.
    fn cancel_reject(&mut self, bank: Bank, report: &Report<'_>, step: &mut Step<'_>) {
        let by_original = self.orders.find(bank, report.orig_cl_ord_id);
        let Some(at) = by_original.or_else(|| self.orders.find(bank, report.cl_ord_id)) else {
            self.foreign_line(bank, report, OrderEvent::Report, None, step);
            return;
        };
        let was_pending = self.orders.change(at, |order| order.refuse_cancel());
        if was_pending && report.cxl_rej_reason == Some(b"1") {
            self.order_unknown(at, OrderEvent::Report, step);
        } else {
            self.order_line(at, OrderEvent::Report, None, None, step);
        }
    }

    /// j: the bank's session rejected the order message. An order with fills cannot have been rejected: the report
    /// contradicts the fills.
    fn business_reject(&mut self, bank: Bank, report: &Report<'_>, step: &mut Step<'_>) {
        if report.ref_msg_type == Some(b"AF") {
            self.mass_status_refused(bank, step);
        }
        let found = self.orders.find(bank, report.ref_id);
        let is_order = report.ref_msg_type == Some(b"D");
        let Some(at) = found.filter(|at| is_order && !self.orders.get(*at).state().is_end()) else {
            return;
        };
        if self.orders.get(at).state() == OrderState::Disputed {
            self.order_line(at, OrderEvent::Report, None, None, step);
            return;
        }
        let order = self.orders.get(at);
        // mutant: fx: a business reject frees the rest of an order with fills
        if order.cum() > order.reversed() {
            self.contradiction(at, step);
            return;
        }
        self.orders.change(at, |order| order.reject());
        let code = self.code_of_end(at, RejectCode::Other);
        self.order_line(at, OrderEvent::Report, code, None, step);
        self.order_ended(at, code, step);
    }
}

/// Q, with the fields of the report.
fn dont_know(reason: char, report: &Report<'_>) -> Message {
    let said = |raw: Option<&[u8]>| raw.map(Id::lossy);
    Message::DontKnow(Box::new(DontKnow {
        reason,
        exec_id: said(report.exec_id),
        last_px: said(report.last_px),
        last_qty: said(report.last_qty),
        order_id: said(report.order_id),
        order_qty: said(report.order_qty),
        side: said(report.side),
        symbol: said(report.symbol),
    }))
}
