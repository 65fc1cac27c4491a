//! Tests of what an order session says of bytes that no session sends.

use super::*;
use crate::config::Config;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use touchline_wire::fix::Precision;

const CONFIG: &str = "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\njournal = \"journal\"\n[[pairs]]\n\
                      symbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n[[banks]]\nname = \"A\"\n\
                      pairs = [\"EUR/USD\"]\nstatus_final = true\n[[sessions]]\nbank = \"A\"\nhost = \"127.0.0.1:1\"\nsender = \"T\"\n";
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

/// A connection whose other end is the test. Without bytes it is closed if the test says so.
#[derive(Clone, Default)]
struct Wire {
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
        let config = Config::parse(CONFIG).expect("a configuration");
        let session = config.session(&config.banks[0]).expect("its session");
        let wire = Wire::default();
        Rig {
            session: OrderSession::new(session, Numbers::new(1, 1), wire.clone()),
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
        let mut room = [0; 1_024];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
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
        self.time.mono_ns += 60 * SECOND_NS;
        self.time.wall_ns += 60 * SECOND_NS;
        while self.session.is_connecting(self.time.mono_ns) {
            self.session.connect(self.time);
        }
        self.session.flush();
        self.put(number, "A", &LOGON);
    }

    /// What the session says of the bytes that have come.
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
    Said::Gap(Gap {
        first,
        last,
        is_catching_up,
    })
}

/// A gap is told once, however many messages reveal it, and the next one again. Behind a Logon that shows messages of the time
/// without a connection it is told as such.
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
    assert!(matches!(rig.said()[..], [Said::Down(..)]));
    rig.log_on(10);
    rig.put(11, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Up(false), gap(6, 10, true)]);
}

/// A Logon that resets the numbers makes a gap at low numbers a new one.
#[test]
fn a_gap_behind_a_reset_is_told() {
    let mut rig = Rig::open();
    rig.log_on(1);
    rig.put(50, "8", &REPORT);
    assert_eq!(rig.said(), [Said::Up(false), gap(2, 49, false)]);
    rig.put(1, "A", &[(98, "0"), (108, "10"), (141, "Y")]);
    rig.put(3, "8", &REPORT);
    let said = rig.said();
    assert!(said.contains(&gap(2, 2, false)), "{said:?}");
}

/// A message with a wrong checksum is skipped and told, and the next one shows the gap.
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

/// A message with the CompID of another session is rejected, and the session logs out.
#[test]
fn a_message_of_another_session_is_rejected_and_ends_this_one() {
    let mut rig = Rig::open();
    rig.log_on(1);
    assert_eq!(rig.said(), [Said::Up(false)]);
    rig.put_as("B", 2, "8", &REPORT);
    let rejected = Said::Invalid("34=2 17=X1".to_owned());
    assert_eq!(rig.said(), [rejected]);
    rig.put(3, "5", &[]);
    assert_eq!(rig.said(), []);
    rig.time.mono_ns += 2 * FLUSH_NS;
    assert_eq!(rig.said(), [Said::Down("logout".to_owned(), 100)]);
}
