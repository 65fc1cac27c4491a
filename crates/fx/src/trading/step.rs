//! Context of a step of trading: its time, the prices, and the events so far.

use crate::pricing::Pricing;
use touchline_fx_events::event::{Alarm, Batch, Event};
use touchline_fx_events::setup::Bank;
use touchline_types::Id;

/// State outside of trading that a step of trading reads and writes.
pub struct Step<'a> {
    /// Time of the step.
    pub now_ns: u64,
    /// Prices; of them trading changes nothing but the marks of used quotes.
    pub pricing: &'a mut Pricing,
    /// Events.
    pub out: &'a mut Batch,
}

impl<'a> Step<'a> {
    /// A step at the time of the prices.
    pub fn new(pricing: &'a mut Pricing, out: &'a mut Batch) -> Step<'a> {
        Step {
            now_ns: pricing.now(),
            pricing,
            out,
        }
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.out.events.push((self.now_ns, event));
    }

    /// Adds an alarm for the desk.
    pub fn alarm(&mut self, what: Alarm, bank: Option<Bank>, order: Option<Id>) {
        self.push(Event::Alarm { what, bank, order });
    }
}
