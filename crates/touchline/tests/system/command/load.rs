//! The load test, short: as a test of correctness, which is what a busy machine allows.

use super::Desk;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use touchline_testing::{PATIENCE, Process, until};

#[test]
fn load_quick_transports_every_message_by_every_transport() {
    let desk = Desk::bare("load");
    let run = desk
        .run("load --quick --json --output rows.jsonl --hlog rows.hlog --report load.html")
        .done();
    let line = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
    let rows: Vec<Value> = run.stdout.lines().map(line).collect();
    for subject in [
        "touchline",
        "touchline-market",
        "touchline-relay-tcp",
        "tcp",
        "udp",
        #[cfg(feature = "aeron")]
        "touchline-relay-udp",
        #[cfg(feature = "aeron")]
        "touchline-relay-multicast",
    ] {
        let of_subject: Vec<&Value> = rows
            .iter()
            .filter(|row| row["subject"] == subject)
            .collect();
        assert!(of_subject.len() >= 2, "{subject}: {rows:?}");
        for row in of_subject {
            let received = &row["received"];
            assert_eq!(
                (&received["torn"], &received["duplicates"]),
                (&0.into(), &0.into()),
                "{row}"
            );
            assert!(received["measured"].as_u64() > Some(0), "{row}");
            // Subjects that guarantee delivery, or hold the whole step in their rings; the command judges relays.
            if subject != "udp" && !subject.starts_with("touchline-relay-") {
                assert_eq!(
                    (&received["lost"], &row["verdict"]),
                    (&0.into(), &"complete".into()),
                    "{row}"
                );
                assert_eq!(received["messages"], row["sent"]);
            }
            let processes = row["processes"].as_array().expect("a list");
            let expected = match subject.starts_with("touchline-relay-") {
                true => 4,
                false => 2,
            };
            assert_eq!(processes.len(), expected, "{row}");
            assert!(row["latency_ns"]["p50"].as_u64() > Some(0), "{row}");
        }
    }
    // The rows of the file are those that were printed, and the page can be drawn from them alone.
    let stored = std::fs::read_to_string(desk.path("rows.jsonl")).expect("a file");
    assert_eq!(stored.lines().count(), rows.len());
    desk.run("load --from rows.jsonl --report again.html")
        .done();
    let page = |name: &str| std::fs::read_to_string(desk.path(name)).expect("a page");
    assert_eq!(page("load.html"), page("again.html"));
    assert!(page("load.html").contains("<strong>Highest complete rate: "));
    assert!(
        !page("load.html").contains("sustained"),
        "nothing is judged by a limit"
    );
    let log = std::fs::read_to_string(desk.path("rows.hlog")).expect("a log");
    assert!(log.contains("Tag=tcp@2000/1,"), "{log}");
}

/// A transport that sustains no rate has the reason in JSON and in the table.
#[test]
fn load_says_why_no_rate_is_sustained() {
    let desk = Desk::bare("load-zero");
    let line = "load tcp --rates 2k --rounds 1 --seconds 0.2 --warmup 0.1 --wait sleep --p50-max 0.001us --output rows.jsonl";
    let table = desk.run(line).done().stdout;
    let row = desk.read("rows.jsonl");
    let row: Value = serde_json::from_str(row.lines().last().expect("a row")).expect("JSON");
    let why = match row["cause"].as_str() {
        Some("latency") => "latency above the limit",
        // On a busy host.
        Some("stopped") => "publisher stopped",
        Some("rate") => "rate below the limit",
        other => panic!("{other:?}: {row}"),
    };
    assert!(table.contains(&format!("0 ({why} at 2 k)")), "{table}");
}

/// Shapes, several readers and a slow one, as processes.
#[test]
fn load_takes_shapes_and_readers() {
    let desk = Desk::bare("load-shapes");
    let rows = |line: &str| -> Vec<Value> {
        let run = desk.run(line).done();
        let line = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
        run.stdout.lines().map(line).collect()
    };
    let bursts = rows("load touchline tcp --quick --json --profile bursts --readers 1,3");
    for subject in ["touchline x1", "touchline x3", "tcp x1", "tcp x3"] {
        let of_subject = bursts.iter().filter(|row| row["subject"] == subject);
        let of_subject: Vec<&Value> = of_subject.collect();
        assert!(of_subject.len() >= 2, "{subject}: {bursts:?}");
        for row in of_subject {
            assert_eq!(row["profile"], "bursts", "{row}");
            let readers = row["readers"].as_u64().expect("a number");
            let processes = row["processes"].as_array().expect("a list");
            assert_eq!(processes.len() as u64, 1 + readers, "{row}");
            let received = &row["received"];
            assert_eq!(
                (&received["torn"], &received["duplicates"]),
                (&0.into(), &0.into()),
                "{row}"
            );
            if subject.starts_with("tcp") {
                assert_eq!(received["lost"], 0, "{row}");
                let sent = row["sent"].as_u64().expect("a number");
                assert_eq!(received["messages"], sent * readers, "{row}");
            }
        }
    }
    // The slow reader is there, and the figures are those of the other one.
    let slow = rows("load touchline --quick --json --rates 2k --slow 2000");
    for row in &slow {
        let processes = row["processes"].as_array().expect("a list");
        let names: Vec<_> = processes
            .iter()
            .map(|one| one["process"].as_str())
            .collect();
        assert_eq!(
            names,
            [Some("publisher"), Some("reader-0"), Some("slow-reader")],
            "{row}"
        );
        assert_eq!(row["received"]["messages"], row["sent"], "{row}");
    }
    assert!(!slow.is_empty());
    let sparse = rows("load tcp --quick --json --profile sparse --rates 100");
    assert!(sparse.iter().all(|row| row["rate"] == 100), "{sparse:?}");
}

/// While it runs, the latest step of each subject is a page for Prometheus.
#[test]
fn load_serves_its_latest_steps() {
    let desk = Desk::bare("load-metrics");
    let mut load = Command::new(env!("CARGO_BIN_EXE_touchline"));
    load.args([
        "load",
        "tcp",
        "--quick",
        "--json",
        "--metrics",
        "127.0.0.1:0",
    ])
    .args(["--rates", "2k,2k,2k,2k,2k,2k,2k,2k,2k,2k"])
    .current_dir(&desk.folder);
    let mut load = Process::start(&mut load);
    let line = load.wait_for_line("http://");
    let (_, address) = line.split_once("http://").expect("an address");
    let address = address.trim_end_matches("/metrics").to_owned();
    let page = || {
        let mut stream = TcpStream::connect(&address).ok()?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    };
    let wanted = [
        "touchline_load_offered_messages{subject=\"tcp\"} 2000\n",
        "touchline_load_faults{subject=\"tcp\",kind=\"torn\"} 0\n",
        "touchline_load_latency_seconds{subject=\"tcp\",percentile=\"50\"} 0.0",
        "touchline_load_cpus{subject=\"tcp\",process=\"publisher\"} ",
    ];
    until("all samples", PATIENCE, || {
        let text = page().expect("the page is served while the test runs");
        match wanted.iter().all(|sample| text.contains(sample)) {
            true => Ok(()),
            false => Err(text),
        }
    });
    assert!(load.wait().success());
}

#[test]
fn load_refuses_unknown_arguments_in_one_line() {
    let desk = Desk::bare("load-refusal");
    for (arguments, said) in [
        (
            "load carrier-pigeon --quick",
            "no transport \"carrier-pigeon\" in this build; there are touchline, touchline-market",
        ),
        ("load --rates fast", "such as 10k or 1.5M"),
        (
            "load --against zeromq-tcp --rivals nowhere --quick",
            "nowhere/zeromq-tcp: not there",
        ),
        ("load --cpus 1,1", "two different processors"),
    ] {
        desk.run(arguments).refused(2, &[said]);
    }
    desk.run("load --from nothing.jsonl")
        .refused(1, &["nothing.jsonl"]);
}
