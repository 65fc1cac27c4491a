//! `touchline bench journal`: cost of a record before its order may leave, and of a start.

use super::run::{Common, Run, failure};
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use touchline_journal::format::{HEAD_BYTES, HEADER_BYTES};
use touchline_journal::{
    Appended, Journal, Mode, Options, Record, Refused, Root, WriterLock, read, verify,
};
use touchline_lab::bench::ipc::{Folder, pin};
use touchline_transport::clock::{Clock, ticks};

/// Time from a record to the permission to send its order, in each mode of the journal, beside a bare write and
/// `fdatasync` of the same disk; time of a start.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench journal
  touchline bench journal --dir /var/lib/touchline --rounds 10 --json

Output, the subjects alternate in each round:
  process     append; segments are synced when they are complete
  host        append; the journal thread syncs again and again meanwhile
  synced      append, then wait until the record is on the disk
  fdatasync   pwrite of as many bytes and fdatasync by the measuring thread, in a file of zeros
  start-N     open of a journal with N full segments, which a kill ended
  read-N      all of its records verified and read
A record that the journal refuses since the disk is behind is appended again, and counted below the table.

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Bytes of a record.
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=4096))]
    payload: u32,
    /// Records of `process` and of `host` in each round.
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Records of `synced` and of `fdatasync` in each round.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    syncs: u64,
    /// Time from one record to the next, microseconds.
    #[arg(long, value_name = "US", default_value_t = 50.0)]
    pause_us: f64,
    /// Full segments of the longer start, 16 MiB each.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(2..=1024))]
    segments: u64,
    /// Directory on the disk to measure.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Processors: of the appending thread, and of the journal thread.
    #[arg(long, value_name = "A,B", default_value = "0,1", value_parser = super::ipc::cpus)]
    cpus: (usize, usize),
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    #[command(flatten)]
    common: Common,
}

/// Bytes of a segment.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Kind of the records.
const KIND: u16 = 48;

/// A row of the table.
enum Subject {
    Append(Mode),
    Fdatasync,
    /// With this number of full segments.
    Start(u64),
    Read,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = format!("touchline-bench-journal-{}", std::process::id());
    let bench = Bench {
        arguments,
        place: OnDisk::create(arguments.dir.join(name))?,
        folder: Folder::new().map_err(failure)?,
    };
    let run = Run::begin_on(arguments.cpus.0, &arguments.common)?;
    let subjects = [
        ("process".to_owned(), Subject::Append(Mode::Process)),
        ("host".to_owned(), Subject::Append(Mode::Host)),
        ("synced".to_owned(), Subject::Append(Mode::Disk)),
        ("fdatasync".to_owned(), Subject::Fdatasync),
        ("start-1".to_owned(), Subject::Start(1)),
        (
            format!("start-{}", arguments.segments),
            Subject::Start(arguments.segments),
        ),
        (format!("read-{}", arguments.segments), Subject::Read),
    ];
    let mut refused = 0;
    let lines = run.alternate(
        "journal",
        arguments.rounds,
        &subjects,
        |_, subject, into| {
            match *subject {
                Subject::Append(mode) => refused += bench.append(mode, &run, into)?,
                Subject::Fdatasync => bench.fdatasync(&run.clock(), into)?,
                Subject::Start(segments) => bench.start(segments, &run, into)?,
                Subject::Read => run.sample(into, 1, || bench.read())?,
            }
            Ok(())
        },
    )?;
    let bytes = u64::from(arguments.payload);
    let lines: Vec<_> = lines.into_iter().map(|line| line.of_bytes(bytes)).collect();
    let what = format!(
        "records of {} bytes, {} bytes of the file each, one {} us after the begin of the last, or behind its end; in {}; appending on processor {}, journal \
         thread on {}",
        arguments.payload,
        bench.frame_bytes()?,
        arguments.pause_us,
        arguments.dir.display(),
        arguments.cpus.0,
        arguments.cpus.1
    );
    let notes = match refused {
        0 => Vec::new(),
        refused => vec![format!(
            "{refused} records were refused at first: the disk was behind"
        )],
    };
    run.report_with(&what, &lines, "", |_| String::new(), &notes)
}

/// The directory on the disk; removed on drop.
pub struct OnDisk(PathBuf);

impl OnDisk {
    /// Creates it.
    pub fn create(path: PathBuf) -> Result<Self, Failure> {
        let mut builder = std::fs::DirBuilder::new();
        builder
            .mode(0o700)
            .create(&path)
            .map_err(|error| unusable(&path, &error))?;
        Ok(Self(path))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        // Files that cannot be removed are in a folder with the name of the benchmark and of its process.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Bench<'a> {
    arguments: &'a Arguments,
    place: OnDisk,
    folder: Folder,
}

impl Bench<'_> {
    fn directory(&self) -> PathBuf {
        self.place.0.join("journal")
    }

    fn remove(&self) -> Result<(), Failure> {
        let directory = self.directory();
        match directory.exists() {
            true => {
                std::fs::remove_dir_all(&directory).map_err(|error| unusable(&directory, &error))
            }
            false => Ok(()),
        }
    }

    /// Opens the journal with its thread on the second processor.
    fn open(&self, mode: Mode) -> Result<Journal, Failure> {
        let root = Root::at(self.folder.path());
        let bus = root.create("journal").map_err(Failure::run)?;
        let bus = WriterLock::acquire(bus).map_err(Failure::run)?;
        let options = Options {
            mode,
            segment_bytes: SEGMENT_BYTES,
            ring_bytes: SEGMENT_BYTES,
            ..Options::orders("bench")
        };
        pin(self.arguments.cpus.1).map_err(failure)?;
        let journal = Journal::open(&self.directory(), &bus, &options, unix_ns());
        pin(self.arguments.cpus.0).map_err(failure)?;
        journal.map_err(Failure::run)
    }

    /// Measures records of a new journal in a mode: how many were refused at first.
    fn append(&self, mode: Mode, run: &Run, into: &mut Histogram<u64>) -> Result<u64, Failure> {
        self.remove()?;
        let mut journal = self.open(mode)?;
        let samples = match mode {
            Mode::Disk => self.arguments.syncs,
            Mode::Process | Mode::Host => self.arguments.samples,
        };
        let mut body = vec![0; self.arguments.payload as usize];
        let mut refused = 0;
        for number in 0..samples {
            number_body(&mut body, number);
            // A record that is refused waits, and its wait is a part of its time.
            let begin = ticks();
            loop {
                match append(&mut journal, &body, number)? {
                    Some(at) => {
                        while !journal.is_safe(&at) {
                            std::hint::spin_loop();
                        }
                        break;
                    }
                    None => refused += 1,
                }
                std::thread::sleep(Duration::from_micros(100));
            }
            let end = ticks();
            into.saturating_record(run.clock().between_ns(begin, end));
            run.pause(begin, self.arguments.pause_us);
        }
        journal.close(unix_ns()).map_err(Failure::run)?;
        Ok(refused)
    }

    /// Bytes of the file for each record, as the journal of this directory aligns them.
    fn frame_bytes(&self) -> Result<u64, Failure> {
        let report = verify(&self.directory()).map_err(Failure::run)?;
        let header = report
            .segments
            .first()
            .and_then(|segment| segment.header.as_ref());
        let length = HEAD_BYTES as u64 + u64::from(self.arguments.payload);
        Ok(header.map_or(length, |header| header.alignment.round_up(length)))
    }

    /// Measures a write of the bytes of a record and its `fdatasync`, without a journal.
    fn fdatasync(&self, clock: &Clock, into: &mut Histogram<u64>) -> Result<(), Failure> {
        let path = self.place.0.join("bare");
        let bytes = self.frame_bytes()? as usize;
        bare_fdatasync(&path, bytes, self.arguments.syncs, clock, into)
    }

    /// Measures the start of a journal with `segments` full segments and an open one, as a kill leaves it.
    fn start(&self, segments: u64, run: &Run, into: &mut Histogram<u64>) -> Result<(), Failure> {
        self.remove()?;
        let mut journal = self.open(Mode::Host)?;
        let mut body = vec![0; self.arguments.payload as usize];
        let mut number = 0;
        while journal.position() < segments * SEGMENT_BYTES {
            number_body(&mut body, number);
            match append(&mut journal, &body, number)? {
                Some(_) => number += 1,
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        // Without `close`: no End, as after a kill.
        drop(journal);
        let journal = run.sample(into, 1, || self.open(Mode::Host))?;
        journal.close(unix_ns()).map_err(Failure::run)
    }

    /// Reads the journal of the last start.
    fn read(&self) -> Result<(), Failure> {
        let mut records = 0;
        read(&self.directory(), false, |entry| {
            records += u64::from(entry.head.kind == KIND)
        })
        .map_err(Failure::run)?;
        // Header, Begin, End and padding take the rest.
        let least = self.arguments.segments * (SEGMENT_BYTES / self.frame_bytes()?) * 9 / 10;
        match records >= least {
            true => Ok(()),
            false => Err(Failure::run(format!(
                "{records} records of at least {least} were read"
            ))),
        }
    }
}

/// Measures writes of this number of bytes with their `fdatasync`, in a new file of zeros that is removed afterwards.
pub fn bare_fdatasync(
    path: &Path,
    bytes: usize,
    syncs: u64,
    clock: &Clock,
    into: &mut Histogram<u64>,
) -> Result<(), Failure> {
    let bytes = vec![7; bytes];
    let measured = (|| {
        let file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .open(path)?;
        let zeros = vec![0; HEADER_BYTES];
        let length = syncs * bytes.len() as u64;
        for offset in (0..length).step_by(zeros.len()) {
            file.write_all_at(&zeros, offset)?;
        }
        file.sync_all()?;
        for number in 0..syncs {
            let begin = ticks();
            file.write_all_at(&bytes, number * bytes.len() as u64)?;
            file.sync_data()?;
            into.saturating_record(clock.between_ns(begin, ticks()));
        }
        std::fs::remove_file(path)
    })();
    measured.map_err(|error: std::io::Error| unusable(path, &error))
}

/// Appends a record; `None` if the disk is behind.
fn append(journal: &mut Journal, body: &[u8], number: u64) -> Result<Option<Appended>, Failure> {
    let record = Record {
        stream: 1,
        kind: KIND,
        time_ns: number,
        body,
    };
    match journal.append(&record) {
        Ok(appended) => Ok(Some(appended)),
        Err(Refused::TailFull { .. }) => Ok(None),
        Err(Refused::NoSegment) if journal.alarm() == 0 => Ok(None),
        Err(refused) => Err(Failure::run(refused)),
    }
}

/// Records differ, as orders do.
fn number_body(body: &mut [u8], number: u64) {
    for (byte, digit) in body.iter_mut().zip(number.to_le_bytes()) {
        *byte = digit;
    }
}

fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

fn unusable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::run(format!(
        "{}: {error}; give --dir a directory on the disk to measure that you may write to",
        path.display()
    ))
}
