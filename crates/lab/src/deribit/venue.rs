//! State shared by all clients: market or recording, credentials, and faults.

use super::credentials::Credentials;
use super::expected_books;
use super::fault::Faults;
use super::market::{Happening, Market};
use super::recording::Recording;
use crate::cme::expected_books::BookState;
use crate::random::Random;

/// Source of market data.
#[derive(Debug)]
pub enum Source {
    /// A generated market.
    Market(Market),
    /// Recorded messages.
    Recording(Recording),
}

/// The exchange without its sockets.
#[derive(Debug)]
pub struct Venue {
    /// Source of market data.
    pub source: Source,
    /// Credentials of the user.
    pub credentials: Credentials,
    /// Faults.
    pub faults: Faults,
    /// Totals so far.
    pub totals: Totals,
    schedule: Schedule,
    states: Option<Vec<BookState>>,
}

/// Totals of the exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events of the market, or messages of the recording.
    pub events: u64,
    /// Clients that logged on.
    pub logons: u64,
    /// Rejected Logons.
    pub logons_refused: u64,
    /// Answered requests for market data.
    pub requests: u64,
    /// Rejected requests.
    pub requests_refused: u64,
    /// Snapshots (W) for requests.
    pub snapshots: u64,
    /// Changes of books, over all clients.
    pub increments: u64,
    /// Messages with trades, over all clients.
    pub trades: u64,
}

/// Schedule of events: by the clock only, independent of late ones.
#[derive(Debug)]
struct Schedule {
    random: Random,
    mean_ns: u64,
    due_ns: u64,
}

/// Occurrence that clients receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// Event of the market.
    Happening(Happening),
    /// A message of the recording.
    Played {
        /// Index of its instrument.
        instrument: usize,
        /// Index of the message.
        message: usize,
    },
}

impl Venue {
    /// An exchange that starts at `now_ns` with this average number of events a second; none if it is 0.
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

    /// Records states of books from now on, until the caller takes them, beginning with the current
    /// ones.
    pub fn keep_states(&mut self) {
        if let Source::Market(market) = &self.source {
            self.states = Some(expected_books::states(market).collect());
        }
    }

    /// States since the last call, in order.
    pub fn take_states(&mut self) -> Vec<BookState> {
        self.states.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Index of an instrument, by its name.
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

    /// Whether the instrument has a book: a recording may have only changes of it.
    pub fn has_book(&self, instrument: usize) -> bool {
        match &self.source {
            Source::Market(_) => true,
            Source::Recording(recording) => recording.snapshot(instrument).is_some(),
        }
    }

    /// Next due occurrence. Send it to every client before the next call.
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

    /// Time of the next occurrence.
    pub fn due_ns(&self) -> u64 {
        match self.schedule.mean_ns {
            u64::MAX => u64::MAX,
            _ => self.schedule.due_ns,
        }
    }

    /// Sets the number of events a second; none if it is 0.
    pub fn set_rate(&mut self, events_per_second: u64, now_ns: u64) {
        let mean_ns = 1_000_000_000_u64.checked_div(events_per_second);
        self.schedule.mean_ns = mean_ns.unwrap_or(u64::MAX);
        self.schedule.due_ns = now_ns;
    }

    /// Stops events.
    pub fn close(&mut self) {
        self.schedule.mean_ns = u64::MAX;
    }

    /// Longest message to a client.
    pub fn message_bytes_max(&self) -> usize {
        // An entry of a book, or a row of the list, with all fields.
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
