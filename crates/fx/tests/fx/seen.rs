//! What a plan saw, written and read again: the same plan follows from it, and every bank of the pair is accounted for.

use crate::random::banks::Banks;
use crate::random::seeds;
use std::collections::{BTreeMap, BTreeSet};
use touchline_fx::Setup;
use touchline_fx::plan::{is_of_record, plan_again};
use touchline_fx::sessions::Replay;
use touchline_fx_events::Batch;
use touchline_fx_events::encoding::{Decoder, Encoder, Entry};
use touchline_fx_events::event::{Event, PlanLeg};
use touchline_fx_events::parents::ParentTerms;
use touchline_fx_events::plan::PlanKind;
use touchline_fx_events::seen::Seen;

const STEPS: usize = 700;
const ORDERS: usize = 10_000;

/// Counts of a test.
#[derive(Debug, Default)]
struct Counts {
    orders: usize,
    plans: usize,
    partly_recorded: usize,
    left_out: BTreeMap<&'static str, usize>,
    capped: usize,
    penalized: usize,
    combined: usize,
}

/// A plan of a record, while its orders and what it saw are read.
struct Recorded {
    terms: ParentTerms,
    open: i64,
    kind: PlanKind,
    plan: Event,
    legs: Vec<PlanLeg>,
}

impl Recorded {
    fn of(event: &Event, batch: &Batch, terms: &BTreeMap<u32, ParentTerms>) -> Option<Recorded> {
        let Event::Plan {
            parent,
            open,
            kind,
            legs,
            ..
        } = event
        else {
            return None;
        };
        Some(Recorded {
            terms: terms[&parent.number],
            open: *open,
            kind: *kind,
            plan: event.clone(),
            legs: batch.legs[legs.clone()].to_vec(),
        })
    }

    /// Checks that the same plan follows from what it saw.
    fn check(&self, seen: &Seen, batch: &Batch) {
        let again = plan_again(&self.terms, self.open, seen, &batch.seen).expect("a plan");
        assert!(
            is_of_record(&again, &self.terms, &self.plan, &self.legs),
            "{again:?} {:?}",
            self.legs
        );
        let of_record = batch.seen.entries[seen.entries.clone()].iter().enumerate();
        let used: BTreeSet<usize> = of_record
            .filter(|(_, entry)| entry.is_used)
            .map(|(place, _)| place)
            .collect();
        assert_eq!(again.entries.iter().copied().collect::<BTreeSet<_>>(), used);
        assert_eq!(seen.hits.len(), self.legs.len());
    }
}

impl Counts {
    fn note(&mut self, seen: &Seen, batch: &Batch, setup: &Setup) {
        let lists = &batch.seen;
        let entries = &lists.entries[seen.entries.clone()];
        let taken: Vec<_> = entries.iter().filter(|entry| entry.is_taken_side).collect();
        self.partly_recorded += usize::from(taken.len() < usize::from(seen.counted));
        let left_out = &lists.left_out[seen.left_out.clone()];
        let mut banks: BTreeSet<usize> = taken.iter().map(|entry| entry.bank).collect();
        for left in left_out {
            *self.left_out.entry(left.why.name()).or_default() += 1;
            assert!(
                banks.insert(left.bank),
                "{left:?} has an entry that counted"
            );
        }
        let of_pair = |bank: &usize| setup.banks[*bank].pairs.contains(&seen.pair);
        let all: BTreeSet<usize> = (0..setup.banks.len()).filter(of_pair).collect();
        if taken.len() == usize::from(seen.counted) {
            assert_eq!(banks, all, "every bank of the pair counted or was left out");
        }
        for limit in &lists.limits[seen.limits.clone()] {
            self.capped += usize::from(limit.cap.is_some());
            self.penalized += usize::from(limit.penalty != 0);
        }
    }
}

/// Over 10,000 random orders, the record of a plan gives the same plan, with the same orders on the same entries.
#[test]
fn a_plan_follows_from_its_record() {
    let mut counts = Counts::default();
    let first = seeds()[0];
    let is_single = seeds().len() == 1;
    for seed in first.. {
        if counts.orders >= ORDERS || is_single && seed > first {
            break;
        }
        println!("seed {seed}");
        session(seed, &mut counts);
    }
    println!("{counts:?}");
    if !is_single {
        let reasons = [
            "no_quote",
            "limit",
            "session_down",
            "disabled",
            "cooldown",
            "in_doubt",
            "used",
        ];
        let missing = reasons
            .iter()
            .find(|reason| !counts.left_out.contains_key(*reason));
        assert_eq!(missing, None, "{counts:?}");
        assert!(counts.capped > 0 && counts.penalized > 0 && counts.combined > 0);
    }
}

fn session(seed: u64, counts: &mut Counts) {
    let mut banks = Banks::new(seed);
    let setup = Setup::parse(banks.config()).expect("a configuration");
    let labels = setup.labels.clone();
    let mut replay = Replay::new(Setup::parse(banks.config()).expect("a configuration"));
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    encoder.begin(0);
    encoder.run(1, "20260105", &labels, &[]);
    encoder.finish(1);
    let run = decoder.read(encoder.part(0), |_, _, _, _| ());
    run.expect("a run");
    let mut terms_of = BTreeMap::new();
    for _ in 0..STEPS {
        for line in banks.next() {
            replay.line(&line).expect("a line of ours");
            let batch = replay.batch();
            encoder.begin(1);
            for event in &batch.events {
                encoder.event(&labels, batch, event, 7);
            }
            let mut plan = None;
            for place in 0..encoder.finish(1) {
                let entries = decoder.read(encoder.part(place), |_, _, entry, batch| {
                    let Entry::Event(event, _) = entry else {
                        return;
                    };
                    if let Event::Accepted { number, terms } = event {
                        terms_of.insert(*number, *terms);
                    }
                    if let Some(recorded) = Recorded::of(event, batch, &terms_of) {
                        assert!(plan.is_none(), "each plan has what it saw behind it");
                        counts.plans += 1;
                        counts.orders += recorded.legs.len();
                        counts.combined += usize::from(recorded.kind == PlanKind::Both);
                        plan = Some(recorded);
                    }
                    if let Event::Seen(seen) = event {
                        let plan = plan.take().expect("a plan before it");
                        plan.check(seen, batch);
                        counts.note(seen, batch, &setup);
                    }
                });
                entries.expect("a batch");
            }
            assert!(plan.is_none(), "each plan has what it saw behind it");
            banks.hear(batch);
        }
    }
}
