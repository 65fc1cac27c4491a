//! Failures of the disk under a raw recording: one line each, the recorder goes on by itself, and each packet is on the tape or in a gap.

use crate::disk::{FULL_DISK, library, may_mount, set};
use crate::raw::{gaps_of, numbers, send, start};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use touchline_journal::records::Gap;
use touchline_journal::{Verdict, verify};
use touchline_tape::raw::{Capture, Line};
use touchline_testing::{Folder, PATIENCE, Process, until};

/// Packets of a burst, and bursts a second.
#[derive(Clone, Copy)]
struct Pace {
    packets: u32,
    interval: Duration,
}

/// What the buffers of the sockets hold for seconds.
const QUIET: Pace = Pace {
    packets: 2,
    interval: Duration::from_millis(10),
};
/// More than socket and ring have in a second.
const BUSY: Pace = Pace {
    packets: 20,
    interval: Duration::from_millis(2),
};

/// What a run left.
struct Left {
    out: String,
    sent: u32,
    found: Vec<u32>,
    gaps: Vec<Gap>,
}

impl Left {
    fn of(tape: &Path, out: String, sent: u32) -> Left {
        println!("{out}");
        let report = verify(tape).expect("a journal");
        assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
        let capture = Capture::open(tape).expect("a raw journal");
        let mut found = numbers(capture.reader().expect("a capture"));
        found.sort_unstable();
        let gaps = gaps_of(tape).into_iter().map(|(_, gap)| gap).collect();
        Left {
            out,
            sent,
            found,
            gaps,
        }
    }

    /// Every packet is there once, or counted in a gap.
    #[track_caller]
    fn assert_accounted(&self) {
        assert!(self.found.is_sorted_by(|first, second| first < second));
        let lost: u64 = self.gaps.iter().map(|gap| gap.count).sum();
        assert_eq!(self.found.len() as u64 + lost, u64::from(self.sent));
    }

    #[track_caller]
    fn assert_whole(&self) {
        assert_eq!(self.gaps, []);
        self.assert_accounted();
    }
}

/// Sends packets while `act` makes faults: their number.
fn sending(lines: &[Line], pace: Pace, act: impl FnOnce()) -> u32 {
    let (is_over, sent) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let _over = crate::process::Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let from = sent.fetch_add(pace.packets, Ordering::Relaxed);
                send(lines, from..from + pace.packets);
                std::thread::sleep(pace.interval);
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        act();
        std::thread::sleep(Duration::from_millis(300));
    });
    sent.into_inner()
}

fn run(role: &str, pace: Pace, act: impl FnOnce(&PathBuf, &mut Process)) -> Left {
    let folder = Folder::in_memory("raw-disk");
    let (library, disk) = (library(&folder), folder.join("disk"));
    let environment = [
        ("LD_PRELOAD", library.as_path()),
        ("TOUCHLINE_TEST_DISK", disk.as_path()),
    ];
    let (mut recorder, lines) = start(role, &folder, &[], &environment);
    let sent = sending(&lines, pace, || act(&disk, &mut recorder));
    // The next packet tells of losses before it.
    std::thread::sleep(Duration::from_millis(300));
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    Left::of(&folder.join("raw"), recorder.out(), sent)
}

/// A sync that failed is not repeated: the journal is opened again, with what its tail has, and lacks nothing.
#[test]
fn a_failed_sync_ends_a_segment_and_not_the_raw_recording() {
    let left = run("journal", QUIET, |disk, recorder| {
        set(disk, "fail");
        recorder.wait_for_line("Failed { reason: \"Input/output error");
        recorder.wait_for_line("Disk { takes: true");
    });
    left.assert_whole();
    assert_eq!(left.out.matches("Failed").count(), 1, "{}", left.out);
}

/// A disk that only reads is tried each second, and what the sockets could not hold is a gap.
#[test]
fn a_raw_recording_outlives_a_disk_that_only_reads() {
    let left = run("narrow", BUSY, |disk, recorder| {
        set(disk, "readonly");
        recorder.wait_for_line("Read-only file system");
        std::thread::sleep(Duration::from_millis(1_500));
        set(disk, "");
        recorder.wait_for_line("Disk { takes: true");
    });
    left.assert_accounted();
    assert!(left.gaps.iter().any(|gap| gap.cause == Gap::DROPPED));
    assert!(left.out.matches("Failed").count() <= 2, "{}", left.out);
    // Losses of a blocked recorder are one event when the disk is back.
    assert!(left.gaps.len() <= 8, "{:?}", left.gaps);
}

/// A raw journal whose directory is gone begins again in a new one.
#[test]
fn a_removed_raw_recording_is_said_and_made_again() {
    let away = Folder::in_memory("raw-disk-away");
    let moved = away.join("raw");
    let left = run("journal", QUIET, |disk, recorder| {
        std::fs::rename(disk.with_file_name("raw"), &moved).expect("our folder");
        recorder.wait_for_line("its directory was removed");
        recorder.wait_for_line("Disk { takes: true");
    });
    assert_eq!(left.gaps, []);
    let capture = Capture::open(&moved).expect("a raw journal");
    let mut all = numbers(capture.reader().expect("a capture"));
    all.extend(&left.found);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..left.sent));
}

/// A full disk is waited for.
#[test]
fn a_full_disk_is_waited_for_by_a_raw_recording() {
    if !may_mount() {
        return;
    }
    let folder = Folder::in_memory("raw-disk");
    let path = folder.join("raw").display().to_string();
    std::fs::create_dir(&path).expect("our folder");
    let before = ["unshare", "-rm", "sh", "-c", FULL_DISK, &path];
    let (mut recorder, lines) = start("narrow", &folder, &before, &[]);
    // The file system as the recorder has it.
    let tape = PathBuf::from(format!("/proc/{}/root{path}", recorder.id()));
    let sent = sending(&lines, BUSY, || {
        recorder.wait_for_line("Disk { takes: false, errno: 28 }");
        std::fs::remove_file(tape.join("other")).expect("the file");
        recorder.wait_for_line("Disk { takes: true");
    });
    until("every packet, or its loss", PATIENCE, || {
        let capture = Capture::open(&tape).expect("a raw journal");
        let found = numbers(capture.reader().expect("a capture")).len() as u64;
        let lost: u64 = gaps_of(&tape).iter().map(|(_, gap)| gap.count).sum();
        found + lost == u64::from(sent)
    });
    recorder.close();
    recorder.wait_for_line("closed");
}
