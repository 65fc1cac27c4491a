//! A forked child has copies of locks, slots and mappings, and frees none of them.

use crate::segment::place::{BUS, PAGE, Place, publish};
use std::sync::atomic::Ordering;
use touchline_shm::Words;
use touchline_shm::broadcast::{Cursors, Geometry, Reader, Writer};
use touchline_shm::segment::{Access, Error, GroupAccess, Mapping, Options, SlotLocks, WriterLock};

/// Forks, acts in the child, and waits for it.
fn in_child(act: impl FnOnce()) {
    // SAFETY: the C library keeps the allocator usable in the child; the child uses nothing else of other threads, and ends
    // without the exit of a test.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "it forks");
    if child == 0 {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
        // SAFETY: ends the process, and takes a number.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut status = 0;
    // SAFETY: our child, and a place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child has done it");
}

/// Locks and files that a child closes, drops and removes stay its parent's; when the parent drops them they are free.
#[test]
fn a_child_frees_no_lock_of_its_parent() {
    let place = Place::new();
    let lock = place.writer();
    let ring = publish(&lock, "ring", PAGE);
    let slots = SlotLocks::create(&lock, 2).unwrap();
    let slot = slots.acquire().unwrap();
    let (mut lock, mut ring, mut slot) = (Some(lock), Some(ring), Some(slot));
    in_child(|| {
        drop(ring.take());
        drop(slot.take());
        lock.take().expect("a copy").remove_directory().unwrap();
    });
    let directory = place.root().open(BUS).unwrap();
    let again = WriterLock::acquire(directory.clone()).unwrap_err();
    assert!(matches!(again, Error::Busy { .. }), "{again}");
    assert!(place.path_of("ring").exists() && place.path_of("lock").exists());
    assert!(slots.is_held(0).unwrap());
    // As a writer in another directory would find it.
    let options = Options::default();
    let in_use = Mapping::open(&directory, "ring", Access::Write, &options).unwrap_err();
    assert!(matches!(in_use, Error::InUse { .. }), "{in_use}");
    drop((slot.take(), ring.take(), lock.take()));
    assert!(!slots.is_held(0).unwrap());
    WriterLock::acquire(directory).expect("its parent has left");
}

/// A child that reads on with its copy moves no cursor, takes no slot and frees none.
#[test]
fn a_child_moves_no_cursor_of_its_parent() {
    let place = Place::new();
    let lock = place.writer();
    let geometry = Geometry::new(64 << 10).unwrap();
    let bytes = (geometry.words() * 8).next_multiple_of(PAGE);
    let ring = publish(&lock, "ring", bytes);
    let shared = Options {
        group_access: GroupAccess::Reports,
        ..Options::default()
    };
    let draft = Mapping::create(&lock, "cursors", PAGE, &shared).unwrap();
    let cursors = draft.publish().unwrap();
    let mut writer = Writer::create(ring.clone(), geometry)
        .unwrap()
        .lossless(Cursors::new(cursors.clone()));
    let reader = Reader::attach(ring).unwrap();
    let mut reader = Some(reader.registered(Cursors::new(cursors.clone()), 1));
    while writer.publish(&[1; 1_000], Default::default()).is_ok() {}
    let of_parent = || -> Vec<u64> {
        let words = cursors.words().iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    };
    let before = of_parent();
    in_child(|| {
        let reader = reader.as_mut().expect("a copy");
        for _ in 0..100 {
            let _ = reader.read(|_| ());
        }
        reader.skip_to_join_point();
    });
    assert_eq!(of_parent(), before);
    in_child(|| drop(reader.take()));
    assert_eq!(of_parent(), before);
    assert!(writer.publish(&[1; 1_000], Default::default()).is_err());
    drop(reader.take());
    assert!(writer.publish(&[1; 1_000], Default::default()).is_ok());
}
