//! Orders that the journal lost with its host: every bank is asked for all its orders, and one of an earlier epoch that is
//! not known is taken over from the bank's report.
//!
//! A ClOrdID says in which run it was made: prefix, `e`, epoch, `-`, parent, `-`, number.

use super::Engine;
use crate::event::{Alarm, Batch};
use crate::orders::{Order, Report, Terms, average_price};
use crate::quotes::NEVER;
use crate::setup::{Bank, ns};
use crate::ticks;
use touchline_types::{Id, Side};

/// Which orders the journal may lack.
#[derive(Debug, Clone)]
pub(super) struct Lost {
    /// Prefixes of all runs, without their epochs.
    prefixes: Vec<Id>,
    /// Orders of earlier epochs may be lacking; 0: none.
    before: u64,
}

impl Lost {
    /// None.
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

    /// Whether an order of this name may have been sent and is not in the journal.
    fn may_have(&self, id: &Id) -> bool {
        let epochs = self.prefixes.iter().filter_map(|prefix| {
            let rest = id.as_str().strip_prefix(prefix.as_str())?;
            let (epoch, order) = rest.strip_prefix('e')?.split_once('-')?;
            let (parent, number) = order.rsplit_once('-')?;
            let is_order = !parent.is_empty() && number.parse::<u64>().is_ok();
            epoch.parse::<u64>().ok().filter(|_| is_order)
        });
        // mutant: fx: an unknown order of this run is adopted
        epochs.into_iter().any(|epoch| epoch < self.before)
    }
}

/// Whether a bank has said which orders it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Inquiry {
    /// It has, or no order is lost.
    #[default]
    Over,
    /// It must be asked.
    Due,
    /// It was asked so often, and is asked again at this time: a question may be lost in a resend that covers it.
    Asked {
        tries: u32,
        again_ns: u64,
        is_released: bool,
    },
    /// It cannot be asked: the desk must ask, and enables the bank.
    OfDesk,
}

impl Inquiry {
    /// Whether the bank need not be asked.
    pub fn is_over(self) -> bool {
        self == Inquiry::Over
    }

    /// Whether the bank may have orders.
    pub fn is_released(self) -> bool {
        match self {
            Inquiry::Over => true,
            Inquiry::Asked { is_released, .. } => is_released,
            Inquiry::Due | Inquiry::OfDesk => false,
        }
    }

    /// The session was lost: what was asked is asked again.
    pub fn interrupt(&mut self) {
        if !self.is_over() {
            *self = Inquiry::Due;
        }
    }

    /// The bank has said all.
    pub fn end(&mut self) {
        *self = Inquiry::Over;
    }

    fn again_ns(self) -> u64 {
        match self {
            Inquiry::Asked { again_ns, .. } => again_ns,
            _ => NEVER,
        }
    }
}

impl Engine {
    /// A start after which the journal may lack orders of earlier epochs.
    pub(super) fn reboot(&mut self, epoch: u64, out: &mut Batch) {
        self.restart(out);
        self.lost.before = self.lost.before.max(epoch);
        for session in &mut self.order_sessions {
            session.inquiry = Inquiry::Due;
        }
    }

    /// Whether a bank has said which orders it has, since the journal may lack some.
    pub fn has_said_all(&self, bank: Bank) -> bool {
        self.order_sessions[bank].inquiry.is_over()
    }

    /// Asks a bank for all its orders, again and again until it answers. Its answer also tells of `unknown` ones.
    pub(super) fn inquire(&mut self, bank: Bank, unknown: &[usize], out: &mut Batch) {
        let config = &self.setup.banks[bank].config;
        if !config.mass_status {
            self.order_sessions[bank].inquiry = Inquiry::OfDesk;
            self.call_desk(bank, out);
            return;
        }
        let (before, is_released) = match self.order_sessions[bank].inquiry {
            Inquiry::Asked {
                tries, is_released, ..
            } => (tries, is_released),
            _ => (0, false),
        };
        let again_ns = self.now().saturating_add(ns(config.status_ms.max(1)));
        // mutant: fx: the desk is not called for a bank that does not answer a mass status request
        if before == config.status_tries {
            self.call_desk(bank, out);
        }
        let tries = before.saturating_add(1);
        self.order_sessions[bank].inquiry = Inquiry::Asked {
            tries,
            again_ns,
            is_released,
        };
        self.wake_at(again_ns);
        self.ask_for_all(bank, unknown, out);
    }

    /// The bank refused the question.
    pub(super) fn mass_status_refused(&mut self, bank: Bank, out: &mut Batch) {
        let inquiry = &mut self.order_sessions[bank].inquiry;
        if let Inquiry::Asked { .. } = *inquiry {
            *inquiry = Inquiry::OfDesk;
            self.call_desk(bank, out);
        }
    }

    /// The desk enables a bank for which it was called: the bank may have orders. It is still asked, if it can be.
    pub(super) fn desk_has_asked(&mut self, bank: Bank) {
        let tries_max = self.setup.banks[bank].config.status_tries;
        match &mut self.order_sessions[bank].inquiry {
            inquiry @ Inquiry::OfDesk => inquiry.end(),
            Inquiry::Asked {
                tries, is_released, ..
            } => *is_released |= *tries > tries_max,
            Inquiry::Over | Inquiry::Due => {}
        }
    }

    /// Earliest time at which a bank is asked again.
    pub(super) fn inquiry_due_ns(&self) -> u64 {
        let sessions = self.order_sessions.iter();
        let due = sessions.map(|session| session.inquiry.again_ns());
        due.min().unwrap_or(NEVER)
    }

    /// Asks each bank again that has not answered.
    pub(super) fn inquiry_timers(&mut self, out: &mut Batch) {
        for bank in 0..self.order_sessions.len() {
            if self.order_sessions[bank].inquiry.again_ns() <= self.now() {
                // mutant: fx: a mass status request after a reboot is sent once
                self.inquire(bank, &[], out);
            }
        }
    }

    fn call_desk(&self, bank: Bank, out: &mut Batch) {
        self.alarm(Alarm::NoMassStatus(bank), None, out);
    }

    /// Takes over the order of a report, if the journal may have lost it. Its fills are booked by the report itself, as those of
    /// any order.
    pub(super) fn adopt(
        &mut self,
        bank: Bank,
        report: &Report<'_>,
        out: &mut Batch,
    ) -> Option<usize> {
        // A report of a cancel has the order's name in 41.
        let names = [report.orig_cl_ord_id, report.cl_ord_id];
        let mut ids = names.into_iter().flatten().filter_map(Id::new);
        // mutant: fx: an order that the journal lost is refused
        let id = ids.find(|id| self.lost.may_have(id) && self.orders.of_id(id).is_none())?;
        if report.says_never_arrived() {
            return None;
        }
        let Some(mut terms) = self.described(bank, id, report) else {
            self.alarm(Alarm::NotAdopted, Some(id), out);
            return None;
        };
        let Terms {
            pair,
            side,
            quantity,
            price,
            ..
        } = terms;
        terms.parent = self.parents.adopt(pair, side, quantity, price);
        let answer_ns = ns(self.setup.banks[bank].config.answer_ms);
        let due_ns = self.now().saturating_add(answer_ns);
        self.wake_at(due_ns);
        self.alarm(Alarm::Adopted, Some(id), out);
        Some(self.orders.add(Order::adopted(terms, due_ns)))
    }

    /// The order that a report describes; its parent is not known.
    fn described(&self, bank: Bank, id: Id, report: &Report<'_>) -> Option<Terms> {
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
        let limit = report.limit.and_then(|text| ticks::price(text, precision));
        let price = limit
            .or_else(|| report.price(precision))
            .or_else(|| average_price(report, precision))?;
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
            sent_ns: self.now(),
            mid2_sent: None,
        })
    }
}
