//! No allocation after both ends of a link have warmed up. A program of its own, because of its allocator.

#[path = "relay/buses.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod buses;

use buses::{Buses, Market};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_lab::frozen::{Count, Frozen};
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::Work;

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;

/// Allows for counters, which are written every 100 ms, several heartbeats, and rounds of cyclic refreshes.
const WARM: Duration = Duration::from_millis(1_500);
const MEASURED: Duration = Duration::from_millis(1_500);

/// Publishes a market on bus `a` while both ends run; allocations of the sending and of the receiving end.
fn run(buses: &Buses, seed: u64, mut ends: [&mut dyn Work; 2]) -> [Count; 2] {
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(seed);
    market.define(&mut publisher);
    let mut counts = [Count::default(); 2];
    let start = Instant::now();
    while start.elapsed() < WARM + MEASURED {
        market.events(20, &mut publisher);
        let is_measured = start.elapsed() > WARM;
        for _ in 0..4 {
            for (end, count) in ends.iter_mut().zip(&mut counts) {
                Frozen::freeze();
                let worked = end.work();
                while end.event().is_some() {}
                let now = Frozen::thaw();
                worked.expect("the link works");
                if is_measured {
                    count.allocations += now.allocations;
                    count.frees += now.frees;
                }
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    counts
}

/// Both ends work, and neither allocated.
fn is_free_of_allocations(buses: &Buses, [send, receive]: [Count; 2]) {
    assert!(buses.counter("b", "relay_messages") > 1_000, "no messages");
    assert_eq!(buses.counter("b", "relay_gaps"), 0);
    assert_eq!((send.allocations, send.frees), (0, 0), "of the sender");
    assert_eq!(
        (receive.allocations, receive.frees),
        (0, 0),
        "of the receiver"
    );
}

#[test]
fn a_link_over_tcp_allocates_nothing_after_its_start() {
    let buses = Buses::new();
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let link = TcpSend::bind(any_port, None, TcpSendSettings::default()).expect("a free port");
    let address = link.address().to_string();
    let mut send = buses.sending("a", "gw1", link);
    let mut receive = buses.receiving("b", TcpReceive::new(&address, None));
    let counts = run(&buses, 41, [&mut send, &mut receive]);
    is_free_of_allocations(&buses, counts);
}

/// Allocations of Aeron's C code are not counted.
#[cfg(feature = "aeron")]
#[test]
fn a_link_over_aeron_allocates_nothing_after_its_start() {
    use std::rc::Rc;
    use touchline_aeron::{Client, Driver, DriverSettings};
    use touchline_relay::Cyclic;
    use touchline_relay::link::aeron::{AeronReceive, AeronSend};
    use touchline_relay::run::{SendSettings, Sending};
    let buses = Buses::new();
    let client = |end: &str| {
        let settings = DriverSettings {
            term_bytes: 1024 * 1024,
            ..DriverSettings::named(&format!("allocations-{end}-{}", std::process::id()))
        };
        let driver = Driver::start(&settings).expect("a folder of our own");
        Rc::new(Client::embedded(driver).expect("its driver is here"))
    };
    let port = touchline_testing::free_port();
    let group = &format!("aeron:udp?endpoint=239.255.91.43:{port}|interface=127.0.0.1");
    let requests = Some((group.as_str(), 341));
    let link = AeronSend::open(client("a"), group, 340, requests).expect("a channel");
    let settings = SendSettings {
        batch_bytes_max: link.batch_bytes_max(),
        cyclic: Some(Cyclic {
            share: 0.05,
            round_ns_max: 500 * buses::MS,
        }),
        ..buses.send_settings("a", "gw1")
    };
    let mut send = Sending::new(settings, link).expect("the name is free");
    let timeout_ns = 350 * buses::MS;
    let link = AeronReceive::open(client("b"), group, 340, requests, timeout_ns, Vec::new());
    let mut receive = buses.receiving("b", link.expect("a channel"));
    let counts = run(&buses, 42, [&mut send, &mut receive]);
    is_free_of_allocations(&buses, counts);
}
