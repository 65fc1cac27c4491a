//! Two buses in a folder of their own, a generated market on the first, and the comparison of both.

use touchline_book::PriceBooks;
use touchline_lab::random::Random;
use touchline_relay::link::{ReceiveLink, Refusal, SendEvent, SendLink};
use touchline_relay::run::{ReceiveSettings, Receiving, RunEvent, SendSettings, Sending, Work};
use touchline_relay::{ReceiverSettings, Source};
use touchline_testing::{Folder, PATIENCE};
use touchline_transport::shm::{
    Activity, CountersView, Images, Join, Lock, ProcessView, Publisher, Root, Settings, Subscriber,
    Value,
};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::{
    BookKind, BookUpdate, Depth, Instrument, InstrumentDefinition, Level, LevelEvent, OrderAction,
    OrderChange, OrderRow, OrdersUpdate, Place, Price, Quantity, ReferenceData, Side, Statistic,
    StatisticKind, Symbol, Timestamps, Trade, TradingStatus, Update, UpdateAction, Validity,
};

pub const INSTRUMENTS: u32 = 16;
pub const MS: u64 = 1_000_000;

/// A folder with its buses.
pub struct Buses(Folder);

impl Buses {
    pub fn new() -> Buses {
        Buses(Folder::new("relay"))
    }

    pub fn root(&self) -> Root {
        Root::at(&self.0)
    }

    pub fn publisher(&self, bus: &str) -> Publisher {
        let mut publisher =
            Publisher::open(&self.root(), bus, &small()).expect("no other process writes it");
        is_alive(&mut publisher);
        publisher
    }

    /// State of a reader that joins a bus now.
    pub fn joined(&self, bus: &str) -> Mirror {
        let mut reader =
            Subscriber::join(&self.root(), bus, Join::default()).expect("the bus is there");
        let mut mirror = Mirror::new(64, 1_024);
        while reader.drain(usize::MAX, &mut mirror) > 0 {}
        mirror
    }

    pub fn counter(&self, bus: &str, name: &str) -> u64 {
        let view = CountersView::open(&self.root(), bus).expect("the bus is there");
        view.and_then(|view| view.counter(name)).unwrap_or(0)
    }

    /// A counter of a sender; it writes them ten times a second.
    pub fn sender_counter(&self, bus: &str, source: &str, name: &str) -> u64 {
        let all = ProcessView::all(&self.root()).expect("our folder");
        let sender = format!("relay-{bus}-{source}");
        let view = all.into_iter().find(|view| view.name == sender);
        let file = view.and_then(|view| view.counters_file.ok().flatten());
        file.and_then(|file| file.counter(name)).unwrap_or(0)
    }

    /// Whether readers of both buses have the same state.
    pub fn is_same(&self, a: &str, b: &str) -> bool {
        let (a, b) = (self.joined(a), self.joined(b));
        (0..INSTRUMENTS)
            .map(Instrument)
            .all(|instrument| seen(&a, instrument) == seen(&b, instrument))
    }

    /// Steps links until readers of buses `a` and `b` have the same state.
    #[track_caller]
    pub fn until_same(&self, links: &mut [&mut dyn Work]) -> Vec<RunEvent> {
        until(links, "bus b has the state of bus a", || {
            self.is_same("a", "b")
        })
    }

    pub fn sending<L: SendLink>(&self, bus: &str, source: &str, link: L) -> Sending<L> {
        let settings = self.send_settings(bus, source);
        Sending::new(settings, link).expect("the name is free")
    }

    pub fn send_settings(&self, bus: &str, source: &str) -> SendSettings {
        SendSettings {
            root: self.root(),
            bus: bus.to_owned(),
            source: Source::named(source).expect("a name"),
            forward: false,
            batch_bytes_max: 1_344,
            heartbeat_ns: 100 * MS,
            cyclic: None,
            name: format!("relay-{bus}-{source}"),
        }
    }

    pub fn receive_settings(&self, bus: &str) -> ReceiveSettings {
        ReceiveSettings {
            root: self.root(),
            bus: bus.to_owned(),
            publication: small(),
            receiver: receiver(),
        }
    }

    pub fn receiving<L: ReceiveLink>(&self, bus: &str, link: L) -> Receiving<L> {
        let settings = self.receive_settings(bus);
        Receiving::open(settings, link).expect("no other process writes the bus")
    }
}

pub fn receiver() -> ReceiverSettings {
    ReceiverSettings {
        sources: Vec::new(),
        own: Source::named("here").expect("a name"),
        instruments_max: 64,
        orders_max: 1_024,
        entries_max: 1_024,
        link_timeout_ns: 350 * MS,
        lag_ns_max: 500 * MS,
        request_delay_ns_max: 0,
    }
}

pub fn small() -> Settings {
    Settings {
        ring_bytes: 256 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        orders_max: 1_024,
        lock: Lock::No,
        ..Settings::default()
    }
}

/// The publisher states activity, valid for an hour.
pub fn is_alive(publisher: &mut Publisher) {
    publisher.state_activity(Activity {
        at_ns: boot_ns(),
        timeout_ns: 3_600_000 * MS,
    });
}

/// Steps links until a condition holds.
#[track_caller]
pub fn until(
    links: &mut [&mut dyn Work],
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> Vec<RunEvent> {
    let mut events = Vec::new();
    touchline_testing::until(what, PATIENCE, || {
        if holds() {
            return Ok(());
        }
        for _ in 0..50 {
            events.extend(step(links));
        }
        Err(format!("{events:?}"))
    });
    events
}

/// Steps links until `find` finds something in an event, and returns it; before each step `before` is called.
#[track_caller]
pub fn until_event<T>(
    links: &mut [&mut dyn Work],
    what: &str,
    mut before: impl FnMut(),
    find: impl Fn(&RunEvent) -> Option<T>,
) -> T {
    touchline_testing::until(what, PATIENCE, || {
        before();
        let events = step(links);
        events.iter().find_map(&find).ok_or(events)
    })
}

/// Steps links until the sender refuses a receiver, and returns the reason.
#[track_caller]
pub fn until_refused(links: &mut [&mut dyn Work]) -> Refusal {
    let refusal = |event: &RunEvent| match event {
        RunEvent::Receiver(SendEvent::Refused { reason, .. }) => Some(*reason),
        _ => None,
    };
    until_event(links, "a refusal", || {}, refusal)
}

/// One round of each link.
pub fn step(links: &mut [&mut dyn Work]) -> Vec<RunEvent> {
    let mut events = Vec::new();
    for link in links.iter_mut() {
        link.work().expect("the link works");
        while let Some(event) = link.event() {
            events.push(event);
        }
    }
    events
}

/// Lists of levels, orders, and both validities.
pub type Seen = (Vec<Vec<Level>>, Vec<(u64, Price)>, Validity, Validity);

/// State of an instrument in a mirror.
pub fn seen(mirror: &Mirror, instrument: Instrument) -> Seen {
    let mut lists = Vec::new();
    let mut all = Vec::new();
    for side in Side::BOTH {
        for kind in [BookKind::Direct, BookKind::Implied] {
            let book = mirror.book(instrument);
            let levels = book.map(|book| book.levels(kind, side).iter().copied().collect());
            lists.push(levels.unwrap_or_default());
        }
        mirror.orders().visit(instrument, side, |order| {
            all.push((order.order_id, order.price))
        });
    }
    (
        lists,
        all,
        mirror.validity(instrument),
        mirror.orders_validity(instrument),
    )
}

/// Last values of an instrument, with their venue times.
pub fn values(images: &mut Images, instrument: Instrument) -> Vec<(Value, u64)> {
    let values = images.last_values(instrument);
    values
        .map(|last| (last.value, last.timestamps.exchange_ns))
        .collect()
}

/// Books, orders and values that change at random.
pub struct Market {
    random: Random,
    books: PriceBooks,
    order_id: u64,
}

impl Market {
    pub fn new(seed: u64) -> Market {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        Market {
            random: Random::from_seed(seed),
            books: PriceBooks::new(INSTRUMENTS as usize, depth, 0),
            order_id: 0,
        }
    }

    pub fn define(&mut self, out: &mut impl Publish) {
        for index in 0..INSTRUMENTS {
            let depth = Depth {
                direct: 10,
                implied: 2,
            };
            let definition = InstrumentDefinition {
                symbol: Symbol::new(format!("SYM{index}").as_bytes()),
                defined: true,
                reference: ReferenceData::NULL,
                ..InstrumentDefinition::unknown(Instrument(index), i64::from(index) + 1000, depth)
            };
            out.publish(&Update::Definition(&definition), &times());
        }
        out.publish(&Update::Reset, &times());
        out.commit();
    }

    /// Applies this number of events.
    pub fn events(&mut self, count: usize, out: &mut impl Publish) {
        for _ in 0..count {
            match self.random.below(10) {
                0 => self.order(out),
                1 => self.value(out),
                _ => self.book(out),
            }
            if self.random.below(2) == 0 {
                out.commit();
            }
        }
        out.commit();
    }

    fn instrument(&mut self) -> Instrument {
        Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32)
    }

    fn book(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        let mut changes = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let actions = [
                UpdateAction::New,
                UpdateAction::New,
                UpdateAction::Change,
                UpdateAction::Delete,
            ];
            let event = LevelEvent {
                instrument,
                orders: self.random.below(9) as i32,
                price: Price(self.random.below(1_000) as i64),
                quantity: Quantity(self.random.below(100) as i64),
                place: Place::Position(1 + self.random.below(10) as u8),
                action: actions[self.random.below(4) as usize],
                side: Side::BOTH[self.random.below(2) as usize],
                book: BookKind::Direct,
            };
            let _ = self.books.apply(&event, &mut changes);
        }
        let update = BookUpdate {
            instrument,
            security_id: i64::from(instrument.0) + 1000,
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes: &changes,
            best_bid: None,
            best_ask: None,
        };
        out.publish(&Update::Book(update), &times());
    }

    fn order(&mut self, out: &mut impl Publish) {
        self.order_id += 1;
        let id = self.order_id;
        let changes = [OrderChange {
            order_id: id,
            priority: id,
            price: Price(self.random.below(1_000) as i64),
            quantity: Quantity(1),
            side: Side::BOTH[(id % 2) as usize],
            action: OrderAction::New,
            row: OrderRow {
                index: (id % 1_000) as u32,
                number: id,
            },
        }];
        // One book has few orders, so that rows are not reused.
        if id < 1_000 {
            let instrument = self.instrument();
            let update = OrdersUpdate {
                instrument,
                validity: Validity::Live,
                changes: &changes,
            };
            out.publish(&Update::Orders(update), &times());
        }
    }

    fn value(&mut self, out: &mut impl Publish) {
        let instrument = self.instrument();
        let (price, quantity) = (Price(self.random.below(1_000) as i64), Quantity(3));
        let trade_id = self.random.below(1 << 40) + 1;
        let trade = Trade {
            instrument,
            orders: 1,
            price,
            quantity,
            aggressor: Some(Side::Bid),
            action: UpdateAction::New,
            trade_id,
        };
        let statistic = Statistic {
            instrument,
            kind: StatisticKind::High,
            action: UpdateAction::New,
            price,
            quantity: Quantity::NULL,
        };
        let status = TradingStatus {
            instrument: Some(instrument),
            group: *b"GROUP1",
            status: 17,
            reason: 0,
            event: 0,
        };
        out.publish(&Update::Trade(&trade), &times());
        out.publish(&Update::Statistic(&statistic), &times());
        out.publish(&Update::Status(&status), &times());
    }
}

pub fn times() -> Timestamps {
    Timestamps {
        exchange_ns: 1_700_000_000_000_000_000,
        ..Timestamps::default()
    }
}
