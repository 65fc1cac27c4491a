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
use touchline_gateway::config::{Duty, bus_name};
use touchline_gateway::live::{self, LastError};
use touchline_gateway::venues::{AnyConfig, Running, StartError, VENUES, Work};
use touchline_transport::shm::CountersView;

/// Connect to a venue, keep its books, and publish them in shared memory, until it is stopped.
///
/// One thread receives, decodes, keeps the books and publishes; the log is written by another one
/// from what the first counts. SIGTERM and Ctrl-C end it cleanly: what is on the bus stays, marked as
/// stale.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The configuration, a TOML file (docs/configuration.md lists its settings).
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

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = VENUES.read(&arguments.config);
    let mut config = config.map_err(|error| Failure::configuration(&error))?;
    if let Some(bus) = &arguments.bus {
        config.set_bus(bus);
    }
    if let Some(dir) = &arguments.dir {
        config.set_directory(dir.clone());
    }
    if arguments.print_config {
        return say(&config.to_file());
    }
    arguments.serve(&*config)
}

impl Arguments {
    fn serve(&self, config: &dyn AnyConfig) -> Result<(), Failure> {
        let interrupt = Interrupt::catch()?;
        if self.until_eof {
            interrupt.at_end_of_input();
        }
        let mut log = Log::to_stderr(&format!("gateway {}", config.bus()));
        try_affinity(config.duty())?;
        let started = config.start(&mut |event, what| log.say(event, what));
        let Running {
            work,
            last_error,
            counters_file,
        } = started.map_err(|error| refused(&error))?;
        let watch = Watch {
            interrupt,
            notify: Notify::from_environment(),
            counters_file,
            last_error,
            end: self.seconds.map(Duration::from_secs),
        };
        watch.over(work, log)
    }
}

fn refused(error: &StartError) -> Failure {
    match error {
        StartError::Config(error) => Failure::configuration(error),
        StartError::Source(error) => Failure::source(error),
        StartError::Store(error) => Failure::run(error),
        StartError::Bus(error) => Failure::run(error),
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

/// What the main thread looks after while the other one works.
struct Watch {
    interrupt: Interrupt,
    notify: Notify,
    counters_file: Option<CountersView>,
    last_error: LastError,
    end: Option<Duration>,
}

impl Watch {
    /// A thread for the path, and what is to be seen of it until it ends.
    fn over(self, work: Box<Work>, mut log: Log) -> Result<(), Failure> {
        let stop = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            let worker = thread::Builder::new()
                .name("gateway".to_owned())
                .spawn_scoped(scope, || work(&stop).map_err(Failure::run))
                .map_err(|error| Failure::run(format!("cannot start a thread: {error}")))?;
            self.until_the_end(&worker, &mut log);
            stop.store(true, Ordering::Relaxed);
            let joined = worker.join();
            joined
                .map_err(|_| Failure::run("the gateway's thread died; this is a mistake of ours"))?
        });
        match &outcome {
            Ok(()) => log.say("stopped", "stopped; what is on the bus stays, as stale"),
            Err(_) => self.notify.say("STATUS=failed"),
        }
        outcome
    }

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
