//! Rewrites of a store without its oldest messages, and crashes during them.

use super::*;

const LIMITS: Limits = Limits {
    messages: 8,
    bytes_max: 1_000,
};

fn open(folder: &Path) -> FileStore {
    open_with(folder, LIMITS)
}

fn open_with(folder: &Path, limits: Limits) -> FileStore {
    FileStore::open(folder, "a.session", limits, Sync::Later).expect("it is whole")
}

fn message(number: u64) -> String {
    format!("this is message {number}")
}

fn filled(folder: &Path, messages: u64) -> FileStore {
    let mut store = open(folder);
    for number in 1..=messages {
        store.add(message(number).as_bytes()).expect("room");
        store.expect(number + 1).expect("room");
    }
    store
}

fn size(folder: &Path) -> u64 {
    let about = std::fs::metadata(folder.join("a.session"));
    about.expect("it is there").len()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    entries.map(name).collect()
}

/// Checks that the latest messages are complete; returns their number.
#[track_caller]
fn latest(store: &mut FileStore) -> u64 {
    let (next, mut room) = (store.next_out(), [0; 64]);
    let mut read = |number| {
        let length = store.read(number, &mut room).expect("readable");
        let is_whole = room[..length] == *message(number).as_bytes();
        assert!(length == 0 || is_whole, "{number} of {next}");
        length > 0
    };
    let kept = (1..next).rev().take_while(|number| read(*number)).count() as u64;
    assert!((1..next - kept).all(|number| !read(number)), "{next}");
    kept
}

/// The file stays within its limits for any number of messages; the numbers continue, also after restarts.
#[test]
fn the_size_of_a_store_is_bounded() {
    let by_number = Limits {
        messages: 8,
        bytes_max: 1 << 20,
    };
    let by_size = Limits {
        messages: 1_000,
        bytes_max: 1_000,
    };
    for (limits, size_max, kept) in [(by_number, 56 + 18 * 64, 8), (by_size, 1_000, 8)] {
        let folder = Folder::new("grows");
        let mut next = 1;
        for _ in 0..3 {
            let mut store = open_with(&folder, limits);
            assert_eq!((store.next_out(), store.next_in()), (next, next));
            for number in next..next + 100 {
                store.add(message(number).as_bytes()).expect("room");
                store.expect(number + 1).expect("room");
                assert!(store.size_bytes() <= size_max, "{}", store.size_bytes());
                assert_eq!(store.size_bytes(), size(&folder));
                assert!(latest(&mut store) >= number.min(kept), "{number}");
            }
            next += 100;
            assert!(store.rewrites() > 3, "{}", store.rewrites());
        }
    }
}

/// A file that exceeds its limits at start, because they were larger before, is rewritten.
#[test]
fn a_store_that_is_too_large_is_rewritten_at_start() {
    let folder = Folder::new("start");
    let large = Limits {
        messages: 100,
        bytes_max: 1 << 20,
    };
    let mut store = open_with(&folder, large);
    for number in 1..=100 {
        store.add(message(number).as_bytes()).expect("room");
    }
    drop(store);
    let before = size(&folder);
    let mut store = open(&folder);
    assert_eq!((store.next_out(), store.rewrites()), (101, 1));
    assert_eq!(latest(&mut store), 8);
    assert!(size(&folder) < before / 5, "{} of {before}", size(&folder));
}

/// A crash after any step leaves a store with the same numbers and the latest messages; the next start removes any
/// other file.
#[test]
fn a_crash_after_any_step_leaves_a_complete_store() {
    for steps in 0..=Rewrite::steps().len() {
        let folder = Folder::new("steps");
        let mut store = filled(&folder, 10);
        store.limits.bytes_max = 600;
        let (first, from) = store.kept();
        assert!((3..9).contains(&first), "{first}");
        let mut rewrite = Rewrite::keep(
            &store.folder,
            &store.name,
            store.slot,
            &store.file,
            from..store.end,
            first,
        );
        for step in &Rewrite::steps()[..steps] {
            step(&mut rewrite).expect("room");
        }
        drop(rewrite);
        drop(store);
        let mut store = open(&folder);
        assert_eq!((store.next_out(), store.next_in()), (11, 11), "{steps}");
        let is_new = store.first > 1;
        let kept = if is_new { 11 - first } else { 8 };
        assert_eq!(latest(&mut store), kept, "{steps}");
        assert_eq!(names(&folder), ["a.session"], "{steps}");
        store.add(message(11).as_bytes()).expect("room");
        drop(store);
        let mut store = open(&folder);
        assert_eq!(store.next_out(), 12, "{steps}");
        assert_eq!(latest(&mut store), (kept + 1).min(8), "{steps}");
        assert!(is_new == (steps >= 5), "{steps}");
    }
}

/// A crash during creation leaves a complete store or none.
#[test]
fn a_crash_during_creation_leaves_a_complete_store_or_none() {
    for steps in 0..=Rewrite::steps().len() {
        let folder = Folder::new("begin");
        let handle = folder::open(&folder).expect("a folder");
        let mut rewrite = Rewrite::begin(&handle, "a.session");
        for step in &Rewrite::steps()[..steps] {
            step(&mut rewrite).expect("room");
        }
        drop(rewrite);
        let store = open(&folder);
        assert_eq!((store.next_out(), store.next_in()), (1, 1), "{steps}");
        assert_eq!(names(&folder), ["a.session"], "{steps}");
    }
}

/// A file that was moved away or replaced is not overwritten; the store fails.
#[test]
fn a_file_of_another_owner_is_not_replaced() {
    let folder = Folder::new("replaced");
    let mut store = filled(&folder, 10);
    let (ours, away) = (folder.join("a.session"), folder.join("away"));
    std::fs::rename(&ours, &away).expect("ours");
    std::fs::write(&ours, "somebody's").expect("ours");
    let failed = (11..100).find_map(|_| store.add(b"one more message, with text").err());
    let stale = StoreError::System(Errno::STALE.raw_os_error());
    assert_eq!(failed, Some(stale));
    assert_eq!(std::fs::read(&ours).expect("a file"), b"somebody's");
}

/// A failed rewrite closes the store; the file is unchanged.
#[test]
fn a_rewrite_that_fails_changes_nothing() {
    let folder = Folder::new("no-room");
    let mut store = filled(&folder, 10);
    // A directory under the name of the unfinished file cannot be removed as a file.
    std::fs::create_dir(folder.join("a.session.new")).expect("a folder");
    let failed = (0..100).find_map(|_| store.add(b"one more message, with text").err());
    assert!(matches!(failed, Some(StoreError::System(_))), "{failed:?}");
    let kept = store.next_out();
    assert!((11..40).contains(&kept), "{kept}");
    assert!(store.expect(50).is_err());
    drop(store);
    std::fs::remove_dir(folder.join("a.session.new")).expect("empty");
    let store = open(&folder);
    assert_eq!((store.next_out(), store.next_in()), (kept, 11));
}
