//! Client of a Touchline bus, the only crate that a trading program, a recorder or a screen depends on.
//!
//! A [`Bus`] is joined by name and read on the caller's thread, directly from shared memory. Each read returns one
//! [`Event`], a small value that can be stored and sent. The bus keeps the books, tops and last trades of every
//! instrument, as of the last event.
//!
//! ```no_run
//! use touchline_client::{Bus, Error, Event, Events};
//!
//! fn main() -> Result<(), Error> {
//!     let mut bus = Bus::options().events(Events::TOPS).join("cme-310")?;
//!     while let Some(event) = bus.next() {
//!         match event {
//!             Event::Top(top) => println!("{} {top}", bus.symbol(top.instrument)),
//!             Event::Connection(what) => eprintln!("{}: {what}", bus.name()),
//!             _ => {}
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! - **One way to read**: [`Bus::next`] waits, [`Bus::poll`] does not, [`Bus::next_within`] waits for a limited time.
//! - **Handles**: there is one [`Instrument`] for each venue and security id; it stays valid when the publisher
//!   restarts and is never reused for another instrument.
//! - **Prices** are those that traders quote: the venue's price times its display factor, exact, in counts of 1e-9.
//!   [`Definition::venue_price`] returns the price for an order.
//! - **Losses, restarts and timeouts** are events ([`Connection`]) and states of books ([`State`]), never errors.
//! - **Errors** occur only at join and look-up; each is a sentence that says what to do ([`Error`]).
//! - **Memory** is allocated at join. Later allocations happen only for definitions beyond
//!   [`Options::instruments_max`] and for books that become deeper than their snapshot slots.
//!
//! Features, none by default: `signals` (Ctrl-C ends a loop), `async` (a bus as a stream), `fx` (the trading engine).
//!
//! [`Snapshot`] is for occasional reads, [`Buses`] for several buses in one loop, [`monitor`] for the state of
//! publishers and readers.
//!
//! # Never
//! Starts a thread (except `into_stream`); allocates while events arrive; exposes the publisher's instrument indexes;
//! slows a publisher, unless the bus is lossless and the program requested it.
//!
//! # Path
//! [`Bus::poll`] takes a message from `transport`'s subscriber, applies it to the kept books, and returns the event.
//!
//! # Tests
//! `tests/client` publishes on temporary buses: order of events, restarts, overruns, and seeded sequences in which the
//! kept books must equal the publisher's. The examples run against a replay with fixed output in
//! `crates/touchline/tests`, and `fx` against live engines.

#![forbid(unsafe_code)]

mod book;
mod bus;
mod buses;
mod connection;
mod definition;
mod directory;
mod error;
mod event;
mod find;
#[cfg(feature = "fx")]
pub mod fx;
mod instrument;
pub mod monitor;
pub mod names;
mod options;
mod pending;
mod quantity;
mod reading;
mod registry;
mod room;
mod scale;
mod snapshot;
mod state;
mod stats;
mod status;
mod stopper;
#[cfg(feature = "async")]
mod stream;
mod times;
mod values;
pub mod words;

pub use book::{Book, ConsolidatedLevel, Levels, Order};
pub use bus::{Bus, Lag, Next};
pub use buses::Buses;
pub use connection::Connection;
pub use definition::Definition;
pub use error::Error;
pub use event::{
    Aggressor, BookChange, ChannelChange, ChannelEvent, Defined, Event, Level, LevelChange,
    OrderAction, OrderChange, OrdersChange, Quote, QuoteChange, QuotesChange, StateChange,
    Statistic, Status, Top, Trade,
};
pub use find::Find;
pub use instrument::{Instrument, Key, SecurityId};
pub use options::{Events, Idle, Options};
pub use quantity::Quantity;
pub use snapshot::Snapshot;
pub use state::State;
pub use stats::Stats;
pub use stopper::Stopper;
#[cfg(feature = "async")]
pub use stream::{EventStream, Streamed};
pub use times::{Latency, Ticks, Times, Trace};
#[cfg(feature = "tape")]
pub use touchline_instruments::KnownDefinitions;
#[cfg(feature = "tape")]
pub use touchline_tape::TapePlace;
pub use touchline_types::{
    BookKind, Code, Decimal, Depth, DisplayFactor, Id, Leg, LevelAction, OptionRight, Price,
    PriceFraction, QuoteAction, SecurityType, Side, Spread, StatisticKind, Symbol, TouchSource,
    UpdateAction,
};
