//! The bus of a gateway: opened as the configuration says.

use crate::config::{Config, LockMemory};
use std::path::Path;
use std::time::Duration;
use touchline_transport::shm::{Error, Lock, Lossless, Publisher, Root, Settings};

/// Takes over the bus that the configuration names, or begins it.
///
/// # Errors
/// Among others who writes it already, and how much memory is missing.
pub fn open(config: &Config) -> Result<Publisher, Error> {
    let root = root(config.publication.directory.as_deref());
    Publisher::open(&root, &config.bus, &settings(config))
}

/// Where the buses are: in a directory that somebody chose, or in that of this user.
pub fn root(directory: Option<&Path>) -> Root {
    directory.map_or_else(Root::of_this_user, Root::at)
}

fn settings(config: &Config) -> Settings {
    let publication = &config.publication;
    Settings {
        ring_bytes: publication.ring_bytes,
        instruments_max: config.limits.instruments_max,
        image_levels_max: publication.image_levels_max,
        tops: publication.tops,
        lossless: publication.lossless.map(|lossless| Lossless {
            readers_max: lossless.readers_max,
            wait_max: Duration::from_millis(lossless.wait_ms),
        }),
        huge_pages: publication.huge_pages,
        lock: match publication.lock_memory {
            LockMemory::No => Lock::No,
            LockMemory::IfAllowed => Lock::IfAllowed,
            LockMemory::Required => Lock::Required,
        },
    }
}
