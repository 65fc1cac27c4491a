//! Subscribers' view of a FIX session's market data: the venue is the other side of a session, without sockets.

use touchline_feed::SessionFeed;
use touchline_feed::fix_md::{Dialect, FixFeed, Settings};
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
const LIST: &str = "320=1|322=1|560=0|146=1|55=BTC-PERPETUAL|167=FUT|15=BTC|231=10|969=0.5|";
const BOOK: &str = "55=BTC-PERPETUAL|268=2|269=0|270=100.5|271=10.0|269=1|270=101.0|271=20|";

/// Each update as a short text.
#[derive(Default)]
struct Log(Vec<String>);

impl Subscribe for Log {
    fn update(&mut self, envelope: &Envelope<'_>) {
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
}

impl Stage {
    fn new() -> Stage {
        let mut ours = SessionSettings::new(Role::Initiator, "FIRM", "DERIBITSERVER");
        ours.reset_on_logon = true;
        ours.limits.message_bytes_max = 64 * 1024;
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
            stale_ns: u64::MAX,
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
        };
        stage.venue.connected(NOW);
        stage.path.connected(NOW);
        stage.exchange();
        stage
    }

    /// Sends a message from the venue, with `|` after each field; returns the updates published
    /// since.
    fn send(&mut self, msg_type: &str, body: &str) -> Vec<String> {
        let sent = self.venue.send(msg_type.as_bytes(), NOW, |message| {
            for field in body.split_terminator('|') {
                let (tag, value) = field.split_once('=').expect("a field");
                message.bytes(tag.parse().expect("a tag"), value.as_bytes());
            }
        });
        sent.expect("the venue is up");
        self.exchange();
        std::mem::take(&mut self.path.publisher_mut().subscriber.0)
    }

    fn exchange(&mut self) {
        loop {
            let to_feed = self.venue.poll_transmit().to_vec();
            self.venue.transmitted(to_feed.len());
            let to_venue = self.path.feed().outgoing().to_vec();
            self.path.sent(to_venue.len(), NOW);
            if to_feed.is_empty() && to_venue.is_empty() {
                return;
            }
            self.path.packet_at((), &to_feed, NOW, 0);
            let mut rest = &to_venue[..];
            while !rest.is_empty() {
                rest = &rest[self.venue.handle(rest, NOW)..];
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
