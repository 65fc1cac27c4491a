//! Packets beyond the receive buffer are dropped by the kernel and counted.

use crate::udp::{QUIET, addresses, group, sender, settings, take_rest};
use std::net::Ipv4Addr;
use touchline_net::UdpSource;
use touchline_net::udp::{Sent, Settings, Warning};

const COUNT: u64 = 2_000;

/// A source whose small buffer has overflowed, the number of packets that fitted, and a function
/// that sends more.
fn overflowed(batch: usize) -> (UdpSource, u64, impl Fn(u64)) {
    let small = Settings {
        receive_buffer_bytes: 16 * 1024,
        ..settings(batch)
    };
    let mut source = UdpSource::open(&[group(20)], &small).expect("it opens");
    let (to, sender) = (addresses(&source)[0], sender(Ipv4Addr::LOCALHOST));
    let send = move |number: u64| {
        let sent = sender.send(to, &number.to_le_bytes());
        assert_eq!(sent.expect("the group is reachable"), Sent::Yes);
    };
    (0..COUNT).for_each(&send);
    std::thread::sleep(QUIET);
    let fitted = take_rest(&mut source).len() as u64;
    assert!(0 < fitted && fitted < COUNT, "{fitted} of {COUNT} fitted");
    (source, fitted, send)
}

#[test]
fn the_kernel_reports_drops_on_request() {
    for batch in [1, 32] {
        let (mut source, fitted, _) = overflowed(batch);
        source.ask_for_drops();
        source.ask_for_drops();
        let totals = source.totals();
        assert_eq!(
            (totals.packets, totals.dropped_kernel),
            (fitted, COUNT - fitted)
        );
    }
}

#[test]
fn the_next_packet_carries_the_count_of_drops_before_it() {
    for batch in [1, 32] {
        let (mut source, fitted, send) = overflowed(batch);
        assert_eq!(
            source.totals().dropped_kernel,
            0,
            "they were queued before the first drop"
        );
        send(COUNT);
        assert_eq!(take_rest(&mut source).len(), 1);
        assert_eq!(source.totals().dropped_kernel, COUNT - fitted);
        source.ask_for_drops();
        assert_eq!(source.totals().dropped_kernel, COUNT - fitted, "and once");
        let endpoint = source.endpoints().next().expect("one endpoint");
        assert_eq!(endpoint.1, source.totals());
    }
}

#[test]
fn a_buffer_smaller_than_requested_is_reported_with_the_fix() {
    // More than the kernel grants to any process.
    let greedy = Settings {
        receive_buffer_bytes: 1 << 31,
        ..settings(1)
    };
    let source = UdpSource::open(&[group(21)], &greedy).expect("it opens all the same");
    let [
        note @ Warning::ReceiveBuffer {
            asked_bytes,
            granted_bytes,
            ..
        },
    ] = source.warnings()
    else {
        panic!("{:?}", source.warnings());
    };
    assert!(*asked_bytes == 1 << 31 && *granted_bytes < 1 << 31);
    let text = note.to_string();
    assert!(
        text.contains("sysctl net.core.rmem_max=2147483648"),
        "{text}"
    );
    let modest = UdpSource::open(&[group(21)], &settings(1)).expect("it opens");
    assert_eq!(modest.warnings(), []);
}
