//! What is measured: the transports, each as a sender and a receiver of single messages.

#[cfg(feature = "aeron")]
mod aeron;
mod bus;
mod market;
mod tcp;
mod udp;

use crate::Failed;
use crate::message::BYTES;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The bus in shared memory: a ring that waits for nobody.
    Touchline,
    /// The bus of market data in shared memory: each message is a trade, for a subscriber that decodes it.
    TouchlineMarket,
    /// The same over the loopback: bus, relay, TCP, relay, bus.
    TouchlineRelayTcp,
    /// TCP over the loopback: what is due goes with one write a turn.
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

impl Kind {
    /// All of this build, with their names.
    pub const ALL: &[(&str, Kind)] = &[
        ("touchline", Kind::Touchline),
        ("touchline-market", Kind::TouchlineMarket),
        ("touchline-relay-tcp", Kind::TouchlineRelayTcp),
        ("tcp", Kind::Tcp),
        ("udp", Kind::Udp),
        #[cfg(feature = "aeron")]
        ("aeron-ipc", Kind::AeronIpc),
        #[cfg(feature = "aeron")]
        ("aeron-udp", Kind::AeronUdp),
        #[cfg(feature = "aeron")]
        ("aeron-multicast", Kind::AeronMulticast),
    ];

    /// Whether the transport itself promises to lose nothing: a loss is then a fault of it, not of the rate.
    pub fn is_lossless(self) -> bool {
        matches!(
            self,
            Kind::Tcp | Kind::AeronIpc | Kind::AeronUdp | Kind::AeronMulticast
        )
    }

    /// Whether a process besides publisher and readers belongs to it.
    pub fn has_driver(self) -> bool {
        self == Kind::AeronIpc
    }

    /// How it is set up, for the report.
    pub fn settings(self) -> &'static str {
        match self {
            Kind::Touchline => "ring of 8 MiB in shared memory, readers are never waited for",
            Kind::TouchlineMarket => {
                "a trade in the native format, ring of 8 MiB, readers are never waited for"
            }
            Kind::TouchlineRelayTcp => {
                "bus to bus: touchline relay as sender and as receiver, TCP over the loopback, waiting by back-off"
            }
            Kind::Tcp => {
                "loopback, TCP_NODELAY, all that is due in one write a turn, 1 MiB queued for each reader"
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

/// A process between publisher and readers that plays no role: a command of this program with its own protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Its name in the figures.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// The processes between publisher and readers, in the order in which they are started.
pub fn between(kind: Kind, place: &Place) -> Vec<Between> {
    if kind != Kind::TouchlineRelayTcp {
        return Vec::new();
    }
    let address = format!("tcp://127.0.0.1:{}", place.port);
    let folder = |side| place.folder_of(side).display().to_string();
    let relay = |name, link: [&str; 5], side| Between {
        name,
        arguments: link
            .iter()
            .filter(|text| !text.is_empty())
            .map(|text| (*text).to_owned())
            .chain(["--dir".to_owned(), folder(side), "--until-eof".to_owned()])
            .collect(),
    };
    vec![
        relay(
            "relay-send",
            ["relay", market::BUS, "--to", &address, ""],
            market::NEAR,
        ),
        relay(
            "relay-receive",
            ["relay", "--from", &address, "--bus", market::BUS],
            market::FAR,
        ),
    ]
}

/// Where the processes of a step find each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Folder in shared memory of this step alone.
    pub folder: PathBuf,
    /// Port of this step alone.
    pub port: u16,
    /// Stream number of this step alone.
    pub stream: i32,
    /// Readers.
    pub readers: usize,
}

impl Place {
    /// Folder of one process of the step, below that of the step.
    pub fn folder_of(&self, process: &str) -> PathBuf {
        self.folder.join(process)
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or never will be: that shows at the reader.
    Yes,
    /// There is no room: the same message again in the next turn.
    NoRoom,
}

/// The sending side of a transport.
pub trait Sender {
    /// Sends a message, or says that there is no room.
    fn send(&mut self, message: &[u8; BYTES]) -> Result<Sent, Failed>;

    /// Ends a turn: what waits goes, and the transport does its own work.
    fn turn(&mut self) -> Result<(), Failed>;

    /// Whether all readers are there.
    fn is_ready(&mut self) -> Result<bool, Failed>;

    /// What the transport itself counts, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The receiving side of a transport.
pub trait Receiver {
    /// Hands on what has come, and says how many messages that were.
    fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed>;

    /// Whether the sender is there.
    fn is_ready(&mut self) -> Result<bool, Failed>;

    /// What the transport itself counts, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Opens the sending side.
///
/// # Errors
/// A transport that cannot be set up.
pub fn sender(kind: Kind, place: &Place) -> Result<Box<dyn Sender>, Failed> {
    Ok(match kind {
        Kind::Touchline => Box::new(bus::BusSender::open(place)?),
        Kind::TouchlineMarket | Kind::TouchlineRelayTcp => {
            Box::new(market::MarketSender::open(place)?)
        }
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
/// A transport that cannot be set up.
pub fn receiver(kind: Kind, place: &Place, reader: usize) -> Result<Box<dyn Receiver>, Failed> {
    Ok(match kind {
        Kind::Touchline => Box::new(bus::BusReceiver::open(place)?),
        Kind::TouchlineMarket => Box::new(market::MarketReceiver::open(place, market::NEAR)?),
        Kind::TouchlineRelayTcp => Box::new(market::MarketReceiver::open(place, market::FAR)?),
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

/// Runs the driver process of a transport until `stop` says so; `ready` is called when it can be used.
///
/// # Errors
/// A transport without one, or one that does not start.
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
