//! The instruments of the last packets with changes of a book: what the next packet most likely changes.

use touchline_types::{Event, Instrument, LevelEvent, OrderEvent};

/// Number of instruments; those of more packets would not fit the nearest caches.
const KEPT: usize = 32;

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

    /// Notes the instrument of a packet whose first event is this one.
    #[inline]
    pub fn note(&mut self, first: Option<&Event>) {
        let (Some(Event::Level(LevelEvent { instrument, .. }, _))
        | Some(Event::Order(OrderEvent { instrument, .. }, _))) = first
        else {
            return;
        };
        // A run of packets of one instrument takes one place.
        let last = self.noted.wrapping_sub(1) % KEPT;
        if self.noted == 0 || self.instruments[last] != *instrument {
            self.instruments[self.noted % KEPT] = *instrument;
            self.noted = self.noted.wrapping_add(1);
        }
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
    use touchline_types::{BookKind, Place, Price, Quantity, Side, UpdateAction, Validity};

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
        recent.note(Some(&Event::Reset));
        recent.note(None);
        assert_eq!(recent.next(), None, "they change no single book");
        for instrument in [7, 7, 7, 3] {
            recent.note(Some(&changed(instrument)));
        }
        assert_eq!(read(&mut recent, 4), [3, 3, 7, 7], "a run has one place");
        (0..100).for_each(|instrument| recent.note(Some(&changed(instrument))));
        let last: Vec<u32> = (68..100).collect();
        assert_eq!(read(&mut recent, KEPT), last);
    }
}
