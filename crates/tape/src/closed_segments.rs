//! Threads beside a recorder that wait for the disk in its place: one removes old segments, one compresses closed ones, one writes their index.
//!
//! They give what they did as events. Neither is waited for at the end: a kill leaves each segment in at least one form.

use crate::index::index_segments;
use crate::retention::{Retention, free_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use touchline_journal::{
    CompressedSegment, Error, FileId, OldSegment, begin_of, compress_one, plain_segments,
};
use touchline_transport::boot_ns;

/// Interval of looks at the directory.
const LOOK: Duration = Duration::from_millis(500);
/// Interval of looks for old segments, beside those at each new one.
const RETAIN_NS: u64 = 60_000_000_000;
/// Time after which a segment that could not be compressed is tried again, unless it is damaged.
const AGAIN_NS: u64 = 60_000_000_000;
/// Lowest priority of a thread.
const NICE: i32 = 19;

/// What a thread has done or found.
#[derive(Debug)]
pub(crate) enum Done {
    /// Segments were removed.
    Removed(u64),
    /// Segments cannot be removed.
    NotRemoved(Error),
    /// A segment was compressed.
    Compressed(CompressedSegment),
    /// A segment cannot be compressed.
    NotCompressed(Error),
    /// The index of a closed segment cannot be written.
    NotIndexed(Error),
    /// The directory of the tape is not the one that the journal has opened.
    Replaced,
    /// Bytes free on the file system.
    Free(u64),
}

/// Settings of the threads.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub directory: PathBuf,
    pub retention: Retention,
    pub compress: bool,
    /// Whether closed segments get an index.
    pub index: bool,
    /// First segment of this run.
    pub first: u64,
}

/// The threads.
#[derive(Debug)]
pub(crate) struct Threads {
    shared: Arc<Shared>,
    done: Receiver<Done>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Segment that is written.
    segment: AtomicU64,
    /// Segments with lower numbers are closed and on the disk.
    closed_below: AtomicU64,
    /// The directory, 0: the journal is not open.
    directory: AtomicU64,
    is_over: AtomicBool,
}

impl Threads {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(task: Task) -> io::Result<Threads> {
        let shared = Arc::<Shared>::default();
        let (sender, done) = channel();
        if task.compress {
            let (task, shared, sender) = (task.clone(), Arc::clone(&shared), sender.clone());
            let thread = std::thread::Builder::new().name("compress".to_owned());
            thread.spawn(move || compress(&task, &shared, &sender))?;
        }
        if task.index {
            let (task, shared, sender) = (task.clone(), Arc::clone(&shared), sender.clone());
            let thread = std::thread::Builder::new().name("index".to_owned());
            thread.spawn(move || index(&task, &shared, &sender))?;
        }
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("retention".to_owned());
        thread.spawn(move || retain(&task, &of_thread, &sender))?;
        Ok(Threads { shared, done })
    }

    /// Where the journal is; `None` while it is not open.
    pub fn show(&self, segment: u64, closed_below: u64, directory: Option<FileId>) {
        let directory = directory.map_or(0, number);
        self.shared.segment.store(segment, Ordering::Relaxed);
        self.shared.directory.store(directory, Ordering::Relaxed);
        self.shared
            .closed_below
            .store(closed_below, Ordering::Release);
    }

    /// The next event of a thread.
    pub fn done(&self) -> Option<Done> {
        self.done.try_recv().ok()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Ages of segments by the time that passed, and not by the wall clock, which may be set: of a segment that ended in this run since then; of an
/// older one by the begin of the last segment before this run, and the time since. The time without a recorder makes no segment older.
struct Ages {
    ended_boot_ns: BTreeMap<u64, u64>,
    /// Segment that is written.
    present: u64,
    newest_ns: u64,
    begun_boot_ns: u64,
}

impl Ages {
    fn new(newest_ns: u64, now_boot_ns: u64) -> Ages {
        Ages {
            ended_boot_ns: BTreeMap::new(),
            present: 0,
            newest_ns,
            begun_boot_ns: now_boot_ns,
        }
    }

    /// Notes the end of segments.
    fn see(&mut self, present: u64, now_boot_ns: u64) {
        if self.present > 0 {
            let ended = self.present..present;
            self.ended_boot_ns
                .extend(ended.map(|index| (index, now_boot_ns)));
        }
        self.present = present;
    }

    fn of(&self, segment: &OldSegment, now_boot_ns: u64) -> u64 {
        match self.ended_boot_ns.get(&segment.index) {
            Some(ended) => now_boot_ns.saturating_sub(*ended),
            None => {
                let run_ns = now_boot_ns.saturating_sub(self.begun_boot_ns);
                let before_ns = self.newest_ns.saturating_sub(segment.ended_ns);
                before_ns + run_ns
            }
        }
    }
}

/// The thread that removes segments, and looks at the directory.
fn retain(task: &Task, shared: &Shared, done: &Sender<Done>) {
    let newest = task
        .first
        .checked_sub(1)
        .map(|last| begin_of(&task.directory, last));
    let newest_ns = newest.and_then(|begun| begun.ok()?);
    let newest_ns = newest_ns.map_or(0, |(_, time_ns)| time_ns);
    let mut ages = Ages::new(newest_ns, boot_ns());
    let mut looked = (0, 0);
    while !shared.is_over() {
        let now_ns = boot_ns();
        let segment = shared.segment.load(Ordering::Relaxed);
        if segment > 0 {
            ages.see(segment, now_ns);
        }
        if is_replaced(&task.directory, shared) {
            let _ = done.send(Done::Replaced);
            std::thread::sleep(LOOK);
            continue;
        }
        let free = free_bytes(&task.directory);
        let _ = free.map(|bytes| done.send(Done::Free(bytes)));
        let is_short = task.retention.free_bytes_min > free && free.is_some();
        let place = (segment, now_ns / RETAIN_NS);
        if segment > 0 && (place != looked || is_short) {
            looked = place;
            let applied = task
                .retention
                .apply(&task.directory, |segment| ages.of(segment, now_ns));
            let _ = match applied {
                Ok(0) => Ok(()),
                Ok(removed) => done.send(Done::Removed(removed)),
                // The tape is being opened again, or its directory is gone: other events report that.
                Err(_) if shared.directory.load(Ordering::Relaxed) == 0 => Ok(()),
                Err(error) => done.send(Done::NotRemoved(error)),
            };
        }
        std::thread::sleep(LOOK);
    }
}

/// Both numbers of a directory in one.
fn number(id: FileId) -> u64 {
    id.inode ^ id.device.rotate_left(32)
}

/// Whether another directory, or none, has the name of the tape.
fn is_replaced(directory: &Path, shared: &Shared) -> bool {
    let opened = shared.directory.load(Ordering::Relaxed);
    let named = std::fs::metadata(directory).map(|about| number(FileId::of(&about)));
    let is_other = match named {
        Ok(named) => named != opened,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    // It may have been opened again meanwhile.
    opened != 0 && is_other && shared.directory.load(Ordering::Relaxed) == opened
}

/// The thread that compresses segments, when the system has nothing else to do.
fn compress(task: &Task, shared: &Shared, done: &Sender<Done>) {
    // Priority of this thread alone. If the system refuses it, the thread keeps its priority.
    let _ = rustix::process::setpriority_process(None, NICE);
    let mut left_alone = BTreeSet::new();
    let mut next_ns = 0;
    while !shared.is_over() {
        let below = shared.closed_below.load(Ordering::Acquire);
        if boot_ns() >= next_ns {
            let compressed = compress_below(task, below, shared, &mut left_alone, done);
            if let Err(error) = compressed {
                next_ns = boot_ns() + AGAIN_NS;
                let _ = done.send(Done::NotCompressed(error));
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// The thread that writes indexes: of all closed segments that have none, and of each that is closed later.
fn index(task: &Task, shared: &Shared, done: &Sender<Done>) {
    // As for compression.
    let _ = rustix::process::setpriority_process(None, NICE);
    let (mut next, mut next_ns) = (0, 0);
    while !shared.is_over() {
        let below = shared.closed_below.load(Ordering::Acquire);
        // A tape that was removed begins again.
        next = next.min(below);
        if below > next && boot_ns() >= next_ns {
            match index_segments(&task.directory, next) {
                // A damaged segment gets none.
                Ok((_, indexed)) => next = indexed.max(below),
                Err(error) => {
                    next_ns = boot_ns() + AGAIN_NS;
                    let _ = done.send(Done::NotIndexed(error));
                }
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Compresses all segments below this number but those that are left alone.
fn compress_below(
    task: &Task,
    below: u64,
    shared: &Shared,
    left_alone: &mut BTreeSet<u64>,
    done: &Sender<Done>,
) -> Result<(), Error> {
    let plain = plain_segments(&task.directory)?;
    let plain = plain.into_iter().filter(|index| *index < below);
    for index in plain {
        if shared.is_over() {
            break;
        }
        if left_alone.contains(&index) {
            continue;
        }
        match compress_one(&task.directory, index) {
            Ok(Some(segment)) => {
                let _ = done.send(Done::Compressed(segment));
            }
            Ok(None) => {
                left_alone.insert(index);
            }
            Err(error) => {
                if matches!(error, Error::Damaged { .. }) {
                    left_alone.insert(index);
                }
                // Removed by its age meanwhile.
                if !plain_segments(&task.directory)?.contains(&index) {
                    continue;
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;
    /// A time of the wall clock.
    const WALL_NS: u64 = 500_000 * HOUR_NS;

    fn segment(index: u64, ended_ns: u64) -> OldSegment {
        OldSegment {
            index,
            bytes: 0,
            ended_ns,
            end: 0,
        }
    }

    /// The wall clock is set forward by a day in segment 5: neither it nor a segment of an earlier run is older by more than the time that passed.
    #[test]
    fn a_segment_is_as_old_as_the_time_that_passed() {
        let boot_ns = 7 * HOUR_NS;
        let mut ages = Ages::new(WALL_NS, boot_ns);
        ages.see(5, boot_ns);
        ages.see(6, boot_ns + HOUR_NS);
        let now_ns = boot_ns + 3 * HOUR_NS;
        ages.see(8, now_ns);
        let old = segment(2, WALL_NS - 2 * HOUR_NS);
        assert_eq!(ages.of(&old, now_ns), 5 * HOUR_NS);
        let last = segment(4, WALL_NS + 24 * HOUR_NS);
        assert_eq!(ages.of(&last, now_ns), 3 * HOUR_NS);
        let set = segment(5, WALL_NS + 25 * HOUR_NS);
        assert_eq!(ages.of(&set, now_ns), 2 * HOUR_NS);
        for index in [6, 7] {
            let new = segment(index, WALL_NS - 100 * HOUR_NS);
            assert_eq!(ages.of(&new, now_ns), 0, "segment {index}");
        }
    }
}
