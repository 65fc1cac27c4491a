//! Files become visible when they are complete, are replaced as a whole, and have the requested properties.

use crate::segment::place::{BUS, PAGE, Place, open, publish};
use std::fs;
use std::sync::atomic::Ordering::Relaxed;
use touchline_shm::Words;
use touchline_shm::segment::{Access, Error, Lock, Mapping, Options, Root, Warning, WriterLock};

#[test]
fn a_reader_finds_a_file_once_it_is_published() {
    let place = Place::new();
    let lock = place.writer();
    let draft = Mapping::create(&lock, "ring", 2 * PAGE, &Options::default()).unwrap();
    draft.mapping().words()[7].store(42, Relaxed);
    let error = open(lock.directory(), "ring").unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert_eq!(lock.directory().files().unwrap(), ["lock"]);

    let writer = draft.publish().unwrap();
    let reader = open(&place.root().open(BUS).unwrap(), "ring").unwrap();
    assert_eq!(reader.words().len(), 2 * PAGE / 8);
    assert_eq!(reader.words()[7].load(Relaxed), 42);
    writer.words()[1023].store(43, Relaxed);
    assert_eq!(reader.words()[1023].load(Relaxed), 43);
    assert_eq!(lock.directory().files().unwrap(), ["lock", "ring"]);
}

#[test]
fn a_dropped_draft_leaves_no_file() {
    let place = Place::new();
    let lock = place.writer();
    drop(Mapping::create(&lock, "ring", PAGE, &Options::default()).unwrap());
    let entries = fs::read_dir(place.path_of("")).unwrap();
    let names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["lock"]);
}

#[test]
fn readers_of_a_replaced_file_keep_it_and_are_notified() {
    let place = Place::new();
    let lock = place.writer();
    publish(&lock, "ring", PAGE).words()[0].store(1, Relaxed);
    let old = open(lock.directory(), "ring").unwrap();
    assert!(!old.is_replaced());
    publish(&lock, "ring", 2 * PAGE).words()[0].store(2, Relaxed);
    assert!(old.is_replaced() && old.intact());
    assert_eq!(old.words()[0].load(Relaxed), 1);
    let new = open(lock.directory(), "ring").unwrap();
    assert_eq!((new.words().len(), new.words()[0].load(Relaxed)), (1024, 2));
    lock.remove("ring").unwrap();
    assert!(new.is_replaced());
}

#[test]
fn a_clone_keeps_the_memory_after_the_first_is_dropped() {
    let place = Place::new();
    let first = publish(&place.writer(), "ring", PAGE);
    first.words()[3].store(9, Relaxed);
    let clone = first.clone();
    drop(first);
    let read = std::thread::spawn(move || clone.words()[3].load(Relaxed));
    assert_eq!(read.join().unwrap(), 9);
}

#[test]
fn the_next_writer_finds_the_files_of_the_last_one() {
    let place = Place::new();
    publish(&place.writer(), "ring", PAGE).words()[0].store(77, Relaxed);
    let lock = place.writer();
    let again = Mapping::open(lock.directory(), "ring", Access::Write, &Options::default());
    let again = again.unwrap();
    assert_eq!(again.words()[0].fetch_add(1, Relaxed), 77);
    assert_eq!(
        open(lock.directory(), "ring").unwrap().words()[0].load(Relaxed),
        78
    );
}

#[test]
fn a_root_lists_its_buses() {
    let place = Place::new();
    assert!(place.root().buses().unwrap().is_empty());
    let _first = WriterLock::acquire(place.root().create("b").unwrap()).unwrap();
    drop(WriterLock::acquire(place.root().create("a").unwrap()).unwrap());
    fs::write(place.folder().join("root/notes"), "no bus").unwrap();
    assert_eq!(place.root().buses().unwrap(), ["a", "b"]);
    let error = place.root().open("c").unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert!(
        error.to_string().contains("root/c does not exist"),
        "{error}"
    );
}

#[test]
fn a_missing_root_is_neither_created_nor_listed() {
    let place = Place::new();
    let root = Root::at(place.folder().join("missing/root"));
    for error in [
        root.create(BUS).unwrap_err(),
        root.open(BUS).unwrap_err(),
        root.buses().unwrap_err(),
    ] {
        assert!(matches!(error, Error::NoParent { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("missing does not exist"), "{said}");
        assert!(
            said.ends_with("make the directory above it first"),
            "{said}"
        );
    }
    assert!(!place.folder().join("missing").exists());
    let error = Error::NoParent {
        path: "/dev/shm/touchline-0".into(),
        parent: "/dev/shm".into(),
    };
    assert!(error.to_string().contains("; mount -t tmpfs "), "{error}");
}

#[test]
fn the_usual_root_is_in_memory_and_of_this_user() {
    let user = rustix::process::geteuid().as_raw();
    let expected = format!("/dev/shm/touchline-{user}");
    assert_eq!(Root::of_this_user().path().to_str().unwrap(), expected);
}

/// The lines of `/proc/self/smaps` about a file.
fn smaps(mapping: &Mapping) -> String {
    let all = fs::read_to_string("/proc/self/smaps").unwrap();
    let path = mapping.path().to_str().unwrap();
    let mut lines = all.lines().skip_while(|line| !line.ends_with(path));
    let head = lines.next().expect("the mapping is listed");
    let rest = lines.take_while(|line| !line.contains('-'));
    [head]
        .into_iter()
        .chain(rest)
        .collect::<Vec<_>>()
        .join("\n")
}

fn kib(smaps: &str, key: &str) -> usize {
    let line = smaps.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn pages_are_present_and_locked_before_the_call_returns() {
    let place = Place::new();
    let lock = place.writer();
    let writer = publish(&lock, "ring", 64 * PAGE);
    let lines = smaps(&writer);
    assert_eq!(kib(&lines, "Rss:"), 256, "{lines}");
    assert!(
        writer.warnings().is_empty(),
        "256 KiB may be locked everywhere"
    );
    assert_eq!(kib(&lines, "Locked:"), 256, "{lines}");
    drop(writer);

    let lazy = Options {
        prefault: false,
        lock: Lock::No,
        ..Options::default()
    };
    let idle = Mapping::open(lock.directory(), "ring", Access::Read, &lazy).unwrap();
    let lines = smaps(&idle);
    assert_eq!(
        (kib(&lines, "Rss:"), kib(&lines, "Locked:")),
        (0, 0),
        "{lines}"
    );
    drop(idle);
    let eager = open(lock.directory(), "ring").unwrap();
    assert_eq!(kib(&smaps(&eager), "Rss:"), 256);
}

#[test]
fn unavailable_huge_pages_are_a_warning() {
    let place = Place::new();
    let lock = place.writer();
    let options = Options {
        huge_pages: true,
        ..Options::default()
    };
    let draft = Mapping::create(&lock, "ring", 4 << 20, &options).unwrap();
    let mapping = draft.publish().unwrap();
    mapping.words()[(4 << 20) / 8 - 1].store(1, Relaxed);
    let huge_kib = kib(&smaps(&mapping), "ShmemPmdMapped:");
    let noted = mapping
        .warnings()
        .iter()
        .any(|warning| matches!(warning, Warning::NoHugePages { .. }));
    println!(
        "huge pages: {huge_kib} KiB, notes: {:?}",
        mapping.warnings()
    );
    assert!(noted || huge_kib > 0);
}
