//! The engine after its death, and after that of its host.

use crate::rig::{Fields, Rig, SMALL, copy, name, order, value};
use std::fs;
use touchline_fx_desk::records;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::encoding::{Entry, kind, kinds};
use touchline_fx_events::event::Event;
use touchline_fx_events::lines::{LineKind, lines_of};
use touchline_fx_events::parents::Lifetime;
use touchline_fx_live::execution::{Incident, Standby};
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF};
use touchline_lab::bank::scripted::{acknowledged, trade};
use touchline_transport::bus::Root;
use touchline_transport::shm::ProcessView;

/// The order is unknown and asked for; no message of it is sent again, and the next message has the next number.
#[test]
fn a_killed_engine_asks_for_its_order_and_has_its_position() {
    let mut rig = Rig::open(SMALL, "");
    let filled = rig.order("P1");
    rig.bank.fill(&filled, "X1");
    rig.until("a fill", |rig| rig.trader().totals().fills == 1);
    let out = rig.order("P2");
    rig.crash();
    rig.start();
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        1_000_000
    );
    assert_eq!(rig.trader().engine().trading().orders().unknown(), 1);
    rig.until("a question", |rig| rig.bank.count("H") > 0);
    let asked = rig.bank.take("H");
    assert_eq!(value(&asked, 11), value(&out, 11));
    assert_eq!(rig.bank.count("D"), 0);
    // A bank rejects a Logon with a number that it already received.
    let is_down = |incident: &Incident| matches!(incident, Incident::SessionDown { .. });
    assert!(!rig.incidents.iter().any(is_down), "{:?}", rig.incidents);
    rig.bank.fill(&out, "X2");
    // A report that comes again is booked once.
    rig.bank.fill(&out, "X2");
    rig.bank.fill(&filled, "X1");
    rig.until("an outcome", |rig| {
        rig.trader().engine().trading().orders().unknown() == 0
    });
    rig.rounds(50);
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        2_000_000
    );
    // An id of this run.
    let next = rig.order("P3");
    assert!(value(&next, 11).starts_with("Te2-P3-"), "{next:?}");
}

/// An order that is out over two restarts keeps its bank and its pair, while a pair and a bank are added before them and removed again: it
/// is asked for, its fill is booked, and the journal of all runs is read.
#[test]
fn an_order_keeps_its_pair_when_pairs_and_banks_are_added_before_it() {
    let mut rig = Rig::open(SMALL, "");
    let out = rig.order("P1");
    rig.crash();
    let pair = "[[pairs]]\nsymbol = \"EUR/USD\"";
    let pairs = format!(
        "[[pairs]]\nsymbol = \"USD/JPY\"\nprecision = 3\nspot_date = \"20260107\"\n{PAIR_OFF}{pair}"
    );
    let bank = "[[banks]]\nname = \"LP01\"";
    let banks = format!(
        "[[sessions]]\nbank = \"LP00\"\nhost = \"127.0.0.1:1\"\nsender = \"T\"\n\
         [[banks]]\nname = \"LP00\"\npairs = [\"USD/JPY\"]\nstatus_final = true\n{BANK_OFF}\n{bank}"
    );
    rig.set(pair, &pairs);
    rig.start_with(bank, &banks);
    rig.until("a question", |rig| rig.bank.count("H") > 0);
    let asked = rig.bank.take("H");
    let of_order = (value(&out, 11), value(&out, 55));
    assert_eq!((value(&asked, 11), value(&asked, 55)), of_order);
    rig.crash();
    rig.start();
    rig.bank.fill(&out, "X1");
    rig.until("an outcome", |rig| {
        rig.trader().engine().trading().orders().unknown() == 0
    });
    rig.crash();
    rig.set(&pairs, pair);
    rig.start_with(&banks, bank);
    let units = |rig: &Rig| rig.trader().engine().trading().positions().of(0).units;
    assert_eq!(units(&rig), 1_000_000);
    let (journal, mut lines) = (rig.folder.join("journal"), String::new());
    let read = records::read(&journal, |_, labels, at_ns, entry, batch| {
        let labels = (labels, batch);
        lines_of(labels, at_ns, &entry, &mut String::new(), |kind, line| {
            if matches!(kind, LineKind::Order | LineKind::Fill) {
                lines.push_str(line);
            }
        });
    });
    read.expect("a journal");
    let is_other = lines.contains("USD/JPY") || lines.contains("LP00");
    assert!(lines.contains("790=") && !is_other, "{lines}");
}

/// An engine or a standby that is dropped, as after an error, leaves its counters, for the alert that it is gone. After an end in order
/// there are none.
#[test]
fn an_engine_that_fails_leaves_its_counters() {
    let mut rig = Rig::open(SMALL, "");
    let root = Root::at(rig.folder.join("buses"));
    let left = || {
        let all = ProcessView::all(&root).expect("our folder");
        let view = |view: ProcessView| (view.name, view.process.is_some());
        all.into_iter().map(view).collect::<Vec<_>>()
    };
    let engine = |is_alive| ("fx-run".to_owned(), is_alive);
    let standby = |is_alive| ("fx-run-standby".to_owned(), is_alive);
    assert_eq!(left(), [engine(true)]);
    rig.trader = None;
    assert_eq!(left(), [engine(false)]);
    let follows = Standby::open(&rig.config()).expect("a standby");
    assert_eq!(left(), [engine(false), standby(true)]);
    drop(follows);
    assert_eq!(left(), [engine(false), standby(false)]);
    let follows = Standby::open(&rig.config()).expect("a standby");
    follows.finish();
    rig.start();
    let trader = rig.trader.take().expect("an engine");
    trader.finish().expect("the disk is writable");
    assert_eq!(left(), []);
}

/// A parent that ended without an order, as it found no price at once, or at its deadline after the last record, ends
/// once: the next start does not report it as ended by the restart.
#[test]
fn a_parent_that_ended_does_not_end_again_at_the_next_start() {
    let mut rig = Rig::open(SMALL, "");
    rig.show(110_000);
    let parents = [
        ("P1", Lifetime::Immediate, 0),
        ("P2", Lifetime::AllOrNothing, 0),
        ("P3", Lifetime::Deadline, 50),
        ("P4", Lifetime::Deadline, 60_000),
    ];
    for (id, lifetime, deadline_ms) in parents {
        rig.command(Command::Parent(Order {
            limit: Some(name("1.09000")),
            lifetime,
            deadline_ms,
            ..order(id, 1_000_000)
        }));
    }
    rig.until("three ends", |rig| {
        let engine = rig.trader().engine();
        rig.trader().totals().commands == 4 && engine.trading().parents().live().len() == 1
    });
    // A crash, a restart, and an orderly end.
    rig.crash();
    rig.start();
    rig.start();
    rig.trader
        .take()
        .expect("an engine")
        .finish()
        .expect("ends");
    let mut ends = Vec::new();
    let read = records::read(&rig.folder.join("journal"), |_, _, _, entry, _| {
        if let Entry::Event(Event::Ended(end), _) = entry {
            let reason = end.reason.expect("an end has a reason").name();
            ends.push((end.parent.id.to_string(), reason.to_owned()));
        }
    });
    read.expect("a journal");
    let expected = [
        ("P1", "ioc"),
        ("P2", "fok"),
        ("P3", "deadline"),
        ("P4", "restart"),
    ];
    let expected = expected.map(|(id, reason)| (id.to_owned(), reason.to_owned()));
    assert_eq!(ends, expected);
}

/// With `recover = "AF"` one mass status asks for all unknown orders; an order that is missing in its answer gets a question.
#[test]
fn one_mass_status_asks_for_all_and_a_missing_order_is_asked_for() {
    let mut rig = Rig::open(SMALL, "recover = \"AF\"");
    let known = rig.order("P1");
    let missing = rig.order("P2");
    rig.crash();
    rig.start();
    rig.until("a mass status", |rig| rig.bank.count("AF") > 0);
    let asked = rig.bank.take("AF");
    rig.rounds(50);
    assert_eq!(rig.bank.count("H"), 0, "one question for all");
    mass_report(&mut rig, &known, value(&asked, 584), "1");
    rig.until("a question", |rig| rig.bank.count("H") > 0);
    let question = rig.bank.take("H");
    assert_eq!(value(&question, 11), value(&missing, 11));
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        1_000_000
    );
    assert_eq!(rig.trader().engine().trading().orders().unknown(), 1);
    unknown_order(&mut rig, &missing, value(&question, 790));
    rig.until("an outcome", |rig| {
        rig.trader().engine().trading().orders().unknown() == 0
    });
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        1_000_000
    );
}

/// Shared memory is lost with the host: the journal on the disk is continued, under another epoch, and with numbers
/// that no lost message can have used.
#[test]
fn after_a_restart_of_the_host_no_number_and_no_id_is_used_again() {
    let mut rig = Rig::open(
        &format!("sync = \"disk\"\nsync_wait_ms = 10000\n{SMALL}"),
        "",
    );
    let order = rig.order("P1");
    let number: u64 = value(&order, 34).parse().expect("a number");
    rig.reboot();
    rig.start();
    assert!(rig.trader().start().is_other_boot);
    assert_eq!(rig.trader().start().epoch, 2);
    rig.until("a question", |rig| rig.bank.count("H") > 0);
    let question = rig.bank.take("H");
    assert_eq!(value(&question, 11), value(&order, 11));
    let next: u64 = value(&question, 34).parse().expect("a number");
    assert!(next > number + 10_000, "{next}");
}

/// Records that were not on the disk are lost with the host, an order among them: the bank is asked for all its orders,
/// gets none before it has answered, and the order is adopted; also after a further death of the process.
#[test]
fn an_order_that_a_loss_of_power_took_from_the_journal_is_adopted() {
    let mut rig = Rig::open(SMALL, "");
    let (journal, old) = (rig.folder.join("journal"), rig.folder.join("old"));
    rig.order("P0");
    // State of the disk, as soon as it has this order.
    rig.until("an order on the disk", |_| {
        copy(&journal, &old);
        let mut orders = 0;
        let count = |entry: &touchline_journal::Entry<'_>| {
            let is_order = |of: &u8| *of == kind::ORDER;
            orders += kinds(entry.body).filter(is_order).count();
        };
        touchline_journal::read(&old, false, count).is_ok() && orders == 1
    });
    let lost = rig.order("P1");
    rig.reboot();
    fs::remove_dir_all(&journal).expect("our folder");
    copy(&old, &journal);
    rig.start();
    let is_told = |incident: &Incident| {
        let text = incident.to_string();
        matches!(incident, Incident::Rebooted { .. })
            && text.matches("in boot ").count() == 2
            && text.contains("--dir")
    };
    rig.until("a mass status", |rig| rig.bank.count("AF") > 0);
    assert!(rig.incidents.iter().any(is_told), "{:?}", rig.incidents);
    assert!(rig.trader().totals().alarms > 0, "that is an alarm");
    rig.bank.take("AF");
    // The process dies before the answer: its successor has its shared memory, and asks all the same.
    rig.crash();
    rig.start();
    rig.until("a mass status", |rig| rig.bank.count("AF") > 0);
    let asked = rig.bank.take("AF");
    rig.show(110_000);
    rig.buy("P2", 110_000);
    rig.rounds(100);
    assert_eq!(rig.bank.count("D"), 0, "before it has answered");
    let counters = rig.trader().counters();
    // P0 has ended, and its order has no outcome yet.
    assert_eq!((counters.fx_asking, counters.fx_parents_open), (1, 2));
    let question = rig.bank.take("H");
    unknown_order(&mut rig, &question.clone(), value(&question, 790));
    mass_report(&mut rig, &lost, value(&asked, 584), "1");
    rig.until("an order", |rig| rig.bank.count("D") > 0);
    let is_adopted = |incident: &Incident| {
        let text = incident.to_string();
        text.contains("adopted") && text.contains(value(&lost, 11))
    };
    assert!(rig.incidents.iter().any(is_adopted), "{:?}", rig.incidents);
    let out = rig.bank.take("D");
    let counters = rig.trader().counters();
    assert_eq!((counters.fx_asking, counters.fx_parents_open), (0, 1));
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        1_000_000
    );
    // The fill is in the journal like every other.
    rig.bank.fill(&out, "X9");
    rig.until("a fill", |rig| rig.trader().totals().fills > 1);
    rig.crash();
    rig.start();
    assert_eq!(
        rig.trader().engine().trading().positions().of(0).units,
        2_000_000
    );
    assert!(rig.trader().engine().trading().has_said_all(0));
}

/// The journal has the parent and one of its two orders: the desk cancels the other one, which the bank reports, by the
/// parent's name.
#[test]
fn an_adopted_order_is_canceled_by_the_name_of_a_parent_that_the_journal_has() {
    let mut rig = Rig::open(SMALL, "");
    let mut lost = rig.order("P1");
    let known = value(&lost, 11).to_owned();
    for field in lost.iter_mut().filter(|field| field.0 == 11) {
        let (parent, _) = field.1.rsplit_once('-').expect("parent and number");
        field.1 = format!("{parent}-2");
    }
    rig.reboot();
    rig.start();
    rig.until("a mass status", |rig| rig.bank.count("AF") > 0);
    let cancel = Command::Cancel { id: name("P1") };
    rig.command(cancel);
    rig.until("a command", |rig| rig.trader().totals().commands == 1);
    rig.bank.report(&acknowledged(&lost, "0", "I"));
    rig.until("an adopted order", |rig| {
        rig.trader().counters().fx_parents_open == 2
    });
    // The order that the journal has is canceled, since it may live; the other one was not known then.
    assert_eq!(value(&rig.bank.take("F"), 41), known);
    assert_eq!(rig.bank.count("F"), 0);
    rig.command(cancel);
    rig.until("a cancel", |rig| rig.bank.count("F") > 0);
    assert_eq!(value(&rig.bank.take("F"), 41), value(&lost, 11));
}

/// The one and last report of a mass status: the order is filled.
fn mass_report(rig: &mut Rig, order: &Fields, request: &str, count: &str) {
    let mass = [(584, request), (911, count), (912, "Y")];
    let fields = [(150, "I"), (44, ""), (32, ""), (31, "")];
    rig.bank
        .report(&trade(order, "0", &[&fields[..], &mass].concat()));
}

/// "Unknown order", the answer to a question.
fn unknown_order(rig: &mut Rig, order: &Fields, request: &str) {
    rig.bank.report(&[
        (37, "NONE"),
        (17, "0"),
        (150, "I"),
        (39, "8"),
        (103, "5"),
        (11, value(order, 11)),
        (55, value(order, 55)),
        (54, value(order, 54)),
        (151, "0"),
        (14, "0"),
        (6, "0"),
        (790, request),
    ]);
}
