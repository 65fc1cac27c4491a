//! Bytes that are not a message are refused, without a panic and without a partly applied update.

use crate::Reader;
use touchline_lab::random::{Random, seeds};
use touchline_lab::updates::{KINDS, RandomUpdates};
use touchline_types::native::{
    Body, Flags, Malformed, Message, PART_BYTES_MAX, PART_BYTES_MIN, Part, Unfit, encode, parts,
};
use touchline_types::{
    BookUpdate, Gap, Instrument, LevelChange, OrdersUpdate, Price, State, Timestamps, Trade,
    Update, UpdateAction, Validity,
};

const HEADER: usize = 8;
const BOOK_GROUP: usize = HEADER + 132;

fn bytes_of(update: &Update<'_>) -> Vec<u8> {
    let mut bytes = vec![0; PART_BYTES_MAX];
    let length = encode(update, 1, Flags::NONE, &Timestamps::default(), &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

fn book_update(changes: &[LevelChange]) -> Vec<u8> {
    bytes_of(&Update::Book(BookUpdate {
        instrument: Instrument(1),
        security_id: 1,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes,
        best_bid: None,
        best_ask: None,
    }))
}

/// The bytes with `value` at `offset`.
fn with<const N: usize>(bytes: &[u8], offset: usize, value: [u8; N]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + N].copy_from_slice(&value);
    bytes
}

fn refusal(bytes: &[u8]) -> Malformed {
    Message::parse(bytes).expect_err("it must be refused")
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    for kind in 0..KINDS {
        let mut updates = RandomUpdates::from_seed(kind as u64 + 1, 6);
        let mut bytes = bytes_of(&updates.of_kind(kind));
        for length in 0..bytes.len() {
            assert!(
                Message::parse(&bytes[..length]).is_err(),
                "kind {kind}, {length} bytes"
            );
        }
        bytes.push(0);
        assert_eq!(refusal(&bytes), Malformed::BytesLeftOver, "kind {kind}");
    }
}

#[test]
fn a_buffer_that_is_too_short_is_an_error_and_not_overrun() {
    for kind in 0..KINDS {
        let mut updates = RandomUpdates::from_seed(kind as u64 + 1, 6);
        let update = updates.of_kind(kind);
        let length = bytes_of(&update).len();
        for room in 0..length {
            let mut out = vec![0; room];
            let written = encode(&update, 1, Flags::NONE, &Timestamps::default(), &mut out);
            assert_eq!(written, None, "kind {kind}, {room} bytes");
        }
    }
}

#[test]
fn each_fault_of_the_frame_has_its_own_error() {
    let good = book_update(&[]);
    assert!(Message::parse(&good).is_ok());
    assert_eq!(refusal(&good[..7]), Malformed::HeaderCut);
    assert_eq!(refusal(&with(&good, 4, [1, 0])), Malformed::SchemaUnknown);
    assert_eq!(
        refusal(&with(&good, 0, [0xff, 0xff])),
        Malformed::BlockPastEnd
    );
    assert_eq!(refusal(&with(&good, 0, [131, 0])), Malformed::BlockTooShort);
    assert_eq!(refusal(&with(&good, 0, [0, 0])), Malformed::BlockTooShort);
    assert_eq!(refusal(&good[..BOOK_GROUP + 3]), Malformed::DimensionCut);
    assert_eq!(refusal(&good[..BOOK_GROUP]), Malformed::DimensionCut);
    // Entries of no bytes would be any number of entries.
    let endless = with(&good, BOOK_GROUP, [0, 0, 0xff, 0xff]);
    assert_eq!(refusal(&endless), Malformed::EntryTooShort);
    let short = with(&good, BOOK_GROUP, [23, 0, 0, 0]);
    assert_eq!(refusal(&short), Malformed::EntryTooShort);
    let overlong = with(&good, BOOK_GROUP, [24, 0, 1, 0]);
    assert_eq!(refusal(&overlong), Malformed::GroupPastEnd);
    let most = with(&good, BOOK_GROUP, [0xff; 4]);
    assert_eq!(refusal(&most), Malformed::GroupPastEnd);
}

/// Every byte that has a code, and the error for an invalid code.
#[test]
fn undefined_codes_are_refused() {
    let mut updates = RandomUpdates::from_seed(1, 1);
    let mut one = |kind, offset: usize, code: u8, field| {
        // An update with one entry, where it has entries.
        let good = std::iter::repeat_with(|| bytes_of(&updates.of_kind(kind)))
            .find(|bytes| bytes.len() > HEADER + offset)
            .unwrap();
        assert!(Message::parse(&good).is_ok());
        let bad = with(&good, HEADER + offset, [code]);
        assert_eq!(
            refusal(&bad),
            Malformed::Value(field),
            "kind {kind}, offset {offset}"
        );
    };
    const BOOK: usize = 0;
    const ORDERS: usize = 1;
    const ORDERS_SNAPSHOT: usize = 3;
    for code in [6, 77, 255] {
        one(BOOK, 28, code, "validity");
        one(ORDERS, 28, code, "validity");
        one(2, 28, code, "validity");
        one(ORDERS_SNAPSHOT, 28, code, "validity");
        one(8, 28, code, "validity");
        one(9, 96, code, "ordersValidity");
    }
    one(BOOK, 128, 3, "bidState");
    one(BOOK, 129, 3, "askState");
    one(BOOK, 136 + 21, 2, "side");
    one(BOOK, 136 + 22, 4, "action");
    one(ORDERS, 88 + 32, 2, "side");
    one(ORDERS, 88 + 33, 3, "action");
    one(ORDERS_SNAPSHOT, 88 + 32, 255, "side");
    one(4, 108, 2, "aggressor");
    one(4, 109, 6, "action");
    one(5, 97, 6, "action");
    one(7, 195, 2, "defined");
    one(7, 293, 2, "optionRight");
    one(7, 296, 7, "venueName");
    one(7, 312, 0x80, "currency");
    one(7, 328, 1, "settlementCurrency");
    one(7, 348 + 12, 2, "side");
    one(11, 80, 2, "phase");
    one(11, 80, 255, "phase");
}

#[test]
fn a_message_of_an_instrument_without_an_index_is_refused() {
    for kind in [0, 1, 2, 3, 4, 5, 7, 8] {
        let mut updates = RandomUpdates::from_seed(3, 2);
        let bytes = bytes_of(&updates.of_kind(kind));
        let nobody = with(&bytes, HEADER + 24, [0xff; 4]);
        assert_eq!(
            refusal(&nobody),
            Malformed::Value("instrument"),
            "kind {kind}"
        );
    }
}

/// A damaged message is refused, or its update can be written and read again unchanged.
#[test]
fn damaged_messages_are_refused_or_completely_decoded() {
    let mut accepted = 0;
    for seed in seeds(30) {
        let mut random = Random::from_seed(seed);
        let mut updates = RandomUpdates::from_seed(seed, 30);
        let mut reader = Reader::with_room(200);
        for _ in 0..2_000 {
            let mut bytes = bytes_of(&updates.any());
            for _ in 0..=random.index(4) {
                let at = random.index(bytes.len());
                bytes[at] = random.next_u64() as u8;
            }
            bytes.truncate(bytes.len() - random.index(3));
            let Ok(message) = Message::parse(&bytes) else {
                continue;
            };
            reader.decoder.forget();
            let Ok(Some(update)) = reader.update(&message) else {
                continue;
            };
            accepted += 1;
            let again = bytes_of(&update);
            let mut second = Reader::with_room(200);
            let read = second.update(&Message::parse(&again).unwrap());
            assert_eq!(read, Ok(Some(update)), "SEED={seed}");
        }
    }
    assert!(accepted > 1_000, "the test must see messages that survive");
}

#[test]
fn random_bytes_never_panic() {
    let mut accepted = 0;
    for seed in seeds(20) {
        let mut random = Random::from_seed(seed);
        for _ in 0..5_000 {
            let mut bytes = vec![0; random.index(600)];
            bytes
                .iter_mut()
                .for_each(|byte| *byte = random.next_u64() as u8);
            let template = *random.pick(&[
                1, 2, 3, 4, 10, 11, 12, 20, 21, 22, 30, 31, 40, 41, 50, 51, 60, 61, 62, 63, 70, 71,
                80, 99,
            ]);
            if let Some(header) = bytes.get_mut(..8) {
                let [low, high] = (random.index(500) as u16).to_le_bytes();
                let version = random.index(3) as u8;
                header.copy_from_slice(&[low, high, template, 0, b'T', b'L', version, 0]);
            }
            if let Ok(message) = Message::parse(&bytes) {
                accepted += 1;
                assert!(!format!("{message:?}").is_empty());
            }
        }
    }
    assert!(accepted > 500, "the test must see bytes that are a message");
}

/// Parts that arrive in another order than they were sent in are not assembled.
#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let mut updates = RandomUpdates::from_seed(5, 400);
    let orders = loop {
        if let Update::Orders(update) = updates.of_kind(1)
            && update.changes.len() > 60
        {
            break update.changes.to_vec();
        }
    };
    let update = |instrument| {
        Update::Orders(OrdersUpdate {
            instrument: Instrument(instrument),
            validity: Validity::Live,
            changes: &orders,
        })
    };
    let sent = |instrument: u32, first: u64| -> Vec<Vec<u8>> {
        let encode = |(part, sequence): (Part<'_>, u64)| {
            let mut bytes = vec![0; part.len()];
            part.encode(sequence, Flags::NONE, &Timestamps::default(), &mut bytes)
                .unwrap();
            bytes
        };
        parts(&update(instrument), PART_BYTES_MIN)
            .zip(first..)
            .map(encode)
            .collect()
    };
    let (ours, others) = (sent(1, 1), sent(2, 1));
    assert!(ours.len() > 4);
    let refused_at = |order: &[&Vec<u8>]| {
        let mut reader = Reader::with_room(400);
        order.iter().position(|bytes| {
            let message = Message::parse(bytes).unwrap();
            reader.update(&message) == Err(Unfit::PartMissing)
        })
    };
    let state = bytes_of(&Update::State(State {
        instrument: Instrument(1),
        validity: Validity::Live,
    }));
    assert_eq!(refused_at(&ours.iter().collect::<Vec<_>>()), None);
    assert_eq!(refused_at(&[&ours[1]]), Some(0), "no beginning");
    assert_eq!(refused_at(&[&ours[0], &ours[2]]), Some(1), "a hole");
    assert_eq!(refused_at(&[&ours[0], &ours[0]]), Some(1), "begun twice");
    assert_eq!(
        refused_at(&[&ours[0], &ours[1], &ours[1]]),
        Some(2),
        "twice"
    );
    assert_eq!(
        refused_at(&[&ours[0], &others[1]]),
        Some(1),
        "of another instrument"
    );
    assert_eq!(
        refused_at(&[&ours[0], &state]),
        Some(1),
        "something in between"
    );

    // A refused message leaves no state in the reader.
    let mut reader = Reader::with_room(400);
    let parse = |bytes| Message::parse(bytes).unwrap();
    assert!(reader.update(&parse(&ours[0])).is_ok());
    assert!(reader.update(&parse(&state)).is_err());
    assert!(matches!(
        reader.update(&parse(&state)),
        Ok(Some(Update::State(_)))
    ));
}

#[test]
fn lists_of_a_snapshot_in_the_wrong_order_are_refused() {
    let mut updates = RandomUpdates::from_seed(5, 40);
    let (bids, asks) = loop {
        if let Update::BookSnapshot(snapshot) = updates.of_kind(2)
            && !snapshot.bids.is_empty()
            && !snapshot.asks.is_empty()
        {
            break (snapshot.bids.to_vec(), snapshot.asks.to_vec());
        }
    };
    let part = |bids, asks, sequence: u8, flags: Flags| {
        let snapshot = touchline_types::BookSnapshot {
            instrument: Instrument(1),
            validity: Validity::Live,
            bids,
            asks,
            implied_bids: &[],
            implied_asks: &[],
        };
        let bytes = bytes_of(&Update::BookSnapshot(snapshot));
        with(&with(&bytes, HEADER, [sequence]), HEADER + 29, [flags.0])
    };
    let first = part(&bids, &asks, 1, Flags::MORE);
    let in_turn = part(&[], &asks, 2, Flags::CONTINUED);
    let out_of_turn = part(&bids, &[], 2, Flags::CONTINUED);
    for (second, fits) in [(in_turn, true), (out_of_turn, false)] {
        let mut reader = Reader::with_room(400);
        assert_eq!(reader.update(&Message::parse(&first).unwrap()), Ok(None));
        assert_eq!(
            reader.update(&Message::parse(&second).unwrap()).is_ok(),
            fits
        );
    }
}

#[test]
fn an_update_for_which_there_is_no_room_is_refused() {
    for kind in 0..4 {
        for seed in 1.. {
            let mut updates = RandomUpdates::from_seed(seed, 40);
            let bytes = bytes_of(&updates.of_kind(kind));
            let message = Message::parse(&bytes).unwrap();
            let mut small = Reader::with_room(10);
            if let Err(refusal) = small.update(&message) {
                assert_eq!(refusal, Unfit::NoRoom);
                break;
            }
            assert!(
                seed < 1_000,
                "no update of kind {kind} is large enough for the test"
            );
        }
    }
}

/// The small values are given by the message itself; this is what a reader without a decoder sees.
#[test]
fn small_messages_are_read_without_a_decoder() {
    let gap = Gap {
        first: 1,
        last: 2,
        orders: Validity::Natural,
    };
    let bytes = bytes_of(&Update::Gap(gap));
    let message = Message::parse(&bytes).unwrap();
    assert!(matches!(message.body, Body::Gap(read) if read == gap));
    let reversed = bytes_of(&Update::Gap(Gap { first: 3, ..gap }));
    let error = Message::parse(&reversed).unwrap_err();
    assert_eq!(error, Malformed::Value("lastLost"));
    assert_eq!((message.instrument(), message.validity()), (None, None));

    let trade = Trade {
        instrument: Instrument(9),
        orders: -1,
        price: Price(1),
        quantity: touchline_types::Quantity::NULL,
        aggressor: None,
        action: UpdateAction::New,
        trade_id: 0,
    };
    let bytes = bytes_of(&Update::Trade(&trade));
    let message = Message::parse(&bytes).unwrap();
    assert!(matches!(message.body, Body::Trade(read) if read == trade));
    assert_eq!(message.instrument(), Some(Instrument(9)));
}
