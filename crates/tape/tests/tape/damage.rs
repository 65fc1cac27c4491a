//! Directories and files without a tape, and a damaged one.

use crate::world::World;
use touchline_tape::{Error, Reader};

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
    let path = world
        .tape()
        .join(touchline_journal::format::segment_name(1));
    let mut bytes = std::fs::read(&path).expect("the segment");
    bytes[100_000] ^= 1;
    std::fs::write(&path, bytes).expect("room");
    let mut reader = Reader::open(&world.tape(), None).expect("a tape");
    let mut polls = 0;
    let error = loop {
        polls += 1;
        assert!(polls < 1_000_000, "it does not end");
        if let Err(error) = reader.poll(|_| ()) {
            break error;
        }
    };
    assert!(error.to_string().contains("damaged"), "{error}");
}
