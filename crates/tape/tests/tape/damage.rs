//! Directories and files without a tape, and a damaged one.

use crate::world::World;
use touchline_tape::{Error, Reader, Taped};

#[test]
fn a_directory_without_a_tape_is_refused() {
    let folder = touchline_testing::Folder::new("no-tape");
    for path in [folder.join("missing"), folder.to_path_buf()] {
        let error = Reader::open(&path, None).err().expect("no tape");
        assert!(matches!(error, Error::NoTape { .. }), "{error}");
        assert!(
            error.to_string().contains("no segment of a tape"),
            "{error}"
        );
    }
}

/// A flipped byte of a message is never a message: the reader stops there, with the place.
#[test]
fn a_damaged_record_ends_the_reading() {
    let mut world = World::recording(1);
    world.record_hundreds(60);
    world.close();
    let error = error_at_damage(&world);
    assert!(error.contains("damaged"), "{error}");
}

/// So does the reader of a tape that is recorded: the records there do not come later.
#[test]
fn a_damaged_record_ends_the_reading_of_a_tape_that_is_recorded() {
    let mut world = World::recording(1);
    world.record_hundreds(60);
    let error = error_at_damage(&world);
    assert!(error.contains("damaged"), "{error}");
}

/// The begin of a segment is lost while later ones are recorded: the reader does not wait there, and does not end as at the end of the tape.
#[test]
fn a_segment_without_its_begin_ends_the_reading_of_a_tape_that_is_recorded() {
    let mut world = World::recording(1);
    world.record_hundreds(60);
    assert!(world.segments() > 2, "{} segments", world.segments());
    let error = error_at(&world, 2, |bytes| bytes[..8_192].fill(0));
    assert!(
        error.contains("damaged") && error.contains("0000000002.tlj"),
        "{error}"
    );
}

fn error_at_damage(world: &World) -> String {
    error_at(world, 1, |bytes| bytes[100_000] ^= 1)
}

/// The error of a reader of the tape with a spoiled segment.
fn error_at(world: &World, segment: u64, spoil: impl FnOnce(&mut [u8])) -> String {
    let path = world
        .tape()
        .join(touchline_journal::format::segment_name(segment));
    let mut bytes = std::fs::read(&path).expect("the segment");
    spoil(&mut bytes);
    std::fs::write(&path, bytes).expect("room");
    let mut reader = Reader::open(&world.tape(), None).expect("a tape");
    loop {
        match reader.poll(|_| ()) {
            Ok(Taped::Nothing | Taped::End) => panic!("it ends in the middle"),
            Ok(_) => {}
            Err(error) => return error.to_string(),
        }
    }
}
