//! Handles and keys of instruments.

use touchline_types::Code;

/// Handle of an instrument on one [`Bus`](crate::Bus) or [`Snapshot`](crate::Snapshot).
///
/// There is one handle for each venue and security id, and for each venue and symbol of a venue without ids (see
/// [`SecurityId`]). It stays valid when the publisher restarts and is never reused
/// for another instrument. Another bus rejects it with [`Error::OtherBus`](crate::Error::OtherBus).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instrument {
    pub(crate) bus: u32,
    pub(crate) index: u32,
}

impl Instrument {
    /// Dense index from 0 on its bus, for the program's own tables.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

const _: () = assert!(size_of::<Instrument>() == 8);

/// The venue's identifier of an instrument (CME: SecurityID).
///
/// Deribit, venues of kind `fix`, banks and the composite have none: there it is a number from 1 that holds for one
/// publication, and is that of another instrument when the publisher restarts. It finds the instrument that has it at present;
/// keep symbols, or handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecurityId(pub i64);

/// Key of an instrument, the same on every bus and after every restart, except where a [`SecurityId`] holds for one publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Venue, as named by its publisher: `cme`, `deribit`.
    pub venue: Code,
    /// The venue's identifier.
    pub security_id: i64,
}
