//! Subjects: the transports, each as a sender and a receiver of single messages.

#[cfg(feature = "aeron")]
mod aeron;
mod bus;
mod market;
mod tcp;
mod udp;

use crate::Failed;
use crate::message::BYTES;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The bus in shared memory: a ring without back pressure.
    Touchline,
    /// The bus of market data in shared memory: each message is a trade, for a subscriber that decodes it.
    TouchlineMarket,
    /// The same over the loopback: bus, relay, TCP, relay, bus.
    TouchlineRelayTcp,
    /// The same over Aeron, unicast.
    TouchlineRelayUdp,
    /// The same over Aeron, multicast.
    TouchlineRelayMulticast,
    /// TCP over the loopback: all due messages in one write a turn.
    Tcp,
    /// UDP over the loopback: a datagram for each message and reader.
    Udp,
    /// Aeron over shared memory, with a driver process.
    AeronIpc,
    /// Aeron over UDP, unicast, with a driver embedded in each process.
    AeronUdp,
    /// Aeron over UDP, multicast, with a driver embedded in each process.
    AeronMulticast,
}

/// Messages that a ring of 8 MiB holds at least: the frame of a message takes less than 256 bytes in each of the buses.
const RING_MESSAGES: u64 = 8 * 1024 * 1024 / 256;

impl Kind {
    /// The transport of this name.
    ///
    /// # Errors
    /// This build has none.
    pub fn named(name: &str) -> Result<Kind, Failed> {
        let found = Kind::ALL.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, kind)| *kind)
            .ok_or_else(|| Failed(format!("{name}: not a subject of this build")))
    }

    /// Whether publisher and readers may be on two hosts.
    pub fn is_of_a_network(self) -> bool {
        !matches!(
            self,
            Kind::Touchline | Kind::TouchlineMarket | Kind::AeronIpc
        )
    }

    /// All of this build, with their names.
    pub const ALL: &[(&str, Kind)] = &[
        ("touchline", Kind::Touchline),
        ("touchline-market", Kind::TouchlineMarket),
        ("touchline-relay-tcp", Kind::TouchlineRelayTcp),
        #[cfg(feature = "aeron")]
        ("touchline-relay-udp", Kind::TouchlineRelayUdp),
        #[cfg(feature = "aeron")]
        ("touchline-relay-multicast", Kind::TouchlineRelayMulticast),
        ("tcp", Kind::Tcp),
        ("udp", Kind::Udp),
        #[cfg(feature = "aeron")]
        ("aeron-ipc", Kind::AeronIpc),
        #[cfg(feature = "aeron")]
        ("aeron-udp", Kind::AeronUdp),
        #[cfg(feature = "aeron")]
        ("aeron-multicast", Kind::AeronMulticast),
    ];

    /// Whether a step of this many messages may lose none of them, however slow the host is: a loss is then a fault, and not an
    /// effect of the rate. A bus loses nothing that its ring holds, and a relay has one on each side.
    pub fn holds(self, messages: u64) -> bool {
        match self {
            Kind::Tcp | Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast => true,
            Kind::Touchline
            | Kind::TouchlineMarket
            | Kind::TouchlineRelayTcp
            | Kind::TouchlineRelayUdp
            | Kind::TouchlineRelayMulticast => messages <= RING_MESSAGES,
            Kind::Udp => false,
        }
    }

    /// Counter of the interruptions in which its relay loses messages, because the host stopped a process for example, and says so: over
    /// Aeron it replaces a subscription that is silent for longer than its timeout, and over TCP the sender passes over what a receiver
    /// did not take within half of `lag_ms_max`.
    pub fn interruptions(self) -> Option<&'static str> {
        match self {
            Kind::TouchlineRelayUdp | Kind::TouchlineRelayMulticast => Some("relay_timeouts"),
            Kind::TouchlineRelayTcp => Some("relay_gaps"),
            _ => None,
        }
    }

    /// Whether a relay of either side is between publisher and readers.
    pub fn has_relays(self) -> bool {
        matches!(
            self,
            Kind::TouchlineRelayTcp | Kind::TouchlineRelayUdp | Kind::TouchlineRelayMulticast
        )
    }

    /// Whether a process besides publisher and readers belongs to it.
    pub fn has_driver(self) -> bool {
        self == Kind::AeronIpc
    }

    /// Description of the setup, for the report.
    pub fn settings(self) -> &'static str {
        match self {
            Kind::Touchline => "ring of 8 MiB in shared memory, no back pressure",
            Kind::TouchlineMarket => {
                "a trade in the native format, ring of 8 MiB, no back pressure"
            }
            Kind::TouchlineRelayTcp => {
                "bus to bus: touchline relay as sender and as receiver, TCP over the loopback, idle strategy back-off"
            }
            Kind::TouchlineRelayUdp => {
                "bus to bus: touchline relay as sender and as receiver, Aeron unicast over the loopback, idle strategy back-off"
            }
            Kind::TouchlineRelayMulticast => {
                "bus to bus: touchline relay as sender and as receiver, Aeron multicast over the loopback, idle strategy back-off"
            }
            Kind::Tcp => {
                "loopback, TCP_NODELAY, all due messages in one write a turn, 1 MiB queued for each reader"
            }
            Kind::Udp => {
                "loopback, one datagram for each message and reader, socket buffers of 2 MiB"
            }
            Kind::AeronIpc => {
                "terms of 4 MiB, tryClaim, one driver process that sleeps 50 µs when idle"
            }
            Kind::AeronUdp => {
                "loopback, terms of 4 MiB, tryClaim, driver embedded in each process, mtu 1408"
            }
            Kind::AeronMulticast => {
                "loopback, terms of 4 MiB, tryClaim, driver embedded in each process, mtu 1408, max flow control"
            }
        }
    }
}

/// A process between publisher and readers without a role: a command of this program with its own protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Its name in the results.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Whether the process runs on the host of the readers.
    pub is_far: bool,
}

/// Processes between publisher and readers, in the order of their start.
pub fn between(kind: Kind, place: &Place) -> Vec<Between> {
    let [Some(to), Some(from)] = place.hosts.map(|host| link(kind, place, host)) else {
        return Vec::new();
    };
    let folder = |side| place.folder_of(side).display().to_string();
    let relay = |name, link: [&str; 5], side| Between {
        name,
        is_far: side == market::FAR,
        arguments: link
            .iter()
            .filter(|text| !text.is_empty())
            .map(|text| (*text).to_owned())
            .chain(control(kind, place).into_iter().flatten())
            .chain(["--dir".to_owned(), folder(side), "--until-eof".to_owned()])
            .collect(),
    };
    vec![
        relay(
            "relay-send",
            ["relay", market::BUS, "--to", &to, ""],
            market::NEAR,
        ),
        relay(
            "relay-receive",
            ["relay", "--from", &from, "--bus", market::BUS],
            market::FAR,
        ),
    ]
}

/// Arguments of the requests of a receiver over Aeron unicast, which need an address of their own.
fn control(kind: Kind, place: &Place) -> Option<[String; 2]> {
    let (near, port) = (place.hosts[0], place.port.saturating_add(1));
    let channel = format!("aeron:udp?endpoint={near}:{port}");
    (kind == Kind::TouchlineRelayUdp).then(|| ["--control".to_owned(), channel])
}

/// Address of the link of a subject that has relays, for the one on this host.
fn link(kind: Kind, place: &Place, host: Ipv4Addr) -> Option<String> {
    let (port, [near, far]) = (place.port, place.hosts);
    Some(match kind {
        Kind::TouchlineRelayTcp => format!("tcp://{near}:{port}"),
        Kind::TouchlineRelayUdp => format!("aeron:udp?endpoint={far}:{port}"),
        Kind::TouchlineRelayMulticast => {
            format!("aeron:udp?endpoint=239.255.40.41:{port}|interface={host}")
        }
        _ => return None,
    })
}

/// Addresses of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Folder in shared memory of this step alone.
    pub folder: PathBuf,
    /// First port of this step alone: one for each reader, at least two.
    pub port: u16,
    /// Stream number of this step alone.
    pub stream: i32,
    /// Readers.
    pub readers: usize,
    /// Addresses of the publisher's and of the readers' host.
    pub hosts: [Ipv4Addr; 2],
}

impl Place {
    /// Folder of one process of the step, below that of the step.
    pub fn folder_of(&self, process: &str) -> PathBuf {
        self.folder.join(process)
    }
}

/// Result of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Accepted; a later loss shows at the reader.
    Yes,
    /// The transport is full: retry the same message in the next turn.
    NoRoom,
}

/// The sending side of a transport.
pub trait Sender {
    /// Sends a message, or reports that the transport is full.
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed>;

    /// Ends a turn: flushes, and runs the transport's own work.
    fn turn(&mut self) -> Result<(), Failed>;

    /// Whether all readers are connected.
    fn is_ready(&mut self) -> Result<bool, Failed>;

    /// Counters of the transport, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The receiving side of a transport.
pub trait Receiver {
    /// Passes on received messages, and returns their number.
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed>;

    /// Whether the sender is connected.
    fn is_ready(&mut self) -> Result<bool, Failed>;

    /// Counters of the transport, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Opens the sending side.
///
/// # Errors
/// The transport cannot be set up.
pub fn sender(kind: Kind, place: &Place) -> Result<Box<dyn Sender>, Failed> {
    Ok(match kind {
        Kind::Touchline => Box::new(bus::BusSender::open(place)?),
        Kind::TouchlineMarket
        | Kind::TouchlineRelayTcp
        | Kind::TouchlineRelayUdp
        | Kind::TouchlineRelayMulticast => Box::new(market::MarketSender::open(place)?),
        Kind::Tcp => Box::new(tcp::TcpSender::open(place)?),
        Kind::Udp => Box::new(udp::UdpSender::open(place)?),
        #[cfg(feature = "aeron")]
        Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast => {
            Box::new(aeron::AeronSender::open(kind, place)?)
        }
        #[cfg(not(feature = "aeron"))]
        Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast => return Err(without_aeron()),
    })
}

/// Opens the receiving side of a reader.
///
/// # Errors
/// The transport cannot be set up.
pub fn receiver(kind: Kind, place: &Place, reader: usize) -> Result<Box<dyn Receiver>, Failed> {
    Ok(match kind {
        Kind::Touchline => Box::new(bus::BusReceiver::open(place)?),
        Kind::TouchlineMarket => Box::new(market::MarketReceiver::open(place, market::NEAR)?),
        Kind::TouchlineRelayTcp | Kind::TouchlineRelayUdp | Kind::TouchlineRelayMulticast => {
            Box::new(market::MarketReceiver::open(place, market::FAR)?)
        }
        Kind::Tcp => Box::new(tcp::TcpReceiver::open(place)?),
        Kind::Udp => Box::new(udp::UdpReceiver::open(place, reader)?),
        #[cfg(feature = "aeron")]
        Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast => {
            Box::new(aeron::AeronReceiver::open(kind, place, reader)?)
        }
        #[cfg(not(feature = "aeron"))]
        Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast => return Err(without_aeron()),
    })
}

/// Runs the driver process of a transport until `stop` is true; calls `ready` when the driver is usable.
///
/// # Errors
/// The transport has no driver, or it does not start.
pub fn drive(
    kind: Kind,
    place: &Place,
    ready: impl FnOnce(),
    stop: impl Fn() -> bool,
) -> Result<(), Failed> {
    match kind {
        #[cfg(feature = "aeron")]
        Kind::AeronIpc => aeron::drive(place, ready, stop),
        _ => {
            let _ = (place, ready, stop);
            Err(Failed(format!("{kind:?} has no driver in this build")))
        }
    }
}

#[cfg(not(feature = "aeron"))]
fn without_aeron() -> Failed {
    Failed("this build has no Aeron; build with --features aeron".to_owned())
}

/// Bytes of memory that the files of a folder take.
pub fn folder_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_datagrams_may_be_lost_in_a_step_that_the_rings_hold() {
        for (name, kind) in Kind::ALL {
            assert_eq!(kind.holds(10_000), *kind != Kind::Udp, "{name}");
            let has_ring = name.starts_with("touchline");
            assert_eq!(
                kind.holds(1_000_000),
                !has_ring && *kind != Kind::Udp,
                "{name}"
            );
        }
    }
}
