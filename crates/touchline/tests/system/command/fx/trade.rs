//! Banks with dealing desks, gateways, the trading engine and the desk's commands, each as a user starts them.

use super::PAIRS;
use super::back_office::executions;
use super::books::{Ledgers, judge_end, nanos};
use super::full_disk::counter;
use super::live::{end, start};
use crate::command::{Desk, Run, full_pipe, until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use std::time::Duration;
use touchline_lab::bank::guards::{PAIR_OFF, RISK_OFF};
use touchline_testing::Process;
use touchline_testing::free_address;

/// Simulated banks, their gateways and a folder.
pub struct Market {
    pub desk: Desk,
    banks: Process,
    gateways: Vec<Process>,
}

/// Positions by pair: base units, and cash in term currency, 1e-9.
pub type Positions = BTreeMap<String, (i64, i128)>;

/// Switches the guards of an engine's file off: tests send equal and large parents one after the other.
pub fn unguarded(desk: &Desk) {
    let off = format!("{PAIR_OFF}{RISK_OFF}");
    let value = |line: &str| {
        let (key, _) = line.split_once(" = ")?;
        off.lines().find(|off| off.split(" = ").next() == Some(key))
    };
    let text = desk.read("fx/run.toml");
    let lines = text.lines().map(|line| value(line).unwrap_or(line));
    let lines: Vec<&str> = lines.collect();
    desk.write("fx/run.toml", lines.join("\n") + "\n");
}

impl Market {
    /// Banks LP01 to LP0n, each with these further lines of its section.
    pub fn open(name: &str, banks: &[&str]) -> Market {
        Market::with(Desk::bare(name), "", banks)
    }

    /// Opens a market in a folder that has files, with further tables of the banks' file.
    pub fn with(desk: Desk, tables: &str, banks: &[&str]) -> Market {
        let text = Market::file(tables, banks);
        Market::of(desk, &text, banks.len(), "")
    }

    /// The file of these banks.
    pub fn file(tables: &str, banks: &[&str]) -> String {
        let mut text = format!("seed = 11\nmove_ms = 50\n{tables}{PAIRS}");
        for (place, more) in banks.iter().enumerate() {
            let number = place + 1;
            let pairs = "[\"EUR/USD\", \"USD/JPY\"]";
            text.push_str(&format!(
                "[[banks]]\nname = \"LP0{number}\"\npairs = {pairs}\n{more}\n"
            ));
        }
        text
    }

    /// Ends banks and gateways, which forget their trades; the folder stays.
    fn again(mut self) -> Desk {
        self.gateways.drain(..).for_each(end);
        end(self.banks);
        // The file is written again when the next banks listen.
        fs::remove_file(self.desk.path("fx/run.toml")).expect("our folder");
        self.desk
    }

    /// The banks of this file, which are LP01 to LP0n, with further options of the simulator.
    pub fn of(desk: Desk, file: &str, banks: usize, options: &str) -> Market {
        desk.write("banks.toml", file);
        let line =
            "sim bank --config banks.toml --write fx --commands --until-eof --ledger ledger.jsonl";
        let sim = start(&desk, &format!("{line} {options}"), "banks.txt");
        until("the engine's file", || desk.path("fx/run.toml").exists());
        unguarded(&desk);
        let gateway = |number: usize| {
            let line = format!("gateway --config fx/lp0{number}.toml --until-eof");
            start(&desk, &line, &format!("lp0{number}.txt"))
        };
        Market {
            gateways: (1..=banks).map(gateway).collect(),
            banks: sim,
            desk,
        }
    }

    /// Starts the engine; it is ready when a small order has been filled.
    pub fn engine(&self, output: &str) -> Process {
        let engine = start(
            &self.desk,
            "fx run --config fx/run.toml --until-eof",
            output,
        );
        until("an engine that trades", || {
            let run = self.send("EUR/USD buy 1000 --tif ioc --wait");
            run.status == 0 && run.stdout.contains(": 1000 filled")
        });
        engine
    }

    /// Waits until the engine has no order without an outcome.
    pub fn until_no_order(&self) {
        let has_none = |name| counter(&self.desk, name) == 0;
        until("no open order", || {
            has_none("fx_orders_open") && has_none("fx_orders_unknown")
        });
    }

    /// Sends an order with `--wait`, to its end with any outcome.
    pub fn send_to_its_end(&self, order: &str) {
        let run = self.send(order);
        let is_over = run.status == 0 || run.stderr.contains("nothing of ");
        assert!(is_over, "{run:?}");
    }

    pub fn send(&self, order: &str) -> Run {
        self.desk.run(&format!("fx send {order}"))
    }

    /// Ends the banks: their ledgers.
    pub fn ledgers(mut self) -> Ledgers {
        self.banks.tell("heal");
        self.gateways.drain(..).for_each(end);
        end(self.banks);
        Ledgers::read(&self.desk.read("ledger.jsonl"))
    }
}

#[track_caller]
fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Ends an engine in order: what it says, and its positions.
pub fn close(engine: Process, market: &Market, output: &str) -> (String, Positions) {
    end(engine);
    let said = market.desk.read(output);
    let lines = said.lines().skip(1);
    let positions = lines.map(|line| {
        let line = parse(line);
        let cash = nanos(line["cash"].as_str().expect("cash"));
        let pair = line["pair"].as_str().expect("a pair").to_owned();
        (pair, (line["position"].as_i64().expect("units"), cash))
    });
    let positions = positions.collect();
    (said, positions)
}

/// A program that reads the log sees why an engine does not start: the last line of its log says so.
#[test]
fn an_engine_that_does_not_start_says_so_in_its_log() {
    let market = Market::open("fx-run-log", &["[banks.orders]"]);
    let line = "fx run --config fx/run.toml --dir banks.toml --log-format json";
    let run = market.desk.run(line);
    assert_eq!(run.status, 1, "{run:?}");
    let lines: Vec<Value> = run.stderr.lines().map(parse).collect();
    let last = lines.last().expect("a line");
    let said = (&last["event"], &last["status"]);
    assert_eq!(said, (&"failed".into(), &1.into()), "{run:?}");
}

/// As a user trades: a parent is filled within its limit, one that cannot be is refused, and the engine's positions are
/// those of the banks' books.
#[test]
fn an_order_of_the_desk_is_filled_and_positions_are_those_of_the_banks() {
    let market = Market::open(
        "fx-trade",
        &[
            "[banks.orders]\nhold_ms = [1, 5]",
            "spread_ticks = 3\ndialect = \"WX\"\n[banks.orders]",
        ],
    );
    let engine = market.engine("engine.txt");
    let bought = market.send("EUR/USD buy 4000000 --id P1 --wait");
    assert_eq!(bought.status, 0, "{bought:?}");
    assert!(
        bought.stdout.ends_with("P1: 4000000 filled\n")
            || bought.stdout.contains("P1: 4000000 filled at 1."),
        "{bought:?}"
    );
    let sold = market.send("USD/JPY sell 1000000 --wait --urgency 2");
    assert_eq!(sold.status, 0, "{sold:?}");
    for (order, reason) in [
        ("EUR/USD buy 1000 --id P1", "duplicate_id"),
        (
            "EUR/USD buy 1001",
            "bad_order: quantity 1001 is not a multiple of 1000, the lot of EUR/USD",
        ),
        (
            "EUR/CHF buy 1k",
            "bad_order: pair \"EUR/CHF\" is not configured; the pairs are EUR/USD, USD/JPY",
        ),
        (
            "USD/JPY buy 1k --limit 150.0001",
            "bad_order: limit \"150.0001\" is not a positive price of USD/JPY: its tick is 0.001",
        ),
    ] {
        market.send(order).refused(1, &["refused", reason]);
    }
    // Quantities as people write them, and the engine named by its configuration.
    let bought = market.send("EUR/USD buy 0.002m --wait --config fx/run.toml");
    assert_eq!(bought.status, 0, "{bought:?}");
    assert!(bought.stdout.contains(": 2000 filled at 1."), "{bought:?}");
    market
        .send("EUR/USD buy 1.0005k")
        .refused(2, &["is not a whole number of base units"]);
    market
        .send("EUR/USD buy 1k --config fx/run.toml --as nobody")
        .refused(2, &["nobody is not a client", "desk, chief"]);
    // An order that bought nothing did not succeed.
    let nothing = market.send("EUR/USD buy 1_000 --id N1 --limit 0.9 --tif ioc --wait");
    assert_eq!(nothing.status, 1, "{nothing:?}");
    assert!(
        nothing
            .stdout
            .ends_with("N1: 0 filled, 1,000 not filled: ioc\n"),
        "{nothing:?}"
    );
    assert!(
        nothing.stderr.contains("nothing of N1 was filled: ioc"),
        "{nothing:?}"
    );
    // A client may do what its configuration says, and no more.
    let chief = market.desk.run("fx send EUR/USD buy 1000 --as chief");
    chief.refused(1, &["not_allowed"]);
    let narrowed = market.desk.run("tail fx-run --symbol EUR*");
    narrowed.refused(
        2,
        &["the bus of a trading engine", "--symbol is for market data"],
    );
    let tail = start(&market.desk, "tail fx-run", "entries.txt");
    until("the entry of a refused command", || {
        market.desk.run("fx send EUR/USD buy 1000 --as chief");
        let entries = fs::read_to_string(market.desk.path("entries.txt"));
        let entries = entries.expect("our folder");
        let mut lines = entries.lines();
        lines
            .any(|line| line.starts_with("answers    {\"answer\":\"refused\",\"client\":\"chief\""))
    });
    drop(tail);
    let shown = market
        .desk
        .run("fx blotter --config fx/run.toml --once")
        .done();
    let by_bus = market.desk.run("fx blotter --once").done();
    for text in ["trading", "P1", "4,000,000", "0 orders out", "LP01     up"] {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
        assert!(by_bus.stdout.contains(text), "{text}: {}", by_bus.stdout);
    }
    market
        .desk
        .run("fx report --bus fx-other")
        .refused(1, &["no engine has run on bus fx-other", "--config FILE"]);
    // The report that is made right behind the first orders has their scorecard.
    until("a scorecard", || {
        let report = market.desk.run("fx report --bus fx-run --out early").done();
        assert!(report.stdout.contains("EUR/USD"), "{report:?}");
        let page = market.desk.read("early/report.html");
        page.contains("Fill ratio") && !page.contains("No orders yet")
    });
    let office = back_office(&market);
    let (said, own) = close(engine, &market, "engine.txt");
    let report = market
        .desk
        .run("fx report --config fx/run.toml --out report")
        .done();
    let reported = report.stdout.lines().map(|line| {
        let line = parse(line);
        let pair = line["pair"].as_str().expect("a pair").to_owned();
        (pair, line["position"].as_i64().expect("units"))
    });
    let reported: BTreeMap<String, i64> = reported.collect();
    let units = own.iter().map(|(pair, (units, _))| (pair.clone(), *units));
    assert_eq!(reported, units.collect());
    let fills = market.desk.read("report/fills.csv");
    let bought = fills
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect::<Vec<_>>());
    let bought = bought.filter(|cells| cells[2] == "P1");
    let bought: i64 = bought
        .map(|cells| cells[8].parse::<i64>().expect("units"))
        .sum();
    assert_eq!(bought, 4_000_000);
    let trades = office.values().filter(|trade| trade[0] == "F");
    let units = trades.filter(|trade| trade[1] == "1" && trade[2] == "EUR/USD");
    let units = units.map(|trade| trade[3].parse::<i64>().expect("units"));
    assert_eq!(units.sum::<i64>(), own["EUR/USD"].0);
    assert_eq!(market.desk.read("live/fills.csv"), fills);
    let page = market.desk.read("report/report.html");
    for text in [
        "<h2>Fill ratio</h2><p>",
        "<h2>Rejects and unknown outcomes</h2><p>",
        "<h2>Hold time</h2><p>",
        "<h2>Mark-outs</h2><p>",
        "<h2>Symmetry</h2><p>",
        "LP02",
        "<svg",
        "</html>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(
        !page.contains("<script") && !page.contains("http"),
        "{page}"
    );
    assert_eq!(market.desk.read("report/positions.csv").lines().count(), 3);
    assert_eq!(
        market.desk.read("report/scorecard.jsonl").lines().count(),
        4
    );
    judge_end(&said, &market.ledgers()).unwrap_or_else(|what| panic!("{what}: {said}"));
    assert!(
        own["EUR/USD"].0 >= 4_001_000 && own["USD/JPY"].0 == -1_000_000,
        "{own:?}"
    );
}

/// The drop copy of a running engine, as a client of `fx report` receives it, until every fill has come. The log of `fx report`
/// is a full pipe without a reader.
fn back_office(market: &Market) -> BTreeMap<String, [String; 4]> {
    let address = free_address();
    let section = format!(
        "\n[report]\nlisten = \"{address}\"\nnumbers = \"numbers\"\n[[report.clients]]\ntarget = \"OPS\"\n"
    );
    let engine = market.desk.read("fx/run.toml");
    market.desk.write("fx/report.toml", engine + &section);
    let line = "fx report --config fx/report.toml --out live --follow --until-eof";
    let (_unread, pipe) = full_pipe();
    let mut command = market.desk.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let report = Process::with_streams(command.stderr(pipe));
    until("the fills that are known", || {
        market.desk.path("live/fills.csv").exists()
    });
    let rows = market.desk.read("live/fills.csv").lines().count() - 1;
    let found = executions(address, None, |found| {
        found.values().filter(|trade| trade[0] == "F").count() >= rows
    });
    end(report);
    found
}

/// Exchanges the two pairs in an engine's file.
fn exchange_pairs(desk: &Desk) {
    let text = desk.read("fx/run.toml");
    let (pair, bank) = ("\n[[pairs]]\n", "\n[[banks]]\n");
    let (head, rest) = text.split_once(pair).expect("a pair");
    let (first, rest) = rest.split_once(pair).expect("another one");
    let (second, rest) = rest.split_once(bank).expect("a bank");
    let other = format!("{head}{pair}{second}{pair}{first}{bank}{rest}");
    desk.write("fx/run.toml", other);
}

/// Killed with orders out, the engine continues from its journal: it asks for the outcomes, sends nothing twice, and has
/// the banks' positions, also of a bank that loses orders and of one that does not report. Its pairs are in another order at each start:
/// an order keeps its pair, and the report reads all runs.
#[test]
fn an_engine_that_is_killed_with_orders_out_recovers_from_its_journal() {
    let market = Market::open(
        "fx-killed",
        &[
            "[banks.orders]\nhold_ms = [150, 300]\nsplit = 0.5",
            "[banks.orders]\nhold_ms = [150, 300]\nlost = 0.5",
            "[banks.orders]\nhold_ms = [150, 300]\nsilent = 0.5",
        ],
    );
    let mut killed = 0;
    for round in 0..4 {
        let output = format!("engine{round}.txt");
        let engine = market.engine(&output);
        for (number, side) in ["buy", "sell", "buy"].iter().enumerate() {
            let pair = ["EUR/USD", "USD/JPY"][number % 2];
            market.send(&format!("{pair} {side} 5000000")).done();
        }
        // Within the hold of the banks.
        std::thread::sleep(Duration::from_millis(20 + 40 * round));
        engine.signal("KILL");
        killed += 1;
        exchange_pairs(&market.desk);
    }
    let engine = market.engine("last.txt");
    // The status of an unknown order is requested within a second, three times; an order in hold ends by itself.
    market.until_no_order();
    end(engine);
    let report = "fx report --config fx/run.toml --out report";
    market.desk.run(report).done();
    let about: Value = parse(&market.desk.read("report/about.json"));
    assert_eq!(about["journal"]["runs"], 5);
    assert_eq!(about["not_known"], serde_json::json!([]));
    let said = market.desk.read("last.txt");
    let ledgers = market.ledgers();
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
    assert!(
        ledgers.count("questions") > 0,
        "nothing was out when the engine was killed {killed} times"
    );
}

/// The kill switch: no order is accepted until two different people have lifted it, and a restart does not lift it.
#[test]
fn two_people_lift_a_kill_and_a_restart_does_not() {
    let market = Market::open("fx-kill", &["[banks.orders]"]);
    let engine = market.engine("first.txt");
    let shows = |words: &[&str]| {
        for command in ["book", "follow"] {
            let refused = market.desk.run(&format!("{command} fx-run"));
            refused.refused(
                1,
                &[
                    "the bus of a trading engine",
                    "touchline fx blotter --bus fx-run",
                ],
            );
        }
        let top = market.desk.run("top fx-run --once --size 80x24").done();
        let shown = &top.stdout;
        assert!(
            words.iter().all(|word| shown.contains(word)),
            "{words:?}: {shown}"
        );
    };
    shows(&["trading", "sessions 1 of 1 up", "0 orders", "unknown 0"]);
    market.desk.run("fx kill").done();
    market.send("EUR/USD buy 1000").refused(1, &["kill"]);
    shows(&["kill switch set", "fx lift"]);
    for _ in 0..2 {
        let lifted = market.desk.run("fx lift").done();
        assert!(lifted.stdout.contains("another person"), "{lifted:?}");
    }
    market.send("EUR/USD buy 1000").refused(1, &["kill"]);
    engine.signal("KILL");
    drop(engine);
    shows(&["died", "last values"]);
    let engine = start(
        &market.desk,
        "fx run --config fx/run.toml --until-eof",
        "second.txt",
    );
    until("an engine that answers", || {
        market
            .send("EUR/USD buy 1000")
            .stderr
            .contains("refused: kill")
    });
    let lifted = market.desk.run("fx lift --as chief").done();
    assert!(lifted.stdout.starts_with("lifted"), "{lifted:?}");
    until("an engine that trades", || {
        market
            .send("EUR/USD buy 1000 --tif ioc --wait")
            .stdout
            .contains(": 1000 filled")
    });
    end(engine);
    shows(&["ended", "No engine runs"]);
    assert_eq!(market.ledgers().count("duplicates"), 0);
}

/// A bank without `status_final` is refused, with the fix; and an engine on a bank's bus.
#[test]
fn a_bank_without_status_final_is_refused() {
    let market = Market::open("fx-final", &["[banks.orders]"]);
    let text = fs::read_to_string(market.desk.path("fx/run.toml")).expect("our folder");
    market
        .desk
        .write("fx/open.toml", text.replace("status_final = true\n", ""));
    let run = market.desk.run("fx run --config fx/open.toml");
    run.refused(2, &["LP01", "status_final is missing"]);
    // A bus has one writer.
    let text = text.replace("bus = \"fx-run\"", "bus = \"lp01\"");
    market.desk.write("fx/bus.toml", text);
    let run = market.desk.run("fx run --config fx/bus.toml");
    run.refused(2, &["run.bus", "lp01", "the gateway of bank LP01"]);
}

/// The walk-through for the second time, with the journal of the first one: banks, engine, desk and blotter name the cause, and the
/// cure works.
#[test]
fn a_second_walk_through_says_why_the_numbers_do_not_fit() {
    let market = Market::open("fx-again", &["[banks.orders]"]);
    let engine = market.engine("first.txt");
    // Each refused attempt takes numbers of the new bank, which must not reach those of the journal meanwhile.
    for _ in 0..25 {
        market.send("EUR/USD buy 1000 --tif ioc");
    }
    end(engine);
    let desk = market.again();
    let market = Market::of(desk, &Market::file("", &["[banks.orders]"]), 1, "");
    until("a note of the banks", || {
        let said = market.desk.read("banks.txt");
        [
            "fx/journal is of an engine of earlier banks",
            "remove fx/journal",
        ]
        .iter()
        .all(|words| said.contains(words))
    });
    let line = "fx run --config fx/run.toml --until-eof";
    let mut command = market.desk.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let log = fs::File::create(market.desk.path("engine.log")).expect("our folder");
    let engine = Process::with_streams(command.stderr(log));
    until("an alarm with the cure", || {
        let log = market.desk.read("engine.log");
        log.contains("MsgSeqNum is too low") && log.contains("remove the journal too")
    });
    let nothing = market.send("EUR/USD buy 1000 --deadline-ms 300 --wait");
    assert_eq!(nothing.status, 1, "{nothing:?}");
    assert!(
        nothing.stderr.contains("1 of 1 order sessions down: LP01"),
        "{nothing:?}"
    );
    let blotter = market.desk.run("fx blotter --once").done();
    assert!(
        blotter.stdout.starts_with("NO ORDER SESSION"),
        "{blotter:?}"
    );
    assert!(blotter.stdout.contains("LP01     down"), "{blotter:?}");
    end(engine);
    fs::remove_dir_all(market.desk.path("fx/journal")).expect("the engine has ended");
    end(market.engine("third.txt"));
    market.ledgers();
}
