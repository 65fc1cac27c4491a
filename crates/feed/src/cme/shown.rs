//! What subscribers are told that books are, where that is not what they are by themselves: packets are
//! awaited, or the stream repeats what snapshots had shown already.

use super::channel::Channel;
use touchline_types::{Event, Validity};

impl Channel {
    /// Loss makes every book doubtful to a subscriber; those that a snapshot had confirmed beyond
    /// the lost packets are said to be live.
    pub fn still_live(&self, events: &mut Vec<Event>) {
        for row in self.instruments.rows() {
            if self.validity(row) == Validity::Live {
                events.push(Event::Validity(row.definition.instrument, Validity::Live));
            }
        }
    }

    /// Says of every live book that what was shown of it is of this validity now.
    pub fn show(&self, validity: Validity, events: &mut Vec<Event>) {
        self.show_from(0, validity, events);
    }

    /// The same of all but the first `known` instruments.
    pub fn show_from(&self, known: usize, validity: Validity, events: &mut Vec<Event>) {
        let live = |is| (is == Validity::Live).then_some(validity);
        for row in &self.instruments.rows()[known..] {
            let price = live(self.validity(row));
            let orders = live(self.orders_validity(row)).filter(|_| self.orders_seen);
            if price.is_some() || orders.is_some() {
                events.push(Event::Shown {
                    instrument: row.definition.instrument,
                    price,
                    orders,
                });
            }
        }
    }

    /// Books that became whole while packets are awaited are no newer than the others, and those that a
    /// repetition changes are older than they were. An order book is told of as live first, since no later
    /// message brings its orders again.
    pub fn distrust(&self, events: &mut Vec<Event>) {
        let worse = |validity: &mut Validity| {
            if *validity == Validity::Live {
                *validity = Validity::Gapped;
            }
        };
        for at in 0..events.len() {
            let rebuilt = match &mut events[at] {
                Event::Level(_, price)
                | Event::BookEmptied(_, price)
                | Event::BookRebuilt(_, price)
                | Event::Validity(_, price) => {
                    worse(price);
                    None
                }
                Event::Defined {
                    instrument,
                    price,
                    orders,
                } => {
                    worse(price);
                    orders.map(|orders| (*instrument, orders))
                }
                Event::OrdersRebuilt(instrument, orders) => Some((*instrument, *orders)),
                _ => None,
            };
            if let Some((instrument, Validity::Live)) = rebuilt.filter(|_| self.orders_seen) {
                events.push(Event::Shown {
                    instrument,
                    price: None,
                    orders: Some(Validity::Gapped),
                });
            }
        }
    }

    /// Whether the stream repeats what was shown already.
    #[inline]
    pub fn repeats(&self) -> bool {
        self.repeats_until > 0
    }

    /// The newest packet from `packet` on that a price book holds by its snapshot; 0 if none does.
    pub fn ahead_of(&self, packet: u32) -> u32 {
        let through = self.instruments.rows().iter().map(|row| row.price.through);
        through
            .filter(|through| *through >= packet)
            .max()
            .unwrap_or(0)
    }

    /// After a reset: books that snapshots had shown as of its packet or later ones are older now than they were.
    /// Price books are not live until the stream has come there again, order books are unknown until a
    /// snapshot has.
    pub fn taken_back(&self, events: &mut Vec<Event>) {
        let missing = self.missing();
        for row in self.instruments.rows() {
            let instrument = row.definition.instrument;
            if self.repeats() && self.validity(row) == Validity::Live {
                events.push(Event::Shown {
                    instrument,
                    price: Some(Validity::Gapped),
                    orders: None,
                });
            }
            if !row.orders.known {
                events.push(Event::RebuildOrders(instrument));
                events.push(Event::OrdersRebuilt(instrument, missing));
            }
        }
    }

    /// A packet was processed while the stream repeats: it confirms no price book, and behind the last
    /// one each is what it was and live. Not in the middle of an event, of which a part is not shown yet.
    #[cold]
    pub fn repeated(&mut self, events: &mut Vec<Event>) {
        events.retain(|event| !matches!(event, Event::Confirmed(_)));
        self.distrust(events);
        if self.headline.sequence >= self.repeats_until && !self.event_open {
            self.repeats_until = 0;
            self.show(Validity::Live, events);
        }
    }

    /// A loop of snapshots that began after the reset is whole: what it names is no older than any
    /// snapshot of before. A number that it does not reach was a wrong one.
    pub fn repeats_no_further(&mut self, lowest: u32) {
        self.repeats_until = self.repeats_until.min(lowest);
    }
}
