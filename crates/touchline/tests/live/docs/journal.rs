//! The journal of the blocks that need one.

use std::fs;
use std::path::Path;
use touchline_journal::format::Alignment;
use touchline_journal::{Journal, Options, Record, Root, WriterLock};

/// Records of each run.
const RECORDS: u8 = 5;

/// Body of the last record of a run.
const LAST: &[u8] = &[RECORDS; 6];

/// Writes a journal of two closed runs.
pub fn write(directory: &Path, bus: &Path) {
    for run in 0..2 {
        let bus = Root::at(bus).create("engine").expect("a bus");
        let bus = WriterLock::acquire(bus).expect("its lock");
        let options = Options {
            alignment: Some(Alignment::PACKED),
            segment_bytes: 64 << 10,
            ring_bytes: 64 << 10,
            write_zeros: false,
            ..Options::orders("test")
        };
        let mut journal = Journal::open(directory, &bus, &options, run).expect("a journal");
        for number in 1..=RECORDS {
            let record = Record {
                stream: 1,
                kind: 48,
                time_ns: 1_000 + u64::from(number),
                body: &[number; 6],
            };
            journal.append(&record).expect("room in the tail");
        }
        journal.close(9).expect("it closes");
    }
}

/// Changes a bit in the last record of the first run.
pub fn damage(directory: &Path) {
    let segment = directory.join("0000000001.tlj");
    let mut bytes = fs::read(&segment).expect("a segment");
    let place = bytes.windows(LAST.len()).position(|body| body == LAST);
    bytes[place.expect("the last record")] ^= 1;
    fs::write(segment, bytes).expect("our folder");
}
