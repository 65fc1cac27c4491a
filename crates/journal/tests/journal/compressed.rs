//! Compressed segments: the same records, readable by other tools, damage noticed, no moment without a copy.

use crate::place::{Place, append, body, options, until_durable};
use crate::round_trip::bodies;
use std::collections::BTreeSet;
use std::path::PathBuf;
use touchline_journal::{Error, Journal, Verdict, compress, read, repair, verify};

/// Records of each run.
const RECORDS: u64 = 1_000;

/// A journal of some closed segments.
fn written(place: &Place) -> Vec<Vec<u8>> {
    let bus = place.bus();
    for run in 0..2 {
        let mut journal =
            Journal::open(&place.journal(), &bus, &options(), run + 1).expect("a journal");
        let numbers = run * RECORDS..(run + 1) * RECORDS;
        numbers.for_each(|number| append(&mut journal, number));
        journal.close(9).expect("it closes");
    }
    (0..2 * RECORDS).map(body).collect()
}

fn files(place: &Place) -> BTreeSet<String> {
    let entries = std::fs::read_dir(place.journal()).expect("a directory");
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("ASCII");
    entries.flatten().map(name).collect()
}

fn path(place: &Place, name: &str) -> PathBuf {
    place.journal().join(name)
}

fn assert_clean(place: &Place) {
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
}

#[test]
fn compressed_segments_have_the_same_records_and_another_run_continues_them() {
    let place = Place::new("compressed");
    let mut expected = written(&place);
    let plain = std::fs::read(path(&place, "0000000001.tlj")).expect("a segment");
    let before = verify(&place.journal()).expect("a journal");
    let done = compress(&place.journal()).expect("it is compressed");
    // All but the last used one and the prepared one.
    assert_eq!(done.len(), before.segments.len() - 2, "{done:?}");
    assert!(
        done.iter()
            .all(|segment| segment.compressed_bytes < segment.bytes / 2)
    );
    let names = files(&place);
    assert!(
        names.contains("0000000001.tlj.zst") && !names.contains("0000000001.tlj"),
        "{names:?}"
    );
    assert_eq!(bodies(&place), expected);
    assert_clean(&place);
    let after = verify(&place.journal()).expect("a journal");
    assert_eq!(after.segments, before.segments);
    // Another tool for this format reads the segment.
    let file = std::fs::File::open(path(&place, "0000000001.tlj.zst")).expect("a file");
    assert_eq!(zstd::stream::decode_all(file).expect("Zstandard"), plain);

    assert_eq!(compress(&place.journal()).expect("nothing to do"), []);
    let mut journal =
        Journal::open(&place.journal(), &place.bus(), &options(), 20).expect("a start");
    assert_eq!(journal.report().next_sequence, before.next_sequence);
    append(&mut journal, 2 * RECORDS);
    until_durable(&journal);
    assert_eq!(
        compress(&place.journal()).expect("beside the writer").len(),
        1
    );
    journal.close(21).expect("it closes");
    expected.push(body(2 * RECORDS));
    assert_eq!(bodies(&place), expected);
    assert_clean(&place);
}

/// The files that a kill leaves between any two steps can be read, and the next compression finishes them.
#[test]
fn a_compression_that_was_killed_is_finished_by_the_next() {
    let place = Place::new("compress-killed");
    let expected = written(&place);
    let plain = std::fs::read(path(&place, "0000000001.tlj")).expect("a segment");
    compress(&place.journal()).expect("it is compressed");
    let all = files(&place);
    let compressed = std::fs::read(path(&place, "0000000001.tlj.zst")).expect("a file");

    // Before the removal of the first form.
    std::fs::write(path(&place, "0000000001.tlj"), &plain).expect("room");
    assert_eq!(bodies(&place), expected);
    // Within the writing of the second one.
    let part = &compressed[..compressed.len() / 2];
    std::fs::remove_file(path(&place, "0000000001.tlj.zst")).expect("a file");
    std::fs::write(path(&place, "0000000001.tlj.zst.new"), part).expect("room");
    assert_eq!(bodies(&place), expected);
    assert_eq!(compress(&place.journal()).expect("the rest").len(), 1);
    assert_eq!(files(&place), all);
    assert_eq!(
        std::fs::read(path(&place, "0000000001.tlj.zst")).expect("a file"),
        compressed
    );
    assert_clean(&place);
}

#[test]
fn a_flipped_bit_of_a_compressed_segment_gives_no_wrong_record() {
    let place = Place::new("compressed-bits");
    let expected = written(&place);
    compress(&place.journal()).expect("it is compressed");
    let path = path(&place, "0000000002.tlj.zst");
    let good = std::fs::read(&path).expect("a file");
    let mut damaged = 0;
    let end = good.len() - 40;
    for at in (0..end).step_by(97).chain(end..good.len()) {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).expect("room");
        let mut found = Vec::new();
        let result = read(&place.journal(), false, |entry| {
            if entry.head.stream == 1 {
                found.push(entry.body.to_vec());
            }
        });
        assert!(expected.starts_with(&found), "byte {at}");
        match result {
            Ok(_) => assert_eq!(found.len(), expected.len(), "byte {at}: a loss in silence"),
            Err(Error::Damaged { .. }) => damaged += 1,
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(damaged > 100, "{damaged}");
    for length in (0..good.len()).step_by(61) {
        std::fs::write(&path, &good[..length]).expect("room");
        let report = verify(&place.journal()).expect("a directory");
        assert_eq!(report.verdict, Verdict::Damaged, "length {length}");
        assert!(matches!(
            compress(&place.journal()),
            Err(Error::Damaged { .. })
        ));
    }
}

#[test]
fn a_compressed_segment_behind_damage_is_set_aside_as_its_bytes() {
    let place = Place::new("compressed-cut");
    let expected = written(&place);
    compress(&place.journal()).expect("it is compressed");
    let second = path(&place, "0000000002.tlj.zst");
    let mut bytes = std::fs::read(&second).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&second, &bytes).expect("room");
    let done = repair(&place.journal(), true, 30).expect("it is cut");
    assert!(done.cut_files.len() > 3, "{:?}", done.cut_files);
    assert!(done.cut_files.iter().all(|name| name.ends_with(".cut")));
    // The last segment's own file is kept, too.
    assert_eq!(
        std::fs::read(path(&place, "0000000002.tlj.zst.cut")).expect("a file"),
        bytes
    );
    assert_clean(&place);
    let found = bodies(&place);
    assert!(expected.starts_with(&found) && !found.is_empty());
    let journal = Journal::open(&place.journal(), &place.bus(), &options(), 31).expect("a start");
    assert_eq!(journal.report().epoch, 3, "no epoch comes twice");
    journal.close(32).expect("it closes");
    assert_clean(&place);
}
