//! `touchline gateway`: one live venue connection.

mod notify;
mod report;

use crate::interrupt::{Ending, Interrupt};
use crate::log::{Log, LogArguments, LogThread, events as event};
use crate::output::{Failure, ended, log_thread, no_thread, say};
use notify::Notify;
use report::{Reporter, started};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};
use touchline_gateway::Incidents;
use touchline_gateway::config::{Duty, bus_name};
use touchline_gateway::live;
use touchline_gateway::venues::{AnyConfig, Running, StartError, Work};
use touchline_transport::shm::{CountersView, Root, reader_in};

/// Connect to a venue, keep its books, and publish them in shared memory.
///
/// One thread receives, decodes, applies and publishes; another thread writes the log. SIGTERM and Ctrl-C stop
/// the gateway cleanly: the books stay on the bus, marked as stale.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Configuration file (TOML); `touchline help settings` lists its settings.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Name of the bus; overrides the configuration.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    bus: Option<String>,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Print the effective configuration as commented TOML, and exit.
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    ending: Ending,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline gateway --config cme-340.toml
  touchline gateway --config cme-340.toml --print-config
  touchline sim cme --write sim &  touchline gateway --config sim/gateway.toml

Watch it with `touchline top`, `stat BUS`, `tail BUS` and `book BUS SYMBOL`.

Readiness:
  The log has `listening` when every group is joined and the bus is open, and `ready`
  when every definition was received and every book is live; the counter `ready` of the
  bus is then 1. Under systemd (Type=notify) the unit is started at `listening`, and
  `systemctl status` shows whether the books are live.

Log:
  One line an event on standard error: time, level, event, fields. Repeated events are
  written once a second, with their number (repeated=17). `touchline help events` lists
  every event with its meaning and what to do.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: a socket error, the bus cannot be opened or is in use by another
     process, an interface or address does not exist; a later try may succeed
  2  bad arguments or configuration: a later try fails the same way";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut config = crate::config::read(&arguments.config)?;
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
        let interrupt = self.ending.catch()?;
        let (name, identity) = config.identity();
        // A numeric identity is a number in JSON.
        let identity = match identity.parse::<u64>() {
            Ok(number) => number.into(),
            Err(_) => identity.into(),
        };
        let context = vec![("bus", config.bus().into()), (name, identity)];
        let mut log = log_thread(Log::to_stderr(self.log, context))?;
        let outcome = self.work(config, interrupt, &mut log);
        ended(outcome.map(|()| String::new()), log)
    }

    fn work(
        &self,
        config: &dyn AnyConfig,
        interrupt: Interrupt,
        log: &mut LogThread,
    ) -> Result<(), Failure> {
        try_affinity(config.duty())?;
        let running = config.start(&mut |event| started(event, log));
        let Running {
            work,
            incidents,
            gap_fields,
            counters_file,
            root,
        } = running.map_err(|error| refused(&error))?;
        let watch = Watch {
            interrupt,
            notify: Notify::from_environment(),
            counters_file,
            root,
            bus: config.bus().to_owned(),
            incidents,
            end: self.ending.after(),
        };
        watch.over(work, Reporter::new(gap_fields), log)
    }
}

/// The failure of a start.
pub fn refused(error: &StartError) -> Failure {
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
    // Tried on another thread: the main thread is not bound.
    let tried = thread::spawn(move || live::bind_to(processor)).join();
    tried
        .map_err(|_| {
            Failure::run("a thread panicked: a bug of touchline; please report the lines above")
        })?
        .map_err(Failure::usage)
}

/// State of the main thread while the gateway's thread works.
struct Watch {
    interrupt: Interrupt,
    notify: Notify,
    counters_file: Option<CountersView>,
    root: Root,
    bus: String,
    incidents: Incidents,
    end: Option<Duration>,
}

impl Watch {
    /// Starts the thread of the path and reports on it until it ends.
    fn over(
        self,
        work: Box<Work>,
        mut reporter: Reporter,
        log: &mut LogThread,
    ) -> Result<(), Failure> {
        let stop = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            let worker = thread::Builder::new()
                .name("gateway".to_owned())
                .spawn_scoped(scope, || work(&stop).map_err(Failure::run))
                .map_err(no_thread)?;
            self.until_the_end(&worker, &mut reporter, log);
            stop.store(true, Ordering::Relaxed);
            let joined = worker.join();
            self.take_incidents(&reporter, log);
            self.look(&mut reporter, log);
            joined
                .map_err(|_| Failure::run("the gateway's thread panicked: a bug of touchline; please report the lines above"))?
        });
        match &outcome {
            Ok(()) => log.write(&event::STOPPED, []),
            Err(_) => self.notify.say("STATUS=failed"),
        }
        outcome
    }

    /// Returns at a request to end, or when the gateway ends.
    fn until_the_end(
        &self,
        worker: &ScopedJoinHandle<'_, Result<(), Failure>>,
        reporter: &mut Reporter,
        log: &mut LogThread,
    ) {
        const TURN: Duration = Duration::from_millis(20);
        const LOOK: Duration = Duration::from_secs(1);
        let start = Instant::now();
        let mut next_look = start;
        self.notify.say("READY=1\nSTATUS=waiting for the channel");
        while !worker.is_finished()
            && !self.interrupt.is_asked()
            && self.end.is_none_or(|end| start.elapsed() < end)
        {
            thread::sleep(TURN);
            self.take_incidents(reporter, log);
            if Instant::now() >= next_look {
                next_look += LOOK;
                self.look(reporter, log);
            }
        }
        self.notify.say("STOPPING=1");
    }

    /// Without room in the log the incidents wait.
    fn take_incidents(&self, reporter: &Reporter, log: &mut LogThread) {
        while log.is_ready()
            && let Some(incident) = self.incidents.next()
        {
            reporter.incident(incident, log);
        }
    }

    /// Name of the reader in a slot of the bus, also of one that died.
    fn name_of(&self, place: u64) -> Option<String> {
        reader_in(&self.root, &self.bus, place).ok().flatten()
    }

    fn look(&self, reporter: &mut Reporter, log: &mut LogThread) {
        let Some(counters_file) = &self.counters_file else {
            return;
        };
        // Without room a later look finds the changes.
        if log.is_ready() {
            reporter.look(counters_file, &|place| self.name_of(place), log);
        }
        let status = match counters_file.counter("ready") == Some(1) {
            true => "STATUS=ready: every book is live",
            false => "STATUS=not ready: some books are not live",
        };
        self.notify.say(status);
    }
}
