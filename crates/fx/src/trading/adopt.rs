//! Orders that the journal lost with its host: every bank is asked for all its orders, and an unknown order of an
//! earlier epoch is taken over from the bank's report.
//!
//! A ClOrdID contains the run that made it: prefix, `e`, epoch, `-`, parent, `-`, number; with calendars `d` and the trade date follow the
//! epoch.

use super::{Step, Trading, number};
use crate::orders::{Order, Report};
use crate::setup::ns;
use touchline_fx_events::event::{Adopted, Alarm, Event};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::EndReason;
use touchline_fx_events::setup::Bank;
use touchline_fx_events::ticks;
use touchline_types::{Id, Side};

/// Orders that the journal may lack.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    /// Prefixes of all runs, without their epochs.
    prefixes: Vec<Id>,
    /// Orders of earlier epochs may be lacking; 0: none.
    pub before: u64,
}

impl Lost {
    /// Makes the state in which the journal lacks no orders.
    pub fn new(prefix: Id) -> Lost {
        let mut lost = Lost {
            prefixes: Vec::new(),
            before: 0,
        };
        lost.note_prefix(prefix);
        lost
    }

    /// A run has this prefix.
    pub fn note_prefix(&mut self, prefix: Id) {
        let name = match prefix.as_str().rsplit_once('e') {
            Some((name, epoch)) if epoch.parse::<u64>().is_ok() => Id::lossy(name.as_bytes()),
            _ => prefix,
        };
        if !self.prefixes.contains(&name) {
            self.prefixes.push(name);
        }
    }

    /// The parent's name in the name of an order that may have been sent and is not in the journal.
    fn parent_of(&self, id: &Id) -> Option<Id> {
        let (epoch, _, order) = self.run_of(id)?;
        let (parent, number) = order.rsplit_once('-')?;
        let is_order = !parent.is_empty() && number.parse::<u64>().is_ok();
        // mutant: fx: an unknown order of this run is adopted
        (is_order && epoch < self.before).then(|| Id::lossy(parent.as_bytes()))
    }

    /// Epoch and trade date, YYMMDD, in the name of an order of any run, and what follows them. A prefix may have a dash.
    pub fn run_of<'a>(&self, id: &'a Id) -> Option<(u64, Option<u32>, &'a str)> {
        self.prefixes.iter().find_map(|prefix| {
            let rest = id.as_str().strip_prefix(prefix.as_str())?;
            let (run, order) = rest.strip_prefix('e')?.split_once('-')?;
            let (epoch, date) = match run.split_once('d') {
                Some((epoch, date)) => (epoch, date.parse().ok()),
                None => (run, None),
            };
            Some((epoch.parse().ok()?, date, order))
        })
    }
}

impl Trading {
    /// Takes over the order of a report, if the journal may have lost it. Its fills are booked by the report itself, as those of
    /// any order.
    pub(super) fn adopt(
        &mut self,
        bank: Bank,
        report: &Report<'_>,
        step: &mut Step<'_>,
    ) -> Option<usize> {
        // A report of a cancel has the order's name in 41.
        let names = [report.orig_cl_ord_id, report.cl_ord_id];
        let mut ids = names.into_iter().flatten().filter_map(Id::new);
        let (id, parent) = ids.find_map(|id| {
            let parent = self.lost.parent_of(&id)?;
            self.orders.of_id(&id).is_none().then_some((id, parent))
        })?;
        if report.says_never_arrived() {
            return None;
        }
        let Some(mut terms) = self.described((bank, id), report, step.now_ns) else {
            step.alarm(Alarm::NotAdopted, Some(bank), Some(id));
            return None;
        };
        self.end_accepted_again(&parent, step);
        let Terms {
            pair,
            side,
            quantity,
            price,
            ..
        } = terms;
        terms.parent = self.parents.adopt(parent, (pair, side), quantity, price);
        let answer_ns = ns(self.setup.banks[bank].config.answer_ms);
        let due_ns = step.now_ns.saturating_add(answer_ns);
        self.wake_at(due_ns);
        step.alarm(Alarm::Adopted, Some(bank), Some(id));
        let at = self.orders.add(Order::adopted(terms, due_ns));
        let adopted = Adopted {
            number: number(at),
            terms,
            parent: number(terms.parent),
            parent_terms: self.parents.get(terms.parent).terms,
            of: parent,
        };
        step.push(Event::Adopted(Box::new(adopted)));
        if self.gate.is_killed() {
            self.orders.change(at, |order| order.want_cancel());
        }
        Some(at)
    }

    /// The parent of an adopted order was accepted, and lost, or accepted again since: it ends, and its name is not accepted once more.
    fn end_accepted_again(&mut self, parent: &Id, step: &mut Step<'_>) {
        let found = self.parents.find(parent);
        // mutant: fx: a parent whose orders were lost is traded again
        if let Some(at) = found.filter(|at| self.parents.get(*at).is_working()) {
            self.end_parent(at, EndReason::Restart, step);
        }
    }

    /// The order that a report describes; its parent is not known.
    fn described(&self, (bank, id): (Bank, Id), report: &Report<'_>, now_ns: u64) -> Option<Terms> {
        let pair = self.setup.pair_of(bank, report.symbol?)?;
        let precision = self.setup.pairs[pair].config.precision;
        let side = match report.side? {
            b"1" => Side::Bid,
            b"2" => Side::Ask,
            _ => return None,
        };
        let filled = report.cum().or(report.last()).unwrap_or(0);
        let sum = filled.checked_add(report.leaves().unwrap_or(0))?;
        let quantity = report.order_qty.and_then(ticks::size).unwrap_or(sum);
        // Without a limit, the price of the trade or the average: as a limit that allows it, in whole ticks.
        let limit = report.limit.and_then(|text| ticks::price(text, precision));
        let traded = || {
            report
                .price()
                .or(report.avg_px.and_then(ticks::average_traded))
        };
        let price = limit.or_else(|| ticks::around(traded()?, side, precision))?;
        // Its name has our own day; a report of another value date is judged by it.
        let own = self.spot_date_of(&id, pair);
        let value_date = own.or_else(|| report.settl_date.and_then(date));
        let value_date = value_date.unwrap_or(self.setup.pairs[pair].spot_date);
        (quantity > 0 && filled <= quantity).then_some(Terms {
            id,
            parent: 0,
            bank,
            pair,
            side,
            quantity,
            price,
            quote_id: None,
            is_fok: false,
            value_date,
            sent_ns: now_ns,
            mid2_sent: None,
        })
    }
}

/// A date of eight digits.
fn date(text: &[u8]) -> Option<u32> {
    let is_date = text.len() == 8 && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()?
        .parse()
        .ok()
        .filter(|_| is_date)
}
