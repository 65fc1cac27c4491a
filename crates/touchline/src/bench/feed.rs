//! `touchline bench feed`: an exchange's packets through sockets, a gateway and its bus to a consumer.

mod consumer;
mod gateway;
mod report;
mod sent;
mod table;

pub use gateway::GatewayArguments;

use super::ipc::failure;
use super::market::MarketName;
use super::run::{Common, Run};
use crate::output::Failure;
use clap::ValueEnum;
use consumer::{Consumed, consume, join};
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressDrawTarget};
pub use report::histogram;
use report::{Report, from_text};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use touchline_gateway::config::Receive;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::across::{Across, Side, card};
use touchline_lab::bench::feed::{Sending, SentReport, send};
use touchline_lab::bench::ipc::{Folder, Part, Peer, Role, lower_bound, pin, say_ready};
use touchline_lab::capture::Line;
use touchline_transport::clock::Clock;
use touchline_transport::shm::{CountersView, Root};

/// An exchange's packets through sockets, a gateway and its bus to a consumer.
///
/// Three processes: a sender of the incremental feed of a generated CME market to multicast groups, a live gateway on
/// all eight groups of the channel, and a consumer of the bus. Three parts: packets with pauses, packets without, and a
/// search for the highest rate without loss. With --table, sockets and frames (AF_XDP) alternating, as vendors publish it.
/// Over virtual cards there is no consumer: sender and gateway have a processor each.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The tables that vendors publish: application and network level, with pauses and without, for sockets and frames
    /// (AF_XDP), over virtual cards and without a consumer. Needs root and `ip`.
    #[arg(long, conflicts_with_all = ["pause_us", "rate", "search", "seconds", "receive", "interface"])]
    table: bool,
    /// Cross a pair of virtual cards between two network namespaces, and receive in this way, without a consumer; times are
    /// from the sender's clock. Needs root and `ip`.
    #[arg(long, value_enum, conflicts_with = "interface")]
    receive: Option<Reception>,
    /// The gateway keeps the data of the last instruments in the caches.
    #[arg(long, conflicts_with = "table")]
    keep_warm: bool,
    /// The generated market.
    #[arg(long, value_enum, default_value = "mixed")]
    market: MarketName,
    /// Packets of a single case, or with pauses of each row of --table; without it and --pause-us, both cases and the
    /// search for the rate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packets: Option<u64>,
    /// Packets of the case without pauses, and of each row of --table without them.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    stream_packets: u64,
    /// Rounds of --table, which alternate between the rows.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..), requires = "table")]
    rounds: u64,
    /// Pause between two packets of a single case, microseconds; 0 is as fast as the kernel accepts
    /// them.
    #[arg(long, value_name = "US")]
    pause_us: Option<u64>,
    /// Packets a second of a single case.
    #[arg(long, value_name = "N", conflicts_with = "pause_us", value_parser = clap::value_parser!(u64).range(1..))]
    rate: Option<u64>,
    /// Only search for the highest rate.
    #[arg(long, conflicts_with_all = ["packets", "pause_us", "rate"])]
    search: bool,
    /// Duration of each rate in the search, seconds.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    seconds: f64,
    /// Processors: of the sender, the gateway and the consumer.
    #[arg(long, value_name = "A,B,C", value_parser = three)]
    cpus: Option<[usize; 3]>,
    /// Name or address of the interface.
    #[arg(long, value_name = "NAME", default_value = "lo")]
    interface: String,
    /// Maximum number of packets that one system call of the gateway receives; 1 is recvmsg, more
    /// is recvmmsg.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    batch: u16,
    /// Receive buffer of each socket, bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 8 * 1024 * 1024)]
    receive_buffer_bytes: usize,
    /// Seed of the market.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

const AFTER_HELP: &str = "\
Examples:
  touchline bench feed
  touchline bench feed --packets 20000 --pause-us 5000 --cpus 2,3,4
  touchline bench feed --search --seconds 0.5
  touchline bench feed --table --market channel-360
  touchline bench feed --packets 500000 --rate 100000 --batch 8 --json

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments";

/// Packets of the case with pauses, and the time between them.
const PAUSED: (u64, Duration) = (20_000, Duration::from_millis(5));

/// A way of receiving packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reception {
    /// Sockets of the kernel.
    Sockets,
    /// Frames of the interface (AF_XDP), by its driver.
    Xdp,
    /// Frames of the interface (AF_XDP), in the kernel's generic mode.
    XdpGeneric,
}

impl Reception {
    /// As in a configuration.
    pub fn receive(self) -> Receive {
        match self {
            Reception::Sockets => Receive::Sockets,
            Reception::Xdp => Receive::Xdp,
            Reception::XdpGeneric => Receive::XdpGeneric,
        }
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Reception::Sockets => "sockets",
            Reception::Xdp => "xdp",
            Reception::XdpGeneric => "xdp-generic",
        }
    }
}

/// One case: packets and schedule.
#[derive(Clone, Copy, Debug)]
struct Case {
    packets: u64,
    /// Time from one packet to the next; zero is as fast as the kernel accepts them.
    every: Duration,
    /// Whether there is a consumer.
    consumed: bool,
    reception: Reception,
    keep_warm: bool,
}

/// Result of a case.
struct Outcome {
    case: Case,
    sent: SentReport,
    /// Counters of the gateway, by name.
    counted: Vec<(String, u64)>,
    /// Histograms of the gateway, by name, nanoseconds.
    histograms: Vec<(String, Histogram<u64>)>,
    consumed: Option<Consumed>,
    /// From the sender's clock to the kernel's timestamp; empty over one interface, and of frames.
    stamped_ns: Histogram<u64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let cpus = arguments.cpus.unwrap_or_else(default_cpus);
    let crosses = arguments.crosses();
    let across = crosses.then(|| Across::new(table::PAIRS)).transpose();
    let round = arguments.market.market().rounds(arguments.seed, &[Line::A]);
    let bench = Bench {
        arguments,
        cpus,
        across: across.map_err(failure)?.map(Arc::new),
        packet_bytes: round.packet_bytes(),
    };
    let run = Run::begin(&arguments.common);
    let mut report = Report::new(run, &round, crosses);
    drop(round);
    report.head(arguments, cpus, &bench.lower_bound()?);
    match arguments.one_case() {
        _ if arguments.table => table::run(&bench, &mut report)?,
        Some(case) => report.case(&bench.case(case)?),
        None if arguments.search => bench.search(&mut report)?,
        None => bench.all(&mut report)?,
    }
    report.end()
}

impl Arguments {
    /// The requested single case.
    fn one_case(&self) -> Option<Case> {
        let every = match (self.rate, self.pause_us) {
            (Some(rate), _) => Duration::from_secs(1).div_f64(rate as f64),
            (None, Some(pause_us)) => Duration::from_micros(pause_us),
            (None, None) => Duration::ZERO,
        };
        let is_asked = self.packets.is_some() || self.rate.is_some() || self.pause_us.is_some();
        let paused = every >= Duration::from_millis(1);
        let usual = match paused {
            true => PAUSED.0,
            false => self.stream_packets,
        };
        is_asked.then(|| self.case(self.packets.unwrap_or(usual), every))
    }

    /// A case with a consumer, unless packets cross virtual cards.
    fn case(&self, packets: u64, every: Duration) -> Case {
        Case {
            packets,
            every,
            consumed: !self.crosses(),
            reception: self.receive.unwrap_or(Reception::Sockets),
            keep_warm: self.keep_warm,
        }
    }

    /// Whether packets cross virtual cards.
    fn crosses(&self) -> bool {
        self.table || self.receive.is_some()
    }

    /// Whether a case has a consumer.
    fn has_consumer(&self) -> bool {
        !self.crosses() && !self.search
    }
}

/// A running benchmark.
struct Bench<'a> {
    arguments: &'a Arguments,
    /// Processors of the sender, the gateway and the consumer.
    cpus: [usize; 3],
    /// Virtual cards that the packets cross; else one interface.
    across: Option<Arc<Across>>,
    /// Mean bytes of a packet.
    packet_bytes: u64,
}

impl Bench<'_> {
    /// Both cases and the search.
    fn all(&self, report: &mut Report) -> Result<(), Failure> {
        let stream = (self.arguments.stream_packets, Duration::ZERO);
        for (packets, every) in [PAUSED, stream] {
            report.case(&self.case(self.arguments.case(packets, every))?);
        }
        self.search(report)
    }

    /// Doubles the rate until packets are lost or the sender cannot send faster, then bisects. Runs
    /// without a consumer, so that the sender has its processor.
    fn search(&self, report: &mut Report) -> Result<(), Failure> {
        const FIRST: f64 = 25_000.0;
        const HALVINGS: u32 = 4;
        let (mut kept, mut lost) = (0.0, None);
        let mut halvings = 0;
        while halvings <= HALVINGS {
            let rate = match lost {
                None => f64::max(FIRST, kept * 2.0),
                Some(lost) => f64::midpoint(kept, lost),
            };
            let packets = (rate * self.arguments.seconds.max(0.1)) as u64;
            let every = Duration::from_secs(1).div_f64(rate);
            let outcome = self.case(Case {
                consumed: false,
                ..self.arguments.case(packets, every)
            })?;
            report.rate(rate, &outcome);
            let reached = outcome.sent.per_s;
            // The sender cannot send faster: no higher rate can be tried.
            let is_end = reached < 0.9 * rate;
            match outcome.lost() {
                0 if is_end => {
                    report.highest(reached, true);
                    return Ok(());
                }
                0 => kept = reached,
                _ => lost = Some(reached.min(rate)),
            }
            halvings += u32::from(lost.is_some());
        }
        report.highest(kept, false);
        Ok(())
    }

    /// Round trip of a cache line between the gateway's processor and another one.
    fn lower_bound(&self) -> Result<Histogram<u64>, Failure> {
        const WARMUP: u64 = 1_000;
        const MESSAGES: u64 = 50_000;
        let folder = Folder::new().map_err(failure)?;
        let [sender, gateway, consumer] = self.cpus;
        let other = if consumer == gateway {
            sender
        } else {
            consumer
        };
        pin(gateway).map_err(failure)?;
        let lines = lower_bound::Lines::new(folder.path()).map_err(failure)?;
        let peer = super::ipc::start(&Role {
            part: Part::LowerBoundEcho,
            folder: folder.path().to_owned(),
            cpu: other,
            payload_bytes: 8,
            messages: WARMUP + MESSAGES,
            gather: 1,
            shares_cpu: false,
        })?;
        let mut round_trips = latency_histogram();
        lines.round_trips(WARMUP, MESSAGES, &mut round_trips);
        peer.finish().map_err(failure)?;
        Ok(round_trips)
    }

    /// Runs one case.
    fn case(&self, case: Case) -> Result<Outcome, Failure> {
        let folder = Folder::new().map_err(failure)?;
        // Private: a bus is refused in a directory that others can write to.
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder.path());
        made.map_err(Failure::run)?;
        let [sender_cpu, _, consumer_cpu] = self.cpus;
        // Before the gateway spins on this processor: a move away from it might never be scheduled
        // afterwards.
        pin(consumer_cpu).map_err(failure)?;
        let gateway = self.start_gateway(folder.path(), case)?;
        let subscriber = case.consumed.then(|| join(folder.path())).transpose()?;
        let shares_cpu = sender_cpu == consumer_cpu && case.consumed;
        let clock = Clock::calibrated();
        let sender = self.start_sender(case, shares_cpu)?;
        let bar = ProgressBar::with_draw_target(Some(case.packets), ProgressDrawTarget::stderr());
        let consumed = subscriber.map(|subscriber| {
            consume(subscriber, clock, shares_cpu, |packets| {
                bar.set_position(packets)
            })
        });
        bar.finish_and_clear();
        let sent = sender.finish().map_err(failure)?;
        let stamped = gateway.finish().map_err(failure)?;
        let counters_file =
            CountersView::open(&Root::at(folder.path()), gateway::BUS).map_err(Failure::run)?;
        let counters_file =
            counters_file.ok_or_else(|| Failure::run("the gateway left no counters"))?;
        Ok(Outcome {
            case,
            sent: sent.parse().map_err(failure)?,
            counted: counters_file
                .counters()
                .map(|(what, value)| (what.name.clone(), value))
                .collect(),
            histograms: counters_file
                .histograms()
                .map(|(what, view)| (what.name.clone(), histogram(&view)))
                .collect(),
            consumed,
            stamped_ns: from_text(&stamped)?,
        })
    }

    /// A process of this benchmark, on its side of the virtual cards if there are any.
    fn process(&self, role: &str, side: Side) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(Failure::run)?;
        let (mut command, interface) = match &self.across {
            Some(across) => (across.program(side, &program), card(side, table::GATEWAYS)),
            None => (Command::new(program), self.arguments.interface.clone()),
        };
        command.args(["bench", role, "--interface", &interface]);
        let market = self.arguments.market.to_possible_value();
        let market = market.expect("each market has a name");
        command.args(["--market", market.get_name()]);
        number(&mut command, "--network", network());
        number(&mut command, "--seed", self.arguments.seed);
        Ok(command)
    }

    fn start_gateway(&self, folder: &Path, case: Case) -> Result<Peer, Failure> {
        let mut command = self.process("feed-gateway", Side::Receives)?;
        let arguments = self.arguments;
        command.arg("--folder").arg(folder);
        command.args(["--receive", case.reception.name()]);
        if case.keep_warm {
            command.arg("--keep-warm");
        }
        if self.across.is_some() {
            command.arg("--from-sender");
        }
        number(&mut command, "--cpu", self.cpus[1]);
        number(&mut command, "--batch", arguments.batch);
        number(&mut command, "--buffer", arguments.receive_buffer_bytes);
        Peer::start(command).map_err(failure)
    }

    fn start_sender(&self, case: Case, shares_cpu: bool) -> Result<Peer, Failure> {
        let mut command = self.process("feed-sender", Side::Sends)?;
        number(&mut command, "--cpu", self.cpus[0]);
        number(&mut command, "--packets", case.packets);
        number(&mut command, "--every-ns", case.every.as_nanos());
        if shares_cpu {
            command.arg("--shares-cpu");
        }
        Peer::start(command).map_err(failure)
    }
}

impl Outcome {
    /// A counter of the gateway.
    fn counter(&self, name: &str) -> u64 {
        let found = self.counted.iter().find(|(counter, _)| counter == name);
        found.map_or(0, |(_, value)| *value)
    }

    /// Packets that were sent and not received by the gateway's sockets.
    fn lost(&self) -> u64 {
        let received = self.counter("packets_received");
        self.sent.packets.saturating_sub(received)
    }
}

/// The sender's process.
#[derive(Debug, clap::Args)]
pub struct SenderArguments {
    #[arg(long)]
    interface: String,
    #[arg(long)]
    cpu: usize,
    #[arg(long)]
    network: u8,
    #[arg(long, value_enum)]
    market: MarketName,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    packets: u64,
    #[arg(long)]
    every_ns: u64,
    #[arg(long)]
    shares_cpu: bool,
}

/// Runs the sender's process.
pub fn run_sender(arguments: &SenderArguments) -> Result<(), Failure> {
    let sending = Sending {
        interface: arguments.interface.clone(),
        cpu: arguments.cpu,
        network: arguments.network,
        shares_cpu: arguments.shares_cpu,
        market: arguments.market.market(),
        seed: arguments.seed,
        packets: arguments.packets,
        every: Duration::from_nanos(arguments.every_ns),
    };
    let sent = send(&sending, say_ready).map_err(failure)?;
    println!("{sent}");
    Ok(())
}

/// Runs the gateway's process.
pub fn run_gateway(arguments: &GatewayArguments) -> Result<(), Failure> {
    gateway::run(arguments)
}

/// Multicast groups of this run, by process id: see [`touchline_lab::bench::feed::group`].
fn network() -> u8 {
    16 + (std::process::id() % 200) as u8
}

fn number(command: &mut Command, name: &str, value: impl ToString) {
    command.args([name, &value.to_string()]);
}

/// Default processors; sender and consumer share one if there are only two.
fn default_cpus() -> [usize; 3] {
    match std::thread::available_parallelism().map_or(1, usize::from) {
        1 => [0, 0, 0],
        2 => [1, 0, 1],
        _ => [1, 0, 2],
    }
}

fn three(text: &str) -> Result<[usize; 3], String> {
    let cpus: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    let cpus = cpus.ok().and_then(|cpus| <[usize; 3]>::try_from(cpus).ok());
    match cpus {
        Some(cpus) if cpus[0] != cpus[1] && cpus[1] != cpus[2] => Ok(cpus),
        _ => {
            Err("give three processors, such as 1,0,2; the gateway's may not be shared".to_owned())
        }
    }
}
