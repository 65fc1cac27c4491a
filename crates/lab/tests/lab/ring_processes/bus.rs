//! The bus that the processes of a test meet on.

use std::fs;
use std::path::Path;
use touchline_shm::broadcast::{Cursors, Flags, Geometry, NoRoom, Reader, Refused, Writer};
use touchline_shm::segment::{
    Access, Error, GroupAccess, Mapping, Options, Root, SlotLocks, WriterLock,
};
use touchline_testing::payload;

/// Bytes of the ring: small, so that readers are often overrun.
pub const CAPACITY: u64 = 64 * 1024;
/// Bytes of the longest message.
pub const LENGTH_MAX: usize = 700;
/// Places for named readers.
pub const SLOTS: u32 = 4;

const BUS: &str = "killed";
const RING: &str = "ring";
const CURSORS: &str = "cursors";

/// Tells all readers that no further message will come.
pub fn end(folder: &Path) {
    fs::write(folder.join("end"), "").unwrap();
}

/// Whether no further message will come.
pub fn has_ended(folder: &Path) -> bool {
    folder.join("end").exists()
}

fn root(folder: &Path) -> Root {
    Root::at(folder.join("root"))
}

/// The writer's side of the bus. The lock is given up last.
pub struct Writing {
    pub ring: Writer<Mapping>,
    pub slots: SlotLocks,
    _lock: WriterLock,
}

impl Writing {
    /// Takes the bus over, or begins it. Named readers that are dead lose their places.
    pub fn begin(folder: &Path) -> Writing {
        let lock = WriterLock::acquire(root(folder).create(BUS).unwrap()).unwrap();
        let slots = SlotLocks::create(&lock, SLOTS).unwrap();
        let open = |file| Mapping::open(lock.directory(), file, Access::Write, &options(file));
        let geometry = Geometry::new(CAPACITY).unwrap();
        let (ring, cursors) = match (open(RING), open(CURSORS)) {
            (Ok(ring), Ok(cursors)) => (ring, cursors),
            _ => {
                let words = Cursors::<Mapping>::words_for(SLOTS as usize);
                let cursors = create(&lock, CURSORS, words, |_| ());
                let ring = create(&lock, RING, geometry.words(), |memory| {
                    Writer::create(memory, geometry).unwrap();
                });
                (ring, cursors)
            }
        };
        let ring = loop {
            let registered = Cursors::new(cursors.clone());
            match Writer::resume_lossless(ring.clone(), registered) {
                Ok(writer) => break writer,
                Err(Refused::Full { slot }) => {
                    free_if_dead(&slots, &Cursors::new(cursors.clone()), slot);
                }
                Err(refused) => panic!("{refused}"),
            }
        };
        Writing {
            ring,
            slots,
            _lock: lock,
        }
    }

    /// Publishes the next message; waits for named readers that live.
    pub fn publish(&mut self, bytes: &mut Vec<u8>) {
        let sequence = self.ring.next().sequence;
        payload::write(sequence, payload::length(sequence, LENGTH_MAX), bytes);
        while let Err(no_room) = self.ring.publish(bytes, Flags::default()) {
            let NoRoom::Full { slot } = no_room else {
                panic!("{no_room}");
            };
            free_if_dead(&self.slots, self.ring.registered().unwrap(), slot);
        }
    }
}

fn free_if_dead(slots: &SlotLocks, registered: &Cursors<Mapping>, slot: usize) {
    let Some(lease) = registered.lease(slot) else {
        return;
    };
    if slots.is_held(slot as u32).unwrap() {
        std::thread::yield_now();
    } else {
        registered.free(slot, lease);
    }
}

fn create(lock: &WriterLock, file: &str, words: usize, fill: impl FnOnce(Mapping)) -> Mapping {
    let bytes = (words * 8).next_multiple_of(4096);
    let draft = Mapping::create(lock, file, bytes, &options(file)).unwrap();
    fill(draft.mapping());
    draft.publish().unwrap()
}

/// Attaches, as soon as there is something to attach to.
pub fn attach(folder: &Path) -> Reader<Mapping> {
    Reader::attach(open(folder, RING, Access::Read)).unwrap()
}

/// Attaches under a name, in a place of its own; the writer waits for it from now on.
pub fn attach_registered(folder: &Path) -> (Reader<Mapping>, impl Sized) {
    let reader = attach(folder);
    let cursors = Cursors::new(open(folder, CURSORS, Access::Write));
    let slots = SlotLocks::open(&root(folder).open(BUS).unwrap(), SLOTS).unwrap();
    let place = slots.acquire().unwrap();
    let slot = place.index() as usize;
    (reader.registered(cursors, slot), place)
}

fn open(folder: &Path, file: &str, access: Access) -> Mapping {
    loop {
        let directory = root(folder).open(BUS);
        match directory
            .and_then(|directory| Mapping::open(&directory, file, access, &options(file)))
        {
            Ok(mapping) => return mapping,
            Err(Error::Missing { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn options(file: &str) -> Options {
    Options {
        lock: touchline_shm::segment::Lock::No,
        group_access: match file {
            CURSORS => GroupAccess::Reports,
            _ => GroupAccess::Read,
        },
        ..Options::default()
    }
}
