//! The load test, short: as a test of correctness, which is what a busy machine allows.

use super::Desk;
use serde_json::Value;

#[test]
fn load_quick_brings_every_message_through_every_transport() {
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
            if subject == "tcp" {
                assert_eq!(
                    (&received["lost"], &row["verdict"]),
                    (&0.into(), &"sustained".into()),
                    "{row}"
                );
                assert_eq!(received["messages"], row["sent"]);
            }
            let processes = row["processes"].as_array().expect("a list");
            let expected = if subject == "touchline-relay-tcp" {
                4
            } else {
                2
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
    assert!(page("load.html").contains("Highest rate sustained"));
    let log = std::fs::read_to_string(desk.path("rows.hlog")).expect("a log");
    assert!(log.contains("Tag=tcp@2000/1,"), "{log}");
}

#[test]
fn load_refuses_what_is_not_there_in_one_line() {
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
