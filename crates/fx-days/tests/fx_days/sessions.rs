//! Sessions: the seconds around their starts and ends, and both changes of time.

use touchline_fx_days::{Days, Schedule, ScheduleError, Weekday, digits};

/// Zone, start, end, days, instant in UTC, session.
type Example = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const EXAMPLES: &[Example] = &[
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-03-08T21:03:59Z",
        None,
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-03-08T21:04:00Z",
        Some("20260308"),
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-03-09T20:59:59Z",
        Some("20260308"),
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-03-09T21:00:00Z",
        None,
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-11-01T22:04:00Z",
        Some("20261101"),
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-11-06T22:00:00Z",
        None,
    ),
    (
        "America/New_York",
        "17:04",
        "17:00",
        "SUN MON TUE WED THU",
        "2026-11-07T12:00:00Z",
        None,
    ),
    (
        "Europe/London",
        "22:05",
        "22:00",
        "SUN MON TUE WED THU",
        "2026-03-15T22:05:00Z",
        Some("20260315"),
    ),
    (
        "Europe/London",
        "22:05",
        "22:00",
        "SUN MON TUE WED THU",
        "2026-03-29T21:05:00Z",
        Some("20260329"),
    ),
    (
        "Europe/London",
        "01:30",
        "23:00",
        "SUN",
        "2026-03-29T00:59:59Z",
        None,
    ),
    (
        "Europe/London",
        "01:30",
        "23:00",
        "SUN",
        "2026-03-29T01:00:00Z",
        Some("20260329"),
    ),
    (
        "Europe/London",
        "01:30",
        "23:00",
        "SUN",
        "2026-10-25T00:30:00Z",
        Some("20261025"),
    ),
    (
        "Pacific/Auckland",
        "07:00",
        "06:59",
        "MON TUE WED THU FRI",
        "2026-04-05T19:00:00Z",
        Some("20260406"),
    ),
    (
        "Pacific/Auckland",
        "07:00",
        "06:59",
        "MON TUE WED THU FRI",
        "2026-04-05T18:59:59Z",
        None,
    ),
    (
        "Asia/Tokyo",
        "07:00",
        "06:00",
        "MON TUE WED THU FRI",
        "2026-07-19T22:00:00Z",
        Some("20260720"),
    ),
];

fn schedule(zone: &str, start: &str, end: &str, days: &str) -> Result<Schedule, ScheduleError> {
    Schedule::new(zone, start, end, Days::read(days)?)
}

#[test]
fn sessions_are_those_of_the_examples() {
    for (zone, start, end, days, at, session) in EXAMPLES {
        let schedule = schedule(zone, start, end, days).unwrap();
        let found = schedule.session(at.parse().unwrap()).map(digits);
        assert_eq!(found.as_deref(), *session, "{zone} {start} {end} {at}");
    }
}

/// From Sunday evening to Friday evening.
#[test]
fn one_session_a_week_has_the_date_of_its_start() {
    let days = Days::Week {
        start: Weekday::Sunday,
        end: Weekday::Friday,
    };
    let schedule = Schedule::new("America/New_York", "17:00", "16:30:30", days).unwrap();
    for (at, session) in [
        ("2026-01-04T21:59:59Z", None),
        ("2026-01-04T22:00:00Z", Some("20260104")),
        ("2026-01-09T21:30:29Z", Some("20260104")),
        ("2026-01-09T21:30:30Z", None),
    ] {
        let found = schedule.session(at.parse().unwrap()).map(digits);
        assert_eq!(found.as_deref(), session, "{at}");
    }
    let (next, _) = schedule
        .next("2026-01-09T21:30:30Z".parse().unwrap())
        .unwrap();
    assert_eq!(digits(next), "20260111");
}

/// A session whose end is its start lasts a week.
#[test]
fn a_week_that_ends_as_it_begins_has_no_pause() {
    let days = Days::Week {
        start: Weekday::Sunday,
        end: Weekday::Sunday,
    };
    let schedule = Schedule::new("Asia/Tokyo", "07:00", "07:00", days).unwrap();
    let session = |at: &str| schedule.session(at.parse().unwrap()).map(digits).unwrap();
    assert_eq!(session("2026-01-10T21:59:59Z"), "20260104");
    assert_eq!(session("2026-01-10T22:00:00Z"), "20260111");
}

#[test]
fn wrong_hours_are_refused_with_their_cure() {
    for (zone, start, end, days, part) in [
        ("America/Newyork", "17:04", "17:00", "SUN", "IANA name"),
        ("America/New_York", "17.04", "17:00", "SUN", "HH:MM"),
        ("America/New_York", "24:00", "17:00", "SUN", "HH:MM"),
        ("America/New_York", "17:04", "7:00", "SUN", "HH:MM"),
        (
            "America/New_York",
            "17:04",
            "17:00",
            "Sunday",
            "day of the week",
        ),
        ("America/New_York", "17:04", "17:00", "SUN,SUN", "twice"),
        ("America/New_York", "17:04", "17:00", "", "needs a day"),
    ] {
        let error = schedule(zone, start, end, days).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A start that comes twice is the first one, an end that comes twice too: a day of 24 hours has no overlap.
#[test]
fn days_without_a_pause_do_not_overlap_at_changes_of_time() {
    for (zone, time) in [
        ("America/New_York", "01:30"),
        ("America/New_York", "02:30"),
        ("Europe/London", "01:30"),
        ("Pacific/Auckland", "02:30"),
    ] {
        schedule(zone, time, time, "MON,TUE,WED,THU,FRI,SAT,SUN").unwrap();
    }
}
