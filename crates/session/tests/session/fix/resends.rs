//! Resends that take many pieces of the output.

use super::rules::{BEGIN_NS, settings};
use touchline_lab::fix::scenario::filled;
use touchline_session::fix::{Limits, Memory, Role, Session, Settings, Store};
use touchline_types::ReceiveTime;
use touchline_wire::fix::tag;

/// A message of the counterparty, handled at this time.
fn say(us: &mut Session<Memory>, now: ReceiveTime, kind: &str, number: u32, body: &str) {
    let text = format!("8=FIX.4.4|35={kind}|34={number}|49=THEM|56=US|52=<TIME>|{body}");
    let bytes = text.replace('|', "\x01").into_bytes();
    us.handle(&filled(&bytes, now.wall_ns), now);
    while us.poll().is_some() {}
}

/// A session that connects with messages to resend. Its store has the last thousand: the others become one gap fill.
fn queued(
    messages: u64,
    (output_bytes, heartbeat_s): (usize, u32),
    now: ReceiveTime,
) -> Session<Memory> {
    let limits = Limits {
        message_bytes_max: 1_024,
        output_bytes,
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        queue_while_down: true,
        heartbeat_s,
        ..settings(Role::Initiator)
    };
    let mut us = Session::new(settings, Memory::new(1_000, 1 << 20));
    for _ in 1..=messages {
        us.send(b"D", now, |body| {
            body.bytes(tag::CL_ORD_ID, b"x");
        })
        .expect("queued");
    }
    us.connected(now);
    us.transmitted(usize::MAX);
    us
}

/// A resend of a million messages, requested again from the middle: a bounded buffer, a bounded amount of work per
/// call, every number once in order.
#[test]
fn a_long_resend_is_served_in_pieces() {
    const MESSAGES: u64 = 1_000_000;
    let now = ReceiveTime::at(BEGIN_NS);
    let mut us = queued(MESSAGES, (16 * 1_024, 0), now);
    say(&mut us, now, "A", 1, "98=0|108=0|");
    say(&mut us, now, "2", 2, "7=1|16=0|");
    let (mut turns, mut came) = (0, Vec::new());
    while us.counters().messages_resent < 500 {
        assert!(us.poll_transmit().len() <= 16 * 1_024);
        came.extend(us.poll_transmit());
        us.transmitted(usize::MAX);
        turns += 1;
    }
    assert!(
        turns > MESSAGES / 1_000,
        "{turns} turns: somebody had to wait"
    );
    // During the resend: a request from an earlier number.
    let first = MESSAGES - 900;
    say(&mut us, now, "2", 3, &format!("7={first}|16=0|"));
    say(&mut us, now, "1", 4, "112=alive|");
    while !us.poll_transmit().is_empty() {
        came.extend(us.poll_transmit());
        us.transmitted(usize::MAX);
    }
    let text = String::from_utf8(came).expect("text").replace('\x01', "|");
    let numbers: Vec<u64> = text
        .split("8=FIX.4.4|")
        .filter(|message| message.contains("|43=Y|"))
        .filter_map(|message| {
            message
                .split("|34=")
                .nth(1)?
                .split('|')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    assert_eq!(numbers[0], 1, "one gap for what is not kept");
    let again = numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count();
    assert_eq!(again, 1, "the second request begins earlier, once");
    let tail: Vec<u64> = (first..=MESSAGES).collect();
    assert!(
        numbers.ends_with(&[&tail[..], &[MESSAGES + 1]].concat()),
        "all of it, to the end"
    );
    assert!(
        text.ends_with("|112=alive|10=000|") || text.contains("|112=alive|"),
        "and the answer last"
    );
    assert!(us.is_up());
}

/// A peer that asks for a long resend and does not read it: no heartbeat waits behind the resend, which would use a number at each look.
#[test]
fn no_heartbeat_waits_behind_a_resend() {
    let mut now = ReceiveTime::at(BEGIN_NS);
    let mut us = queued(1_000, (4 * 1_024, 1), now);
    say(&mut us, now, "A", 1, "98=0|108=1|");
    say(&mut us, now, "2", 2, "7=1|16=0|");
    let next_out = us.store().next_out();
    for number in 3..10 {
        now.mono_ns += 1_000_000_000;
        now.wall_ns += 1_000_000_000;
        say(&mut us, now, "0", number, "");
        for _ in 0..100 {
            us.handle_timeout(now);
        }
    }
    assert!(us.is_up());
    assert_eq!(us.store().next_out(), next_out);
}
