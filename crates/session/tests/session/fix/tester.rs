//! Fixture: a session and its echo application, connected by buffers.

use std::sync::Arc;
use touchline_lab::fix::Echo;
use touchline_lab::fix::scenario::{Heard, Scenario, TestTransport};
use touchline_session::fix::dictionary::Tables;
use touchline_session::fix::{Checks, Event, Limits, Memory, Role, Session, Settings};
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Frame, frame};

/// 2026-01-05 00:00:00 UTC.
const BEGIN_NS: u64 = 1_767_571_200_000_000_000;
const STEP_NS: u64 = 50_000_000;
/// Maximum wait: the longest in a scenario is 2.4 intervals of six seconds.
const PATIENCE_NS: u64 = 60_000_000_000;

pub struct Tester {
    session: Session<Memory>,
    echo: Echo,
    role: Role,
    is_connected: bool,
    /// Bytes of the session not read yet.
    sent: Vec<u8>,
    now: ReceiveTime,
    /// Number of bytes that arrive together; 0: all.
    piece: usize,
}

impl Tester {
    pub fn new(settings: Settings, piece: usize) -> Tester {
        Tester {
            role: settings.role,
            session: Session::new(settings, Memory::default()),
            echo: Echo::default(),
            is_connected: false,
            sent: Vec::new(),
            now: ReceiveTime::at(BEGIN_NS),
            piece,
        }
    }

    fn listen(&mut self) {
        while let Some(event) = self.session.poll() {
            match event {
                Event::LoggedOn { .. } => self.echo.begin(),
                Event::Application(message, header, _) => {
                    self.echo.take(&message, &header);
                    assert!(self.echo.answer(&mut self.session, self.now), "room");
                }
                _ => {}
            }
        }
        self.collect();
    }

    fn collect(&mut self) {
        while !self.session.poll_transmit().is_empty() {
            self.sent.extend(self.session.poll_transmit());
            let bytes = self.session.poll_transmit().len();
            self.session.transmitted(bytes);
        }
        if self.is_connected && self.session.disconnect_reason().is_some() {
            self.is_connected = false;
            self.session.disconnected(self.now);
        }
    }

    fn pass(&mut self, ns: u64) {
        self.now.mono_ns += ns;
        self.now.wall_ns += ns;
        if self.is_connected {
            self.session.handle_timeout(self.now);
            self.listen();
        }
    }
}

impl TestTransport for Tester {
    fn connect(&mut self, _: u8) {
        self.sent.clear();
        self.is_connected = true;
        self.session.connected(self.now);
        self.listen();
    }

    fn drop(&mut self, _: u8) {
        self.is_connected = false;
        self.session.disconnected(self.now);
    }

    fn say(&mut self, _: u8, bytes: &[u8]) {
        let piece = if self.piece == 0 {
            bytes.len()
        } else {
            self.piece
        };
        for bytes in bytes.chunks(piece) {
            if self.is_connected {
                assert_eq!(self.session.handle(bytes, self.now), bytes.len());
                self.listen();
            }
        }
    }

    fn hear(&mut self, _: u8) -> Heard {
        let until_ns = self.now.mono_ns + PATIENCE_NS;
        loop {
            if let Some(bytes) = whole(&self.sent) {
                return Heard::Message(self.sent.drain(..bytes).collect());
            }
            if !self.is_connected {
                return Heard::End;
            }
            if self.now.mono_ns >= until_ns {
                return Heard::Nothing;
            }
            self.pass(STEP_NS);
        }
    }

    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 1_000_000_000 / STEP_NS {
            self.pass(STEP_NS);
        }
    }

    fn wall_ns(&self) -> u64 {
        self.now.wall_ns
    }
}

/// Settings of the acceptor under test, or of an initiator in its place.
pub fn settings(role: Role, version: &str, target: &str, heartbeat_s: u32) -> Settings {
    let limits = Limits {
        message_bytes_max: 4_096,
        ..Limits::default()
    };
    Settings {
        begin_string: version.to_owned(),
        heartbeat_s,
        reset_on_logon: true,
        limits,
        checks: checks(version),
        ..Settings::new(role, "ISLD", target)
    }
}

/// Dictionary of the version: built in, or read from the schemas.
fn checks(version: &str) -> Checks {
    if version == "FIX.4.4" {
        return Checks::Standard;
    }
    let path = std::env::var("FIX_DICTIONARY").expect("FIX_DICTIONARY names a dictionary");
    let text = std::fs::read_to_string(&path).expect("a dictionary");
    Checks::Venue(Arc::new(Tables::read(&path, &text).expect("a dictionary")))
}

/// Runs a scenario in each supported role, in one piece and byte by byte; returns the failures.
pub fn run(name: &str, scenario: &Scenario, version: &str, target: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for role in [Role::Acceptor, Role::Initiator] {
        if role == Role::Initiator && !scenario.suits_initiator() {
            continue;
        }
        for piece in [0, 1, 7] {
            let settings = settings(role, version, target, scenario.heartbeat_s());
            let mut tester = Tester::new(settings, piece);
            assert_eq!(tester.role, role);
            if let Err(what) = scenario.run(role, &mut tester) {
                failures.push(format!("{name}, {role:?}, pieces of {piece}: {what}"));
                break;
            }
        }
    }
    failures
}

/// Size of the first message once it is complete, by its BodyLength.
pub fn whole(bytes: &[u8]) -> Option<usize> {
    match frame(bytes, usize::MAX) {
        Ok(Frame::Whole(message)) => Some(message.len()),
        Ok(Frame::Incomplete(_)) => None,
        Err(why) => panic!("what is sent is no message: {why}"),
    }
}
