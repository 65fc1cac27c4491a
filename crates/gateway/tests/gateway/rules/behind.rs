//! The incremental feed is behind the snapshots, as on a loaded host, and the channel is reset meanwhile. Goal: no
//! subscriber sees a live book that is older than one published before. Method: the published books are compared with
//! the exchange's books after each event.

use touchline_book::LevelList;
use touchline_feed::cme::{FeedType, Line, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::capture;
use touchline_lab::cme::expected_books::{BookState, Checker, Verdict, hash};
use touchline_lab::cme::live::{Live, Moment};
use touchline_lab::cme::{Options, SentPacket};
use touchline_lab::random::{Random, seeds};
use touchline_transport::{Envelope, Local, Mirror, Subscribe};
use touchline_types::{BookKind, Instrument, Level, Side, Update, Validity};

const EVENTS: u64 = 900;
const SECOND: u64 = 1_000_000_000;
const INSTRUMENTS_MAX: usize = 64;
const ORDERS_MAX: usize = 16_384;

#[test]
fn a_late_reset_reverts_no_live_book() {
    let mut right = 0;
    for seed in seeds(40) {
        let mut random = Random::from_seed(seed ^ 0x6c61_6767);
        let (states, packets) = exchange(seed);
        let shown = listen(&packets, random.index(300), &mut random);
        let verdict = judge(&states, &shown);
        assert_eq!(verdict.wrong, 0, "seed {seed}: {verdict:?}");
        right += verdict.right;
    }
    assert!(right > 40 * 100, "{right} live books show nothing");
}

/// An exchange with two resets: the states of its books, and its packets.
fn exchange(seed: u64) -> (Vec<BookState>, Vec<SentPacket>) {
    let options = Options {
        spare_resets: true,
        ..Options::default()
    };
    let mut live = Live::new(&options, 600.0, seed);
    live.keep_states();
    let mut resets = 0;
    while live.events() < EVENTS {
        let elapsed_ns = live.due_ns();
        let now = Moment {
            elapsed_ns,
            wall_ns: SECOND + elapsed_ns,
        };
        live.step(now);
        if live.events() > (resets + 1) * EVENTS / 3 {
            resets += 1;
            live.reset_channel(now);
        }
    }
    let states = std::mem::take(live.states());
    (states, std::mem::take(live.packets()))
}

/// Live books of a gateway that reads each incremental packet `lag` packets late, and loses some.
fn listen(packets: &[SentPacket], lag: usize, random: &mut Random) -> Vec<(i32, u64)> {
    let mut path = path();
    let mut late = std::collections::VecDeque::new();
    for packet in packets {
        let now_ns = packet.time_ns;
        if packet.feed != capture::Feed::Incremental {
            receive(&mut path, packet, now_ns);
            continue;
        }
        late.push_back(packet);
        while late.len() > lag {
            let packet = late.pop_front().expect("there are more than none");
            if packet.spared || !random.chance(0.02) {
                receive(&mut path, packet, now_ns);
            }
        }
    }
    std::mem::take(&mut path.publisher_mut().inner_mut().subscriber.states)
}

fn receive(path: &mut CmePipeline<Local<Shown>>, packet: &SentPacket, now_ns: u64) {
    let feed = match packet.feed {
        capture::Feed::Incremental => FeedType::Incremental,
        capture::Feed::Definitions => FeedType::Definition,
        capture::Feed::Snapshot => FeedType::Snapshot,
        capture::Feed::OrderSnapshot => FeedType::SnapshotOrders,
    };
    path.packet((feed, Line::A), &packet.payload, now_ns, 0);
}

fn path() -> CmePipeline<Local<Shown>> {
    let settings = Settings {
        hold_packets_max: 1024,
        instruments_max: INSTRUMENTS_MAX,
        queue_entries_max: 65_536,
        snapshot_orders_max: 4096,
        trust_undefined: false,
        ..Settings::default()
    };
    let limits = Limits {
        instruments_max: INSTRUMENTS_MAX,
        orders_max: ORDERS_MAX,
        event_changes_max: 4096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    let shown = Shown {
        mirror: Mirror::new(INSTRUMENTS_MAX, ORDERS_MAX),
        defined: Vec::new(),
        states: Vec::new(),
    };
    build(settings, limits, Symbols::default(), Local::new(shown))
}

fn judge(expected_books: &[BookState], shown: &[(i32, u64)]) -> Verdict {
    let mut checker = Checker::new(1_000_000);
    expected_books
        .iter()
        .for_each(|state| checker.expected(*state));
    shown.iter().for_each(|(id, hash)| checker.seen(*id, *hash));
    checker.finish()
}

/// Every live book after every packet.
struct Shown {
    mirror: Mirror,
    defined: Vec<(Instrument, i32)>,
    states: Vec<(i32, u64)>,
}

impl Shown {
    fn hash(&self, instrument: Instrument) -> u64 {
        let book = self.mirror.book(instrument);
        let lists = [
            (BookKind::Direct, Side::Bid),
            (BookKind::Direct, Side::Ask),
            (BookKind::Implied, Side::Bid),
            (BookKind::Implied, Side::Ask),
        ];
        let numbers = |level: &Level| (level.price.0, level.quantity.0, i64::from(level.orders));
        hash(lists.map(|(kind, side)| {
            let levels = book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
            levels.iter().map(numbers)
        }))
    }
}

impl Subscribe for Shown {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.mirror.update(envelope);
        if let Update::Definition(definition) = envelope.update
            && !self
                .defined
                .iter()
                .any(|row| row.0 == definition.instrument)
        {
            let row = (definition.instrument, definition.security_id as i32);
            self.defined.push(row);
        }
    }

    fn batch_end(&mut self) {
        for (instrument, id) in &self.defined {
            if self.mirror.validity(*instrument) == Validity::Live {
                self.states.push((*id, self.hash(*instrument)));
            }
        }
    }
}
