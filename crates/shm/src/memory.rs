//! Memory that is looked for before it is needed in many pieces: a piece without memory ends the process.

use std::hint::black_box;

/// Whether this process can have that many bytes more, at this moment and in one piece. The bytes are not written, so no memory is used.
pub fn has_room(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let is_there = room.try_reserve_exact(bytes).is_ok();
    // A compiler may leave out memory that nothing uses.
    black_box(room.as_mut_ptr());
    is_there
}
