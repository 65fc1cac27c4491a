//! Bus of a gateway, opened from its configuration.

use crate::config::{Config, LockMemory};
use crate::venues::Venue;
use std::path::Path;
use std::time::Duration;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{
    Error, FineClock, Lock, Lossless, Publisher, ReaderStats, Root, Settings,
};

/// Takes over or creates the configured bus.
///
/// # Errors
/// Among others another writer of the bus, missing memory, or a group that does not exist.
pub fn open<V: Venue>(config: &Config<V>) -> Result<Publisher, Error> {
    let publication = &config.publication;
    let root = root(publication.directory.as_deref());
    let root = root.shared_with(publication.group.as_deref())?;
    Publisher::open(&root, &config.bus, &settings(config))
}

/// Root of the buses: a given directory, or this user's.
pub fn root(directory: Option<&Path>) -> Root {
    directory.map_or_else(Root::of_this_user, Root::at)
}

/// Registers a named reader of a bus. Takes 20 ms to calibrate the clock.
///
/// # Errors
/// Among others another reader with this name.
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
        // A truncated snapshot is not a book: joiners would wait for the next whole one.
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
