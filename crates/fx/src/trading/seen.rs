//! What a plan saw, for its record: the first entries of each side, limits, who was left out, and the quotes that were hit.

use super::{Step, Trading};
use crate::plan::{Offer, is_within, taken_side};
use crate::pricing::Pricing;
use touchline_fx_events::composite::BankSet;
use touchline_fx_events::event::Event;
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::seen::{
    BankLimit, ENTRIES_MAX, Hit, LeftOut, Seen, SeenEntry, WhyLeftOut,
};
use touchline_fx_events::setup::{Bank, Pair};

/// Entries of the other side in a record.
const OTHERS_MAX: usize = 4;
/// Age of a record for older entries, microseconds.
const AGE_US_MAX: u64 = 3_600_000_000;

impl Trading {
    /// Adds what the last plan of the router saw, behind its event.
    pub(super) fn see(&self, parent: u32, terms: &ParentTerms, open: i64, step: &mut Step<'_>) {
        let from = {
            let lists = &step.out.seen;
            [
                lists.entries.len(),
                lists.limits.len(),
                lists.left_out.len(),
                lists.hits.len(),
            ]
        };
        self.see_entries(terms, step);
        let counted = self.see_banks(open, from[0], step);
        self.see_left_out(terms, &counted, step);
        self.see_hits(terms.pair, step);
        let lists = &step.out.seen;
        let seen = Seen {
            parent,
            pair: terms.pair,
            lot: self.setup.pairs[terms.pair].config.lot,
            combine: self.setup.router.combine,
            counted: u16::try_from(self.router.counted().len()).unwrap_or(u16::MAX),
            entries: from[0]..lists.entries.len(),
            limits: from[1]..lists.limits.len(),
            left_out: from[2]..lists.left_out.len(),
            hits: from[3]..lists.hits.len(),
        };
        step.push(Event::Seen(seen));
    }

    /// The first entries of each side, and all that the plan used.
    fn see_entries(&self, terms: &ParentTerms, step: &mut Step<'_>) {
        let (pricing, now_ns) = (&*step.pricing, step.now_ns);
        let entry = |offer: &Offer, is_taken_side, is_used| {
            self.seen_entry(
                pricing,
                (terms.pair, now_ns),
                offer,
                (is_taken_side, is_used),
            )
        };
        let others = pricing.composites().offers(terms.pair, terms.side);
        let others = &others[..others.len().min(OTHERS_MAX)];
        let counted = self.router.counted();
        let first = &counted[..counted.len().min(ENTRIES_MAX - others.len())];
        let legs = self.router.legs();
        let is_leg = |offer: &Offer| {
            let mut legs = legs.iter();
            legs.any(|leg| leg.offer.bank == offer.bank && leg.offer.is(offer))
        };
        let lists = &mut step.out.seen.entries;
        let mut used = 0;
        for offer in first {
            let is_used = used < legs.len() && is_leg(offer);
            used += usize::from(is_used);
            lists.push(entry(offer, true, is_used));
        }
        if used < legs.len() {
            let behind = counted[first.len()..].iter().filter(|offer| is_leg(offer));
            lists.extend(behind.map(|offer| entry(offer, true, true)));
        }
        lists.extend(others.iter().map(|offer| entry(offer, false, false)));
    }

    fn seen_entry(
        &self,
        pricing: &Pricing,
        (pair, now_ns): (Pair, u64),
        offer: &Offer,
        (is_taken_side, is_used): (bool, bool),
    ) -> SeenEntry {
        let bank = usize::from(offer.bank);
        let slot = self.setup.slot(bank, pair);
        let entry = &pricing.quotes().book(slot).entries()[offer.entry as usize];
        let set_ns = match entry.times.receive_ns {
            0 => entry.set_ns,
            receive_ns => receive_ns,
        };
        let age_us = now_ns.saturating_sub(set_ns) / 1_000;
        SeenEntry {
            bank,
            is_taken_side,
            is_full: offer.is_full,
            is_used,
            price: offer.price,
            size: offer.size,
            minimum: offer.minimum,
            age_us: age_us.min(AGE_US_MAX) as u32,
            setting: offer.age as u16,
        }
    }

    /// Limits of the banks with an entry in the record, from this one on. Returns all banks with a counted entry.
    fn see_banks(&self, open: i64, from: usize, step: &mut Step<'_>) -> BankSet {
        let (mut counted, mut seen) = (BankSet::default(), BankSet::default());
        for offer in self.router.counted() {
            counted.add(usize::from(offer.bank));
        }
        let lists = &mut step.out.seen;
        let entries = lists.entries[from..].iter();
        for entry in entries.filter(|entry| entry.is_taken_side) {
            seen.add(entry.bank);
        }
        for bank in seen.iter() {
            let (cap, penalty, is_quoted) = self.router.terms_of(bank);
            if is_quoted || penalty != 0 || cap < open {
                lists.limits.push(BankLimit {
                    bank,
                    is_quoted,
                    penalty,
                    cap: Some(cap).filter(|cap| *cap < open),
                });
            }
        }
        counted
    }

    /// Banks of the pair without a counted entry, and why.
    fn see_left_out(&self, terms: &ParentTerms, counted: &BankSet, step: &mut Step<'_>) {
        for bank in 0..self.setup.banks.len() {
            // mutant: fx: a record leaves out the banks that were left out
            if counted.has(bank) || !self.setup.banks[bank].pairs.contains(&terms.pair) {
                continue;
            }
            let why = self.why_left_out(bank, terms, step);
            step.out.seen.left_out.push(LeftOut { bank, why });
        }
    }

    fn why_left_out(&self, bank: Bank, terms: &ParentTerms, step: &Step<'_>) -> WhyLeftOut {
        let (setup, pair, takes) = (&self.setup, terms.pair, taken_side(terms.side));
        let (slot, composites) = (setup.slot(bank, pair), step.pricing.composites());
        let offers = &composites.held(slot)[takes.index()];
        let within = |offer: &&Offer| is_within(takes, offer.price, terms.limit);
        let entries = step.pricing.quotes().book(slot).entries();
        let is_used = |offer: &Offer| entries[offer.entry as usize].is_used;
        match () {
            () if offers.is_empty() => WhyLeftOut::NoQuote,
            () if !offers.iter().any(|offer| within(&offer)) => WhyLeftOut::Limit,
            () if composites.is_off(bank, pair) => WhyLeftOut::OffMarket,
            () if !self.sessions.is_up(bank) => WhyLeftOut::Session,
            () if !self.sessions.may_take(setup, bank, step.now_ns) => WhyLeftOut::Rate,
            () if self.conduct.is_disabled(slot) => WhyLeftOut::Disabled,
            () if !self.conduct.may_deal(slot, step.now_ns) => WhyLeftOut::Cooldown,
            () if self.orders.is_in_doubt(bank, pair) => WhyLeftOut::InDoubt,
            () if offers.iter().filter(within).all(is_used) => WhyLeftOut::Used,
            () => WhyLeftOut::Collar,
        }
    }

    /// Times of the quotes of the plan's orders.
    fn see_hits(&self, pair: Pair, step: &mut Step<'_>) {
        for draft in self.router.drafts() {
            let slot = self.setup.slot(draft.bank, pair);
            let entry = &step.pricing.quotes().book(slot).entries()[draft.entry as usize];
            step.out.seen.hits.push(Hit {
                sending_ns: entry.times.sending_ns,
                exchange_ns: entry.times.exchange_ns,
                receive_ns: entry.times.receive_ns,
                set_ns: entry.set_ns,
            });
        }
    }
}
