//! Positions of programs that are done with whole segments.

use crate::place::{Place, append, options};
use touchline_journal::{Journal, cut_below, verify};

/// The begins of the segments that have records.
fn bases(place: &Place) -> Vec<u64> {
    let report = verify(&place.journal()).expect("a journal");
    let used = report.segments.iter().filter(|segment| segment.frames > 0);
    used.filter_map(|segment| segment.base).collect()
}

/// Appends records up to this segment.
fn run(place: &Place, segment: u64) {
    let opened = Journal::open(&place.journal(), &place.bus(), &options(), 1);
    let mut journal = opened.expect("a journal");
    let mut number = 0;
    while journal.segment() < segment {
        append(&mut journal, number);
        number += 1;
    }
    journal.close(2).expect("it closes");
}

/// A host that crashes loses the end of a segment that a program has read: the position behind that end is found not to be one of the journal, also
/// when later records have passed it, and the segment is found that was cut.
#[test]
fn a_position_above_a_cut_is_found() {
    let place = Place::new("held");
    run(&place, 5);
    let whole = bases(&place);
    let end = verify(&place.journal()).expect("a journal").position;
    for position in whole.iter().chain(&[end]) {
        let cut = cut_below(&place.journal(), *position);
        assert_eq!(cut.expect("a journal"), None, "{position} of {whole:?}");
    }
    let read = whole[2];
    for name in [
        "0000000003.tlj",
        "0000000004.tlj",
        "0000000005.tlj",
        "0000000006.tlj",
    ] {
        let _ = std::fs::remove_file(place.journal().join(name));
    }
    let second = place.journal().join("0000000002.tlj");
    let mut bytes = std::fs::read(&second).expect("a segment");
    let kept = bytes.len() * 3 / 4;
    bytes[kept..].fill(0);
    std::fs::write(&second, bytes).expect("room");
    std::fs::remove_dir_all(place.path().join("bus")).expect("our folder");
    for segment in [3, 6] {
        run(&place, segment);
        let cut = cut_below(&place.journal(), read).expect("a journal");
        assert_eq!(cut, Some(whole[1]), "{read} of {:?}", bases(&place));
    }
    // Another journal is in the place of the one that was read.
    let cut = cut_below(&place.journal(), u64::MAX).expect("a journal");
    assert_eq!(cut, Some(0));
}
