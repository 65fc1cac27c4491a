//! Publication of composites: each change, or conflated at the multiples of a period.

use super::Pricing;
use crate::composite::{Composite, Composites};
use crate::quotes::NEVER;
use touchline_fx_events::event::{Batch, Event};
use touchline_fx_events::setup::Pair;

/// Composites as they were last published.
#[derive(Debug, Clone)]
pub(super) struct Publication {
    /// Last published composites, and whether there was one.
    last: Vec<(Composite, bool)>,
    /// Whether the composite of a pair was computed since its last publication.
    is_fresh: Vec<bool>,
}

impl Publication {
    /// Makes a publication without any published composite.
    pub fn new(composites: &Composites, pairs: usize) -> Publication {
        let empty = |pair| (composites.of(pair).clone(), false);
        Publication {
            last: (0..pairs).map(empty).collect(),
            is_fresh: vec![true; pairs],
        }
    }

    /// The composite of a pair was computed again.
    pub fn note_computed(&mut self, pair: Pair) {
        self.is_fresh[pair] = true;
    }

    /// Keeps a composite as published, in place: a clone would allocate memory for the averages.
    fn keep(&mut self, pair: Pair, composite: &Composite) {
        let (last, is_published) = &mut self.last[pair];
        last.tops = composite.tops;
        last.averages.clone_from(&composite.averages);
        *is_published = true;
    }

    fn differs(&self, pair: Pair, composite: &Composite) -> bool {
        let (last, is_published) = &self.last[pair];
        !is_published || last != composite
    }
}

impl Pricing {
    /// Publishes each change, unless composites are conflated.
    pub(crate) fn publish_changes(&mut self, out: &mut Batch) {
        match self.setup.conflate_ns {
            0 => self.publish(out),
            _ => self.wake_at(self.conflation_due_ns()),
        }
    }

    /// Publishes conflated composites, if the time is a multiple of the period.
    pub(crate) fn publish_conflated(&mut self, out: &mut Batch) {
        let period_ns = self.setup.conflate_ns;
        if period_ns > 0 && self.now().is_multiple_of(period_ns) {
            self.publish(out);
        }
    }

    /// Publishes the composites that differ from the last published ones.
    fn publish(&mut self, out: &mut Batch) {
        let now_ns = self.now();
        for pair in 0..self.setup.pairs.len() {
            let is_fresh = std::mem::take(&mut self.publication.is_fresh[pair]);
            let composite = self.composites.of(pair);
            if is_fresh && self.publication.differs(pair, composite) {
                let from = out.averages.len();
                out.averages.extend_from_slice(&composite.averages);
                let event = Event::Composite {
                    pair,
                    tops: composite.tops,
                    averages: from..out.averages.len(),
                };
                self.publication.keep(pair, composite);
                out.events.push((now_ns, event));
            }
        }
    }

    /// Next publication of conflated composites: a multiple of the period since 1970, if one differs.
    pub(super) fn conflation_due_ns(&self) -> u64 {
        let period_ns = self.setup.conflate_ns;
        let (Some(now_ns), true) = (self.now_ns, period_ns > 0) else {
            return NEVER;
        };
        let is_other = |pair| self.publication.differs(pair, self.composites.of(pair));
        match (0..self.setup.pairs.len()).any(is_other) {
            true => (now_ns / period_ns + 1).saturating_mul(period_ns),
            false => NEVER,
        }
    }
}
