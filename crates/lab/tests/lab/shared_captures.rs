//! The reference handler compared with sessions and expected books of an independent generator.
//!
//! These files are not part of the repository; without TOUCHLINE_CAPTURES the tests say that they were skipped.

use std::collections::HashSet;
use std::path::PathBuf;
use touchline_lab::capture::{Arrival, Feed, Line};
use touchline_lab::picture::Picture;
use touchline_lab::reference::cme::arbitration::{Arbitration, Step};
use touchline_lab::reference::cme::{self, Flaw, Settings, packet};
use touchline_net::{PacketSource, PcapSource};

#[test]
fn a_clean_session_is_reproduced_exactly() {
    let Some(session) = session("v9-clean") else {
        return;
    };
    let picture = cme::run(&session.arrivals, Settings::default());
    assert_eq!(picture.books_jsonl(), session.text("books.jsonl"));
    assert_eq!(picture.orders_jsonl(), session.text("orders.jsonl"));
    assert_eq!(picture.tops_jsonl(), session.text("tops.jsonl"));
}

#[test]
fn books_of_a_damaged_session_are_correct_during_and_after_recovery() {
    for name in ["v9-lossy", "v9-gaps", "v9-late", "v9-all", "v13-gaps"] {
        let Some(session) = session(name) else { return };
        let picture = cme::run(&session.arrivals, Settings::default());
        assert_eq!(session.difference(&picture), None, "{name}");
    }
}

#[test]
fn each_injected_defect_is_detected_on_some_session() {
    for flaw in Flaw::ALL {
        let mut noticed = Vec::new();
        for name in ["v9-clean", "v9-gaps", "v13-gaps", "v9-all"] {
            let Some(session) = session(name) else { return };
            let settings = Settings {
                flaw: Some(flaw),
                ..Settings::default()
            };
            let picture = cme::run(&session.arrivals, settings);
            let tops_differ =
                name == "v9-clean" && picture.tops_jsonl() != session.text("tops.jsonl");
            if tops_differ || session.difference(&picture).is_some() {
                noticed.push(name);
            }
        }
        assert!(!noticed.is_empty(), "{flaw:?} went unnoticed");
    }
}

/// The line of the recorded channel that a group belongs to.
fn line_of(destination: &str) -> Line {
    if destination.starts_with("224.0.31.") {
        Line::A
    } else {
        Line::B
    }
}

/// A recording of a real channel, both lines, from the middle of its session.
#[test]
fn a_recorded_capture_has_no_gap_and_no_trailing_byte() {
    let Some(packets) = packets("cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap")
    else {
        return;
    };
    let settings = Settings::default();
    let mut arbitration = Arbitration::new(settings.wait_ns, settings.window);
    let mut steps = Vec::new();
    for (time_ns, destination, payload) in &packets {
        let packet = packet::read(payload).expect("every packet is tiled by its messages");
        let line = line_of(destination);
        steps.extend(arbitration.expire(*time_ns));
        arbitration.record_activity(*time_ns, line);
        steps.extend(arbitration.accept(*time_ns, line, payload.len(), packet));
    }
    steps.extend(arbitration.finish());
    let sequences = steps.iter().filter_map(|step| match step {
        Step::Packet(packet) => Some(packet.sequence),
        _ => None,
    });
    assert!(sequences.eq(5_615..=8_614));
    assert_eq!(
        steps.len(),
        3_001,
        "nothing is lost but what was before the first packet"
    );

    let arrivals = packets.into_iter().map(|(time_ns, destination, payload)| {
        let line = line_of(&destination);
        Arrival {
            time_ns,
            feed: Feed::Incremental,
            line,
            payload,
        }
    });
    let arrivals: Vec<Arrival> = arrivals.collect();
    let settings = Settings {
        natural: true,
        ..Settings::default()
    };
    let picture = cme::run(&arrivals, settings);
    let states: HashSet<&str> = picture.books.iter().map(|row| row.state.name()).collect();
    assert_eq!(
        states,
        HashSet::from(["natural"]),
        "without snapshots nothing becomes live"
    );
    assert!(
        picture
            .books
            .iter()
            .any(|row| row.bids.iter().flatten().count() == 10)
    );
}

struct Session {
    folder: PathBuf,
    arrivals: Vec<Arrival>,
}

impl Session {
    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file))
            .expect("the expected books are next to the capture")
    }

    /// Compares final books and orders, and searches each top in the expected ones.
    fn difference(&self, picture: &Picture) -> Option<String> {
        for (file, ours) in [
            ("books.jsonl", picture.books_jsonl()),
            ("orders.jsonl", picture.orders_jsonl()),
        ] {
            let expected_books = self.text(file);
            if let Some((ours, expected_books)) = ours
                .lines()
                .zip(expected_books.lines())
                .find(|(ours, expected_books)| ours != expected_books)
            {
                return Some(format!("{file}\nours  {ours}\ntruth {expected_books}"));
            }
            if ours.lines().count() != expected_books.lines().count() {
                return Some(format!("{file}: another number of instruments"));
            }
        }
        let expected_books = self.text("tops.jsonl");
        let expected_books: HashSet<&str> = expected_books.lines().collect();
        let ours = picture.tops_jsonl();
        ours.lines()
            .find(|line| !expected_books.contains(line))
            .map(|line| format!("tops.jsonl has no {line}"))
    }
}

/// Reads a session; `None`, with a line of output, if the captures are not present.
fn session(name: &str) -> Option<Session> {
    let file = format!("cme-generated/{name}/session.pcap.gz");
    let arrivals = packets(&file)?
        .into_iter()
        .map(|(time_ns, destination, payload)| {
            let (feed, line) = route(&destination);
            Arrival {
                time_ns,
                feed,
                line,
                payload,
            }
        });
    let arrivals = arrivals.collect();
    let folder = captures()?.join("cme-generated").join(name);
    Some(Session { folder, arrivals })
}

/// Time, destination and payload of each packet of a capture.
fn packets(file: &str) -> Option<Vec<(u64, String, Vec<u8>)>> {
    let mut source = PcapSource::open([captures()?.join(file)]).expect("the capture opens");
    let mut packets = Vec::new();
    while let Some(packet) = source.receive().expect("the capture is whole").packet() {
        packets.push((
            packet.receive_ns,
            packet.destination.to_string(),
            packet.payload.to_vec(),
        ));
    }
    Some(packets)
}

fn captures() -> Option<PathBuf> {
    touchline_testing::captures("captures of CME")
}

/// The groups of these sessions, as their config.xml lists them.
fn route(destination: &str) -> (Feed, Line) {
    match destination {
        "224.0.31.201:14999" => (Feed::Incremental, Line::A),
        "224.0.32.201:15999" => (Feed::Incremental, Line::B),
        "224.0.31.202:14999" => (Feed::Definitions, Line::A),
        "224.0.32.202:15999" => (Feed::Definitions, Line::B),
        "224.0.31.203:14999" => (Feed::Snapshot, Line::A),
        "224.0.32.203:15999" => (Feed::Snapshot, Line::B),
        "233.72.75.201:23999" => (Feed::OrderSnapshot, Line::A),
        "233.72.75.202:22999" => (Feed::OrderSnapshot, Line::B),
        other => panic!("{other} is not a group of these sessions"),
    }
}
