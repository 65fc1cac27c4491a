//! Dates and times of day, as a person writes them (ISO 8601, UTC).

use core::fmt;

/// A moment in nanoseconds since 1970-01-01 UTC, printed as `2022-08-01T15:31:10.041719045Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime(pub u64);

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_time(f, self.0)
    }
}

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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{UtcTime, write_date};
    use core::fmt;
    use std::string::{String, ToString};

    struct Date(u64);

    impl fmt::Display for Date {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_date(f, self.0)
        }
    }

    /// Every day from 1970 to the last year that 64 bits of nanoseconds reach, counted by hand.
    #[test]
    fn consecutive_day_numbers_are_consecutive_dates() {
        let mut days = 0;
        for year in 1970..=2554 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = if leap { 29 } else { 28 };
            for (month, length) in (1..).zip([31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
            {
                for day in 1..=length {
                    let expected = std::format!("{year:04}-{month:02}-{day:02}");
                    assert_eq!(Date(days).to_string(), expected);
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn times_are_exact() {
        let cases: [(u64, &str); 4] = [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (86_399_999_999_999, "1970-01-01T23:59:59.999999999Z"),
            (1_709_210_096_000_000_007, "2024-02-29T12:34:56.000000007Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ];
        for (time_ns, expected) in cases {
            let printed: String = UtcTime(time_ns).to_string();
            assert_eq!(printed, expected);
        }
    }
}
