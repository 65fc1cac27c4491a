//! Forms of values that several tables have.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};
use std::path::Path;

/// Deserializes a number in `MIN..=MAX`; refused while parsing, so that the error names the place.
pub(crate) fn within<'de, D, T, const MIN: i64, const MAX: i64>(
    deserializer: D,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let number = i64::deserialize(deserializer)?;
    match T::try_from(number) {
        Ok(fits) if (MIN..=MAX).contains(&number) => Ok(fits),
        _ => Err(D::Error::custom(format_args!(
            "{number} is not in the range {MIN} to {MAX}"
        ))),
    }
}

/// The default of a number, for `#[serde(default = "number::<_, 100>")]`.
pub(crate) fn number<T: TryFrom<i64>, const N: i64>() -> T {
    let number = T::try_from(N).ok();
    number.expect("a key holds its default")
}

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
