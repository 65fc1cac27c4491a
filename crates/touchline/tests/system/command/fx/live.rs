//! Banks, gateways, composer and readers, each a command, as a user starts them.

use super::PAIRS;
use crate::command::until;
use crate::command::{Desk, waits_in_4_s};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;
use touchline_lab::bank::bus;
use touchline_testing::Process;
use touchline_transport::Publish;
use touchline_transport::shm::{Lock, Publisher, Root, Settings};
use touchline_types::{Price, Quantity, Quote, QuoteSnapshot, Side, Timestamps, Update};

const BANKS: &str = r#"
[[banks]]
name = "LP01"
pairs = ["EUR/USD", "USD/JPY"]
malformed = 0.05
sequence_gap = 0.02
flood = 0.02
[[banks]]
name = "LP02"
pairs = ["USD/JPY", "EUR/USD"]
dialect = "WX"
spread_ticks = 3
disconnect = 0.01
[[banks]]
name = "LP03"
pairs = ["EUR/USD"]
dialect = "S"
kind = "full"
tiers = [2000000]
inverted = 0.05
bad_checksum = 0.02
[[banks]]
name = "LP04"
pairs = ["EUR/USD", "USD/JPY"]
dialect = "i"
kind = "full"
spread_ticks = 2
"#;

/// A command that ends when its standard input is closed, with its output in a file.
pub fn start(desk: &Desk, arguments: &str, output: &str) -> Process {
    let file = fs::File::create(desk.path(output)).expect("our folder");
    let mut command = desk.command(arguments);
    Process::with_streams(command.stdin(Stdio::piped()).stdout(file))
}

pub fn end(mut process: Process) {
    process.close();
    assert!(process.wait().success());
}

/// The last rows of JSON lines that `row` makes of a line, by pair.
pub fn last(
    text: &str,
    row: impl Fn(&Value) -> Option<(String, Value)>,
) -> BTreeMap<String, Value> {
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: Value| row(&line)).collect()
}

/// A number, written as one or as a text.
fn number(value: &Value) -> String {
    value.to_string().trim_matches('"').to_owned()
}

/// A line of the simulator with the best prices of a pair.
pub fn shown(line: &Value) -> Option<(String, Value)> {
    let pair = line["pair"].as_str()?.to_owned();
    let side = |name: &str| match &line[name] {
        Value::Null => serde_json::json!([]),
        side => serde_json::json!([side[0], number(&side[1]), side[2]]),
    };
    Some((pair, Value::from(vec![side("bid"), side("ask")])))
}

/// A line of `tail --json` about the composite of a pair.
pub fn composed(line: &Value) -> Option<(String, Value)> {
    let quotes = line["quotes"].as_array()?;
    let pair = line["symbol"].as_str()?.to_owned();
    if line["state"] != "live" {
        return Some((pair, Value::Null));
    }
    let side = |name: &str| {
        let best = quotes
            .iter()
            .filter(|quote| quote["side"] == name && quote["tier"].is_null());
        let banks: Vec<&Value> = best.clone().map(|quote| &quote["quote_id"]).collect();
        match best.clone().next() {
            None => serde_json::json!([]),
            Some(first) => serde_json::json!([first["price"], number(&first["quantity"]), banks]),
        }
    };
    Some((pair, Value::from(vec![side("bid"), side("ask")])))
}

/// As a user runs it: the composite on the bus equals the banks' quotes, the recording replays to the same bytes, and a
/// composite without its composer is not live.
#[test]
fn the_composite_equals_the_best_prices_of_the_banks() {
    let desk = Desk::bare("fx-live");
    desk.write(
        "banks.toml",
        format!("seed = 7\nmove_ms = 20\n{PAIRS}{BANKS}"),
    );
    let line = "sim bank --config banks.toml --write fx --commands --until-eof";
    let mut banks = start(&desk, line, "banks.txt");
    until("the banks' files", || desk.path("fx/compose.toml").exists());
    let gateway = |bank: &str| {
        let line = format!("gateway --config fx/{bank}.toml --until-eof");
        start(&desk, &line, &format!("{bank}.txt"))
    };
    let gateways = ["lp01", "lp02", "lp03", "lp04"].map(gateway);
    let line = "fx compose --config fx/compose.toml --record session --until-eof";
    let composer = start(&desk, line, "composer.txt");
    let is_live = |pair: &str| {
        let run = desk.run(&format!("book fx {pair}"));
        run.stdout
            .lines()
            .next()
            .is_some_and(|line| line.contains("live"))
    };
    until("a live composite", || {
        is_live("EUR/USD") && is_live("USD/JPY")
    });
    let _tail = start(&desk, "tail fx --json", "tail.jsonl");
    std::thread::sleep(std::time::Duration::from_secs(2));
    banks.tell("heal");
    let mut rows = Default::default();
    until("the composite that the banks show", || {
        banks.tell("best");
        rows = (
            last(&desk.read("banks.txt"), shown),
            last(&desk.read("tail.jsonl"), composed),
        );
        rows.0.len() == 2 && rows.0 == rows.1
    });
    for banks in rows
        .0
        .values()
        .flat_map(|row| row.as_array().expect("sides"))
    {
        assert_ne!(
            banks,
            &serde_json::json!([]),
            "every pair has two sides: {rows:?}"
        );
    }
    // The other readers know it, too.
    let book = desk.run("book fx EUR/USD --json").done().stdout;
    let book: Value = serde_json::from_str(&book).expect("a book");
    assert_eq!(book["bids"][0][0], rows.0["EUR/USD"][0][0]);
    let best = rows.0["EUR/USD"][1][2].as_array().expect("banks").iter();
    let best: Vec<&str> = best.filter_map(Value::as_str).collect();
    let named = format!("best ask of {}", best.join(", "));
    for command in [
        "book fx EUR/USD",
        "top fx --symbol EUR/USD --once --interval-ms 300",
    ] {
        let page = desk.run(command).done().stdout;
        assert!(page.contains(&named), "{named}\n{page}");
        // The scorecard is of a screen.
        let is_scored = page.contains("at best bid") && page.contains("LP04");
        assert_eq!(is_scored, command.starts_with("top"), "{page}");
    }
    let stat = desk.run("stat fx").stdout;
    assert!(stat.contains("banks_live"), "{stat}");
    end(composer);
    assert!(!is_live("EUR/USD"), "nobody composes");
    desk.run("fx replay session --out replayed").done();
    let live = desk.read("session/composite.live.jsonl");
    assert_eq!(desk.read("replayed/composite.jsonl"), live);
    assert!(live.lines().count() > 100, "{}", live.lines().count());
    gateways.into_iter().for_each(end);
    end(banks);
}

/// 200 buses of banks: the composer takes all of them, and the tools list them.
#[test]
fn two_hundred_banks_are_composed_and_listed() {
    const BANKS: usize = 200;
    let desk = Desk::bare("fx-many");
    let mut config =
        "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n"
            .to_owned();
    for bank in 0..BANKS {
        config += &format!("[[banks]]\nname = \"LP{bank:03}\"\nstale_ms = 0\nsilence_ms = 0\n");
    }
    desk.write("compose.toml", config);
    let root = Root::at(desk.path("buses"));
    let mut banks: Vec<Publisher> = (0..BANKS)
        .map(|bank| publisher(&root, bank, 65_536))
        .collect();
    let composer = start(
        &desk,
        "fx compose --config compose.toml --until-eof",
        "composer.txt",
    );
    until("all banks in the composite", || {
        banks.iter_mut().enumerate().for_each(quote);
        let run = desk.run("book fx EUR/USD --json");
        let book: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        book["state"] == "live" && book["bids"][0][2] == BANKS
    });
    // The first bus by name, and the last one.
    for (bus, name) in [("", "fx  ready"), ("lp199", "lp199  starting")] {
        let page = desk.run(&format!("top {bus} --once --interval-ms 50"));
        let page = page.done().stdout;
        assert!(page.contains(&format!(" {name}")), "{page}");
    }
    let stat = desk.run("stat").done().stdout;
    assert!(stat.contains("lp199"), "{stat}");
    end(composer);
}

/// Banks without connections sleep, each time for 50 ms.
#[test]
fn banks_without_clients_are_idle() {
    let desk = Desk::bare("fx-idle");
    let mut config = format!("seed = 7\n{PAIRS}");
    for bank in 0..150 {
        config +=
            &format!("[[banks]]\nname = \"LP{bank:03}\"\npairs = [\"EUR/USD\"]\n[banks.orders]\n");
    }
    desk.write("banks.toml", config);
    let line = "sim bank --config banks.toml --write fx --commands --until-eof";
    let banks = start(&desk, line, "banks.txt");
    until("the banks' files", || desk.path("fx/compose.toml").exists());
    let count = waits_in_4_s(banks.id());
    assert!((1..=200).contains(&count), "{count} waits in 4 s");
    end(banks);
}

/// Each line of the composer's log has the log's form, from the build to the end.
#[test]
fn the_log_of_a_composer_begins_with_its_build_and_ends_with_its_end() {
    let desk = Desk::bare("fx-compose-log");
    desk.write(
        "compose.toml",
        "bus = \"fx\"\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
         [[banks]]\nname = \"LP01\"\nstale_ms = 0\nsilence_ms = 0\n",
    );
    let line = "fx compose --config compose.toml --seconds 1 --log-format json";
    let run = desk.run(line);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let log = run.stderr;
    let lines = log.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("JSON lines");
    let events = lines.iter().map(|line| line["event"].as_str());
    let events: Vec<&str> = events.map(|event| event.expect("an event")).collect();
    assert_eq!(events, ["started", "fx_composing", "stopped"], "{log}");
    assert_eq!(
        (&lines[1]["pairs"], &lines[1]["banks"]),
        (&1.into(), &1.into())
    );
    // A path that is not a directory: the failure has the log's form, too.
    let run = desk.run("fx compose --config compose.toml --dir compose.toml --log-format json");
    assert_eq!(run.status, 1, "{}", run.stderr);
    let last = run.stderr.lines().last().map(serde_json::from_str);
    let last: Value = last.expect("a line").expect("a JSON line");
    assert_eq!(
        (&last["event"], &last["status"]),
        (&"failed".into(), &1.into())
    );
}

/// Paths of a configuration begin at its folder, as those of gateways and engine do.
#[test]
fn a_composer_finds_its_calendars_from_another_folder() {
    let desk = Desk::bare("fx-compose-calendars");
    fs::create_dir(desk.path("fx")).expect("our folder");
    desk.write(
        "fx/mxn.toml",
        "currency = \"MXN\"\nuntil = \"20991231\"\nholidays = []\n",
    );
    desk.write(
        "fx/compose.toml",
        "bus = \"fx\"\n[[pairs]]\nsymbol = \"USD/MXN\"\nprecision = 5\n\
         [[banks]]\nname = \"LP01\"\nstale_ms = 0\nsilence_ms = 0\n[calendars]\nfiles = [\"mxn.toml\"]\n",
    );
    let run = desk.run("fx compose --config fx/compose.toml --seconds 1");
    assert_eq!(run.status, 0, "{}", run.stderr);
}

pub fn publisher(root: &Root, bank: usize, ring_bytes: u64) -> Publisher {
    let settings = Settings {
        ring_bytes,
        instruments_max: 1,
        orders_max: 1,
        lock: Lock::No,
        ..Settings::default()
    };
    let bus = format!("lp{bank:03}");
    let mut publisher = Publisher::open(root, &bus, &settings).expect("a bus of ours");
    bus::announce(|update| publisher.publish(update, &Timestamps::default()));
    publisher.commit();
    publisher
}

/// A bank's bid, as its gateway repeats it.
fn quote((_, publisher): (usize, &mut Publisher)) {
    let quote = Quote {
        side: Side::Bid,
        price: Price(1_100_000_000),
        quantity: Quantity(1_000_000),
        priority: 1,
        ..Quote::NULL
    };
    let snapshot = QuoteSnapshot {
        stream: bus::stream(),
        quotes: &[quote],
    };
    publisher.publish(&Update::QuoteSnapshot(snapshot), &Timestamps::default());
    publisher.commit();
}
