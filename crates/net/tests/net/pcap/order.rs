//! Capture order: out-of-order times within one file, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use proptest::prelude::*;
use touchline_net::frame::udp_ipv4_frame;
use touchline_net::pcap::{Reader, Writer};
use touchline_net::{PacketSource, PcapSource};

const SOURCE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5000);
/// Far enough from zero for times to step back.
const START_NS: u64 = 1_600_000_000_000_000_000;
const WINDOW_NS: u64 = 1_000_000;

/// A packet: its line, its time after [`START_NS`], its number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    line: u8,
    time_ns: u64,
    number: u32,
}

fn group(line: u8) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(224, 0, 31, line), 14_310)
}

/// Packets of a file, numbered in its order.
fn numbered(packets: impl IntoIterator<Item = (u8, u64)>) -> Vec<Sent> {
    packets
        .into_iter()
        .zip(0..)
        .map(|((line, time_ns), number)| Sent {
            line,
            time_ns,
            number,
        })
        .collect()
}

fn capture(packets: &[Sent]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("a vector takes everything");
    let mut frame = Vec::new();
    for packet in packets {
        udp_ipv4_frame(
            &mut frame,
            SOURCE,
            group(packet.line),
            &packet.number.to_le_bytes(),
        )
        .expect("a short payload");
        writer
            .write(START_NS + packet.time_ns, &frame)
            .expect("a vector takes everything");
    }
    writer.finish().expect("a vector takes everything")
}

/// Packets of a source, with their effective times.
fn replayed(file: &[u8]) -> Vec<Sent> {
    let mut source = PcapSource::new([Reader::new(file).expect("a capture")]);
    let mut packets = Vec::new();
    while let Some(packet) = source.receive().expect("a sound capture").packet() {
        packets.push(Sent {
            line: packet.destination.ip().octets()[3],
            time_ns: packet.receive_ns - START_NS,
            number: u32::from_le_bytes(packet.payload.try_into().expect("four bytes")),
        });
    }
    packets
}

/// The order of an unlimited merge: a stable sort by effective time.
fn merged(packets: &[Sent]) -> Vec<Sent> {
    let mut latest: BTreeMap<u8, u64> = BTreeMap::new();
    let effective = packets.iter().map(|packet| {
        let latest_ns = latest.entry(packet.line).or_default();
        *latest_ns = packet.time_ns.max(*latest_ns);
        Sent {
            time_ns: *latest_ns,
            ..*packet
        }
    });
    let mut merged: Vec<_> = effective.collect();
    merged.sort_by_key(|packet| packet.time_ns);
    merged
}

/// The numbers of a line's packets, in order.
fn line_of(packets: &[Sent], line: u8) -> Vec<u32> {
    packets
        .iter()
        .filter(|packet| packet.line == line)
        .map(|packet| packet.number)
        .collect()
}

proptest! {
    /// Lines with a skew below the window are merged exactly by time.
    #[test]
    fn lines_within_the_window_are_merged_by_time(
        // At most one packet in 8 us, so that no more than 256 wait at a time.
        steps in prop::collection::vec((0u8..4, 8_000u64..40_000, 0u64..WINDOW_NS), 0..900),
    ) {
        let mut now_ns = 2 * WINDOW_NS;
        let packets = numbered(steps.into_iter().map(|(line, step_ns, early_ns)| {
            now_ns += step_ns;
            // Each line has a skew of its own; some packets of any line step back.
            let skew_ns = if early_ns % 5 == 0 { early_ns } else { u64::from(line) * WINDOW_NS / 4 };
            (line, now_ns - skew_ns)
        }));
        prop_assert_eq!(replayed(&capture(&packets)), merged(&packets));
    }

    /// For any times no packet is lost, no line is reordered, and no line's time steps back.
    #[test]
    fn any_times_keep_each_line_in_order(
        packets in prop::collection::vec(
            (0u8..5, prop_oneof![0u64..1_000, 0u64..3 * WINDOW_NS, 0u64..1_000_000_000_000]),
            0..900,
        ),
    ) {
        let packets = numbered(packets);
        let replayed = replayed(&capture(&packets));
        prop_assert_eq!(replayed.len(), packets.len());
        for line in packets.iter().map(|packet| packet.line).collect::<BTreeSet<_>>() {
            prop_assert_eq!(line_of(&replayed, line), line_of(&packets, line));
            let of_line = |packet: &&Sent| packet.line == line;
            prop_assert!(replayed.iter().filter(of_line).is_sorted_by_key(|packet| packet.time_ns));
        }
    }
}

#[test]
fn equal_times_keep_the_order_of_the_file() {
    let packets = numbered([(2, 5), (1, 5), (3, 5), (1, 5), (2, 5)]);
    assert_eq!(replayed(&capture(&packets)), packets);
}

#[test]
fn a_packet_waits_a_millisecond_for_an_earlier_one_and_no_longer() {
    let late = |step_ns| numbered([(1, 5_000_000), (1, 5_000_000 + step_ns), (2, 4_000_000)]);
    let numbers = |packets: &[Sent]| {
        replayed(&capture(packets))
            .iter()
            .map(|packet| packet.number)
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&late(WINDOW_NS)), [2, 0, 1]);
    assert_eq!(numbers(&late(WINDOW_NS + 1)), [0, 2, 1]);
}

#[test]
fn at_most_256_packets_wait() {
    let burst = |count: u64| {
        let packets = (0..count).map(|at| (1, 1_000 + at)).chain([(2, 1)]);
        replayed(&capture(&numbered(packets)))[0].line
    };
    assert_eq!(burst(255), 2, "the late packet is still in time");
    assert_eq!(burst(256), 1, "the window was full before it was read");
}
