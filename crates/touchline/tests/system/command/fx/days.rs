//! `fx spot`, `fx calendar` and `fx session`: their answers, as text and as JSON, and what they refuse.

use crate::command::Desk;

const MXN: &str =
    "currency = \"MXN\"\nuntil = \"20261231\"\nholidays = [\"20260202\", \"20261225\"]\n";

fn desk(name: &str) -> Desk {
    let desk = Desk::bare(name);
    desk.write("mxn.toml", MXN);
    desk.write(
        "run.toml",
        "[engine]\naccount = \"A\"\n[calendars]\nfiles = [\"mxn.toml\"]\nchange.AUD.add = [\"20260427\"]\n",
    );
    desk
}

#[test]
fn dates_and_sessions_are_printed_as_json() {
    let desk = desk("fx-days");
    let sunday = "America/New_York 17:04 17:00 SUN,MON,TUE,WED,THU";
    for (arguments, expected) in [
        (
            "spot EUR/USD 2026-01-15T12:00:00Z".to_owned(),
            r#"{"trade":"20260115","spot":"20260120"}"#,
        ),
        (
            "spot EUR/USD 2026-01-15T12:00:00Z --spot-days 1".to_owned(),
            r#"{"trade":"20260115","spot":"20260116"}"#,
        ),
        (
            "spot USD/MXN 2026-01-16T12:00:00Z --calendar mxn.toml".to_owned(),
            r#"{"trade":"20260116","spot":"20260121"}"#,
        ),
        (
            "spot USD/MXN 2026-01-16T12:00:00Z --config run.toml".to_owned(),
            r#"{"trade":"20260116","spot":"20260121"}"#,
        ),
        (
            "spot AUD/USD 2026-04-24T12:00:00Z".to_owned(),
            r#"{"trade":"20260424","spot":"20260428"}"#,
        ),
        (
            "spot AUD/USD 2026-04-24T12:00:00Z --config run.toml".to_owned(),
            r#"{"trade":"20260424","spot":"20260429"}"#,
        ),
        (
            "calendar EUR 2026".to_owned(),
            r#"{"currency":"EUR","year":2026,"holidays":["20260101","20260403","20260406","20260501","20261225"]}"#,
        ),
        (
            format!("session {sunday} 2026-03-08T21:04:00Z"),
            r#"{"session":"20260308"}"#,
        ),
        (
            format!("session {sunday} 2026-03-08T21:03:59Z"),
            r#"{"session":null}"#,
        ),
    ] {
        let run = desk.run(&format!("fx {arguments} --json"));
        assert_eq!(
            (run.status, run.stdout.trim_end()),
            (0, expected),
            "{arguments}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_date_is_explained_day_by_day() {
    let run = desk("fx-days-text").run("fx spot EUR/USD 2026-01-15T12:00:00Z");
    let lines: Vec<&str> = run.stdout.lines().collect();
    let expected = [
        "EUR/USD at 2026-01-15T12:00:00Z: trade date 20260115, spot date 20260120",
        "  Fri 20260116  day 1 of 2",
        "  Sat 20260117  closed in EUR",
        "  Sun 20260118  closed in EUR",
        "  Mon 20260119  day 2 of 2",
        "  Mon 20260119  closed in USD",
        "  Tue 20260120  good in all: spot date",
    ];
    assert_eq!(lines[..7], expected);
    assert!(
        lines[7].starts_with("rules of time zones: 20"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_date_beyond_a_calendar_ends_with_status_1() {
    let run = desk("fx-days-end").run("fx spot EUR/USD 2030-12-30T12:00:00Z --json");
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (1, "{\"trade\":\"20301230\",\"spot\":null}\n")
    );
    assert!(
        run.stderr.contains("does not know 20310101"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn bad_pairs_files_and_hours_are_refused() {
    let desk = desk("fx-days-refused");
    desk.write(
        "bad.toml",
        "currency = \"MXN\"\nuntil = \"20261231\"\nholidays = [\"20260230\"]\n",
    );
    for (arguments, status, words) in [
        ("spot EURUSD", 2, &["\"EURUSD\"", "EUR/USD"][..]),
        ("spot USD/MXN", 2, &["MXN", "--calendar"]),
        (
            "spot EUR/USD yesterday",
            2,
            &["\"yesterday\"", "2026-01-16T12:00:00Z"],
        ),
        (
            "spot EUR/USD --calendar bad.toml",
            2,
            &["bad.toml:3: ", "20260230"],
        ),
        ("spot EUR/USD --calendar none.toml", 2, &["none.toml"]),
        ("calendar MXN 2026", 2, &["MXN", "--calendar"]),
        ("calendar USD 2031", 1, &["USD", "20301231"]),
        (
            "session Europe/Atlantis 17:04 17:00 SUN 2026-03-08T21:04:00Z",
            2,
            &["Europe/Atlantis"],
        ),
        (
            "session Europe/London 17:04 17:00 SUNDAY 2026-03-08T21:04:00Z",
            2,
            &["SUNDAY", "SUN"],
        ),
    ] {
        desk.run(&format!("fx {arguments}")).refused(status, words);
    }
}
