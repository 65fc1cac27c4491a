//! Log of a gateway of the simulated exchange: a gap, a silent line, a silent channel, a feed timeout, a restart of the exchange and a
//! lost connection are separate lines, as text, as JSON and for journald.

use crate::processes::{PATIENCE, Place, Process, Processes};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use touchline_testing::until;

/// Books are stale after this silence.
const STALE_AFTER_MS: u64 = 1_500;

fn exchange(processes: &Processes) -> Process {
    let line = format!(
        "sim cme --groups {} --seed 3 --instruments 4 --events-per-second 400 --commands --write @",
        processes.groups()
    );
    let mut exchange = processes.start(Place::Exchange, "exchange", &line, &[]);
    exchange.wait_for("sending");
    exchange
}

fn gateway(processes: &Processes, arguments: &str) -> Process {
    let config = format!(
        "bus = \"live\"\n[venue]\nkind = \"cme\"\nchannel = 998\nconfig_xml = \"config.xml\"\n\
         interface = \"127.0.0.1\"\n[limits]\ninstruments_max = 64\norders_max = 65536\n\
         [gateway]\nstale_after_ms = {STALE_AFTER_MS}\n[publication]\nring_bytes = 1048576\n"
    );
    std::fs::write(processes.path("live.toml"), config).expect("the session's folder");
    let line = format!("gateway --until-eof --config @/live.toml {arguments}");
    let mut gateway = processes.start(Place::Firm, "gateway", &line, &[]);
    gateway.wait_for("listening");
    gateway
}

/// The number of a field of a text line.
fn number(line: &str, name: &str) -> Option<u64> {
    let behind = line.split_once(&format!(" {name}="))?.1;
    behind.split(' ').next()?.parse().ok()
}

/// Waits for a new line of this event, and returns it without its time.
#[track_caller]
fn line_of(gateway: &Process, event: &str, before: usize) -> String {
    until(event, PATIENCE, || {
        let said = gateway.said("err");
        let is_of = |line: &&str| line.split(' ').nth(2) == Some(event);
        let line = said.lines().skip(before).find(is_of);
        let line = line.map(|line| line.split_once(' ').expect("a time").1.to_owned());
        line.ok_or(said)
    })
}

fn count(gateway: &Process) -> usize {
    gateway.said("err").lines().count()
}

#[test]
fn each_event_of_a_channel_is_a_log_line() {
    let _together = crate::together();
    let processes = Processes::new("log");
    let mut exchange = exchange(&processes);
    let gateway = gateway(&processes, "");
    const CONTEXT: &str = "bus=live channel=998";
    assert_eq!(
        line_of(&gateway, "listening", 0),
        format!(
            "INFO listening {CONTEXT} groups=8 interface=127.0.0.1 receive=sockets generation=1"
        )
    );
    assert_eq!(
        line_of(&gateway, "ready", 0),
        format!("INFO ready {CONTEXT} books=4")
    );

    // Lost on both lines.
    let before = count(&gateway);
    exchange.tell("both 0.01 3 i");
    let gap = line_of(&gateway, "gap", before);
    exchange.tell("clear");
    let of = |name| number(&gap, name).unwrap_or_else(|| panic!("{name}: {gap}"));
    assert!(
        gap.starts_with(&format!("WARN gap {CONTEXT} line=both first=")),
        "{gap}"
    );
    assert!(gap.contains(" action=snapshot"), "{gap}");
    assert!(of("first") <= of("last"), "{gap}");
    assert!(of("packets") > of("last") - of("first"), "{gap}");

    // One line is down for seven seconds.
    let before = count(&gateway);
    exchange.tell("outage a 7");
    let silent = line_of(&gateway, "line_silent", before);
    assert!(
        silent.starts_with(&format!("WARN line_silent {CONTEXT} line=A fix=\"")),
        "{silent}"
    );
    assert_eq!(
        line_of(&gateway, "line_back", before),
        format!("INFO line_back {CONTEXT} line=A")
    );

    // The exchange restarts with its numbers.
    let before = count(&gateway);
    exchange.tell("restart");
    assert_eq!(
        line_of(&gateway, "sequence_reset", before),
        format!("WARN sequence_reset {CONTEXT} count=1")
    );

    // No packet arrives any more.
    let before = count(&gateway);
    exchange.kill();
    let silent = line_of(&gateway, "channel_silent", before);
    assert!(
        silent.starts_with(&format!(
            "WARN channel_silent {CONTEXT} count=1 limit_ms=1000 fix=\""
        )),
        "{silent}"
    );
    assert_eq!(
        line_of(&gateway, "feed_timeout", before),
        format!("WARN feed_timeout {CONTEXT} count=1")
    );
    line_of(&gateway, "not_ready", before);
    let stage_log = processes.path("gateway.err");
    gateway.close();
    let said = std::fs::read_to_string(stage_log).expect("the session's folder");
    let last = said.lines().last().expect("a line");
    assert!(
        last.ends_with(&format!("Z INFO stopped {CONTEXT}")),
        "{last}"
    );
}

#[test]
fn every_log_line_is_valid_json() {
    let _together = crate::together();
    let processes = Processes::new("log-json");
    let mut exchange = exchange(&processes);
    let mut gateway = gateway(&processes, "--log-format json");
    gateway.wait_for("\"event\":\"ready\"");
    exchange.tell("both 0.02 3 i");
    gateway.wait_for("\"event\":\"gap\"");
    exchange.tell("quit");
    // The bus is removed: the failure is a line of the same form.
    std::fs::remove_dir_all(processes.path("buses")).expect("the session's folder");
    until("the failure", PATIENCE, || {
        gateway.said("err").contains("\"event\":\"failed\"")
    });
    let said = gateway.said("err");
    let lines: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let of = |event: &str| {
        let found = lines.iter().find(|line| line["event"] == event);
        found.unwrap_or_else(|| panic!("no {event}: {said}"))
    };
    for line in &lines {
        assert_eq!(
            (&line["bus"], &line["channel"]),
            (&"live".into(), &998.into())
        );
        assert!(
            line["time"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z')),
            "{line}"
        );
    }
    let gap = of("gap");
    assert_eq!(
        (&gap["level"], &gap["line"]),
        (&"warn".into(), &"both".into())
    );
    assert!(gap["first"].as_u64() <= gap["last"].as_u64(), "{gap}");
    assert_eq!(of("ready")["books"], 4);
    let failed = of("failed");
    assert_eq!(
        (&failed["level"], &failed["status"]),
        (&"error".into(), &1.into())
    );
    assert!(
        failed["reason"]
            .as_str()
            .is_some_and(|why| why.contains("removed")),
        "{failed}"
    );
}

/// Device and inode of standard error are those of `JOURNAL_STREAM`; otherwise it is another stream.
#[test]
fn under_journald_a_line_begins_with_its_priority() {
    let _together = crate::together();
    let processes = Processes::new("log-journal");
    let mut exchange = exchange(&processes);
    let log = processes.path("journal");
    for is_ours in [true, false] {
        let file = std::fs::File::create(&log).expect("the session's folder");
        let about = file.metadata().expect("a file");
        let inode = about.ino() + u64::from(!is_ours);
        let mut command = processes.command(
            Place::Firm,
            "gateway --config @/gateway.toml --seconds 1",
            &[],
        );
        command.env("JOURNAL_STREAM", format!("{}:{inode}", about.dev()));
        let status = command.stderr(file).status().expect("touchline starts");
        let said = std::fs::read_to_string(&log).expect("the session's folder");
        assert!(status.success(), "{said}");
        assert!(said.lines().count() >= 2, "{said}");
        for line in said.lines() {
            let is_priority = line.starts_with("<6>INFO ") || line.starts_with("<4>WARN ");
            assert_eq!(is_priority, is_ours, "{line}");
        }
    }
    exchange.kill();
}
