//! Whole sessions over Aeron, through a forwarder that loses, delays, doubles and reorders datagrams of both directions.

use crate::sessions::relay::MS;
use crate::sessions::relay_links::{CYCLIC, Session};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::time::{Duration, Instant};
use touchline_aeron::{Client, Driver, DriverSettings};
use touchline_lab::fault::stream::Fault;
use touchline_lab::forwarder::{Forwarded, Forwarder};
use touchline_lab::random::seeds;
use touchline_relay::link::aeron::{AeronReceive, AeronSend};
use touchline_relay::run::Sending;
use touchline_testing::free_port;
use touchline_types::Validity;

const STREAM: i32 = 340;

/// Channels of the sender and of each receiver, with what lies between them.
struct Network {
    sender: String,
    receivers: Vec<String>,
    /// Channel of requests.
    control: String,
    forwarders: Vec<Forwarder>,
}

#[test]
fn unicast_carries_complete_sessions_without_loss_and_with_ten_percent() {
    for seed in seeds(4) {
        carries("unicast", seed, share(seed), unicast(seed));
    }
}

#[test]
fn a_group_carries_complete_sessions_without_loss_and_with_ten_percent() {
    for seed in seeds(4) {
        carries("group", seed, share(seed), group(seed));
    }
}

#[test]
fn several_destinations_carry_complete_sessions_without_loss_and_with_ten_percent() {
    for seed in seeds(4) {
        carries("mdc", seed, share(seed), destinations(seed, 2));
    }
}

#[test]
fn receivers_join_at_a_hundred_moments_of_a_lossy_link() {
    let moments = touchline_lab::random::amount("MOMENTS", 100);
    let network = unicast(100);
    let mut session = begin("joins", 100, &network);
    let here = client("joins-b");
    session.receive(0, receiver(&network, 0, &here));
    disturb(&network, 0.02);
    let part = session.packets() / moments as usize;
    let mut joined = 0;
    while session.packets_pass(part) {
        session.receive(0, receiver(&network, 0, &here));
        session.settle();
        joined += 1;
    }
    session.ends();
    assert!(joined >= moments, "{joined} joins");
    assert!(
        network.forwarders[0].forwarded().lost > 0,
        "nothing was lost"
    );
}

/// Longest time in which books become stale, of the time in which this test runs: the timeout is 350 ms. A busy host stops
/// the test, and each of its rounds counts for [`ROUND_MAX`] at most.
const STALE_MAX: Duration = Duration::from_secs(2);
const ROUND_MAX: Duration = Duration::from_millis(50);

/// Five seconds without the network: stale in between, live and equal afterwards.
#[test]
fn a_link_recovers_after_five_seconds_down() {
    let network = unicast(200);
    let mut session = begin("down", 200, &network);
    let here = client("down-b");
    session.receive(0, receiver(&network, 0, &here));
    let part = session.packets() / 3;
    session.packets_pass(part);
    session.settle();
    network.forwarders[0].set_down(true);
    let start = Instant::now();
    let is_live = |session: &Session| {
        let books = session.state_of(0).books;
        books.iter().any(|book| book.2 == Validity::Live)
    };
    let (mut ran, mut round) = (Duration::ZERO, Instant::now());
    while is_live(&session) {
        assert!(ran < STALE_MAX, "not stale");
        session.step();
        ran += round.elapsed().min(ROUND_MAX);
        round = Instant::now();
    }
    session.packets_pass(part);
    while start.elapsed() < Duration::from_secs(5) {
        session.step();
        std::thread::sleep(Duration::from_micros(200));
    }
    assert!(!is_live(&session), "live without a network");
    network.forwarders[0].set_down(false);
    session.settle();
    assert!(is_live(&session), "not live again");
    while session.packets_pass(part) {}
    session.ends();
    assert!(network.forwarders[0].forwarded().lost > 0);
}

/// A receiver that stands still for two seconds, with its driver: others have everything meanwhile, and it is right again.
#[test]
fn a_stopped_receiver_does_not_affect_others_and_recovers() {
    let network = destinations(300, 2);
    let mut session = begin("still", 300, &network);
    let here = [client("still-b"), client("still-c")];
    for (number, client) in here.iter().enumerate() {
        session.receive(number, receiver(&network, number, client));
    }
    let part = session.packets() / 3;
    session.packets_pass(part);
    session.settle();
    let before = ["relay_gaps", "relay_timeouts"].map(|name| session.counter(0, name));
    session.stopped = Some(1);
    session.packets_pass(part);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        session.step();
        std::thread::sleep(Duration::from_micros(200));
    }
    session.settle();
    let after = ["relay_gaps", "relay_timeouts"].map(|name| session.counter(0, name));
    // A host that stops this process for longer than the timeout of the link interrupts the other receiver as well.
    assert!(
        after[0] == before[0] || after[1] > before[1],
        "gaps of the receiver that went on: {before:?} {after:?}"
    );
    session.stopped = None;
    while session.packets_pass(part) {}
    session.ends();
}

/// Share of datagrams that are lost, by seed: 0, 1, 5 and 10 in a hundred.
fn share(seed: u64) -> f64 {
    [0.0, 0.01, 0.05, 0.10][seed as usize % 4]
}

fn disturb(network: &Network, share: f64) {
    for forwarder in &network.forwarders {
        forwarder.set(&[
            Fault::Drop { share },
            Fault::Duplicate { share },
            Fault::Reorder { share, by_max: 4 },
            Fault::Delay {
                share,
                min_ns: MS / 10,
                max_ns: 3 * MS,
            },
        ]);
    }
}

/// A whole session, with a receiver that joins in its middle again.
fn carries(name: &str, seed: u64, share: f64, network: Network) {
    let mut session = begin(name, seed, &network);
    let receivers = network.receivers.len();
    let here: Vec<_> = (0..receivers)
        .map(|number| client(&format!("{name}-{seed}-b{number}")))
        .collect();
    for (number, client) in here.iter().enumerate() {
        session.receive(number, receiver(&network, number, client));
    }
    disturb(&network, share);
    let part = session.packets() / 4;
    let mut parts = 0;
    while session.packets_pass(part) {
        parts += 1;
        if parts == 2 {
            session.receive(0, receiver(&network, 0, &here[0]));
        }
    }
    session.ends();
    let mut total = Forwarded::default();
    for forwarder in &network.forwarders {
        let forwarded = forwarder.forwarded();
        assert!(
            forwarded.data + forwarded.answers > 50,
            "{name}: {forwarded:?}: nothing passed"
        );
        total.lost += forwarded.lost;
        total.disturbed += forwarded.disturbed;
    }
    let is_disturbed = total.lost > 0 && total.disturbed > 0;
    assert_eq!(is_disturbed, share > 0.0, "{name}: {total:?}");
}

/// A session with its sender. Clients are made when the session has been generated, which takes a busy host longer than the ten
/// seconds after which the driver closes a client that is not stepped.
fn begin(name: &str, seed: u64, network: &Network) -> Session {
    Session::new(name, seed, |mut settings| {
        let requests = Some((network.control.as_str(), STREAM + 1));
        let client = client(&format!("{name}-{seed}-a"));
        let link = AeronSend::open(client, &network.sender, STREAM, requests);
        let link = link.expect("a channel");
        settings.batch_bytes_max = link.batch_bytes_max();
        settings.cyclic = Some(CYCLIC);
        Box::new(Sending::new(settings, link).expect("the name is free"))
    })
}

fn receiver(network: &Network, number: usize, client: &Rc<Client>) -> AeronReceive {
    let requests = Some((network.control.as_str(), STREAM + 1));
    let channel = &network.receivers[number];
    let client = Rc::clone(client);
    AeronReceive::open(client, channel, STREAM, requests, 350 * MS, Vec::new()).expect("a channel")
}

fn client(name: &str) -> Rc<Client> {
    let name = format!("test-{name}-{}", std::process::id());
    let settings = DriverSettings {
        streams: 4,
        term_bytes: 1024 * 1024,
        ..DriverSettings::named(&name)
    };
    let driver = Driver::start(&settings).expect("a folder of our own");
    Rc::new(Client::embedded(driver).expect("its driver is here"))
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn unicast(seed: u64) -> Network {
    let (port, control) = (free_port(), free_port());
    let forwarder = Forwarder::unicast(at(port), seed).expect("sockets");
    Network {
        sender: format!("aeron:udp?endpoint={}", forwarder.address()),
        receivers: vec![format!("aeron:udp?endpoint={}", at(port))],
        control: format!("aeron:udp?endpoint={}", at(control)),
        forwarders: vec![forwarder],
    }
}

/// Two groups: the sender's and the receivers'.
fn group(seed: u64) -> Network {
    let byte = (std::process::id() % 250) as u8;
    let group = |last| SocketAddrV4::new(Ipv4Addr::new(239, 255, byte, last), free_port());
    let (near, far, control) = (group(41), group(51), free_port());
    let forwarder = Forwarder::multicast(near, far, seed).expect("sockets");
    let channel = |group| format!("aeron:udp?endpoint={group}|interface=127.0.0.1");
    Network {
        sender: channel(near),
        receivers: vec![channel(far)],
        control: format!("aeron:udp?endpoint={}", at(control)),
        forwarders: vec![forwarder],
    }
}

/// Receivers report to the sender's port, each through a forwarder, and are sent data by the same way.
fn destinations(seed: u64, receivers: u64) -> Network {
    let (port, control) = (free_port(), free_port());
    let forwarders = (0..receivers).map(|number| Forwarder::unicast(at(port), seed * 8 + number));
    let forwarders: Vec<_> = forwarders.map(|new| new.expect("sockets")).collect();
    let channel = |forwarder: &Forwarder| {
        let (endpoint, control) = (at(free_port()), forwarder.address());
        format!("aeron:udp?endpoint={endpoint}|control={control}|control-mode=dynamic")
    };
    Network {
        sender: format!("aeron:udp?control={}|control-mode=dynamic", at(port)),
        receivers: forwarders.iter().map(channel).collect(),
        control: format!("aeron:udp?endpoint={}", at(control)),
        forwarders,
    }
}
