//! Structs of other versions: each begins with its size as the caller was compiled, and grows at its end.

#![allow(unsafe_code, reason = "memory of C programs")]

use crate::status::Failure;
use std::mem::MaybeUninit;
use std::ptr;

/// Largest size that a caller may state: several times that of the longest struct, so that later versions fit, and small enough that bytes
/// of a struct whose size was not set are refused, before as many are read and written.
pub(crate) const LARGEST: usize = 4096;

/// A struct of C: its name, its size in the first version, and that all zeros are one.
///
/// # Safety
/// `#[repr(C)]`, the first field is a `u32` with the size, and zeros are valid in every field.
pub unsafe trait Versioned {
    const NAME: &'static str;
    const FIRST: usize;
}

/// Declares a struct of C with its size in the first version.
macro_rules! versioned {
    ($type:ident, $first:literal) => {
        // SAFETY: integers and pointers, behind the size.
        unsafe impl $crate::sized::Versioned for $type {
            const NAME: &'static str = stringify!($type);
            const FIRST: usize = $first;
        }

        const _: () = assert!(size_of::<$type>() >= $first);
        const _: () = assert!(2 * size_of::<$type>() <= $crate::sized::LARGEST);
    };
}
pub(crate) use versioned;

/// The size that the caller states.
///
/// # Safety
/// `of` is NULL or valid for its size.
pub unsafe fn size<T: Versioned>(of: *const T) -> Result<usize, Failure> {
    if of.is_null() {
        return Err(Failure::argument(format!("the {} is NULL", T::NAME)));
    }
    // SAFETY: the size is the first field of every version.
    let size = unsafe { of.cast::<u32>().read_unaligned() } as usize;
    // A later version is longer, by whole fields. A size that was not set is rarely one.
    let is_possible = (T::FIRST..=LARGEST).contains(&size) && size.is_multiple_of(align_of::<T>());
    if !is_possible {
        return Err(Failure::argument(format!(
            "{0}.size is {size}: set it to sizeof({0}), {1}",
            T::NAME,
            size_of::<T>()
        )));
    }
    Ok(size)
}

/// The caller's struct; fields that its version does not have are 0. A field that this library does not have must be 0.
///
/// # Safety
/// `from` is NULL or valid for its size.
pub unsafe fn take<T: Versioned>(from: *const T) -> Result<T, Failure> {
    // SAFETY: as above.
    let size = unsafe { size(from)? };
    let common = size.min(size_of::<T>());
    // SAFETY: valid for `size` bytes.
    let mut added = (common..size).map(|at| unsafe { from.cast::<u8>().add(at).read() });
    if added.any(|byte| byte != 0) {
        return Err(Failure::argument(format!(
            "{} sets a field that this version of libtouchline does not have: use a newer library",
            T::NAME
        )));
    }
    let mut made = MaybeUninit::<T>::zeroed();
    // SAFETY: both are valid for `common` bytes; zeros are valid in the rest.
    unsafe {
        ptr::copy_nonoverlapping(from.cast::<u8>(), made.as_mut_ptr().cast(), common);
        Ok(made.assume_init())
    }
}

/// Writes the fields of the caller's version to its struct; its size stays, and fields of later versions become 0.
///
/// # Safety
/// `to` is NULL or valid for its size.
pub unsafe fn give<T: Versioned>(made: &T, to: *mut T) -> Result<(), Failure> {
    // SAFETY: as above.
    let size = unsafe { size(to)? };
    let common = size.min(size_of::<T>());
    let (bytes, begin) = (to.cast::<u8>(), size_of::<u32>());
    // SAFETY: `to` is valid for `size` bytes, `made` for `common`.
    unsafe {
        let from = ptr::from_ref(made).cast::<u8>();
        ptr::copy_nonoverlapping(from.add(begin), bytes.add(begin), common - begin);
        ptr::write_bytes(bytes.add(common), 0, size - common);
    }
    Ok(())
}

/// Writes the first rows to the caller's array, each as [`give`] does: as many as it has room for. The size of the first is that of all.
///
/// # Safety
/// `to` has `room` places of the size that the first states, or `room` is 0.
pub unsafe fn give_rows<T: Versioned>(made: &[T], to: *mut T, room: usize) -> Result<(), Failure> {
    if room == 0 {
        return Ok(());
    }
    // SAFETY: there is a first place.
    let size = unsafe { size(to)? };
    for (at, row) in made.iter().take(room).enumerate() {
        // SAFETY: a place of the caller; its size is the first field.
        unsafe {
            let place = to.cast::<u8>().add(at * size).cast::<T>();
            place.cast::<u32>().write_unaligned(size as u32);
            give(row, place)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tl_stats;

    /// A later version, as a program knows it that is newer than the library.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Later {
        known: tl_stats,
        added: u64,
    }

    fn stats(size: usize, events: u64) -> tl_stats {
        tl_stats {
            size: size as u32,
            reserved: 0,
            events,
            overruns: 0,
            lost: 0,
            restarts: 0,
            unknown: 0,
            undefined: 0,
            inconsistent: 0,
            tape_messages: 0,
            tape_fall_backs: 0,
            tape_losses: 0,
            on_tape: 0,
        }
    }

    /// The distance of rows is the size of the caller's struct, not of this library's; no byte behind the caller's buffer is written.
    #[test]
    fn rows_have_the_distance_of_the_callers_struct() {
        let size = size_of::<Later>();
        let unwritten = Later {
            known: stats(size, 77),
            added: 5,
        };
        let mut rows = [unwritten; 3];
        let made = [1, 2, 3].map(|events| stats(size_of::<tl_stats>(), events));
        // SAFETY: three places, of which two are given.
        unsafe {
            give_rows(&made, rows.as_mut_ptr().cast::<tl_stats>(), 2).expect("it has a size")
        };
        let seen = rows.map(|row| (row.known.size as usize, row.known.events, row.added));
        assert_eq!(seen, [(size, 1, 0), (size, 2, 0), (size, 77, 5)]);
    }

    /// A size that no version of a struct has is refused before anything is read or written: with the name, the size, and the value to set.
    #[test]
    fn a_size_that_is_none_is_refused_with_a_sentence() {
        let known = size_of::<tl_stats>();
        for wrong in [0, 8, known + 1, LARGEST + 8, u32::MAX as usize] {
            let mut row = stats(wrong, 77);
            // SAFETY: a size that is refused is not used.
            let refused = unsafe { give(&stats(known, 1), &raw mut row) };
            let said = format!("{:?}", refused.expect_err("it is refused"));
            let expected = format!("tl_stats.size is {wrong}: set it to sizeof(tl_stats), {known}");
            assert!(said.contains(&expected) && row.events == 77, "{said}");
        }
        let greatest = stats(LARGEST, 0);
        // SAFETY: the size alone is read.
        let greatest = unsafe { size(&raw const greatest) };
        assert_eq!(greatest.ok(), Some(LARGEST));
    }
}
