//! A feed that verifies bodies itself, and a session that walks each body before market data reads it: on messages with any
//! mistake, both answer and publish the same.

use crate::world::{raw, settings};
use touchline_feed::fix_md::{APPLICATION, Dialect, FixFeed, MarketData, Settings, Step};
use touchline_feed::{Batch, Feed, ReceiveTime, SessionFeed, Warning};
use touchline_instruments::Instruments;
use touchline_session::fix::{Memory, Session, Settings as SessionSettings, Store};
use touchline_testing::random::{Random, seeds};
use touchline_types::{Event, PacketInfo, Validity};

/// Within the SendingTime of [`raw`].
const NOW: ReceiveTime = ReceiveTime {
    wall_ns: 1_700_000_000_000_000_000,
    mono_ns: 1,
};
const LIST: &str = "320=1|322=1|560=0|146=2|55=BTC-PERPETUAL|167=FUT|15=BTC|969=0.5|\
                    55=ETH-PERPETUAL|167=FUT|15=ETH|";
const BOOK: &str = "55=BTC-PERPETUAL|231=10.0000|100087=26516750|100090=7761.3400|746=8316391.1000|262=2|268=3|\
                    269=0|270=7763.0000|271=18830.0000|272=20231114-22:13:19.504|\
                    269=1|270=7763.5000|271=3855.0000|272=20231114-22:13:19.504|\
                    269=2|270=7763.0000|271=10.0000|272=20231114-22:13:18.100|";
const UPDATE: &str = "55=BTC-PERPETUAL|100087=26516750|100090=7761.3400|746=8316391.1000|262=2|268=1|\
                      279=1|269=1|270=7763.5000|271=7439.0000|272=20231114-22:13:19.526|";
const TRADES: &str = "55=BTC-PERPETUAL|268=2|279=0|269=2|270=7763.5000|271=826.0000|272=20231114-22:13:19.378|\
                      100009=18254681|54=1|37=0|198=0|39=2|44=10445.9300|58=2889354|\
                      279=0|269=2|270=7763.0000|271=42.0000|272=20231114-22:13:19.378|100009=18254682|54=2|58=288|";
/// Entries with names, dates apart from times, data, and a text of more than 64 bytes.
const NAMED: &str = "262=2|268=2|279=0|269=0|278=one|55=BTC-PERPETUAL|270=7762|271=1|272=20231114|273=22:13:19|95=3|96=a=b|\
                     279=0|269=1|299=two|290=1|270=7764|271=1|\
                     58=a text that is longer than the sixty-four bytes that are looked at together|";
/// Not selected: a book and changes without an effect.
const OTHER: &str = "55=ETH-PERPETUAL|268=1|279=0|269=0|270=1.5|271=1|";

/// Messages of the session behind the book, by type and fields.
const MESSAGES: [(&str, &str); 7] = [
    ("X", UPDATE),
    ("X", TRADES),
    ("X", NAMED),
    ("W", BOOK),
    ("X", OTHER),
    ("W", OTHER),
    ("W", "55=BTC-PERPETUAL|268=0|5000=x|"),
];

fn deribit() -> Settings {
    let mut settings = settings(Dialect::Deribit);
    settings.symbols.clear();
    let limits = &mut settings.session.limits;
    limits.message_bytes_max = 2_048;
    (limits.output_bytes, limits.out_of_order_bytes) = (8_192, 8_192);
    settings
}

/// A feed as far as its owner sees it.
trait Owner {
    fn connected(&mut self);
    fn handle(&mut self, bytes: &[u8], instruments: &mut Instruments, batch: &mut Batch) -> usize;
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool;
    fn state(&mut self, instruments: &Instruments) -> State;
    fn take_sent(&mut self) -> Vec<u8>;
}

/// All that can be asked of a feed.
#[derive(Debug, PartialEq)]
struct State {
    next_in: u64,
    counted: Vec<u64>,
    /// Counters of market data. A body that the session rejects is not counted by both.
    entries: Option<Vec<u64>>,
    validities: Vec<Validity>,
    is_over: bool,
    reason: String,
    evidence: String,
    warning: Option<Warning>,
    next_timeout: Option<u64>,
}

impl Owner for FixFeed {
    fn connected(&mut self) {
        SessionFeed::connected(self, NOW);
    }

    fn handle(&mut self, bytes: &[u8], instruments: &mut Instruments, batch: &mut Batch) -> usize {
        Feed::handle(self, (), bytes, NOW, instruments, batch)
    }

    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        Feed::poll(self, instruments, batch)
    }

    fn state(&mut self, instruments: &Instruments) -> State {
        let session = self.session();
        State {
            next_in: session.store().next_in(),
            counted: session.counters().counts().collect(),
            entries: (session.counters().messages_rejected == 0)
                .then(|| self.counters().counts().collect()),
            validities: instruments.iter().map(|it| self.validity(it)).collect(),
            is_over: self.is_over(),
            reason: self.reason(),
            evidence: self.evidence(),
            warning: self.take_warning(),
            next_timeout: self.next_timeout(),
        }
    }

    fn take_sent(&mut self) -> Vec<u8> {
        let sent = self.outgoing().to_vec();
        self.sent(sent.len(), NOW);
        sent
    }
}

/// The same feed with a session that verifies every body itself.
struct TwoWalks {
    session: Session<Memory>,
    market_data: MarketData,
}

impl TwoWalks {
    fn new(settings: Settings) -> TwoWalks {
        let session = SessionSettings {
            applications: settings.session.applications.clone().with(&APPLICATION),
            ..settings.session.clone()
        };
        TwoWalks {
            session: Session::new(session, Memory::default()),
            market_data: MarketData::new(settings, 0),
        }
    }
}

impl Owner for TwoWalks {
    fn connected(&mut self) {
        self.market_data.connected();
        self.session.connected(NOW);
    }

    fn handle(&mut self, bytes: &[u8], instruments: &mut Instruments, batch: &mut Batch) -> usize {
        let taken = self.session.handle(bytes, NOW);
        self.poll(instruments, batch);
        taken
    }

    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        let TwoWalks {
            session,
            market_data,
        } = self;
        batch.events.clear();
        loop {
            market_data.end_silence(session);
            if market_data.poll(NOW, batch) {
                return true;
            }
            let step = match session.poll() {
                Some(said) => market_data.hear(said, NOW, instruments, batch),
                None => Step::Idle,
            };
            assert!(!session.is_body_unverified());
            if market_data.carry_out(step, session, NOW, batch) {
                return true;
            }
            if step == Step::Idle && !market_data.has_pending() {
                market_data.ask(session, NOW);
                if !market_data.has_pending() {
                    return false;
                }
            }
        }
    }

    fn state(&mut self, instruments: &Instruments) -> State {
        let (session, market_data) = (&self.session, &mut self.market_data);
        let why = session.disconnect_reason();
        let next_ns = [session.next_timeout(), market_data.next_timeout(session)];
        State {
            next_in: session.store().next_in(),
            counted: session.counters().counts().collect(),
            entries: (session.counters().messages_rejected == 0)
                .then(|| market_data.counters().counts().collect()),
            validities: instruments
                .iter()
                .map(|it| market_data.validity(it))
                .collect(),
            is_over: market_data.is_over() || why.is_some(),
            reason: market_data.reason(why.map(|why| why.to_string())),
            evidence: market_data.evidence(session.evidence()),
            warning: market_data.take_warning(),
            next_timeout: next_ns.into_iter().flatten().min(),
        }
    }

    fn take_sent(&mut self) -> Vec<u8> {
        let sent = self.session.poll_transmit().to_vec();
        self.session.transmitted(sent.len());
        sent
    }
}

/// Result of some bytes, as the owner of a feed sees it.
#[derive(Debug, PartialEq)]
struct Seen {
    events: Vec<(PacketInfo, Event)>,
    sent: Vec<u8>,
    state: State,
}

/// A feed with its table; one batch serves all feeds of a test.
struct Run<O> {
    owner: O,
    instruments: Instruments,
}

impl<O: Owner> Run<O> {
    /// Logged on, with a live book; the next number is 4.
    fn live(owner: O, instruments: Instruments, batch: &mut Batch) -> Run<O> {
        let mut run = Run { owner, instruments };
        run.owner.connected();
        // The Logon, which has a proof in one of them.
        run.owner.take_sent();
        run.see(&raw("A", 1, "98=0|108=30|141=Y|"), batch);
        run.see(&raw("y", 2, LIST), batch);
        let seen = run.see(&raw("W", 3, BOOK), batch);
        assert_eq!(
            (seen.state.next_in, seen.state.validities),
            (4, vec![Validity::Live])
        );
        run
    }

    fn see(&mut self, mut bytes: &[u8], batch: &mut Batch) -> Seen {
        let Run { owner, instruments } = self;
        let mut events = Vec::new();
        while !bytes.is_empty() {
            batch.events.clear();
            let taken = owner.handle(bytes, instruments, batch);
            loop {
                let with_info = |event: &Event| (batch.packet_info, *event);
                events.extend(batch.events.iter().map(with_info));
                if !owner.poll(instruments, batch) {
                    break;
                }
            }
            bytes = &bytes[taken..];
            assert!(taken > 0, "the buffer is full");
        }
        Seen {
            events,
            sent: owner.take_sent(),
            state: owner.state(instruments),
        }
    }
}

/// Compares both kinds of feed, and counts the compared messages.
struct Comparison {
    batch: Batch,
    cases: usize,
    rejected: usize,
    published: usize,
}

impl Comparison {
    fn new() -> Comparison {
        Comparison {
            batch: FixFeed::new(deribit()).batch(),
            cases: 0,
            rejected: 0,
            published: 0,
        }
    }

    /// Pieces of a stream behind the book: message, valid change, TestRequest.
    fn compare(&mut self, pieces: &[&[u8]]) {
        let batch = &mut self.batch;
        let mut one = FixFeed::new(deribit());
        let instruments = one.instruments();
        let mut one = Run::live(one, instruments, batch);
        let mut two = TwoWalks::new(deribit());
        let instruments = two.market_data.take_instruments();
        let mut two = Run::live(two, instruments, batch);
        self.cases += 1;
        for (number, piece) in pieces.iter().enumerate() {
            let (new, old) = (one.see(piece, batch), two.see(piece, batch));
            assert_eq!(new, old, "piece {number} of {}", text(&pieces.concat()));
            if number == 0 {
                self.rejected += usize::from(text(&old.sent).contains("|35=3|"));
                self.published += usize::from(!old.events.is_empty());
            }
        }
    }

    /// Compares any message as the next one, then a change and a test request.
    fn message(&mut self, body: &[u8]) {
        let (change, test) = (raw("X", 5, UPDATE), raw("1", 6, "112=again|"));
        self.compare(&[&framed(body), &change, &test]);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\u{1}', "|")
}

/// From MsgType up to the checksum.
fn body(msg_type: &str, number: u64, fields: &str) -> Vec<u8> {
    let bytes = raw(msg_type, number, fields);
    let from = bytes.windows(3).position(|bytes| bytes == b"35=");
    bytes[from.expect("a message")..bytes.len() - 7].to_vec()
}

/// A message of this body, with its length and checksum.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}", body.len()).into_bytes();
    bytes.extend(body);
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    bytes.extend(format!("10={sum:03}\u{1}").bytes());
    bytes
}

/// The fields of a body, each with its separator.
fn fields(body: &[u8]) -> Vec<Vec<u8>> {
    body.split_inclusive(|byte| *byte == 1)
        .map(<[u8]>::to_vec)
        .collect()
}

/// Tags of the header, of data, of entries, and some that no table has.
const TAGS: [&str; 38] = [
    "8", "9", "10", "34", "35", "43", "49", "50", "52", "56", "57", "90", "91", "97", "115", "122",
    "128", "129", "144", "212", "347", "369", "627", "630", "89", "93", "95", "96", "354", "262",
    "268", "269", "270", "278", "5000", "100009", "055", "-7",
];
const VALUES: [&str; 16] = [
    "",
    "0",
    "1",
    "2",
    "Y",
    "-1",
    "007",
    "1.5",
    "99999999999999999999",
    "1e5",
    "x",
    "=",
    "THEM",
    "20231114-22:13:20.000",
    "20231114",
    "5=6",
];

/// A body with one field changed, in each way, or a field more in its place.
fn changed_fields(body: &[u8], at: usize, mut each: impl FnMut(&[u8])) {
    let before = fields(body);
    let mut with = |field: &[Vec<u8>]| {
        let (head, tail) = (&before[..at], &before[at + 1..]);
        each(&[head.concat(), field.concat(), tail.concat()].concat());
    };
    let field = before[at].clone();
    let sign = field.iter().position(|byte| *byte == b'=');
    let (tag, value) = field.split_at(sign.unwrap_or(field.len() - 1));
    with(&[]);
    with(&[field.clone(), field.clone()]);
    with(&[tag.to_vec(), b"\x01".to_vec()]);
    for other in TAGS {
        with(&[other.as_bytes().to_vec(), value.to_vec()]);
        with(&[field.clone(), format!("{other}=1\u{1}").into_bytes()]);
    }
    for other in VALUES {
        with(&[tag.to_vec(), format!("={other}\u{1}").into_bytes()]);
    }
    for other in &before {
        with(&[field.clone(), other.clone()]);
    }
}

#[test]
fn every_changed_field_has_the_same_result() {
    let mut comparison = Comparison::new();
    for (msg_type, text) in MESSAGES {
        let body = body(msg_type, 4, text);
        comparison.message(&body);
        for at in 0..fields(&body).len() {
            changed_fields(&body, at, |changed| comparison.message(changed));
        }
    }
    comparison.saw(13_000);
}

#[test]
fn every_changed_byte_has_the_same_result() {
    let mut comparison = Comparison::new();
    let mut random = Random::from_seed(1);
    for (msg_type, text) in MESSAGES {
        let body = body(msg_type, 4, text);
        for place in 0..body.len() {
            let (head, tail) = (&body[..place], &body[place + 1..]);
            for byte in *b"\x01=09x-." {
                comparison.message(&[head, &[byte], tail].concat());
            }
            let byte = random.below(256) as u8;
            comparison.message(&[head, &[byte], tail].concat());
            comparison.message(&[head, tail].concat());
            comparison.message(&[head, &body[place..=place], &body[place..]].concat());
        }
    }
    comparison.saw(14_000);
}

/// Two changes at once, also of messages behind a gap, of damaged frames, and of a stream that arrives in pieces.
#[test]
fn several_changes_in_any_order_have_the_same_result() {
    let mut comparison = Comparison::new();
    for seed in seeds(4_000) {
        let mut random = Random::from_seed(seed);
        let (msg_type, text) = *random.pick(&MESSAGES);
        let is_ahead = random.chance(0.2);
        let mut body = body(msg_type, 4 + u64::from(is_ahead), text);
        for _ in 0..1 + random.below(3) {
            let at = random.index(fields(&body).len());
            let mut ways = Vec::new();
            changed_fields(&body, at, |changed| ways.push(changed.to_vec()));
            body = random.pick(&ways).clone();
        }
        let mut bytes = framed(&body);
        if random.chance(0.05) {
            let place = random.index(bytes.len());
            bytes[place] = random.below(256) as u8;
        }
        bytes.extend(raw("X", 5 - u64::from(is_ahead), UPDATE));
        bytes.extend(raw("1", 6, "112=again|"));
        let (one, rest) = bytes.split_at(random.index(bytes.len()));
        let (two, rest) = rest.split_at(random.index(rest.len()));
        comparison.compare(&[one, two, rest]);
    }
}

impl Comparison {
    /// Checks the counts: a run in which all messages, or none, were rejected proves nothing.
    fn saw(&self, cases_min: usize) {
        let Comparison {
            cases,
            rejected,
            published,
            ..
        } = self;
        println!("{cases} messages, {rejected} rejected, {published} published");
        assert!(*cases >= cases_min && rejected * 20 > *cases && published * 20 > *cases);
    }
}
