//! Days of UTC.

use touchline_wire::sbe::UtcTime;

/// The day of a time, as `2026-11-29`.
pub fn text(ns: u64) -> String {
    let mut text = UtcTime(ns).to_string();
    text.truncate(10);
    text
}

/// The day of a time, as the number `20261129`.
pub fn number(ns: u64) -> u32 {
    text(ns).replace('-', "").parse().unwrap_or(0)
}
