//! Failures of the disk cost the recorder alone, are one event each, and the recorder goes on by itself.
//!
//! The disk is one of a library before that of the system, which a C compiler makes of `disk.c`; the full one is a small file system.

use crate::process::{Over, Pace, counter, publish, start};
use crate::world::{BUS, Played, World, assert_equal, played};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_journal::{Verdict, verify};
use touchline_tape::Reader;
use touchline_testing::{PATIENCE, Process, until};

/// Some hundred messages a second: the ring of the bus has those of seconds.
const QUIET: Pace = Pace {
    interval: Duration::from_millis(5),
    events: 1,
    trades: 0,
};
/// More than the rings of bus and journal have in a second.
const BUSY: Pace = Pace {
    interval: Duration::from_millis(1),
    events: 20,
    trades: 100,
};

/// A recorder of a bus, and its disk.
struct FaultyDisk {
    world: World,
    library: PathBuf,
    disk: PathBuf,
    /// Bursts of the publisher.
    bursts: AtomicU64,
}

/// What a run left.
struct Left {
    out: String,
    played: Played,
    gaps: Vec<Gap>,
}

/// The disk of `disk.c`, as a library of a folder.
pub fn library(folder: &Path) -> PathBuf {
    let library = folder.join("disk.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tape/disk.c");
    let mut compiler = Command::new("cc");
    let compiled = compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.expect("a C compiler").success());
    library
}

/// Gives the disk a word, as a whole.
pub fn set(disk: &Path, word: &str) {
    let next = disk.with_extension("next");
    std::fs::write(&next, word).expect("room");
    std::fs::rename(next, disk).expect("our folder");
}

/// Whether this user can mount a small file system; said if not.
pub fn may_mount() -> bool {
    let mounted = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    let may_mount = mounted.is_ok_and(|output| output.status.success());
    if !may_mount {
        touchline_testing::skip("this user cannot make a mount namespace");
    }
    may_mount
}

/// Runs its arguments with a full file system of 14 MiB in the folder that `$0` names.
pub const FULL_DISK: &str = "mount -t tmpfs -o size=14m,mode=700 tmpfs \"$0\" && head -c 8m /dev/zero > \"$0/other\" && exec \"$@\"";

impl FaultyDisk {
    fn new() -> FaultyDisk {
        let mut world = World::new(u64::from(std::process::id()));
        world.publish();
        let library = library(world.folder());
        let disk = world.folder().join("disk");
        FaultyDisk {
            world,
            library,
            disk,
            bursts: AtomicU64::new(0),
        }
    }

    fn set(&self, word: &str) {
        set(&self.disk, word);
    }

    fn counter(&self, name: &str) -> u64 {
        counter(self.world.folder(), name)
    }

    fn until_counter(&self, name: &str, is_reached: impl Fn(u64) -> bool) {
        until(name, PATIENCE, || is_reached(self.counter(name)));
    }

    /// The publisher goes on.
    fn until_bursts(&self) {
        let bursts = || self.bursts.load(Ordering::Relaxed);
        let before = bursts();
        until("the publisher goes on", PATIENCE, || bursts() > before + 50);
    }

    /// Records while `act` makes faults, to the end: the books are those of a live reader.
    fn run(&mut self, pace: Pace, act: impl FnOnce(&FaultyDisk, &mut Process)) -> Left {
        let mut publisher = self.world.publisher.take().expect("it publishes");
        let mut market = self.world.market();
        let is_over = AtomicBool::new(false);
        let environment = [
            ("LD_PRELOAD", self.library.as_path()),
            ("TOUCHLINE_TEST_DISK", self.disk.as_path()),
        ];
        let mut recorder = start(self.world.folder(), &[], &environment);
        std::thread::scope(|scope| {
            let _over = Over(&is_over);
            let publishes =
                scope.spawn(|| publish(&mut publisher, &mut market, pace, &is_over, &self.bursts));
            std::thread::sleep(Duration::from_millis(100));
            act(self, &mut recorder);
            std::thread::sleep(Duration::from_millis(100));
            is_over.store(true, Ordering::Relaxed);
            publishes.join().expect("it publishes");
        });
        self.world.publisher = Some(publisher);
        recorder.close();
        assert!(recorder.wait().success(), "{}", recorder.err());
        let out = recorder.out();
        println!("{out}");
        let tape = self.world.tape();
        let report = verify(&tape).expect("a tape");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
        let played = played(Reader::open(&tape, Some(BUS)).expect("a tape"));
        assert_equal(&played.books, &self.world.joined(), &out);
        let gaps = gaps(&tape);
        Left { out, played, gaps }
    }
}

fn gaps(tape: &Path) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let read = touchline_journal::read(tape, false, |entry| {
        if entry.head.kind == kind::GAP {
            gaps.extend(Gap::decode(entry.body));
        }
    });
    read.expect("a tape");
    gaps
}

/// No message is missing or twice.
#[track_caller]
fn assert_whole(left: &Left) {
    assert_eq!(left.gaps, []);
    let mut pairs = left.played.sequences.windows(2);
    assert_eq!(pairs.find(|pair| pair[1] <= pair[0]), None);
}

/// Messages were lost by the disk; a loaded host may lose others.
#[track_caller]
fn assert_of_disk(gaps: &[Gap]) {
    let of_disk = gaps.iter().filter(|gap| gap.cause == Gap::DISK);
    assert!(of_disk.map(|gap| gap.count).sum::<u64>() > 0, "{gaps:?}");
}

/// A disk that stands still stops the recorder alone. What the rings cannot hold is a gap with this cause, and the recorder goes on.
#[test]
fn a_stopped_disk_costs_the_recorder_alone() {
    let mut faulty = FaultyDisk::new();
    let left = faulty.run(BUSY, |faulty, recorder| {
        faulty.set("stop");
        recorder.wait_for_line("Disk { takes: false, errno: 0 }");
        faulty.until_counter("record_durable_age_ns", |age| age > 1_000_000_000);
        faulty.until_counter("record_disk_state", |state| state == 1);
        faulty.until_bursts();
        faulty.set("");
        recorder.wait_for_line("Disk { takes: true");
        faulty.until_counter("record_disk_state", |state| state == 0);
    });
    assert_of_disk(&left.gaps);
    // The disk of the host may stand still as well.
    let count = |takes: bool| left.out.matches(&format!("takes: {takes}")).count();
    assert_eq!(count(false), count(true), "{}", left.out);
}

/// A recorder that shall end does not wait for ever for its disk: it says up to where the tape is complete, and the next one goes on.
#[test]
fn a_recorder_ends_while_its_disk_stands_still() {
    let faulty = FaultyDisk::new();
    let environment = [
        ("LD_PRELOAD", faulty.library.as_path()),
        ("TOUCHLINE_TEST_DISK", faulty.disk.as_path()),
    ];
    let folder = faulty.world.folder();
    let mut recorder = start(folder, &[], &environment);
    faulty.until_counter("record_durable", |durable| durable > 0);
    faulty.set("stop");
    std::thread::sleep(Duration::from_millis(200));
    let ended = Instant::now();
    recorder.close();
    let line = recorder.wait_for_line("error: ");
    assert!(recorder.wait().success(), "{}", recorder.err());
    assert!(
        ended.elapsed() < Duration::from_secs(20),
        "{}",
        recorder.out()
    );
    assert!(
        line.contains("the disk does not take the end") && line.contains("complete up to position"),
        "{line}"
    );
    faulty.set("");
    let mut next = start(folder, &[], &environment);
    next.close();
    next.wait_for_line("lost=0");
    let report = verify(&faulty.world.tape()).expect("a tape");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
}

/// A sync that failed is not repeated: the tape is opened again, with what its tail has, and lacks nothing.
#[test]
fn a_failed_sync_ends_a_segment_and_not_the_tape() {
    let mut faulty = FaultyDisk::new();
    let left = faulty.run(QUIET, |faulty, recorder| {
        faulty.set("fail");
        recorder.wait_for_line("Failed { reason: \"Input/output error");
        recorder.wait_for_line("Disk { takes: true");
        faulty.until_counter("record_failures", |failures| failures == 1);
    });
    assert_whole(&left);
}

/// A disk that only reads is tried each second.
#[test]
fn a_disk_that_only_reads_is_tried_again() {
    let mut faulty = FaultyDisk::new();
    let left = faulty.run(BUSY, |faulty, recorder| {
        faulty.set("readonly");
        recorder.wait_for_line("Read-only file system");
        std::thread::sleep(Duration::from_millis(1_500));
        faulty.set("");
        recorder.wait_for_line("Disk { takes: true");
    });
    assert_of_disk(&left.gaps);
    assert!(left.out.matches("Failed").count() <= 2, "{}", left.out);
}

/// A slow disk is waited for.
#[test]
fn a_slow_disk_loses_nothing_that_the_rings_hold() {
    let mut faulty = FaultyDisk::new();
    faulty.set("slow");
    let left = faulty.run(QUIET, |_, _| std::thread::sleep(Duration::from_millis(700)));
    assert_whole(&left);
}

/// A tape whose directory is gone begins again in a new one.
#[test]
fn a_removed_directory_is_said_and_made_again() {
    let mut faulty = FaultyDisk::new();
    let tape = faulty.world.tape();
    let away = faulty.world.folder().join("away");
    let left = faulty.run(QUIET, |faulty, recorder| {
        std::fs::rename(&tape, &away).expect("our folder");
        recorder.wait_for_line("its directory was removed");
        recorder.wait_for_line("Disk { takes: true");
        faulty.until_counter("record_disk_state", |state| state == 0);
    });
    assert_whole(&left);
    let report = verify(&away).expect("a tape");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
}

/// A full disk is waited for, one segment after it is noticed.
#[test]
fn a_full_disk_is_waited_for() {
    if !may_mount() {
        return;
    }
    let mut world = World::new(u64::from(std::process::id()));
    world.publish();
    let folder = world.folder().to_owned();
    std::fs::create_dir(folder.join("tape")).expect("our folder");
    let path = folder.join("tape").display().to_string();
    let mut recorder = start(
        &folder,
        &["unshare", "-rm", "sh", "-c", FULL_DISK, &path],
        &[],
    );
    let mut publisher = world.publisher.take().expect("it publishes");
    let mut market = world.market();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            publish(
                &mut publisher,
                &mut market,
                BUSY,
                &is_over,
                &AtomicU64::default(),
            )
        });
        recorder.wait_for_line("Disk { takes: false, errno: 28 }");
        until("the counters", PATIENCE, || {
            counter(&folder, "record_disk_state") == 2
                && counter(&folder, "record_disk_errno") == 28
        });
    });
    // The file system as the recorder has it.
    let tape = format!("/proc/{}/root{path}", recorder.id());
    std::fs::remove_file(Path::new(&tape).join("other")).expect("the file");
    recorder.wait_for_line("Disk { takes: true");
    until("the rest of the bus", PATIENCE, || {
        counter(&folder, "record_lag_bytes") == 0 && counter(&folder, "record_disk_state") == 0
    });
    world.publisher = Some(publisher);
    let played = played(Reader::open(Path::new(&tape), Some(BUS)).expect("a tape"));
    assert_equal(&played.books, &world.joined(), "after the full disk");
    assert_of_disk(&gaps(Path::new(&tape)));
    recorder.close();
    recorder.wait_for_line("gaps=");
}
