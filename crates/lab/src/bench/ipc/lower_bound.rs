//! Lower bound of a round trip: a bare cache line between two processors.
//!
//! One side stores a number into a line, the other answers into another line. No message can make
//! a faster round trip.

use super::{Failed, Role, root, say_ready};
use hdrhistogram::Histogram;
use std::hint::spin_loop;
use std::path::Path;
use touchline_shm::Words;
use touchline_shm::atomic::{AtomicU64, Ordering};
use touchline_shm::clock::{Clock, ticks};
use touchline_shm::segment::{Access, GroupAccess, Length, Lock, Mapping, Options, WriterLock};

const BUS: &str = "floor";
const FILE: &str = "lines";
const BYTES: usize = 4096;
/// Both sides write.
const OPTIONS: Options = Options {
    huge_pages: false,
    prefault: true,
    lock: Lock::IfAllowed,
    sparse: false,
    group_access: GroupAccess::Reports,
    length: Length::Any,
};
/// Words of the two lines, far enough apart that no prefetcher loads one with the other.
const THERE: usize = 0;
const BACK: usize = 128;

/// The two lines, mapped while this value lives.
#[derive(Debug)]
pub struct Lines {
    mapping: Mapping,
    _lock: WriterLock,
}

impl Lines {
    /// The lines in a folder.
    pub fn new(folder: &Path) -> Result<Lines, Failed> {
        let lock = WriterLock::acquire(root(folder).create(BUS)?)?;
        let mapping = Mapping::create(&lock, FILE, BYTES, &OPTIONS)?.publish()?;
        Ok(Lines {
            mapping,
            _lock: lock,
        })
    }

    /// Measures round trips: `warmup` first, then `messages` that are recorded, in nanoseconds.
    pub fn round_trips(&self, warmup: u64, messages: u64, into: &mut Histogram<u64>) {
        let clock = Clock::calibrated();
        let words = self.mapping.words();
        for number in 1..=warmup + messages {
            let begin = ticks();
            words[THERE].store(number, Ordering::Release);
            wait_for(&words[BACK], number);
            let end = ticks();
            if number > warmup {
                into.saturating_record(clock.between_ns(begin, end));
            }
        }
    }
}

/// Other side of the round trips.
pub fn echo(role: &Role) -> Result<(), Failed> {
    let directory = root(&role.folder).open(BUS)?;
    let mapping = Mapping::open(&directory, FILE, Access::Write, &OPTIONS)?;
    let words = mapping.words();
    say_ready();
    for number in 1..=role.messages {
        wait_for(&words[THERE], number);
        words[BACK].store(number, Ordering::Release);
    }
    Ok(())
}

#[inline]
fn wait_for(word: &AtomicU64, number: u64) {
    while word.load(Ordering::Acquire) != number {
        spin_loop();
    }
}
