//! Round trip of every kind of update, whole and in parts: the decoder reads the update that was written.

use crate::Reader;
use touchline_lab::random::seeds;
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::{
    Flags, Message, PART_BYTES_MAX, PART_BYTES_MIN, Part, encode, encoded_len, parts,
};
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, Price, Quantity, Side,
    Timestamps, Update, Validity,
};

/// An update, its stamps, its number and its flags come back from one message as they were.
#[test]
fn every_update_is_read_back_from_one_message() {
    for seed in seeds(200) {
        let mut updates = RandomUpdates::from_seed(seed, 400);
        let mut reader = Reader::with_room(1_600);
        for kind in 0..KINDS {
            let timestamps = updates.timestamps();
            let update = updates.of_kind(kind);
            let mut bytes = vec![0xAA; PART_BYTES_MAX];
            let flags = Flags::END_OF_BATCH | Flags::STAMPED_BY_CARD;
            let length = encode(&update, seed, flags, &timestamps, &mut bytes).unwrap();
            assert_eq!(length, encoded_len(&update), "SEED={seed} {update:?}");
            assert!(
                bytes[length..].iter().all(|byte| *byte == 0xAA),
                "SEED={seed}"
            );

            let message = Message::parse(&bytes[..length]).unwrap();
            assert_eq!(
                (message.sequence(), message.timestamps()),
                (seed, timestamps)
            );
            assert_eq!(message.flags().only(Flags::OF_PUBLISHER), flags);
            assert_eq!(reader.update(&message), Ok(Some(update)), "SEED={seed}");
        }
    }
}

/// Parts of any length together have the contents of the whole; no part is published before the last.
#[test]
fn every_update_is_read_back_from_its_parts() {
    let mut most_parts = 0;
    for seed in seeds(100) {
        let mut updates = RandomUpdates::from_seed(seed, 400);
        let mut reader = Reader::with_room(1_600);
        for kind in 0..KINDS {
            let bytes_max = PART_BYTES_MIN + (seed as usize * 37) % 2_000;
            let timestamps = updates.timestamps();
            let update = updates.of_kind(kind);
            let mut sequence = seed;
            let mut whole = false;
            for part in parts(&update, bytes_max) {
                assert!(!whole, "SEED={seed}: a part after the last");
                let mut bytes = vec![0; part.len()];
                let flags = Flags::END_OF_BATCH;
                let length = part
                    .encode(sequence, flags, &timestamps, &mut bytes)
                    .unwrap();
                assert!(length == bytes.len() && length <= bytes_max, "SEED={seed}");
                let message = Message::parse(&bytes).unwrap();
                let read = reader.update(&message).unwrap();
                whole = !message.flags().has(Flags::MORE);
                assert_eq!(message.flags().has(Flags::END_OF_BATCH), whole);
                assert_eq!(read, whole.then_some(update), "SEED={seed}");
                sequence += 1;
            }
            assert!(whole, "SEED={seed}: no last part");
            most_parts = most_parts.max(sequence - seed);
        }
    }
    assert!(most_parts > 10, "the test must see updates of many parts");
}

/// An order book with more orders than a group of one message can count, in the largest messages there are.
#[test]
fn a_large_order_book_is_read_back() {
    let orders: Vec<OrderChange> = (0..100_000)
        .map(|order_id| OrderChange {
            order_id,
            priority: !order_id,
            price: Price(order_id as i64 - 7),
            quantity: Quantity(1),
            side: Side::BOTH[order_id as usize % 2],
            action: OrderAction::New,
            row: OrderRow::NONE,
        })
        .collect();
    let update = Update::OrdersSnapshot(OrdersSnapshot {
        instrument: Instrument(3),
        validity: Validity::Live,
        orders: &orders,
    });
    let timestamps = Timestamps::default();
    let mut bytes = vec![0; 8 << 20];
    assert_eq!(
        encode(&update, 1, Flags::NONE, &timestamps, &mut bytes),
        None
    );

    let mut reader = Reader::with_room(orders.len());
    let all: Vec<Part<'_>> = parts(&update, usize::MAX).collect();
    assert_eq!(
        all.len(),
        100_000_usize.div_ceil((PART_BYTES_MAX - 96) / 40)
    );
    for (part, sequence) in all.iter().zip(1..) {
        let length = part
            .encode(sequence, Flags::NONE, &timestamps, &mut bytes)
            .unwrap();
        assert!(length <= PART_BYTES_MAX);
        let message = Message::parse(&bytes[..length]).unwrap();
        let read = reader.update(&message).unwrap();
        assert_eq!(read, (!part.more).then_some(update));
    }
}
