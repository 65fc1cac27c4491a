//! Subscribers' view of a FIX session's market data: the venue is the other side of a session, without sockets.

use std::path::Path;
use touchline_feed::fix_md::{Dialect, FixFeed, Settings};
use touchline_feed::{Feed, SessionFeed};
use touchline_gateway::venues::VENUES;
use touchline_gateway::venues::fix::{FixVenue, settings};
use touchline_gateway::{Limits, Pipeline};
use touchline_session::Secret;
use touchline_session::fix::{Memory, Role, Session, Settings as SessionSettings};
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::ReceiveTime;
use touchline_types::{Depth, Update};

const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_700_000_000_000_000_000,
    mono_ns: 1_700_000_000_000_000_000,
};
const SECOND_NS: u64 = 1_000_000_000;
const LIST: &str = "320=1|322=1|560=0|146=1|55=BTC-PERPETUAL|167=FUT|15=BTC|231=10|969=0.5|";
const BOOK: &str = "55=BTC-PERPETUAL|268=2|269=0|270=100.5|271=10.0|269=1|270=101.0|271=20|";

/// Each update as a short text, and the exchange times of all.
#[derive(Default)]
struct Log(Vec<String>, Vec<u64>);

impl Subscribe for Log {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.1.push(envelope.timestamps.exchange_ns);
        self.0.push(match envelope.update {
            Update::Definition(definition) => format!("definition {}", definition.tick),
            Update::BookSnapshot(book) => {
                let (bids, asks) = (book.bids.len(), book.asks.len());
                format!("book {} {bids}x{asks}", book.validity.name())
            }
            Update::OrdersSnapshot(_) => "orders".to_owned(),
            Update::Download(phase) => format!("{phase:?}"),
            other => format!("{other:?}"),
        });
    }
}

struct Stage {
    path: Pipeline<FixFeed, Local<Log>>,
    venue: Session<Memory>,
    now: ReceiveTime,
}

impl Stage {
    fn new() -> Stage {
        let mut ours = SessionSettings::new(Role::Initiator, "FIRM", "DERIBITSERVER");
        ours.reset_on_logon = true;
        ours.limits.message_bytes_max = 64 * 1024;
        ours.limits.test_request_ns = 2 * SECOND_NS;
        let mut theirs = SessionSettings::new(Role::Acceptor, "DERIBITSERVER", "FIRM");
        theirs.reset_on_logon = true;
        let settings = Settings {
            session: ours,
            dialect: Dialect::Deribit,
            chosen: touchline_instruments::Symbols::default(),
            symbols: Vec::new(),
            depth: 0,
            trades: true,
            symbols_per_request: 2,
            instruments_max: 8,
            user: None,
            password: None,
            entropy: Secret::from("entropy"),
            logon_fields: Vec::new(),
            request_fields: Vec::new(),
            stale_ns: 4 * SECOND_NS,
        };
        let limits = Limits {
            instruments_max: 8,
            orders_max: 1,
            event_changes_max: 64,
            default_depth: Depth {
                direct: Depth::ALL,
                implied: 0,
            },
            levels_max: 16,
        };
        let mut stage = Stage {
            path: Pipeline::new(FixFeed::new(settings), Local::new(Log::default()), limits),
            venue: Session::new(theirs, Memory::default()),
            now: NOW,
        };
        stage.venue.connected(NOW);
        stage.path.connected(NOW);
        stage.exchange();
        stage
    }

    /// Sends a message from the venue, with `|` after each field; returns the updates published
    /// since.
    fn send(&mut self, msg_type: &str, body: &str) -> Vec<String> {
        let sent = self.venue.send(msg_type.as_bytes(), self.now, |message| {
            for field in body.split_terminator('|') {
                let (tag, value) = field.split_once('=').expect("a field");
                message.bytes(tag.parse().expect("a tag"), value.as_bytes());
            }
        });
        sent.expect("the venue is up");
        self.exchange();
        std::mem::take(&mut self.path.publisher_mut().subscriber.0)
    }

    /// This long without a message, in steps; the venue answers if it `lives`. Returns the updates published since.
    fn silence(&mut self, ms: u64, lives: bool) -> Vec<String> {
        for _ in 0..ms / 100 {
            self.now = ReceiveTime {
                wall_ns: self.now.wall_ns + SECOND_NS / 10,
                mono_ns: self.now.mono_ns + SECOND_NS / 10,
            };
            self.path.advance_at(self.now);
            if lives {
                self.exchange();
            }
        }
        std::mem::take(&mut self.path.publisher_mut().subscriber.0)
    }

    fn exchange(&mut self) {
        loop {
            let to_feed = self.venue.poll_transmit().to_vec();
            self.venue.transmitted(to_feed.len());
            let to_venue = self.path.feed().outgoing().to_vec();
            self.path.sent(to_venue.len(), self.now);
            if to_feed.is_empty() && to_venue.is_empty() {
                return;
            }
            self.path.packet_at((), &to_feed, self.now, 0);
            let mut rest = &to_venue[..];
            while !rest.is_empty() {
                rest = &rest[self.venue.handle(rest, self.now)..];
                while self.venue.poll().is_some() {}
            }
        }
    }
}

#[test]
fn a_venue_without_orders_publishes_none() {
    let mut stage = Stage::new();
    let told = stage.send("y", LIST);
    assert_eq!(told, ["Begun", "definition 0.5", "book recovering 0x0"]);
    assert_eq!(stage.send("W", BOOK), ["book live 1x1", "Ended"]);
    assert_eq!(stage.path.counters().order_snapshots, 0);
}

/// A quiet book keeps the time of its snapshot until its next change.
#[test]
fn a_book_of_a_snapshot_has_the_time_of_its_entries() {
    let mut stage = Stage::new();
    stage.send("y", LIST);
    stage.send("W", &format!("{BOOK}272=20231114-22:13:18|"));
    stage.path.publisher_mut().subscriber.1.clear();
    let told = stage.send("W", &format!("{BOOK}272=20231114-22:13:19|"));
    assert_eq!(told, ["book live 1x1"]);
    let times_ns = &stage.path.publisher_mut().subscriber.1;
    assert_eq!(*times_ns, [NOW.wall_ns - SECOND_NS]);
}

#[test]
fn an_old_book_is_not_readable_under_a_new_definition() {
    let mut stage = Stage::new();
    stage.send("y", LIST);
    stage.send("W", BOOK);
    let told = stage.send("y", &LIST.replace("969=0.5", "969=0.1"));
    assert_eq!(told, ["definition 0.1", "book live 1x1"]);
    let told = stage.send("y", &LIST.replace("231=10", "231=1"));
    let empty = "book recovering 0x0";
    assert_eq!(told, [empty, "definition 0.5", empty]);
    assert_eq!(stage.send("W", BOOK), ["book live 1x1"]);
}

/// A book of more levels than `levels_max` is known in part: when that part runs out, the book is not live, and is requested again.
#[test]
fn a_book_whose_known_part_runs_out_is_requested_again() {
    let mut stage = Stage::new();
    stage.send("y", LIST);
    let bids: String = (1..=20)
        .map(|price| format!("269=0|270={price}|271=10.0|"))
        .collect();
    let whole = format!("55=BTC-PERPETUAL|268=21|{bids}269=1|270=101.0|271=20|");
    assert_eq!(stage.send("W", &whole), ["book live 16x1", "Ended"]);
    let requests = |stage: &Stage| stage.path.feed().counters().requests;
    let first = requests(&stage);
    let mut delete = |price: u32| {
        let entry = format!("55=BTC-PERPETUAL|268=1|279=2|269=0|270={price}|");
        stage.send("X", &entry).join(" ")
    };
    for price in (9..=20).rev() {
        let told = delete(price);
        assert!(told.contains("validity: Live"), "{price}: {told}");
    }
    let told = delete(8);
    assert!(told.contains("validity: Recovering"), "{told}");
    assert_eq!(
        requests(&stage),
        first + 2,
        "the old one ends, another begins"
    );
    assert_eq!(stage.send("W", &whole), ["book live 16x1"]);
}

/// A quiet venue answers a TestRequest; one that does not answer for as long again is stale, until it does. Noise is not an
/// answer.
#[test]
fn a_venue_that_answers_no_test_request_is_stale() {
    let mut stage = Stage::new();
    stage.send("y", LIST);
    stage.send("W", BOOK);
    let tests = |stage: &Stage| {
        let counted = stage.path.feed().counted();
        let tables = <FixFeed as Feed>::TABLES.iter().copied().flatten();
        let mut named = tables.zip(counted);
        let test_requests = named.find(|(info, _)| info.name == "test_requests");
        test_requests.expect("a counter of the session").1
    };
    assert_eq!(stage.silence(25_000, true), [""; 0]);
    let sent = tests(&stage);
    assert!((11..=13).contains(&sent), "{sent} TestRequests in 25 s");
    stage.send("0", "");
    assert_eq!(stage.silence(3_900, false), [""; 0]);
    assert_eq!(tests(&stage), sent + 1);
    stage.path.packet_at((), b"noise", stage.now, 0);
    let stale = stage.silence(100, false);
    assert!(
        stale.len() == 1 && stale[0].contains("price: Stale"),
        "{stale:?}"
    );
    stage.path.packet_at((), b"noise", stage.now, 0);
    assert_eq!(stage.silence(100, false), [""; 0]);
    let live = stage.send("0", "");
    assert!(
        live.len() == 1 && live[0].contains("price: Live"),
        "{live:?}"
    );
}

#[test]
fn the_times_of_a_silent_venue_follow_from_the_configuration() {
    let read = |more: &str| {
        let text = format!(
            "bus = \"bank\"\n[venue]\nkind = \"fix\"\nhosts = [\"127.0.0.1:5001\"]\nsender = \"FIRM\"\n\
             target = \"BANK\"\nsymbols = [\"EUR/USD\"]\n{more}"
        );
        let config = VENUES.from_text_as::<FixVenue>(Path::new("gateway.toml"), &text);
        let settings = settings(&config.expect("a configuration")).expect("its settings");
        (settings.session.limits.test_request_ns, settings.stale_ns)
    };
    assert_eq!(read(""), (2 * SECOND_NS, 4 * SECOND_NS));
    assert_eq!(read("test_request_ms = 0\n"), (u64::MAX, 45 * SECOND_NS));
    let stale = "[gateway]\nstale_after_ms = 3000\n";
    assert_eq!(read(stale), (2 * SECOND_NS, 3 * SECOND_NS));
}
