//! Tests of the reports of an order session about malformed bytes.

mod day;
mod gap_fills;
mod headers;
mod refused;
mod warm_send;

use super::*;
use crate::execution::config::Config;
use crate::execution::config::tests::text;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use touchline_wire::fix::{Encoder, Precision};

const SECOND_NS: u64 = 1_000_000_000;
const LOGON: [(u32, &str); 2] = [(98, "0"), (108, "10")];
const REPORT: [(u32, &str); 9] = [
    (37, "O1"),
    (17, "X1"),
    (150, "0"),
    (39, "0"),
    (55, "EUR/USD"),
    (54, "1"),
    (151, "1000"),
    (14, "0"),
    (6, "0"),
];

/// A connection to the test. If the test has closed it, it returns an error once its bytes are read.
#[derive(Clone, Default)]
struct Wire {
    /// Bytes that the session sent.
    sent: Rc<RefCell<Vec<u8>>>,
    bytes: Rc<RefCell<VecDeque<u8>>>,
    is_closed: Rc<RefCell<bool>>,
}

impl Link for Wire {
    fn connect(&mut self, _until_ns: u64) -> Result<(), Lost> {
        Ok(())
    }

    fn is_connected(&mut self, _now_ns: u64) -> Result<bool, Lost> {
        Ok(true)
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost> {
        let mut bytes = self.bytes.borrow_mut();
        let count = bytes.len().min(room.len());
        for (place, byte) in room.iter_mut().zip(bytes.drain(..count)) {
            *place = byte;
        }
        match count == 0 && self.is_closed.take() {
            true => Err(Lost::CLOSED),
            false => Ok(count),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost> {
        self.sent.borrow_mut().extend(bytes);
        Ok(bytes.len())
    }

    fn has_unread(&self) -> bool {
        false
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn close(&mut self) {}
}

/// The session, and the bank's end of its connection.
struct Rig {
    session: OrderSession<Wire>,
    wire: Wire,
    time: ReceiveTime,
}

impl Rig {
    fn open() -> Rig {
        Rig::with("", Numbers::new(1, 1))
    }

    /// With further settings of the session, and these numbers.
    fn with(settings: &str, numbers: Numbers) -> Rig {
        let text = text() + settings;
        let config = Config::parse(&text).expect("a configuration");
        let session = config.session(&config.banks[0]).expect("its session");
        let wire = Wire::default();
        Rig {
            session: OrderSession::new(session, numbers, 0, wire.clone()),
            wire,
            time: ReceiveTime {
                wall_ns: 1_767_600_000 * SECOND_NS,
                mono_ns: SECOND_NS,
            },
        }
    }

    /// A message of the bank.
    fn put(&mut self, number: u64, msg_type: &str, fields: &[(u32, &str)]) {
        self.put_as("A", number, msg_type, fields);
    }

    /// A message of this SenderCompID.
    fn put_as(&mut self, sender: &str, number: u64, msg_type: &str, fields: &[(u32, &str)]) {
        self.put_of(("FIX.4.4", sender), number, msg_type, fields);
    }

    /// A message of this version and SenderCompID.
    fn put_of(
        &mut self,
        (version, sender): (&str, &str),
        number: u64,
        msg_type: &str,
        fields: &[(u32, &str)],
    ) {
        let mut room = vec![0; 2 * MESSAGE_BYTES_MAX];
        let mut message = Encoder::new(&mut room, version.as_bytes(), msg_type.as_bytes());
        message
            .bytes(49, sender.as_bytes())
            .bytes(56, b"T")
            .unsigned(34, number)
            .timestamp(52, self.time.wall_ns, Precision::Milliseconds);
        for (tag, value) in fields {
            message.bytes(*tag, value.as_bytes());
        }
        let bytes = message.finish().expect("a short message");
        self.wire.bytes.borrow_mut().extend(bytes);
    }

    /// Connects; the bank's Logon has this number.
    fn log_on(&mut self, number: u64) {
        self.log_on_with(number, &LOGON);
    }

    fn log_on_with(&mut self, number: u64, fields: &[(u32, &str)]) {
        self.begin();
        self.put(number, "A", fields);
    }

    /// Connects, after a pause.
    fn begin(&mut self) {
        self.time.mono_ns += 60 * SECOND_NS;
        self.time.wall_ns += 60 * SECOND_NS;
        while self.session.is_connecting(self.time.mono_ns) {
            self.session.connect(self.time);
        }
        self.session.flush();
    }

    /// Output of the session for the bytes received so far.
    fn said(&mut self) -> Vec<Said> {
        self.session.read(self.time);
        let mut all = Vec::new();
        loop {
            match self.session.poll(self.time) {
                Said::Nothing => return all,
                said => all.push(said),
            }
        }
    }
}

fn gap(first: u64, last: u64, is_catching_up: bool) -> Said {
    Said::Gap(Gap::new(first, last, is_catching_up))
}

/// A rejected report.
fn invalid(text: &str) -> Said {
    Said::Invalid {
        text: text.to_owned(),
        is_report: true,
    }
}

/// A gap is reported once, however many messages reveal it, and the next one again. After a Logon that shows messages of the time
/// without a connection it is reported as such.
#[test]
fn a_gap_is_told_once_and_not_as_an_alarm_behind_a_logon() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put(3, "8", &REPORT);
    rig.put(4, "8", &REPORT);
    assert_eq!(rig.said(), [gap(2, 2, false)]);
    rig.put(5, "8", &REPORT);
    assert_eq!(rig.said(), []);
    rig.put(2, "8", &REPORT);
    assert_eq!(rig.said(), [const { Said::Message }; 4]);
    rig.put(8, "8", &REPORT);
    assert_eq!(rig.said(), [gap(6, 7, false)]);
    *rig.wire.is_closed.borrow_mut() = true;
    assert!(matches!(rig.said()[..], [Said::Down { .. }]));
    rig.log_on(10);
    rig.put(11, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Up(false), gap(6, 10, true)]);
}

/// A Logon that resets the numbers loses missing messages, and those that wait behind the gap; a gap at low numbers is a new one then.
#[test]
fn a_gap_behind_a_reset_is_told() {
    let mut rig = Rig::open();
    rig.log_on(1);
    rig.put(50, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Up(false), gap(2, 49, false)]);
    rig.put(1, "A", &[(98, "0"), (108, "10"), (141, "Y")]);
    rig.put(3, "8", &REPORT);
    let lost = Said::Skipped(Gap::new(2, 50, false));
    assert_eq!(rig.said(), [lost, gap(2, 2, false)]);
}

/// A bank that resets the numbers while it sends missed messages again sends no more of them: the session has caught up, and the orders of
/// before are in doubt. A reset in sequence loses nothing.
#[test]
fn a_reset_ends_a_catch_up_in_doubt() {
    for is_catching_up in [true, false] {
        let rule = "[sessions.schedule]\nafter_loss = \"canceled\"\n";
        let mut rig = Rig::with(rule, Numbers::new(1, 5));
        let number = if is_catching_up { 5_000 } else { 5 };
        rig.log_on(number);
        assert_eq!(rig.said(), [Said::Up(false)]);
        assert_eq!(rig.session.is_catching_up(), is_catching_up);
        rig.put(1, "A", &[(98, "0"), (108, "10"), (141, "Y")]);
        let expected = match is_catching_up {
            true => vec![Said::Skipped(Gap::new(5, 5_000, false)), Said::Doubted],
            false => vec![],
        };
        assert_eq!(rig.said(), expected);
        assert!(rig.session.is_whole());
        rig.put(2, "8", &REPORT);
        assert_eq!(rig.said(), [Said::Message]);
    }
}

/// A message with a wrong checksum is skipped and reported, and the next one shows the gap.
#[test]
fn a_wrong_checksum_is_told_and_the_message_is_skipped() {
    let mut rig = Rig::open();
    rig.log_on(1);
    rig.put(2, "8", &REPORT);
    let digit = rig.wire.bytes.borrow().len() - 2;
    rig.wire.bytes.borrow_mut()[digit] ^= 1;
    assert_eq!(rig.said(), [Said::Up(false), Said::Garbled(1)]);
    rig.put(3, "8", &REPORT);
    assert_eq!(rig.said(), [gap(2, 2, false)]);
}

/// A mark is that of the last message: PossDupFlag or PossResend.
#[test]
fn a_message_has_the_mark_that_the_bank_gave_it() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    let marks: [&[(u32, &str)]; 3] = [
        &[(97, "Y")],
        &[],
        &[(43, "Y"), (122, "20260105-08:00:00.000")],
    ];
    for (number, mark) in (2..).zip(marks) {
        let mut fields = mark.to_vec();
        fields.extend(REPORT);
        rig.put(number, "8", &fields);
        assert_eq!(rig.said(), [Said::Message]);
        assert_eq!(rig.session.is_marked(), !mark.is_empty(), "{mark:?}");
    }
}

/// Banks have fields of their own, in their Logons too, and such of later versions of FIX: a message with them is used. The form of FIX
/// 4.4's own fields counts as before.
#[test]
fn fields_that_fix_44_does_not_have_are_passed_over() {
    let ids = [(1_907, "2"), (1_903, "A"), (1_906, "0"), (1_903, "B")];
    let times = [(768, "2"), (769, "x"), (770, "1"), (769, "y"), (770, "2")];
    let others: [&[(u32, &str)]; 6] = [
        &[(5001, "x")],
        &[(29_999, "1")],
        &[(1_138, "1000")],
        &[(453, "0")],
        // Groups of later versions.
        &ids,
        &times,
    ];
    for more in others {
        let mut rig = Rig::open();
        rig.log_on_with(1, &[&LOGON[..], &[(9_001, "Y")]].concat());
        assert_eq!(rig.said(), [Said::Up(false)]);
        rig.put(2, "8", &[&REPORT[..], more].concat());
        assert_eq!(rig.said(), [Said::Message], "{more:?}");
        rig.put(3, "8", &[&REPORT[..], more, &[(31, "1,1")]].concat());
        assert_eq!(rig.said(), [invalid("34=3 17=X1")]);
    }
}

/// A rejected message of another type has no fill, so its reject leaves no order in doubt.
#[test]
fn a_rejected_message_says_whether_it_is_a_report() {
    for (msg_type, is_report) in [("8", true), ("9", false), ("1", false), ("U1", false)] {
        let mut rig = Rig::open();
        rig.log_on(1);
        rig.put(2, msg_type, &[]);
        let said = rig.said();
        let [Said::Up(false), Said::Invalid { is_report: is, .. }] = said[..] else {
            panic!("{said:?}");
        };
        assert_eq!(is, is_report, "{msg_type}");
    }
}

impl Rig {
    /// Bytes that the session sent since the last call, with `|` for the separator.
    fn sent(&mut self) -> String {
        self.session.flush();
        let sent = std::mem::take(&mut *self.wire.sent.borrow_mut());
        String::from_utf8_lossy(&sent).replace('\u{1}', "|")
    }

    fn lose(&mut self) -> Vec<Said> {
        *self.wire.is_closed.borrow_mut() = true;
        self.said()
    }
}

/// The Logon has user, password and further fields; a bank's text with the password is withheld.
#[test]
fn a_logon_has_what_the_configuration_says() {
    let more = "user = \"desk\"\nlogon_fields = [\"9001=Y\", \"9002=a b\"]\nsender_sub = \"D1\"\ntarget_sub = \"TRADE\"\n";
    let mut rig = Rig::with(more, Numbers::new(7, 3));
    rig.session.set_password(Some(Secret::from("sentinel")));
    rig.log_on(3);
    let logon = rig.sent();
    for field in ["34=7", "50=D1", "57=TRADE"] {
        assert!(logon.contains(&format!("|{field}|")), "{logon}");
    }
    assert!(
        logon.contains("|98=0|108=10|553=desk|554=sentinel|9001=Y|9002=a b|10="),
        "{logon}"
    );
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put(
        4,
        "3",
        &[
            (45, "8"),
            (371, "44"),
            (372, "D"),
            (373, "5"),
            (58, "wrong tick"),
        ],
    );
    let text = "wrong tick 45=8 371=44 372=D 373=5".to_owned();
    assert_eq!(rig.said(), [Said::Rejected(text)]);
    rig.put(5, "5", &[(58, "bye sentinel")]);
    let said = format!("{:?}", [rig.said(), rig.lose()]);
    assert!(
        said.contains("withheld") && !said.contains("sentinel"),
        "{said}"
    );
}

/// With `logon` both numbers begin at 1 with each Logon, with `start` with the first that is accepted, with `never` with none. The
/// journal has the new numbers before the Logon leaves.
#[test]
fn numbers_begin_again_when_the_configuration_says_so() {
    for (reset, first, second) in [("never", 7, 9), ("start", 1, 3), ("logon", 1, 1)] {
        let mut rig = Rig::with(&format!("reset = \"{reset}\"\n"), Numbers::new(7, 7));
        // The bank refuses the first one: `start` still holds for the next.
        rig.log_on(1);
        let logon = rig.sent();
        assert!(logon.contains(&format!("|34={first}|")), "{reset}: {logon}");
        assert_eq!(
            logon.contains("|141=Y|"),
            reset != "never",
            "{reset}: {logon}"
        );
        let numbers = (first + 1, if first == 1 { 1 } else { 7 });
        assert_eq!(rig.session.unjournaled(), Some(numbers), "{reset}");
        rig.wire.bytes.borrow_mut().clear();
        rig.lose();
        let numbers = if reset == "never" { 8 } else { 1 };
        rig.log_on(if reset == "never" { 7 } else { 1 });
        let logon = rig.sent();
        assert!(
            logon.contains(&format!("|34={numbers}|")),
            "{reset}: {logon}"
        );
        assert_eq!(
            rig.said(),
            [Said::Up(false)],
            "{reset}: a reset of ours is no news"
        );
        rig.put(if reset == "never" { 8 } else { 2 }, "1", &[(112, "x")]);
        rig.said();
        rig.sent();
        rig.lose();
        rig.log_on(if reset == "never" { 9 } else { 1 });
        let logon = rig.sent();
        let second = if reset == "never" { second + 1 } else { second };
        assert!(
            logon.contains(&format!("|34={second}|")),
            "{reset}: {logon}"
        );
        assert_eq!(
            logon.contains("|141=Y|"),
            reset == "logon",
            "{reset}: {logon}"
        );
    }
    // Our own number is unchanged; the number of the bank has gone back.
    let mut rig = Rig::with("reset = \"logon\"\n", Numbers::new(2, 50));
    rig.log_on(1);
    rig.sent();
    assert_eq!(rig.session.unjournaled(), Some((2, 1)));
}

/// A bank starts again at 1 after its end of day, without the setting for it: the third refusal reports the bank's
/// message and the cure, and the pause grows beyond its configured maximum.
#[test]
fn a_bank_that_begins_at_1_without_a_word_is_told_with_the_cure() {
    let mut rig = Rig::with("reconnect_ms_max = 400\n", Numbers::new(9, 9));
    let mut said = Vec::new();
    for _ in 0..12 {
        rig.log_on(1);
        rig.said();
        rig.sent();
        rig.time.mono_ns += 2 * FLUSH_NS;
        said.extend(rig.said());
    }
    let downs: Vec<(String, u64)> = said
        .into_iter()
        .filter_map(|said| match said {
            Said::Down { why, retry_ms, .. } => Some((why, retry_ms?)),
            _ => None,
        })
        .collect();
    let told: Vec<usize> = (1..)
        .zip(&downs)
        .filter(|(_, (why, _))| why.contains("in a row"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(told, [3, 6, 12], "{downs:?}");
    let third = &downs[2].0;
    assert!(
        third.contains("for the same reason 3 times in a row; the bank sends 8=FIX.4.4|"),
        "{third}"
    );
    assert!(
        third.contains("|35=A|") && third.contains("|34=1|"),
        "{third}"
    );
    assert!(
        third.ends_with("set reset = \"logon\" in its [[sessions]]"),
        "{third}"
    );
    assert_eq!(downs.last().map(|(_, pause_ms)| *pause_ms), Some(60_000));
}

/// A bank accepts our Logon and closes without a Logout, after the session has lasted longer than the longest pause:
/// the third time the report contains the bank's last message, and the pause grows beyond its configured maximum.
#[test]
fn a_bank_that_closes_again_and_again_is_told_with_its_last_message() {
    let mut rig = Rig::with("reconnect_ms_max = 400\n", Numbers::new(1, 1));
    let mut downs = Vec::new();
    for number in 1..=12 {
        rig.log_on(2 * number - 1);
        rig.put(2 * number, "0", &[]);
        rig.said();
        rig.time.mono_ns += 1_000_000_000;
        downs.extend(rig.lose().into_iter().filter_map(|said| match said {
            Said::Down { why, retry_ms, .. } => Some((why, retry_ms?)),
            _ => None,
        }));
    }
    let told: Vec<usize> = (1..)
        .zip(&downs)
        .filter(|(_, (why, _))| why.contains("in a row; the bank sends 8=FIX.4.4|"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(told, [3, 6, 12], "{downs:?}");
    assert!(downs[2].0.contains("|35=0|"), "{downs:?}");
    let pauses: Vec<u64> = downs.iter().map(|(_, pause_ms)| *pause_ms).collect();
    assert!(
        pauses[..3].iter().all(|pause_ms| *pause_ms <= 400),
        "{pauses:?}"
    );
    assert_eq!(pauses.last(), Some(&51_200), "{pauses:?}");
}

/// A message that is longer than the limit is reported as such, and the next one shows the gap. One that is too long also when it is
/// sent again is given up, and those behind it are used.
#[test]
fn a_message_that_is_too_long_is_told_and_skipped() {
    let mut rig = Rig::open();
    rig.log_on(1);
    let text = "x".repeat(MESSAGE_BYTES_MAX);
    rig.put(2, "8", &[(58, &text)]);
    rig.put(3, "8", &REPORT);
    let said = rig.said();
    let [Said::Up(false), Said::TooLong(message), missing] = &said[..] else {
        panic!("{said:?}");
    };
    assert!(
        message.to_string().starts_with("a message (35=8) of 65"),
        "{message}"
    );
    assert_eq!(*missing, gap(2, 2, false));
    rig.put(2, "8", &[(43, "Y"), (58, &text)]);
    rig.put(3, "8", &REPORT);
    let given_up = Said::Skipped(Gap::new(2, 2, false));
    let said = rig.said();
    assert!(matches!(said[0], Said::TooLong(_)), "{said:?}");
    assert_eq!(said[1..], [given_up, Said::Message]);
    assert_eq!(rig.session.numbers().1, 4);
}

/// Whose sequence numbers do not fit is decided by the session about the bank's, and by the bank's Logout about ours; a Logout
/// counts for its own connection alone.
#[test]
fn sequence_numbers_that_do_not_fit_have_an_owner() {
    let mut rig = Rig::with("", Numbers::new(9, 9));
    let mut numbers_of = |number, msg_type, fields: &[(u32, &str)]| {
        rig.begin();
        rig.put(number, msg_type, fields);
        let mut said = rig.said();
        rig.time.mono_ns += 2 * FLUSH_NS;
        said.extend(rig.said());
        match said.pop() {
            Some(Said::Down { numbers, .. }) => numbers,
            other => panic!("{other:?}"),
        }
    };
    let logon = [(98, "0"), (108, "10")];
    let theirs = Some(SequenceFault::TheirsTooLow);
    let ours = Some(SequenceFault::OursTooLow);
    let unclear = Some(SequenceFault::Unclear);
    assert_eq!(numbers_of(1, "A", &logon), theirs);
    assert_eq!(
        numbers_of(9, "5", &[(58, "MsgSeqNum too low, expecting 12")]),
        ours
    );
    assert_eq!(
        numbers_of(10, "5", &[(58, "the client's MsgSeqNum is too low")]),
        ours
    );
    assert_eq!(numbers_of(11, "5", &[(58, "bad MsgSeqNum")]), unclear);
    assert_eq!(numbers_of(12, "5", &[(58, "pause")]), None);
}

/// A bank that refuses some Logons, as during its pause, and then accepts one: its Logouts do not count as lost
/// messages of the session before, which would make open orders unknown.
#[test]
fn refused_logons_leave_no_gap() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    *rig.wire.is_closed.borrow_mut() = true;
    assert!(matches!(rig.said()[..], [Said::Down { .. }]));
    for number in 2..5 {
        rig.begin();
        rig.put(number, "5", &[(58, "pause")]);
        assert!(matches!(rig.said()[..], [Said::Down { .. }]), "{number}");
        assert_eq!(rig.session.numbers().1, number + 1);
    }
    rig.log_on(5);
    rig.put(6, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Up(false), Said::Message]);
}
