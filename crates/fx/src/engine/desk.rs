//! Commands of the desk.

use super::Engine;
use crate::event::{Batch, Event, OrderEvent};
use crate::input::{Desk, ParentRequest};
use crate::orders::{Booking, FillKind, OrderState, RejectCode, resolved_exec_id};
use crate::parents::{EndReason, Lifetime, ParentTerms};
use crate::risk::Book;
use crate::setup::ns;
use crate::ticks;
use touchline_types::Id;

impl Engine {
    pub(super) fn desk(&mut self, command: &Desk, out: &mut Batch) {
        match command {
            Desk::Parent(request) => self.parent(request, out),
            Desk::Cancel { id } => self.cancel(id.as_ref(), out),
            Desk::Kill { by } => self.kill(*by, out),
            Desk::Lift { by } => self.lift(*by, out),
            Desk::Enable { bank, pair } => {
                if let (Some(bank), Some(pair)) = (*bank, *pair) {
                    self.cooldowns.enable(self.setup.slot(bank, pair));
                    self.desk_has_asked(bank);
                    self.push(Event::Enabled { bank, pair }, out);
                }
            }
            Desk::Resolve { id, cum, price } => {
                self.resolve(id.as_ref(), *cum, price.as_ref(), out)
            }
            Desk::Restart => self.restart(out),
            Desk::Reboot { epoch } => self.reboot(*epoch, out),
            Desk::End => {}
        }
    }

    fn parent(&mut self, request: &ParentRequest, out: &mut Batch) {
        let now_ns = self.now();
        let book = Book {
            setup: &self.setup,
            kill: &self.kill,
            parents: &self.parents,
            positions: &self.positions,
            composites: &self.composites,
        };
        let judged = self
            .risk
            .judge(&book, request.id.as_ref(), request.terms.as_ref(), now_ns);
        match (judged, &request.terms) {
            (Ok(()), Some(terms)) => self.accept_parent(terms, out),
            (Err(reason), _) => {
                let parent = request.id;
                self.push(Event::Refused { parent, reason }, out);
            }
            (Ok(()), None) => unreachable!("what is no order is refused"),
        }
    }

    pub(super) fn accept_parent(&mut self, terms: &ParentTerms, out: &mut Batch) {
        let now_ns = self.now();
        self.risk.note_accepted(&self.setup, terms, now_ns);
        let deadline_ns = match terms.lifetime {
            Lifetime::Deadline => Some(now_ns.saturating_add(ns(terms.deadline_ms))),
            Lifetime::Immediate | Lifetime::AllOrNothing => None,
        };
        self.parents.add(*terms, deadline_ns);
        if let Some(deadline_ns) = deadline_ns {
            self.wake_at(deadline_ns);
        }
        let parent = terms.id;
        self.push(Event::Accepted { parent }, out);
    }

    fn cancel(&mut self, id: Option<&Id>, out: &mut Batch) {
        let Some(id) = id else {
            return;
        };
        let parents: Vec<usize> = self.parents.to_cancel(id).collect();
        for &parent in &parents {
            if self.parents.get(parent).is_working() {
                self.end_parent(parent, EndReason::Cancel, out);
            }
        }
        let live = self.orders.live().to_vec();
        for at in live {
            if parents.contains(&self.orders.get(at).terms.parent) {
                self.cancel_order(at, out);
            }
        }
    }

    fn lift(&mut self, by: Option<Id>, out: &mut Batch) {
        if let Some(by) = &by {
            self.kill.lift(by, &self.setup.risk.kill_lifters);
        }
        let is_killed = self.kill.is_killed();
        self.push(Event::Lift { by, is_killed }, out);
    }

    /// Resolves an order with the desk's information.
    fn resolve(&mut self, id: Option<&Id>, cum: Option<i64>, price: Option<&Id>, out: &mut Batch) {
        let found = id.and_then(|id| self.orders.of_id(id));
        let Some((at, cum)) = found.zip(cum) else {
            return;
        };
        let order = self.orders.get(at);
        let terms = order.terms;
        let add = cum - order.cum();
        let precision = self.setup.pairs[terms.pair].config.precision;
        let price = price.and_then(|text| ticks::price(text.as_str().as_bytes(), precision));
        // Impossible values are ignored: fills are not taken back, and nothing is booked beyond the order or without a
        // price.
        let may_be = order.state().is_doubtful()
            && add >= 0
            && cum <= terms.quantity
            && (add == 0 || price.is_some());
        if !may_be {
            return;
        }
        if let Some(price) = price.filter(|_| add > 0) {
            let booking = Booking {
                kind: FillKind::Manual,
                exec_id: resolved_exec_id(&terms.id),
                quantity: add,
                price,
            };
            self.book(at, &booking, false, out);
        }
        self.orders.change(at, |order| order.resolve());
        let is_empty = self.orders.get(at).cum() == 0;
        let code = is_empty.then_some(RejectCode::NeverArrived);
        debug_assert!(self.orders.get(at).state() != OrderState::Unknown);
        self.order_line(at, OrderEvent::Report, code, None, out);
        self.order_ended(at, code, out);
    }

    /// Simulates a crash and a restart from the journal.
    pub(super) fn restart(&mut self, out: &mut Batch) {
        for bank in 0..self.setup.banks.len() {
            self.set_pricing_up(bank, false);
        }
        self.end_all(EndReason::Restart, out);
        for bank in 0..self.setup.banks.len() {
            self.order_session_down(bank, out);
        }
    }
}
