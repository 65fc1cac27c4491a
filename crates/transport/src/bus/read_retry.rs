//! Retries of a snapshot read while a change is in progress. Subscribers do not use it.

use std::hint::spin_loop;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};
use touchline_shm::Words;
use touchline_shm::last_value::{Change, Found, Reader};

/// Maximum wait for one slot. A running writer needs microseconds for a change; a preempted one
/// mostly continues within this time.
pub const WAIT_MAX: Duration = Duration::from_millis(2);
/// Maximum copies of one slot: a book that changes during each of them changes faster than it can be copied.
pub const COPIES_MAX: u32 = 16;
/// Reads of a stamp before the processor is yielded.
const SPINS: u32 = 64;

/// Reads a table with limited waits for its writer.
///
/// A table has one writer, which makes one change at a time. So while a change is in progress that outlasted a wait, no
/// other slot is waited for: all slots of a dead writer cost one wait together.
#[derive(Debug, Default)]
pub struct ReadRetry {
    /// The last change that outlasted a wait.
    stuck: Mutex<Option<Change>>,
}

impl ReadRetry {
    /// Tries until an attempt succeeds or a limit is reached; then returns the last result.
    #[inline]
    pub fn read<M: Words>(
        &self,
        table: &Reader<M>,
        attempt: impl FnMut(&Reader<M>) -> Found,
    ) -> Found {
        self.read_by(table, Instant::now, attempt)
    }

    #[inline]
    fn read_by<M: Words>(
        &self,
        table: &Reader<M>,
        mut clock: impl FnMut() -> Instant,
        mut attempt: impl FnMut(&Reader<M>) -> Found,
    ) -> Found {
        let mut limits = Limits::default();
        loop {
            let found = attempt(table);
            let goes_on = match found {
                Found::Content { .. } | Found::Nothing => false,
                Found::Busy(change) => {
                    self.await_end(table, change, || limits.has_time(&mut clock))
                }
                Found::Overwritten => limits.has_copies(&mut clock),
            };
            if !goes_on {
                return found;
            }
        }
    }

    /// Waits for a change to end; returns whether it did.
    #[cold]
    fn await_end<M: Words>(
        &self,
        table: &Reader<M>,
        change: Change,
        mut has_time: impl FnMut() -> bool,
    ) -> bool {
        let is_stuck = |stuck| table.is_in_progress(stuck);
        if self.stuck().is_some_and(is_stuck) {
            return false;
        }
        for looks in 0.. {
            // Before the read: a change that ends at once also counts towards the time.
            // mutant: image: a short change does not use up the time limit
            if !has_time() {
                break;
            }
            if !table.is_in_progress(change) {
                return true;
            }
            match looks < SPINS {
                true => spin_loop(),
                false => yield_now(),
            }
        }
        // mutant: image: each slot of a dead writer is waited for
        *self.stuck() = Some(change);
        false
    }

    /// Locks; a panic leaves a complete value.
    fn stuck(&self) -> MutexGuard<'_, Option<Change>> {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Limits for one slot, from the first failed attempt.
#[derive(Debug, Default)]
struct Limits {
    end: Option<Instant>,
    copies: u32,
}

impl Limits {
    #[cold]
    fn has_time(&mut self, clock: &mut impl FnMut() -> Instant) -> bool {
        let now = clock();
        // mutant: image: a read waits for a dead writer
        now < *self.end.get_or_insert(now + WAIT_MAX)
    }

    #[cold]
    fn has_copies(&mut self, clock: &mut impl FnMut() -> Instant) -> bool {
        self.copies += 1;
        // mutant: image: copies of a slot that always changes have no limit
        // mutant: image: long copies have no time limit
        self.has_time(clock) && self.copies < COPIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use touchline_shm::last_value::{Shape, Writer};
    use touchline_shm::zeroed;

    const SHAPE: Shape = Shape {
        slots: 3,
        content_words: 2,
    };
    const TICK: Duration = Duration::from_micros(100);
    /// Clock readings until a wait is over.
    const MOST_LOOKS: u32 = (WAIT_MAX.as_nanos() / TICK.as_nanos()) as u32 + 1;

    type Memory = Arc<[AtomicU64]>;

    /// A table with content in each slot, and the positions of their stamps.
    fn table() -> (Writer<Memory>, Reader<Memory>, [usize; 3]) {
        let memory = zeroed(SHAPE.words());
        let mut writer = Writer::create(memory.clone(), SHAPE).expect("there is room");
        for slot in 0..SHAPE.slots {
            writer.change(slot, 8, |content| content[0].store(1, Ordering::Relaxed));
        }
        let reader = Reader::attach(memory).expect("a table");
        let stamps = std::array::from_fn(|slot| SHAPE.words_through(slot) - 8);
        (writer, reader, stamps)
    }

    /// A clock that advances by a tick at each reading, and counts the readings.
    fn clock(looks: &Cell<u32>) -> impl FnMut() -> Instant {
        let start = Instant::now();
        move || {
            looks.set(looks.get() + 1);
            start + TICK * looks.get()
        }
    }

    /// Result of a read, its attempts, and its clock readings.
    fn read(retry: &ReadRetry, table: &Reader<Memory>, slot: usize) -> (Found, u32, u32) {
        let (looks, mut attempts) = (Cell::new(0), 0);
        let found = retry.read_by(table, clock(&looks), |table| {
            attempts += 1;
            table.read(slot, &mut [0; 2])
        });
        (found, attempts, looks.get())
    }

    #[test]
    fn a_readable_slot_takes_one_attempt_and_no_clock_read() {
        let (_writer, reader, _) = table();
        let read = read(&ReadRetry::default(), &reader, 1);
        assert_eq!(read, (Found::Content { position: 8 }, 1, 0));
    }

    /// A writer that died in a change is waited for once, within the limit; with its successor reads succeed again.
    #[test]
    fn the_timeout_of_a_change_that_never_ends_is_spent_once() {
        let (writer, reader, stamps) = table();
        let stop = |slot: usize| {
            let stamp = &writer.memory()[stamps[slot]];
            stamp.store(stamp.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
        };
        let retry = ReadRetry::default();
        stop(1);
        let (found, attempts, looks) = read(&retry, &reader, 1);
        assert!(matches!(found, Found::Busy(_)));
        assert_eq!((attempts, looks), (1, MOST_LOOKS));
        // A correct writer leaves at most one slot like this; the second one tests the wait.
        stop(2);
        for slot in [1, 2, 1] {
            let (found, attempts, looks) = read(&retry, &reader, slot);
            assert!(matches!(found, Found::Busy(_)));
            assert_eq!((attempts, looks), (1, 0), "slot {slot} is not waited for");
        }
        assert_eq!(read(&retry, &reader, 0).1, 1);
        let mut successor = Writer::create(writer.memory().clone(), SHAPE).expect("there is room");
        assert_eq!(read(&retry, &reader, 1).0, Found::Nothing);
        successor.change(2, 8, |_| ());
        stop(2);
        assert_eq!(read(&retry, &reader, 2).2, MOST_LOOKS, "another change");
    }

    #[test]
    fn a_change_that_ends_is_waited_for() {
        let (mut writer, reader, stamps) = table();
        let stamp = writer.memory()[stamps[0]].load(Ordering::Relaxed);
        writer.memory()[stamps[0]].store(stamp | 1, Ordering::Relaxed);
        let (start, mut looks) = (Instant::now(), 0);
        let found = ReadRetry::default().read_by(
            &reader,
            || {
                looks += 1;
                if looks == 5 {
                    writer.change(0, 16, |_| ());
                }
                start
            },
            |table| table.read(0, &mut [0; 2]),
        );
        assert_eq!((found, looks), (Found::Content { position: 16 }, 5));
    }

    /// A slot with another change at each attempt is given up.
    #[test]
    fn the_number_of_retries_on_short_changes_is_limited() {
        let (mut writer, reader, _) = table();
        let (looks, mut attempts) = (Cell::new(0), 0);
        let found = ReadRetry::default().read_by(&reader, clock(&looks), |table| {
            attempts += 1;
            assert!(attempts < 1_000, "without end");
            let mut found = Found::Nothing;
            writer.change(1, 8 * attempts, |_| found = table.read(1, &mut [0; 2]));
            found
        });
        assert!(matches!(found, Found::Busy(_)));
        assert_eq!((attempts, looks.get()), (MOST_LOOKS.into(), MOST_LOOKS));
    }

    /// A slot that changes during each copy is given up after the maximum number of copies, or the
    /// maximum time.
    #[test]
    fn a_slot_that_changes_during_each_copy_is_given_up() {
        for (tick, most) in [
            (Duration::ZERO, COPIES_MAX),
            (WAIT_MAX, 2),
            (WAIT_MAX / 4, 5),
        ] {
            let (mut writer, reader, _) = table();
            let (mut now, mut copies) = (Instant::now(), 0);
            let found = ReadRetry::default().read_by(
                &reader,
                || {
                    now += tick;
                    now
                },
                |table| {
                    table.read_parts(2, &mut [0; 2], 1, |_| {
                        copies += 1;
                        writer.change(2, 8 * copies, |_| ());
                        [1..2, 0..0]
                    })
                },
            );
            assert_eq!((found, copies), (Found::Overwritten, most.into()));
        }
    }
}
