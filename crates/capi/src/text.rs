//! Texts of C programs: strings that they give, and places of theirs that texts are written to.

#![allow(unsafe_code, reason = "strings of C programs")]

use crate::status::Failure;
use std::ffi::{CStr, c_char};

/// Bytes of a text in a struct, with the zero behind it. Every text of a struct fits: none is cut.
pub const TL_TEXT: usize = 80;

/// # Safety
/// `text` is NULL or a string.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::argument(format!("{what} is not UTF-8")))
}

/// # Safety
/// `given` is NULL or a string.
pub unsafe fn optional<'a>(given: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    // SAFETY: as above.
    (!given.is_null())
        .then(|| unsafe { text(given, what) })
        .transpose()
}

/// A text with a zero behind it.
///
/// # Panics
/// It is too long. Names have at most 64 bytes, decimals of 128 bits 42; a test has the longest sentence.
pub fn chars(from: &str) -> [c_char; TL_TEXT] {
    assert!(
        from.len() < TL_TEXT,
        "a text has at most {} bytes: {from}",
        TL_TEXT - 1
    );
    let mut made = [0; TL_TEXT];
    for (place, byte) in made.iter_mut().zip(from.bytes()) {
        *place = byte as c_char;
    }
    made
}

const _: () = assert!(size_of::<touchline_client::Id>() < TL_TEXT);
