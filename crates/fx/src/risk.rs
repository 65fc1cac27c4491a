//! Limits: acceptance of parents, and the cap of each bank.

use crate::composite::Composites;
use crate::config::WithoutReference;
use crate::orders::Orders;
use crate::parents::Parents;
use crate::positions::Positions;
use crate::setup::{Setup, ns};
use crate::window::LastSecond;
use std::collections::VecDeque;
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::positions::WorstCase;
use touchline_fx_events::risk::Refusal;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::ticks;
use touchline_types::{Id, Side};

/// State for the checks.
#[derive(Debug)]
pub struct Book<'a> {
    /// The configuration.
    pub setup: &'a Setup,
    /// All parents.
    pub parents: &'a Parents,
    /// Positions.
    pub positions: &'a Positions,
    /// The composites as of the last step.
    pub composites: &'a Composites,
}

/// Recently accepted parents.
#[derive(Debug, Clone, Default)]
pub struct Risk {
    accepted: LastSecond,
    /// Parents in the duplicate window, with the time of their acceptance.
    recent: VecDeque<(u64, ParentTerms)>,
}

/// Why a parent is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Reason.
    pub reason: Refusal,
    /// The value and the limit, if a limit is the reason.
    pub bound: Option<String>,
}

impl From<Refusal> for Refused {
    fn from(reason: Refusal) -> Refused {
        Refused {
            reason,
            bound: None,
        }
    }
}

impl Risk {
    /// Checks a parent. `terms` is `None` if they are invalid.
    ///
    /// # Errors
    /// The parent is refused.
    pub fn judge(
        &mut self,
        book: &Book<'_>,
        is_killed: bool,
        id: Option<&Id>,
        terms: Option<&ParentTerms>,
        now_ns: u64,
    ) -> Result<(), Refused> {
        let setup = book.setup;
        if is_killed {
            return Err(Refusal::Kill.into());
        }
        if id.is_some_and(|id| book.parents.has(id)) {
            return Err(Refusal::DuplicateId.into());
        }
        let Some(terms) = terms else {
            return Err(Refusal::BadOrder.into());
        };
        let pair = &setup.pairs[terms.pair].config;
        if self.is_duplicate(setup, terms, now_ns) {
            let bound = format!("risk.duplicate_ms = {}", setup.risk.duplicate_ms);
            return refuse(Refusal::Duplicate, bound);
        }
        if terms.quantity > pair.max_order {
            let (quantity, symbol) = (terms.quantity, &pair.symbol);
            let bound = format!(
                "quantity {quantity}, max_order of {symbol} is {}",
                pair.max_order
            );
            return refuse(Refusal::OrderQty, bound);
        }
        if self.accepted.count(now_ns) >= setup.risk.max_parents_per_s {
            let bound = format!("risk.max_parents_per_s = {}", setup.risk.max_parents_per_s);
            return refuse(Refusal::Rate, bound);
        }
        within_collar(book, terms)?;
        within_exposure(book, terms)
    }

    /// Records an accepted parent.
    pub fn note_accepted(&mut self, setup: &Setup, terms: &ParentTerms, now_ns: u64) {
        self.accepted.add(now_ns);
        if setup.risk.duplicate_ms > 0 {
            self.recent.push_back((now_ns, *terms));
        }
    }

    fn is_duplicate(&mut self, setup: &Setup, terms: &ParentTerms, now_ns: u64) -> bool {
        let duplicate_ns = ns(setup.risk.duplicate_ms);
        while self
            .recent
            .front()
            .is_some_and(|(at_ns, _)| now_ns - at_ns >= duplicate_ns)
        {
            self.recent.pop_front();
        }
        let what = |terms: &ParentTerms| (terms.pair, terms.side, terms.quantity, terms.limit);
        self.recent
            .iter()
            .any(|(_, other)| what(other) == what(terms))
    }
}

/// Checks the limit price of a parent against the reference price.
fn within_collar(book: &Book<'_>, terms: &ParentTerms) -> Result<(), Refused> {
    let Some(limit) = terms.limit else {
        return Ok(());
    };
    let setup = book.setup;
    let pair = &setup.pairs[terms.pair].config;
    let reference2 = book.composites.reference2(setup, terms.pair);
    let reference2 = reference2.ok_or(match setup.risk.without_reference {
        WithoutReference::Composite => Refusal::NoMid,
        WithoutReference::Wait => Refusal::NoReference,
    })?;
    let beyond2 = match terms.side {
        Side::Bid => 2 * limit - reference2,
        Side::Ask => reference2 - 2 * limit,
    };
    if beyond2 > 2 * pair.collar_ticks {
        let bound = format!(
            "limit {} is {} ticks beyond the reference {}, collar_ticks of {} is {}",
            ticks::text(i128::from(limit), u32::from(pair.precision)),
            ticks::text(i128::from(beyond2) * 5, 1),
            ticks::text(i128::from(reference2) * 5, u32::from(pair.precision) + 1),
            pair.symbol,
            pair.collar_ticks
        );
        return refuse(Refusal::Collar, bound);
    }
    Ok(())
}

/// Checks the worst cases with a parent: of its pair on its side, and of all pairs if it makes their sum larger. So a parent that
/// reduces a position beyond its limit is accepted.
fn within_exposure(book: &Book<'_>, terms: &ParentTerms) -> Result<(), Refused> {
    let setup = book.setup;
    let pair = &setup.pairs[terms.pair].config;
    // mutant: fx: the new parent is not in the net position
    let worst = worst_case(book, terms.pair, Some(terms));
    // mutant: fx: a position beyond its limit cannot be reduced
    let net = match terms.side {
        Side::Bid => worst.long,
        Side::Ask => -worst.short,
    };
    // mutant: simulation: a pair has no limit of its net position
    if net > pair.max_net {
        let bound = format!(
            "worst case {net} with it, max_net of {} is {}",
            pair.symbol, pair.max_net
        );
        return refuse(Refusal::Net, bound);
    }
    let gross: i128 = (0..setup.pairs.len())
        .map(|pair| gross_usd(book, pair, terms))
        .sum();
    let is_larger = worst.size() > worst_case(book, terms.pair, None).size();
    if is_larger && gross > i128::from(setup.risk.max_gross_usd) {
        let bound = format!(
            "worst cases of {gross} USD with it, risk.max_gross_usd = {}",
            setup.risk.max_gross_usd
        );
        return refuse(Refusal::Gross, bound);
    }
    Ok(())
}

#[cold]
fn refuse(reason: Refusal, bound: String) -> Result<(), Refused> {
    Err(Refused {
        reason,
        bound: Some(bound),
    })
}

/// Cap of a plan at a bank's pair: its maximum quantity, and its remaining credit.
pub fn cap(setup: &Setup, orders: &Orders, bank: Bank, (pair, side): (Pair, Side)) -> i64 {
    let config = &setup.banks[bank].config;
    let credit = config.credit;
    let used: i128 = (0..setup.pairs.len())
        .map(|other| match other == pair {
            true => -usd(
                setup,
                pair,
                i128::from(orders.used(bank, pair).covered(credit, side)),
            ),
            false => usd(
                setup,
                other,
                i128::from(orders.used(bank, other).of(credit)),
            ),
        })
        .sum();
    let left = (i128::from(config.credit_usd) - used).max(0);
    let usd_e6 = setup.pairs[pair].config.usd_e6;
    // The credit is nearly always enough: a product shows it, without a division.
    let most = i128::from(config.max_qty) * i128::from(usd_e6);
    // mutant: fx: a bank's credit is not checked
    let is_short = left * 1_000_000 < most;
    match is_short {
        true => i64::try_from(scaled(left, 1_000_000, usd_e6)).unwrap_or(i64::MAX),
        false => config.max_qty,
    }
}

/// Base units in whole dollars.
fn usd(setup: &Setup, pair: Pair, units: i128) -> i128 {
    scaled(units, setup.pairs[pair].config.usd_e6, 1_000_000)
}

/// `value * by / of`, rounded towards zero.
fn scaled(value: i128, by: i64, of: i64) -> i128 {
    // Most pairs of a bank have no orders.
    if value == 0 {
        return 0;
    }
    // Nearly every product has 64 bits, and a division of 128 takes several times as long.
    let short = i64::try_from(value).ok();
    match short.and_then(|value| value.checked_mul(by)) {
        Some(product) => i128::from(product / of),
        None => value * i128::from(by) / i128::from(of),
    }
}

/// The worst case of a pair, with a new parent if there is one.
fn worst_case(book: &Book<'_>, pair: Pair, new: Option<&ParentTerms>) -> WorstCase {
    let mut at_risk = book.parents.at_risk(pair);
    if let Some(new) = new.filter(|new| new.pair == pair) {
        at_risk[new.side.index()] += new.quantity;
    }
    WorstCase::new(book.positions.of(pair), at_risk)
}

fn gross_usd(book: &Book<'_>, pair: Pair, new: &ParentTerms) -> i128 {
    let size = worst_case(book, pair, Some(new)).size().max(0);
    usd(book.setup, pair, i128::from(size))
}
