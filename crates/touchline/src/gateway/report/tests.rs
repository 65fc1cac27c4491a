//! Counters and incidents of a gateway, and the resulting log lines.

use super::*;
use crate::log::Log;
use touchline_gateway::CopiesReport;
use touchline_gateway::live::LiveCounters;

const CME: &[(&str, &str)] = &[("line", "both"), ("action", "snapshot")];

fn said(log: &Log<Vec<u8>>, from: usize) -> Vec<&str> {
    log.lines().split_off(from)
}

fn gap(first: u64, last: u64, packets: u64, gaps: u64) -> Incident {
    Incident::Gap(GapReport {
        first,
        last,
        packets,
        gaps,
    })
}

fn error(reason: &str) -> ConnectionError {
    ConnectionError {
        host: "venue:9881".to_owned(),
        reason: reason.to_owned(),
        retry_ms: 250,
    }
}

/// Either way, with its sign.
#[test]
fn a_step_of_the_wall_clock_is_an_alarm() {
    let mut log = Log::in_memory();
    for step_ns in [3_600_000_000_000, -250_000_000] {
        Reporter::new(CME).incident(Incident::ClockStepped { step_ns }, &mut log);
    }
    assert_eq!(
        said(&log, 0),
        [
            "WARN clock_step step_ms=3600000",
            "WARN clock_step step_ms=-250"
        ]
    );
}

/// Line, source and number of a packet whose copies differ.
#[test]
fn copies_that_differ_are_an_alarm() {
    let mut log = Log::in_memory();
    let copies = CopiesReport {
        line: "B",
        source: "10.0.0.9:5000".parse().expect("an address"),
        number: 4_711,
        packets: 2,
    };
    Reporter::new(CME).incident(Incident::CopiesDiffer(copies), &mut log);
    let line =
        "WARN copies_differ line=B source=10.0.0.9:5000 number=4711 packets=2 action=snapshot";
    assert_eq!(said(&log, 0), [line]);
}

#[test]
fn a_gap_has_its_lines_numbers_and_what_recovers_the_books() {
    for (fields, incident, line) in [
        (
            CME,
            gap(1_200, 1_217, 18, 1),
            "WARN gap line=both first=1200 last=1217 packets=18 gaps=1 action=snapshot",
        ),
        (
            CME,
            gap(7, 7, 9, 3),
            "WARN gap line=both first=7 last=7 packets=9 gaps=3 action=snapshot",
        ),
        (
            &[("action", "reconnect")],
            gap(5, 5, 1, 1),
            "WARN gap first=5 last=5 packets=1 gaps=1 action=reconnect",
        ),
    ] {
        let mut log = Log::in_memory();
        Reporter::new(fields).incident(incident, &mut log);
        assert_eq!(log.lines(), [line]);
    }
}

/// A start in mid-session has lost nothing that it should have had.
#[test]
fn a_start_in_mid_session_is_no_warning() {
    let mut log = Log::in_memory();
    Reporter::new(CME).incident(Incident::Joined { missed: 640 }, &mut log);
    assert_eq!(log.lines(), ["INFO joined missed=640 action=snapshot"]);
}

#[test]
fn a_connection_event_has_its_host_and_reason() {
    let mut log = Log::in_memory();
    for incident in [
        Incident::Connected {
            host: "venue:9881".to_owned(),
        },
        Incident::ConnectionLost(error("connection reset or closed by the other side")),
        Incident::ConnectionFailed(error("connection refused")),
        Incident::ConnectionClosed(error("logout")),
    ] {
        Reporter::new(&[]).incident(incident, &mut log);
    }
    assert_eq!(
        log.lines(),
        [
            "INFO connected host=venue:9881",
            "WARN connection_lost host=venue:9881 reason=\"connection reset or closed by the other side\" retry_ms=250",
            "WARN connection_failed host=venue:9881 reason=\"connection refused\" retry_ms=250",
            "WARN connection_closed host=venue:9881 reason=logout retry_ms=250",
        ]
    );
}

/// Each counter of the table is logged once with its number, and again only after an increase.
#[test]
fn a_counter_that_rises_is_an_event() {
    for &(name, event, field) in COUNTED {
        let (mut log, mut reporter) = (Log::in_memory(), Reporter::new(CME));
        for value in [0, 3, 3] {
            reporter.look_at(&BTreeMap::from([(name, value)]), &mut log);
        }
        let line = format!("{} {} {field}=3", event.level.word(), event.name);
        let said = log.lines();
        assert_eq!(said.len(), 1, "{name}: {said:?}");
        assert!(said[0].starts_with(&line), "{name}: {said:?}");
        assert_eq!(
            said[0].contains(" fix=\""),
            event.fix().is_some(),
            "{said:?}"
        );
    }
}

#[test]
fn the_counters_of_the_table_exist() {
    let tables = [
        touchline_feed::cme::Counters::TABLE,
        touchline_feed::fix_md::Counters::TABLE,
        touchline_session::fix::Counters::TABLE,
        touchline_gateway::venues::cme::RecoveryCounters::TABLE,
        touchline_transport::shm::PublisherCounters::TABLE,
        LiveCounters::TABLE,
    ];
    for (name, _, _) in COUNTED {
        let mut counters = tables.iter().copied().flatten();
        assert!(counters.any(|info| info.name == *name), "{name}");
    }
}

#[test]
fn a_line_is_silent_after_five_samples_while_the_other_receives() {
    let (mut log, mut reporter) = (Log::in_memory(), Reporter::new(CME));
    let mut look = |a: u64, b: u64, log: &mut Log<Vec<u8>>| {
        reporter.look_at(&BTreeMap::from([("packets_a", a), ("packets_b", b)]), log);
    };
    // Both lines are quiet: a quiet market.
    (0..10).for_each(|_| look(5, 5, &mut log));
    assert_eq!(said(&log, 0), [""; 0]);
    (6..12).for_each(|b| look(5, b, &mut log));
    assert_eq!(said(&log, 0).len(), 1);
    assert!(said(&log, 0)[0].starts_with("WARN line_silent line=A fix="));
    look(6, 12, &mut log);
    assert_eq!(said(&log, 1), ["INFO line_back line=A"]);
}

/// One warning a silence and one line of its end, also if both were since the last pass.
#[test]
fn each_silence_of_a_channel_has_a_warning_and_an_end() {
    let (mut log, mut reporter) = (Log::in_memory(), Reporter::new(CME));
    let mut look = |silences, is_silent, log: &mut Log<Vec<u8>>| {
        let values = [
            ("channel_silences", silences),
            ("channel_silent", is_silent),
            ("silence_limit_ms", 1_000),
        ];
        reporter.look_at(&BTreeMap::from(values), log);
    };
    look(0, 0, &mut log);
    assert_eq!(said(&log, 0), [""; 0]);
    (0..3).for_each(|_| look(1, 1, &mut log));
    let lines = said(&log, 0);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN channel_silent count=1 limit_ms=1000 fix="));
    (0..2).for_each(|_| look(1, 0, &mut log));
    assert_eq!(said(&log, 1), ["INFO channel_back"]);
    look(3, 0, &mut log);
    let lines = said(&log, 2);
    assert!(
        lines[0].starts_with("WARN channel_silent count=2 "),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["INFO channel_back"]);
}

#[test]
fn readiness_and_groups_are_logged_when_they_change() {
    let (mut log, mut reporter) = (Log::in_memory(), Reporter::new(CME));
    let mut look = |ready, live, lost, log: &mut Log<Vec<u8>>| {
        let values = [
            ("ready", ready),
            ("books_live", live),
            ("books_known", 4),
            ("groups_lost", lost),
        ];
        reporter.look_at(&BTreeMap::from(values), log);
        reporter.ready == Some(true)
    };
    assert!(!look(0, 0, 0, &mut log));
    assert!(look(1, 4, 0, &mut log));
    assert!(look(1, 4, 0, &mut log));
    assert!(!look(0, 3, 2, &mut log));
    assert_eq!(
        log.lines(),
        [
            "INFO ready books=4",
            "WARN group_lost groups=2 fix=\"bring the interface back (ip link); the groups are joined again by themselves\"",
            "WARN not_ready live=3 books=4",
        ]
    );
}

/// A lossless publisher that gives a reader up says which, and why.
#[test]
fn a_reader_that_lost_its_place_is_named() {
    let mut log = Log::in_memory();
    let mut reporter = Reporter::new(CME);
    let name_of = |place| (place == 2).then(|| "recorder".to_owned());
    // Both between two passes: each has its own place.
    for (dead, slow) in [(0, 0), (1, 3), (1, 3)] {
        let values = [
            ("readers_dead", dead),
            ("readers_left_behind", slow),
            ("dead_place", 2),
            ("left_behind_place", 1),
        ];
        reporter.look_at_places(&values.into_iter().collect(), &name_of, &mut log);
    }
    let lines = said(&log, 0).into_iter();
    let lines: Vec<&str> = lines
        .filter_map(|line| line.split(" fix=").next())
        .collect();
    assert_eq!(
        lines,
        [
            "WARN reader_lost name=recorder place=2 reason=died count=1",
            "WARN reader_lost name=- place=1 reason=too_slow count=3"
        ]
    );
}
