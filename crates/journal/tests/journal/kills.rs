//! A process that writes is killed at random instants, in its start and while it appends.
//!
//! After each kill the end of the journal is clean or cut by a crash, never damaged; after the next start every record
//! that the writer had confirmed is there, in order. `SEED` repeats a run; `KILLS` sets the number of kills.

use crate::place::{Place, body, options, setting};
use crate::roles;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use touchline_journal::format::{Alignment, segment_name};
use touchline_journal::{Follow, Journal, Mode, Options, Record, Refused, Verdict, read, verify};
use touchline_testing::Process;
use touchline_testing::random::Random;

/// Settings of writer and test: the mode by the name of a file, so that the role knows it.
fn options_in(folder: &Path) -> Options {
    let is_disk = folder.join("disk").exists();
    Options {
        mode: if is_disk { Mode::Disk } else { Mode::Host },
        alignment: is_disk.then_some(Alignment::SECTOR_512),
        ..options()
    }
}

/// Number of the journal's records, whose bodies show that they are complete; each number follows the one before.
fn records(place: &Place) -> u64 {
    let mut next = 0;
    read(&place.journal(), false, |entry| {
        if entry.head.stream == 1 {
            assert_eq!(entry.body, body(next), "record {next}");
            next += 1;
        }
    })
    .expect("a journal");
    next
}

/// The writer: appends records that continue the journal, and writes to the file `confirmed` how many are confirmed.
pub fn play_writer(folder: &Path) {
    let place = Place::at(folder);
    let options = options_in(folder);
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options, 1).expect("a journal");
    let mut next = records(&place);
    let confirmed = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join("confirmed"))
        .expect("our folder");
    let mut random = Random::from_seed(u64::from(std::process::id()));
    loop {
        for _ in 0..random.below(200) {
            let body = body(next);
            let record = Record {
                stream: 1,
                kind: 48,
                time_ns: next,
                body: &body,
            };
            let appended = match journal.append(&record) {
                Ok(appended) => appended,
                Err(Refused::TailFull { .. } | Refused::NoSegment) => break,
                Err(other) => panic!("{other}"),
            };
            while !journal.is_safe(&appended) {
                std::hint::spin_loop();
            }
            next += 1;
            confirmed
                .write_all_at(&next.to_le_bytes(), 0)
                .expect("our folder");
        }
        std::thread::sleep(Duration::from_micros(random.below(1_000)));
    }
}

fn confirmed(folder: &Path) -> u64 {
    let bytes = std::fs::read(folder.join("confirmed")).unwrap_or_default();
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Lets the writer run, and kills it in its start or after its first confirmations.
fn run_and_kill(place: &Place, random: &mut Random) {
    let mut writer = Process::start(&mut roles::command(&[], "writer", place.path()));
    let before = confirmed(place.path());
    if random.below(4) > 0 {
        writer.wait_for("a confirmation", |_| {
            (confirmed(place.path()) != before).then_some(())
        });
    }
    std::thread::sleep(Duration::from_micros(random.below(12_000)));
    assert!(writer.is_running(), "{} {}", writer.out(), writer.err());
    writer.kill();
}

/// Counts of the cases that the kills met.
#[derive(Debug, Default)]
struct Met {
    cuts: u64,
    records: u64,
    frames_from_tail: u64,
    starts_after_a_kill: u64,
    followed: u64,
}

/// One journal with several lives of its writer.
fn lives(seed: u64, mode: Mode, kills: u64, met: &mut Met) {
    let mut random = Random::from_seed(seed);
    let place = Place::new(&format!("kills-{seed}-{mode:?}"));
    if mode == Mode::Disk {
        std::fs::write(place.path().join("disk"), "").expect("our folder");
    }
    // A follower joins at the start or later, and reads through all lives.
    let joins_at = random.below(4);
    let mut follower = None;
    for life in 0..kills {
        if life == joins_at {
            follower = Some(Reader::start(place.journal()));
        }
        run_and_kill(&place, &mut random);
        if place.journal().join(segment_name(1)).exists() {
            let report = verify(&place.journal()).expect("a journal");
            assert_ne!(report.verdict, Verdict::Damaged, "{:?}", report.findings);
            met.cuts += u64::from(report.verdict == Verdict::Cut);
        }
        // Records confirmed in mode `disk` survive without the tail, too.
        if mode == Mode::Disk {
            // The writer may have died before it had one.
            let _ = std::fs::remove_file(place.path().join("bus/engine/tail"));
        }
        // Else the next writer recovers, and may be killed in it.
        if random.below(2) == 0 {
            check(&place, met);
        }
    }
    check(&place, met);
    if let Some(follower) = follower {
        assert_eq!(follower.end(), records(&place), "what a follower read");
        met.followed += 1;
    }
}

/// A follower in a thread: each record once, in order.
struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Reader {
    fn start(journal: PathBuf) -> Reader {
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut follow = Follow::new(&journal);
            let (mut next, mut is_last) = (0, false);
            loop {
                let polled = follow.poll(u64::MAX, 100, |entry| {
                    if entry.head.stream == 1 {
                        assert_eq!(entry.body, body(next), "record {next}");
                        next += 1;
                    }
                });
                match polled.expect("a journal that is not damaged") {
                    0 if is_last => return next,
                    0 => {
                        is_last = flag.load(Ordering::Acquire);
                        std::thread::sleep(Duration::from_micros(300));
                    }
                    _ => {}
                }
            }
        });
        Reader { is_over, thread }
    }

    /// Reads the rest: number of records.
    fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().expect("the follower")
    }
}

/// A start, and every confirmed record is there.
fn check(place: &Place, met: &mut Met) {
    let bus = place.bus();
    let journal =
        Journal::open(&place.journal(), &bus, &options_in(place.path()), 2).expect("a start");
    met.frames_from_tail += journal.report().frames_from_tail;
    met.starts_after_a_kill += 1;
    journal.close(3).expect("it closes");
    let (found, confirmed) = (records(place), confirmed(place.path()));
    assert!(found >= confirmed, "{found} records, {confirmed} confirmed");
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    met.records += found;
}

#[test]
fn kills_lose_no_confirmed_record_and_are_not_damage() {
    let (seed, kills) = (setting("SEED", 1), setting("KILLS", 24));
    println!("{kills} kills in each mode, SEED={seed}");
    for mode in [Mode::Host, Mode::Disk] {
        let mut met = Met::default();
        for journal in 0..kills.div_ceil(6) {
            lives(seed + journal, mode, 6, &mut met);
        }
        println!("{mode:?}: {met:?}");
        assert!(met.records > 0, "nothing was written");
        assert!(met.followed > 0, "nothing was followed");
        if mode == Mode::Host {
            assert!(
                met.frames_from_tail > 0,
                "no kill found records in the tail alone"
            );
        }
    }
}
