//! A store on a failing disk: it reports the failure and refuses every later call.

mod rewrites;

use super::*;
use crate::fix::{DisconnectReason, Role, SendError, Session, Settings};
use std::fs::OpenOptions;
use touchline_testing::Folder;
use touchline_types::ReceiveTime;

fn open(folder: &Path) -> FileStore {
    let limits = Limits {
        messages: 16,
        ..Limits::default()
    };
    FileStore::open(folder, "a.session", limits, Sync::Each).expect("it is whole")
}

/// A store with ten messages, seven received ones counted, whose file is then replaced by a device.
fn begun_on(folder: &Path, device: &str) -> FileStore {
    let mut store = open(folder);
    for number in 1..=10 {
        let message = format!("message {number}");
        store.add(message.as_bytes()).expect("room");
    }
    store.expect(8).expect("room");
    store.file = file(Path::new(device));
    store
}

fn file(path: &Path) -> File {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.expect("it is there")
}

/// A device without space; and one that accepts writes but not syncs.
const DEVICES: [(&str, Errno); 2] = [("/dev/full", Errno::NOSPC), ("/dev/null", Errno::INVAL)];

/// After the first failure the numbers stay, and every later call is refused with the same error, even if it could
/// succeed.
#[test]
fn a_failed_store_rejects_every_later_call() {
    type Deed = fn(&mut FileStore) -> Result<(), StoreError>;
    let deeds: [(&str, Deed); 3] = [
        ("add", |store| store.add(b"message 11")),
        ("expect", |store| store.expect(9)),
        ("reset", |store| store.reset()),
    ];
    for (device, reason) in DEVICES {
        for (name, deed) in deeds {
            let folder = Folder::new(name);
            let mut store = begun_on(&folder, device);
            let why = Err(StoreError::System(reason.raw_os_error()));
            assert_eq!(deed(&mut store), why, "{name} on {device}");
            // The disk works again, but the store stays closed.
            store.file = file(&folder.join("a.session"));
            for (after, deed) in deeds {
                assert_eq!(deed(&mut store), why, "{after} after {name} on {device}");
            }
            let read = store.read(3, &mut [0; 64]);
            assert_eq!(read.map(drop), why, "{name} on {device}");
            let numbers = (store.next_out(), store.next_in());
            assert_eq!(numbers, (11, 8), "{name} on {device}");
            // A new open finds the stored messages.
            drop(store);
            let mut again = open(&folder);
            assert_eq!((again.next_out(), again.next_in()), (11, 8));
            assert_eq!(again.read(10, &mut [0; 64]), Ok(10));
            assert_eq!(again.add(b"message 11"), Ok(()));
        }
    }
}

/// A message that the next start would refuse as damage is not written, and the store closes; the longest allowed
/// message is read back.
#[test]
fn a_message_that_the_store_could_not_read_again_is_rejected() {
    let folder = Folder::new("long");
    let longest = vec![b'x'; MESSAGE_BYTES_MAX as usize];
    let mut store = open(&folder);
    assert_eq!(store.add(&longest), Ok(()));
    let why = Err(StoreError::TooLong);
    assert_eq!(store.add(&[&longest[..], b"x"].concat()), why);
    assert_eq!(store.add(b"short"), why);
    assert_eq!(store.expect(2), why);
    assert_eq!((store.next_out(), store.next_in()), (2, 1));
    drop(store);
    let mut again = open(&folder);
    assert_eq!(again.next_out(), 2);
    let mut room = vec![0; longest.len()];
    assert_eq!(again.read(1, &mut room), Ok(longest.len()));
    assert!(room == longest);
    assert_eq!(again.add(b"short"), Ok(()));
}

/// A reset that cannot remove the old records closes the store: new ones would be written over
/// them.
#[test]
fn a_reset_that_cannot_remove_records_closes_the_store() {
    let folder = Folder::new("half");
    let mut store = begun_on(&folder, "/dev/null");
    // The slot is written, but the file cannot be truncated.
    store.sync = Sync::Later;
    let why = Err(StoreError::System(Errno::INVAL.raw_os_error()));
    assert_eq!(store.reset(), why);
    assert_eq!(store.add(b"new"), why);
    assert_eq!((store.next_out(), store.next_in()), (1, 1));
}

/// The session ends with its store: an unstored message is not sent, and no number is counted.
#[test]
fn a_session_ends_when_its_store_fails() {
    let time = ReceiveTime::at(1_767_571_200_000_000_000);
    for (device, reason) in DEVICES {
        let folder = Folder::new("session");
        let settings = Settings::new(Role::Initiator, "US", "THEM");
        let mut session = Session::new(settings, begun_on(&folder, device));
        for _ in 0..2 {
            session.connected(time);
            let failed = StoreError::System(reason.raw_os_error());
            assert_eq!(
                session.disconnect_reason(),
                Some(DisconnectReason::Store(failed)),
                "{device}"
            );
            assert!(session.poll_transmit().is_empty(), "{device}");
            assert_eq!(session.send(b"D", time, |_| {}), Err(SendError::Down));
            session.disconnected(time);
        }
        let store = session.store();
        assert_eq!((store.next_out(), store.next_in()), (11, 8), "{device}");
    }
}
