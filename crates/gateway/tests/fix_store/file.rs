//! The file itself: who may have it, and every way in which it can be cut or changed.

use super::Folder;
use std::os::unix::fs::PermissionsExt;
use touchline_feed::fix::Store;
use touchline_gateway::session_store::{FileStore, OpenError, Sync};

const NAME: &str = "test.session";

fn open(folder: &Folder) -> Result<FileStore, OpenError> {
    FileStore::open(&folder.0, NAME, 16, Sync::Later)
}

#[test]
fn what_was_stored_is_there_after_a_restart() {
    let folder = Folder::fresh();
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

/// A start after a kill at any byte of the last record finds everything before it, and goes on.
#[test]
fn a_record_that_is_cut_anywhere_is_removed() {
    let folder = Folder::fresh();
    let path = folder.0.join(NAME);
    let mut store = open(&folder).expect("a new one");
    store.add(b"first").expect("room");
    let before = std::fs::read(&path).expect("a file").len();
    store.add(b"second").expect("room");
    drop(store);
    let whole = std::fs::read(&path).expect("a file");
    for cut in before..whole.len() {
        std::fs::write(&path, &whole[..cut]).expect("writable");
        let mut store = open(&folder).expect("it is healed");
        assert_eq!(store.next_out(), 2, "cut at {cut}");
        store.add(b"another").expect("room");
        drop(store);
        assert_eq!(open(&folder).expect("whole").next_out(), 3);
    }
}

/// A reset that was killed between its two steps is done by the next start.
#[test]
fn records_of_before_a_reset_do_not_count() {
    let folder = Folder::fresh();
    let path = folder.0.join(NAME);
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

/// No changed byte is taken for what was written: it is refused, or it was of a slot or a last record
/// whose loss is a kill's.
#[test]
fn every_changed_byte_is_noticed() {
    let folder = Folder::fresh();
    let path = folder.0.join(NAME);
    let mut store = open(&folder).expect("a new one");
    for text in ["first", "second", "third"] {
        store.add(text.as_bytes()).expect("room");
    }
    store.expect(7).expect("writable");
    store.expect(8).expect("writable");
    drop(store);
    let whole = std::fs::read(&path).expect("a file");
    let mut refused = 0;
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x20;
        std::fs::write(&path, &changed).expect("writable");
        match open(&folder) {
            Err(OpenError::Damaged { .. }) => refused += 1,
            Err(other) => panic!("byte {place}: {other}"),
            Ok(mut store) => {
                let mut room = [0; 64];
                assert!(store.next_in() == 8 || store.next_in() == 7, "byte {place}");
                for (number, text) in [(1, "first"), (2, "second"), (3, "third")] {
                    let length = store.read(number, &mut room).expect("readable");
                    let is_lost = number >= store.next_out();
                    assert!(
                        is_lost || &room[..length] == text.as_bytes(),
                        "byte {place}"
                    );
                }
            }
        }
    }
    assert!(refused > 50, "{refused} of {} bytes", whole.len());
}

#[test]
fn nobody_else_may_have_it() {
    let folder = Folder::fresh();
    let store = open(&folder).expect("a new one");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode(&folder.0), 0o700);
    assert_eq!(mode(&folder.0.join(NAME)), 0o600);
    assert!(matches!(open(&folder), Err(OpenError::InUse { .. })));
    drop(store);
    let allow = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    allow(&folder.0.join(NAME), 0o640);
    assert!(matches!(open(&folder), Err(OpenError::Open { .. })));
    allow(&folder.0.join(NAME), 0o600);
    allow(&folder.0, 0o755);
    assert!(matches!(open(&folder), Err(OpenError::Open { .. })));
    allow(&folder.0, 0o700);
    // A link in its place is not followed, nor a name that leads out.
    std::fs::remove_file(folder.0.join(NAME)).expect("ours");
    std::os::unix::fs::symlink("/etc/passwd", folder.0.join(NAME)).expect("a link");
    for name in [NAME, "../out.session", "/tmp/out.session"] {
        let opened = FileStore::open(&folder.0, name, 16, Sync::Later);
        assert!(matches!(opened, Err(OpenError::System { .. })), "{name}");
    }
}
