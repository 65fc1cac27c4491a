//! Options of a desk.

use super::Address;
use crate::directory::root;
use std::path::{Path, PathBuf};
use touchline_transport::bus::Root;

/// Options of a [`Desk`](super::Desk).
#[derive(Clone, Debug, Default)]
pub struct Options {
    directory: Option<PathBuf>,
    client: Option<String>,
    ring_directory: Option<PathBuf>,
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

    /// Directory of the engine's journal. Default: that of its last start on this bus.
    pub fn journal(mut self, path: impl AsRef<Path>) -> Self {
        self.journal = Some(path.as_ref().to_owned());
        self
    }

    /// Where commands go, for [`Client`](super::Client) and [`kill`](super::kill), which need no journal.
    pub fn address(&self, bus: &str) -> Address {
        let root = root(self.directory.as_deref());
        Address {
            ring_root: self
                .ring_directory
                .as_ref()
                .map_or_else(|| root.clone(), Root::at),
            root,
            bus: bus.to_owned(),
            client: self.client.as_deref().unwrap_or("desk").to_owned(),
        }
    }
}
