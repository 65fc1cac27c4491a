//! Errors: each is a sentence that says what to do.

use crate::world::{World, drain, small};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use touchline_client::{Bus, Error, Events, Key, Options, SecurityId};
use touchline_transport::Publish;
use touchline_transport::bus::{FOREIGN_SCHEMA, Layout, Lock, Publication};

fn refused(options: Options, bus: &str) -> Error {
    options
        .join(bus)
        .map(drop)
        .expect_err("it cannot be joined")
}

#[test]
fn the_error_for_a_missing_bus_lists_existing_ones() {
    let world = World::new();
    let none = refused(world.options(), "cme-31");
    assert!(
        none.to_string()
            .starts_with("no bus is called cme-31; there is none in "),
        "{none}"
    );
    let _publishers = ["cme-310", "cme-318"].map(|bus| world.publisher_with(bus, &small()));
    // The ring of an engine's client has no market data, and a file is not a bus.
    let ring = Layout {
        ring_bytes: 1 << 16,
        message_bytes_min: 64,
        schema: 1 + FOREIGN_SCHEMA as u16,
        tables: [],
        lossless: None,
        huge_pages: false,
        lock: Lock::No,
    };
    let ring = Publication::open(&world.root(), "cme-desk", &ring);
    let (_ring, []) = ring.expect("no other process writes it");
    fs::write(world.root().path().join("cme-32"), "").expect("our folder");
    let error = refused(world.options(), "cme-31");
    let text = "no bus is called cme-31; buses here: cme-310, cme-318";
    assert_eq!(error.to_string(), text);
    // A `main` that returns the error prints the sentence.
    assert_eq!(format!("{error:?}"), text);
    assert_eq!(
        world.options().list().expect("it can be read"),
        ["cme-310", "cme-318"]
    );
}

#[test]
fn the_error_for_an_unknown_instrument_suggests_the_nearest() {
    let world = World::new();
    let mut publisher = world.publishing(&["ESU4", "NQU4"]);
    publisher.commit();
    let mut bus = world.join(world.options());
    let early = bus.instrument("ESU4").expect_err("nothing was read yet");
    assert_eq!(
        early.to_string(),
        "bus test has no instrument \"ESU4\" (0 are defined); read until it has caught up: Bus::ready does"
    );
    drain(&mut bus);
    let error = bus.instrument("ESU5").expect_err("there is none");
    assert_eq!(
        error.to_string(),
        "bus test has no instrument \"ESU5\" (2 are defined); did you mean ESU4?"
    );
    assert!(bus.instrument(SecurityId(102)).is_err());
    let es = bus.instrument("ESU4").expect("it is there");
    let key: Key = bus.definition(es).expect("ours").key();
    assert_eq!(bus.instrument(key).expect("it is there"), es);
    assert_eq!(bus.instrument(es).expect("it is there"), es);
}

#[test]
fn a_bus_that_does_not_wait_refuses_a_lossless_reader() {
    let world = World::new();
    let _publisher = world.publisher();
    let error = refused(world.options().name("recorder").lossless(), "test");
    assert_eq!(
        error.to_string(),
        "bus test is not lossless: it waits for no reader; drop .lossless(), or add `[publication.lossless]` at the gateway"
    );
}

#[test]
fn a_reader_name_cannot_be_used_twice() {
    let world = World::new();
    let _publisher = world.publisher();
    let _reader = world.join(world.options().name("recorder"));
    let error = refused(world.options().name("recorder"), "test");
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    assert!(error.to_string().contains("recorder"), "{error}");
}

#[test]
fn a_bus_that_others_may_write_is_not_trusted() {
    let world = World::new();
    let _publisher = world.publisher();
    let folder = world.root().path().join("test");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("ours");
    let error = refused(world.options(), "test");
    assert!(matches!(error, Error::NotYours { .. }), "{error}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("ours");
}

#[test]
fn the_error_for_another_layout_has_both_versions() {
    use std::io::{Seek, SeekFrom, Write};
    let world = World::new();
    let _publisher = world.publisher();
    let ring = world.root().path().join("test").join("ring");
    let mut file = fs::OpenOptions::new().write(true).open(ring).expect("ours");
    // The second word of a ring is the number of its layout.
    file.seek(SeekFrom::Start(8)).expect("a file");
    file.write_all(&99_u64.to_le_bytes()).expect("a file");
    let error = refused(world.options(), "test");
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    assert!(error.to_string().contains("format 99"), "{error}");
}

#[test]
fn an_invalid_pattern_and_a_missing_bus_are_errors() {
    let world = World::new();
    let publisher = world.publisher();
    let error = refused(world.options().symbols(["/(/"]), "test");
    assert!(matches!(error, Error::Option(_)), "{error}");
    drop(publisher);
    let mut bus = world.join(world.options().events(Events::TOPS));
    let error = bus
        .ready(Duration::from_millis(20))
        .expect_err("nothing publishes");
    assert_eq!(
        error.to_string(),
        "bus test is not ready: nothing publishes on it, so no book is live: its gateway has ended; start it again"
    );
    let late = refused(world.options().wait(Duration::from_millis(50)), "other");
    assert!(matches!(late, Error::NoBus { .. }), "{late}");
    assert!(
        Bus::options()
            .directory("/nonexistent")
            .list()
            .expect("none")
            .is_empty()
    );
}
