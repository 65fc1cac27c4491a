//! Trade dates of instants: the day of all rows turns at 17:00 in New York.

use std::collections::HashMap;
use touchline_fx_days::{NzdRoll, Pair, Timestamp, digits, trade_date};

/// Trade date, `YYYYMMDD`.
pub type Day = u32;

const HOUR_NS: u64 = 3_600_000_000_000;

/// Trade dates by the hour: the day turns at a whole hour.
#[derive(Debug, Default)]
pub struct TradeDays {
    by_hour: HashMap<u64, Option<Day>>,
}

impl TradeDays {
    /// Trade date of an instant; none of 0, and of one beyond the calendar.
    pub fn of(&mut self, at_ns: u64) -> Option<Day> {
        if at_ns == 0 {
            return None;
        }
        let hour = at_ns / HOUR_NS;
        *self.by_hour.entry(hour).or_insert_with(|| {
            // All pairs of a report have one day: a desk files one report of a day.
            let pair = Pair::read("EUR/USD").ok()?;
            let at = Timestamp::from_nanosecond(i128::from(hour) * i128::from(HOUR_NS)).ok()?;
            digits(trade_date(&pair, at, NzdRoll::NewYork)).parse().ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The day turns at 17:00 in New York, in winter and in summer, and a weekend belongs to Monday.
    #[test]
    fn a_day_turns_at_17_in_new_york() {
        let mut days = TradeDays::default();
        for (instant, day) in [
            ("2026-01-05T21:59:59.999999999Z", 20_260_105),
            ("2026-01-05T22:00:00Z", 20_260_106),
            ("2026-03-06T21:30:00Z", 20_260_306),
            ("2026-03-09T20:59:59Z", 20_260_309),
            ("2026-03-09T21:00:00Z", 20_260_310),
            ("2026-01-09T22:00:00Z", 20_260_112),
            ("2026-01-10T12:00:00Z", 20_260_112),
            ("2026-01-11T22:30:00Z", 20_260_112),
        ] {
            let at: Timestamp = instant.parse().expect("an instant");
            let at_ns = u64::try_from(at.as_nanosecond()).expect("after 1970");
            assert_eq!(days.of(at_ns), Some(day), "{instant}");
        }
        assert_eq!(days.of(0), None);
    }
}
