//! Both sides of a link that is measured: one publishes, the other reads.

use super::super::relay::{BUS, Gateway, payload_bytes};
use crate::output::Failure;
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{ReceiveSettings, RunError, SendSettings, Work};
use touchline_relay::start::{receive_tcp, send_tcp};
use touchline_relay::{ReceiverSettings, Source};
use touchline_transport::market::{Item, Join, Kinds, Subscriber};
use touchline_transport::shm::{Polled, Root};
use touchline_types::Update;

/// The side that publishes.
pub trait SendSide {
    /// Publishes a message, and returns its number.
    fn publish(&mut self) -> Result<u64, Failure>;

    /// Runs the sending end once.
    fn turn(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes the events that a command logs beside the path.
    fn drain_events(&mut self) {}
}

/// The side that reads.
pub trait ReceiveSide {
    /// Runs the receiving end once; returns the number of the latest message that arrived.
    fn turn(&mut self) -> Result<Option<u64>, Failure>;

    /// Takes the events that a command logs beside the path.
    fn drain_events(&mut self) {}
}

/// Opens one side, on the thread that runs it.
pub type Open<T> = Box<dyn FnOnce() -> Result<Box<T>, Failure> + Send>;

/// A link to measure; each side is opened on its own thread.
pub struct Link {
    pub name: &'static str,
    pub payload_bytes: u64,
    pub send: Open<dyn SendSide>,
    pub receive: Open<dyn ReceiveSide>,
}

/// Bytes of a datagram of raw UDP: the message of a load test.
const UDP_BYTES: usize = 70;
pub const MS: u64 = 1_000_000;

impl Link {
    /// A store into a cache line: the lower bound of a message between two processors.
    pub fn cache_line() -> Link {
        let line = Arc::new(Line(AtomicU64::new(0)));
        let (send, receive) = (LineSend(line.clone()), LineReceive(line));
        Link {
            name: "cache-line",
            payload_bytes: 8,
            send: Box::new(|| Ok(Box::new(send))),
            receive: Box::new(|| Ok(Box::new(receive))),
        }
    }

    /// Raw UDP: one socket sends, one receives.
    pub fn udp() -> Result<Link, Failure> {
        let open = || {
            let receive = UdpSocket::bind("127.0.0.1:0")?;
            let send = UdpSocket::bind("127.0.0.1:0")?;
            send.connect(receive.local_addr()?)?;
            receive.set_nonblocking(true)?;
            Ok((send, receive))
        };
        let (send, receive) = open().map_err(|error: std::io::Error| Failure::run(error))?;
        let (send, receive) = (
            UdpSend { send, sent: 0 },
            UdpReceive {
                receive,
                arrived: 0,
            },
        );
        Ok(Link {
            name: "udp",
            payload_bytes: UDP_BYTES as u64,
            send: Box::new(|| Ok(Box::new(send))),
            receive: Box::new(|| Ok(Box::new(receive))),
        })
    }

    /// A relay over TCP, with its buses in this folder.
    pub fn tcp(folder: &Path) -> Result<Link, Failure> {
        let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let send = TcpSend::bind(any_port, None, TcpSendSettings::default());
        let send = send.map_err(Failure::run)?;
        let receive = TcpReceive::new(&send.address().to_string(), None);
        let (near, far) = (folder.join("near"), folder.join("far"));
        Ok(Link {
            name: "relay-tcp",
            payload_bytes: payload_bytes(),
            send: Box::new(move || {
                RelaySend::open(&near, 32 * 1024, |settings| send_tcp(settings, send))
            }),
            receive: Box::new(move || {
                RelayReceive::open(&far, |settings| receive_tcp(settings, receive))
            }),
        })
    }
}

/// A counter alone in two cache lines, since a processor may load them as a pair.
#[repr(align(128))]
struct Line(AtomicU64);

struct LineSend(Arc<Line>);
struct LineReceive(Arc<Line>);

impl SendSide for LineSend {
    fn publish(&mut self) -> Result<u64, Failure> {
        Ok(self.0.0.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

impl ReceiveSide for LineReceive {
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        Ok(Some(self.0.0.load(Ordering::Acquire)))
    }
}

struct UdpSend {
    send: UdpSocket,
    sent: u64,
}

struct UdpReceive {
    receive: UdpSocket,
    arrived: u64,
}

impl SendSide for UdpSend {
    fn publish(&mut self) -> Result<u64, Failure> {
        self.send.send(&[7; UDP_BYTES]).map_err(Failure::run)?;
        self.sent += 1;
        Ok(self.sent)
    }
}

impl ReceiveSide for UdpReceive {
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        match self.receive.recv(&mut [0; UDP_BYTES]) {
            Ok(_) => {
                self.arrived += 1;
                Ok(Some(self.arrived))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(Failure::run(error)),
        }
    }
}

/// A gateway's bus, and the sending end of a link.
pub struct RelaySend {
    gateway: Gateway,
    send: Box<dyn Work>,
}

impl RelaySend {
    /// Opens the bus in this folder, and the end with `begin`.
    pub fn open(
        folder: &Path,
        batch_bytes_max: usize,
        begin: impl FnOnce(SendSettings) -> Result<Box<dyn Work>, RunError>,
    ) -> Result<Box<dyn SendSide>, Failure> {
        create_parent(folder)?;
        let gateway = Gateway::start(folder)?;
        let send = begin(send_settings(folder, batch_bytes_max)?).map_err(Failure::run)?;
        Ok(Box::new(RelaySend { gateway, send }))
    }
}

impl SendSide for RelaySend {
    fn publish(&mut self) -> Result<u64, Failure> {
        Ok(self.gateway.publish())
    }

    fn turn(&mut self) -> Result<(), Failure> {
        self.send.work().map_err(Failure::run)?;
        Ok(())
    }

    fn drain_events(&mut self) {
        while self.send.event().is_some() {}
    }
}

/// The receiving end of a link, its bus, and a reader of it.
pub struct RelayReceive {
    receive: Box<dyn Work>,
    reader: Subscriber,
}

impl RelayReceive {
    /// Opens the end with `begin`, with the bus in this folder.
    pub fn open(
        folder: &Path,
        begin: impl FnOnce(ReceiveSettings) -> Result<Box<dyn Work>, RunError>,
    ) -> Result<Box<dyn ReceiveSide>, Failure> {
        create_parent(folder)?;
        let settings = ReceiveSettings {
            root: Root::at(folder),
            bus: BUS.to_owned(),
            publication: Gateway::settings(),
            receiver: ReceiverSettings {
                sources: Vec::new(),
                own: vec![source("far")?],
                instruments_max: 16,
                orders_max: 64,
                entries_max: 64,
                link_timeout_ns: 10_000 * MS,
                lag_ns_max: 500_000_000,
                request_delay_ns_max: 0,
            },
        };
        let receive = begin(settings).map_err(Failure::run)?;
        let join = Join {
            kinds: Kinds::TRADES,
            ..Join::default()
        };
        let reader = Subscriber::join(&Root::at(folder), BUS, join).map_err(Failure::run)?;
        Ok(Box::new(RelayReceive { receive, reader }))
    }
}

impl ReceiveSide for RelayReceive {
    /// Reads every message: a trade left for the next call would cost both ends a call without work.
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        self.receive.work().map_err(Failure::run)?;
        let mut trade_id = None;
        let mut take = |item: Item<'_>| {
            if let Item::Update(received) = item
                && let Update::Trade(trade) = received.update
            {
                trade_id = Some(trade.trade_id);
            }
        };
        while self.reader.poll(&mut take) != Polled::Nothing {}
        Ok(trade_id)
    }

    fn drain_events(&mut self) {
        while self.receive.event().is_some() {}
    }
}

/// Creates the parent of a folder; the bus or the driver creates the folder.
pub fn create_parent(folder: &Path) -> Result<(), Failure> {
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(Failure::run)
}

fn source(name: &str) -> Result<Source, Failure> {
    Source::named(name).map_err(Failure::run)
}

/// Settings of the sending end, for the bus in this folder.
pub fn send_settings(folder: &Path, batch_bytes_max: usize) -> Result<SendSettings, Failure> {
    Ok(SendSettings {
        root: Root::at(folder),
        bus: BUS.to_owned(),
        source: source("near")?,
        forward: false,
        batch_bytes_max,
        heartbeat_ns: 100 * MS,
        cyclic: None,
        name: "relay-path".to_owned(),
    })
}
