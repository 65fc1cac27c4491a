//! Whether a value date has passed: by New York's date, which turns at 17:00 New York time, as the date of FX deals does.

use touchline_fx_days::{Date, Timestamp, new_york_date};

/// A `date` of more than this many days ago is not one that somebody forgot to change yesterday.
const LONG_AGO_DAYS: i64 = 7;
/// Longest distance of a spot date from its trading day, with holidays.
const SPOT_DAYS_MAX: i64 = 14;

/// New York's date at a time, as days since 1970; nanoseconds since 1970 UTC.
fn new_york_day(at_ns: u64) -> i64 {
    let at = Timestamp::from_nanosecond(i128::from(at_ns));
    number(new_york_date(at.unwrap_or_default()))
}

/// A date `YYYYMMDD` as days since 1970; none if it does not exist.
fn day_of(date: u32) -> Option<i64> {
    let date = Date::strptime("%Y%m%d", date.to_string());
    date.ok().map(number)
}

/// Days since 1970.
fn number(date: Date) -> i64 {
    (date - Date::constant(1_970, 1, 1)).get_days().into()
}

/// Day that value dates are compared with: New York's date, or that of a rehearsal, which goes on with New York's while it runs.
#[derive(Debug, Clone, Copy)]
pub struct ValueDates {
    /// The day of the configuration, and its distance behind New York's at the start, in days.
    own: Option<(i64, i64)>,
}

impl ValueDates {
    /// New York's date.
    pub const TODAY: ValueDates = ValueDates { own: None };

    /// The `date` of a rehearsal that starts now, `YYYYMMDD`.
    pub fn of_rehearsal(date: &str, now_ns: u64) -> ValueDates {
        let day = date.parse().ok().and_then(day_of);
        let own = day.map(|day| (day, new_york_day(now_ns) - day));
        ValueDates { own }
    }

    /// Whether the day was more than a week ago at the start.
    pub fn is_long_ago(&self) -> bool {
        self.own.is_some_and(|(_, behind)| behind > LONG_AGO_DAYS)
    }

    /// Whether a spot date, `YYYYMMDD`, has passed, or does not exist.
    pub fn has_passed(&self, spot_date: u32, now_ns: u64) -> bool {
        let Some(spot) = day_of(spot_date) else {
            return true;
        };
        let behind = match self.own {
            // Another date is not one of that day.
            Some((day, behind)) if (0..=SPOT_DAYS_MAX).contains(&(spot - day)) => behind,
            _ => 0,
        };
        // mutant: execution: a spot date passes a day late
        spot < new_york_day(now_ns) - behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Nanoseconds of a time of a day, UTC.
    fn utc(date: u32, hour: u64, minute: u64) -> u64 {
        (day_of(date).expect("a date") as u64 * 86_400 + hour * 3_600 + minute * 60) * SECOND_NS
    }

    #[test]
    fn new_yorks_date_turns_at_17_in_summer_and_winter() {
        assert_eq!(day_of(19_700_101), Some(0));
        assert_eq!(day_of(20_000_301), Some(11_017));
        assert_eq!(day_of(20_260_230), None);
        for (date, hour, minute, expected) in [
            (20_260_107, 21, 59, 20_260_107),
            (20_260_107, 22, 0, 20_260_108),
            (20_260_701, 20, 59, 20_260_701),
            (20_260_701, 21, 0, 20_260_702),
            // Daylight saving time begins on 8 March and ends on 1 November 2026.
            (20_260_307, 21, 30, 20_260_307),
            (20_260_308, 21, 30, 20_260_309),
            (20_261_031, 21, 30, 20_261_101),
            (20_261_101, 21, 30, 20_261_101),
            (20_261_101, 22, 0, 20_261_102),
            (20_271_231, 23, 59, 20_280_101),
            (20_280_228, 23, 0, 20_280_229),
        ] {
            let day = new_york_day(utc(date, hour, minute));
            assert_eq!(Some(day), day_of(expected), "{date} {hour}:{minute}");
        }
    }

    #[test]
    fn a_spot_date_passes_when_new_yorks_date_is_behind_it() {
        let dates = ValueDates::TODAY;
        assert!(!dates.has_passed(20_260_107, utc(20_260_107, 21, 59)));
        assert!(dates.has_passed(20_260_107, utc(20_260_107, 22, 0)));
        assert!(dates.has_passed(20_200_103, utc(20_260_107, 12, 0)));
    }

    #[test]
    fn a_day_is_long_ago_after_a_week() {
        for (day, is_long_ago) in [(12, false), (13, true)] {
            let dates = ValueDates::of_rehearsal("20260105", utc(20_260_100 + day, 12, 0));
            assert_eq!(dates.is_long_ago(), is_long_ago, "{day}");
        }
        assert!(!ValueDates::TODAY.is_long_ago());
    }

    /// Simulated banks with a day of long ago: the day of the configuration goes on with the clock.
    #[test]
    fn a_rehearsal_is_judged_by_its_own_day() {
        let start = utc(20_261_126, 12, 0);
        let dates = ValueDates::of_rehearsal("20260105", start);
        for days in 0..3 {
            let at = start + days * 86_400 * SECOND_NS;
            assert!(!dates.has_passed(20_260_107, at), "{days}");
        }
        assert!(dates.has_passed(20_260_107, utc(20_261_128, 22, 0)));
        assert!(dates.has_passed(20_260_104, start), "before its own day");
        // Yesterday's date beside a day of long ago is a mistake.
        assert!(dates.has_passed(20_261_125, start));
        assert!(!dates.has_passed(20_261_127, start));
    }
}
