//! Damage of a store: every changed or truncated file is refused, or opened with the original
//! contents.

use std::path::{Path, PathBuf};
use touchline_session::file_store::{Damage, FileStore, Limits, OpenError, Sync};
use touchline_session::fix::Store;
use touchline_testing::Folder;

const NAME: &str = "test.session";
/// Bytes before the first record, and of the header of a record.
const HEAD: usize = 56;
const RECORD_HEAD: usize = 20;

struct Case {
    name: &'static str,
    folder: Folder,
    bytes: Vec<u8>,
    numbers: (u64, u64),
}

fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(path(folder)).expect("a file")
}

fn open(folder: &Path) -> Result<FileStore, OpenError> {
    let limits = Limits {
        messages: 16,
        bytes_max: 400,
    };
    FileStore::open(folder, NAME, limits, Sync::Later)
}

fn open_with(folder: &Path, bytes: &[u8]) -> Result<FileStore, OpenError> {
    std::fs::write(path(folder), bytes).expect("ours");
    open(folder)
}

fn texts(store: &mut FileStore, texts: &[&str]) {
    for text in texts {
        store.add(text.as_bytes()).expect("room");
    }
}

/// A store with a Logon and messages; one after a reset; one that was rewritten; the last slot of each written by a
/// message or by a counted number.
fn cases() -> Vec<Case> {
    let case = |name, fill: fn(&mut FileStore)| {
        let folder = Folder::new("store");
        let mut store = open(&folder).expect("a new one");
        fill(&mut store);
        let numbers = (store.next_out(), store.next_in());
        drop(store);
        Case {
            name,
            bytes: bytes(&folder),
            folder,
            numbers,
        }
    };
    vec![
        case("empty", |_| {}),
        case("messages", |store| {
            texts(store, &["", "first", "second", "third"]);
        }),
        case("numbers last", |store| {
            texts(store, &["", "first", "second"]);
            store.expect(7).expect("room");
            store.expect(8).expect("room");
        }),
        case("after a reset", |store| {
            texts(store, &["", "old", "older"]);
            store.expect(9).expect("room");
            store.reset().expect("room");
            texts(store, &["", "new"]);
            store.expect(2).expect("room");
        }),
        case("rewritten", |store| {
            for number in 1..40 {
                texts(store, &["one more message"]);
                store.expect(number).expect("room");
            }
            assert!(store.rewrites() > 1);
        }),
    ]
}

/// Each byte is changed in six ways; no change is accepted as the original.
#[test]
fn every_changed_byte_is_refused() {
    for case in cases() {
        for place in 0..case.bytes.len() {
            for change in [0x01, 0x10, 0x80, 0x41, 0xff, case.bytes[place].max(2)] {
                let mut changed = case.bytes.clone();
                changed[place] ^= change;
                let (name, before) = (case.name, case.bytes[place]);
                match open_with(&case.folder, &changed) {
                    Err(OpenError::Damaged { at, .. }) => {
                        assert!(at <= place as u64, "{name}: byte {place} found at {at}");
                    }
                    Err(OpenError::Version { .. }) => assert_eq!((place, changed[7]), (7, 1)),
                    Err(other) => panic!("{name}, byte {place}: {other}"),
                    Ok(store) => panic!(
                        "{name}: byte {place} changed from {before:02x} by {change:02x} gives {:?} instead of {:?}",
                        (store.next_out(), store.next_in()),
                        case.numbers
                    ),
                }
            }
        }
        let store = open_with(&case.folder, &case.bytes).expect("unchanged");
        assert_eq!((store.next_out(), store.next_in()), case.numbers);
    }
}

/// A damaged last message that was sent is not removed.
#[test]
fn a_last_message_that_was_sent_is_not_removed() {
    for case in cases().into_iter().filter(|case| case.numbers.0 > 1) {
        let mut changed = case.bytes.clone();
        *changed.last_mut().expect("a message") ^= 1;
        let refused = open_with(&case.folder, &changed).expect_err("damaged");
        let last = case.numbers.0 - 1;
        let said = format!("the checksum of message {last} is wrong");
        assert!(refused.to_string().contains(&said), "{refused}");
    }
}

/// All messages of a file written by an idle process were sent, so none may be missing.
#[test]
fn every_cut_is_refused() {
    for case in cases() {
        for length in 0..case.bytes.len() {
            let name = case.name;
            match open_with(&case.folder, &case.bytes[..length]) {
                Err(OpenError::Damaged {
                    damage: Damage::NoHead,
                    ..
                }) => assert!(length < HEAD, "{name} cut at {length}"),
                Err(OpenError::Damaged {
                    damage: Damage::Missing { first, last },
                    ..
                }) => {
                    assert!(length >= HEAD, "{name} cut at {length}");
                    assert!(first <= last && last + 1 == case.numbers.0);
                }
                Err(other) => panic!("{name} cut at {length}: {other}"),
                Ok(_) => panic!("{name} cut at {length} was opened"),
            }
        }
    }
}

/// Longer than the message that replaces it and the header of a record after it: any remaining part would be read as a
/// record.
const LAST: &str = "the last one, of which more stays than is covered";

/// A process that dies while it stores a message leaves the earlier slots and any part of the record. The message was
/// not sent, so its number may be reused.
#[test]
fn an_incomplete_record_is_removed() {
    for case in cases() {
        let mut store = open_with(&case.folder, &case.bytes).expect("whole");
        let rewrites = store.rewrites();
        texts(&mut store, &[LAST]);
        if store.rewrites() > rewrites {
            panic!("{}: the case leaves no room for one more", case.name);
        }
        drop(store);
        let after = bytes(&case.folder);
        let old = case.bytes.len();
        for length in old..=after.len() {
            let mut left = after[..length].to_vec();
            left[..HEAD].copy_from_slice(&case.bytes[..HEAD]);
            is_removed(&case, &left, &after);
            // After a power failure a file may have its length with zeros in place of bytes.
            left.resize(after.len(), 0);
            if length == old || length >= old + RECORD_HEAD {
                is_removed(&case, &left, &after);
            }
        }
    }
}

/// A start with this file continues as if the last message were absent, unless it is complete.
fn is_removed(case: &Case, left: &[u8], after: &[u8]) {
    let old = case.bytes.len();
    let name = format!("{}, {} of {} bytes", case.name, left.len(), after.len());
    let opened = open_with(&case.folder, left);
    let mut store = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
    let more = u64::from(left[old..] == after[old..]);
    let numbers = (case.numbers.0 + more, case.numbers.1);
    assert_eq!((store.next_out(), store.next_in()), numbers, "{name}");
    texts(&mut store, &["another"]);
    drop(store);
    let mut store = open(&case.folder).expect("whole");
    assert_eq!(store.next_out(), numbers.0 + 1, "{name}");
    let mut room = [0; 64];
    assert_eq!(store.read(numbers.0, &mut room), Ok(7), "{name}");
    assert_eq!(&room[..7], b"another", "{name}");
}

/// A start after a crash between record and slot writes the slot. The start after the next crash compares the file with
/// that slot.
#[test]
fn repeated_crashes_leave_one_incomplete_record_each() {
    let folder = Folder::new("store");
    let mut store = open(&folder).expect("a new one");
    for number in 1..=4 {
        let slots = bytes(&folder)[..HEAD].to_vec();
        texts(&mut store, &["message"]);
        drop(store);
        let mut left = bytes(&folder);
        left[..HEAD].copy_from_slice(&slots);
        let begun = open_with(&folder, &left).expect("record without its slot");
        assert_eq!(begun.next_out(), number + 1);
        drop(begun);
        // The next process dies while it writes a record.
        let mut left = bytes(&folder);
        let part = left[HEAD..HEAD + 23].to_vec();
        left.extend(part.iter().take(19));
        store = open_with(&folder, &left).expect("begun, and not finished");
        assert_eq!(store.next_out(), number + 1);
    }
}

/// Records newer than the slots, as after a power failure: no number decreases.
#[test]
fn an_older_head_does_not_decrease_a_number() {
    let folder = Folder::new("store");
    let mut store = open(&folder).expect("a new one");
    let early = bytes(&folder)[..HEAD].to_vec();
    texts(&mut store, &["first", "second", "third"]);
    drop(store);
    let mut left = bytes(&folder);
    left[..HEAD].copy_from_slice(&early);
    let store = open_with(&folder, &left).expect("records are whole");
    assert_eq!(store.next_out(), 4);
    drop(store);
    // An incomplete record after them may have been sent.
    left.extend([1; 30]);
    let refused = open_with(&folder, &left).expect_err("more than one is unknown");
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
}

/// An error is one line with place, damage and fix.
#[test]
fn a_refusal_says_what_to_do() {
    let folder = Folder::new("store");
    let mut store = open(&folder).expect("a new one");
    texts(&mut store, &["first", "second", "third"]);
    store.expect(5).expect("room");
    drop(store);
    let whole = bytes(&folder);
    let mut longer = whole.clone();
    longer[HEAD + 4] ^= 1;
    let mut version_1 = whole.clone();
    version_1[7] = 1;
    let rows: [(&[u8], &[&str]); 4] = [
        (
            &longer,
            &["damaged at byte 56: the checksum of the header of message 1 is wrong"],
        ),
        (
            &whole[..whole.len() - 30],
            &[
                "messages 2 to 3 are missing",
                "next in 5, next out 4 or more",
            ],
        ),
        (&[], &["damaged at byte 0: the file is truncated"]),
        (&version_1, &["format version 1", "reads version 2"]),
    ];
    for (bytes, words) in rows {
        let said = open_with(&folder, bytes).expect_err("damaged").to_string();
        assert_eq!(said.lines().count(), 1, "{said}");
        for word in words
            .iter()
            .chain(&[NAME, "move the file away", "ResetSeqNumFlag"])
        {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
