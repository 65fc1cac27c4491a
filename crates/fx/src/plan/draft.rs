//! The orders of a plan: entries of a bank whose orders name no quote become one order.

use super::{Leg, is_within};
use touchline_fx_events::plan::PlanKind;
use touchline_fx_events::setup::Bank;
use touchline_types::{Id, Side};

/// An order of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draft {
    /// Bank.
    pub bank: Bank,
    /// Index in the bank's book of the first entry that it uses.
    pub entry: u32,
    /// Units.
    pub quantity: i64,
    /// Worst price, ticks.
    pub price: i64,
    /// The quote that it names.
    pub quote_id: Option<Id>,
    /// Whether it is filled completely or not at all.
    pub is_fok: bool,
    /// Weighted penalty of the bank, tenths of a tick.
    pub penalty: i64,
}

/// Adds a leg of a plan, on the quote with this id: to the order of its bank, or as an order of its own.
#[inline]
pub(crate) fn add_leg(
    drafts: &mut Vec<Draft>,
    leg: &Leg,
    quote_id: Id,
    (is_quoted, kind, side): (bool, PlanKind, Side),
) {
    let bank = usize::from(leg.offer.bank);
    let mut others = drafts.iter_mut();
    if let Some(draft) = others.find(|draft| draft.bank == bank && !is_quoted) {
        draft.quantity += leg.quantity;
        if is_within(side, leg.offer.price, Some(draft.price)) {
            draft.price = leg.offer.price;
        }
        return;
    }
    drafts.push(Draft {
        bank,
        entry: leg.offer.entry,
        quantity: leg.quantity,
        price: leg.offer.price,
        quote_id: Some(quote_id).filter(|id| is_quoted && !id.is_empty()),
        is_fok: kind == PlanKind::Full || leg.offer.is_full,
        penalty: leg.offer.penalty,
    });
}
