//! Closed segments are compressed and removed beside a reader that is behind: it misses no message and reads none twice.

use crate::process::{COMPRESSES, Over, Pace, counter, publish, start_as};
use crate::world::{BUS, World};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use touchline_tape::{Reader, Taped};
use touchline_testing::{PATIENCE, Process, until};
use touchline_transport::market::Item;

/// Enough for some segments each second.
const PACE: Pace = Pace {
    interval: Duration::from_millis(1),
    events: 2,
    trades: 40,
};
/// Segments that are compressed and removed before the end.
const COMPRESSED: u64 = 10;
const REMOVED: u64 = 30;

#[test]
fn a_reader_of_a_tape_that_is_compressed_and_removed_misses_nothing() {
    let mut world = World::new(u64::from(std::process::id()));
    world.publish();
    let (folder, tape) = (world.folder().to_owned(), world.tape());
    let mut publisher = world.publisher.take().expect("it publishes");
    let mut market = world.market();
    let is_over = AtomicBool::new(false);
    let mut recorder = start_as(COMPRESSES, &folder, &[], &[]);
    let holder = tape.join("holders/reader");
    std::fs::create_dir(tape.join("holders")).expect("our folder");
    std::fs::write(&holder, 0_u64.to_le_bytes()).expect("our folder");
    let mut sequences = Vec::new();
    let mut reader = Reader::open(&tape, Some(BUS)).expect("a tape");
    let mut read = |reader: &mut Reader| {
        loop {
            let taken = reader.poll(|item| match item {
                Item::Update(update) if !update.is_image => sequences.push(update.sequence),
                Item::Top { sequence, .. } => sequences.push(sequence),
                _ => {}
            });
            match taken.expect("no segment is removed before it is read") {
                Taped::Given(()) | Taped::Passed => {}
                Taped::Nothing | Taped::End => break,
            }
        }
        let next = holder.with_extension("next");
        std::fs::write(&next, reader.position().to_le_bytes()).expect("our folder");
        std::fs::rename(next, &holder).expect("our folder");
    };
    std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            publish(
                &mut publisher,
                &mut market,
                PACE,
                &is_over,
                &AtomicU64::default(),
            )
        });
        // The thread gives itself a name and a priority.
        until("its priority", PATIENCE, || {
            of_compression(&recorder).get(16) == Some(&19)
        });
        until(
            "segments to be compressed and removed",
            PATIENCE * 3,
            || {
                // Behind by some segments.
                std::thread::sleep(Duration::from_millis(300));
                read(&mut reader);
                counter(&folder, "record_segments_removed") > REMOVED
                    && counter(&folder, "record_segments_compressed") > COMPRESSED
            },
        );
        is_over.store(true, Ordering::Relaxed);
    });
    until("the rest of the bus", PATIENCE, || {
        counter(&folder, "record_lag_bytes") == 0
    });
    std::thread::sleep(Duration::from_millis(300));
    let [compressed, from, to, recorded] = [
        "segments_compressed",
        "compressed_from",
        "compressed_to",
        "messages",
    ]
    .map(|name| counter(&folder, &format!("record_{name}")));
    let fields = of_compression(&recorder);
    // Ticks of 10 ms.
    let processor_ms = (fields[11] + fields[12]) * 10;
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    read(&mut reader);
    let lost = reader.gaps().1;
    println!(
        "{} messages, {lost} lost before the tape; {compressed} segments compressed, {from} bytes to {to}, \
         in {processor_ms} ms of the processor",
        sequences.len()
    );
    assert!(compressed > COMPRESSED && to < from, "{compressed}");
    let wrong = sequences.windows(2).find(|pair| pair[1] <= pair[0]);
    assert_eq!(wrong, None);
    // Of a state the reader has no messages, and after a loss of a loaded host it passes over those before the next state.
    let read = sequences.len() as u64 + reader.without_state();
    assert!(read >= recorded, "{read} of {recorded} messages");
}

/// Numbers that the system has of the thread that compresses, behind its name and state.
fn of_compression(recorder: &Process) -> Vec<i64> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", recorder.id())).expect("its threads");
    let stat = |path: &Path| std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    let mut stats = tasks.flatten().map(|task| stat(&task.path()));
    let of_thread = stats.find(|stat| stat.contains("(compress)"));
    let Some(of_thread) = of_thread else {
        return Vec::new();
    };
    let behind_name = of_thread.rsplit(") ").next().expect("fields");
    let fields = behind_name.split_whitespace();
    fields.map(|field| field.parse().unwrap_or(0)).collect()
}
