//! `end_of_batch` is on the last event that a reader is given of each batch, for each choice of kinds and symbols.

use crate::world::{World, bid, define, quotes, timestamps, trade, whole, word};
use touchline_client::{Bus, Event, Events, Next, Options};
use touchline_lab::random::{Random, seeds};
use touchline_transport::{Envelope, Local, Publish, Subscribe};
use touchline_types::{
    ChannelState, Gap, Instrument, OrdersSnapshot, Price, Quantity, State, Statistic,
    StatisticKind, TradingStatus, Update, UpdateAction, Validity,
};

const SYMBOLS: [&str; 3] = ["ESU4", "NQU4", "ZNU4"];
const KINDS: [Events; 7] = [
    Events::TOPS,
    Events::TRADES,
    Events::BOOKS,
    Events::ORDERS,
    Events::QUOTES,
    Events::STATISTICS,
    Events::STATUS,
];

/// One of all kinds of messages, of any instrument.
fn publish(out: &mut impl Publish, random: &mut Random) {
    let index = random.below(3) as u32;
    let instrument = Instrument(index);
    let mut other = |update: Update<'_>| out.publish(&update, &timestamps());
    match random.below(13) {
        0 => whole(
            out,
            index,
            (450_025, 1 + random.below(9) as i64),
            (450_050, 7),
        ),
        1 | 2 => bid(out, index, 450_025, 1 + random.below(9) as i64),
        3 | 4 => trade(out, index, 450_050, 3),
        5 => quotes(out, index, 450_000 + random.below(9) as i64),
        6 => other(Update::OrdersSnapshot(OrdersSnapshot {
            instrument,
            validity: Validity::Live,
            orders: &[],
        })),
        7 => other(Update::Statistic(&Statistic {
            instrument,
            kind: StatisticKind::Open,
            action: UpdateAction::New,
            price: Price(1),
            quantity: Quantity(1),
        })),
        8 => other(Update::Status(&TradingStatus {
            instrument: Some(instrument),
            group: *b"ES    ",
            status: 17,
            reason: 255,
            event: 255,
        })),
        9 => other(Update::State(State {
            instrument,
            validity: Validity::Gapped,
        })),
        10 => other(Update::Reset),
        11 => other(Update::Gap(Gap {
            first: 1,
            last: 2,
            orders: Validity::Recovering,
        })),
        12 if random.below(2) == 0 => other(Update::Channel(&ChannelState::LIVE)),
        _ => define(out, index, SYMBOLS[index as usize], 100 + i64::from(index)),
    }
}

/// A reader in the process of its publisher.
struct Reader {
    bus: Bus,
    events: Vec<Event>,
}

impl Subscribe for Reader {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.bus.take(envelope);
        self.events.extend(std::iter::from_fn(|| self.bus.poll()));
    }

    fn batch_end(&mut self) {
        self.bus.end_batch();
        self.events.extend(std::iter::from_fn(|| self.bus.poll()));
    }
}

/// The last event is marked, and no other one.
fn check(bus: &Bus, events: &[Event], context: &str) -> usize {
    let of_batch = |event: &&Event| !matches!(event, Event::Connection(_));
    let events: Vec<&Event> = events.iter().filter(of_batch).collect();
    let words = || {
        events
            .iter()
            .map(|event| word(bus, event))
            .collect::<Vec<_>>()
    };
    for (at, event) in events.iter().enumerate() {
        let is_last = at + 1 == events.len();
        assert_eq!(event.end_of_batch(), is_last, "{context}: {:?}", words());
    }
    usize::from(!events.is_empty())
}

fn run(options: impl Fn() -> Options, seed: u64, context: &str) -> usize {
    let mut random = Random::from_seed(seed);
    let world = World::new();
    let mut publisher = world.publisher();
    let symbols = SYMBOLS.iter().zip(0..);
    symbols
        .for_each(|(symbol, index)| define(&mut publisher, index, symbol, 100 + i64::from(index)));
    publisher.commit();
    let mut joined = world.join(options());
    while let Next::Event(_) = joined.next_within(std::time::Duration::ZERO) {}
    let reader = Reader {
        bus: Bus::local(&options(), "test", 64, 1_024),
        events: Vec::new(),
    };
    let mut both = (publisher, Local::new(reader));
    let mut batches = 0;
    for batch in 0..60 {
        for _ in 0..1 + random.below(4) {
            publish(&mut both, &mut random);
        }
        both.commit();
        let mut events = Vec::new();
        while let Next::Event(event) = joined.next_within(std::time::Duration::ZERO) {
            events.push(event);
        }
        batches += check(&joined, &events, &format!("{context}, batch {batch}"));
        let local = &mut both.1.subscriber;
        let events = std::mem::take(&mut local.events);
        check(
            &local.bus,
            &events,
            &format!("{context}, batch {batch}, local"),
        );
    }
    batches
}

#[test]
fn the_last_event_that_a_reader_is_given_of_a_batch_is_marked() {
    let mut batches = 0;
    for seed in seeds(2) {
        for chosen in 1_usize..1 << KINDS.len() {
            let kinds = KINDS.iter().enumerate();
            let kinds = kinds.filter(|(at, _)| chosen & 1 << at != 0);
            let kinds = kinds
                .map(|(_, kind)| *kind)
                .reduce(|one, other| one | other);
            let kinds = kinds.expect("one is chosen");
            for (symbols, keep_books) in [(&[][..], true), (&SYMBOLS[..1], true), (&[], false)] {
                let options = || {
                    let options = Bus::options().events(kinds).keep_books(keep_books);
                    options.symbols(symbols.iter().copied())
                };
                let context = format!("seed {seed}, kinds {chosen:07b}, {symbols:?} {keep_books}");
                batches += run(options, seed, &context);
            }
        }
    }
    assert!(batches > 10_000, "{batches} batches with an event");
}
