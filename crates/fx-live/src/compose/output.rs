//! The bus of the composite: a book of each pair, the banks at the best, and the cost of each size.
//!
//! | message | what |
//! |---|---|
//! | BookUpdate, TopOfBook | prices with their quantities; the number of orders is the number of banks |
//! | QuoteSnapshot of `composite` | without tier: a bank at the best, its name as the quote's id; with tier: the average price of a configured size |

use crate::compose::config::Config;
use touchline_fx::Pricing;
use touchline_fx::ladder::{Ladder, price_of, price_of_hundredths};
use touchline_fx::setup::Setup;
use touchline_fx_events::composite::Top;
use touchline_fx_events::event::{Batch, Event};
use touchline_fx_events::setup::Pair;
use touchline_transport::Publish;
use touchline_transport::clock::ticks;
use touchline_transport::shm::{Error, Publisher, Root, Settings};
use touchline_types::{
    BookUpdate, ChannelState, Code, Depth, Id, Instrument, InstrumentDefinition, PacketInfo, Price,
    Quantity, Quote, QuoteSnapshot, QuoteStream, ReferenceData, SecurityType, Side, State, Symbol,
    Timestamps, Update, Validity,
};

/// Provider name of the published quotes.
const PROVIDER: &str = "composite";

/// Destination of the composite.
#[derive(Debug)]
pub struct Output<P> {
    publisher: P,
    pairs: Vec<Published>,
    quotes: Vec<Quote>,
    names: Vec<Id>,
}

/// Last published state of a pair.
#[derive(Debug)]
struct Published {
    ladder: Ladder,
    /// Revisions of the levels in the ladder, by side.
    revisions: [u64; 2],
    validity: Validity,
    /// Cost of each size and banks at the best, of the last composite.
    tops: [Option<Top>; 2],
    averages: Vec<[Option<i64>; 2]>,
    value_date: u32,
}

/// Receive time of a quote at the gateway and at the composer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cause {
    /// Receive time of the gateway, nanoseconds since 1970.
    pub receive_ns: u64,
    /// Ticks of the composer's poll.
    pub polled: u64,
    /// Whether it is a snapshot at which the composer took a pair up: its receive time is that of an earlier message.
    pub is_taken_up: bool,
}

/// Opens the bus of a configuration.
///
/// # Errors
/// Another process writes the bus, or memory is missing, for example.
pub fn open(config: &Config, root: &Root) -> Result<Publisher, Error> {
    let settings = Settings {
        ring_bytes: config.ring_bytes,
        instruments_max: config.pairs.len(),
        image_levels_max: config.levels,
        orders_max: 1,
        ..Settings::default()
    };
    Publisher::open(root, &config.bus, &settings)
}

impl<P: Publish> Output<P> {
    /// Publishes all pairs as not live.
    pub fn new(publisher: P, setup: &Setup, levels: usize) -> Output<P> {
        let published = |pair: &touchline_fx::setup::PairSetup| Published {
            ladder: Ladder::new(levels, pair.config.precision),
            revisions: [0; 2],
            validity: Validity::Stale,
            tops: [None; 2],
            averages: vec![[None; 2]; pair.config.sizes.len()],
            value_date: pair.spot_date,
        };
        let name = |bank: &touchline_fx::setup::BankSetup| {
            Id::new(bank.config.name.as_bytes()).expect("the name of a bank was checked")
        };
        let mut output = Output {
            publisher,
            pairs: setup.pairs.iter().map(published).collect(),
            quotes: Vec::with_capacity(64),
            names: setup.banks.iter().map(name).collect(),
        };
        output.begin(setup, levels);
        output
    }

    /// The quotes of a pair are for this value date, `YYYYMMDD`, from now on.
    pub fn set_value_date(&mut self, pair: Pair, value_date: u32) {
        self.pairs[pair].value_date = value_date;
    }

    /// The publisher.
    pub fn publisher(&self) -> &P {
        &self.publisher
    }

    /// The publisher.
    pub fn publisher_mut(&mut self) -> &mut P {
        &mut self.publisher
    }

    /// Published levels of a pair.
    pub fn ladder(&self, pair: Pair) -> &Ladder {
        &self.pairs[pair].ladder
    }

    /// Published state of a pair.
    pub fn validity(&self, pair: Pair) -> Validity {
        self.pairs[pair].validity
    }

    fn begin(&mut self, setup: &Setup, levels: usize) {
        let timestamps = Timestamps::default();
        self.publisher
            .publish(&Update::Channel(&ChannelState::LIVE), &timestamps);
        for (pair, about) in setup.pairs.iter().enumerate() {
            let definition = definition(pair, about, levels);
            self.publisher
                .publish(&Update::Definition(&definition), &timestamps);
            self.publisher.publish(
                &Update::BookSnapshot(touchline_types::BookSnapshot {
                    instrument: Instrument(pair as u32),
                    validity: Validity::Stale,
                    bids: &[],
                    asks: &[],
                    implied_bids: &[],
                    implied_asks: &[],
                }),
                &timestamps,
            );
        }
        self.publisher.commit();
    }

    /// Updates the book of a pair. True if anything was published.
    pub fn refresh(
        &mut self,
        pricing: &Pricing,
        pair: Pair,
        validity: Validity,
        cause: &Cause,
    ) -> bool {
        let published = &mut self.pairs[pair];
        let composites = pricing.composites();
        let changed = Side::BOTH.map(|side| {
            let (seen, now) = (
                &mut published.revisions[side.index()],
                composites.revision(pair, side),
            );
            (std::mem::replace(seen, now) != now).then(|| composites.levels(pair, side))
        });
        let is_changed = published.ladder.replace(changed);
        let is_other = std::mem::replace(&mut published.validity, validity) != validity;
        if !is_changed && !is_other {
            return false;
        }
        let instrument = Instrument(pair as u32);
        let timestamps = timestamps(cause);
        let ladder = &published.ladder;
        let update = match is_changed {
            true => Update::Book(BookUpdate {
                instrument,
                security_id: instrument.row_number(),
                validity,
                direct: true,
                whole: true,
                changes: ladder.changes(),
                best_bid: ladder.levels(Side::Bid).first().copied(),
                best_ask: ladder.levels(Side::Ask).first().copied(),
            }),
            false => Update::State(State {
                instrument,
                validity,
            }),
        };
        self.publisher.publish(&update, &timestamps);
        // A conflated composite comes later: a reader of quotes alone would believe the last one until then.
        if is_other && validity != Validity::Live {
            self.quotes(pricing.setup(), pair, cause);
        }
        true
    }

    /// Publishes the composites of a batch. Returns their number.
    pub fn composites(&mut self, setup: &Setup, batch: &Batch, cause: &Cause) -> u64 {
        let mut count = 0;
        for (_, event) in &batch.events {
            if let Event::Composite {
                pair,
                tops,
                averages,
            } = event
            {
                let published = &mut self.pairs[*pair];
                published.tops.clone_from(tops);
                published
                    .averages
                    .copy_from_slice(&batch.averages[averages.clone()]);
                self.quotes(setup, *pair, cause);
                count += 1;
            }
        }
        count
    }

    /// Publishes the banks at the best and the costs of sizes as they are now, ahead of a conflated composite. True if they
    /// changed.
    pub fn catch_up(&mut self, pricing: &Pricing, pair: Pair, cause: &Cause) -> bool {
        let composite = pricing.composites().of(pair);
        let published = &mut self.pairs[pair];
        if published.tops == composite.tops && published.averages == composite.averages {
            return false;
        }
        published.tops.clone_from(&composite.tops);
        published.averages.copy_from_slice(&composite.averages);
        self.quotes(pricing.setup(), pair, cause);
        true
    }

    /// Repeats the banks and averages of every pair, for late joiners.
    pub fn repeat(&mut self, setup: &Setup) {
        for pair in 0..self.pairs.len() {
            self.quotes(setup, pair, &Cause::default());
        }
        self.publisher.commit();
    }

    /// Banks at the best of a pair, and the cost of each size.
    fn quotes(&mut self, setup: &Setup, pair: Pair, cause: &Cause) {
        let Output {
            publisher,
            pairs,
            quotes,
            names,
        } = self;
        let published = &pairs[pair];
        let config = &setup.pairs[pair].config;
        quotes.clear();
        for side in Side::BOTH {
            if let Some(top) = &published.tops[side.index()] {
                for bank in top.banks.iter() {
                    quotes.push(Quote {
                        entry: quotes.len() as u32,
                        side,
                        price: price_of(top.price, config.precision),
                        quantity: Quantity(top.quantity),
                        priority: bank as u64,
                        quote_id: names[bank],
                        ..Quote::NULL
                    });
                }
            }
            for (tier, size) in config.sizes.iter().enumerate() {
                let average = published.averages[tier][side.index()];
                quotes.push(Quote {
                    entry: quotes.len() as u32,
                    side,
                    price: average.map_or(Price::NULL, |average| {
                        price_of_hundredths(average, config.precision)
                    }),
                    quantity: Quantity(*size),
                    tier: Some(tier as u16),
                    is_indicative: true,
                    ..Quote::NULL
                });
            }
        }
        let snapshot = QuoteSnapshot {
            stream: QuoteStream {
                instrument: Instrument(pair as u32),
                security_id: Instrument(pair as u32).row_number(),
                provider: Code::lossy(PROVIDER.as_bytes()),
                value_date: published.value_date,
                validity: published.validity,
                is_unquoted: false,
            },
            quotes,
        };
        publisher.publish(&Update::QuoteSnapshot(snapshot), &timestamps(cause));
    }

    /// Readers may act on the published messages.
    pub fn commit(&mut self) {
        self.publisher.commit();
    }
}

fn timestamps(cause: &Cause) -> Timestamps {
    let now = ticks();
    Timestamps {
        exchange_ns: 0,
        packet: PacketInfo {
            receive_ns: cause.receive_ns,
            ..PacketInfo::default()
        },
        polled: cause.polled,
        decoded: cause.polled,
        applied: now,
        published: now,
    }
}

fn definition(
    pair: Pair,
    about: &touchline_fx::setup::PairSetup,
    levels: usize,
) -> InstrumentDefinition {
    let depth = Depth {
        direct: levels as u16,
        implied: 0,
    };
    let config = &about.config;
    let symbol = config.symbol.as_bytes();
    let quoted = symbol
        .iter()
        .position(|byte| *byte == b'/')
        .map_or(&b""[..], |at| &symbol[at + 1..]);
    let instrument = Instrument(pair as u32);
    let unknown = InstrumentDefinition::unknown(instrument, instrument.row_number(), depth);
    InstrumentDefinition {
        symbol: Symbol::new(symbol),
        asset: Symbol::new(about.base.as_str().as_bytes()),
        tick: price_of(1, config.precision),
        defined: true,
        reference: ReferenceData {
            venue: Code::lossy(PROVIDER.as_bytes()),
            security_type: Some(SecurityType::Spot),
            currency: Code::lossy(quoted),
            multiplier: Price(1_000_000_000),
            lot: Quantity(config.lot),
            ..ReferenceData::NULL
        },
        ..unknown
    }
}
