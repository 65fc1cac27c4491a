//! Order books: market by price, market by order, and the consolidated view of a price book.
//!
//! Each kind is a table over all instruments of a channel, allocated at start. `apply` takes one
//! normalised event, changes one book, and appends the resolved steps to a buffer of the caller.
//!
//! # Never
//! Knows a venue's messages, a feed's state or a transport; allocates after start; decides when
//! changes are visible (the gateway publishes at the end of an event); trusts a position or an id.
//!
//! # Path
//! [`PriceBooks::apply`] and [`OrderBooks::apply`] take [`touchline_types::LevelEvent`] and
//! [`touchline_types::OrderEvent`] and append [`touchline_types::LevelChange`] and
//! [`touchline_types::OrderChange`].
//!
//! # Tests
//! The action table case by case here. In debug builds each event checks the rules of its book: order of levels, equality of
//! list and index. Millions of random events against the simple reference of
//! `lab` in `crates/touchline/tests`.

#![forbid(unsafe_code)]

pub mod consolidated;
pub mod deep;
pub mod levels;
pub mod order;
mod order_index;
pub mod order_pool;
pub mod price;

pub use consolidated::{Consolidated, ConsolidatedLevel};
pub use deep::{ApplyResult, DEEP_MAX, DeepLevels};
pub use levels::{LevelIter, LevelList, Levels};
pub use order::{OrderBooks, OrdersFull};
pub use price::{ImpliedLists, PriceBook, PriceBooks};
