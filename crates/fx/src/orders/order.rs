//! An order and its states.
//!
//! ```text
//! sent ─► pending_new ─► new ─► partial ─┬─► filled, rejected, canceled, expired
//!   └──────────┴──────────┴────────┴─────┤
//!            pending_cancel, unknown, disputed: intermediate reports do not change them
//! ```

use super::asking::Asking;
use touchline_fx_events::orders::OrderState::{
    Canceled, Disputed, Expired, Filled, New, Partial, PendingCancel, PendingNew, Rejected, Sent,
    Unknown,
};
use touchline_fx_events::orders::{OrderState, Terms};
use touchline_types::Price;

/// An order.
///
/// Invariant: 0 <= cum <= quantity, unless the desk booked more.
#[derive(Debug, Clone)]
pub struct Order {
    /// Terms of the order.
    pub terms: Terms,
    /// Status requests and timer.
    pub asking: Asking,
    state: OrderState,
    /// The state before a cancel was requested.
    before: OrderState,
    cum: i64,
    /// 1e-9 times units.
    cost: i128,
    /// Units that were busted, less those of corrections.
    reversed: i64,
    /// The desk or a kill wants it canceled: cancel requests are repeated until it ends.
    is_cancel_wanted: bool,
    is_cancel_asked: bool,
    /// Until then a cancel request is out; 0: none is.
    cancel_until_ns: u64,
    was_unknown: bool,
    /// Whether the penalty has counted it.
    is_counted: bool,
    /// Whether the order is known only from its bank's reports: the journal lost it.
    is_adopted: bool,
    /// Its bank dropped it with a lost connection, by the bank's rule, which a later report of a live order contradicts.
    is_dropped: bool,
    /// No rule ends it: it was lost with a connection whose bank keeps orders, or its report may be lost for ever.
    is_kept: bool,
    /// Whether it uses no credit any more: it ended on an earlier day.
    has_left_credit: bool,
}

impl Order {
    /// A new order with its answer timeout.
    pub fn new(terms: Terms, answer_due_ns: u64) -> Order {
        assert!(terms.quantity > 0, "an order has a quantity");
        Order {
            terms,
            asking: Asking::answer(answer_due_ns),
            state: Sent,
            before: Sent,
            cum: 0,
            cost: 0,
            reversed: 0,
            is_cancel_wanted: false,
            is_cancel_asked: false,
            cancel_until_ns: 0,
            was_unknown: false,
            is_counted: false,
            is_adopted: false,
            is_dropped: false,
            is_kept: false,
            has_left_credit: false,
        }
    }

    /// An order that the journal lost, as a report of its bank describes it. When it was sent is not known, so neither cool-down,
    /// penalty nor scorecard count it.
    pub fn adopted(terms: Terms, answer_due_ns: u64) -> Order {
        Order {
            was_unknown: true,
            is_counted: true,
            is_adopted: true,
            ..Order::new(terms, answer_due_ns)
        }
    }

    /// Whether the order was adopted.
    pub fn is_adopted(&self) -> bool {
        self.is_adopted
    }

    /// Whether it uses no credit any more.
    pub fn has_left_credit(&self) -> bool {
        self.has_left_credit
    }

    /// It uses no credit any more.
    pub fn leave_credit(&mut self) {
        self.has_left_credit = true;
    }

    /// State of the order.
    pub fn state(&self) -> OrderState {
        self.state
    }

    /// Filled units.
    pub fn cum(&self) -> i64 {
        self.cum
    }

    /// Cost of the filled units, 1e-9 times units.
    pub fn cost(&self) -> i128 {
        self.cost
    }

    /// Filled units that were busted, less those of corrections.
    pub fn reversed(&self) -> i64 {
        self.reversed
    }

    /// Units that may still be filled; below zero between a booking of the desk beyond the order and its end.
    pub fn leaves(&self) -> i64 {
        match self.state.is_end() {
            true => 0,
            false => self.terms.quantity - self.cum,
        }
    }

    /// Whether the order is live and the desk or a kill wants it canceled.
    pub fn is_cancel_wanted(&self) -> bool {
        self.is_cancel_wanted && !self.state.is_end()
    }

    /// Whether its cancel counts as asked for.
    pub fn is_cancel_asked(&self) -> bool {
        self.is_cancel_asked
    }

    /// Whether the order is unknown and the desk was not called for it.
    pub fn is_uncalled(&self) -> bool {
        self.state == Unknown && !self.asking.is_called()
    }

    /// Whether the order has been unknown.
    pub fn was_unknown(&self) -> bool {
        self.was_unknown
    }

    /// Whether the order ended as we asked for. A reject is not such an end: the bank refused the order whether or not a cancel was out.
    pub fn is_end_asked_for(&self) -> bool {
        // mutant: fx: a reject while a cancel is out costs the bank nothing
        self.is_cancel_asked && self.state.is_end() && self.state != Rejected
    }

    /// Whether the penalty counts it now, which happens once: at its end, or when it first becomes unknown. An order that ended without
    /// a fill as we asked for is not counted.
    pub fn count_once(&mut self) -> bool {
        if self.is_counted || (self.is_end_asked_for() && self.cum == 0) {
            return false;
        }
        self.is_counted = true;
        true
    }

    /// Books a fill; only the desk books beyond the order.
    pub fn book(&mut self, quantity: i64, price: Price, is_by_desk: bool) {
        self.cum += quantity;
        self.cost += i128::from(price.0) * i128::from(quantity);
        let range = 0..=self.terms.quantity;
        assert!(
            quantity > 0 && (is_by_desk || range.contains(&self.cum)),
            "a bank fills at most the quantity of an order"
        );
        if self.state.is_end() && self.cum >= self.terms.quantity {
            self.state = Filled;
        }
    }

    /// Changes the price of a part of the booked quantity.
    pub fn reprice(&mut self, quantity: i64, from: Price, to: Price) {
        self.cost += i128::from(quantity) * (i128::from(to.0) - i128::from(from.0));
    }

    /// Counts a reversed fill, or with a negative quantity its correction. CumQty stays: the engine does not trade the
    /// quantity again.
    pub fn reverse(&mut self, quantity: i64) {
        self.reversed += quantity;
        assert!(
            (0..=self.cum).contains(&self.reversed),
            "at most the filled quantity of an order is reversed"
        );
    }

    /// Applies OrdStatus (39). `is_rest_dead`: LeavesQty (151) is 0.
    pub fn take_status(&mut self, ord_status: Option<&[u8]>, is_rest_dead: bool) {
        if self.state.is_end() {
            return;
        }
        let said = match ord_status {
            _ if self.cum >= self.terms.quantity => Filled,
            Some(b"A") => PendingNew,
            Some(b"0") => New,
            // mutant: fx: the rest of a partial fill stays open
            Some(b"1") if is_rest_dead => Canceled,
            Some(b"1") => Partial,
            Some(b"6") => PendingCancel,
            Some(b"2") => Filled,
            Some(b"8") => Rejected,
            Some(b"4") => Canceled,
            Some(b"C") => Expired,
            _ => return,
        };
        match said {
            end if end.is_end() => self.state = end,
            // mutant: fx: an unknown order becomes new
            _ if !self.state.is_open() => {}
            PendingCancel => self.set_pending_cancel(),
            other => self.state = other,
        }
    }

    /// Wants it canceled until it ends.
    pub fn want_cancel(&mut self) {
        self.is_cancel_wanted = true;
    }

    /// Whether a cancel request is out: sent, and neither refused, nor lost with its session, nor old.
    pub fn is_cancel_out(&self, now_ns: u64) -> bool {
        now_ns < self.cancel_until_ns
    }

    /// Records a cancel request, which is out until a time.
    pub fn ask_cancel(&mut self, until_ns: u64) {
        self.is_cancel_asked = true;
        self.cancel_until_ns = until_ns;
        if self.state.is_open() {
            self.set_pending_cancel();
        }
    }

    /// Whether its bank dropped it with the connection, as far as the bank's rules and reports say.
    pub fn is_dropped(&self) -> bool {
        self.is_dropped && !self.is_kept && self.state == Unknown
    }

    /// The connection was lost, with which its bank drops orders by its rules, or keeps them.
    pub fn lose_connection(&mut self, is_dropped: bool) {
        self.cancel_until_ns = 0;
        self.is_dropped = is_dropped;
        self.is_kept |= !is_dropped;
    }

    /// Its bank has stated it as open since the loss.
    pub fn call_alive(&mut self) {
        self.is_dropped = false;
    }

    /// Its report may be lost for ever, also behind a further loss of the connection.
    pub fn doubt(&mut self) {
        // mutant: fx: a rule ends an order whose report may be lost
        self.is_kept = true;
    }

    /// Ends an order by a rule of its bank.
    pub fn end_by_rule(&mut self, state: OrderState) {
        assert!(!self.state.is_end(), "an order ends once");
        self.state = state;
    }

    /// Handles a rejected cancel: none is out any more. True if that restored the state before.
    pub fn refuse_cancel(&mut self) -> bool {
        if self.state.is_end() || !self.is_cancel_asked {
            return false;
        }
        self.is_cancel_asked = false;
        self.cancel_until_ns = 0;
        let is_pending = self.state == PendingCancel;
        if is_pending {
            self.state = self.before;
        }
        is_pending
    }

    /// Marks the outcome as unknown.
    pub fn lose(&mut self) {
        assert!(
            !self.state.is_end(),
            "the outcome of an order that has ended is known"
        );
        self.state = Unknown;
        self.was_unknown = true;
    }

    /// Marks the order as disputed after a refused report. False if it has ended; then it stays.
    pub fn dispute(&mut self) -> bool {
        let may = !self.state.is_end();
        if may {
            // mutant: simulation: a disputed order is taken as ended
            self.state = Disputed;
        }
        may
    }

    /// Ends the order with the desk's information, after its fills were booked.
    pub fn resolve(&mut self) {
        assert!(
            self.state.is_doubtful(),
            "the desk resolves orders in doubt only"
        );
        self.state = match self.cum >= self.terms.quantity {
            true => Filled,
            false => Canceled,
        };
    }

    /// Marks the order as rejected by the session.
    pub fn reject(&mut self) {
        assert!(!self.state.is_end(), "an order ends once");
        self.state = Rejected;
    }

    fn set_pending_cancel(&mut self) {
        self.before = self.state;
        self.state = PendingCancel;
    }
}
