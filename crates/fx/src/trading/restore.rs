//! Restores the state of an earlier run from its journal: inputs are handled again by the rules, decisions are restored
//! as recorded.
//!
//! A journal has the inputs of order sessions and of the desk, and the orders that were made; it does not have the
//! quotes. So the router is held, and each order is restored where it was made. Everything else follows from the
//! inputs and their times.

use super::{Step, Trading};
use thiserror::Error;
use touchline_fx_events::desk::DeskTrade;
use touchline_fx_events::event::OrderLine;
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::{EndReason, ParentTerms};
use touchline_types::Id;

/// An order or a parent of a journal that cannot have been made in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// A record is older than its predecessor.
    #[error("the time of a record is before that of an earlier one")]
    Time,
    /// A parent was accepted twice.
    #[error("parent {0} was accepted before")]
    ParentTwice(Id),
    /// A ClOrdID was used twice.
    #[error("order {0} was made before")]
    OrderTwice(Id),
    /// A parent or an order has another number than in the journal.
    #[error("its number {number} is not that of the next one")]
    Number {
        /// Number in the journal.
        number: u32,
    },
    /// A trade that the desk booked is of a pair or a bank that is not configured.
    #[error(
        "booking {0} is of a pair or a bank that is not configured; add it to the configuration"
    )]
    Booking(Id),
    /// The parent had no such open quantity, or had ended.
    #[error(
        "order {order} is not within what was open of its parent: the journal was written with other settings of a bank"
    )]
    NotOpen {
        /// ClOrdID.
        order: Id,
    },
}

impl Trading {
    /// Accepts a parent that an earlier run accepted.
    ///
    /// # Errors
    /// The parent cannot have been accepted at this time.
    pub(crate) fn restore_parent(
        &mut self,
        number: u32,
        terms: &ParentTerms,
        step: &mut Step<'_>,
    ) -> Result<(), RestoreError> {
        if self.parents.has(&terms.id) {
            return Err(RestoreError::ParentTwice(terms.id));
        }
        match self.accept_parent(terms, step) as u32 == number {
            true => Ok(()),
            false => Err(RestoreError::Number { number }),
        }
    }

    /// Adds an order that an earlier run made, in its first state.
    ///
    /// # Errors
    /// The order cannot have been made in this state.
    pub(crate) fn restore_order(
        &mut self,
        number: u32,
        terms: &Terms,
        step: &mut Step<'_>,
    ) -> Result<(), RestoreError> {
        if self.orders.of_id(&terms.id).is_some() {
            return Err(RestoreError::OrderTwice(terms.id));
        }
        let is_next = number as usize == self.orders.count();
        if !is_next || terms.parent >= self.parents.count() {
            return Err(RestoreError::Number { number });
        }
        let parent = self.parents.get(terms.parent);
        let range = 1..=parent.open();
        if !range.contains(&terms.quantity) || self.gate.is_killed() {
            return Err(RestoreError::NotOpen { order: terms.id });
        }
        // Cancel requests are named after the orders.
        let number = terms.id.as_str().rsplit('-').next();
        let number: u64 = number.and_then(|text| text.parse().ok()).unwrap_or(0);
        self.parents.note_name(terms.parent, number);
        self.send(terms, step);
        Ok(())
    }

    /// Ends a parent that an earlier run ended, if it still works here: for lack of prices, a parent that could not be
    /// sent at once; for lack of timers after the last record, a parent whose deadline passed then.
    pub(crate) fn restore_end(&mut self, parent: &Id, reason: EndReason, step: &mut Step<'_>) {
        self.look_at_all();
        let found = self.parents.find(parent);
        if let Some(at) = found.filter(|at| self.parents.get(*at).is_working()) {
            self.end_parent(at, reason, step);
        }
    }

    /// Ends an order that an earlier run ended, if it is open here: by a rule of its bank, which is not one of the configuration.
    pub(crate) fn restore_order_end(&mut self, end: &OrderLine, step: &mut Step<'_>) {
        let found = end.id.and_then(|id| self.orders.of_id(&id));
        let found = found.filter(|at| !self.orders.get(*at).state().is_end());
        if let (Some(at), Some(state)) = (found, end.unfilled_end()) {
            self.orders.change(at, |order| order.end_by_rule(state));
            let code = end.code.and_then(|code| self.code_of_end(at, code));
            self.order_ended(at, code, step);
        }
    }

    /// Restores a request to lift the kill switch with its result, by any person.
    pub(crate) fn restore_lift(&mut self, by: Option<Id>, is_killed: bool) {
        self.gate.restore_lift(&self.setup, by, is_killed);
    }

    /// Handles a proposal or a confirmation of a booking that an earlier run accepted, also if the person may not book
    /// now.
    pub(crate) fn restore_booking(&mut self, by: &Id, trade: &DeskTrade, step: &mut Step<'_>) {
        let state = self.desk_trades().judge(by, trade);
        self.book_desk_trade((Some(trade.id), Some(*by)), Some(trade), state, step);
    }
}
