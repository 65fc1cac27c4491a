//! Entries become rows.

use super::*;
use crate::sample::{fill, id, sent, state, tell};
use touchline_fx_events::event::{Numbered, RunAlarm};
use touchline_fx_events::orders::RejectCode;
use touchline_fx_events::parents::{EndReason, Lifetime, WaitReason};
use touchline_fx_events::plan::Style;
use touchline_fx_events::positions::{Position, WorstCase};

fn accepted() -> Event {
    Event::Accepted {
        number: 0,
        terms: ParentTerms {
            id: id("P1"),
            pair: 0,
            side: Side::Bid,
            quantity: 6_000,
            limit: Some(110_000),
            lifetime: Lifetime::Deadline,
            deadline_ms: 1,
            urgency: 1,
            style: Style::Best,
            partial: true,
        },
    }
}

fn kill(by: &str) -> Event {
    Event::Kill { by: Some(id(by)) }
}

/// A parent, its order and its fill; a reject ends an order with its code; a kill is set until it is lifted.
#[test]
fn entries_become_rows() {
    let mut ledger = Ledger::default();
    let mut take =
        |at_ns, event: &Event| tell(at_ns, event, true, |published| ledger.take(published));
    let journal = |order| state(order, OrderEvent::Journal, OrderState::Sent, 0, None);
    let report = OrderEvent::Report;
    for (at_ns, event) in [
        (1, accepted()),
        (1, journal((0, 0))),
        (1, sent(0, 0)),
        (1, journal((1, 1))),
        (1, sent(1, 1)),
        (
            2,
            Event::Fill(fill(FillKind::Fill, "X", 400, 1_100_000_000)),
        ),
        (
            2,
            Event::Position {
                pair: 0,
                position: Position {
                    units: 400,
                    cash: -440_000_000_000,
                },
                worst: WorstCase {
                    long: 2_000,
                    short: 400,
                },
                mid2: Some(220_001),
                dates: None,
            },
        ),
        (2, state((0, 0), report, OrderState::Partial, 400, None)),
        (
            3,
            state(
                (1, 1),
                report,
                OrderState::Rejected,
                0,
                Some(RejectCode::LastLookPrice),
            ),
        ),
        (4, kill("alice")),
    ] {
        take(at_ns, &event);
    }
    assert_eq!((ledger.parents[0].filled, ledger.out()), (400, 2_600));
    assert_eq!(ledger.parents[0].limit.as_deref(), Some("1.1"));
    assert_eq!(
        (ledger.banks["A"].orders, ledger.banks["A"].filled),
        (1, 400)
    );
    assert_eq!(ledger.banks["B"].rejects["A-1"], 1);
    let row = &ledger.pairs["EUR/USD"];
    assert_eq!((row.position, row.cash.as_str()), (400, "-440"));
    assert_eq!(row.pnl.as_deref(), Some("0.002"));
    assert_eq!(ledger.killed.as_deref(), Some("alice"));
    let lift = |is_killed| Event::Lift {
        by: Some(id("bob")),
        is_killed,
    };
    tell(5, &lift(true), true, |published| ledger.take(published));
    assert!(ledger.killed.is_some());
    tell(6, &lift(false), true, |published| ledger.take(published));
    assert_eq!((ledger.killed, ledger.at_ns), (None, 6));
}

/// A late original is not a further fill, and a booking of the desk has neither bank nor parent.
#[test]
fn late_originals_and_bookings_are_no_fills_of_a_bank() {
    let mut ledger = Ledger::default();
    let named = FillLine {
        part_of: Some(id("SX")),
        ..fill(FillKind::Named, "X", 400, 1_100_000_000)
    };
    let booked = FillLine {
        order: None,
        parent: None,
        bank: None,
        ..fill(FillKind::Book, "B-open", 500, 1_100_000_000)
    };
    for line in [
        fill(FillKind::Status, "SX", 400, 1_100_000_000),
        named,
        booked,
    ] {
        tell(2, &Event::Fill(line), true, |published| {
            ledger.take(published)
        });
    }
    assert_eq!(
        (ledger.banks["A"].fills, ledger.banks["A"].filled),
        (1, 400)
    );
    assert_eq!((ledger.banks.len(), ledger.fills.len()), (1, 3));
}

/// `filled` of a parent is net of busts and corrections, also behind its end, as the engine counts it; that of the bank is not.
#[test]
fn a_busted_fill_is_none_of_its_parent() {
    let mut ledger = Ledger::default();
    let mut filled = |event: Event| {
        tell(1, &event, true, |published| ledger.take(published));
        (
            ledger.parents[0].filled,
            ledger.banks.get("A").map(|bank| bank.filled),
        )
    };
    let line = |kind, exec_id, quantity| Event::Fill(fill(kind, exec_id, quantity, 1_100_000_000));
    filled(accepted());
    filled(line(FillKind::Fill, "X1", 3_000));
    assert_eq!(filled(line(FillKind::Bust, "X1", 3_000)), (0, Some(3_000)));
    assert_eq!(
        filled(line(FillKind::Correct, "X2", 1_000)),
        (1_000, Some(3_000))
    );
    assert_eq!(
        filled(line(FillKind::Status, "SX3", 2_000)),
        (3_000, Some(5_000))
    );
    assert_eq!(
        filled(line(FillKind::Named, "X3", 2_000)),
        (3_000, Some(5_000))
    );
    let end = ParentEnd {
        parent: Numbered {
            number: 0,
            id: id("P1"),
        },
        pair: 0,
        reason: Some(EndReason::Filled),
        filled: 3_000,
        average: None,
        out: 0,
    };
    filled(Event::Ended(end));
    assert_eq!(
        filled(line(FillKind::Bust, "X2", 1_000)),
        (2_000, Some(5_000))
    );
}

/// Orders in flight may be refused for the same reason, each of which disables the pair: it is listed once, and not any more once it is
/// enabled.
#[test]
fn a_pair_that_is_disabled_twice_is_listed_once() {
    let mut ledger = Ledger::default();
    let mut listed = |event: Event| {
        tell(1, &event, true, |published| ledger.take(published));
        ledger.banks["A"].disabled.clone()
    };
    let (bank, pair, code) = (0, 0, RejectCode::StaticData);
    for _ in 0..2 {
        assert_eq!(listed(Event::Disabled { bank, pair, code }), ["EUR/USD"]);
    }
    assert_eq!(listed(Event::Enabled { bank, pair }), [""; 0]);
}

/// A later run may not have a bank: its scorecard has the time at which it was written.
#[test]
fn each_scorecard_has_the_time_at_which_it_was_written() {
    let mut ledger = Ledger::default();
    for (at_ns, bank) in [(1, 0), (2, 1), (3, 0)] {
        let score = Event::Score {
            bank,
            pair: 0,
            score: Box::default(),
        };
        tell(at_ns, &score, true, |published| ledger.take(published));
    }
    let times = ledger.scores.values().map(|(at_ns, _)| *at_ns);
    assert_eq!(times.collect::<Vec<_>>(), [3, 2]);
}

/// Ended objects are dropped, except for the last parents; a ledger for back offices keeps orders.
#[test]
fn what_has_ended_is_dropped() {
    let mut ledgers = [Ledger::default(), Ledger::of_all_orders()];
    for ledger in &mut ledgers {
        for number in 0..200 {
            let Event::Accepted { terms, .. } = accepted() else {
                unreachable!("it is a parent");
            };
            let terms = ParentTerms {
                id: id(&format!("P{number}")),
                ..terms
            };
            let end = ParentEnd {
                parent: Numbered {
                    number,
                    id: terms.id,
                },
                pair: 0,
                reason: Some(EndReason::Filled),
                filled: 3_000,
                average: None,
                out: 0,
            };
            let filled = state(
                (number, 0),
                OrderEvent::Report,
                OrderState::Filled,
                3_000,
                None,
            );
            for event in [
                Event::Accepted { number, terms },
                sent(number, 0),
                Event::Fill(fill(FillKind::Fill, "X", 1, 1_100_000_000)),
                filled,
                Event::Ended(end),
            ] {
                tell(1, &event, true, |published| ledger.take(published));
            }
        }
        assert_eq!((ledger.open().len(), ledger.fills.len()), (0, LAST));
        assert!(
            ledger.parents.len() <= ENDED_MAX + 1,
            "{}",
            ledger.parents.len()
        );
    }
    assert_eq!(ledgers.map(|ledger| ledger.orders.len()), [0, 200]);
}

/// A kill and a fill that the journal refused are on the screen until the next run goes on.
#[test]
fn what_a_failed_journal_refused_is_shown_until_the_next_run_goes_on() {
    let mut ledger = LiveLedger::default();
    let mut take = |at_ns, event: &Event, is_journaled| {
        tell(at_ns, event, is_journaled, |published| {
            ledger.take(published)
        });
        let now = ledger.now();
        (now.killed.clone(), now.fill_count, now.at_ns)
    };
    let waits = Event::Waits {
        parent: Numbered {
            number: 0,
            id: id("P1"),
        },
        reason: WaitReason::Thin,
    };
    let filled = Event::Fill(fill(FillKind::Fill, "X", 400, 1_100_000_000));
    let composite = Event::Composite {
        pair: 0,
        tops: [None, None],
        averages: 0..0,
    };
    let killed = Some("auto:journal".to_owned());
    take(1, &waits, true);
    take(1, &kill("auto:journal"), false);
    assert_eq!(take(2, &filled, false), (killed.clone(), 1, 2));
    assert_eq!(take(3, &composite, false), (killed.clone(), 1, 3));
    // An entry of this run that the files have late, then the next run: the bank reports the fill again.
    assert_eq!(take(1, &waits, true), (killed, 1, 3));
    assert_eq!(take(4, &filled, true), (None, 1, 4));
}

/// An alarm of the run is in no journal, and does not mean that the journal failed: later entries are one list with it.
#[test]
fn an_alarm_of_the_run_stands_beside_what_the_journal_has() {
    let mut ledger = LiveLedger::default();
    let alarm = Event::Alarm {
        what: Alarm::Run(RunAlarm::SessionLost),
        bank: Some(1),
        order: None,
    };
    for (at_ns, event, is_journaled) in [
        (2, &alarm, false),
        // The journal's files can have it later.
        (1, &kill("desk"), true),
    ] {
        tell(at_ns, event, is_journaled, |published| {
            ledger.take(published)
        });
    }
    let now = ledger.now();
    assert_eq!(now.killed.as_deref(), Some("desk"));
    let alarms = now.alarms.iter();
    let alarms = alarms.map(|row| (row.what.to_string(), row.bank.as_deref()));
    let expected = ("session_lost".to_owned(), Some("B"));
    assert_eq!(alarms.collect::<Vec<_>>(), [expected]);
}
