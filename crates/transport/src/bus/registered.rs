//! Registered readers of a lossless bus, as its writer has them: their cursors, and its decision about a reader that blocks it.

use super::cursors::{CURSORS, cursor_options, resize_cursors};
use super::error::Error;
use super::flow_control::{SlowReaderPolicy, Verdict};
use super::places::{HeldPlaces, Seen};
use super::{Layout, Lossless};
use std::time::Duration;
use touchline_shm::broadcast::{self, Cursors};
use touchline_shm::segment::{Length, Mapping, Options, SlotLocks, WriterLock};

/// Interval of looks at a reader that blocks a starting writer.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Registered readers of a lossless bus. Existing readers keep their slots.
pub struct Registered {
    pub cursors: Mapping,
    pub policy: SlowReaderPolicy,
    pub places: Option<HeldPlaces>,
}

/// Decides about the reader in a slot that blocks the writer; `next`: the writer's position, once it has started. `None` if the slot has moved.
pub fn judge(
    policy: &mut SlowReaderPolicy,
    places: &mut Option<HeldPlaces>,
    slot: usize,
    cursors: &Cursors<Mapping>,
    next: Option<u64>,
) -> Option<Verdict> {
    let Some(places) = places else {
        return Some(policy.judge(slot, || None));
    };
    match places.look_at(slot, cursors, next) {
        Seen::Left => return None,
        // mutant: places: a reader that creeps is waited for without end
        Seen::Moved if !policy.is_over(slot) => return None,
        Seen::Moved | Seen::Same => {}
    }
    let verdict = policy.judge(slot, || places.lives(slot));
    if verdict != Verdict::Wait {
        places.left_behind(slot);
    }
    Some(verdict)
}

impl Registered {
    /// The places of the readers; `continues`: in the ring of an earlier writer.
    pub fn open<const N: usize>(
        lock: &WriterLock,
        lossless: Lossless,
        settings: &Layout<N>,
        continues: bool,
    ) -> Result<Registered, Error> {
        let words = Cursors::<Mapping>::words_for(lossless.readers_max as usize);
        let bytes = bytes_of(words, lock.directory().page_bytes()?);
        let options = Options {
            lock: settings.lock,
            ..cursor_options(Length::Words(words))
        };
        let cursors = match Mapping::take_over(lock, CURSORS, &options) {
            Ok(cursors) => cursors,
            Err(_) => resize_cursors(lock, bytes, &options, continues)?,
        };
        let locks = SlotLocks::create(lock, lossless.readers_max)?;
        let of_all = Cursors::new(cursors.clone());
        Ok(Registered {
            places: HeldPlaces::open(lock, &of_all, lossless.readers_max)?,
            cursors,
            policy: SlowReaderPolicy::new(locks, lossless),
        })
    }

    /// Continues a ring without overrunning a registered reader.
    pub fn resume(
        &mut self,
        ring: &Mapping,
    ) -> Result<broadcast::Writer<Mapping>, broadcast::Refused> {
        loop {
            let cursors = Cursors::new(self.cursors.clone());
            let slot = match broadcast::Writer::resume_lossless(ring.clone(), cursors) {
                Err(broadcast::Refused::Full { slot }) => slot,
                other => {
                    self.policy.relax();
                    return other;
                }
            };
            let cursors = Cursors::new(&self.cursors);
            // Before the check: a reader that takes the slot afterwards has another lease.
            let Some(lease) = cursors.lease(slot) else {
                continue;
            };
            let of_all = Cursors::new(self.cursors.clone());
            match judge(&mut self.policy, &mut self.places, slot, &of_all, None) {
                Some(Verdict::Wait) => std::thread::sleep(LOOK_EVERY),
                Some(Verdict::Dead | Verdict::TooSlow) => cursors.free(slot, lease),
                None => {}
            }
        }
    }
}

/// Size in whole pages; bytes after the last word are unused.
pub const fn bytes_of(words: usize, page_bytes: usize) -> usize {
    (words * 8).next_multiple_of(page_bytes)
}
