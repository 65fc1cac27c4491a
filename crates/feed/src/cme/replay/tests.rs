//! The session against answers written by hand, split at every position.

use super::*;

const USER: &str = "touchline";
const PASSWORD: &str = "sentinel-d41d8cd9";
const SENT_NS: u64 = 1_767_571_200_000_000_000;

fn session() -> Session {
    let credentials = Credentials::new(USER, PASSWORD).expect("both can be sent");
    let mut session = Session::new(credentials, 310, 1_500);
    session.begin(7, 9);
    session
}

/// A packet of one message with a block of this many bytes, preceded by its length.
fn framed(sequence: u32, template: u16, block: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    packet.extend(sequence.to_le_bytes());
    packet.extend(SENT_NS.to_le_bytes());
    let size = 2 + 8 + block.len() as u16;
    for field in [size, block.len() as u16, template, 1, 9] {
        packet.extend(field.to_le_bytes());
    }
    packet.extend(block);
    let mut framed = (packet.len() as u16).to_le_bytes().to_vec();
    framed.extend(packet);
    framed
}

fn logon() -> Vec<u8> {
    framed(1, 15, &[30])
}

fn heartbeat(sequence: u32) -> Vec<u8> {
    framed(sequence, 12, &[])
}

fn logout(text: &str) -> Vec<u8> {
    let mut block = [0; 180];
    block[..text.len()].copy_from_slice(text.as_bytes());
    framed(2, 16, &block)
}

/// Passes an answer to the session in pieces of at most this many bytes; returns the result.
fn answer(session: &mut Session, mut bytes: &[u8], piece: usize) -> Vec<String> {
    let mut log = Vec::new();
    while !bytes.is_empty() {
        let room = session.room();
        let length = room.len().min(piece).min(bytes.len());
        let (now, rest) = bytes.split_at(length);
        room[..length].copy_from_slice(now);
        session.received(length);
        bytes = rest;
        while let Some(step) = session.step() {
            log.push(match step {
                Step::Packet(packet) => {
                    let header = PacketHeader::peek(packet).expect("a whole packet");
                    header.sequence.to_string()
                }
                Step::Over(end) => format!("{end:?}"),
            });
        }
    }
    log
}

/// The output as text, with bars for separators; marks it as sent.
fn said(session: &mut Session) -> String {
    let text = String::from_utf8_lossy(session.output()).replace('\x01', "|");
    let length = session.output().len();
    session.sent(length);
    text
}

#[test]
fn a_complete_session_is_read_however_its_bytes_are_split() {
    let whole = [
        logon(),
        heartbeat(2),
        heartbeat(7),
        heartbeat(8),
        heartbeat(9),
        logout(""),
    ]
    .concat();
    for piece in 1..=whole.len() {
        let mut session = session();
        assert_eq!(
            said(&mut session),
            "9=41|35=A|553=touchline|554=sentinel-d41d8cd9|10=057|"
        );
        let log = answer(&mut session, &whole, piece);
        assert_eq!(log, ["7", "8", "9", "Served"], "in pieces of {piece}");
        assert_eq!(session.step(), None);
    }
}

#[test]
fn the_request_follows_the_logon() {
    let mut session = session();
    said(&mut session);
    assert!(answer(&mut session, &logon(), 64).is_empty());
    let request = said(&mut session);
    assert_eq!(
        request,
        "9=38|35=V|1180=310|262=310-1|1182=7|1183=9|10=201|"
    );
    session.begin(u32::MAX - 1, u32::MAX);
    said(&mut session);
    answer(&mut session, &logon(), 64);
    let request = said(&mut session);
    assert!(
        request.contains("|262=310-2|1182=4294967294|1183=4294967295|"),
        "{request}"
    );
}

/// BodyLength and CheckSum, computed here from the written bytes.
#[test]
fn messages_are_framed_by_the_rules_of_fix() {
    let mut session = session();
    said(&mut session);
    for _ in 0..300 {
        answer(&mut session, &logon(), 64);
        let text = said(&mut session).replace('|', "\x01");
        let body = text.find("35=").expect("a body");
        let trailer = text.rfind("10=").expect("a trailer");
        assert_eq!(text[..body], format!("9={}\x01", trailer - body));
        let sum: u32 = text[..trailer].bytes().map(u32::from).sum();
        assert_eq!(text[trailer..], format!("10={:03}\x01", sum % 256));
        session.begin(1, 2_000);
        said(&mut session);
    }
    let long = "x".repeat(64);
    let credentials = Credentials::new(&long, long.as_str()).expect("the longest");
    let mut session = Session::new(credentials, u32::MAX, 1_500);
    session.begin(u32::MAX, u32::MAX);
    assert!(said(&mut session).ends_with('|'));
    answer(&mut session, &logon(), 64);
    assert!(said(&mut session).ends_with('|'));
}

#[test]
fn a_refusal_has_the_venues_text() {
    let mut session = session();
    let log = answer(&mut session, &logout("unknown user"), 5);
    assert_eq!(log, ["Refused"]);
    assert_eq!(session.reason(), b"unknown user");
    // The same after the logon; the earlier text is gone.
    session.begin(7, 9);
    assert_eq!(session.reason(), b"");
    let log = answer(&mut session, &[logon(), logout("too old")].concat(), 500);
    assert_eq!(log, ["Refused"]);
    assert_eq!(session.reason(), b"too old");
}

#[test]
fn an_invalid_answer_ends_the_session() {
    let garbage = |length: u16| [length.to_le_bytes().to_vec(), vec![0xff; 20]].concat();
    let many: Vec<Vec<u8>> = [7, 8, 9, 9].map(heartbeat).to_vec();
    let alive = vec![heartbeat(3); HEARTBEATS_MAX as usize + 1];
    for (what, bytes, expected) in [
        ("a length of nothing", garbage(0), "Broken(Length)"),
        ("a header cut", garbage(11), "Broken(Length)"),
        (
            "a length beyond the limit",
            garbage(1_501),
            "Broken(Length)",
        ),
        ("the longest length", garbage(u16::MAX), "Broken(Length)"),
        ("garbage", garbage(18), "Broken(Packet)"),
        ("data before the logon", framed(7, 99, &[]), "Broken(Logon)"),
        ("two logons", [logon(), logon()].concat(), "Broken(Logon)"),
        (
            "a packet after the requested range",
            [logon(), framed(10, 99, &[])].concat(),
            "Broken(Unasked)",
        ),
        (
            "more packets than requested",
            [logon(), many.concat()].concat(),
            "Broken(Unasked)",
        ),
        (
            "heartbeats without end",
            [logon(), alive.concat()].concat(),
            "Broken(Unasked)",
        ),
    ] {
        let mut session = session();
        let log = answer(&mut session, &bytes, 100);
        assert_eq!(log.last().map(String::as_str), Some(expected), "{what}");
        assert!(
            session.output().is_empty(),
            "{what}: no more bytes are sent"
        );
        // Bytes after the end are ignored, and do not fill the buffer.
        assert!(answer(&mut session, &[0; 1_000], 100).is_empty());
    }
}

#[test]
fn the_receive_buffer_always_has_room_for_a_packet() {
    let mut session = session();
    let longest = framed(7, 99, &vec![0; 1_500 - 12 - 10]);
    answer(&mut session, &logon(), 1);
    for _ in 0..3 {
        for byte in &longest {
            let room = session.room();
            assert!(room.len() >= 1_502, "only {}", room.len());
            room[0] = *byte;
            session.received(1);
            while session.step().is_some() {}
        }
    }
}

#[test]
fn no_text_contains_the_password() {
    let mut session = session();
    let shown = format!("{session:?} {:?}", Credentials::new(USER, PASSWORD));
    assert!(
        !shown.contains(PASSWORD) && !shown.contains(USER),
        "{shown}"
    );
    let sent = session.output().to_vec();
    assert!(String::from_utf8_lossy(&sent).contains(PASSWORD));
    session.sent(sent.len() - 1);
    session.sent(1);
    assert_eq!(session.output.rest(), b"");
    assert!(session.output.is_wiped(), "what was sent is wiped");
    for wrong in ["", "a b", "a\x01", "é", &"x".repeat(65)] {
        let error = Credentials::new(USER, wrong).expect_err("it would end a field");
        assert!(error.contains("password") && (wrong.is_empty() || !error.contains(wrong)));
        assert!(Credentials::new(wrong, PASSWORD).is_err());
    }
}
