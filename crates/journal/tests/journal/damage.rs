//! Every truncation of a sample, a flipped bit in each of its bytes, and the effects of a repair.

use crate::place::{Place, append, body, options, until_durable};
use crate::round_trip::bodies;
use crate::second_reader;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use touchline_journal::format::SegmentHeader;
use touchline_journal::{Error, Journal, Verdict, read, repair, verify};

/// A closed journal of two runs: its bodies, and the path of its first segment.
fn sample(place: &Place) -> (Vec<Vec<u8>>, PathBuf) {
    let bus = place.bus();
    for run in 0..2 {
        let mut journal =
            Journal::open(&place.journal(), &bus, &options(), run + 1).expect("a journal");
        (run * 4..run * 4 + 4).for_each(|number| append(&mut journal, number));
        journal.close(9).expect("it closes");
    }
    let expected = (0..8).map(body).collect();
    (expected, place.journal().join("0000000001.tlj"))
}

/// Bodies that a reader takes from a journal that may be damaged.
fn bodies_of_damaged(place: &Place) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    // The verdict is judged by the test.
    let _ = read(&place.journal(), false, |entry| {
        if entry.head.stream == 1 {
            found.push(entry.body.to_vec());
        }
    });
    found
}

/// A pipe under the name of a segment: opening it does not wait, and it does not count as an empty journal.
#[test]
fn a_pipe_in_place_of_a_segment_is_refused() {
    let place = Place::new("pipe");
    let (_, path) = sample(&place);
    std::fs::remove_file(&path).expect("a segment");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("coreutils").success());
    let said = verify(&place.journal())
        .expect_err("no segment")
        .to_string();
    assert!(said.contains("it is not a regular file"), "{said}");
}

#[test]
fn every_flipped_bit_below_the_claims_is_noticed_and_gives_no_wrong_record() {
    let place = Place::new("bits");
    let (expected, path) = sample(&place);
    let good = std::fs::read(&path).expect("a segment");
    let used = verify(&place.journal()).expect("a journal").segments[0].used_bytes as usize;
    for at in 0..used {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).expect("room");
        match verify(&place.journal()) {
            Ok(report) if at < 4096 => {
                assert!(!report.findings.is_empty(), "byte {at} is not noticed");
                assert_eq!(
                    report.verdict,
                    Verdict::Clean,
                    "byte {at}: one copy is enough"
                );
            }
            Ok(report) => assert_eq!(report.verdict, Verdict::Damaged, "byte {at}"),
            Err(error) => panic!("byte {at}: {error}"),
        }
        assert!(
            expected.starts_with(&bodies_of_damaged(&place)),
            "byte {at}"
        );
    }
}

#[test]
fn every_truncation_is_damage_and_gives_a_prefix() {
    let place = Place::new("truncated");
    let (expected, path) = sample(&place);
    let good = std::fs::read(&path).expect("a segment");
    let used = verify(&place.journal()).expect("a journal").segments[0].used_bytes as usize;
    for length in 0..=used {
        std::fs::write(&path, &good[..length]).expect("room");
        let report = verify(&place.journal()).expect("a directory");
        assert_eq!(report.verdict, Verdict::Damaged, "length {length}");
        assert!(
            expected.starts_with(&bodies_of_damaged(&place)),
            "length {length}"
        );
    }
}

#[test]
fn a_damaged_journal_is_cut_only_with_the_loss_accepted() {
    let place = Place::new("loss");
    let (expected, path) = sample(&place);
    let mut bytes = std::fs::read(&path).expect("a segment");
    // The damage is in the body of the third record of the first run.
    let report = verify(&place.journal()).expect("a journal");
    let at = report.segments[0].used_bytes as usize - 64 - 152 - 16;
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).expect("room");
    assert!(matches!(
        repair(&place.journal(), false, 20),
        Err(Error::Damaged { .. })
    ));
    let mut past = 0;
    read(&place.journal(), true, |entry| {
        past += u64::from(entry.head.stream == 1)
    })
    .expect("past");
    assert_eq!(past, 7, "all but the damaged one");
    let done = repair(&place.journal(), true, 22).expect("it is cut");
    assert_eq!(done.cut_files.len(), 2, "{:?}", done.cut_files);
    let report = verify(&place.journal()).expect("a journal");
    assert_eq!(report.verdict, Verdict::Clean, "{:?}", report.findings);
    let found = bodies(&place);
    assert!(
        expected.starts_with(&found) && found.len() < 4,
        "{}",
        found.len()
    );
    second_reader::read(&place.journal()).expect("the second reader agrees");
}

/// The epoch of a run that was set aside stands in a `.cut` file alone. A person may have copied the file and changed its mode; a start that
/// cannot read it must not take the epoch again. The rest of a cut that a crash ended is skipped.
#[test]
fn a_start_needs_the_epochs_that_were_set_aside() {
    let place = Place::new("cut-epoch");
    let bus = place.bus();
    let opened = |now_ns| Journal::open(&place.journal(), &bus, &options(), now_ns);
    let mut journal = opened(1).expect("a journal");
    append(&mut journal, 0);
    journal.close(2).expect("it closes");
    let segment = place.journal().join("0000000001.tlj");
    let (mut header, _) =
        SegmentHeader::decode(&std::fs::read(segment).expect("a segment")).expect("a header");
    header.epoch = 40;
    let header = header.encode();
    let cut = place.journal().join("0000000002.tlj.7.cut");
    std::fs::write(&cut, &header[..4_095]).expect("room");
    let journal = opened(3).expect("a journal");
    assert_eq!(journal.report().epoch, 2);
    journal.close(4).expect("it closes");
    std::fs::write(&cut, header).expect("room");
    let everyone = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&cut, everyone).expect("our file");
    let journal = opened(5).expect("a journal");
    assert_eq!(journal.report().epoch, 41);
    journal.close(6).expect("it closes");
    // What cannot be read.
    std::fs::remove_file(&cut).expect("our file");
    std::fs::create_dir(&cut).expect("our folder");
    let refused = opened(7).expect_err("an unknown epoch").to_string();
    let is_named = refused.contains(&cut.display().to_string());
    assert!(is_named && refused.contains("the epoch"), "{refused}");
}

/// A start verifies each frame of the segment of the last claim.
#[test]
fn a_start_refuses_damage_below_the_claims_of_the_last_segment() {
    let place = Place::new("refused");
    let bus = place.bus();
    let mut journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    (0..4).for_each(|number| append(&mut journal, number));
    until_durable(&journal);
    (4..8).for_each(|number| append(&mut journal, number));
    journal.close(9).expect("it closes");
    let path = place.journal().join("0000000001.tlj");
    let mut bytes = std::fs::read(&path).expect("a segment");
    // The damage is in the body of the first record, after `Begin` and the record's head.
    bytes[4096 + 56 + 32] ^= 1;
    std::fs::write(&path, &bytes).expect("room");
    let files = || {
        let entries = std::fs::read_dir(place.journal()).expect("a directory");
        entries
            .flatten()
            .map(|entry| entry.file_name())
            .collect::<BTreeSet<_>>()
    };
    let before = files();
    let error = Journal::open(&place.journal(), &bus, &options(), 20).expect_err("damage");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert_eq!(
        (files(), std::fs::read(&path).expect("a segment")),
        (before, bytes)
    );
}

/// A start verifies only the ends of older segments: damage inside one is found by programs that read it.
#[test]
fn damage_inside_an_older_segment_is_found_by_readers_and_its_end_by_a_start() {
    let place = Place::new("older");
    let (_, path) = sample(&place);
    let good = std::fs::read(&path).expect("a segment");
    let used = verify(&place.journal()).expect("a journal").segments[0].used_bytes as usize;
    let open = |now_ns| Journal::open(&place.journal(), &place.bus(), &options(), now_ns);
    // Begin and End are 52 and 64 bytes, their heads 32.
    for (at, is_refused) in [
        (4096, true),
        (4096 + 40, true),
        (4096 + 56 + 40, false),
        (used - 64, true),
        (used - 1, true),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, &bad).expect("room");
        let report = verify(&place.journal()).expect("a directory");
        assert_eq!(report.verdict, Verdict::Damaged, "byte {at}");
        match open(30) {
            Ok(journal) => journal.close(31).expect("it closes"),
            Err(Error::Damaged { .. }) => assert!(is_refused, "byte {at}"),
            Err(other) => panic!("byte {at}: {other}"),
        }
        assert!(matches!(
            read(&place.journal(), false, |_| {}),
            Err(Error::Damaged { .. })
        ));
        std::fs::write(&path, &good).expect("room");
    }
    open(40).expect("a start").close(41).expect("it closes");
    assert_eq!(
        verify(&place.journal()).expect("a journal").verdict,
        Verdict::Clean
    );
}
