//! Rules beyond single-tester scenarios: two sessions with each other, time, memory, secrets.

use touchline_session::fix::{
    DisconnectReason, Event, Memory, Role, SendError, Session, Settings, Store,
};
use touchline_types::ReceiveTime;
use touchline_wire::fix::tag;

pub const BEGIN_NS: u64 = 1_767_571_200_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
const SENTINEL: &str = "sentinel-5b1d";

pub fn settings(role: Role) -> Settings {
    let (sender, target) = match role {
        Role::Initiator => ("US", "THEM"),
        Role::Acceptor => ("THEM", "US"),
    };
    Settings::new(role, sender, target)
}

pub fn session(role: Role) -> Session<Memory> {
    Session::new(settings(role), Memory::default())
}

/// Two sessions and the connection between them.
struct Pair {
    us: Session<Memory>,
    them: Session<Memory>,
    now: ReceiveTime,
    /// Our host's clock less the counterparty's.
    ahead_ns: i64,
    /// Events of either side, and each exchanged byte.
    events: Vec<String>,
    wire: Vec<u8>,
}

impl Pair {
    fn new(us: Session<Memory>, them: Session<Memory>) -> Pair {
        Pair {
            us,
            them,
            now: ReceiveTime::at(BEGIN_NS),
            ahead_ns: 0,
            events: Vec::new(),
            wire: Vec::new(),
        }
    }

    /// The time at our host.
    fn ours(&self) -> ReceiveTime {
        ReceiveTime {
            wall_ns: self.now.wall_ns.saturating_add_signed(self.ahead_ns),
            ..self.now
        }
    }

    fn connect(&mut self) {
        self.them.connected(self.now);
        self.us.connected(self.now);
        self.settle();
    }

    fn drop(&mut self) {
        self.us.disconnected(self.now);
        self.them.disconnected(self.now);
    }

    /// Exchanges bytes until neither side has output.
    fn settle(&mut self) {
        let ours = self.ours();
        loop {
            let bytes = carry(&mut self.us, &mut self.them, self.now, &mut self.wire)
                + carry(&mut self.them, &mut self.us, ours, &mut self.wire);
            listen("us", &mut self.us, &mut self.events);
            listen("them", &mut self.them, &mut self.events);
            if bytes == 0
                && self.us.poll_transmit().is_empty()
                && self.them.poll_transmit().is_empty()
            {
                return;
            }
        }
    }

    fn pass(&mut self, ns: u64) {
        self.now.mono_ns += ns;
        self.now.wall_ns += ns;
        self.us.handle_timeout(self.ours());
        self.them.handle_timeout(self.now);
        self.settle();
    }

    fn order(&mut self, id: &str) -> Result<u64, SendError> {
        self.us.send(b"D", self.now, |body| {
            body.bytes(tag::CL_ORD_ID, id.as_bytes());
        })
    }
}

fn carry(
    from: &mut Session<Memory>,
    to: &mut Session<Memory>,
    now: ReceiveTime,
    wire: &mut Vec<u8>,
) -> usize {
    let bytes = to.handle(from.poll_transmit(), now);
    wire.extend(&from.poll_transmit()[..bytes]);
    from.transmitted(bytes);
    bytes
}

fn listen(name: &str, session: &mut Session<Memory>, events: &mut Vec<String>) {
    while let Some(event) = session.poll() {
        events.push(match event {
            Event::LoggedOn { .. } => format!("{name}: on"),
            Event::Application(message, header, _) => {
                let fields = message.fields().map_while(Result::ok);
                let id = fields.clone().find(|field| field.tag == tag::CL_ORD_ID);
                let id = String::from_utf8_lossy(id.map_or(&[], |id| id.value)).into_owned();
                let again = if header.poss_dup { " again" } else { "" };
                format!("{name}: {id}{again}")
            }
            Event::LoggedOut(_) => format!("{name}: out"),
            other => format!("{name}: {other:?}"),
        });
    }
}

#[test]
fn numbers_continue_over_connections_and_queued_messages_are_sent() {
    let queueing = Settings {
        queue_while_down: true,
        ..settings(Role::Initiator)
    };
    let us = Session::new(queueing, Memory::default());
    let mut pair = Pair::new(us, session(Role::Acceptor));
    assert_eq!(
        pair.order("early"),
        Ok(1),
        "queued before the first connection"
    );
    pair.connect();
    pair.order("one").expect("up");
    pair.settle();
    pair.drop();
    pair.order("two").expect("queued");
    pair.order("three").expect("queued");
    pair.connect();
    let orders: Vec<&str> = pair
        .events
        .iter()
        .filter_map(|event| event.strip_prefix("them: "))
        .collect();
    assert_eq!(
        orders,
        ["on", "early again", "one", "on", "two again", "three again"]
    );
    // A session that does not queue reports it.
    pair.drop();
    assert_eq!(
        session(Role::Initiator).send(b"D", pair.now, |_| {}),
        Err(SendError::Down)
    );
}

#[test]
fn an_own_logout_waits_for_its_answer_and_serves_requests_meanwhile() {
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    pair.connect();
    pair.order("lost").expect("up");
    // The order is lost; the Logout reveals the gap.
    let lost = pair.us.poll_transmit().len();
    pair.us.transmitted(lost);
    pair.us.log_out("done", pair.now);
    assert_eq!(pair.us.send(b"D", pair.now, |_| {}), Err(SendError::Down));
    pair.settle();
    assert_eq!(
        pair.us.disconnect_reason(),
        Some(DisconnectReason::LoggedOut)
    );
    assert_eq!(
        pair.them.disconnect_reason(),
        Some(DisconnectReason::LoggedOut)
    );
    pair.drop();
    pair.connect();
    assert!(
        pair.events.contains(&"them: lost again".to_owned()),
        "{:?}",
        pair.events
    );

    // Without an answer the logout times out.
    pair.us.log_out("", pair.now);
    let said = pair.us.poll_transmit().len();
    pair.us.transmitted(said);
    for _ in 0..19 {
        pair.now.mono_ns += SECOND_NS / 10;
        pair.us.handle_timeout(pair.now);
        assert_eq!(pair.us.disconnect_reason(), None);
    }
    pair.now.mono_ns += SECOND_NS / 10;
    pair.us.handle_timeout(pair.now);
    assert_eq!(
        pair.us.disconnect_reason(),
        Some(DisconnectReason::NoLogout)
    );
}

#[test]
fn both_sides_may_ask_for_a_reset_at_once() {
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    pair.connect();
    for id in ["one", "two", "three"] {
        pair.order(id).expect("up");
    }
    pair.settle();
    pair.us.reset(pair.now);
    pair.them.reset(pair.now);
    pair.settle();
    for side in [&pair.us, &pair.them] {
        assert_eq!((side.store().next_out(), side.store().next_in()), (2, 2));
        assert!(side.is_up());
    }
    pair.order("anew").expect("up");
    pair.settle();
    assert_eq!(pair.events.last().map(String::as_str), Some("them: anew"));
}

#[test]
fn a_logon_that_is_not_answered_or_answered_wrongly_ends() {
    for (answer, wanted) in [
        ("", DisconnectReason::NoLogon),
        (
            "8=FIX.4.4|35=0|34=1|49=THEM|56=US|52=<TIME>|",
            DisconnectReason::NotLogon,
        ),
        (
            "8=FIX.4.4|35=5|34=1|49=THEM|56=US|52=<TIME>|58=no|",
            DisconnectReason::LogonRejected,
        ),
        (
            "8=FIX.4.4|35=A|34=1|49=OTHER|56=US|52=<TIME>|98=0|108=30|",
            DisconnectReason::BadLogon,
        ),
        (
            "8=FIX.4.4|35=A|34=0|49=THEM|56=US|52=<TIME>|98=0|108=30|",
            DisconnectReason::BadLogon,
        ),
        ("garbage", DisconnectReason::NotLogon),
    ] {
        let mut us = session(Role::Initiator);
        let mut now = ReceiveTime::at(BEGIN_NS);
        us.connected(now);
        let bytes = answer.replace('|', "\x01").into_bytes();
        let bytes = match answer {
            "" | "garbage" => bytes,
            _ => touchline_lab::fix::scenario::filled(&bytes, BEGIN_NS),
        };
        us.handle(&bytes, now);
        let _ = us.poll();
        now.mono_ns += 9_999_999_999;
        us.handle_timeout(now);
        assert_eq!(
            us.disconnect_reason().is_none(),
            answer.is_empty(),
            "{answer}"
        );
        now.mono_ns += 1;
        us.handle_timeout(now);
        assert_eq!(us.disconnect_reason(), Some(wanted), "{answer}");
    }
    // A number that was used before: one side has lost its numbers.
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    pair.connect();
    pair.drop();
    pair.us = session(Role::Initiator);
    pair.connect();
    assert_eq!(
        pair.them.disconnect_reason(),
        Some(DisconnectReason::SequenceTooLow)
    );
    assert_eq!(
        pair.us.disconnect_reason(),
        Some(DisconnectReason::LogonRejected)
    );
}

/// Messages waiting behind a resend were never sent: another request during it does not send them
/// twice.
#[test]
fn messages_waiting_behind_a_resend_are_sent_once() {
    let queueing = Settings {
        queue_while_down: true,
        ..settings(Role::Initiator)
    };
    let mut us = Session::new(queueing, Memory::new(4_096, 1 << 20));
    let now = ReceiveTime::at(BEGIN_NS);
    let order = |us: &mut Session<Memory>, id: &str| {
        us.send(b"D", now, |body| {
            body.bytes(tag::CL_ORD_ID, id.as_bytes());
        })
    };
    for _ in 1..=3_000 {
        order(&mut us, "early").expect("queued");
    }
    us.connected(now);
    us.transmitted(usize::MAX);
    let say = |us: &mut Session<Memory>, kind: &str, number: u32, body: &str| {
        let text = format!("8=FIX.4.4|35={kind}|34={number}|49=THEM|56=US|52=<TIME>|{body}");
        let bytes = text.replace('|', "\x01").into_bytes();
        us.handle(&touchline_lab::fix::scenario::filled(&bytes, BEGIN_NS), now);
        while us.poll().is_some() {}
    };
    say(&mut us, "A", 1, "98=0|108=30|");
    say(&mut us, "2", 2, "7=1|16=0|");
    let late = order(&mut us, "late").expect("there is room");
    say(&mut us, "2", 3, "7=1|16=0|");
    let mut came = Vec::new();
    while !us.poll_transmit().is_empty() {
        came.extend(us.poll_transmit());
        us.transmitted(usize::MAX);
    }
    let text = String::from_utf8(came).expect("text").replace('\x01', "|");
    let of_late = |message: &&str| message.contains(&format!("|34={late}|"));
    let messages: Vec<&str> = text.split("8=FIX.4.4|").filter(of_late).collect();
    let [message] = messages[..] else {
        panic!("{messages:?}");
    };
    assert!(
        message.contains("|11=late|") && !message.contains("|43="),
        "{message}"
    );
    assert!(
        text.matches("|11=early|").count() > 3_000,
        "nothing was in the middle"
    );
}

/// The host's clock is set by an hour and back: timestamps continue, and the session stays up.
#[test]
fn a_clock_that_is_set_does_not_end_the_session() {
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    pair.connect();
    for step_s in [3_600_i64, -7_200, 3_600] {
        // Only our clock is set; the counterparty's continues.
        let step_ns = step_s * 1_000_000_000;
        pair.ahead_ns += step_ns;
        pair.us.wall_stepped(step_ns);
        let ours = pair.ours();
        pair.us.handle_timeout(ours);
        pair.us
            .send(b"D", ours, |body| {
                body.bytes(tag::CL_ORD_ID, b"x");
            })
            .expect("up");
        pair.settle();
        pair.pass(20 * SECOND_NS);
        assert!(pair.us.is_up() && pair.them.is_up(), "{step_s} s");
    }
    assert_eq!(pair.them.counters().messages_rejected, 0);
    assert_eq!(
        pair.events
            .iter()
            .filter(|event| *event == "them: x")
            .count(),
        3
    );
}

/// A password of a Logon is sent once and stored nowhere: not in events, the store or resends.
#[test]
fn a_password_is_sent_and_nowhere_kept() {
    let asking = Settings {
        ask: true,
        ..settings(Role::Acceptor)
    };
    let mut pair = Pair::new(
        session(Role::Initiator),
        Session::new(asking, Memory::default()),
    );
    pair.them.connected(pair.now);
    pair.us.connected_with(pair.now, |logon| {
        logon
            .bytes(tag::USERNAME, b"user")
            .bytes(tag::PASSWORD, SENTINEL.as_bytes());
    });
    carry(&mut pair.us, &mut pair.them, pair.now, &mut pair.wire);
    assert!(
        String::from_utf8_lossy(&pair.wire).contains(SENTINEL),
        "it was sent"
    );
    let believed = match pair.them.poll() {
        Some(Event::Logon(logon)) => {
            let mut fields = logon.fields().map_while(Result::ok);
            fields.any(|field| field.tag == tag::PASSWORD && field.value == SENTINEL.as_bytes())
        }
        other => panic!("no question, but {other:?}"),
    };
    assert!(
        believed && pair.them.poll().is_none(),
        "it waits for the answer"
    );
    assert!(pair.them.accept_logon(|_| {}));
    pair.settle();
    assert!(pair.us.is_up() && pair.them.is_up());
    let shown = format!("{:?} {:?}", pair.us, pair.them);
    assert!(!shown.contains(SENTINEL), "{shown}");
    let before = pair.wire.len();
    pair.them.send(b"D", pair.now, |_| {}).expect("up");
    // A resend of everything, from the Logon on.
    let request = "8=FIX.4.4|35=2|34=2|49=THEM|56=US|52=<TIME>|7=1|16=0|".replace('|', "\x01");
    pair.us.handle(
        &touchline_lab::fix::scenario::filled(request.as_bytes(), BEGIN_NS),
        pair.now,
    );
    pair.settle();
    assert!(!String::from_utf8_lossy(&pair.wire[before..]).contains(SENTINEL));
    let (mut stored, mut room) = (pair.us.into_store(), [0; 4_096]);
    for number in 1..stored.next_out() {
        let length = stored.read(number, &mut room).expect("memory");
        assert!(
            !String::from_utf8_lossy(&room[..length]).contains(SENTINEL),
            "{number}"
        );
        // The Logon's number is used without contents; the messages after it are stored.
        assert_eq!(length == 0, number == 1, "{number}");
    }
}

#[test]
fn a_rejected_logon_without_a_text_gets_no_answer() {
    let asking = Settings {
        ask: true,
        ..settings(Role::Acceptor)
    };
    let mut pair = Pair::new(
        session(Role::Initiator),
        Session::new(asking, Memory::default()),
    );
    pair.them.connected(pair.now);
    pair.us.connected(pair.now);
    carry(&mut pair.us, &mut pair.them, pair.now, &mut pair.wire);
    assert!(matches!(pair.them.poll(), Some(Event::Logon(_))));
    pair.them.reject_logon("");
    assert_eq!(
        pair.them.disconnect_reason(),
        Some(DisconnectReason::UnknownCounterparty)
    );
    assert!(pair.them.poll_transmit().is_empty());
    assert_eq!(pair.them.store().next_out(), 1, "no number is used");
}

/// A process that sleeps until the next timeout misses nothing: without input, nothing happens before the timeout, and
/// something happens at it.
#[test]
fn time_alone_does_nothing_before_the_next_timeout() {
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    assert_eq!(pair.us.next_timeout(), None, "there is no connection");
    pair.us.connected(pair.now);
    let logon_ns = pair.now.mono_ns + 10 * SECOND_NS;
    assert_eq!(pair.us.next_timeout(), Some(logon_ns));
    pair.them.connected(pair.now);
    pair.settle();
    let said = |session: &Session<Memory>| {
        let counters = session.counters();
        counters.messages_sent + counters.disconnects
    };
    // The other side is silent: heartbeat, test request, both again, end.
    let mut steps = 0;
    while let Some(at_ns) = pair.us.next_timeout() {
        let before = said(&pair.us);
        for (ns, is_due) in [(at_ns - 1, false), (at_ns, true)] {
            let passed = ns - pair.now.mono_ns;
            pair.now.mono_ns += passed;
            pair.now.wall_ns += passed;
            pair.us.handle_timeout(pair.now);
            assert_eq!(said(&pair.us) > before, is_due, "step {steps}, {ns}");
        }
        steps += 1;
    }
    assert_eq!(
        pair.us.disconnect_reason(),
        Some(DisconnectReason::HeartbeatTimeout)
    );
    assert!(steps >= 3, "{steps}");

    // A gap that is not filled is requested twice more.
    let mut pair = Pair::new(session(Role::Initiator), session(Role::Acceptor));
    pair.connect();
    let ahead = "8=FIX.4.4|35=0|34=9|49=THEM|56=US|52=<TIME>|".replace('|', "\x01");
    let ahead = touchline_lab::fix::scenario::filled(ahead.as_bytes(), BEGIN_NS);
    pair.now.mono_ns += SECOND_NS;
    pair.us.handle(&ahead, pair.now);
    while pair.us.poll().is_some() {}
    assert_eq!(pair.us.counters().resends_requested, 1);
    let gap_ns = pair.now.mono_ns + 30 * SECOND_NS;
    for _ in 0..4 {
        let at_ns = pair.us.next_timeout().expect("it is up");
        assert!(at_ns <= gap_ns);
        pair.now.mono_ns = at_ns;
        pair.us.handle_timeout(pair.now);
        if at_ns == gap_ns {
            break;
        }
    }
    assert_eq!(pair.us.counters().resends_requested, 2);
}
