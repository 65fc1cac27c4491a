//! What is known to be as at the sender, instrument by instrument.

use touchline_types::Instrument;

/// Of one instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its price book holds every change.
    pub price: bool,
    /// Its order book holds every change.
    pub orders: bool,
    /// Definition, status and figures are the newest.
    pub values: bool,
}

/// Nothing was lost of any of them.
const WHOLE: Known = Known {
    price: true,
    orders: true,
    values: true,
};

/// Of all instruments, and of the channel.
#[derive(Debug)]
pub struct Trust {
    known: Vec<Known>,
    /// Of instruments that nothing was heard of.
    others: Known,
    /// The state of the channel is the newest.
    pub is_channel_known: bool,
    instruments_max: usize,
}

impl Trust {
    /// Nothing is known.
    pub fn new(instruments_max: usize) -> Trust {
        Trust {
            known: Vec::with_capacity(instruments_max),
            others: Known::default(),
            is_channel_known: false,
            instruments_max,
        }
    }

    /// Another stream: known from its beginning, or not at all.
    pub fn reset(&mut self, is_whole: bool) {
        self.known.clear();
        self.others = if is_whole { WHOLE } else { Known::default() };
        self.is_channel_known = is_whole;
    }

    /// Messages were lost: they may have been of anything.
    pub fn lose_all(&mut self) {
        self.set_all(|known| *known = Known::default());
        self.is_channel_known = false;
    }

    /// Every book is empty at the sender, and so it is here.
    pub fn all_books_are_known(&mut self) {
        self.set_all(|known| (known.price, known.orders) = (true, true));
    }

    /// Every order book is empty at the sender, and so it is here.
    pub fn all_orders_are_known(&mut self) {
        self.set_all(|known| known.orders = true);
    }

    /// Of an instrument.
    #[inline]
    pub fn of(&self, instrument: Instrument) -> Known {
        let known = self.known.get(instrument.index());
        known.copied().unwrap_or(self.others)
    }

    /// Of an instrument, to be changed; one beyond the limit is never known.
    #[inline]
    pub fn of_mut(&mut self, instrument: Instrument) -> Option<&mut Known> {
        let index = instrument.index();
        if index >= self.known.len() {
            if index >= self.instruments_max {
                return None;
            }
            self.known.resize(index + 1, self.others);
        }
        self.known.get_mut(index)
    }

    /// All of a refresh came: what it did not bring, the sender does not have. Its order book is only known if there was room for
    /// it. Whether something was lacking.
    pub fn end_of_refresh(&mut self, instrument: Instrument, has_room: bool) -> bool {
        let all = Known {
            orders: has_room,
            ..WHOLE
        };
        let known = self.of_mut(instrument);
        known.is_some_and(|known| std::mem::replace(known, all) != all)
    }

    fn set_all(&mut self, change: impl Fn(&mut Known)) {
        change(&mut self.others);
        self.known.iter_mut().for_each(change);
    }
}
