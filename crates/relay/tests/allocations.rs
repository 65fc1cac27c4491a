//! No allocation after both ends of a link have warmed up. A program of its own, because of its allocator.

#[path = "relay/buses.rs"]
#[allow(dead_code, reason = "the other test program uses the rest")]
mod buses;

use buses::{Buses, Market};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_lab::frozen::{Count, Frozen};
use touchline_relay::ReceiverSettings;
use touchline_relay::link::ReceiveLink;
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{ReceiveSettings, Receiving, Work};
use touchline_testing::PATIENCE;

#[global_allocator]
static ALLOCATOR: Frozen = Frozen;

/// Allows for counters, which are written every 100 ms, several heartbeats, and rounds of cyclic refreshes.
const WARM: Duration = Duration::from_millis(1_500);
const MEASURED: Duration = Duration::from_millis(1_500);
/// Rounds of both ends between two events of the market, until neither has work.
const ROUNDS_MAX: usize = 64;
/// The sender stands still until books are older than this.
const LAG_NS_MAX: u64 = 300 * buses::MS;
/// Link timeout that this pause does not reach.
const LINK_TIMEOUT_NS: u64 = 2_000 * buses::MS;

/// Publishes a market on bus `a` while both ends run; allocations of the sending and of the receiving end. The measured time begins with a
/// lag, when the books were fresh, and contains its end.
fn run(buses: &Buses, seed: u64, mut ends: [&mut dyn Work; 2]) -> [Count; 2] {
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(seed);
    market.define(&mut publisher);
    let mut counts = [Count::default(); 2];
    let mut measured = None;
    let start = Instant::now();
    loop {
        let names = ["relay_lags", "relay_up", "relay_messages"];
        let [lags, up, messages] = names.map(|name| buses.counter("b", name));
        let is_warm = start.elapsed() > WARM;
        if is_warm && up == 1 {
            measured.get_or_insert((Instant::now(), lags));
        }
        let is_stopped = measured.is_some_and(|(_, before)| lags == before);
        match measured {
            Some((since, _)) if !is_stopped && since.elapsed() > MEASURED && messages > 1_000 => {
                return counts;
            }
            // A busy host may not carry this market: it pauses until the books are fresh.
            None if is_warm => {}
            _ if is_stopped => {}
            _ => market.events(20, &mut publisher),
        }
        assert!(
            start.elapsed() < PATIENCE,
            "up {up}, {lags} lags, {messages} messages"
        );
        for _ in 0..ROUNDS_MAX {
            let mut work = 0;
            let ends = ends.iter_mut().zip(&mut counts);
            for (end, count) in ends.skip(usize::from(is_stopped)) {
                Frozen::freeze();
                let worked = end.work();
                while end.event().is_some() {}
                let now = Frozen::thaw();
                work += worked.expect("the link works");
                if measured.is_some() {
                    count.allocations += now.allocations;
                    count.frees += now.frees;
                }
            }
            if work == 0 {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

fn receiving<L: ReceiveLink>(buses: &Buses, link: L) -> Receiving<L> {
    let settings = buses.receive_settings("b");
    let receiver = ReceiverSettings {
        lag_ns_max: LAG_NS_MAX,
        link_timeout_ns: LINK_TIMEOUT_NS,
        ..settings.receiver
    };
    let settings = ReceiveSettings {
        receiver,
        ..settings
    };
    Receiving::open(settings, link).expect("no other process writes the bus")
}

fn is_free_of_allocations([send, receive]: [Count; 2]) {
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
    let mut receive = receiving(&buses, TcpReceive::new(&address, None));
    let counts = run(&buses, 41, [&mut send, &mut receive]);
    is_free_of_allocations(counts);
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
    let link = AeronReceive::open(
        client("b"),
        group,
        340,
        requests,
        LINK_TIMEOUT_NS,
        Vec::new(),
    );
    let mut receive = receiving(&buses, link.expect("a channel"));
    let counts = run(&buses, 42, [&mut send, &mut receive]);
    is_free_of_allocations(counts);
}
