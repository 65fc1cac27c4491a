//! Readers that are other users: members of the group of a bus read it and write nothing, everybody else is refused with
//! the reason (threats T1, T2).

use crate::segment::place::{BUS, PAGE, Place, is_root, mode, open, publish, root_in, set_mode};
use crate::segment::roles::play;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use touchline_shm::Words;
use touchline_shm::segment::{
    Access, Directory, Error, GroupAccess, Mapping, Options, Root, SlotLocks, WriterLock,
};

/// Users and groups without an entry in any file of the system.
const READER: u32 = 64_101;
const PUBLISHER: u32 = 64_102;
const GROUP: u32 = 64_201;
const OTHER_GROUP: u32 = 64_202;

fn skipped() -> bool {
    if !is_root() {
        touchline_testing::skip("readers that are other users: only root can become one");
    }
    !is_root()
}

/// For this thread, which does all the work of a role.
fn become_user(user: u32, groups: &[u32]) {
    let groups: Vec<_> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
    set_thread_groups(&groups).unwrap();
    set_thread_gid(Gid::from_raw(user)).unwrap();
    set_thread_uid(Uid::from_raw(user)).unwrap();
    assert_eq!(rustix::process::geteuid().as_raw(), user);
}

fn shared(folder: &Path, group: u32) -> Root {
    root_in(folder)
        .shared_with(Some(&group.to_string()))
        .unwrap()
}

/// The bus, as somebody else than its owner reads it.
fn bus_of(folder: &Path) -> Directory {
    root_in(folder).owned_by(0).open(BUS).unwrap()
}

fn written_by_readers() -> Options {
    Options {
        group_access: GroupAccess::Reports,
        ..Options::default()
    }
}

fn of_the_owner() -> Options {
    Options {
        group_access: GroupAccess::None,
        ..Options::default()
    }
}

/// A writer of the bus, with every kind of file.
fn write(root: &Root) -> WriterLock {
    let lock = WriterLock::acquire(root.create(BUS).unwrap()).unwrap();
    publish(&lock, "ring", PAGE).words()[0].store(5, Relaxed);
    SlotLocks::create(&lock, 1).unwrap();
    let cursors = Mapping::create(&lock, "cursors", PAGE, &written_by_readers()).unwrap();
    cursors.publish().unwrap();
    let secret = Mapping::create(&lock, "secret", PAGE, &of_the_owner()).unwrap();
    secret.publish().unwrap();
    lock
}

/// Group and mode of the root, the bus, and files that one process or every reader writes.
fn granted(root: &Root) -> [(u32, u32); 5] {
    ["", BUS, "ring", "lock", "readers"].map(|name| {
        let path = match name {
            "" | BUS => root.path().join(name),
            file => root.path().join(BUS).join(file),
        };
        let path: std::path::PathBuf = path.components().collect();
        (fs::metadata(&path).unwrap().gid(), mode(&path))
    })
}

fn all_granted(group: u32) -> [(u32, u32); 5] {
    let modes = [0o750, 0o750, 0o640, 0o640, 0o640];
    modes.map(|mode| (group, mode))
}

#[test]
fn a_member_of_the_group_reads_all_and_writes_nothing() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let root = shared(place.folder(), GROUP);
    let lock = write(&root);
    assert_eq!(granted(&root), all_granted(GROUP));
    play("reader of the group", place.folder());
    drop(lock);
    assert!(root.open(BUS).is_ok());
}

pub fn play_member(folder: &Path) {
    become_user(READER, &[OTHER_GROUP, GROUP]);
    let error = root_in(folder).open(BUS).unwrap_err();
    let is_foreign = matches!(
        error,
        Error::Foreign {
            owner: 0,
            expected: READER,
            ..
        }
    );
    assert!(
        is_foreign,
        "a user who was not named is not trusted: {error}"
    );
    let root = root_in(folder).owned_by(0);
    assert_eq!(root.buses().unwrap(), [BUS]);
    let bus = bus_of(folder);
    assert_eq!(open(&bus, "ring").unwrap().words()[0].load(Relaxed), 5);
    assert!(WriterLock::holder(&bus).unwrap().is_some());
    let looks = SlotLocks::open_to_look(&bus, 1).unwrap();
    assert!(!looks.is_held(0).unwrap());
    let slots = SlotLocks::open(&bus, 1).unwrap_err();
    assert!(slots.to_string().contains("Permission denied"), "{slots}");
    let open = |access| Mapping::open(&bus, "cursors", access, &written_by_readers());
    assert!(open(Access::Read).is_ok());
    let error = open(Access::Write).unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    let error = Mapping::open(&bus, "ring", Access::Write, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    let error = WriterLock::acquire(bus).unwrap_err();
    assert!(matches!(error, Error::Foreign { owner: 0, .. }), "{error}");
    let error = root_in(folder).create(BUS).unwrap_err();
    assert!(matches!(error, Error::Foreign { owner: 0, .. }), "{error}");
    let error =
        Mapping::open(&bus_of(folder), "secret", Access::Read, &of_the_owner()).unwrap_err();
    let is_denied = matches!(error, Error::Denied { mode: 0o600, .. });
    assert!(is_denied && error.to_string().contains("secret"), "{error}");
    // The kernel's word on what the group may write.
    let path = root_in(folder).path().join(BUS);
    let writable: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| OpenOptions::new().write(true).open(path.join(file)).is_ok())
        .collect();
    assert!(writable.is_empty(), "{writable:?}");
    for directory in [path.clone(), root_in(folder).path().to_owned()] {
        assert!(fs::write(directory.join("planted"), "").is_err());
        assert!(fs::create_dir(directory.join("planted")).is_err());
    }
    assert!(fs::remove_file(path.join("readers")).is_err());
    assert!(fs::rename(path.join("cursors"), path.join("moved")).is_err());
}

#[test]
fn a_user_outside_the_group_is_refused_with_owner_group_and_mode() {
    if skipped() {
        return;
    }
    for group in [None, Some(GROUP)] {
        let place = Place::new();
        let name = group.map(|group| group.to_string());
        let _lock = write(&place.root().shared_with(name.as_deref()).unwrap());
        let said = play("reader of no group", place.folder());
        let expected = match group {
            None => "mode 0700: user 64101 may not read it; set `group` at its publisher",
            Some(_) => {
                "and group 64201, mode 0750: user 64101 may not read it; make this user a member"
            }
        };
        assert!(said.contains(expected), "{said}");
    }
}

pub fn play_stranger(folder: &Path) {
    become_user(READER, &[OTHER_GROUP]);
    let root = root_in(folder).owned_by(0);
    for error in [root.open(BUS).map(drop), root.buses().map(drop)].map(Result::unwrap_err) {
        println!("{error}");
        let is_denied = matches!(
            error,
            Error::Denied {
                owner: 0,
                user: READER,
                ..
            }
        );
        assert!(is_denied, "{error}");
    }
    let path = root_in(folder).path().join(BUS);
    for file in ["", "lock", "ring", "cursors"] {
        let denied = fs::File::open(path.join(file)).unwrap_err();
        assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
    }
}

/// The next writer of a bus grants the access that its own settings say, and withdraws other access that its predecessor granted;
/// a writer that is refused changes no access. The root stays shared: it may have other buses.
#[test]
fn the_next_writer_grants_withdraws_and_changes_the_group() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let root = place.root();
    let take_over = |root: &Root| {
        let lock = WriterLock::acquire(root.create(BUS).unwrap()).unwrap();
        let ring = Mapping::take_over(&lock, "ring", &Options::default()).unwrap();
        assert_eq!(ring.words()[0].load(Relaxed), 5, "the same file");
        SlotLocks::create(&lock, 1).unwrap();
        lock
    };
    drop(write(&root));
    let private = |group| [0o700, 0o700, 0o600, 0o600, 0o600].map(|mode| (group, mode));
    assert_eq!(granted(&root), private(0));
    let lock = take_over(&shared(place.folder(), GROUP));
    assert_eq!(granted(&root), all_granted(GROUP));
    let refused = WriterLock::acquire(root.create(BUS).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    assert_eq!(granted(&root), all_granted(GROUP));
    drop(lock);
    drop(take_over(&root));
    let mut expected = private(GROUP);
    expected[0].1 = 0o750;
    assert_eq!(granted(&root), expected);
    let error = shared(place.folder(), OTHER_GROUP).create(BUS).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::OtherGroup { .. }), "{text}");
    assert!(text.contains("chgrp 64202"), "{text}");
    chown(root.path(), None, Some(OTHER_GROUP)).unwrap();
    drop(take_over(&shared(place.folder(), OTHER_GROUP)));
    assert_eq!(granted(&root), all_granted(OTHER_GROUP));
}

#[test]
fn a_publisher_shares_with_its_own_groups_alone() {
    let error = Root::at("/dev/shm/x").shared_with(Some("no-such-group"));
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("\"no-such-group\" does not exist"),
        "{error}"
    );
    if skipped() {
        return;
    }
    let place = Place::new();
    set_mode(place.folder(), 0o777);
    play("publisher of another user", place.folder());
}

pub fn play_publisher(folder: &Path) {
    become_user(PUBLISHER, &[GROUP]);
    let error = shared(folder, OTHER_GROUP).create(BUS).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::NotMember { .. }), "{text}");
    assert!(
        text.contains("cannot be given to group 64202: user 64102 is not a member"),
        "{text}"
    );
    let root = shared(folder, GROUP);
    let _lock = write(&root);
    assert_eq!(granted(&root), all_granted(GROUP));
}
