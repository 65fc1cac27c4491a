use super::*;
use crate::fx::written::{Written, accepted, filled, id, terms};
use serde_json::Value;
use touchline_fx_events::command::Command;
use touchline_fx_events::event::{
    Adopted, Answer, Batch, Benchmark, BenchmarkOf, Event, Numbered, ParentEnd,
};
use touchline_fx_events::orders::Terms;
use touchline_fx_events::parents::{EndReason, ParentTerms, WaitReason};

/// Appends a batch with a command, what it led to, and its answer.
fn command(written: &mut Written, request: u64, parent: &str, led_to: Option<Event>) {
    let (labels, at_ns) = (written.labels.clone(), written.at_ns);
    written.batch(|encoder| {
        let cancel = Command::Cancel { id: id(parent) };
        encoder.command(request, "desk", "ann", Ok(&cancel));
        if let Some(event) = led_to {
            encoder.event(&labels, &Batch::default(), &(at_ns, event), 0);
        }
        encoder.answer(&Answer {
            client: "desk",
            request,
            answer: "done",
            reason: None,
            cause: None,
        });
    });
}

fn waits(number: u32, name: &str) -> Event {
    let id = id(name);
    Event::Waits {
        parent: Numbered { number, id },
        reason: WaitReason::NoPrice,
    }
}

/// The parent 0 arrives while the mid is 150.
fn arrived(name: &str) -> Vec<Event> {
    let mark = Benchmark {
        of: BenchmarkOf::Parent(0),
        pair: 0,
        mid2: Some(300_000),
        average: None,
    };
    vec![accepted(0, name), Event::Benchmark(mark)]
}

/// The order 0, which the journal lost, is taken over for a parent.
fn adopted(order: &str, of: &str) -> Event {
    Event::Adopted(Box::new(Adopted {
        number: 0,
        terms: Terms {
            id: id(order),
            parent: 1,
            quantity: 1_000_000,
            price: 150_020,
            ..Terms::SAMPLE
        },
        parent: 1,
        parent_terms: ParentTerms {
            id: id("adopted-1"),
            ..terms("adopted-1")
        },
        of: id(of),
    }))
}

fn ended(number: u32, name: &str) -> Event {
    let id = id(name);
    Event::Ended(ParentEnd {
        parent: Numbered { number, id },
        pair: 0,
        reason: Some(EndReason::Restart),
        filled: 0,
        average: None,
        out: 0,
    })
}

/// The steps of a parent's story, of a journal whose run ends.
fn story(written: &mut Written, parent: &str) -> Vec<Value> {
    written.end();
    let Ok(story) = read(&written.directory(), parent) else {
        panic!("{parent} is in the journal");
    };
    let line = |step: &step::Step| {
        let mut line = String::new();
        step.json(&mut line);
        serde_json::from_str(&line).expect("JSON")
    };
    story.steps().iter().map(line).collect()
}

/// What follows from a quote or from the time has no cause in the journal: neither the command of another parent nor a message of a bank
/// that came before it is shown as its cause. Nor is the answer to a repeated request shown as that to the command.
#[test]
fn an_input_is_the_cause_of_its_own_batch_alone() {
    let mut written = Written::new("explain-cause");
    written.begin();
    let none = Batch::default();
    command(&mut written, 1, "P17", Some(accepted(0, "P17")));
    command(&mut written, 1, "other", None);
    command(&mut written, 2, "P18", Some(accepted(1, "P18")));
    written.events(vec![waits(0, "P17")], &none);
    written.batch(|encoder| encoder.received(0, b"35=8\x0111=T-P18-1\x01"));
    written.events(vec![waits(0, "P17")], &none);
    let story = story(&mut written, "P17");
    let count = |name: &str| story.iter().filter(|step| step["step"] == name).count();
    assert_eq!(
        ["waits", "command", "answer", "received"].map(count),
        [2, 1, 1, 0],
        "{story:?}"
    );
    assert!(!format!("{story:?}").contains("P18"), "{story:?}");
}

/// An order that the journal lost, and that was taken over for the parent: its fill, which names the parent that stands for it, is the
/// parent's, and its cost is that of the parent.
#[test]
fn the_story_has_the_fills_of_adopted_orders() {
    for is_known in [true, false] {
        let mut written = Written::new("explain-adopted");
        written.begin();
        let none = Batch::default();
        if is_known {
            written.events(arrived("P17"), &none);
            written.events(vec![ended(0, "P17")], &none);
        }
        written.events(vec![adopted("T-P17-1", "P17")], &none);
        written.events(vec![filled(0, "T-P17-1", "adopted-1")], &none);
        let story = story(&mut written, "P17");
        let fills = story.iter().filter(|step| step["step"] == "fill");
        assert_eq!(fills.count(), 1, "{story:?}");
        let cost = story.last().expect("a step");
        assert_eq!(cost["filled"], 1_000_000, "{story:?}");
        assert_eq!(cost["average"], "150.02", "{story:?}");
        // As the report has it: until the end of the parent, which is before the fill. One that was adopted ends there.
        let duration_ms = if is_known { 1 } else { 0 };
        assert_eq!(cost["duration_ms"], duration_ms, "{story:?}");
        assert_eq!(cost["ticks"].is_string(), is_known, "{story:?}");
    }
}

/// The cost is in the units of the report's `slippage` and `slippage_per_million`: yen, and yen for a million dollars.
#[test]
fn the_cost_of_a_parent_is_in_term_currency() {
    let mut written = Written::new("explain-cost");
    written.begin();
    let none = Batch::default();
    written.events(arrived("P17"), &none);
    written.events(vec![adopted("T-P17-1", "P17")], &none);
    written.events(vec![filled(0, "T-P17-1", "adopted-1")], &none);
    let story = story(&mut written, "P17");
    let cost = story.last().expect("a step");
    for (key, expected) in [
        ("average", "150.02"),
        ("mid_at_arrival", "150"),
        ("ticks", "20"),
        ("term_currency", "20000"),
        ("per_million", "20000"),
    ] {
        assert_eq!(cost[key], expected, "{key}: {story:?}");
    }
    assert!(cost["duration_ms"].is_null(), "it works: {story:?}");
}
