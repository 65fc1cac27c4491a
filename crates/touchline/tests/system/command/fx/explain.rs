//! `fx explain`: the story of a parent, from a journal that is written, that is closed, of an earlier release, and damaged.

use super::live::end;
use super::trade::Market;
use crate::command::until;
use serde_json::Value;
use std::path::Path;
use touchline_fx_desk::records::kind::BATCH;
use touchline_fx_events::encoding::kind::{BENCHMARK, SEEN};
use touchline_journal::{Journal, Options, Record, Root, WriterLock, read};

fn steps(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.map(|line| line.expect("JSON")).collect()
}

fn named<'a>(steps: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    steps.iter().filter(move |step| step["step"] == name)
}

/// The journal as an earlier release wrote it: without the market at arrivals and without what plans saw.
fn as_of_before(from: &Path, to: &Path, bus: &Path) {
    let root = Root::at(bus);
    let bus = WriterLock::acquire(root.create("old").expect("a bus")).expect("its lock");
    let mut old = Journal::open(to, &bus, &Options::orders("fx"), 1).expect("a journal");
    let copied = read(from, false, |entry| {
        let mut body = entry.body.to_vec();
        if entry.head.stream == 0 {
            return;
        }
        if entry.head.kind == BATCH {
            let (mut kept, mut count) = (body[..21].to_vec(), 0_u32);
            let mut rest = &body[21..];
            while !rest.is_empty() {
                let length = u32::from_le_bytes(rest[1..5].try_into().expect("four bytes"));
                let (one, behind) = rest.split_at(5 + length as usize);
                if one[0] != BENCHMARK && one[0] != SEEN {
                    kept.extend_from_slice(one);
                    count += 1;
                }
                rest = behind;
            }
            kept[16..20].copy_from_slice(&count.to_le_bytes());
            body = kept;
        }
        let record = Record {
            stream: entry.head.stream,
            kind: entry.head.kind,
            time_ns: entry.head.time_ns,
            body: &body,
        };
        old.append(&record).expect("room");
    });
    copied.expect("a journal");
    old.close(2).expect("it closes");
}

/// The story has the command with its person, the market, each plan with what it saw and the same plan made again, every message and
/// every fill in the order of the journal, and the cost against the mid at arrival.
#[test]
fn the_story_of_a_parent_has_all_that_happened() {
    let market = Market::open(
        "fx-explain",
        &["[banks.orders]", "spread_ticks = 3\n[banks.orders]"],
    );
    let engine = market.engine("engine.txt");
    // A quote that came since the engine has joined its bus has the bank's time, too.
    let mut number = 0;
    until("a quote with the bank's time", || {
        number += 1;
        market.send(&format!("EUR/USD buy 1000 --id Q{number} --wait"));
        let story = market.desk.run(&format!("fx explain Q{number} --json"));
        // The record may not be in the file yet.
        story.status == 0 && story.stdout.contains("bank_sending_ns")
    });
    let bought = market.send("EUR/USD buy 4000000 --id P1 --wait");
    assert_eq!(bought.status, 0, "{bought:?}");
    until("the story of a parent that has ended", || {
        let story = market.desk.run("fx explain P1 --json");
        story.status == 0 && story.stdout.contains("slippage")
    });
    let live = market.desk.run("fx explain P1 --json").done().stdout;
    end(engine);
    let journal = market.desk.path("fx/journal");
    let line = "fx explain P1 --journal fx/journal";
    let closed = market.desk.run(&format!("{line} --json")).done().stdout;
    assert_eq!(live, closed);
    let all = steps(&closed);
    let first: Vec<&str> = all
        .iter()
        .filter_map(|step| step["step"].as_str())
        .collect();
    assert!(
        first.starts_with(&["command", "parent", "accepted", "arrival", "plan", "entry"]),
        "{closed}"
    );
    assert_eq!(first.last(), Some(&"slippage"), "{closed}");
    assert!(
        all[0]["person"].is_string() && all[3]["mid"].is_string(),
        "{closed}"
    );
    let times: Vec<u64> = all
        .iter()
        .map(|step| step["t"].as_u64().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{closed}");
    let plans = named(&all, "plan").count();
    let same = named(&all, "recomputed").filter(|step| step["same"] == true);
    assert_eq!(same.count(), plans, "{closed}");
    assert!(
        named(&all, "entry").any(|step| step["used"] == true),
        "{closed}"
    );
    let known = named(&all, "hit").all(|hit| hit["gateway_receive_ns"].as_u64() > Some(0));
    assert!(known, "{closed}");
    let orders = named(&all, "sent").count();
    assert_eq!(orders, named(&all, "hit").count(), "{closed}");
    assert!(named(&all, "received").count() >= orders, "{closed}");
    let units = |step: &Value| step["qty"].as_i64().expect("units");
    assert_eq!(
        named(&all, "fill").map(units).sum::<i64>(),
        4_000_000,
        "{closed}"
    );
    let cost = named(&all, "slippage").next().expect("a cost");
    assert_eq!(cost["filled"], 4_000_000, "{closed}");
    assert!(cost["per_million"].is_string(), "{closed}");
    let text = market.desk.run(line).done().stdout;
    assert_eq!(text.lines().count(), all.len());
    assert!(text.contains("recomputed same=true"), "{text}");

    as_of_before(&journal, &market.desk.path("old"), &market.desk.path("bus"));
    let old = market.desk.run("fx explain P1 --journal old").done().stdout;
    for said in ["of an earlier release", "no mid at arrival", " fill "] {
        assert!(old.contains(said), "{said}: {old}");
    }
    let refused = |line: &str, words: &[&str]| market.desk.run(line).refused(1, words);
    refused(
        "fx explain P9 --journal fx/journal",
        &["no parent \"P9\"", "fx/journal"],
    );
    refused("fx explain P1 --journal fx", &["no segment of a journal"]);
    refused(
        "fx explain P1 --journal gone",
        &["gone", "give the directory of a journal"],
    );
    let segment = journal.join("0000000001.tlj");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    let place = bytes
        .windows(2)
        .position(|two| two == b"P1")
        .expect("the parent");
    bytes[place] ^= 1;
    std::fs::write(&segment, bytes).expect("our folder");
    refused(line, &["0000000001.tlj"]);
}
