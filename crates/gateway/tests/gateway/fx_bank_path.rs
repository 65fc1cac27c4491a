//! Malformed quotes through a bank's gateway: the documented answer and one counter; no other effect. The bank is
//! the other side of a session, without sockets.

mod malformed;
mod numbers;
mod silence;

use std::collections::BTreeMap;
use touchline_feed::fx_bank::FxBankFeed;
use touchline_feed::{Feed, SessionFeed};
use touchline_gateway::Pipeline;
use touchline_gateway::venues::fx_bank::FxBankVenue;
use touchline_gateway::venues::{VENUES, Venue};
use touchline_session::fix::{Event, Memory, Role, Session, Settings};
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::{
    BookKind, Instrument, Quote, QuoteAction, ReceiveTime, Side, Update, Validity,
};

const CONFIG: &str = r#"
bus = "lp01"
[venue]
kind = "fx-bank"
silence_ms = 0
hosts = ["127.0.0.1:5101"]
sender = "US"
target = "LP01"
dialect = "W"
pairs = [
  { symbol = "EUR/USD", precision = 5, spot_date = "20260107" },
  { symbol = "USD/JPY", precision = 3, spot_date = "20260107" },
]
"#;
const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_767_600_000_000_000_000,
    mono_ns: 1_767_600_000_000_000_000,
};
/// Counters that may change with any message.
const OF_EACH_MESSAGE: [&str; 2] = ["quotes", "snapshots"];

/// A subscriber: its quotes of each pair, and counts of received updates.
#[derive(Default)]
struct Reader {
    quotes: BTreeMap<u32, BTreeMap<u32, Quote>>,
    /// Number of updates of a pair's quotes or book.
    told: BTreeMap<u32, usize>,
    /// State of each pair's book, and whether its last snapshot says that the bank does not quote it yet.
    books: BTreeMap<u32, Validity>,
    is_unquoted: BTreeMap<u32, bool>,
    /// Value date of each pair's last quotes.
    value_dates: BTreeMap<u32, u32>,
    channel: Option<Validity>,
}

impl Subscribe for Reader {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let pair = match envelope.update {
            Update::Channel(state) => {
                self.channel = Some(state.price);
                if state.price != Validity::Live {
                    self.quotes.clear();
                }
                return;
            }
            Update::QuoteSnapshot(snapshot) => {
                let all = snapshot.quotes.iter().map(|quote| (quote.entry, *quote));
                let pair = snapshot.stream.instrument.0;
                self.is_unquoted.insert(pair, snapshot.stream.is_unquoted);
                let date = snapshot.stream.value_date;
                self.value_dates.insert(pair, date);
                self.quotes.insert(pair, all.collect());
                pair
            }
            Update::Quotes(update) => {
                let pair = update.stream.instrument.0;
                let date = update.stream.value_date;
                self.value_dates.insert(pair, date);
                let quotes = self.quotes.entry(pair).or_default();
                for change in update.changes {
                    match change.action {
                        QuoteAction::Set => drop(quotes.insert(change.quote.entry, change.quote)),
                        QuoteAction::Remove => drop(quotes.remove(&change.quote.entry)),
                        QuoteAction::Clear => quotes.clear(),
                    }
                }
                pair
            }
            Update::Book(update) => {
                let pair = update.instrument.0;
                self.books.insert(pair, update.validity);
                pair
            }
            Update::BookSnapshot(book) => {
                self.books.insert(book.instrument.0, book.validity);
                return;
            }
            Update::State(state) => {
                self.books.insert(state.instrument.0, state.validity);
                return;
            }
            _ => return,
        };
        *self.told.entry(pair).or_default() += 1;
    }
}

struct Stage {
    path: Pipeline<FxBankFeed, Local<Reader>>,
    bank: Session<Memory>,
    now: ReceiveTime,
}

impl Stage {
    fn new() -> Stage {
        let mut stage = Stage::logged_on(CONFIG);
        stage.quote_both();
        stage
    }

    /// Logged on, without a quote.
    fn logged_on(text: &str) -> Stage {
        let mut stage = Stage::of(text, true);
        stage.log_on();
        stage
    }

    /// Without a connection; the bank begins its numbers again with each Logon, or with ours.
    fn of(text: &str, resets: bool) -> Stage {
        let config = VENUES
            .from_text_as::<FxBankVenue>("lp01.toml", text)
            .expect("a configuration");
        let opened = FxBankVenue::open(&config).expect("nothing to open");
        let mut settings = Settings::new(Role::Acceptor, "LP01", "US");
        settings.reset_on_logon = resets;
        settings.limits.message_bytes_max = 1 << 20;
        settings.limits.output_bytes = 4 << 20;
        Stage {
            path: Pipeline::new(opened.feed, Local::new(Reader::default()), opened.limits),
            bank: Session::new(settings, Memory::default()),
            now: NOW,
        }
    }

    /// Connects, and quotes both pairs.
    fn connect(&mut self) {
        self.log_on();
        self.quote_both();
    }

    fn log_on(&mut self) {
        self.bank.connected(self.now);
        self.path.connected(self.now);
        self.exchange(|bytes| bytes);
    }

    fn quote_both(&mut self) {
        self.quote(&snapshot("EUR/USD", &GOOD));
        self.quote(&snapshot(
            "USD/JPY",
            &["269=0|270=150.001|271=1000000|299=c|"],
        ));
    }

    fn quote(&mut self, body: &str) {
        self.quote_as(body, |bytes| bytes);
    }

    /// Sends a quote whose bytes `way` changes.
    fn quote_as(&mut self, body: &str, way: impl Fn(Vec<u8>) -> Vec<u8>) {
        self.send(b"W", body);
        self.exchange(way);
    }

    fn send(&mut self, kind: &[u8], body: &str) {
        let sent = self.bank.send(kind, self.now, |message| {
            for field in body.split_terminator('|') {
                let (tag, value) = field.split_once('=').expect("a field");
                message.bytes(tag.parse().expect("a tag"), value.as_bytes());
            }
        });
        sent.expect("the bank is up");
    }

    fn exchange(&mut self, way: impl Fn(Vec<u8>) -> Vec<u8>) {
        let mut to_feed = way(self.bank.poll_transmit().to_vec());
        self.bank.transmitted(self.bank.poll_transmit().len());
        loop {
            if !to_feed.is_empty() {
                self.path.packet_at((), &to_feed, self.now, 0);
            }
            self.path.advance_at(self.now);
            let to_bank = self.path.feed().outgoing().to_vec();
            self.path.sent(to_bank.len(), self.now);
            let mut rest = &to_bank[..];
            while !rest.is_empty() {
                rest = &rest[self.bank.handle(rest, self.now)..];
                while let Some(event) = self.bank.poll() {
                    assert!(!matches!(event, Event::Invalid(_)), "we are never wrong");
                }
            }
            to_feed = self.bank.poll_transmit().to_vec();
            self.bank.transmitted(to_feed.len());
            if to_feed.is_empty() && to_bank.is_empty() {
                return;
            }
        }
    }

    /// The host's clock is set.
    fn step(&mut self, step_ns: i64) {
        self.now.wall_ns = self.now.wall_ns.saturating_add_signed(step_ns);
        self.path.wall_stepped(step_ns);
        // The bank is another host, whose clock was not set.
        self.bank.wall_stepped(step_ns);
    }

    fn advance(&mut self) {
        self.path.advance_at(self.now);
    }

    /// Levels of a pair's published book.
    fn book(&mut self, pair: u32) -> (usize, Validity) {
        let book = self.path.prices().get(Instrument(pair));
        let levels = book.map_or(0, |book| {
            let levels = |side| book.levels(BookKind::Direct, side).iter().count();
            levels(Side::Bid) + levels(Side::Ask)
        });
        (levels, self.reader().books[&pair])
    }

    /// Time until the first quote of a pair ends, milliseconds.
    fn left_ms(&mut self, pair: u32) -> u64 {
        let now_ns = self.now.wall_ns;
        let quotes = &self.reader().quotes[&pair];
        let ends = quotes.values().map(|quote| quote.expiry_ns);
        (ends.min().expect("a quote") - now_ns) / 1_000_000
    }

    fn reader(&mut self) -> &mut Reader {
        &mut self.path.publisher_mut().subscriber
    }

    /// Counters of the bank and its quotes.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let tables = &FxBankFeed::TABLES[..2];
        let names = tables.iter().flat_map(|table| table.iter());
        let names = names.map(|counter| counter.name);
        names.zip(self.path.feed().counted()).collect()
    }

    /// Quotes of a pair: side, price in 1e-9, size.
    fn shown(&mut self, pair: u32) -> Vec<(Side, i64, i64)> {
        let quotes = self.reader().quotes.get(&pair).cloned().unwrap_or_default();
        let mut all: Vec<_> = quotes
            .values()
            .map(|quote| (quote.side, quote.price.0, quote.quantity.0))
            .collect();
        all.sort_unstable_by_key(|(side, price, size)| (side.index(), *price, *size));
        all
    }
}

const GOOD: [&str; 2] = [BID, ASK];
const BID: &str = "269=0|270=1.10001|271=1000000|299=a|";
const ASK: &str = "269=1|270=1.10003|271=2000000|299=b|";
const BID_SHOWN: (Side, i64, i64) = (Side::Bid, 1_100_010_000, 1_000_000);
const ASK_SHOWN: (Side, i64, i64) = (Side::Ask, 1_100_030_000, 2_000_000);

fn snapshot(symbol: &str, entries: &[&str]) -> String {
    let count = entries.len();
    format!(
        "262=r-{symbol}|55={symbol}|268={count}|{}",
        entries.concat()
    )
}

fn later(now: ReceiveTime, ms: u64) -> ReceiveTime {
    ReceiveTime {
        wall_ns: now.wall_ns + ms * 1_000_000,
        mono_ns: now.mono_ns + ms * 1_000_000,
    }
}

/// Changed counters between two readings, except those that any message changes.
fn changed(
    before: &BTreeMap<&'static str, u64>,
    after: &BTreeMap<&'static str, u64>,
) -> BTreeMap<&'static str, u64> {
    let moved = after
        .iter()
        .map(|(name, count)| (*name, count - before[name]));
    let counted = moved.filter(|(name, by)| *by > 0 && !OF_EACH_MESSAGE.contains(name));
    counted.collect()
}

#[test]
fn a_malformed_entry_is_absent_and_counted_and_changes_nothing_else() {
    let long = format!("269=0|270=1.10001|271=1000000|299={}|", "X".repeat(100));
    let bid = |price: &str, size: &str| format!("269=0|270={price}|271={size}|299=a|");
    for (what, entry, counter) in [
        (
            "a price that is no number",
            bid("n/a", "1000000"),
            "entries_refused",
        ),
        (
            "a price between two ticks",
            bid("1.100015", "1000000"),
            "entries_refused",
        ),
        ("a price of zero", bid("0", "1000000"), "entries_refused"),
        (
            "a negative price",
            bid("-1.1", "1000000"),
            "entries_refused",
        ),
        (
            "a price beyond range",
            bid("99999999999999999999", "1000000"),
            "entries_refused",
        ),
        ("a size of zero", bid("1.10001", "0"), "entries_refused"),
        ("a negative size", bid("1.10001", "-1"), "entries_refused"),
        (
            "a fraction of a unit",
            bid("1.10001", "1000000.5"),
            "entries_refused",
        ),
        (
            "a size beyond range",
            bid("1.10001", "99999999999999999999"),
            "entries_refused",
        ),
        (
            "an expiry that is no time",
            bid("1.10001", "1") + "126=tomorrow|",
            "entries_refused",
        ),
        ("an id of 100 bytes", long, "ids_refused"),
    ] {
        let mut stage = Stage::new();
        assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN], "{what}");
        let (before, other) = (stage.counters(), stage.shown(1));
        stage.reader().told.clear();
        stage.quote(&snapshot("EUR/USD", &[&entry, ASK]));
        assert_eq!(stage.shown(0), [ASK_SHOWN], "{what}");
        assert_eq!(
            changed(&before, &stage.counters()),
            BTreeMap::from([(counter, 1)]),
            "{what}"
        );
        assert_eq!(
            (stage.shown(1), stage.reader().told.get(&1)),
            (other, None),
            "{what}"
        );
        assert_eq!(stage.reader().channel, Some(Validity::Live), "{what}");
        assert!(!stage.path.feed().is_over(), "{what}");
        // The next quote is usable.
        stage.quote(&snapshot("EUR/USD", &GOOD));
        assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN], "{what}");
    }
}

/// A pair without a quote message is not live: after a logon, when the bank rejects its request, and after a silence.
#[test]
fn a_pair_that_the_bank_does_not_quote_is_not_live() {
    let text = CONFIG.replace("silence_ms = 0", "silence_ms = 1000");
    let mut stage = Stage::logged_on(&text);
    let unquoted = |stage: &mut Stage| stage.reader().is_unquoted.clone();
    assert_eq!(unquoted(&mut stage), BTreeMap::from([(0, true), (1, true)]));
    stage.quote(&snapshot("EUR/USD", &GOOD));
    // A reject of the second request, and a withdrawal of one quote: neither is a quote message.
    stage.send(b"Y", "262=TL-2|281=0|");
    stage.send(b"Z", "298=5|117=none|");
    stage.exchange(|bytes| bytes);
    let books = BTreeMap::from([(0, Validity::Live), (1, Validity::Closed)]);
    assert_eq!(stage.reader().books, books);
    // A bank that has nothing to quote answers a TestRequest after half of the time.
    for _ in 0..30 {
        stage.now = later(stage.now, 100);
        stage.path.advance_at(stage.now);
        stage.exchange(|bytes| bytes);
    }
    assert_eq!(stage.reader().channel, Some(Validity::Live), "it answers");
    for _ in 0..15 {
        stage.now = later(stage.now, 100);
        stage.path.advance_at(stage.now);
    }
    assert_eq!(
        stage.reader().channel,
        Some(Validity::Stale),
        "it is silent"
    );
    stage.now = later(stage.now, 100);
    stage.send(b"0", "");
    stage.exchange(|bytes| bytes);
    assert_eq!(stage.reader().channel, Some(Validity::Live));
    assert_eq!(stage.reader().books, books, "as before the silence");
    assert_eq!(
        unquoted(&mut stage),
        BTreeMap::from([(0, false), (1, true)])
    );
    assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN]);
}

/// A reader knows whether the bank states the value date of its quotes: the gateway does not state it for the bank.
#[test]
fn quotes_have_the_value_date_that_the_bank_states() {
    let mut stage = Stage::logged_on(CONFIG);
    stage.quote_both();
    let dates = |stage: &mut Stage| stage.reader().value_dates.clone();
    assert_eq!(dates(&mut stage), BTreeMap::from([(0, 0), (1, 0)]));
    let dated = snapshot("EUR/USD", &GOOD).replace("268=", "64=20260107|268=");
    stage.quote(&dated);
    assert_eq!(dates(&mut stage), BTreeMap::from([(0, 20_260_107), (1, 0)]));
    // Quotes of another day are refused, and state no price.
    let other = snapshot(
        "USD/JPY",
        &["269=0|270=150.001|271=1000000|299=c|64=20260108|"],
    );
    stage.quote(&other);
    assert_eq!(dates(&mut stage), BTreeMap::from([(0, 20_260_107), (1, 0)]));
}

/// The host's clock is set by an hour either way: quotes live as long as they may, by the clock that is never set. Published times
/// are those of the wall clock.
#[test]
fn a_step_of_the_wall_clock_neither_keeps_nor_ends_a_quote() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let text = CONFIG.replace("dialect =", "ttl_ms = 2000\ndialect =");
    for step_ns in [HOUR_NS, -HOUR_NS] {
        let mut stage = Stage::logged_on(&text);
        stage.quote_both();
        stage.now = later(stage.now, 500);
        stage.step(step_ns);
        stage.advance();
        assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN], "{step_ns}");
        assert_eq!(stage.book(0).0, 2, "{step_ns}: not ended by the step");
        // Half a second of the pair's two has passed.
        assert_eq!(stage.left_ms(0), 1_500, "{step_ns}");
        // A quote after the step.
        stage.now = later(stage.now, 500);
        stage.quote(&snapshot(
            "USD/JPY",
            &["269=0|270=150.001|271=1000000|299=d|"],
        ));
        assert_eq!(stage.left_ms(1), 2_000, "{step_ns}");
        stage.now = later(stage.now, 1_100);
        stage.advance();
        assert_eq!(stage.book(0).0, 0, "{step_ns}: not kept by the step");
        assert_eq!(stage.book(1).0, 1, "{step_ns}");
        stage.now = later(stage.now, 1_000);
        stage.advance();
        assert_eq!(stage.book(1).0, 0, "{step_ns}");
    }
}

/// The process is stopped while the clock of timeouts stands still: quotes have ended by their age nevertheless, soon after.
#[test]
fn quotes_age_while_the_clock_of_timeouts_stands_still() {
    let text = CONFIG.replace("dialect =", "ttl_ms = 2000\ndialect =");
    let mut stage = Stage::logged_on(&text);
    stage.quote_both();
    stage.now.wall_ns += 5_000_000_000;
    stage.now.mono_ns += 51_000_000;
    stage.advance();
    assert_eq!(stage.book(0).0, 0);
}

/// The end that a bank gives a quote is a time of the wall clock: of the one that is set now.
#[test]
fn an_end_that_the_bank_gives_is_by_the_wall_clock_after_a_step() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    for (step_ns, hour) in [(HOUR_NS, 9), (-HOUR_NS, 7)] {
        let mut stage = Stage::logged_on(CONFIG);
        stage.step(step_ns);
        // 1767600000 is 20260105-08:00:00.
        let bid = |second| {
            format!("269=0|270=1.10001|271=1000000|299=a|126=20260105-{hour:02}:00:0{second}|")
        };
        stage.quote(&snapshot("EUR/USD", &[&bid(5)]));
        assert_eq!(stage.book(0).0, 1, "{step_ns}");
        assert_eq!(stage.left_ms(0), 5_000, "{step_ns}");
        stage.now = later(stage.now, 5_100);
        stage.advance();
        assert_eq!(stage.book(0).0, 0, "{step_ns}");
    }
}

/// A bank that rejects the request of a pair which it has quoted withdraws its quotes there, and in no other pair. A later
/// quote counts.
#[test]
fn a_rejected_request_withdraws_the_quotes_of_its_pair() {
    let mut stage = Stage::new();
    let other = stage.shown(1);
    stage.send(b"Y", "262=TL-1|281=0|");
    stage.exchange(|bytes| bytes);
    assert_eq!(stage.shown(0), [] as [_; 0]);
    assert_eq!(stage.shown(1), other);
    assert_eq!(stage.reader().books.get(&0), Some(&Validity::Closed));
    stage.quote(&snapshot("EUR/USD", &GOOD));
    assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN]);
    assert_eq!(stage.reader().books.get(&0), Some(&Validity::Live));
}

/// Only a quote message of a pair is one: another message of the bank publishes no quotes of the pair that it quoted last, whose readers
/// would take them for new ones.
#[test]
fn a_message_without_quotes_is_no_quote_message_of_the_last_pair() {
    for (kind, body) in [
        ("Y", "262=TL-9|281=0|"),
        ("AG", "131=TL-9|658=1|"),
        ("j", "45=1|372=V|380=0|"),
        ("3", "45=1|"),
        ("5", ""),
    ] {
        let mut stage = Stage::new();
        let told = stage.reader().told.clone();
        let quotes = stage.counters()["quotes"];
        stage.send(kind.as_bytes(), body);
        stage.exchange(|bytes| bytes);
        assert_eq!(stage.reader().told, told, "{kind}");
        assert_eq!(stage.counters()["quotes"], quotes, "{kind}");
    }
}

#[test]
fn the_second_entry_of_a_repeated_id_is_used() {
    let mut stage = Stage::new();
    let before = stage.counters();
    let first = "269=0|270=1.10002|271=5000000|299=a|";
    stage.quote(&snapshot("EUR/USD", &[first, BID, ASK]));
    assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN]);
    assert_eq!(changed(&before, &stage.counters()), BTreeMap::new());
}

#[test]
fn ten_thousand_entries_are_accepted_and_replaced_by_the_next_quote() {
    let mut stage = Stage::new();
    let (before, other) = (stage.counters(), stage.shown(1));
    let entries: Vec<String> = (0..10_000)
        .map(|entry| format!("269=0|270=1.{:05}|271=1000|299=e{entry}|", 10_001 - entry))
        .collect();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    stage.quote(&snapshot("EUR/USD", &entries));
    assert_eq!(stage.shown(0).len(), 10_000);
    assert_eq!(changed(&before, &stage.counters()), BTreeMap::new());
    stage.quote(&snapshot("EUR/USD", &GOOD));
    assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN]);
    assert_eq!(stage.shown(1), other);
}

/// A damaged or missing message may have ended any quote, so all are withdrawn.
#[test]
fn a_damaged_or_missing_message_withdraws_every_quote_until_the_next_connection() {
    for (what, way) in [
        ("a wrong checksum", damaged as fn(Vec<u8>) -> Vec<u8>),
        ("a message that never comes", |_| Vec::new()),
    ] {
        let mut stage = Stage::new();
        let before = stage.counters();
        stage.quote_as(&snapshot("EUR/USD", &[ASK]), way);
        // The sequence number of the next message shows the gap.
        stage.quote(&snapshot("EUR/USD", &GOOD));
        let counted = changed(&before, &stage.counters());
        assert_eq!(counted, BTreeMap::from([("sequence_gaps", 1)]), "{what}");
        assert_eq!(stage.reader().channel, Some(Validity::Stale), "{what}");
        assert_eq!((stage.shown(0), stage.shown(1)), (vec![], vec![]), "{what}");
        assert!(
            stage.path.feed().is_over(),
            "{what}: the connection is opened again"
        );
        stage.path.disconnected(NOW);
        stage.bank.disconnected(NOW);
        stage.connect();
        assert_eq!(stage.reader().channel, Some(Validity::Live), "{what}");
        assert_eq!(stage.shown(0), [BID_SHOWN, ASK_SHOWN], "{what}");
        assert_eq!(stage.shown(1).len(), 1, "{what}");
    }
}

/// The same message with another checksum.
fn damaged(mut bytes: Vec<u8>) -> Vec<u8> {
    let last = bytes.len() - 2;
    bytes[last] = if bytes[last] == b'0' { b'1' } else { b'0' };
    bytes
}
