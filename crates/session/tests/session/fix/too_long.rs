//! Messages that are longer than the limit.

use crate::fix::rules::{BEGIN_NS, settings};
use touchline_lab::fix::scenario::filled;
use touchline_session::fix::{Event, Memory, Role, Session, Settings, Store};
use touchline_types::ReceiveTime;

fn now() -> ReceiveTime {
    ReceiveTime::at(BEGIN_NS)
}

/// A message of the counterparty, without its version.
fn message(text: &str) -> Vec<u8> {
    let text = format!("8=FIX.4.4|{text}").replace('|', "\x01");
    filled(text.as_bytes(), BEGIN_NS)
}

/// A session with a limit of 1,024 bytes.
fn session() -> Session<Memory> {
    let mut settings: Settings = settings(Role::Initiator);
    settings.limits.message_bytes_max = 1_024;
    let mut us = Session::new(settings, Memory::default());
    us.connected(now());
    us
}

/// Messages of the counterparty: the Logon, those of these numbers that are short, and those that are too long (negative).
fn heard(us: &mut Session<Memory>, numbers: &[i64]) -> Vec<String> {
    let mut heard = Vec::new();
    for number in numbers {
        let at = number.abs();
        let (kind, body) = match number {
            1 => ("A", "98=0|108=30|".to_owned()),
            ..=0 => ("8", format!("58={}|", "x".repeat(1_024))),
            _ => ("8", "58=x|".to_owned()),
        };
        let bytes = message(&format!("35={kind}|34={at}|49=THEM|56=US|52=<TIME>|{body}"));
        assert_eq!(us.handle(&bytes, now()), bytes.len());
        while let Some(event) = us.poll() {
            match event {
                Event::Application(_, header, _) => {
                    heard.push(format!("{}", header.msg_seq_num.unwrap_or(0)));
                }
                Event::Skipped { first, last } => heard.push(format!("skipped {first} to {last}")),
                _ => {}
            }
        }
    }
    heard
}

/// Requested messages that are too long again are given up: all that wait behind them would wait for ever, in each connection. Messages
/// that are missing for another reason are not.
#[test]
fn messages_that_are_too_long_twice_are_given_up() {
    let once = &["skipped 2 to 2", "3"][..];
    let rows: [(&[i64], &[&str], u64); 8] = [
        (&[1, -2, 3], &[], 2),
        (&[1, -2, 3, -2, 3], once, 4),
        // Two in a row, and two apart from each other: the second one is requested by itself.
        (&[1, -2, -3, 4, -2, -3, 4], &["skipped 2 to 3", "4"], 5),
        (
            &[1, -2, 3, -4, 5, -2, 3, -4, 5, -4, 5],
            &["skipped 2 to 2", "3", "skipped 4 to 4", "5"],
            6,
        ),
        // The message of a gap that is requested is short, or is missing again.
        (&[1, -2, 3, 2, 3], &["2", "3"], 4),
        (&[1, 3, -4, 5, -4, 5], &[], 2),
        (&[1, 4, 5, -6, 7, 3, 4], &[], 2),
        // It is too long for the first time, as the first one that is requested.
        (&[1, 3, -2, 3], once, 4),
    ];
    for (numbers, expected, next_in) in rows {
        let mut us = session();
        assert_eq!(heard(&mut us, numbers), expected, "{numbers:?}");
        assert_eq!(us.store().next_in(), next_in, "{numbers:?}");
    }
}

/// Numbers that go on over connections: the Logon shows the gap, and the session catches up without the message.
#[test]
fn a_message_that_is_too_long_does_not_hold_up_the_next_connection() {
    let mut us = session();
    assert!(heard(&mut us, &[1, -2]).is_empty());
    us.disconnected(now());
    us.connected(now());
    let logon = "35=A|34=3|49=THEM|56=US|52=<TIME>|98=0|108=30|";
    us.handle(&message(logon), now());
    while us.poll().is_some() {}
    assert!(us.is_catching_up());
    let fill = "35=4|34=3|49=THEM|56=US|52=<TIME>|43=Y|122=<TIME>|123=Y|36=4|";
    assert!(heard(&mut us, &[-2]).is_empty());
    us.handle(&message(fill), now());
    let skipped = us.poll();
    assert!(
        matches!(skipped, Some(Event::Skipped { first: 2, last: 2 })),
        "{skipped:?}"
    );
    while us.poll().is_some() {}
    assert!(!us.is_catching_up());
    assert_eq!(heard(&mut us, &[4]), ["4"]);
}
