//! T24: a gateway that is stopped again and again while the market moves.
//!
//! After the stated limit no command shows a live book of a stopped gateway. When it continues, every live book equals
//! the exchange's, also if the kernel dropped packets meanwhile: the market stands still by then, so that only one
//! state of each book is correct.

use crate::expected_books::judge;
use crate::matrix::subscriber;
use crate::processes::{PATIENCE, Place, Process, Processes};
use crate::together;
use serde_json::Value;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_testing::until;

/// A gateway without a heartbeat for this time is stalled: two heartbeats of 100 ms.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Pauses of a session.
const PAUSES: usize = 6;

#[test]
fn a_stopped_gateway_has_no_live_book_and_no_wrong_one_after_it_resumes() {
    // The only limit of time is the age of a heartbeat, which grows while other processes compute.
    let _together = together();
    for seed in seeds(2) {
        let mut random = Random::from_seed(seed);
        let processes = Processes::new("pauses");
        let mut exchange = exchange(&processes, seed);
        // Either so small that the kernel drops packets in the longer pauses, or so large that it does not.
        let buffer_bytes = *random.pick(&[16_384, 4_194_304]);
        let mut gateway = gateway(&processes, buffer_bytes);
        let follower = subscriber(&processes, 0);
        wait_until_ready(&processes);
        let mut seen = 0;
        for _ in 0..PAUSES {
            seen += pause(&processes, &mut random, &mut exchange, &gateway, seed);
            exchange.tell("rate 600");
            thread::sleep(Duration::from_millis(random.below(300)));
        }
        exchange.tell("quit");
        exchange.ends_well();
        follower.close();
        assert!(gateway.runs(), "seed {seed}: {}", gateway.said("err"));
        gateway.close();
        let verdict = judge(&processes, "truth.log", "s0.out");
        assert_eq!(verdict.wrong, 0, "seed {seed}: it was shown {verdict:?}");
        assert!(verdict.right > 0, "seed {seed}: {verdict:?}");
        let verdict = judge(&processes, "truth.orders", "s0.orders");
        assert_eq!(verdict.wrong, 0, "seed {seed}, orders: {verdict:?}");
        assert!(seen > 0, "seed {seed}: no book came back: no test");
    }
}

/// Stops the gateway, and checks before and after it continues. Returns the number of live books.
fn pause(
    processes: &Processes,
    random: &mut Random,
    exchange: &mut Process,
    gateway: &Process,
    seed: u64,
) -> usize {
    let pause = Duration::from_millis(random.between(300, 2_500) as u64);
    gateway.signal("STOP");
    let stopped = Instant::now();
    thread::sleep(pause.saturating_sub(Duration::from_millis(100)));
    let expected_books = processes.path("truth-books.jsonl");
    let _ = std::fs::remove_file(&expected_books);
    exchange.tell("rate 0");
    exchange.tell("truth");
    // Outputs appear whole.
    while !expected_books.exists() || stopped.elapsed() < TIMEOUT + Duration::from_millis(50) {
        assert!(stopped.elapsed() < PATIENCE, "seed {seed}: no truth");
        thread::sleep(Duration::from_millis(10));
    }
    let what = format!("seed {seed}, stopped for {:?}", stopped.elapsed());
    let books = live_books(processes);
    assert_eq!(books, BTreeMap::new(), "{what}: live all the same");
    nothing_says_that_all_is_well(processes, &what);
    let expected_books = rows(&processes.read("truth-books.jsonl"));
    gateway.signal("CONT");
    // At once, and until every book is live again.
    let start = Instant::now();
    loop {
        let books = live_books(processes);
        for (id, book) in &books {
            let wait = start.elapsed();
            assert_eq!(
                Some(book),
                expected_books.get(id),
                "{what}, {wait:?} after it went on"
            );
        }
        if books.len() == expected_books.len() {
            return books.len();
        }
        assert!(start.elapsed() < PATIENCE, "{what}: books do not come back");
    }
}

/// Each command that summarises a bus.
pub fn nothing_says_that_all_is_well(processes: &Processes, what: &str) {
    let counters_file = processes.run("stat live --json").stdout;
    let counters_file: Value = serde_json::from_slice(&counters_file).expect("an object");
    assert_eq!(counters_file["stalled"], true, "{what}");
    assert_eq!(counters_file["counters"]["ready"], 0, "{what}");
    assert_eq!(counters_file["counters"]["books_live"], 0, "{what}");
    let age_ms = counters_file["publisher_age_ms"]
        .as_u64()
        .expect("a number");
    assert!(
        u128::from(age_ms) >= TIMEOUT.as_millis(),
        "{what}: {age_ms}"
    );
    let said = |line: &str| String::from_utf8(processes.run(line).stdout).expect("text");
    assert!(said("stat").contains("stalled"), "{what}");
    let top = said("top live --once");
    assert!(top.contains("publisher stalled"), "{what}: {top}");
    let page = said("metrics --print");
    for line in [
        "touchline_bus_publisher_up{bus=\"live\"} 0",
        "touchline_bus_publisher_stalled{bus=\"live\"} 1",
        "touchline_ready{bus=\"live\"} 0",
    ] {
        assert!(page.contains(line), "{what}: no {line}");
    }
}

/// Books shown as live, without fields that the exchange's books lack.
pub fn live_books(processes: &Processes) -> BTreeMap<i64, Value> {
    let output = processes.run("book live --json").stdout;
    let mut books = rows(&String::from_utf8(output).expect("text"));
    books.retain(|_, book| book["state"] == "live");
    books
}

pub fn rows(text: &str) -> BTreeMap<i64, Value> {
    let row = |line: &str| {
        let mut row: Value = serde_json::from_str(line).expect("a row of JSON");
        let fields = row.as_object_mut().expect("an object");
        for own in ["last_rpt_seq", "sequence", "exchange_ns", "receive_ns"] {
            fields.remove(own);
        }
        (row["security_id"].as_i64().expect("an id"), row)
    };
    text.lines().map(row).collect()
}

fn wait_until_ready(processes: &Processes) {
    until("a ready gateway", PATIENCE, || {
        let counters_file = processes.run("stat live --json").stdout;
        let counters_file: Value = serde_json::from_slice(&counters_file).unwrap_or_default();
        match counters_file["counters"]["ready"] == 1 {
            true => Ok(()),
            false => Err(counters_file),
        }
    });
}

fn exchange(processes: &Processes, seed: u64) -> Process {
    let line = format!(
        "sim cme --groups {} --seed {seed} --instruments 6 --events-per-second 600 --commands --write @ \
         --truth-books @/truth-books.jsonl --truth-log @/truth.log --truth-order-log @/truth.orders",
        processes.groups()
    );
    let mut exchange = processes.start(Place::Exchange, "exchange", &line, &[]);
    exchange.wait_for("sending");
    exchange
}

fn gateway(processes: &Processes, buffer_bytes: u64) -> Process {
    let config = format!(
        "bus = \"live\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n\
         interface = \"127.0.0.1\"\n[limits]\ninstruments_max = 256\norders_max = 65536\n\
         [gateway]\nheartbeat_ms = 100\n[network]\nreceive_buffer_bytes = {buffer_bytes}\n"
    );
    std::fs::write(processes.path("live.toml"), config).expect("the session's folder");
    let line = "gateway --until-eof --config @/live.toml";
    let mut gateway = processes.start(Place::Firm, "gateway", line, &[]);
    gateway.wait_for("listening");
    gateway
}
