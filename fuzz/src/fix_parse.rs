//! The FIX codec: framing, fields, header, validation, market data.

use crate::Target;
use touchline_wire::fix::market_data::{MassQuote, Refresh, Words};
use touchline_wire::fix::{
    Encoder, FIX44, Frame, Header, LastSecond, Message, Options, frame, frame_with, resync,
    validate,
};

pub(crate) const TARGET: Target = Target {
    name: "fix_parse",
    about: "however bytes are cut the same messages come out; what is read is written again; a second parser agrees",
    run,
    seeds,
};

/// Bytes of a message at most.
const LIMIT: usize = 4096;

/// The bytes as a stream, and then as the body of a message with a right length and sum.
fn run(bytes: &[u8]) {
    let whole = messages(bytes, bytes.len().max(1));
    for chunk in [1, 7, 64] {
        assert_eq!(messages(bytes, chunk), whole, "{chunk} bytes at a time");
    }
    let mut body = bytes.to_vec();
    if body.last() != Some(&1) {
        body.push(1);
    }
    let framed = framed(&body);
    if let Ok(Frame::Whole(message)) = frame(&framed, LIMIT) {
        one(&message);
    }
}

/// All messages of a stream that arrives in pieces of this many bytes.
fn messages(stream: &[u8], chunk: usize) -> Vec<Vec<u8>> {
    let (mut room, mut messages) = (Vec::new(), Vec::new());
    for bytes in stream.chunks(chunk) {
        room.extend_from_slice(bytes);
        loop {
            let found = frame(&room, LIMIT);
            assert_eq!(found, frame_with::<Words>(&room, LIMIT));
            let drop = match found {
                Ok(Frame::Whole(message)) => {
                    one(&message);
                    messages.push(message.bytes().to_vec());
                    message.len()
                }
                Ok(Frame::Incomplete(least)) => {
                    assert!(least > room.len() && least <= LIMIT);
                    break;
                }
                Err(_) if room.is_empty() => break,
                Err(_) => match resync(&room, LIMIT) {
                    Some(drop) => drop,
                    None => break,
                },
            };
            assert!(drop > 0 && drop <= room.len());
            room.drain(..drop);
        }
    }
    messages
}

fn one(message: &Message<'_>) {
    let fields: Vec<_> = message.fields().collect();
    let sound = fields.iter().all(Result::is_ok);
    let pairs: Option<Vec<(u32, &[u8])>> = fields
        .iter()
        .map(|field| field.as_ref().ok().map(|field| (field.tag, field.value)))
        .collect();
    assert_eq!(pairs, slow(message.bytes()), "a second parser");
    let header = Header::read(message, &mut LastSecond::default());
    assert!(sound || header.is_err(), "a bad field went by");
    for options in [
        Options::default(),
        Options {
            unknown: true,
            any_missing: true,
            ..Options::default()
        },
    ] {
        let valid = validate(message, &FIX44, &options);
        assert!(sound || valid.is_err(), "a bad field is valid");
    }
    market_data(message);
    // Our own lengths have no zeros before them.
    let has_zeros = message.bytes().split(|byte| *byte == 1).nth(1);
    let has_zeros = has_zeros.is_some_and(|field| field.starts_with(b"9=0"));
    if let Some(pairs) = pairs.filter(|_| !has_zeros) {
        let mut room = vec![0; message.len() + 32];
        let mut encoder = Encoder::new(&mut room, message.begin_string(), message.msg_type());
        for (tag, value) in pairs {
            encoder.bytes(tag, value);
        }
        assert_eq!(encoder.finish(), Ok(message.bytes()));
    }
}

/// Both ways to find separators give the same, entry for entry.
fn market_data(message: &Message<'_>) {
    let whole = Header::read(message, &mut LastSecond::default());
    let Ok(header) = Header::before_body(message, &mut LastSecond::default()) else {
        assert!(whole.is_err());
        return;
    };
    let words = Refresh::<Words>::read_with(message, &header);
    match (Refresh::read(message, &header), words) {
        (Ok(vectors), Ok(words)) => {
            let entries: Vec<_> = vectors.entries().collect();
            assert_eq!(entries, words.entries().collect::<Vec<_>>());
            let sound = entries.iter().all(Result::is_ok);
            let counted = vectors.entries.unwrap_or(0) as usize;
            assert!(!sound || entries.len() == counted);
            assert!(!sound || whole == Ok(header) || vectors.entries.is_none());
        }
        (vectors, words) => assert_eq!(vectors.err(), words.err()),
    }
    if let Ok(quote) = MassQuote::read(message, &header) {
        assert!(quote.quotes().count() <= message.len());
    }
}

/// The fields of a message, byte by byte; `None` if one of them is malformed.
fn slow(bytes: &[u8]) -> Option<Vec<(u32, &[u8])>> {
    let pairs = [
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
    let end = bytes.len() - "10=123|".len();
    let mut at = 0;
    let mut fields: Vec<(u32, &[u8])> = Vec::new();
    let mut data: Option<(u32, usize)> = None;
    while at < end {
        let begin = at;
        while bytes[at].is_ascii_digit() {
            at += 1;
        }
        if at == begin || at - begin > 9 || bytes[begin] == b'0' || bytes[at] != b'=' {
            return None;
        }
        let tag = std::str::from_utf8(&bytes[begin..at]).ok()?.parse().ok()?;
        at += 1;
        let start = at;
        match data.take() {
            Some((wanted, length)) if wanted == tag && start + length < end => at += length,
            Some(_) => return None,
            None => at += bytes[at..].iter().position(|byte| *byte == 1)?,
        }
        if at == start || bytes[at] != 1 {
            return None;
        }
        let value = &bytes[start..at];
        if let Some((_, wanted)) = pairs
            .iter()
            .find(|(length, _)| *length == tag && fields.len() > 2)
        {
            // Zeros before a length are part of an int.
            let digits = std::str::from_utf8(value).ok()?.trim_start_matches('0');
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() <= 9;
            data = Some((*wanted, digits.parse().ok().filter(|_| plain)?));
        }
        fields.push((tag, value));
        at += 1;
    }
    (data.is_none() && fields.len() >= 3).then(|| fields.split_off(3))
}

fn framed(body: &[u8]) -> Vec<u8> {
    let body = [b"35=X\x01", body].concat();
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend(body);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend(format!("10={sum:03}\u{1}").into_bytes());
    bytes
}

fn seeds() -> Vec<Vec<u8>> {
    let bodies = [
        "49=A|56=B|34=7|52=20240102-03:04:05.678|55=X|262=r|268=2|279=0|269=0|270=1.5|271=2|272=20240102-03:04:05|279=1|269=1|270=123456.125|271=1|",
        "49=A|56=B|34=7|52=20240102-03:04:05|354=7|355=279=0|5|58=x|",
        "49=A|56=B|34=7|52=20240102-03:04:05|354=0007|355=279=0|5|58=x|",
        "49=A|56=B|34=7|52=20240102-03:04:05|117=q|296=1|302=1|295=1|299=0|188=1.5|",
        "34=7|34=8|0=x|a=|=|55|",
    ];
    let bodies = bodies.map(|body| body.replace('|', "\u{1}").into_bytes());
    let streams = bodies.iter().map(|body| framed(body));
    let mut seeds: Vec<Vec<u8>> = streams.collect();
    seeds.push(seeds.concat());
    seeds.extend(bodies);
    seeds
}
