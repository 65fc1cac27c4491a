//! Quotes: the decoder reads the quotes that were written; bytes that are not quotes are refused.

use super::Reader;
use touchline_lab::quotes::{quote_changes, quote_stream, quotes};
use touchline_lab::random::{Random, seeds};
use touchline_types::native::{
    Body, Flags, Malformed, Message, PART_BYTES_MAX, PART_BYTES_MIN, Unfit, encode,
    encode_quote_snapshot, encode_quote_update, parts, quote_snapshot_parts, quote_update_parts,
};
use touchline_types::{QuoteSnapshot, QuoteUpdate, Timestamps, Update};

/// Whole and cut to any length: the parts together say what the whole says.
#[test]
fn quotes_are_read_back_from_one_message_and_from_parts() {
    let mut most_parts = 0;
    for seed in seeds(60) {
        let random = &mut Random::from_seed(seed);
        let stream = quote_stream(random);
        let (changes, quotes) = (quote_changes(random, 60), quotes(random, 60));
        for bytes_max in [
            PART_BYTES_MAX,
            0,
            PART_BYTES_MIN + seed as usize * 31 % 3_000,
        ] {
            let (mut read, mut parts) = (Vec::new(), 0);
            let update = QuoteUpdate {
                stream,
                changes: &changes,
            };
            for (part, flags) in quote_update_parts(&update, bytes_max) {
                let mut bytes = vec![0; bytes_max.max(PART_BYTES_MIN)];
                let times = Timestamps::default();
                let length = encode_quote_update(&part, seed, flags, &times, &mut bytes).unwrap();
                let message = Message::parse(&bytes[..length]).unwrap();
                let Body::QuoteUpdate(view) = message.body else {
                    panic!("SEED={seed}")
                };
                assert_eq!(
                    (view.stream(), message.flags()),
                    (stream, flags),
                    "SEED={seed}"
                );
                assert_eq!(flags.has(Flags::CONTINUED), parts > 0);
                read.extend(view.quotes);
                assert_eq!(flags.has(Flags::MORE), read.len() < changes.len());
                parts += 1;
            }
            assert_eq!(read, changes, "SEED={seed}");
            most_parts = most_parts.max(parts);

            let mut read = Vec::new();
            let snapshot = QuoteSnapshot {
                stream,
                quotes: &quotes,
            };
            for (part, flags) in quote_snapshot_parts(&snapshot, bytes_max) {
                let mut bytes = vec![0; bytes_max.max(PART_BYTES_MIN)];
                let times = Timestamps::default();
                let length = encode_quote_snapshot(&part, seed, flags, &times, &mut bytes).unwrap();
                let message = Message::parse(&bytes[..length]).unwrap();
                let Body::QuoteSnapshot(view) = message.body else {
                    panic!("SEED={seed}")
                };
                assert_eq!(
                    (view.stream(), message.flags()),
                    (stream, flags),
                    "SEED={seed}"
                );
                read.extend(view.quotes);
            }
            assert_eq!(read, quotes, "SEED={seed}");
        }
    }
    assert!(most_parts > 10, "the test must see updates of many parts");
}

#[test]
fn quotes_with_undefined_codes_are_refused() {
    let random = &mut Random::from_seed(1);
    let stream = quote_stream(random);
    let changes = std::iter::repeat_with(|| quote_changes(random, 2))
        .find(|changes| !changes.is_empty())
        .unwrap();
    let update = QuoteUpdate {
        stream,
        changes: &changes,
    };
    let mut bytes = [0; 512];
    let times = Timestamps::default();
    let length = encode_quote_update(&update, 1, Flags::NONE, &times, &mut bytes).unwrap();
    assert!(Message::parse(&bytes[..length]).is_ok());
    let first = 116 + 4;
    for (offset, value, field) in [
        (28, 6, "validity"),
        (88, 1, "provider"),
        (first + 46, 2, "side"),
        (first + 48, 3, "action"),
        (first + 56, 1, "quoteId"),
    ] {
        let mut bad = bytes;
        bad[8 + offset] = value;
        let refusal = Message::parse(&bad[..length]).unwrap_err();
        assert_eq!(refusal, Malformed::Value(field));
    }
    for length in 0..length {
        assert!(Message::parse(&bytes[..length]).is_err(), "{length} bytes");
    }
}

/// Through the same writer and reader as books: parts come one after the other, and the last one gives the update.
#[test]
fn quotes_are_updates_as_books_are() {
    let mut most_parts = 0;
    for seed in seeds(40) {
        let random = &mut Random::from_seed(seed);
        let stream = quote_stream(random);
        let (changes, all) = (quote_changes(random, 60), quotes(random, 60));
        let updates = [
            Update::Quotes(QuoteUpdate {
                stream,
                changes: &changes,
            }),
            Update::QuoteSnapshot(QuoteSnapshot {
                stream,
                quotes: &all,
            }),
        ];
        for update in updates {
            let (mut reader, mut sequence) = (Reader::with_room(64), seed);
            let count = parts(&update, PART_BYTES_MIN).count();
            for part in parts(&update, PART_BYTES_MIN) {
                let mut bytes = vec![0; PART_BYTES_MIN];
                let times = Timestamps::default();
                let length = part.encode(sequence, Flags::NONE, &times, &mut bytes);
                let message = Message::parse(&bytes[..length.unwrap()]).unwrap();
                let expected = (sequence + 1 == seed + count as u64).then_some(update);
                assert_eq!(reader.update(&message), Ok(expected), "SEED={seed}");
                sequence += 1;
            }
            most_parts = most_parts.max(count);
            let mut small = Reader::with_room(0);
            let mut bytes = vec![0; PART_BYTES_MAX];
            let times = Timestamps::default();
            let length = encode(&update, 1, Flags::NONE, &times, &mut bytes).unwrap();
            let message = Message::parse(&bytes[..length]).unwrap();
            let is_empty = matches!(&update, Update::Quotes(update) if update.changes.is_empty())
                || matches!(&update, Update::QuoteSnapshot(all) if all.quotes.is_empty());
            let expected = if is_empty {
                Ok(Some(update))
            } else {
                Err(Unfit::NoRoom)
            };
            assert_eq!(small.update(&message), expected, "SEED={seed}");
        }
    }
    assert!(most_parts > 10, "the test must see updates of many parts");
}
