//! Settings that changed between two runs: the past is as the journal has it.

use super::*;
use touchline_fx_events::event::{Adopted, Alarm, Asked, Numbered, ParentEnd};
use touchline_fx_events::parents::EndReason;

/// A kill is lifted as recorded: also if who lifted it may not any more, and not by who may only now.
#[test]
fn a_kill_is_lifted_by_who_could_lift_it_then() {
    let by = |name: &str| Some(Id::lossy(name.as_bytes()));
    let none = Batch::default();
    let labels = setup().labels;
    let lift = |name: &str, is_killed| {
        batch(40, 7, |record| {
            record.decision(&Desk::Lift { by: by(name) });
            let by = by(name);
            record.event(&labels, &none, &(40, Event::Lift { by, is_killed }), 0);
        })
    };
    let recovered = |lifters: &str, lifts: &[(&str, bool)]| {
        let mut all = journal_of(2_000);
        let kill = Event::Kill { by: by("eve") };
        all.push(batch(40, 6, |record| {
            record.event(&labels, &none, &(40, kill), 0);
        }));
        all.extend(lifts.iter().map(|(name, is_killed)| lift(name, *is_killed)));
        let setup = setup_with(&format!("[risk]\nkill_lifters = [{lifters}]\n"));
        let engine = read_by(&setup, &all).expect("a journal").engine;
        (
            engine.trading().is_killed(),
            engine.trading().first_lifter(),
        )
    };
    let lifts = [("ann", true), ("bob", false)];
    for lifters in ["\"ann\", \"bob\"", "\"bob\", \"carl\"", ""] {
        assert_eq!(recovered(lifters, &lifts), (false, None), "{lifters}");
    }
    let lifters = "\"ann\", \"carl\"";
    let lifts = [("ann", true), ("carl", true)];
    assert_eq!(recovered(lifters, &lifts), (true, by("ann")));
    assert_eq!(recovered("\"bob\", \"carl\"", &lifts[..1]), (true, None));
}

/// No kill and no end of a parent follows from limits that the run did not have: its orders fit as they were sent.
#[test]
fn limits_of_the_configuration_change_no_past() {
    let labels = setup().labels;
    let next = |all: &mut Vec<(u16, Vec<u8>)>| {
        all.push(batch(50, 7, |record| {
            record.event(&labels, &Batch::default(), &(50, sent(1, 50)), 3);
        }));
    };
    let with = |from: &str, to: &str| {
        let config: config::Config =
            toml::from_str(&CONFIG.replace(from, to)).expect("a configuration");
        Setup::new(config).expect("a setup")
    };
    let mut all = journal_of(2_000);
    next(&mut all);
    let setup = with("precision = 5", "precision = 5\nlot = 2000");
    assert_eq!(read_by(&setup, &all).expect("a journal").orders, 2);

    let mut unknown = journal_of(2_000);
    unknown.remove(3);
    unknown.push(batch(40, 6, |record| {
        record.session(0, SessionChange::Down)
    }));
    next(&mut unknown);
    let setup = setup_with("[risk]\nkill_unknown = 1\n");
    let recovered = read_by(&setup, &unknown).expect("a journal");
    assert_eq!(recovered.orders, 2);
    assert!(!recovered.engine.trading().is_killed());
}

/// The setup of a configuration with another pair and another bank before those of the journal.
fn longer() -> Setup {
    let pair = "[[pairs]]\nsymbol = \"USD/JPY\"\nprecision = 3\nspot_date = \"20260107\"\n[[pairs]]\nsymbol = \"EUR";
    let bank = "[[banks]]\nname = \"N\"\npairs = [\"USD/JPY\"]\nstatus_final = true\n[[banks]]\nname = \"A";
    let text = CONFIG.replace("[[pairs]]\nsymbol = \"EUR", pair);
    let text = text.replace("[[banks]]\nname = \"A", bank);
    let config: config::Config = toml::from_str(&text).expect("a configuration");
    Setup::new(config).expect("a setup")
}

/// A run that writes about the order and the parent of a run with shorter lists: the restart, a question, the fill.
fn of_longer_lists(epoch: u64) -> Vec<(u16, Vec<u8>)> {
    let mut labels = longer().labels;
    labels.prefix = Id::lossy(format!("Te{epoch}").as_bytes());
    let (none, bank, pair) = (Batch::default(), 1, 1);
    let id = Id::lossy(b"Te1-P1-1");
    let line = |what, message| {
        Event::Order(OrderLine {
            id: Some(id),
            number: Some(0),
            bank,
            what,
            status: Some(OrderStatus {
                state: OrderState::Unknown,
                cum: 0,
                leaves: 1_000,
            }),
            code: None,
            message,
        })
    };
    let end = ParentEnd {
        parent: Numbered {
            number: 0,
            id: Id::lossy(b"P1"),
        },
        pair,
        reason: Some(EndReason::Restart),
        filled: 0,
        average: None,
        out: 1_000,
    };
    let order = Asked {
        id,
        pair,
        side: Side::Bid,
        quantity: 1_000,
    };
    let question = Message::Status { request: 1, order };
    vec![
        batch(0, 5, |record| record.run(epoch, "20260105", &labels, &[])),
        batch(25, 6, |record| {
            let down = line(OrderEvent::Down, None);
            record.event(&labels, &none, &(25, down), 0);
            record.event(&labels, &none, &(25, Event::Ended(end)), 0);
        }),
        batch(26, 8, |record| record.session(bank, SessionChange::Up)),
        batch(27, 9, |record| {
            let asked = line(OrderEvent::Timeout, Some(question));
            record.event(&labels, &none, &(27, asked), 9);
        }),
        batch(30, 10, |record| record.received(bank, &report())),
    ]
}

/// A start continues orders of runs whose pairs and banks had other numbers: they were added before those of the orders, or removed.
#[test]
fn pairs_and_banks_may_be_added_and_removed_beside_open_orders() {
    let mut all = journal_of(2_000);
    all.truncate(3);
    all.extend(of_longer_lists(2));
    for (setup, bank, pair) in [(longer(), 1, 1), (setup(), 0, 0)] {
        let found = read_by(&setup, &all).expect("a journal");
        let trading = found.engine.trading();
        assert_eq!(trading.positions().of(pair).units, 1_000);
        let order = trading.orders().get(0);
        assert_eq!((order.terms.bank, order.terms.pair), (bank, pair));
        assert!(order.state().is_end() && !trading.parents().get(0).is_working());
        assert_eq!(found.numbers[bank].both(), (10, 3));
    }
}

/// A pair or a bank of an order that was adopted must be configured as that of any other order: its position would be lost, and its
/// number used again.
#[test]
fn an_adopted_order_needs_its_bank_and_pair() {
    let mut labels = longer().labels;
    labels.prefix = Id::lossy(b"Te1");
    let adopted = |bank: usize, pair: usize| {
        let terms = Terms {
            id: Id::lossy(b"Te1-P9-1"),
            bank,
            pair,
            ..Terms::SAMPLE
        };
        let parent_terms = ParentTerms {
            id: Id::lossy(b"Te1-P9-1"),
            pair,
            side: Side::Bid,
            quantity: 1,
            limit: None,
            lifetime: Lifetime::Deadline,
            deadline_ms: 0,
            urgency: 1,
            style: Style::Best,
            partial: true,
        };
        let adopted = Event::Adopted(Box::new(Adopted {
            number: 0,
            terms,
            parent: 0,
            parent_terms,
            of: Id::lossy(b"P9"),
        }));
        let all = [
            batch(0, 1, |record| record.run(1, "20260105", &labels, &[])),
            batch(30, 2, |record| {
                record.event(&labels, &Batch::default(), &(30, adopted), 0);
            }),
        ];
        read(&all).map(drop)
    };
    for (bank, pair, name) in [(0, 1, "is of N"), (1, 0, "is of USD/JPY")] {
        let error = adopted(bank, pair).expect_err("it is not configured");
        assert!(error.to_string().contains(name), "{error}");
    }
    // Both are configured, and the bank's report made no order: it has the pair no more.
    let error = adopted(1, 1).expect_err("there is no order");
    assert!(error.to_string().contains("Te1-P9-1"), "{error}");
}

/// A report that made no order, since its bank did not have the pair, makes none when the bank has it: the desk may have booked its fills.
#[test]
fn a_report_that_made_no_order_makes_none_later() {
    let mut boot = Vec::new();
    let kind = Record::Boot {
        at_ns: 5,
        id: [1; 16],
        lacks_before: 2,
    }
    .encode(&mut boot);
    let labels = setup().labels;
    let not_adopted = Event::Alarm {
        what: Alarm::NotAdopted,
        bank: Some(0),
        order: Some(Id::lossy(b"Te1-P1-1")),
    };
    let with = |event: Option<Event>| {
        let mut all = vec![run(2, "D"), (kind, boot.clone())];
        all.push(batch(30, 2, |record| {
            record.session(0, SessionChange::Up);
            record.received(0, &report());
            if let Some(event) = event {
                record.event(&labels, &Batch::default(), &(30, event), 0);
            }
        }));
        read(&all)
    };
    let adopted = with(None).expect("a journal").engine;
    assert_eq!(adopted.trading().positions().of(0).units, 1_000);
    let error = with(Some(not_adopted)).expect_err("it would be a second position");
    let error = error.to_string();
    let words = [
        "order Te1-P1-1",
        "A did not have EUR/USD",
        "remove the pair",
    ];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}
