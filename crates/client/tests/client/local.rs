//! A bus without shared memory gives the events of one in shared memory, after the same updates.

use crate::world::{World, bid, define, quotes, timestamps, trade, whole, word, words};
use touchline_client::{Bus, Events, Options, State};
use touchline_transport::shm::Publisher;
use touchline_transport::{Envelope, Local, Publish, Subscribe};
use touchline_types::{
    Instrument, OrderAction, OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity,
    Side, Timestamps, Update, Validity,
};

/// A program in the publisher's process.
struct Program {
    bus: Bus,
    words: Vec<String>,
}

impl Program {
    fn new(options: &Options) -> Program {
        Program {
            bus: Bus::local(options, "test", 64, 1_024),
            words: Vec::new(),
        }
    }

    fn collect(&mut self) {
        while let Some(event) = self.bus.poll() {
            self.words.push(word(&self.bus, &event));
        }
    }
}

impl Subscribe for Program {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.bus.take(envelope);
        self.collect();
    }

    fn batch_end(&mut self) {
        self.bus.end_batch();
        self.collect();
    }
}

/// Both publications.
struct Both {
    shared: Publisher,
    local: Local<Program>,
}

impl Publish for Both {
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.shared.publish(update, timestamps);
        self.local.publish(update, timestamps);
    }

    fn commit(&mut self) {
        self.shared.commit();
        self.local.commit();
    }
}

#[test]
fn events_and_values_are_those_of_a_bus_in_shared_memory() {
    for events in [Events::ALL, Events::TOPS, Events::TRADES | Events::BOOKS] {
        let world = World::new();
        let shared = world.publisher();
        let mut joined = world.join(world.options().events(events));
        let mut both = Both {
            shared,
            local: Local::new(Program::new(&Bus::options().events(events))),
        };
        for step in 0..6 {
            publish(&mut both, step);
            both.commit();
            let told: Vec<String> = words(&mut joined);
            let told: Vec<String> = told
                .into_iter()
                .filter(|word| !word.starts_with("caught up"))
                .collect();
            let program = &mut both.local.subscriber;
            let mut own = std::mem::take(&mut program.words);
            if step == 0 {
                // The shared bus is joined here: the stored values that it reads belong to no packet.
                own = own.iter().map(|word| word.replace('.', "")).collect();
            }
            assert_eq!(own, told, "step {step}");
        }
        let local = &both.local.subscriber.bus;
        let es = |bus: &Bus| bus.instrument("ESU4").expect("it is defined");
        let (ours, theirs) = (local.book(es(local)), joined.book(es(&joined)));
        let (ours, theirs) = (ours.expect("ours"), theirs.expect("ours"));
        let levels = |book: &touchline_client::Book<'_>| {
            let both = Side::BOTH.map(|side| book.levels(side).collect::<Vec<_>>());
            format!("{both:?} {}", book.state())
        };
        assert_eq!(levels(&ours), levels(&theirs));
        assert_eq!(local.stats().events + 1, joined.stats().events);
        assert_eq!(local.lag().messages, 0);
    }
}

fn publish(out: &mut Both, step: i64) {
    match step {
        0 => {
            define(out, 0, "ESU4", 100);
            define(out, 1, "NQU4", 101);
        }
        1 => whole(out, 0, (450_025, 12), (450_050, 7)),
        2 => {
            bid(out, 0, 450_025, 13);
            trade(out, 0, 450_050, 3);
        }
        3 => quotes(out, 1, 450_000),
        4 => out.publish(&Update::Reset, &timestamps()),
        _ => trade(out, 1, 450_000, 1),
    }
}

/// Messages of an event are in the order of the instruments, so its new orders may come before the deletions that made room.
#[test]
fn an_event_on_a_full_bus_leaves_no_live_order_book_without_an_order() {
    let orders = || Bus::options().events(Events::ORDERS);
    let narrow = orders().orders_max(1);
    for (options, expected) in [
        (orders(), [(State::Live, 1), (State::Live, 1)]),
        (narrow, [(State::Live, 1), (State::Recovering, 0)]),
    ] {
        let mut out = Local::new(Program {
            bus: Bus::local(&options, "test", 64, 2),
            words: Vec::new(),
        });
        define(&mut out, 0, "ESU4", 100);
        define(&mut out, 1, "NQU4", 101);
        for (index, orders) in [(0, &[][..]), (1, &[order(1), order(2)])] {
            let snapshot = OrdersSnapshot {
                instrument: Instrument(index),
                validity: Validity::Live,
                orders,
            };
            out.publish(&Update::OrdersSnapshot(snapshot), &timestamps());
        }
        out.commit();
        let deletion = OrderChange {
            action: OrderAction::Delete,
            ..order(1)
        };
        for (index, change) in [(0, order(3)), (1, deletion)] {
            let update = OrdersUpdate {
                instrument: Instrument(index),
                validity: Validity::Live,
                changes: &[change],
            };
            out.publish(&Update::Orders(update), &timestamps());
        }
        out.commit();
        let bus = &out.subscriber.bus;
        let books = ["ESU4", "NQU4"].map(|symbol| {
            let instrument = bus.instrument(symbol).expect("it is defined");
            let mut orders = 0;
            let visited = bus.orders(instrument, Side::Bid, |_| orders += 1);
            visited.expect("ours");
            (bus.orders_state(instrument).expect("ours"), orders)
        });
        assert_eq!(books, expected);
    }
}

fn order(order_id: u64) -> OrderChange {
    OrderChange {
        order_id,
        priority: order_id,
        price: Price(450_025),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow {
            index: 0,
            number: order_id,
        },
    }
}
