//! Store of a session's numbers and messages.

use super::{FixVenue, Kind};
use crate::config::ConfigError;
use crate::venues::StartError;
use touchline_session::file_store::{FileStore, Limits, Sync, file_name};
use touchline_session::fix::{Memory, Store, StoreError};

/// Store of a session.
#[derive(Debug)]
pub enum Numbers {
    /// In memory: numbers restart at 1 with each connection.
    Memory(Memory),
    /// In a file: numbers outlive the process.
    File(Box<FileStore>),
}

impl Numbers {
    /// The configured store.
    ///
    /// # Errors
    /// The venue restarts its numbers with each Logon, the CompIDs do not fit a file name, or the store is damaged, in
    /// use, or accessible to others.
    pub fn open(venue: &FixVenue) -> Result<Numbers, StartError> {
        let Some(folder) = &venue.store else {
            return Ok(Numbers::Memory(Memory::default()));
        };
        let refused = |what: &str, fix: &str| ConfigError {
            file: "[venue]".into(),
            line: None,
            what: what.to_owned(),
            fix: fix.to_owned(),
        };
        if venue.kind == Kind::Deribit {
            let what = "`store` is for kind \"fix\": Deribit begins its numbers with each Logon";
            return Err(refused(what, "take `store` out").into());
        }
        let name = file_name("FIX.4.4", &venue.sender, &venue.target).ok_or_else(|| {
            let what = "the CompIDs are too long for the name of a file in `store`";
            refused(what, "shorten `sender` or `target`, or take `store` out")
        })?;
        let store = FileStore::open(folder, &name, Limits::default(), Sync::Later)?;
        Ok(Numbers::File(Box::new(store)))
    }
}

impl Store for Numbers {
    fn next_out(&self) -> u64 {
        match self {
            Numbers::Memory(store) => store.next_out(),
            Numbers::File(store) => store.next_out(),
        }
    }

    fn next_in(&self) -> u64 {
        match self {
            Numbers::Memory(store) => store.next_in(),
            Numbers::File(store) => store.next_in(),
        }
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        match self {
            Numbers::Memory(store) => store.add(message),
            Numbers::File(store) => store.add(message),
        }
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        match self {
            Numbers::Memory(store) => store.expect(next_in),
            Numbers::File(store) => store.expect(next_in),
        }
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        match self {
            Numbers::Memory(store) => store.read(number, room),
            Numbers::File(store) => store.read(number, room),
        }
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        match self {
            Numbers::Memory(store) => store.reset(),
            Numbers::File(store) => store.reset(),
        }
    }
}
