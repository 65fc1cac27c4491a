//! Appending to a journal allocates nothing, also when a segment is full and the next one begins.

use std::time::Duration;
use touchline_journal::format::Alignment;
use touchline_journal::{Journal, Options, Record, Refused, Root, WriterLock, verify};
use touchline_lab::frozen::{Count, Frozen};
use touchline_testing::Folder;

/// Records of the test.
const RECORDS: u64 = 20_000;

#[test]
fn appending_does_not_allocate() {
    let folder = Folder::new("journal");
    let root = Root::at(folder.join("bus"));
    let bus = WriterLock::acquire(root.create("engine").expect("a bus")).expect("its lock");
    let options = Options {
        alignment: Some(Alignment::PACKED),
        segment_bytes: 256 << 10,
        ring_bytes: 256 << 10,
        write_zeros: false,
        ..Options::orders("test")
    };
    let path = folder.join("orders");
    let mut journal = Journal::open(&path, &bus, &options, 1).expect("a journal");
    Frozen::freeze();
    let appended = append_all(&mut journal);
    let count = Frozen::thaw();
    assert_eq!(count, Count::default(), "{appended:?}");
    let position = appended.expect("the journal can be written");
    journal.close(2).expect("it closes");
    let report = verify(&path).expect("a journal");
    assert!(
        report.segments.len() > 5,
        "{} segments",
        report.segments.len()
    );
    assert!(report.position > position);
}

/// Position behind the last record; a disk that is behind is waited for.
fn append_all(journal: &mut Journal) -> Result<u64, Refused> {
    let mut body = [0; 100];
    for number in 0..RECORDS {
        body[..8].copy_from_slice(&number.to_le_bytes());
        let record = Record {
            stream: 1,
            kind: 48,
            time_ns: number,
            body: &body,
        };
        while let Err(refused) = journal.append(&record) {
            match refused {
                Refused::TailFull { .. } | Refused::NoSegment => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                other => return Err(other),
            }
        }
    }
    Ok(journal.position())
}
