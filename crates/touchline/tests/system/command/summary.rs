//! The summary of a replay, and the help.

use crate::command::Desk;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4};
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{Fault, FaultPlan, deliver};
use touchline_net::frame::udp_ipv4_frame;
use touchline_net::pcap::Writer;

/// The number before these words, in the summary's format.
#[track_caller]
fn number(summary: &str, words: &str) -> u64 {
    let lines = summary.lines().map(str::trim);
    let mut found =
        lines.filter_map(|line| Some(line.strip_suffix(words)?.strip_suffix("  ")?.trim()));
    let number = found.next().unwrap_or_else(|| panic!("{words}: {summary}"));
    assert_eq!(found.next(), None, "{words} stands there twice");
    number.replace(',', "").parse().expect("a number")
}

#[test]
fn a_clean_session_is_summarised() {
    let desk = Desk::new("clean");
    let summary = desk.replay("").done().stdout;
    let count = |feed, line| {
        let of = |arrival: &&Arrival| (arrival.feed, arrival.line) == (feed, line);
        desk.arrivals.iter().filter(of).count()
    };
    for (name, feed) in [
        ("incremental", Feed::Incremental),
        ("snapshot", Feed::Snapshot),
        ("order snapshot", Feed::OrderSnapshot),
        ("definition", Feed::Definitions),
    ] {
        let grouped = |count: usize| match count {
            0..1_000 => count.to_string(),
            _ => format!("{},{:03}", count / 1_000, count % 1_000),
        };
        let (a, b) = (grouped(count(feed, Line::A)), grouped(count(feed, Line::B)));
        let row = format!("  {name:<18}{a:>14}{b:>14}");
        assert!(summary.lines().any(|line| line == row), "{row}\n{summary}");
    }
    let sent = desk
        .session
        .packets
        .iter()
        .filter(|packet| packet.feed == Feed::Incremental)
        .count();
    let arrived = count(Feed::Incremental, Line::A) + count(Feed::Incremental, Line::B);
    assert_eq!(number(&summary, "processed, each once"), sent as u64);
    assert_eq!(
        number(&summary, "second copies dropped"),
        (arrived - sent) as u64
    );
    assert_eq!(number(&summary, "lost on both lines"), 0);
    assert_eq!(number(&summary, "gaps given up"), 0);
    assert!(number(&summary, "46  MDIncrementalRefreshBook46") > 100);
    assert!(number(&summary, "199  unknown, skipped by its size") > 0);
    let live = format!("  {:<18}{:>12}{:>12}", "price books", 10, 0);
    for words in [
        "channel 998, Touchline lab\nfrom 2026-01-05T00:00:00.",
        "first copy",
        "10 instruments",
        &live,
        "time per packet, ",
        "p50 ",
        "p99.9 ",
        "messages in ",
    ] {
        assert!(summary.contains(words), "{words}\n{summary}");
    }
    let widest = summary.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns\n{summary}");
    assert_eq!(desk.replay("--quiet").done().stdout, "");
}

#[test]
fn losses_and_recoveries_are_counted() {
    let session = generate(&Options::default(), 3);
    let plan = FaultPlan::incremental([
        Fault::DropOnAllLines {
            share: 0.03,
            packets_max: 4,
        },
        Fault::Corrupt { share: 0.02 },
    ]);
    let delivery = deliver(&session, &plan, 3);
    let lost = delivery.report.lost_on_both.len() as u64;
    let corrupt = delivery.report.struck["corrupt"];
    assert!(
        lost > 0 && corrupt > 0,
        "nothing was lost, so nothing is tested"
    );
    let desk = Desk::with("losses", session, delivery.arrivals);
    let summary = desk.replay("--books books").done().stdout;
    assert_eq!(desk.read("books"), desk.session.expected.books_jsonl());
    assert_eq!(number(&summary, "lost on both lines"), lost);
    // A damaged copy of a packet that the other line delivered is dropped without decoding.
    let invalid = number(&summary, "invalid, counted as not received");
    assert!((1..=corrupt).contains(&invalid), "{invalid} of {corrupt}");
    assert!(number(&summary, "gaps given up") > 0);
    assert!(number(&summary, "books emptied by a gap of their own") > 0);
    assert!(number(&summary, "snapshots that replaced a book") > 0);
    assert!(number(&summary, "snapshots that replaced an order book") > 0);
}

#[test]
fn packets_of_no_known_group_are_counted() {
    let desk = Desk::new("foreign");
    let mut writer = Writer::new(File::create(desk.path("foreign.pcap")).expect("our folder"))
        .expect("room for a header");
    let start_ns = desk.arrivals[0].time_ns;
    let mut frame = Vec::new();
    let source = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1);
    let foreign = SocketAddrV4::new(Ipv4Addr::new(239, 1, 2, 3), 4_567);
    udp_ipv4_frame(&mut frame, source, foreign, b"hello").expect("a short payload");
    writer.write(start_ns, &frame).expect("room for a frame");
    let arp = [&[0; 12][..], &[0x08, 0x06], &[0; 46]].concat();
    writer.write(start_ns, &arp).expect("room for a frame");
    writer.finish().expect("room for a frame");
    let arguments = "replay --config cme.toml --pcap session.pcap foreign.pcap";
    let summary = desk.run(arguments).done().stdout;
    let words = "packets to 239.1.2.3:4567: the channel has no such group;";
    assert_eq!(number(&summary, words), 1);
    assert!(summary.contains("is this the right channel?"), "{summary}");
    let words = "frames skipped: another network protocol than IP";
    assert_eq!(number(&summary, words), 1);
    let printed = desk.run(&format!("{arguments} --print -q")).done().stdout;
    let words = " unrouted, from 127.0.0.1:1 to 239.1.2.3:4567, 5 bytes: ";
    assert!(printed.contains(words), "{printed}");
}

/// Without a snapshot, books stay empty or recover by updates only.
#[test]
fn replay_starts_at_the_selected_join_point() {
    let session = generate(&Options::default(), 4);
    let plan = FaultPlan::all_feeds([Fault::JoinLate { share: 0.3 }]);
    let mut arrivals = deliver(&session, &plan, 4).arrivals;
    arrivals.retain(|arrival| arrival.feed == Feed::Incremental);
    let desk = Desk::with("join", session, arrivals);
    for (join, word) in [("snapshot", "recovering"), ("natural", "natural")] {
        desk.replay(&format!("-q --join {join} --books books"))
            .done();
        let books = desk.read("books");
        let state = format!("\"state\":\"{word}\"");
        let in_state = |line: &&str| line.contains(&state);
        let shown: Vec<_> = books.lines().filter(in_state).collect();
        assert!(shown.len() > 2, "{books}");
        let are_empty = shown
            .iter()
            .all(|line| line.contains("\"bids\":[],\"asks\":[]"));
        assert_eq!(are_empty, join == "snapshot", "{books}");
    }
}

#[test]
fn help_has_examples_and_exit_statuses() {
    let desk = Desk::new("help");
    for (command, words) in [
        ("--help", &["demo", "replay", "bench"][..]),
        (
            "replay --help",
            &["--pcap", "--print-config", "Examples:", "Files:", "natural"],
        ),
        ("demo --help", &["--seed", "Examples:", "NO_COLOR"]),
    ] {
        let help = desk.run(command).done().stdout;
        for word in words.iter().chain(&["Exit status:", "Usage: touchline"]) {
            assert!(help.contains(word), "{word}: {help}");
        }
    }
    let version = desk.run("--version").done().stdout;
    let start = concat!("touchline ", env!("CARGO_PKG_VERSION"), " (");
    assert!(
        version.starts_with(start) && version.ends_with(")\n"),
        "{version}"
    );
    let nothing = desk.run("");
    assert_eq!((nothing.status, nothing.stdout.as_str()), (2, ""));
    assert!(nothing.stderr.contains("Usage: touchline <COMMAND>"));
}
