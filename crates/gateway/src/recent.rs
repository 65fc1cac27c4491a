//! Instruments that the last packets have changed; the next packet most likely changes one of them.

use touchline_types::{Event, Instrument, LevelEvent, OrderEvent};

/// Number of instruments; the data of more would not fit the nearest caches.
const KEPT: usize = 32;

/// Most instruments that are noted of a packet.
const OF_PACKET: usize = 4;

/// Instruments of the last packets, each read in turn.
#[derive(Debug)]
pub struct Recent {
    instruments: [Instrument; KEPT],
    noted: usize,
    read: usize,
}

impl Recent {
    /// None yet.
    pub fn new() -> Recent {
        Recent {
            instruments: [Instrument(0); KEPT],
            noted: 0,
            read: 0,
        }
    }

    /// Notes the first instruments whose levels or orders a packet changes, given its events.
    pub fn note(&mut self, events: &[Event]) {
        let begin = self.noted;
        for event in events {
            let (Event::Level(LevelEvent { instrument, .. }, _)
            | Event::Order(OrderEvent { instrument, .. }, _)) = event
            else {
                continue;
            };
            if self.is_among_last(*instrument) {
                continue;
            }
            self.instruments[self.noted % KEPT] = *instrument;
            self.noted = self.noted.wrapping_add(1);
            if self.noted.wrapping_sub(begin) == OF_PACKET {
                return;
            }
        }
    }

    /// Whether an instrument has one of the last places: it takes one place in a packet, and in a run of packets that change
    /// the same few.
    #[inline]
    fn is_among_last(&self, instrument: Instrument) -> bool {
        let mut last = 1..=self.noted.min(OF_PACKET);
        last.any(|back| self.instruments[self.noted.wrapping_sub(back) % KEPT] == instrument)
    }

    /// The next of them, again and again; `None` before the first packet.
    pub fn next(&mut self) -> Option<Instrument> {
        let kept = self.noted.min(KEPT);
        self.read = if self.read + 1 < kept {
            self.read + 1
        } else {
            0
        };
        self.instruments[..kept].get(self.read).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{BookKind, Place, Price, Quantity, Side, Trade, UpdateAction, Validity};

    fn changed(instrument: u32) -> Event {
        let level = LevelEvent {
            instrument: Instrument(instrument),
            orders: 1,
            price: Price(1),
            quantity: Quantity(1),
            action: UpdateAction::New,
            place: Place::Position(1),
            side: Side::Bid,
            book: BookKind::Direct,
        };
        Event::Level(level, Validity::Live)
    }

    fn read(recent: &mut Recent, count: usize) -> Vec<u32> {
        let mut read: Vec<u32> = (0..count)
            .filter_map(|_| recent.next())
            .map(|i| i.0)
            .collect();
        read.sort_unstable();
        read
    }

    #[test]
    fn the_last_instruments_are_read_in_turn() {
        let mut recent = Recent::new();
        assert_eq!(recent.next(), None);
        recent.note(&[Event::Reset(None)]);
        recent.note(&[]);
        assert_eq!(recent.next(), None, "they change no single book");
        for instrument in [7, 7, 7, 3] {
            recent.note(&[changed(instrument)]);
        }
        assert_eq!(read(&mut recent, 4), [3, 3, 7, 7], "a run has one place");
        (0..100).for_each(|instrument| recent.note(&[changed(instrument)]));
        let last: Vec<u32> = (68..100).collect();
        assert_eq!(read(&mut recent, KEPT), last);
    }

    /// A trade before them hides none.
    #[test]
    fn every_instrument_of_a_packet_is_noted_once_up_to_a_few() {
        let mut recent = Recent::new();
        let trade = Trade {
            instrument: Instrument(5),
            orders: 1,
            price: Price(1),
            quantity: Quantity(1),
            aggressor: None,
            action: UpdateAction::New,
            trade_id: 1,
        };
        let trade = Event::Trade(trade, 0);
        for _ in 0..2 {
            recent.note(&[trade, changed(5), trade, changed(6), changed(5)]);
        }
        assert_eq!(read(&mut recent, 2), [5, 6]);
        assert_eq!(recent.noted, 2, "a run of packets of two has two places");
        let many: Vec<Event> = (10..30).map(changed).collect();
        recent.note(&many);
        assert_eq!(read(&mut recent, 6), [5, 6, 10, 11, 12, 13]);
    }
}
