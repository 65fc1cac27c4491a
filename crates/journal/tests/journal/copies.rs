//! Copies that lost a part, journals that are not copies yet, and sources that are far ahead.

use crate::place::{Place, append, options, until_durable};
use crate::replica::{NOW_NS, assert_equal, bus_of, copy_all, lags, segments, send, written};
use std::fs;
use std::path::Path;
use touchline_journal::format::segment_name;
use touchline_journal::replica::{Replica, Source, SourceStatus};
use touchline_journal::{
    CopyNumber, Error, Journal, Options, Verdict, remove_oldest, repair, verify,
};

/// A record of a copy is damaged, and the segments behind it hold. Its files do not change until a source has accepted the copy; then they
/// are set aside, and the records come again.
#[test]
fn a_damaged_copy_keeps_its_records_until_its_source_sends_them_again() {
    let place = Place::new("damaged-copy");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 1_500);
    copy_all(&journal, &copy);
    let segment = copy.join(segment_name(2));
    let mut bytes = fs::read(&segment).unwrap();
    bytes[30_000] ^= 1;
    // A start passes a segment that later claims call durable by its End.
    let report = verify(&copy).expect("a copy");
    bytes[report.segments[1].used_bytes as usize - 20] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let files = |directory: &Path| {
        let names = segments(directory);
        let content = |name: &String| fs::read(directory.join(name)).unwrap();
        let contents: Vec<Vec<u8>> = names.iter().map(content).collect();
        (names, contents)
    };
    let before = files(&copy);
    assert!(before.0.len() > 3, "{:?}", before.0);
    let mut replica = Replica::open(&copy).expect("what holds is kept");
    assert!(replica.position() > 0);
    let other = Place::new("damaged-copy-other");
    written(&other, 5);
    send(&other.journal(), &mut replica, 50_000, |_| {}).expect_err("another journal");
    assert!(files(&copy) == before, "it was changed");
    while !send(&journal, &mut replica, 50_000, |_| {}).expect("a copy of it") {}
    drop(replica);
    assert_equal(&journal, &copy, 0);
    let names = fs::read_dir(&copy).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let aside: Vec<String> = names.filter(|name| name.ends_with(".cut")).collect();
    assert_eq!(aside.len(), before.0.len() - 1, "{aside:?}");
    let of_second = aside.iter().find(|name| name.starts_with("0000000002."));
    let rest = fs::read(copy.join(of_second.expect("the rest of the segment"))).unwrap();
    assert!(rest[30_000..] == bytes[30_000..rest.len()], "it differs");
}

/// Frames say what the disk of the source had. After a loss of power of the copy's host a record before them may be missing here: that is not
/// damage, which would stop a promotion, and a repair must not end the copy. In an earlier segment it is damage.
#[test]
fn a_copy_that_lost_power_is_not_damaged() {
    let place = Place::new("copy-power");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    let mut writer = Journal::open(&journal, &place.bus(), &options(), 1).expect("a journal");
    for number in 0..500 {
        append(&mut writer, number);
        until_durable(&writer);
    }
    copy_all(&journal, &copy);
    drop(writer);
    let report = verify(&copy).expect("a copy");
    let used: Vec<_> = report
        .segments
        .iter()
        .filter(|one| one.frames > 0)
        .collect();
    let (first, last) = (used[0].index, used[used.len() - 1].index);
    assert!(last > first && used[used.len() - 1].frames > 5);
    let damage = |index, offset: u64| {
        let path = copy.join(segment_name(index));
        let mut bytes = fs::read(&path).unwrap();
        bytes[offset as usize] ^= 1;
        fs::write(&path, bytes).unwrap();
    };
    // In the body of the first record.
    damage(last, 4_096 + 56 + 32);
    let report = verify(&copy).expect("a copy");
    assert_eq!(report.verdict, Verdict::Cut, "{:?}", report.findings);
    let refused = repair(&copy, false, 7).unwrap_err().to_string();
    assert!(refused.contains("journal receive"), "{refused}");
    assert_eq!(verify(&copy).expect("a copy").verdict, Verdict::Cut);
    damage(first, 4_096 + 56 + 32);
    let report = verify(&copy).expect("a copy");
    assert_eq!(report.verdict, Verdict::Damaged, "{:?}", report.findings);
    damage(first, 4_096 + 56 + 32);
    let other = bus_of(&place, "second");
    let engine = Journal::open(&copy, &other, &options(), 8).expect("a start from a copy");
    assert_eq!(engine.report().cut_files.len(), 1);
    engine.close(9).expect("it closes");
}

/// The source dies, its first copy is promoted and dies before the second one has a segment of it: the second one is promoted, too. The number
/// of a copy stays in its directory.
#[test]
fn copies_that_are_promoted_one_after_the_other_use_no_epoch_twice() {
    let place = Place::new("two-copies");
    let journal = place.journal();
    written(&place, 20);
    let copies = [1, 2, 8].map(|number| {
        let copy = place.path().join(format!("copy-{number}"));
        // The first one has no number.
        let number = CopyNumber::new(number).filter(|_| number > 1);
        drop(Replica::open_as(&copy, number).expect("a copy"));
        copy_all(&journal, &copy);
        copy
    });
    let epochs = copies.map(|copy| {
        let bus = bus_of(&place, copy.file_name().unwrap().to_str().unwrap());
        let engine = Journal::open(&copy, &bus, &options(), 2).expect("a start from a copy");
        engine.report().epoch
    });
    assert_eq!(epochs, [1_002, 2_002, 8_002]);
    // A closed journal that becomes a copy, and one that gets another number.
    drop(Replica::open_as(&journal, CopyNumber::new(3)).expect("a closed journal"));
    let mut replica = Replica::open_as(&journal, CopyNumber::new(4)).expect("a closed journal");
    replica
        .note_source(&SourceStatus::default())
        .expect("a disk");
    drop(replica);
    drop(Replica::open_as(&journal, CopyNumber::new(5)).expect("a copy"));
    let engine = Journal::open(&journal, &place.bus(), &options(), 3).expect("a start");
    assert_eq!(engine.report().epoch, 5_002);
    assert_eq!([0, 9].map(CopyNumber::new), [None, None]);
}

/// A journal becomes a copy when a source sends to it, and not by a command with a wrong directory. Its writer may have records in memory
/// that its files lack, so it must have an end.
#[test]
fn a_journal_is_no_copy_before_a_source_has_accepted_it() {
    let place = Place::new("not-accepted");
    let (journal, other) = (place.journal(), Place::new("not-accepted-other"));
    written(&place, 20);
    written(&other, 20);
    let mut replica = Replica::open(&journal).expect("a journal that holds");
    send(&other.journal(), &mut replica, 50_000, |_| {}).expect_err("another journal");
    drop(replica);
    assert_eq!(SourceStatus::read(&journal), None, "it was marked");
    let bus = place.bus();
    let mut writer = Journal::open(&journal, &bus, &options(), 2).expect("a journal");
    assert_eq!(writer.report().epoch, 2);
    append(&mut writer, 20);
    drop(writer);
    let refused = Replica::open(&journal).unwrap_err().to_string();
    assert!(refused.contains("start and stop its writer"), "{refused}");
}

/// A run on this host had failed before another host took the journal over; the failure is not one of the runs since, which a kill switch
/// would stop.
#[test]
fn a_failure_of_long_ago_is_not_one_of_a_later_run_elsewhere() {
    let place = Place::new("old-failure");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    let (first, second) = (bus_of(&place, "first"), bus_of(&place, "second"));
    let mut writer = Journal::open(&journal, &first, &options(), 1).expect("a journal");
    append(&mut writer, 1);
    copy_all(&journal, &copy);
    writer.give_up();
    drop(writer);
    let mut writer = Journal::open(&copy, &second, &options(), 3).expect("a journal");
    append(&mut writer, 2);
    writer.close(4).expect("it closes");
    let back = place.path().join("back");
    copy_all(&copy, &back);
    let writer = Journal::open(&back, &first, &options(), 5).expect("a journal");
    assert!(!writer.report().had_failed, "{:?}", writer.report());
}

/// A copy that is many segments behind, one that is many records of a segment behind, and those that begin: the first status has the end of
/// the journal, after looks of bounded work.
#[test]
fn a_copy_that_is_far_behind_knows_the_whole_distance() {
    for segment_bytes in [64 << 10, 2 << 20] {
        let place = Place::new(&format!("far-behind-{segment_bytes}"));
        let (journal, copy) = (place.journal(), place.path().join("copy"));
        let options = Options {
            segment_bytes,
            ..options()
        };
        let mut writer = Journal::open(&journal, &place.bus(), &options, 1).expect("a journal");
        (0..200).for_each(|number| append(&mut writer, number));
        until_durable(&writer);
        copy_all(&journal, &copy);
        (200..5_200).for_each(|number| append(&mut writer, number));
        writer.close(10).expect("it closes");
        let end = verify(&journal).expect("a journal").position;
        for copy in [copy, place.path().join("begins")] {
            let mut replica = Replica::open(&copy).expect("a copy");
            let before = replica.end().expect("a disk");
            let mut source = Source::new(&journal, before.as_ref()).expect("a copy of it");
            let (mut heard, mut looks) = (0, 0);
            while replica.position() < end {
                let mut sent = Vec::new();
                let frames = source.poll(1_000, NOW_NS, &mut sent).expect("a journal");
                source.announce_again(NOW_NS, &mut sent);
                lags(&sent, &mut replica, &mut heard);
                looks += u64::from(frames == 0);
                assert!(
                    heard == end || heard + frames as u64 == 0,
                    "{heard}, not {end}"
                );
                assert!(looks < 10, "it waits");
            }
        }
    }
}

/// A host lost power in a segment and had the start of the next one on its disk; its engine sets that one aside and makes another, while `send` has it
/// open.
#[test]
fn the_end_of_a_journal_is_not_that_of_a_segment_that_was_set_aside() {
    let place = Place::new("set-aside");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 1_500);
    let report = verify(&journal).expect("a journal");
    // Behind it is a prepared one.
    let begun = report.segments.iter().rfind(|segment| segment.frames > 1);
    let last = begun.expect("segments");
    let (last, half) = (segment_name(last.index), last.used_bytes as usize / 2);
    let (name, aside) = (journal.join(&last), journal.join(format!("{last}.1.cut")));
    let whole = fs::read(&name).expect("a segment");
    // The same start, and nothing behind it.
    let mut begun = whole.clone();
    begun[half..].fill(0);
    fs::write(&name, &begun).expect("room");
    let mut replica = Replica::open(&copy).expect("a copy");
    let mut source = Source::new(&journal, None).expect("a journal");
    let short = source.look_ahead();
    assert!(short < report.position, "{short}");
    fs::rename(&name, &aside).expect("our folder");
    fs::write(&name, &whole).expect("room");
    source.check_place().expect("the directory is there");
    let mut heard = 0;
    for _ in 0..100 {
        let mut sent = Vec::new();
        source.poll(1_000, NOW_NS, &mut sent).expect("a journal");
        lags(&sent, &mut replica, &mut heard);
    }
    assert_eq!(
        (heard, replica.position()),
        (report.position, report.position)
    );
}

/// Retention at the source removes segments that a copy lacks: the refusal says so, to a connected copy and to one that connects.
#[test]
fn a_copy_whose_next_segment_was_removed_is_told_so() {
    let place = Place::new("overtaken");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 1_500);
    let report = verify(&journal).expect("a journal");
    let mut replica = Replica::open(&copy).expect("a copy");
    let mut source = Source::new(&journal, None).expect("a journal");
    let (mut heard, mut left) = (0, report.segments[0].frames as usize);
    while left > 0 {
        let mut sent = Vec::new();
        left -= source.poll(left, NOW_NS, &mut sent).expect("a journal");
        lags(&sent, &mut replica, &mut heard);
    }
    let removed = remove_oldest(&journal, |segment| segment.index <= 2);
    assert_eq!(removed.expect("our folder"), 2);
    let refused = (0..1_000).find_map(|_| source.poll(9, NOW_NS, &mut Vec::new()).err());
    let refused = refused.expect("it waits for ever").to_string();
    let what = "segments below 3 were removed, and the copy needs segment";
    assert!(refused.contains(&format!("{what} 2: ")), "{refused}");
    replica.sync().expect("a disk");
    let refused = send(&journal, &mut replica, 50_000, |_| {}).unwrap_err();
    assert!(refused.contains(&format!("{what} 1: ")), "{refused}");
}

/// A file of the journal that cannot be read says nothing about the copy, which may go on later; a missing one says that the copy has more.
#[test]
fn a_segment_that_cannot_be_read_makes_no_other_journal() {
    let place = Place::new("unreadable-source");
    let (journal, copy) = (place.journal(), place.path().join("copy"));
    written(&place, 20);
    copy_all(&journal, &copy);
    let mut replica = Replica::open(&copy).expect("a copy");
    let end = replica.end().expect("a disk");
    let begin = || Source::new(&journal, end.as_ref()).map(|_| ());
    begin().expect("a copy of it");
    let (segment, aside) = (journal.join(segment_name(1)), place.path().join("aside"));
    fs::rename(&segment, &aside).unwrap();
    let error = begin().expect_err("records that it lost");
    assert!(matches!(error, Error::Copy { .. }), "{error}");
    // A folder in place of the segment cannot be read, also by root.
    fs::create_dir(&segment).unwrap();
    let error = begin().expect_err("no file");
    assert!(matches!(error, Error::Io { .. }), "{error}");
    fs::remove_dir(&segment).unwrap();
    fs::rename(&aside, &segment).unwrap();
    begin().expect("a copy of it");
}
