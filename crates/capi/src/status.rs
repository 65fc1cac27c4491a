//! Result of a call, and the sentence of the last error.

#![allow(unsafe_code, reason = "names that C programs link with")]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use touchline_client::Error;
use touchline_client::fx;
use touchline_client::names::ErrorKind;
use touchline_client::words::Visible;

/// Result of a call: `TL_OK`, `TL_TIMED_OUT`, `TL_STOPPED`, or an error, which is negative: `TL_ERROR_NO_BUS` and others.
#[allow(non_camel_case_types, reason = "as C spells it")]
pub type tl_status = i32;

/// Done; of `tl_next`: there is an event.
pub const TL_OK: tl_status = 0;
/// The time has passed without an event.
pub const TL_TIMED_OUT: tl_status = 1;
/// The loop was ended by `tl_stop`, or with its tape.
pub const TL_STOPPED: tl_status = 2;

thread_local! {
    /// The sentence of the last error of this thread; empty before the first.
    static SENTENCE: RefCell<CString> = RefCell::default();
}

/// An error of a call.
#[derive(Debug)]
pub struct Failure {
    kind: ErrorKind,
    sentence: String,
}

impl Failure {
    /// An argument is invalid.
    pub fn argument(sentence: impl Into<String>) -> Failure {
        Failure {
            kind: ErrorKind::Option,
            sentence: sentence.into(),
        }
    }
}

impl Failure {
    /// An error of a trading engine.
    pub fn of_desk(error: &fx::Error) -> Failure {
        Failure {
            kind: fx::kind_of(error),
            sentence: error.to_string(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            kind: error.kind(),
            sentence: error.to_string(),
        }
    }
}

/// Runs a call: its failure becomes a status and a sentence, a panic too.
pub fn guarded(call: impl FnOnce() -> Result<tl_status, Failure>) -> tl_status {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(status)) => return status,
        Ok(Err(failure)) => failure,
        Err(_) => Failure {
            kind: ErrorKind::Internal,
            sentence: "libtouchline has a bug and panicked; its message is on standard error"
                .into(),
        },
    };
    // The sentence may repeat an argument, and a program prints it.
    let sentence = Visible(&failure.sentence).to_string();
    SENTENCE.with_borrow_mut(|last| *last = CString::new(sentence).unwrap_or_default());
    failure.kind as tl_status
}

/// The sentence of the last error of this thread; valid until its next call of this library.
#[unsafe(no_mangle)]
pub extern "C" fn tl_error() -> *const c_char {
    SENTENCE.with_borrow(|last| last.as_ptr())
}

/// Version of this library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn tl_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("the version has no zero byte"),
        };
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_cross_the_border() {
        let status = guarded(|| panic!("a fault"));
        assert_eq!(status, ErrorKind::Internal as tl_status);
        // SAFETY: the sentence of this thread.
        let sentence = unsafe { CStr::from_ptr(tl_error()) };
        let sentence = sentence.to_str().expect("it is ours");
        assert!(sentence.starts_with("libtouchline has a bug"), "{sentence}");
        let refused = guarded(|| Err(Failure::argument("a\0b")));
        assert_eq!(refused, ErrorKind::Option as tl_status);
        // SAFETY: as above.
        let sentence = unsafe { CStr::from_ptr(tl_error()) };
        assert_eq!(sentence.to_bytes(), b"a\\u{0}b");
    }
}
