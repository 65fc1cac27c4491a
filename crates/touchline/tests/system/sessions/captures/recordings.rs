//! All other available packets of CME: every byte is decoded, and every message is known.

use super::{arrivals, captures, pictures_agree, reference};
use crate::sessions::fold::Program;
use crate::sessions::path::{mirror_agrees, picture, run, subscriber};
use crate::sessions::watch::Tops;
use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::path::Path;
use touchline_feed::cme::{FeedType, Join, Line};
use touchline_lab::capture::{self, Arrival};
use touchline_lab::reference::cme::packet;
use touchline_wire::mdp3::{Message, Packet};

#[test]
fn every_recorded_packet_is_read_to_its_last_byte() {
    let Some(captures) = captures("every recorded packet of CME") else {
        return;
    };
    let mut templates = BTreeSet::new();
    for (name, arrivals) in recordings(&captures.join("cme-mdp3")) {
        assert!(!arrivals.is_empty(), "{name} is empty");
        for arrival in &arrivals {
            let packet = Packet::parse(&arrival.payload).unwrap_or_else(|e| panic!("{name}: {e}"));
            let messages: Vec<_> = packet.messages().collect();
            // The reference refuses a packet with remaining bytes in a message.
            let plain = packet::read(&arrival.payload).expect("tiled by its messages");
            assert_eq!(plain.messages.len(), messages.len(), "{name}");
            for raw in messages {
                if Message::of(raw).is_none() {
                    println!("{name}: unknown template {}", raw.header.template_id);
                }
                templates.insert(raw.header.template_id);
            }
        }
    }
    println!("templates seen: {templates:?}");
    assert!(templates.len() > 10, "only {templates:?} were seen");
}

/// Recordings with artificial gaps (made by a filter) are handled by the rules.
#[test]
fn every_recording_agrees_with_the_reference() {
    let Some(captures) = captures("recordings against the reference") else {
        return;
    };
    let (mut gaps, mut checked) = (0, 0);
    for (name, arrivals) in recordings(&captures.join("cme-mdp3")) {
        for join in [Join::Snapshot, Join::Natural] {
            let what = format!("{name}, {join:?}");
            let path = run(&arrivals, join, Tops::default());
            let counters = path.feed().counters();
            assert_eq!(counters.packets_invalid, 0, "{what}");
            assert_eq!(counters.messages_unknown, 0, "{what}");
            gaps += counters.gaps;
            let picture = picture(&path, subscriber(&path).0.clone());
            pictures_agree(&picture, &reference(&arrivals, join), &what);
            mirror_agrees(&path, &what);
            let path = run(&arrivals, join, Program::new(256, 16_384));
            checked += subscriber(&path).fold.checked;
        }
    }
    assert!(gaps > 0, "no recording has a hole, so nothing was tested");
    assert!(checked > 0, "no folded book was compared");
}

/// Arrivals of each recording by name; the packets in hexadecimal belong to different channels and
/// form a recording each.
fn recordings(folder: &Path) -> Vec<(String, Vec<Arrival>)> {
    let mut recordings = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of captures") {
        let path = entry.expect("an entry of the folder").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".pcap") {
            // Line A is sent to 224.0.31.0/24, also on CME's test networks; the feed is the same.
            let line = |third| if third == 32 { Line::B } else { Line::A };
            let route = |to: SocketAddrV4| Some((FeedType::Incremental, line(to.ip().octets()[2])));
            recordings.push((name, arrivals(&path, route)));
        } else if name.ends_with(".hex.tsv") {
            let text = std::fs::read_to_string(&path).expect("text");
            for row in text.lines().filter(|row| !row.starts_with('#')) {
                recordings.push((format!("{name}: {}", &row[..32]), vec![single(row)]));
            }
        }
    }
    recordings
}

/// A packet in hexadecimal: sequence, sending time, templates, bytes.
fn single(row: &str) -> Arrival {
    let columns: Vec<_> = row.split('\t').collect();
    let [_, sending_ns, templates, hex] = columns[..] else {
        panic!("{row} has not four columns");
    };
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    Arrival {
        time_ns: sending_ns.parse().expect("a time"),
        feed: match templates.split(',').next() {
            Some("54" | "56") => capture::Feed::Definitions,
            Some("52") => capture::Feed::Snapshot,
            _ => capture::Feed::Incremental,
        },
        line: capture::Line::A,
        payload: (0..hex.len()).step_by(2).map(byte).collect(),
    }
}
