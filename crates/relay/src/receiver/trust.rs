//! Data that equals the sender's, by instrument.

use touchline_types::Instrument;

/// State of one instrument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The price book has every change.
    pub price: bool,
    /// The order book has every change.
    pub orders: bool,
    /// Definition, status and statistics are the latest.
    pub values: bool,
    /// A part of it did not fit here since the present round of refreshes began.
    pub is_refused: bool,
    /// An update of it was withheld since then.
    pub is_withheld: bool,
}

/// State of an instrument that no loss affects.
const WHOLE: Known = Known {
    price: true,
    orders: true,
    values: true,
    is_refused: false,
    is_withheld: false,
};

/// State of all instruments, and of the channel.
#[derive(Debug)]
pub struct Trust {
    known: Vec<Known>,
    /// State of instruments without any message so far.
    others: Known,
    /// The state of the channel is the latest.
    pub is_channel_known: bool,
    /// A part of some instrument did not fit here, as far as the last complete round of refreshes shows.
    has_refused: bool,
    instruments_max: usize,
}

impl Trust {
    /// Makes the state in which all data is unknown.
    pub fn new(instruments_max: usize) -> Trust {
        Trust {
            known: Vec::with_capacity(instruments_max),
            others: Known::default(),
            is_channel_known: false,
            has_refused: false,
            instruments_max,
        }
    }

    /// A new stream: complete from its first message, or unknown.
    pub fn reset(&mut self, is_whole: bool) {
        self.known.clear();
        self.others = if is_whole { WHOLE } else { Known::default() };
        self.is_channel_known = is_whole;
        self.has_refused = false;
    }

    /// Messages were lost, with any contents.
    pub fn lose_all(&mut self) {
        self.set_all(|known| *known = Known::default());
        self.is_channel_known = false;
    }

    /// Every book is empty at the sender and here.
    pub fn all_books_are_known(&mut self) {
        self.set_all(|known| {
            *known = Known {
                values: known.values,
                ..WHOLE
            }
        });
    }

    /// Every order book is empty at the sender and here.
    pub fn all_orders_are_known(&mut self) {
        self.set_all(|known| known.orders = true);
    }

    /// A round of refreshes begins.
    pub fn begin_round(&mut self) {
        self.set_all(|known| (known.is_refused, known.is_withheld) = (false, false));
    }

    /// Ends a round that arrived completely: data that it did not name was never published. Returns whether all data
    /// within capacity is known now; an instrument that the stream named after its turn in the round is still unknown.
    pub fn end_round(&mut self) -> bool {
        let mut is_whole = true;
        let mut has_refused = false;
        self.set_all(|known| {
            if known.is_refused {
                has_refused = true;
                return;
            }
            // mutant: relay: a round makes known what was withheld during it
            if known.is_withheld {
                is_whole = false;
                return;
            }
            // mutant: relay: new instruments stay unknown after a loss
            *known = WHOLE;
        });
        self.has_refused = has_refused;
        is_whole
    }

    /// A part of an instrument does not fit here.
    pub fn refuse(&mut self, instrument: Instrument) {
        if let Some(known) = self.of_mut(instrument) {
            known.is_refused = true;
            self.has_refused = true;
        }
    }

    /// Whether a part of some instrument did not fit here.
    pub fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// State of an instrument.
    #[inline]
    pub fn of(&self, instrument: Instrument) -> Known {
        let known = self.known.get(instrument.index());
        known.copied().unwrap_or(self.others)
    }

    /// State of an instrument, mutable; one beyond the limit is never known.
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

    /// A refresh is complete: data that it lacks does not exist at the sender. The order book is known only if all its
    /// orders fitted. Returns whether data was missing before.
    pub fn end_of_refresh(&mut self, instrument: Instrument, has_room: bool) -> bool {
        let all = Known {
            orders: has_room,
            is_refused: !has_room,
            ..WHOLE
        };
        self.has_refused |= !has_room;
        let known = self.of_mut(instrument);
        known.is_some_and(|known| std::mem::replace(known, all) != all)
    }

    fn set_all(&mut self, mut change: impl FnMut(&mut Known)) {
        change(&mut self.others);
        self.known.iter_mut().for_each(change);
    }
}
