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
use touchline_gateway::config::cme::ChannelConfig;
use touchline_gateway::config::{Config, bus_name};
use touchline_gateway::live::{self, Gateway, endpoints, socket_settings};
use touchline_gateway::{Board, Recovery, bus, cme};
use touchline_net::clock::Clock;
use touchline_net::udp::UdpSource;
use touchline_transport::Idler;
use touchline_transport::shm::{BoardView, Publisher};

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
    /// Print the effective configuration as TOML, and connect to nothing.
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
  1  the run failed: a socket, the bus, or somebody else publishes on it
  2  bad arguments or configuration";

type LiveGateway = Gateway<UdpSource, Publisher>;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.config()?;
    if arguments.print_config {
        return say(&config.to_toml());
    }
    let channel = ChannelConfig::read(&config.venue.config_xml, config.venue.channel)
        .map_err(|error| Failure::configuration(&error))?;
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let mut log = Log::to_stderr(&format!("gateway {}", config.bus));
    let gateway = open(&config, channel, &mut log)?;
    let root = bus::root(config.publication.directory.as_deref());
    let board = BoardView::open(&root, &config.bus).map_err(Failure::run)?;
    let watch = Watch {
        interrupt,
        notify: Notify::from_environment(),
        board,
        end: arguments.seconds.map(Duration::from_secs),
    };
    serve(gateway, &config, watch, log)
}

impl Arguments {
    fn config(&self) -> Result<Config, Failure> {
        let read = Config::read(&self.config);
        let mut config = read.map_err(|error| Failure::configuration(&error))?;
        if let Some(bus) = &self.bus {
            config.bus.clone_from(bus);
        }
        if let Some(dir) = &self.dir {
            config.publication.directory = Some(dir.clone());
        }
        Ok(config)
    }
}

/// Everything that can be refused, before anything is done.
fn open(config: &Config, channel: ChannelConfig, log: &mut Log) -> Result<LiveGateway, Failure> {
    if let Some(processor) = config.duty.loop_cpu_affinity {
        // Tried on a thread of its own: this one goes where it likes.
        let tried = thread::spawn(move || live::bind_to(processor)).join();
        tried
            .map_err(|_| Failure::run("a thread died; this is a mistake of ours"))?
            .map_err(Failure::usage)?;
    }
    let recovery = Recovery::open(config, &channel);
    let recovery = recovery.map_err(|error| Failure::configuration(&error))?;
    let endpoints = endpoints(config, &channel);
    let source = UdpSource::open(&endpoints, &socket_settings(config)).map_err(Failure::run)?;
    let publisher = bus::open(config).map_err(Failure::run)?;
    for note in source.notes() {
        log.say("socket", note);
    }
    for note in publisher.notes() {
        log.say("bus", note);
    }
    let clock = Clock::calibrated();
    let board = Board::create(&publisher, clock, true).map_err(Failure::run)?;
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
            publisher.epoch(),
        ),
    );
    let reach = recovery.as_ref().map(Recovery::reach);
    let pipeline = cme::live_pipeline(config, reach, publisher);
    Ok(
        Gateway::new(source, channel, pipeline, Some(board), clock, &config.duty)
            .with_recovery(recovery),
    )
}

/// What the main thread looks after while the other one works.
struct Watch {
    interrupt: Interrupt,
    notify: Notify,
    board: Option<BoardView>,
    end: Option<Duration>,
}

fn serve(gateway: LiveGateway, config: &Config, watch: Watch, mut log: Log) -> Result<(), Failure> {
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("gateway".to_owned())
            .spawn_scoped(scope, || work(gateway, config, &stop))
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

/// The thread of the path.
fn work(mut gateway: LiveGateway, config: &Config, stop: &AtomicBool) -> Result<(), Failure> {
    if let Some(processor) = config.duty.loop_cpu_affinity {
        live::bind_to(processor).map_err(Failure::run)?;
    }
    let mut idler = Idler::new(config.duty.idle());
    while !stop.load(Ordering::Relaxed) {
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
        let Some(board) = &self.board else { return };
        reporter.look(board, log);
        let status = match reporter.is_ready() {
            true => "STATUS=ready: every book is live",
            false => "STATUS=not ready: some books are not live",
        };
        self.notify.say(status);
    }
}
