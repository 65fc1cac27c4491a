//! The path under test: arrivals in, a picture and a subscriber's mirror out.

use touchline_book::LevelList;
use touchline_feed::cme::{FeedType, Join, Line, Settings};
use touchline_gateway::Limits;
use touchline_gateway::config::Symbols;
use touchline_gateway::venues::cme::{CmePipeline, build};
use touchline_lab::capture::{self, Arrival};
use touchline_lab::picture::{BookRow, Level, OrderRow, OrdersRow, Picture, State, TopRow};
use touchline_transport::{Local, Mirror, Publish, Subscribe};
use touchline_types::{BookKind, Instrument, Side, Validity};

/// A path whose updates go to a mirror and to another subscriber.
pub type Path<S> = CmePipeline<Local<(Mirror, S)>>;

const INSTRUMENTS_MAX: usize = 256;
const ORDERS_MAX: usize = 16_384;

/// Small limits, so that hundreds of paths can be built; all other settings are the defaults.
pub fn settings(join: Join) -> Settings {
    Settings {
        join,
        hold_packets_max: 1024,
        packet_bytes_max: 2048,
        instruments_max: INSTRUMENTS_MAX,
        queue_entries_max: 65_536,
        snapshot_orders_max: 4096,
        ..Settings::default()
    }
}

/// A path with these settings.
pub fn path<S: Subscribe>(settings: Settings, subscriber: S) -> Path<S> {
    let limits = Limits {
        instruments_max: settings.instruments_max,
        orders_max: ORDERS_MAX,
        event_changes_max: 4096,
        default_depth: settings.default_depth,
        levels_max: 0,
    };
    let mirror = Mirror::new(settings.instruments_max, ORDERS_MAX);
    build(
        settings,
        limits,
        Symbols::default(),
        Local::new((mirror, subscriber)),
    )
}

/// Runs arrivals through a path to their end.
pub fn run<S: Subscribe>(arrivals: &[Arrival], join: Join, subscriber: S) -> Path<S> {
    let mut path = path(settings(join), subscriber);
    for arrival in arrivals {
        path.packet(channel(arrival), &arrival.payload, arrival.time_ns, 0);
    }
    path.finish();
    path
}

/// The other subscriber.
pub fn subscriber<S: Subscribe>(path: &Path<S>) -> &S {
    &path.publisher().inner().subscriber.1
}

/// Feed and line in the path's types.
pub fn channel(arrival: &Arrival) -> (FeedType, Line) {
    let feed = match arrival.feed {
        capture::Feed::Incremental => FeedType::Incremental,
        capture::Feed::Definitions => FeedType::Definition,
        capture::Feed::Snapshot => FeedType::Snapshot,
        capture::Feed::OrderSnapshot => FeedType::SnapshotOrders,
    };
    let line = match arrival.line {
        capture::Line::A => Line::A,
        capture::Line::B => Line::B,
    };
    (feed, line)
}

/// Books and orders of the path; tops come from a subscriber.
pub fn picture<S: Subscribe>(path: &Path<S>, tops: Vec<TopRow>) -> Picture {
    let mut instruments: Vec<_> = path.instruments().iter().collect();
    instruments.sort_by_key(|instrument| path.instruments().definition(*instrument).security_id);
    Picture {
        books: instruments
            .iter()
            .map(|instrument| book_row(path, *instrument))
            .collect(),
        orders: instruments
            .iter()
            .map(|instrument| orders_row(path, *instrument))
            .collect(),
        tops,
    }
}

/// The mirror must equal the path for every instrument.
#[track_caller]
pub fn mirror_agrees<S: Subscribe>(path: &Path<S>, what: &str) {
    agrees(path, &path.publisher().inner().subscriber.0, what);
}

/// A subscriber's books and order books must equal the path's.
#[track_caller]
pub fn agrees<P: Publish>(path: &CmePipeline<P>, mirror: &Mirror, what: &str) {
    assert_eq!(
        mirror.inconsistent_updates(),
        0,
        "{what}: a published step did not fit the subscriber's book"
    );
    prices_agree(path, mirror, what);
    for instrument in path.instruments().iter() {
        let id = path.instruments().definition(instrument).security_id;
        let orders = |books: &touchline_book::OrderBooks, side| {
            let mut orders = Vec::new();
            books.visit(instrument, side, |o| {
                orders.push((o.order_id, o.price, o.quantity, o.priority))
            });
            orders
        };
        for side in Side::BOTH {
            let (own, mirrored) = (orders(path.orders(), side), orders(mirror.orders(), side));
            assert_eq!(
                mirrored, own,
                "{what}: orders of {id} differ at the subscriber"
            );
        }
        assert_eq!(
            mirror.orders_validity(instrument),
            path.feed().orders_validity(instrument),
            "{what}: orders of {id}"
        );
        assert_eq!(
            mirror.orders_validity(instrument),
            path.states().orders(instrument),
            "{what}: orders of {id} as they were published"
        );
    }
}

/// A subscriber's price books must equal the path's.
#[track_caller]
fn prices_agree<P: Publish>(path: &CmePipeline<P>, mirror: &Mirror, what: &str) {
    for instrument in path.instruments().iter() {
        let id = path.instruments().definition(instrument).security_id;
        for kind in [BookKind::Direct, BookKind::Implied] {
            for side in Side::BOTH {
                let levels = |book: Option<&touchline_book::PriceBook>| {
                    book.map(|book| book.levels(kind, side).iter().copied().collect::<Vec<_>>())
                        .unwrap_or_default()
                };
                let (own, mirrored) = (
                    levels(path.prices().get(instrument)),
                    levels(mirror.book(instrument)),
                );
                assert_eq!(
                    mirrored, own,
                    "{what}: {kind:?} {side:?} of {id} differ at the subscriber"
                );
            }
        }
        assert_eq!(
            mirror.validity(instrument),
            path.feed().validity(instrument),
            "{what}: {id}"
        );
        assert_eq!(
            mirror.validity(instrument),
            path.states().price(instrument),
            "{what}: {id} as it was published"
        );
    }
}

/// A level in the picture's type; implied levels have no order count.
pub fn level(level: &touchline_types::Level, kind: BookKind) -> Option<Level> {
    level.known.then(|| Level {
        price: (!level.price.is_null()).then_some(level.price.0),
        quantity: (!level.quantity.is_null()).then_some(level.quantity.0),
        orders: (kind == BookKind::Direct && level.orders >= 0).then_some(level.orders.into()),
    })
}

fn book_row<S: Subscribe>(path: &Path<S>, instrument: Instrument) -> BookRow {
    let feed = path.feed();
    let definition = path.instruments().definition(instrument);
    let levels = |kind, side| {
        let book = path.prices().get(instrument);
        let levels = book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
        levels.iter().map(|entry| level(entry, kind)).collect()
    };
    BookRow {
        security_id: definition.security_id as i32,
        symbol: (!definition.symbol.is_empty()).then(|| definition.symbol.to_string()),
        state: state(feed.validity(instrument)),
        last_rpt_seq: feed.last_rpt_seq(instrument),
        bids: levels(BookKind::Direct, Side::Bid),
        asks: levels(BookKind::Direct, Side::Ask),
        implied_bids: levels(BookKind::Implied, Side::Bid),
        implied_asks: levels(BookKind::Implied, Side::Ask),
    }
}

fn orders_row<S: Subscribe>(path: &Path<S>, instrument: Instrument) -> OrdersRow {
    let definition = path.instruments().definition(instrument);
    let orders = |side| {
        let mut rows = Vec::new();
        path.orders().visit(instrument, side, |order| {
            rows.push(OrderRow {
                id: order.order_id,
                price: (!order.price.is_null()).then_some(order.price.0),
                quantity: (!order.quantity.is_null()).then_some(order.quantity.0),
            });
        });
        rows
    };
    OrdersRow {
        security_id: definition.security_id as i32,
        symbol: (!definition.symbol.is_empty()).then(|| definition.symbol.to_string()),
        state: state(path.feed().orders_validity(instrument)),
        bids: orders(Side::Bid),
        asks: orders(Side::Ask),
    }
}

fn state(validity: Validity) -> State {
    match validity {
        Validity::Live => State::Live,
        Validity::Gapped => State::Gapped,
        Validity::Recovering => State::Recovering,
        Validity::Natural => State::Natural,
        Validity::Stale | Validity::Closed => panic!("the CME feed gives no such state"),
    }
}
