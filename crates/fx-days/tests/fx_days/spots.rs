//! Trade dates and spot dates: each exception, both changes of time, and the instants around each roll.

use touchline_fx_days::{
    Calendar, Calendars, CalendarsConfig, NzdRoll, Pair, Spot, digits, trade_date,
};

/// Pair, instant in UTC, trade date, spot date.
const EXAMPLES: &[(&str, &str, &str, &str)] = &[
    ("EUR/USD", "2026-01-05T12:00:00Z", "20260105", "20260107"),
    ("EUR/USD", "2026-01-05T21:59:59Z", "20260105", "20260107"),
    ("EUR/USD", "2026-01-05T22:00:00Z", "20260106", "20260108"),
    ("EUR/USD", "2026-01-09T21:59:59Z", "20260109", "20260113"),
    ("EUR/USD", "2026-01-09T22:00:00Z", "20260112", "20260114"),
    ("EUR/USD", "2026-01-11T22:30:00Z", "20260112", "20260114"),
    ("EUR/USD", "2026-03-06T21:30:00Z", "20260306", "20260310"),
    ("EUR/USD", "2026-03-09T20:59:59Z", "20260309", "20260311"),
    ("EUR/USD", "2026-03-09T21:00:00Z", "20260310", "20260312"),
    ("EUR/USD", "2026-03-20T21:00:00Z", "20260323", "20260325"),
    ("EUR/USD", "2026-10-30T21:00:00Z", "20261102", "20261104"),
    ("EUR/USD", "2026-11-02T21:30:00Z", "20261102", "20261104"),
    ("EUR/USD", "2026-01-16T12:00:00Z", "20260116", "20260120"),
    ("EUR/USD", "2026-01-15T12:00:00Z", "20260115", "20260120"),
    ("USD/JPY", "2026-01-16T12:00:00Z", "20260116", "20260120"),
    ("USD/CAD", "2026-01-16T12:00:00Z", "20260116", "20260120"),
    ("USD/MXN", "2026-01-16T12:00:00Z", "20260116", "20260121"),
    ("USD/MXN", "2026-11-25T12:00:00Z", "20261125", "20261130"),
    ("EUR/USD", "2026-04-01T12:00:00Z", "20260401", "20260407"),
    ("USD/JPY", "2026-04-01T12:00:00Z", "20260401", "20260403"),
    ("GBP/USD", "2026-04-02T12:00:00Z", "20260402", "20260408"),
    ("USD/CAD", "2026-04-02T12:00:00Z", "20260402", "20260406"),
    ("USD/SEK", "2026-03-31T12:00:00Z", "20260331", "20260402"),
    ("USD/NOK", "2026-03-31T12:00:00Z", "20260331", "20260407"),
    ("EUR/NOK", "2026-03-31T12:00:00Z", "20260331", "20260407"),
    ("EUR/SEK", "2026-04-02T12:00:00Z", "20260402", "20260408"),
    ("EUR/USD", "2026-04-29T12:00:00Z", "20260429", "20260504"),
    ("GBP/USD", "2026-04-29T12:00:00Z", "20260429", "20260501"),
    ("GBP/USD", "2026-04-30T12:00:00Z", "20260430", "20260505"),
    ("EUR/GBP", "2026-04-29T12:00:00Z", "20260429", "20260505"),
    ("USD/JPY", "2026-05-01T12:00:00Z", "20260501", "20260508"),
    ("USD/JPY", "2026-04-28T12:00:00Z", "20260428", "20260501"),
    ("EUR/JPY", "2026-04-30T12:00:00Z", "20260430", "20260508"),
    ("USD/JPY", "2026-09-17T12:00:00Z", "20260917", "20260924"),
    ("USD/JPY", "2027-03-18T12:00:00Z", "20270318", "20270323"),
    ("AUD/JPY", "2026-04-27T12:00:00Z", "20260427", "20260430"),
    ("EUR/USD", "2026-07-01T12:00:00Z", "20260701", "20260703"),
    ("EUR/USD", "2027-07-01T12:00:00Z", "20270701", "20270706"),
    ("EUR/USD", "2027-07-02T12:00:00Z", "20270702", "20270706"),
    ("EUR/USD", "2026-06-17T12:00:00Z", "20260617", "20260622"),
    ("EUR/USD", "2027-06-16T12:00:00Z", "20270616", "20270618"),
    ("USD/SEK", "2026-06-17T12:00:00Z", "20260617", "20260622"),
    ("USD/SEK", "2026-01-02T12:00:00Z", "20260102", "20260107"),
    ("USD/CAD", "2026-06-30T12:00:00Z", "20260630", "20260702"),
    ("USD/CAD", "2026-06-30T21:00:00Z", "20260701", "20260702"),
    ("USD/CAD", "2026-07-02T12:00:00Z", "20260702", "20260703"),
    ("USD/CAD", "2026-07-02T21:00:00Z", "20260703", "20260706"),
    ("USD/CAD", "2026-10-09T12:00:00Z", "20261009", "20261013"),
    ("USD/CAD", "2026-11-10T12:00:00Z", "20261110", "20261112"),
    ("USD/CAD", "2028-11-10T12:00:00Z", "20281110", "20281114"),
    ("EUR/USD", "2028-11-09T12:00:00Z", "20281109", "20281113"),
    ("EUR/CAD", "2026-06-29T12:00:00Z", "20260629", "20260702"),
    ("GBP/CAD", "2026-11-09T12:00:00Z", "20261109", "20261112"),
    ("EUR/USD", "2026-11-24T12:00:00Z", "20261124", "20261127"),
    ("EUR/USD", "2026-11-25T12:00:00Z", "20261125", "20261127"),
    ("EUR/GBP", "2026-11-24T12:00:00Z", "20261124", "20261127"),
    ("EUR/GBP", "2026-11-25T12:00:00Z", "20261125", "20261127"),
    ("USD/CAD", "2026-11-25T12:00:00Z", "20261125", "20261127"),
    ("EUR/USD", "2026-12-22T12:00:00Z", "20261222", "20261224"),
    ("EUR/USD", "2026-12-23T12:00:00Z", "20261223", "20261228"),
    ("GBP/USD", "2026-12-23T12:00:00Z", "20261223", "20261229"),
    ("USD/SEK", "2026-12-22T12:00:00Z", "20261222", "20261228"),
    ("USD/SEK", "2026-12-29T12:00:00Z", "20261229", "20270104"),
    ("USD/JPY", "2026-12-29T12:00:00Z", "20261229", "20270104"),
    ("USD/CHF", "2026-12-30T12:00:00Z", "20261230", "20270104"),
    ("NZD/USD", "2026-12-30T12:00:00Z", "20261230", "20270105"),
    ("NZD/USD", "2026-01-12T17:59:59Z", "20260112", "20260114"),
    ("NZD/USD", "2026-01-12T18:00:00Z", "20260113", "20260115"),
    ("EUR/USD", "2026-01-12T18:00:00Z", "20260112", "20260114"),
    ("NZD/USD", "2026-07-13T18:59:59Z", "20260713", "20260715"),
    ("NZD/USD", "2026-07-13T19:00:00Z", "20260714", "20260716"),
    ("NZD/JPY", "2026-01-11T18:00:00Z", "20260112", "20260114"),
    ("NZD/USD", "2026-01-16T18:00:00Z", "20260119", "20260121"),
    ("NZD/USD", "2026-01-16T12:00:00Z", "20260116", "20260121"),
    ("NZD/USD", "2026-07-08T12:00:00Z", "20260708", "20260713"),
    ("AUD/NZD", "2026-02-04T12:00:00Z", "20260204", "20260209"),
    ("AUD/NZD", "2026-04-23T12:00:00Z", "20260423", "20260428"),
    ("AUD/USD", "2026-04-24T12:00:00Z", "20260424", "20260428"),
    ("AUD/USD", "2026-01-22T12:00:00Z", "20260122", "20260127"),
    ("AUD/USD", "2026-06-04T12:00:00Z", "20260604", "20260609"),
    ("GBP/USD", "2026-08-27T12:00:00Z", "20260827", "20260901"),
    ("GBP/JPY", "2026-08-27T12:00:00Z", "20260827", "20260901"),
    ("GBP/USD", "2026-09-03T12:00:00Z", "20260903", "20260908"),
    ("GBP/USD", "2026-05-22T12:00:00Z", "20260522", "20260527"),
    ("EUR/USD", "2026-05-22T12:00:00Z", "20260522", "20260526"),
    ("EUR/CHF", "2026-05-21T12:00:00Z", "20260521", "20260526"),
    ("USD/CHF", "2026-05-12T12:00:00Z", "20260512", "20260515"),
    ("NOK/SEK", "2026-05-12T12:00:00Z", "20260512", "20260515"),
    ("USD/NOK", "2027-05-13T12:00:00Z", "20270513", "20270518"),
    ("USD/TRY", "2026-05-18T12:00:00Z", "20260518", "20260520"),
    ("USD/PHP", "2026-11-27T12:00:00Z", "20261127", "20261201"),
    ("EUR/USD", "2028-02-28T12:00:00Z", "20280228", "20280301"),
];

fn holidays(currency: &str, until: &str, days: &[&str]) -> String {
    let days: Vec<String> = days.iter().map(|day| format!("\"2026{day}\"")).collect();
    format!(
        "currency = \"{currency}\"\nuntil = \"{until}\"\nholidays = [{}]\n",
        days.join(", ")
    )
}

/// The built-in calendars, and files of three currencies that have a holiday of 2026 each in a week of the examples.
fn calendars() -> Calendars {
    let mxn = [
        "0202", "0316", "0402", "0403", "0501", "0916", "1102", "1116", "1212", "1225",
    ];
    let files = [
        ("mxn", holidays("MXN", "20261231", &mxn)),
        (
            "try",
            holidays("TRY", "20261231", &["0101", "0423", "0501", "0519", "1029"]),
        ),
        (
            "php",
            holidays("PHP", "20261231", &["0101", "0612", "1130", "1225"]),
        ),
    ];
    let config = CalendarsConfig {
        files: files.iter().map(|(name, _)| name.into()).collect(),
        ..CalendarsConfig::default()
    };
    let read = |file: &std::path::Path| {
        let found = files
            .iter()
            .find(|(name, _)| file == std::path::Path::new(name));
        Ok(found.unwrap().1.clone())
    };
    Calendars::of(&config, read).unwrap()
}

fn spot_of(pair: &str, at: &str, calendars: &Calendars) -> (String, Option<String>) {
    let pair = Pair::read(pair).unwrap();
    let trade = trade_date(&pair, at.parse().unwrap(), NzdRoll::Auckland);
    let spot = Spot::of(&pair, trade, pair.spot_days(), true, calendars).unwrap();
    (digits(trade), spot.date.map(digits))
}

#[test]
fn dates_are_those_of_the_examples() {
    let calendars = calendars();
    for (pair, at, trade, spot) in EXAMPLES {
        let expected = ((*trade).to_owned(), Some((*spot).to_owned()));
        assert_eq!(spot_of(pair, at, &calendars), expected, "{pair} {at}");
    }
}

/// The other form of the rule: the earliest day that is good in both and in dollars, with the number of counted days behind the trade date.
#[test]
fn both_forms_of_the_rule_give_the_same_date() {
    let calendars = calendars();
    let currencies = [
        "USD", "EUR", "GBP", "JPY", "CHF", "AUD", "NZD", "CAD", "SEK", "NOK",
    ];
    let mut day: touchline_fx_days::Date = "2024-01-01".parse().unwrap();
    let end: touchline_fx_days::Date = "2030-12-15".parse().unwrap();
    while day < end {
        for (at, base) in currencies.iter().enumerate() {
            for quote in &currencies[at + 1..] {
                let pair = Pair::read(&format!("{base}/{quote}")).unwrap();
                let is_good =
                    |currency: &str, day| calendars.get(currency).unwrap().is_good(day).unwrap();
                let mut counted = 0;
                let mut spot = day;
                loop {
                    spot = spot.tomorrow().unwrap();
                    counted += u32::from(
                        [base, quote]
                            .iter()
                            .all(|of| **of == "USD" || is_good(of, spot)),
                    );
                    let settles = [base, quote, &"USD"].iter().all(|of| is_good(of, spot));
                    if counted >= pair.spot_days() && settles {
                        break;
                    }
                }
                let ours = Spot::of(&pair, day, pair.spot_days(), true, &calendars).unwrap();
                assert_eq!(ours.date, Some(spot), "{pair} {day}");
            }
        }
        day = day.tomorrow().unwrap();
    }
}

#[test]
fn no_date_is_given_beyond_the_end_of_a_calendar() {
    let calendars = calendars();
    assert_eq!(
        spot_of("EUR/USD", "2030-12-27T12:00:00Z", &calendars)
            .1
            .unwrap(),
        "20301231"
    );
    assert_eq!(
        spot_of("EUR/USD", "2030-12-30T12:00:00Z", &calendars).1,
        None
    );
    assert_eq!(
        spot_of("USD/MXN", "2026-12-31T12:00:00Z", &calendars).1,
        None
    );
    // Before the first year of the rules.
    assert_eq!(
        spot_of("EUR/USD", "2023-12-20T12:00:00Z", &calendars).1,
        None
    );
}

#[test]
fn a_dollar_holiday_moves_a_cross_unless_the_desk_says_otherwise() {
    let (calendars, pair) = (Calendars::built_in(), Pair::read("EUR/GBP").unwrap());
    let trade = "2026-11-24".parse().unwrap();
    let spot = |cross_usd| {
        Spot::of(&pair, trade, 2, cross_usd, &calendars)
            .unwrap()
            .date
    };
    assert_eq!(spot(true).map(digits).unwrap(), "20261127");
    assert_eq!(spot(false).map(digits).unwrap(), "20261126");
}

#[test]
fn a_spot_date_names_the_days_that_it_follows_from() {
    let (calendars, pair) = (Calendars::built_in(), Pair::read("EUR/USD").unwrap());
    let spot = Spot::of(&pair, "2026-01-15".parse().unwrap(), 2, true, &calendars).unwrap();
    let steps: Vec<(String, Option<u32>, String)> = spot
        .steps
        .iter()
        .map(|step| (digits(step.day), step.counted, step.closed.join(",")))
        .collect();
    let step = |day: &str, counted, closed: &str| (day.to_owned(), counted, closed.to_owned());
    let expected = [
        step("20260116", Some(1), ""),
        step("20260117", None, "EUR"),
        step("20260118", None, "EUR"),
        step("20260119", Some(2), ""),
        step("20260119", None, "USD"),
        step("20260120", None, ""),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_pair_rolls_with_new_york_where_its_banks_do() {
    let pair = Pair::read("NZD/USD").unwrap();
    let at = "2026-01-12T18:00:00Z".parse().unwrap();
    assert_eq!(digits(trade_date(&pair, at, NzdRoll::Auckland)), "20260113");
    assert_eq!(digits(trade_date(&pair, at, NzdRoll::NewYork)), "20260112");
}

#[test]
fn texts_that_are_no_pair_and_currencies_without_a_calendar_are_named() {
    for text in ["EURUSD", "EUR/EUR", "eur/usd", "EUR/USDX", "/", ""] {
        assert!(Pair::read(text).is_err(), "{text}");
    }
    let pair = Pair::read("USD/MXN").unwrap();
    let none = Spot::of(
        &pair,
        "2026-01-15".parse().unwrap(),
        2,
        true,
        &Calendars::built_in(),
    );
    assert_eq!(none, Err("MXN".to_owned()));
    assert!(Calendar::built_in("MXN").is_none());
}
