//! Messages of quotes as they lie on the wire, each in a file of its own: a line has sixteen bytes in hex.
//! A change of a file is a change of the format.

use touchline_types::native::{Body, Flags, Message, encode_quote_snapshot, encode_quote_update};
use touchline_types::{
    Code, Id, Instrument, PacketInfo, Price, Quantity, Quote, QuoteAction, QuoteChange,
    QuoteSnapshot, QuoteStream, QuoteUpdate, Side, Timestamps, Validity,
};

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

const FLAGS: Flags = Flags(Flags::END_OF_BATCH.0 | Flags::STAMPED_BY_KERNEL.0);

fn code(text: &str) -> Code {
    Code::new(text.as_bytes()).unwrap()
}

fn id(text: &str) -> Id {
    Id::new(text.as_bytes()).unwrap()
}

fn quote(entry: u32) -> Quote {
    Quote {
        entry,
        side: Side::BOTH[entry as usize % 2],
        price: Price(1_100_010_000),
        quantity: Quantity(1_000_000),
        quantity_min: Quantity::NULL,
        expiry_ns: 0x3333_0000_0000_0001,
        priority: 0x77,
        set_ns: 0,
        tier: (entry > 0).then_some(3),
        is_indicative: entry > 1,
        is_full_amount: entry > 0,
        quote_id: id([
            "",
            "Q-1",
            "a quote id of sixty-four characters, as long as there may be one",
        ][entry as usize]),
    }
}

const STREAM: QuoteStream = QuoteStream {
    instrument: Instrument(0x33),
    security_id: 0x44,
    provider: Code::EMPTY,
    value_date: 20_260_107,
    validity: Validity::Stale,
    is_unquoted: false,
};

/// The bytes are those of the file `name`.
fn same(name: &str, bytes: &[u8]) {
    let path = format!(
        "{}/tests/native/golden/{name}.hex",
        env!("CARGO_MANIFEST_DIR")
    );
    let expected = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<String> = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{name}");
}

#[test]
fn quotes() {
    let stream = QuoteStream {
        provider: code("LP03"),
        ..STREAM
    };
    let actions = [QuoteAction::Set, QuoteAction::Remove, QuoteAction::Clear];
    let changes: Vec<QuoteChange> = (0..3)
        .map(|entry| QuoteChange {
            action: actions[entry as usize],
            quote: quote(entry),
        })
        .collect();
    let update = QuoteUpdate {
        stream,
        changes: &changes,
    };
    let mut bytes = [0xEE; 512];
    let length = encode_quote_update(&update, 0x102, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
    same("QuoteUpdate", &bytes[..length]);
    let read = Message::parse(&bytes[..length]).unwrap();
    let Body::QuoteUpdate(view) = read.body else {
        panic!("another message")
    };
    assert_eq!((view.stream(), read.timestamps()), (stream, TIMESTAMPS));
    assert!(view.quotes.iter().eq(changes));

    let quotes = [quote(2), quote(0)];
    let snapshot = QuoteSnapshot {
        stream,
        quotes: &quotes,
    };
    let length = encode_quote_snapshot(&snapshot, 0x102, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
    same("QuoteSnapshot", &bytes[..length]);
    let read = Message::parse(&bytes[..length]).unwrap();
    let Body::QuoteSnapshot(view) = read.body else {
        panic!("another message")
    };
    assert_eq!((view.stream(), read.timestamps()), (stream, TIMESTAMPS));
    assert!(view.quotes.iter().eq(quotes));
}

/// Fields that were reserved in older quotes: an older message reads as a quote of a quote message, without set times.
#[test]
fn reserved_fields_of_older_quotes_have_their_defaults() {
    let stream = QuoteStream {
        is_unquoted: true,
        ..STREAM
    };
    let one = Quote {
        set_ns: 0x0102_0304_0506_0708,
        ..quote(1)
    };
    for (is_unquoted, set_ns) in [(false, 0), (true, one.set_ns)] {
        let stream = QuoteStream {
            is_unquoted,
            ..stream
        };
        let quotes = [Quote { set_ns, ..one }];
        let snapshot = QuoteSnapshot {
            stream,
            quotes: &quotes,
        };
        let mut bytes = [0xEE; 512];
        let length = encode_quote_snapshot(&snapshot, 1, FLAGS, &TIMESTAMPS, &mut bytes).unwrap();
        // Header, block, dimension.
        let (flags, set) = (8 + 108, 8 + 116 + 4 + 48);
        assert_eq!(
            bytes[flags..flags + 8],
            [u8::from(is_unquoted), 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(bytes[set..set + 8], set_ns.to_le_bytes());
        let read = Message::parse(&bytes[..length]).unwrap();
        let Body::QuoteSnapshot(view) = read.body else {
            panic!("another message")
        };
        assert_eq!(view.stream(), stream);
        assert!(view.quotes.iter().eq(quotes));
    }
}
