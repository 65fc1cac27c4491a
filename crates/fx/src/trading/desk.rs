//! Commands of the desk.

use super::{Step, Trading, number};
use crate::orders::{Booking, booked_exec_id, resolved_exec_id};
use crate::plan::taken_side;
use crate::risk::{Book, Refused};
use crate::setup::ns;
use touchline_fx_events::desk::{BookState, DeskTrade};
use touchline_fx_events::desk::{Desk, ParentRequest};
use touchline_fx_events::event::{Alarm, Benchmark, BenchmarkOf, Event, FillLine, OrderEvent};
use touchline_fx_events::orders::{FillKind, RejectCode};
use touchline_fx_events::parents::{EndReason, Lifetime, ParentTerms};
use touchline_fx_events::ticks;
use touchline_types::{Id, Price};

impl Trading {
    /// Handles a command of the desk.
    pub(crate) fn desk(&mut self, command: &Desk, step: &mut Step<'_>) {
        self.look_at_all();
        match command {
            Desk::Parent(request) => {
                // A refusal is in the events.
                let _ = self.accept(request, step);
            }
            Desk::Cancel { id } => self.cancel(id.as_ref(), step),
            Desk::Kill { by } => self.kill_by(*by, step),
            Desk::Lift { by } => self.lift(*by, step),
            Desk::Enable { bank, pair } => {
                if let (Some(bank), Some(pair)) = (*bank, *pair) {
                    self.conduct.enable(self.setup.slot(bank, pair));
                    self.desk_has_asked(bank, step.now_ns);
                    step.push(Event::Enabled { bank, pair });
                }
            }
            Desk::Resolve { id, cum, price } => {
                self.resolve(id.as_ref(), *cum, price.as_ref(), step)
            }
            Desk::Book { id, by, trade } => {
                let state = self.book_state(by.as_ref(), trade.as_ref());
                self.book_desk_trade((*id, *by), trade.as_ref(), state, step);
            }
            Desk::BankDay { bank, trade } => self.begin_bank_day(*bank, *trade, step),
            Desk::Day(_) => unreachable!("prices have the day, too"),
            Desk::Restart => self.restart(step),
            Desk::Reboot { epoch } => self.reboot(*epoch, step),
            Desk::End => {}
        }
    }

    /// Judges a requested parent, and accepts it. Returns its number in [`Trading::parents`].
    pub(crate) fn accept(
        &mut self,
        request: &ParentRequest,
        step: &mut Step<'_>,
    ) -> Result<usize, Refused> {
        self.look_at_all();
        let book = Book {
            setup: &self.setup,
            parents: &self.parents,
            positions: &self.positions,
            composites: step.pricing.composites(),
        };
        let (id, terms) = (request.id.as_ref(), request.terms.as_ref());
        let judged = self.gate.judge(&book, id, terms, step.now_ns);
        match (judged, &request.terms) {
            (Ok(()), Some(terms)) => {
                let at = self.accept_parent(terms, step);
                mark_arrival(at, terms, step);
                Ok(at)
            }
            (Err(refused), _) => {
                let (parent, reason) = (request.id, refused.reason);
                step.push(Event::Refused { parent, reason });
                Err(refused)
            }
            (Ok(()), None) => unreachable!("invalid terms are refused"),
        }
    }

    pub(super) fn accept_parent(&mut self, terms: &ParentTerms, step: &mut Step<'_>) -> usize {
        let now_ns = step.now_ns;
        self.gate.note_accepted(&self.setup, terms, now_ns);
        let deadline_ns = match terms.lifetime {
            Lifetime::Deadline => Some(now_ns.saturating_add(ns(terms.deadline_ms))),
            Lifetime::Immediate | Lifetime::AllOrNothing => None,
        };
        let at = self.parents.add(*terms, deadline_ns);
        if let Some(deadline_ns) = deadline_ns {
            self.wake_at(deadline_ns);
        }
        let (number, terms) = (number(at), *terms);
        step.push(Event::Accepted { number, terms });
        at
    }

    fn cancel(&mut self, id: Option<&Id>, step: &mut Step<'_>) {
        let Some(id) = id else {
            return;
        };
        let parents: Vec<usize> = self.parents.to_cancel(id).collect();
        for &parent in &parents {
            if self.parents.get(parent).is_working() {
                self.end_parent(parent, EndReason::Cancel, step);
            }
        }
        let live = self.orders.live().to_vec();
        for at in live {
            if parents.contains(&self.orders.get(at).terms.parent) {
                self.want_cancel(at, step);
            }
        }
    }

    fn lift(&mut self, by: Option<Id>, step: &mut Step<'_>) {
        if let Some(by) = &by {
            self.gate.lift(&self.setup, by);
        }
        let is_killed = self.gate.is_killed();
        step.push(Event::Lift { by, is_killed });
    }

    /// The order that the desk's information resolves, with the quantity and the price to book; none if it resolves none: the order is
    /// neither unknown nor disputed, fills would be taken back, or a price is needed and not usable.
    pub fn resolution(
        &self,
        id: Option<&Id>,
        cum: Option<i64>,
        price: Option<&Id>,
    ) -> Option<(usize, Option<(i64, Price)>)> {
        let at = self.orders.of_id(id?)?;
        let order = self.orders.get(at);
        let add = cum?.checked_sub(order.cum())?;
        let is_possible = order.state().is_doubtful() && (0..=ticks::QUANTITY_MAX).contains(&add);
        let price = price.and_then(|text| ticks::traded(text.as_str().as_bytes()));
        match add {
            _ if !is_possible => None,
            0 => Some((at, None)),
            _ => Some((at, Some((add, price?)))),
        }
    }

    /// Resolves an order with the desk's information, also beyond its quantity: positions can always be made true.
    fn resolve(
        &mut self,
        id: Option<&Id>,
        cum: Option<i64>,
        price: Option<&Id>,
        step: &mut Step<'_>,
    ) {
        let Some((at, add)) = self.resolution(id, cum, price) else {
            let found = id.and_then(|id| self.orders.of_id(id));
            let bank = found.map(|at| self.orders.get(at).terms.bank);
            step.alarm(Alarm::NotResolved, bank, id.copied());
            return;
        };
        let terms = self.orders.get(at).terms;
        if let Some((quantity, price)) = add {
            let exec_id = resolved_exec_id(&terms.id);
            let booking = Booking::new(FillKind::Manual, exec_id, quantity, price);
            self.book(at, &booking, false, step);
        }
        if self.orders.get(at).cum() > terms.quantity {
            step.alarm(Alarm::Overfill, Some(terms.bank), Some(terms.id));
        }
        self.orders.change(at, |order| order.resolve());
        let code = self.code_of_end(at, RejectCode::NeverArrived);
        self.order_line(at, OrderEvent::Report, code, None, step);
        self.order_ended(at, code, step);
    }

    /// Verdict on a proposal or a confirmation of a booking.
    pub fn book_state(&self, by: Option<&Id>, trade: Option<&DeskTrade>) -> BookState {
        let mut bookers = self.setup.risk.bookers.iter();
        let by = by.filter(|by| bookers.any(|booker| booker == by.as_str()));
        match (by, trade) {
            (None, _) => BookState::Person,
            (_, None) => BookState::BadBook,
            (Some(by), Some(trade)) => self.desk_trades().judge(by, trade),
        }
    }

    /// A user proposes or confirms a trade that no order explains. No limit refuses it, nor a kill: it has happened.
    pub(super) fn book_desk_trade(
        &mut self,
        (id, by): (Option<Id>, Option<Id>),
        trade: Option<&DeskTrade>,
        state: BookState,
        step: &mut Step<'_>,
    ) {
        step.push(Event::Book { id, by, state });
        let Some((by, trade)) = by.zip(trade) else {
            return;
        };
        if !self.positions.book_desk_trade(state, by, trade) {
            return;
        }
        let line = FillLine {
            order: None,
            parent: None,
            bank: trade.bank,
            exec_id: booked_exec_id(&trade.id),
            kind: FillKind::Book,
            pair: trade.pair,
            side: trade.side,
            quantity: trade.quantity,
            price: trade.price,
            improve: None,
            hold_ns: None,
            is_late: false,
            settl_date: Some(trade.value_date),
            currency: None,
            part_of: None,
        };
        step.push(Event::Fill(line));
        self.position_line(trade.pair, step);
    }

    /// Simulates a crash and a restart from the journal.
    pub(super) fn restart(&mut self, step: &mut Step<'_>) {
        step.pricing.restart();
        self.end_all(EndReason::Restart, step);
        for bank in 0..self.setup.banks.len() {
            self.order_session_down(bank, step);
        }
    }
}

/// Records the market at the arrival of a parent.
fn mark_arrival(at: usize, terms: &ParentTerms, step: &mut Step<'_>) {
    let takes = taken_side(terms.side);
    let average = step.pricing.average((terms.pair, takes), terms.quantity);
    step.push(Event::Benchmark(Benchmark {
        of: BenchmarkOf::Parent(number(at)),
        pair: terms.pair,
        mid2: step.pricing.composites().mid2(terms.pair),
        average,
    }));
}
