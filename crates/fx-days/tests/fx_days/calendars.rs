//! Holidays of whole years, files, and changes of single days.

use std::path::PathBuf;
use touchline_fx_days::{Calendar, Calendars, CalendarsConfig, ChangeConfig};
use touchline_settings::Mistakes;

fn year(currency: &str, year: i16) -> String {
    let calendar = Calendar::built_in(currency).unwrap();
    let days = calendar
        .holidays(year)
        .map(|day| day.strftime("%m-%d").to_string());
    days.collect::<Vec<_>>().join(" ")
}

#[test]
fn holidays_by_rule_are_those_of_the_published_years() {
    for (currency, of, expected) in [
        (
            "USD",
            2026,
            "01-01 01-19 02-16 05-25 06-19 09-07 10-12 11-11 11-26 12-25",
        ),
        (
            "JPY",
            2026,
            "01-01 01-02 01-12 02-11 02-23 03-20 04-29 05-04 05-05 05-06 07-20 08-11 09-21 09-22 09-23 10-12 11-03 11-23 12-31",
        ),
        (
            "NZD",
            2027,
            "01-01 01-04 01-25 02-01 02-08 03-26 03-29 04-26 06-07 06-25 10-25 12-27 12-28",
        ),
        (
            "CAD",
            2028,
            "01-03 02-21 04-14 05-22 07-03 08-07 09-04 10-02 10-09 11-13 12-25 12-26",
        ),
        ("EUR", 2026, "01-01 04-03 04-06 05-01 12-25"),
        (
            "GBP",
            2026,
            "01-01 04-03 04-06 05-04 05-25 08-31 12-25 12-28",
        ),
        (
            "GBP",
            2027,
            "01-01 03-26 03-29 05-03 05-31 08-30 12-27 12-28",
        ),
        (
            "USD",
            2027,
            "01-01 01-18 02-15 05-31 07-05 09-06 10-11 11-11 11-25",
        ),
    ] {
        assert_eq!(year(currency, of), expected, "{currency} {of}");
    }
}

fn of(files: &[(&str, &str)], config: CalendarsConfig) -> Result<Calendars, Mistakes> {
    let config = CalendarsConfig {
        files: files.iter().map(|(name, _)| PathBuf::from(name)).collect(),
        ..config
    };
    Calendars::of(&config, |file| {
        let found = files
            .iter()
            .find(|(name, _)| file == std::path::Path::new(name));
        Ok(found.unwrap().1.to_owned())
    })
}

#[test]
fn a_file_replaces_a_calendar_and_a_change_alters_one_day() {
    let euro = "currency = \"EUR\"\nuntil = \"20261231\"\nholidays = [\"20260102\"]\n";
    let day = |text: &str| text.parse().unwrap();
    let mut config = CalendarsConfig::default();
    let change = ChangeConfig {
        add: vec![day("2026-04-27")],
        remove: vec![day("2026-10-05")],
    };
    config.change.insert("AUD".to_owned(), change);
    let calendars = of(&[("eur.toml", euro)], config).unwrap();
    let is_good = |currency: &str, text: &str| calendars.get(currency).unwrap().is_good(day(text));
    assert_eq!(is_good("EUR", "2026-01-02"), Some(false));
    assert_eq!(is_good("EUR", "2026-01-01"), Some(true));
    assert_eq!(is_good("EUR", "2027-01-04"), None);
    assert_eq!(is_good("AUD", "2026-04-27"), Some(false));
    assert_eq!(is_good("AUD", "2026-10-05"), Some(true));
}

#[test]
fn wrong_files_are_refused_with_file_line_and_cure() {
    let with = |line: &str| format!("currency = \"MXN\"\nuntil = \"20271231\"\n{line}\n");
    for (text, part) in [
        (with("holidays = [\"20260230\"]"), "m.toml:3: "),
        (with("holidays = [\"2026-02-02\"]"), "YYYYMMDD"),
        (with("holidays = [\"20260316\", \"20260202\"]"), "ascending"),
        (with("holidays = [\"20260202\", \"20260202\"]"), "once"),
        (with("holidays = [\"20280202\"]"), "move until"),
        (with("holiday = []"), "did you mean"),
        (
            with("holidays = []\nweekend = [\"Saturday\"]"),
            "day of the week",
        ),
        (
            "currency = \"mxn\"\nuntil = \"20271231\"\nholidays = []\n".to_owned(),
            "capital letters",
        ),
        ("currency = \"MXN\"\nholidays = []\n".to_owned(), "until"),
    ] {
        let error = of(&[("m.toml", &text)], CalendarsConfig::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(part) && error.starts_with("m.toml"),
            "{part}: {error}"
        );
    }
}

#[test]
fn two_files_of_a_currency_and_changes_without_effect_are_refused() {
    let euro = "currency = \"EUR\"\nuntil = \"20261231\"\nholidays = []\n";
    let twice = of(
        &[("a.toml", euro), ("b.toml", euro)],
        CalendarsConfig::default(),
    );
    let error = twice.unwrap_err().to_string();
    assert!(
        error.contains("b.toml") && error.contains("a.toml"),
        "{error}"
    );
    for (currency, add, remove, part) in [
        ("MXN", "2026-04-27", None, "no calendar"),
        ("mxn", "2026-04-27", None, "capital letters"),
        ("EUR", "2026-05-01", None, "is a holiday"),
        ("EUR", "2026-05-02", None, "weekend"),
        ("EUR", "2031-05-02", None, "does not know"),
        ("EUR", "2026-05-04", Some("2026-05-05"), "is a good day"),
    ] {
        let mut config = CalendarsConfig::default();
        let change = ChangeConfig {
            add: vec![add.parse().unwrap()],
            remove: remove.map(|day| day.parse().unwrap()).into_iter().collect(),
        };
        config.change.insert(currency.to_owned(), change);
        let error = of(&[], config).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}
