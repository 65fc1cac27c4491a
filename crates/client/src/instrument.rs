//! Handles of instruments, and ways to find one.

use crate::Error;
use crate::registry::Registry;
use touchline_types::Code;

/// Handle of an instrument on one [`Bus`](crate::Bus) or [`Snapshot`](crate::Snapshot).
///
/// There is one handle for each venue and security id. It stays valid when the publisher restarts and is never reused
/// for another instrument. Another bus rejects it with [`Error::OtherBus`].
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SecurityId(pub i64);

/// Key of an instrument, the same on every bus and after every restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Venue, as named by its publisher: `cme`, `deribit`.
    pub venue: Code,
    /// The venue's identifier.
    pub security_id: i64,
}

/// Value that identifies an instrument: its symbol (`&str`), its [`SecurityId`], its [`Key`], or its handle.
pub trait Find: sealed::Find {}

impl<T: sealed::Find> Find for T {}

pub(crate) mod sealed {
    use super::*;

    pub trait Find {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error>;
    }

    impl Find for &str {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry
                .by_symbol(self)
                .ok_or_else(|| registry.no_instrument(self))
        }
    }

    impl Find for &String {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            self.as_str().look_up(registry)
        }
    }

    impl Find for SecurityId {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry
                .by_security_id(self.0)
                .ok_or_else(|| registry.no_instrument(&self.0.to_string()))
        }
    }

    impl Find for Key {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry.by_key(self).ok_or_else(|| {
                registry.no_instrument(&format!("{}:{}", self.venue, self.security_id))
            })
        }
    }

    impl Find for Instrument {
        fn look_up(&self, registry: &Registry) -> Result<Instrument, Error> {
            registry.check(*self).map(|_| *self)
        }
    }
}
