//! The file: contents and ownership.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use touchline_session::file_store::{FileStore, Limits, OpenError, Sync};
use touchline_session::fix::Store;
use touchline_testing::Folder;

const NAME: &str = "test.session";

const LIMITS: Limits = Limits {
    messages: 16,
    bytes_max: 1 << 20,
};

fn open(folder: &Path) -> Result<FileStore, OpenError> {
    FileStore::open(folder, NAME, LIMITS, Sync::Later)
}

#[test]
fn stored_messages_survive_a_restart() {
    let folder = Folder::new("store");
    let mut room = [0; 64];
    let mut store = open(&folder).expect("a new one");
    assert_eq!((store.next_out(), store.next_in()), (1, 1));
    for number in 1..=40_u64 {
        store
            .add(format!("message {number}").as_bytes())
            .expect("room");
        store.expect(number + 1).expect("room");
    }
    store.add(b"").expect("a number alone");
    drop(store);
    let mut store = open(&folder).expect("the same");
    assert_eq!((store.next_out(), store.next_in()), (42, 41));
    let length = store.read(40, &mut room).expect("readable");
    assert_eq!(&room[..length], b"message 40");
    for absent in [41, 24, 1, 0, 42, 1_000] {
        assert_eq!(store.read(absent, &mut room), Ok(0), "{absent}");
    }
    assert_eq!(store.read(40, &mut room[..9]), Ok(0), "no room");
    store.reset().expect("writable");
    store.add(b"anew").expect("room");
    drop(store);
    let store = open(&folder).expect("the same");
    assert_eq!((store.next_out(), store.next_in()), (2, 1));
}

/// A reset that was killed between its two steps is completed by the next start.
#[test]
fn records_before_a_reset_are_ignored() {
    let folder = Folder::new("store");
    let path = folder.join(NAME);
    let mut store = open(&folder).expect("a new one");
    store.add(b"first").expect("room");
    store.add(b"second").expect("room");
    let records = std::fs::read(&path).expect("a file")[56..].to_vec();
    store.reset().expect("writable");
    drop(store);
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes.extend(records);
    std::fs::write(&path, bytes).expect("writable");
    let mut store = open(&folder).expect("it is healed");
    assert_eq!(store.next_out(), 1);
    assert_eq!(store.read(1, &mut [0; 64]), Ok(0));
}

#[test]
fn a_store_is_private_and_locked() {
    let parent = Folder::new("store");
    // The store makes it.
    let folder = parent.join("sessions");
    let store = open(&folder).expect("a new one");
    let mode = |path: &Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(NAME)), 0o600);
    assert!(matches!(open(&folder), Err(OpenError::InUse { .. })));
    drop(store);
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    allow(&folder.join(NAME), 0o640);
    assert!(matches!(open(&folder), Err(OpenError::Open { .. })));
    allow(&folder.join(NAME), 0o600);
    allow(&folder, 0o755);
    assert!(matches!(open(&folder), Err(OpenError::Open { .. })));
    allow(&folder, 0o700);
    // A link in its place is not followed, nor a name that leaves the folder.
    std::fs::remove_file(folder.join(NAME)).expect("ours");
    std::os::unix::fs::symlink("/etc/passwd", folder.join(NAME)).expect("a link");
    for name in [NAME, "../out.session", "/tmp/out.session"] {
        let opened = FileStore::open(&folder, name, LIMITS, Sync::Later);
        assert!(matches!(opened, Err(OpenError::System { .. })), "{name}");
    }
}
