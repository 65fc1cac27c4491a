//! A path, a clock that the test moves, and queries that return one line of text.

use touchline_book::LevelList;
use touchline_feed::Request;
use touchline_feed::cme::{Counters, FeedType, Join, Line, Replay, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::cme::encode::packet;
use touchline_transport::{Envelope, Local, Mirror, Subscribe};
use touchline_types::{BookKind, Instrument, InstrumentDefinition, Level, Side, Update, Validity};

const MILLISECOND: u64 = 1_000_000;

/// A path under test. Each packet is sent and received a millisecond after the one before.
pub struct Bench {
    path: CmePipeline<Local<(Log, Mirror)>>,
    now_ns: u64,
    is_joined: bool,
}

/// Each update as a short text.
#[derive(Default)]
struct Log {
    updates: Vec<String>,
    /// Its exchange time.
    times_ns: Vec<u64>,
    /// Instruments announced with their ids only, which precedes all other messages in almost every test.
    announced: Vec<i64>,
}

impl Bench {
    /// A path that empties a book with a gap.
    pub fn new() -> Bench {
        Bench::with(Settings::default())
    }

    /// A path that fills such a book from live updates.
    pub fn natural() -> Bench {
        Bench::with(Settings {
            join: Join::Natural,
            ..Settings::default()
        })
    }

    /// A path with a recovery queue of this number of entries.
    pub fn with_queue(queue_entries_max: usize) -> Bench {
        Bench::with(Settings {
            queue_entries_max,
            ..Settings::default()
        })
    }

    /// A path whose gaps of at most 8 packets wait 100 ms for replay.
    pub fn asking() -> Bench {
        Bench::with(Settings {
            replay: Some(Replay {
                wait_ns: 100 * MILLISECOND,
                packets_max: 8,
            }),
            ..Settings::default()
        })
    }

    /// A path of a channel that repeats its definitions.
    pub fn defined_only() -> Bench {
        Bench::with(Settings {
            trust_undefined: false,
            ..Settings::default()
        })
    }

    /// A path whose books are stale after 100 ms of silence.
    pub fn growing_stale() -> Bench {
        Bench::with(Settings {
            stale_ns: 100 * MILLISECOND,
            ..Settings::default()
        })
    }

    /// A path whose books are stale after 100 ms without a packet of any group, and after 10 s without one of the incremental feed.
    pub fn of_repeating_groups() -> Bench {
        Bench::with(Settings {
            stale_ns: 10_000 * MILLISECOND,
            silence_ns: 100 * MILLISECOND,
            ..Settings::default()
        })
    }

    /// A packet of the incremental feed on one line.
    pub fn on_line(&mut self, line: Line, sequence: u32, messages: &[Vec<u8>]) {
        let bytes = packet(
            sequence,
            (self.now_ns / MILLISECOND + 1) * MILLISECOND,
            messages,
        );
        self.now_ns += MILLISECOND;
        self.path
            .packet((FeedType::Incremental, line), &bytes, self.now_ns, 0);
    }

    /// Advances the clock by this number of milliseconds without a packet.
    pub fn silence(&mut self, ms: u64) {
        self.now_ns += ms * MILLISECOND;
        self.path.advance(self.now_ns);
    }

    fn with(settings: Settings) -> Bench {
        let settings = Settings {
            hold_packets_max: 64,
            instruments_max: 8,
            queue_entries_max: settings.queue_entries_max.min(64),
            snapshot_orders_max: 64,
            ..settings
        };
        let limits = Limits {
            instruments_max: 8,
            orders_max: 64,
            event_changes_max: 64,
            default_depth: settings.default_depth,
            levels_max: 0,
        };
        let publisher = Local::new((Log::default(), Mirror::new(8, 64)));
        Bench {
            path: build(settings, limits, Symbols::default(), publisher),
            now_ns: MILLISECOND,
            is_joined: false,
        }
    }

    /// A packet of the incremental feed.
    pub fn packet(&mut self, sequence: u32, messages: &[Vec<u8>]) {
        self.receive(FeedType::Incremental, sequence, messages);
    }

    /// A packet of the feed of price snapshots.
    pub fn snapshots(&mut self, sequence: u32, messages: &[Vec<u8>]) {
        self.receive(FeedType::Snapshot, sequence, messages);
    }

    /// A packet of the feed of order snapshots.
    pub fn order_snapshots(&mut self, sequence: u32, messages: &[Vec<u8>]) {
        self.receive(FeedType::SnapshotOrders, sequence, messages);
    }

    /// A packet of the feed of definitions.
    pub fn definitions(&mut self, sequence: u32, messages: &[Vec<u8>]) {
        self.receive(FeedType::Definition, sequence, messages);
    }

    /// A packet of any feed with its own sending time.
    pub fn sent_at(&mut self, feed: FeedType, sequence: u32, sent_ms: u64, messages: &[Vec<u8>]) {
        let bytes = packet(sequence, sent_ms * MILLISECOND, messages);
        self.now_ns += MILLISECOND;
        if feed == FeedType::Incremental && !self.is_joined {
            // The first packet of a channel needs confirmation.
            self.is_joined = true;
            self.path.packet((feed, Line::B), &bytes, self.now_ns, 0);
        }
        self.path.packet((feed, Line::A), &bytes, self.now_ns, 0);
    }

    /// A packet of the incremental feed on both lines.
    pub fn both(&mut self, sequence: u32, messages: &[Vec<u8>]) {
        self.both_at(sequence, self.now_ns / MILLISECOND + 1, messages);
    }

    /// A packet of the incremental feed on both lines, with its own sending time.
    pub fn both_at(&mut self, sequence: u32, sent_ms: u64, messages: &[Vec<u8>]) {
        let bytes = packet(sequence, sent_ms * MILLISECOND, messages);
        self.now_ns += MILLISECOND;
        for line in [Line::A, Line::B] {
            self.path
                .packet((FeedType::Incremental, line), &bytes, self.now_ns, 0);
        }
    }

    /// Advances the clock until every gap is lost.
    pub fn wait(&mut self) {
        self.now_ns += 30 * MILLISECOND;
        self.path.advance(self.now_ns);
    }

    /// Packets that the path requests.
    pub fn wanted(&self) -> Option<(u32, u32)> {
        let Request::Retransmit { first, last } = self.path.request()?;
        Some((first as u32, last as u32))
    }

    /// The replay server has none of them.
    pub fn failed(&mut self) {
        self.path.request_failed(0);
    }

    /// Counters so far.
    pub fn counters(&self) -> &Counters {
        self.path.feed().counters()
    }

    /// Number of updates after which a book was locked, and after which one was crossed.
    pub fn locked_and_crossed(&self) -> (u64, u64) {
        let counters = self.path.counters();
        (counters.books_locked, counters.books_crossed)
    }

    /// Direct book of the instrument: `live 100 99 | 101`, best first.
    #[track_caller]
    pub fn book(&self, security_id: i32, expected: &str) {
        self.expect_book(security_id, BookKind::Direct, expected);
    }

    /// Whether the instrument's price book is live.
    pub fn is_live(&self, security_id: i32) -> bool {
        let instrument = self.find(security_id);
        self.path.feed().validity(instrument) == Validity::Live
    }

    /// Implied book of the instrument.
    #[track_caller]
    pub fn implied(&self, security_id: i32, expected: &str) {
        self.expect_book(security_id, BookKind::Implied, expected);
    }

    /// The instrument's orders, best first: `live 1:5@100 | 2:7@101`.
    #[track_caller]
    pub fn orders(&self, security_id: i32, expected: &str) {
        let instrument = self.find(security_id);
        let side = |side| {
            let mut text = String::new();
            self.path.orders().visit(instrument, side, |order| {
                let price = order.price;
                text += &format!("{}:{}@{price} ", order.order_id, order.quantity.0);
            });
            text
        };
        let validity = name(self.path.feed().orders_validity(instrument));
        let actual = format!("{validity} {}| {}", side(Side::Bid), side(Side::Ask));
        assert_eq!(actual.trim_end(), expected, "orders of {security_id}");
    }

    /// State of an instrument.
    #[track_caller]
    pub fn definition(&self, security_id: i32) -> InstrumentDefinition {
        let instrument = self.find(security_id);
        *self.path.instruments().definition(instrument)
    }

    /// Updates published since the last call, one a line.
    #[track_caller]
    pub fn published(&mut self, expected: &[&str]) {
        let log = &mut self.path.publisher_mut().inner_mut().subscriber.0.updates;
        assert_eq!(std::mem::take(log), expected);
    }

    /// Updates published since the last call, as a list.
    pub fn take_published(&mut self) -> Vec<String> {
        std::mem::take(&mut self.path.publisher_mut().inner_mut().subscriber.0.updates)
    }

    /// Exchange times of all updates, from the beginning.
    pub fn times_ns(&self) -> &[u64] {
        &self.path.publisher().inner().subscriber.0.times_ns
    }

    /// Text of a price book.
    #[track_caller]
    pub fn shown(&self, security_id: i32, expected: &str) {
        let mirror = &self.path.publisher().inner().subscriber.1;
        let seen = mirror.validity(self.find(security_id));
        assert_eq!(name(seen), expected, "book of {security_id} as it is seen");
    }

    /// Instruments announced with their ids only, in order, from the beginning.
    #[track_caller]
    pub fn announced(&self, expected: &[i64]) {
        let log = &self.path.publisher().inner().subscriber.0;
        assert_eq!(log.announced, expected);
    }

    fn receive(&mut self, feed: FeedType, sequence: u32, messages: &[Vec<u8>]) {
        let sent_ms = self.now_ns / MILLISECOND + 1;
        self.sent_at(feed, sequence, sent_ms, messages);
    }

    #[track_caller]
    fn expect_book(&self, security_id: i32, kind: BookKind, expected: &str) {
        let instrument = self.find(security_id);
        let side = |side| {
            let book = self.path.prices().get(instrument);
            let levels = book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
            levels
                .iter()
                .map(|level| price(level) + " ")
                .collect::<String>()
        };
        let validity = name(self.path.feed().validity(instrument));
        let actual = format!("{validity} {}| {}", side(Side::Bid), side(Side::Ask));
        assert_eq!(actual.trim_end(), expected, "book of {security_id}");
    }

    #[track_caller]
    fn find(&self, security_id: i32) -> Instrument {
        let instruments = self.path.instruments();
        let is_it = |instrument: &Instrument| {
            instruments.definition(*instrument).security_id == i64::from(security_id)
        };
        instruments
            .iter()
            .find(is_it)
            .expect("the instrument is known")
    }
}

impl Subscribe for Log {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let sequence = envelope.timestamps.packet.sequence;
        if let Update::Definition(definition) = envelope.update
            && !definition.defined
        {
            self.announced.push(definition.security_id);
            return;
        }
        self.times_ns.push(envelope.timestamps.exchange_ns);
        self.updates.push(match envelope.update {
            Update::Book(update) => {
                let best = |level: &Option<Level>| level.as_ref().map_or("-".to_owned(), price);
                format!(
                    "{sequence}: book {} {}{}{} {} | {}",
                    update.security_id,
                    name(update.validity),
                    if update.direct { "" } else { " implied" },
                    if update.whole { "" } else { " cut" },
                    best(&update.best_bid),
                    best(&update.best_ask),
                )
            }
            Update::Orders(update) => format!("{sequence}: orders {}", name(update.validity)),
            Update::BookSnapshot(snapshot) => format!(
                "whole book {} {}",
                name(snapshot.validity),
                snapshot.bids.len() + snapshot.asks.len(),
            ),
            Update::OrdersSnapshot(snapshot) => format!(
                "whole orders {} {}",
                name(snapshot.validity),
                snapshot.orders.len()
            ),
            Update::State(state) => format!("{sequence}: {}", name(state.validity)),
            Update::Gap(gap) => format!("lost {}-{}", gap.first, gap.last),
            Update::Reset => "reset".to_owned(),
            Update::Download(phase) => format!("download {phase:?}"),
            Update::Channel(state) => {
                format!("channel {} {}", name(state.price), name(state.orders))
            }
            Update::Definition(definition) => format!("definition {}", definition.security_id),
            Update::Quotes(quotes) => format!("{sequence}: {} quotes", quotes.changes.len()),
            Update::QuoteSnapshot(quotes) => format!("all {} quotes", quotes.quotes.len()),
            Update::Trade(trade) => format!("{sequence}: trade {}", trade.price),
            Update::Statistic(statistic) => format!("{sequence}: {:?}", statistic.kind),
            Update::Status(status) => format!("{sequence}: status {}", status.status),
        });
    }
}

fn price(level: &Level) -> String {
    if level.known {
        level.price.to_string()
    } else {
        "?".to_owned()
    }
}

fn name(validity: Validity) -> String {
    format!("{validity:?}").to_lowercase()
}
