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

fn error_at_damage(world: &World) -> String {
    let path = world
        .tape()
        .join(touchline_journal::format::segment_name(1));
    let mut bytes = std::fs::read(&path).expect("the segment");
    bytes[100_000] ^= 1;
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
