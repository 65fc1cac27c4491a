//! A journal that cannot be written reports this to its writer at once, and keeps its records.

use crate::place::{Place, append, body, options, until_durable};
use crate::roles::play;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use touchline_journal::format::segment_name;
use touchline_journal::{
    Error, Journal, Options, Record, Refused, Root, Verdict, WriterLock, compress, read,
    remove_oldest, verify,
};
use touchline_testing::{PATIENCE, until};

/// Error number of the system: no space left.
const ENOSPC: u64 = 28;
/// Error number of the system: the file would be larger than the limit of the process.
const EFBIG: i32 = 27;
/// A small file system.
const SMALL: &str = "mount -t tmpfs -o size=640k,mode=700 tmpfs";
/// A file system that cannot allocate the space of a file.
const WITHOUT_FALLOCATE: &str = "mount -t ramfs -o mode=700 ramfs";

/// Runs a role with a file system at `orders`, in a mount namespace.
fn on_a_file_system(mount: &str, role: &str, place: &Place) {
    std::fs::create_dir(place.journal()).expect("our folder");
    let may_mount = "mount -t tmpfs -o size=64k tmpfs /mnt";
    let probe = Command::new("unshare")
        .args(["-rm", "sh", "-c", may_mount])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("not run: this user cannot make a mount namespace");
        return;
    }
    let mounted = format!("{mount} \"$TOUCHLINE_TEST_FOLDER/orders\" && exec \"$0\" \"$@\"");
    play(
        &["unshare", "-rm", "sh", "-c", &mounted],
        role,
        place.path(),
    );
}

/// Appends until the journal refuses a record for another reason than the speed of its disk. Returns the number of
/// appended records, the number of those after the alarm, and the reason.
fn fill(journal: &mut Journal) -> (u64, u64, Refused) {
    let begun = Instant::now();
    let (mut number, mut after_alarm) = (0, 0);
    loop {
        let body = body(number);
        let record = Record {
            stream: 1,
            kind: 48,
            time_ns: number,
            body: &body,
        };
        match journal.append(&record) {
            Ok(_) => {
                number += 1;
                after_alarm += u64::from(journal.alarm() != 0);
                // This keeps the journal thread from falling behind.
                if number.is_multiple_of(32) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Err(Refused::TailFull { .. } | Refused::NoSegment) if journal.alarm() == 0 => {
                std::thread::sleep(Duration::from_micros(100));
            }
            Err(refused) => return (number, after_alarm, refused),
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it is never refused"
        );
    }
}

fn count(place: &Place) -> u64 {
    let mut count = 0;
    read(&place.journal(), false, |entry| {
        count += u64::from(entry.head.stream == 1)
    })
    .expect("a journal");
    count
}

#[test]
fn a_full_disk_is_an_alarm_then_a_refusal_and_loses_nothing() {
    on_a_file_system(SMALL, "full disk", &Place::new("full"));
}

pub fn play_full_disk(folder: &Path) {
    let place = Place::at(folder);
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    let (appended, after_alarm, refused) = fill(&mut journal);
    println!("{appended} records, {after_alarm} of them after the alarm; then: {refused}");
    assert_eq!((refused, journal.alarm()), (Refused::NoSegment, ENOSPC));
    assert!(
        after_alarm > 0,
        "the alarm comes while there is still a segment"
    );
    journal.close(2).expect("the End has room");
    assert_eq!(count(&place), appended);
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);

    // The next start has no room for its segment: nothing changes until there is some.
    let error = Journal::open(&place.journal(), &bus, &options(), 3).expect_err("a full disk");
    println!("{error}");
    let Error::Io { source, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(source.raw_os_error(), Some(ENOSPC as i32));
    assert_eq!(count(&place), appended);
    std::fs::remove_file(place.journal().join(segment_name(1))).expect("the oldest segment");
    std::fs::remove_file(place.journal().join(segment_name(2))).expect("the next one");
    let journal = Journal::open(&place.journal(), &bus, &options(), 4).expect("there is room");
    journal.close(5).expect("it closes");
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
}

/// Before the first record the present and the next segment have all of their space, also where the system cannot allocate it, so
/// that a full disk is noticed one segment ahead.
#[test]
fn a_segment_has_its_space_before_its_first_record() {
    on_a_file_system(SMALL, "space", &Place::new("space"));
    on_a_file_system(WITHOUT_FALLOCATE, "space", &Place::new("zeros"));
}

pub fn play_space(folder: &Path) {
    let place = Place::at(folder);
    let journal = Journal::open(&place.journal(), &place.bus(), &options(), 1).expect("a journal");
    for index in 1..=2 {
        let file = std::fs::metadata(place.journal().join(segment_name(index)));
        let file = file.expect("a segment");
        assert!(
            file.blocks() * 512 >= file.len(),
            "segment {index}: {file:?}"
        );
        assert_eq!(file.len(), options().segment_bytes);
    }
    journal.close(2).expect("it closes");
}

/// The writer acted without records: there is no `End`, and each start reports that the journal had failed, until a run
/// has recorded the consequence. A journal that was closed in order is not reported.
#[test]
fn a_journal_that_was_given_up_has_failed_for_the_next_start() {
    let place = Place::new("given-up");
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    append(&mut journal, 0);
    journal.give_up();
    let record = Record {
        stream: 1,
        kind: 48,
        time_ns: 1,
        body: &[],
    };
    let refused = journal.append(&record);
    assert!(
        matches!(refused, Err(Refused::Failed { .. })),
        "{refused:?}"
    );
    assert!(journal.close(2).is_err());
    // Later starts report it, too, until one has recorded the consequence.
    for now_ns in [3, 5] {
        let journal = Journal::open(&place.journal(), &bus, &options(), now_ns);
        let journal = journal.expect("a journal");
        assert!(journal.report().had_failed);
        journal.close(now_ns + 1).expect("it closes");
    }
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 7).expect("a journal");
    assert!(journal.report().had_failed);
    journal.failure_recorded();
    journal.close(8).expect("it closes");
    let journal = Journal::open(&place.journal(), &bus, &options(), 9).expect("a journal");
    assert!(!journal.report().had_failed);
    journal.close(10).expect("it closes");
    assert_eq!(count(&place), 1);
}

/// The tail of the run is lost with the memory of the host; the file has the failure, until the disk has a record of the consequence.
#[test]
fn a_failure_is_known_after_a_restart_of_the_host() {
    let place = Place::new("failed-then-restarted");
    let options = Options {
        failure_file: true,
        ..options()
    };
    let file = place.journal().join("failed");
    let failed = || std::fs::read_to_string(&file).expect("our file");
    let open = |boot: &str, now_ns| {
        let root = Root::at(place.path().join(boot));
        let bus = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
        Journal::open(&place.journal(), &bus, &options, now_ns).expect("a journal")
    };
    let mut journal = open("first", 1);
    assert!(!journal.report().had_failed);
    append(&mut journal, 0);
    journal.failure_recorded();
    until_durable(&journal);
    assert_eq!(failed(), "00000000000000000000\n");
    journal.give_up();
    until("the file", PATIENCE, || {
        failed() == "00000000000000000001\n"
    });
    drop(journal);
    for boot in ["second", "third"] {
        let journal = open(boot, 3);
        assert!(journal.report().had_failed, "{boot}");
        drop(journal);
    }
    let mut journal = open("fourth", 5);
    append(&mut journal, 1);
    journal.failure_recorded();
    until("the file", PATIENCE, || {
        failed() == "00000000000000000000\n"
    });
    assert!(journal.durable() >= journal.position());
    drop(journal);
    let journal = open("fifth", 7);
    assert!(!journal.report().had_failed);
    drop(journal);
    // A failure before those of other hosts, whose segments came here.
    std::fs::write(&file, "00000000000000000001\n").expect("room");
    assert!(!open("sixth", 9).report().had_failed);
    // Other bytes than an epoch.
    std::fs::write(&file, [7; 21]).expect("room");
    assert!(open("seventh", 11).report().had_failed);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_signal() {
    play(&[], "file size limit", Place::new("limit").path());
}

pub fn play_file_size_limit(folder: &Path) {
    let place = Place::at(folder);
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    (0..3).for_each(|number| append(&mut journal, number));
    journal.close(2).expect("it closes");
    let limit = Rlimit {
        current: Some(32 << 10),
        maximum: None,
    };
    setrlimit(Resource::Fsize, limit).expect("a lower limit");
    let error = Journal::open(&place.journal(), &bus, &options(), 3).expect_err("a limit");
    println!("{error}");
    let Error::Io { source, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(source.raw_os_error(), Some(EFBIG));
    assert_eq!(count(&place), 3);
}

/// A writer that runs for long, its start, and readers keep few files open: of a removed segment the space is free again.
#[test]
fn a_journal_of_many_segments_needs_few_descriptors() {
    play(&[], "few descriptors", Place::new("descriptors").path());
}

pub fn play_few_descriptors(folder: &Path) {
    let place = Place::at(folder);
    let bus = place.bus();
    let limit = Rlimit {
        current: Some(32),
        maximum: Some(32),
    };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    let mut number = 0;
    while journal.segment() < 80 {
        append(&mut journal, number);
        number += 1;
    }
    let removed = remove_oldest(&place.journal(), |segment| segment.index <= 70);
    assert_eq!(removed.expect("a journal"), 70);
    until_durable(&journal);
    let removed = open_files(&place).filter(|name| name.ends_with(" (deleted)"));
    assert_eq!(removed.collect::<Vec<_>>(), Vec::<String>::new());
    while journal.segment() < 150 {
        append(&mut journal, number);
        number += 1;
    }
    journal.close(2).expect("it closes");
    let report = verify(&place.journal()).expect("few descriptors");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    assert!(compress(&place.journal()).expect("few descriptors").len() > 70);
    let journal = Journal::open(&place.journal(), &bus, &options(), 3);
    journal
        .expect("few descriptors")
        .close(4)
        .expect("it closes");
    assert!(count(&place) > 0);
}

/// Open files of this process in the directory of the journal.
fn open_files(place: &Place) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("the descriptors");
    let journal = place.journal().display().to_string();
    entries.flatten().filter_map(move |entry| {
        let target = std::fs::read_link(entry.path()).ok()?.display().to_string();
        target.starts_with(&journal).then_some(target)
    })
}
