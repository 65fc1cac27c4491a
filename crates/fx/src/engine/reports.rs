//! Reports of banks about orders: execution reports (8), order cancel rejects (9), business rejects
//! (j).

use super::Engine;
use crate::event::{Alarm, Batch, DontKnow, Event, Message, OrderEvent, OrderLine};
use crate::lines::request_number;
use crate::orders::{Dispute, OrderState, RejectCode, Report, ReportKind, bookings};
use crate::setup::Bank;
use touchline_types::Id;
use touchline_wire::fix;

impl Engine {
    pub(super) fn report(&mut self, bank: Bank, message: &fix::Message<'_>, out: &mut Batch) {
        let report = Report::read(message);
        match message.msg_type() {
            b"8" => self.execution_report(bank, &report, out),
            b"9" => self.cancel_reject(bank, &report, out),
            b"j" => self.business_reject(bank, &report, out),
            _ => {}
        }
    }

    fn execution_report(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        let kind = report.kind();
        // mutant: fx: a repeated status is ignored
        let is_repeated =
            kind != ReportKind::Status && !self.executions.is_new(bank, report.exec_id);
        if is_repeated {
            return;
        }
        if matches!(kind, ReportKind::Bust | ReportKind::Correct) {
            self.reverse(bank, report, out);
            return;
        }
        let by_id = self.orders.find(bank, report.cl_ord_id);
        let known = by_id.or_else(|| self.orders.find(bank, report.orig_cl_ord_id));
        match known.or_else(|| self.adopt(bank, report, out)) {
            None => self.foreign_report(bank, report, out),
            Some(at) => self.own_report(at, report, out),
        }
        self.mass_status_report(bank, report, out);
    }

    /// Handles a report about an order that does not exist or belongs to another bank.
    fn foreign_report(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        self.foreign_line(bank, report, OrderEvent::Report, None, out);
        if report.kind() == ReportKind::Trade {
            let reason = Dispute::NoOrder.reason();
            let order = report.cl_ord_id.map(Id::lossy);
            self.alarm(Alarm::DontKnow(reason), bank, order, out);
            self.foreign_line(
                bank,
                report,
                OrderEvent::Sent,
                Some(dont_know(reason, report)),
                out,
            );
        }
    }

    fn foreign_line(
        &self,
        bank: Bank,
        report: &Report<'_>,
        what: OrderEvent,
        message: Option<Message>,
        out: &mut Batch,
    ) {
        let line = OrderLine {
            id: report.cl_ord_id.map(Id::lossy),
            bank,
            what,
            status: None,
            code: None,
            message,
        };
        self.push(Event::Order(line), out);
    }

    fn own_report(&mut self, at: usize, report: &Report<'_>, out: &mut Batch) {
        let order = self.orders.get(at);
        let pair = &self.setup.pairs[order.terms.pair];
        let disputed = match report.kind() {
            // mutant: fx: a trade that differs from its order is booked
            ReportKind::Trade => report.dispute(order, pair),
            // mutant: fx: a status of another pair books a fill
            _ => report.dispute_of_state(order, pair),
        };
        if let Some(dispute) = disputed {
            self.dispute(at, report, dispute, out);
            return;
        }
        let had_ended = order.state().is_end();
        let bookings = bookings(order, report, pair.config.precision);
        for booking in bookings.into_iter().flatten() {
            self.book(at, &booking, had_ended, out);
        }
        if self.is_final(at, report) {
            let is_rest_dead = report.is_rest_dead();
            self.orders.change(at, |order| {
                order.take_status(report.ord_status, is_rest_dead)
            });
        }
        let has_ended = !had_ended && self.orders.get(at).state().is_end();
        let code = match has_ended {
            true => self.reject_code(at, report),
            false => None,
        };
        self.order_line(at, OrderEvent::Report, code, None, out);
        if has_ended {
            self.order_ended(at, code, out);
        }
    }

    /// Whether a status answer "unknown order" ends the order, which the bank's configuration sets.
    fn is_final(&self, at: usize, report: &Report<'_>) -> bool {
        let bank = self.orders.get(at).terms.bank;
        !report.says_never_arrived() || self.setup.banks[bank].config.status_final.unwrap_or(true)
    }

    /// Reject code of an order that ended without a fill.
    fn reject_code(&self, at: usize, report: &Report<'_>) -> Option<RejectCode> {
        let order = self.orders.get(at);
        let is_miss = match order.state() {
            OrderState::Rejected => false,
            OrderState::Canceled | OrderState::Expired if !order.is_cancel_asked() => true,
            _ => return None,
        };
        let bank = &self.setup.banks[order.terms.bank];
        let never_arrived = report.says_never_arrived();
        let code = RejectCode::of(
            bank,
            report.text,
            report.ord_rej_reason,
            is_miss,
            never_arrived,
        );
        (order.cum() == 0).then_some(code)
    }

    /// Handles a report that contradicts the order: it is not booked, and the desk decides. Q is sent for trades only: it
    /// names an execution.
    fn dispute(&mut self, at: usize, report: &Report<'_>, dispute: Dispute, out: &mut Batch) {
        self.orders.change(at, |order| {
            if order.dispute() {
                order.asking.stop();
            }
        });
        self.order_line(at, OrderEvent::Report, None, None, out);
        let (terms, reason) = (self.orders.get(at).terms, dispute.reason());
        self.alarm(Alarm::DontKnow(reason), terms.bank, Some(terms.id), out);
        if report.kind() == ReportKind::Trade {
            let message = dont_know(reason, report);
            self.order_line(at, OrderEvent::Sent, None, Some(message), out);
        }
    }

    fn mass_status_report(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        let Some((first, last)) = self.order_sessions[bank].mass_status else {
            return;
        };
        let named = report.mass_status_req_id;
        let number = named.and_then(|id| request_number(&self.setup, 'M', id));
        if !number.is_some_and(|number| (first..=last).contains(&number)) {
            return;
        }
        let by_id = self.orders.find(bank, report.cl_ord_id);
        if let Some(at) = by_id.or_else(|| self.orders.find(bank, report.orig_cl_ord_id)) {
            self.orders.change(at, |order| order.asking.mention());
        }
        // mutant: fx: orders absent from a mass status are not requested
        if report.last_rpt_requested == Some(b"Y") {
            self.mass_status_ended(bank, out);
        }
    }

    /// 9: the bank rejected our cancel.
    fn cancel_reject(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        let by_original = self.orders.find(bank, report.orig_cl_ord_id);
        let Some(at) = by_original.or_else(|| self.orders.find(bank, report.cl_ord_id)) else {
            self.foreign_line(bank, report, OrderEvent::Report, None, out);
            return;
        };
        let was_pending = self.orders.change(at, |order| order.refuse_cancel());
        if was_pending && report.cxl_rej_reason == Some(b"1") {
            self.order_unknown(at, OrderEvent::Report, out);
        } else {
            self.order_line(at, OrderEvent::Report, None, None, out);
        }
    }

    /// j: the bank's session rejected the order message.
    fn business_reject(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        if report.ref_msg_type == Some(b"AF") {
            self.mass_status_refused(bank, out);
        }
        let found = self.orders.find(bank, report.ref_id);
        let is_order = report.ref_msg_type == Some(b"D");
        let Some(at) = found.filter(|at| is_order && !self.orders.get(*at).state().is_end()) else {
            return;
        };
        self.orders.change(at, |order| order.reject());
        let code = (self.orders.get(at).cum() == 0).then_some(RejectCode::Other);
        self.order_line(at, OrderEvent::Report, code, None, out);
        self.order_ended(at, code, out);
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
        side: said(report.side),
        symbol: said(report.symbol),
    }))
}
