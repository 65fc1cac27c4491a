//! A tape has the rows of its bus, in every language.

use crate::compile::folder;
use crate::publisher::{Kind, Process};
use crate::reader::{Reader, readers};
use crate::recorder::Recorder;
use std::path::Path;
use touchline_testing::random::{Random, seeds};

/// Steps of the session.
const STEPS: usize = 150;

/// Readers of every language join a bus with the same kinds of events; a random session follows, with every message that changes all books; then
/// readers of every language read its tape. Each gets the rows that its reader of the bus has got, and those of the reader in Rust.
#[test]
fn a_tape_has_the_rows_of_its_bus_in_every_language() {
    let folder = folder();
    let languages = readers(&folder);
    for seed in seeds(2) {
        println!("SEED={seed}");
        compare(&languages, &folder.join(format!("buses-{seed}")), seed);
    }
}

fn compare(languages: &[Reader], directory: &Path, seed: u64) {
    let mut publisher = Process::start_as(directory, Kind::Lossless);
    for (index, symbol) in ["ESU4", "NQU4"].into_iter().enumerate() {
        let index = index.to_string();
        publisher.step(&["define", &index, symbol, &format!("10{index}")]);
        publisher.step(&["book", &index, "450025", "12", "450050", "7"]);
        publisher.step(&["orders", &index]);
    }
    let modes = ["", "books"];
    let live: Vec<_> = modes
        .into_iter()
        .flat_map(|mode| languages.iter().map(move |reader| (reader, mode)))
        .map(|(reader, mode)| {
            let running = reader.start(directory, mode, None);
            while !running.line().expect("it joins").starts_with(JOINED) {}
            (reader, mode, running)
        })
        .collect();
    let recorder = Recorder::start(directory, true);
    session(&mut publisher, seed);
    recorder.end();
    // The end of the publisher is that of the readers of the bus, and not on the tape.
    publisher.signal("-KILL");
    for mode in modes {
        let rust = rows_of_tape(&languages[0], directory, mode);
        assert!(rust.len() > STEPS, "{rust:#?}");
        for (reader, _, running) in live.iter().filter(|(_, of, _)| *of == mode) {
            let rows = rows_of_tape(reader, directory, mode);
            let is_said = |row: &&String| !reader.silent.iter().any(|start| row.starts_with(start));
            let expected: Vec<_> = rust.iter().filter(is_said).cloned().collect();
            assert_eq!(rows, expected, "{} and Rust, {mode}", reader.language);
            let mut of_bus = Vec::new();
            while of_bus
                .last()
                .is_none_or(|row| row != "connection publisher_gone")
            {
                of_bus.push(running.line().expect("the publisher ends"));
            }
            let (same, end) = of_bus.split_at(rows.len().min(of_bus.len()));
            assert_eq!(
                same, rows,
                "{}, {mode}: the bus and its tape",
                reader.language
            );
            let is_end = |row: &String| row.ends_with(" stale") || row.ends_with("gone");
            assert!(
                end.iter().all(is_end),
                "{}, {mode}: {end:#?}",
                reader.language
            );
        }
    }
    for (.., running) in live {
        running.kill();
    }
}

/// Publishes random batches; what changes all books is rare.
fn session(publisher: &mut Process, seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut instruments = 2;
    for _ in 0..STEPS {
        let mut batch = Vec::new();
        for _ in 0..=random.below(3) {
            let index = random.below(instruments);
            let [price, size, more] = [450_000, 2, 2].map(|from| random.between(from, from + 90));
            batch.push(match random.below(20) {
                0 => "gap".to_owned(),
                1 => "reset".to_owned(),
                2 if instruments < 20 => {
                    instruments += 1;
                    let index = instruments - 1;
                    format!("define {index} S{index} {index} ; book {index} {price} {size} 450100 {more}")
                }
                2..=4 => format!("orders {index}"),
                5 => format!("no-orders {index}"),
                6..=9 => format!("trade {index} {price} {size}"),
                10..=13 => format!("merged {index} {price} {size} 450100 {more} {price} {more}"),
                _ => format!("book {index} {price} {size} 450100 {more}"),
            });
        }
        let batch = batch.join(" ; ");
        publisher.step(&batch.split(' ').collect::<Vec<_>>());
    }
}

/// The last line that a reader says when it has joined.
const JOINED: &str = "error no_instrument";

/// Lines of a reader of the tape from the end of its join to the end of the tape.
fn rows_of_tape(reader: &Reader, directory: &Path, mode: &str) -> Vec<String> {
    let mode = if mode == "books" {
        "tape-books"
    } else {
        "tape"
    };
    let running = reader.start(directory, mode, None);
    let mut rows = Vec::new();
    loop {
        let row = running.line().expect("it ends with its tape");
        match row.split(' ').next() {
            Some("error") if row.starts_with(JOINED) => rows.clear(),
            Some("stopped") => break,
            _ => rows.push(row),
        }
    }
    let status = running.end();
    assert!(status.success(), "{}: {status}", reader.language);
    rows
}
