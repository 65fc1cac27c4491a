//! Whether a value date has passed: by New York's date, which turns at 17:00 New York time, as the date of FX deals does.

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;
/// From 17:00 on the date is that of the next day.
const TURN_S: i64 = 7 * HOUR_S;
/// A configuration whose `date` is older than this many days is not one that somebody forgot to change yesterday.
const REHEARSAL_DAYS: i64 = 7;
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

/// What value dates of a configuration are compared with.
///
/// That is New York's date. A rehearsal is compared with its own `date`, moved on by the days that New York's date moves on while it
/// runs: all its banks are on this host, and it states a `date` that is more than a week old, so that recorded and simulated days can
/// be traded.
#[derive(Debug, Clone, Copy)]
pub struct ValueDates {
    /// The `date` of a rehearsal, and how far it lies behind New York's at the start; days.
    rehearsal: Option<(i64, i64)>,
}

impl ValueDates {
    /// For a configuration with this `date`, whose banks are all on this host or not, started now.
    pub fn new(date: &str, is_on_this_host: bool, now_ns: u64) -> ValueDates {
        let day = date.parse().ok().map(day_of);
        let behind = day.map(|day| (day, new_york_day(now_ns) - day));
        ValueDates {
            rehearsal: behind.filter(|(_, behind)| is_on_this_host && *behind > REHEARSAL_DAYS),
        }
    }

    /// Whether it is a rehearsal.
    pub fn is_rehearsal(&self) -> bool {
        self.rehearsal.is_some()
    }

    /// Whether a spot date, `YYYYMMDD`, has passed.
    pub fn has_passed(&self, spot_date: u32, now_ns: u64) -> bool {
        let spot = day_of(spot_date);
        let behind = match self.rehearsal {
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

    /// A real configuration is judged by New York's date, whatever its own says.
    #[test]
    fn a_spot_date_passes_when_new_yorks_date_is_behind_it() {
        let start = utc(20_260_107, 12, 0);
        for (date, is_here) in [("20260107", false), ("20260107", true), ("20200101", false)] {
            let dates = ValueDates::new(date, is_here, start);
            assert!(!dates.is_rehearsal());
            assert!(!dates.has_passed(20_260_107, utc(20_260_107, 21, 59)));
            assert!(
                dates.has_passed(20_260_107, utc(20_260_107, 22, 0)),
                "{date}"
            );
            assert!(dates.has_passed(20_200_103, start));
        }
    }

    /// Simulated banks with a day of long ago: the day of the configuration goes on with the clock.
    #[test]
    fn a_rehearsal_is_judged_by_its_own_day() {
        let start = utc(20_261_126, 12, 0);
        let dates = ValueDates::new("20260105", true, start);
        assert!(dates.is_rehearsal());
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
