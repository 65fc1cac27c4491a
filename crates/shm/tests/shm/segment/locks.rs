//! One writer, slots for readers, and no cleanup after a process dies.

use crate::segment::place::{BUS, PAGE, Place, open, publish, root_in};
use crate::segment::roles::{Player, ready, wait_for_the_end};
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use touchline_shm::Words;
use touchline_shm::segment::{Error, Guests, Mapping, Options, SlotLocks, WriterLock};

pub fn play_writer(folder: &Path) {
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    publish(&lock, "ring", PAGE).words()[0].store(7, Ordering::Relaxed);
    let _half_made = Mapping::create(&lock, "image", PAGE, &Options::default()).unwrap();
    ready("");
    wait_for_the_end();
}

#[test]
fn the_second_writer_is_rejected_with_the_holder() {
    let place = Place::new();
    let writer = Player::start("writer", place.folder());
    let directory = place.root().open(BUS).unwrap();
    let holder = WriterLock::holder(&directory)
        .unwrap()
        .expect("it is written");
    assert_eq!(holder.pid, writer.process.id());
    assert!(holder.command.starts_with("shm"), "{holder:?}");
    let error = WriterLock::acquire(directory).unwrap_err();
    let text = error.to_string();
    println!("{text}");
    let start = format!(
        "bus cme-340 is being written by process {} (",
        writer.process.id()
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(
        text.contains("since 2") && text.ends_with("or choose another name"),
        "{text}"
    );
    drop(writer);
}

#[test]
fn a_killed_writer_leaves_no_obstacle_for_the_next() {
    let place = Place::new();
    for _ in 0..20 {
        let writer = Player::start("writer", place.folder());
        assert!(place.path_of(".image.new").exists());
        drop(writer);
        let directory = place.root().open(BUS).unwrap();
        assert_eq!(WriterLock::holder(&directory).unwrap(), None);
        let lock = WriterLock::acquire(directory).unwrap();
        assert!(!place.path_of(".image.new").exists());
        let ring = open(lock.directory(), "ring").unwrap();
        assert_eq!(ring.words()[0].load(Ordering::Relaxed), 7);
        let holder = WriterLock::holder(lock.directory()).unwrap().unwrap();
        assert_eq!(holder.pid, std::process::id(), "not that of the one before");
    }
}

#[test]
fn a_removed_directory_has_no_files_and_its_lock_has_no_effect() {
    let place = Place::new();
    let before = place.root().create(BUS).unwrap();
    let lock = WriterLock::acquire(before.clone()).unwrap();
    publish(&lock, "ring", PAGE);
    lock.remove_directory().unwrap();
    assert_eq!(place.root().buses().unwrap(), Vec::<String>::new());
    let gone = WriterLock::acquire(before).unwrap_err().to_string();
    assert!(gone.contains(BUS), "{gone}");
    let lock = WriterLock::acquire(place.root().create(BUS).unwrap()).unwrap();
    assert!(open(lock.directory(), "ring").is_err());
}

/// Concurrent acquisition and removal: never two holders.
#[test]
fn a_lock_removed_during_acquisition_has_one_holder() {
    const TAKERS: usize = 6;
    let place = Place::new();
    let (holders, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..TAKERS {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    let Ok(directory) = place.root().create(BUS) else {
                        continue;
                    };
                    let lock = WriterLock::acquire(directory);
                    let Ok(lock) = lock else { continue };
                    assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                    taken.fetch_add(1, Ordering::Relaxed);
                    // Long enough for another to start, if it can.
                    (0..8).for_each(|_| thread::yield_now());
                    holders.fetch_sub(1, Ordering::SeqCst);
                    // If another has started in it meanwhile, it stays.
                    let _ = lock.remove_directory();
                }
            });
        }
    });
    let taken = taken.into_inner();
    assert!(
        taken > 100,
        "acquired only {taken} times: the test covered nothing"
    );
}

#[test]
fn one_of_many_concurrent_threads_gets_the_lock() {
    const STARTERS: usize = 8;
    for _ in 0..200 {
        let place = Place::new();
        let together = Barrier::new(STARTERS);
        let start = || {
            together.wait();
            let taken = place.root().create(BUS).and_then(WriterLock::acquire);
            together.wait(); // none gives up before all have tried
            match taken {
                Ok(_) => true,
                Err(Error::Busy { holder, .. }) => {
                    assert_eq!(holder.pid, std::process::id());
                    false
                }
                Err(other) => panic!("{other}"),
            }
        };
        let winners: usize = thread::scope(|scope| {
            let starters: Vec<_> = (0..STARTERS).map(|_| scope.spawn(start)).collect();
            let won = starters.into_iter().map(|s| usize::from(s.join().unwrap()));
            won.sum()
        });
        assert_eq!(winners, 1);
    }
}

pub fn play_starter(folder: &Path) {
    let lock = root_in(folder).create(BUS).and_then(WriterLock::acquire);
    ready(if lock.is_ok() { "won" } else { "lost" });
    wait_for_the_end();
}

#[test]
fn one_of_many_concurrent_processes_gets_the_lock() {
    for _ in 0..5 {
        let place = Place::new();
        let starters: Vec<_> = thread::scope(|scope| {
            let start = || Player::start("starter", place.folder());
            let starting: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
            starting.into_iter().map(|s| s.join().unwrap()).collect()
        });
        let won = starters.iter().filter(|starter| starter.said == "won");
        assert_eq!(won.count(), 1);
        starters.into_iter().for_each(drop);
    }
}

#[test]
fn a_dropped_lock_is_free() {
    let place = Place::new();
    let lock = place.writer();
    let directory = lock.directory().clone();
    assert!(WriterLock::acquire(directory.clone()).is_err());
    // Opening and closing the file elsewhere in this process must not release the lock, as it would with process locks.
    drop(fs::File::open(place.path_of("lock")).unwrap());
    assert!(WriterLock::acquire(directory.clone()).is_err());
    drop(lock);
    assert_eq!(WriterLock::holder(&directory).unwrap(), None);
    WriterLock::acquire(directory).unwrap();
}

#[test]
fn reader_slots_are_leased_once_and_released() {
    let place = Place::new();
    let writer = SlotLocks::create(&place.writer(), 3).unwrap();
    let readers = SlotLocks::open(&place.root().open(BUS).unwrap(), 3).unwrap();
    let mut guards: Vec<_> = (0..3).map(|_| readers.acquire().unwrap()).collect();
    let taken: Vec<_> = guards.iter().map(|guard| guard.index()).collect();
    assert_eq!(taken, [0, 1, 2]);
    let error = readers.acquire().unwrap_err();
    assert!(error.to_string().contains("all 3 places"), "{error}");
    drop(guards.remove(1));
    let held: Vec<_> = (0..3).map(|index| writer.is_held(index).unwrap()).collect();
    assert_eq!(held, [true, false, true]);
    assert_eq!(readers.acquire().unwrap().index(), 1);
}

#[test]
fn threads_that_want_a_slot_at_once_get_different_ones() {
    const READERS: usize = 8;
    let place = Place::new();
    let readers = SlotLocks::create(&place.writer(), READERS as u32).unwrap();
    let together = Barrier::new(READERS);
    let take = || {
        together.wait();
        let guard = readers.acquire();
        together.wait(); // none gives up before all have tried, and none waits for one that failed
        guard.unwrap().index() as usize
    };
    for _ in 0..200 {
        let mut taken = [false; READERS];
        thread::scope(|scope| {
            let lease: Vec<_> = (0..READERS).map(|_| scope.spawn(take)).collect();
            for thread in lease {
                taken[thread.join().unwrap()] = true;
            }
        });
        assert_eq!(taken, [true; READERS]);
    }
}

pub fn play_reader(folder: &Path) {
    let readers = SlotLocks::open(&root_in(folder).open(BUS).unwrap(), 2).unwrap();
    let guard = readers.acquire().unwrap();
    ready(&guard.index().to_string());
    wait_for_the_end();
}

#[test]
fn a_killed_reader_releases_its_slot() {
    let place = Place::new();
    let writer = SlotLocks::create(&place.writer(), 2).unwrap();
    let first = Player::start("reader", place.folder());
    let second = Player::start("reader", place.folder());
    assert_eq!((first.said.as_str(), second.said.as_str()), ("0", "1"));
    assert!(writer.is_held(0).unwrap() && writer.is_held(1).unwrap());
    assert!(matches!(
        writer.acquire(),
        Err(Error::NoFreeSlot { slots: 2, .. })
    ));
    drop(first);
    assert!(!writer.is_held(0).unwrap() && writer.is_held(1).unwrap());
    drop(second);
    assert!(!writer.is_held(1).unwrap());
}

/// A reader that is moved makes its file again under the same name before it gives up the old one.
#[test]
fn a_reader_of_the_group_removes_its_own_file_alone() {
    let place = Place::new();
    let group = rustix::process::getegid().as_raw().to_string();
    let root = place.root().shared_with(Some(&group)).unwrap();
    let lock = WriterLock::acquire(root.create(BUS).unwrap()).unwrap();
    lock.share_guests().unwrap();
    let made = || {
        let guests = Guests::of(lock.directory()).unwrap().expect("it is shared");
        let (file, ()) = guests.create("one", PAGE, |_| Ok::<_, Error>(())).unwrap();
        file
    };
    let path = place.path_of(&format!(
        "guests/{}.one",
        rustix::process::geteuid().as_raw()
    ));
    let first = made();
    fs::remove_file(&path).unwrap();
    let second = made();
    drop(first);
    assert!(path.exists(), "it is that of the second");
    drop(second);
    assert!(!path.exists());
}
