//! `touchline record`: buses on a tape.

use crate::interrupt::{Ending, Interrupt};
use crate::log::{Field, Log, LogArguments, events as event};
use crate::output::Failure;
use crate::place::bus_name;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_gateway::bus;
use touchline_journal::Options;
use touchline_tape::run::{Recording, RunError, RunEvent, RunSettings};
use touchline_tape::{RecorderCounters, Retention, Settings};
use touchline_transport::{BackOff, Idle, Idler};

/// Record buses on a tape: every message, each loss as a gap, and the books at the start of each segment.
///
/// The recorder is a process of its own: a disk that stands still stops it alone, and costs a gateway nothing. `touchline replay --journal`
/// plays a tape, `touchline journal` verifies, prints and compresses it.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Buses to record.
    #[arg(value_name = "BUS", required = true, value_parser = bus_name)]
    buses: Vec<String>,
    /// Directory of the tape; it is continued if it is there.
    #[arg(long, value_name = "DIR")]
    journal: PathBuf,
    /// Name of the recorder, as a reader of the buses and for its counters. Default: record-BUS.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    name: Option<String>,
    /// Publishers of lossless buses wait for the recorder, as for each of their lossless readers.
    #[arg(long)]
    lossless: bool,
    /// Size of a segment, MiB; its space is allocated when the segment before it begins.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u64).range(16..=4096))]
    segment_mb: u64,
    /// Longest time of a segment, seconds. Default: a segment ends when it is full.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    segment_s: Option<u64>,
    /// Remove the oldest segments while all take more space than this, GiB.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    keep_gb: Option<u64>,
    /// Remove segments whose last record is older than this, hours.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    keep_hours: Option<u64>,
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
  touchline record cme-340 --journal /var/lib/touchline/cme-340
  touchline record cme-340 cme-382 --journal /data/cme --segment-s 3600

Watch it with `touchline stat`, `top` and `metrics`: record_durable is the position up to which the
tape is on the disk, record_lost counts the messages that are missing.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof; the end of the tape is on the disk
  1  the run failed: the disk cannot be written, another process writes the tape, or it is damaged
  2  bad arguments";

const HOUR_NS: u64 = 3_600_000_000_000;
/// Time between two looks for a request to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut names = arguments.buses.iter().enumerate();
    if let Some((_, twice)) = names.find(|(at, name)| arguments.buses[..*at].contains(name)) {
        return Err(Failure::usage(format!(
            "bus {twice} is given twice: give each once"
        )));
    }
    let interrupt = arguments.ending.catch()?;
    let mut log = Log::to_stderr(arguments.log, Vec::new());
    let outcome = Recording::open(arguments.settings())
        .map_err(|error| Failure::run(&error))
        .and_then(|recording| arguments.record(recording, &interrupt, &mut log));
    outcome.map_err(|failure| failure.logged(&mut log))
}

impl Arguments {
    fn settings(&self) -> RunSettings {
        let default = || format!("record-{}", self.buses[0]);
        let name = self.name.clone().unwrap_or_else(default);
        RunSettings {
            root: bus::root(self.dir.as_deref()),
            buses: self.buses.clone(),
            lossless: self.lossless,
            directory: self.journal.clone(),
            journal: Options {
                segment_bytes: self.segment_mb << 20,
                ..Options::recording("tape")
            },
            recorder: Settings {
                segment_ns_max: self.segment_s.map(|seconds| seconds * 1_000_000_000),
                ..Settings::default()
            },
            retention: Retention {
                bytes_max: self.keep_gb.map(|gb| gb << 30),
                age_ns_max: self.keep_hours.map(|hours| hours * HOUR_NS),
            },
            name,
        }
    }

    fn record(
        &self,
        mut recording: Recording,
        interrupt: &Interrupt,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let end = self.ending.after();
        let started = Instant::now();
        let mut looked = started;
        let mut idler = Idler::new(Idle::BackOff(BackOff::default()));
        loop {
            let work = recording.work();
            while let Some(event) = recording.event() {
                report(&self.journal, event, log);
            }
            idler.idle(work.map_err(Failure::run)?);
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                log.flush();
                if interrupt.is_asked() || end.is_some_and(|end| started.elapsed() >= end) {
                    break;
                }
            }
        }
        let closed = recording.close();
        log.finish();
        finished(&closed.map_err(|error: RunError| Failure::run(error))?, log);
        Ok(())
    }
}

fn report(directory: &Path, what: RunEvent, log: &mut Log) {
    let journal: Field = ("journal", directory.display().to_string().into());
    let (line, fields): (_, Vec<Field>) = match what {
        RunEvent::Waiting { bus, reason } => (
            &event::RECORD_WAITING,
            vec![("recorded_bus", bus.into()), ("reason", reason.into())],
        ),
        RunEvent::Recording { publication } => (
            &event::RECORD_STARTED,
            vec![
                ("recorded_bus", publication.bus.into()),
                ("generation", publication.generation.into()),
                journal,
            ],
        ),
        RunEvent::Overrun { bus, messages } => (
            &event::RECORD_OVERRUN,
            vec![("recorded_bus", bus.into()), ("messages", messages.into())],
        ),
        RunEvent::Source { bus, is_live } => (
            match is_live {
                true => &event::RECORD_SOURCE_BACK,
                false => &event::RECORD_SOURCE_DOWN,
            },
            vec![("recorded_bus", bus.into())],
        ),
        RunEvent::NotRemoved { reason } => (
            &event::RECORD_NOT_REMOVED,
            vec![journal, ("reason", reason.into())],
        ),
        RunEvent::Disk { takes: true, .. } => (&event::RECORD_DISK_BACK, vec![journal]),
        RunEvent::Disk {
            takes: false,
            errno,
        } => {
            let reason = match errno {
                0 => "the disk is behind".to_owned(),
                errno => std::io::Error::from_raw_os_error(errno as i32).to_string(),
            };
            let reason: Field = ("reason", reason.into());
            (&event::RECORD_DISK, vec![journal, reason])
        }
        // Later releases of the crate may have more.
        _ => return,
    };
    log.write(line, fields);
}

fn finished(counters: &RecorderCounters, log: &mut Log) {
    let fields: Vec<Field> = vec![
        ("messages", counters.record_messages.into()),
        ("gaps", counters.record_gaps.into()),
        ("lost", counters.record_lost.into()),
    ];
    log.write(&event::RECORD_STOPPED, fields);
}
