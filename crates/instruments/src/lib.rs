//! Instruments of a gateway: dense index, definitions, look-up by security id or symbol, and the selection of symbols.
//!
//! The pipeline owns the table. A feed adds instruments and defines them; books and publishers read it.
//!
//! # Never
//! Knows the state of a book; allocates after start, except for the names in a table of symbols.
//!
//! # Path
//! [`Instruments::find_security`] is called for each entry of a market data message.
//!
//! # Tests
//! Unit tests beside each part; colliding names in `index`.

#![forbid(unsafe_code)]

mod index;
mod known;
mod symbols;
mod table;

pub use known::{KnownDefinition, KnownDefinitions};
pub use symbols::{Admitted, Symbols};
pub use table::Instruments;
