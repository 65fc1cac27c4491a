//! A table of counters becomes visible completely, whenever a reader opens it. Small enough for Miri.

#![cfg(not(loom))]

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use touchline_shm::counters::{Corrupt, Descriptor, Origin, Reader, Writer, words_needed};
use touchline_shm::{Words, zeroed};

const ORIGIN: Origin = Origin {
    pid: 4711,
    start_unix_ns: 5,
    ns_per_tick: 0.5,
};

const TABLE: [Descriptor; 2] = [
    Descriptor {
        name: "first",
        unit: "things",
        help: "The first things.",
    },
    Descriptor {
        name: "second",
        unit: "things",
        help: "",
    },
];

#[test]
fn a_table_is_absent_or_complete() {
    let (mut early, mut late) = (0, 0);
    // Until both cases have occurred; a hundred rounds are rarely needed.
    for _ in 0..100_000 {
        let memory = zeroed(words_needed(2, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = Writer::create(memory.clone(), &ORIGIN, &TABLE, &[]).unwrap();
                writer.add(1, 7);
            });
            loop {
                match Reader::attach(memory.clone()) {
                    Err(error) => assert_eq!(error, Corrupt::Foreign),
                    Ok(reader) => break check(&reader),
                }
                early += 1;
                thread::yield_now();
            }
            late += 1;
        });
        assert_eq!(Reader::attach(memory).unwrap().value(1), 7);
        if early > 0 && late >= 10 {
            return;
        }
    }
    panic!("{early} reads were too early, {late} were not: the race did not happen");
}

fn check(reader: &Reader<impl Words>) {
    assert_eq!(reader.origin(), ORIGIN);
    let table: Vec<_> = reader
        .counters()
        .iter()
        .map(|d| d.as_descriptor())
        .collect();
    assert_eq!(table, TABLE);
    assert_eq!(reader.value(0), 0);
    assert!([0, 7].contains(&reader.value(1)));
    let end = reader.memory().words().last().unwrap();
    assert_eq!(end.load(Relaxed), 0);
}
