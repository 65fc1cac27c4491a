//! Received packets in both receive modes.

use crate::udp::{
    QUIET, addresses, await_timestamps, endpoint, group, sender, settings, take, take_rest,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_net::udp::{Endpoint, Sender, Sent, Settings};
use touchline_net::{PacketSource, Received, TimestampSource, UdpSource};

/// Both receive modes, with two batch sizes.
const BATCHES: [usize; 3] = [1, 8, 32];

const A: Ipv4Addr = Ipv4Addr::LOCALHOST;
const B: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn open(endpoints: &[Endpoint], settings: &Settings) -> UdpSource {
    UdpSource::open(endpoints, settings).expect("the loopback interface takes groups")
}

/// A group that is joined for all sources, and of which A is accepted.
fn joined_for_all(number: u8, batch: usize) -> UdpSource {
    let only_a = Endpoint {
        sources: vec![A],
        ..group(number)
    };
    let settings = Settings {
        any_source_joins: true,
        ..settings(batch)
    };
    open(&[only_a], &settings)
}

fn send(sender: &Sender, to: SocketAddrV4, payload: &[u8]) {
    let sent = sender.send(to, payload).expect("the group is reachable");
    assert_eq!(sent, Sent::Yes);
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("it is later than 1970").as_nanos() as u64
}

#[test]
fn two_groups_on_one_port_do_not_see_each_other() {
    for batch in BATCHES {
        let mut first = open(&[group(1)], &settings(batch));
        let to_first = addresses(&first)[0];
        let to_second = SocketAddrV4::new(*group(2).address.ip(), to_first.port());
        // Another process on this host has joined the other group on the same port.
        let mut second = open(&[endpoint(to_second)], &settings(batch));
        let sender = sender(A);
        send(&sender, to_second, b"second");
        send(&sender, to_first, b"first");
        for (source, address, text) in [
            (&mut first, to_first, b"first".as_slice()),
            (&mut second, to_second, b"second"),
        ] {
            let taken = take(source, 1);
            assert_eq!(taken.len(), 1, "{taken:?}");
            assert_eq!((taken[0].destination, &*taken[0].payload), (address, text));
            assert_eq!(source.totals().packets, 1);
        }
    }
}

#[test]
fn another_source_is_counted_and_not_seen_where_the_group_is_joined_for_all() {
    for batch in BATCHES {
        let mut source = joined_for_all(3, batch);
        let to = addresses(&source)[0];
        let (a, b) = (sender(A), sender(B));
        for number in 0..10 {
            send(&b, to, &[number, b'b']);
            send(&a, to, &[number, b'a']);
        }
        let taken = take(&mut source, 10);
        assert!(taken.iter().all(|packet| packet.source == A), "{taken:?}");
        let totals = source.totals();
        assert_eq!((totals.packets, totals.foreign_source), (10, 10));
    }
}

/// A call that received only refused packets is not idle: packets may wait behind them.
#[test]
fn a_call_that_only_refused_packets_says_so() {
    for batch in BATCHES {
        let mut source = joined_for_all(5, batch);
        let to = addresses(&source)[0];
        (0..100).for_each(|number| send(&sender(B), to, &[number]));
        send(&sender(A), to, b"a");
        std::thread::sleep(QUIET);
        assert_eq!(source.receive().expect("a socket"), Received::Refused);
        let packet = source.receive().expect("a socket").packet();
        assert_eq!(packet.map(|packet| packet.payload), Some(&b"a"[..]));
        assert_eq!(source.receive().expect("a socket"), Received::Nothing);
    }
}

#[test]
fn another_source_does_not_even_reach_a_socket_that_joined_for_one() {
    let only_a = Endpoint {
        sources: vec![A],
        ..group(4)
    };
    let mut source = open(&[only_a], &settings(1));
    let to = addresses(&source)[0];
    send(&sender(B), to, b"b");
    send(&sender(A), to, b"a");
    let taken = take(&mut source, 1);
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].source, &*taken[0].payload), (A, b"a".as_slice()));
    assert_eq!(source.totals().foreign_source, 0);
}

#[test]
fn unicast_is_received_and_its_sources_are_told_apart() {
    for batch in BATCHES {
        let only_a = Endpoint {
            sources: vec![A],
            ..endpoint(SocketAddrV4::new(A, 0))
        };
        let mut source = open(&[only_a], &settings(batch));
        let to = addresses(&source)[0];
        assert_ne!(to.port(), 0);
        let (a, b) = (sender(A), sender(B));
        send(&b, to, b"b");
        send(&a, to, b"a");
        let taken = take(&mut source, 1);
        assert_eq!((taken.len(), taken[0].destination), (1, to));
        assert_eq!(taken[0].source, A);
        assert_eq!(source.totals().foreign_source, 1);
    }
}

#[test]
fn a_packet_too_long_is_counted_and_never_seen_cut() {
    for batch in BATCHES {
        let settings = Settings {
            packet_bytes_max: 100,
            ..settings(batch)
        };
        let mut source = open(&[group(5)], &settings);
        let (to, sender) = (addresses(&source)[0], sender(A));
        send(&sender, to, &[1; 101]);
        send(&sender, to, &[2; 100]);
        send(&sender, to, &[]);
        let taken = take(&mut source, 2);
        let payloads: Vec<_> = taken.iter().map(|packet| &*packet.payload).collect();
        assert_eq!(payloads, [&[2; 100], &[] as &[u8]]);
        let totals = source.totals();
        assert_eq!(
            (totals.truncated, totals.packets, totals.bytes),
            (1, 2, 100)
        );
    }
}

#[test]
fn stamps_are_the_kernels_and_never_step_back() {
    for batch in BATCHES {
        let mut source = open(&[group(6), group(7)], &settings(batch));
        let (to, sender) = (addresses(&source), sender(A));
        let missing = await_timestamps(&mut source, &sender, to[0]);
        let before_ns = now_ns();
        for number in 0..100_u8 {
            // Regardless of the polling order: every other time the first socket has the later
            // packet.
            let first = usize::from(number % 2);
            send(&sender, to[first], &[number]);
            send(&sender, to[1 - first], &[number]);
        }
        let taken = take(&mut source, 200);
        let after_ns = now_ns();
        assert_eq!(taken.len(), 200);
        assert!(
            taken
                .iter()
                .all(|packet| packet.timestamp == TimestampSource::Kernel)
        );
        assert!(taken.is_sorted_by_key(|packet| packet.receive_ns));
        let (first, last) = (taken[0].receive_ns, taken[199].receive_ns);
        assert!(before_ns <= first && first < last && last <= after_ns);
        let totals = source.totals();
        assert_eq!(totals.timestamps_missing, missing);
        assert!(
            totals.timestamps_raised > 0,
            "the order of polling was that of sending"
        );
    }
}

#[test]
fn without_stamps_the_poll_is_the_time() {
    for batch in BATCHES {
        let settings = Settings {
            timestamps: false,
            ..settings(batch)
        };
        let mut source = open(&[group(8)], &settings);
        let to = addresses(&source)[0];
        send(&sender(A), to, b"early");
        let polled_ns = now_ns();
        let taken = take(&mut source, 1);
        assert_eq!(taken[0].timestamp, TimestampSource::Poll);
        assert!(taken[0].receive_ns >= polled_ns);
        assert_eq!(source.totals().timestamps_missing, 0);
    }
}

#[test]
fn every_mode_hands_over_the_same_packets() {
    const COUNT: usize = 700;
    let endpoints = [group(9), group(10), group(11)];
    let mut modes = BATCHES.map(|batch| open(&endpoints, &settings(batch)));
    let sender = sender(A);
    let payload = |number: usize| vec![number as u8; number % 1_400];
    let mut all = Vec::new();
    for source in &mut modes {
        let to = addresses(source);
        for number in 0..COUNT {
            send(&sender, to[number % 3], &payload(number));
        }
        let mut taken = take(source, COUNT);
        taken.sort_by_key(|packet| packet.destination.ip().to_bits());
        let what = |packet: crate::udp::Taken| (*packet.destination.ip(), packet.payload);
        all.push(taken.into_iter().map(what).collect::<Vec<_>>());
        assert_eq!(source.totals().dropped_kernel, 0);
    }
    assert_eq!(all[0].len(), COUNT);
    assert!(all[0] == all[1] && all[0] == all[2]);
}

#[test]
fn endpoints_that_are_not_urgent_take_turns_and_do_not_starve() {
    let calm = |last| Endpoint {
        urgent: false,
        ..group(last)
    };
    let mut source = open(&[calm(12), group(13), calm(14)], &settings(1));
    let to = addresses(&source);
    let name = |address: SocketAddrV4| address.ip().octets()[3];
    assert_eq!(
        to.iter().copied().map(name).collect::<Vec<_>>(),
        [13, 12, 14]
    );
    let sender = sender(A);
    for number in 0..200 {
        send(&sender, to[0], &[number]);
    }
    for number in 0..3 {
        send(&sender, to[1], &[number]);
        send(&sender, to[2], &[number]);
    }
    std::thread::sleep(QUIET);
    let order: Vec<u8> = take_rest(&mut source)
        .into_iter()
        .map(|packet| name(packet.destination))
        .collect();
    assert_eq!(order.len(), 206);
    assert!(order[..32].iter().all(|group| *group == 13));
    assert_eq!(
        (order[32], order[65]),
        (12, 14),
        "each has a turn while the urgent one is busy"
    );
}

#[test]
fn two_processes_may_follow_one_group() {
    let mut first = open(&[group(15)], &settings(1));
    let to = addresses(&first)[0];
    let mut second = open(&[endpoint(to)], &settings(8));
    send(&sender(A), to, b"both");
    assert_eq!(take(&mut first, 1).len(), 1);
    assert_eq!(take(&mut second, 1).len(), 1);
}
