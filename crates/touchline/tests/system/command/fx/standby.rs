//! A standby follows the active engine, is refused while that lives, also frozen, and takes over when it is dead.

use super::books::judge_end;
use super::live::{end, start};
use super::trade::Market;
use crate::command::until;
use std::time::Duration;
use touchline_fx_desk::DeskClient;
use touchline_fx_events::command::Command;
use touchline_testing::free_address;
use touchline_transport::boot_ns;
use touchline_transport::bus::Root;

/// Starts a standby; it is ready when it answers.
fn standby(market: &Market, output: &str) -> touchline_testing::Process {
    let line = "fx run --config fx/run.toml --standby --until-eof";
    let standby = start(&market.desk, line, output);
    until("a standby", || {
        market.desk.run("fx promote --check").status == 0
    });
    standby
}

/// The first number behind a text.
pub fn number_behind(text: &str, before: &str) -> f64 {
    let rest = text
        .split_once(before)
        .unwrap_or_else(|| panic!("{before}: {text}"))
        .1;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    digits
        .into_iter()
        .next()
        .and_then(|digits| digits.parse().ok())
        .expect("a number")
}

/// Twice: the active engine is killed with orders out, while the desk sends more, and its standby, which joined in the
/// middle of the journal, is promoted. Before, promotion is refused: the engine runs, then it is frozen. No order comes
/// twice, no fill is lost, and positions are those of the banks.
#[test]
fn a_standby_takes_over_from_a_killed_engine_and_not_from_a_frozen_one() {
    let market = Market::open(
        "fx-standby",
        &[
            "[banks.orders]\nhold_ms = [50, 150]\nsplit = 0.5",
            "[banks.orders]\nhold_ms = [50, 150]\nlost = 0.3",
            "[banks.orders]\nhold_ms = [50, 150]\nsilent = 0.3",
        ],
    );
    // As by default: the printed times of the promotions are those of files of 64 MiB.
    let config = market.desk.read("fx/run.toml");
    let config = config.lines().filter(|line| !line.contains("_bytes = "));
    market
        .desk
        .write("fx/run.toml", config.collect::<Vec<_>>().join("\n"));
    let mut active = market.engine("active.txt");
    for round in 0..2 {
        let waiting = standby(&market, &format!("standby{round}.txt"));
        let second = market
            .desk
            .run("fx run --config fx/run.toml --standby --until-eof");
        second.refused(1, &["fx-run-standby", "is being written by"]);
        let top = market.desk.run("top fx-run-standby --once --size 80x24");
        for words in ["standby", "behind the engine", "engine fx-run  trading"] {
            assert!(top.stdout.contains(words), "{words}: {top:?}");
        }
        let active_pid = active.id().to_string();
        for (number, side) in ["buy", "sell", "buy", "sell"].iter().enumerate() {
            let pair = ["EUR/USD", "USD/JPY"][number % 2];
            market.send(&format!("{pair} {side} 5000000")).done();
        }
        let engine = market.desk.run("fx run --config fx/run.toml");
        engine.refused(1, &["another engine is active", &active_pid, "kill -9"]);
        let early = market.desk.run("fx promote");
        early.refused(1, &["another engine is active", &active_pid, "since 20"]);
        active.signal("STOP");
        until("a frozen engine", || {
            let frozen = market.desk.run("fx promote");
            let is_said = frozen.stderr.contains("frozen by a signal");
            frozen.refused(1, &["another engine is active", &active_pid]);
            is_said
        });
        active.signal("CONT");
        market.send("EUR/USD buy 3000000").done();
        active.signal("KILL");
        drop(active);
        let promoted = market.desk.run("fx promote").done();
        assert!(
            promoted.stdout.contains("3 of 3 order sessions logged on"),
            "{promoted:?}"
        );
        println!("{}", promoted.stdout);
        assert_eq!(
            number_behind(&promoted.stdout, "epoch "),
            f64::from(round + 2)
        );
        active = waiting;
        until("an engine that trades", || {
            let run = market.send("EUR/USD buy 1000 --tif ioc --wait");
            run.status == 0 && run.stdout.contains(": 1000 filled")
        });
    }
    // The status of an unknown order is requested within a second, three times.
    until("no order without outcome", || {
        let shown = market.desk.run("fx blotter --config fx/run.toml --once");
        shown.stdout.contains(" 0 orders out") || shown.stdout.contains(" 0 out")
    });
    end(active);
    let said = market.desk.read("standby1.txt");
    let ledgers = market.ledgers();
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
    assert!(
        ledgers.count("questions") > 0,
        "nothing was out when the engine was killed"
    );
}

/// The journal is copied while the engine trades, and the connection is lost once. A standby follows the copy, as on another
/// host; it cannot be promoted while the copy is written. The source refuses a copy that was promoted.
#[test]
fn a_standby_of_a_copy_takes_over_the_journal_of_another_host() {
    let market = Market::open("fx-copy", &["[banks.orders]"; 3]);
    let desk = &market.desk;
    desk.run("journal send fx/journal --listen 127.0.0.1:0")
        .refused(2, &["--allow IP"]);
    let address = free_address();
    let line = format!("journal send fx/journal --listen {address} --allow 127.0.0.1 --until-eof");
    let line = line.as_str();
    let receive = format!("journal receive {address} fx/copy --every-s 1");
    let mut source = start(desk, line, "source.txt");
    let active = market.engine("active.txt");
    let copy = start(desk, &format!("{receive} --until-eof"), "copy.txt");
    let config = desk.read("fx/run.toml");
    let config = config.replace("journal = \"journal\"", "journal = \"copy\"");
    desk.write("fx/other.toml", config);
    let other = "fx run --config fx/other.toml --standby --until-eof";
    until("a copy", || desk.path("fx/copy/0000000001.tlj").exists());
    let waiting = start(desk, other, "standby.txt");
    until("a standby", || desk.run("fx promote --check").status == 0);
    for round in 0..6 {
        if round == 3 {
            end(source);
            source = start(desk, line, "source.txt");
        }
        market.send_to_its_end("EUR/USD buy 500000 --tif ioc --wait");
    }
    active.signal("KILL");
    drop(active);
    // The copy must reach the end of the journal.
    let position = |folder: &str| {
        let said = desk.run(&format!("journal verify {folder}")).stdout;
        number_behind(&said, "position=")
    };
    until("everything copied", || {
        position("fx/copy") == position("fx/journal")
    });
    let copying = desk.run("fx promote");
    copying.refused(1, &["another engine is active", &copy.id().to_string()]);
    end(copy);
    let promoted = desk.run("fx promote").done();
    assert!(
        promoted.stdout.contains("3 of 3 order sessions logged on"),
        "{promoted:?}"
    );
    println!("{}", promoted.stdout);
    until("an engine that trades", || {
        let run = market.send("EUR/USD buy 1000 --tif ioc --wait");
        run.status == 0 && run.stdout.contains(": 1000 filled")
    });
    end(waiting);
    let refused = desk.run(&receive);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stderr.contains("it was promoted"), "{refused:?}");
    end(source);
    let said = desk.read("standby.txt");
    let ledgers = market.ledgers();
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
}

/// A standby that is stopped leaves the engine alone, and without a standby there is nothing to promote.
#[test]
fn the_end_of_a_standby_does_not_affect_the_engine() {
    let market = Market::open("fx-standby-ends", &["[banks.orders]"]);
    let none = market.desk.run("fx promote");
    none.refused(1, &["no standby on bus fx-run-standby", "--standby"]);
    // Sent to a standby that died before it read the command; the next one does not take it for its own.
    let root = Root::at(market.desk.path("buses"));
    let mut desk = DeskClient::open(&root, "fx-run-standby", "desk").expect("a ring of ours");
    desk.send(boot_ns(), &Command::Promote);
    let line = "fx run --config fx/run.toml --standby --until-eof";
    let waiting = start(&market.desk, line, "standby.txt");
    until("the bus of a standby", || {
        market.desk.path("buses/fx-run-standby").exists()
    });
    // The standby joins rings each 20 ms.
    std::thread::sleep(Duration::from_millis(200));
    drop(desk);
    until("an answer of the standby", || {
        let check = market.desk.run("fx promote --check");
        check.status == 0 && check.stdout.contains("no engine is active")
    });
    let engine = market.engine("engine.txt");
    market
        .desk
        .run("fx promote --as chief")
        .refused(1, &["not_allowed"]);
    end(waiting);
    market.send_to_its_end("EUR/USD buy 1000 --tif ioc --wait");
    end(engine);
    assert_eq!(market.ledgers().count("duplicates"), 0);
}
