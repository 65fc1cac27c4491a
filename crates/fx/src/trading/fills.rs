//! Fills of orders: parents, positions, scorecard.

use super::{Step, Trading, number};
use crate::orders::{Booking, LateOriginal, Report, ReportKind};
use touchline_fx_events::event::{Alarm, Event, FillLine, Numbered};
use touchline_fx_events::orders::{FillKind, Terms};
use touchline_fx_events::positions::WorstCase;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::ticks;
use touchline_types::{Id, Price, Side};

impl Trading {
    /// Books a fill of an order; `is_late` if it had ended.
    pub(super) fn book(
        &mut self,
        at: usize,
        booking: &Booking,
        is_late: bool,
        step: &mut Step<'_>,
    ) {
        let now_ns = step.now_ns;
        let Booking {
            quantity, price, ..
        } = *booking;
        self.orders.book(at, booking);
        let order = self.orders.get(at);
        let terms = order.terms;
        let improve = self.improvement(&terms, price);
        let due_ns = self
            .conduct
            .note_fill(&self.setup, order, booking, improve, now_ns);
        self.parents.fill(terms.parent, quantity, price, is_late);
        self.positions
            .book(dated(&terms), terms.side, quantity, price);
        self.fill_line(at, booking, is_late, step);
        if is_late {
            step.alarm(Alarm::FillAfterEnd, Some(terms.bank), Some(terms.id));
        }
        self.wake_at(due_ns);
    }

    /// Names a part of a fill that a status or the desk reported, by its own report. False if it is part of none.
    pub(super) fn name(&mut self, at: usize, late: &LateOriginal, step: &mut Step<'_>) -> bool {
        let Some([of, part]) = self.orders.name(at, late) else {
            return false;
        };
        let (quantity, price) = (part.quantity, part.price);
        let order = self.orders.get(at);
        let (terms, is_late) = (order.terms, order.state().is_end());
        self.positions
            .reprice(dated(&terms), terms.side, quantity, [of.price, price]);
        self.parents.reverse(terms.parent, quantity, of.price);
        self.parents.correct(terms.parent, quantity, price);
        self.fill_line(at, &part, is_late, step);
        true
    }

    /// Handles a bust or a correction of an order, if it is one of ours.
    pub(super) fn reverse(
        &mut self,
        bank: Bank,
        at: Option<usize>,
        report: &Report<'_>,
        step: &mut Step<'_>,
    ) {
        let correction = self.correction(at, report);
        let is_bust = report.kind() == ReportKind::Bust;
        let found = at.and_then(|at| self.orders.execution(at, report.exec_ref_id));
        let Some(old) = found.filter(|_| is_bust || correction.is_some()) else {
            let order = report.cl_ord_id.map(Id::lossy);
            step.alarm(Alarm::UnknownExec, Some(bank), order);
            return;
        };
        let (at, booking) = (old.order, old.booking);
        self.orders.reverse(at, &booking);
        let terms = self.orders.get(at).terms;
        let (quantity, price) = (booking.quantity, booking.price);
        self.positions
            .book(dated(&terms), terms.side, -quantity, price);
        self.parents.reverse(terms.parent, quantity, price);
        let bust = Booking {
            kind: FillKind::Bust,
            part_of: None,
            ..booking
        };
        self.fill_line(at, &bust, false, step);
        let Some(correction) = correction.filter(|_| !is_bust) else {
            step.alarm(Alarm::Bust, Some(bank), Some(terms.id));
            return;
        };
        self.correct(at, &booking, &correction, step);
        step.alarm(Alarm::Correct, Some(bank), Some(terms.id));
        // Without days a position has no value dates.
        let has_days = self.setup.pairs[terms.pair].trade_date > 0;
        // mutant: fx: a correction to another value date lacks its own alarm
        if has_days && report.is_of_other_date(terms.value_date) {
            step.alarm(Alarm::CorrectDate, Some(bank), Some(terms.id));
        }
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
    fn correct(&mut self, at: usize, old: &Booking, correction: &Booking, step: &mut Step<'_>) {
        let terms = self.orders.get(at).terms;
        let fill = Booking {
            quantity: correction.quantity.min(old.quantity),
            settl_date: correction.settl_date.or(old.settl_date),
            currency: correction.currency.or(old.currency),
            ..*correction
        };
        self.orders.correct(at, &fill);
        self.positions
            .book(dated(&terms), terms.side, fill.quantity, fill.price);
        self.parents
            .correct(terms.parent, fill.quantity, fill.price);
        self.fill_line(at, &fill, false, step);
    }

    /// The position of a pair.
    pub(super) fn position_line(&self, pair: Pair, step: &mut Step<'_>) {
        self.positions.check(pair, self.parents.traded(pair));
        let position = *self.positions.of(pair);
        let worst = WorstCase::new(&position, self.parents.at_risk(pair));
        let mid2 = step.pricing.composites().mid2(pair);
        let dates = (self.setup.pairs[pair].trade_date > 0).then(|| {
            let begin = step.out.dates.len();
            step.out.dates.extend_from_slice(self.positions.dates(pair));
            begin..step.out.dates.len()
        });
        let event = Event::Position {
            pair,
            position,
            worst,
            mid2,
            dates,
        };
        step.push(event);
    }

    /// Writes a fill event, and the position event after it.
    fn fill_line(&self, at: usize, booking: &Booking, is_late: bool, step: &mut Step<'_>) {
        let terms = &self.orders.get(at).terms;
        let improve = self.improvement(terms, booking.price);
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
            hold_ns: Some(step.now_ns - terms.sent_ns),
            is_late,
            settl_date: booking.settl_date,
            currency: booking.currency,
            part_of: booking.part_of,
        };
        step.push(Event::Fill(line));
        self.position_line(terms.pair, step);
        if self.is_off_price(terms, booking) {
            step.alarm(Alarm::OffPrice, Some(terms.bank), Some(terms.id));
        }
    }

    /// Whether a bank reported a fill that is better than its order by more than the collar. A valid trade cannot be denied, but the bank
    /// will bust it.
    fn is_off_price(&self, terms: &Terms, booking: &Booking) -> bool {
        let is_reported = match booking.kind {
            FillKind::Fill | FillKind::Status | FillKind::Named | FillKind::Correct => true,
            FillKind::Manual | FillKind::Bust | FillKind::Book => false,
        };
        let config = &self.setup.pairs[terms.pair].config;
        let collar = i128::from(config.collar_ticks) * i128::from(ticks::tick(config.precision));
        // mutant: fx: a fill far better than its order gives no alarm
        is_reported && i128::from(self.better(terms, booking.price)) > collar
    }

    /// Price improvement over the order in whole ticks, rounded down.
    fn improvement(&self, terms: &Terms, price: Price) -> i64 {
        let precision = self.setup.pairs[terms.pair].config.precision;
        self.better(terms, price).div_euclid(ticks::tick(precision))
    }

    /// Price improvement over the order, 1e-9.
    fn better(&self, terms: &Terms, price: Price) -> i64 {
        let precision = self.setup.pairs[terms.pair].config.precision;
        let ordered = ticks::exact(terms.price, precision);
        match terms.side {
            Side::Bid => ordered.0 - price.0,
            Side::Ask => price.0 - ordered.0,
        }
    }
}

/// Pair and value date of an order.
fn dated(terms: &Terms) -> (Pair, u32) {
    (terms.pair, terms.value_date)
}
