//! Options for joining a bus.

use crate::Error;
#[cfg(feature = "tape")]
use crate::KnownDefinitions;
use crate::names::{self, Names};
use std::ops::BitOr;
use std::path::{Path, PathBuf};
#[cfg(feature = "tape")]
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "tape")]
use touchline_tape::TapePlace;
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
    #[cfg(feature = "tape")]
    pub(crate) tape: Option<PathBuf>,
    #[cfg(feature = "tape")]
    pub(crate) tape_wait: Duration,
    #[cfg(feature = "tape")]
    pub(crate) tape_from: Option<TapePlace>,
    #[cfg(feature = "tape")]
    pub(crate) tape_to: Option<TapePlace>,
    #[cfg(feature = "tape")]
    pub(crate) tape_definitions: Arc<KnownDefinitions>,
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
            #[cfg(feature = "tape")]
            tape: None,
            #[cfg(feature = "tape")]
            tape_wait: Duration::from_secs(1),
            #[cfg(feature = "tape")]
            tape_from: None,
            #[cfg(feature = "tape")]
            tape_to: None,
            #[cfg(feature = "tape")]
            tape_definitions: Arc::default(),
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

    /// Instruments by symbol: names in which `*` matches any characters, and regular expressions between slashes; one without a symbol by
    /// its security id, also when its symbol is known later. Default: all.
    pub fn symbols<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.symbols = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Whether a tape has what an overrun loses.
    pub(crate) fn has_tape(&self) -> bool {
        #[cfg(feature = "tape")]
        return self.tape.is_some();
        #[cfg(not(feature = "tape"))]
        false
    }

    /// Whether a joined bus begins with its tape, whose states have books and no tops.
    pub(crate) fn has_history(&self) -> bool {
        #[cfg(feature = "tape")]
        return self.tape.is_some() && self.tape_from.is_some();
        #[cfg(not(feature = "tape"))]
        false
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

    /// Orders for which memory is allocated at join, with [`Events::ORDERS`]; a book of which an order has no room is
    /// empty and recovering until it arrives as a whole. Default: the limit of the bus, and the most orders of an event.
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

    /// Tape that `touchline record` writes of the bus. A reader that was overrun reads the lost messages from it, and then the bus from exactly
    /// the next one on: no event is lost, and books stay as they are. With [`tape_from`](Self::tape_from) it begins with the tape. Where the tape
    /// does not have the messages, the overrun is reported as without a tape. Default: none.
    #[cfg(feature = "tape")]
    pub fn tape(mut self, directory: impl AsRef<Path>) -> Self {
        self.tape = Some(directory.as_ref().to_owned());
        self
    }

    /// Longest time in which a [tape](Self::tape) gets no further record before its reader reports an overrun, and in which
    /// [`open_journal`](Self::open_journal) waits for a recorder that starts again before the tape ends. Default: one second.
    #[cfg(feature = "tape")]
    pub fn tape_wait(mut self, wait: Duration) -> Self {
        self.tape_wait = wait;
        self
    }

    /// Place at which a tape is read from, of [`open_journal`](Self::open_journal) or of [`tape`](Self::tape): the books there come first, as
    /// after a join. Default: the begin of the former; the latter is read after overruns only.
    #[cfg(feature = "tape")]
    pub fn tape_from(mut self, place: TapePlace) -> Self {
        self.tape_from = Some(place);
        self
    }

    /// Place at which the reading of a [tape](Self::open_journal) ends. Default: its end.
    #[cfg(feature = "tape")]
    pub fn tape_to(mut self, place: TapePlace) -> Self {
        self.tape_to = Some(place);
        self
    }

    /// Definitions for instruments that a [tape](Self::open_journal) has without one: its recorder or gateway began behind them. A definition
    /// of the tape replaces them, and the depth of a book is that of the tape. Default: none.
    #[cfg(feature = "tape")]
    pub fn tape_definitions(mut self, known: impl Into<Arc<KnownDefinitions>>) -> Self {
        self.tape_definitions = known.into();
        self
    }
}
