//! Sockets over the loopback interface, without any privilege; and over a pair of virtual cards in
//! network namespaces of the test's own, where it may make them.

mod loopback;
mod overflow;
mod refusal;
mod veth;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_net::udp::{Endpoint, Sender, SenderSettings, Settings};
use touchline_net::{PacketSource, Received, TimestampSource, UdpSource};

/// A packet as it was handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) receive_ns: u64,
    pub(crate) timestamp: TimestampSource,
    pub(crate) destination: SocketAddrV4,
    pub(crate) source: Ipv4Addr,
    pub(crate) payload: Vec<u8>,
}

/// How long a test waits for packets before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Over the loopback interface a packet is mostly there when its sending is over; a busy kernel may
/// take a little longer.
pub(crate) const QUIET: Duration = Duration::from_millis(30);

/// On the loopback interface, in this receive mode.
pub(crate) fn settings(batch: usize) -> Settings {
    Settings {
        interface: Some("lo".to_owned()),
        receive_buffer_bytes: 1 << 20,
        batch,
        ..Settings::default()
    }
}

/// A group of this test's own, on a port that is free.
pub(crate) fn group(last: u8) -> Endpoint {
    endpoint(SocketAddrV4::new(Ipv4Addr::new(239, 255, 77, last), 0))
}

/// An endpoint that takes every source, and is urgent.
pub(crate) fn endpoint(address: SocketAddrV4) -> Endpoint {
    Endpoint {
        address,
        sources: Vec::new(),
        urgent: true,
    }
}

pub(crate) fn sender(source: Ipv4Addr) -> Sender {
    let settings = SenderSettings {
        interface: Some("lo".to_owned()),
        source: Some(source),
        ttl: 0,
        ..SenderSettings::default()
    };
    Sender::open(&settings).expect("the loopback interface sends")
}

pub(crate) fn addresses(source: &UdpSource) -> Vec<SocketAddrV4> {
    source.endpoints().map(|(address, _)| address).collect()
}

/// Polls until so many packets came, then until nothing more comes.
pub(crate) fn take(source: &mut UdpSource, count: usize) -> Vec<Taken> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < count {
        assert!(start.elapsed() < PATIENCE, "{} of {count} came", all.len());
        all.extend(poll(source));
    }
    all.extend(take_rest(source));
    all
}

/// Polls until nothing comes any more.
pub(crate) fn take_rest(source: &mut UdpSource) -> Vec<Taken> {
    let mut all = Vec::new();
    let mut quiet = Instant::now();
    while quiet.elapsed() < QUIET {
        if let Some(packet) = poll(source) {
            all.push(packet);
            quiet = Instant::now();
        }
    }
    all
}

/// Sends until the kernel stamps what comes: it begins a moment after the first socket on the host asks for it. Returns
/// how many packets came without a stamp before.
pub(crate) fn await_timestamps(source: &mut UdpSource, sender: &Sender, to: SocketAddrV4) -> u64 {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE, "the kernel does not stamp");
        sender.send(to, b"stamped?").expect("it is sent");
        let taken = take(source, 1);
        if taken
            .iter()
            .all(|packet| packet.timestamp == TimestampSource::Kernel)
        {
            return source.totals().timestamps_missing;
        }
    }
}

fn poll(source: &mut UdpSource) -> Option<Taken> {
    match source.receive().expect("the sockets are sound") {
        Received::Packet(packet) => Some(Taken {
            receive_ns: packet.receive_ns,
            timestamp: packet.timestamp,
            destination: packet.destination,
            source: *packet.source.ip(),
            payload: packet.payload.to_vec(),
        }),
        Received::Nothing => None,
        Received::End => panic!("a socket never ends"),
    }
}
