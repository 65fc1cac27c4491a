//! A bus without shared memory gives the events of one in shared memory, after the same updates.

use crate::world::{World, bid, define, quotes, timestamps, trade, whole, word, words};
use touchline_client::{Bus, Events, Options};
use touchline_transport::shm::Publisher;
use touchline_transport::{Envelope, Local, Publish, Subscribe};
use touchline_types::{Timestamps, Update};

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
            let both =
                touchline_client::Side::BOTH.map(|side| book.levels(side).collect::<Vec<_>>());
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
