//! Bodies checked by their application: the counterparty sees the same session.

use touchline_session::fix::{
    Application, ApplicationId, Applications, Event, Memory, ResendPolicy, Role, Session, Settings,
    Store,
};
use touchline_types::ReceiveTime;
use touchline_wire::fix::Encoder;

const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_767_571_200_000_000_000,
    mono_ns: 1,
};

const MARKET_DATA: Application<'static> = Application {
    id: ApplicationId(7),
    receives: &[b"X", b"W"],
    sends: &[],
    resend: ResendPolicy::SendAgain,
};

/// A message with these fields after MsgType, separated by `|`.
fn raw(msg_type: &str, fields: &str) -> Vec<u8> {
    let body = format!("35={msg_type}|{fields}").replace('|', "\u{1}");
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend(format!("10={sum:03}\u{1}").bytes());
    bytes
}

fn header(number: u64) -> String {
    format!("49=THEM|56=US|34={number}|52=20260105-00:00:00.000|")
}

/// A logged-on initiator.
fn session(applications: Applications) -> Session<Memory> {
    let settings = Settings {
        applications,
        ..Settings::new(Role::Initiator, "US", "THEM")
    };
    let mut session = Session::new(settings, Memory::default());
    session.connected(NOW);
    session.transmitted(usize::MAX);
    session.handle(&raw("A", &format!("{}98=0|108=30|", header(1))), NOW);
    assert!(matches!(session.poll(), Some(Event::LoggedOn { .. })));
    assert!(session.poll().is_none());
    session
}

/// Events of a session, its answers, and its next expected number.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    shown: Vec<String>,
    sent: Vec<u8>,
    next_in: u64,
    counted: [u64; 4],
    is_over: bool,
}

/// Processes bytes. An application reports its body as read if it is the `sound` one; otherwise the session checks it.
fn seen(session: &mut Session<Memory>, bytes: &[u8], sound: &str) -> Seen {
    let mut shown = Vec::new();
    session.handle(bytes, NOW);
    loop {
        let what = match session.poll() {
            None => break,
            Some(Event::Application(message, _, to)) => {
                assert_eq!(to, Some(MARKET_DATA.id));
                let text = String::from_utf8_lossy(message.bytes()).into_owned();
                Some(text)
            }
            Some(Event::Invalid(_)) => None,
            Some(Event::Gap { first, last }) => {
                shown.push(format!("gap {first} to {last}"));
                continue;
            }
            Some(other) => panic!("{other:?}"),
        };
        let is_rejected = match &what {
            Some(text) if session.is_body_unverified() && text.contains(sound) => {
                session.body_is_read();
                false
            }
            Some(_) if session.is_body_unverified() => session.judge_body(),
            Some(_) => false,
            None => true,
        };
        match what {
            Some(text) if !is_rejected => shown.push(text),
            _ => shown.push("rejected".to_owned()),
        }
    }
    let sent = session.poll_transmit().to_vec();
    session.transmitted(sent.len());
    let counters = session.counters();
    Seen {
        shown,
        sent,
        next_in: session.store().next_in(),
        counted: [
            counters.messages_received,
            counters.messages_rejected,
            counters.messages_duplicate,
            counters.messages_out_of_order,
        ],
        is_over: session.disconnect_reason().is_some(),
    }
}

/// Faults of bodies and headers, in and out of sequence: output, counters and expected number are the same.
#[test]
fn the_result_does_not_depend_on_who_verifies_the_checksum() {
    let reports = Application {
        receives: &[b"8"],
        ..MARKET_DATA
    };
    let applications = Applications::default().with(&MARKET_DATA).with(&reports);
    let leaving = applications.clone().with_bodies_verified(&[b"X", b"W"]);
    let book = "55=EUR/USD|268=1|279=1|269=0|270=1.5|271=1|";
    let bodies = [
        book.to_owned(),
        format!("{book}49=THEM|"),
        format!("34=9|{book}"),
        format!("{book}0=1|"),
        format!("{book}x=1|"),
        format!("{book}-7=1|"),
        format!("{book}5000=|"),
        format!("{book}95=3|96=ab|"),
        format!("{book}95=2|96=ab|"),
        format!("43=Y|122=20260105-00:00:00.000|{book}"),
        format!("43=x|{book}"),
        String::new(),
    ];
    for body in &bodies {
        for (msg_type, ahead) in [("X", 0), ("W", 0), ("X", 3), ("8", 0)] {
            let mut plain = session(applications.clone());
            let mut left = session(leaving.clone());
            let filler = |first: u64| {
                let numbers = first..first + ahead;
                let fill = numbers.map(|number| raw("X", &format!("{}{book}", header(number))));
                fill.collect::<Vec<_>>().concat()
            };
            let strange = raw(msg_type, &format!("{}{body}", header(2 + ahead)));
            let names = header(3 + ahead).replace("THEM", "THEIR");
            let last = raw("X", &format!("{names}{body}"));
            for bytes in [strange, filler(2), last] {
                let sound = format!("{book}10=").replace('|', "\u{1}");
                let expected = seen(&mut plain, &bytes, &sound);
                assert_eq!(
                    seen(&mut left, &bytes, &sound),
                    expected,
                    "{msg_type} {body}"
                );
            }
        }
    }
}

/// The message counts once, at the owner's next call.
#[test]
fn a_body_verified_by_the_application_counts_as_a_message() {
    let applications = Applications::default().with(&MARKET_DATA);
    let mut session = session(applications.with_bodies_verified(&[b"X"]));
    session.handle(&raw("X", &format!("{}55=A|", header(2))), NOW);
    assert!(matches!(session.poll(), Some(Event::Application(..))));
    assert!(session.is_body_unverified());
    session.body_is_read();
    assert_eq!(session.store().next_in(), 2);
    assert!(session.poll().is_none());
    assert_eq!(session.store().next_in(), 3);
}

#[test]
#[should_panic(expected = "a body that was shown is judged before the next step")]
fn polling_past_an_unverified_body_panics() {
    let applications = Applications::default().with(&MARKET_DATA);
    let mut session = session(applications.with_bodies_verified(&[b"X"]));
    session.handle(&raw("X", &format!("{}55=A|", header(2))), NOW);
    assert!(matches!(session.poll(), Some(Event::Application(..))));
    let _ = session.poll();
}

#[test]
#[should_panic(expected = "a type with verified bodies is received")]
fn verifying_bodies_of_a_type_that_is_not_received_panics() {
    let _ = Applications::default().with_bodies_verified(&[b"X"]);
}

/// Encoders write no faults: these bytes equal their output for a valid message.
#[test]
fn test_messages_equal_encoded_ones() {
    let mut room = [0; 256];
    let mut encoder = Encoder::new(&mut room, b"FIX.4.4", b"X");
    encoder.bytes(49, b"THEM").bytes(56, b"US").unsigned(34, 2);
    encoder
        .bytes(52, b"20260105-00:00:00.000")
        .bytes(55, b"EUR/USD");
    let written = encoder.finish().expect("it fits");
    assert_eq!(written, raw("X", &format!("{}55=EUR/USD|", header(2))));
}
