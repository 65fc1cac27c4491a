//! Commands of the desk, as a script and as two persons use them: exit statuses of `fx send`, and bookings.

use super::full_disk::logged;
use super::live::end;
use super::trade::Market;
use super::trade_hostile::ENGINE;
use crate::command::{Run, until};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use touchline_testing::Process;

/// A market whose engine trades.
fn open(name: &str) -> (Market, Process) {
    let market = Market::open(name, &["[banks.orders]"]);
    let engine = market.engine("engine.txt");
    (market, engine)
}

/// The exit status tells a script the result of an order: 0 accepted or filled, 1 refused, not filled, without an answer or without an
/// engine, 2 for arguments that are wrong before an engine is asked.
#[test]
fn the_exit_status_of_send_says_what_became_of_the_order() {
    let (market, engine) = open("fx-send-status");
    let status = |order: &str| market.send(order).status;
    assert_eq!(status("EUR/USD buy 1000"), 0, "accepted");
    assert_eq!(status("EUR/USD buy 1000 --tif ioc --wait"), 0, "filled");
    let never = "EUR/USD buy 1000 --limit 0.5 --tif ioc";
    assert_eq!(status(never), 0, "accepted, whatever becomes of it");
    assert_eq!(status(&format!("{never} --wait")), 1, "nothing filled");
    assert_eq!(status("EUR/USD buy 1001"), 1, "refused");
    for wrong in [
        "EUR/USD buy many",
        "EUR/USD hold 1000",
        "EUR/USD buy 1000 --urgency 3",
        "EUR/USD buy 1000 --config gone.toml",
        "EUR/USD buy 1000 --as nobody --config fx/run.toml",
    ] {
        assert_eq!(status(wrong), 2, "{wrong}");
    }
    let long = "x".repeat(65);
    for wrong in [long.as_str(), "é"] {
        market
            .send(&format!("EUR/USD buy 1000 --id {wrong}"))
            .refused(2, &["--id", "at most 64 letters"]);
    }
    market
        .send(&format!("EUR/USD buy 1000 --id {}", &long[1..]))
        .refused(1, &["refused: bad_order: id: 1 to 32 bytes"]);
    end(engine);
    market.send("EUR/USD buy 1000").refused(
        1,
        &["the engine on bus fx-run has ended", "touchline fx run"],
    );
}

/// The name of an order that the command has made is in every failure behind which the order may be executed: given with `--id` it is one
/// order, and a person who repeats the command under a new name trades twice.
#[test]
fn a_send_without_an_answer_or_an_end_names_its_order() {
    let (market, engine) = open("fx-send-name");
    let named = |said: &str| {
        let name = said.split("give --id ").nth(1);
        let name = name.and_then(|rest| rest.split(',').next());
        name.unwrap_or_else(|| panic!("no name: {said}")).to_owned()
    };
    let started = |line: &str| Process::start(&mut market.desk.command(&format!("fx send {line}")));
    let interrupted = |mut sent: Process| {
        sent.signal("INT");
        (sent.wait().code(), sent.err())
    };
    engine.signal("STOP");
    let sent = market.send("EUR/USD buy 1000");
    let unanswered = sent.stderr.clone();
    sent.refused(1, &["no answer within 8 s", "is in the journal"]);
    let mut cut = String::new();
    until("an interrupt behind the command", || {
        let sent = started("EUR/USD buy 1000");
        // A process that starts late has sent nothing.
        sleep(Duration::from_millis(500));
        let (status, said) = interrupted(sent);
        cut = said;
        status == Some(1) && cut.contains("interrupted after the command was sent")
    });
    engine.signal("CONT");
    for said in [&unanswered, &cut] {
        let name = named(said);
        assert!(said.contains(&format!("the order is {name};")), "{said}");
        let again = format!("EUR/USD buy 1000 --id {name}");
        // The engine may find the first one in time.
        let first = market.send(&again);
        assert!(
            first.status == 0 || first.stderr.contains("duplicate_id"),
            "{first:?}"
        );
        market.send(&again).refused(1, &["refused: duplicate_id"]);
    }
    let working = "EUR/USD buy 1000 --limit 0.5 --wait";
    let parents = || {
        let shown = market
            .desk
            .run("fx blotter --config fx/run.toml --once")
            .done();
        shown.stdout.matches(" 0.5 ").count()
    };
    let waiting = started(working);
    until("its wait", || parents() == 1);
    let (status, cut) = interrupted(waiting);
    assert_eq!(status, Some(1), "{cut}");
    let name = named(&cut);
    assert!(
        cut.contains(&format!("touchline fx cancel {name}")),
        "{cut}"
    );
    market.desk.run(&format!("fx cancel {name}")).done();
    let mut waiting = started(working);
    until("its wait", || parents() == 2);
    end(engine);
    assert_eq!(waiting.wait().code(), Some(1), "{}", waiting.err());
    let ended = waiting.err();
    assert!(ended.contains("the engine has ended"), "{ended}");
    market
        .desk
        .run(&format!(
            "fx explain {} --config fx/run.toml",
            named(&ended)
        ))
        .done();
}

/// A person at a terminal says that an order has no limit: without `--limit` and `--market` no command leaves, and the sentence names both. A
/// program, whose input is not a terminal, sends it either way.
#[test]
fn a_person_at_a_terminal_gives_a_limit_or_market() {
    if !Command::new("script")
        .arg("-V")
        .output()
        .is_ok_and(|run| run.status.success())
    {
        return touchline_testing::skip("there is no `script`, which makes a terminal");
    }
    let (market, engine) = open("fx-send-terminal");
    let at_terminal = |order: &str| -> (Option<i32>, String) {
        let command = market.desk.command("");
        let line = format!("{} fx send {order}", command.get_program().display());
        let mut script = Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .stdin(Stdio::null());
        let environment = command
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        script.envs(environment).current_dir(&market.desk.folder);
        let run = script.output().expect("it starts");
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        (run.status.code(), said)
    };
    let order = "EUR/USD buy 1000 --id P";
    let (status, said) = at_terminal(&format!("{order}1"));
    let asked = "give --limit PRICE, or --market";
    assert!(
        status == Some(2) && said.contains(asked),
        "{status:?} {said}"
    );
    for (number, price) in [(2, "--market"), (3, "--limit 2")] {
        let (status, said) = at_terminal(&format!("{order}{number} {price}"));
        let accepted = format!("accepted P{number}");
        assert!(
            status == Some(0) && said.contains(&accepted),
            "{status:?} {said}"
        );
    }
    market.send(&format!("{order}4")).done();
    // The engine has had no command with the first name.
    market.send(&format!("{order}2")).refused(1, &["refused: "]);
    market.send(&format!("{order}1")).done();
    end(engine);
}

/// A booking needs two persons who give the same trade: one person twice, two that differ, and one that may not book are refused. The trade
/// is booked once, through a restart, too.
#[test]
fn a_booking_takes_two_persons_who_say_the_same() {
    let market = Market::open("fx-book", &["[banks.orders]"]);
    let text = market.desk.read("fx/run.toml");
    let guest = "\n[[clients]]\nname = \"guest\"\nmay = [\"book\"]\n\n[[clients]]\nname = \"mute\"\nmay = [\"send\"]\n";
    market.desk.write("fx/run.toml", text + guest);
    let mut engine = logged(&market.desk, ENGINE, "engine");
    let book = |id: &str, price: &str, by: &str| -> Run {
        let trade = format!("EUR/USD buy 5m {price} --value-date 20260107 --as {by}");
        market.desk.run(&format!("fx book {id} {trade}"))
    };
    let says = |run: Run, word: &str| {
        let run = run.done();
        assert_eq!(run.stdout, format!("{word}\n"), "{run:?}");
    };
    until("an engine", || book("OPEN-1", "1.1", "desk").status == 0);
    book("OPEN-1", "1.1", "desk").refused(1, &["refused: same_person"]);
    book("OPEN-1", "1.2", "chief").refused(1, &["refused: differs"]);
    book("OPEN-1", "1.1", "guest").refused(1, &["refused: person"]);
    book("OPEN-1", "1.1", "mute").refused(1, &["refused: not_allowed"]);
    // The proposal waits through a restart.
    end(engine);
    engine = logged(&market.desk, ENGINE, "again");
    until("an engine", || book("OPEN-2", "1.1", "desk").status == 0);
    says(book("OPEN-1", "1.1", "chief"), "booked");
    for by in ["desk", "chief"] {
        book("OPEN-1", "1.1", by).refused(1, &["refused: duplicate_id"]);
    }
    // One person alone has proposed the other.
    book("OPEN-3", "0", "desk").refused(1, &["refused: bad_book"]);
    end(engine);
    let said = market.desk.read("again.txt");
    assert!(said.contains("\"position\":5000000"), "{said}");
}
