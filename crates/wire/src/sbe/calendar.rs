//! Dates and times of day, as a person writes them (ISO 8601, UTC).

use core::fmt;

/// Writes `time_ns`, nanoseconds since 1970-01-01 UTC, as `2022-08-01T15:31:10.041719045Z`.
pub(crate) fn write_time(f: &mut fmt::Formatter<'_>, time_ns: u64) -> fmt::Result {
    let (seconds, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    write_date(f, days)?;
    write!(
        f,
        "T{:02}:{:02}:{:02}.{ns:09}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// Writes the day `days` after 1970-01-01 as `2022-08-01`.
///
/// Counted in years that begin on 1 March, so that the leap day comes last and month lengths repeat
/// (153 days in five months); 719,468 days lie between 0000-03-01 and 1970-01-01.
pub(crate) fn write_date(f: &mut fmt::Formatter<'_>, days: u64) -> fmt::Result {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let (month, next_year) = if march_month < 10 {
        (march_month + 3, 0)
    } else {
        (march_month - 9, 1)
    };
    write!(
        f,
        "{:04}-{month:02}-{day:02}",
        era * 400 + year_of_era + next_year
    )
}
