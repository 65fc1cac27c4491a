//! A program that trades through the client: it sees and is refused what the command sees and is refused.

use super::full_disk::logged;
use super::live::{end, start};
use super::trade::Market;
use super::trade_hostile::ENGINE;
use crate::command::Run;
use crate::command::examples::{build_examples, example};
use crate::command::until;
use serde_json::Value;
use std::time::Duration;
use touchline_client::fx::{
    BusEvent, Command, Desk, Event, Options, Order, ParentRow, name, new_name,
};
use touchline_client::{Bus, Side};
use touchline_fx_desk::DeskClient;
use touchline_testing::built;
use touchline_transport::bus::{Polled, Root, Subscription};
use touchline_types::Id;

/// Clients besides `desk` and `chief`.
const CLIENTS: &str = "\n[[clients]]\nname = \"guest\"\nmay = [\"send\"]\nmax_order = 5000\n";
/// Ring of the drop copy in the test of a slow reader.
const RING_BYTES: u64 = 524_288;
/// Longest wait for what must come.
const HANGS: Duration = Duration::from_secs(60);

fn options(market: &Market) -> Options {
    Desk::options().directory(market.desk.path("buses"))
}

pub fn join(market: &Market) -> Desk {
    options(market).join("fx-run").expect("an engine")
}

fn id(text: &str) -> Id {
    name(text).expect("a name")
}

pub fn buy(parent: &str, pair: &str, quantity: i64) -> Order {
    Order::new(id(parent), id(pair), Side::Bid, quantity)
}

/// Reads until a parent has no open order; returns the events.
#[track_caller]
fn settle(desk: &mut Desk, parent: Id) -> Vec<Event> {
    let mut events = Vec::new();
    touchline_testing::until(&format!("the end of {parent}"), HANGS, || {
        if desk.parent(parent).is_some_and(|row| row.is_settled) {
            return Ok(());
        }
        let next = desk.next_within(Duration::from_millis(100));
        events.extend(next.expect("a journal"));
        Err(format!("{events:?}"))
    });
    // Events that were read together with the end.
    while let Some(event) = desk.next_within(Duration::ZERO).expect("a journal") {
        events.push(event);
    }
    events
}

/// Units of the fills of parents whose names start so.
fn filled(events: &[Event], start: &str) -> i64 {
    let fills = events.iter().filter_map(|event| match event {
        Event::Fill(row) => Some(row.fill),
        _ => None,
    });
    let of = |parent: Option<Id>| parent.is_some_and(|id| id.as_str().starts_with(start));
    let fills = fills.filter(|fill| of(fill.parent));
    fills.map(|fill| fill.quantity).sum()
}

/// The state is that of a program that joins now, and of `fx report`.
#[track_caller]
fn assert_complete(market: &Market, desk: &Desk) {
    let fresh = join(market);
    assert_eq!(desk.parents(), fresh.parents());
    assert_eq!(desk.fills(), fresh.fills());
    assert_eq!(desk.positions(), fresh.positions());
    assert!(desk.orders().eq(fresh.orders()));
    let report = "fx report --config fx/run.toml --out read";
    let said = market.desk.run(report).done();
    let rows = said.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        let text = |key: &str| line[key].as_str().expect("a text").to_owned();
        let units = line["position"].as_i64().expect("units");
        (text("pair"), units, text("cash"))
    });
    let kept = desk.positions().iter();
    let kept = kept.map(|(pair, row)| (pair.clone(), row.position, row.cash.clone()));
    assert!(kept.eq(rows), "{}", said.stdout);
    let table = market.desk.read("read/fills.csv");
    let lines = table.lines().skip(1).count();
    assert_eq!(desk.ledger().fill_count, lines as u64);
    for (row, line) in desk.fills().iter().rev().zip(table.lines().rev()) {
        assert!(line.contains(row.fill.exec_id.as_str()), "{line} {row:?}");
    }
}

/// A program reads the composite and sends an order; it sees the same order and positions that the command prints.
#[test]
fn a_program_reads_trades_and_has_the_positions_of_the_report() {
    let market = Market::open("fx-program", &["[banks.orders]"; 2]);
    let line = "fx compose --config fx/compose.toml --until-eof";
    let composer = start(&market.desk, line, "composer.txt");
    let engine = market.engine("engine.txt");
    let composite = Bus::options().directory(market.desk.path("buses"));
    let mut composite = composite.wait(HANGS).join("fx").expect("a composite");
    composite.ready(HANGS).expect("live books");
    let pair = composite.instrument("EUR/USD").expect("a pair");
    let book = composite.book(pair).expect("a book");
    let ask = book.levels(Side::Ask).next().expect("an ask");
    assert!(ask.price.0 > 1_000_000_000, "{ask:?}");

    let mut desk = join(&market);
    let parent = desk
        .send(&buy("P1", "EUR/USD", 4_000_000))
        .expect("accepted");
    assert!(desk.parent(parent).is_some(), "the state has it at once");
    let events = settle(&mut desk, parent);
    assert_eq!(filled(&events, "P1"), 4_000_000, "{events:?}");
    let orders = events
        .iter()
        .filter(|event| matches!(event, Event::Order(row) if row.parent == parent));
    assert!(orders.count() > 0, "{events:?}");
    let row = desk.parent(parent).expect("it is kept");
    let (state, filled) = (row.state.as_str(), row.filled);
    assert_eq!((state, filled), ("filled", 4_000_000), "{row:?}");
    assert_complete(&market, &desk);
    // A parent that cannot be filled waits, and is canceled.
    let order = Order {
        limit: Some(id("0.9")),
        ..buy("P2", "EUR/USD", 1_000)
    };
    let parent = desk.send(&order).expect("accepted");
    assert_eq!(desk.cancel(parent).expect("done"), "done");
    settle(&mut desk, parent);
    let state = |row: &ParentRow| row.state.clone();
    assert_eq!(desk.parent(parent).map(state).as_deref(), Some("cancel"));
    examples_trade(&market);
    end(engine);
    end(composer);
}

/// The examples of the client, of the Python package and of the C library, in C and C++, each buy 1,000, and print the positions that a desk has.
fn examples_trade(market: &Market) {
    build_examples();
    let python = python(market).map(|mut python| {
        python.arg(built::root().join("crates/python/examples/desk.py"));
        python
    });
    let programs = [
        Some(std::process::Command::new(example("desk"))),
        python,
        in_c(market),
        compiled(market, "g++", &["-std=c++17"], "examples", "desk.cpp"),
    ];
    for mut program in programs.into_iter().flatten() {
        let text = printed(market, &mut program);
        let mut lines = text.lines().skip_while(|line| line.starts_with("parent w"));
        let fill = lines.next().unwrap_or_default();
        assert!(fill.starts_with("fill 1000 at 1."), "{text}");
        assert_eq!(lines.next(), Some("parent filled"), "{text}");
        let desk = join(market);
        let rows = desk.positions().iter();
        let rows = rows.map(|(pair, row)| format!("position {pair} {}", row.position));
        assert!(rows.eq(lines), "{text}");
    }
}

/// A program of the C library; `None`: reported as skipped.
pub fn compiled(
    market: &Market,
    compiler: &str,
    options: &[&str],
    folder: &str,
    source: &str,
) -> Option<std::process::Command> {
    let libraries = built::build("-p touchline-capi");
    let program = market.desk.path(&format!("{source}.program"));
    let compiled = std::process::Command::new(compiler)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(built::root().join("crates/capi/include"))
        .arg(built::root().join("crates/capi").join(folder).join(source))
        .arg("-o")
        .arg(&program)
        .arg(libraries.join("libtouchline.so"))
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .status();
    match compiled {
        Ok(status) => assert!(status.success(), "{compiler}: {status}"),
        Err(_) => {
            touchline_testing::skip(&format!("there is no {compiler}"));
            return None;
        }
    }
    Some(std::process::Command::new(&program))
}

/// The example in C, after a run of it that ends with a refusal in the words of the command.
fn in_c(market: &Market) -> Option<std::process::Command> {
    let mut command = compiled(market, "gcc", &["-std=c11"], "examples", "desk.c")?;
    command.env("TOUCHLINE_DIR", market.desk.path("buses"));
    let output = command.output().expect("the program starts");
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = market.send("EUR/USD buy 1001").stderr;
    assert!(refused.starts_with("refused: "), "{refused}");
    assert!(said.ends_with(&refused), "{said} and {refused}");
    Some(command)
}

/// Output of a program that must end without an error.
#[track_caller]
pub fn printed(market: &Market, program: &mut std::process::Command) -> String {
    let output = program
        .env("TOUCHLINE_DIR", market.desk.path("buses"))
        .output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// An interpreter that finds the Python package; `None`: reported as skipped.
fn python(market: &Market) -> Option<std::process::Command> {
    let interpreter = built::python("python-tests", &["numpy", "pytest"])?;
    let package = built::python_package(&market.desk.path("packages"));
    let mut python = std::process::Command::new(interpreter);
    python
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Some(python)
}

/// A refusal of a program is the sentence that the command prints for the same.
#[test]
fn a_program_is_refused_in_the_words_of_the_command() {
    let market = Market::open("fx-program-refused", &["[banks.orders]"]);
    let text = market.desk.read("fx/run.toml") + CLIENTS;
    market.desk.write("fx/run.toml", text);
    let engine = market.engine("engine.txt");
    let mut desk = join(&market);
    let mut guest = options(&market)
        .client("guest")
        .join("fx-run")
        .expect("an engine");
    desk.send(&buy("P1", "EUR/USD", 1_000)).expect("accepted");
    let said = |run: Run| {
        assert_eq!(run.status, 1, "{run:?}");
        run.stderr
    };
    let send = |order: &str| said(market.send(order));
    let run = |line: &str| said(market.desk.run(line));
    let limited = Order {
        limit: Some(id("1.100001")),
        ..buy("P9", "EUR/USD", 1_000)
    };
    for (order, line) in [
        (buy("P1", "EUR/USD", 1_000), "EUR/USD buy 1000 --id P1"),
        (buy("P9", "EUR/USD", 1_001), "EUR/USD buy 1001 --id P9"),
        (buy("P9", "EUR/CHF", 1_000), "EUR/CHF buy 1000 --id P9"),
        (limited, "EUR/USD buy 1000 --id P9 --limit 1.100001"),
    ] {
        assert_refused(desk.send(&order), &send(line));
    }
    let large = guest.send(&buy("P9", "EUR/USD", 6_000));
    assert_refused(large, &send("EUR/USD buy 6000 --id P9 --as guest"));
    assert_refused(guest.cancel(id("P1")), &run("fx cancel P1 --as guest"));
    assert_refused(guest.kill(), &run("fx kill --as guest"));
    assert_refused(desk.cancel(id("P77")), &run("fx cancel P77"));
    let (bank, pair) = (id("LP77"), id("EUR/USD"));
    let enabled = desk.command(&Command::Enable { bank, pair });
    assert_refused(enabled, &run("fx enable LP77 EUR/USD"));
    if let Some(mut python) = python(&market) {
        python.arg(built::root().join("crates/python/tests/desk_refused.py"));
        let said = [
            send("EUR/USD buy 1001 --id P9"),
            send("EUR/CHF buy 1000 --id P9"),
            send("EUR/USD buy 1000 --id P9 --limit 1.100001"),
            send("EUR/USD buy 6000 --id P9 --as guest"),
            run("fx cancel P1 --as guest"),
            run("fx kill --as guest"),
            run("fx cancel P77"),
        ];
        let said = said.map(|line| line.replace("touchline: ", ""));
        assert_eq!(printed(&market, &mut python), said.concat());
    }
    assert_eq!(desk.kill().expect("done"), "done");
    assert!(desk.ledger().killed.is_some(), "the state has it at once");
    let killed = desk.send(&buy("P9", "EUR/USD", 1_000));
    assert_refused(killed, &send("EUR/USD buy 1000 --id P9"));
    // A name without a ring gets no answer, and an engine that has ended cannot be joined.
    end(engine);
    let ended = options(&market).join("fx-run").map(drop);
    assert_said(ended, &send("EUR/USD buy 1000 --id P9"));
    let ended = options(&market).join("fx-run-standby").map(drop);
    let ended = ended.expect_err("none").to_string();
    assert!(
        ended.contains("no standby on bus fx-run-standby"),
        "{ended}"
    );
    let killed = touchline_client::fx::kill(
        &options(&market).address("fx-run").expect("of this user"),
        false,
    );
    assert_said(killed, &run("fx kill"));
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, touchline_client::fx::Error>, said: &str) {
    let text = outcome.as_ref().err().map(ToString::to_string);
    assert!(
        text.is_some_and(|text| text.starts_with("refused: ")),
        "{outcome:?}"
    );
    assert_said(outcome, said);
}

#[track_caller]
fn assert_said<T: std::fmt::Debug>(outcome: Result<T, touchline_client::fx::Error>, said: &str) {
    let text = outcome.expect_err("an error").to_string();
    assert!(said.trim_end().ends_with(&text), "{text:?} and {said:?}");
}

/// Ctrl-C ends each wait of a Python program soon: the exception says whether the command was sent, and one that was sent is executed.
#[test]
fn a_python_program_is_interrupted_while_the_engine_does_not_answer() {
    let market = Market::open("fx-program-interrupted", &["[banks.orders]"]);
    let engine = market.engine("engine.txt");
    let mut desk = join(&market);
    let phase = |phase: &str| -> Option<String> {
        let mut python = python(&market)?;
        python.arg(built::root().join("crates/python/tests/desk_interrupted.py"));
        Some(printed(&market, python.arg(phase)))
    };
    if phase("joins").is_none() {
        return;
    }
    let root = Root::at(market.desk.path("buses"));
    let ring = DeskClient::open(&root, "fx-run", "desk").expect("nobody else has it");
    phase("ring");
    drop(ring);
    engine.signal("STOP");
    let sent = phase("commands").expect("it has run before");
    engine.signal("CONT");
    let sent = id(sent.trim_end());
    settle(&mut desk, sent);
    let ended = desk.parent(sent).map(|row| row.is_ended);
    assert_eq!(ended, Some(true), "the cancel is executed, too");
    engine.signal("STOP");
    phase("kill");
    engine.signal("CONT");
    until("a kill", || {
        desk.poll().expect("a journal");
        desk.ledger().killed.is_some()
    });
    end(engine);
}

/// An engine that is killed and started again while a program reads: it hears of both, and has the state of the journal.
#[test]
fn a_program_reads_on_after_a_kill_of_its_engine() {
    let market = Market::open("fx-program-killed", &["[banks.orders]"; 2]);
    let mut engine = market.engine("engine.txt");
    let mut desk = join(&market);
    let mut events = Vec::new();
    for (round, output) in ["again1", "again2"].iter().enumerate() {
        let parent = id(&format!("K{round}"));
        desk.send(&Order {
            id: parent,
            ..buy("K", "EUR/USD", 2_000_000)
        })
        .expect("accepted");
        engine.kill();
        engine = logged(&market.desk, ENGINE, output);
        events.extend(settle(&mut desk, parent));
        until("an engine that trades", || {
            let order = Order {
                id: new_name(),
                ..buy("N", "EUR/USD", 1_000)
            };
            let sent = desk.send(&order);
            sent.is_ok_and(|parent| {
                events.extend(settle(&mut desk, parent));
                desk.parent(parent).is_some_and(|row| row.filled == 1_000)
            })
        });
    }
    let of_bus = events.iter().filter_map(|event| match event {
        Event::Bus(event) => Some(*event),
        _ => None,
    });
    let starts = of_bus.filter(|event| matches!(event, BusEvent::Restarted { .. }));
    assert_eq!(starts.count(), 2, "{events:?}");
    assert!(desk.has_engine());
    assert_complete(&market, &desk);
    end(engine);
}

/// A program that does not read while the ring of the drop copy wraps gets an event that says so, and has every event from the journal.
#[test]
fn a_program_that_was_overrun_is_complete_again() {
    let market = Market::open("fx-program-overrun", &["[banks.orders]"; 2]);
    let text = market.desk.read("fx/run.toml");
    let ring = format!("[run]\nring_bytes = {RING_BYTES}\n");
    market
        .desk
        .write("fx/run.toml", text.replace("[run]\n", &ring));
    let engine = market.engine("engine.txt");
    let (mut slow, mut desk) = (join(&market), join(&market));
    let root = Root::at(market.desk.path("buses"));
    let mut ring = Subscription::<0>::join(&root, "fx-run", [], false).expect("a bus");
    let (from, mut sent) = (ring.position(), 0);
    while ring.position() <= from + RING_BYTES + RING_BYTES / 4 {
        // A client may send 100 in a second.
        std::thread::sleep(Duration::from_millis(12));
        let parent = id(&format!("L{sent}"));
        let side = [Side::Bid, Side::Ask][sent as usize % 2];
        let order = Order {
            side,
            id: parent,
            ..buy("L", "EUR/USD", 1_000)
        };
        desk.send(&order).expect("accepted");
        settle(&mut desk, parent);
        sent += 1;
        while !matches!(ring.poll(|_| ()), Ok(Polled::Nothing)) {}
    }
    let mut events = settle(&mut slow, id(&format!("L{}", sent - 1)));
    until("the last fill", || {
        events.extend(slow.poll().expect("a journal"));
        filled(&events, "L") >= sent * 1_000
    });
    assert_eq!(filled(&events, "L"), sent * 1_000);
    let overrun = |event: &Event| matches!(event, Event::Bus(BusEvent::Overrun { messages, .. }) if *messages > 0);
    assert!(events.iter().any(overrun), "{events:?}");
    assert_complete(&market, &slow);
    end(engine);
}
