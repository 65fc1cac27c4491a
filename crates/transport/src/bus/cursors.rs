//! File of the cursors of a lossless bus.

use super::{Directory, Error};
use touchline_shm::Words;
use touchline_shm::broadcast::{Cursors, Format};
use touchline_shm::segment::{
    self, Access, GroupAccess, Length, Lock, Mapping, Options, WriterLock,
};

/// Its name.
pub const CURSORS: &str = "cursors";

/// Registered readers at most, of which an earlier program states no number in the ring.
pub const READERS_MAX: usize = 1024;

/// Options of the cursors, which readers of the publisher's user write.
pub fn cursor_options(length: Length) -> Options {
    Options {
        lock: Lock::No,
        group_access: GroupAccess::Reports,
        length,
        ..Options::default()
    }
}

/// Opens the cursors beside a ring of this format; `None` if the bus is not lossless.
///
/// # Errors
/// They cannot be opened, or another process changed their length: the publisher makes them again within a second.
pub fn open_cursors(
    directory: &Directory,
    ring: &Mapping,
    access: Access,
) -> Result<Option<Mapping>, segment::Error> {
    let stated = Format::read(ring.words()).map_or(0, |format| format.cursors_words);
    let length = match stated {
        0 => Length::AtMost(8 * Cursors::<Mapping>::words_for(READERS_MAX)),
        words => Length::Words(words as usize),
    };
    match Mapping::open(directory, CURSORS, access, &cursor_options(length)) {
        Err(segment::Error::Missing { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Why a bus with this ring has no cursors: it is not lossless, or its writer is about to make them.
pub fn no_cursors(directory: &Directory, ring: &Mapping) -> Error {
    let stated = Format::read(ring.words()).map_or(0, |format| format.cursors_words);
    let bus = directory.name().to_owned();
    match stated {
        0 => Error::NotLossless { bus },
        _ => Error::HalfStarted { bus },
    }
}

/// Readers that the bus of this ring admits: as many as configured, although the file of the cursors is whole pages.
pub fn readers_max(ring: &Mapping, cursors: &Cursors<Mapping>) -> u32 {
    let stated = Format::read(ring.words()).map_or(0, |format| format.cursors_words);
    let slots = match stated {
        0 => READERS_MAX,
        words => Cursors::<Mapping>::slots_in(words as usize),
    };
    slots.min(cursors.slots()) as u32
}

/// Makes the cursors with another number of words, of a writer that continues the ring: the readers that have a place in the old ones keep
/// it, and state their positions here when they notice. `continues`: false for a new ring, in which the old positions mean nothing.
///
/// # Errors
/// The file cannot be made.
pub fn resize_cursors(
    lock: &WriterLock,
    bytes: usize,
    options: &Options,
    continues: bool,
) -> Result<Mapping, segment::Error> {
    let any = Options {
        length: Length::AtMost(8 * Cursors::<Mapping>::words_for(READERS_MAX)),
        ..options.clone()
    };
    let old = Mapping::take_over(lock, CURSORS, &any).ok();
    let draft = Mapping::create(lock, CURSORS, bytes, options)?;
    // mutant: bus: a restart with another number of places forgets the readers that have one
    if let Some(old) = old.filter(|_| continues) {
        Cursors::new(draft.mapping()).take_over(&Cursors::new(old));
    }
    draft.publish()
}

/// Makes the cursors again, after another process changed the length of the file; readers move there when they notice.
///
/// # Errors
/// The file cannot be made.
pub fn renew_cursors(lock: &WriterLock, old: &Mapping) -> Result<Mapping, segment::Error> {
    let bytes = size_of_val(old.words());
    Mapping::create(lock, CURSORS, bytes, &cursor_options(Length::Any))?.publish()
}
