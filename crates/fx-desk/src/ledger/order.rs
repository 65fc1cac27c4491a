//! An order of the ledger, and its executions.

use std::sync::Arc;
use touchline_fx_events::event::FillLine;
use touchline_fx_events::orders::{FillKind, OrderState, Terms};
use touchline_fx_events::{Labels, ticks};
use touchline_types::{Id, Price, Side};

/// An order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRow {
    /// ClOrdID.
    pub id: Id,
    /// The parent's name; empty if the ledger does not have it any more.
    pub parent: Id,
    /// Bank.
    pub bank: Arc<str>,
    /// State.
    pub state: OrderState,
    /// Units filled, as the engine counts them.
    pub cum: i64,
    /// Units that may still be filled.
    pub leaves: i64,
    /// Number of reports of its end.
    pub ends: u32,
    /// Terms.
    pub terms: OrderTerms,
    /// Executed quantities.
    pub executed: Executed,
}

/// Terms of an order with names and exact prices, so that they hold in every run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerms {
    /// Account.
    pub account: Id,
    /// Pair.
    pub pair: Arc<str>,
    /// Base currency of the pair.
    pub base: Id,
    /// [`Side::Bid`] buys.
    pub side: Side,
    /// Units.
    pub quantity: i64,
    /// Worst price.
    pub price: Price,
    /// Whether the order names a quote.
    pub is_quoted: bool,
    /// Fill or kill; otherwise immediate or cancel.
    pub is_fok: bool,
    /// Value date, `YYYYMMDD`.
    pub value_date: u32,
}

/// Fills of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Executed {
    /// Units filled, busts counted as filled: they are not traded again.
    pub filled: i64,
    /// Units filled without busts.
    pub net: i64,
    /// Cost of those, units times 1e-9.
    pub cost: i128,
    /// Fills known from a status or the desk: late originals are parts of them.
    derived: Vec<Derived>,
}

/// The remaining units of a fill known from a status or the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// ExecID.
    pub exec_id: Id,
    /// Units that no late original has named.
    pub quantity: i64,
    /// Price.
    pub price: Price,
    /// Late originals so far.
    pub named: u64,
}

impl OrderRow {
    /// A new order.
    pub(super) fn new(labels: &Labels, terms: &Terms, parent: Id) -> OrderRow {
        let pair = &labels.pairs[terms.pair];
        OrderRow {
            id: terms.id,
            parent,
            bank: labels.banks[terms.bank].as_str().into(),
            state: OrderState::Sent,
            cum: 0,
            leaves: terms.quantity,
            ends: 0,
            terms: OrderTerms {
                account: labels.account,
                pair: pair.symbol.as_str().into(),
                base: pair.base,
                side: terms.side,
                quantity: terms.quantity,
                price: ticks::exact(terms.price, pair.precision),
                is_quoted: terms.quote_id.is_some(),
                is_fok: terms.is_fok,
                value_date: terms.value_date,
            },
            executed: Executed::default(),
        }
    }
}

impl Executed {
    /// Books a fill, a bust or a correction.
    pub(super) fn add(&mut self, fill: &FillLine) {
        let (quantity, price) = (fill.quantity, fill.price);
        match fill.kind {
            FillKind::Fill => self.trade(quantity, price),
            FillKind::Status | FillKind::Manual => {
                self.trade(quantity, price);
                self.derived.push(Derived {
                    exec_id: fill.exec_id,
                    quantity,
                    price,
                    named: 0,
                });
            }
            FillKind::Correct => self.book(quantity, price),
            FillKind::Bust => {
                self.book(-quantity, price);
                if let Some(of) = self.part(fill.exec_id) {
                    of.quantity = 0;
                }
            }
            FillKind::Named => {
                let of = fill.part_of.and_then(|part_of| self.part(part_of));
                if let Some(of) = of.filter(|of| of.quantity >= quantity) {
                    of.quantity -= quantity;
                    of.named += 1;
                    let before = of.price;
                    self.book(-quantity, before);
                    self.book(quantity, price);
                }
            }
            FillKind::Book => {}
        }
    }

    /// A fill known from a status or the desk.
    pub fn derived(&self, exec_id: Id) -> Option<&Derived> {
        self.derived.iter().rev().find(|of| of.exec_id == exec_id)
    }

    fn part(&mut self, exec_id: Id) -> Option<&mut Derived> {
        let mut parts = self.derived.iter_mut().rev();
        parts.find(|of| of.exec_id == exec_id)
    }

    fn trade(&mut self, quantity: i64, price: Price) {
        self.filled += quantity;
        self.book(quantity, price);
    }

    /// Books units at a price, or takes them back.
    pub fn book(&mut self, quantity: i64, price: Price) {
        self.net += quantity;
        self.cost += i128::from(quantity) * i128::from(price.0);
    }
}
