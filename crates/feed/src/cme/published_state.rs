//! What subscribers are told that books are, where that is not what they are by themselves: packets are
//! awaited, the feed is silent, or packets contradict what was processed.

use super::channel::Channel;
use crate::Output;
use std::ops::Range;
use touchline_types::{Event, Validity};

/// Instruments that subscribers are told of at a time, so that a change of them all does not fill the ring.
const SLICE: usize = 512;

/// How far subscribers are told of a change that concerns every instrument: a slice with each packet or look.
#[derive(Debug, Default)]
pub struct Telling {
    next: Option<usize>,
    allowed: bool,
}

impl Telling {
    /// What every instrument is shown as has changed.
    pub fn begin(&mut self) {
        (self.next, self.allowed) = (Some(0), true);
    }

    /// A packet came, or time passed: a further slice may be told.
    #[inline]
    pub fn allow(&mut self) {
        self.allowed = true;
    }

    /// Whether a slice is to be told now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.allowed && self.next.is_some()
    }

    /// The instruments whose turn it is, of `known` in all.
    #[inline]
    pub fn next(&mut self, known: usize) -> Option<Range<usize>> {
        let first = self.next?;
        self.slice(first, known)
    }

    #[cold]
    fn slice(&mut self, first: usize, known: usize) -> Option<Range<usize>> {
        if !std::mem::take(&mut self.allowed) {
            return None;
        }
        let end = known.min(first + SLICE);
        self.next = (end < known).then_some(end);
        Some(first..end)
    }
}

impl Channel {
    /// Loss makes every book doubtful to a subscriber; those that a snapshot had confirmed beyond
    /// the lost packets are said to be live.
    pub fn still_live(&self, out: &mut Output<'_>) {
        for (instrument, row) in self.rows.iter() {
            if self.validity(row) == Validity::Live {
                out.push(Event::Validity(instrument, Validity::Live));
            }
        }
    }

    /// Says of the live books of all but the first `known` instruments that what was shown of them is of this validity
    /// now.
    pub fn show_from(&self, known: usize, validity: Validity, out: &mut Output<'_>) {
        self.show_range(known..self.rows.len(), validity, out);
    }

    /// The same of some instruments.
    pub fn show_range(&self, some: Range<usize>, validity: Validity, out: &mut Output<'_>) {
        let live = |is| (is == Validity::Live).then_some(validity);
        for (instrument, row) in self.rows.iter().take(some.end).skip(some.start) {
            let price = live(self.validity(row));
            let orders = live(self.orders_validity(row)).filter(|_| self.orders_seen);
            if price.is_some() || orders.is_some() {
                out.push(Event::PublishedState {
                    instrument,
                    price,
                    orders,
                });
            }
        }
    }

    /// Books that became whole while packets are awaited are no newer than the others. An order book is told of as live first, since no later
    /// message brings its orders again.
    pub fn distrust(&self, out: &mut Output<'_>) {
        let worse = |validity: &mut Validity| {
            if *validity == Validity::Live {
                *validity = Validity::Gapped;
            }
        };
        for at in 0..out.events.len() {
            let rebuilt = match &mut out.events[at] {
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
                out.push(Event::PublishedState {
                    instrument,
                    price: None,
                    orders: Some(Validity::Gapped),
                });
            }
        }
    }
}
