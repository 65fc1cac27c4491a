//! Users without access to the files of a bus (threats T1, T2 and T15).

use crate::segment::place::{BUS, PAGE, Place, is_root, mode, open, publish, root_in, set_mode};
use crate::segment::roles::{play, ready, run_to_crash};
use rustix::fs::{CWD, Mode};
use rustix::mm::MprotectFlags;
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use touchline_shm::Words;
use touchline_shm::segment::{Access, Error, Mapping, Options, Root, SlotLocks, WriterLock};

/// A user other than root and the one who runs the tests.
const STRANGER: u32 = 65_534;

#[test]
fn modes_are_exact_whatever_the_umask_is() {
    play("umask", Place::new().folder());
}

pub fn play_umask(folder: &Path) {
    let own = rustix::process::getegid().as_raw().to_string();
    let settings = [
        (None, 0o700, 0o600, 0o600),
        (Some(own.as_str()), 0o750, 0o640, 0o640),
    ];
    for (group, of_directories, of_files, of_readers) in settings {
        for umask in [0o000, 0o022, 0o077, 0o777] {
            rustix::process::umask(Mode::from_raw_mode(umask));
            let root = root_in(folder).shared_with(group).unwrap();
            let lock = WriterLock::acquire(root.create(BUS).unwrap()).unwrap();
            publish(&lock, "ring", PAGE);
            SlotLocks::create(&lock, 1).unwrap();
            let bus = root.path().join(BUS);
            assert_eq!(mode(root.path()), of_directories, "root, umask {umask:o}");
            assert_eq!(mode(&bus), of_directories, "bus, umask {umask:o}");
            assert_eq!(mode(&bus.join("lock")), of_files, "lock, umask {umask:o}");
            assert_eq!(mode(&bus.join("ring")), of_files, "ring, umask {umask:o}");
            assert_eq!(
                mode(&bus.join("readers")),
                of_readers,
                "readers, umask {umask:o}"
            );
            fs::remove_dir_all(root.path()).unwrap();
        }
    }
}

/// A reader's and a writer's attempt on a bus with a fault.
fn refused(place: &Place, wrong: &str) -> [Error; 2] {
    let root = place.root();
    let as_reader = root.open(BUS).and_then(|bus| open(&bus, "ring").map(drop));
    let as_writer = root.create(BUS).and_then(|bus| {
        WriterLock::acquire(bus)?;
        Mapping::open(&root.open(BUS)?, "ring", Access::Write, &Options::default()).map(drop)
    });
    let errors = [as_reader.expect_err(wrong), as_writer.expect_err(wrong)];
    errors.iter().for_each(|error| println!("{wrong}: {error}"));
    errors
}

/// Files of another user are not ours to remove: their error names the user, and another directory.
fn leaves_them_alone(error: &Error) {
    let text = error.to_string();
    assert!(
        text.contains(&format!("belongs to user {STRANGER}")),
        "{text}"
    );
    assert!(text.contains("choose another directory"), "{text}");
    for advice in ["remove", "chmod", "delete"] {
        assert!(!text.contains(advice), "{text}");
    }
}

/// A bus with a ring, and no process.
fn standing() -> Place {
    let place = Place::new();
    publish(&place.writer(), "ring", PAGE);
    place
}

#[test]
fn access_for_others_is_refused() {
    let spoils = [
        ("", 0o777),
        ("", 0o770),
        ("", 0o701),
        ("ring", 0o666),
        ("ring", 0o660),
        ("ring", 0o604),
    ];
    for (file, spoilt) in spoils {
        let place = standing();
        set_mode(&place.path_of(file), spoilt);
        for error in refused(&place, &format!("{file:?} with {spoilt:o}")) {
            assert!(
                matches!(error, Error::Exposed { mode, .. } if mode == spoilt),
                "{error}"
            );
        }
    }
    let place = standing();
    set_mode(place.root().path(), 0o755);
    for error in refused(&place, "root with 0755") {
        assert!(matches!(error, Error::Exposed { .. }), "{error}");
    }
    assert!(matches!(place.root().buses(), Err(Error::Exposed { .. })));
}

#[test]
fn a_directory_with_setgid_is_no_access_for_others() {
    let place = Place::new();
    set_mode(place.folder(), 0o2755);
    publish(&place.writer(), "ring", PAGE);
    open(&place.root().open(BUS).unwrap(), "ring").unwrap();
    assert_eq!(mode(place.root().path()), 0o2700);
}

#[test]
fn a_lock_file_that_others_may_write_is_refused() {
    let place = standing();
    set_mode(&place.path_of("lock"), 0o666);
    let error = WriterLock::acquire(place.root().open(BUS).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Exposed { .. }), "{error}");
}

#[test]
fn files_of_another_user_are_rejected() {
    if !is_root() {
        println!("not run: only root can give files away");
        return;
    }
    for file in ["", "ring"] {
        let place = standing();
        chown(place.path_of(file), Some(STRANGER), None).unwrap();
        for error in refused(&place, &format!("{file:?} of another user")) {
            assert!(
                matches!(
                    error,
                    Error::Foreign {
                        owner: STRANGER,
                        ..
                    }
                ),
                "{error}"
            );
            leaves_them_alone(&error);
        }
        // A path of another type than a file or directory of a bus.
        let place = standing();
        let moved = place.folder().join("moved");
        let path: std::path::PathBuf = place.path_of(file).components().collect();
        fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        lchown(&path, Some(STRANGER), None).unwrap();
        for error in refused(&place, &format!("{file:?} is a link of another user")) {
            assert!(matches!(error, Error::Kind { .. }), "{error}");
            leaves_them_alone(&error);
        }
    }
    let place = standing();
    chown(place.root().path(), Some(STRANGER), None).unwrap();
    for error in refused(&place, "root of another user") {
        assert!(
            matches!(
                error,
                Error::Foreign {
                    owner: STRANGER,
                    ..
                }
            ),
            "{error}"
        );
        leaves_them_alone(&error);
    }
}

#[test]
fn a_planted_symlink_is_rejected_and_its_target_is_untouched() {
    let symlink_error = |error: &Error| {
        matches!(
            error,
            Error::Kind {
                found: "symlink",
                ..
            }
        )
    };
    for file in ["", "ring"] {
        let place = standing();
        let moved = place.folder().join("moved");
        let path = place.root().path().join(BUS).join(file);
        fs::rename(place.path_of(file), &moved).unwrap();
        symlink(&moved, path.components().collect::<std::path::PathBuf>()).unwrap();
        for error in refused(&place, &format!("symlink at {file:?}")) {
            assert!(symlink_error(&error), "{error}");
        }
    }
    let place = standing();
    let moved = place.folder().join("moved");
    fs::rename(place.root().path(), &moved).unwrap();
    symlink(&moved, place.root().path()).unwrap();
    for error in refused(&place, "symlink at root") {
        assert!(symlink_error(&error), "{error}");
    }
    let with_slash = Root::at(format!("{}/", place.root().path().display()));
    assert!(symlink_error(&with_slash.open(BUS).unwrap_err()));
}

#[test]
fn a_writer_follows_no_symlink_to_its_own_files() {
    let place = standing();
    let victim = place.folder().join("victim");
    fs::write(&victim, "precious").unwrap();
    // At the name of a new file: only the symlink is removed.
    symlink(&victim, place.path_of(".ring.new")).unwrap();
    let lock = place.writer();
    symlink(&victim, place.path_of(".ring.new")).unwrap();
    publish(&lock, "ring", PAGE).words()[0].store(1, Relaxed);
    // At a name that is replaced: the same.
    symlink(&victim, place.path_of("image")).unwrap();
    publish(&lock, "image", PAGE);
    assert!(open(lock.directory(), "image").is_ok());
    drop(lock);
    // At the lock: with and without a target.
    for target in [victim.as_path(), Path::new("nowhere")] {
        fs::remove_file(place.path_of("lock")).unwrap();
        symlink(target, place.path_of("lock")).unwrap();
        let error = WriterLock::acquire(place.root().open(BUS).unwrap()).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Kind {
                    found: "symlink",
                    ..
                }
            ),
            "{error}"
        );
    }
    assert!(!place.path_of("nowhere").exists());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_path_that_is_not_a_file_is_rejected_at_once() {
    let place = standing();
    fs::remove_file(place.path_of("ring")).unwrap();
    // A usual open for reading would wait for a writer without end.
    rustix::fs::mkfifoat(CWD, place.path_of("ring"), Mode::RWXU).unwrap();
    for error in refused(&place, "pipe") {
        assert!(
            matches!(error, Error::Kind { found: "pipe", .. }),
            "{error}"
        );
    }
    fs::remove_file(place.path_of("ring")).unwrap();
    fs::create_dir(place.path_of("ring")).unwrap();
    let error = open(&place.root().open(BUS).unwrap(), "ring").unwrap_err();
    assert!(
        matches!(
            error,
            Error::Kind {
                found: "directory",
                ..
            }
        ),
        "{error}"
    );
    fs::remove_dir_all(place.path_of("")).unwrap();
    fs::write(place.root().path().join(BUS), "").unwrap();
    let error = place.root().create(BUS).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Kind {
                found: "regular file",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_reader_maps_read_only_and_cannot_change_that() {
    let place = standing();
    let lock = place.writer();
    let kinds = |wanted: &str| {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let path = place.path_of("ring");
        let of_ring = maps
            .lines()
            .filter(|line| line.ends_with(path.to_str().unwrap()));
        of_ring.filter(|line| line.contains(wanted)).count()
    };
    let reader = open(lock.directory(), "ring").unwrap();
    assert_eq!((kinds(" r--s "), kinds(" rw-s ")), (1, 0));
    let base = reader.words().as_ptr().cast_mut().cast();
    let wanted = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: the range is the reader's mapping; more access does not change its contents.
    let changed = unsafe { rustix::mm::mprotect(base, PAGE, wanted) };
    assert_eq!(changed, Err(rustix::io::Errno::ACCESS));
    let writer = Mapping::open(lock.directory(), "ring", Access::Write, &Options::default());
    assert_eq!((kinds(" r--s "), kinds(" rw-s ")), (1, 1));
    drop((reader, writer));
    assert_eq!(kinds("s"), 0);
}

#[test]
fn a_reader_that_stores_is_killed_and_changes_nothing() {
    let place = standing();
    let status = run_to_crash("store as reader", place.folder());
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
    let ring = open(&place.root().open(BUS).unwrap(), "ring").unwrap();
    assert_eq!(ring.words()[0].load(Relaxed), 0);
}

pub fn play_store_as_reader(folder: &Path) {
    let ring = open(&root_in(folder).open(BUS).unwrap(), "ring").unwrap();
    ready("about to store");
    ring.words()[0].store(1, Relaxed);
}

#[test]
fn bus_names_cannot_leave_the_root() {
    let place = standing();
    let lock = place.writer();
    let before = tree(place.folder());
    let long = "x".repeat(300);
    let names = [
        "",
        ".",
        "..",
        "../x",
        "/etc/x",
        "a/b",
        "a\0b",
        "a b",
        "é",
        ".hidden",
        "..x",
        "a\n",
        &long,
        &long[..65],
    ];
    for name in names {
        let refused = |result: Result<(), Error>| {
            let error = result.expect_err(name);
            assert!(matches!(error, Error::Name { .. }), "{name:?}: {error}");
            assert!(
                error.to_string().len() < 400 && !error.to_string().contains('\n'),
                "{error}"
            );
        };
        refused(place.root().create(name).map(drop));
        refused(place.root().open(name).map(drop));
        refused(Mapping::create(&lock, name, PAGE, &Options::default()).map(drop));
        refused(open(lock.directory(), name).map(drop));
        refused(lock.remove(name));
    }
    assert_eq!(tree(place.folder()), before);
    for name in ["CON", "a", "cme-340.b_1", &long[..64]] {
        place.root().create(name).unwrap();
    }
}

/// Every path below a folder.
fn tree(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    paths
}
