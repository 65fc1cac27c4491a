//! Holidays of ten currencies by rule: one table, and the days that it gives for a year.

use jiff::ToSpan as _;
use jiff::civil::{Date, Weekday, date};
use std::collections::BTreeSet;

/// First and last year for which the rules hold.
pub const YEARS: std::ops::RangeInclusive<i16> = 2024..=2030;

/// When a holiday falls, before it moves.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// Month and day.
    On(i8, i8),
    /// The n-th weekday of a month.
    Nth(i8, Weekday, i8),
    /// The last weekday of a month.
    Last(Weekday, i8),
    /// Days after Easter Sunday.
    Easter(i32),
    /// The Monday nearest a day.
    MondayNearest(i8, i8),
    /// The first of a weekday from a day on.
    From(Weekday, i8, i8),
    /// March's equinox in Tokyo.
    Spring,
    /// September's equinox in Tokyo.
    Autumn,
    /// Matariki, of which the law has a list.
    Matariki,
}

/// What a holiday on a weekend does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moves {
    /// It is lost.
    Never,
    /// A Saturday or a Sunday moves to Monday.
    ToMonday,
    /// A Sunday moves to Monday, a Saturday is lost.
    SundayToMonday,
    /// It moves to the next weekday that is not taken by the other one.
    Pair,
    /// A Sunday moves to the next day without a national holiday; a day between two national holidays is one.
    National,
}

use Moves::{National, Never, Pair, SundayToMonday, ToMonday};
use Rule::{Autumn, Easter, From, Last, Matariki, MondayNearest, Nth, On, Spring};
use Weekday::{Friday, Monday, Thursday};

const GOOD_FRIDAY: (Rule, Moves) = (Easter(-2), Never);
const EASTER_MONDAY: (Rule, Moves) = (Easter(1), Never);
const CHRISTMAS: [(Rule, Moves); 2] = [(On(12, 25), Pair), (On(12, 26), Pair)];

type Table = &'static [(Rule, Moves)];

/// Banks of the United States: Federal Reserve.
const USD: Table = &[
    (On(1, 1), SundayToMonday),
    (Nth(3, Monday, 1), Never),
    (Nth(3, Monday, 2), Never),
    (Last(Monday, 5), Never),
    (On(6, 19), SundayToMonday),
    (On(7, 4), SundayToMonday),
    (Nth(1, Monday, 9), Never),
    (Nth(2, Monday, 10), Never),
    (On(11, 11), SundayToMonday),
    (Nth(4, Thursday, 11), Never),
    (On(12, 25), SundayToMonday),
];
/// TARGET.
const EUR: Table = &[
    (On(1, 1), Never),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(5, 1), Never),
    (On(12, 25), Never),
    (On(12, 26), Never),
];
/// England.
const GBP: Table = &[
    (On(1, 1), ToMonday),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (Nth(1, Monday, 5), Never),
    (Last(Monday, 5), Never),
    (Last(Monday, 8), Never),
    CHRISTMAS[0],
    CHRISTMAS[1],
];
/// Banks of Tokyo: the national holidays, and the days around the new year.
const JPY: Table = &[
    (On(1, 1), National),
    (On(1, 2), Never),
    (On(1, 3), Never),
    (Nth(2, Monday, 1), National),
    (On(2, 11), National),
    (On(2, 23), National),
    (Spring, National),
    (On(4, 29), National),
    (On(5, 3), National),
    (On(5, 4), National),
    (On(5, 5), National),
    (Nth(3, Monday, 7), National),
    (On(8, 11), National),
    (Nth(3, Monday, 9), National),
    (Autumn, National),
    (Nth(2, Monday, 10), National),
    (On(11, 3), National),
    (On(11, 23), National),
    (On(12, 31), Never),
];
/// Banks of Zurich.
const CHF: Table = &[
    (On(1, 1), Never),
    (On(1, 2), Never),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(5, 1), Never),
    (Easter(39), Never),
    (Easter(50), Never),
    (On(8, 1), Never),
    (On(12, 25), Never),
    (On(12, 26), Never),
];
/// Banks of Sydney.
const AUD: Table = &[
    (On(1, 1), ToMonday),
    (On(1, 26), ToMonday),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(4, 25), Never),
    (Nth(2, Monday, 6), Never),
    (Nth(1, Monday, 8), Never),
    (Nth(1, Monday, 10), Never),
    CHRISTMAS[0],
    CHRISTMAS[1],
];
/// Auckland and Wellington.
const NZD: Table = &[
    (On(1, 1), Pair),
    (On(1, 2), Pair),
    (MondayNearest(1, 22), Never),
    (MondayNearest(1, 29), Never),
    (On(2, 6), ToMonday),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(4, 25), ToMonday),
    (Nth(1, Monday, 6), Never),
    (Matariki, Never),
    (Nth(4, Monday, 10), Never),
    CHRISTMAS[0],
    CHRISTMAS[1],
];
/// Toronto.
const CAD: Table = &[
    (On(1, 1), ToMonday),
    (Nth(3, Monday, 2), Never),
    GOOD_FRIDAY,
    // The Monday before 25 May.
    (From(Monday, 5, 18), Never),
    (On(7, 1), ToMonday),
    (Nth(1, Monday, 8), Never),
    (Nth(1, Monday, 9), Never),
    (On(9, 30), ToMonday),
    (Nth(2, Monday, 10), Never),
    (On(11, 11), ToMonday),
    CHRISTMAS[0],
    CHRISTMAS[1],
];
const SEK: Table = &[
    (On(1, 1), Never),
    (On(1, 6), Never),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(5, 1), Never),
    (Easter(39), Never),
    (On(6, 6), Never),
    (From(Friday, 6, 19), Never),
    (On(12, 24), Never),
    (On(12, 25), Never),
    (On(12, 26), Never),
    (On(12, 31), Never),
];
const NOK: Table = &[
    (On(1, 1), Never),
    (Easter(-3), Never),
    GOOD_FRIDAY,
    EASTER_MONDAY,
    (On(5, 1), Never),
    (On(5, 17), Never),
    (Easter(39), Never),
    (Easter(50), Never),
    (On(12, 25), Never),
    (On(12, 26), Never),
];

/// Currencies with rules.
pub const CURRENCIES: [&str; 10] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "AUD", "NZD", "CAD", "SEK", "NOK",
];

const MATARIKI: [(i8, i8); 7] = [(6, 28), (6, 20), (7, 10), (6, 25), (7, 14), (7, 6), (6, 21)];

/// Holidays of a currency in a year of [`YEARS`] on weekdays; `None` for a currency without rules.
pub fn holidays(currency: &str, year: i16) -> Option<BTreeSet<Date>> {
    let table = match currency {
        "USD" => USD,
        "EUR" => EUR,
        "GBP" => GBP,
        "JPY" => JPY,
        "CHF" => CHF,
        "AUD" => AUD,
        "NZD" => NZD,
        "CAD" => CAD,
        "SEK" => SEK,
        "NOK" => NOK,
        _ => return None,
    };
    let mut days = BTreeSet::new();
    for moves in [Never, ToMonday, SundayToMonday, Pair, National] {
        let rules = table.iter().filter(|(_, is)| *is == moves);
        let dates: Vec<Date> = rules.map(|(rule, _)| rule.date(year)).collect();
        match moves {
            Never => days.extend(dates),
            ToMonday | SundayToMonday => days.extend(dates.into_iter().map(|day| moves.of(day))),
            Pair => days.extend(pairs(&dates)),
            National => days.extend(national(&dates)),
        }
    }
    days.retain(|day| !is_weekend(*day));
    Some(days)
}

impl Rule {
    fn date(self, year: i16) -> Date {
        match self {
            On(month, day) => date(year, month, day),
            Nth(n, weekday, month) => {
                let first = date(year, month, 1).nth_weekday_of_month(n, weekday);
                first.expect("each month has four of each weekday")
            }
            Last(weekday, month) => {
                let last = date(year, month, 1).nth_weekday_of_month(-1, weekday);
                last.expect("each month has four of each weekday")
            }
            Easter(days) => plus(easter(year), days),
            MondayNearest(month, day) => from(Monday, plus(date(year, month, day), -3)),
            From(weekday, month, day) => from(weekday, date(year, month, day)),
            Spring => date(year, 3, equinox(year, 20.843_1)),
            Autumn => date(year, 9, equinox(year, 23.248_8)),
            Matariki => {
                let (month, day) = MATARIKI[usize::try_from(year - *YEARS.start())
                    .expect("a calendar is asked for a year of the rules")];
                date(year, month, day)
            }
        }
    }
}

impl Moves {
    fn of(self, day: Date) -> Date {
        match (self, day.weekday()) {
            (ToMonday, Weekday::Saturday) => plus(day, 2),
            // mutant: fx days: the Federal Reserve closes on the Friday before
            (ToMonday | SundayToMonday, Weekday::Sunday) => plus(day, 1),
            _ => day,
        }
    }
}

pub fn is_weekend(day: Date) -> bool {
    matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// A day some days later.
pub fn plus(day: Date, days: i32) -> Date {
    day.checked_add(days.days())
        .expect("calendars end long before the last date")
}

/// The first of a weekday from a day on.
fn from(weekday: Weekday, day: Date) -> Date {
    plus(day, i32::from(weekday.since(day.weekday())))
}

/// Those on a weekend move to the next weekday that is not taken.
fn pairs(days: &[Date]) -> BTreeSet<Date> {
    let (moving, standing): (Vec<Date>, Vec<Date>) = days.iter().partition(|day| is_weekend(**day));
    let mut taken = BTreeSet::from_iter(standing);
    for mut day in moving {
        while is_weekend(day) || taken.contains(&day) {
            day = plus(day, 1);
        }
        taken.insert(day);
    }
    taken
}

fn national(days: &[Date]) -> BTreeSet<Date> {
    let of_law: BTreeSet<Date> = days.iter().copied().collect();
    let mut all = of_law.clone();
    for day in &of_law {
        if day.weekday() == Weekday::Sunday {
            let mut instead = plus(*day, 1);
            while of_law.contains(&instead) {
                instead = plus(instead, 1);
            }
            all.insert(instead);
        }
        if of_law.contains(&plus(*day, 2)) {
            all.insert(plus(*day, 1));
        }
    }
    all
}

/// Day of an equinox in Tokyo, by the approximation of the almanac for 1980 to 2099.
fn equinox(year: i16, base: f64) -> i8 {
    let years = f64::from(year) - 1_980.0;
    (base + 0.242_194 * years - (years / 4.0).floor()).floor() as i8
}

/// Easter Sunday of the Gregorian calendar (Meeus, Jones and Butcher).
fn easter(year: i16) -> Date {
    let year = i32::from(year);
    let (a, b, c) = (year % 19, year / 100, year % 100);
    let (d, e) = (b / 4, b % 4);
    let g = (8 * b + 13) / 25;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 19 * l) / 433;
    let month = (h + l - 7 * m + 90) / 25;
    let day = (h + l - 7 * m + 33 * month + 19) % 32;
    date(year as i16, month as i8, day as i8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easter_is_that_of_the_table() {
        let expected = [(3, 31), (4, 20), (4, 5), (3, 28), (4, 16), (4, 1), (4, 21)];
        for (year, (month, day)) in YEARS.zip(expected) {
            assert_eq!(easter(year), date(year, month, day), "{year}");
        }
    }

    #[test]
    fn each_currency_has_holidays_on_weekdays_of_its_year() {
        for currency in CURRENCIES {
            for year in YEARS {
                let days = holidays(currency, year).unwrap();
                assert!((3..25).contains(&days.len()), "{currency} {year}: {days:?}");
                assert!(days.iter().all(|day| !is_weekend(*day)));
            }
        }
        assert_eq!(holidays("MXN", 2026), None);
    }
}
