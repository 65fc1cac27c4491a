//! Quotes and orders: what is written is what is read; bytes that are none are refused.

use super::Reader;
use touchline_lab::orders::{ORDER_KINDS, order_of_kind, quote_changes, quote_stream, quotes};
use touchline_lab::random::{Random, seeds};
use touchline_types::native::{
    Body, Decoder, Flags, Malformed, Message, PART_BYTES_MAX, PART_BYTES_MIN, SCHEMA_VERSION,
    Scratch, Unfit, encode, encode_order, encode_quote_snapshot, encode_quote_update, parts,
    quote_snapshot_parts, quote_update_parts,
};
use touchline_types::{OrderMessage, QuoteSnapshot, QuoteUpdate, Timestamps, Update};

fn bytes_of(message: &OrderMessage) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    let length = encode_order(message, 1, Flags::NONE, &Timestamps::default(), &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

fn order_in(bytes: &[u8]) -> Result<Option<OrderMessage>, Malformed> {
    Ok(match Message::parse(bytes)?.body {
        Body::Order(order) => Some(order.value()),
        _ => None,
    })
}

#[test]
fn every_order_message_is_read_back_as_written() {
    for seed in seeds(200) {
        let mut random = Random::from_seed(seed);
        for kind in 0..ORDER_KINDS {
            let message = order_of_kind(&mut random, kind);
            let bytes = bytes_of(&message);
            assert_eq!(order_in(&bytes), Ok(Some(message)), "SEED={seed}");
            // It is no update, and breaks none that is read in parts.
            let read = Message::parse(&bytes).unwrap();
            let scratch = Scratch {
                changes: &mut [],
                orders: &mut [],
                levels: &mut [],
                quote_changes: &mut [],
                quotes: &mut [],
            };
            assert_eq!(Decoder::new().update(&read, scratch), Ok(None));
        }
    }
}

#[test]
fn truncated_and_extended_orders_are_refused_and_a_short_buffer_is_an_error() {
    let mut random = Random::from_seed(1);
    for kind in 0..ORDER_KINDS {
        let message = order_of_kind(&mut random, kind);
        let mut bytes = bytes_of(&message);
        for length in 0..bytes.len() {
            assert!(
                Message::parse(&bytes[..length]).is_err(),
                "kind {kind}, {length} bytes"
            );
            let room = &mut vec![0; length];
            let written = encode_order(&message, 1, Flags::NONE, &Timestamps::default(), room);
            assert_eq!(written, None, "kind {kind}, {length} bytes");
        }
        bytes.push(0);
        assert_eq!(
            order_in(&bytes),
            Err(Malformed::BytesLeftOver),
            "kind {kind}"
        );
        // A newer writer may add fields and groups.
        bytes[6] = SCHEMA_VERSION as u8 + 1;
        assert_eq!(order_in(&bytes), Ok(Some(message)), "kind {kind}");
        let block = u16::from_le_bytes([bytes[0], bytes[1]]) + 1;
        bytes[..2].copy_from_slice(&block.to_le_bytes());
        assert_eq!(order_in(&bytes), Ok(Some(message)), "kind {kind}");
    }
}

/// Each code with an invalid value, and each text with an invalid byte.
#[test]
fn undefined_values_are_refused() {
    let mut random = Random::from_seed(1);
    let mut one = |kind: usize, offset: usize, value: u8, field: &'static str| {
        let mut bytes = bytes_of(&order_of_kind(&mut random, kind));
        bytes[8 + offset] = value;
        assert_eq!(
            order_in(&bytes),
            Err(Malformed::Value(field)),
            "kind {kind}, {offset}"
        );
    };
    for kind in [0, 2] {
        one(kind, 72 + 68, 2, "side");
        one(kind, 72 + 69, 5, "orderType");
        one(kind, 72 + 70, 5, "timeInForce");
        one(kind, 72 + 48, 0x7F, "currency");
        one(kind, 152, 1, "clientOrderId");
    }
    for kind in 0..ORDER_KINDS {
        one(kind, 32 + 8, 1, "venueName");
        one(kind, 32 + 24, 0xFF, "account");
    }
    one(0, 216, 1, "parentOrderId");
    one(0, 280, 1, "quoteId");
    one(1, 280, 2, "side");
    one(1, 88, 1, "clientOrderId");
    one(1, 152, 1, "originalClientOrderId");
    one(1, 216, 1, "orderId");
    one(2, 216, 1, "originalClientOrderId");
    one(2, 280, 1, "orderId");
    one(3, 160, 2, "side");
    one(3, 161, 2, "kill");
    one(3, 80, 1, "clientOrderId");
    one(3, 144, 1, "requestedBy");
    one(4, 134, 255, "side");
    one(4, 135, 16, "executionType");
    one(4, 136, 12, "orderState");
    one(4, 138, 2, "liquidity");
    one(4, 144, 1, "clientOrderId");
    one(4, 208, 1, "originalClientOrderId");
    one(4, 272, 1, "orderId");
    one(4, 336, 1, "executionId");
    one(4, 400, 1, "executionReferenceId");
    one(5, 74, 4, "request");
    one(5, 80, 1, "clientOrderId");
    one(5, 144, 1, "originalClientOrderId");
    one(5, 208, 1, "orderId");
    one(5, 272, 1, "rejectText");
    one(6, 152, 1, "currency");
}

/// Damage anywhere: refused, or a message that can be written and read again as it is.
#[test]
fn damaged_orders_are_refused_or_completely_decoded() {
    let mut accepted = 0;
    for seed in seeds(30) {
        let mut random = Random::from_seed(seed);
        for _ in 0..500 {
            let kind = random.index(ORDER_KINDS);
            let mut bytes = bytes_of(&order_of_kind(&mut random, kind));
            for _ in 0..=random.index(4) {
                let at = random.index(bytes.len());
                bytes[at] = random.next_u64() as u8;
            }
            if let Ok(Some(message)) = order_in(&bytes) {
                accepted += 1;
                assert_eq!(
                    order_in(&bytes_of(&message)),
                    Ok(Some(message)),
                    "SEED={seed}"
                );
            }
        }
    }
    assert!(accepted > 1_000, "the test must see messages that survive");
}

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
