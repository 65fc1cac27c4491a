//! Follow a Touchline bus: what a trading program, a recorder or a screen depends on, and nothing else.
//!
//! A [`Bus`] is joined by name and read in the caller's own thread, straight from shared memory. Reading gives an
//! [`Event`] at a time: a small value that can be stored and sent. The bus keeps the books, tops and last trades of
//! every instrument beside it, as of the last event.
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
//! - **One way to read**: [`Bus::next`] waits, [`Bus::poll`] never does, [`Bus::next_within`] waits for a time.
//! - **Handles**: an [`Instrument`] is given once for each venue and security id, stays valid when the publisher
//!   restarts, and is never given to another instrument.
//! - **Prices** are those that traders quote: the venue's price times its display factor, exact, in counts of 1e-9.
//!   [`Definition::venue_price`] gives what an order needs.
//! - **Loss, restart, silence** are events ([`Connection`]) and states of books ([`State`]), never an error.
//! - **Errors** come at join and at look-up alone, each a sentence that says what to do ([`Error`]).
//! - **Memory** is taken at join. Afterwards nothing is allocated, but for definitions beyond
//!   [`Options::instruments_max`] and for books that become deeper than the bus's own images.
//!
//! Features: `signals` (Ctrl-C ends a loop), `async` (a bus as a stream). Neither is on by default.
//!
//! [`Snapshot`] is for who looks only now and then, [`Buses`] for several buses in one loop, [`monitor`] for who shows
//! how a bus is doing.
//!
//! # Never
//! Starts a thread (but for `into_stream`, which says so); allocates while events come; gives out the publisher's own
//! numbers of instruments; slows a publisher, unless the bus is lossless and the program asked for it.
//!
//! # Path
//! [`Bus::poll`] takes a message from `transport`'s subscriber, applies it to the kept books, and gives the event.
//!
//! # Tests
//! `tests/client` publishes on buses of its own: order of events, restarts, overruns, seeded sequences in which the kept
//! books must equal the publisher's. The examples run against a replay with fixed output in `crates/touchline/tests`.
#![forbid(unsafe_code)]

mod book;
mod bus;
mod buses;
mod connection;
mod definition;
mod error;
mod event;
mod instrument;
pub mod monitor;
mod options;
mod pending;
mod quantity;
mod reading;
mod registry;
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
mod words;

pub use book::{Book, ConsolidatedLevel, Levels, Order, Touch};
pub use bus::{Bus, Lag, Next};
pub use buses::Buses;
pub use connection::Connection;
pub use definition::Definition;
pub use error::Error;
pub use event::{
    Aggressor, BookChange, ChannelChange, ChannelEvent, Event, Level, LevelChange, OrderChange,
    OrdersChange, Quote, StateChange, Statistic, Status, Top, Trade,
};
pub use instrument::{Find, Instrument, Key, SecurityId};
pub use options::{Events, Idle, Options};
pub use quantity::Quantity;
pub use snapshot::Snapshot;
pub use state::State;
pub use stats::Stats;
pub use stopper::Stopper;
#[cfg(feature = "async")]
pub use stream::{EventStream, Streamed};
pub use times::{Latency, Ticks, Times, Trace};
pub use touchline_book::{Spread, TouchSource};
pub use touchline_types::{
    BookKind, Code, Decimal, Depth, DisplayFactor, Leg, LevelAction, OptionRight, OrderAction,
    Price, PriceFraction, SecurityType, Side, StatisticKind, Symbol, UpdateAction,
};
