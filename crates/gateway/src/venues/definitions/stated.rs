//! A line of a file of definitions.

use touchline_instruments::KnownDefinition;

/// What a line states.
pub enum Stated {
    /// A definition, with the venue's channel if the file has all channels.
    Definition(Box<KnownDefinition>, Option<u32>),
    /// Nothing that defines an instrument.
    Nothing,
}
