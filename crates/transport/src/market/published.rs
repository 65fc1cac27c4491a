//! Published states of each book and of the channel, counted when they are published.
//!
//! They answer questions about the health of a channel without a call to the feed or a scan of all instruments.

use super::{Publish, PublisherCounters};
use crate::bus::{Activity, Damage};
use touchline_types::{ChannelState, Instrument, Timestamps, Update, Validity};

/// Book health: number of books that are live for subscribers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BookHealth {
    /// Instruments of the channel.
    pub known: u64,
    /// Price books that are live.
    pub live: u64,
    /// Order books that are live.
    pub orders_live: u64,
    /// Every definition was received and every price book is live.
    pub ready: bool,
}

/// Published states of the books.
#[derive(Debug)]
pub struct PublishedStates {
    prices: States,
    orders: States,
    channel: ChannelState,
    /// Instruments up to the last one with a definition.
    defined: usize,
}

/// States of the books of one kind.
///
/// Invariant: `live` is the number of live books in `rows`.
#[derive(Debug)]
struct States {
    rows: Vec<Validity>,
    live: usize,
    /// State of a book that no update has named yet.
    unnamed: Validity,
}

impl PublishedStates {
    /// Allocates room for `instruments_max` instruments.
    pub fn new(instruments_max: usize) -> PublishedStates {
        PublishedStates {
            prices: States::new(instruments_max, Validity::Gapped),
            orders: States::new(instruments_max, Validity::Recovering),
            channel: ChannelState::LIVE,
            defined: 0,
        }
    }

    /// Number of instruments with a definition.
    pub fn defined(&self) -> usize {
        self.defined
    }

    /// Book health of this many instruments; `is_defined`: these are all.
    pub fn book_health(&self, known: usize, is_defined: bool) -> BookHealth {
        // If the channel is not live, its books are shown as gapped or stale.
        let count = |state, books: &States| match state {
            Validity::Live => books.live_among(known) as u64,
            _ => 0,
        };
        let live = count(self.channel.price, &self.prices);
        BookHealth {
            known: known as u64,
            live,
            orders_live: count(self.channel.orders, &self.orders),
            ready: is_defined && known > 0 && live == known as u64,
        }
    }

    /// Own published state of an instrument's price book.
    pub fn price(&self, instrument: Instrument) -> Validity {
        self.prices.get(instrument)
    }

    /// Own published state of an instrument's order book.
    pub fn orders(&self, instrument: Instrument) -> Validity {
        self.orders.get(instrument)
    }

    /// Records the states in an update, as a subscriber does.
    #[inline]
    fn note(&mut self, update: &Update<'_>) {
        match update {
            Update::Book(update) => self.prices.set(update.instrument, update.validity),
            Update::Orders(update) => self.orders.set(update.instrument, update.validity),
            Update::Trade(_) | Update::Statistic(_) | Update::Status(_) => {}
            _ => self.note_rare(update),
        }
    }

    #[cold]
    fn note_rare(&mut self, update: &Update<'_>) {
        match update {
            Update::BookSnapshot(snapshot) => {
                self.prices.set(snapshot.instrument, snapshot.validity);
            }
            Update::OrdersSnapshot(snapshot) => {
                self.orders.set(snapshot.instrument, snapshot.validity);
            }
            Update::State(state) => self.prices.set(state.instrument, state.validity),
            Update::Gap(gap) => {
                self.prices.set_all(|validity| match validity {
                    Validity::Live => Validity::Gapped,
                    other => other,
                });
                self.orders.set_all(|_| gap.orders);
            }
            Update::Reset => {
                self.prices.set_all(|_| Validity::Live);
                self.orders.set_all(|_| Validity::Live);
            }
            Update::Channel(state) => self.channel = **state,
            Update::Definition(of) => {
                self.defined = self.defined.max(of.instrument.index() + 1);
            }
            // No state of a book: quotes belong to none, and a download is the venue's.
            Update::Download(_) | Update::Quotes(_) | Update::QuoteSnapshot(_) => {}
            Update::Book(_)
            | Update::Orders(_)
            | Update::Trade(_)
            | Update::Statistic(_)
            | Update::Status(_) => unreachable!("they are on the path, above"),
        }
    }
}

impl States {
    fn new(instruments_max: usize, unnamed: Validity) -> States {
        States {
            rows: Vec::with_capacity(instruments_max),
            live: 0,
            unnamed,
        }
    }

    /// Number of live books among this many.
    fn live_among(&self, known: usize) -> usize {
        let unnamed = known.saturating_sub(self.rows.len());
        self.live + unnamed * usize::from(self.unnamed == Validity::Live)
    }

    fn get(&self, instrument: Instrument) -> Validity {
        let row = self.rows.get(instrument.index()).copied();
        row.unwrap_or(self.unnamed)
    }

    #[inline]
    fn set(&mut self, instrument: Instrument, validity: Validity) {
        if self.rows.get(instrument.index()) != Some(&validity) {
            self.change(instrument, validity);
        }
    }

    #[cold]
    fn change(&mut self, instrument: Instrument, validity: Validity) {
        let missing = (instrument.index() + 1).saturating_sub(self.rows.len());
        if missing > 0 {
            self.rows.resize(instrument.index() + 1, self.unnamed);
            self.live += missing * usize::from(self.unnamed == Validity::Live);
        }
        let row = &mut self.rows[instrument.index()];
        let before = std::mem::replace(row, validity);
        self.live -= usize::from(before == Validity::Live);
        self.live += usize::from(validity == Validity::Live);
        assert!(
            self.live <= self.rows.len(),
            "no more books are live than there are"
        );
    }

    fn set_all(&mut self, change: impl Fn(Validity) -> Validity) {
        debug_assert_eq!(
            self.live,
            self.count_live(),
            "the published states are of another number of live books than is counted"
        );
        self.unnamed = change(self.unnamed);
        for row in &mut self.rows {
            *row = change(*row);
        }
        self.live = self.count_live();
    }

    fn count_live(&self) -> usize {
        let live = self.rows.iter().filter(|row| **row == Validity::Live);
        live.count()
    }
}

/// A publisher with the states of its updates.
#[derive(Debug)]
pub struct Noted<'a, P> {
    /// States, recorded with each update.
    pub states: &'a mut PublishedStates,
    /// The publisher.
    pub publisher: &'a mut P,
}

impl<P: Publish> Publish for Noted<'_, P> {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.states.note(update);
        self.publisher.publish(update, timestamps);
    }

    #[inline]
    fn commit(&mut self) {
        self.publisher.commit();
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        self.publisher.heartbeat(timestamps);
    }

    fn state_activity(&mut self, activity: Activity) {
        self.publisher.state_activity(activity);
    }

    fn keep(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.publisher.keep(update, timestamps);
    }

    fn warm(&self, instrument: Instrument) {
        self.publisher.warm(instrument);
    }

    fn counters(&self) -> Option<&PublisherCounters> {
        self.publisher.counters()
    }

    fn check(&mut self) -> Result<(), Damage> {
        self.publisher.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Gap, State};

    fn state(instrument: u32, validity: Validity) -> Update<'static> {
        Update::State(State {
            instrument: Instrument(instrument),
            validity,
        })
    }

    const LOSS: Update<'_> = Update::Gap(Gap {
        first: 1,
        last: 2,
        orders: Validity::Recovering,
    });

    /// The last published state of each book counts once, and of all books when the channel is lost.
    #[test]
    fn live_books_are_counted_as_they_are_published() {
        let mut states = PublishedStates::new(4);
        let ready = |states: &PublishedStates, known| states.book_health(known, true);
        assert!(!ready(&states, 0).ready, "nothing is known");
        states.note(&state(1, Validity::Live));
        let health = ready(&states, 2);
        assert_eq!((health.live, health.ready), (1, false));
        for _ in 0..2 {
            states.note(&state(0, Validity::Live));
        }
        let health = ready(&states, 2);
        assert_eq!((health.live, health.ready), (2, true));
        assert!(!states.book_health(2, false).ready, "there may be more");
        states.note(&LOSS);
        assert_eq!(ready(&states, 2).live, 0);
        assert_eq!(states.price(Instrument(1)), Validity::Gapped);
        states.note(&state(1, Validity::Live));
        states.note(&state(1, Validity::Recovering));
        assert_eq!(ready(&states, 2).live, 0);
        states.note(&Update::Reset);
        let health = ready(&states, 2);
        assert_eq!((health.live, health.orders_live), (2, 2));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "another number of live books than is counted"]
    fn a_wrong_count_of_live_books_is_found() {
        let mut states = PublishedStates::new(4);
        states.note(&state(1, Validity::Live));
        states.prices.live = 0;
        states.note(&LOSS);
    }

    /// Books of a channel that is not live do not count, and count again when it is.
    #[test]
    fn no_book_of_a_channel_in_feed_timeout_is_live() {
        let mut states = PublishedStates::new(1);
        states.note(&state(0, Validity::Live));
        let stale = ChannelState {
            price: Validity::Stale,
            orders: Validity::Stale,
            sequence: 7,
        };
        states.note(&Update::Channel(&stale));
        let health = states.book_health(1, true);
        assert_eq!((health.live, health.ready), (0, false));
        states.note(&Update::Channel(&ChannelState::LIVE));
        assert!(states.book_health(1, true).ready);
    }

    /// After a reset an instrument that was never named is empty, so it is live once it is named.
    #[test]
    fn an_instrument_named_after_a_reset_is_live() {
        let mut states = PublishedStates::new(3);
        states.note(&Update::Reset);
        states.note(&state(2, Validity::Recovering));
        assert_eq!(states.book_health(3, true).live, 2);
        assert_eq!(states.price(Instrument(0)), Validity::Live);
    }
}
