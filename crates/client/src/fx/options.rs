//! Options of a desk.

use super::{Address, Error};
use crate::directory::root;
use std::path::{Path, PathBuf};
use touchline_transport::bus::Root;

/// Options of a [`Desk`](super::Desk).
#[derive(Clone, Debug, Default)]
pub struct Options {
    directory: Option<PathBuf>,
    client: Option<String>,
    ring_directory: Option<PathBuf>,
    group: Option<String>,
    pub(super) journal: Option<PathBuf>,
}

impl Options {
    /// Directory of the buses. Default: `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub fn directory(mut self, path: impl AsRef<Path>) -> Self {
        self.directory = Some(path.as_ref().to_owned());
        self
    }

    /// The client, as `[[clients]]` of the engine names it. Default: `desk`.
    pub fn client(mut self, name: &str) -> Self {
        self.client = Some(name.to_owned());
        self
    }

    /// Directory of the client's ring, if `[[clients]]` names one.
    pub fn ring_directory(mut self, path: impl AsRef<Path>) -> Self {
        self.ring_directory = Some(path.as_ref().to_owned());
        self
    }

    /// Group of the client's ring, if `[[clients]]` names one: the engine runs as another user and reads the ring as a member of this group.
    pub fn group(mut self, group: &str) -> Self {
        self.group = Some(group.to_owned());
        self
    }

    /// Directory of the engine's journal. Default: that of its last start on this bus.
    pub fn journal(mut self, path: impl AsRef<Path>) -> Self {
        self.journal = Some(path.as_ref().to_owned());
        self
    }

    /// Address of commands, for [`Client`](super::Client) and [`kill`](super::kill), which need no journal.
    ///
    /// # Errors
    /// There is no such group.
    pub fn address(&self, bus: &str) -> Result<Address, Error> {
        let root = root(self.directory.as_deref());
        let ring_root = self
            .ring_directory
            .as_ref()
            .map_or_else(|| root.clone(), Root::at);
        let shared = ring_root.shared_with(self.group.as_deref());
        Ok(Address {
            ring_root: shared.map_err(|error| Error::Word(error.to_string()))?,
            root,
            bus: bus.to_owned(),
            client: self.client.as_deref().unwrap_or("desk").to_owned(),
        })
    }
}
