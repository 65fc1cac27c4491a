//! The times of a fortnight at which something happens; the clock is set from one to the next.

use touchline_fx_days::{Date, Timestamp, zone};

/// A time to trade at.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    pub what: &'static str,
    /// Nanoseconds since 1970.
    pub from_ns: u64,
    /// A day begins, or a session begins or ends, in between.
    pub until_ns: u64,
}

/// First day, Friday. The change of time in New York is on the Sunday behind it, 3 November is a holiday in Tokyo, 11 November in New
/// York.
const FIRST: &str = "2026-10-30";
/// The day whose hours are traded begins in this evening, a Monday.
const FIRST_HOURS: &str = "2026-11-02";
const HOUR_NS: u64 = 3_600_000_000_000;
/// Days of a fortnight with trading.
pub const DAYS: usize = 10;

/// Sessions begin, Auckland's day begins, and New York's day and the sessions end, on each day; at last they begin once more.
pub fn stops(days: usize) -> Vec<Stop> {
    let mut day: Date = FIRST.parse().expect("a date");
    let mut stops = Vec::new();
    let mut evening = day.yesterday().expect("a date");
    for _ in 0..days {
        stops.push(begin(evening));
        let roll = instant("Pacific/Auckland", day.tomorrow().expect("a date"), [7, 0]);
        stops.push(around("auckland", roll, [4, 3]));
        let roll = instant("America/New_York", day, [17, 0]);
        stops.push(around("end", roll, [12, 4]));
        let is_friday = day.weekday().to_monday_one_offset() == 5;
        let ahead = if is_friday { 3 } else { 1 };
        for _ in 0..ahead {
            evening = day;
            day = day.tomorrow().expect("a date");
        }
    }
    stops.push(begin(evening));
    stops
}

/// The full hours of a day, and the one that ends it: sessions and New York's day end in the first and in the last, Auckland's day begins
/// in between.
pub fn hours(count: usize, trade_s: u64) -> Vec<Stop> {
    let first = instant(
        "America/New_York",
        FIRST_HOURS.parse().expect("a date"),
        [17, 0],
    );
    let hour = |number| {
        around(
            "hour",
            first + number * HOUR_NS,
            [trade_s / 2, trade_s - trade_s / 2],
        )
    };
    (0..=count as u64).map(hour).collect()
}

/// Sessions begin at 17:04.
fn begin(evening: Date) -> Stop {
    around(
        "begin",
        instant("America/New_York", evening, [17, 4]),
        [2, 4],
    )
}

fn around(what: &'static str, at_ns: u64, [before_s, after_s]: [u64; 2]) -> Stop {
    Stop {
        what,
        from_ns: at_ns - before_s * 1_000_000_000,
        until_ns: at_ns + after_s * 1_000_000_000,
    }
}

fn instant(name: &str, date: Date, [hour, minute]: [i8; 2]) -> u64 {
    let zone = zone(name).expect("a zone");
    let at: Timestamp = zone
        .to_timestamp(date.at(hour, minute, 0, 0))
        .expect("one instant");
    u64::try_from(at.as_nanosecond()).expect("after 1970")
}
