//! Fills of orders: parents, positions, scorecard.

use super::Engine;
use crate::event::{Alarm, Batch, Event, FillLine};
use crate::orders::{Booking, Execution, FillKind, Report, ReportKind};
use crate::positions::WorstCase;
use crate::setup::{Bank, Pair};
use touchline_types::{Id, Side};

impl Engine {
    /// Books a fill of an order; `is_late` if it had ended.
    pub(super) fn book(&mut self, at: usize, booking: &Booking, is_late: bool, out: &mut Batch) {
        let now_ns = self.now();
        let Booking {
            quantity, price, ..
        } = *booking;
        self.orders.change(at, |order| order.book(quantity, price));
        let order = self.orders.get(at);
        let terms = order.terms;
        let improve = improvement(terms.side, terms.price, price);
        let slot = self.setup.slot(terms.bank, terms.pair);
        if !order.is_adopted() {
            self.scorecard
                .note_fill(slot, order, quantity, price, improve, now_ns);
        }
        self.parents.fill(terms.parent, quantity, price, is_late);
        self.positions.book(terms.pair, terms.side, quantity, price);
        self.keep(at, booking.exec_id, quantity, price);
        self.fill_line(at, booking, is_late, out);
        if is_late {
            self.alarm(Alarm::FillAfterEnd, terms.bank, Some(terms.id), out);
        }
        self.wake_at(self.scorecard.due_ns());
    }

    /// Handles a bust or a correction.
    pub(super) fn reverse(&mut self, bank: Bank, report: &Report<'_>, out: &mut Batch) {
        let Some(old) = self.executions.reverse(bank, report.exec_ref_id) else {
            let order = report.cl_ord_id.map(Id::lossy);
            self.alarm(Alarm::UnknownExec, bank, order, out);
            return;
        };
        let terms = self.orders.get(old.order).terms;
        self.positions
            .book(terms.pair, terms.side, -old.quantity, old.price);
        self.parents.reverse(terms.parent, old.quantity, old.price);
        let bust = Booking {
            kind: FillKind::Bust,
            exec_id: old.exec_id,
            quantity: old.quantity,
            price: old.price,
        };
        self.fill_line(old.order, &bust, false, out);
        if report.kind() == ReportKind::Bust {
            self.alarm(Alarm::Bust, bank, Some(terms.id), out);
            return;
        }
        self.correct(&old, report, out);
        self.alarm(Alarm::Correct, bank, Some(terms.id), out);
    }

    /// Books a reversed fill again with the report's values, at most the reversed quantity.
    fn correct(&mut self, old: &Execution, report: &Report<'_>, out: &mut Batch) {
        let terms = self.orders.get(old.order).terms;
        let precision = self.setup.pairs[terms.pair].config.precision;
        let fill = Booking {
            kind: FillKind::Correct,
            exec_id: Id::lossy(report.exec_id.unwrap_or_default()),
            quantity: report.last().unwrap_or(old.quantity).min(old.quantity),
            price: report.price(precision).unwrap_or(old.price),
        };
        self.positions
            .book(terms.pair, terms.side, fill.quantity, fill.price);
        self.parents
            .correct(terms.parent, fill.quantity, fill.price);
        self.keep(old.order, fill.exec_id, fill.quantity, fill.price);
        self.fill_line(old.order, &fill, false, out);
    }

    /// The position of a pair.
    pub(super) fn position_line(&self, pair: Pair, out: &mut Batch) {
        let position = *self.positions.of(pair);
        let worst = WorstCase::new(&position, self.parents.at_risk(pair));
        let mid2 = self.composites.of(pair).mid2();
        let event = Event::Position {
            pair,
            position,
            worst,
            mid2,
        };
        self.push(event, out);
    }

    pub(super) fn alarm(&self, what: Alarm, bank: Bank, order: Option<Id>, out: &mut Batch) {
        self.push(Event::Alarm { what, bank, order }, out);
    }

    fn keep(&mut self, order: usize, exec_id: Id, quantity: i64, price: i64) {
        let execution = Execution {
            order,
            exec_id,
            quantity,
            price,
        };
        let bank = self.orders.get(order).terms.bank;
        self.executions.book(bank, execution);
    }

    /// Writes a fill event, and the position event after it.
    fn fill_line(&self, at: usize, booking: &Booking, is_late: bool, out: &mut Batch) {
        let terms = &self.orders.get(at).terms;
        let line = FillLine {
            order: terms.id,
            parent: self.parents.get(terms.parent).terms.id,
            bank: terms.bank,
            exec_id: booking.exec_id,
            kind: booking.kind,
            pair: terms.pair,
            side: terms.side,
            quantity: booking.quantity,
            price: booking.price,
            improve: improvement(terms.side, terms.price, booking.price),
            hold_ns: self.now() - terms.sent_ns,
            is_late,
        };
        self.push(Event::Fill(line), out);
        self.position_line(terms.pair, out);
    }
}

/// Price improvement over the order, ticks.
fn improvement(side: Side, ordered: i64, price: i64) -> i64 {
    match side {
        Side::Bid => ordered - price,
        Side::Ask => price - ordered,
    }
}
