//! A running raw recorder: sockets, recorder and output in one duty cycle, stepped by the caller.

use super::files::{CaptureFiles, FileError};
use super::last_raw::LastRaw;
use super::output::{Failed, Output};
use super::recorder::RawRecorder;
use super::source::{Session, Source};
use super::{Content, Line};
use crate::counters::RecorderCounters;
use crate::outcome::{RunError, RunEvent};
use crate::recorder::Now;
use crate::retention::Retention;
use crate::upkeep::{CLOSE, EVENTS_MAX, Place, Upkeep, drain};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_journal::{Journal, Options, Refused};
use touchline_net::{PacketSource, Received};
use touchline_transport::boot_ns;
use touchline_transport::clock::{ticks, wall_ns};
use touchline_transport::shm::{ProcessStats, Root};

/// Packets of one round.
const PACKETS_MAX: usize = 256;
/// Interval of looks at the sockets: their groups and their losses.
const LOOK_NS: u64 = 100_000_000;
/// Longest time in which a session logs out, and the pause of a look at it.
const LOGOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);
const TICK_NS: u64 = 1_000_000_000;

/// Settings of a raw recorder.
#[derive(Debug, Clone)]
pub struct RawSettings {
    /// Directory of the buses: counters, and the tail of the journal.
    pub root: Root,
    /// Name of the recorder, for its counters.
    pub name: String,
    /// Where the recording goes.
    pub target: Target,
    /// Longest time of a segment or file, ns; `None`: it ends when it is full.
    pub segment_ns_max: Option<u64>,
    /// The sockets of packets.
    pub lines: Vec<Line>,
}

/// Where a raw recording goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// A journal.
    Journal {
        /// Its directory.
        directory: PathBuf,
        /// Segments, ring and mode.
        options: Options,
        /// Limits.
        retention: Retention,
        /// Whether closed segments are compressed.
        compress: bool,
    },
    /// Files of pcapng.
    Pcapng {
        /// Name of the file; with a number before its ending if files are rotated.
        path: PathBuf,
        /// Most bytes of a file; `None`: no limit.
        bytes_max: Option<u64>,
    },
}

/// A running raw recorder.
pub struct RawRecording {
    source: Source,
    lines: Vec<Line>,
    /// Connection that is recorded.
    connection: u64,
    recorder: RawRecorder,
    keeper: Keeper,
    path: PathBuf,
    /// Losses that were recorded, of each line, and of the source as a whole.
    lost: Vec<u64>,
    lost_all: u64,
    events: VecDeque<RunEvent>,
    next_look_ns: u64,
    next_tick_ns: u64,
}

/// Counters and limits of the output.
#[allow(
    clippy::large_enum_variant,
    reason = "a process has one, and no pointer lies on its path"
)]
enum Keeper {
    Journal(Upkeep<LastRaw>),
    Files {
        stats: ProcessStats,
        free_bytes: u64,
    },
}

impl RawRecording {
    /// Opens the output; a journal is continued.
    ///
    /// # Errors
    /// The journal is damaged or a tape of buses, the file exists, the output cannot be written, or another process writes it or has
    /// the name.
    pub fn open(source: Source, settings: &RawSettings) -> Result<RawRecording, RunError> {
        let RawSettings {
            root,
            name,
            target,
            segment_ns_max,
            lines,
        } = settings;
        let now = now();
        let (output, keeper, last_ns, path) = match target {
            Target::Journal {
                directory,
                options,
                retention,
                compress,
            } => {
                let place = Place {
                    root,
                    name,
                    directory,
                    retention: *retention,
                    compress: *compress,
                    index: false,
                    last: LastRaw::read,
                };
                if Content::of(directory)? == Content::Buses {
                    return Err(RunError::OtherContent {
                        directory: directory.clone(),
                        what: "a tape of buses",
                    });
                }
                let (journal, last, upkeep) = Upkeep::open(&place, options, now.wall_ns)?;
                let output = Output::Journal(journal);
                (output, Keeper::Journal(upkeep), last.last_ns, directory)
            }
            Target::Pcapng { path, bytes_max } => {
                root.make_root()?;
                let stats = ProcessStats::create(root, name, 1.0, RecorderCounters::TABLE, [])?;
                let is_rotated = bytes_max.is_some() || segment_ns_max.is_some();
                let files = CaptureFiles::create(path, is_rotated, *bytes_max);
                let files = files.map_err(failed_file)?;
                let keeper = Keeper::Files {
                    stats,
                    free_bytes: files.free_bytes().unwrap_or(0),
                };
                (Output::Files(files), keeper, None, path)
            }
        };
        Ok(RawRecording {
            source,
            lines: lines.clone(),
            connection: 0,
            recorder: RawRecorder::new(output, lines, *segment_ns_max, last_ns, now),
            keeper,
            path: path.clone(),
            lost: vec![0; lines.len()],
            lost_all: 0,
            events: VecDeque::new(),
            next_look_ns: 0,
            next_tick_ns: 0,
        })
    }

    /// One round of the duty cycle; returns the amount of work, so that the caller idles after a round without work. A journal that fails is
    /// opened again each second.
    ///
    /// # Errors
    /// The source or a file has failed, the journal is damaged, another process writes it, or another one is in its place.
    pub fn work(&mut self) -> Result<usize, RunError> {
        self.attempt(RawRecording::round)
    }

    /// Does a part of the work with an open journal; leaves one that fails at it.
    fn attempt(
        &mut self,
        part: impl FnOnce(&mut RawRecording) -> Result<usize, RunError>,
    ) -> Result<usize, RunError> {
        self.look_after_journal()?;
        let excess = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..excess);
        match part(self) {
            Err(RunError::Failed {
                refused: Refused::Failed { errno },
                ..
            }) => {
                self.leave(std::io::Error::from_raw_os_error(errno as i32).to_string());
                Ok(0)
            }
            other => other,
        }
    }

    /// Opens a journal that has failed again, and leaves one that was removed.
    fn look_after_journal(&mut self) -> Result<(), RunError> {
        let Keeper::Journal(upkeep) = &mut self.keeper else {
            return Ok(());
        };
        if self.recorder.output().journal().is_none() {
            if let Some((journal, last)) = upkeep.reopened(&mut self.events)? {
                self.recorder.reopened(journal, &last, now());
            }
        } else if upkeep.is_replaced() {
            self.leave("its directory was removed, or another one has its name".to_owned());
        }
        Ok(())
    }

    /// Leaves the journal until the disk can be written again.
    fn leave(&mut self, reason: String) {
        self.recorder.counters().record_failures += 1;
        let durable = self.recorder.leave_journal(now());
        if let Keeper::Journal(upkeep) = &mut self.keeper {
            self.events.push_back(upkeep.failed(reason, durable));
        }
    }

    fn round(&mut self) -> Result<usize, RunError> {
        let at_ns = boot_ns();
        let now = now();
        let done = self.receive(now)?;
        if done == 0 || self.recorder.is_blocked() {
            self.flush(now)?;
        }
        if at_ns >= self.next_look_ns {
            self.next_look_ns = at_ns + LOOK_NS;
            // Losses while the disk takes nothing are one record.
            if !self.recorder.is_blocked() {
                self.look_at_losses(now)?;
            }
            self.show();
        }
        if at_ns >= self.next_tick_ns {
            self.next_tick_ns = at_ns + TICK_NS;
            let ticked = self.recorder.tick(now);
            ticked.map_err(|failed| self.failed(failed))?;
            self.attend();
        }
        if let Keeper::Journal(upkeep) = &mut self.keeper {
            let is_blocked = self.recorder.is_blocked();
            let journal = self.recorder.output().journal();
            self.events
                .extend(upkeep.look_at_disk(is_blocked, journal, at_ns));
        }
        Ok(done)
    }

    /// The next event for the log.
    pub fn event(&mut self) -> Option<RunEvent> {
        self.events.pop_front()
    }

    /// Counters.
    pub fn counters(&mut self) -> &RecorderCounters {
        self.recorder.counters()
    }

    /// Ends the recording: its end is on the disk when this returns. The counters of a recorder that is dropped without this, or fails
    /// at it, stay: they say that it is gone.
    ///
    /// # Errors
    /// The output had failed, or fails at this.
    pub fn close(mut self) -> Result<RecorderCounters, RunError> {
        self.attempt(|run| run.look_at_losses(now()).map(|()| 0))?;
        // A session logs out, and what the venue says is recorded.
        let begun = Instant::now();
        let mut is_up = true;
        while begun.elapsed() < LOGOUT && is_up {
            self.attempt(|run| {
                is_up = run.session(true, now())?.is_some();
                Ok(0)
            })?;
            std::thread::sleep(PAUSE);
        }
        drain(|| {
            self.attempt(|run| run.flush(now()).map(|()| 0))?;
            Ok::<_, RunError>(!self.recorder.is_blocked())
        })?;
        self.show();
        let durable = self.recorder.counters().record_durable;
        let (is_blocked, path) = (self.recorder.is_blocked(), self.path);
        let (output, mut counters) = self.recorder.end();
        match output {
            Output::Files(mut files) => {
                files.end().map_err(failed_file)?;
                counters.record_position = files.position();
                counters.record_durable = files.durable();
            }
            Output::Journal(journal) => {
                let behind = journal.position().saturating_sub(journal.durable());
                let closed = match is_blocked {
                    true => Err(Refused::TailFull { behind }),
                    false => journal.close_within(wall_ns(), CLOSE),
                };
                closed.map_err(|refused| failed_journal(path, refused, durable))?;
            }
            Output::Left => return Err(failed_journal(path, Refused::Closed, durable)),
        }
        match self.keeper {
            Keeper::Journal(upkeep) => upkeep.finish(),
            Keeper::Files { stats, .. } => stats.finish(),
        }
        Ok(counters)
    }

    /// Records received packets or bytes, as long as the output takes them.
    fn receive(&mut self, now: Now) -> Result<usize, RunError> {
        match self.source {
            Source::Packets(_) => self.packets(now),
            Source::Session(_) if self.recorder.is_blocked() => Ok(0),
            Source::Session(_) => Ok(self.session(false, now)?.unwrap_or(0)),
        }
    }

    fn packets(&mut self, now: Now) -> Result<usize, RunError> {
        for done in 0..PACKETS_MAX {
            let Source::Packets(source) = &mut self.source else {
                return Ok(done);
            };
            if self.recorder.is_blocked() {
                return Ok(done);
            }
            let (line, time_ns) = match source.receive()? {
                Received::Packet(packet) => {
                    let is_of = |line: &Line| line.address == packet.destination;
                    let Some(line) = self.lines.iter().position(is_of) else {
                        continue;
                    };
                    (line, self.recorder.note(line, &packet, now))
                }
                Received::Refused => continue,
                Received::Nothing | Received::End => return Ok(done),
            };
            let lost = self.lost_before(now);
            // The packet was received: it is recorded also if the record of the loss before it fails.
            let written = self.recorder.write(line, time_ns, now);
            lost?;
            written.map_err(|failed| self.failed(failed))?;
        }
        Ok(PACKETS_MAX)
    }

    /// A round of the session; `None`: it has ended.
    fn session(&mut self, ends: bool, now: Now) -> Result<Option<usize>, RunError> {
        let RawRecording {
            source: Source::Session(session),
            connection,
            recorder,
            ..
        } = self
        else {
            return Ok(None);
        };
        let Session { id, work } = session;
        let mut written = Ok(());
        let work = work(ends, &mut |read| {
            if *connection != read.connection {
                *connection = read.connection;
                recorder.describe(read.stream(id), now);
            }
            let result = recorder.bytes(read.offset, read.bytes, read.receive_ns, now);
            written = std::mem::replace(&mut written, Ok(())).and(result);
        });
        let work = work.map_err(RunError::Session)?;
        written.map_err(|failed| self.failed(failed))?;
        Ok(work)
    }

    /// Records the losses that the last packet told of.
    fn lost_before(&mut self, now: Now) -> Result<(), RunError> {
        let Source::Packets(source) = &self.source else {
            return Ok(());
        };
        let sum = source.lost().map(|(_, lost)| lost).sum::<u64>();
        if sum == self.lost.iter().sum() {
            return Ok(());
        }
        let lost: Vec<_> = source.lost().collect();
        for (address, lost) in lost {
            let is_of = |line: &Line| line.address == address;
            let Some(line) = self.lines.iter().position(is_of) else {
                continue;
            };
            let count = lost.saturating_sub(self.lost[line]);
            if count > 0 {
                self.lost[line] = lost;
                self.lost_all += count;
                self.record_loss(Some(line), count, now)?;
            }
        }
        Ok(())
    }

    /// Asks for losses that no packet has told of.
    fn look_at_losses(&mut self, now: Now) -> Result<(), RunError> {
        let Source::Packets(source) = &mut self.source else {
            return Ok(());
        };
        source.look_after();
        let totals = source.tally();
        self.lost_before(now)?;
        let all = totals.dropped_kernel + totals.truncated;
        let count = all.saturating_sub(self.lost_all);
        if count > 0 {
            self.lost_all = all;
            self.record_loss(None, count, now)?;
        }
        Ok(())
    }

    fn record_loss(&mut self, line: Option<usize>, count: u64, now: Now) -> Result<(), RunError> {
        self.events.push_back(RunEvent::PacketsLost {
            line: line.map(|line| self.lines[line].id.clone()),
            packets: count,
        });
        let recorded = self.recorder.lost(line, count, now);
        recorded.map_err(|failed| self.failed(failed))
    }

    fn flush(&mut self, now: Now) -> Result<(), RunError> {
        let flushed = self.recorder.flush(now);
        flushed.map_err(|failed| self.failed(failed))
    }

    fn attend(&mut self) {
        match &mut self.keeper {
            Keeper::Journal(upkeep) => {
                let done = upkeep.attend(self.recorder.counters());
                self.events.extend(done);
            }
            Keeper::Files { free_bytes, .. } => {
                if let Output::Files(files) = self.recorder.output() {
                    *free_bytes = files.free_bytes().unwrap_or(*free_bytes);
                }
            }
        }
    }

    fn show(&mut self) {
        self.recorder.counters().record_buses = self.lost.len() as u64;
        let mut counters = *self.recorder.counters();
        let shown = match (&mut self.keeper, self.recorder.output()) {
            (Keeper::Journal(upkeep), output) => upkeep.show(output.journal(), counters),
            (Keeper::Files { stats, free_bytes }, Output::Files(files)) => {
                counters.record_position = files.position();
                counters.record_durable = files.durable();
                counters.record_segment = files.number();
                counters.record_free_bytes = *free_bytes;
                stats.counters_file().show(counters.counts());
                counters
            }
            _ => return,
        };
        *self.recorder.counters() = shown;
    }

    fn failed(&self, failed: Failed) -> RunError {
        match failed {
            Failed::Files(error) => failed_file(error),
            Failed::Journal(refused) => {
                let durable = self.recorder.output().journal().map_or(0, Journal::durable);
                failed_journal(self.path.clone(), refused, durable)
            }
        }
    }
}

fn failed_journal(directory: PathBuf, refused: Refused, durable: u64) -> RunError {
    RunError::Failed {
        directory,
        refused,
        durable,
    }
}

fn failed_file(failed: FileError) -> RunError {
    let FileError { name, error, whole } = failed;
    RunError::File { name, error, whole }
}

fn now() -> Now {
    Now {
        wall_ns: wall_ns(),
        ticks: ticks(),
    }
}
