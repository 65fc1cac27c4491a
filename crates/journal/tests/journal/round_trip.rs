//! Appended records are read back, through segments, runs and modes.

use crate::place::{Place, append, body, options};
use crate::second_reader;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use touchline_journal::{
    Error, Journal, Mode, Options, Record, Refused, Verdict, compress, read, read_from, verify,
};
use touchline_testing::{PATIENCE, until};

/// Bodies of the records of stream 1.
pub fn bodies(place: &Place) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    read(&place.journal(), false, |entry| {
        if entry.head.stream == 1 {
            found.push(entry.body.to_vec());
        }
    })
    .expect("a journal");
    found
}

/// Sequences of the records from one on.
fn sequences_from(place: &Place, from: u64) -> Vec<u64> {
    let mut found = Vec::new();
    read_from(&place.journal(), from, false, |entry| {
        found.extend(entry.sequence)
    })
    .expect("a journal");
    found
}

#[test]
fn records_of_many_segments_and_runs_are_read_in_order() {
    let place = Place::new("runs");
    let bus = place.bus();
    let mut number = 0;
    for run in 1..=3 {
        let mut journal =
            Journal::open(&place.journal(), &bus, &options(), run).expect("a journal");
        assert_eq!(journal.report().epoch, run);
        for _ in 0..2_000 {
            append(&mut journal, number);
            number += 1;
        }
        journal.close(run + 10).expect("it closes");
    }
    let expected: Vec<_> = (0..number).map(body).collect();
    assert_eq!(bodies(&place), expected);
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    assert!(report.segments.len() > 15, "{}", report.segments.len());
    let all = sequences_from(&place, 0);
    for from in [1, 7, 300, 301, 2_999, report.next_sequence - 1] {
        let later = all.iter().copied().filter(|sequence| *sequence >= from);
        assert_eq!(sequences_from(&place, from), later.collect::<Vec<_>>());
    }
    assert_eq!(sequences_from(&place, report.next_sequence), []);
    let second = second_reader::read(&place.journal()).expect("the second reader agrees");
    assert_eq!(second.bodies, expected);
    assert_eq!(
        (second.position, second.next_sequence),
        (report.position, report.next_sequence)
    );
}

#[test]
fn a_journal_that_was_dropped_without_close_is_ended_by_the_next_start() {
    let place = Place::new("dropped");
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    (0..10).for_each(|number| append(&mut journal, number));
    drop(journal);
    assert_eq!(
        verify(&place.journal()).expect("a journal").verdict,
        Verdict::Clean
    );
    let journal = Journal::open(&place.journal(), &bus, &options(), 2).expect("a journal");
    assert_eq!(journal.report().bytes_set_aside, 0);
    journal.close(3).expect("it closes");
    assert_eq!(bodies(&place).len(), 10);
}

#[test]
fn a_record_is_safe_in_mode_disk_when_the_disk_has_it() {
    let place = Place::new("disk");
    let bus = place.bus();
    let options = Options {
        mode: Mode::Disk,
        alignment: None,
        segment_bytes: 1 << 20,
        ring_bytes: 1 << 20,
        write_zeros: true,
        ..options()
    };
    let mut journal = Journal::open(&place.journal(), &bus, &options, 1).expect("a journal");
    let record = Record {
        stream: 1,
        kind: 48,
        time_ns: 5,
        body: b"order",
    };
    let at = journal.append(&record).expect("it is appended");
    until("the disk", PATIENCE, || journal.is_safe(&at));
    assert!(journal.durable() >= at.end);
    assert_eq!(
        second_reader::read(&place.journal())
            .expect("a journal")
            .bodies,
        [b"order"]
    );
}

#[test]
fn a_second_writer_is_refused_with_the_process_id_of_the_first() {
    let place = Place::new("two");
    let bus = place.bus();
    let journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    let second = Journal::open(&place.journal(), &bus, &options(), 2);
    match second {
        Err(Error::Locked { pid, .. }) => assert_eq!(pid, std::process::id()),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        verify(&place.journal()).expect("a journal").writer,
        Some(std::process::id())
    );
    journal.close(3).expect("it closes");
    assert_eq!(verify(&place.journal()).expect("a journal").writer, None);
}

/// Records of a fast writer that a walk misses are neither damage nor wrong records, and segments that are compressed
/// meanwhile are not missed.
#[test]
fn a_journal_is_read_and_clean_beside_a_fast_writer() {
    let place = Place::new("live");
    let bus = place.bus();
    // Large enough that the writer is faster than the copy of a segment.
    let options = Options {
        segment_bytes: 1 << 20,
        ring_bytes: 1 << 20,
        ..options()
    };
    let mut journal = Journal::open(&place.journal(), &bus, &options, 1).expect("a journal");
    let is_done = AtomicBool::new(false);
    let (compressed, walks) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_shown = || compressed.load(Ordering::Relaxed) > 0 && walks.load(Ordering::Relaxed) > 1;
    let mut last = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let mut number = 0;
            // On a slow disk it takes longer to write and to compress a segment.
            while begun.elapsed() < Duration::from_secs(1)
                || !is_shown() && begun.elapsed() < PATIENCE
            {
                let body = body(number);
                let record = Record {
                    stream: 1,
                    kind: 48,
                    time_ns: number,
                    body: &body,
                };
                match journal.append(&record) {
                    Ok(_) => number += 1,
                    Err(Refused::TailFull { .. } | Refused::NoSegment) => std::thread::yield_now(),
                    Err(other) => panic!("{other}"),
                }
            }
            is_done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !is_done.load(Ordering::Acquire) {
                compressed.fetch_add(
                    compress(&place.journal()).expect("a journal").len(),
                    Ordering::Relaxed,
                );
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        while !is_done.load(Ordering::Acquire) {
            let report = verify(&place.journal()).expect("a journal");
            assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
            assert_eq!(report.writer, Some(std::process::id()));
            let found = bodies(&place);
            assert!(found.len() >= last, "{} after {last}", found.len());
            let right = found
                .iter()
                .enumerate()
                .all(|(number, found)| *found == body(number as u64));
            assert!(right, "a wrong record");
            last = found.len();
            walks.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (compressed, walks) = (compressed.into_inner(), walks.into_inner());
    println!("{walks} walks, {last} records in the last one, {compressed} segments compressed");
    assert!(compressed > 0);
    assert!(walks > 1 && last > 0);
}

/// Before a run has a durable record, its durable position is the end of the runs before: a crash may leave no more.
#[test]
fn the_durable_position_of_a_run_begins_at_the_end_of_the_one_before() {
    let place = Place::new("durable-begin");
    let bus = place.bus();
    let options = Options {
        // Syncs complete segments only.
        mode: Mode::Process,
        ..options()
    };
    let mut end = 0;
    for run in 0..3 {
        let mut journal = Journal::open(&place.journal(), &bus, &options, run).expect("a journal");
        assert_eq!(journal.durable(), end, "run {run}");
        append(&mut journal, run);
        assert_eq!(journal.durable(), end, "run {run}");
        journal.close(run).expect("it closes");
        let report = verify(&place.journal()).expect("a journal");
        end = report.position;
    }
}
