//! Forms of values that several tables have.

use serde::Serializer;
use std::path::Path;

/// A timeout in nanoseconds; 0 disables it.
pub(crate) fn timeout_ns(ms: u64) -> u64 {
    match ms {
        0 => u64::MAX,
        ms => ms.saturating_mul(1_000_000),
    }
}

/// A path as text.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
