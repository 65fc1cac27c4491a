//! Destination of written messages.

use zerocopy::{Immutable, IntoBytes};

/// Destination of the pieces of a message, written one after another: a byte buffer, or shared memory in place.
///
/// The writer has reserved room for the whole message, so a piece cannot fail.
pub trait Sink {
    /// Writes a piece behind those written before.
    ///
    /// # Panics
    /// If there is no room for it.
    fn put<T: IntoBytes + Immutable>(&mut self, piece: &T);
}

impl Sink for &mut [u8] {
    #[inline(always)]
    fn put<T: IntoBytes + Immutable>(&mut self, piece: &T) {
        let (to, behind) = core::mem::take(self).split_at_mut(size_of::<T>());
        to.copy_from_slice(piece.as_bytes());
        *self = behind;
    }
}
