//! Every message in hex, as it lies on the wire. Journals and other languages hold these bytes: a change here is a
//! change of the format.

use crate::Reader;
use touchline_types::native::{
    Flags, Message, TopOfBook, encode, encode_heartbeat, encode_top_of_book, mark_end_of_batch,
};
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, ChannelState, Code, Depth, DisplayFactor, Gap, Instrument,
    InstrumentDefinition, Leg, Legs, Level, LevelAction, LevelChange, OptionRight, OrderAction,
    OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, PacketInfo, Phase, Price, PriceFraction,
    Quantity, ReferenceData, SecurityType, Side, State, Statistic, StatisticKind, Symbol,
    Timestamps, TouchSource, Trade, TradingStatus, Update, UpdateAction, Validity,
};

/// Each a number that shows where it lies.
const TIMESTAMPS: Timestamps = Timestamps {
    exchange_ns: 0x1111_0000_0000_0001,
    packet: PacketInfo {
        sequence: 0x4444_0001,
        sending_ns: 0x5555_0000_0000_0001,
        receive_ns: 0x2222_0000_0000_0001,
    },
    polled: 0x6666_0000_0000_0001,
    decoded: 0x7777_0000_0000_0001,
    applied: 0x8888_0000_0000_0001,
    published: 0x9999_0000_0000_0001,
};

/// Sequence and the two times that every message has.
const TIMES: &str = "0201000000000000 0100000000001111 0100000000002222";

/// Bytes behind the head in every message but the top of book.
const TRACE: &str = "0000 0100444400000000 0100000000005555
    0100000000006666 0100000000007777 0100000000008888 0100000000009999";

const INSTRUMENT: Instrument = Instrument(0x33);

fn level(price: i64, quantity: i64, orders: i32) -> Level {
    Level {
        price: Price(price),
        quantity: Quantity(quantity),
        orders,
        known: true,
    }
}

/// `update` as message 0x102 must be these bytes, and the bytes must be a message again.
fn holds(update: &Update<'_>, expected: &[&str]) {
    let mut bytes = [0xEE; 512];
    let length = encode(update, 0x102, Flags::END_OF_BATCH, &TIMESTAMPS, &mut bytes).unwrap();
    same(&bytes[..length], expected);
    read_again(&bytes[..length], update);
    if !matches!(update, Update::Definition(_)) {
        // A message without added fields differs from version 0 only in its version number.
        bytes[6] = 0;
        read_again(&bytes[..length], update);
    }
}

/// The update is what the bytes say.
fn read_again(bytes: &[u8], update: &Update<'_>) {
    let mut reader = Reader::with_room(8);
    let read = reader.update(&Message::parse(bytes).unwrap());
    assert_eq!(read, Ok(Some(*update)));
}

fn bytes_of(hex: &[&str]) -> Vec<u8> {
    let digits: String = hex.concat().split_whitespace().collect();
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Bytes of a writer of version 0, where later versions have added fields.
#[test]
fn messages_of_version_0_are_read() {
    let change = |index, action| LevelChange {
        level: level(100, 5, 2),
        book: BookKind::Direct,
        side: Side::Bid,
        action,
        index,
    };
    let changes = [
        change(0, LevelAction::Replace),
        change(255, LevelAction::Insert),
    ];
    let update = BookUpdate {
        instrument: INSTRUMENT,
        security_id: 0x44,
        validity: Validity::Natural,
        direct: true,
        whole: false,
        changes: &changes,
        best_bid: Some(level(100, 5, 2)),
        best_ask: None,
    };
    let bytes = bytes_of(&[
        "8400 1500 544c 0000",
        TIMES,
        "33000000 03 19",
        TRACE,
        "4400000000000000",
        "6400000000000000 0500000000000000",
        "ffffffffffffff7f ffffffffffffff7f",
        "02000000 ffffffff 01 00 0000",
        "1800 0200", // two entries of 24 bytes
        "6400000000000000 0500000000000000 02000000 00 00 01 00",
        "6400000000000000 0500000000000000 02000000 00 00 00 ff",
    ]);
    read_again(&bytes, &Update::Book(update));

    let definition = InstrumentDefinition {
        instrument: INSTRUMENT,
        security_id: 0x44,
        symbol: Symbol::new(b"ESU4"),
        group: Symbol::new(b"ES"),
        asset: Symbol::new(&[b'Z'; 32]),
        depth: Depth {
            direct: 255,
            implied: 2,
        },
        tick: Price(250_000_000),
        quantity_exponent: -8,
        defined: true,
        reference: ReferenceData::NULL,
    };
    let mut bytes = bytes_of(&[
        "c400 0a00 544c 0000", // block of 196
        TIMES,
        "33000000 ff 01",
        TRACE,
        "4400000000000000 80b2e60e00000000",
        &format!("45535534{}", "00".repeat(28)),
        &format!("4553{}", "00".repeat(30)),
        &"5a".repeat(32),
        "ff 02 f8 01",
    ]);
    read_again(&bytes, &Update::Definition(&definition));
    bytes[0] -= 1;
    bytes.pop();
    assert!(Message::parse(&bytes).is_err(), "shorter than version 0");
}

/// Definition of an instrument by a writer of version 1: no reference data.
#[test]
fn messages_of_version_1_are_read() {
    let definition = InstrumentDefinition {
        instrument: INSTRUMENT,
        security_id: 0x44,
        symbol: Symbol::new(b"ESU4"),
        group: Symbol::EMPTY,
        asset: Symbol::EMPTY,
        depth: Depth {
            direct: 300,
            implied: 2,
        },
        tick: Price(250_000_000),
        quantity_exponent: -8,
        defined: true,
        reference: ReferenceData::NULL,
    };
    let bytes = bytes_of(&[
        "c600 0a00 544c 0100", // block of 198, version 1
        TIMES,
        "33000000 ff 01",
        TRACE,
        "4400000000000000 80b2e60e00000000",
        &format!("45535534{}", "00".repeat(28)),
        &"00".repeat(64),
        "ff 02 f8 01 2c01",
    ]);
    read_again(&bytes, &Update::Definition(&definition));
}

fn same(bytes: &[u8], expected: &[&str]) {
    let expected: String = expected.concat();
    let digits: Vec<u8> = expected
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .collect();
    let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(written, String::from_utf8(digits).unwrap());
    assert_eq!(Message::parse(bytes).unwrap().sequence(), 0x102);
}

#[test]
fn book_update() {
    let changes = [
        LevelChange {
            level: level(100, 5, 2),
            book: BookKind::Direct,
            side: Side::Bid,
            action: LevelAction::Replace,
            index: 0,
        },
        LevelChange {
            level: Level::UNKNOWN,
            book: BookKind::Implied,
            side: Side::Ask,
            action: LevelAction::Remove,
            index: 9,
        },
        LevelChange {
            level: level(200, 6, 3),
            book: BookKind::Direct,
            side: Side::Ask,
            action: LevelAction::Insert,
            index: 300,
        },
    ];
    let update = BookUpdate {
        instrument: INSTRUMENT,
        security_id: 0x44,
        validity: Validity::Natural,
        direct: true,
        whole: false,
        changes: &changes,
        best_bid: Some(level(100, 5, 2)),
        best_ask: None,
    };
    holds(
        &Update::Book(update),
        &[
            "8400 1500 544c 0300", // block of 132, template 21, schema TL, version 2
            TIMES,
            "33000000 03 19", // natural; end of batch, direct, cut
            TRACE,
            "4400000000000000",
            "6400000000000000 0500000000000000", // bid
            "ffffffffffffff7f ffffffffffffff7f", // no ask
            "02000000 ffffffff 01 00 0000",      // orders; the bid is known, the ask absent
            "1a00 0300",                         // three entries of 26 bytes
            "6400000000000000 0500000000000000 02000000 00 00 01 00 0000",
            "ffffffffffffff7f ffffffffffffff7f ffffffff 03 01 02 09 0900",
            "c800000000000000 0600000000000000 03000000 00 01 00 ff 2c01", // place 300
        ],
    );
}

#[test]
fn book_snapshot() {
    let snapshot = BookSnapshot {
        instrument: INSTRUMENT,
        validity: Validity::Live,
        bids: &[level(100, 5, 2), Level::UNKNOWN],
        asks: &[level(-1, 6, -1)],
        implied_bids: &[],
        implied_asks: &[level(300, 7, 1)],
    };
    holds(
        &Update::BookSnapshot(snapshot),
        &[
            "5400 1400 544c 0300", // block of 84, template 20
            TIMES,
            "33000000 00 01",
            TRACE,
            "00000000",
            "1800 0200",
            "6400000000000000 0500000000000000 02000000 00 000000",
            "ffffffffffffff7f ffffffffffffff7f ffffffff 02 000000",
            "1800 0100",
            "ffffffffffffffff 0600000000000000 ffffffff 00 000000",
            "1800 0000",
            "1800 0100",
            "2c01000000000000 0700000000000000 01000000 00 000000",
        ],
    );
}

#[test]
fn top_of_book() {
    let top = TopOfBook {
        instrument: INSTRUMENT,
        validity: Validity::Stale,
        bid_price: Price(100),
        bid_quantity: Quantity(5),
        ask_price: Price(200),
        ask_quantity: Quantity::NULL,
        bid_book: Some(TouchSource::Merged),
        ask_book: Some(TouchSource::Implied),
    };
    let mut bytes = [0; 72];
    let flags = Flags::STAMPED_BY_KERNEL;
    let length = encode_top_of_book(&top, 0x102, flags, &TIMESTAMPS, &mut bytes);
    assert_eq!(length, Some(72));
    same(
        &bytes,
        &[
            "4000 1600 544c 0300", // block of 64, template 22
            TIMES,
            "33000000 04 40",
            "6400000000000000 0500000000000000",
            "c800000000000000 ffffffffffffff7f",
            "02 01", // both books, the implied book
        ],
    );
}

#[test]
fn orders() {
    let order = OrderChange {
        order_id: 0x0708,
        priority: 0x0910,
        price: Price(100),
        quantity: Quantity(5),
        side: Side::Ask,
        action: OrderAction::Delete,
        row: OrderRow::NONE,
    };
    let update = OrdersUpdate {
        instrument: INSTRUMENT,
        validity: Validity::Recovering,
        changes: &[order],
    };
    holds(
        &Update::Orders(update),
        &[
            "5400 1f00 544c 0300", // block of 84, template 31
            TIMES,
            "33000000 02 01",
            TRACE,
            "00000000",
            "2800 0100", // one entry of 40 bytes
            "0807000000000000 1009000000000000 6400000000000000 0500000000000000",
            "01 02 000000000000",
        ],
    );
    let mut added = order;
    added.action = OrderAction::New;
    let snapshot = OrdersSnapshot {
        instrument: INSTRUMENT,
        validity: Validity::Gapped,
        orders: &[added],
    };
    holds(
        &Update::OrdersSnapshot(snapshot),
        &[
            "5400 1e00 544c 0300", // block of 84, template 30
            TIMES,
            "33000000 01 01",
            TRACE,
            "00000000",
            "2800 0100",
            "0807000000000000 1009000000000000 6400000000000000 0500000000000000",
            "01 00000000000000",
        ],
    );
}

#[test]
fn trade_and_statistics() {
    let trade = Trade {
        instrument: INSTRUMENT,
        orders: 3,
        price: Price(100),
        quantity: Quantity(5),
        aggressor: Some(Side::Ask),
        action: UpdateAction::Delete,
        trade_id: 0x0708_0910,
    };
    let rest = "6400000000000000 0500000000000000 1009080700000000 03000000";
    let head = ["6e00 2800 544c 0300", TIMES, "33000000 ff 01", TRACE, rest]; // block of 110, template 40
    holds(&Update::Trade(&trade), &[&head[..], &["01 02"]].concat());
    let unnamed = Trade {
        aggressor: None,
        ..trade
    };
    holds(&Update::Trade(&unnamed), &[&head[..], &["ff 02"]].concat());

    let statistic = Statistic {
        instrument: INSTRUMENT,
        kind: StatisticKind::Settlement,
        action: UpdateAction::New,
        price: Price(100),
        quantity: Quantity::NULL,
    };
    holds(
        &Update::Statistic(&statistic),
        &[
            "6200 2900 544c 0300", // block of 98, template 41
            TIMES,
            "33000000 ff 01",
            TRACE,
            "6400000000000000 ffffffffffffff7f 06 00",
        ],
    );
}

/// Everything that a venue may state of an instrument.
fn reference() -> ReferenceData {
    let mut legs = Legs::NONE;
    for leg in 0..9 {
        legs.push(Leg {
            security_id: 0x64 + leg,
            ratio: leg as i32 + 1,
            side: Side::BOTH[leg as usize % 2],
        });
    }
    ReferenceData {
        venue: Code::new(b"cme").unwrap(),
        security_type: Some(SecurityType::OptionSpread),
        currency: Code::new(b"USD").unwrap(),
        settlement_currency: Code::new(b"EUR").unwrap(),
        display_factor: DisplayFactor::new(10_000_000, 1_000_000_000),
        multiplier: Price(50_000_000_000),
        lot: Quantity(5),
        quantity_min: Quantity(1),
        quantity_max: Quantity(3_000),
        expiry_ns: 0x7777_0000_0000_0001,
        maturity: 20_240_900,
        strike: Price(10_000_000_000_000),
        right: Some(OptionRight::Call),
        underlying: Some(0x55),
        high_limit: Price(1),
        low_limit: Price(-2),
        status: 17,
        price_fraction: Some(PriceFraction { main: 32, sub: 4 }),
        legs,
    }
}

#[test]
fn definition_and_status() {
    let definition = InstrumentDefinition {
        instrument: INSTRUMENT,
        security_id: 0x44,
        symbol: Symbol::new(b"ESU4"),
        group: Symbol::new(b"ES"),
        asset: Symbol::new(&[b'Z'; 32]),
        depth: Depth {
            direct: 10,
            implied: 2,
        },
        tick: Price(250_000_000),
        quantity_exponent: -8,
        defined: true,
        reference: ReferenceData::NULL,
    };
    let block = [
        "5801 0a00 544c 0300", // block of 344, template 10
        TIMES,
        "33000000 ff 01",
        TRACE,
        "4400000000000000 80b2e60e00000000",
        "4553553400000000000000000000000000000000000000000000000000000000",
        "4553000000000000000000000000000000000000000000000000000000000000",
        "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
        "0a 02 f8 01 0a00",
    ];
    let nothing = [
        "00 00",                                              // fractions
        "0000000000000000 0000000000000000",                  // display factor
        "ffffffffffffff7f",                                   // multiplier
        "ffffffffffffff7f ffffffffffffff7f ffffffffffffff7f", // lot, smallest, largest
        "ffffffffffffff7f ffffffffffffff7f ffffffffffffff7f", // strike, limits
        "ffffffffffffff7f 0000000000000000 00000000",         // underlying, expiry, maturity
        "ff ff ff 00",                                        // type, right, status, legs
        "00000000000000000000000000000000",
        "00000000000000000000000000000000",
        "00000000000000000000000000000000",
        "1000 0000", // no leg of 16 bytes
    ];
    holds(
        &Update::Definition(&definition),
        &[&block[..], &nothing].concat(),
    );
    let stated = InstrumentDefinition {
        reference: reference(),
        ..definition
    };
    holds(
        &Update::Definition(&stated),
        &[
            &block[..],
            &[
                "20 04",                             // thirty-seconds, quarters of them
                "0100000000000000 6400000000000000", // display factor 1/100
                "00743ba40b000000",                  // multiplier 50
                "0500000000000000 0100000000000000 b80b000000000000",
                "00a0724e18090000 0100000000000000 feffffffffffffff", // strike 10000, limits
                "5500000000000000 0100000000007777 04da3401", // underlying, expiry, September 2024
                "04 01 11 09",                                // option spread, call, 17, nine legs
                "636d6500000000000000000000000000",           // cme
                "55534400000000000000000000000000",           // USD
                "45555200000000000000000000000000",           // EUR
                "1000 0800",                                  // eight legs of 16 bytes
                "6400000000000000 01000000 00 000000 6500000000000000 02000000 01 000000",
                "6600000000000000 03000000 00 000000 6700000000000000 04000000 01 000000",
                "6800000000000000 05000000 00 000000 6900000000000000 06000000 01 000000",
                "6a00000000000000 07000000 00 000000 6b00000000000000 08000000 01 000000",
            ],
        ]
        .concat(),
    );
    let mut bytes = [0; 512];
    let deep = InstrumentDefinition {
        depth: Depth {
            direct: 300,
            implied: 0,
        },
        ..definition
    };
    let update = Update::Definition(&deep);
    let length = encode(&update, 0x102, Flags::NONE, &TIMESTAMPS, &mut bytes).unwrap();
    assert_eq!(length, 8 + 344 + 4);
    assert_eq!(
        bytes[8 + 192..8 + 198],
        [255, 0, 0xf8, 1, 0x2c, 1],
        "more levels than a byte counts"
    );
    let status = TradingStatus {
        instrument: None,
        group: *b"ES\0\0\0\0",
        status: 17,
        reason: 3,
        event: 4,
    };
    holds(
        &Update::Status(&status),
        &[
            "5900 0c00 544c 0300", // block of 89, template 12
            TIMES,
            "ffffffff ff 01",
            TRACE,
            "455300000000 11 03 04",
        ],
    );
    let state = State {
        instrument: INSTRUMENT,
        validity: Validity::Closed,
    };
    holds(
        &Update::State(state),
        &["5000 0b00 544c 0300", TIMES, "33000000 05 01", TRACE], // block of 80, template 11
    );
}

#[test]
fn channel() {
    let gap = Gap {
        first: 0x0102_0304,
        last: 0x0102_0305,
        orders: Validity::Recovering,
    };
    holds(
        &Update::Gap(gap),
        &[
            "6100 0200 544c 0300", // block of 97, template 2
            TIMES,
            "ffffffff ff 01",
            TRACE,
            "0403020100000000 0503020100000000 02",
        ],
    );
    holds(
        &Update::Reset,
        &["5000 0300 544c 0300", TIMES, "ffffffff ff 01", TRACE], // block of 80, template 3
    );
    holds(
        &Update::Download(Phase::Ended),
        &[
            "5100 0400 544c 0300", // block of 81, template 4
            TIMES,
            "ffffffff ff 01",
            TRACE,
            "01",
        ],
    );
    let state = ChannelState {
        price: Validity::Stale,
        orders: Validity::Gapped,
        sequence: 0x0102_0304_0506_0708,
    };
    holds(
        &Update::Channel(&state),
        &[
            "5a00 0500 544c 0300", // block of 90, template 5
            TIMES,
            "ffffffff ff 01",
            TRACE,
            "0807060504030201 04 01",
        ],
    );
    let mut bytes = [0; 88];
    assert_eq!(
        encode_heartbeat(0x102, Flags::NONE, &TIMESTAMPS, &mut bytes),
        Some(88)
    );
    mark_end_of_batch(&mut bytes);
    same(
        &bytes,
        &["5000 0100 544c 0300", TIMES, "ffffffff ff 01", TRACE], // block of 80, template 1
    );
}
