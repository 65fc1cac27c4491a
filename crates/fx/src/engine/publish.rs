//! Publication of composites.

use super::Engine;
use crate::event::{Batch, Event};
use crate::quotes::NEVER;
use crate::setup::Pair;

impl Engine {
    /// Publishes each change, unless composites are conflated.
    pub(super) fn publish_changes(&mut self, out: &mut Batch) {
        match self.setup.conflate_ns {
            0 => self.publish(out),
            _ => self.wake_at(self.conflation_due_ns()),
        }
    }

    /// Publishes the composites that differ from the last published ones.
    pub(super) fn publish(&mut self, out: &mut Batch) {
        for pair in 0..self.setup.pairs.len() {
            let is_fresh = std::mem::take(&mut self.is_fresh[pair]);
            if is_fresh && self.is_unpublished(pair) {
                let composite = self.composites.of(pair);
                let from = out.averages.len();
                out.averages.extend_from_slice(&composite.averages);
                let event = Event::Composite {
                    pair,
                    tops: composite.tops,
                    averages: from..out.averages.len(),
                };
                // Copied in place: a clone would allocate memory for the averages.
                let (published, is_published) = &mut self.published[pair];
                published.tops = composite.tops;
                published.averages.clone_from(&composite.averages);
                *is_published = true;
                self.push(event, out);
            }
        }
    }

    /// Next publication of conflated composites: a multiple of the period since 1970, if one differs.
    pub(super) fn conflation_due_ns(&self) -> u64 {
        let period_ns = self.setup.conflate_ns;
        let (Some(now_ns), true) = (self.now_ns, period_ns > 0) else {
            return NEVER;
        };
        let pending = (0..self.setup.pairs.len()).any(|pair| self.is_unpublished(pair));
        match pending {
            true => (now_ns / period_ns + 1).saturating_mul(period_ns),
            false => NEVER,
        }
    }

    fn is_unpublished(&self, pair: Pair) -> bool {
        let (published, is_published) = &self.published[pair];
        !is_published || published != self.composites.of(pair)
    }
}
