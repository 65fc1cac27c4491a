//! Refreshes at the receiver: refreshes that make books known, incomplete ones, and the state for readers of its bus.

use crate::buses::{Buses, INSTRUMENTS, Market, receiver, seen, small, values};
use crate::core::{LEVEL, Stand, batch, book, book_of, head};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use touchline_lab::market::values::times;
use touchline_relay::batch::{Batch, Received};
use touchline_relay::link::memory::MemoryLink;
use touchline_relay::link::{Kind, SendLink};
use touchline_relay::run::{Sending, Work};
use touchline_relay::{Head, HeadFlags, ReceiverSettings};
use touchline_transport::shm::{
    CountersFile, Images, Join, Publisher, Settings, Subscriber, Value,
};
use touchline_transport::{Envelope, Mirror, Publish, Subscribe, SubscriptionEvent};
use touchline_types::native::{Flags, parts};
use touchline_types::{
    BookKind, BookUpdate, Gap, Instrument, LevelAction, LevelChange, OrderAction, OrderChange,
    OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity, Side, Statistic, StatisticKind, Trade,
    Update, UpdateAction, Validity,
};

/// A link in memory whose batches the test takes while the sender has it.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<MemoryLink>>);

impl SendLink for Shared {
    fn send(&mut self, batch: &Batch, kind: Kind) -> bool {
        self.0.borrow_mut().send(batch, kind)
    }

    fn has_room(&self) -> bool {
        true
    }

    fn asked(&mut self) -> u32 {
        self.0.borrow_mut().asked()
    }

    fn answer(&mut self, head: &Head) {
        self.0.borrow_mut().answer(head);
    }

    fn work(&mut self, _now_ns: u64) -> usize {
        0
    }
}

impl Shared {
    /// Batches of the messages that the bus has now.
    fn stream(&self, sender: &mut impl Work) -> Vec<Vec<u8>> {
        while sender.work().expect("the link works") > 0 {}
        self.0.borrow_mut().batches.drain(..).collect()
    }

    /// The batches of a round of refreshes that a receiver asked for.
    fn round(&self, sender: &mut impl Work) -> Vec<Vec<u8>> {
        self.0.borrow_mut().requests += 1;
        let mut round = Vec::new();
        loop {
            sender.work().expect("the link works");
            for batch in self.0.borrow_mut().batches.drain(..) {
                let flags = Received::read(&batch).expect("a batch").head.flags;
                if flags.has(HeadFlags::REFRESH) {
                    round.push(batch);
                }
                if flags.has(HeadFlags::ROUND_END) {
                    return round;
                }
            }
        }
    }
}

/// A bus, its sender, and a receiver with a bus of its own. The test passes the sender's batches to the receiver.
struct Pair {
    buses: Buses,
    publisher: Publisher,
    link: Shared,
    sender: Sending<Shared>,
    stand: Stand<Publisher>,
}

impl Pair {
    /// Makes a pair whose receiver joins after the updates of `before`.
    fn new(before: impl FnOnce(&mut Publisher)) -> Pair {
        let buses = Buses::new();
        let mut publisher = buses.publisher("a");
        let link = Shared::default();
        let mut sender = buses.sending("a", "gw1", link.clone());
        before(&mut publisher);
        publisher.commit();
        link.stream(&mut sender);
        let stand = Stand::with(receiver(), buses.publisher("b"));
        Pair {
            buses,
            publisher,
            link,
            sender,
            stand,
        }
    }

    fn publish(&mut self, update: &Update<'_>) {
        self.publisher.publish(update, &times());
        self.publisher.commit();
    }

    /// The receiver takes the stream.
    fn pass(&mut self) {
        for bytes in self.link.stream(&mut self.sender) {
            self.take(&bytes);
        }
    }

    /// The receiver takes a round of refreshes.
    fn refresh(&mut self) {
        for bytes in self.link.round(&mut self.sender) {
            self.take(&bytes);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let Stand { receiver, out, now } = &mut self.stand;
        receiver.take(bytes, *now, 7, out);
    }

    /// Readers that join now have the same books on both buses, and screens show those that they show of the first.
    #[track_caller]
    fn agrees(&mut self, what: &str) {
        self.pass();
        let report = self
            .stand
            .receiver
            .report(self.stand.now)
            .expect("a stream");
        self.stand.answer(Head {
            flags: HeadFlags::NONE,
            ..report
        });
        for instrument in (0..64).map(Instrument) {
            let [a, b] = ["a", "b"].map(|bus| seen(&self.buses.joined(bus), instrument));
            assert_eq!(a, b, "{what}, {instrument:?}");
            let root = self.buses.root();
            let mut images = ["a", "b"].map(|bus| Images::open(&root, bus).expect("it is there"));
            let [a, b] = images
                .each_mut()
                .map(|images| images.book(instrument).is_ok());
            assert!(b || !a, "{what}, {instrument:?} is not shown");
            let [a, b] = images.each_mut().map(|images| values(images, instrument));
            assert_eq!(a, b, "{what}, {instrument:?}");
        }
    }
}

fn trade(action: UpdateAction) -> Trade {
    Trade {
        instrument: Instrument(0),
        orders: 1,
        price: Price(5),
        quantity: Quantity(1),
        aggressor: None,
        action,
        trade_id: 7,
    }
}

fn high(action: UpdateAction) -> Statistic {
    Statistic {
        instrument: Instrument(0),
        kind: StatisticKind::High,
        action,
        price: Price(5),
        quantity: Quantity::NULL,
    }
}

/// A new best bid.
fn bid(instrument: Instrument, changes: &[LevelChange; 1]) -> Update<'_> {
    Update::Book(BookUpdate {
        instrument,
        security_id: 0,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes,
        best_bid: Some(LEVEL),
        best_ask: None,
    })
}

const NEW_BID: [LevelChange; 1] = [LevelChange {
    level: LEVEL,
    book: BookKind::Direct,
    side: Side::Bid,
    action: LevelAction::Insert,
    index: 0,
}];

fn order(order_id: u64) -> OrderChange {
    OrderChange {
        order_id,
        priority: order_id,
        price: Price(5),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow {
            index: order_id as u32,
            number: order_id,
        },
    }
}

/// A new order in the row of another, `after` that one.
fn in_row_of(order_id: u64, after: u64) -> OrderChange {
    OrderChange {
        row: order(order_id).row,
        ..order(order_id + after)
    }
}

/// After the loss of any batches of a round, its end does not make the receiver complete; the next round does. A link
/// that was added again while a round was sent loses any part of the round, and the stream has no message whose number
/// would show it.
#[test]
fn the_end_of_a_round_shows_that_refreshes_before_it_were_lost() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(7);
    market.define(&mut publisher);
    market.events(50, &mut publisher);
    let link = Shared::default();
    let mut sender = buses.sending("a", "gw1", link.clone());
    let round = link.round(&mut sender);
    assert!(round.len() > 3, "{} batches", round.len());
    for first in 1..round.len() - 1 {
        let mut stand = Stand::new(receiver());
        let lossy = round[..first].iter().chain(round.last());
        for batch in lossy {
            stand.receiver.take(batch, stand.now, 7, &mut stand.out);
        }
        assert!(!stand.receiver.is_complete(), "after {first} batches");
        for batch in &link.round(&mut sender) {
            stand.receiver.take(batch, stand.now, 7, &mut stand.out);
        }
        assert!(stand.receiver.is_complete(), "after a whole round");
    }
}

/// A receiver whose first message is a reset of the channel, or a loss of it, knows books of instruments that are not
/// defined yet: readers that join its bus later have them as well, and readers of the bus get them behind each definition.
#[test]
fn readers_have_the_books_of_instruments_that_are_defined_after_a_reset() {
    let gap = Update::Gap(Gap {
        first: 3,
        last: 4,
        orders: Validity::Gapped,
    });
    for first in [Update::Reset, gap] {
        let mut pair = Pair::new(|publisher| {
            let mut market = Market::new(7);
            market.define(publisher);
            for instrument in (0..INSTRUMENTS / 2).map(Instrument) {
                let orders = OrdersSnapshot {
                    instrument,
                    validity: Validity::Live,
                    orders: &[],
                };
                publisher.publish(&book_of(instrument), &times());
                publisher.publish(&Update::OrdersSnapshot(orders), &times());
            }
            market.events(50, publisher);
        });
        let reader = Subscriber::join(&pair.buses.root(), "b", Join::default());
        let (mut reader, mut behind) = (reader.expect("it is there"), Behind::default());
        while reader.drain(64, &mut behind) > 0 {}
        pair.publish(&first);
        pair.pass();
        pair.refresh();
        assert!(pair.stand.receiver.is_complete());
        pair.agrees(&format!("{first:?}"));
        while reader.drain(64, &mut behind) > 0 {}
        for instrument in (0..INSTRUMENTS / 2).map(Instrument) {
            let books = behind.0.get(&instrument).map(Vec::as_slice);
            assert_eq!(books, Some(&["price", "orders"][..]), "{instrument:?}");
        }
    }
}

/// Whole books of each instrument behind its definition.
#[derive(Default)]
struct Behind(HashMap<Instrument, Vec<&'static str>>);

impl Subscribe for Behind {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let (instrument, book) = match envelope.update {
            Update::Definition(definition) => {
                self.0.insert(definition.instrument, Vec::new());
                return;
            }
            Update::BookSnapshot(snapshot) => (snapshot.instrument, "price"),
            Update::OrdersSnapshot(snapshot) => (snapshot.instrument, "orders"),
            _ => return,
        };
        let books = self.0.get_mut(&instrument);
        books.expect("its definition comes first").push(book);
    }

    fn event(&mut self, _: &SubscriptionEvent) {}
}

/// Books that a round did not name were never published, so the first updates of new instruments are complete books.
#[test]
fn books_of_instruments_that_are_named_after_a_round_are_published() {
    let mut pair = Pair::new(|publisher| publisher.publish(&book(), &times()));
    pair.refresh();
    assert!(pair.stand.receiver.is_complete());
    Market::new(7).events(500, &mut pair.publisher);
    pair.agrees("named later");
    assert_eq!(pair.stand.receiver.counters().relay_withheld, 0);
}

/// An instrument that is named when its turn in the round is over is known after the next round only.
#[test]
fn an_instrument_that_is_named_during_a_round_is_known_after_the_next() {
    const LATE: Instrument = Instrument(3);
    let mut pair = Pair::new(|publisher| {
        for instrument in (0..40).map(Instrument) {
            if instrument != LATE {
                publisher.publish(&book_of(instrument), &times());
            }
        }
    });
    pair.link.0.borrow_mut().requests += 1;
    pair.sender.work().expect("the link works");
    // The order is: the part of the round that was sent, the first update, the rest of the round.
    pair.publish(&bid(LATE, &NEW_BID));
    let mut is_over = false;
    while !is_over {
        pair.sender.work().expect("the link works");
        let batches: Vec<_> = pair.link.0.borrow_mut().batches.drain(..).collect();
        for bytes in batches {
            let flags = Received::read(&bytes).expect("a batch").head.flags;
            is_over |= flags.has(HeadFlags::ROUND_END);
            pair.take(&bytes);
        }
    }
    assert_eq!(pair.stand.receiver.counters().relay_withheld, 1);
    assert!(!pair.stand.receiver.is_complete());
    pair.refresh();
    assert!(pair.stand.receiver.is_complete());
    pair.publish(&bid(LATE, &NEW_BID));
    pair.agrees("named during a round");
}

/// A part of a refresh whose rest is lost does not hide the reset that follows, nor the first unit of the next round.
#[test]
fn a_part_of_a_refresh_is_void_when_the_connection_ends() {
    for is_reset in [true, false] {
        let orders: Vec<_> = (1..200).map(order).collect();
        let mut pair = Pair::new(|publisher| {
            Market::new(7).define(publisher);
            publisher.publish(&book(), &times());
            let orders = OrdersUpdate {
                instrument: Instrument(1),
                validity: Validity::Live,
                changes: &orders,
            };
            publisher.publish(&Update::Orders(orders), &times());
        });
        let round = pair.link.round(&mut pair.sender);
        // The channel, instrument 0, some parts of the orders.
        assert!(round.len() > 8, "{} batches", round.len());
        for bytes in &round[..5] {
            pair.take(bytes);
        }
        let Stand { receiver, out, .. } = &mut pair.stand;
        receiver.disconnected(out);
        if is_reset {
            pair.publish(&Update::Reset);
            pair.pass();
        }
        pair.refresh();
        assert!(pair.stand.receiver.is_complete());
        pair.agrees("after a part");
    }
}

/// Messages were lost at the source behind a part of an update: the loss is not taken for the rest of it.
#[test]
fn a_loss_behind_a_part_is_a_loss() {
    let mut stand = Stand::new(receiver());
    stand.take(head(1), &[book()]);
    assert_eq!(stand.validity(), Validity::Live);
    let orders: Vec<_> = (1..200).map(order).collect();
    let update = Update::Orders(OrdersUpdate {
        instrument: Instrument(1),
        validity: Validity::Live,
        changes: &orders,
    });
    let part = parts(&update, 1_300).next().expect("a part");
    let mut first = Batch::new();
    first.push(part.len(), |mut place| {
        part.write(2, Flags::NONE, &times(), &mut place);
    });
    first.close(&Head {
        count: 1,
        ..head(2)
    });
    let gap = Update::Gap(Gap {
        first: 3,
        last: 4,
        orders: Validity::Recovering,
    });
    for bytes in [first.datagram(), &batch(head(3), &[gap])] {
        stand.receiver.take(bytes, stand.now, 7, &mut stand.out);
    }
    assert_eq!(stand.validity(), Validity::Gapped);
}

/// Readers of both buses have the same last values: also a corrected trade, and none where one was deleted in a loss.
#[test]
fn corrected_and_deleted_values_are_refreshed() {
    use UpdateAction::{Change, Delete, New};
    let mut pair = Pair::new(|publisher| {
        for action in [New, Change] {
            publisher.publish(&Update::Trade(&trade(action)), &times());
            publisher.publish(&Update::Statistic(&high(action)), &times());
        }
    });
    pair.refresh();
    pair.agrees("corrected");
    pair.publish(&Update::Trade(&trade(Delete)));
    pair.publish(&Update::Statistic(&high(Delete)));
    // Lost.
    pair.link.stream(&mut pair.sender);
    pair.publish(&book());
    pair.pass();
    assert!(!pair.stand.receiver.is_complete());
    // Another trade that was lost with its deletion.
    for action in [New, Delete] {
        let trade = Trade {
            trade_id: 8,
            ..trade(action)
        };
        pair.publish(&Update::Trade(&trade));
    }
    pair.link.stream(&mut pair.sender);
    pair.publish(&book());
    pair.pass();
    pair.refresh();
    pair.agrees("deleted");
    let mut images = Images::open(&pair.buses.root(), "b").expect("it is there");
    assert_eq!(values(&mut images, Instrument(0)), []);
    // A sender that begins now has the corrected trade from the table.
    for action in [New, Change] {
        pair.publish(&Update::Trade(&trade(action)));
    }
    // Until the ring no longer has them.
    (0..4_000).for_each(|_| pair.publish(&book()));
    let mut sender = pair.buses.sending("a", "gw2", pair.link.clone());
    let mut stand = Stand::with(receiver(), pair.buses.publisher("c"));
    for bytes in &pair.link.round(&mut sender) {
        stand.receiver.take(bytes, stand.now, 7, &mut stand.out);
    }
    let mut images = Images::open(&pair.buses.root(), "c").expect("it is there");
    let last: Vec<_> = values(&mut images, Instrument(0))
        .into_iter()
        .map(|(value, _)| value)
        .collect();
    assert_eq!(last, [Value::Trade(trade(Change))]);
}

/// The sender keeps as many orders as its bus, and those that an event adds to one instrument before it deletes them of another.
#[test]
fn a_refresh_has_all_orders_of_a_large_bus() {
    const ORDERS: usize = 140_000;
    let settings = Settings {
        orders_max: ORDERS,
        ring_bytes: 16 * 1024 * 1024,
        ..small()
    };
    let buses = Buses::new();
    let open = |bus| {
        let publisher = Publisher::open(&buses.root(), bus, &settings).expect("no other process");
        CountersFile::create(publisher.lock(), 1.0, [], []).expect("a file");
        publisher
    };
    let mut publisher = open("a");
    crate::buses::is_alive(&mut publisher);
    let orders: Vec<_> = (0..ORDERS as u64).map(order).collect();
    for (instrument, changes) in orders.chunks(2_500).enumerate() {
        let update = OrdersUpdate {
            instrument: Instrument(instrument as u32),
            validity: Validity::Live,
            changes,
        };
        publisher.publish(&Update::Orders(update), &times());
    }
    publisher.commit();
    let link = Shared::default();
    let mut sender = buses.sending("a", "gw1", link.clone());
    link.stream(&mut sender);
    let moved = 2_500..2_510_u64;
    let added: Vec<_> = moved
        .clone()
        .map(|id| in_row_of(id, ORDERS as u64))
        .collect();
    let deleted = moved.map(|id| OrderChange {
        action: OrderAction::Delete,
        ..order(id)
    });
    let deleted: Vec<_> = deleted.collect();
    for (instrument, changes) in [(0, &added), (1, &deleted)] {
        let update = OrdersUpdate {
            instrument: Instrument(instrument),
            validity: Validity::Live,
            changes,
        };
        publisher.publish(&Update::Orders(update), &times());
    }
    publisher.commit();
    let settings = ReceiverSettings {
        orders_max: ORDERS,
        entries_max: ORDERS,
        ..receiver()
    };
    let mut stand = Stand::with(settings, open("b"));
    for bytes in link
        .stream(&mut sender)
        .iter()
        .chain(&link.round(&mut sender))
    {
        // The stream alone would do; the refresh must.
        let flags = Received::read(bytes).expect("a batch").head.flags;
        if flags.has(HeadFlags::REFRESH) {
            stand.receiver.take(bytes, stand.now, 7, &mut stand.out);
        }
    }
    assert!(stand.receiver.is_complete());
    let mut reader =
        Subscriber::join(&buses.root(), "b", Join::default()).expect("the bus is there");
    let mut mirror = Mirror::new(64, ORDERS);
    while reader.drain(usize::MAX, &mut mirror) > 0 {}
    let mut of = Vec::new();
    let counts = (0..64).map(|instrument| {
        mirror.orders().gather(Instrument(instrument), &mut of);
        of.len()
    });
    let counts: Vec<_> = counts.collect();
    assert_eq!(counts.iter().sum::<usize>(), ORDERS);
    assert_eq!(counts[..2], [2_510, 2_490]);
}
