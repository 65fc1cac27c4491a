//! `touchline load`: sustained rate, latency and cost of each transport.

mod arguments;
mod metrics;
mod session;

use crate::interrupt::Interrupt;
use crate::output::{Failure, Output, notice, say};
use metrics::Metrics;
use session::Session;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;
use touchline_lab::bench::Host;
use touchline_load::clock::Timebase;
use touchline_load::limits::Limits;
use touchline_load::part;
use touchline_load::ramp::{self, Ramp};
use touchline_load::remote::{Agent, Peer};
use touchline_load::report::{self, Facts};
use touchline_load::row::Row;
use touchline_load::schedule::Profile;
use touchline_load::step::{Settings, Subject};
use touchline_load::subject::Kind;
use touchline_load::wait::Wait;
use touchline_load::{Failed, hlog};

/// Raise the rate of each transport until it no longer keeps up, and show latency, processors, memory and network.
///
/// A publisher sends messages of 70 bytes on a fixed schedule; readers check every message. Latency is measured from the scheduled
/// time. A rate is sustained if every message arrives once and in order, and the median is below the limit.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Transports to measure. Default: all transports of this build.
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// A process of a step, with its role.
    #[arg(long, value_name = "ROLE", hide = true, exclusive = true)]
    role: Option<String>,
    /// Rates in messages a second, rising, such as 10k,100k,1M; without them the ramp from 10k to 30M.
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = arguments::rate)]
    rates: Vec<u64>,
    /// Rates tried between the last that was sustained and the first that was not.
    #[arg(long, value_name = "N", default_value_t = 2)]
    halvings: u32,
    /// Rounds of the whole ramp.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measured seconds of a step.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = arguments::seconds)]
    seconds: f64,
    /// Seconds of a step before the measured ones.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = arguments::seconds)]
    warmup: f64,
    /// Shape of the load: steady; bursts of 100 messages; sparse, which is 100 messages a second.
    #[arg(long, value_enum, default_value = "steady")]
    profile: arguments::Shape,
    /// Readers, each a process; several numbers are measured alternately.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u8).range(1..=16))]
    readers: Vec<u8>,
    /// One more reader, not measured, that spends this time on each message.
    #[arg(long, value_name = "MICROSECONDS")]
    slow: Option<u64>,
    /// How idle processes wait; the same for all subjects.
    #[arg(long, value_enum, default_value = "spin")]
    wait: arguments::Waiting,
    /// Processors of the publisher and of the first reader; further readers alternate.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = crate::bench::ipc::cpus)]
    cpus: (usize, usize),
    /// Longest median of a rate that is sustained, such as 1ms.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = crate::format::time)]
    p50_max: Duration,
    /// Longest 99th percentile of a rate that is sustained.
    #[arg(long, value_name = "TIME", value_parser = crate::format::time)]
    p99_max: Option<Duration>,
    /// Interface whose bytes and packets are counted.
    #[arg(long, value_name = "NAME", default_value = "lo")]
    interface: String,
    /// Transports of other programs, such as zeromq-tcp. Build them with competitors/install.
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    against: Vec<String>,
    /// Folder of those programs.
    #[arg(long, value_name = "DIR", default_value = "competitors/target/bin")]
    rivals: PathBuf,
    /// A test of correctness that takes seconds: two low rates, no limit of latency. Exit status 1 if a message is torn or doubled,
    /// or lost by a transport that may not lose any: reliable ones, and buses and relays whose rings hold the whole step.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line instead of a table.
    #[arg(long)]
    json: bool,
    /// Write the rows as JSON lines to this file, too.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write all histograms to this file, in HdrHistogram's interval log.
    #[arg(long, value_name = "FILE")]
    hlog: Option<PathBuf>,
    /// Write a page with charts to this file; it works without a network.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Serve the latest step of each subject to Prometheus while the test runs; port 0 is any free port.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Run readers on the host of this agent: the other host of a measurement between two.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["from", "against"])]
    peer: Option<SocketAddrV4>,
    /// Be that agent: run readers for every host that connects, until Ctrl-C. For a test network only.
    #[arg(long, value_name = "ADDRESS:PORT", exclusive = true)]
    serve: Option<SocketAddrV4>,
    /// Measure nothing: read the rows of an earlier run from this file.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline load --output load.jsonl --report load.html
  touchline load touchline tcp --rates 10k,100k --rounds 1
  touchline load --profile bursts --readers 1,3
  touchline load --from load.jsonl --report load.html
  touchline load --quick
  touchline load --serve 10.0.0.8:7350              # host B
  touchline load tcp touchline-relay-tcp --peer 10.0.0.8:7350

Exit status 1 if a message was torn or doubled, or lost where none may be.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(role) = &arguments.role {
        // The process that started this one reports why.
        return part::play(role).map_err(|_| Failure::Logged(1));
    }
    if let Some(address) = arguments.serve {
        return serve(address);
    }
    if let Some(file) = &arguments.from {
        let (rows, facts) = session::read(file)?;
        return arguments.write(&rows, &facts);
    }
    let subjects = arguments.find_subjects()?;
    let peer = arguments
        .peer
        .map(Peer::find)
        .transpose()
        .map_err(failure)?;
    let clock = Timebase::new();
    let entries: Vec<(Subject, Settings)> = arguments
        .readers
        .iter()
        .flat_map(|readers| {
            let mut settings = arguments.settings(usize::from(*readers), clock);
            settings.peer = peer.clone();
            subjects
                .iter()
                .map(move |subject| (subject.clone(), settings.clone()))
        })
        .collect();
    let facts = arguments.facts(&subjects);
    let ramp = arguments.ramp();
    let metrics = arguments.metrics.map(Metrics::serve).transpose()?;
    let mut session = Session::begin(
        entries,
        arguments.json,
        arguments.output.as_deref(),
        metrics,
        &facts,
    )?;
    let rows = ramp::run(&ramp, session.subjects(), &mut session).map_err(failure)?;
    session.end(&rows)?;
    arguments.write(&rows, &facts)?;
    let may_not_lose = |row: &Row| {
        let name = row.subject.split(' ').next();
        let mut own = subjects.iter();
        own.any(|subject| name == Some(subject.name.as_str()) && subject.may_not_lose(row))
    };
    match ramp::faults(&rows, may_not_lose).first() {
        Some(fault) => Err(Failure::run(fault)),
        None => Ok(()),
    }
}

/// Runs readers for a controller on another host.
fn serve(address: SocketAddrV4) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let program = std::env::current_exe().map_err(Failure::run)?;
    let agent = Agent::listen(address, program, &["load", "--role"]).map_err(failure)?;
    say(&format!(
        "listening on {}\n",
        agent.address().map_err(failure)?
    ))?;
    agent.run(|| interrupt.is_asked(), |why| notice(why));
    Ok(())
}

impl Arguments {
    fn find_subjects(&self) -> Result<Vec<Subject>, Failure> {
        let program = std::env::current_exe().map_err(Failure::run)?;
        let names = || Kind::ALL.iter().map(|(name, _)| *name);
        if let Some(unknown) = self
            .subjects
            .iter()
            .find(|wanted| !names().any(|name| name == wanted.as_str()))
        {
            let known: Vec<&str> = names().collect();
            return Err(Failure::usage(format!(
                "no transport {unknown:?} in this build; there are {}; those of other programs come with --against, those of Aeron with \
                 a build with --features aeron",
                known.join(", ")
            )));
        }
        if self.peer.is_some()
            && let Some(local) = self
                .subjects
                .iter()
                .find(|name| Kind::named(name).is_ok_and(|kind| !kind.is_of_a_network()))
        {
            return Err(Failure::usage(format!(
                "{local} is shared memory of one host; leave it out with --peer"
            )));
        }
        let is_wanted = |name: &str| match (self.subjects.is_empty(), self.against.is_empty()) {
            (true, _) => true,
            (false, _) => self.subjects.iter().any(|wanted| wanted == name),
        };
        let is_possible = |kind: Kind| self.peer.is_none() || kind.is_of_a_network();
        let own = Kind::ALL.iter();
        let own = own.filter(|(name, kind)| is_wanted(name) && is_possible(*kind));
        let mut subjects: Vec<Subject> = own
            .map(|(name, kind)| Subject::own(name, *kind, program.clone(), &["load", "--role"]))
            .collect();
        for name in &self.against {
            let program = self.rivals.join(name);
            if !program.is_file() {
                let program = program.display();
                return Err(Failure::usage(format!(
                    "{program}: not there; build it with competitors/install"
                )));
            }
            subjects.push(Subject::other(name, program));
        }
        Ok(subjects)
    }

    fn settings(&self, readers: usize, clock: Timebase) -> Settings {
        let (measuring, other) = self.cpus;
        let mut settings = Settings {
            profile: match self.profile {
                arguments::Shape::Bursts => Profile::Bursts,
                arguments::Shape::Steady | arguments::Shape::Sparse => Profile::Steady,
            },
            readers,
            slow_us: self.slow,
            warmup_s: self.warmup,
            measured_s: self.seconds,
            cpus: Some([measuring, other]),
            wait: match self.wait {
                arguments::Waiting::Sleep => Wait::Sleep,
                // Processes that share a processor let each other run.
                arguments::Waiting::Spin if readers > 1 || self.slow.is_some() => Wait::Yield,
                arguments::Waiting::Spin => Wait::Spin,
            },
            interface: self.interface.clone(),
            limits: Limits {
                p50_max: self.p50_max,
                p99_max: self.p99_max,
                ..Limits::default()
            },
            clock,
            peer: None,
        };
        if self.quick {
            settings.warmup_s = 0.1;
            settings.measured_s = 0.4;
            settings.cpus = None;
            settings.wait = Wait::Sleep;
            settings.limits = Limits::NONE;
        }
        settings
    }

    fn ramp(&self) -> Ramp {
        let default = Ramp::default();
        let rates = match (&self.rates[..], self.profile) {
            ([], _) if self.quick => vec![2_000, 20_000],
            ([], arguments::Shape::Sparse) => vec![100],
            ([], _) => default.rates,
            (rates, _) => rates.to_vec(),
        };
        match self.quick {
            true => Ramp {
                rates,
                halvings: 0,
                rounds: 1,
            },
            false => Ramp {
                rates,
                halvings: self.halvings,
                rounds: self.rounds,
            },
        }
    }

    fn facts(&self, subjects: &[Subject]) -> Facts {
        let given: Vec<String> = std::env::args().skip(1).collect();
        let readers = self.peer.map(|agent| {
            let text = "latencies are of two clocks, with the error that each row states";
            (
                "readers".to_owned(),
                format!("on the host of {agent}; {text}"),
            )
        });
        let mut facts = Facts {
            rows: vec![
                ("host".to_owned(), Host::here().to_string()),
                (
                    "build".to_owned(),
                    format!("touchline {}", crate::version::LONG),
                ),
                (
                    "command".to_owned(),
                    format!("touchline {}", given.join(" ")),
                ),
                (
                    "message".to_owned(),
                    "70 bytes: SBE header 8, symbol 30, bid and ask, ts_event".to_owned(),
                ),
            ],
            subjects: subjects
                .iter()
                .map(|subject| (subject.name.clone(), subject.settings.clone()))
                .collect(),
        };
        facts.rows.extend(readers);
        facts
    }

    /// The files beside the rows.
    fn write(&self, rows: &[Row], facts: &Facts) -> Result<(), Failure> {
        if let Some(path) = &self.hlog {
            let mut text = Vec::new();
            hlog::write(rows, &mut text).map_err(failure)?;
            write(path, &String::from_utf8_lossy(&text))?;
        }
        if let Some(path) = &self.report {
            write(path, &report::page(rows, facts))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut output = Output::open(path)?;
    output.text(text)?;
    output.finish()
}

fn failure(Failed(why): Failed) -> Failure {
    Failure::run(why)
}
