//! Captures of real exchanges, where available.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::PathBuf;

use touchline_net::{PacketSource, PcapSource};

/// A file below the folder of captures; prints that it is skipped if the folder is not set.
fn at_hand(path: &str) -> Option<PathBuf> {
    Some(touchline_testing::captures(path)?.join(path))
}

/// Packets and payload bytes by destination; every frame must be UDP.
fn count(path: PathBuf) -> BTreeMap<String, (u64, u64)> {
    let mut counts: BTreeMap<SocketAddrV4, (u64, u64)> = BTreeMap::new();
    let mut source = PcapSource::open([path]).expect("a capture");
    while let Some(packet) = source.receive().expect("a sound capture").packet() {
        let count = counts.entry(packet.destination).or_default();
        count.0 += 1;
        count.1 += packet.payload.len() as u64;
    }
    assert_eq!(source.skipped().total(), 0);
    let progress = source.progress();
    assert_eq!(Some(progress.consumed_bytes), progress.total_bytes);
    counts
        .into_iter()
        .map(|(destination, count)| (destination.to_string(), count))
        .collect()
}

#[test]
fn channel_340_has_3000_packets_on_each_line() {
    let Some(path) = at_hand("cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap")
    else {
        return;
    };
    let counts = count(path);
    let lines: Vec<_> = counts
        .iter()
        .map(|(group, count)| (group.as_str(), count.0))
        .collect();
    assert_eq!(
        lines,
        [("224.0.31.64:14340", 3000), ("224.0.32.64:15340", 3000)]
    );
    // Both lines carry the same payloads.
    assert_eq!(counts["224.0.31.64:14340"].1, counts["224.0.32.64:15340"].1);
}

#[test]
fn channel_340_has_line_b_first_in_96_of_100_packets() {
    let Some(path) = at_hand("cme-mdp3/mdp3-v6_ch340-feedAB_2016-11-12_part1_6000frames.pcap")
    else {
        return;
    };
    let mut source = PcapSource::open([path]).expect("a capture");
    // The payload starts with the venue's packet number; both lines carry it.
    let mut first: BTreeMap<[u8; 4], u16> = BTreeMap::new();
    let mut last_ns: BTreeMap<SocketAddrV4, u64> = BTreeMap::new();
    while let Some(packet) = source.receive().expect("a sound capture").packet() {
        let number = *packet.payload.first_chunk().expect("a packet header");
        first.entry(number).or_insert(packet.destination.port());
        let last_ns = last_ns.insert(packet.destination, packet.receive_ns);
        assert!(last_ns <= Some(packet.receive_ns));
    }
    let b_first = first.values().filter(|port| **port == 15_340).count();
    assert_eq!((b_first, first.len()), (2_882, 3_000));
}

#[test]
fn channel_320_has_178_packets_on_each_line() {
    let Some(path) = at_hand("cme-mdp3/mdp3-v8_ch320-feedAB_2016-09-27_tmpl35-filtered.pcap")
    else {
        return;
    };
    let counts = count(path);
    let lines: Vec<_> = counts
        .iter()
        .map(|(group, count)| (group.as_str(), count.0))
        .collect();
    assert_eq!(
        lines,
        [("224.0.31.11:14320", 178), ("224.0.32.11:15320", 178)]
    );
}

#[test]
fn a_zstandard_capture_of_150_000_packets_is_read_to_its_end() {
    let Some(path) = at_hand("iex/iex-deep-v1.0_2026-07-13.pcap.zst") else {
        return;
    };
    let counts = count(path);
    let lines: Vec<_> = counts
        .iter()
        .map(|(group, count)| (group.as_str(), count.0))
        .collect();
    assert_eq!(lines, [("233.215.21.4:10378", 150_000)]);
}

#[test]
fn a_gzip_capture_of_a_generated_session_is_read_to_its_end() {
    let Some(path) = at_hand("cme-generated/v9-clean/session.pcap.gz") else {
        return;
    };
    let counts = count(path);
    // Four feeds, two lines each.
    assert_eq!(counts.len(), 8, "{counts:?}");
    assert_eq!(counts["224.0.31.201:14999"], counts["224.0.32.201:15999"]);
}
