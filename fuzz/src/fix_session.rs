//! A FIX session, of either role: any bytes of a counterparty, at any time.
//!
//! The first byte chooses the role and the cuts of the input. Then each line is a step: `w` and a byte lets time pass,
//! `r` and bytes arrive unchanged, `s` sends an order, `l` logs out, `c` is another connection; any other line is a
//! message whose length and checksum are corrected, so that mutations get past them.

use crate::Target;
use touchline_feed::ReceiveTime;
use touchline_lab::fix::scenario::filled;
use touchline_session::fix::{Checks, Limits, Memory, Role, Session, Settings, Store};
use touchline_wire::fix::{Frame, frame, tag};

pub(crate) const TARGET: Target = Target {
    name: "fix_session",
    about: "whatever a FIX counterparty sends, and whenever: valid messages out, bounded buffers, numbers never back but by a reset, the same in any pieces",
    run,
    seeds,
};

const BEGIN_NS: u64 = 1_767_571_200_000_000_000;
const OUTPUT_BYTES: usize = 16 * 1_024;

fn run(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let whole = said(choice, bytes, usize::MAX);
    let pieces = said(choice, bytes, 1 + usize::from(choice >> 4));
    assert_eq!(pieces, whole, "another answer in pieces");
}

/// Output of the session for the whole input.
fn said(choice: u8, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut session = Session::new(settings(choice), Memory::new(64, 8 * 1_024));
    let mut now = ReceiveTime::at(BEGIN_NS);
    let mut said = Vec::new();
    session.connected(now);
    for line in bytes.split(|byte| *byte == b'\n') {
        let before = numbers(&session);
        match line {
            [b'w', passed, ..] => {
                let ns = u64::from(*passed) * 100_000_000;
                now.mono_ns += ns;
                now.wall_ns += ns;
                session.handle_timeout(now);
            }
            [b'r', rest @ ..] => give(&mut session, rest, piece, now),
            [b's', ..] => {
                let _ = session.send(b"D", now, |body| {
                    body.bytes(tag::CL_ORD_ID, b"id");
                });
            }
            [b'l', ..] => session.log_out("", now),
            [b'c', ..] => {
                session.disconnected(now);
                session.connected(now);
            }
            _ => give(&mut session, &message(line, now), piece, now),
        }
        take(&mut session, &mut said);
        let after = numbers(&session);
        assert!(
            after.2 > before.2 || (after.0 >= before.0 && after.1 >= before.1),
            "a number went back"
        );
    }
    said
}

/// Next out, next in, and how often both began again.
fn numbers(session: &Session<Memory>) -> (u64, u64, u64) {
    let store = session.store();
    (store.next_out(), store.next_in(), session.counters().resets)
}

fn message(line: &[u8], now: ReceiveTime) -> Vec<u8> {
    let mut line = line.to_vec();
    for byte in line.iter_mut().filter(|byte| **byte == b'|') {
        *byte = 1;
    }
    filled(&line, now.wall_ns)
}

fn give(session: &mut Session<Memory>, bytes: &[u8], piece: usize, now: ReceiveTime) {
    for mut bytes in bytes.chunks(piece.min(bytes.len().max(1))) {
        while !bytes.is_empty() {
            let taken = session.handle(bytes, now);
            bytes = &bytes[taken..];
            while session.poll().is_some() {}
            if taken == 0 {
                assert!(
                    session.disconnect_reason().is_some(),
                    "a message that never ends"
                );
                return;
            }
        }
    }
}

/// Takes outgoing bytes: whole messages, and no more than the buffer holds.
fn take(session: &mut Session<Memory>, said: &mut Vec<u8>) {
    let begin = said.len();
    while !session.poll_transmit().is_empty() {
        assert!(
            session.poll_transmit().len() <= OUTPUT_BYTES,
            "more than there is room for"
        );
        said.extend(session.poll_transmit());
        session.transmitted(usize::MAX);
    }
    let mut rest = &said[begin..];
    while !rest.is_empty() {
        match frame(rest, OUTPUT_BYTES) {
            Ok(Frame::Whole(message)) => rest = &rest[message.len()..],
            other => panic!("what is sent is no message: {other:?}"),
        }
    }
}

fn settings(choice: u8) -> Settings {
    let (role, sender, target) = match choice & 1 {
        0 => (Role::Acceptor, "ISLD", "TW44"),
        _ => (Role::Initiator, "TW44", "ISLD"),
    };
    let limits = Limits {
        message_bytes_max: 1_024,
        output_bytes: OUTPUT_BYTES,
        out_of_order_bytes: 2_048,
        out_of_order_messages: 8,
        ..Limits::default()
    };
    Settings {
        reset_on_logon: choice & 2 == 0,
        queue_while_down: choice & 4 == 0,
        checks: match choice & 8 {
            0 => Checks::Standard,
            _ => Checks::Nothing,
        },
        limits,
        ..Settings::new(role, sender, target)
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let conversations = [
        "8=FIX.4.4|35=A|34=1|49=THEM|52=<TIME>|56=US|98=0|108=2|\n\
         8=FIX.4.4|35=1|34=2|49=THEM|52=<TIME>|56=US|112=x|\nw\x18\nw\x18\n\
         8=FIX.4.4|35=5|34=3|49=THEM|52=<TIME>|56=US|\nc\n",
        "8=FIX.4.4|35=A|34=3|49=THEM|52=<TIME>|56=US|98=0|108=30|\ns\ns\n\
         8=FIX.4.4|35=0|34=9|49=THEM|52=<TIME>|56=US|\n\
         8=FIX.4.4|35=2|34=4|49=THEM|52=<TIME>|56=US|7=1|16=0|\n\
         8=FIX.4.4|35=4|34=1|43=Y|49=THEM|52=<TIME>|122=<TIME>|56=US|123=Y|36=10|\nl\nw\x7f\n",
        "8=FIX.4.4|35=A|34=1|49=THEM|52=<TIME>|56=US|98=0|108=0|141=Y|\n\
         8=FIX.4.4|35=D|34=2|49=THEM|52=<TIME>|56=US|11=a|21=1|40=1|54=1|55=X|60=<TIME>|\n\
         8=FIX.4.4|35=D|34=2|43=Y|49=THEM|52=<TIME>|122=<TIME>|56=US|11=a|21=1|40=1|54=1|55=X|60=<TIME>|\n\
         8=FIX.4.4|35=A|34=1|49=THEM|52=<TIME>|56=US|98=0|108=30|141=Y|\nr8=FIX.4.4\x019=5\x01junk\n\
         8=FIX.4.4|35=4|34=2|49=THEM|52=<TIME>|56=US|36=700|\n",
    ];
    let mut seeds = Vec::new();
    for conversation in conversations {
        for choice in [0x00_u8, 0x11, 0x2a, 0x37] {
            let names = if choice & 1 == 0 {
                ["TW44", "ISLD"]
            } else {
                ["ISLD", "TW44"]
            };
            let text = conversation
                .replace("THEM", names[0])
                .replace("US|", &format!("{}|", names[1]));
            seeds.push([&[choice], text.as_bytes()].concat());
        }
    }
    seeds
}
