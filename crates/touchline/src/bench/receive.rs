//! `touchline bench receive`: single receive calls against batches, and against frames (AF_XDP).

use super::ipc::cpus;
use super::run::{Common, Run, failure};
use crate::bench::progress::with_progress;
use crate::format::counted;
use crate::output::{Failure, notice};
use crate::print::print_line;
use serde_json::json;
use std::time::Duration;
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bench::Statistics;
use touchline_lab::bench::across::Across;
use touchline_lab::bench::receive::{Method, Network, Plan, Stream};
use touchline_net::LiveSource;
use touchline_net::xdp::Mode;
use touchline_transport::clock::Clock;

/// Cost of receiving a packet: one a system call, several, and frames of the interface (AF_XDP).
///
/// One thread sends and one receives, over one interface of this host. The ways of receiving
/// alternate, so that a disturbance of the host affects all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Maximum numbers of packets per system call, each a subject; 1 is recvmsg, more is recvmmsg.
    #[arg(long, value_name = "N", num_args = 1.., value_delimiter = ',', default_values_t = [1, 8, 32], value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: Vec<u16>,
    /// Name or address of the interface.
    #[arg(long, value_name = "NAME", default_value = "lo")]
    interface: String,
    /// Compare with AF_XDP, by the driver and in the generic mode. Packets then cross pairs of virtual cards between two network
    /// namespaces, which needs root and `ip`; at most 1472 bytes.
    #[arg(long, conflicts_with = "interface")]
    xdp: bool,
    /// Compare with calls that poll the card themselves for so long (`busy_poll_us`).
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(1..=1000))]
    busy_poll_us: Option<u32>,
    /// Bytes of a packet.
    #[arg(long, value_name = "BYTES", default_value_t = 200, value_parser = clap::value_parser!(u16).range(8..=9000))]
    payload: u16,
    /// Groups that are polled, two of them urgent; packets are sent to one of those.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=20))]
    groups: u8,
    /// Pause between two packets in the case with pauses, microseconds.
    #[arg(long, value_name = "US", default_value_t = 5000)]
    pause_us: u64,
    /// Packets with pauses, of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    packets: u64,
    /// Packets without pauses, of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..))]
    stream_packets: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Processors: of the receiving and of the sending side.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = cpus)]
    cpus: (usize, usize),
    #[command(flatten)]
    common: Common,
}

const AFTER_HELP: &str = "\
Examples:
  touchline bench receive
  touchline bench receive --groups 4 --batch 1,4,16 --json
  touchline bench receive --xdp --pause-us 50 --packets 20000

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments";

/// Results of one way of receiving, over all rounds.
struct Measured {
    name: String,
    pair: u8,
    source: LiveSource,
    call: Statistics,
    network: Statistics,
    sent: Statistics,
    streams: Vec<Stream>,
    backlog_ns: Vec<f64>,
    empty_ns: Vec<f64>,
}

/// Packets queued in the socket before they are received.
const BACKLOG_PACKETS: u64 = 2_000;

/// Polls without a packet.
const EMPTY_POLLS: u64 = 100_000;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.xdp && arguments.payload > 1_472 {
        return Err(Failure::usage(
            "--payload: AF_XDP takes whole packets, of at most 1472 bytes here",
        ));
    }
    let mut all: Vec<Method> = arguments
        .batch
        .iter()
        .map(|batch| Method::Calls((*batch).into()))
        .collect();
    all.extend(arguments.busy_poll_us.map(Method::BusyPoll));
    if arguments.xdp {
        all.extend([Mode::Driver, Mode::Generic].map(Method::Xdp));
    }
    let plan = Plan {
        network: match arguments.xdp {
            true => Network::Across(Across::new(all.len() as u8).map_err(failure)?.into()),
            false => Network::Interface(arguments.interface.clone()),
        },
        payload_bytes: usize::from(arguments.payload),
        groups: arguments.groups,
        cpus: arguments.cpus,
    };
    let run = Run::begin(&arguments.common);
    let clock = run.clock();
    let ways = all
        .into_iter()
        .zip(0..)
        .map(|(way, pair)| Measured::new(way, pair, &plan));
    let mut ways = ways.collect::<Result<Vec<_>, _>>()?;
    for _ in with_progress(0..arguments.rounds) {
        for way in &mut ways {
            way.round(arguments, &plan, &clock)?;
        }
    }
    report(arguments, &ways, &run);
    let each = ways
        .into_iter()
        .flat_map(|way| [way.call, way.network, way.sent]);
    run.write_distributions(&each.collect::<Vec<_>>())
}

impl Measured {
    fn new(method: Method, pair: u8, plan: &Plan) -> Result<Measured, Failure> {
        let (source, warnings) = plan.source(method, pair).map_err(failure)?;
        for warning in warnings {
            notice(warning);
        }
        let name = name(method);
        let statistics = |what: &str| {
            let empty = Statistics::new("receive", format!("{name}-{what}"), latency_histogram());
            empty.of_bytes(plan.payload_bytes as u64)
        };
        Ok(Measured {
            call: statistics("call"),
            network: statistics("network"),
            sent: statistics("sent"),
            name,
            pair,
            source,
            streams: Vec::new(),
            backlog_ns: Vec::new(),
            empty_ns: Vec::new(),
        })
    }

    fn round(&mut self, arguments: &Arguments, plan: &Plan, clock: &Clock) -> Result<(), Failure> {
        let source = &mut self.source;
        let pause = Duration::from_micros(arguments.pause_us);
        let paused = plan
            .paused((source, self.pair), arguments.packets, pause, clock)
            .map_err(failure)?;
        let same = "they have the same bounds";
        self.call.histogram.add(&paused.call_ns).expect(same);
        self.network.histogram.add(&paused.network_ns).expect(same);
        self.sent.histogram.add(&paused.sent_ns).expect(same);
        let stream = plan.stream((source, self.pair), arguments.stream_packets, clock);
        self.streams.push(stream.map_err(failure)?);
        let backlog_ns = plan
            .backlog(source, self.pair, BACKLOG_PACKETS)
            .map_err(failure)?;
        self.backlog_ns.push(backlog_ns);
        let empty_ns = plan.empty(source, EMPTY_POLLS).map_err(failure)?;
        self.empty_ns.push(empty_ns);
        Ok(())
    }

    /// Best round of each: packets received a second; nanoseconds per packet in calls, in a backlog, of an empty poll;
    /// and all lost packets. Differences from the best are mostly other load of the machine.
    fn best(&self) -> [f64; 5] {
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let streams = self.streams.iter();
        [
            streams
                .clone()
                .map(|s| s.received_per_s)
                .fold(0.0, f64::max),
            streams.clone().map(|s| s.lost as f64).sum(),
            streams.map(|s| s.call_ns).fold(f64::INFINITY, f64::min),
            least(&self.backlog_ns),
            least(&self.empty_ns),
        ]
    }
}

fn name(method: Method) -> String {
    match method {
        Method::Calls(1) => "recvmsg".to_owned(),
        Method::Calls(batch) => format!("recvmmsg-{batch}"),
        Method::BusyPoll(_) => "recvmsg-busy-poll".to_owned(),
        Method::Xdp(Mode::Driver) => "xdp".to_owned(),
        Method::Xdp(Mode::Generic) => "xdp-generic".to_owned(),
    }
}

fn report(arguments: &Arguments, ways: &[Measured], run: &Run) {
    if run.is_json() {
        ways.iter().for_each(|way| print_json(way, run));
        return;
    }
    run.print_head(&format!(
        "{} bytes on {}, {}, received on processor {}, sent on {}, {}, alternately",
        arguments.payload,
        match arguments.xdp {
            true => "virtual cards",
            false => &arguments.interface,
        },
        counted(arguments.groups.into(), "group"),
        arguments.cpus.0,
        arguments.cpus.1,
        counted(arguments.rounds.into(), "round"),
    ));
    print_line!("\none packet each {} us:", arguments.pause_us);
    print_line!("{}", Statistics::HEAD);
    for way in ways {
        print_line!("{}\n{}\n{}", way.call, way.network, way.sent);
    }
    print_line!("\nwithout pauses, the best round of each:");
    print_line!(
        "{:<28} {:>11} {:>8} {:>11} {:>11} {:>11}",
        "subject",
        "packets/s",
        "lost",
        "call",
        "backlog",
        "empty"
    );
    for way in ways {
        let [rate, lost, call, backlog, empty] = way.best();
        print_line!(
            "{:<28} {rate:>11.0} {lost:>8.0} {call:>11.0} {backlog:>11.0} {empty:>11.0}",
            way.name
        );
    }
    print_line!(
        "call: the call that brought the packet; network: from its timestamp (of AF_XDP: the poll) to the packet handed over; sent: from the sender's clock to it; backlog: a \
         packet of {BACKLOG_PACKETS} that are queued already; empty: a poll of all groups without a packet"
    );
    run.print_caveats();
}

fn print_json(way: &Measured, run: &Run) {
    run.print_json(way.call.to_json());
    run.print_json(way.network.to_json());
    run.print_json(way.sent.to_json());
    let best = way.best();
    let units = [
        ("rate", "msg/s"),
        ("lost", "packets"),
        ("stream-call", "ns"),
        ("backlog", "ns"),
        ("empty", "ns"),
    ];
    for ((what, unit), value) in units.into_iter().zip(best) {
        run.print_json(json!({
            "bench": "receive",
            "subject": format!("{}-{what}", way.name),
            "payload_bytes": way.call.payload_bytes,
            "unit": unit,
            "count": way.streams.len(),
            "value": value,
        }));
    }
}
