//! The bus of a gateway: opened as the configuration says.

use crate::config::{Config, LockMemory};
use crate::venues::Venue;
use std::path::Path;
use std::time::Duration;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{
    Error, FineClock, Lock, Lossless, Publisher, ReaderStats, Root, Settings,
};

/// Takes over the bus that the configuration names, or begins it.
///
/// # Errors
/// Among others who writes it already, and how much memory is missing.
pub fn open<V: Venue>(config: &Config<V>) -> Result<Publisher, Error> {
    let root = root(config.publication.directory.as_deref());
    Publisher::open(&root, &config.bus, &settings(config))
}

/// Where the buses are: in a directory that somebody chose, or in that of this user.
pub fn root(directory: Option<&Path>) -> Root {
    directory.map_or_else(Root::of_this_user, Root::at)
}

/// A name for a reader of a bus, under which it is seen. Takes 20 ms: the clock is calibrated.
///
/// # Errors
/// Among others: another reader has that name.
pub fn reader_stats(root: &Root, bus: &str, name: &str) -> Result<ReaderStats, Error> {
    let clock = FineClock {
        ticks,
        ns_per_tick: Clock::calibrated().ns_per_tick(),
    };
    ReaderStats::create(root, bus, name, clock)
}

fn settings<V: Venue>(config: &Config<V>) -> Settings {
    let publication = &config.publication;
    Settings {
        ring_bytes: publication.ring_bytes,
        instruments_max: V::instruments_max(&config.limits),
        // An image that is cut is no book: who joins would wait for the next whole one.
        image_levels_max: publication.image_levels_max.max(config.venue.levels_max()),
        orders_max: V::orders_max(&config.limits),
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
