//! Forms that FIX allows for one value: zeros before numbers, digits of a second, dates that a venue does not have.

use crate::fix::message;
use touchline_wire::fix::market_data::{MassQuote, Refresh};
use touchline_wire::fix::{
    FIX44, Frame, Header, LastSecond, Malformed, Message, Options, frame, resync, timestamp,
    validate,
};

const HEAD: &str = "49=A|56=B|34=2|52=20240102-03:04:05.678|";

fn whole(bytes: &[u8]) -> Message<'_> {
    match frame(bytes, 1 << 20) {
        Ok(Frame::Whole(message)) => message,
        other => panic!("{}: {other:?}", String::from_utf8_lossy(bytes)),
    }
}

/// The same message with zeros before its BodyLength.
fn padded(bytes: &[u8], zeros: usize) -> Vec<u8> {
    let end = bytes.len() - 7;
    let text = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let text = text.replacen("\u{1}9=", &format!("\u{1}9={}", "0".repeat(zeros)), 1);
    let sum = text.bytes().fold(0_u8, u8::wrapping_add);
    format!("{text}10={sum:03}\u{1}").into_bytes()
}

/// FIX 4.4 volume 1: an int may have leading zeros, and a Length is one. As many are read as the head has room for; however the
/// bytes are cut, the message is the same.
#[test]
fn zeros_before_body_length_are_read() {
    for body in [
        "",
        "58=a longer text, so that the length has three digits: 0123456789|",
    ] {
        let plain = message("0", &format!("{HEAD}{body}"));
        for zeros in 0..=15 {
            let bytes = padded(&plain, zeros);
            let message = whole(&bytes);
            assert_eq!(message.len(), bytes.len());
            let fields = |message: Message<'_>| message.fields().count();
            assert_eq!(fields(message), fields(whole(&plain)));
            for end in 0..bytes.len() {
                let cut = frame(&bytes[..end], 1 << 20);
                assert!(
                    matches!(cut, Ok(Frame::Incomplete(_))),
                    "{zeros}: {end}: {cut:?}"
                );
            }
            let mut garbled = bytes.clone();
            garbled[bytes.len() - 2] ^= 1;
            garbled.extend(&plain);
            assert!(frame(&garbled, 1 << 20).is_err());
            assert_eq!(resync(&garbled, 1 << 20), Some(bytes.len()));
        }
        assert_eq!(
            frame(&padded(&plain, 30), 1 << 20),
            Err(Malformed::BodyLength)
        );
    }
}

/// Leading zeros of a length of data are read, for each pair of a length and its data and in all three walks: all fields, the
/// header, and the fast one.
#[test]
fn zeros_before_the_length_of_data_are_read() {
    const PAIRS: [(u32, u32); 16] = [
        (90, 91),
        (93, 89),
        (95, 96),
        (212, 213),
        (348, 349),
        (350, 351),
        (352, 353),
        (354, 355),
        (356, 357),
        (358, 359),
        (360, 361),
        (362, 363),
        (364, 365),
        (445, 446),
        (618, 619),
        (621, 622),
    ];
    for (length, data) in PAIRS {
        for zeros in ["", "0", "000", "0000000000000"] {
            let text = format!("{length}={zeros}5|{data}=a|b=c|");
            let (header, body) = match length {
                90 | 212 => (text.as_str(), ""),
                _ => ("", text.as_str()),
            };
            let bytes = message(
                "W",
                &format!("{HEAD}{header}262=7|{body}268=1|269=0|270=1|271=2|"),
            );
            let message = whole(&bytes);
            let fields: Result<Vec<_>, _> = message.fields().collect();
            let fields = fields.unwrap_or_else(|bad| panic!("{text}: {bad:?}"));
            let found = fields.iter().find(|field| field.tag == data);
            assert_eq!(found.map(|field| field.value), Some(&b"a\x01b=c"[..]));
            let header = Header::read(&message, &mut LastSecond::default());
            let header = header.unwrap_or_else(|bad| panic!("{text}: {bad:?}"));
            let refresh = Refresh::read(&message, &header).unwrap();
            assert_eq!(
                refresh.entries().filter_map(Result::ok).count(),
                1,
                "{text}"
            );
        }
        for wrong in ["0", "000", "05x", "-5", "+5", "01234567890"] {
            let bytes = message("W", &format!("{HEAD}{length}={wrong}|{data}=a|b=c|262=7|"));
            assert!(
                whole(&bytes).fields().any(|field| field.is_err()),
                "{length}={wrong}"
            );
            let header = Header::read(&whole(&bytes), &mut LastSecond::default());
            let fast = header
                .ok()
                .map(|header| Refresh::read(&whole(&bytes), &header).is_ok());
            assert_ne!(fast, Some(true), "{length}={wrong}");
        }
    }
}

/// Every number that the readers take, with zeros before it.
#[test]
fn zeros_before_every_other_number_are_read() {
    for zeros in ["", "0", "0000", "00000000000000000000000000"] {
        let head = HEAD.replace("34=2", &format!("34={zeros}2"));
        let bytes = message(
            "X",
            &format!(
                "{head}262=7|268={zeros}1|279=0|269=0|270={zeros}1.5|271={zeros}3|290={zeros}4|"
            ),
        );
        let message_ = whole(&bytes);
        let header = Header::read(&message_, &mut LastSecond::default()).unwrap();
        assert_eq!(header.msg_seq_num, Some(2));
        let refresh = Refresh::read(&message_, &header).unwrap();
        let entry = refresh.entries().next().unwrap().unwrap();
        let scaled = |number: Option<touchline_wire::fix::Decimal>| number.unwrap().scaled(2);
        assert_eq!(
            (scaled(entry.price), scaled(entry.size)),
            (Ok(150), Ok(300))
        );
        assert_eq!(entry.position, Some(4));
        let bytes = message(
            "i",
            &format!(
                "{head}117=q|296={zeros}1|302=1|295={zeros}1|299=a|132={zeros}1.5|134={zeros}3|"
            ),
        );
        let message_ = whole(&bytes);
        let quotes = MassQuote::read(&message_, &header).unwrap();
        let quote = quotes.quotes().next().unwrap().unwrap();
        assert_eq!(
            (scaled(quote.bid), scaled(quote.bid_size)),
            (Ok(150), Ok(300))
        );
        // A value of a list.
        for number in ["0", "5", "10"] {
            let bytes = message("A", &format!("{head}98={zeros}{number}|108={zeros}30|"));
            let validated = validate(&whole(&bytes), &FIX44, &Options::default());
            assert_eq!(validated.is_ok(), number != "10", "98={zeros}{number}");
        }
        let bytes = message("2", &format!("{head}7={zeros}1|16={zeros}0|"));
        assert_eq!(
            validate(&whole(&bytes), &FIX44, &Options::default()),
            Ok(())
        );
    }
}

/// TagValue encoding, UTCTimestamp and UTCTimeOnly: 3, 6, 9 or 12 digits of a second, fewer by agreement, and no more.
/// Digits below a nanosecond are cut off, but still must be digits.
#[test]
fn up_to_twelve_digits_of_a_second_are_read() {
    let second_ns = timestamp(b"20240102-03:04:05").unwrap();
    let digits = "123456789987";
    for count in 0..=digits.len() {
        let kept = &digits[..count.min(9)];
        let ns = format!("{kept:0<9}").parse::<u64>().unwrap();
        let fraction = match count {
            0 => String::new(),
            _ => format!(".{}", &digits[..count]),
        };
        let text = format!("20240102-03:04:05{fraction}");
        assert_eq!(timestamp(text.as_bytes()), Ok(second_ns + ns), "{text}");
        let head = HEAD.replace("20240102-03:04:05.678", &text);
        let order = format!("11=id|21=1|40=1|54=1|38=200|55=INTC|60={text}|");
        let bytes = message("D", &format!("{head}{order}"));
        assert_eq!(
            validate(&whole(&bytes), &FIX44, &Options::default()),
            Ok(()),
            "{text}"
        );
        // One cache for all values, as for a connection.
        let mut last = LastSecond::default();
        for _ in 0..2 {
            let header = Header::read(&whole(&bytes), &mut last).unwrap();
            assert_eq!(header.sending_time_ns, Some(second_ns + ns), "{text}");
        }
        for entry in [
            format!("272={text}|"),
            format!("272=20240102|273=03:04:05{fraction}|"),
        ] {
            let bytes = message(
                "X",
                &format!("{head}262=7|268=1|279=0|269=0|270=1|271=1|{entry}"),
            );
            let message = whole(&bytes);
            let header = Header::read(&message, &mut last).unwrap();
            let refresh = Refresh::read(&message, &header).unwrap();
            let read = refresh.entries().next().unwrap().unwrap();
            assert_eq!(read.time_ns, Some(second_ns + ns), "{entry}");
        }
    }
    for wrong in [
        ".",
        ".x",
        ".12x",
        ".123456789x",
        ".12345678912x",
        ".1234567891234",
        ".0000000000000",
        &format!(".{}", "1".repeat(10_000)),
        ",123",
        ".-12",
    ] {
        let text = format!("20240102-03:04:05{wrong}");
        assert_eq!(timestamp(text.as_bytes()), Err(Malformed::Time), "{text}");
        let head = HEAD.replace("20240102-03:04:05.678", &text);
        let bytes = message("0", &head);
        assert!(
            Header::read(&whole(&bytes), &mut LastSecond::default()).is_err(),
            "{text}"
        );
    }
}

/// A date of zeros is the way in which venues omit a date: the entry has no time, and is valid.
#[test]
fn a_date_of_zeros_is_no_date() {
    for (entry, time_ns) in [
        ("272=00000000|", Some(None)),
        ("272=00000000|273=03:04:05|", Some(None)),
        ("273=03:04:05.123456789012|272=00000000|", Some(None)),
        ("272=00000000-00:00:00.000|", Some(None)),
        (
            "272=20240102|273=03:04:05|",
            Some(Some(1_704_164_645_000_000_000)),
        ),
        ("272=00000000|273=25:04:05|", None),
        ("272=00000000-25:00:00|", None),
        ("272=000000000|", None),
        ("272=00000001|273=03:04:05|", None),
        ("272=20240230|273=03:04:05|", None),
    ] {
        let bytes = message(
            "X",
            &format!("{HEAD}262=7|268=1|279=0|269=0|270=1|271=1|{entry}"),
        );
        let message = whole(&bytes);
        let header = Header::read(&message, &mut LastSecond::default()).unwrap();
        let read = Refresh::read(&message, &header)
            .unwrap()
            .entries()
            .next()
            .unwrap();
        assert_eq!(read.ok().map(|entry| entry.time_ns), time_ns, "{entry}");
    }
    let report = "11=c|37=o|17=e|150=0|39=0|55=X|54=1|151=1|14=0|6=0|";
    for (date, is_valid) in [("00000000", true), ("00000001", false), ("20240230", false)] {
        let bytes = message("8", &format!("{HEAD}{report}75={date}|"));
        let said = validate(&whole(&bytes), &FIX44, &Options::default());
        assert_eq!(said.is_ok(), is_valid, "{date}");
    }
}
