//! Fills of orders: parents, positions, scorecard.

use super::Engine;
use super::outcome::number;
use crate::event::{Alarm, Batch, Event, FillLine, Numbered};
use crate::orders::{Booking, FillKind, LateOriginal, Report, ReportKind};
use crate::positions::WorstCase;
use crate::setup::{Bank, Pair};
use crate::ticks;
use touchline_types::{Id, Price, Side};

impl Engine {
    /// Books a fill of an order; `is_late` if it had ended.
    pub(super) fn book(&mut self, at: usize, booking: &Booking, is_late: bool, out: &mut Batch) {
        let now_ns = self.now();
        let Booking {
            quantity, price, ..
        } = *booking;
        let from = self.orders.get(at).cum();
        let is_by_desk = booking.kind == FillKind::Manual;
        self.orders
            .change(at, |order| order.book(quantity, price, is_by_desk));
        let order = self.orders.get(at);
        let terms = order.terms;
        let slot = self.setup.slot(terms.bank, terms.pair);
        if !order.is_adopted() {
            let improve = self.improvement(terms.pair, terms.side, terms.price, price);
            self.scorecard
                .note_fill(&self.setup, slot, order, (quantity, price), improve, now_ns);
        }
        self.parents.fill(terms.parent, quantity, price, is_late);
        self.positions.book(terms.pair, terms.side, quantity, price);
        self.executions.book(at, from, *booking);
        self.fill_line(at, booking, is_late, out);
        if is_late {
            self.alarm(Alarm::FillAfterEnd, Some(terms.bank), Some(terms.id), out);
        }
        self.wake_at(self.scorecard.due_ns());
    }

    /// Names a part of a fill that a status or the desk told of, by its own report. False if it is part of none.
    pub(super) fn name(&mut self, at: usize, late: &LateOriginal, out: &mut Batch) -> bool {
        let Booking {
            quantity, price, ..
        } = late.booking;
        let Some(of) = self.executions.name(at, late.cum, quantity) else {
            return false;
        };
        let is_late = self.orders.get(at).state().is_end();
        self.orders
            .change(at, |order| order.reprice(quantity, of.price, price));
        let terms = self.orders.get(at).terms;
        self.positions
            .reprice(terms.pair, terms.side, quantity, of.price, price);
        self.parents.reverse(terms.parent, quantity, of.price);
        self.parents.correct(terms.parent, quantity, price);
        let booking = Booking {
            part_of: Some(of.exec_id),
            ..late.booking
        };
        self.executions
            .book(at, late.cum.saturating_sub(quantity), booking);
        self.fill_line(at, &booking, is_late, out);
        true
    }

    /// Handles a bust or a correction of an order, if it is one of ours.
    pub(super) fn reverse(
        &mut self,
        bank: Bank,
        at: Option<usize>,
        report: &Report<'_>,
        out: &mut Batch,
    ) {
        let correction = self.correction(at, report);
        let is_bust = report.kind() == ReportKind::Bust;
        let found = at.and_then(|at| self.executions.find(at, report.exec_ref_id));
        let Some(old) = found.filter(|_| is_bust || correction.is_some()) else {
            let order = report.cl_ord_id.map(Id::lossy);
            self.alarm(Alarm::UnknownExec, Some(bank), order, out);
            return;
        };
        let (at, booking) = (old.order, old.booking);
        self.executions.reverse(at, &booking.exec_id);
        let terms = self.orders.get(at).terms;
        let (quantity, price) = (booking.quantity, booking.price);
        self.orders.change(at, |order| order.reverse(quantity));
        self.positions
            .book(terms.pair, terms.side, -quantity, price);
        self.parents.reverse(terms.parent, quantity, price);
        let bust = Booking {
            kind: FillKind::Bust,
            part_of: None,
            ..booking
        };
        self.fill_line(at, &bust, false, out);
        let Some(correction) = correction.filter(|_| !is_bust) else {
            self.alarm(Alarm::Bust, Some(bank), Some(terms.id), out);
            return;
        };
        self.correct(at, &booking, &correction, out);
        self.alarm(Alarm::Correct, Some(bank), Some(terms.id), out);
    }

    /// The fill of a correction; none if its price, quantity or ExecID is not usable, or it is of another currency.
    fn correction(&self, at: Option<usize>, report: &Report<'_>) -> Option<Booking> {
        let pair = &self.setup.pairs[self.orders.get(at?).terms.pair];
        let (quantity, price) = report.trade()?;
        let exec_id = Id::lossy(report.exec_id?);
        let fill = Booking::reported(FillKind::Correct, exec_id, quantity, price, report);
        (!report.is_of_other_currency(pair)).then_some(fill)
    }

    /// Books a reversed fill again with the values of its correction, at most the reversed quantity.
    fn correct(&mut self, at: usize, old: &Booking, correction: &Booking, out: &mut Batch) {
        let terms = self.orders.get(at).terms;
        let fill = Booking {
            quantity: correction.quantity.min(old.quantity),
            settl_date: correction.settl_date.or(old.settl_date),
            currency: correction.currency.or(old.currency),
            ..*correction
        };
        self.orders
            .change(at, |order| order.reverse(-fill.quantity));
        self.positions
            .book(terms.pair, terms.side, fill.quantity, fill.price);
        self.parents
            .correct(terms.parent, fill.quantity, fill.price);
        // Only fills that a status or the desk told of are named later, so its part of CumQty is not looked at.
        self.executions.book(at, 0, fill);
        self.fill_line(at, &fill, false, out);
    }

    /// The position of a pair.
    pub(super) fn position_line(&self, pair: Pair, out: &mut Batch) {
        let position = *self.positions.of(pair);
        let worst = WorstCase::new(&position, self.parents.at_risk(pair));
        let mid2 = self.pricing.composites().mid2(pair);
        let event = Event::Position {
            pair,
            position,
            worst,
            mid2,
        };
        self.push(event, out);
    }

    pub(super) fn alarm(
        &self,
        what: Alarm,
        bank: Option<Bank>,
        order: Option<Id>,
        out: &mut Batch,
    ) {
        self.push(Event::Alarm { what, bank, order }, out);
    }

    /// Writes a fill event, and the position event after it.
    fn fill_line(&self, at: usize, booking: &Booking, is_late: bool, out: &mut Batch) {
        let terms = &self.orders.get(at).terms;
        let improve = self.improvement(terms.pair, terms.side, terms.price, booking.price);
        let line = FillLine {
            order: Some(Numbered {
                number: number(at),
                id: terms.id,
            }),
            parent: Some(self.parents.get(terms.parent).terms.id),
            bank: Some(terms.bank),
            exec_id: booking.exec_id,
            kind: booking.kind,
            pair: terms.pair,
            side: terms.side,
            quantity: booking.quantity,
            price: booking.price,
            improve: Some(improve),
            hold_ns: Some(self.now() - terms.sent_ns),
            is_late,
            settl_date: booking.settl_date,
            currency: booking.currency,
            part_of: booking.part_of,
        };
        self.push(Event::Fill(line), out);
        self.position_line(terms.pair, out);
    }

    /// Price improvement over the order in whole ticks, rounded down.
    fn improvement(&self, pair: Pair, side: Side, ordered: i64, price: Price) -> i64 {
        let precision = self.setup.pairs[pair].config.precision;
        let ordered = ticks::exact(ordered, precision);
        let better = match side {
            Side::Bid => ordered.0 - price.0,
            Side::Ask => price.0 - ordered.0,
        };
        better.div_euclid(ticks::tick(precision))
    }
}
