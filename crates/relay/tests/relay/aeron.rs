//! Buses over Aeron: unicast, a group, shared memory.

use crate::buses::{Buses, INSTRUMENTS, MS, Market, step, until};
use std::rc::Rc;
use std::time::{Duration, Instant};
use touchline_aeron::{Client, Driver, DriverSettings};
use touchline_relay::config::{Config, SendConfig};
use touchline_relay::link::aeron::{AeronReceive, AeronSend, DriverOptions, DriverPlace, check};
use touchline_relay::link::{SendEvent, SendLink};
use touchline_relay::run::{Receiving, RunEvent, SendSettings, Sending};
use touchline_relay::start::start;
use touchline_relay::{Cyclic, SenderCounters, Source};
use touchline_testing::{free_address, free_port};
use touchline_types::{Instrument, Validity};

/// Bytes of a term: a window is half of it.
const TERM_BYTES: u32 = 1024 * 1024;

/// A channel of the loopback with a free port.
pub fn unicast() -> String {
    format!("aeron:udp?endpoint={}", free_address())
}

/// A group on the loopback with a free port.
pub fn group(last: u8) -> String {
    let port = free_port();
    format!("aeron:udp?endpoint=239.255.91.{last}:{port}|interface=127.0.0.1")
}

/// Settings of a driver that no other test uses.
pub fn driver(name: &str) -> DriverSettings {
    DriverSettings {
        streams: 4,
        term_bytes: TERM_BYTES,
        ..DriverSettings::named(&format!("test-{name}-{}", std::process::id()))
    }
}

pub fn client(name: &str) -> Rc<Client> {
    client_of(&driver(name))
}

pub fn client_of(settings: &DriverSettings) -> Rc<Client> {
    let driver = Driver::start(settings).expect("a folder of our own");
    Rc::new(Client::embedded(driver).expect("its driver is here"))
}

pub fn sending(
    buses: &Buses,
    client: &Rc<Client>,
    channel: &str,
    requests: Option<(&str, i32)>,
) -> Sending<AeronSend> {
    let link = AeronSend::open(Rc::clone(client), channel, 340, requests).expect("a channel");
    let settings = SendSettings {
        root: buses.root(),
        bus: "a".to_owned(),
        source: Source::named("gw1").expect("a name"),
        forward: false,
        batch_bytes_max: link.batch_bytes_max(),
        heartbeat_ns: 100 * MS,
        cyclic: Some(Cyclic {
            share: 0.05,
            round_ns_max: 2_000 * MS,
        }),
        name: "relay-a-340".to_owned(),
    };
    Sending::new(settings, link).expect("the name is free")
}

pub fn receiving(
    buses: &Buses,
    client: &Rc<Client>,
    channel: &str,
    requests: Option<(&str, i32)>,
    hosts: &[&str],
) -> Receiving<AeronReceive> {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let link = AeronReceive::open(Rc::clone(client), channel, 340, requests, 350 * MS, hosts);
    buses.receiving("b", link.expect("a channel"))
}

/// A further receiver, of bus `c`.
pub fn another(
    buses: &Buses,
    client: Rc<Client>,
    channel: &str,
    requests: Option<(&str, i32)>,
) -> Receiving<AeronReceive> {
    let link = AeronReceive::open(client, channel, 340, requests, 350 * MS, Vec::new());
    buses.receiving("c", link.expect("a channel"))
}

/// Counters that the link alone knows.
pub fn counted(send: &Sending<AeronSend>) -> SenderCounters {
    let mut counters = SenderCounters::default();
    send.link().count(&mut counters);
    counters
}

/// Compares books, restarts the receiver, and pauses both sides.
fn carries(name: &str, channel: &str, requests: Option<(&str, i32)>, hosts: &[&str]) {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(21);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    // One driver serves both ends of shared memory; each end of a network has its own.
    let there = client(&format!("{name}-a"));
    let here = match channel {
        "aeron:ipc" => Rc::clone(&there),
        _ => client(&format!("{name}-b")),
    };
    let mut send = sending(&buses, &there, channel, requests);
    let mut receive = receiving(&buses, &here, channel, requests, hosts);
    let is_live = || {
        let books = buses.joined("b");
        (0..INSTRUMENTS).all(|index| books.validity(Instrument(index)) == Validity::Live)
    };
    for _ in 0..10 {
        market.events(200, &mut publisher);
        buses.until_same(&mut [&mut send, &mut receive]);
    }
    drop(receive);
    market.events(200, &mut publisher);
    let mut receive = receiving(&buses, &here, channel, requests, hosts);
    until(
        &mut [&mut send, &mut receive],
        "books differ after a restart",
        || buses.is_same("a", "b"),
    );
    // The sender pauses for longer than the timeout: books are stale, the subscription is added again, books are live
    // again.
    until(&mut [&mut receive], "not stale", || !is_live());
    market.events(200, &mut publisher);
    until(
        &mut [&mut send, &mut receive],
        "books differ after a pause",
        || is_live() && buses.is_same("a", "b"),
    );
}

#[test]
fn unicast_carries_a_bus() {
    let requests = unicast();
    carries(
        "unicast",
        &unicast(),
        Some((&requests, 341)),
        &["127.0.0.1"],
    );
}

#[test]
fn a_group_carries_a_bus() {
    let channel = group(41);
    carries("group", &channel, Some((&channel, 341)), &[]);
}

#[test]
fn shared_memory_carries_a_bus() {
    carries("ipc", "aeron:ipc", Some(("aeron:ipc", 341)), &[]);
}

/// Each receiver reports; a receiver that stands still is named, and the other is not delayed by it. It misses more
/// than the window, after which Aeron sends it no more data; when it continues, it has all books again.
#[test]
fn a_receiver_that_stands_still_is_named_and_recovers() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(23);
    market.define(&mut publisher);
    let channel = &group(45);
    let requests = Some((channel.as_str(), 341));
    let mut send = sending(&buses, &client("still-a"), channel, requests);
    let mut fast = receiving(&buses, &client("still-b"), channel, requests, &[]);
    let mut still = another(&buses, client("still-c"), channel, requests);
    let start = Instant::now();
    while counted(&send).relay_receivers < 2 {
        market.events(5, &mut publisher);
        step(&mut [&mut send, &mut fast, &mut still]);
        assert!(start.elapsed() < Duration::from_secs(30), "no two reports");
    }
    let counters = counted(&send);
    assert_eq!(
        (counters.relay_receivers_slow, counters.relay_slow_receiver),
        (0, 0)
    );
    let round_trip_ns = counters.relay_round_trip_ns;
    assert!((1..5_000 * MS).contains(&round_trip_ns), "{round_trip_ns}");
    until(
        &mut [&mut send, &mut fast, &mut still],
        "books differ",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );
    let received_bytes = || buses.counter("b", "relay_bytes");
    let enough_bytes = received_bytes() + u64::from(TERM_BYTES);
    let is_slow = |event: &RunEvent| matches!(event, RunEvent::Receiver(SendEvent::Behind { .. }));
    let mut is_named = false;
    while !is_named || received_bytes() < enough_bytes {
        market.events(5, &mut publisher);
        is_named |= step(&mut [&mut send, &mut fast]).iter().any(is_slow);
        assert!(start.elapsed() < Duration::from_secs(60), "not named");
    }
    let counters = counted(&send);
    // On a busy host the other receiver may have been slow for a moment, too.
    assert!(counters.relay_receivers_slow >= 1);
    assert_eq!(counters.relay_slow_receiver >> 16, 0x7F00_0001);
    until(&mut [&mut send, &mut fast], "the other differs", || {
        buses.is_same("a", "b")
    });
    assert!(!buses.is_same("a", "c"), "nothing was missed: no test");
    until(
        &mut [&mut send, &mut fast, &mut still],
        "it does not recover",
        || buses.is_same("a", "c") && buses.is_same("a", "b"),
    );
}

/// A driver with threads of its own, with settings for losses.
#[test]
fn a_driver_with_threads_carries_a_bus() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(24);
    market.define(&mut publisher);
    market.events(100, &mut publisher);
    let options = DriverOptions {
        place: DriverPlace::Threads { cpus: None },
        streams: 2,
        nak_backoff_max: Some(Duration::from_micros(50)),
        group_size: Some(3),
    };
    let threads = touchline_relay::link::aeron::client(&options).expect("a folder of our own");
    let (channel, control) = (&unicast(), unicast());
    let requests = Some((control.as_str(), 341));
    let mut send = sending(&buses, &threads, channel, requests);
    let mut receive = receiving(&buses, &client("threads-b"), channel, requests, &[]);
    buses.until_same(&mut [&mut send, &mut receive]);
}

#[test]
fn processors_of_a_driver_without_threads_are_refused() {
    let to = "aeron:ipc".parse().expect("an address");
    let config = Config {
        driver_cpus: Some([1, 2, 3]),
        send: vec![SendConfig::new("a", to)],
        ..Config::default()
    };
    let refused = start(&config, &Buses::new().root(), "host").err();
    let said = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("driver = \"threads\""), "{said}");
}

/// Without a way back no receiver could measure the age of its books.
#[test]
fn unicast_without_a_channel_of_requests_is_refused() {
    let to = "aeron:udp?endpoint=127.0.0.1:40919"
        .parse()
        .expect("an address");
    let config = Config {
        send: vec![SendConfig::new("a", to)],
        ..Config::default()
    };
    let refused = start(&config, &Buses::new().root(), "host").err();
    let said = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("set control"), "{said}");
}

#[test]
fn a_host_that_is_not_accepted_is_counted_and_ignored() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(22);
    market.define(&mut publisher);
    let (there, here) = (client("refused-a"), client("refused-b"));
    let channel = &unicast();
    let mut send = sending(&buses, &there, channel, None);
    let mut receive = receiving(&buses, &here, channel, None, &["10.0.0.7"]);
    until(
        &mut [&mut send, &mut receive],
        "no batch is rejected",
        || buses.counter("b", "relay_refused_sources") > 0,
    );
    assert_eq!(buses.counter("b", "relay_batches"), 0);
}

/// Channels that work until something fails are refused at start, with the fix.
#[test]
fn channels_with_a_pitfall_are_refused_with_the_fix() {
    let group = "aeron:udp?endpoint=239.255.91.41:40914";
    for (channel, fix) in [
        (group.to_owned(), "|interface="),
        (format!("{group}|interface=0.0.0.0"), "|interface="),
        (format!("{group}|interface=0.0.0.0/0"), "|interface="),
        (
            "aeron:udp?endpoint=127.0.0.1:40914|session-id=7".to_owned(),
            "remove session-id",
        ),
        ("aeron:ipc?session-id=7".to_owned(), "remove session-id"),
    ] {
        let refused = check(&channel).expect_err(&channel);
        assert!(refused.contains(fix), "{refused}");
        let to = channel.parse().expect("an address");
        let config = Config {
            send: vec![SendConfig::new("a", to)],
            ..Config::default()
        };
        let refused = start(&config, &Buses::new().root(), "host").err();
        let said = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(fix), "{channel}: {said}");
    }
    for channel in [
        "aeron:ipc".to_owned(),
        "aeron:udp?endpoint=127.0.0.1:40914".to_owned(),
        format!("{group}|interface=127.0.0.1"),
        format!("{group}|interface=10.0.0.0/24|fc=tagged,g:7"),
    ] {
        assert_eq!(check(&channel), Ok(()), "{channel}");
    }
}
