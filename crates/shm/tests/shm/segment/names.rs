//! Names that are removed while their files are in use: no second writer, and the first one detects it.

use crate::segment::place::{BUS, PAGE, Place, open, publish, root_in};
use crate::segment::roles::{Player, ready, wait_for_the_end};
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;
use touchline_shm::segment::{Access, Error, Mapping, Options, SlotLocks, WriterLock};

pub fn play_owner(folder: &Path) {
    let lock = WriterLock::acquire(root_in(folder).create(BUS).unwrap()).unwrap();
    let _ring = publish(&lock, "ring", PAGE);
    ready("");
    wait_for_the_end();
}

fn acquire(place: &Place) -> Result<WriterLock, Error> {
    place.root().create(BUS).and_then(WriterLock::acquire)
}

#[test]
fn a_lock_file_that_is_removed_or_replaced_admits_no_second_writer() {
    let place = Place::new();
    let owner = Player::start("owner", place.folder());
    for replaced in [false, true] {
        let _ = fs::remove_file(place.path_of("lock"));
        if replaced {
            fs::copy(place.path_of("ring"), place.path_of("lock")).unwrap();
        }
        let error = acquire(&place).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::InUse { process: Some(process), .. } if process == owner.process.id()),
            "{text}"
        );
        let process = format!("process {}", owner.process.id());
        assert!(text.contains(&process) && text.contains(BUS), "{text}");
    }
    drop(owner);
    acquire(&place).unwrap();
}

/// Many processes start at the moment at which the lock file is removed.
#[test]
fn a_removed_lock_file_is_not_locked_again_while_the_writer_lives() {
    const STARTERS: usize = 8;
    let place = Place::new();
    let owner = acquire(&place).unwrap();
    for _ in 0..3 {
        fs::remove_file(place.path_of("lock")).unwrap();
        let together = Barrier::new(STARTERS);
        let start = || {
            together.wait();
            let error = acquire(&place).unwrap_err();
            assert!(matches!(error, Error::InUse { .. }), "{error}");
        };
        thread::scope(|scope| (0..STARTERS).for_each(|_| drop(scope.spawn(start))));
    }
    assert!(owner.lost_name().is_some());
    drop(owner);
    acquire(&place).unwrap();
}

/// Each component of a file's path: removed, and redirected.
#[test]
fn a_lost_name_is_detected() {
    let lock_path = |place: &Place| place.path_of("lock");
    let bus_path = |place: &Place| place.root().path().join(BUS);
    let root_path = |place: &Place| place.root().path().to_owned();
    for (name, path) in [
        ("lock", lock_path as fn(&Place) -> std::path::PathBuf),
        ("bus", bus_path),
        ("root", root_path),
    ] {
        for with in ["nothing", "another", "a symlink to it"] {
            let place = Place::new();
            let lock = acquire(&place).unwrap();
            let ring = publish(&lock, "ring", PAGE);
            let slots = SlotLocks::create(&lock, 1).unwrap();
            assert!(lock.lost_name().is_none() && !ring.is_replaced());
            assert!(slots.lost_name().is_none());
            let (path, away) = (path(&place), place.folder().join("away"));
            fs::rename(&path, &away).unwrap();
            match (with, away.is_dir()) {
                ("another", true) => drop(acquire(&place).unwrap()),
                ("another", false) => fs::write(&path, "").unwrap(),
                ("a symlink to it", true) if name == "root" => {
                    std::os::unix::fs::symlink(&away, &path).unwrap();
                    // The name leads to the same files.
                    assert!(lock.lost_name().is_none() && !ring.is_replaced());
                    continue;
                }
                ("a symlink to it", _) => std::os::unix::fs::symlink(&away, &path).unwrap(),
                _ => {}
            }
            let context = format!("{name}, {with}");
            let lost = lock.lost_name().expect(&context);
            assert!(lost.starts_with(place.root().path().join(BUS)), "{context}");
            // A removed directory removes the names in it.
            let gone = name != "lock" && with != "a symlink to it";
            assert_eq!(ring.is_replaced(), gone, "{context}");
            assert_eq!(slots.lost_name().is_some(), gone, "{context}");
        }
    }
}

#[test]
fn a_removed_or_replaced_file_is_detected() {
    let place = Place::new();
    let lock = place.writer();
    let ring = publish(&lock, "ring", PAGE);
    let reader = open(lock.directory(), "ring").unwrap();
    let slots = SlotLocks::create(&lock, 1).unwrap();
    for file in ["ring", "readers"] {
        fs::copy(place.path_of(file), place.path_of("copy")).unwrap();
        fs::rename(place.path_of("copy"), place.path_of(file)).unwrap();
    }
    assert_eq!(ring.lost_name(), Some(place.path_of("ring").as_path()));
    assert!(reader.is_replaced() && lock.lost_name().is_none());
    assert_eq!(slots.lost_name(), Some(place.path_of("readers").as_path()));
}

/// The directory was moved away and the file moved back, under another lock.
#[test]
fn a_file_in_use_has_no_second_writer_wherever_it_is() {
    let place = Place::new();
    let owner = Player::start("owner", place.folder());
    let away = place.folder().join("away");
    fs::rename(place.root().path().join(BUS), &away).unwrap();
    let lock = place.writer();
    fs::rename(away.join("ring"), place.path_of("ring")).unwrap();
    let open =
        || Mapping::open(lock.directory(), "ring", Access::Write, &Options::default()).map(drop);
    let error = open().unwrap_err();
    assert!(
        matches!(error, Error::InUse { process: Some(process), .. } if process == owner.process.id()),
        "{error}"
    );
    Mapping::open(lock.directory(), "ring", Access::Read, &Options::default()).unwrap();
    // A reader that arrives shortly before the end is accepted.
    thread::scope(|scope| {
        let opened = scope.spawn(open);
        thread::sleep(Duration::from_millis(10));
        drop(owner);
        opened.join().unwrap().unwrap();
    });
}

#[test]
fn a_moved_directory_is_removed_and_not_its_replacement() {
    let place = Place::new();
    let lock = place.writer();
    let away = place.folder().join("away");
    fs::rename(place.root().path().join(BUS), &away).unwrap();
    place.root().create(BUS).unwrap();
    let error = lock.remove_directory().unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert_eq!(place.root().buses().unwrap(), [BUS]);
}
