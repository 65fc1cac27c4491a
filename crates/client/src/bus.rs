//! A joined bus.

mod local;
#[cfg(feature = "tape")]
mod open_tape;
mod ready;
mod step;
#[cfg(feature = "tape")]
mod tape;
#[cfg(feature = "tape")]
mod with_tape;
mod within;

use crate::directory::{market_buses, root};
use crate::reading::{Given, Reading, Took};
use crate::registry::Registry;
use crate::room::{CHANGES_MAX, Limits, Room, SORTED_BYTES, memory_of, quotes_max};
use crate::times::clock;
use crate::values::StoredValues;
use crate::{
    Book, Definition, Error, Event, Events, Find, Instrument, Latency, LevelChange, Options, Order,
    OrderChange, QuoteChange, State, Stats, Stopper, Times, Top, Trace, Trade, error,
};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use step::{Step, live_step};
use touchline_instruments::{Admitted, Symbols};
use touchline_transport::Idler;
use touchline_transport::clock::ticks;
use touchline_transport::shm::{FineClock, Join, Kinds, Overview, ReaderStats, Root, Subscriber};
use touchline_types::Side;

/// A joined bus: its events, and the kept values of its instruments.
///
/// It may be moved to another thread; one thread reads it at a time.
pub struct Bus {
    name: String,
    source: Source,
    reading: Reading,
    idler: Idler,
    stopper: Stopper,
}

/// Source of the messages.
#[expect(
    clippy::large_enum_variant,
    reason = "read for each message: in place, not behind a pointer"
)]
enum Source {
    /// Shared memory.
    Shared(Subscriber),
    /// Updates given to [`Bus::take`] by the publisher of this process; the work left for the last one.
    Local(Option<Took>),
    /// A tape.
    #[cfg(feature = "tape")]
    Tape(Box<tape::Tape>),
    /// Shared memory, and a tape of it.
    #[cfg(feature = "tape")]
    WithTape(Box<with_tape::WithTape>),
}

impl Source {
    /// Subscription to shared memory.
    fn subscriber(&self) -> Option<&Subscriber> {
        match self {
            Source::Shared(subscriber) => Some(subscriber),
            #[cfg(feature = "tape")]
            Source::WithTape(with) => Some(&with.subscriber),
            _ => None,
        }
    }

    /// Counts with those of the tape.
    fn counts(&self, stats: Stats) -> Stats {
        match self {
            #[cfg(feature = "tape")]
            Source::WithTape(with) => with.counts(stats),
            _ => stats,
        }
    }

    /// Whether it is a tape: all messages up to its end are there.
    fn is_tape(&self) -> bool {
        match self {
            #[cfg(feature = "tape")]
            Source::Tape(_) => true,
            _ => false,
        }
    }

    fn subscriber_mut(&mut self) -> Option<&mut Subscriber> {
        match self {
            Source::Shared(subscriber) => Some(subscriber),
            #[cfg(feature = "tape")]
            Source::WithTape(with) => Some(&mut with.subscriber),
            _ => None,
        }
    }
}

/// Result of [`Bus::next_within`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// An event.
    Event(Event),
    /// No event within the time.
    TimedOut,
    /// A [`Stopper`] ended the loop.
    Stopped,
}

/// Lag of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Unread bytes, exact to some tens of KiB.
    pub bytes: u64,
    /// Unread messages, likewise.
    pub messages: u64,
}

/// A number that is unique among the buses of this process.
pub(crate) fn next_number() -> u32 {
    static BUSES: AtomicU32 = AtomicU32::new(0);
    BUSES.fetch_add(1, Ordering::Relaxed)
}

/// Steps without an event after which a waiting reader looks at the clock, and a poll returns.
const STEPS_MAX: u32 = 256;

impl Options {
    /// Joins a bus.
    ///
    /// # Errors
    /// The bus does not exist, does not belong to this user, or has another format; see [`Error`].
    pub fn join(self, bus: &str) -> Result<Bus, Error> {
        Bus::join_with(&self, bus)
    }

    /// One attempt of [`join`](Options::join), for a program that waits in its own way and has waited for `waited`. The call itself never
    /// waits. `None`: the program should try again; the bus does not exist, or has no publisher (an old bus), or its publisher is
    /// starting. After [`wait`](Options::wait) an old bus is joined, and a missing one is an error.
    ///
    /// # Errors
    /// As [`join`](Options::join).
    pub fn try_join(&self, bus: &str, waited: Duration) -> Result<Option<Bus>, Error> {
        let is_last = waited >= self.wait;
        self.check_symbols()?;
        let symbols = Symbols::new(self.symbols.clone()).map_err(Error::Option)?;
        let root = root(self.directory.as_deref());
        // Before anything is mapped or registered.
        if !is_last && matches!(Overview::publisher_of(&root, bus), Ok(None)) {
            return Ok(None);
        }
        match Bus::try_join(&root, self, bus, symbols) {
            Ok(joined) => Ok(Some(joined)),
            Err(Error::NoBus { .. }) if !is_last => Ok(None),
            Err(Error::HalfStarted { .. }) if waited < self.wait.max(START_MAX) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Names of the buses of market data in the directory, sorted.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<Vec<String>, Error> {
        let root = root(self.directory.as_deref());
        market_buses(&root).map_err(|error| error::of_segment(&root, "", error))
    }
}

impl Bus {
    /// Joins a bus with the default [`Options`].
    ///
    /// # Errors
    /// The bus does not exist, does not belong to this user, or has another format.
    pub fn join(name: &str) -> Result<Bus, Error> {
        Bus::options().join(name)
    }

    /// Options for joining: a builder that ends with [`Options::join`].
    pub fn options() -> Options {
        Options::default()
    }

    /// Names of the buses in the default directory, sorted.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list() -> Result<Vec<String>, Error> {
        Bus::options().list()
    }

    pub(crate) fn join_with(options: &Options, name: &str) -> Result<Bus, Error> {
        let start = Instant::now();
        loop {
            if let Some(bus) = options.try_join(name, start.elapsed())? {
                return Ok(bus);
            }
            thread::sleep(JOIN_POLL);
        }
    }

    fn try_join(
        root: &Root,
        options: &Options,
        name: &str,
        symbols: Symbols,
    ) -> Result<Bus, Error> {
        let refused = |error| error::of_bus(root, name, error);
        let kinds = options
            .events
            .kinds(options.keep_books || options.has_history());
        let mut join = Join {
            registered: options.lossless,
            has_tape: options.has_tape(),
            live_only: options.live_only,
            kinds: kinds.unwrap_or(Kinds::NONE),
            last_values: true,
            ..Join::default()
        };
        if !symbols.is_empty() {
            let mut admitted = Admitted::new(symbols.clone(), 0);
            join.filter = Some(Box::new(move |definition| admitted.define(definition)));
        }
        if let Some(reader) = &options.name {
            let clock = FineClock {
                ticks,
                ns_per_tick: clock().ns_per_tick(),
            };
            let stats = ReaderStats::create(root, name, reader, clock).map_err(refused)?;
            join.reader_stats = Some(stats);
        }
        join.quotes_max = quotes_max(options.events);
        join.changes_max = CHANGES_MAX;
        join.memory = match options.events.has(Events::ORDERS) {
            true => memory_of,
            false => |instruments, _| memory_of(instruments, 0),
        };
        let subscriber = Subscriber::try_join(root, name, join).map_err(refused)?;
        let room = Room::new(
            options,
            subscriber.instruments_max(),
            subscriber.orders_max(),
        );
        #[cfg(feature = "tape")]
        let source = options.source(subscriber)?;
        #[cfg(not(feature = "tape"))]
        let source = Source::Shared(subscriber);
        Ok(Bus::over(source, options, name, (room, symbols)))
    }

    /// A bus over a source of messages; `symbols` are the patterns by which the source selects.
    fn over(
        source: Source,
        options: &Options,
        name: &str,
        (room, symbols): (Room, Symbols),
    ) -> Bus {
        let Room {
            instruments_max,
            orders_max,
            books,
            quotes_max,
        } = room;
        let registry = Registry::new(next_number(), name, instruments_max, options.venue_prices);
        let kept = StoredValues::new(registry, books, Limits::of(options), kinds_books(options));
        let wanted = (options.events, symbols);
        Bus {
            name: name.to_owned(),
            source,
            reading: Reading::new(kept, wanted, CHANGES_MAX, orders_max, quotes_max),
            idler: options.idle.idler(),
            stopper: Stopper::new(),
        }
    }

    /// Name of the bus.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next event; waits for it. `None` once a [`Stopper`] has ended the loop.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator would borrow the bus, and programs read its kept values between two events"
    )]
    #[inline]
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if self.stopper.is_stopped() {
                return None;
            }
            match self.step() {
                Step::Event(event) => {
                    self.idler.idle(1);
                    return Some(event);
                }
                Step::Progress => self.idler.idle(1),
                Step::Nothing => self.idler.idle(0),
            }
        }
    }

    /// The next event, if there is one. Never waits; `None` means that everything was read, or 65,536 messages
    /// in a row without an event.
    #[inline]
    pub fn poll(&mut self) -> Option<Event> {
        for _ in 0..STEPS_MAX {
            match self.step() {
                Step::Event(event) => return Some(event),
                Step::Progress => {}
                Step::Nothing => return None,
            }
        }
        None
    }

    /// Stopper that ends the loop, for another thread or a signal.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The instrument with a symbol, a [`SecurityId`](crate::SecurityId) or a [`Key`](crate::Key). If several have had
    /// the symbol, the one defined last.
    ///
    /// # Errors
    /// [`Error::NoInstrument`], with the nearest symbol.
    pub fn instrument(&self, name: impl Find) -> Result<Instrument, Error> {
        name.look_up(&self.reading.kept.registry)
    }

    /// Every defined instrument, in the order of definition.
    pub fn instruments(&self) -> impl Iterator<Item = Instrument> + use<> {
        self.reading.kept.registry.all()
    }

    /// Whether the present publisher has defined an instrument.
    pub fn is_current(&self, instrument: Instrument) -> bool {
        let registry = &self.reading.kept.registry;
        registry.definition(instrument).is_some() && registry.publisher_index(instrument).is_some()
    }

    /// Makes the next poll that finds no message check the publisher, even if the last check was recent. For programs
    /// that are about to report the state of the books.
    pub fn look_again(&mut self) {
        if let Some(subscriber) = self.source.subscriber_mut() {
            subscriber.look_again();
        }
    }

    /// Definition of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn definition(&self, instrument: Instrument) -> Result<&Definition, Error> {
        self.reading.kept.registry.check(instrument)
    }

    /// Symbol of an instrument; `?` before it is known, and for a handle of another bus.
    pub fn symbol(&self, instrument: Instrument) -> &str {
        self.reading.kept.registry.symbol(instrument)
    }

    /// Price book of an instrument; empty if books are not kept.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn book(&self, instrument: Instrument) -> Result<Book<'_>, Error> {
        let kept = &self.reading.kept;
        let definition = kept.registry.check(instrument)?;
        let (sequence, times) = kept.book_moment(instrument);
        Ok(Book::new(
            definition,
            kept.book(instrument),
            kept.registry.slot_of(instrument),
            kept.state(instrument),
            sequence,
            times,
        ))
    }

    /// Best bid and ask of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn top(&self, instrument: Instrument) -> Result<Top, Error> {
        self.reading.kept.registry.check(instrument)?;
        Ok(self.reading.kept.top(instrument))
    }

    /// State of an instrument's price book.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn state(&self, instrument: Instrument) -> Result<State, Error> {
        self.reading.kept.registry.check(instrument)?;
        Ok(self.reading.kept.state(instrument))
    }

    /// State of an instrument's order book.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn orders_state(&self, instrument: Instrument) -> Result<State, Error> {
        self.reading.kept.registry.check(instrument)?;
        Ok(self.reading.kept.orders_state(instrument))
    }

    /// The last trade of an instrument; `None` before the first, and without [`Events::TRADES`].
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn last_trade(&self, instrument: Instrument) -> Result<Option<Trade>, Error> {
        self.reading.kept.registry.check(instrument)?;
        Ok(self.reading.kept.last_trade(instrument))
    }

    /// Calls `visit` with each order of a side, in order of priority. Orders are kept with [`Events::ORDERS`].
    ///
    /// # Errors
    /// [`Error::OtherBus`]; [`Error::Memory`], since the orders are sorted.
    pub fn orders(
        &self,
        instrument: Instrument,
        side: Side,
        mut visit: impl FnMut(&Order),
    ) -> Result<(), Error> {
        let kept = &self.reading.kept;
        kept.registry.check(instrument)?;
        let index = kept.registry.publisher_index(instrument);
        let row = index.and_then(|index| Some((index, kept.registry.of_publisher(index)?.1)));
        if let Some((index, slot)) = row {
            let books = kept.mirror.orders();
            let bytes = books.len_of(index) * SORTED_BYTES;
            Error::check_room(
                bytes,
                format_args!("the orders of {}", self.symbol(instrument)),
            )?;
            books.visit(index, side, |order| {
                visit(&Order {
                    order_id: order.order_id,
                    price: slot.price(order.price),
                    quantity: slot.quantity(order.quantity),
                    priority: order.priority,
                });
            });
        }
        Ok(())
    }

    /// Steps of the last [`Event::Book`].
    pub fn changes(&self) -> &[LevelChange] {
        &self.reading.changes
    }

    /// Steps of the last [`Event::Orders`].
    pub fn order_changes(&self) -> &[OrderChange] {
        &self.reading.order_changes
    }

    /// Steps of the last [`Event::Quotes`], until the next one.
    pub fn quote_changes(&self) -> &[QuoteChange] {
        &self.reading.quote_changes
    }

    /// Trace of the message of the last event.
    pub fn trace(&self) -> &Trace {
        &self.reading.trace
    }

    /// Latency of an event up to this call. The first call of a process takes 20 ms to calibrate the clock.
    pub fn latency(&self, times: &Times) -> Latency {
        Latency::of(times)
    }

    /// Lag of this reader.
    pub fn lag(&self) -> Lag {
        let (messages, bytes) = self.source.subscriber().map_or((0, 0), Subscriber::lag);
        Lag { bytes, messages }
    }

    /// Whether it is a tape that is read as a bus ([`open_journal`](Options::open_journal)): it has an end.
    pub fn is_tape(&self) -> bool {
        self.source.is_tape()
    }

    /// Whether the next message comes from the [tape](Options::tape) instead of the bus: this reader is behind the bus, as far as
    /// [`lag`](Bus::lag) says.
    pub fn is_on_tape(&self) -> bool {
        let subscriber = self.source.subscriber();
        subscriber.is_some_and(|subscriber| subscriber.backlog().is_some())
    }

    /// Counts since the bus was joined.
    pub fn stats(&self) -> Stats {
        Stats {
            unknown: match &self.source {
                #[cfg(feature = "tape")]
                Source::Tape(tape) => tape.unknown_messages(),
                source => source.subscriber().map_or(0, Subscriber::unknown_messages),
            },
            inconsistent: self.reading.kept.inconsistent(),
            ..self.source.counts(self.reading.stats)
        }
    }

    /// Whether its loop was ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopper.is_stopped()
    }

    /// Whether a handle is of this bus.
    pub(crate) fn has(&self, instrument: Instrument) -> bool {
        self.reading.kept.registry.definition(instrument).is_some()
    }

    /// The next event, if there is one, and whether anything was read.
    pub(crate) fn try_next(&mut self) -> (Option<Event>, bool) {
        match self.step() {
            Step::Event(event) => (Some(event), true),
            Step::Progress => (None, true),
            Step::Nothing => (None, false),
        }
    }

    /// One step of reading.
    #[inline]
    fn step(&mut self) -> Step {
        if let Given::Event(event) = self.reading.before() {
            return Step::Event(event);
        }
        match &mut self.source {
            Source::Shared(subscriber) => live_step(subscriber, &mut self.reading, &self.stopper),
            Source::Local(took) => match took.take().map(|took| self.reading.after(took)) {
                Some(Given::Event(event)) => Step::Event(event),
                Some(Given::Nothing) => Step::Progress,
                None => Step::Nothing,
            },
            #[cfg(feature = "tape")]
            Source::Tape(tape) => tape.step(&mut self.reading, &self.stopper),
            #[cfg(feature = "tape")]
            Source::WithTape(with) => with.step(&mut self.reading, &self.stopper),
        }
    }
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus")
            .field("name", &self.name)
            .field("instruments", &self.reading.kept.registry.len())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Interval of attempts to open a bus that does not exist yet.
const JOIN_POLL: Duration = Duration::from_millis(20);
/// Maximum duration of a publisher's start; after that it has ended or hangs.
const START_MAX: Duration = Duration::from_secs(1);

fn kinds_books(options: &Options) -> bool {
    options.keep_books || options.events.has(Events::BOOKS)
}
