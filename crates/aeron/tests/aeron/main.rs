//! Streams between clients and drivers of this process, over the loopback and over shared memory.
#![cfg(feature = "aeron")]
mod failures;
mod loss;
mod streams;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use touchline_aeron::{Client, Driver, DriverSettings};

/// Settings of a driver that no other test uses, with small terms.
fn settings(name: &str) -> DriverSettings {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("test-{}-{number}-{name}", std::process::id());
    DriverSettings {
        term_bytes: 256 * 1024,
        ..DriverSettings::named(&name)
    }
}

/// A client with a driver of its own.
fn client(name: &str) -> (Client, PathBuf) {
    let driver = Driver::start(&settings(name)).expect("the driver starts");
    let folder = driver.folder().to_owned();
    (Client::embedded(driver).expect("a client"), folder)
}
