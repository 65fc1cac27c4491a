//! Venues of a gateway: the table, and the trait of a venue.
//!
//! A venue is one file here (and its folder): its section of the configuration, limits, routes, and opening. Outside of
//! these files and the table nothing in this crate knows a venue by name.

pub mod cme;
mod definitions;
pub mod fix;
pub mod fx_bank;
mod start;
mod table;
mod venue;

pub use definitions::{DefinitionMistakes, read_definitions};
pub use start::{AnyConfig, RunError, Running, StartEvent, Work};
pub use table::{Entry, Venues};
pub use venue::{
    Config, Lines, Opened, Opening, Raw, RawSession, RawWork, SocketLine, StartError, Venue,
};

/// All venues, one line each.
pub const VENUES: Venues = Venues(&[
    Entry::of::<cme::CmeVenue>(),
    Entry::of::<fix::FixVenue>(),
    Entry::of::<fx_bank::FxBankVenue>(),
]);
