//! An old reader and a new writer: what a newer schema adds is skipped, and everything else is read.

use crate::Reader;
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::{
    Body, Flags, Malformed, Message, PART_BYTES_MAX, SCHEMA_VERSION, encode, layout,
};
use touchline_types::{Timestamps, Update};

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
fn what_follows_the_groups_of_our_own_version_is_refused() {
    let bytes = of_newer_writer(&bytes_of(&Update::Reset), 0, 0, &[1]);
    assert!(Message::parse(&bytes).is_ok());
    let mut ours = bytes.clone();
    ours[6..8].copy_from_slice(&SCHEMA_VERSION.to_le_bytes());
    assert_eq!(Message::parse(&ours).unwrap_err(), Malformed::BytesLeftOver);
}

/// A template that is new is skipped, and its head still counts: the sequence has no gap.
#[test]
fn a_template_that_is_not_known_has_a_head() {
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
