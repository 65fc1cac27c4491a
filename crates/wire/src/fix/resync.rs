//! Resynchronisation behind bytes that are not a message.

use super::SOH;
use super::frame::{BEGIN, Head, head};
use super::tokens::TRAILER;

/// Limit of the search for the checksum behind the end of a message. The search restarts with each received piece, so
/// the limit is short.
const SEARCH_BYTES: usize = 64 * 1_024;

/// Number of bytes to drop, at least one, after [`frame`](super::frame()) refused the beginning of `bytes`; `limit` is the
/// same for both. `None`: more bytes must come first, so that the answer never depends on how a stream was cut.
///
/// A message whose length can be read is skipped up to the next checksum field after that length, as in QuickFIX: a
/// message with a length that is too large also takes the next one. If no message ends within `limit` bytes or 64 KiB,
/// and for all other bytes, reading continues at the next possible start of a message.
pub fn resync(bytes: &[u8], limit: usize) -> Option<usize> {
    match head(bytes) {
        Ok(Head::Whole { end, .. }) if end <= limit => {
            let most = limit.min(end + SEARCH_BYTES);
            match checksum_end(&bytes[..bytes.len().min(most)], end) {
                Some(end) => Some(end),
                None if bytes.len() < most => None,
                None => Some(begin(bytes)),
            }
        }
        _ => Some(begin(bytes)),
    }
}

/// End of the next checksum field, for a message with a stated end at `end`.
fn checksum_end(bytes: &[u8], end: usize) -> Option<usize> {
    let sum = position(bytes, end - TRAILER - 1, b"\x0110=")?;
    position(bytes, sum + 4, &[SOH]).map(|last| last + 1)
}

/// Possible start of another message: `8=FIX`, or a prefix of it at the end. The bytes before it are not checked, as
/// they may have been dropped already.
fn begin(bytes: &[u8]) -> usize {
    let begins = |at: &usize| {
        let rest = &bytes[*at..];
        let least = rest.len().min(BEGIN.len());
        rest[..least] == BEGIN[..least]
    };
    (1..bytes.len()).find(begins).unwrap_or(bytes.len()).max(1)
}

fn position(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let found = bytes
        .get(from..)?
        .windows(wanted.len())
        .position(|window| window == wanted);
    found.map(|at| from + at)
}
