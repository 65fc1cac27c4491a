//! `touchline record`: buses on a tape, and packets in a raw recording.

mod raw;

use crate::interrupt::{Ending, Interrupt};
use crate::log::{Field, Log, LogArguments, LogThread, events as event};
use crate::output::{Failure, ended, log_thread};
use crate::place::bus_name;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_gateway::Incident;
use touchline_gateway::bus;
use touchline_journal::Options;
use touchline_tape::run::{Recording, RunError, RunEvent, RunSettings};
use touchline_tape::{RecorderCounters, Retention, Settings};
use touchline_transport::{BackOff, Idle, Idler};

/// Record buses on a tape: every message, each loss as a gap, and the books at the start of each segment.
///
/// The recorder is a process of its own: a disk that stands still stops it alone, and costs a gateway nothing. `touchline replay --journal`
/// plays a tape, `touchline journal` verifies, prints and compresses it.
///
/// With --raw the packets of a channel are recorded as they are received: both lines with their receive times, before the gateway's path; of a
/// venue with a session, the received bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Buses to record.
    #[arg(value_name = "BUS", required_unless_present = "raw", value_parser = bus_name)]
    buses: Vec<String>,
    /// Record what the venue in --config sends, instead of buses.
    #[arg(long, requires = "config", conflicts_with_all = ["buses", "lossless"])]
    raw: bool,
    /// Configuration of the channel's gateway, which may run at the same time.
    #[arg(long, value_name = "FILE", requires = "raw")]
    config: Option<PathBuf>,
    /// Directory of the tape, or of the raw recording; it is continued if it is there.
    #[arg(long, value_name = "DIR", required_unless_present = "pcapng")]
    journal: Option<PathBuf>,
    /// Write a raw recording to this pcapng file instead of a journal. With --segment-mb or --segment-s the files are
    /// NAME-0000000001.pcapng and on.
    #[arg(long, value_name = "FILE", requires = "raw", conflicts_with_all = ["journal", "keep_gb", "keep_hours", "free_gb", "compress"])]
    pcapng: Option<PathBuf>,
    /// Name of the recorder, as a reader of the buses and for its counters. Default: record-BUS, or raw-BUS with --raw.
    #[arg(long, value_name = "NAME", value_parser = bus_name)]
    name: Option<String>,
    /// Publishers of lossless buses wait for the recorder, as for each of their lossless readers.
    #[arg(long)]
    lossless: bool,
    /// Size of a segment, MiB; its space is allocated when the segment before it begins. Default: 256.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(16..=4096))]
    segment_mb: Option<u64>,
    /// Longest time of a segment, seconds. Default: a segment ends when it is full.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    segment_s: Option<u64>,
    /// Remove the oldest segments while all take more space than this, GiB.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    keep_gb: Option<u64>,
    /// Remove segments that ended longer ago than this, hours, by the time that passed with a recorder and not by the wall clock.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    keep_hours: Option<u64>,
    /// Remove the oldest segments while the file system has less free space than this, GiB.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    free_gb: Option<u64>,
    /// Compress closed segments, with zstd, in a thread of the lowest priority.
    #[arg(long)]
    compress: bool,
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
  touchline record --raw --config cme-340.toml --journal /data/cme-340-raw
  touchline record --raw --config cme-340.toml --pcapng /data/cme-340.pcapng --segment-s 3600

Watch it with `touchline stat`, `top` and `metrics`: record_durable is the position up to which the
tape is on the disk (with --pcapng: the bytes of the files that have ended), record_lost counts the
messages that are missing.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof; the end of the tape is on the disk
  1  the run failed: the disk cannot be written, another process writes the tape, or it is damaged
  2  bad arguments or configuration";

/// Default size of a segment.
const SEGMENT_MB: u64 = 256;
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
    let mut log = log_thread(Log::to_stderr(arguments.log, Vec::new()))?;
    let opened = arguments.open(&mut log);
    let outcome = opened.and_then(|recording| arguments.record(recording, &interrupt, &mut log));
    ended(outcome.map(|()| String::new()), log)
}

/// A recorder that runs.
#[allow(
    clippy::large_enum_variant,
    reason = "a process has one, and no pointer lies on its path"
)]
enum Running {
    Buses(Recording),
    Raw(raw::Raw),
}

impl Running {
    fn work(&mut self) -> Result<usize, RunError> {
        match self {
            Running::Buses(recording) => recording.work(),
            Running::Raw(raw) => raw.recording.work(),
        }
    }

    fn event(&mut self) -> Option<RunEvent> {
        match self {
            Running::Buses(recording) => recording.event(),
            Running::Raw(raw) => raw.recording.event(),
        }
    }

    fn close(self) -> Result<RecorderCounters, RunError> {
        match self {
            Running::Buses(recording) => recording.close(),
            Running::Raw(raw) => raw.recording.close(),
        }
    }

    /// The next incident of a recorded session.
    fn incident(&mut self) -> Option<Incident> {
        match self {
            Running::Buses(_) => None,
            Running::Raw(raw) => raw.incidents.as_ref()?.next(),
        }
    }
}

impl Arguments {
    fn open(&self, log: &mut LogThread) -> Result<Running, Failure> {
        if let Some(config) = &self.config {
            return raw::open(self, config, log).map(Running::Raw);
        }
        let recording = Recording::open(self.settings());
        recording.map(Running::Buses).map_err(Failure::run)
    }

    /// Where the recording is.
    fn target(&self) -> &Path {
        let target = self.journal.as_deref().or(self.pcapng.as_deref());
        target.expect("the parser asks for one")
    }

    /// Segments of the journal.
    fn segments(&self, name: &str) -> Options {
        Options {
            segment_bytes: self.segment_mb.unwrap_or(SEGMENT_MB) << 20,
            ..Options::recording(name)
        }
    }

    fn segment_ns_max(&self) -> Option<u64> {
        self.segment_s.map(|seconds| seconds * 1_000_000_000)
    }

    fn retention(&self) -> Retention {
        Retention {
            bytes_max: self.keep_gb.map(|gb| gb << 30),
            age_ns_max: self.keep_hours.map(|hours| hours * HOUR_NS),
            free_bytes_min: self.free_gb.map(|gb| gb << 30),
        }
    }

    fn settings(&self) -> RunSettings {
        let default = || format!("record-{}", self.buses[0]);
        let name = self.name.clone().unwrap_or_else(default);
        RunSettings {
            root: bus::root(self.dir.as_deref()),
            buses: self.buses.clone(),
            lossless: self.lossless,
            directory: self.target().to_owned(),
            journal: self.segments("tape"),
            recorder: Settings {
                segment_ns_max: self.segment_ns_max(),
                ..Settings::default()
            },
            retention: self.retention(),
            compress: self.compress,
            name,
        }
    }

    fn record(
        &self,
        mut recording: Running,
        interrupt: &Interrupt,
        log: &mut LogThread,
    ) -> Result<(), Failure> {
        let end = self.ending.after();
        let started = Instant::now();
        let mut looked = started;
        let mut idler = Idler::new(Idle::BackOff(BackOff::default()));
        loop {
            let work = recording.work();
            // Without room for a line the recorder keeps the event.
            while log.is_ready()
                && let Some(event) = recording.event()
            {
                report(self.target(), event, log);
            }
            while log.is_ready()
                && let Some(incident) = recording.incident()
            {
                raw::report(incident, log);
            }
            idler.idle(work.map_err(Failure::run)?);
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if interrupt.is_asked() || end.is_some_and(|end| started.elapsed() >= end) {
                    break;
                }
            }
        }
        let closed = recording.close();
        finished(&closed.map_err(|error: RunError| Failure::run(error))?, log);
        Ok(())
    }
}

fn report(directory: &Path, what: RunEvent, log: &mut LogThread) {
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
        RunEvent::NotWaitedFor { bus } => (
            &event::RECORD_NOT_WAITED_FOR,
            vec![("recorded_bus", bus.into())],
        ),
        RunEvent::PacketsLost { line, packets } => (
            &event::RECORD_PACKETS_LOST,
            vec![
                ("line", line.unwrap_or_else(|| "unknown".to_owned()).into()),
                ("packets", packets.into()),
            ],
        ),
        RunEvent::NotRemoved { reason } => (
            &event::RECORD_NOT_REMOVED,
            vec![journal, ("reason", reason.into())],
        ),
        RunEvent::NotCompressed { reason } => (
            &event::RECORD_NOT_COMPRESSED,
            vec![journal, ("reason", reason.into())],
        ),
        RunEvent::NotIndexed { reason } => (
            &event::RECORD_NOT_INDEXED,
            vec![journal, ("reason", reason.into())],
        ),
        RunEvent::Failed { reason, durable } => (
            &event::RECORD_FAILED,
            vec![
                journal,
                ("durable", durable.into()),
                ("reason", reason.into()),
            ],
        ),
        RunEvent::Disk { takes: true, .. } => (&event::RECORD_DISK_BACK, vec![journal]),
        RunEvent::Disk { errno, .. } => (
            &event::RECORD_DISK,
            vec![journal, ("reason", disk_reason(errno).into())],
        ),
        // Later releases of the crate may have more.
        _ => return,
    };
    log.write(line, fields);
}

/// Why the journal takes no record.
fn disk_reason(errno: u64) -> String {
    match errno {
        0 => "the disk is behind".to_owned(),
        errno => std::io::Error::from_raw_os_error(errno as i32).to_string(),
    }
}

fn finished(counters: &RecorderCounters, log: &mut LogThread) {
    let fields: Vec<Field> = vec![
        ("messages", counters.record_messages.into()),
        ("gaps", counters.record_gaps.into()),
        ("lost", counters.record_lost.into()),
    ];
    log.write(&event::RECORD_STOPPED, fields);
}
