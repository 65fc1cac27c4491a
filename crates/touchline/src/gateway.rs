//! `touchline gateway`: one venue connection, live.

mod notify;
mod report;

use crate::interrupt::Interrupt;
use crate::log::Log;
use crate::output::{Failure, say};
use notify::Notify;
use report::Reporter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};
use touchline_gateway::cme::CmeMulticast;
use touchline_gateway::config::cme::ChannelConfig;
use touchline_gateway::config::{
    AnyConfig, Config, ConfigError, Duty, FixVenue, VenueConfig, bus_name,
};
use touchline_gateway::fix::{self, FixLink};
use touchline_gateway::live::{
    self, FeedLink, Gateway, LastError, Multicast, endpoints, socket_settings,
};
use touchline_gateway::{CountersFile, Recovery, Selected, bus, cme};
use touchline_net::clock::Clock;
use touchline_net::udp::UdpSource;
use touchline_transport::Idler;
use touchline_transport::shm::{CountersView, Publisher};

/// Connect to a venue, keep its books, and publish them in shared memory, until it is stopped.
///
/// One thread receives, decodes, keeps the books and publishes; the log is written by another one
/// from what the first counts. SIGTERM and Ctrl-C end it cleanly: what is on the bus stays, marked as
/// stale.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The configuration, a TOML file (docs/operations.md lists its settings).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Name of the bus, in place of the configuration's.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    bus: Option<String>,
    /// Directory of the buses, in place of the configuration's; by default /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Print the effective configuration as TOML, with what each setting means, and connect to nothing.
    #[arg(long)]
    print_config: bool,
    /// End by itself after so many seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// End when standard input does, for whoever starts this as a child.
    #[arg(long)]
    until_eof: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline gateway --config cme-340.toml
  touchline gateway --config cme-340.toml --print-config
  touchline sim cme --write sim &  touchline gateway --config sim/gateway.toml

Look at it with `touchline top`, `stat BUS`, `tail BUS` and `book BUS SYMBOL`.

Ready:
  It says `listening` when every group is joined and the bus is there, and `ready`
  when every definition was seen and every book is live; the counter `ready`
  of the bus is 1 then. Under systemd (Type=notify) `listening` is what counts
  as started, and the state of the books is in `systemctl status`.

Log:
  One line on standard error for each thing that happened; what happens all the
  time is said once a second, with its number.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: a socket, the bus, somebody else publishes on it, or an
     interface or address of this host is not there; another try may succeed
  2  bad arguments or configuration: another try fails the same way";

/// A gateway of one kind of venue.
type Live<L> = Gateway<L, Selected<Publisher>>;
type Channel = CmeMulticast<UdpSource>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = AnyConfig::read(&arguments.config);
    match config.map_err(|error| Failure::configuration(&error))? {
        AnyConfig::Cme(config) => arguments.run(config, open_channel),
        AnyConfig::Fix(config) => arguments.run(config, open_session),
    }
}

impl Arguments {
    fn run<V: VenueConfig, L: FeedLink + Send>(
        &self,
        mut config: Config<V>,
        open: impl FnOnce(&Config<V>, &mut Log) -> Result<Opened<L>, Failure>,
    ) -> Result<(), Failure>
    where
        L::Feed: Send,
    {
        if let Some(bus) = &self.bus {
            config.bus.clone_from(bus);
        }
        if let Some(dir) = &self.dir {
            config.publication.directory = Some(dir.clone());
        }
        if self.print_config {
            return say(&config.to_file());
        }
        let interrupt = Interrupt::catch()?;
        if self.until_eof {
            interrupt.at_end_of_input();
        }
        let mut log = Log::to_stderr(&format!("gateway {}", config.bus));
        try_affinity(&config.duty)?;
        let Opened {
            gateway,
            last_error,
            counters_file,
        } = open(&config, &mut log)?;
        let watch = Watch {
            interrupt,
            notify: Notify::from_environment(),
            counters_file,
            last_error,
            end: self.seconds.map(Duration::from_secs),
        };
        serve(gateway, &config.duty, watch, log)
    }
}

fn try_affinity(duty: &Duty) -> Result<(), Failure> {
    let Some(processor) = duty.loop_cpu_affinity else {
        return Ok(());
    };
    // Tried on a thread of its own: this one goes where it likes.
    let tried = thread::spawn(move || live::bind_to(processor)).join();
    tried
        .map_err(|_| Failure::run("a thread died; this is a mistake of ours"))?
        .map_err(Failure::usage)
}

/// A gateway that can begin.
struct Opened<L: FeedLink> {
    gateway: Live<L>,
    last_error: LastError,
    /// What it counts, as others see it.
    counters_file: Option<CountersView>,
}

/// The bus, and the board on it.
struct Published {
    publisher: Publisher,
    counters_file: CountersFile,
    view: Option<CountersView>,
    clock: Clock,
}

/// Begins the bus, before anybody is told that it is there: whoever is told may remove it.
fn publish<V: VenueConfig, L: FeedLink>(
    config: &Config<V>,
    log: &mut Log,
) -> Result<Published, Failure> {
    let publisher = bus::open(config).map_err(Failure::run)?;
    for warning in publisher.warnings() {
        log.say("bus", warning);
    }
    let clock = Clock::calibrated();
    let counters_file = CountersFile::create::<L::Feed>(&publisher, clock, Live::<L>::tables());
    let counters_file = counters_file.map_err(Failure::run)?;
    let root = bus::root(config.publication.directory.as_deref());
    Ok(Published {
        view: CountersView::open(&root, &config.bus).map_err(Failure::run)?,
        publisher,
        counters_file,
        clock,
    })
}

/// The sockets of a channel: everything that can be refused, before anything is done.
fn open_channel(config: &Config, log: &mut Log) -> Result<Opened<Channel>, Failure> {
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(|error| Failure::configuration(&error))?;
    let recovery = Recovery::open(config, &channel);
    let recovery = recovery.map_err(|error| Failure::configuration(&error))?;
    let endpoints = endpoints(config, &channel);
    let source = UdpSource::open(&endpoints, &socket_settings(config));
    let source = source.map_err(|error| Failure::source(&error))?;
    for warning in source.warnings() {
        log.say("socket", warning);
    }
    let Published {
        publisher,
        counters_file,
        view,
        clock,
    } = publish::<_, Channel>(config, log)?;
    log.say(
        "listening",
        format_args!(
            "listening: channel {} on {} groups of {}, publishing as epoch {}",
            channel.id,
            endpoints.len(),
            config
                .venue
                .interface
                .as_deref()
                .unwrap_or("the system's interface"),
            publisher.generation(),
        ),
    );
    let reach = recovery.as_ref().map(Recovery::reach);
    let pipeline = cme::live_pipeline(config, reach, publisher);
    let link = Multicast::new(source, channel.routes().clone(), recovery);
    Ok(Opened {
        gateway: Gateway::new(link, pipeline, Some(counters_file), clock, &config.duty),
        last_error: LastError::default(),
        counters_file: view,
    })
}

/// A FIX session, which connects when the gateway begins to work.
fn open_session(config: &Config<FixVenue>, log: &mut Log) -> Result<Opened<FixLink>, Failure> {
    let refused = |error: ConfigError| Failure::configuration(&error);
    // A password that cannot be read is no reason to take a bus away from somebody.
    fix::settings(config).map_err(refused)?;
    let link = fix::link(config).map_err(refused)?;
    let Published {
        publisher,
        counters_file,
        view,
        clock,
    } = publish::<_, FixLink>(config, log)?;
    log.say(
        "connecting",
        format_args!(
            "connecting as {} to {} at {}, publishing as epoch {}",
            config.venue.sender,
            config.venue.target,
            config.venue.hosts.join(", "),
            publisher.generation(),
        ),
    );
    let pipeline = fix::pipeline(config, publisher).map_err(refused)?;
    Ok(Opened {
        last_error: link.last_error(),
        gateway: Gateway::new(link, pipeline, Some(counters_file), clock, &config.duty),
        counters_file: view,
    })
}

/// What the main thread looks after while the other one works.
struct Watch {
    interrupt: Interrupt,
    notify: Notify,
    counters_file: Option<CountersView>,
    last_error: LastError,
    end: Option<Duration>,
}

fn serve<L: FeedLink + Send>(
    gateway: Live<L>,
    duty: &Duty,
    watch: Watch,
    mut log: Log,
) -> Result<(), Failure>
where
    L::Feed: Send,
{
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("gateway".to_owned())
            .spawn_scoped(scope, || work(gateway, duty, &stop))
            .map_err(|error| Failure::run(format!("cannot start a thread: {error}")))?;
        watch.until_the_end(&worker, &mut log);
        stop.store(true, Ordering::Relaxed);
        let joined = worker.join();
        joined.map_err(|_| Failure::run("the gateway's thread died; this is a mistake of ours"))?
    });
    match &outcome {
        Ok(()) => log.say("stopped", "stopped; what is on the bus stays, as stale"),
        Err(_) => watch.notify.say("STATUS=failed"),
    }
    outcome
}

/// How long a venue has to answer our leave.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(2);

/// The thread of the path.
fn work<L: FeedLink>(mut gateway: Live<L>, duty: &Duty, stop: &AtomicBool) -> Result<(), Failure> {
    if let Some(processor) = duty.loop_cpu_affinity {
        live::bind_to(processor).map_err(Failure::run)?;
    }
    let mut idler = Idler::new(duty.idle());
    while !stop.load(Ordering::Relaxed) {
        idler.idle(gateway.do_work().map_err(Failure::run)?);
    }
    let asked = Instant::now();
    while !gateway.log_out() && asked.elapsed() < LOGOUT_TIMEOUT {
        idler.idle(gateway.do_work().map_err(Failure::run)?);
    }
    gateway.finish();
    Ok(())
}

impl Watch {
    /// Returns when the gateway is to end, or has ended by itself.
    fn until_the_end(&self, worker: &ScopedJoinHandle<'_, Result<(), Failure>>, log: &mut Log) {
        const TURN: Duration = Duration::from_millis(20);
        const LOOK: Duration = Duration::from_secs(1);
        let start = Instant::now();
        let mut reporter = Reporter::default();
        let mut next_look = start;
        self.notify.say("READY=1\nSTATUS=waiting for the channel");
        while !worker.is_finished()
            && !self.interrupt.is_asked()
            && self.end.is_none_or(|end| start.elapsed() < end)
        {
            thread::sleep(TURN);
            if Instant::now() >= next_look {
                next_look += LOOK;
                self.look(&mut reporter, log);
            }
        }
        self.look(&mut reporter, log);
        self.notify.say("STOPPING=1");
    }

    fn look(&self, reporter: &mut Reporter, log: &mut Log) {
        let Some(counters_file) = &self.counters_file else {
            return;
        };
        if let Some(what) = self.last_error.take() {
            log.say("connection", format_args!("connection: {what}"));
        }
        reporter.look(counters_file, log);
        let status = match reporter.is_ready() {
            true => "STATUS=ready: every book is live",
            false => "STATUS=not ready: some books are not live",
        };
        self.notify.say(status);
    }
}
