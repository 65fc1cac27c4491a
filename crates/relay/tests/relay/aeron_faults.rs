//! Aeron links under faults: stopped readers, receivers that are waited for, hostile datagrams, limits of the host.

use crate::aeron::{
    another, client, client_of, counted, driver, group, receiving, sending, unicast,
};
use crate::buses::{Buses, Market, step, until};
use std::cell::Cell;
use std::net::UdpSocket;
use std::rc::Rc;
use std::time::{Duration, Instant};
use touchline_aeron::{
    Client, ClientSettings, Driver, DriverSettings, ExclusivePublication, Threading,
};
use touchline_lab::random::{Random, seeds};
use touchline_relay::link::aeron::{AeronReceive, AeronSend};
use touchline_relay::link::{CarrierEvent, SendLink};
use touchline_relay::run::{Receiving, RunEvent, Sending, Work};
use touchline_relay::{HEAD_BYTES, MAGIC};
use touchline_testing::free_address;
use touchline_transport::shm::Publisher;

/// Terms of drivers whose window a few messages fill: half of a term.
const SMALL_TERM_BYTES: u32 = 64 * 1024;
const DEADLINE: Duration = Duration::from_secs(60);

fn small(name: &str) -> DriverSettings {
    DriverSettings {
        term_bytes: SMALL_TERM_BYTES,
        // Longer than any test: nothing recovers because a client is given up.
        timeout: 2 * DEADLINE,
        ..driver(name)
    }
}

fn market(buses: &Buses, seed: u64) -> (Publisher, Market) {
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(seed);
    market.define(&mut publisher);
    market.events(100, &mut publisher);
    (publisher, market)
}

fn carrier_events(link: &mut dyn Work) -> Vec<CarrierEvent> {
    let of_carrier = |event| match event {
        RunEvent::Carrier(event) => Some(event),
        _ => None,
    };
    step(&mut [link])
        .into_iter()
        .filter_map(of_carrier)
        .collect()
}

/// Each setting that costs data or time is one warning, with the fix.
#[test]
fn capped_socket_buffers_and_fc_min_are_warnings() {
    let buses = Buses::new();
    let _market = market(&buses, 30);
    let settings = DriverSettings {
        buffer_bytes: u32::MAX,
        ..driver("warnings")
    };
    let there = client_of(&settings);
    let group = group(61);
    let mut send = sending(&buses, &there, &format!("{group}|fc=min"), None);
    let events = carrier_events(&mut send);
    let texts: Vec<&str> = events
        .iter()
        .map(|event| match event {
            CarrierEvent::Warning(text) => text.as_str(),
            CarrierEvent::Error(error) => panic!("{error}"),
        })
        .collect();
    for (told, fix) in [
        ("fc=min", "fc=tagged,g:7"),
        ("rmem_max caps", "sysctl -w net.core.rmem_max="),
        ("wmem_max caps", "sysctl -w net.core.wmem_max="),
    ] {
        let found = texts.iter().filter(|text| text.contains(told));
        assert!(found.clone().count() == 1, "{told}: {texts:?}");
        assert!(found.clone().all(|text| text.contains(fix)), "{texts:?}");
    }
    // A client warns of its driver once, for any number of links.
    let mut receive = receiving(&buses, &there, &group, None, &[]);
    assert_eq!(carrier_events(&mut receive), []);
    let tagged = format!("{group}|fc=tagged,g:7");
    let link = AeronSend::open(client("no-warnings"), &tagged, 342, None);
    let mut other = buses.sending("a", "tagged", link.expect("a channel"));
    let told = carrier_events(&mut other);
    assert!(
        !told
            .iter()
            .any(|event| matches!(event, CarrierEvent::Warning(text) if text.starts_with("fc="))),
        "{told:?}"
    );
}

#[test]
fn the_end_of_an_external_driver_is_an_error_of_the_link() {
    let buses = Buses::new();
    let settings = DriverSettings {
        threading: Threading::Shared {
            sleep: Duration::from_micros(100),
        },
        timeout: Duration::from_secs(2),
        ..driver("ended")
    };
    let driver = Driver::start(&settings).expect("a folder of our own");
    let here = connect(&settings);
    let channel = &unicast();
    let mut receive = receiving(&buses, &here, channel, None, &[]);
    drop(driver);
    let start = Instant::now();
    while receive.work().is_ok() {
        assert!(start.elapsed() < DEADLINE, "the relay does not notice");
        std::thread::sleep(Duration::from_millis(1));
    }
    let events: Vec<_> = std::iter::from_fn(|| receive.event()).collect();
    let is_told = |event: &RunEvent| matches!(event, RunEvent::Carrier(CarrierEvent::Error(said)) if said.contains("MediaDriver"));
    assert!(events.iter().any(is_told), "{events:?}");
}

fn connect(settings: &DriverSettings) -> Rc<Client> {
    let settings = ClientSettings {
        timeout: settings.timeout,
        ..ClientSettings::at(settings.folder.clone())
    };
    Rc::new(Client::connect(&settings).expect("the driver runs"))
}

/// A process that reads `aeron:ipc` and is killed, and a relay that stands still: neither holds the others, and the relay
/// has all books when it continues.
#[test]
fn a_dead_reader_of_shared_memory_holds_nobody() {
    let buses = Buses::new();
    let (mut publisher, mut market) = market(&buses, 31);
    let settings = DriverSettings {
        threading: Threading::Shared {
            sleep: Duration::from_micros(100),
        },
        ..small("dead")
    };
    let _driver = Driver::start(&settings).expect("a folder of our own");
    let channel = "aeron:ipc";
    let requests = Some((channel, 341));
    let mut send = sending(&buses, &connect(&settings), channel, requests);
    let mut receive = receiving(&buses, &connect(&settings), channel, requests, &[]);
    let mut still = another(&buses, connect(&settings), channel, requests);
    // State as after a kill: the driver knows the subscription, but no process reads it.
    let dead = connect(&settings);
    let _subscription = dead.subscription(channel, 340).expect("a subscription");
    until(
        &mut [&mut send, &mut receive, &mut still],
        "books differ",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );
    // Messages in sequence: a subscription that is added again reads the old part of the log again. A window has some 300.
    let received = || buses.counter("b", "relay_messages");
    let enough = received() + 3_000;
    let (start, mut filled) = (Instant::now(), Instant::now());
    while received() < enough {
        if send.link().has_room() {
            market.events(5, &mut publisher);
        } else if filled.elapsed() > Duration::from_millis(10) {
            // The rest of the window; the ring of the bus has room for the seconds in which the dead reader holds it.
            filled = Instant::now();
            market.events(1, &mut publisher);
        }
        step(&mut [&mut send, &mut receive]);
        assert!(start.elapsed() < DEADLINE, "the dead reader holds the link");
    }
    buses.until_same(&mut [&mut send, &mut receive]);
    assert_eq!(buses.counter("b", "relay_gaps"), 0);
    assert!(!buses.is_same("a", "c"), "nothing was missed: no test");
    until(
        &mut [&mut send, &mut receive, &mut still],
        "it does not recover",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );
}

/// Publishes while the link has room, until a condition holds.
#[track_caller]
fn publish_until(
    send: &mut Sending<AeronSend>,
    receivers: &mut [&mut Receiving<AeronReceive>],
    mut publish: impl FnMut(),
    mut holds: impl FnMut(&[RunEvent]) -> bool,
) {
    let start = Instant::now();
    let mut events = Vec::new();
    while !holds(&events) {
        if send.link().has_room() {
            publish();
        }
        events.extend(step(&mut [&mut *send]));
        for receiver in receivers.iter_mut() {
            step(&mut [&mut **receiver]);
        }
        assert!(start.elapsed() < DEADLINE, "{events:?}");
    }
    let is_overrun = |event: &RunEvent| matches!(event, RunEvent::Overrun { .. });
    assert!(!events.iter().any(is_overrun), "{events:?}");
}

/// `fc=tagged`: the relay waits for the receiver with the tag, which loses nothing, and not for the other one.
#[test]
fn the_relay_waits_for_receivers_with_the_tag_only() {
    let buses = Buses::new();
    let (mut publisher, mut market) = market(&buses, 32);
    let group = &group(63);
    let requests = Some((group.as_str(), 341));
    // A tagged receiver that is gone is waited for during `t`.
    let channel = format!("{group}|fc=tagged,g:7,t:120s");
    let mut send = sending(&buses, &client_of(&small("tag-a")), &channel, requests);
    let there = client_of(&small("tag-b"));
    let mut tagged = receiving(&buses, &there, &format!("{group}|gtag=7"), requests, &[]);
    let mut other = another(&buses, client_of(&small("tag-c")), group, requests);
    until(
        &mut [&mut send, &mut tagged, &mut other],
        "books differ",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );

    // The other one stands still.
    let received_bytes = || buses.counter("b", "relay_bytes");
    let enough_bytes = received_bytes() + 8 * u64::from(SMALL_TERM_BYTES);
    publish_until(
        &mut send,
        &mut [&mut tagged],
        || market.events(5, &mut publisher),
        |_| received_bytes() >= enough_bytes,
    );
    until(
        &mut [&mut send, &mut tagged, &mut other],
        "it does not recover",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );

    // The tagged receiver stands still: the link is full, and the bus keeps the messages that follow.
    let rounds_without_room = Cell::new(0);
    publish_until(
        &mut send,
        &mut [&mut other],
        || {
            rounds_without_room.set(0);
            market.events(5, &mut publisher);
        },
        |_| rounds_without_room.replace(rounds_without_room.get() + 1) > 1_000,
    );
    market.events(300, &mut publisher);
    let is_full = |event: &RunEvent| matches!(event, RunEvent::BackPressure { .. });
    publish_until(
        &mut send,
        &mut [&mut other],
        || (),
        |events| events.iter().any(is_full),
    );
    assert!(!buses.is_same("a", "c"), "the relay did not wait");
    until(
        &mut [&mut send, &mut tagged, &mut other],
        "books differ after the wait",
        || buses.is_same("a", "b") && buses.is_same("a", "c"),
    );
    assert_eq!(buses.counter("b", "relay_gaps"), 0);
}

/// Bytes of a data frame's header in Aeron's protocol.
const FRAME_BYTES: usize = 32;

/// A datagram that is not of Aeron, is cut, has a foreign version, or belongs to no stream.
fn hostile_datagram(random: &mut Random, stream: i32) -> Vec<u8> {
    let length = random.index(1_400);
    let mut datagram: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
    let kind = random.below(4);
    if kind == 0 {
        return datagram;
    }
    // A data frame of an unknown session.
    datagram.resize(FRAME_BYTES + length / 32 * 32, 7);
    let frame_bytes = datagram.len() as i32;
    datagram[..4].copy_from_slice(&frame_bytes.to_le_bytes());
    datagram[4..8].copy_from_slice(&[0, 0xC0, 1, 0]);
    datagram[16..20].copy_from_slice(&stream.to_le_bytes());
    match kind {
        1 => datagram.truncate(random.index(FRAME_BYTES)),
        2 => datagram[4] = 1 + random.below(255) as u8,
        _ => {}
    }
    datagram
}

/// A message that is not a batch and not a request, is cut, or has a foreign version.
fn hostile_message(random: &mut Random) -> Vec<u8> {
    let length = random.index(1_300);
    let mut message: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
    let kind = random.below(3);
    if kind == 0 {
        return message;
    }
    message.resize(length.max(HEAD_BYTES), 0);
    message[..3].copy_from_slice(&MAGIC);
    message[3] = 1;
    match kind {
        1 => message.truncate(random.index(HEAD_BYTES)),
        _ => message[3] = 2 + random.below(254) as u8,
    }
    message
}

fn offer(publication: &mut ExclusivePublication, message: &[u8]) {
    if let Err(refused) = publication.offer(message) {
        assert!(refused.is_passing(), "{refused}");
    }
}

/// Foreign datagrams on both ports, and a foreign Aeron publication on both streams, while a market runs.
#[test]
fn hostile_datagrams_and_messages_are_counted_and_change_no_book() {
    for seed in seeds(2) {
        let buses = Buses::new();
        let (mut publisher, mut market) = market(&buses, seed);
        let mut random = Random::from_seed(seed);
        let ports = [free_address(), free_address()];
        let [channel, control] = ports
            .each_ref()
            .map(|port| format!("aeron:udp?endpoint={port}"));
        let requests = Some((control.as_str(), 341));
        let mut send = sending(&buses, &client("hostile-a"), &channel, requests);
        let mut receive = receiving(&buses, &client("hostile-b"), &channel, requests, &[]);
        let stranger = client("hostile-c");
        let data = stranger.exclusive_publication(&channel, 340);
        let asks = stranger.exclusive_publication(&control, 341);
        let mut strange = [data, asks].map(|publication| publication.expect("a channel"));
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut events = Vec::new();
        let start = Instant::now();
        let is_counted = |send: &Sending<AeronSend>| {
            let counters = counted(send);
            let names = [
                "relay_packets_invalid",
                "relay_malformed",
                "relay_refused_versions",
            ];
            let here = names.map(|name| buses.counter("b", name));
            here.iter().all(|count| *count > 100)
                && counters.relay_packets_invalid > 100
                && counters.relay_requests_invalid > 100
        };
        while !is_counted(&send) {
            assert!(start.elapsed() < DEADLINE, "seed {seed}: {events:?}");
            market.events(10, &mut publisher);
            for (port, stream) in ports.iter().zip([340, 341]) {
                let datagram = hostile_datagram(&mut random, stream);
                socket.send_to(&datagram, port).expect("the loopback");
            }
            for publication in &mut strange {
                offer(publication, &hostile_message(&mut random));
            }
            stranger.do_work().expect("the client is open");
            events.extend(step(&mut [&mut send, &mut receive]));
        }
        buses.until_same(&mut [&mut send, &mut receive]);
        assert!(
            events.iter().any(|event| matches!(
                event,
                RunEvent::Refused { reason, .. } if *reason == "malformed request"
            )),
            "seed {seed}: {events:?}"
        );
    }
}
