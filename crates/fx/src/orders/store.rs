//! Orders of a run: by ClOrdID, open ones by age, their fills, and the quantity that banks may still fill.

use super::booking::{Booking, LateOriginal};
use super::credit::Used;
use super::executions::{Execution, Executions};
use super::order::Order;
use crate::config::CreditBy;
use crate::setup::Setup;
use crate::touched;
use std::collections::HashMap;
use touchline_fx_events::orders::{FillKind, OrderState, Terms};
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::short_text::ShortText;
use touchline_types::Id;

/// Words in the place of an OrderID (37) that name no order, in any case.
const NO_ORDER_IDS: [&[u8]; 7] = [
    b"NONE",
    b"UNKNOWN",
    b"N/A",
    b"NA",
    b"NULL",
    b"UNDEFINED",
    b"NEW",
];
/// Time after which a bank may give an OrderID again.
const DAY_NS: u64 = 86_400_000_000_000;

/// Orders of a run.
///
/// Invariant: the counts by bank and by parent are those of the open orders; of each order as many units are filled as its executions
/// have, less those that were reversed.
#[derive(Debug, Clone)]
pub struct Orders {
    orders: Vec<Order>,
    by_id: HashMap<Id, usize>,
    /// OrderID (37) that its bank gave each order, once a report had one.
    bank_ids: Vec<Option<Id>>,
    /// Fills of the orders.
    executions: Executions,
    /// Open orders, oldest first.
    live: Vec<usize>,
    /// Number of open orders that are neither unknown nor disputed, by parent.
    certain: Vec<u32>,
    /// Number of unknown and disputed ones, by slot.
    doubtful: Vec<usize>,
    /// Number of unknown ones for which the desk was not called, by bank.
    uncalled: Vec<usize>,
    /// Number of unknown ones.
    unknown: usize,
    /// Quantity that uses credit, by slot.
    used: Vec<Used>,
    pairs: usize,
}

impl Orders {
    /// Makes an empty store.
    pub fn new(setup: &Setup) -> Orders {
        Orders {
            orders: Vec::new(),
            by_id: HashMap::new(),
            bank_ids: Vec::new(),
            executions: Executions::default(),
            live: Vec::new(),
            certain: Vec::new(),
            doubtful: vec![0; setup.slots()],
            uncalled: vec![0; setup.banks.len()],
            unknown: 0,
            used: vec![Used::default(); setup.slots()],
            pairs: setup.pairs.len(),
        }
    }

    /// Reserves memory for this many further orders.
    pub fn reserve(&mut self, orders: usize) {
        touched::vector(&mut self.orders, orders, &Order::new(Terms::SAMPLE, 0));
        touched::map(&mut self.by_id, orders, number_id, &0);
        touched::vector(&mut self.bank_ids, orders, &None);
        self.executions.reserve(orders);
        self.live.reserve(orders);
        touched::vector(&mut self.certain, orders, &0);
    }

    /// Reads and writes the memory that the next order takes, if it has this ClOrdID, so that it is near when the order is made.
    pub fn warm(&mut self, next: &Id) {
        std::hint::black_box(self.by_id.contains_key(next));
        if let Some(place) = self.orders.spare_capacity_mut().first_mut() {
            place.write(Order::new(Terms::SAMPLE, 0));
        }
    }

    /// Adds an order and returns its number.
    pub fn add(&mut self, order: Order) -> usize {
        let at = self.orders.len();
        let (side, quantity) = (order.terms.side, order.terms.quantity);
        self.used[order.terms.bank * self.pairs + order.terms.pair].add(side, quantity, quantity);
        let before = self.by_id.insert(order.terms.id, at);
        assert!(before.is_none(), "each order has a ClOrdID of its own");
        assert!(order.state().is_open(), "an order is new");
        let parent = order.terms.parent;
        if self.certain.len() <= parent {
            self.certain.resize(parent + 1, 0);
        }
        self.certain[parent] += 1;
        self.executions.add_order();
        self.live.push(at);
        self.orders.push(order);
        self.bank_ids.push(None);
        at
    }

    /// Number of orders, which is that of the next one.
    pub fn count(&self) -> usize {
        self.orders.len()
    }

    /// An order by its number.
    pub fn get(&self, at: usize) -> &Order {
        &self.orders[at]
    }

    /// An order of a bank by its ClOrdID.
    pub fn find(&self, bank: Bank, id: Option<&[u8]>) -> Option<usize> {
        let at = *self.by_id.get(&id.and_then(Id::new)?)?;
        (self.orders[at].terms.bank == bank).then_some(at)
    }

    /// The order of a bank by the OrderID (37) that the bank gave it; none if it gave it to several. Only that of an earlier trading
    /// day, which has ended, does not count: FIX has them unique within a day. Not for the path.
    pub fn find_by_bank_id(&self, bank: Bank, id: Option<&[u8]>) -> Option<usize> {
        let id = bank_id(id)?;
        let is_it =
            |at: &usize| self.bank_ids[*at] == Some(id) && self.orders[*at].terms.bank == bank;
        let mut named = (0..self.orders.len()).rev().filter(is_it);
        let newest = named.next()?;
        let sent_ns = self.orders[newest].terms.sent_ns;
        // mutant: fx: an OrderID of two orders names the newest
        let is_ambiguous = named.any(|at| {
            let other = &self.orders[at];
            !other.state().is_end() || sent_ns < other.terms.sent_ns.saturating_add(DAY_NS)
        });
        (!is_ambiguous).then_some(newest)
    }

    /// Keeps the OrderID of a report about an order.
    pub fn note_bank_id(&mut self, at: usize, id: Option<&[u8]>) {
        let place = &mut self.bank_ids[at];
        if place.is_none() {
            *place = bank_id(id);
        }
    }

    /// An order by its ClOrdID.
    pub fn of_id(&self, id: &Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Changes an order and updates the counts.
    pub fn change<T>(&mut self, at: usize, change: impl FnOnce(&mut Order) -> T) -> T {
        let order = &mut self.orders[at];
        let (was, held, was_open) = (order.state(), order.cum() + order.leaves(), order.leaves());
        let was_uncalled = order.is_uncalled();
        let result = change(order);
        let (is, holds) = (order.state(), order.cum() + order.leaves());
        let (bank, slot) = (
            order.terms.bank,
            order.terms.bank * self.pairs + order.terms.pair,
        );
        // A late fill of an earlier day uses that day's credit.
        if !order.has_left_credit() {
            self.used[slot].add(order.terms.side, holds - held, order.leaves() - was_open);
        }
        let certain = &mut self.certain[order.terms.parent];
        match (is_certain(was), is_certain(is)) {
            (false, true) => *certain += 1,
            (true, false) => *certain -= 1,
            _ => {}
        }
        if was.is_doubtful() != is.is_doubtful() {
            match is.is_doubtful() {
                true => self.doubtful[slot] += 1,
                false => self.doubtful[slot] -= 1,
            }
        }
        match (was_uncalled, order.is_uncalled()) {
            (false, true) => self.uncalled[bank] += 1,
            (true, false) => self.uncalled[bank] -= 1,
            _ => {}
        }
        match (was == OrderState::Unknown, is == OrderState::Unknown) {
            (false, true) => self.unknown += 1,
            (true, false) => self.unknown -= 1,
            _ => {}
        }
        if is.is_end() && !was.is_end() {
            order.asking.stop();
            self.live.retain(|other| *other != at);
        }
        result
    }

    /// Executions.
    pub fn executions(&self) -> &Executions {
        &self.executions
    }

    /// Whether a trade or a reversal was not reported before: of an order, or of a ClOrdID that is not ours. Banks use ExecIDs again for
    /// other orders and on other days.
    pub fn is_new_execution(
        &mut self,
        bank: Bank,
        at: Option<usize>,
        [cl_ord_id, exec_id]: [Option<&[u8]>; 2],
    ) -> bool {
        match at {
            Some(at) => self.executions.is_new(at, exec_id),
            None => self.executions.is_new_foreign(bank, cl_ord_id, exec_id),
        }
    }

    /// Books a fill; only the desk books beyond an order.
    pub fn book(&mut self, at: usize, booking: &Booking) {
        let from = self.orders[at].cum();
        let is_by_desk = booking.kind == FillKind::Manual;
        self.change(at, |order| {
            order.book(booking.quantity, booking.price, is_by_desk);
        });
        self.executions.book(at, from, *booking);
        self.check_units(at);
    }

    /// Names a part of a fill that a status or the desk reported, by its own report. Returns the fill and its named part; none if the
    /// report is part of no fill.
    pub fn name(&mut self, at: usize, late: &LateOriginal) -> Option<[Booking; 2]> {
        let Booking {
            quantity, price, ..
        } = late.booking;
        let of = self.executions.name(at, late.cum, quantity)?;
        self.change(at, |order| order.reprice(quantity, of.price, price));
        let part = Booking {
            part_of: Some(of.exec_id),
            ..late.booking
        };
        let from = late.cum.saturating_sub(quantity);
        self.executions.book(at, from, part);
        self.check_units(at);
        Some([of, part])
    }

    /// The fill of an ExecID of an order, if it was not reversed.
    pub fn execution(&self, at: usize, exec_id: Option<&[u8]>) -> Option<Execution> {
        self.executions.find(at, exec_id)
    }

    /// Reverses the fill that [`Orders::execution`] found.
    pub fn reverse(&mut self, at: usize, booking: &Booking) {
        self.executions.reverse(at, &booking.exec_id);
        self.change(at, |order| order.reverse(booking.quantity));
        self.check_units(at);
    }

    /// Books a reversed fill again, corrected.
    pub fn correct(&mut self, at: usize, fill: &Booking) {
        self.change(at, |order| order.reverse(-fill.quantity));
        // Only fills that a status or the desk reported are named later, so its part of CumQty is not looked at.
        self.executions.book(at, 0, *fill);
        self.check_units(at);
    }

    fn check_units(&self, at: usize) {
        let order = &self.orders[at];
        assert!(
            self.executions.units(at) == order.cum() - order.reversed(),
            "the fills of an order are its filled quantity"
        );
    }

    /// Whether a parent has an open order that is neither unknown nor disputed.
    pub fn is_working(&self, parent: usize) -> bool {
        self.certain.get(parent).is_some_and(|certain| *certain > 0)
    }

    /// Open orders, oldest first.
    pub fn live(&self) -> &[usize] {
        &self.live
    }

    /// Whether a bank has an unknown or disputed order of a pair, or an unknown one of any pair for which the desk was not called.
    pub fn is_in_doubt(&self, bank: Bank, pair: Pair) -> bool {
        self.doubtful[bank * self.pairs + pair] > 0 || self.uncalled[bank] > 0
    }

    /// Number of unknown orders.
    pub fn unknown(&self) -> usize {
        self.unknown
    }

    /// Quantity of a pair that uses credit of a bank.
    pub fn used(&self, bank: Bank, pair: Pair) -> &Used {
        &self.used[bank * self.pairs + pair]
    }

    /// Frees the credit of the orders of a bank that have ended: of all, or of those whose value date is before the trade date.
    pub fn begin_bank_day(&mut self, bank: Bank, by: CreditBy, trade: u32) {
        let pairs = self.pairs;
        for order in &mut self.orders {
            let Terms {
                bank: of,
                pair,
                side,
                value_date,
                ..
            } = order.terms;
            let is_over = by == CreditBy::Day || value_date < trade;
            let is_it = of == bank && is_over && order.state().is_end();
            if is_it && !order.has_left_credit() {
                self.used[of * pairs + pair].add(side, -order.cum(), 0);
                order.leave_credit();
            }
        }
    }

    /// Earliest timer of an order.
    pub fn due_ns(&self) -> u64 {
        let due = self.live.iter().map(|at| self.orders[*at].asking.due_ns());
        due.min().unwrap_or(u64::MAX)
    }

    /// All orders of the run.
    pub fn iter(&self) -> impl Iterator<Item = &Order> {
        self.orders.iter()
    }
}

/// Whether an order is open and its state is known.
fn is_certain(state: OrderState) -> bool {
    // mutant: fx: an unknown order keeps its parent working
    !state.is_end() && !state.is_doubtful()
}

/// An OrderID that names an order. Reports must have the field, so banks fill it where they have no id: FIX has `NONE`, others write a
/// zero, a dash, or another word.
fn bank_id(id: Option<&[u8]>) -> Option<Id> {
    let id = id?;
    let is_word = NO_ORDER_IDS
        .iter()
        .any(|word| id.eq_ignore_ascii_case(word));
    let is_blank = id
        .iter()
        .all(|byte| *byte == b'0' || !byte.is_ascii_alphanumeric());
    Id::new(id).filter(|_| !is_word && !is_blank)
}

/// An identifier for each number.
pub(super) fn number_id(number: u64) -> Id {
    ShortText::unsigned(number).id()
}
