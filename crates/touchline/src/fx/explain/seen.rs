//! What a plan saw, as steps, and the plan made again from it.

use super::step::Step;
use touchline_fx::plan::{is_of_record, plan_again};
use touchline_fx_events::event::{Batch, Event, PlanLeg};
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::seen::{Seen, SeenEntry};
use touchline_fx_events::{Labels, ticks};
use touchline_types::Side;

/// A plan as its record has it.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The event.
    pub plan: Event,
    /// Its orders.
    pub legs: Vec<PlanLeg>,
}

/// The steps of what a plan of a parent saw.
pub fn steps(
    labels: &Labels,
    at_ns: u64,
    (terms, recorded): (&ParentTerms, &Recorded),
    (seen, batch): (&Seen, &Batch),
) -> Vec<Step> {
    let lists = &batch.seen;
    let mut steps = Vec::new();
    let precision = labels.pairs[seen.pair].precision;
    for entry in &lists.entries[seen.entries.clone()] {
        steps.push(of_entry(labels, at_ns, terms, entry, precision));
    }
    for limit in &lists.limits[seen.limits.clone()] {
        let step = Step::new(at_ns, "limit").with("bank", labels.banks[limit.bank].as_str());
        let penalty = Some(ticks::text(i128::from(limit.penalty), 1));
        steps.push(
            step.with_some("cap", limit.cap)
                .with_some("penalty_ticks", penalty.filter(|_| limit.penalty != 0))
                .with("names_quote", limit.is_quoted),
        );
    }
    for left in &lists.left_out[seen.left_out.clone()] {
        let bank = labels.banks[left.bank].as_str();
        let step = Step::new(at_ns, "left_out").with("bank", bank);
        steps.push(step.with("why", left.why.name()));
    }
    for (hit, leg) in lists.hits[seen.hits.clone()].iter().zip(&recorded.legs) {
        let known = |time: u64| Some(time).filter(|time| *time > 0);
        let quote = leg.quote_id.as_ref().map(|id| id.as_str());
        steps.push(
            Step::new(at_ns, "hit")
                .with("order", leg.order.id.as_str())
                .with("bank", labels.banks[leg.bank].as_str())
                .with_some("quote", quote)
                .with_some("bank_sending_ns", known(hit.sending_ns))
                .with_some("bank_exchange_ns", known(hit.exchange_ns))
                .with_some("gateway_receive_ns", known(hit.receive_ns))
                .with("engine_ns", hit.set_ns),
        );
    }
    let is_same = match &recorded.plan {
        Event::Plan { open, .. } => plan_again(terms, *open, seen, lists)
            .is_some_and(|again| is_of_record(&again, terms, &recorded.plan, &recorded.legs)),
        _ => false,
    };
    let taken = lists.entries[seen.entries.clone()].iter();
    let taken = taken.filter(|entry| entry.is_taken_side).count();
    steps.push(
        Step::new(at_ns, "recomputed")
            .with("same", is_same)
            .with("entries", taken)
            .with("counted", seen.counted),
    );
    steps
}

fn of_entry(
    labels: &Labels,
    at_ns: u64,
    terms: &ParentTerms,
    entry: &SeenEntry,
    precision: u8,
) -> Step {
    let is_ask = entry.is_taken_side == (terms.side == Side::Bid);
    let price = ticks::exact(entry.price, precision).0;
    Step::new(at_ns, "entry")
        .with("side", if is_ask { "ask" } else { "bid" })
        .with(
            "price",
            ticks::text(i128::from(price), ticks::PRICE_DECIMALS),
        )
        .with("size", entry.size)
        .with("bank", labels.banks[entry.bank].as_str())
        .with("age_us", entry.age_us)
        .with_some("minimum", Some(entry.minimum).filter(|least| *least > 0))
        .with("band", entry.is_full)
        .with("used", entry.is_used)
}
