//! Properties for any bytes: the fast and the slow decoder agree, and encoded values are decoded again.

use crate::fix::market_data::check;
use crate::fix::{message, real_messages};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use touchline_wire::fix::market_data::{Refresh, Scan, Vectors, Words};
use touchline_wire::fix::{
    Decimal, Encoder, Frame, Header, LastSecond, Malformed, Precision, decimal, frame, timestamp,
    write_timestamp,
};

/// Text as prices are, and as they are not.
fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{0,10}\\.?[0-9]{0,10}",
        "[-+0-9.eE /:]{1,20}",
        "[0-9]{1,21}"
    ]
}

/// Time stamps, and malformed ones close to them.
fn times() -> impl Strategy<Value = String> {
    prop_oneof![
        "(19|20|22)[0-9]{2}[01][0-9][0-3][0-9]-[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,10})?",
        "20240[1-3](2[89]|3[01])-23:59:(59|60)(\\.[0-9]{3})?",
        "[0-9:.\\-]{17,21}",
    ]
}

/// Fields that no reader of market data looks at: text of any length, a venue's own, and data with anything inside.
fn others() -> impl Strategy<Value = String> {
    let other = prop_oneof![
        "[a-z0-9=. ]{1,100}".prop_map(|text| format!("58={text}|")),
        "[a-z]{1,12}".prop_map(|text| format!("100087={text}|")),
        "[a-z]{1,3}".prop_map(|text| format!("7={text}|")),
        "[a-z|=0-9]{1,70}".prop_map(|data| format!("354={}|355={data}|", data.len())),
        "(279=0\\||268=1\\||10=123\\||34=2\\|){1,3}"
            .prop_map(|data| format!("95={}|96={data}|", data.len())),
    ];
    prop::collection::vec(other, 0..3).prop_map(|others| others.concat())
}

/// An entry with some of the fields that are read, and others between them.
fn entries() -> impl Strategy<Value = String> {
    let price = "-?[0-9]{1,9}(\\.[0-9]{1,9})?";
    (others(), price, others(), 0..4_u8, others()).prop_map(|(a, price, b, which, c)| {
        let size = ["", "271=7|", "271=1234567.25|", "271=0.00000001|"][usize::from(which)];
        format!("279=0|269={}|{a}270={price}|{b}{size}{c}", which % 2)
    })
}

/// Result of market data for one value, between other fields and as the last one.
fn read(tag: u32, value: &str, behind: &str) -> Result<(Option<Decimal>, Option<u64>), Malformed> {
    let head = "34=1|52=20240102-03:04:05.678|268=1|279=0|";
    let bytes = message("X", &format!("{head}{tag}={value}|{behind}"));
    let Ok(Frame::Whole(message)) = frame(&bytes, 4096) else {
        panic!("{value}");
    };
    let header = Header::before_body(&message, &mut LastSecond::default())?;
    let mut entries = Refresh::read(&message, &header)?.entries();
    let entry = entries.advance()?.copied().unwrap_or_default();
    Ok((entry.price, entry.time_ns))
}

/// `SEED` if set, otherwise a new one; a failing test prints it.
fn seeded() -> ProptestConfig {
    let given = std::env::var("SEED").ok();
    let seed = given.map_or_else(
        || RandomState::new().build_hasher().finish(),
        |text| {
            text.parse()
                .unwrap_or_else(|_| panic!("SEED={text} is not a number"))
        },
    );
    println!("SEED={seed}");
    ProptestConfig {
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn numbers_parsed_by_words_and_vectors_equal_a_simple_parser(text in numbers()) {
        prop_assume!(!text.is_empty());
        for behind in ["", "271=1|", "58=some text behind it|"] {
            let fast = read(270, &text, behind).map(|(price, _)| price.unwrap_or_default());
            prop_assert_eq!(fast, decimal(text.as_bytes()), "{}", text);
        }
    }

    /// Also where a message has fewer than 64 bytes, or a field more, and behind data that looks like fields.
    #[test]
    fn an_iteration_returns_the_fields_of_a_simple_parser(
        head in prop_oneof!["34=1\\|", "49=A\\|56=B\\|34=7\\|52=20240102-03:04:05\\.678\\|"],
        before in others(),
        entries in prop::collection::vec(entries(), 0..4),
    ) {
        let body = format!("{head}{before}268={}|{}", entries.len(), entries.concat());
        let bytes = message("X", &body);
        let Ok(Frame::Whole(message)) = frame(&bytes, 8192) else {
            panic!("{body}");
        };
        prop_assert!(Header::read(&message, &mut LastSecond::default()).is_ok(), "{}", body);
        prop_assert_eq!(check(&message), entries.len(), "{}", body);
    }

    #[test]
    fn times_equal_those_of_a_simple_parser(text in times()) {
        prop_assume!(text.len() != 8);
        let fast = read(272, &text, "").map(|(_, time)| time.unwrap_or_default());
        prop_assert_eq!(fast, timestamp(text.as_bytes()), "{}", text);
    }

    #[test]
    fn words_and_vectors_find_the_same_delimiters(bytes in prop::collection::vec(prop_oneof![Just(1_u8), any::<u8>()], 64..300)) {
        let slow = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        for from in 0..bytes.len() - 63 {
            let block = bytes[from..].first_chunk().unwrap();
            let expected = block.iter().rev().fold(0_u64, |mask, byte| mask << 1 | u64::from(*byte == 1));
            prop_assert_eq!(Words::separators(block), expected);
            prop_assert_eq!(Vectors::separators(block), expected);
        }
        prop_assert_eq!((Words::sum(&bytes), Vectors::sum(&bytes)), (slow, slow));
    }

    #[test]
    fn a_written_message_is_read_back(
        fields in prop::collection::vec((100_u32..120, "[ -~]{1,20}"), 0..20),
        price in any::<i64>(), decimals in 0_u8..19, ns in 0_u64..9_000_000_000_000_000_000,
        data in prop::collection::vec(any::<u8>(), 1..50),
    ) {
        let mut room = vec![0; 2048];
        let mut encoder = Encoder::new(&mut room, b"FIX.4.4", b"Z9");
        for (tag, value) in &fields {
            encoder.bytes(*tag, value.as_bytes());
        }
        encoder.unsigned(95, data.len() as u64).bytes(96, &data);
        encoder.decimal(44, price, decimals).timestamp(60, ns, Precision::Nanoseconds);
        let bytes = encoder.finish().unwrap().to_vec();
        let Ok(Frame::Whole(message)) = frame(&bytes, 4096) else {
            panic!("{bytes:?}");
        };
        prop_assert_eq!(message.msg_type(), b"Z9");
        let read: Vec<_> = message.fields().map(|field| field.unwrap()).collect();
        let mut room = [0; 27];
        let time = write_timestamp(ns, Precision::Nanoseconds, &mut room).to_vec();
        prop_assert_eq!(read.len(), fields.len() + 4);
        for (field, (tag, value)) in read.iter().zip(&fields) {
            prop_assert_eq!((field.tag, field.value), (*tag, value.as_bytes()));
        }
        let last = &read[fields.len()..];
        prop_assert_eq!((last[1].tag, last[1].value), (96, &data[..]));
        if price != i64::MIN {
            prop_assert_eq!(decimal(last[2].value), Ok(Decimal { mantissa: price, decimals }));
        }
        prop_assert_eq!((last[3].value, timestamp(last[3].value)), (&time[..], Ok(ns)));
        for end in 0..bytes.len() {
            prop_assert!(matches!(frame(&bytes[..end], 4096), Ok(Frame::Incomplete(_))), "{}", end);
        }
    }
}

/// Numbers are exact or an error.
#[test]
fn numbers_that_do_not_fit_are_refused() {
    for (text, expected) in [
        ("9223372036854775807", Ok((i64::MAX, 0))),
        ("9223372036854775808", Err(Malformed::Overflow)),
        ("-9223372036854775807", Ok((-i64::MAX, 0))),
        ("0.000000000000000001", Ok((1, 18))),
        ("25707.169999999996", Ok((25_707_169_999_999_996, 12))),
        (
            "1.00000000000000000000",
            Ok((1_000_000_000_000_000_000, 18)),
        ),
        ("1.00000000000000000001", Err(Malformed::Overflow)),
        ("100000000000000000000", Err(Malformed::Overflow)),
        ("00000000000000000000000000012.50", Ok((1250, 2))),
        ("-0007", Ok((-7, 0))),
        ("", Err(Malformed::Number)),
        ("1e5", Err(Malformed::Number)),
        ("+1", Err(Malformed::Number)),
        ("--1", Err(Malformed::Number)),
        (" 1", Err(Malformed::Number)),
    ] {
        let read = decimal(text.as_bytes()).map(|d| (d.mantissa, d.decimals));
        assert_eq!(read, expected, "{text}");
    }
    let half = Decimal {
        mantissa: 15,
        decimals: 1,
    };
    assert_eq!(
        (half.scaled(9), half.scaled(0)),
        (Ok(1_500_000_000), Err(Malformed::Overflow))
    );
    assert_eq!(
        Decimal {
            mantissa: i64::MAX,
            decimals: 0
        }
        .scaled(1),
        Err(Malformed::Overflow)
    );
}

/// A stream of real messages, however it is cut, gives the same messages.
#[test]
fn messages_are_read_however_the_stream_is_split() {
    let Some(captures) = touchline_testing::captures("real streams of FIX") else {
        return;
    };
    let messages: Vec<Vec<u8>> = real_messages(&captures)
        .into_iter()
        .filter(|m| m.len() < 4096)
        .take(40)
        .collect();
    let stream = messages.concat();
    let take = |room: &mut Vec<u8>, found: &mut usize| {
        while let Ok(Frame::Whole(message)) = frame(room, 4096) {
            assert_eq!(message.bytes(), messages[*found]);
            let length = message.len();
            *found += 1;
            room.drain(..length);
        }
    };
    for cut in 0..stream.len() {
        let (mut room, mut found) = (Vec::new(), 0);
        for part in [&stream[..cut], &stream[cut..]] {
            room.extend_from_slice(part);
            take(&mut room, &mut found);
        }
        assert_eq!((found, room.len()), (messages.len(), 0), "cut at {cut}");
    }
    for chunk in 1..200 {
        let (mut room, mut found) = (Vec::new(), 0);
        for part in stream.chunks(chunk) {
            room.extend_from_slice(part);
            take(&mut room, &mut found);
        }
        assert_eq!(
            (found, room.len()),
            (messages.len(), 0),
            "{chunk} at a time"
        );
    }
}
