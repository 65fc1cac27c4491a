//! Batches of any content from a link into a receiver.

use crate::Target;
use touchline_relay::batch::{Batch, Received};
use touchline_relay::{Epoch, Head, HeadFlags, Now, Receiver, ReceiverSettings, Source, Taken};
use touchline_transport::{Local, Mirror};
use touchline_types::native::{Flags, parts};
use touchline_types::{
    BookSnapshot, ChannelState, Gap, Instrument, InstrumentDefinition, Level, OrderAction,
    OrderChange, OrderRow, OrdersSnapshot, OrdersUpdate, Price, Quantity, Side, Timestamps, Update,
    Validity,
};

pub(crate) const TARGET: Target = Target {
    name: "relay",
    about: "any batches are taken or refused; what breaks the format changes nothing, and what came twice is taken once",
    run,
    seeds,
};

/// The input is batches, each with two bytes of length before it.
fn run(bytes: &[u8]) {
    let settings = ReceiverSettings {
        sources: Vec::new(),
        own: vec![Source::named("here").expect("a name")],
        instruments_max: 16,
        orders_max: 64,
        entries_max: 64,
        link_timeout_ns: 350_000_000,
        lag_ns_max: 500_000_000,
        request_delay_ns_max: 0,
    };
    let mut receiver = Receiver::new(settings);
    let mut out = Local::new(Mirror::new(16, 64));
    let mut now = Now::default();
    receiver.begin(&mut out);
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let (batch, behind) = behind.split_at(length);
        rest = behind;
        now.mono_ns += 1_000_000;
        let published = out.published();
        match receiver.take(batch, now, 1, &mut out) {
            Taken::Malformed(_) => {
                assert_eq!(out.published(), published, "malformed, and published")
            }
            Taken::Restart => {
                receiver.restart(&mut out);
                let taken = receiver.take(batch, now, 1, &mut out);
                assert_eq!(taken, Taken::Done, "restarted twice for one batch");
            }
            Taken::Done => again(&mut receiver, batch, now, &mut out),
        }
        let _ = receiver.tick(now, &mut out);
    }
    receiver.disconnected(&mut out);
    assert!(!receiver.is_up(), "up without a connection");
}

/// Numbered messages that come twice are published once.
fn again(receiver: &mut Receiver, batch: &[u8], now: Now, out: &mut Local<Mirror>) {
    let read = Received::read(batch).expect("it was taken");
    if read.head.flags.has(HeadFlags::REFRESH) || read.head.count == 0 {
        return;
    }
    let messages = receiver.counters().relay_messages;
    let taken = receiver.take(batch, now, 1, out);
    assert_ne!(taken, Taken::Restart, "its own stream");
    assert_eq!(receiver.counters().relay_messages, messages, "taken twice");
}

fn seeds() -> Vec<Vec<u8>> {
    let level = Level {
        price: Price(5),
        quantity: Quantity(1),
        orders: 1,
        known: true,
    };
    let order = OrderChange {
        order_id: 1,
        priority: 1,
        price: Price(5),
        quantity: Quantity(1),
        side: Side::Bid,
        action: OrderAction::New,
        row: OrderRow::NONE,
    };
    let instrument = Instrument(3);
    let depth = touchline_types::Depth {
        direct: 10,
        implied: 2,
    };
    let definition = InstrumentDefinition::unknown(instrument, 7, depth);
    let book = Update::BookSnapshot(BookSnapshot {
        instrument,
        validity: Validity::Live,
        bids: &[level],
        asks: &[level],
        implied_bids: &[],
        implied_asks: &[],
    });
    let orders = Update::OrdersSnapshot(OrdersSnapshot {
        instrument,
        validity: Validity::Live,
        orders: &[order],
    });
    let change = Update::Orders(OrdersUpdate {
        instrument,
        validity: Validity::Live,
        changes: &[order],
    });
    let gap = Update::Gap(Gap {
        first: 1,
        last: 2,
        orders: Validity::Recovering,
    });
    let channel = Update::Channel(&ChannelState::LIVE);
    let definition = Update::Definition(&definition);
    let refresh = HeadFlags::REFRESH | HeadFlags::ROUND_BEGIN;
    let stream = [
        batch(1, HeadFlags::NONE, &[definition, book, orders, change]),
        batch(5, HeadFlags::NONE, &[gap, book]),
        batch(9, HeadFlags::IMAGE, &[book]),
        batch(10, refresh, &[channel]),
        batch(10, HeadFlags::REFRESH, &[definition, book, orders]),
        batch(10, HeadFlags::REFRESH | HeadFlags::ROUND_END, &[]),
        batch(10, HeadFlags::SOURCE_DOWN, &[]),
    ];
    let mut other = batch(1, HeadFlags::NONE, &[book]);
    other[4 + 2] = b'2';
    vec![stream.concat(), other, Vec::new()]
}

/// A batch with its length before it.
fn batch(first_sequence: u64, flags: HeadFlags, updates: &[Update<'_>]) -> Vec<u8> {
    let mut batch = Batch::new();
    for update in updates {
        for part in parts(update, 1_300) {
            let number = first_sequence + u64::from(batch.count());
            batch.push(part.len(), |mut place| {
                part.write(
                    number,
                    Flags::END_OF_BATCH,
                    &Timestamps::default(),
                    &mut place,
                );
            });
        }
    }
    batch.close(&Head {
        source: Source::named("gw1").expect("a name"),
        epoch: Epoch(1 << 12),
        first_sequence,
        count: batch.count(),
        hops: 0,
        flags,
        sent_ns: 0,
    });
    let bytes = batch.datagram();
    [&(bytes.len() as u16).to_le_bytes(), bytes].concat()
}
