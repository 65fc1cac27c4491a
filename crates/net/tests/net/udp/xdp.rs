//! Frames of virtual cards, taken by a program: the same packets as from sockets, in both modes.

use super::frames::{send_frame, with_tag};
use super::veth::{GROUP, Network, OTHER, OURS, VENUE, ip, of_the_venue, settings};
use crate::udp::{PATIENCE, QUIET, Taken, endpoint, take, take_rest};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, SocketAddrV4};
use std::process::Command;
use std::time::Instant;
use touchline_net::udp::{Endpoint, Sender, SenderSettings, Totals};
use touchline_net::xdp::{Error, Mode};
use touchline_net::{LiveSource, PacketSource, TimestampSource, UdpSource, XdpSource};
use touchline_testing::until;

const MODES: [Mode; 2] = [Mode::Driver, Mode::Generic];

/// Waits until the program of the last source is detached: child processes of other tests hold its files until they `exec`.
fn detached(network: &Network) {
    until("the end of the program", PATIENCE, || {
        programs(network) == 0
    });
}

fn open(network: &Network, endpoints: &[Endpoint], mode: Mode) -> XdpSource {
    detached(network);
    let settings = settings(1, "side-b");
    let open = || XdpSource::open(endpoints, &settings, mode);
    network.within(1, open).expect("the kernel has AF_XDP")
}

/// The programs that `ip` finds on the card.
fn programs(network: &Network) -> usize {
    let mut show = Command::new("ip");
    show.args(["-n", &network.names[1], "link", "show", "side-b"]);
    let text = show.output().expect("ip is there").stdout;
    String::from_utf8_lossy(&text).matches("prog/xdp").count()
}

fn is_of_the_rings(packet: &Taken) -> bool {
    packet.timestamp == TimestampSource::Poll
}

#[test]
fn packets_of_the_rings_are_those_that_were_sent() {
    let Some(network) = Network::new("xdp") else {
        return;
    };
    let venue = network.sender(VENUE);
    let unicast = SocketAddrV4::new(OURS, 14_399);
    for mode in MODES {
        let mut source = open(&network, &[of_the_venue(), endpoint(unicast)], mode);
        assert_eq!((source.mode(), programs(&network)), (Some(mode), 1));
        // A virtual card is asked, and answers that it has no time. Kernels before 6.3 cannot be asked.
        let functions = std::fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
        let name = b"bpf_xdp_metadata_rx_timestamp";
        let can_ask = functions.windows(name.len()).any(|bytes| bytes == name);
        assert_eq!(source.asks_for_stamps(), can_ask && mode == Mode::Driver);
        let sent = |number: usize| vec![number as u8; 1 + number * 13 % 1_470];
        // More than there are frames, so that each is used again.
        for first in (0..6_000).step_by(200) {
            for number in first..first + 200 {
                let to = if number % 7 == 0 { unicast } else { GROUP };
                venue.send(to, &sent(number)).expect("it is sent");
            }
            let taken = take(&mut source, 200);
            assert_eq!(taken.len(), 200);
            for (packet, number) in taken.iter().zip(first..) {
                let to = if number % 7 == 0 { unicast } else { GROUP };
                assert_eq!((packet.source, packet.destination), (VENUE, to));
                assert_eq!(packet.payload, sent(number), "packet {number}");
            }
            assert!(taken.iter().all(is_of_the_rings));
            assert!(taken.is_sorted_by_key(|packet| packet.receive_ns));
        }
        let totals = source.tally();
        assert_eq!(
            (totals.packets, totals.dropped_kernel, totals.damaged),
            (6_000, 0, 0)
        );
        // These packets have the time of the poll, and the missing time is counted.
        assert_eq!(totals.timestamps_missing, 6_000);
        drop(source);
        detached(&network);
    }
}

#[test]
fn other_hosts_are_refused_and_other_ports_are_left_to_the_kernel() {
    let Some(network) = Network::new("xdp-other") else {
        return;
    };
    let (venue, other) = (network.sender(VENUE), network.sender(OTHER));
    let elsewhere = SocketAddrV4::new(OURS, 14_398);
    let socket = network.within(1, || {
        std::net::UdpSocket::bind(elsewhere).expect("a free port")
    });
    for mode in MODES {
        let mut source = open(&network, &[of_the_venue()], mode);
        for number in 0..20 {
            other.send(GROUP, &[number]).expect("it is sent");
            venue.send(elsewhere, &[number]).expect("it is sent");
            venue.send(GROUP, &[number]).expect("it is sent");
        }
        let taken = take(&mut source, 20);
        assert!(taken.len() == 20 && taken.iter().all(|packet| packet.source == VENUE));
        // The sockets did not join for that source, and the program takes no packet of it.
        let totals = source.tally();
        assert_eq!((totals.foreign_source, totals.packets), (0, 20));
        // A flood of it costs the venue no frame.
        for number in 0..9_000_u32 {
            let flood = number.to_be_bytes();
            other.send(GROUP, &flood).expect("it is sent");
        }
        venue.send(GROUP, b"after").expect("it is sent");
        assert_eq!(take(&mut source, 1)[0].payload, b"after");
        let totals = source.tally();
        assert_eq!((totals.dropped_kernel, totals.ring_empty), (0, 0));
        for number in 0..20 {
            let mut bytes = [0; 8];
            let (len, _) = socket.recv_from(&mut bytes).expect("it was passed on");
            assert_eq!(&bytes[..len], [number]);
        }
    }
}

/// A packet with an IP option ("no operation"), as a router may add one.
fn with_option(payload: &[u8]) -> Vec<u8> {
    let udp = 8 + payload.len() as u16;
    let mut packet = vec![0x46, 0];
    packet.extend((24 + udp).to_be_bytes());
    packet.extend([0, 0, 0, 0, 16, 17, 0, 0]);
    packet.extend(VENUE.octets());
    packet.extend(GROUP.ip().octets());
    packet.extend([1, 1, 1, 0]);
    for number in [9, GROUP.port(), udp, 0] {
        packet.extend(number.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

#[test]
fn fragments_tags_and_options_come_by_the_sockets() {
    let Some(network) = Network::new("xdp-plain") else {
        return;
    };
    let venue = network.sender(VENUE);
    let raw = network.within(0, || {
        let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255)));
        let raw = raw.expect("as root");
        raw.set_multicast_if_v4(&VENUE).expect("its card");
        raw
    });
    for mode in MODES {
        let mut source = open(&network, &[of_the_venue()], mode);
        venue.send(GROUP, b"plain").expect("it is sent");
        assert!(is_of_the_rings(&take(&mut source, 1)[0]));

        let long = vec![7; 4_000];
        venue.send(GROUP, &long).expect("it is sent in fragments");
        raw.send_to(&with_option(b"option"), &SocketAddr::V4(GROUP).into())
            .expect("it is sent");
        let mut taken = take(&mut source, 2);
        assert_eq!(
            taken
                .iter()
                .map(|packet| &packet.payload[..])
                .collect::<Vec<_>>(),
            [&long[..], b"option"]
        );
        send_frame(&network, &with_tag(b"tagged"));
        taken.extend(take(&mut source, 1));
        assert_eq!(taken[2].payload, b"tagged");
        assert!(taken.iter().all(|packet| !is_of_the_rings(packet)));
        venue.send(GROUP, b"plain again").expect("it is sent");
        assert!(is_of_the_rings(&take(&mut source, 1)[0]));

        // A loop that sleeps when a call finds no packet: one call finds a packet that waits in the sockets or in the rings.
        let each = [&b"plain"[..], &long].repeat(5);
        for payload in &each {
            venue.send(GROUP, payload).expect("it is sent");
        }
        std::thread::sleep(QUIET);
        for left in (0..each.len()).rev() {
            let received = source.receive().expect("the card is there");
            assert!(received.packet().is_some(), "{left} more wait");
        }
        assert_eq!(source.tally().by_sockets, 8, "the others were not plain");
    }
}

#[test]
fn a_reader_that_stands_still_loses_packets_and_counts_them() {
    let Some(network) = Network::new("xdp-slow") else {
        return;
    };
    let venue = network.sender(VENUE);
    for mode in MODES {
        let mut source = open(&network, &[of_the_venue()], mode);
        for number in 0..9_000_u32 {
            venue
                .send(GROUP, &number.to_be_bytes())
                .expect("it is sent");
        }
        let mut all = take(&mut source, 1);
        let lost = until("each packet received or lost", PATIENCE, || {
            all.extend(take_rest(&mut source));
            let lost = source.tally().dropped_kernel;
            match all.len() as u64 + lost {
                9_000 => Ok(lost),
                _ => Err((all.len(), lost)),
            }
        });
        assert!(lost > 1_000, "there are 4,096 frames, and {lost} were lost");
        // The received packets are in order, and the ring works as before.
        assert!(all.is_sorted_by_key(|packet| packet.payload.clone()));
        venue.send(GROUP, b"after").expect("it is sent");
        assert_eq!(take(&mut source, 1)[0].payload, b"after");
    }
}

#[test]
fn a_card_with_another_program_is_refused_with_the_fix() {
    let Some(network) = Network::new("xdp-busy") else {
        return;
    };
    let _first = open(&network, &[of_the_venue()], Mode::Driver);
    let settings = settings(1, "side-b");
    let second = network.within(1, || {
        XdpSource::open(&[of_the_venue()], &settings, Mode::Driver).map(drop)
    });
    let error = second.expect_err("the queue has a socket").to_string();
    assert!(
        error.contains("side-b") && error.contains("'ip link show side-b'"),
        "{error}"
    );

    let nowhere = network.within(1, || {
        let settings = touchline_net::udp::Settings {
            interface: None,
            ..settings.clone()
        };
        ip(&format!(
            "-n {} route add 239.0.0.0/8 dev side-b",
            network.names[1]
        ))
        .expect("a route");
        XdpSource::open(&[of_the_venue()], &settings, Mode::Driver).map(drop)
    });
    let error = nowhere.expect_err("no interface");
    assert!(
        matches!(error, touchline_net::Error::Xdp(Error::NoInterface)),
        "{error}"
    );
}

#[test]
fn a_card_that_comes_back_has_the_program_again() {
    let Some(network) = Network::new("xdp-back") else {
        return;
    };
    let mut source = open(&network, &[of_the_venue()], Mode::Driver);
    let say = |text: &[u8]| network.sender(VENUE).send(GROUP, text).expect("it is sent");
    say(b"before");
    assert!(is_of_the_rings(&take(&mut source, 1)[0]));
    let mut look_after = |is_so: fn(&XdpSource, Totals) -> bool| {
        network.within(1, || {
            until("other totals", PATIENCE, || {
                source.look_after();
                let totals = source.tally();
                is_so(&source, totals).then_some(()).ok_or(totals)
            });
        });
    };
    ip(&format!("-n {} link del side-a", network.names[0])).expect("it is there");
    look_after(|source, totals| source.mode().is_none() && totals.groups_lost == 1);
    network.plug().expect("it is made again");
    look_after(|source, totals| source.mode().is_some() && totals.groups_lost == 0);
    say(b"after");
    let after = take(&mut source, 1);
    assert!(is_of_the_rings(&after[0]) && after[0].payload == b"after");
    assert_eq!(source.tally().packets, 2);
}

/// Each line has its card: by sockets and by rings, a packet on the wrong card is not received, and when one card goes, the
/// other line stays.
#[test]
fn two_lines_have_a_card_each() {
    let Some(network) = Network::new("xdp-lines") else {
        return;
    };
    network.plug_second();
    let lines = [
        of_the_venue(),
        Endpoint {
            address: SocketAddrV4::new(*GROUP.ip(), 14_311),
            interface: Some("other-b".to_owned()),
            ..endpoint(GROUP)
        },
    ];
    let of_card = |card: &str| {
        let settings = SenderSettings {
            interface: Some(card.to_owned()),
            ..SenderSettings::default()
        };
        network.within(0, || Sender::open(&settings).expect("the card sends"))
    };
    let senders = ["side-a", "other-a"].map(of_card);
    let settings = settings(1, "side-b");
    let by_sockets = || UdpSource::open(&lines, &settings).map(LiveSource::Sockets);
    let by_rings = || XdpSource::open(&lines, &settings, Mode::Driver).map(LiveSource::Frames);
    for is_of_rings in [false, true] {
        let mut source = match is_of_rings {
            false => network.within(1, by_sockets),
            true => network.within(1, by_rings),
        }
        .expect("both cards are there");
        for number in 0..20_u8 {
            for (sender, line) in senders.iter().zip(&lines) {
                sender.send(line.address, &[number]).expect("it is sent");
            }
            let wrong = [(&senders[0], &lines[1]), (&senders[1], &lines[0])];
            for (sender, line) in wrong {
                sender.send(line.address, b"wrong").expect("it is sent");
            }
        }
        let taken = take(&mut source, 40);
        assert_eq!(taken.len(), 40, "rings: {is_of_rings}");
        for line in &lines {
            let of_line = taken
                .iter()
                .filter(|packet| packet.destination == line.address);
            let numbers: Vec<u8> = of_line.map(|packet| packet.payload[0]).collect();
            assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        }
        assert!(
            taken
                .iter()
                .all(|packet| is_of_the_rings(packet) == is_of_rings)
        );
    }
    let mut source = network.within(1, by_rings).expect("both cards are there");
    ip(&format!("-n {} link del other-a", network.names[0])).expect("it is there");
    let start = Instant::now();
    while !network.within(1, || {
        source.look_after();
        source.tally().is_detached
    }) {
        assert!(start.elapsed() < PATIENCE, "the card is gone");
        std::thread::sleep(QUIET);
    }
    senders[0].send(GROUP, b"still").expect("it is sent");
    let still = take(&mut source, 1);
    assert!(is_of_the_rings(&still[0]) && still[0].payload == b"still");
}

#[test]
fn a_card_that_is_named_twice_has_one_program() {
    let Some(network) = Network::new("xdp-twice") else {
        return;
    };
    let by_address = Endpoint {
        address: SocketAddrV4::new(*GROUP.ip(), 14_311),
        interface: Some(OURS.to_string()),
        ..endpoint(GROUP)
    };
    let mut source = open(
        &network,
        &[of_the_venue(), by_address.clone()],
        Mode::Driver,
    );
    let venue = network.sender(VENUE);
    for to in [GROUP, by_address.address] {
        venue.send(to, b"both").expect("it is sent");
        let taken = take(&mut source, 1);
        assert!(is_of_the_rings(&taken[0]) && taken[0].destination == to);
    }
}
