//! Going on behind bytes that are no message.

use super::SOH;
use super::frame::{BEGIN, Head, TRAILER, head};

/// How many bytes to drop, at least one, when [`frame`](super::frame()) refused what `bytes` begin with.
///
/// A message whose length can be read takes everything up to the next checksum field behind that length with it, as in
/// QuickFIX: one that says too much about its length swallows the next. Anything else ends where a message may begin.
pub fn resync(bytes: &[u8]) -> usize {
    if let Ok(Head::Whole { end, .. }) = head(bytes) {
        let from = end - TRAILER - 1;
        return match position(bytes, from, b"\x0110=") {
            Some(sum) => match position(bytes, sum + 4, &[SOH]) {
                Some(end) => end + 1,
                None => bytes.len(),
            },
            None => bytes.len(),
        };
    }
    begin(bytes, 1)
}

/// Where a message may begin: at `8=FIX`, or at as much of it as there is at the end. What stands before it is not
/// asked, as it may have been dropped already: the answer must not depend on how the bytes were cut.
fn begin(bytes: &[u8], from: usize) -> usize {
    let begins = |at: &usize| {
        let rest = &bytes[*at..];
        let least = rest.len().min(BEGIN.len());
        rest[..least] == BEGIN[..least]
    };
    (from..bytes.len())
        .find(begins)
        .unwrap_or(bytes.len())
        .max(1)
}

fn position(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let found = bytes
        .get(from..)?
        .windows(wanted.len())
        .position(|window| window == wanted);
    found.map(|at| from + at)
}
