//! A channel of CME MDP 3.0: packets on any feed and line, at any pace, through feed and books to a subscriber.
//!
//! The input tests state as well as bytes: each packet meets the state that earlier ones left. The input is a sequence
//! of
//!
//! ```text
//! | head u8 | length u16 | payload |      head: feed in bits 0-1, line in bit 2, milliseconds since the last one above
//! ```

use crate::Target;
use touchline_feed::arbitration::CopyHash;
use touchline_feed::cme::{Counters, FeedType, Join, Line, Replay, Settings};
use touchline_gateway::{Limits, config::Symbols, venues::cme};
use touchline_lab::{
    capture::{self, Arrival},
    cme::{Options, generate},
    fault::{Fault, FaultPlan, deliver},
};
use touchline_transport::{Local, Mirror};
use touchline_types::{BookKind, Depth, Instrument, Side, Validity};

pub(crate) const TARGET: Target = Target {
    name: "mdp3_channel",
    about: "whatever packets come, counters add up and a subscriber's books follow the gateway's",
    run,
    seeds,
};

const FEEDS: [FeedType; 4] = [
    FeedType::Incremental,
    FeedType::Snapshot,
    FeedType::SnapshotOrders,
    FeedType::Definition,
];
const HEAD_BYTES: usize = 3;
/// Maximum length of a seed, as given to libFuzzer.
const SEED_BYTES_MAX: usize = 4000;
const START_NS: u64 = 1_767_571_200_000_000_000;
const DEPTH: Depth = Depth {
    direct: 10,
    implied: 2,
};

/// Small, so that every limit is reached.
const SETTINGS: Settings = Settings {
    join: Join::Snapshot,
    wait_ns: 20_000_000,
    hold_packets_max: 16,
    packet_bytes_max: 1500,
    instruments_max: 16,
    queue_entries_max: 64,
    order_books: true,
    snapshot_orders_max: 32,
    default_depth: DEPTH,
    trust_undefined: true,
    stale_ns: 50_000_000,
    silence_ns: 5_000_000,
    compare_copies: None,
    replay: None,
};
const REPLAY: Replay = Replay {
    wait_ns: 30_000_000,
    packets_max: 8,
};
const LIMITS: Limits = Limits {
    instruments_max: 16,
    orders_max: 64,
    event_changes_max: 32,
    default_depth: DEPTH,
    levels_max: 0,
};

fn run(bytes: &[u8]) {
    // The first byte chooses how to join, whether gaps wait for replay, copies are compared, and order books are kept.
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let join = if choice & 1 == 0 {
        Join::Snapshot
    } else {
        Join::Natural
    };
    let subscriber = Local::new(Mirror::new(LIMITS.instruments_max, LIMITS.orders_max));
    let mut path = cme::build(
        Settings {
            join,
            replay: (choice & 2 != 0).then_some(REPLAY),
            compare_copies: (choice & 8 != 0).then(|| CopyHash::new(0)),
            order_books: choice & 16 == 0,
            ..SETTINGS
        },
        LIMITS,
        Symbols::default(),
        subscriber,
    );
    let (mut now_ns, mut incremental) = (START_NS, 0);
    for (head, payload) in packets(bytes) {
        let feed = FEEDS[usize::from(head & 3)];
        let line = if head & 4 == 0 { Line::A } else { Line::B };
        // Packets of the replay have no line: they take the place of a line of definitions.
        let is_replay = choice & 2 != 0 && (feed, line) == (FeedType::Definition, Line::B);
        let feed = if is_replay { FeedType::Replay } else { feed };
        if choice & 4 != 0 && is_replay && payload.is_empty() {
            path.request_failed(now_ns);
        }
        now_ns += u64::from(head >> 3) * 1_000_000;
        path.advance(now_ns);
        path.packet((feed, line), payload, now_ns, 0);
        incremental += u64::from(feed == FeedType::Incremental);
        assert_not_fresh_while_awaiting(&path);
    }
    path.finish();
    assert_counted(path.feed().counters(), incremental);
    assert_trusted(&path);
}

/// A subscriber trusts no book that the gateway does not trust.
fn assert_trusted(path: &cme::CmePipeline<Local<Mirror>>) {
    let mirror = &path.publisher().inner().subscriber;
    assert_eq!(
        mirror.inconsistent_updates(),
        0,
        "an update does not fit the subscriber's books"
    );
    for index in 0..path.instruments().len() {
        let instrument = Instrument(index as u32);
        // An open event may still hide from the subscriber that a book is good, never that it is not.
        let trusts = |mine: Validity, gateways: Validity| {
            assert!(
                mine != Validity::Live || gateways == Validity::Live,
                "live, where it is {gateways:?}"
            );
        };
        trusts(
            mirror.validity(instrument),
            path.feed().validity(instrument),
        );
        trusts(
            mirror.orders_validity(instrument),
            path.feed().orders_validity(instrument),
        );
        if let Some(book) = mirror.book(instrument) {
            for side in Side::BOTH {
                assert!(book.levels(BookKind::Direct, side).len() <= usize::from(DEPTH.direct));
                assert!(book.levels(BookKind::Implied, side).len() <= usize::from(DEPTH.implied));
            }
        }
    }
}

/// While packets are awaited, a subscriber has no live price book.
fn assert_not_fresh_while_awaiting(path: &cme::CmePipeline<Local<Mirror>>) {
    if path.request().is_none() {
        return;
    }
    let mirror = &path.publisher().inner().subscriber;
    for index in 0..path.instruments().len() {
        let validity = mirror.validity(Instrument(index as u32));
        assert_ne!(validity, Validity::Live, "live, while packets are awaited");
    }
}

/// Each packet of the incremental feed is counted once on its line and once by its outcome.
fn assert_counted(counters: &Counters, incremental: u64) {
    assert_eq!(
        counters.packets_a + counters.packets_b,
        incremental,
        "a packet was not counted"
    );
    let judged = counters.packets_first_a
        + counters.packets_first_b
        + counters.packets_duplicate
        + counters.packets_late
        + counters.packets_old_epoch
        + counters.packets_implausible
        + counters.packets_different
        + counters.packets_out_of_window;
    // Invalid packets are counted over all feeds.
    assert!(
        (judged..=judged + counters.packets_invalid).contains(&incremental),
        "{counters:?}"
    );
    assert!(
        counters.packets_delivered <= incremental + counters.packets_replayed,
        "a packet was processed twice"
    );
}

/// Heads and payloads; a length beyond the end means the rest.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[head, low, high], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (payload, rest) = rest.split_at(length.min(rest.len()));
        bytes = rest;
        Some((head, payload))
    })
}

/// Pieces of generated sessions with faults on both lines.
fn seeds() -> Vec<Vec<u8>> {
    let plan = FaultPlan::all_feeds([
        Fault::Drop { share: 0.1 },
        Fault::DropOnAllLines {
            share: 0.02,
            packets_max: 5,
        },
        Fault::Duplicate { share: 0.05 },
        Fault::Reorder {
            share: 0.1,
            by_max: 6,
        },
        Fault::Corrupt { share: 0.02 },
        Fault::Forge {
            share: 0.02,
            ahead: 1 << 31,
        },
    ]);
    let mut seeds = Vec::new();
    for seed in 0..4 {
        let options = Options {
            instruments: 3,
            events: 120,
            channel_resets: 1,
            weekly_resets: 1,
            bulk_actions: true,
            ..Options::default()
        };
        let arrivals = deliver(&generate(&options, seed), &plan, seed).arrivals;
        seeds.extend(pieces(&arrivals).take(40));
    }
    seeds
}

/// The arrivals in pieces of a seed's size.
fn pieces(arrivals: &[Arrival]) -> impl Iterator<Item = Vec<u8>> {
    let mut rest = arrivals;
    let mut previous_ns = arrivals.first().map_or(0, |arrival| arrival.time_ns);
    std::iter::from_fn(move || {
        let mut piece = vec![rest.len() as u8];
        while let Some((arrival, behind)) = rest.split_first() {
            if piece.len() > 1 && piece.len() + HEAD_BYTES + arrival.payload.len() > SEED_BYTES_MAX
            {
                break;
            }
            let waited_ms = (arrival.time_ns.saturating_sub(previous_ns) / 1_000_000).min(31) as u8;
            piece.push(waited_ms << 3 | line_bit(arrival) | feed_bits(arrival));
            piece.extend((arrival.payload.len() as u16).to_le_bytes());
            piece.extend(&arrival.payload);
            previous_ns = arrival.time_ns;
            rest = behind;
        }
        (piece.len() > 1).then_some(piece)
    })
}

fn line_bit(arrival: &Arrival) -> u8 {
    if arrival.line == capture::Line::B {
        4
    } else {
        0
    }
}

fn feed_bits(arrival: &Arrival) -> u8 {
    match arrival.feed {
        capture::Feed::Incremental => 0,
        capture::Feed::Snapshot => 1,
        capture::Feed::OrderSnapshot => 2,
        capture::Feed::Definitions => 3,
    }
}
