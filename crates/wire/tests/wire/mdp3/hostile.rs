//! Frames that break a naive decoder. Each is rejected for the right reason.

use crate::mdp3::bytes::{Bytes, book, packet};
use std::time::{Duration, Instant};
use touchline_wire::mdp3::Packet;
use touchline_wire::sbe::Malformed::{self, *};

/// A packet with a message of the right size.
fn one(message: Bytes) -> Bytes {
    packet().raw(&message.sized().0)
}

/// A packet with a message of this stated size, right or wrong.
fn says(size: u16, message: &[u8]) -> Bytes {
    packet().u16(size).raw(message)
}

/// The root of message 46, without groups.
fn root(version: u16) -> Bytes {
    Bytes::default().header(11, 46, version).raw(&[0; 11])
}

/// The root of message 46, with an empty first group.
fn second(version: u16) -> Bytes {
    root(version).group(32, 0)
}

fn frames() -> Vec<(&'static str, Bytes, Malformed)> {
    let heartbeat = Bytes::default().header(0, 12, 9);
    let foreign = |schema: u16| Bytes::default().u16(0).u16(12).u16(schema).u16(9);
    let wide =
        |block: u16, count: u8, bytes: usize| root(9).group(block, count).raw(&vec![0; bytes]);
    let right = book(9);
    vec![
        ("nothing at all", Bytes::default(), PacketHeaderCut),
        (
            "a packet header one byte short",
            Bytes::default().raw(&[0; 11]),
            PacketHeaderCut,
        ),
        (
            "one byte after the packet header",
            packet().u8(10),
            MessageHeaderCut,
        ),
        (
            "a size and nothing else",
            packet().u16(10),
            MessageHeaderCut,
        ),
        (
            "a header one byte short",
            says(10, &heartbeat.0[..7]),
            MessageHeaderCut,
        ),
        (
            "size 0: would never advance",
            says(0, &heartbeat.0),
            MessageTooSmall,
        ),
        ("size 1", says(1, &heartbeat.0), MessageTooSmall),
        (
            "size 2: only itself",
            says(2, &heartbeat.0),
            MessageTooSmall,
        ),
        (
            "size 9: one less than the headers",
            says(9, &heartbeat.0),
            MessageTooSmall,
        ),
        (
            "size 0 after a right message",
            one(heartbeat.clone()).u16(0),
            MessageTooSmall,
        ),
        (
            "size one past the packet",
            says(11, &heartbeat.0),
            MessagePastEnd,
        ),
        ("size 65535", says(u16::MAX, &heartbeat.0), MessagePastEnd),
        (
            "the second message past the packet",
            one(heartbeat.clone()).u16(200).raw(&heartbeat.0),
            MessagePastEnd,
        ),
        (
            "a stray byte after the last message",
            one(heartbeat.clone()).u8(0),
            MessageHeaderCut,
        ),
        (
            "size covers less than the message",
            says(right.0.len() as u16 + 1, &right.0),
            GroupPastEnd,
        ),
        ("schema 0", one(foreign(0)), SchemaUnknown),
        ("schema 2", one(foreign(2)), SchemaUnknown),
        (
            "schema 256: the bytes the other way round",
            one(foreign(256)),
            SchemaUnknown,
        ),
        ("schema 65535", one(foreign(u16::MAX)), SchemaUnknown),
        (
            "an unknown template of another schema",
            one(Bytes::default().u16(0).u16(999).u16(7).u16(9)),
            SchemaUnknown,
        ),
        (
            "a block longer than the message",
            one(Bytes::default().header(12, 46, 9).raw(&[0; 11])),
            BlockPastEnd,
        ),
        (
            "a block of 65535",
            one(Bytes::default().header(u16::MAX, 46, 9).raw(&[0; 30])),
            BlockPastEnd,
        ),
        (
            "a block of 0",
            one(Bytes::default().header(0, 46, 9).raw(&[0; 30])),
            BlockTooShort,
        ),
        (
            "a block one byte short",
            one(Bytes::default().header(10, 46, 9).raw(&[0; 30])),
            BlockTooShort,
        ),
        ("no first group", one(root(9)), GroupHeaderCut),
        (
            "half of a first group's dimension",
            one(root(9).u16(32)),
            GroupHeaderCut,
        ),
        ("no second group", one(second(9)), GroupHeaderCut),
        (
            "seven of eight bytes of a dimension",
            one(second(9).raw(&[0; 7])),
            GroupHeaderCut,
        ),
        (
            "entries of 0 bytes: the same one for ever",
            one(wide(0, 1, 0)),
            EntryTooShort,
        ),
        (
            "255 entries of 0 bytes",
            one(wide(0, 255, 0).group8(24, 0)),
            EntryTooShort,
        ),
        (
            "entries of 1 byte",
            one(wide(1, 200, 200).group8(24, 0)),
            EntryTooShort,
        ),
        (
            "entries one byte short",
            one(wide(31, 2, 62).group8(24, 0)),
            EntryTooShort,
        ),
        (
            "orders of 0 bytes",
            one(second(9).group8(0, 7)),
            EntryTooShort,
        ),
        (
            "orders one byte short",
            one(second(9).group8(23, 1).raw(&[0; 23])),
            EntryTooShort,
        ),
        (
            "entries past the message",
            one(wide(32, 3, 64)),
            GroupPastEnd,
        ),
        (
            "the last entry one byte past the message",
            one(wide(32, 2, 63)),
            GroupPastEnd,
        ),
        (
            "255 entries of 65535 bytes",
            one(wide(u16::MAX, 255, 64)),
            GroupPastEnd,
        ),
        (
            "a product that is small in 16 bits: 128 x 512",
            one(wide(512, 128, 64)),
            GroupPastEnd,
        ),
        (
            "orders past the message",
            one(second(9).group8(24, 2).raw(&[0; 47])),
            GroupPastEnd,
        ),
        (
            "255 orders of 65535 bytes",
            one(second(9).group8(u16::MAX, 255)),
            GroupPastEnd,
        ),
        (
            "a byte after the last group",
            one(second(9).group8(24, 0).u8(0)),
            BytesLeftOver,
        ),
        (
            "the same in the newest version known",
            one(second(13).group8(24, 0).u8(0)),
            BytesLeftOver,
        ),
        (
            "orders in a message too old to have them",
            one(Bytes::default()
                .header(11, 32, 6)
                .raw(&[0; 11])
                .group(32, 0)
                .group8(24, 0)),
            BytesLeftOver,
        ),
        (
            "a heartbeat with a body",
            one(heartbeat.u8(0)),
            BytesLeftOver,
        ),
        (
            "version 65535 with a short block",
            one(Bytes::default().header(3, 46, u16::MAX).raw(&[0; 40])),
            BlockTooShort,
        ),
    ]
}

#[test]
fn hostile_frames_are_refused() {
    for (about, bytes, expected) in frames() {
        // The fastest of many, since a test may be interrupted at any time.
        let refuse = |_| {
            let start = Instant::now();
            assert_eq!(Packet::parse(&bytes.0).err(), Some(expected), "{about}");
            start.elapsed()
        };
        let fastest = (0..50).map(refuse).min().expect("50 times");
        assert!(fastest < Duration::from_micros(10), "{about}: {fastest:?}");
        assert!(!expected.to_string().is_empty());
    }
}

/// Unusual frames that are valid.
#[test]
fn unusual_valid_frames_are_accepted() {
    let unknown = Bytes::default().header(u16::MAX, 999, u16::MAX);
    for (about, bytes) in [
        ("no message", packet()),
        ("an unknown template with any contents", one(unknown)),
        (
            "an empty group with any block length",
            one(root(9).group(u16::MAX, 0).group8(0, 0)),
        ),
        (
            "a longer block than any template",
            one(Bytes::default()
                .header(40, 46, 9)
                .raw(&[9; 40])
                .group(32, 0)
                .group8(24, 0)),
        ),
        (
            "bytes left over in a version not yet known",
            one(second(14).group8(24, 0).raw(&[0; 9])),
        ),
        ("a heartbeat", one(Bytes::default().header(0, 12, 9))),
    ] {
        assert!(Packet::parse(&bytes.0).is_ok(), "{about}");
    }
}
