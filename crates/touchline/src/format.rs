//! Numbers, durations and times as text.

use std::time::Duration;
use touchline_wire::sbe::UtcTime;

pub use touchline_client::words::{count, counted};

/// A duration in a suitable unit: `812 ns`, `1.23 µs`, `45.6 ms`, `7.89 s`.
pub fn duration(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let Some((unit_ns, unit)) = UNITS.into_iter().find(|(unit_ns, _)| ns >= *unit_ns) else {
        return format!("{ns} ns");
    };
    let value = ns as f64 / unit_ns as f64;
    let places = match value {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.places$} {unit}")
}

/// A time with a unit: us, ms or s.
pub fn time(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let found = units.iter().find_map(|(unit, length)| {
        let number = text.strip_suffix(unit)?.parse::<f64>().ok()?;
        (0.0..=3600.0).contains(&number).then_some(number * length)
    });
    found
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "give a time, such as 200us or 1ms".to_owned())
}

/// An age as a duration, or in days if it is long.
pub fn age(ns: u64) -> String {
    const DAY_NS: u64 = 86_400 * 1_000_000_000;
    match ns / DAY_NS {
        0..2 => duration(ns),
        days => format!("{} days", count(days)),
    }
}

/// A maturity as a date; the month where the day is 0, and the year where the month is 0 as well.
pub fn maturity(yyyymmdd: u32) -> String {
    let (year, month, day) = (yyyymmdd / 10_000, yyyymmdd / 100 % 100, yyyymmdd % 100);
    match (month, day) {
        (0, _) => format!("{year:04}"),
        (_, 0) => format!("{year:04}-{month:02}"),
        _ => format!("{year:04}-{month:02}-{day:02}"),
    }
}

/// A Unix time in nanoseconds as date and time in UTC.
pub fn utc(unix_ns: u64) -> String {
    UtcTime(unix_ns).to_string()
}

/// The end of a closed session: date and time in UTC, to the minute; none is known behind the last time that there is.
pub fn until(unix_ns: u64) -> String {
    let time = UtcTime(unix_ns).to_string();
    match (time.get(..10), time.get(11..16)) {
        (Some(date), Some(time)) if unix_ns != u64::MAX => format!("{date} {time} UTC"),
        _ => "further notice".to_owned(),
    }
}

/// The UTC time of day of a Unix time in nanoseconds; empty for 0.
pub fn time_of_day(unix_ns: u64) -> String {
    let time = UtcTime(unix_ns).to_string();
    let time = time.get(11..29).filter(|_| unix_ns != 0);
    time.unwrap_or_default().to_owned()
}

/// An age for a screen: `now`, `0.4 s`, `12 s`, `3 min`, `5 h`, `6 d`.
pub fn ago(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0 if age < Duration::from_millis(100) => "now".to_owned(),
        0..10 => format!("{:.1} s", age.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Bytes in a suitable unit: `812 bytes`, `64.0 KiB`, `16.0 MiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => counted(bytes, "byte"),
    }
}

/// A share in per cent: `45.2 %`; `-` of zero.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// A rate: `1,234,567/s`; `-` for a duration of zero.
pub fn rate(number: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "-".to_owned();
    }
    format!("{}/s", count((number as f64 / seconds) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("200us"), Ok(Duration::from_micros(200)));
        assert_eq!(time("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(time("2s"), Ok(Duration::from_secs(2)));
        assert!(
            ["", "ms", "1", "-1ms", "nans"]
                .iter()
                .all(|text| time(text).is_err())
        );
    }

    #[test]
    fn numbers_durations_and_sizes_are_formatted() {
        let counts = [0, 12, 999, 1_000, 1_234_567, 100_000].map(count);
        assert_eq!(counts, ["0", "12", "999", "1,000", "1,234,567", "100,000"]);
        assert_eq!(
            [counted(1, "gap"), counted(2_000, "gap")],
            ["1 gap", "2,000 gaps"]
        );
        let durations = [0, 999, 1_234, 45_600, 789_000_000, 61_000_000_000].map(duration);
        assert_eq!(
            durations,
            ["0 ns", "999 ns", "1.23 µs", "45.6 µs", "789 ms", "61.0 s"]
        );
        let ages = [12, 400, 59_999, 61_000, 7_200_000, 200_000_000];
        let ages = ages.map(|ms| ago(Duration::from_millis(ms)));
        assert_eq!(ages, ["now", "0.4 s", "59 s", "1 min", "2 h", "2 d"]);
        assert_eq!(age(61_000_000_000), "61.0 s");
        assert_eq!(age(3 * 86_400_000_000_000), "3 days");
        let sizes = [1, 812, 65_536, 1 << 24, 3 << 30].map(bytes);
        assert_eq!(
            sizes,
            ["1 byte", "812 bytes", "64.0 KiB", "16.0 MiB", "3.0 GiB"]
        );
        assert_eq!([share(1, 8), share(1, 0)], ["12.5 %", "-"]);
        assert_eq!([rate(3_000, 2.0), rate(1, 0.0)], ["1,500/s", "-"]);
    }
}
