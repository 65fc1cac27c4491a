//! An old reader and a new writer: what a newer schema adds is skipped, and everything else is read.

use crate::Reader;
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::{
    Body, Flags, Malformed, Message, PART_BYTES_MAX, SCHEMA_VERSION, TopOfBook, encode,
    encode_top_of_book, layout,
};
use touchline_types::{
    Instrument, InstrumentDefinition, Price, Quantity, ReferenceData, Timestamps, TouchSource,
    Update, Validity,
};

/// A message as a writer of the next version makes it: its block and its entries are longer by what they say, and
/// `behind` follows the last group.
fn of_newer_writer(bytes: &[u8], block_more: usize, entry_more: usize, behind: &[u8]) -> Vec<u8> {
    let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let block_length = usize::from(word(0));
    let mut newer = Vec::new();
    newer.extend((word(0) + block_more as u16).to_le_bytes());
    newer.extend(&bytes[2..6]);
    newer.extend((SCHEMA_VERSION + 1).to_le_bytes());
    newer.extend(&bytes[8..8 + block_length]);
    newer.extend(vec![0xEE; block_more]);
    let mut at = 8 + block_length;
    while at < bytes.len() {
        let (length, count) = (usize::from(word(at)), word(at + 2));
        newer.extend((length as u16 + entry_more as u16).to_le_bytes());
        newer.extend(count.to_le_bytes());
        at += 4;
        for _ in 0..count {
            newer.extend(&bytes[at..at + length]);
            newer.extend(vec![0xEE; entry_more]);
            at += length;
        }
    }
    newer.extend(behind);
    newer
}

fn bytes_of(update: &Update<'_>) -> Vec<u8> {
    let mut bytes = vec![0; PART_BYTES_MAX];
    let length = encode(update, 1, Flags::NONE, &Timestamps::default(), &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

#[test]
fn longer_blocks_longer_entries_and_more_groups_are_skipped() {
    // A group of the newer schema: one entry of two bytes.
    let group = [2, 0, 1, 0, 0xEE, 0xEE];
    for seed in 1..=20 {
        let mut updates = RandomUpdates::from_seed(seed, 50);
        for kind in 0..KINDS {
            let update = updates.of_kind(kind);
            for (block_more, entry_more) in [(0, 0), (1, 0), (0, 1), (24, 8), (500, 40)] {
                for behind in [&[][..], &group] {
                    let bytes = of_newer_writer(&bytes_of(&update), block_more, entry_more, behind);
                    let message = Message::parse(&bytes).unwrap();
                    let mut reader = Reader::with_room(200);
                    assert_eq!(reader.update(&message), Ok(Some(update)), "seed {seed}");
                }
            }
        }
    }
}

/// A writer of our own version has nothing to add: what follows is damage.
#[test]
fn bytes_behind_the_groups_of_this_version_are_refused() {
    let bytes = of_newer_writer(&bytes_of(&Update::Reset), 0, 0, &[1]);
    assert!(Message::parse(&bytes).is_ok());
    let mut ours = bytes.clone();
    ours[6..8].copy_from_slice(&SCHEMA_VERSION.to_le_bytes());
    assert_eq!(Message::parse(&ours).unwrap_err(), Malformed::BytesLeftOver);
}

/// A template that is new is skipped, and its head still counts: the sequence has no gap.
#[test]
fn an_unknown_template_has_a_readable_header() {
    let known = |id| {
        let mut messages = layout::MESSAGES.iter();
        messages.any(|message| message.template_id == id)
    };
    let every = (0..=200).chain([u16::MAX]);
    for template_id in every.filter(|id| !known(*id)) {
        let mut bytes = of_newer_writer(&bytes_of(&Update::Reset), 0, 0, &[9; 40]);
        bytes[2..4].copy_from_slice(&template_id.to_le_bytes());
        let message = Message::parse(&bytes).unwrap();
        assert!(matches!(message.body, Body::Unknown { template_id: id } if id == template_id));
        assert_eq!(message.sequence(), 1);
        let mut reader = Reader::with_room(0);
        assert_eq!(reader.update(&message), Ok(None));
    }
}

/// A figure that is new is another figure; bits that are new mean nothing.
#[test]
fn new_kinds_and_new_bits_are_read_as_far_as_they_are_known() {
    let mut updates = RandomUpdates::from_seed(1, 50);
    let statistic = bytes_of(&updates.of_kind(5));
    let mut newer = statistic.clone();
    newer[8 + 96] = 200;
    let message = Message::parse(&newer).unwrap();
    assert!(matches!(message.body, Body::Statistics(read)
        if read.kind == touchline_types::StatisticKind::Other));

    let state = updates.of_kind(8);
    let mut newer = bytes_of(&state);
    newer[8 + 29] |= 0x80;
    let mut reader = Reader::with_room(0);
    assert_eq!(
        reader.update(&Message::parse(&newer).unwrap()),
        Ok(Some(state))
    );
}

/// A definition as a writer of version 1 made it: a block of 198 bytes, and no group.
fn of_version_1(bytes: &[u8]) -> Vec<u8> {
    let mut older = bytes[..8 + 198].to_vec();
    older[..2].copy_from_slice(&198_u16.to_le_bytes());
    older[6..8].copy_from_slice(&1_u16.to_le_bytes());
    older
}

/// We read an older writer: what it does not know of is not stated.
#[test]
fn a_definition_of_version_1_has_no_reference_data() {
    for seed in 1..=50 {
        let mut updates = RandomUpdates::from_seed(seed, 1);
        let Update::Definition(definition) = updates.of_kind(7) else {
            panic!("another kind")
        };
        let stated = InstrumentDefinition {
            reference: ReferenceData::NULL,
            ..*definition
        };
        let mut older = of_version_1(&bytes_of(&Update::Definition(definition)));
        let mut reader = Reader::with_room(0);
        let read = reader.update(&Message::parse(&older).unwrap());
        assert_eq!(read, Ok(Some(Update::Definition(&stated))), "seed {seed}");
        // A field that a writer of version 1 never had is damage.
        older.push(0);
        assert_eq!(
            Message::parse(&older).unwrap_err(),
            Malformed::BytesLeftOver
        );
    }
}

/// A reader of version 1 reads us: it takes the lengths from the wire, and its fields from where they were.
#[test]
fn a_reader_of_version_1_reads_a_definition() {
    for seed in 1..=50 {
        let mut updates = RandomUpdates::from_seed(seed, 1);
        let Update::Definition(definition) = updates.of_kind(7) else {
            panic!("another kind")
        };
        let bytes = bytes_of(&Update::Definition(definition));
        let block_length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let block = &bytes[8..8 + block_length];
        let word = |at: usize| i64::from_le_bytes(block[at..at + 8].try_into().unwrap());
        let text = |at: usize| {
            let text = &block[at..at + 32];
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(32);
            std::str::from_utf8(&text[..end]).unwrap()
        };
        assert_eq!(word(80), definition.security_id);
        assert_eq!(word(88), definition.tick.0);
        assert_eq!(text(96), definition.symbol.as_str());
        assert_eq!(text(128), definition.group.as_str());
        assert_eq!(text(160), definition.asset.as_str());
        let direct = definition.depth.direct.to_le_bytes();
        assert_eq!(block[192], definition.depth.direct.min(255) as u8);
        assert_eq!(block[193], definition.depth.implied);
        assert_eq!(block[194] as i8, definition.quantity_exponent);
        assert_eq!(block[195], u8::from(definition.defined));
        assert_eq!(block[196..198], direct);
        // Its rule for what follows the block: a newer writer may have added groups.
        assert!(u16::from_le_bytes([bytes[6], bytes[7]]) > 1);
    }
}

/// A top of version 2 is of the direct book alone, and a reader of version 2 finds the fields of ours where its own are.
#[test]
fn a_top_of_version_2_is_of_the_direct_book() {
    let top = TopOfBook {
        instrument: Instrument(51),
        validity: Validity::Live,
        bid_price: Price(100),
        bid_quantity: Quantity(5),
        ask_price: Price::NULL,
        ask_quantity: Quantity::NULL,
        bid_book: Some(TouchSource::Merged),
        ask_book: None,
    };
    let mut bytes = [0; 72];
    encode_top_of_book(&top, 1, Flags::NONE, &Timestamps::default(), &mut bytes).unwrap();
    let parsed = Message::parse(&bytes).unwrap().body;
    assert!(matches!(parsed, Body::TopOfBook(read) if read == top));
    let of_version_2 = |block: u16| {
        let mut older = bytes[..8 + usize::from(block)].to_vec();
        older[..2].copy_from_slice(&block.to_le_bytes());
        older[6..8].copy_from_slice(&2_u16.to_le_bytes());
        older
    };
    let older = of_version_2(62);
    let message = Message::parse(&older).unwrap();
    assert_eq!(message.version(), 2);
    let Body::TopOfBook(read) = message.body else {
        panic!("another message")
    };
    let direct = TopOfBook {
        bid_book: Some(TouchSource::Direct),
        ..top
    };
    assert_eq!(read, direct);
    let cut = Message::parse(&of_version_2(61)).map(|_| ());
    assert_eq!(cut, Err(Malformed::BlockTooShort));
    // Of ours a book that is none is damage.
    for (at, field) in [(62, "bidBook"), (63, "askBook")] {
        let mut bad = bytes;
        bad[8 + at] = 3;
        let read = Message::parse(&bad).map(|_| ());
        assert_eq!(read, Err(Malformed::Value(field)));
    }
}

/// The templates of this version are unknown to a reader of the one before, whose head and sequence it still reads: none
/// of them took a number that was in use.
#[test]
fn templates_of_this_version_are_new() {
    const VERSION_1: [u16; 14] = [1, 2, 3, 4, 10, 11, 12, 20, 21, 22, 30, 31, 40, 41];
    const NEW: [u16; 10] = [5, 50, 51, 60, 61, 62, 63, 70, 71, 80];
    for message in layout::MESSAGES {
        let id = message.template_id;
        assert!(
            VERSION_1.contains(&id) || NEW.contains(&id),
            "{}",
            message.name
        );
        assert_eq!(
            message.fields[0].offset, 0,
            "{}: the head is first",
            message.name
        );
        assert!(matches!(message.fields[0].kind, layout::Kind::Fields(head)
            if head == <layout::Head as layout::Fields>::FIELDS));
    }
}
