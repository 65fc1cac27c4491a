//! `touchline bench feed`: an exchange's packets through sockets, a gateway and its bus to a consumer.

mod arguments;
mod case;
mod consumer;
mod gateway;
mod places;
mod reception;
mod report;
mod sent;
mod table;
mod text;

pub use arguments::Arguments;
pub use gateway::GatewayArguments;

use super::market::MarketName;
use super::progress::Progress;
use super::run::{Run, failure};
use crate::output::Failure;
use crate::print::print_line;
use arguments::PAUSED;
use case::{Case, Outcome};
use clap::ValueEnum;
use consumer::{consume, join};
use hdrhistogram::Histogram;
use reception::Reception;
use report::Report;
pub use report::histogram;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::across::{Across, Side, card};
use touchline_lab::bench::feed::{Sending, send};
use touchline_lab::bench::ipc::{Folder, Part, Peer, Role, lower_bound, pin, say_ready};
use touchline_lab::capture::Line;
use touchline_transport::clock::Clock;
use touchline_transport::shm::{CountersView, Root};

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
                0 if is_end && lost.is_none() => {
                    report.highest(reached, true);
                    return Ok(());
                }
                0 => kept = f64::max(kept, reached),
                // A loss below a rate without one is the host's.
                _ => lost = Some(reached.min(rate).max(kept)),
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
            warmup: 0,
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
        let mut sender = self.start_sender(case, shares_cpu)?;
        // The table shows its rows.
        let mut progress = (!self.arguments.table).then(|| Progress::new(case.packets, "packets"));
        let mut show = |packets| {
            if let Some(progress) = &mut progress {
                progress.at(packets);
            }
        };
        let consumed = match subscriber {
            Some(subscriber) => Some(consume(subscriber, clock, shares_cpu, show)),
            None => {
                wait_for(&mut sender, case, &mut show);
                None
            }
        };
        drop(progress);
        let sent = sender.finish().map_err(failure)?;
        let of_gateway = gateway.finish().map_err(failure)?;
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
            of_gateway: of_gateway.parse()?,
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

/// Waits until a sender with pauses has ended; `progress` receives the number of packets by its schedule.
fn wait_for(sender: &mut Peer, case: Case, progress: &mut impl FnMut(u64)) {
    const EACH: Duration = Duration::from_millis(200);
    let begun = Instant::now();
    while !case.every.is_zero() && !sender.has_ended() {
        std::thread::sleep(EACH);
        let sent = begun.elapsed().as_nanos() / case.every.as_nanos();
        progress((sent as u64).min(case.packets));
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
    print_line!("{sent}");
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
