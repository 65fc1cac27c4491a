//! Places of readers on a lossless bus.
//!
//! A reader of the publisher's user writes its position to `cursors` itself. A reader of another user must not write to files that others
//! map whole: it states its position in a file of its own below `places`, of one page and locked as long as its process lives, and the
//! publisher holds a slot of `cursors` for it. The publisher looks there when the slot blocks it, and four times a second: so the path of a
//! message is the same for both. A position counts only if it is ahead of the slot's and not ahead of the stream; a file that its reader
//! makes shorter is a free place, of that reader alone.

use super::cursors::{READERS_MAX, no_cursors, open_cursors, readers_max};
use super::error::Error;
use super::{Directory, SegmentError};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use touchline_shm::broadcast::{Cursors, SlotLease};
use touchline_shm::segment::{
    Access, Guest, GuestFile, GuestLock, Guests, Length, Mapping, Pass, SlotGuard, SlotLocks,
    WriterLock,
};

/// Maximum wait of a joining reader for its slot: the publisher looks four times a second.
const SLOT_MAX: Duration = Duration::from_secs(2);
const SLOT_POLL: Duration = Duration::from_millis(1);
/// Slot of a reader in its own file.
pub const OWN: usize = 0;
/// Entries of the folder that a look of the publisher examines, beside those of the readers that it knows, and those that its start does.
pub const ENTRIES_MAX: usize = 64;
const ENTRIES_AT_START: usize = 16_384;

/// Place of a reader that the publisher waits for.
#[derive(Debug)]
pub enum Place {
    /// Its slot, as reader of the publisher's user.
    Slot(SlotGuard),
    /// Its file, as reader of another user.
    File(Box<PlaceFile>),
}

/// File of a reader of another user.
#[derive(Debug)]
pub struct PlaceFile {
    holder: [u64; 2],
    bus: Directory,
    /// Cursors in which the publisher has its slot.
    cursors: Cursors<Mapping>,
    /// Slots that the bus gives.
    slots: u32,
    /// Last number of the slot, kept for the report that the publisher does not wait for its reader any more.
    number: u64,
    /// Guard of the file: its drop removes the file.
    _file: GuestFile,
}

impl Place {
    /// Number of the slot, from 1; 0: the publisher has held none for this reader.
    pub fn number(&mut self) -> u64 {
        match self {
            Place::Slot(guard) => u64::from(guard.index()) + 1,
            Place::File(file) => file.number(),
        }
    }
}

impl PlaceFile {
    /// Makes the file; the reader of the ring states its position there, in the slot [`OWN`].
    ///
    /// # Errors
    /// The bus is not lossless, or the file cannot be made.
    pub fn create(
        bus: &Directory,
        places: Guests,
        ring: &Mapping,
    ) -> Result<(PlaceFile, Cursors<Mapping>), Error> {
        let opened = open_cursors(bus, ring, Access::Read)?;
        let cursors = opened.ok_or_else(|| no_cursors(bus, ring))?;
        let cursors = Cursors::new(cursors);
        places.sweep();
        let key = RandomState::new().hash_one(bus.name());
        let bytes = places.page_bytes()?;
        let name = format!("{key:016x}");
        let made = places.create(&name, bytes, |file| Ok::<_, SegmentError>(file.clone()));
        let (file, memory) = made?;
        let place = PlaceFile {
            holder: holder(file.user(), key),
            bus: bus.clone(),
            slots: readers_max(ring, &cursors),
            cursors,
            number: 0,
            _file: file,
        };
        Ok((place, Cursors::new(memory)))
    }

    /// Waits until the publisher holds a slot.
    ///
    /// # Errors
    /// It gives none.
    pub fn await_slot(&self, is_published: impl Fn() -> bool) -> Result<(), Error> {
        let start = Instant::now();
        // A bus without a publisher is not overwritten, and the next publisher begins with the places of the folder.
        while self.slot().is_none() && is_published() {
            if start.elapsed() >= SLOT_MAX {
                return Err(self.refused()?);
            }
            std::thread::sleep(SLOT_POLL);
        }
        Ok(())
    }

    /// Why the publisher has given no slot.
    fn refused(&self) -> Result<Error, SegmentError> {
        let slots = self.slots;
        let locks = SlotLocks::open_to_look(&self.bus, slots)?;
        for slot in 0..slots {
            if !locks.is_held(slot)? {
                return Ok(Error::NoPlace {
                    bus: self.bus.name().to_owned(),
                    waited_s: SLOT_MAX.as_secs(),
                });
            }
        }
        let path = self.cursors.memory().path().to_owned();
        Ok(SegmentError::NoFreeSlot { path, slots }.into())
    }

    fn number(&mut self) -> u64 {
        self.number = self.slot().map_or(self.number, |slot| slot as u64 + 1);
        self.number
    }

    fn slot(&self) -> Option<usize> {
        let is_replaced = self.cursors.memory().is_replaced();
        self.cursors.slot_of(self.holder).filter(|_| !is_replaced)
    }
}

/// Slots that the publisher holds for readers of other users.
#[derive(Debug)]
pub struct HeldPlaces {
    folder: Guests,
    locks: SlotLocks,
    pass: Option<Pass>,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    guest: Guest,
    /// Held by its process as long as that lives.
    lock: GuestLock,
    file: Cursors<Mapping>,
    /// Last lease that the reader stated.
    stated: SlotLease,
    guard: SlotGuard,
    /// Lease of its slot; `None` after it was too slow, until it takes its place again.
    lease: Option<SlotLease>,
}

/// Positions of the publisher's ring.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Nothing from here on is announced for overwriting.
    pub oldest: u64,
    /// The last join point.
    pub join_point: u64,
    /// The next message.
    pub next: u64,
}

impl Stream {
    /// Whether a reader at this position has lost nothing.
    fn has(&self, position: u64) -> bool {
        !is_ahead(self.oldest, position) && !is_ahead(position, self.next)
    }
}

/// Result of a look at the file of a reader that blocks the publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The slot is free: its reader has left.
    Left,
    /// The slot has moved: try again.
    Moved,
    /// The reader is at the same position.
    Same,
}

impl HeldPlaces {
    /// The folder of a bus with this number of slots; `None` if the bus is private. Files of dead readers are removed, and each
    /// living reader has its slot at the position that it states.
    ///
    /// # Errors
    /// The folder is not as the publisher makes it.
    pub fn open(
        lock: &WriterLock,
        cursors: &Cursors<Mapping>,
        slots: u32,
    ) -> Result<Option<HeldPlaces>, Error> {
        cursors.free_held();
        let Some(folder) = Guests::places(lock.directory())? else {
            return Ok(None);
        };
        let mut places = HeldPlaces {
            folder,
            locks: SlotLocks::open(lock.directory(), slots)?,
            pass: None,
            held: Vec::new(),
        };
        places.admit(cursors, None, ENTRIES_AT_START);
        Ok(Some(places))
    }

    /// Whether the process of the reader of this slot lives; `None` if the publisher holds the slot for no reader.
    pub fn lives(&self, slot: usize) -> Option<bool> {
        let held = self.held.iter().find(|held| held.slot() == slot)?;
        Some(held.lives())
    }

    /// Looks at all readers, because the one in a slot blocks the publisher, whose next message begins at `next`; `None`: it starts.
    pub fn look_at(&mut self, slot: usize, cursors: &Cursors<Mapping>, next: Option<u64>) -> Seen {
        let mut seen = Seen::Same;
        for held in &mut self.held {
            let of_held = held.refresh(cursors, next);
            if held.slot() == slot {
                seen = of_held;
            }
        }
        seen
    }

    /// The slot was freed because its reader was too slow: it has it again when it takes its place again, which it does at its overrun.
    pub fn left_behind(&mut self, slot: usize) {
        if let Some(held) = self.held.iter_mut().find(|held| held.slot() == slot) {
            held.lease = None;
        }
    }

    /// Follows all readers: frees the slots of those that left, and gives new ones theirs, from the last join point on.
    pub fn follow(&mut self, cursors: &Cursors<Mapping>, ring: Stream) {
        self.held.retain_mut(|held| {
            held.refresh(cursors, Some(ring.next));
            let stays = held.lives() && held.file.lease(OWN).is_some();
            if let (Some(lease), false) = (held.lease, stays) {
                cursors.free(held.slot(), lease);
            }
            stays
        });
        for held in &mut self.held {
            held.take_again(cursors, ring);
        }
        self.admit(cursors, Some(ring.join_point), ENTRIES_MAX);
    }

    /// Takes all slots in other cursors.
    pub fn move_to(&mut self, cursors: &Cursors<Mapping>, ring: Stream) {
        for held in self.held.iter_mut().filter(|held| held.lease.is_some()) {
            let stated = held.file.position(OWN);
            let position = stated.filter(|stated| !is_ahead(*stated, ring.next));
            let position = position.unwrap_or(ring.join_point);
            held.lease = Some(cursors.take_for(held.holder(), held.slot(), position));
        }
    }

    fn admit(&mut self, cursors: &Cursors<Mapping>, join_point: Option<u64>, entries_max: usize) {
        let held = &self.held;
        let is_known = |guest: &Guest| held.iter().any(|held| held.guest == *guest);
        let found = (self.folder).sweep_next(&mut self.pass, entries_max, is_known);
        for guest in found {
            let Some((lock, file, stated)) = self.examine(&guest) else {
                continue;
            };
            // All slots are taken: the reader is refused when it has waited.
            let Ok(guard) = self.locks.acquire() else {
                return;
            };
            let position = join_point.or_else(|| file.position(OWN)).unwrap_or(0);
            let mut held = Held {
                guest,
                lock,
                file,
                stated,
                guard,
                lease: None,
            };
            held.lease = Some(cursors.take_for(held.holder(), held.slot(), position));
            self.held.push(held);
        }
    }

    /// The file of a living reader that states a place.
    fn examine(&self, guest: &Guest) -> Option<(GuestLock, Cursors<Mapping>, SlotLease)> {
        let lock = self.folder.lock(guest).ok().filter(GuestLock::is_held)?;
        let (file, _) = self.folder.open(guest, Length::Stated(stated_words)).ok()?;
        let file = Cursors::new(file);
        let stated = file.lease(OWN)?;
        Some((lock, file, stated))
    }
}

/// Words of a file that states a place. A file without one is not mapped: reading it would allocate unwritten pages at the publisher's cost.
fn stated_words(head: &[AtomicU64]) -> Option<usize> {
    let is_taken = Cursors::new(head).lease(OWN).is_some();
    Some(match is_taken {
        true => Cursors::<Mapping>::words_for(1),
        false => usize::MAX,
    })
}

/// How the cursors name a reader of another user.
fn holder(user: u32, key: u64) -> [u64; 2] {
    [u64::from(user) + 1, key]
}

fn holder_of(guest: &Guest) -> [u64; 2] {
    holder(
        guest.user,
        u64::from_str_radix(&guest.name, 16).unwrap_or(0),
    )
}

/// User of the reader for which the publisher holds a slot, or held it last; `None`: that of the publisher.
pub fn user_of(cursors: &Cursors<Mapping>, slot: usize) -> Option<u32> {
    let user = cursors.holder(slot)[0].checked_sub(1)?;
    u32::try_from(user).ok()
}

/// Whether the reader lives for which a publisher that has ended held a slot.
pub fn lives(bus: &Directory, cursors: &Cursors<Mapping>, slot: usize) -> bool {
    let holder = cursors.holder(slot);
    let (Some(_), Ok(Some(places))) = (user_of(cursors, slot), Guests::places(bus)) else {
        return false;
    };
    let all = places.all(READERS_MAX).unwrap_or_default();
    let is_alive = |guest: &Guest| places.lock(guest).is_ok_and(|lock| lock.is_held());
    all.iter()
        .any(|guest| holder_of(guest) == holder && is_alive(guest))
}

fn is_ahead(position: u64, of: u64) -> bool {
    (position.wrapping_sub(of) as i64) > 0
}

impl Held {
    fn slot(&self) -> usize {
        self.guard.index() as usize
    }

    fn holder(&self) -> [u64; 2] {
        holder_of(&self.guest)
    }

    /// Whether its process lives and its file is still there.
    fn lives(&self) -> bool {
        self.lock.is_held() && !self.file.memory().is_replaced()
    }

    /// Moves its slot to the position that the reader states, and frees it if the reader has left.
    fn refresh(&mut self, cursors: &Cursors<Mapping>, next: Option<u64>) -> Seen {
        let Some(lease) = self.lease else {
            return Seen::Same;
        };
        let Some(stated) = self.file.position(OWN) else {
            cursors.free(self.slot(), lease);
            self.lease = None;
            return Seen::Left;
        };
        let next = next.unwrap_or(stated);
        let now = cursors.position(self.slot()).unwrap_or(next);
        // A position ahead of the stream is not a reader's position, and the slot has passed a position behind it.
        // mutant: places: a reader states any position
        let moves = is_ahead(stated, now) && !is_ahead(stated, next);
        if !moves {
            return Seen::Same;
        }
        cursors.advance(self.slot(), stated);
        Seen::Moved
    }

    /// A reader whose slot was freed has it again: from the last join point on if it was overrun, which it states by another lease, else
    /// from its own position.
    fn take_again(&mut self, cursors: &Cursors<Mapping>, ring: Stream) {
        let Some(stated) = self.file.lease(OWN) else {
            return;
        };
        if self.lease.is_none() {
            let at = self.file.position(OWN).filter(|at| ring.has(*at));
            // mutant: places: a reader that was too slow once is never waited for again
            let position = match stated == self.stated {
                true => at,
                false => Some(ring.join_point),
            };
            self.lease = position.map(|at| cursors.take_for(self.holder(), self.slot(), at));
        }
        self.stated = stated;
    }
}
