//! Random order flow: actions of participants, and the messages of the venue.

mod participants;

use participants::REACH_TICKS;
pub use participants::SPREAD_TICKS_MAX;

use super::encode::ENTRIES_MAX;
use super::encode::incremental::{
    Body, LevelEntry, OrderEntry, ReferringOrder, StatisticEntry, TradeEntry,
};
use super::instrument::{Activity, Instrument};
use super::ladder::{LevelUpdate, List};
use super::market::{Market, RestingOrder, Trade};
use super::publisher::Publisher;
use crate::picture::TopRow;
use crate::random::Random;

/// Participants of all markets, and the venue that publishes their actions.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The markets, in the order of the instruments.
    pub markets: Vec<Market>,
    /// Best prices after each event: expected tops of book.
    pub tops: Vec<TopRow>,
    /// Record the best prices; they are never discarded.
    pub keep_tops: bool,
    /// Use DeleteThru, DeleteFrom and Overlay where they apply.
    pub bulk_actions: bool,
    /// Share of events with a message of an unknown template.
    pub unknown_share: f64,
    /// Share of messages after which a packet ends in the middle of its event.
    pub split_share: f64,
    /// Upper bound of the pause between two such packets, nanoseconds, exclusive.
    pub split_pause_ns: u64,
    /// Quantities of wide instruments are beyond 32 bits.
    pub large_quantities: bool,
    volumes: Vec<i64>,
    /// Number of turns of each instrument.
    pub(super) turns: Vec<u32>,
    last_order: u64,
    /// The message that may be the last of its event, with its own bits of MatchEventIndicator.
    held: Option<(Body, u8)>,
    transact_time: u64,
    random: Random,
}

/// An instrument that is not [`Activity::Traded`] has orders in one of this number of turns.
const QUIET_TURNS: u32 = 6;

/// Bits of MatchEventIndicator.
mod last {
    pub const TRADE: u8 = 0x01;
    pub const VOLUME: u8 = 0x02;
    pub const QUOTE: u8 = 0x04;
    pub const STATISTICS: u8 = 0x08;
    pub const IMPLIED: u8 = 0x10;
    pub const EVENT: u8 = 0x80;
}

impl Flow {
    /// Empty markets.
    pub fn new(instruments: &[Instrument], random: Random) -> Self {
        Self {
            markets: vec![Market::default(); instruments.len()],
            tops: Vec::new(),
            keep_tops: false,
            bulk_actions: false,
            unknown_share: 0.0,
            split_share: 0.15,
            split_pause_ns: 3_000,
            large_quantities: false,
            volumes: vec![0; instruments.len()],
            turns: vec![0; instruments.len()],
            last_order: 7_000_000_000_000,
            held: None,
            transact_time: 0,
            random,
        }
    }

    /// Runs one event in one to three of the first `defined` instruments, a few actions each.
    pub fn event(&mut self, publisher: &mut Publisher, defined: usize) {
        self.transact_time = publisher.now_ns;
        for _ in 0..self.random.between(1, 3) {
            let index = self.random.index(defined);
            self.turns[index] += 1;
            let is_traded = self.turns[index].is_multiple_of(QUIET_TURNS);
            match publisher.instruments[index].activity {
                Activity::Quiet if !is_traded => {}
                Activity::Limits if !is_traded => self.limits(publisher, index),
                _ => self.act(publisher, index),
            }
        }
        self.close_event(publisher);
    }

    /// Publishes the unpublished state of the markets: all books, after a channel reset.
    pub fn republish(&mut self, publisher: &mut Publisher) {
        for index in 0..self.markets.len() {
            self.transact_time = publisher.now_ns;
            self.tell_book(publisher, index);
            self.close_event(publisher);
        }
    }

    /// Empties all markets without messages, as over a weekend.
    pub fn clear(&mut self) {
        self.markets.iter_mut().for_each(Market::clear);
        self.volumes.fill(0);
    }

    /// Sends a channel reset, an event of its own. The markets stay; their published state is void.
    pub fn reset_channel(&mut self, publisher: &mut Publisher) {
        self.transact_time = publisher.now_ns;
        publisher.emit(
            Body::ChannelReset,
            self.transact_time,
            last::EVENT,
            &mut self.random,
        );
        publisher.forget_published();
    }

    /// Runs the actions of participants in one market, and their messages.
    fn act(&mut self, publisher: &mut Publisher, index: usize) {
        let mut trades = Vec::new();
        let instrument = publisher.instruments[index].clone();
        for _ in 0..self.random.between(1, 4) {
            trades.extend(self.action(&instrument, index));
        }
        self.make_market(&instrument, index);
        if !trades.is_empty() {
            self.tell_trades(publisher, index, &trades);
        }
        if instrument.listed_implied_depth.is_some() {
            if self.random.chance(0.3) {
                self.imply(&instrument, index);
            }
            // A change of the direct book changes the implied prices, in the same event.
            self.markets[index].fit_implied(REACH_TICKS * instrument.tick);
        }
        self.tell_book(publisher, index);
        if !trades.is_empty() && self.random.chance(0.3) {
            self.tell_statistics(publisher, index, &trades);
        }
    }

    fn tell_trades(&mut self, publisher: &mut Publisher, index: usize, trades: &[Trade]) {
        let (security_id, wide) = (
            publisher.instruments[index].security_id,
            publisher.instruments[index].wide,
        );
        let traded: i64 = trades.iter().map(|trade| trade.quantity).sum();
        let volume = self.volumes[index] + traded;
        // When the volume exceeds a narrow message, counting starts again, as on a new day.
        let fits = wide || i32::try_from(volume).is_ok();
        self.volumes[index] = if fits { volume } else { traded };
        let entries = trades.iter().map(|trade| TradeEntry {
            security_id,
            rpt_seq: 0,
            price: trade.price,
            quantity: trade.quantity,
            orders: trade.fills.len() as i32,
            aggressor: trade.aggressor,
        });
        // A fill's quantity is an int32; the fills of a larger order are not published.
        let fits = |fill: &(u64, i64)| i32::try_from(fill.1).is_ok();
        let fills = trades
            .iter()
            .flat_map(|trade| trade.fills.clone())
            .filter(fits)
            .take(40)
            .collect();
        let body = Body::Trades {
            wide,
            trades: entries.take(20).collect(),
            fills,
        };
        self.say(publisher, body, last::TRADE);
        let volume = StatisticEntry {
            security_id,
            rpt_seq: 0,
            entry_type: b'e',
            price: 0,
            quantity: self.volumes[index],
        };
        self.say(
            publisher,
            Body::Volume {
                wide,
                entries: vec![volume],
            },
            last::VOLUME,
        );
    }

    /// Publishes the changed levels and orders of one market since its last message.
    fn tell_book(&mut self, publisher: &mut Publisher, index: usize) {
        self.release(publisher, 0);
        let instrument = publisher.instruments[index].clone();
        let mut orders = self.changed_orders(publisher, index);
        for implied in [false, true] {
            let mut levels: Vec<(List, LevelUpdate)> = Vec::new();
            for list in List::ALL.into_iter().filter(|list| list.implied == implied) {
                let depth = if implied {
                    instrument.implied_depth()
                } else {
                    instrument.depth()
                };
                let ladder = &publisher.published[index].ladders[list.index()];
                let bulk = self.bulk_actions.then_some(&mut self.random);
                let updates = list.updates(ladder, &self.markets[index], depth, bulk);
                levels.extend(updates.into_iter().map(|update| (list, update)));
            }
            let bit = if implied { last::IMPLIED } else { last::QUOTE };
            let mut rest = &levels[..];
            while !rest.is_empty() {
                let size = (self.random.between(1, 12) as usize).min(rest.len());
                let body = self.book_message(&instrument, &rest[..size], &mut orders);
                rest = &rest[size..];
                self.say(publisher, body, if rest.is_empty() { bit } else { 0 });
            }
        }
        for chunk in orders.chunks(20) {
            self.say(publisher, Body::Orders(chunk.to_vec()), last::QUOTE);
        }
    }

    /// Adds orders that changed at a level of the message to it, and removes them from `orders`.
    fn book_message(
        &mut self,
        instrument: &Instrument,
        updates: &[(List, LevelUpdate)],
        orders: &mut Vec<OrderEntry>,
    ) -> Body {
        let security_id = instrument.security_id;
        let levels: Vec<LevelEntry> = updates
            .iter()
            .map(|(list, update)| LevelEntry {
                security_id,
                rpt_seq: 0,
                entry_type: list.entry_type(),
                action: update.action,
                level: update.level as u8,
                price: update.rung.price,
                quantity: update.rung.quantity,
                orders: update.rung.orders,
            })
            .collect();
        let mut told = Vec::new();
        orders.retain(|order| {
            let place = updates.iter().position(|(list, update)| {
                !list.implied && list.side == order.side && Some(update.rung.price) == order.price
            });
            if let Some(place) = place.filter(|_| told.len() < ENTRIES_MAX / 8) {
                told.push(ReferringOrder {
                    id: order.id,
                    priority: order.priority,
                    quantity: order.quantity,
                    reference: place as u8 + 1,
                    action: order.action,
                });
                return false;
            }
            true
        });
        Body::Book {
            wide: instrument.wide,
            levels,
            orders: told,
        }
    }

    /// Orders of a market that differ from their published state. An update may leave out unchanged fields.
    fn changed_orders(&mut self, publisher: &Publisher, index: usize) -> Vec<OrderEntry> {
        let security_id = publisher.instruments[index].security_id;
        let published = &publisher.published[index].orders;
        let market = &self.markets[index];
        let entry = |order: &RestingOrder, action| OrderEntry {
            security_id,
            id: order.id,
            priority: Some(order.priority),
            price: Some(order.price),
            quantity: Some(order.quantity),
            side: order.side,
            action,
        };
        let mut entries = Vec::new();
        for order in market.all_orders() {
            match published.get(&order.id) {
                None => entries.push(entry(order, 0)),
                Some(old) if old != order => {
                    let mut update = entry(order, 1);
                    if old.priority == order.priority && self.random.chance(0.5) {
                        update.priority = None;
                    }
                    if old.quantity == order.quantity && self.random.chance(0.5) {
                        update.quantity = None;
                    }
                    entries.push(update);
                }
                Some(_) => {}
            }
        }
        let gone = published
            .values()
            .filter(|old| market.all_orders().all(|order| order.id != old.id));
        entries.extend(gone.map(|old| OrderEntry {
            quantity: None,
            priority: None,
            ..entry(old, 2)
        }));
        entries
    }

    fn tell_statistics(&mut self, publisher: &mut Publisher, index: usize, trades: &[Trade]) {
        let instrument = &publisher.instruments[index];
        let wide = instrument.wide;
        let prices = trades.iter().map(|trade| trade.price);
        let extremes = [(b'7', prices.clone().max()), (b'8', prices.min())];
        let entry = |(entry_type, price): (u8, Option<i64>)| StatisticEntry {
            security_id: instrument.security_id,
            rpt_seq: 0,
            entry_type,
            price: price.unwrap_or(0),
            quantity: 0,
        };
        let entries: Vec<_> = extremes.into_iter().map(entry).collect();
        let body = match self.random.chance(0.3) {
            true => Body::DailyStatistics(vec![StatisticEntry {
                entry_type: b'6',
                ..entries[0]
            }]),
            false => Body::SessionStatistics { wide, entries },
        };
        self.say(publisher, body, last::STATISTICS);
    }

    fn limits(&mut self, publisher: &mut Publisher, index: usize) {
        let Instrument {
            security_id, price, ..
        } = publisher.instruments[index];
        let entry = StatisticEntry {
            security_id,
            rpt_seq: 0,
            entry_type: b'g',
            price,
            quantity: 0,
        };
        self.say(publisher, Body::Limits(vec![entry]), last::STATISTICS);
    }

    /// Queues a message; the previous one is thereby not the last of its event.
    fn say(&mut self, publisher: &mut Publisher, body: Body, bits: u8) {
        self.release(publisher, 0);
        self.held = Some((body, bits));
    }

    fn release(&mut self, publisher: &mut Publisher, more_bits: u8) {
        if let Some((body, bits)) = self.held.take() {
            publisher.emit(body, self.transact_time, bits | more_bits, &mut self.random);
            if more_bits == 0 && self.random.chance(self.split_share) {
                publisher.flush();
                publisher.now_ns += self.random.below(self.split_pause_ns);
            }
        }
    }

    /// Ends the event, with its last message or with a further message of another kind.
    fn close_event(&mut self, publisher: &mut Publisher) {
        if self.random.chance(self.unknown_share) {
            let body = (0..self.random.between(3, 40))
                .map(|_| self.random.next_u64() as u8)
                .collect();
            self.say(publisher, Body::Unknown(199, body), 0);
        }
        let is_unknown = matches!(self.held, Some((Body::Unknown(..), _)));
        if self.held.is_none() || is_unknown || self.random.chance(0.2) {
            let body = match self.random.chance(0.7) {
                true => Body::Book {
                    wide: false,
                    levels: vec![],
                    orders: vec![],
                },
                false => {
                    let index = self.random.index(publisher.instruments.len());
                    Body::Status {
                        security_id: publisher.instruments[index].security_id,
                        status: 17,
                    }
                }
            };
            self.say(publisher, body, 0);
        }
        self.release(publisher, last::EVENT);
        self.write_expected(publisher);
    }

    /// Ends an event: asserts that the published state is the state of the markets, and records it
    /// as expected.
    fn write_expected(&mut self, publisher: &mut Publisher) {
        for index in std::mem::take(&mut publisher.touched) {
            let instrument = &publisher.instruments[index];
            let market = &self.markets[index];
            for list in List::ALL {
                let depth = if list.implied {
                    instrument.implied_depth()
                } else {
                    instrument.depth()
                };
                let published = &publisher.published[index].ladders[list.index()];
                assert_eq!(
                    *published,
                    list.of(market, depth),
                    "the venue published another book than it holds"
                );
            }
            let mut resting: Vec<RestingOrder> = market.all_orders().copied().collect();
            resting.sort_by_key(|order| order.id);
            assert!(
                publisher.published[index].orders.values().eq(&resting),
                "the venue published other orders"
            );
            if !self.keep_tops {
                continue;
            }
            let best = |list: List| list.of(market, 1).first().map(|&rung| rung.into());
            self.tops.push(TopRow {
                sequence: u64::from(publisher.open_sequence()),
                security_id: instrument.security_id,
                bid: best(List::ALL[0]),
                ask: best(List::ALL[1]),
            });
        }
        publisher.note_states();
    }
}
