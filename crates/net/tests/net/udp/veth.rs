//! A pair of virtual network cards in two network namespaces: packets cross a driver, so that joins, timestamps and
//! sources behave as on a network. Namespaces need root; otherwise the test prints that it is skipped.

use crate::udp::{PATIENCE, QUIET, addresses, await_timestamps, endpoint, take, take_rest};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Instant;
use touchline_net::udp::{Endpoint, Error, Sender, SenderSettings, Settings, Totals};
use touchline_net::{PacketSource, TimestampSource, UdpSource};
use touchline_testing::until;

/// Two namespaces and the connected cards; removed when dropped.
pub(super) struct Network {
    pub(super) names: [String; 2],
}

pub(super) const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 79, 1), 14_310);

/// The sending side has two addresses: the venue's and another one.
pub(super) const VENUE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const OTHER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 9);
pub(super) const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

pub(super) fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

impl Network {
    /// Creates the network; `None` with a printed reason if this user may not.
    pub(super) fn new(test: &str) -> Option<Network> {
        let name = |side| format!("touchline-{}-{test}-{side}", std::process::id());
        let names = [name("a"), name("b")];
        if let Err(why) = ip(&format!("netns add {}", names[0])) {
            touchline_testing::skip(&format!("this user makes no network namespaces ({why})"));
            return None;
        }
        // From here on `drop` removes it.
        let network = Network { names };
        network.connect().expect("who makes namespaces makes cards");
        Some(network)
    }

    fn connect(&self) -> Result<(), String> {
        ip(&format!("netns add {}", self.names[1]))?;
        self.plug()
    }

    /// Creates the two cards.
    pub(super) fn plug(&self) -> Result<(), String> {
        let [a, b] = &self.names;
        ip(&format!(
            "-n {a} link add side-a type veth peer name side-b netns {b}"
        ))?;
        ip(&format!("-n {a} addr add {VENUE}/24 dev side-a"))?;
        ip(&format!("-n {a} addr add {OTHER}/24 dev side-a"))?;
        ip(&format!("-n {b} addr add {OURS}/24 dev side-b"))?;
        for (namespace, card) in [(a, "side-a"), (b, "side-b"), (b, "lo")] {
            ip(&format!("-n {namespace} link set {card} up"))?;
        }
        Ok(())
    }

    /// Creates two more cards: of another network, for a second line.
    pub(super) fn plug_second(&self) {
        let [a, b] = &self.names;
        for line in [
            format!("-n {a} link add other-a type veth peer name other-b netns {b}"),
            format!("-n {a} addr add 10.78.0.1/24 dev other-a"),
            format!("-n {b} addr add 10.78.0.2/24 dev other-b"),
            format!("-n {a} link set other-a up"),
            format!("-n {b} link set other-b up"),
        ] {
            ip(&line).expect("who makes namespaces makes cards");
        }
    }

    /// Runs a closure in one of the namespaces, on its own thread; opened sockets stay there.
    pub(super) fn within<T: Send>(&self, side: usize, work: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.names[side]);
        let namespace = File::open(&path).expect("it was made");
        let run = move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("who makes a namespace may enter it");
            work()
        };
        std::thread::scope(|scope| scope.spawn(run).join()).expect("it does not panic")
    }

    /// Lets the source check its groups until its totals match.
    fn look_after(&self, source: &mut UdpSource, is_so: fn(&Totals) -> bool) {
        self.within(1, || {
            until("other totals", PATIENCE, || {
                source.look_after();
                let totals = source.totals();
                is_so(&totals).then_some(()).ok_or(totals)
            });
        });
    }

    pub(super) fn sender(&self, source: Ipv4Addr) -> Sender {
        let settings = SenderSettings {
            interface: Some("side-a".to_owned()),
            source: Some(source),
            ..SenderSettings::default()
        };
        self.within(0, || Sender::open(&settings).expect("the card sends"))
    }

    fn receiver(&self, endpoint: &Endpoint, settings: &Settings) -> UdpSource {
        let open = || UdpSource::open(std::slice::from_ref(endpoint), settings);
        self.within(1, open).expect("the card takes groups")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            // The second one may not exist; the cards are removed with their namespace.
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

pub(super) fn settings(batch: usize, interface: &str) -> Settings {
    Settings {
        interface: Some(interface.to_owned()),
        ..crate::udp::settings(batch)
    }
}

pub(super) fn of_the_venue() -> Endpoint {
    Endpoint {
        sources: vec![VENUE],
        ..endpoint(GROUP)
    }
}

#[test]
fn a_group_joined_for_one_source_brings_its_packets_alone_with_kernel_stamps() {
    let Some(network) = Network::new("ssm") else {
        return;
    };
    let (venue, other) = (network.sender(VENUE), network.sender(OTHER));
    for (batch, interface) in [(1, "side-b"), (8, "10.77.0.2")] {
        let settings = settings(batch, interface);
        let mut source = network.receiver(&of_the_venue(), &settings);
        assert_eq!(addresses(&source), [GROUP]);
        let missing = await_timestamps(&mut source, &venue, GROUP);
        let before = source.totals().packets;
        for number in 0..50_u8 {
            other.send(GROUP, &[number, 1]).expect("it is sent");
            venue.send(GROUP, &[number, 0]).expect("it is sent");
        }
        let taken = take(&mut source, 50);
        assert_eq!(taken.len(), 50);
        assert!(
            taken
                .iter()
                .all(|packet| packet.source == VENUE && packet.payload[1] == 0)
        );
        assert!(
            taken
                .iter()
                .all(|packet| packet.timestamp == TimestampSource::Kernel)
        );
        assert!(taken.is_sorted_by_key(|packet| packet.receive_ns));
        let totals = source.totals();
        assert_eq!(totals.packets - before, 50);
        assert_eq!(
            (totals.foreign_source, totals.timestamps_missing),
            (0, missing)
        );
    }
}

#[test]
fn a_group_joined_for_all_is_filtered_here() {
    let Some(network) = Network::new("asm") else {
        return;
    };
    let (venue, other) = (network.sender(VENUE), network.sender(OTHER));
    let settings = Settings {
        any_source_joins: true,
        ..settings(8, "side-b")
    };
    let mut source = network.receiver(&of_the_venue(), &settings);
    for number in 0..20 {
        other.send(GROUP, &[number]).expect("it is sent");
        venue.send(GROUP, &[number]).expect("it is sent");
    }
    assert_eq!(take(&mut source, 20).len(), 20);
    assert_eq!(source.totals().foreign_source, 20);
}

#[test]
fn unicast_crosses_the_cards_and_a_closed_source_receives_no_more() {
    let Some(network) = Network::new("uni") else {
        return;
    };
    let venue = network.sender(VENUE);
    let ours = endpoint(SocketAddrV4::new(OURS, 0));
    let mut source = network.receiver(&ours, &settings(1, "side-b"));
    let to = addresses(&source)[0];
    venue.send(to, b"one").expect("it is sent");
    assert_eq!(take(&mut source, 1)[0].destination, to);
    // A removed card is not an error of the source: it delivers no packets, and the feed times out.
    ip(&format!("-n {} link del side-a", network.names[0])).expect("it is there");
    std::thread::sleep(QUIET);
    assert_eq!(take_rest(&mut source), []);
}

/// The kernel ends a membership with its card. A card of the same name that appears later is joined automatically, by
/// name and by address, for all sources and for some, repeatedly.
#[test]
fn a_group_is_joined_again_when_its_card_comes_back() {
    let Some(network) = Network::new("back") else {
        return;
    };
    let everybody = endpoint(GROUP);
    // One time more than a socket may hold memberships (igmp_max_memberships), which needs the old ones to be left.
    for (of_whom, interface, rounds) in
        [(of_the_venue(), "side-b", 2), (everybody, "10.77.0.2", 22)]
    {
        let mut source = network.receiver(&of_whom, &settings(1, interface));
        let say = |text: &[u8]| {
            let venue = network.sender(VENUE);
            venue.send(GROUP, text).expect("it is sent");
        };
        say(b"before");
        assert_eq!(take(&mut source, 1)[0].payload, b"before");
        for round in 1..=rounds {
            ip(&format!("-n {} link del side-a", network.names[0])).expect("it is there");
            network.look_after(&mut source, |totals| totals.groups_lost == 1);
            network.plug().expect("it is made again");
            network.look_after(&mut source, |totals| totals.groups_lost == 0);
            assert_eq!(source.totals().groups_rejoined, round);
            say(b"after");
            assert_eq!(take(&mut source, 1)[0].payload, b"after");
        }
    }
}

/// A card that is replaced between two checks is also detected.
#[test]
fn a_card_that_was_replaced_between_two_checks_is_joined() {
    let Some(network) = Network::new("fast") else {
        return;
    };
    let mut source = network.receiver(&of_the_venue(), &settings(1, "side-b"));
    ip(&format!("-n {} link del side-a", network.names[0])).expect("it is there");
    network.plug().expect("it is made again");
    network.look_after(&mut source, |totals| totals.groups_rejoined == 1);
    let venue = network.sender(VENUE);
    venue.send(GROUP, b"after").expect("it is sent");
    assert_eq!(take(&mut source, 1)[0].payload, b"after");
}

/// A link that goes down and up, and a card that gets another address, keep their memberships: packets
/// arrive without another join.
#[test]
fn a_link_that_goes_down_and_up_again_keeps_its_groups() {
    let Some(network) = Network::new("flap") else {
        return;
    };
    let mut source = network.receiver(&of_the_venue(), &settings(1, "side-b"));
    let b = &network.names[1];
    for change in [
        "link set side-b down",
        "link set side-b up",
        "addr add 10.77.0.3/24 dev side-b",
        "addr del 10.77.0.2/24 dev side-b",
    ] {
        ip(&format!("-n {b} {change}")).expect("it is ours");
    }
    let start = Instant::now();
    while start.elapsed() < 10 * QUIET {
        network.within(1, || source.look_after());
    }
    let venue = network.sender(VENUE);
    venue.send(GROUP, b"after").expect("it is sent");
    assert_eq!(take(&mut source, 1)[0].payload, b"after");
    let totals = source.totals();
    assert_eq!((totals.groups_lost, totals.groups_rejoined), (0, 0));
}

#[test]
fn a_card_that_is_down_and_a_group_without_a_route_are_refused() {
    let Some(network) = Network::new("down") else {
        return;
    };
    let open = |settings: &Settings| {
        let opened = network.within(1, || UdpSource::open(&[of_the_venue()], settings));
        match opened {
            Err(touchline_net::Error::Udp(error)) => error,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it should be refused"),
        }
    };
    let no_interface = Settings {
        interface: None,
        ..settings(1, "")
    };
    // The namespace has one network and no route to others.
    let error = open(&no_interface);
    assert!(matches!(error, Error::NoRoute { .. }), "{error}");
    let b = &network.names[1];
    ip(&format!("-n {b} link set side-b multicast off")).expect("it is ours");
    let error = open(&settings(1, "side-b"));
    assert!(matches!(error, Error::NoMulticast { .. }), "{error}");
    ip(&format!("-n {b} link set side-b multicast on")).expect("it is ours");
    ip(&format!("-n {b} link set side-b down")).expect("it is ours");
    let error = open(&settings(1, "side-b"));
    assert!(matches!(error, Error::InterfaceDown { .. }), "{error}");
    assert!(
        error.to_string().contains("'ip link set side-b up'"),
        "{error}"
    );
}
