//! The packets of the bench.

use touchline_transport::Publish;
use touchline_transport::shm::Publisher;
use touchline_types::{
    BookKind, BookUpdate, Code, Depth, DisplayFactor, Instrument, InstrumentDefinition, Level,
    LevelAction, LevelChange, PacketInfo, Price, Quantity, ReferenceData, Side, Symbol, Timestamps,
    Trade, Update, UpdateAction, Validity,
};

const PACKETS: i64 = 136_000;
const INSTRUMENTS: u32 = 10;

/// Defines the instruments.
pub fn define(publisher: &mut Publisher) {
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
pub fn publish(publisher: &mut Publisher, round: i64) -> u64 {
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

/// Publishes a packet with this receive time.
pub fn one(publisher: &mut Publisher, packet: i64, receive_ns: u64) {
    let changes =
        [Side::Bid, Side::Ask].map(|side| step(side, LevelAction::Replace, 1 + packet % 1_000));
    let timestamps = Timestamps {
        packet: PacketInfo {
            receive_ns,
            ..PacketInfo::default()
        },
        ..Timestamps::default()
    };
    publisher.publish(&Update::Book(update(0, &changes)), &timestamps);
    publisher.commit();
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
