//! Options for joining a bus.

use crate::Error;
use crate::names::{self, Names};
use std::ops::BitOr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_transport::shm::Kinds;
use touchline_transport::{BackOff, Idler};

/// Bytes of a pattern beyond its letters: its texts, and its place in a list and in the filter.
const PATTERN_BYTES: usize = 128;

/// Options for joining a bus: a builder that ends with [`join`](Options::join).
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    pub(crate) directory: Option<PathBuf>,
    pub(crate) wait: Duration,
    pub(crate) events: Events,
    pub(crate) symbols: Vec<String>,
    pub(crate) keep_books: bool,
    pub(crate) live_only: bool,
    pub(crate) name: Option<String>,
    pub(crate) lossless: bool,
    pub(crate) idle: Idle,
    pub(crate) instruments_max: Option<usize>,
    pub(crate) orders_max: Option<usize>,
    pub(crate) venue_prices: bool,
}

/// Kinds of events. Definitions, states, and events of the channel and of the connection are always included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events(u8);

impl Events {
    /// Best bids and asks.
    pub const TOPS: Events = Events(1 << 0);
    /// Trades.
    pub const TRADES: Events = Events(1 << 1);
    /// Changes of price books.
    pub const BOOKS: Events = Events(1 << 2);
    /// Changes of order books, which are then kept too.
    pub const ORDERS: Events = Events(1 << 3);
    /// Statistics of a session or a day.
    pub const STATISTICS: Events = Events(1 << 4);
    /// Trading status.
    pub const STATUS: Events = Events(1 << 5);
    /// Quotes of providers, such as banks.
    pub const QUOTES: Events = Events(1 << 6);
    /// All of them.
    pub const ALL: Events = Events(0x7F);

    /// The kinds of these bits, which are added numbers of the [table](crate::names::TABLES); `None` if there is another
    /// bit, or none.
    pub const fn from_bits(bits: u32) -> Option<Events> {
        match bits != 0 && bits & !(Events::ALL.0 as u32) == 0 {
            true => Some(Events(bits as u8)),
            false => None,
        }
    }

    /// Their bits, for [`Events::from_bits`].
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// The kind with this word: `tops`.
    ///
    /// # Errors
    /// The word is unknown; the sentence has all words.
    pub fn named(word: &str) -> Result<Events, Error> {
        let bits = names::JOINS.number(word);
        let events = bits.and_then(|bits| Events::from_bits(bits as u32));
        events.ok_or_else(|| unknown("events", word, &names::JOINS))
    }

    /// Whether all kinds of `other` are among these.
    #[inline]
    pub const fn has(self, other: Events) -> bool {
        self.0 & other.0 == other.0
    }

    /// Message kinds that these events need.
    pub(crate) fn kinds(self, keep_books: bool) -> Option<Kinds> {
        let table = [
            (Events::TOPS, Kinds::TOPS),
            (Events::TRADES, Kinds::TRADES),
            (Events::BOOKS, Kinds::BOOKS),
            (Events::ORDERS, Kinds::ORDERS),
            (Events::STATISTICS, Kinds::STATISTICS),
            (Events::STATUS, Kinds::STATUS),
            (Events::QUOTES, Kinds::QUOTES),
        ];
        let wanted = table.into_iter().filter(|(events, _)| self.has(*events));
        let books = keep_books.then_some(Kinds::BOOKS);
        let all = wanted.map(|(_, kinds)| kinds).chain(books);
        all.reduce(|one, other| one | other)
    }
}

impl BitOr for Events {
    type Output = Events;

    fn bitor(self, other: Events) -> Events {
        Events(self.0 | other.0)
    }
}

fn unknown(option: &str, word: &str, table: &Names) -> Error {
    Error::Option(format!(
        "{option} \"{word}\" is unknown: give {}",
        table.words()
    ))
}

/// Idle strategy: a trade-off between processor time and latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Spins, then yields, then sleeps for increasing times up to 1 ms.
    BackOff,
    /// Never yields the core: lowest latency, one core per reader.
    Spin,
    /// Yields the core to other threads.
    Yield,
    /// Sleeps for this long.
    Sleep(Duration),
}

impl Idle {
    /// The strategy with this word: `backoff`, `yield` or `spin`.
    ///
    /// # Errors
    /// The word is unknown; the sentence has all words.
    pub fn named(word: &str) -> Result<Idle, Error> {
        match names::IDLES.number(word) {
            Some(0) => Ok(Idle::BackOff),
            Some(1) => Ok(Idle::Yield),
            Some(2) => Ok(Idle::Spin),
            _ => Err(unknown("idle", word, &names::IDLES)),
        }
    }

    pub(crate) fn idler(self) -> Idler {
        Idler::new(match self {
            Idle::BackOff => touchline_transport::Idle::BackOff(BackOff::default()),
            Idle::Spin => touchline_transport::Idle::BusySpin,
            Idle::Yield => touchline_transport::Idle::Yield,
            Idle::Sleep(time) => touchline_transport::Idle::Sleep(time),
        })
    }
}

impl Default for Options {
    /// Tops and trades of all symbols, books kept, back-off while idle.
    fn default() -> Options {
        Options {
            directory: None,
            wait: Duration::ZERO,
            events: Events::TOPS | Events::TRADES,
            symbols: Vec::new(),
            keep_books: true,
            live_only: false,
            name: None,
            lossless: false,
            idle: Idle::BackOff,
            instruments_max: None,
            orders_max: None,
            venue_prices: false,
        }
    }
}

impl Options {
    /// Directory of the buses. Default: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub fn directory(mut self, path: impl AsRef<Path>) -> Self {
        self.directory = Some(path.as_ref().to_owned());
        self
    }

    /// Maximum wait for a bus with a publisher. Default: fails at once.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Events to return. Default: tops and trades.
    pub fn events(mut self, events: Events) -> Self {
        self.events = events;
        self
    }

    /// Instruments by symbol: names in which `*` matches any characters, and regular expressions between slashes.
    /// Default: all.
    pub fn symbols<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.symbols = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Looks for the memory of the filter that the patterns become.
    pub(crate) fn check_symbols(&self) -> Result<(), Error> {
        let bytes = self
            .symbols
            .iter()
            .map(|pattern| PATTERN_BYTES + 2 * pattern.len());
        Error::check_room(bytes.sum(), format_args!("{} symbols", self.symbols.len()))
    }

    /// Whether price books are kept. Default: yes. Without them, changes of books are skipped unless [`Events::BOOKS`]
    /// is selected, and a bus that publishes no tops gives none.
    pub fn keep_books(mut self, yes: bool) -> Self {
        self.keep_books = yes;
        self
    }

    /// Whether books that are not live are withheld. Default: no. A book that stops being live gives only its state,
    /// and returns as a whole book.
    pub fn live_only(mut self, yes: bool) -> Self {
        self.live_only = yes;
        self
    }

    /// Registers this reader by name: `touchline top` and `stat` then show its lag, losses and latencies. Joining takes
    /// 20 ms longer.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Makes the publisher of a lossless bus wait for this reader, within the limit of the bus. Set
    /// a [`name`](Self::name) too, so that operators can identify the reader.
    pub fn lossless(mut self) -> Self {
        self.lossless = true;
        self
    }

    /// Idle strategy. Default: [`Idle::BackOff`].
    pub fn idle(mut self, idle: Idle) -> Self {
        self.idle = idle;
        self
    }

    /// Instruments for which memory is allocated at join; more cost an allocation each time the tables grow. Default:
    /// the limit of the bus.
    pub fn instruments_max(mut self, instruments: usize) -> Self {
        self.instruments_max = Some(instruments);
        self
    }

    /// Orders for which memory is allocated at join, with [`Events::ORDERS`]; further orders are not kept. Default:
    /// the limit of the bus.
    pub fn orders_max(mut self, orders: usize) -> Self {
        self.orders_max = Some(orders);
        self
    }

    /// Whether prices are returned as the venue sends them, without the display factor. Default: no. For comparisons
    /// with the venue's own data.
    pub fn venue_prices(mut self, yes: bool) -> Self {
        self.venue_prices = yes;
        self
    }
}
