//! The disk of the journal gets full while the engine trades, on a small file system in a mount namespace of its own.

use super::books::judge_end;
use super::live::end;
use super::trade::Market;
use crate::command::until;
use crate::command::{Desk, Run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use touchline_fx_desk::records;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::{Event, Message};
use touchline_fx_events::orders::Terms;
use touchline_lab::random::Random;
use touchline_testing::Folder;
use touchline_testing::Process;

const TEST: &str =
    "command::fx::full_disk::a_full_disk_stops_orders_and_not_cancels_and_nothing_is_lost";
/// Directory of the file system, for the test in its namespace.
const DISK: &str = "TOUCHLINE_FULL_DISK";
/// Mounts the file system, then runs the test.
const MOUNTED: &str =
    "mount -t tmpfs -o size=8m,mode=700 tmpfs \"$TOUCHLINE_FULL_DISK\" && exec \"$0\" \"$@\"";
const ENGINE: &str = "fx run --config fx/run.toml --until-eof";
const REPORT: &str = "fx report --config fx/run.toml --out reported --follow --until-eof";
const SEGMENT_BYTES: u64 = 256 << 10;

/// The directory of a small file system, if this process is the one in its namespace. Otherwise runs the test there, or
/// prints that this user may not.
fn small_disk() -> Option<PathBuf> {
    if let Some(disk) = std::env::var_os(DISK) {
        return Some(disk.into());
    }
    let inside = |words: &[&str], disk: &Path| {
        let mut unshare = Command::new("unshare");
        unshare.arg("-rm").args(words).env(DISK, disk);
        unshare
    };
    let folder = Folder::new("full");
    let probe = inside(&["sh", "-c", MOUNTED, "true"], &folder).output();
    if probe.is_ok_and(|output| output.status.success()) {
        let program = std::env::current_exe().expect("this program");
        let program = program.to_str().expect("a plain path");
        let words = ["sh", "-c", MOUNTED, program, "--exact", TEST, "--nocapture"];
        let output = inside(&words, &folder).output().expect("unshare");
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        assert!(
            output.status.success() && said.contains(" 1 passed"),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    } else {
        println!("not run: this user cannot make a mount namespace");
    }
    None
}

/// Fills the file system but for `left` bytes, as another program does.
fn fill(disk: &Path, left: u64) -> PathBuf {
    let path = disk.join("filler");
    let mut file = File::create(&path).expect("room for a name");
    let zeros = vec![0; 4_096];
    loop {
        match file.write(&zeros) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            Err(error) => panic!("{error}"),
        }
    }
    let bytes = file.metadata().expect("a file").len();
    file.set_len(bytes.saturating_sub(left)).expect("a file");
    path
}

/// A command whose output and log are files of this name.
pub fn logged(desk: &Desk, line: &str, name: &str) -> Process {
    let file = |end: &str| File::create(desk.path(&format!("{name}.{end}"))).expect("our folder");
    let mut command = desk.command(line);
    command.stdin(Stdio::piped());
    command.stdout(file("txt")).stderr(file("log"));
    Process::with_streams(&mut command)
}

/// The engine's counter of this name.
pub fn counter(desk: &Desk, name: &str) -> u64 {
    let shown = desk.run("stat fx-run --json").done().stdout;
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    shown["counters"][name].as_u64().expect("a counter")
}

/// Orders of the journal: ClOrdIDs, each before it is sent.
pub fn journaled(journal: &Path) -> BTreeSet<String> {
    let mut orders = BTreeSet::new();
    let read = records::read(journal, |_, _, _, entry, _| {
        if let Some(order) = new_order(&entry) {
            assert!(orders.insert(order.id.to_string()), "an id comes twice");
        }
    });
    read.expect("a journal");
    orders
}

/// The order that an entry makes.
fn new_order<'a>(entry: &'a Entry<'_>) -> Option<&'a Terms> {
    match entry {
        Entry::Event(Event::Order(line), _) => match &line.message {
            Some(Message::Order(terms)) => Some(terms),
            _ => None,
        },
        _ => None,
    }
}

/// Sends parents until the log has this line; some may be refused at the end.
fn trade_until(market: &Market, random: &mut Random, log: &str, line: &str) -> Option<Run> {
    let mut refused = None;
    until(line, || {
        let (pair, side) = (random.below(2) as usize, random.below(2) as usize);
        let quantity = 1_000 * (1 + random.below(2_000));
        let run = market.send(&format!(
            "{} {} {quantity} --deadline-ms 5000",
            ["EUR/USD", "USD/JPY"][pair],
            ["buy", "sell"][side]
        ));
        if run.status != 0 {
            refused = Some(run);
        }
        market.desk.read(log).contains(line)
    });
    refused
}

/// The disk gets full, from outside, while orders are out: an alarm while there is still a segment, then the kill switch; open
/// orders are canceled, no order is sent that is not in the journal. With room again the engine continues where it was, and has
/// the positions of the banks, and the journal has a record of every order.
#[test]
fn a_full_disk_stops_orders_and_not_cancels_and_nothing_is_lost() {
    let Some(disk) = small_disk() else {
        return;
    };
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(7);
    println!("seed {seed}");
    let mut random = Random::from_seed(seed);
    let market = Market::open("fx-full", &["[banks.orders]\nhold_ms = [200, 400]"; 2]);
    let desk = &market.desk;
    let journal = disk.join("journal");
    let journal = journal.to_str().expect("a plain path");
    let config = desk.read("fx/run.toml");
    let config = config
        .replace("\"journal\"", &format!("{journal:?}"))
        .replace(
            "segment_bytes = 16777216",
            &format!("segment_bytes = {SEGMENT_BYTES}"),
        );
    desk.write("fx/run.toml", config);
    let first = logged(desk, ENGINE, "first");
    until("an engine that trades", || {
        let run = market.send("EUR/USD buy 1000 --tif ioc --wait");
        run.stdout.contains(": 1000 filled")
    });
    let report = logged(desk, REPORT, "report");
    let filler = fill(&disk, random.below(3) * SEGMENT_BYTES);
    let alarm = "the next segment of the journal cannot be made";
    trade_until(&market, &mut random, "first.log", alarm);
    assert_eq!(
        counter(desk, "fx_killed"),
        0,
        "the alarm comes before the kill"
    );
    let canceled = counter(desk, "fx_cancels_sent");
    trade_until(
        &market,
        &mut random,
        "first.log",
        "the journal cannot be written",
    );
    // The kill follows the alarm, a line later.
    until("a kill by the engine", || {
        desk.read("first.log").contains("auto:journal")
    });
    let log = desk.read("first.log");
    for text in ["No space left on device", "make room on its disk"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    market
        .send("EUR/USD buy 1000")
        .refused(1, &["refused", "kill"]);
    until("the counters", || counter(desk, "fx_killed") == 1);
    assert_eq!(counter(desk, "fx_journal_failed"), 1);
    until("cancels of the open orders", || {
        counter(desk, "fx_cancels_sent") > canceled && counter(desk, "fx_orders_open") == 0
    });
    // The engine may end in order or with an error: its journal has no End.
    let mut first = first;
    first.close();
    first.wait();
    let orders = journaled(&disk.join("journal"));

    // The next start has no room, nor has any other command that writes there; files that are there stay unchanged.
    let full = ["No space left on device"];
    desk.run("fx run --config fx/run.toml").refused(1, &full);
    desk.run(&format!("journal compress {journal}"))
        .refused(1, &full);
    assert_eq!(journaled(&disk.join("journal")), orders);

    fs::remove_file(filler).expect("our file");
    let second = logged(desk, ENGINE, "second");
    // The kill of a journal that failed is set again.
    until("a lift of the desk", || desk.run("fx lift").status == 0);
    desk.run("fx lift --as chief").done();
    until("an engine that trades", || {
        let run = market.send("EUR/USD buy 1000 --tif ioc --wait");
        run.stdout.contains(": 1000 filled")
    });
    let log = desk.read("second.log");
    assert!(
        !log.contains("MsgSeqNum too low"),
        "numbers that the journal lacks are used again: {log}"
    );
    until("no order without outcome", || {
        counter(desk, "fx_orders_unknown") == 0
    });
    // An order in hold ends by itself.
    std::thread::sleep(Duration::from_secs(1));
    end(second);
    let compressed = desk.run(&format!("journal compress {journal}")).done();
    println!("{}", compressed.stdout);
    let verified = desk.run(&format!("journal verify {journal}")).done();
    assert!(verified.stdout.contains("clean"), "{verified:?}");
    let all = journaled(&disk.join("journal"));
    assert!(all.is_superset(&orders));
    // A report that followed both runs equals a report that reads the journal only now.
    end(report);
    desk.run("fx report --config fx/run.toml --out read").done();
    for file in ["fills.csv", "positions.csv", "scorecard.jsonl"] {
        let (followed, read) = (format!("reported/{file}"), format!("read/{file}"));
        assert_eq!(desk.read(&followed), desk.read(&read), "{file}");
    }
    let said = desk.read("second.txt");
    let ledgers = market.ledgers();
    judge_end(&said, &ledgers).unwrap_or_else(|what| panic!("{what}: {said}"));
    let (sent, all) = (ledgers.count("orders"), all.len() as u64);
    assert!(
        sent <= all && sent > 10,
        "{sent} orders at the banks, {all} in the journal"
    );
}
