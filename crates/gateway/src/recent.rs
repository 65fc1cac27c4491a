//! The instruments of the last packets: what the next packet most likely changes.

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
        self.instruments[self.noted % KEPT] = *instrument;
        self.noted = self.noted.wrapping_add(1);
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
