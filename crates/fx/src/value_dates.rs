//! Whether a value date has passed: by New York's date, which turns at 17:00 New York time, as the date of FX deals does.

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;
/// From 17:00 on the date is the next day's.
const TURN_S: i64 = 7 * HOUR_S;
/// A `date` of more than this many days ago is not one that somebody forgot to change yesterday.
const LONG_AGO_DAYS: i64 = 7;
/// Longest distance of a spot date from its trading day, with holidays.
const SPOT_DAYS_MAX: i64 = 14;

/// New York's date at a time, as days since 1970; nanoseconds since 1970 UTC.
pub fn new_york_day(at_ns: u64) -> i64 {
    let at_s = (at_ns / SECOND_NS) as i64;
    let offset_s = if is_daylight(at_s) { -4 } else { -5 } * HOUR_S;
    (at_s + offset_s + TURN_S).div_euclid(DAY_S)
}

/// A date `YYYYMMDD` as days since 1970.
pub fn day_of(date: u32) -> i64 {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    day_of_civil(i64::from(year), i64::from(month), i64::from(day))
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
        let day = date.parse().ok().map(day_of);
        let own = day.map(|day| (day, new_york_day(now_ns) - day));
        ValueDates { own }
    }

    /// Whether the day was more than a week ago at the start.
    pub fn is_long_ago(&self) -> bool {
        self.own.is_some_and(|(_, behind)| behind > LONG_AGO_DAYS)
    }

    /// Whether a spot date, `YYYYMMDD`, has passed.
    pub fn has_passed(&self, spot_date: u32, now_ns: u64) -> bool {
        let spot = day_of(spot_date);
        let behind = match self.own {
            // Another date is not one of that day.
            Some((day, behind)) if (0..=SPOT_DAYS_MAX).contains(&(spot - day)) => behind,
            _ => 0,
        };
        // mutant: fx: a spot date passes a day late
        spot < new_york_day(now_ns) - behind
    }
}

/// Whether New York has daylight saving time: from the second Sunday of March to the first one of November, 02:00 each.
fn is_daylight(at_s: i64) -> bool {
    let mut year = 1_970 + at_s.div_euclid(DAY_S) / 366;
    while day_of_civil(year + 1, 1, 1) * DAY_S <= at_s {
        year += 1;
    }
    let begin_s = sunday(year, 3, 8) * DAY_S + 7 * HOUR_S;
    let end_s = sunday(year, 11, 1) * DAY_S + 6 * HOUR_S;
    (begin_s..end_s).contains(&at_s)
}

/// The first Sunday from a day on.
fn sunday(year: i64, month: i64, day: i64) -> i64 {
    let day = day_of_civil(year, month, day);
    // 4 January 1970 was a Sunday.
    day + (3 - day).rem_euclid(7)
}

/// Days since 1970 of a day of the Gregorian calendar.
fn day_of_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nanoseconds of a time of a day, UTC.
    fn utc(date: u32, hour: u64, minute: u64) -> u64 {
        (day_of(date) as u64 * 86_400 + hour * 3_600 + minute * 60) * SECOND_NS
    }

    #[test]
    fn new_yorks_date_turns_at_17_in_summer_and_winter() {
        assert_eq!(day_of(19_700_101), 0);
        assert_eq!(day_of(20_000_301), 11_017);
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
            assert_eq!(day, day_of(expected), "{date} {hour}:{minute}");
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
