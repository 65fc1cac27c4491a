//! A session of CME's TCP replay: any bytes of the venue, in any pieces.
//!
//! The first byte chooses the requested range and the size of the pieces; the rest is the venue's answer.

use crate::{Target, seeds};
use touchline_feed::cme::replay::{Credentials, Session, Step};
use touchline_wire::mdp3::Packet;

pub(crate) const TARGET: Target = Target {
    name: "cme_replay",
    about: "whatever a replay server sends, and however it is cut: the same packets, all asked for, valid, and no more of them",
    run,
    seeds,
};

const PACKET_BYTES_MAX: usize = 1500;
const CHANNEL: u32 = 310;

fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let last = 1 + u32::from(choice & 15);
    let whole = answers(bytes, last, bytes.len().max(1));
    let piece = 1 + usize::from(choice >> 4);
    let pieces = answers(bytes, last, piece);
    assert_eq!(pieces, whole, "another answer in pieces of {piece}");
}

/// Output of a session for the packets 1 to `last`, given `bytes` in pieces: the packets and the end.
fn answers(bytes: &[u8], last: u32, piece: usize) -> Vec<String> {
    let credentials = Credentials::new("user", "password").expect("both can be sent");
    let mut session = Session::new(credentials, CHANNEL, PACKET_BYTES_MAX);
    session.begin(1, last);
    let (mut log, mut packets) = (Vec::new(), 0);
    for piece in bytes.chunks(piece) {
        let mut rest = piece;
        while !rest.is_empty() {
            let room = session.room();
            assert!(!room.is_empty(), "a packet that never ends");
            let (now, later) = rest.split_at(room.len().min(rest.len()));
            room[..now.len()].copy_from_slice(now);
            session.received(now.len());
            rest = later;
            while let Some(step) = session.step() {
                log.push(format!("{step:?}"));
                let Step::Packet(packet) = step else {
                    assert!(session.step().is_none(), "an end that is none");
                    return log;
                };
                packets += 1;
                let header = Packet::parse(packet).expect("a valid packet").header;
                assert!((1..=last).contains(&header.sequence), "not asked for");
                assert!(packets <= last, "more than was asked for");
            }
        }
        let sent = session.output().len();
        session.sent(sent);
    }
    log
}

/// Whole conversations, and the answers of real servers with real captures.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        conversation(&[admin(1, 16, &[b'x'; 180])]),
        conversation(&[admin(1, 15, &[30]), admin(2, 16, &[0; 180])]),
        conversation(&[admin(1, 15, &[30]), admin(2, 12, &[]), admin(1, 12, &[])]),
    ];
    for packet in seeds::mdp3_packets(20) {
        let mut packet = packet;
        packet.truncate(PACKET_BYTES_MAX);
        if let Some(sequence) = packet.first_chunk_mut::<4>() {
            *sequence = 1_u32.to_le_bytes();
        }
        seeds.push(conversation(&[
            admin(1, 15, &[30]),
            packet,
            admin(2, 16, &[0; 180]),
        ]));
    }
    seeds
}

/// For packets 1 to 16, in pieces of 4.
fn conversation(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![0x3f];
    for packet in packets {
        bytes.extend((packet.len() as u16).to_le_bytes());
        bytes.extend(packet);
    }
    bytes
}

/// A packet of one message.
fn admin(sequence: u32, template: u16, block: &[u8]) -> Vec<u8> {
    let mut packet = sequence.to_le_bytes().to_vec();
    packet.extend(1_660_000_000_000_000_000_u64.to_le_bytes());
    for field in [10 + block.len() as u16, block.len() as u16, template, 1, 9] {
        packet.extend(field.to_le_bytes());
    }
    packet.extend(block);
    packet
}
