//! Logons of this session whose terms are rejected, and the evidence of a connection that ends.

use crate::fix::rules::{BEGIN_NS, session, settings};
use touchline_session::fix::{
    Checks, DisconnectReason, Event, Memory, Role, Session, Settings, Store,
};
use touchline_types::ReceiveTime;

fn filled(text: &str) -> Vec<u8> {
    touchline_lab::fix::scenario::filled(text.replace('|', "\x01").as_bytes(), BEGIN_NS)
}

/// A Logon of this session with unacceptable terms is answered with the reason, in either role, and no number is reset.
/// A counterparty that the application did not yet accept receives no message.
#[test]
fn a_logon_with_impossible_terms_is_answered_with_the_reason() {
    let heartbeat = "HeartBtInt (108) must be a number of seconds from 0 to 86400";
    let number = "ResetSeqNumFlag (141) with another MsgSeqNum (34) than 1";
    let encryption = "EncryptMethod (98) must be 0: encryption of FIX messages is not supported";
    let cases = [
        (1, "98=0|108=86401|", heartbeat),
        (1, "98=0|108=-1|", heartbeat),
        (1, "98=0|108=30.5|", heartbeat),
        (1, "98=0|108=x|", heartbeat),
        (1, "98=0|108=99999999999999999999|", heartbeat),
        (1, "98=3|108=30|", encryption),
        (1, "98=07|108=30|", encryption),
        (1, "98=x|108=30|", encryption),
        (2, "98=0|108=30|141=Y|", number),
        (57, "98=0|141=Y|", number),
    ];
    for (number, terms, why) in cases {
        for role in [Role::Initiator, Role::Acceptor] {
            for (ask, checks) in [
                (false, Checks::Nothing),
                (true, Checks::Nothing),
                (false, Checks::Standard),
            ] {
                let names = match role {
                    Role::Initiator => "49=THEM|56=US|",
                    Role::Acceptor => "49=US|56=THEM|",
                };
                let settings = Settings {
                    ask,
                    checks,
                    ..settings(role)
                };
                let mut us = Session::new(settings, Memory::default());
                us.connected(ReceiveTime::at(BEGIN_NS));
                let sent = us.poll_transmit().len();
                us.transmitted(sent);
                let (next_out, next_in) = (us.store().next_out(), us.store().next_in());
                us.handle(
                    &filled(&format!(
                        "8=FIX.4.4|35=A|34={number}|{names}52=<TIME>|{terms}"
                    )),
                    ReceiveTime::at(BEGIN_NS),
                );
                let is_asked = matches!(us.poll(), Some(Event::Logon(_)));
                assert_eq!(is_asked, ask && role == Role::Acceptor);
                if is_asked {
                    assert!(us.poll_transmit().is_empty(), "before it is accepted");
                    assert!(!us.accept_logon(|_| {}));
                }
                let logout = String::from_utf8_lossy(us.poll_transmit()).into_owned();
                assert!(logout.contains("\u{1}35=5\u{1}"), "{logout}");
                assert!(
                    logout.contains(&format!("\u{1}58={why}\u{1}")),
                    "{terms}: {logout}"
                );
                assert_eq!(
                    us.disconnect_reason(),
                    Some(DisconnectReason::LogonRefused(why))
                );
                // The Logout has taken a number; nothing began again.
                assert_eq!(
                    (us.store().next_out(), us.store().next_in()),
                    (next_out + 1, next_in)
                );
                if !is_asked {
                    assert!(us.evidence().contains("35=A|"), "{}", us.evidence());
                }
            }
        }
    }
}

/// Numbers of a Logon may have zeros before them, with a dictionary and without one.
#[test]
fn a_logon_with_zeros_before_its_numbers_is_accepted() {
    for checks in [Checks::Nothing, Checks::Standard] {
        let settings = Settings {
            checks,
            ..settings(Role::Acceptor)
        };
        let mut us = Session::new(settings, Memory::default());
        us.connected(ReceiveTime::at(BEGIN_NS));
        us.handle(
            &filled("8=FIX.4.4|35=A|34=001|49=US|56=THEM|52=<TIME>|98=00|108=030|"),
            ReceiveTime::at(BEGIN_NS),
        );
        assert!(
            matches!(us.poll(), Some(Event::LoggedOn { .. })),
            "{:?}",
            us.disconnect_reason()
        );
    }
}

/// A counterparty that resets during the session states its HeartBtInt; the answer has the same, in either role.
#[test]
fn the_answer_to_a_reset_has_the_heart_bt_int_of_the_counterparty() {
    for (role, names) in [
        (Role::Initiator, "49=THEM|56=US|"),
        (Role::Acceptor, "49=US|56=THEM|"),
    ] {
        for (theirs, answered) in [
            ("108=7|", "7"),
            ("108=60|", "60"),
            ("108=0|", "0"),
            ("", "30"),
        ] {
            let mut us = session(role);
            us.connected(ReceiveTime::at(BEGIN_NS));
            let hear = |us: &mut Session<Memory>, text: &str| {
                let sent = us.poll_transmit().len();
                us.transmitted(sent);
                us.handle(&filled(text), ReceiveTime::at(BEGIN_NS));
                while us.poll().is_some() {}
                String::from_utf8_lossy(us.poll_transmit()).into_owned()
            };
            hear(
                &mut us,
                &format!("8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|108=30|"),
            );
            let answer = hear(
                &mut us,
                &format!("8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|{theirs}141=Y|"),
            );
            let wanted = format!("\u{1}98=0\u{1}108={answered}\u{1}141=Y\u{1}");
            assert!(answer.contains(&wanted), "{theirs}: {answer}");
            let refused = hear(
                &mut us,
                &format!("8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|108=x|141=Y|"),
            );
            assert!(refused.contains("58=HeartBtInt (108) must be"), "{refused}");
            assert!(us.disconnect_reason().is_some());
        }
    }
}

/// Malformed bytes are shown as received, up to a length.
#[test]
fn the_evidence_of_a_connection_that_ends_is_what_the_counterparty_sent() {
    let mut us = session(Role::Initiator);
    us.connected(ReceiveTime::at(BEGIN_NS));
    us.handle(b"HTTP/1.1 400 Bad Request\r\n", ReceiveTime::at(BEGIN_NS));
    assert!(us.poll().is_none());
    assert_eq!(us.disconnect_reason(), Some(DisconnectReason::NotLogon));
    assert_eq!(us.evidence(), "HTTP/1.1 400 Bad Request??");
    us.disconnected(ReceiveTime::at(BEGIN_NS));
    us.connected(ReceiveTime::at(BEGIN_NS));
    assert_eq!(us.evidence(), "");
}

/// A counterparty closes the connection without a fault: the last message that it sent is shown, with all bytes that
/// arrived after it, and without passwords.
#[test]
fn the_evidence_of_a_connection_without_a_reason_is_the_last_message() {
    let mut us = session(Role::Initiator);
    us.connected(ReceiveTime::at(BEGIN_NS));
    let names = "49=THEM|56=US|";
    let hear = |us: &mut Session<Memory>, text: &str| {
        us.handle(&filled(text), ReceiveTime::at(BEGIN_NS));
        while us.poll().is_some() {}
    };
    hear(
        &mut us,
        &format!("8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|108=30|554=sentinel|"),
    );
    let logon = us.evidence();
    assert!(
        logon.contains("|35=A|") && !logon.contains("sentinel"),
        "{logon}"
    );
    let long = "x".repeat(600);
    hear(
        &mut us,
        &format!("8=FIX.4.4|35=0|34=2|{names}52=<TIME>|58={long}|"),
    );
    us.handle(b"8=FIX", ReceiveTime::at(BEGIN_NS));
    assert!(us.poll().is_none());
    assert_eq!(us.disconnect_reason(), None);
    let last = us.evidence();
    assert!(
        last.contains("|35=0|34=2|") && last.ends_with("xxx..."),
        "{last}"
    );
    us.disconnected(ReceiveTime::at(BEGIN_NS));
    assert_eq!(us.evidence(), "", "it is wiped");
}

/// An answer is not answered: a Logon with ResetSeqNumFlag that comes twice, in either role, at the logon or during the session.
/// A reset after another message is a request, and is answered.
#[test]
fn a_repeated_answer_to_a_reset_is_not_answered() {
    for (role, names) in [
        (Role::Initiator, "49=THEM|56=US|"),
        (Role::Acceptor, "49=US|56=THEM|"),
    ] {
        for (resets, is_later) in [(true, false), (false, false), (false, true)] {
            let settings = Settings {
                reset_on_logon: resets,
                ..settings(role)
            };
            let mut us = Session::new(settings, Memory::default());
            let now = ReceiveTime::at(BEGIN_NS);
            us.connected(now);
            let hear = |us: &mut Session<Memory>, text: &str| {
                let sent = us.poll_transmit().len();
                us.transmitted(sent);
                us.handle(&filled(text), now);
                while us.poll().is_some() {}
                String::from_utf8_lossy(us.poll_transmit()).into_owned()
            };
            let logon = format!("8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|108=30|141=Y|");
            hear(&mut us, &logon);
            if is_later {
                us.reset(now);
                hear(&mut us, &logon);
            }
            for _ in 0..3 {
                assert_eq!(hear(&mut us, &logon), "", "{role:?}, {resets}, {is_later}");
            }
            assert_eq!((us.store().next_out(), us.store().next_in()), (2, 2));
            assert!(us.is_up());
            hear(&mut us, &format!("8=FIX.4.4|35=0|34=2|{names}52=<TIME>|"));
            assert!(hear(&mut us, &logon).contains("141=Y"), "a request");
            assert_eq!(hear(&mut us, &logon), "", "the answer to its answer");
            assert_eq!((us.store().next_out(), us.store().next_in()), (2, 2));
        }
    }
}

/// A reset during the session loses missing messages, and those of the time before the Logon are not awaited any more.
#[test]
fn a_reset_during_the_session_ends_its_gaps() {
    for (role, names) in [
        (Role::Initiator, "49=THEM|56=US|"),
        (Role::Acceptor, "49=US|56=THEM|"),
    ] {
        for is_ours in [true, false] {
            let mut us = session(role);
            let now = ReceiveTime::at(BEGIN_NS);
            us.connected(now);
            let hear = |us: &mut Session<Memory>, number: u64, kind: &str, more: &str| {
                let text = format!("8=FIX.4.4|35={kind}|34={number}|{names}52=<TIME>|{more}");
                us.handle(&filled(&text), now);
                let mut lost = None;
                while let Some(event) = us.poll() {
                    if let Event::Restarted { lost: of } = event {
                        lost = Some(of);
                    }
                }
                lost
            };
            let logon = "98=0|108=30|";
            hear(&mut us, 900, "A", logon);
            assert!(us.is_catching_up(), "{role:?}");
            hear(&mut us, 905, "0", "");
            if is_ours {
                us.reset(now);
            }
            let lost = hear(&mut us, 1, "A", &format!("{logon}141=Y|"));
            assert_eq!(lost, Some(Some((1, 905))), "{role:?} {is_ours}");
            assert!(!us.is_catching_up(), "{role:?} {is_ours}");
            hear(&mut us, 2, "0", "");
            let lost = hear(&mut us, 1, "A", &format!("{logon}141=Y|"));
            assert_eq!(lost, Some(None), "{role:?} {is_ours}");
        }
    }
}

/// Two sides of which each answers, over a network that delivers a Logon twice.
#[test]
fn two_sides_that_answer_resets_come_to_rest() {
    for which in 0..2 {
        let (mut us, mut them) = (session(Role::Initiator), session(Role::Acceptor));
        let now = ReceiveTime::at(BEGIN_NS);
        us.connected(now);
        them.connected(now);
        us.reset(now);
        let mut sent = 0;
        for turn in 0..20 {
            for (from, to) in [(0, 1), (1, 0)] {
                let sides = [&mut us, &mut them];
                let bytes = sides[from].poll_transmit().to_vec();
                sides[from].transmitted(bytes.len());
                sent += usize::from(turn > 3 && !bytes.is_empty());
                let times = if from == which && turn == 1 { 2 } else { 1 };
                for _ in 0..times {
                    sides[to].handle(&bytes, now);
                    while sides[to].poll().is_some() {}
                }
            }
            if turn == 0 {
                us.reset(now);
            }
        }
        assert_eq!(sent, 0, "Logons without end");
        assert!(us.is_up() && them.is_up());
    }
}

/// A Logon that is longer than the limit is named as the reason.
#[test]
fn a_logon_that_is_too_long_is_the_reason() {
    for (role, names, limit) in [
        (Role::Initiator, "49=THEM|56=US|", 65_536),
        (Role::Acceptor, "49=US|56=THEM|", 4_096),
    ] {
        let mut us = session(role);
        us.connected(ReceiveTime::at(BEGIN_NS));
        let text = "x".repeat(limit);
        let bytes = filled(&format!(
            "8=FIX.4.4|35=A|34=1|{names}52=<TIME>|98=0|108=30|58={text}|"
        ));
        us.handle(&bytes, ReceiveTime::at(BEGIN_NS));
        assert!(us.poll().is_none());
        let why = us.disconnect_reason().expect("it is over").to_string();
        let length = bytes.len();
        assert_eq!(
            why,
            format!("a message (35=A) of {length} bytes is longer than the limit of {limit} bytes")
        );
        assert_eq!(us.counters().messages_too_long, 1);
    }
}

/// A Logout or Reject that answers our Logon is a message of that connection: it is counted if it is the next one, so that the Logon which
/// is accepted later shows no gap. One of another session, of another number, or of the numbers before a reset that we ask for is not.
#[test]
fn a_refusal_of_our_logon_is_no_gap_in_the_session_before() {
    // The bank's messages of two refused connections, the number of the Logon that is accepted, and whether something is asked for.
    let rows: [(bool, [&str; 2], u64, bool); 7] = [
        (
            false,
            ["35=5|34=1|49=THEM|", "35=5|34=2|49=THEM|"],
            3,
            false,
        ),
        (
            false,
            ["35=5|34=1|49=THEM|", "35=3|34=2|49=THEM|"],
            3,
            false,
        ),
        (
            false,
            ["35=5|34=1|49=OTHER|", "35=5|34=1|49=THEM|"],
            2,
            false,
        ),
        (false, ["35=5|34=7|49=THEM|", "35=5|34=8|49=THEM|"], 9, true),
        (false, ["35=5|34=1|49=THEM|", "35=5|34=1|49=THEM|"], 3, true),
        (true, ["35=5|34=1|49=THEM|", "35=5|34=1|49=THEM|"], 1, false),
        (
            true,
            ["35=5|34=57|49=THEM|", "35=5|34=58|49=THEM|"],
            1,
            false,
        ),
    ];
    for (reset, refusals, number, is_asked) in rows {
        let settings = Settings {
            reset_on_logon: reset,
            ..settings(Role::Initiator)
        };
        let mut us = Session::new(settings, Memory::default());
        let now = ReceiveTime::at(BEGIN_NS);
        for refusal in refusals {
            us.connected(now);
            us.handle(
                &filled(&format!("8=FIX.4.4|{refusal}56=US|52=<TIME>|")),
                now,
            );
            assert!(matches!(us.poll(), Some(Event::LoggedOut(_))), "{refusal}");
            assert_eq!(
                us.disconnect_reason(),
                Some(DisconnectReason::LogonRejected)
            );
            let sent = us.poll_transmit().len();
            us.transmitted(sent);
            us.disconnected(now);
        }
        us.connected(now);
        let flag = if reset { "141=Y|" } else { "" };
        let logon =
            format!("8=FIX.4.4|35=A|34={number}|49=THEM|56=US|52=<TIME>|98=0|108=30|{flag}");
        us.handle(&filled(&logon), now);
        assert!(
            matches!(us.poll(), Some(Event::LoggedOn { .. })),
            "{refusals:?}"
        );
        let asked = us
            .poll_transmit()
            .windows(5)
            .any(|bytes| bytes == b"\x0135=2");
        assert_eq!(asked, is_asked, "{refusals:?}");
    }
}
