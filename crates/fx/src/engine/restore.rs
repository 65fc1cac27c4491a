//! Restoring the state of an earlier run from its journal: what it received is handled again by the rules, what it
//! decided is given.
//!
//! A journal has the inputs of order sessions and of the desk, and the orders that were made; it does not have the
//! quotes. So the router is held, and each order is restored where it was made. Everything else follows from the
//! inputs and their times.

use super::Engine;
use crate::desk_trades::DeskTrade;
use crate::event::Batch;
use crate::orders::Terms;
use crate::parents::{EndReason, ParentTerms};
use crate::setup::Pair;
use std::sync::Arc;
use thiserror::Error;
use touchline_types::Id;

/// An order or a parent of a journal that cannot have been made in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RestoreError {
    /// A record is older than the one before it.
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
        /// In the journal.
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

impl Engine {
    /// Holds the router, or releases it: while held, no order is made. Cancels and questions are not held.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
        self.routing.look_at_all();
    }

    /// Whether the router is held.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Makes no order of a pair any more: its spot date has passed. Its parents wait.
    pub fn stop(&mut self, pair: Pair) {
        self.stopped[pair] = true;
        self.routing.look_at_all();
    }

    /// Whether a pair gets no orders.
    pub fn is_stopped(&self, pair: Pair) -> bool {
        self.stopped[pair]
    }

    /// Makes further identifiers with another prefix: each run has its own.
    pub fn set_prefix(&mut self, prefix: Id) {
        self.lost.note_prefix(prefix);
        Arc::make_mut(&mut self.setup).labels.prefix = prefix;
    }

    /// Accepts a parent that an earlier run accepted.
    ///
    /// # Errors
    /// The parent cannot have been accepted at this time.
    pub fn restore_parent(
        &mut self,
        at_ns: u64,
        number: u32,
        terms: &ParentTerms,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        self.advance(at_ns, out)?;
        if self.parents.has(&terms.id) {
            return Err(RestoreError::ParentTwice(terms.id));
        }
        match self.accept_parent(terms, out) as u32 == number {
            true => Ok(()),
            false => Err(RestoreError::Number { number }),
        }
    }

    /// Adds an order that an earlier run made, in its first state.
    ///
    /// # Errors
    /// The order cannot have been made in this state.
    pub fn restore_order(
        &mut self,
        number: u32,
        terms: &Terms,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        self.advance(terms.sent_ns, out)?;
        if self.orders.of_id(&terms.id).is_some() {
            return Err(RestoreError::OrderTwice(terms.id));
        }
        let is_next = number as usize == self.orders.count();
        if !is_next || terms.parent >= self.parents.count() {
            return Err(RestoreError::Number { number });
        }
        let parent = self.parents.get(terms.parent);
        let range = 1..=parent.open();
        if !range.contains(&terms.quantity) || self.kill.is_killed() {
            return Err(RestoreError::NotOpen { order: terms.id });
        }
        // Cancel requests are named after the orders.
        let number = terms.id.as_str().rsplit('-').next();
        let number: u64 = number.and_then(|text| text.parse().ok()).unwrap_or(0);
        self.parents.note_name(terms.parent, number);
        self.send(terms, out);
        Ok(())
    }

    /// Ends a parent that an earlier run ended, if it still works: without prices one that could not be sent at once does, and without the
    /// timers after the last record one whose deadline passed then.
    pub fn restore_end(&mut self, parent: &Id, reason: EndReason, out: &mut Batch) {
        self.routing.look_at_all();
        let found = self.parents.find(parent);
        if let Some(at) = found.filter(|at| self.parents.get(*at).is_working()) {
            self.end_parent(at, reason, out);
        }
    }

    /// Handles a proposal or a confirmation of a booking that an earlier run accepted, also of a person who may not book now.
    ///
    /// # Errors
    /// It cannot have been taken at this time.
    pub fn restore_booking(
        &mut self,
        at_ns: u64,
        by: &Id,
        trade: &DeskTrade,
        out: &mut Batch,
    ) -> Result<(), RestoreError> {
        self.advance(at_ns, out)?;
        let state = self.desk_trades.judge(by, trade);
        self.book_desk_trade((Some(trade.id), Some(*by)), Some(trade), state, out);
        Ok(())
    }

    fn advance(&mut self, at_ns: u64, out: &mut Batch) -> Result<(), RestoreError> {
        if self.pricing.now_ns().is_some_and(|now_ns| at_ns < now_ns) {
            return Err(RestoreError::Time);
        }
        self.handle_timeout(at_ns, out);
        self.pricing.set_now(at_ns);
        self.routing.look_at_all();
        Ok(())
    }
}
