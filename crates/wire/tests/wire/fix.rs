//! FIX messages: real ones, and back.

mod forms;
mod garbled;
mod market_data;
mod properties;
mod validation;

use std::io::Read;
use std::path::Path;
use touchline_wire::fix::{Encoder, Frame, Precision, frame, resync, timestamp, write_timestamp};

/// A message with these fields behind its type, `|` between them; `|` inside of data is a separator, too.
fn message(msg_type: &str, fields: &str) -> Vec<u8> {
    let body = format!("35={msg_type}|{fields}");
    let mut bytes = format!("8=FIX.4.4|9={}|{body}", body.len()).replace('|', "\u{1}");
    let sum = bytes.bytes().fold(0_u8, u8::wrapping_add);
    bytes.push_str(&format!("10={sum:03}\u{1}"));
    bytes.into_bytes()
}

/// Every real message that is valid, one after the other.
///
/// The text files do not count: `35W-EXCERPT` has only two entries left, `REDACTED` has other account ids than were
/// sent, so that length and checksum are wrong in both.
fn real_messages(captures: &Path) -> Vec<Vec<u8>> {
    let mut streams = Vec::new();
    for folder in ["deribit-fix", "fx-fix"] {
        for entry in captures.join(folder).read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "fix") {
                streams.push(std::fs::read(&path).unwrap());
            }
        }
    }
    for entry in captures.join("fix-stream").read_dir().unwrap() {
        let packed = std::fs::File::open(entry.unwrap().path()).unwrap();
        let mut stream = Vec::new();
        flate2::read::GzDecoder::new(packed)
            .read_to_end(&mut stream)
            .unwrap();
        streams.push(stream);
    }
    let mut messages = Vec::new();
    for stream in &streams {
        let mut rest = &stream[..];
        while !rest.is_empty() {
            let Ok(Frame::Whole(message)) = frame(rest, 1 << 20) else {
                panic!("{:?}", frame(rest, 1 << 20));
            };
            messages.push(message.bytes().to_vec());
            rest = &rest[message.len()..];
        }
    }
    assert_eq!(messages.len(), 6 + 3 + 8_000);
    messages
}

/// Every real message is read, and written again byte for byte.
#[test]
fn recorded_messages_are_written_again_byte_for_byte() {
    let Some(captures) = touchline_testing::captures("real messages of FIX") else {
        return;
    };
    for bytes in real_messages(&captures) {
        let Ok(Frame::Whole(message)) = frame(&bytes, 1 << 20) else {
            panic!("it was whole before");
        };
        let mut room = vec![0; bytes.len() + 32];
        let mut encoder = Encoder::new(&mut room, message.begin_string(), message.msg_type());
        for field in message.fields() {
            let field = field.unwrap();
            encoder.bytes(field.tag, field.value);
        }
        assert_eq!(encoder.finish().unwrap(), message.bytes());
    }
}

#[test]
fn dates_convert_to_days_and_back() {
    for ns in (0..9_000_000_000_000_000_000_u64).step_by(86_399_123_456_789_000 / 7) {
        let mut room = [0; 27];
        let text = write_timestamp(ns, Precision::Nanoseconds, &mut room);
        assert_eq!(timestamp(text), Ok(ns), "{}", String::from_utf8_lossy(text));
    }
}

/// As in other engines, a length that is too large takes everything up to the next checksum with it.
#[test]
fn a_body_length_that_is_too_large_also_garbles_the_next_message() {
    let one = b"8=FIX.4.4\x019=30\x0135=0\x0149=A\x0156=B\x0110=000\x01";
    let two = b"8=FIX.4.4\x019=15\x0135=0\x0149=A\x0156=B\x0110=000\x01";
    let mut bytes = one.to_vec();
    bytes.extend(two);
    bytes.extend(b"8=FIX.4.4");
    assert!(frame(&bytes, 512).is_err());
    assert_eq!(resync(&bytes, 512), Some(one.len() + two.len()));
}
