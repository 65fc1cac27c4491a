//! Malformed bytes, and the beginning of the next message.

use crate::fix::message;
use touchline_wire::fix::{Frame, Malformed, frame, resync};

const LIMIT: usize = 1 << 20;

fn soh(text: &str) -> Vec<u8> {
    text.replace('|', "\u{1}").into_bytes()
}

/// MsgSeqNum of each message that comes out, bytes arriving `chunk` at a time.
fn numbers(stream: &[u8], chunk: usize, limit: usize) -> Vec<u64> {
    let (mut room, mut numbers) = (Vec::new(), Vec::new());
    for bytes in stream.chunks(chunk) {
        room.extend_from_slice(bytes);
        loop {
            let drop = match frame(&room, limit) {
                Ok(Frame::Incomplete(_)) => break,
                Ok(Frame::Whole(message)) => {
                    let number = message
                        .fields()
                        .find_map(|f| f.ok().filter(|f| f.tag == 34));
                    let number = std::str::from_utf8(number.unwrap().value).unwrap();
                    numbers.push(number.parse().unwrap());
                    message.len()
                }
                Err(_) => match resync(&room, limit) {
                    Some(drop) => drop,
                    None => break,
                },
            };
            assert!(drop > 0 && drop <= room.len());
            room.drain(..drop);
        }
    }
    numbers
}

fn numbered(number: usize) -> Vec<u8> {
    message("0", &format!("34={number}|112=x|"))
}

/// However the bytes are cut, garbled ones take the same messages with them.
#[test]
fn garbled_messages_are_dropped_and_the_others_are_delivered() {
    let good = numbered(7);
    let text = String::from_utf8(good.clone()).unwrap();
    let length = text[10..].split('\u{1}').next().unwrap().to_owned();
    let with = |find: &str, replace: &str| text.replacen(find, replace, 1).into_bytes();
    let nine = format!("\u{1}{length}\u{1}");
    let long: usize = length[2..].parse::<usize>().unwrap() + 12;
    for (name, garbled, lost) in [
        ("checksum of another message", with("112=x", "112=y"), 0),
        ("a length too small", with(&nine, "\u{1}9=5\u{1}"), 0),
        (
            "a length too large takes the next message with it",
            with(&nine, &format!("\u{1}9={long}\u{1}")),
            1,
        ),
        (
            "a message behind one that ends early goes with it",
            [soh("8=FIX.4.4|9=5|35=0|34=8|58=early|"), numbered(9)].concat(),
            0,
        ),
        ("no length", with(&nine, "\u{1}"), 0),
        ("length 0", with(&nine, "\u{1}9=0\u{1}"), 0),
        ("a negative length", with(&nine, "\u{1}9=-1\u{1}"), 0),
        ("zeros alone", with(&nine, "\u{1}9=000\u{1}"), 0),
        (
            "more zeros than a head has room for",
            with(
                &nine,
                &format!("\u{1}9={}{}\u{1}", "0".repeat(30), &length[2..]),
            ),
            0,
        ),
        ("another field first", soh("35=0|34=5|10=000|"), 0),
        ("type not third", with("35=0\u{1}34=7", "34=7\u{1}35=0"), 0),
        ("noise", b"GET / HTTP/1.1\r\n\r\n".to_vec(), 0),
        ("the end of a message", good[9..].to_vec(), 0),
        (
            "a text that looks like a beginning is taken for one",
            soh("58=FIX.4.4|9=12|"),
            1,
        ),
        ("a beginning again and again", b"8=8=8=FI8=FI".to_vec(), 0),
        ("a checksum without digits", with("10=", "10=x"), 0),
    ] {
        let stream = [numbered(1), garbled, numbered(2), numbered(3), numbered(4)].concat();
        let expected: Vec<u64> = [1, 2, 3, 4]
            .into_iter()
            .filter(|n| lost == 0 || *n != 2)
            .collect();
        for chunk in [stream.len(), 1, 2, 3, 7, 20, 50] {
            assert_eq!(
                numbers(&stream, chunk, LIMIT),
                expected,
                "{name}, {chunk} bytes at a time"
            );
        }
    }
}

/// The wait for a missing checksum field ends at the longest message, and there is no wait after a message that states
/// a greater length.
#[test]
fn a_limit_ends_the_search_for_a_checksum() {
    let limit = 128;
    for (name, garbled) in [
        (
            "within",
            soh(&format!("8=FIX.4.4|9=5|{}", "35=0|34=2|".repeat(20))),
        ),
        (
            "beyond",
            soh(&format!("8=FIX.4.4|9=1000|{}", "35=0|34=2|".repeat(20))),
        ),
    ] {
        let stream = [numbered(1), garbled, numbered(2), numbered(3)].concat();
        for chunk in [stream.len(), 1, 2, 3, 7, 20, 50, 127, 128, 129] {
            let found = numbers(&stream, chunk, limit);
            assert_eq!(found, [1, 2, 3], "{name}, {chunk} bytes at a time");
        }
    }
}

#[test]
fn an_invalid_header_is_refused_at_its_first_invalid_byte() {
    for (text, why) in [
        ("9=5|", Malformed::BeginString),
        ("8=FIY", Malformed::BeginString),
        (
            "8=FIX.4.4.and.so.on.for.ever.and.ever",
            Malformed::BeginString,
        ),
        ("8=FIX.4.4|35", Malformed::BodyLength),
        ("8=FIX.4.4|9=|", Malformed::BodyLength),
        ("8=FIX.4.4|9=0|", Malformed::BodyLength),
        ("8=FIX.4.4|9=0000000|", Malformed::BodyLength),
        ("8=FIX.4.4|9=00000000|", Malformed::BodyLength),
        ("8=FIX.4.4|9=0000000000000000000005|", Malformed::BodyLength),
        ("8=FIX.4.4|9=01234567890|", Malformed::BodyLength),
        ("8=FIX.4.4|9=0-5|", Malformed::BodyLength),
        ("8=FIX.4.4|9=-5|", Malformed::BodyLength),
        ("8=FIX.4.4|9=+5|", Malformed::BodyLength),
        ("8=FIX.4.4|9=5x|", Malformed::BodyLength),
        ("8=FIX.4.4|9=2147483648|", Malformed::BodyLength),
        ("8=FIX.4.4|9=9223372036854775808|", Malformed::BodyLength),
        ("8=FIX.4.4|9=18446744073709551615|", Malformed::BodyLength),
        ("8=FIX.4.4|9=999999999|", Malformed::TooLong),
        ("8=FIX.4.4|9=5|34=2|10=000|", Malformed::MsgType),
        ("8=FIX.4.4|9=5|35=0|10=000|", Malformed::CheckSum),
        ("8=FIX.4.4|9=4|35=|10=166|", Malformed::MsgType),
        ("8=FIX.4.4|9=5|35=0|10=+63|", Malformed::Trailer),
        ("8=FIX.4.4|9=5|35=0|10=16|34=2|", Malformed::Trailer),
        ("8=FIX.4.4|9=5|35=0|35=0|10=163|", Malformed::Trailer),
        ("8=FIX.4.4|9=4|35=0|10=163|", Malformed::Trailer),
    ] {
        let mut bytes = soh(text);
        if why == Malformed::MsgType {
            let end = bytes.len() - 7;
            let sum = bytes[..end]
                .iter()
                .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            bytes[end + 3..end + 6].copy_from_slice(format!("{sum:03}").as_bytes());
        }
        assert_eq!(frame(&bytes, LIMIT), Err(why), "{text}");
    }
}

/// No beginning of a message is a message, and none is refused.
#[test]
fn every_truncation_is_incomplete() {
    let bytes = message("D", "49=A|56=B|34=2|95=4|96=a|b=|58=x|");
    for end in 0..bytes.len() {
        match frame(&bytes[..end], LIMIT) {
            Ok(Frame::Incomplete(least)) => assert!(least > end && least <= bytes.len(), "{end}"),
            other => panic!("{end}: {other:?}"),
        }
    }
}
