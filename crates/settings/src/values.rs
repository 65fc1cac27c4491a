//! Forms of values that several files have.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::time::Duration;

/// Deserializes a number in `MIN..=MAX`; refused while reading, so that the mistake has its place.
///
/// # Errors
/// The number and the range.
pub fn within<'de, D, T, const MIN: i64, const MAX: i64>(deserializer: D) -> Result<T, D::Error>
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
///
/// # Panics
/// The type of the key cannot hold it.
#[must_use]
pub fn number<T: TryFrom<i64>, const N: i64>() -> T {
    let number = T::try_from(N).ok();
    number.expect("a key holds its default")
}

/// A duration with its unit: ns, us, ms or s.
///
/// # Errors
/// How a duration is written.
pub fn read_duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit_ns = match unit.trim_start() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => 0,
    };
    let ns = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ns))
        .filter(|_| unit_ns > 0);
    ns.map(Duration::from_nanos).ok_or_else(|| {
        format!(
            "{text:?} is not a duration: write a whole number with its unit, ns, us, ms or s, such as \"500us\" or \"1s\""
        )
    })
}
