//! A CME MDP 3.0 exchange: real packets of a generated market, with the truth.
//!
//! The markets are real limit order books; what is published is derived from them, so that the truth of a session is
//! true by construction. Everything depends on the seed alone.

pub mod config;
pub mod encode;
pub mod flow;
pub mod instrument;
pub mod ladder;
pub mod market;
pub mod publisher;
pub mod snapshots;

use crate::capture::Feed;
use crate::picture::{BookRow, OrderRow, OrdersRow, Picture, Side, State};
use crate::random::Random;
use encode::Version;
use encode::incremental::Body;
use flow::Flow;
use ladder::List;
use publisher::Publisher;
use snapshots::{SnapshotLoop, send_definitions};

/// What a session is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// The schema version.
    pub version: Version,
    /// Number of instruments.
    pub instruments: usize,
    /// Number of events.
    pub events: usize,
    /// Use DeleteThru, DeleteFrom and Overlay where they are natural.
    pub bulk_actions: bool,
    /// Share of events that bring a message of an unknown template, 0 to 1.
    pub unknown_share: f64,
    /// Share of messages of the incremental feed written as a version would that nobody knows yet, 0 to 1.
    pub future_share: f64,
    /// Number of channel resets, spread over the session.
    pub channel_resets: usize,
    /// Packet numbers start again at 1 after a channel reset; otherwise they go on.
    pub renumber_after_channel_reset: bool,
    /// Number of weekly restarts of all numbers, spread over the session.
    pub weekly_resets: usize,
    /// Faults leave the packets alone that show a reset. One that is lost cannot be noticed where the RptSeq of an
    /// instrument happens to go on at the old number, and then a book is wrong for good: a limit of the protocol.
    pub spare_resets: bool,
    /// The last instrument is defined in the middle of the session, on the incremental feed.
    pub late_definition: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            version: Version::V9,
            instruments: 10,
            events: 400,
            bulk_actions: false,
            unknown_share: 0.0,
            future_share: 0.0,
            channel_resets: 0,
            renumber_after_channel_reset: false,
            weekly_resets: 0,
            spare_resets: true,
            late_definition: false,
        }
    }
}

impl Options {
    /// A session with everything in it, as varied as the seed will have it.
    pub fn varied(seed: u64) -> Self {
        let mut random = Random::from_seed(seed ^ 0x6f70_7469_6f6e_7321);
        Self {
            version: *random.pick(&[Version::V9, Version::V13]),
            instruments: random.between(3, 24) as usize,
            events: random.between(150, 600) as usize,
            bulk_actions: random.chance(0.5),
            unknown_share: *random.pick(&[0.0, 0.05]),
            future_share: *random.pick(&[0.0, 0.1]),
            channel_resets: random.index(3),
            renumber_after_channel_reset: random.chance(0.5),
            weekly_resets: random.index(2),
            spare_resets: true,
            late_definition: random.chance(0.5),
        }
    }
}

/// One packet, before it is sent over two lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPacket {
    /// When it arrives on an undisturbed line, nanoseconds since 1970.
    pub time_ns: u64,
    /// The feed it belongs to.
    pub feed: Feed,
    /// Its sequence in that feed.
    pub sequence: u32,
    /// Faults leave it alone. So are the heartbeats and whole loops that end a session and heal everything, and, if
    /// [`Options::spare_resets`] says so, the packets that show a reset.
    pub spared: bool,
    /// The datagram.
    pub payload: Vec<u8>,
}

/// A session and its truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Everything sent, in order of time.
    pub packets: Vec<SentPacket>,
    /// What a subscriber that misses nothing has in the end.
    pub truth: Picture,
}

/// When sessions begin: 2026-01-05 00:00:00 UTC, a Monday.
const START_NS: u64 = 1_767_571_200_000_000_000;

/// Generates a session.
pub fn generate(options: &Options, seed: u64) -> Session {
    let mut random = Random::from_seed(seed);
    let instruments = instrument::generate(options.instruments, options.version, &mut random);
    let mut exchange = Exchange::new(options, instruments, random);
    send_definitions(&mut exchange.publisher, exchange.defined);
    exchange.heartbeat();
    // Whoever hears the first packet of either line second must not take it for an old one.
    exchange.publisher.now_ns += 1_000_000;
    for event in 0..options.events {
        exchange.pass_time();
        if falls_on(event, options.events, options.channel_resets, 1) {
            exchange.reset_channel(options.renumber_after_channel_reset);
        }
        if falls_on(event, options.events, options.weekly_resets, 2) {
            exchange.reset_week();
        }
        if event == options.events / 2 {
            exchange.define_rest();
        }
        exchange
            .flow
            .event(&mut exchange.publisher, exchange.defined);
        exchange.send_around();
    }
    exchange.wind_down();
    exchange.session()
}

/// True for the events at which one of `count` happenings falls that are spread evenly over `events`. The phase keeps
/// different happenings apart.
fn falls_on(event: usize, events: usize, count: usize, phase: usize) -> bool {
    (1..=count).any(|k| event == (k * events / (count + 1) + phase).min(events - 1))
}

/// A running exchange.
struct Exchange {
    publisher: Publisher,
    flow: Flow,
    /// How many instruments are defined.
    defined: usize,
    spare_resets: bool,
    /// The running loops of the two snapshot feeds.
    loops: [Option<SnapshotLoop>; 2],
    random: Random,
}

const LOOP_FEEDS: [Feed; 2] = [Feed::Snapshot, Feed::OrderSnapshot];

impl Exchange {
    fn new(
        options: &Options,
        instruments: Vec<instrument::Instrument>,
        mut random: Random,
    ) -> Self {
        let defined =
            instruments.len() - usize::from(options.late_definition && instruments.len() > 1);
        let mut flow = Flow::new(&instruments, random.split());
        flow.bulk_actions = options.bulk_actions;
        flow.unknown_share = options.unknown_share;
        let mut publisher = Publisher::new(options.version, instruments, START_NS);
        publisher.future_share = options.future_share;
        Self {
            publisher,
            flow,
            defined,
            spare_resets: options.spare_resets,
            loops: [None, None],
            random,
        }
    }

    /// Bursts of a few microseconds, and pauses of a few milliseconds.
    fn pass_time(&mut self) {
        let pause_ns = if self.random.chance(0.3) {
            6_000_000
        } else {
            20_000
        };
        self.publisher.now_ns += self.random.below(pause_ns);
    }

    /// What goes on beside the events: packets end, loops run, heartbeats.
    fn send_around(&mut self) {
        if self.random.chance(0.75) {
            self.publisher.flush();
        }
        if !self.publisher.at_boundary() {
            return;
        }
        for kind in 0..2 {
            if self.random.chance(0.4) {
                self.step_loop(kind);
            }
        }
        if self.random.chance(0.02) {
            self.heartbeat();
        }
        if self.random.chance(0.02) {
            send_definitions(&mut self.publisher, self.defined);
        }
    }

    fn heartbeat(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 1_000_000;
        self.publisher.emit(Body::Heartbeat, 0, 0, &mut self.random);
        self.publisher.flush();
    }

    /// Sends one packet of a snapshot loop. It may arrive before the last incremental packet that it contains.
    fn step_loop(&mut self, kind: usize) {
        let publisher = &mut self.publisher;
        let ahead = self.random.chance(0.2);
        let wanted_ns = if ahead {
            publisher.now_ns
        } else {
            publisher.now_ns + 5_000
        };
        let running = self.loops[kind]
            .get_or_insert_with(|| SnapshotLoop::begin(LOOP_FEEDS[kind], publisher));
        if !running.send_packet(publisher, wanted_ns, &mut self.random) {
            self.loops[kind] = None;
        }
    }

    fn reset_channel(&mut self, renumber: bool) {
        self.publisher.flush();
        self.publisher.spared = self.spare_resets;
        self.flow.reset_channel(&mut self.publisher);
        if renumber {
            self.publisher.flush();
            self.publisher.now_ns += 100_000;
            self.publisher.sequence = 0;
        }
        self.loops = [None, None];
        self.flow.republish(&mut self.publisher);
        self.publisher.flush();
        self.publisher.spared = false;
    }

    fn reset_week(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 50_000_000;
        self.flow.clear();
        self.publisher.forget_published();
        self.publisher.sequence = 0;
        self.loops = [None, None];
        self.publisher.spared = self.spare_resets;
        self.heartbeat();
        self.publisher.spared = false;
    }

    /// Instruments that are not in the definition loop yet come on the incremental feed, an event of their own.
    fn define_rest(&mut self) {
        let instruments = self.publisher.instruments.clone();
        let reports = instruments.len() as u32;
        for instrument in &instruments[self.defined..] {
            let definition =
                encode::definition::encode(self.publisher.version, instrument, reports, 0x80);
            self.publisher.put(definition);
        }
        self.defined = instruments.len();
    }

    /// The end that heals everything: time for the last holes to be given up, then whole loops of all feeds.
    fn wind_down(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 1_000_000_000;
        self.publisher.spared = true;
        for _ in 0..3 {
            self.heartbeat();
            self.publisher.now_ns += 100_000_000;
        }
        send_definitions(&mut self.publisher, self.defined);
        for kind in [0, 1, 0, 1] {
            self.whole_loop(kind);
        }
    }

    /// Runs a snapshot loop from its beginning to its end.
    fn whole_loop(&mut self, kind: usize) {
        self.loops[kind] = Some(SnapshotLoop::begin(LOOP_FEEDS[kind], &self.publisher));
        while self.loops[kind].is_some() {
            self.publisher.now_ns += 1_000_000;
            self.step_loop(kind);
        }
    }

    fn session(self) -> Session {
        let mut packets = self.publisher.packets;
        packets.sort_by_key(|packet| packet.time_ns);
        let rows = self
            .publisher
            .instruments
            .iter()
            .zip(&self.publisher.published)
            .zip(&self.flow.markets);
        let mut truth = Picture {
            tops: self.flow.tops,
            ..Picture::default()
        };
        for ((instrument, published), market) in rows {
            let levels = |list: List| {
                let depth = if list.implied {
                    instrument.implied_depth()
                } else {
                    instrument.depth()
                };
                list.of(market, depth)
                    .into_iter()
                    .map(|rung| Some(rung.into()))
                    .collect()
            };
            let [bids, asks, implied_bids, implied_asks] = List::ALL.map(levels);
            let (security_id, symbol) = (instrument.security_id, Some(instrument.symbol.clone()));
            let (state, last_rpt_seq) = (State::Live, published.rpt_seq);
            let orders = |side: Side| {
                let row = |order: &market::RestingOrder| OrderRow {
                    id: order.id,
                    price: Some(order.price),
                    quantity: Some(order.quantity),
                };
                market.orders(side).iter().map(row).collect()
            };
            truth.orders.push(OrdersRow {
                security_id,
                symbol: symbol.clone(),
                state,
                bids: orders(Side::Bid),
                asks: orders(Side::Ask),
            });
            truth.books.push(BookRow {
                security_id,
                symbol,
                state,
                last_rpt_seq,
                bids,
                asks,
                implied_bids,
                implied_asks,
            });
        }
        Session { packets, truth }
    }
}
