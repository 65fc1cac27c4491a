//! What every recorder does beside its records: tail and counters, the watch over its disk, and the threads for closed segments.

use crate::closed_segments::{Done, Task, Threads};
use crate::counters::RecorderCounters;
use crate::outcome::{RunError, RunEvent};
use crate::retention::Retention;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use touchline_journal::{Error, FileId, Journal, Options, WriterLock, is_journal};
use touchline_transport::boot_ns;
use touchline_transport::clock::wall_ns;
use touchline_transport::shm::{ProcessStats, Root};

/// Folder of the tails, beside the buses. Names that start with a period are not listed as buses.
const TAILS: &str = ".tapes";
/// Time without a taken record after which the disk is reported.
const DISK_NS: u64 = 1_000_000_000;
/// Time between two attempts to open a tape again.
const AGAIN_NS: u64 = 1_000_000_000;
/// Time that a journal has to end before it is left.
const LEAVE: Duration = Duration::from_millis(500);
/// Events that wait for a log that takes no lines; the oldest ones beyond are left out.
pub(crate) const EVENTS_MAX: usize = 1_024;
/// Longest time in which a recorder that ends waits for its disk, and its pause meanwhile.
pub(crate) const CLOSE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// `record_disk_state`.
mod state {
    pub const TAKES: u64 = 0;
    pub const BEHIND: u64 = 1;
    pub const FULL: u64 = 2;
    pub const FAILED: u64 = 3;
}

/// Tail, counters and limits of a recorder's tape, whose runs before have recorded `L`.
pub(crate) struct Upkeep<L> {
    directory: PathBuf,
    /// File system of the directory.
    device: u64,
    options: Options,
    threads: Threads,
    stats: ProcessStats,
    blocked_since_ns: Option<u64>,
    is_disk_told: bool,
    is_replaced: bool,
    /// A limit removes segments.
    is_limited: bool,
    free_bytes: u64,
    closed: Closed,
    durable: DurableAge,
    failure: Option<Failure<L>>,
    last: ReadLast<L>,
    tail: Arc<WriterLock>,
}

/// A tape, and who looks after it.
pub(crate) struct Place<'a, L> {
    /// Directory of the buses.
    pub root: &'a Root,
    /// Name of the recorder.
    pub name: &'a str,
    /// Directory of the tape.
    pub directory: &'a Path,
    /// Limits of the tape.
    pub retention: Retention,
    /// Whether closed segments are compressed.
    pub compress: bool,
    /// Whether closed segments get an index.
    pub index: bool,
    /// Reads what the runs before have recorded.
    pub last: ReadLast<L>,
}

/// Reads what the runs before have recorded. The journal of this run is open: it has the records that only the shared memory had.
pub(crate) type ReadLast<L> = fn(&Path) -> Result<L, Error>;

/// A journal opened again, and what its runs before have recorded.
pub(crate) type Opened<L> = Result<(Journal, L), Error>;

/// A journal that has failed, until it is open again.
struct Failure<L> {
    reason: String,
    /// Position up to which the tape was on the disk.
    durable: u64,
    next_ns: u64,
    opening: Option<JoinHandle<Opened<L>>>,
}

impl<L> Failure<L> {
    /// The event, if the reason is another one than before.
    fn changed(&mut self, reason: String) -> Option<RunEvent> {
        let is_new = self.reason != reason;
        self.reason.clone_from(&reason);
        let durable = self.durable;
        is_new.then_some(RunEvent::Failed { reason, durable })
    }
}

/// Segments that are closed and on the disk.
#[derive(Default)]
struct Closed {
    below: u64,
    /// The present segment, and a position behind its `Begin`.
    begun: (u64, u64),
}

/// When the durable position has moved last, or had nothing to wait for.
#[derive(Default)]
struct DurableAge {
    durable: u64,
    since_ns: u64,
}

impl<L: Send + 'static> Upkeep<L> {
    /// Opens the journal of a tape, with its tail beside the buses, and the counters of its recorder.
    pub fn open(
        place: &Place<'_, L>,
        options: &Options,
        wall_ns: u64,
    ) -> Result<(Journal, L, Upkeep<L>), RunError> {
        let Place {
            root,
            name,
            directory,
            retention,
            compress,
            index,
            last,
        } = place;
        root.make_root()?;
        let tails = Root::at(root.path().join(TAILS));
        let tail = WriterLock::acquire(tails.create(name)?)?;
        let journal = Journal::open(directory, &tail, options, wall_ns)?;
        let stats = ProcessStats::create(root, name, 1.0, RecorderCounters::TABLE, [])?;
        let task = Task {
            directory: directory.to_path_buf(),
            retention: *retention,
            compress: *compress,
            index: *index,
            first: journal.segment(),
        };
        let upkeep = Upkeep {
            directory: directory.to_path_buf(),
            device: journal.directory().device,
            options: options.clone(),
            threads: Threads::start(task).map_err(RunError::Thread)?,
            stats,
            blocked_since_ns: None,
            is_disk_told: false,
            is_replaced: false,
            is_limited: *retention != Retention::default(),
            free_bytes: 0,
            closed: Closed::default(),
            durable: DurableAge::default(),
            failure: None,
            last: *last,
            tail: Arc::new(tail),
        };
        Ok((journal, last(directory)?, upkeep))
    }

    /// Removes the counters, at an end in order; those of a recorder that is dropped stay.
    pub fn finish(self) {
        self.stats.finish();
    }

    /// What the threads for closed segments have done.
    pub fn attend(&mut self, counters: &mut RecorderCounters) -> Vec<RunEvent> {
        let mut events = Vec::new();
        while let Some(done) = self.threads.done() {
            match done {
                Done::Removed(segments) => counters.record_segments_removed += segments,
                Done::NotRemoved(error) => events.push(RunEvent::NotRemoved {
                    reason: error.to_string(),
                }),
                Done::Compressed(segment) => {
                    counters.record_segments_compressed += 1;
                    counters.record_compressed_from += segment.bytes;
                    counters.record_compressed_to += segment.compressed_bytes;
                }
                Done::NotCompressed(error) => events.push(RunEvent::NotCompressed {
                    reason: error.to_string(),
                }),
                Done::NotIndexed(error) => events.push(RunEvent::NotIndexed {
                    reason: error.to_string(),
                }),
                Done::Replaced => self.is_replaced = true,
                Done::Free(bytes) => self.free_bytes = bytes,
            }
        }
        events
    }

    /// Whether the directory of the open journal was removed, or another one has its name.
    pub fn is_replaced(&mut self) -> bool {
        std::mem::take(&mut self.is_replaced)
    }

    /// Notices a journal that takes no record for a second, and one that takes them again. One that has failed was reported.
    pub fn look_at_disk(
        &mut self,
        is_blocked: bool,
        journal: Option<&Journal>,
        at_ns: u64,
    ) -> Option<RunEvent> {
        let journal = journal?;
        if !is_blocked {
            self.blocked_since_ns = None;
            let (takes, errno) = (true, 0);
            return std::mem::take(&mut self.is_disk_told)
                .then_some(RunEvent::Disk { takes, errno });
        }
        let since_ns = *self.blocked_since_ns.get_or_insert(at_ns);
        let is_long = at_ns - since_ns >= DISK_NS;
        let is_new = is_long && !std::mem::replace(&mut self.is_disk_told, true);
        let (takes, errno) = (false, journal.alarm());
        is_new.then_some(RunEvent::Disk { takes, errno })
    }

    /// The journal has failed: it is opened again, at once and then each second.
    pub fn failed(&mut self, reason: String, durable: u64) -> RunEvent {
        self.is_disk_told = true;
        self.failure = Some(Failure {
            reason: reason.clone(),
            durable,
            next_ns: 0,
            opening: None,
        });
        RunEvent::Failed { reason, durable }
    }

    /// The journal, when it is open again: in a thread, since the start waits for the disk. An event for each new reason why it is not.
    ///
    /// # Errors
    /// The tape is damaged, another process writes it, or it is another tape.
    pub fn reopened(
        &mut self,
        events: &mut impl Extend<RunEvent>,
    ) -> Result<Option<(Journal, L)>, RunError> {
        let Some(failure) = &mut self.failure else {
            return Ok(None);
        };
        let Some(opening) = failure.opening.take() else {
            if boot_ns() >= failure.next_ns {
                failure.next_ns = boot_ns() + AGAIN_NS;
                let (directory, options) = (self.directory.clone(), self.options.clone());
                let (tail, device, last) = (Arc::clone(&self.tail), self.device, self.last);
                let open = move || -> Opened<L> {
                    check_device(&directory, device)?;
                    let journal = Journal::open(&directory, &tail, &options, wall_ns())?;
                    let last = last(&directory)?;
                    Ok((journal, last))
                };
                let thread = std::thread::Builder::new().name("open".to_owned());
                match thread.spawn(open) {
                    Ok(opening) => failure.opening = Some(opening),
                    Err(error) => events.extend(failure.changed(error.to_string())),
                }
            }
            return Ok(None);
        };
        if !opening.is_finished() {
            failure.opening = Some(opening);
            return Ok(None);
        }
        match opening.join().expect("a start does not panic") {
            Ok(opened) => {
                self.failure = None;
                self.is_replaced = false;
                Ok(Some(opened))
            }
            Err(error @ (Error::Io { .. } | Error::Tail(_))) => {
                events.extend(failure.changed(error.to_string()));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Shows the counters with those of the journal, and returns them; without a journal they stay.
    pub fn show(
        &mut self,
        journal: Option<&Journal>,
        mut counters: RecorderCounters,
    ) -> RecorderCounters {
        if let Some(journal) = journal {
            counters.record_position = journal.position();
            counters.record_durable = journal.durable();
            counters.record_segment = journal.segment();
            counters.record_disk_errno = journal.alarm();
        }
        counters.record_disk_state = match journal {
            None => state::FAILED,
            Some(journal) if journal.alarm() != 0 => state::FULL,
            Some(_) if self.is_disk_told => state::BEHIND,
            Some(_) => state::TAKES,
        };
        counters.record_durable_age_ns = self.durable.age_ns(&counters, boot_ns());
        counters.record_free_bytes = self.free_bytes;
        counters.record_limited = u64::from(self.is_limited);
        let below = self.closed.below(&counters);
        let directory = journal.map(Journal::directory);
        self.threads.show(counters.record_segment, below, directory);
        self.stats.counters_file().show(counters.counts());
        counters
    }
}

impl Closed {
    /// Segments below this number are closed and on the disk.
    fn below(&mut self, counters: &RecorderCounters) -> u64 {
        if counters.record_segment != self.begun.0 {
            self.begun = (counters.record_segment, counters.record_position);
        }
        if counters.record_durable >= self.begun.1 {
            self.below = self.begun.0;
        }
        self.below
    }
}

impl DurableAge {
    fn age_ns(&mut self, counters: &RecorderCounters, at_ns: u64) -> u64 {
        let durable = counters.record_durable;
        if durable != self.durable || durable >= counters.record_position {
            (self.durable, self.since_ns) = (durable, at_ns);
        }
        at_ns - self.since_ns
    }
}

/// Refuses a place on another file system than before, unless it has a tape: the disk of the tape is not mounted, and another one would be
/// filled in its place.
fn check_device(directory: &Path, device: u64) -> Result<(), Error> {
    let parent = directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let place = match directory.exists() {
        true => directory,
        false => parent.unwrap_or(Path::new(".")),
    };
    let about = std::fs::metadata(place);
    let is_same = about.is_ok_and(|about| FileId::of(&about).device == device);
    // Without its folder the directory cannot be made.
    if is_same || !place.exists() || is_journal(directory).unwrap_or(false) {
        return Ok(());
    }
    Err(Error::Io {
        action: "make",
        name: directory.display().to_string(),
        source: std::io::Error::other("the disk of the tape is not mounted there any more"),
    })
}

/// A journal that has failed or was removed, as its recorder left it.
#[derive(Debug, Default)]
pub(crate) struct LeftJournal {
    id: [u8; 16],
    /// Position behind its last record.
    position: u64,
    /// Position up to which it was on the disk.
    pub durable: u64,
}

impl LeftJournal {
    /// Closes a journal. The thread of a failed one has ended; that of another one has a moment.
    pub fn leave(journal: Journal, wall_ns: u64) -> LeftJournal {
        let left = LeftJournal {
            id: journal.id(),
            position: journal.position(),
            durable: journal.durable(),
        };
        let _ = journal.close_within(wall_ns, LEAVE);
        left
    }

    /// Position behind which the journal, opened again, lacks records. Another journal in its place lacks none of its own.
    pub fn lacks_from(&self, journal: &Journal) -> Option<u64> {
        let found = journal.report().found_position;
        (journal.id() == self.id && found < self.position).then_some(found)
    }
}

/// Works until nothing waits for the disk: a slow one has some time for that.
pub(crate) fn drain<E>(mut work: impl FnMut() -> Result<bool, E>) -> Result<(), E> {
    let begun = Instant::now();
    while !work()? && begun.elapsed() < CLOSE {
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(segment: u64, position: u64, durable: u64) -> RecorderCounters {
        RecorderCounters {
            record_segment: segment,
            record_position: position,
            record_durable: durable,
            ..RecorderCounters::default()
        }
    }

    /// A disk that is not mounted any more leaves a folder on another one, which is not filled in its place.
    #[test]
    fn a_tape_is_not_made_again_on_another_disk() {
        let folder = touchline_testing::Folder::new("tape-device");
        let device = FileId::of(&std::fs::metadata(&folder).expect("our folder")).device;
        let tape = folder.join("tape");
        check_device(&tape, device).expect("the same disk");
        let error = check_device(&tape, device + 1).expect_err("another disk");
        assert!(error.to_string().contains("not mounted"), "{error}");
        check_device(&folder.join("no/tape"), device + 1).expect("the error of the system");
        std::fs::create_dir(&tape).expect("our folder");
        check_device(&tape, device + 1).expect_err("an empty folder");
        std::fs::write(tape.join("0000000001.tlj"), [0; 64]).expect("our folder");
        check_device(&tape, device + 1).expect("a tape, which the start verifies");
    }

    /// A segment is closed for other threads when the disk has everything before the next one.
    #[test]
    fn a_segment_is_closed_when_the_disk_has_it() {
        let mut closed = Closed::default();
        for (segment, position, durable, below) in [
            (3, 1_000, 1_000, 3),
            (4, 5_000, 4_000, 3),
            (4, 9_000, 4_999, 3),
            (4, 9_000, 5_000, 4),
            (7, 30_000, 29_000, 4),
            (7, 31_000, 30_000, 7),
        ] {
            let counters = counters(segment, position, durable);
            assert_eq!(closed.below(&counters), below, "{counters:?}");
        }
    }

    #[test]
    fn the_durable_position_is_as_old_as_its_last_move() {
        let mut age = DurableAge::default();
        for (position, durable, at_ns, expected) in [
            (100, 100, 5, 0),
            (200, 100, 6, 1),
            (300, 100, 9, 4),
            (300, 200, 12, 0),
            (300, 200, 20, 8),
            (300, 300, 25, 0),
            (300, 300, 90, 0),
            (400, 300, 91, 1),
        ] {
            let counters = counters(1, position, durable);
            assert_eq!(age.age_ns(&counters, at_ns), expected, "{counters:?}");
        }
    }
}
