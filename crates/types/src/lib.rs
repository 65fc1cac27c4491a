//! Types shared by all crates: prices, quantities, instruments, events and updates.
//!
//! A venue's feed turns its messages into [`Event`]s; the books resolve each event into [`LevelChange`]s and
//! [`OrderChange`]s; the gateway publishes them as [`Update`]s. The keyed [`hash`] serves the tables whose keys a venue
//! chooses.
//!
//! # Never
//! Uses another crate of ours; reads a clock; does I/O; allocates; holds a floating-point price.
//!
//! # Path
//! Events enter from `feed`, updates leave through `transport`; between processes as the messages
//! of [`native`].
//!
//! # Tests
//! Unit tests beside each type; sizes of the types on the path are asserted by the compiler.

#![forbid(unsafe_code)]
#![no_std]
#[macro_use]
mod coded;

pub mod book_state;
pub mod change;
pub mod channel;
pub mod counter;
pub mod event;
pub mod hash;
pub mod instrument;
pub mod level;
pub mod native;
pub mod number;
pub mod quote;
pub mod reference;
pub mod side;
pub mod text;
pub mod time;
pub mod touch;
pub mod update;
pub mod validity;

pub use change::{LevelAction, LevelChange, OrderAction, OrderChange, OrderRow};
pub use channel::ChannelState;
pub use counter::CounterInfo;
pub use event::{
    Event, LevelEvent, OrderEvent, PacketInfo, Phase, Place, Statistic, StatisticKind, Trade,
    TradingStatus, UpdateAction,
};
pub use instrument::{Depth, Instrument, InstrumentDefinition, Symbol};
pub use level::Level;
pub use number::{Decimal, Price, Quantity};
pub use quote::{Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate};
pub use reference::{
    DisplayFactor, LEGS_MAX, Leg, Legs, OptionRight, PriceFraction, ReferenceData, SecurityType,
};
pub use side::{BookKind, Side};
pub use text::{Code, FixedText, Id};
pub use time::ReceiveTime;
pub use touch::{Spread, Touch, TouchSource};
pub use update::{
    BookSnapshot, BookUpdate, Gap, OrdersSnapshot, OrdersUpdate, State, Timestamps, Update,
};
pub use validity::{Validity, worse_of};
