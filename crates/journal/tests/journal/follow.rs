//! A follower returns the same records as a reader, at every place of a torn end, and reports damage.

use crate::place::{Place, append, body, options};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use touchline_journal::format::segment_name;
use touchline_journal::{Error, Follow, Journal, Mode, Options, compress, read, writer};

/// Polls until nothing comes: bodies of stream 1.
fn all(follow: &mut Follow) -> Result<Vec<Vec<u8>>, Error> {
    let mut found = Vec::new();
    while follow.poll(u64::MAX, 7, |entry| {
        if entry.head.stream == 1 {
            found.push(entry.body.to_vec());
        }
    })? > 0
    {}
    Ok(found)
}

/// Waits for the journal's thread.
fn written(journal: &Journal) {
    while journal.durable() < journal.position() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The follower may also join in the middle of a journal whose first segments are compressed; it stops at the given
/// position.
#[test]
fn a_follower_reads_what_a_reader_reads() {
    let place = Place::new("follow");
    let bus = place.bus();
    let mut early = Follow::new(&place.journal());
    assert_eq!(
        all(&mut early).expect("no journal yet"),
        Vec::<Vec<u8>>::new()
    );
    let (mut number, mut followed) = (0, Vec::new());
    for run in 1..=3 {
        let mut journal =
            Journal::open(&place.journal(), &bus, &options(), run).expect("a journal");
        for _ in 0..20 {
            for _ in 0..40 {
                append(&mut journal, number);
                number += 1;
            }
            followed.extend(all(&mut early).expect("a journal"));
        }
        written(&journal);
        followed.extend(all(&mut early).expect("a journal"));
        assert_eq!(followed.len() as u64, number, "run {run}");
        assert_eq!(early.epoch(), run);
        assert_eq!(early.position(), journal.position());
        match run {
            1 => journal.close(10).expect("it closes"),
            _ => drop(journal),
        }
    }
    assert_eq!(followed, (0..number).map(body).collect::<Vec<_>>());
    compress(&place.journal()).expect("closed segments");
    let mut late = Follow::new(&place.journal());
    let mut sequences = Vec::new();
    while late
        .poll(1_000, 64, |entry| sequences.extend(entry.sequence))
        .expect("a journal")
        > 0
    {}
    assert_eq!(sequences, (0..1_000).collect::<Vec<_>>());
    let mut count = 1_000;
    while late.poll(u64::MAX, 64, |_| count += 1).expect("a journal") > 0 {}
    let report = read(&place.journal(), false, |_| {}).expect("a journal");
    assert_eq!(count, report.next_sequence);
    assert_eq!(late.position(), report.position);
}

/// A frame that is not whole is not given, at whichever byte it ends; it is given once it is whole. Behind it a later
/// segment that was started makes it damage.
#[test]
fn a_torn_end_is_waited_for_and_a_missing_frame_is_damage() {
    let place = Place::new("torn-follow");
    let bus = place.bus();
    let wide = Options {
        mode: Mode::Disk,
        ..options()
    };
    let mut journal = Journal::open(&place.journal(), &bus, &wide, 1).expect("a journal");
    (0..20).for_each(|number| append(&mut journal, number));
    written(&journal);
    let mut positions = Vec::new();
    read(&place.journal(), false, |entry| {
        positions.extend(entry.position)
    })
    .expect("a journal");
    let (start, end) = (*positions.last().expect("frames"), journal.position());
    let path = place.journal().join(segment_name(1));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("the segment");
    let mut frame = vec![0; (end - start) as usize];
    file.read_exact_at(&mut frame, start)
        .expect("the last frame");
    let mut follow = Follow::new(&place.journal());
    for bytes in 0..frame.len() {
        let mut torn = frame.clone();
        torn[bytes..].fill(0);
        file.write_all_at(&torn, start).expect("the segment");
        if torn != frame {
            assert!(
                all(&mut follow).expect("a torn end").len() != 1,
                "{bytes} bytes"
            );
            assert_eq!(follow.position(), start, "{bytes} bytes");
        }
    }
    file.write_all_at(&frame, start).expect("the segment");
    assert_eq!(all(&mut follow).expect("a journal"), [body(19)]);
    // The frame after the next is torn for good, and the journal goes on in a second segment.
    (20..400).for_each(|number| append(&mut journal, number));
    written(&journal);
    file.write_all_at(&[1], end + 40).expect("the segment");
    let error = (0..300).find_map(|_| all(&mut follow).err());
    let text = error.expect("damage").to_string();
    assert!(
        text.contains("damaged") && text.contains(&format!("position {end}")),
        "{text}"
    );
}

/// A journal of some closed segments.
fn closed(place: &Place) {
    let mut journal =
        Journal::open(&place.journal(), &place.bus(), &options(), 1).expect("a journal");
    (0..1_500).for_each(|number| append(&mut journal, number));
    journal.close(2).expect("it closes");
}

/// Polls until damage is found, often enough to see that of a begin.
fn damage(follow: &mut Follow) -> Option<String> {
    let error = (0..300).find_map(|_| all(follow).err())?;
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    Some(error.to_string())
}

/// A segment whose header or whose `Begin` is lost is not one that is written later, once a segment behind it has records.
#[test]
fn a_segment_without_its_begin_is_damage_if_later_ones_have_records() {
    let place = Place::new("no-begin");
    closed(&place);
    let report = read(&place.journal(), false, |_| {}).expect("a journal");
    let begins = report.segments[1].base.expect("a segment with records");
    assert!(report.segments.len() > 4, "{:?}", report.segments);
    let path = place.journal().join(segment_name(2));
    let sound = std::fs::read(&path).expect("the segment");
    for (from, to) in [(0, 4_096), (4_096, 8_192), (0, 8_192), (0, sound.len())] {
        let mut bytes = sound.clone();
        bytes[from..to].fill(0);
        std::fs::write(&path, bytes).expect("room");
        let mut follow = Follow::new(&place.journal());
        let text = damage(&mut follow).expect("damage");
        assert!(follow.is_passed().expect("it can be read"));
        for words in [&segment_name(2), &format!("position {begins}"), "damaged"] {
            assert!(text.contains(words), "bytes {from} to {to}: {text}");
        }
        // Where this one begins is not known.
        let mut late = Follow::from_segment(&place.journal(), 2);
        let text = damage(&mut late).expect("damage");
        assert!(
            text.contains(&segment_name(2)) && !text.contains("position"),
            "{text}"
        );
    }
    // A reader that has found it goes on if the segment comes back.
    let mut follow = Follow::new(&place.journal());
    damage(&mut follow).expect("damage");
    std::fs::write(&path, sound).expect("room");
    assert!(!follow.is_passed().expect("it can be read"));
    assert!(!all(&mut follow).expect("a journal").is_empty());
    assert_eq!(follow.position(), report.position);
}

/// Of a compressed segment a block that does not decompress reads as zeros.
#[test]
fn a_compressed_segment_without_its_begin_is_damage() {
    let place = Place::new("no-begin-compressed");
    closed(&place);
    compress(&place.journal()).expect("closed segments");
    let path = place.journal().join(format!("{}.zst", segment_name(2)));
    let mut bytes = std::fs::read(&path).expect("a compressed segment");
    bytes[..100].fill(0);
    std::fs::write(&path, bytes).expect("room");
    let text = damage(&mut Follow::new(&place.journal())).expect("damage");
    assert!(text.contains(&segment_name(2)), "{text}");
}

/// A follower waits at a segment that is prepared, also if the preparation was cut off, and at one that was removed.
#[test]
fn a_segment_that_is_not_begun_or_was_removed_is_not_damage() {
    let place = Place::new("prepared");
    closed(&place);
    let report = read(&place.journal(), false, |_| {}).expect("a journal");
    let last = report.segments.last().expect("a prepared one").index;
    let path = |index| place.journal().join(segment_name(index));
    let mut follow = Follow::new(&place.journal());
    assert_eq!(damage(&mut follow), None);
    assert_eq!(
        (follow.segment(), follow.position()),
        (last, report.position)
    );
    // Two that have no frame, and then two without a header.
    std::fs::copy(path(last), path(last + 1)).expect("room");
    assert_eq!(damage(&mut follow), None);
    for index in [last, last + 1] {
        std::fs::write(path(index), vec![0; 64 << 10]).expect("room");
    }
    assert_eq!(damage(&mut follow), None);
    assert!(!follow.is_passed().expect("it can be read"));
    std::fs::remove_file(path(last + 1)).expect("the file");
    let mut slow = Follow::new(&place.journal());
    while slow.segment() < 2 {
        slow.poll(u64::MAX, 1, |_| {}).expect("a journal");
    }
    for index in [1, 2] {
        std::fs::remove_file(path(index)).expect("the file");
    }
    assert_eq!(damage(&mut slow), None);
    assert!(!slow.is_passed().expect("it can be read"));
    assert!(slow.is_overtaken().expect("it can be read"));
}

/// The writer is known while it lives; the lock holds also if its file was removed.
#[test]
fn a_writer_is_known_and_alone() {
    let place = Place::new("alone");
    let bus = place.bus();
    assert_eq!(writer(&place.journal()), None);
    let journal = Journal::open(&place.journal(), &bus, &options(), 1).expect("a journal");
    let known = writer(&place.journal()).expect("a writer");
    assert_eq!(known.pid, std::process::id());
    assert!(known.since_unix_s > 1_700_000_000);
    std::fs::remove_file(place.journal().join("lock")).expect("the lock's file");
    let second = Journal::open(&place.journal(), &bus, &options(), 2);
    let text = second.expect_err("a refusal").to_string();
    assert!(text.contains("whose file `lock` was removed"), "{text}");
    drop(journal);
    Journal::open(&place.journal(), &bus, &options(), 3).expect("the lock is free");
}

/// A jump to a place without the record of that number changes nothing.
#[test]
fn a_jump_goes_to_a_record_or_nowhere() {
    let place = Place::new("jump");
    let mut journal =
        Journal::open(&place.journal(), &place.bus(), &options(), 1).expect("a journal");
    for number in 0..20 {
        append(&mut journal, number);
    }
    written(&journal);
    let mut places = Vec::new();
    let mut follow = Follow::new(&place.journal());
    while follow
        .poll(u64::MAX, 1, |entry| {
            places.push((entry.position.unwrap_or(0), entry.head.number));
        })
        .expect("a journal")
        > 0
    {}
    let mut follow = Follow::new(&place.journal());
    let (offset, number) = places[10];
    assert!(
        !follow.jump(offset, number).expect("a journal"),
        "no segment is open"
    );
    follow.poll(u64::MAX, 3, |_| {}).expect("a journal");
    let before = follow.position();
    for wrong in [
        (offset + 8, number),
        (offset, number + 1),
        (places[1].0, places[1].1),
        (1 << 40, number),
    ] {
        assert!(
            !follow.jump(wrong.0, wrong.1).expect("a journal"),
            "{wrong:?}"
        );
        assert_eq!(follow.position(), before);
    }
    assert!(follow.jump(offset, number).expect("a journal"));
    let mut next = None;
    let read = follow.poll(u64::MAX, 1, |entry| next = Some(entry.head.number));
    assert_eq!((read.expect("a journal"), next), (1, Some(number)));
}
