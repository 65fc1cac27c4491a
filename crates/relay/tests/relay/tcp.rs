//! Buses over TCP on the loopback: joining, restarts of each part, slow and hostile clients.

use crate::buses::{Buses, Market, is_alive, until, until_event, until_refused, values};
use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_relay::config::{Config, ReceiveConfig, SendConfig};
use touchline_relay::link::Refusal;
use touchline_relay::link::SendEvent;
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{RunEvent, Sending, Work};
use touchline_relay::start::{Thread, start};
use touchline_relay::{BadHead, Epoch, HEAD_BYTES, Head, HeadFlags, Source};
use touchline_testing::PATIENCE;
use touchline_transport::shm::{Images, ProcessView};
use touchline_types::{Instrument, Validity};

const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);

fn listening(settings: TcpSendSettings) -> (TcpSend, String) {
    let link = TcpSend::bind(ANY_PORT, None, settings).expect("a free port");
    let address = link.address().to_string();
    (link, address)
}

fn sending(buses: &Buses) -> (Sending<TcpSend>, String) {
    let (link, address) = listening(TcpSendSettings::default());
    (buses.sending("a", "gw1", link), address)
}

#[test]
fn books_values_and_orders_are_the_same_for_readers_that_join_either_side() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(1);
    market.define(&mut publisher);
    market.events(500, &mut publisher);
    let (mut send, address) = sending(&buses);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    for _ in 0..20 {
        market.events(200, &mut publisher);
        buses.until_same(&mut [&mut send, &mut receive]);
    }
    let last_values = |bus: &str| {
        let mut images = Images::open(&buses.root(), bus).expect("the bus is there");
        let mut all = Vec::new();
        for index in 0..16 {
            let instrument = Instrument(index);
            let definition = images.definition(instrument);
            all.push((
                definition.map(|definition| definition.symbol),
                values(&mut images, instrument),
            ));
        }
        all
    };
    assert_eq!(last_values("a"), last_values("b"));
    assert!(
        last_values("a").iter().any(|(_, values)| values.len() == 3),
        "no values: no test"
    );
    assert_eq!(buses.counter("b", "relay_gaps"), 0);
    until(&mut [&mut send, &mut receive], "not refreshed", || {
        buses.counter("b", "relay_refreshes_taken") == 16
    });
}

#[test]
fn books_are_stale_within_the_timeout_and_live_again_without_a_refresh_if_no_message_was_lost() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(2);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    let (mut send, address) = sending(&buses);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    buses.until_same(&mut [&mut send, &mut receive]);
    let is_live = || buses.joined("b").validity(Instrument(1)) == Validity::Live;
    assert!(is_live());
    // The sender pauses: no batch, no heartbeat, and the connection stays open.
    let stopped = Instant::now();
    until(&mut [&mut receive], "not stale", || !is_live());
    let stale_ms = stopped.elapsed().as_millis();
    assert!(
        stale_ms >= 200,
        "stale after {stale_ms} ms: before the timeout"
    );
    assert_eq!(buses.joined("b").validity(Instrument(1)), Validity::Stale);
    let refreshes = buses.counter("b", "relay_refreshes_taken");
    until(&mut [&mut send, &mut receive], "not live again", is_live);
    assert_eq!(buses.counter("b", "relay_refreshes_taken"), refreshes);
    assert!(buses.is_same("a", "b"));
    // The receiver pauses: its readers notice by themselves.
    let stopped = Instant::now();
    until(&mut [&mut send], "not stale for readers", || !is_live());
    let stale_ms = stopped.elapsed().as_millis();
    assert!(
        (200..10_000).contains(&stale_ms),
        "stale after {stale_ms} ms: not by the timeout"
    );
    until(&mut [&mut send, &mut receive], "not live again", is_live);
    assert!(buses.is_same("a", "b"));
}

/// Both changes of the publisher are events in their order: the next one is live before its stream begins.
#[test]
fn after_the_end_of_a_publisher_books_are_stale_and_the_next_one_restarts_the_bus() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(3);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    let (mut send, address) = sending(&buses);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    buses.until_same(&mut [&mut send, &mut receive]);
    drop(publisher);
    let gone = |event: &RunEvent| {
        let is_gone = matches!(event, RunEvent::SourceState { is_live: false });
        is_gone.then_some(())
    };
    until_event(&mut [&mut send, &mut receive], "no event", || {}, gone);
    let validity = || buses.joined("b").validity(Instrument(1));
    until(&mut [&mut send, &mut receive], "not stale", || {
        validity() == Validity::Stale
    });
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(4);
    market.define(&mut publisher);
    market.events(100, &mut publisher);
    let events = until(&mut [&mut send, &mut receive], "books differ", || {
        validity() == Validity::Live && buses.is_same("a", "b")
    });
    let mut of_source = events.into_iter().filter_map(|event| match event {
        RunEvent::SourceState { is_live } => Some(Some(is_live)),
        RunEvent::Sending { .. } => Some(None),
        _ => None,
    });
    assert_eq!(of_source.next(), Some(Some(true)));
    assert_eq!(of_source.next(), Some(None));
    // Counters are written every 100 ms.
    until(&mut [&mut send, &mut receive], "not counted", || {
        buses.counter("b", "relay_restarts") == 1
    });
}

#[test]
fn either_relay_may_restart_at_any_time() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(5);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    let (mut send, address) = sending(&buses);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    buses.until_same(&mut [&mut send, &mut receive]);
    for round in 0..4 {
        market.events(100, &mut publisher);
        is_alive(&mut publisher);
        if round % 2 == 0 {
            drop(receive);
            receive = buses.receiving("b", TcpReceive::new(&address, None));
        } else {
            drop(send);
            // The same port: a receiver tries no other.
            let port = address.parse().expect("an address");
            let link = TcpSend::bind(port, None, TcpSendSettings::default());
            send = buses.sending("a", "gw1", link.expect("the port is free again"));
        }
        market.events(100, &mut publisher);
        until(&mut [&mut send, &mut receive], "books differ", || {
            buses.joined("b").validity(Instrument(1)) == Validity::Live && buses.is_same("a", "b")
        });
    }
}

/// The counters of a sender that is dropped, as after an error, stay: they say that it is gone.
#[test]
fn a_sender_that_fails_leaves_its_counters() {
    let buses = Buses::new();
    let left = || {
        let mut all = ProcessView::all(&buses.root()).expect("our folder");
        all.pop().map(|view| view.process.is_some())
    };
    let (send, _) = sending(&buses);
    assert_eq!(left(), Some(true));
    drop(send);
    assert_eq!(left(), Some(false));
    let (send, _) = sending(&buses);
    Box::new(send).finish();
    assert_eq!(left(), None);
}

/// A connection is closed while the market continues: a gap, and a refresh.
#[test]
fn messages_lost_without_a_connection_are_refreshed() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(6);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    let settings = TcpSendSettings {
        queue_bytes_max: 4 * 1024,
        ..TcpSendSettings::default()
    };
    let (link, address) = listening(settings);
    let mut send = buses.sending("a", "gw1", link);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    buses.until_same(&mut [&mut send, &mut receive]);
    // The receiver reads nothing until it is disconnected.
    until_event(
        &mut [&mut send],
        "the end of a client that does not read",
        || market.events(500, &mut publisher),
        |event| matches!(event, RunEvent::Receiver(SendEvent::TooSlow { .. })).then_some(()),
    );
    market.events(100, &mut publisher);
    until(&mut [&mut send, &mut receive], "books differ", || {
        buses.joined("b").validity(Instrument(1)) == Validity::Live && buses.is_same("a", "b")
    });
    // Counters are written every 100 ms.
    until(&mut [&mut send, &mut receive], "not counted", || {
        let counted = |name: &str| buses.counter("b", name);
        counted("relay_gaps") > 0 && counted("relay_lost") > 0 && counted("relay_disconnects") > 0
    });
}

#[test]
fn an_invalid_receiver_is_rejected_with_its_reason_and_disturbs_no_other() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(7);
    market.define(&mut publisher);
    let settings = TcpSendSettings {
        clients_max: 4,
        request_ns_max: 50_000_000,
        ..TcpSendSettings::default()
    };
    let (link, address) = listening(settings);
    let mut send = buses.sending("a", "gw1", link);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    market.events(300, &mut publisher);
    buses.until_same(&mut [&mut send, &mut receive]);
    let mut version = [0; HEAD_BYTES];
    version[..4].copy_from_slice(b"TLR\x07");
    let mut http = [b' '; HEAD_BYTES];
    http[..16].copy_from_slice(b"GET / HTTP/1.1\r\n");
    for (said, reason) in [
        (&version[..], Refusal::Request(BadHead::Version(7))),
        (&http[..], Refusal::Request(BadHead::Magic)),
        (&b"TLR"[..], Refusal::Silent),
        (&[][..], Refusal::Silent),
    ] {
        let mut client = TcpStream::connect(&address).expect("it listens");
        client
            .write_all(said)
            .expect("the socket accepts some bytes");
        assert_eq!(until_refused(&mut [&mut send, &mut receive]), reason);
        // No byte of the stream was sent to the client.
        assert!(matches!(client.read(&mut [0; 16]), Ok(0) | Err(_)));
    }
    market.events(300, &mut publisher);
    buses.until_same(&mut [&mut send, &mut receive]);
    assert_eq!(
        buses.counter("b", "relay_gaps"),
        0,
        "an unauthenticated client caused a loss"
    );
}

/// A server that is not a relay: the receiver reports it, and retries.
#[test]
fn a_receiver_rejects_a_server_that_is_not_a_relay() {
    let buses = Buses::new();
    let server = std::net::TcpListener::bind(ANY_PORT).expect("a free port");
    let address = server.local_addr().expect("it is bound").to_string();
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    let serving = std::thread::spawn(move || {
        let (mut client, _) = server.accept().expect("the receiver connects");
        client
            .write_all(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n")
            .expect("the receiver reads it");
        std::thread::sleep(Duration::from_millis(300));
    });
    let reason = until_event(
        &mut [&mut receive],
        "the end of the link",
        || {},
        |event| match event {
            RunEvent::Link {
                is_up: false,
                reason,
            } => reason.as_deref().map(str::to_owned),
            _ => None,
        },
    );
    assert!(reason.contains("not a relay stream"), "{reason}");
    serving.join().expect("it served");
}

/// One client requests refreshes without end: others stay live, and it is disconnected.
#[test]
fn requests_without_end_starve_nobody() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(8);
    market.define(&mut publisher);
    let (mut send, address) = sending(&buses);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    market.events(300, &mut publisher);
    buses.until_same(&mut [&mut send, &mut receive]);
    let mut request = [0; HEAD_BYTES];
    Head {
        source: Source::ANY,
        epoch: Epoch(0),
        first_sequence: 0,
        count: 0,
        hops: 0,
        flags: HeadFlags::REQUEST,
        sent_ns: 0,
    }
    .write(&mut request);
    let mut client = TcpStream::connect(&address).expect("it listens");
    let writer = std::thread::spawn(move || {
        let many = request.repeat(50);
        let mut requests = 0;
        while requests < 1_000_000 && client.write_all(&many).is_ok() {
            requests += 50;
        }
        requests
    });
    let refused = until_refused(&mut [&mut send, &mut receive]);
    assert_eq!(refused, Refusal::Flood);
    assert!(writer.join().expect("it ends") < 1_000_000);
    market.events(300, &mut publisher);
    until(&mut [&mut send, &mut receive], "books differ", || {
        buses.is_same("a", "b") && buses.joined("b").validity(Instrument(1)) == Validity::Live
    });
    until(&mut [&mut send, &mut receive], "not counted", || {
        let counted = |name| buses.sender_counter("a", "gw1", name);
        counted("relay_requests_dropped") > 1_000 && counted("relay_refreshes_requested") < 300
    });
    assert_eq!(buses.counter("b", "relay_gaps"), 0);
}

/// The group of the configuration may read the received bus, but not the sent one; a group that does not exist is
/// reported.
#[test]
fn the_received_bus_is_shared_with_the_configured_group() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    Market::new(1).define(&mut publisher);
    let begin = |config: &Config| {
        let mut links = start(config, &buses.root(), "host").expect("it starts");
        let link = links.remove(0);
        let work = (link.begin)(&mut Thread::default()).expect("it begins");
        (link.address, work)
    };
    let address = |text: &str| text.parse().expect("an address");
    let (sender, mut send) = begin(&Config {
        send: vec![SendConfig::new("a", address("tcp://127.0.0.1:0"))],
        ..Config::default()
    });
    let group = std::fs::metadata("/proc/self").expect("this process").gid();
    let received = |group: &str| Config {
        group: Some(group.to_owned()),
        receive: vec![ReceiveConfig::new(address(&sender), "b")],
        ..Config::default()
    };
    let (_, mut receive) = begin(&received(&group.to_string()));
    let ring = |bus: &str| buses.root().path().join(bus).join("ring");
    touchline_testing::until("a bus", PATIENCE, || {
        send.work().expect("it works");
        receive.work().expect("it works");
        ring("b").exists()
    });
    let mode = |path: PathBuf| std::fs::metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!((mode(ring("b")), mode(ring("a"))), (0o640, 0o600));
    assert_eq!(mode(ring("b").parent().expect("a bus").to_owned()), 0o750);
    let refused = start(&received("no-such-group"), &buses.root(), "host").err();
    let said = refused.map(|error| error.to_string()).unwrap_or_default();
    assert!(said.contains("\"no-such-group\" does not exist"), "{said}");
}
