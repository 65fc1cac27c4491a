//! What all clients have before them: the market or a recording, who may log on, and what goes wrong.

use super::credentials::Credentials;
use super::expected_books;
use super::fault::Faults;
use super::market::{Happening, Market};
use super::recording::Recording;
use crate::cme::expected_books::BookState;
use crate::random::Random;

/// Where market data comes from.
#[derive(Debug)]
pub enum Source {
    /// A generated market.
    Market(Market),
    /// Messages that were recorded.
    Recording(Recording),
}

/// The exchange without its sockets.
#[derive(Debug)]
pub struct Venue {
    /// Where market data comes from.
    pub source: Source,
    /// Who may log on.
    pub credentials: Credentials,
    /// What goes wrong.
    pub faults: Faults,
    /// What it did so far.
    pub totals: Totals,
    schedule: Schedule,
    states: Option<Vec<BookState>>,
}

/// What the exchange did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Things that happened in the market, or messages of the recording.
    pub events: u64,
    /// Clients that logged on.
    pub logons: u64,
    /// Logons that were refused.
    pub logons_refused: u64,
    /// Requests for market data that were answered.
    pub requests: u64,
    /// Requests that were refused.
    pub requests_refused: u64,
    /// Snapshots (W) that were to be sent on request.
    pub snapshots: u64,
    /// Changes of books that were to be sent, to all clients.
    pub increments: u64,
    /// Messages with trades that were to be sent, to all clients.
    pub trades: u64,
}

/// When things happen: by the clock alone, whatever became of those before.
#[derive(Debug)]
struct Schedule {
    random: Random,
    mean_ns: u64,
    due_ns: u64,
}

/// Something that clients hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// In the market.
    Happening(Happening),
    /// A message of the recording.
    Played {
        /// Place of its instrument.
        instrument: usize,
        /// Its place.
        message: usize,
    },
}

impl Venue {
    /// An exchange that begins at `now_ns` and lets `events_per_second` things happen on the average; none
    /// if it is 0.
    pub fn open(
        source: Source,
        credentials: Credentials,
        faults: Faults,
        events_per_second: u64,
        now_ns: u64,
    ) -> Venue {
        Venue {
            source,
            credentials,
            faults,
            totals: Totals::default(),
            schedule: Schedule {
                random: Random::from_seed(events_per_second),
                mean_ns: 1_000_000_000_u64
                    .checked_div(events_per_second)
                    .unwrap_or(u64::MAX),
                due_ns: now_ns,
            },
            states: None,
        }
    }

    /// From now on states of books are kept until they are taken, those of now first.
    pub fn keep_states(&mut self) {
        if let Source::Market(market) = &self.source {
            self.states = Some(expected_books::states(market).collect());
        }
    }

    /// The states since the last call, in order.
    pub fn take_states(&mut self) -> Vec<BookState> {
        self.states.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The place of an instrument, by its name.
    pub fn instrument(&self, symbol: &[u8]) -> Option<usize> {
        match &self.source {
            Source::Market(market) => {
                let mut all = market.instruments().iter();
                all.position(|instrument| instrument.symbol.as_bytes() == symbol)
            }
            Source::Recording(recording) => {
                let mut all = recording.symbols().iter();
                all.position(|known| known == symbol)
            }
        }
    }

    /// The next thing that is due, if one is. Every client is to hear of it before the next one.
    pub fn next(&mut self, now_ns: u64) -> Option<Occurrence> {
        let Schedule {
            random,
            mean_ns,
            due_ns,
        } = &mut self.schedule;
        if *mean_ns == u64::MAX || now_ns < *due_ns {
            return None;
        }
        *due_ns += random.below(2 * *mean_ns + 1);
        self.totals.events += 1;
        Some(match &mut self.source {
            Source::Market(market) => {
                let happening = market.step();
                if let Some(states) = &mut self.states
                    && !happening.changes.is_empty()
                {
                    states.push(expected_books::state(market, happening.instrument));
                }
                Occurrence::Happening(happening)
            }
            Source::Recording(recording) => {
                let (instrument, message) = recording.step();
                Occurrence::Played {
                    instrument,
                    message,
                }
            }
        })
    }

    /// When the next thing is due.
    pub fn due_ns(&self) -> u64 {
        match self.schedule.mean_ns {
            u64::MAX => u64::MAX,
            _ => self.schedule.due_ns,
        }
    }

    /// From now on so many things happen in a second; none if it is 0.
    pub fn set_rate(&mut self, events_per_second: u64, now_ns: u64) {
        let mean_ns = 1_000_000_000_u64.checked_div(events_per_second);
        self.schedule.mean_ns = mean_ns.unwrap_or(u64::MAX);
        self.schedule.due_ns = now_ns;
    }

    /// Nothing happens any more.
    pub fn close(&mut self) {
        self.schedule.mean_ns = u64::MAX;
    }

    /// The longest message that clients may be sent.
    pub fn message_bytes_max(&self) -> usize {
        // An entry of a book, and a row of the list, with all their fields.
        const ENTRY_BYTES: usize = 96;
        const ROW_BYTES: usize = 192;
        const LEAST: usize = 64 * 1_024;
        match &self.source {
            Source::Market(market) => {
                let levels = market
                    .books()
                    .iter()
                    .map(|book| book.bids.len() + book.offers.len());
                // Books grow and shrink while the market is open.
                let book = 3 * ENTRY_BYTES * levels.max().unwrap_or(0);
                LEAST + book.max(ROW_BYTES * market.instruments().len())
            }
            Source::Recording(recording) => LEAST + recording.longest(),
        }
    }
}
