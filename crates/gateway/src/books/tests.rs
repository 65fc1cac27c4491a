//! Tests of the books without a feed: events in, updates out.

use super::{Limits, MarketBooks};
use touchline_feed::BookRules;
use touchline_instruments::Instruments;
use touchline_transport::{Envelope, Local, Subscribe};
use touchline_types::{
    BookKind, Code, Depth, Event, Instrument, LevelEvent, OrderAction, OrderEvent, Place, Price,
    Quantity, Side, TradingStatus, Update, UpdateAction, Validity,
};

const DEPTH: Depth = Depth {
    direct: 10,
    implied: 2,
};
const BY_PRICE: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

/// Updates as text.
#[derive(Default)]
struct Written(Vec<String>);

impl Subscribe for Written {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.0.push(match envelope.update {
            Update::Definition(definition) => format!("instrument {}", definition.security_id),
            Update::Book(book) => format!(
                "book {} {} whole {} changes {}",
                book.security_id,
                book.validity.name(),
                book.whole,
                book.changes.len()
            ),
            Update::Orders(orders) => format!(
                "orders {} changes {}",
                orders.validity.name(),
                orders.changes.len()
            ),
            Update::OrdersSnapshot(orders) => format!(
                "whole orders {} {}",
                orders.validity.name(),
                orders.orders.len()
            ),
            Update::Gap(gap) => format!("gap {} to {}", gap.first, gap.last),
            other => format!("{other:?}"),
        });
    }

    fn batch_end(&mut self) {}
}

struct Bench {
    books: MarketBooks,
    instruments: Instruments,
    out: Local<Written>,
}

impl Bench {
    fn new(depth: Depth) -> Bench {
        let limits = Limits {
            instruments_max: 4,
            orders_max: 2,
            event_changes_max: 16,
            default_depth: depth,
            levels_max: 8,
        };
        let rules = BookRules {
            missing: Validity::Recovering,
            inconsistent: Validity::Gapped,
        };
        let mut instruments = Instruments::by_security_id(Code::EMPTY, 4);
        instruments.add_security(700, depth).expect("there is room");
        Bench {
            books: MarketBooks::new(limits, rules),
            instruments,
            out: Local::default(),
        }
    }

    /// Updates of a batch.
    fn apply(&mut self, events: &[Event], event_open: bool) -> Vec<String> {
        self.books
            .apply(events, event_open, &self.instruments, &mut self.out);
        std::mem::take(&mut self.out.subscriber.0)
    }
}

fn bid(place: Place, action: UpdateAction, price: i64) -> Event {
    let level = LevelEvent {
        instrument: Instrument(0),
        orders: 1,
        price: Price(price),
        quantity: Quantity(5),
        place,
        action,
        side: Side::Bid,
        book: BookKind::Direct,
    };
    Event::Level(level, Validity::Live)
}

fn order(order_id: u64) -> Event {
    let order = OrderEvent {
        order_id,
        priority: Some(order_id),
        price: Price(100),
        quantity: Quantity(5),
        instrument: Instrument(0),
        action: OrderAction::New,
        side: Side::Bid,
    };
    Event::Order(order, Validity::Live)
}

const END: Event = Event::EndOfEvent { transact_ns: 1 };

#[test]
fn an_event_over_two_packets_is_one_update() {
    let mut bench = Bench::new(DEPTH);
    let new = |position, price| bid(Place::Position(position), UpdateAction::New, price);
    assert_eq!(bench.apply(&[new(1, 100)], true), ["instrument 700"]);
    assert_eq!(
        bench.apply(&[new(1, 101), END], false),
        ["book 700 live whole true changes 2"]
    );
    assert!(bench.books.feedback().is_empty());
}

/// Books change without an event with the time of the last one.
#[test]
fn a_status_leaves_the_time_of_the_last_event() {
    let mut bench = Bench::new(DEPTH);
    let status = TradingStatus {
        instrument: Some(Instrument(0)),
        group: [0; 6],
        status: 2,
        reason: 255,
        event: 255,
    };
    bench.apply(&[END, Event::Status(status, 0)], false);
    assert_eq!(bench.books.timestamps.exchange_ns, 1);
}

#[test]
fn an_event_truncated_by_a_loss_is_published_behind_the_gap_and_not_live() {
    let mut bench = Bench::new(DEPTH);
    let new = bid(Place::Position(1), UpdateAction::New, 100);
    bench.apply(&[new], true);
    let lost = Event::Lost {
        first: 1 << 33,
        last: (1 << 33) + 1,
        is_join: false,
    };
    assert_eq!(
        bench.apply(&[lost], false),
        [
            "gap 8589934592 to 8589934593",
            "book 700 gapped whole false changes 1"
        ]
    );
}

#[test]
fn orders_without_room_are_reported_to_the_feed_and_unknown_until_rebuilt() {
    let mut bench = Bench::new(DEPTH);
    let shown = bench.apply(&[order(1), order(2), order(3), order(4), END], false);
    assert_eq!(shown, ["instrument 700", "whole orders recovering 1"]);
    assert_eq!(
        bench.books.feedback().orders_overflowed,
        [Instrument(0)],
        "once"
    );
    bench.books.feedback().clear();
    // The report is not repeated in a later batch.
    let shown = bench.apply(&[order(5), END], false);
    assert_eq!(shown, ["orders recovering changes 1"]);
    let rebuilt = [
        Event::RebuildOrders(Instrument(0)),
        Event::OrdersRebuilt(Instrument(0), Validity::Live),
    ];
    assert_eq!(bench.apply(&rebuilt, false), ["whole orders live 0"]);
    assert!(bench.books.feedback().is_empty());
}

#[test]
fn an_inconsistent_change_is_reported_to_the_feed_and_never_published_as_live() {
    let mut bench = Bench::new(BY_PRICE);
    bench.apply(&[bid(Place::Price, UpdateAction::New, 100), END], false);
    let again = bid(Place::Price, UpdateAction::New, 100);
    let shown = bench.apply(&[again, again, END], false);
    assert_eq!(shown, ["book 700 gapped whole true changes 2"]);
    assert_eq!(bench.books.feedback().inconsistent, [Instrument(0)], "once");
}
