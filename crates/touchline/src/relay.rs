//! `touchline relay`: buses of other hosts.

mod report;

use crate::interrupt::{Ending, Interrupt};
use crate::log::{Log, LogArguments, LogThread, events as event};
use crate::output::{Failure, ended, log_thread, no_thread};
use crate::place::bus_name;
use report::report;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use touchline_gateway::bus;
use touchline_gateway::live::bind_to;
use touchline_relay::Source;
use touchline_relay::config::{Address, Config, ReceiveConfig, SendConfig, Wait};
use touchline_relay::run::RunEvent;
use touchline_relay::start::{StartError, Started, Thread, start};
use touchline_transport::{BackOff, Idle, Idler};

/// Send a bus to other hosts, or receive one: readers there find the same books.
///
/// The sending relay reads the bus as any reader, and never makes a gateway wait. The receiving relay writes a bus of its own
/// host; books are live there while the link and the publisher behind it are up, and stale within 350 ms otherwise.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Bus to send.
    #[arg(value_name = "BUS", value_parser = bus_name, requires = "to", conflicts_with_all = ["from", "config"])]
    sent: Option<String>,
    /// Address to listen on for receivers: tcp://ADDRESS:PORT.
    #[arg(long, value_name = "ADDRESS", requires = "sent")]
    to: Option<Address>,
    /// Sender to receive from: tcp://HOST:PORT.
    #[arg(
        long,
        value_name = "ADDRESS",
        requires = "bus",
        conflicts_with = "config"
    )]
    from: Option<Address>,
    /// Bus to write on this host.
    #[arg(long, value_name = "NAME", value_parser = bus_name, requires = "from")]
    bus: Option<String>,
    /// Sending: name of the origin. Receiving: the only origin that is accepted. Default: any.
    #[arg(long, value_name = "NAME", value_parser = source, conflicts_with = "config")]
    source: Option<Source>,
    /// Number of the stream of an Aeron channel.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 340,
        conflicts_with = "config"
    )]
    stream: i32,
    /// Aeron channel of requests for a refresh, on the stream behind that of the data.
    #[arg(long, value_name = "CHANNEL", conflicts_with = "config")]
    control: Option<String>,
    /// Also send a bus that a relay writes.
    #[arg(long, requires = "sent")]
    forward: bool,
    /// Links from a file (TOML); docs/relay.md lists the settings.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["sent", "from"])]
    config: Option<PathBuf>,
    /// Directory of the buses. Default: /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    ending: Ending,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline relay cme-340 --to tcp://0.0.0.0:7340                 # on the host of the gateway
  touchline relay --from tcp://gw1:7340 --bus cme-340             # on another host
  touchline relay --config relay.toml                             # many links in one process
  touchline relay cme-340 --to 'aeron:udp?endpoint=239.10.0.41:40456|interface=10.0.0.0/24'
                               # a multicast group, in a build with the feature aeron

Watch it with `touchline stat`, `top` and `metrics`: relay_up of the received bus is 1 while its
books have the same validity as the sender's.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: an address is in use, a bus is written by another process
  2  bad arguments or configuration: a later try fails the same way";

fn source(name: &str) -> Result<Source, String> {
    Source::named(name).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.config()?;
    let interrupt = arguments.ending.catch()?;
    let mut log = log_thread(Log::to_stderr(arguments.log, Vec::new()))?;
    let dir = arguments.dir.as_deref().or(config.directory.as_deref());
    let links = start(&config, &bus::root(dir), &host());
    let outcome = links.map_err(|error| refused(&error)).and_then(|links| {
        let end = arguments.ending.after();
        serve(&config, links, &interrupt, end, &mut log)
    });
    ended(outcome.map(|()| String::new()), log)
}

/// Reads the links of a file; an error names every mistake.
fn read(path: &Path) -> Result<Config, Failure> {
    let text = touchline_credentials::read_config(path).map_err(Failure::usage)?;
    Config::from_text(path, &text).map_err(Failure::file)
}

impl Arguments {
    fn config(&self) -> Result<Config, Failure> {
        if let Some(path) = &self.config {
            return read(path);
        }
        let mut config = Config::default();
        if let (Some(bus), Some(to)) = (&self.sent, &self.to) {
            config.send.push(SendConfig {
                source: self.source,
                forward: self.forward,
                stream: self.stream,
                control: self.control.clone(),
                ..SendConfig::new(bus, to.clone())
            });
        }
        if let (Some(bus), Some(from)) = (&self.bus, &self.from) {
            config.receive.push(ReceiveConfig {
                source: self.source,
                stream: self.stream,
                control: self.control.clone(),
                ..ReceiveConfig::new(from.clone(), bus)
            });
        }
        Ok(config)
    }
}

/// Name of this host; empty if the system has none: the settings must then give the name of an origin.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn refused(error: &StartError) -> Failure {
    match error {
        StartError::Setting(_) => Failure::usage(error),
        StartError::Listen { .. } | StartError::Run(_) => Failure::run(error),
    }
}

/// An event, and which link it is of.
type LinkReport = (usize, RunEvent);

/// Maximum number of events that wait for the log; further events are dropped, and visible in counters only.
const EVENTS_MAX: usize = 1_024;

fn serve(
    config: &Config,
    links: Vec<Started>,
    interrupt: &Interrupt,
    end: Option<Duration>,
    log: &mut LogThread,
) -> Result<(), Failure> {
    let names: Vec<String> = links.iter().map(name).collect();
    for link in &names {
        log.write(&event::RELAY_STARTED, [("link", link.as_str().into())]);
    }
    // Links that send are behind those that receive.
    let sending = names.iter().skip(config.receive.len()).zip(&config.send);
    for (name, link) in sending.filter(|(_, link)| link.has_rare_heartbeats()) {
        let fields = [
            ("link", name.as_str().into()),
            ("heartbeat_ms", link.heartbeat_ms.into()),
        ];
        log.write(&event::RELAY_HEARTBEATS_RARE, fields);
    }
    let (reports, events) = sync_channel(EVENTS_MAX);
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let stop = &stop;
        let worker = thread::Builder::new()
            .name("relay".to_owned())
            .spawn_scoped(scope, move || work(config, links, stop, &reports))
            .map_err(no_thread)?;
        let start = Instant::now();
        while !worker.is_finished()
            && !interrupt.is_asked()
            && end.is_none_or(|end| start.elapsed() < end)
        {
            thread::sleep(Duration::from_millis(20));
            write_events(&events, &names, log);
        }
        stop.store(true, Ordering::Relaxed);
        let joined = worker.join();
        write_events(&events, &names, log);
        joined.map_err(|_| {
            Failure::run(
                "the relay's thread panicked: a bug of touchline; please report the lines above",
            )
        })?
    });
    if outcome.is_ok() {
        log.write(&event::STOPPED, []);
    }
    outcome
}

/// Name of a link in the log: from where to where.
fn name(link: &Started) -> String {
    match link.sends {
        true => format!("{}>{}", link.bus, link.address),
        false => format!("{}>{}", link.address, link.bus),
    }
}

/// The duty cycle of all links.
fn work(
    config: &Config,
    links: Vec<Started>,
    stop: &AtomicBool,
    reports: &SyncSender<LinkReport>,
) -> Result<(), Failure> {
    if let Some(processor) = config.cpu_affinity {
        bind_to(processor).map_err(Failure::usage)?;
    }
    let mut shared = Thread::default();
    let begun = links.into_iter().map(|link| (link.begin)(&mut shared));
    let mut links: Vec<_> = begun.collect::<Result<_, _>>().map_err(Failure::run)?;
    let mut idler = Idler::new(match config.wait {
        Wait::Spin => Idle::BusySpin,
        Wait::BackOff => Idle::BackOff(BackOff::default()),
    });
    while !stop.load(Ordering::Relaxed) {
        let mut work = 0;
        for (number, link) in links.iter_mut().enumerate() {
            work += link.work().map_err(Failure::run)?;
            while let Some(event) = link.event() {
                // A log that is far behind misses it.
                let _ = reports.try_send((number, event));
            }
        }
        idler.idle(work);
    }
    links.into_iter().for_each(|link| link.finish());
    Ok(())
}

/// Without room in the log the events wait.
fn write_events(events: &Receiver<LinkReport>, names: &[String], log: &mut LogThread) {
    while log.is_ready()
        && let Ok((number, event)) = events.try_recv()
    {
        report(&names[number], event, log);
    }
}
