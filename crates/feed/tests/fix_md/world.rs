//! A feed and its venue, with a clock that the test advances.

use touchline_feed::fix_md::{Dialect, FixFeed, Settings};
use touchline_feed::{Batch, Feed, Feedback, ReceiveTime, SessionFeed};
use touchline_instruments::{Instruments, Symbols};
use touchline_session::Secret;
use touchline_session::fix::{
    Event as Said, Memory, Role, Session, Settings as SessionSettings, Store,
};
use touchline_types::{Event, Instrument, Validity};
use touchline_wire::fix::{Encoder, tag};

pub const SECRET: &str = "sentinel-secret";

/// Messages sent to the venue: type, and fields as text.
pub type Asked = (String, String);

pub struct World<S: Store = Memory> {
    pub feed: FixFeed<S>,
    pub instruments: Instruments,
    pub venue: Session<Memory>,
    pub asked: Vec<Asked>,
    batch: Batch,
    now: ReceiveTime,
}

pub fn settings(dialect: Dialect) -> Settings {
    let mut session = SessionSettings::new(Role::Initiator, "FIRM", "DERIBITSERVER");
    session.reset_on_logon = true;
    session.limits.message_bytes_max = 64 * 1024;
    session.limits.logon_bytes_max = 4 * 1024;
    Settings {
        session,
        dialect,
        chosen: Symbols::new(vec!["BTC*".to_owned()]).expect("a pattern"),
        symbols: vec!["EUR/USD".to_owned()],
        depth: 0,
        trades: true,
        symbols_per_request: 2,
        instruments_max: 8,
        user: Some("key".to_owned()),
        password: Some(Secret::from(SECRET)),
        entropy: Secret::from("entropy"),
        logon_fields: vec![(9001, b"Y".to_vec())],
        request_fields: vec![(9011, b"Y".to_vec())],
        stale_ns: 5_000_000_000,
    }
}

impl World {
    pub fn new(dialect: Dialect) -> World {
        let mut settings = settings(dialect);
        if dialect == Dialect::Deribit {
            settings.symbols.clear();
        }
        let mut theirs = SessionSettings::new(Role::Acceptor, "DERIBITSERVER", "FIRM");
        theirs.reset_on_logon = true;
        World::with(
            FixFeed::new(settings),
            Session::new(theirs, Memory::default()),
        )
    }
}

impl<S: Store> World<S> {
    /// A world of this feed and this venue.
    pub fn with(mut feed: FixFeed<S>, venue: Session<Memory>) -> World<S> {
        World {
            batch: feed.batch(),
            instruments: feed.instruments(),
            venue,
            feed,
            asked: Vec::new(),
            now: ReceiveTime::at(1_700_000_000_000_000_000),
        }
    }

    pub fn connect(&mut self) -> Vec<Event> {
        self.venue.connected(self.now);
        self.feed.connected(self.now);
        self.exchange()
    }

    pub fn disconnect(&mut self) -> Vec<Event> {
        self.venue.disconnected(self.now);
        self.feed.disconnected(self.now);
        self.events()
    }

    /// Both log on, and the connection is lost before the venue receives more.
    pub fn connect_and_lose_requests(&mut self) {
        self.venue.connected(self.now);
        self.feed.connected(self.now);
        let logon = self.feed.outgoing().to_vec();
        self.feed.sent(logon.len(), self.now);
        self.record_activity(&logon);
        let answer = self.venue.poll_transmit().to_vec();
        self.venue.transmitted(answer.len());
        self.receive(&answer);
        let lost = self.feed.outgoing().len();
        assert!(lost > 0, "no request was sent");
        self.feed.sent(lost, self.now);
        self.disconnect();
    }

    /// Time advances, and both sides send their due messages.
    pub fn pass(&mut self, seconds: u64) -> Vec<Event> {
        let ns = seconds * 1_000_000_000;
        self.now = ReceiveTime {
            wall_ns: self.now.wall_ns + ns,
            mono_ns: self.now.mono_ns + ns,
        };
        // Called only if work is due, as by a duty cycle: other calls have no effect.
        if self
            .feed
            .next_timeout()
            .is_some_and(|at_ns| self.now.mono_ns >= at_ns)
        {
            self.feed.handle_timeout(self.now);
        }
        let mut events = self.events();
        self.venue.handle_timeout(self.now);
        events.extend(self.exchange());
        events
    }

    /// The venue sends messages, and the connection is lost before any arrives.
    pub fn send_and_lose(&mut self, messages: &[(&str, &str)]) {
        for (msg_type, body) in messages {
            let sent = self.venue.send(msg_type.as_bytes(), self.now, |message| {
                write(message, body);
            });
            sent.expect("the venue is up");
        }
        self.venue.disconnected(self.now);
    }

    /// Both log on, and the venue sends a message before it receives more.
    pub fn connect_hearing(&mut self, msg_type: &str, body: &str) -> Vec<Event> {
        self.venue.connected(self.now);
        self.feed.connected(self.now);
        let logon = self.feed.outgoing().to_vec();
        self.feed.sent(logon.len(), self.now);
        self.record_activity(&logon);
        let sent = self.venue.send(msg_type.as_bytes(), self.now, |message| {
            write(message, body);
        });
        sent.expect("the venue is up");
        let said = self.venue.poll_transmit().to_vec();
        self.venue.transmitted(said.len());
        let mut events = self.receive(&said);
        events.extend(self.exchange());
        events
    }

    /// The venue sends a message; the text is its body, with `|` after each field.
    pub fn send(&mut self, msg_type: &str, body: &str) -> Vec<Event> {
        let sent = self.venue.send(msg_type.as_bytes(), self.now, |message| {
            write(message, body);
        });
        sent.expect("the venue is up");
        self.exchange()
    }

    /// Bytes are exchanged until neither side has any to send.
    pub fn exchange(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let to_feed = self.venue.poll_transmit().to_vec();
            self.venue.transmitted(to_feed.len());
            let to_venue = self.feed.outgoing().to_vec();
            self.feed.sent(to_venue.len(), self.now);
            if to_feed.is_empty() && to_venue.is_empty() {
                return events;
            }
            if !to_feed.is_empty() {
                events.extend(self.receive(&to_feed));
            }
            self.record_activity(&to_venue);
        }
    }

    /// The books reported an inconsistent change.
    pub fn book_inconsistent(&mut self, instrument: Instrument) {
        let feedback = Feedback {
            inconsistent: vec![instrument],
            ..Feedback::default()
        };
        self.feed.feedback(&feedback);
    }

    fn receive(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let World {
                feed,
                instruments,
                batch,
                now,
                ..
            } = self;
            batch.events.clear();
            let taken = feed.handle((), bytes, *now, instruments, batch);
            events.extend_from_slice(&batch.events);
            events.extend(self.events());
            bytes = &bytes[taken..];
            if taken == 0 || bytes.is_empty() {
                return events;
            }
        }
    }

    fn events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while self.feed.poll(&mut self.instruments, &mut self.batch) {
            events.extend_from_slice(&self.batch.events);
        }
        events
    }

    fn record_activity(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let decoded = self.venue.handle(rest, self.now);
            rest = &rest[decoded..];
            while let Some(said) = self.venue.poll() {
                if let Said::Application(message, ..) = said {
                    let kind = String::from_utf8_lossy(message.msg_type()).into_owned();
                    let fields = message.fields().map_while(Result::ok);
                    let text = fields
                        .filter(|field| ![34, 49, 56, tag::SENDING_TIME].contains(&field.tag))
                        .map(|field| {
                            format!("{}={}|", field.tag, String::from_utf8_lossy(field.value))
                        });
                    self.asked.push((kind, text.collect()));
                }
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Messages sent to the venue since the last call.
    pub fn take_asked(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }
}

/// Whether a live book of the instrument arrived.
pub fn is_rebuilt(events: &[Event], instrument: Instrument) -> bool {
    events.iter().any(
        |event| matches!(event, Event::BookRebuilt(of, Validity::Live, _) if *of == instrument),
    )
}

/// Writes fields with `|` after each.
fn write(message: &mut Encoder<'_>, body: &str) {
    for field in body.split_terminator('|') {
        let (tag, value) = field.split_once('=').expect("a field");
        message.bytes(tag.parse().expect("a tag"), value.as_bytes());
    }
}

/// Bytes of an invalid message, with the given number and body.
pub fn raw(msg_type: &str, number: u64, body: &str) -> Vec<u8> {
    let mut room = vec![0; 1 << 20];
    let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
    message.bytes(49, b"DERIBITSERVER").bytes(56, b"FIRM");
    message
        .unsigned(34, number)
        .bytes(52, b"20231114-22:13:20.000");
    write(&mut message, body);
    message.finish().expect("it fits").to_vec()
}

impl World {
    /// Passes bytes to the feed unchanged.
    pub fn inject(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = self.receive(bytes);
        events.extend(self.exchange());
        events
    }
}
