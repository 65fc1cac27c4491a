//! The two ends of what is measured: a publishing side and a reading side, without the thread that steps them.

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

/// The publishing side.
pub trait Near {
    /// Publishes a message, and returns its number.
    fn publish(&mut self) -> Result<u64, Failure>;

    /// One turn of the sending end.
    fn turn(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// What a command does outside of the path.
    fn settle(&mut self) {}
}

/// The reading side.
pub trait Far {
    /// One turn of the receiving end: number of the latest message that it brought.
    fn turn(&mut self) -> Result<Option<u64>, Failure>;

    /// What a command does outside of the path.
    fn settle(&mut self) {}
}

/// Opens one side, on the thread that steps it.
pub type Open<T> = Box<dyn FnOnce() -> Result<Box<T>, Failure> + Send>;

/// A way from one side to the other.
pub struct Link {
    pub name: &'static str,
    pub payload_bytes: u64,
    pub near: Open<dyn Near>,
    pub far: Open<dyn Far>,
}

/// Bytes of a datagram of raw UDP: the message of a load test.
const UDP_BYTES: usize = 70;
pub const MS: u64 = 1_000_000;

impl Link {
    /// A store into a cache line: no message is faster.
    pub fn cache_line() -> Link {
        let line = Arc::new(Line(AtomicU64::new(0)));
        let (near, far) = (LineNear(line.clone()), LineFar(line));
        Link {
            name: "cache-line",
            payload_bytes: 8,
            near: Box::new(|| Ok(Box::new(near))),
            far: Box::new(|| Ok(Box::new(far))),
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
        let (near, far) = (
            UdpNear { send, sent: 0 },
            UdpFar {
                receive,
                arrived: 0,
            },
        );
        Ok(Link {
            name: "udp",
            payload_bytes: UDP_BYTES as u64,
            near: Box::new(|| Ok(Box::new(near))),
            far: Box::new(|| Ok(Box::new(far))),
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
            near: Box::new(move || {
                RelayNear::open(&near, 32 * 1024, |settings| send_tcp(settings, send))
            }),
            far: Box::new(move || RelayFar::open(&far, |settings| receive_tcp(settings, receive))),
        })
    }
}

/// A cache line of its own, and the one that is loaded with it.
#[repr(align(128))]
struct Line(AtomicU64);

struct LineNear(Arc<Line>);
struct LineFar(Arc<Line>);

impl Near for LineNear {
    fn publish(&mut self) -> Result<u64, Failure> {
        Ok(self.0.0.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

impl Far for LineFar {
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        Ok(Some(self.0.0.load(Ordering::Acquire)))
    }
}

struct UdpNear {
    send: UdpSocket,
    sent: u64,
}

struct UdpFar {
    receive: UdpSocket,
    arrived: u64,
}

impl Near for UdpNear {
    fn publish(&mut self) -> Result<u64, Failure> {
        self.send.send(&[7; UDP_BYTES]).map_err(Failure::run)?;
        self.sent += 1;
        Ok(self.sent)
    }
}

impl Far for UdpFar {
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
pub struct RelayNear {
    gateway: Gateway,
    send: Box<dyn Work>,
}

impl RelayNear {
    /// Opens the bus in this folder, and the end with `begin`.
    pub fn open(
        folder: &Path,
        batch_bytes_max: usize,
        begin: impl FnOnce(SendSettings) -> Result<Box<dyn Work>, RunError>,
    ) -> Result<Box<dyn Near>, Failure> {
        create_parent(folder)?;
        let gateway = Gateway::start(folder)?;
        let send = begin(send_settings(folder, batch_bytes_max)?).map_err(Failure::run)?;
        Ok(Box::new(RelayNear { gateway, send }))
    }
}

impl Near for RelayNear {
    fn publish(&mut self) -> Result<u64, Failure> {
        Ok(self.gateway.publish())
    }

    fn turn(&mut self) -> Result<(), Failure> {
        self.send.work().map_err(Failure::run)?;
        Ok(())
    }

    fn settle(&mut self) {
        while self.send.event().is_some() {}
    }
}

/// The receiving end of a link, its bus, and a reader of it.
pub struct RelayFar {
    receive: Box<dyn Work>,
    reader: Subscriber,
}

impl RelayFar {
    /// Opens the end with `begin`, with the bus in this folder.
    pub fn open(
        folder: &Path,
        begin: impl FnOnce(ReceiveSettings) -> Result<Box<dyn Work>, RunError>,
    ) -> Result<Box<dyn Far>, Failure> {
        create_parent(folder)?;
        let settings = ReceiveSettings {
            root: Root::at(folder),
            bus: BUS.to_owned(),
            publication: Gateway::settings(),
            receiver: ReceiverSettings {
                sources: Vec::new(),
                own: source("far")?,
                instruments_max: 16,
                orders_max: 64,
                entries_max: 64,
                link_timeout_ns: 10_000 * MS,
                request_delay_ns_max: 0,
            },
        };
        let receive = begin(settings).map_err(Failure::run)?;
        let join = Join {
            kinds: Kinds::TRADES,
            ..Join::default()
        };
        let reader = Subscriber::join(&Root::at(folder), BUS, join).map_err(Failure::run)?;
        Ok(Box::new(RelayFar { receive, reader }))
    }
}

impl Far for RelayFar {
    /// Reads everything: a trade that is left to the next turn would cost both ends a turn without work.
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

    fn settle(&mut self) {
        while self.receive.event().is_some() {}
    }
}

/// Creates the folder of this one, which a bus or a driver creates.
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
        orders_max: 64,
        batch_bytes_max,
        heartbeat_ns: 100 * MS,
        cyclic: None,
        name: "relay-path".to_owned(),
    })
}
