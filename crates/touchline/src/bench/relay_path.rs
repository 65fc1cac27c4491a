//! `touchline bench relay-path`: a message from bus to bus, beside a datagram of raw UDP.

#[cfg(feature = "aeron")]
mod plain;
#[cfg(feature = "aeron")]
mod rate;

use super::ipc::failure;
use super::relay::{BUS, Gateway, payload_bytes};
use super::run::{Common, Run};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::Path;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::ipc::{Folder, pin};
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::{ReceiveSettings, RunError, SendSettings, Work};
use touchline_relay::start::{receive_tcp, send_tcp};
use touchline_relay::{ReceiverSettings, Source};
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::market::{Item, Join, Kinds, Subscriber};
use touchline_transport::shm::{Polled, Root};
use touchline_types::Update;

/// Time of a message from a bus over a relay to another bus, compared with a datagram of raw UDP.
///
/// One thread publishes a trade and steps both ends of the link until a reader of the second bus has it: the sum of the work on the
/// path, with the system calls of the loopback and without waits for another process. Each sample is beside one of raw UDP.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench relay-path
  touchline bench relay-path --samples 100000 --rounds 5
  touchline bench relay-path --rate                        # with the feature aeron")]
pub struct Arguments {
    /// Samples of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Processor.
    #[arg(long, value_name = "A", default_value_t = 0)]
    cpus: usize,
    /// Messages per second of each end over Aeron, beside plain Aeron with datagrams of the same lengths.
    #[cfg(feature = "aeron")]
    #[arg(long)]
    rate: bool,
    #[command(flatten)]
    common: Common,
}

const MS: u64 = 1_000_000;
/// Rounds of both ends until a message counts as lost.
const TURNS_MAX: u64 = 50_000_000;
/// Bytes of a datagram of raw UDP: the message of a load test.
const UDP_BYTES: usize = 70;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    pin(arguments.cpus).map_err(failure)?;
    let run = Run::begin(&arguments.common);
    let clock = run.clock();
    let folder = Folder::new().map_err(failure)?;
    fs::create_dir_all(folder.path()).map_err(Failure::run)?;
    #[cfg(feature = "aeron")]
    if arguments.rate {
        return rate::run(arguments, folder.path(), &run);
    }
    let mut udp = Udp::open().map_err(Failure::run)?;
    let mut subjects = vec![Subject::relay(tcp(&folder.path().join("tcp"))?)];
    #[cfg(feature = "aeron")]
    subjects.extend(aeron::subjects(folder.path())?);
    for _ in 0..arguments.rounds {
        for subject in &mut subjects {
            for _ in 0..arguments.samples {
                let took = udp.sample(&clock).map_err(Failure::run)?;
                subject.beside.saturating_record(took);
                let took = (subject.sample)(&clock)?;
                subject.histogram.saturating_record(took);
            }
        }
    }
    report(subjects, &run)
}

/// Measures the time of one message, nanoseconds.
type Sample = Box<dyn FnMut(&Clock) -> Result<u64, Failure>>;

/// What is measured, beside raw UDP.
struct Subject {
    name: &'static str,
    payload_bytes: u64,
    sample: Sample,
    histogram: Histogram<u64>,
    beside: Histogram<u64>,
}

impl Subject {
    fn new(
        name: &'static str,
        payload_bytes: u64,
        sample: impl FnMut(&Clock) -> Result<u64, Failure> + 'static,
    ) -> Subject {
        Subject {
            name,
            payload_bytes,
            sample: Box::new(sample),
            histogram: latency_histogram(),
            beside: latency_histogram(),
        }
    }

    fn relay(mut path: RelayPath) -> Subject {
        Subject::new(path.name, payload_bytes(), move |clock| path.sample(clock))
    }
}

fn report(subjects: Vec<Subject>, run: &Run) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let mut ratios = Vec::new();
    for subject in subjects {
        let median = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.5) as f64;
        ratios.push(1.0);
        ratios.push(median(&subject.histogram) / median(&subject.beside));
        lines.push(Statistics {
            bench: "relay-path",
            subject: format!("udp-beside-{}", subject.name),
            payload_bytes: UDP_BYTES as u64,
            histogram: subject.beside,
        });
        lines.push(Statistics {
            bench: "relay-path",
            subject: subject.name.to_owned(),
            payload_bytes: subject.payload_bytes,
            histogram: subject.histogram,
        });
    }
    let what = "one trade from bus to bus over the loopback, one thread steps both ends; p50 ratio to raw UDP beside it";
    let more = |number: usize| format!(" {:>9.2}", ratios[number]);
    run.report_with(what, &lines, &format!(" {:>9}", "p50 ratio"), more, &[])
}

/// Raw UDP: one socket sends, one receives.
struct Udp {
    send: UdpSocket,
    receive: UdpSocket,
}

impl Udp {
    fn open() -> std::io::Result<Udp> {
        let receive = UdpSocket::bind("127.0.0.1:0")?;
        let send = UdpSocket::bind("127.0.0.1:0")?;
        send.connect(receive.local_addr()?)?;
        receive.set_nonblocking(true)?;
        Ok(Udp { send, receive })
    }

    fn sample(&mut self, clock: &Clock) -> std::io::Result<u64> {
        let mut bytes = [7; UDP_BYTES];
        let begin = ticks();
        self.send.send(&bytes)?;
        while let Err(error) = self.receive.recv(&mut bytes) {
            if error.kind() != std::io::ErrorKind::WouldBlock {
                return Err(error);
            }
        }
        Ok(clock.between_ns(begin, ticks()))
    }
}

/// A bus, a link, and a bus.
struct RelayPath {
    name: &'static str,
    gateway: Gateway,
    send: Box<dyn Work>,
    receive: Box<dyn Work>,
    reader: Subscriber,
}

/// Both ends of a link.
type Ends = [Box<dyn Work>; 2];

impl RelayPath {
    /// Opens both buses, and the link with `begin`.
    fn open(
        name: &'static str,
        folder: &Path,
        batch_bytes_max: usize,
        begin: impl FnOnce(SendSettings, ReceiveSettings) -> Result<Ends, RunError>,
    ) -> Result<RelayPath, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::run(error.to_string());
        fs::create_dir_all(folder).map_err(Failure::run)?;
        let (near, far) = (folder.join("near"), folder.join("far"));
        let gateway = Gateway::start(&near)?;
        let settings = ReceiveSettings {
            root: Root::at(&far),
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
        let [send, receive] = begin(send_settings(&near, batch_bytes_max)?, settings)
            .map_err(|error| failed(&error))?;
        let join = Join {
            kinds: Kinds::TRADES,
            ..Join::default()
        };
        let reader = Subscriber::join(&Root::at(far), BUS, join);
        let mut path = RelayPath {
            name,
            gateway,
            send,
            receive,
            reader: reader.map_err(|error| failed(&error))?,
        };
        path.start()?;
        Ok(path)
    }

    /// Until a trade arrives: links connect, and the second bus restarts with the first batch.
    fn start(&mut self) -> Result<(), Failure> {
        for _ in 0..10_000 {
            let trade = self.gateway.publish();
            for _ in 0..200 {
                if self.turn()? == Some(trade) {
                    return Ok(());
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
        Err(Failure::run(format!("{}: no message arrives", self.name)))
    }

    /// One turn of both ends; the latest trade that the reader has.
    fn turn(&mut self) -> Result<Option<u64>, Failure> {
        for end in [&mut self.send, &mut self.receive] {
            end.work()
                .map_err(|error| Failure::run(error.to_string()))?;
        }
        Ok(self.latest())
    }

    /// The latest trade that arrived since the last call. Reads everything: a trade that is left to the next turn would cost both
    /// ends a turn without work.
    fn latest(&mut self) -> Option<u64> {
        let mut trade_id = None;
        let mut take = |item: Item<'_>| {
            if let Item::Update(received) = item
                && let Update::Trade(trade) = received.update
            {
                trade_id = Some(trade.trade_id);
            }
        };
        while self.reader.poll(&mut take) != Polled::Nothing {}
        trade_id
    }

    fn sample(&mut self, clock: &Clock) -> Result<u64, Failure> {
        let begin = ticks();
        let trade = self.gateway.publish();
        for _ in 0..TURNS_MAX {
            if self.turn()? == Some(trade) {
                let took = clock.between_ns(begin, ticks());
                // Outside of the measured time: the log's part of the command.
                while self.send.event().is_some() || self.receive.event().is_some() {}
                return Ok(took);
            }
        }
        Err(Failure::run(format!("{}: a message was lost", self.name)))
    }
}

fn source(name: &str) -> Result<Source, Failure> {
    Source::named(name).map_err(|error| Failure::run(error.to_string()))
}

/// Settings of the sending end, for the bus in this folder.
fn send_settings(folder: &Path, batch_bytes_max: usize) -> Result<SendSettings, Failure> {
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

fn tcp(folder: &Path) -> Result<RelayPath, Failure> {
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let near = TcpSend::bind(any_port, None, TcpSendSettings::default())
        .map_err(|error| Failure::run(error.to_string()))?;
    let far = TcpReceive::new(&near.address().to_string(), None);
    RelayPath::open("relay-tcp", folder, 32 * 1024, |send, receive| {
        Ok([send_tcp(send, near)?, receive_tcp(receive, far)?])
    })
}

#[cfg(feature = "aeron")]
mod aeron {
    use super::plain::Plain;
    use super::*;
    use std::rc::Rc;
    use touchline_aeron::{Client, Driver, DriverSettings, Error};
    use touchline_relay::HEAD_BYTES;
    use touchline_relay::batch::MESSAGE_LENGTH_BYTES;
    use touchline_relay::link::aeron::{AeronReceive, AeronSend};
    use touchline_relay::start::{receive_aeron, send_aeron};

    /// The relay over unicast and over a group, and plain Aeron with the datagram of one trade; each end with a driver of its own.
    pub fn subjects(folder: &Path) -> Result<Vec<Subject>, Failure> {
        let group = format!(
            "aeron:udp?endpoint=239.255.40.47:{}|interface=127.0.0.1",
            port()?
        );
        let channels = [
            ("relay-aeron-udp", unicast()?),
            ("relay-aeron-multicast", group),
        ];
        let open =
            |(name, channel): (&'static str, String)| open(name, &folder.join(name), &channel);
        let relays: Result<Vec<_>, _> = channels.into_iter().map(open).collect();
        let mut subjects: Vec<_> = relays?.into_iter().map(Subject::relay).collect();
        let mut plain = Plain::open(&folder.join("plain"))?;
        let length = HEAD_BYTES + MESSAGE_LENGTH_BYTES + payload_bytes() as usize;
        let sample = move |clock: &Clock| plain.sample(length, clock);
        subjects.push(Subject::new("aeron-udp", length as u64, sample));
        Ok(subjects)
    }

    /// Both buses with a link over this channel.
    pub fn open(name: &'static str, folder: &Path, channel: &str) -> Result<RelayPath, Failure> {
        fs::create_dir_all(folder).map_err(Failure::run)?;
        let (near, far) =
            links(folder, channel).map_err(|error| Failure::run(format!("{channel}: {error}")))?;
        RelayPath::open(name, folder, near.batch_bytes_max(), |send, receive| {
            Ok([send_aeron(send, near)?, receive_aeron(receive, far)?])
        })
    }

    /// A channel of the loopback that no other process uses now.
    pub fn unicast() -> Result<String, Failure> {
        Ok(format!("aeron:udp?endpoint=127.0.0.1:{}", port()?))
    }

    fn port() -> Result<u16, Failure> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(Failure::run)?;
        let address = socket.local_addr().map_err(Failure::run)?;
        Ok(address.port())
    }

    /// A client with a driver in this folder.
    pub fn client(folder: &Path) -> Result<Rc<Client>, Error> {
        let settings = DriverSettings {
            term_bytes: 1024 * 1024,
            ..DriverSettings::at(folder.to_owned())
        };
        Ok(Rc::new(Client::embedded(Driver::start(&settings)?)?))
    }

    /// Both ends of a link, each with a driver of its own.
    fn links(folder: &Path, channel: &str) -> Result<(AeronSend, AeronReceive), Error> {
        let send = AeronSend::open(client(&folder.join("driver-a"))?, channel, 340, None)?;
        let timeout_ns = 10_000 * MS;
        let here = client(&folder.join("driver-b"))?;
        let receive = AeronReceive::open(here, channel, 340, None, timeout_ns, Vec::new())?;
        Ok((send, receive))
    }
}
