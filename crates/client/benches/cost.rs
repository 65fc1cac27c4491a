//! Cost of the client per message: `cargo bench --profile dist -p touchline-client`.
//!
//! A publisher writes packets of a top and a book change of two levels, every fifth with a trade, while the readers
//! pause; then each reader drains alone. The bare subscriber only decodes; the client keeps books and returns events.
//! Best and median of the rounds; the clock resolves 10 ns, and each round has 300,000 messages.

use std::hint::black_box;
use std::time::Instant;
use touchline_client::{Bus, Event, Events};
use touchline_transport::Publish;
use touchline_transport::shm::{Join, Kinds, Polled, Publisher, Root, Settings, Subscriber};
use touchline_types::{
    BookKind, BookUpdate, Code, Depth, DisplayFactor, Instrument, InstrumentDefinition, Level,
    LevelAction, LevelChange, Price, Quantity, ReferenceData, Side, Symbol, Timestamps, Trade,
    Update, UpdateAction, Validity,
};

const ROUNDS: usize = 9;
const PACKETS: i64 = 136_000;
const INSTRUMENTS: u32 = 10;

fn main() {
    let folder = std::env::temp_dir().join(format!("touchline-cost-{}", std::process::id()));
    let root = Root::at(&folder);
    let settings = Settings {
        ring_bytes: 256 << 20,
        instruments_max: 64,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(&root, "cost", &settings).expect("a folder of its own");
    define(&mut publisher);
    let joined = |join| Subscriber::join(&root, "cost", join).expect("it is there");
    let mut bare = joined(Join::default());
    let mut bare_tops = joined(Join {
        kinds: Kinds::TOPS,
        ..Join::default()
    });
    let options = || Bus::options().directory(&folder);
    let bus = |events, keep| {
        let options = options().events(events).keep_books(keep);
        options.join("cost").expect("it is there")
    };
    let mut all = bus(Events::ALL, true);
    let mut tops_and_trades = bus(Events::TOPS | Events::TRADES, true);
    let mut tops = bus(Events::TOPS, false);
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for round in 0..=ROUNDS {
        let messages = publish(&mut publisher, round as i64);
        let mut note = |name, nanoseconds: u128| {
            // The first round includes the snapshots.
            if round > 0 {
                let cost = nanoseconds as f64 / messages as f64;
                match rows.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, costs)) => costs.push(cost),
                    None => rows.push((name, vec![cost])),
                }
            }
        };
        note("bare subscriber, everything", drain(&mut bare));
        note("client, all events, books kept", read(&mut all));
        note(
            "client, tops and trades, books kept",
            read(&mut tops_and_trades),
        );
        note("bare subscriber, tops", drain(&mut bare_tops));
        note("client, tops, no books", read(&mut tops));
    }
    println!(
        "{:<40} {:>8} {:>8}   ns a message published",
        "reader", "best", "median"
    );
    for (name, mut costs) in rows {
        costs.sort_by(f64::total_cmp);
        println!(
            "{name:<40} {:>8.1} {:>8.1}",
            costs[0],
            costs[costs.len() / 2]
        );
    }
    for bus in [&all, &tops_and_trades, &tops] {
        let stats = bus.stats();
        assert_eq!(
            (stats.overruns, stats.inconsistent, bus.lag().messages),
            (0, 0, 0)
        );
    }
    drop(publisher);
    let _ = std::fs::remove_dir_all(&folder);
}

fn drain(subscriber: &mut Subscriber) -> u128 {
    let start = Instant::now();
    while subscriber.poll(|item| _ = black_box(&item)) != Polled::Nothing {}
    start.elapsed().as_nanos()
}

fn read(bus: &mut Bus) -> u128 {
    let start = Instant::now();
    while let Some(event) = bus.poll() {
        match event {
            Event::Top(top) => _ = black_box(top.bid),
            event => _ = black_box(event.end_of_batch()),
        }
    }
    start.elapsed().as_nanos()
}

fn define(publisher: &mut Publisher) {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    for index in 0..INSTRUMENTS {
        let definition = InstrumentDefinition {
            symbol: Symbol::new(format!("SYM{index}").as_bytes()),
            defined: true,
            reference: ReferenceData {
                venue: Code::lossy(b"bench"),
                display_factor: DisplayFactor::new(1, 100),
                ..ReferenceData::NULL
            },
            ..InstrumentDefinition::unknown(Instrument(index), index.into(), depth)
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
        let changes = [Side::Bid, Side::Ask].map(|side| step(side, LevelAction::Insert, 1));
        publisher.publish(
            &Update::Book(update(index, &changes)),
            &Timestamps::default(),
        );
    }
    publisher.commit();
}

/// Publishes a round and returns its number of messages.
fn publish(publisher: &mut Publisher, round: i64) -> u64 {
    let before = publisher.counters().messages_published;
    for packet in 0..PACKETS {
        let index = packet as u32 % INSTRUMENTS;
        let quantity = 1 + (packet / i64::from(INSTRUMENTS) + round) % 1_000;
        let changes = [Side::Bid, Side::Ask].map(|side| step(side, LevelAction::Replace, quantity));
        publisher.publish(
            &Update::Book(update(index, &changes)),
            &Timestamps::default(),
        );
        if packet % 5 == 0 {
            let trade = Trade {
                instrument: Instrument(index),
                orders: 1,
                price: Price(450_025_000_000_000),
                quantity: Quantity(1),
                aggressor: Some(Side::Bid),
                action: UpdateAction::New,
                trade_id: 0,
            };
            publisher.publish(&Update::Trade(&trade), &Timestamps::default());
        }
        publisher.commit();
    }
    publisher.counters().messages_published - before
}

fn step(side: Side, action: LevelAction, quantity: i64) -> LevelChange {
    LevelChange {
        level: level(side, quantity),
        book: BookKind::Direct,
        side,
        action,
        index: 0,
    }
}

fn level(side: Side, quantity: i64) -> Level {
    let cents = match side {
        Side::Bid => 450_025,
        Side::Ask => 450_050,
    };
    Level {
        price: Price(cents * 1_000_000_000),
        quantity: Quantity(quantity),
        orders: 1,
        known: true,
    }
}

fn update(index: u32, changes: &[LevelChange; 2]) -> BookUpdate<'_> {
    BookUpdate {
        instrument: Instrument(index),
        security_id: index.into(),
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes,
        best_bid: Some(changes[0].level),
        best_ask: Some(changes[1].level),
    }
}
