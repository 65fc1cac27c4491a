//! A bus of market data: each message is a trade in the native format, from the publisher of a gateway to the subscriber of a
//! strategy, on one host or over a relay.

use super::{Place, Receiver, Sender, Sent};
use crate::Failed;
use crate::message::{self, BYTES, Message};
use std::time::{Duration, Instant};
use touchline_transport::bus::{Polled, Root};
use touchline_transport::market::{Item, Join, Kinds, Publish, Publisher, Settings, Subscriber};
use touchline_transport::shm::{CountersFile, CountersView};
use touchline_types::{
    Depth, Instrument, InstrumentDefinition, Price, Quantity, Symbol, Timestamps, Trade, Update,
    UpdateAction,
};

/// Name of the bus, on both sides of a relay.
pub const BUS: &str = "load";
/// Folder of the buses of the publisher's side, below that of the step.
pub const NEAR: &str = "near";
/// Folder of the buses behind a relay.
pub const FAR: &str = "far";

const INSTRUMENT: Instrument = Instrument(0);
/// Counters of a receiving relay that explain a loss.
const COUNTERS: [&str; 4] = [
    "relay_gaps",
    "relay_lost",
    "relay_timeouts",
    "relay_disconnects",
];
/// Messages of one poll.
const TURN: usize = 256;
/// Probe trades that show readers that the path is open, before the start: at most one in this time.
const PROBE: Duration = Duration::from_millis(5);

fn settings() -> Settings {
    Settings {
        ring_bytes: 8 * 1024 * 1024,
        instruments_max: 16,
        orders_max: 64,
        ..Settings::default()
    }
}

pub struct MarketSender {
    publisher: Publisher,
    has_begun: bool,
    probed: Instant,
}

impl MarketSender {
    pub fn open(place: &Place) -> Result<MarketSender, Failed> {
        let root = Root::at(place.folder_of(NEAR));
        let mut publisher = Publisher::open(&root, BUS, &settings())?;
        // A relay waits for the counters of a publisher, which say whose data it has.
        CountersFile::create(publisher.lock(), 1.0, [], [])?;
        let definition = InstrumentDefinition {
            symbol: Symbol::new(b"LOAD"),
            defined: true,
            ..InstrumentDefinition::unknown(
                INSTRUMENT,
                1,
                Depth {
                    direct: 1,
                    implied: 0,
                },
            )
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
        publisher.commit();
        Ok(MarketSender {
            publisher,
            has_begun: false,
            probed: Instant::now(),
        })
    }

    #[inline]
    fn publish(&mut self, trade_id: u64, sequence: u64, due_ns: u64) {
        let trade = Trade {
            instrument: INSTRUMENT,
            orders: -1,
            price: Price(sequence as i64),
            quantity: Quantity(sequence as i64),
            aggressor: None,
            action: UpdateAction::New,
            trade_id,
        };
        let timestamps = Timestamps {
            exchange_ns: due_ns,
            ..Timestamps::default()
        };
        self.publisher.publish(&Update::Trade(&trade), &timestamps);
        self.publisher.commit();
    }
}

impl Sender for MarketSender {
    #[inline]
    fn send(&mut self, bytes: &[u8; BYTES]) -> Result<Sent, Failed> {
        self.has_begun = true;
        if let Some((sequence, due_ns)) = message::read(bytes) {
            self.publish(sequence + 1, sequence, due_ns);
        }
        Ok(Sent::Yes)
    }

    fn turn(&mut self) -> Result<(), Failed> {
        if !self.has_begun && self.probed.elapsed() > PROBE {
            self.probed = Instant::now();
            self.publish(0, 0, 0);
        }
        Ok(())
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        Ok(true)
    }
}

pub struct MarketReceiver {
    root: Root,
    subscriber: Subscriber,
    message: Message,
    is_open: bool,
}

impl MarketReceiver {
    /// Joins the bus in this folder of the step.
    pub fn open(place: &Place, side: &str) -> Result<MarketReceiver, Failed> {
        let join = Join {
            kinds: Kinds::TRADES,
            ..Join::default()
        };
        let root = Root::at(place.folder_of(side));
        Ok(MarketReceiver {
            subscriber: Subscriber::join(&root, BUS, join)?,
            root,
            message: Message::default(),
            is_open: false,
        })
    }
}

impl Receiver for MarketReceiver {
    #[inline]
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
        let (message, is_open) = (&mut self.message, &mut self.is_open);
        let mut taken = 0;
        for _ in 0..TURN {
            let polled = self.subscriber.poll(|item| {
                let Item::Update(received) = item else { return };
                // The ring contains a last value as well.
                let Update::Trade(trade) = received.update else {
                    return;
                };
                if received.is_image {
                    return;
                }
                *is_open = true;
                // Trade 0 is a probe.
                // mutant: load: a reader drops one message
                if let Some(sequence) = trade.trade_id.checked_sub(1) {
                    let is_whole =
                        trade.price.0 == trade.quantity.0 && trade.price.0 == sequence as i64;
                    message.set(sequence, received.timestamps.exchange_ns);
                    take(if is_whole { message.bytes() } else { &[] });
                }
            });
            match polled {
                Polled::Given(()) => taken += 1,
                Polled::Passed(_) => {}
                Polled::Nothing => break,
            }
        }
        Ok(taken)
    }

    fn is_ready(&mut self) -> Result<bool, Failed> {
        self.poll(&mut |_| {})?;
        Ok(self.is_open)
    }

    /// Counters of losses of the relay that writes the bus.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        let view = CountersView::open(&self.root, BUS).ok().flatten();
        let counter = |name: &'static str| Some((name, view.as_ref()?.counter(name)?));
        COUNTERS.into_iter().filter_map(counter).collect()
    }
}
