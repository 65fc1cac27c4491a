//! Sockets over the loopback interface, without privileges; and over a pair of virtual cards in
//! network namespaces, if permitted.

mod frames;
mod loopback;
mod overflow;
mod refusal;
mod veth;
mod xdp;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_net::udp::{Endpoint, Sender, SenderSettings, Settings};
use touchline_net::{PacketSource, Received, TimestampSource, UdpSource};
use touchline_testing::until;

/// A received packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) receive_ns: u64,
    pub(crate) timestamp: TimestampSource,
    pub(crate) destination: SocketAddrV4,
    pub(crate) source: Ipv4Addr,
    pub(crate) payload: Vec<u8>,
}

/// Maximum wait for packets.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Time without packets after which no more are expected: over loopback a packet mostly arrives
/// when its send returns; a busy kernel may take a little longer.
pub(crate) const QUIET: Duration = Duration::from_millis(30);

/// Settings for the loopback interface with this batch size.
pub(crate) fn settings(batch: usize) -> Settings {
    Settings {
        interface: Some("lo".to_owned()),
        receive_buffer_bytes: 1 << 20,
        batch,
        ..Settings::default()
    }
}

/// A multicast group for this test, on a free port.
pub(crate) fn group(last: u8) -> Endpoint {
    endpoint(SocketAddrV4::new(Ipv4Addr::new(239, 255, 77, last), 0))
}

/// An urgent endpoint that accepts every source.
pub(crate) fn endpoint(address: SocketAddrV4) -> Endpoint {
    Endpoint {
        address,
        sources: Vec::new(),
        interface: None,
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

/// Polls until this many packets have arrived, then until no more arrive.
pub(crate) fn take(source: &mut impl PacketSource, count: usize) -> Vec<Taken> {
    let start = Instant::now();
    let mut all = Vec::new();
    while all.len() < count {
        assert!(start.elapsed() < PATIENCE, "{} of {count} came", all.len());
        all.extend(poll(source));
    }
    all.extend(take_rest(source));
    all
}

/// Polls until no more packets arrive.
pub(crate) fn take_rest(source: &mut impl PacketSource) -> Vec<Taken> {
    let mut all = Vec::new();
    let mut quiet = Instant::now();
    loop {
        // One more look behind a pause of this process.
        let is_over = quiet.elapsed() >= QUIET;
        match poll(source) {
            Some(packet) => {
                all.push(packet);
                quiet = Instant::now();
            }
            None if is_over => return all,
            None => {}
        }
    }
}

/// Sends until the kernel timestamps packets: it starts a moment after the first socket on the host requests it.
/// Returns the number of packets without a timestamp before.
pub(crate) fn await_timestamps(source: &mut UdpSource, sender: &Sender, to: SocketAddrV4) -> u64 {
    until("a timestamp of the kernel", PATIENCE, || {
        sender.send(to, b"stamped?").expect("it is sent");
        let taken = take(source, 1);
        let mut sources = taken.iter().map(|packet| packet.timestamp);
        sources.all(|source| source == TimestampSource::Kernel)
    });
    source.totals().timestamps_missing
}

fn poll(source: &mut impl PacketSource) -> Option<Taken> {
    match source.receive().expect("the sockets are sound") {
        Received::Packet(packet) => Some(Taken {
            receive_ns: packet.receive_ns,
            timestamp: packet.timestamp,
            destination: packet.destination,
            source: *packet.source.ip(),
            payload: packet.payload.to_vec(),
        }),
        Received::Nothing | Received::Refused => None,
        Received::End => panic!("a socket never ends"),
    }
}
