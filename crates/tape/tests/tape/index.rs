//! An index makes a search short, and changes nothing else: it may be missing, damaged, or of another segment.

use crate::world::{Played, World, assert_equal, played};
use std::path::PathBuf;
use touchline_journal::{compress, index_path, repair};
use touchline_tape::{
    IndexFile, ReadOptions, Reader, Settings, TapePlace, Taped, index_segments, verify_indexes,
};
use touchline_testing::random::Random;
use touchline_transport::market::{Item, TapedMessage};
use touchline_types::Instrument;
use touchline_types::native::Message;

/// Segments of several blocks.
const SEGMENT_BYTES: u64 = 2 << 20;
/// States in a segment are this far from each other.
const STATE_BYTES: u64 = 256 << 10;
/// The instrument that is silent in most blocks.
const QUIET: Instrument = Instrument(15);

/// A tape whose last instruments are silent for a long time, twice.
fn tape(seed: u64) -> World {
    let mut world = World::new(seed);
    world.segment_bytes = SEGMENT_BYTES;
    world.publish();
    fill(&mut world);
    world
}

fn fill(world: &mut World) {
    world.record_with(Settings {
        state_bytes: STATE_BYTES,
        ..Settings::default()
    });
    for _ in 0..2 {
        world.narrow(16);
        world.record_hundreds(15);
        world.narrow(3);
        world.record_hundreds(150);
    }
    world.close();
    assert!(world.segments() > 3, "{}", world.segments());
}

fn write_all(world: &World) -> u64 {
    let (written, _) = index_segments(&world.tape(), 0).expect("room");
    written
}

/// Everything that readers with and without a selection have, from some places on.
fn all_reads(world: &World, seed: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    let whole = world.played();
    let mut random = Random::from_seed(seed);
    let mut reads = Vec::new();
    for round in 0..6 {
        let at = random.below(whole.sequences.len() as u64) as usize;
        let from = match round % 3 {
            0 => TapePlace::Sequence(whole.sequences[at]),
            1 => TapePlace::Time(whole.received_ns[at]),
            _ => TapePlace::Position(random.below((world.segments() - 1) * SEGMENT_BYTES)),
        };
        let all = world.played_with(Some(from), None);
        assert_equal(&all.books, &whole.books, &format!("from {from:?}"));
        reads.push((all.sequences, quiet(world, Some(from)).0));
    }
    reads.push((whole.sequences, quiet(world, None).0));
    reads
}

/// Messages of the silent instrument, and the bytes that it took to read them.
fn quiet(world: &World, from: Option<TapePlace>) -> (Vec<u64>, u64) {
    let options = ReadOptions {
        from,
        only: Some(Box::new(|definition| definition.instrument == QUIET)),
        ..ReadOptions::default()
    };
    let mut reader = Reader::open_with(&world.tape(), options).expect("a tape");
    let mut sequences = Vec::new();
    loop {
        let taken = reader.poll(|item| {
            if let Item::Update(received) = &item
                && let Some(instrument) = received.update.instrument()
            {
                assert_eq!(instrument, QUIET);
                sequences.extend((!received.is_image).then_some(received.sequence));
            }
        });
        if matches!(taken.expect("a tape"), Taped::End | Taped::Nothing) {
            return (sequences, reader.bytes_read());
        }
    }
}

/// Messages of a reader that resumes before `next`, from that one on, and the bytes that it took to come there.
fn resumed(world: &World, next: u64) -> (Vec<u64>, u64) {
    let tape = world.tape();
    let mut first = Reader::open(&tape, None).expect("a tape");
    let publication = first.begin().expect("a tape").expect("a bus").clone();
    let mut reader = Reader::resume(&tape, &publication, next).expect("a tape");
    let (mut sequences, mut bytes) = (Vec::new(), 0);
    loop {
        let taken = reader.poll_messages(|message| {
            let Ok(TapedMessage::Message(bytes)) = message else {
                return;
            };
            let sequence = Message::parse(bytes).expect("a message").sequence();
            sequences.extend((sequence >= next).then_some(sequence));
        });
        if !sequences.is_empty() && bytes == 0 {
            bytes = reader.bytes_read();
        }
        if matches!(taken.expect("a tape"), Taped::End | Taped::Nothing) {
            return (sequences, bytes);
        }
    }
}

/// A reader that was overrun has the same messages with an index, and reads less than two blocks before them.
#[test]
fn an_overrun_reader_goes_to_the_block_of_its_next_message() {
    let world = tape(3);
    let all = world.played().sequences;
    let places = [all.len() / 7, all.len() / 3, all.len() / 2];
    let without = places.map(|at| resumed(&world, all[at]));
    write_all(&world);
    for (at, (expected, far)) in places.into_iter().zip(without) {
        let (got, near) = resumed(&world, all[at]);
        assert_eq!(got.first(), Some(&all[at]));
        assert!(got == expected, "{} of {}", got.len(), expected.len());
        assert!(near < 640 << 10 && near <= far, "{near} and {far} bytes");
    }
}

fn index_of(world: &World, segment: u64) -> PathBuf {
    index_path(&world.tape(), segment)
}

fn state_of(world: &World, segment: u64) -> IndexFile {
    verify_indexes(&world.tape(), [segment])[0].1
}

#[test]
fn with_an_index_readers_have_the_same() {
    for seed in 0..2 {
        let world = tape(seed);
        let expected = all_reads(&world, seed);
        assert!(
            expected
                .iter()
                .any(|(all, quiet)| quiet.len() > 10 && all.len() > quiet.len())
        );
        assert_eq!(
            write_all(&world),
            world.segments(),
            "the end of a run closes its segment"
        );
        assert_eq!(write_all(&world), 0, "they are there");
        assert_eq!(all_reads(&world, seed), expected);
        compress(&world.tape()).expect("a tape");
        assert!(world.tape().join("0000000001.tlj.zst").exists());
        assert_eq!(write_all(&world), 0, "compression changes no index");
        assert_eq!(all_reads(&world, seed), expected);
    }
}

#[test]
fn a_place_and_an_instrument_are_found_by_the_blocks_that_have_them() {
    let world = tape(3);
    let whole = world.played();
    write_all(&world);
    let bytes = world.segments() * SEGMENT_BYTES;
    let (_, read) = quiet(&world, None);
    assert!(read < bytes / 3, "{read} of {bytes}");
    let at_ns = whole.received_ns[whole.sequences.len() * 2 / 3];
    let options = ReadOptions {
        from: Some(TapePlace::Time(at_ns)),
        to: Some(TapePlace::Time(at_ns + 1_000)),
        ..ReadOptions::default()
    };
    let mut reader = Reader::open_with(&world.tape(), options).expect("a tape");
    while !matches!(reader.poll(|_| ()).expect("a tape"), Taped::End) {}
    assert_eq!(reader.unindexed(), 0);
    let read = reader.bytes_read();
    // The last state before the place, two blocks, and the messages of the state's room: none of the rest of the segment.
    assert!(read < 4 * STATE_BYTES, "{read} of {bytes}");
}

/// Of each index file: no byte of it, half of it, one flipped bit, and the index of another segment.
#[test]
fn a_wrong_index_is_ignored_and_written_again() {
    let world = tape(4);
    let expected = all_reads(&world, 4);
    write_all(&world);
    let good = std::fs::read(index_of(&world, 2)).expect("an index");
    let other = std::fs::read(index_of(&world, 1)).expect("an index");
    let mut random = Random::from_seed(4);
    let mut flipped = good.clone();
    let bit = random.below(8 * good.len() as u64) as usize;
    flipped[bit / 8] ^= 1 << (bit % 8);
    for wrong in [Vec::new(), good[..good.len() / 2].to_vec(), flipped, other] {
        std::fs::write(index_of(&world, 2), &wrong).expect("room");
        assert_eq!(state_of(&world, 2), IndexFile::Wrong);
        assert_eq!(all_reads(&world, 4), expected);
        assert_eq!(write_all(&world), 1);
        assert_eq!(std::fs::read(index_of(&world, 2)).expect("it"), good);
    }
    std::fs::remove_file(index_of(&world, 2)).expect("it is there");
    assert_eq!(state_of(&world, 2), IndexFile::Missing);
    let from = Some(TapePlace::Sequence(u64::MAX));
    let options = ReadOptions {
        from,
        ..ReadOptions::default()
    };
    let reader = Reader::open_with(&world.tape(), options).expect("a tape");
    assert_eq!(reader.unindexed(), 1);
}

/// A segment that a repair has cut is not the one that its index was written for.
#[test]
fn the_index_of_a_cut_segment_is_stale() {
    let world = tape(6);
    write_all(&world);
    let segment = world.tape().join("0000000002.tlj");
    let mut bytes = std::fs::read(&segment).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(&segment, bytes).expect("room");
    repair(&world.tape(), true, 1).expect("it is cut with loss");
    assert_eq!(state_of(&world, 1), IndexFile::Right);
    assert_eq!(state_of(&world, 2), IndexFile::Wrong);
    let expected = {
        let kept = index_of(&world, 2).with_extension("kept");
        std::fs::rename(index_of(&world, 2), &kept).expect("it is there");
        let reads = all_reads_of_first(&world);
        std::fs::rename(kept, index_of(&world, 2)).expect("it is there");
        reads
    };
    assert_eq!(all_reads_of_first(&world), expected);
}

/// A tape that begins again where another one was has its own indexes: those of the other one are not used, and are replaced.
#[test]
fn a_tape_that_begins_again_has_its_own_indexes() {
    let mut world = tape(8);
    write_all(&world);
    let segments = world.segments();
    let old: Vec<_> = (1..segments)
        .map(|segment| std::fs::read(index_of(&world, segment)).expect("an index"))
        .collect();
    std::fs::remove_dir_all(world.tape()).expect("our folder");
    fill(&mut world);
    let expected = all_reads(&world, 8);
    for (segment, index) in (1..).zip(&old) {
        std::fs::write(index_of(&world, segment), index).expect("room");
    }
    assert_eq!(state_of(&world, 1), IndexFile::Wrong);
    assert!(all_reads(&world, 8) == expected, "with the old indexes");
    assert!(write_all(&world) >= old.len() as u64);
    assert_eq!(state_of(&world, 1), IndexFile::Right);
    assert!(all_reads(&world, 8) == expected, "with its own");
}

fn all_reads_of_first(world: &World) -> Vec<u64> {
    let Played { sequences, .. } = world.played_with(Some(TapePlace::Sequence(1)), None);
    [sequences, quiet(world, None).0].concat()
}

/// Retention removes an index with its segment; a reader of that segment says that it was removed.
#[test]
fn retention_removes_an_index_with_its_segment() {
    let world = tape(7);
    write_all(&world);
    let options = ReadOptions::default();
    let mut reader = Reader::open_with(&world.tape(), options).expect("a tape");
    reader.begin().expect("a tape");
    let removed = touchline_journal::remove_oldest(&world.tape(), |_| true).expect("a tape");
    assert!(removed > 0);
    assert!(!index_of(&world, 1).exists());
    assert!(index_of(&world, removed + 1).exists());
    let gone = loop {
        match reader.poll(|_| ()) {
            Ok(Taped::End) => panic!("it has passed over the removed segments"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    if removed > 1 {
        assert!(gone.to_string().contains("was removed before"), "{gone}");
    }
    // A search finds the rest.
    let from = TapePlace::Sequence(1);
    let left = played(
        Reader::open_with(
            &world.tape(),
            ReadOptions {
                from: Some(from),
                ..ReadOptions::default()
            },
        )
        .expect("a tape"),
    );
    assert!(!left.sequences.is_empty());
}
