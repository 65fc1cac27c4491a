//! Contents of a generated session: it has every message, action and awkward order of events.

use std::collections::{BTreeMap, BTreeSet};
use touchline_lab::capture::Feed;
use touchline_lab::cme::encode::Version;
use touchline_lab::cme::{Options, SentPacket, Session, generate};
use touchline_lab::reference::cme::message::Message;
use touchline_lab::reference::cme::packet::{self, Packet};

const SEEDS: u64 = 12;

#[test]
fn generated_sessions_contain_every_template() {
    let old = [
        4, 12, 30, 37, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 199,
    ];
    let wide = [64, 65, 66, 67, 69];
    for (version, expected) in [
        (Version::V9, old.to_vec()),
        (Version::V13, [&old[..], &wide[..]].concat()),
    ] {
        let mut seen = BTreeSet::new();
        for session in sessions(version) {
            seen.extend(
                session
                    .packets
                    .iter()
                    .flat_map(|packet| templates(&packet.payload)),
            );
        }
        assert_eq!(seen, expected.into_iter().collect(), "{version:?}");
    }
}

#[test]
fn generated_sessions_contain_every_action_and_depth() {
    let mut actions = BTreeSet::new();
    let mut order_actions = BTreeSet::new();
    let mut deepest = BTreeMap::new();
    for session in sessions(Version::V13) {
        for (_, packet) in read(&session, Feed::Incremental) {
            for message in packet.messages {
                if let Message::Entries {
                    entries, orders, ..
                } = message
                {
                    actions.extend(
                        entries
                            .iter()
                            .filter_map(|entry| entry.book)
                            .map(|book| book.action),
                    );
                    order_actions.extend(orders.iter().map(|order| order.action));
                }
            }
        }
        for row in &session.expected.books {
            *deepest.entry(row.bids.len()).or_insert(0) += 1;
        }
        // In the end makers have quoted most sides; in between they are empty now and then.
        let tops = session.expected.tops.iter();
        *deepest.entry(0).or_insert(0) += tops.filter(|top| top.bid.is_none()).count();
    }
    assert_eq!(actions, BTreeSet::from([0, 1, 2, 3, 4, 5]));
    assert_eq!(order_actions, BTreeSet::from([0, 1, 2]));
    assert!(
        [0, 1, 3, 5, 10]
            .iter()
            .all(|depth| deepest.get(depth).is_some_and(|&count| count > 10)),
        "{deepest:?}"
    );
}

#[test]
fn events_span_packets_and_packets_hold_several_events() {
    let (mut spanning, mut holding) = (0, 0);
    for session in sessions(Version::V9) {
        let mut is_open = false;
        for (_, packet) in read(&session, Feed::Incremental) {
            let mut ends = 0;
            spanning += u32::from(is_open);
            for message in packet.messages {
                is_open = match message {
                    Message::Entries { end_of_event, .. } | Message::Other { end_of_event } => {
                        !end_of_event
                    }
                    _ => is_open,
                };
                ends += u32::from(!is_open);
            }
            holding += u32::from(ends > 1);
        }
    }
    assert!(
        spanning > 100 && holding > 100,
        "{spanning} events span packets, {holding} packets hold several"
    );
}

#[test]
fn snapshots_are_behind_and_ahead_of_the_incremental_feed_and_have_parts() {
    let (mut behind, mut level, mut ahead, mut parts) = (0, 0, 0, 0);
    for session in sessions(Version::V9) {
        let mut shown = 0;
        for sent in &session.packets {
            match sent.feed {
                Feed::Incremental => shown = sent.sequence,
                Feed::Definitions => {}
                Feed::Snapshot | Feed::OrderSnapshot => {
                    for message in read_one(sent).messages {
                        let last_packet = match message {
                            Message::PriceSnapshot(snapshot) => snapshot.last_packet,
                            Message::OrderChunk(chunk) => {
                                parts += u32::from(chunk.chunks > 1);
                                chunk.last_packet
                            }
                            _ => continue,
                        };
                        match last_packet.cmp(&shown) {
                            std::cmp::Ordering::Less => behind += 1,
                            std::cmp::Ordering::Equal => level += 1,
                            std::cmp::Ordering::Greater => ahead += 1,
                        }
                    }
                }
            }
        }
    }
    let counts = [behind, level, ahead, parts];
    assert!(
        counts.iter().all(|&count| count > 20),
        "behind, level, ahead, in parts: {counts:?}"
    );
}

#[test]
fn generated_sessions_contain_sequence_resets_and_negative_prices() {
    let (mut restarts, mut negative) = (0, 0);
    for session in sessions(Version::V9) {
        let packets = read(&session, Feed::Incremental);
        restarts += packets
            .windows(2)
            .filter(|pair| pair[1].1.sequence < pair[0].1.sequence)
            .count();
        let bids = session
            .expected
            .books
            .iter()
            .flat_map(|row| row.bids.iter().flatten());
        negative += bids
            .filter(|level| level.price.is_some_and(|price| price < 0))
            .count();
    }
    assert!(
        restarts > 0 && negative > 0,
        "{restarts} restarts, {negative} negative prices"
    );
}

/// Sessions with everything switched on.
fn sessions(version: Version) -> impl Iterator<Item = Session> {
    (0..SEEDS).map(move |seed| {
        let options = Options {
            version,
            instruments: 16,
            events: 1_000,
            bulk_actions: true,
            unknown_share: 0.05,
            channel_resets: 1,
            renumber_after_channel_reset: seed % 2 == 0,
            weekly_resets: (seed % 2) as usize,
            late_definition: true,
            large_quantities: seed % 2 == 0,
            ..Options::default()
        };
        generate(&options, seed)
    })
}

fn read(session: &Session, feed: Feed) -> Vec<(&SentPacket, Packet)> {
    let packets = session.packets.iter().filter(|packet| packet.feed == feed);
    packets.map(|sent| (sent, read_one(sent))).collect()
}

fn read_one(sent: &SentPacket) -> Packet {
    packet::read(&sent.payload).expect("what is sent is valid")
}

/// The template ids of a packet's messages, which every packet must be tiled by.
fn templates(payload: &[u8]) -> Vec<u16> {
    let mut ids = Vec::new();
    let mut rest = &payload[12..];
    while let [low, high, ..] = *rest {
        ids.push(u16::from_le_bytes([rest[4], rest[5]]));
        rest = &rest[usize::from(u16::from_le_bytes([low, high]))..];
    }
    ids
}
