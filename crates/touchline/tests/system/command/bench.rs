//! Small benchmarks: every packet is accounted for, and figures have their labels; times are not checked.

use super::Desk;
use serde_json::Value;
use std::process::{Command, Stdio};
use touchline_testing::{Folder, Process};

/// JSON lines of a benchmark, each with time, build, arguments and host.
fn lines(name: &str, arguments: &str) -> Vec<Value> {
    let run = Desk::bare(name).run(arguments).done();
    let line = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
    let lines: Vec<Value> = run.stdout.lines().map(line).collect();
    assert!(!lines.is_empty(), "{arguments}");
    for line in &lines {
        let words: Vec<&str> = arguments.split(' ').collect();
        assert_eq!(line["arguments"], serde_json::json!(words), "{line}");
        assert_eq!(line["version"], env!("CARGO_PKG_VERSION"), "{line}");
        let time = line["time"].as_str().unwrap_or_default();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert!(line["host"]["cores"].as_u64() > Some(0), "{line}");
        assert!(line["clock"]["step_ns"].as_u64() > Some(0), "{line}");
        assert!(
            line["disturbed"].is_array() && line.get("commit").is_some(),
            "{line}"
        );
        assert_eq!(line["optimised"], IS_OPTIMISED, "{line}");
    }
    lines
}

/// Whether the command is built with the profile `dist`: cargo passes the variable of its build script to these tests, too.
const IS_OPTIMISED: bool = option_env!("TOUCHLINE_OPTIMISED").is_some();

fn of<'a>(lines: &'a [Value], subject: &str, figure: &str) -> &'a Value {
    let found = lines.iter().find(|line| line["subject"] == subject);
    let found = found.unwrap_or_else(|| panic!("no {subject} in {lines:?}"));
    &found[figure]
}

#[test]
fn bench_feed_brings_every_packet_to_the_bus_and_the_consumer() {
    let arguments = "--packets 300 --rate 1000 --cpus 1,0,1 --json";
    let lines = lines("feed", &format!("bench feed {arguments}"));
    assert_eq!(of(&lines, "touchline-lost-pause1000us", "value"), 0.0);
    // Sender and consumer are on one processor.
    for line in &lines {
        assert_eq!(line["shared"], true, "{line}");
        let placement = "gateway on processor 0, recvmsg on lo; the sender on 1, the consumer on 1";
        assert_eq!(line["placement"], placement, "{line}");
    }
    assert_eq!(
        of(&lines, "touchline-application-pause1000us", "count"),
        300
    );
    let consumed = of(&lines, "touchline-consumer-pause1000us", "count");
    // Some packets cause no publication.
    let consumed = consumed.as_u64().expect("a number");
    assert!((200..=300).contains(&consumed), "{consumed}");
}

#[test]
fn bench_hash_measures_each_hash_and_a_change_of_an_order() {
    let arguments = "--orders 1000 --samples 50 --rounds 2 --json";
    let lines = lines("hash", &format!("bench hash {arguments}"));
    for subject in ["fixed", "keyed", "siphash", "order-change"] {
        assert_eq!(of(&lines, subject, "count"), 100);
        // Not optimised away.
        let shortest = of(&lines, subject, "min").as_f64();
        assert!(shortest > Some(0.0), "{subject}: {shortest:?}");
    }
}

#[test]
fn bench_receive_measures_each_way_of_receiving() {
    let arguments = "--rounds 1 --packets 5 --stream-packets 500 --batch 1,4 --json";
    let lines = lines("receive", &format!("bench receive {arguments}"));
    for way in ["recvmsg", "recvmmsg-4"] {
        // The socket buffers have room for all packets: none is lost, however busy the host is.
        assert_eq!(of(&lines, &format!("{way}-call"), "count"), 5);
        assert_eq!(of(&lines, &format!("{way}-lost"), "value"), 0.0);
        let rate = of(&lines, &format!("{way}-rate"), "value");
        assert!(rate.as_f64() > Some(0.0), "{rate}");
    }
}

/// Whether this user may make network namespaces; else the test is counted as skipped.
fn makes_namespaces(test: &str) -> bool {
    let name = format!("touchline-probe-{test}-{}", std::process::id());
    let ip = |what| Command::new("ip").args(["netns", what, &name]).output();
    let is_made = ip("add").is_ok_and(|output| output.status.success());
    match is_made {
        true => drop(ip("delete").expect("it was made")),
        false => touchline_testing::skip("this user makes no network namespaces"),
    }
    is_made
}

#[test]
fn bench_feed_receives_frames_of_a_crowded_channel() {
    if !makes_namespaces("feed") {
        return;
    }
    let arguments =
        "--receive xdp --keep-warm --market channel-384 --packets 200 --rate 1000 --json";
    let lines = lines("feed-xdp", &format!("bench feed {arguments}"));
    let subject = |what: &str| format!("touchline-{what}-xdp-pause1000us");
    assert_eq!(of(&lines, &subject("lost"), "value"), 0.0);
    for what in ["application", "poll", "network"] {
        assert_eq!(of(&lines, &subject(what), "count"), 200, "{what}");
    }
    for line in &lines {
        let is_of = |what: &str| line["subject"].as_str().is_some_and(|it| it.contains(what));
        assert!(!is_of("consumer") && !is_of("bus"), "{line}");
        // Sender and gateway are on two processors, which may be threads of one core.
        assert!(line["shared"].is_boolean(), "{line}");
        let placement = line["placement"].as_str().unwrap_or_default();
        assert!(
            placement.ends_with("virtual cards; the sender on 1"),
            "{line}"
        );
    }
}

/// Each row of each table accounts for every packet: measured or lost. Whether packets without pauses are lost depends on the
/// host.
#[test]
fn bench_feed_prints_the_tables_of_all_ways_of_receiving() {
    if !makes_namespaces("table") {
        return;
    }
    let folder = Folder::new("feed-picture");
    let picture = folder.join("feed.svg");
    let arguments = format!(
        "--table --packets 20 --stream-packets 600 --rounds 1 --picture {} --json",
        picture.display()
    );
    let lines = lines("feed-table", &format!("bench feed {arguments}"));
    let picture = std::fs::read_to_string(picture).expect("it was written");
    assert_eq!(picture.matches(">xdp-generic<").count(), 4, "{picture}");
    for (schedule, packets) in [("pause5000us", 20), ("stream", 600)] {
        let count = |row: &str| {
            let count = of(&lines, &format!("touchline-{row}-{schedule}"), "count");
            count.as_u64().expect("a number")
        };
        assert!((1..=packets).contains(&count("recvmsg")), "{lines:?}");
        for way in ["sockets", "sockets-warm", "xdp", "xdp-warm", "xdp-generic"] {
            let lost = of(&lines, &format!("touchline-lost-{way}-{schedule}"), "value");
            let lost = lost.as_f64().expect("a number") as u64;
            for level in ["application", "polled", "network"] {
                let count = count(&format!("{level}-{way}"));
                assert_eq!(count + lost, packets, "{level} {way} {schedule}");
            }
            let causes = |what: &str, figure: &str| {
                let subject = format!("touchline-{what}-{way}-{schedule}");
                of(&lines, &subject, figure).clone()
            };
            // One packet in seven is measured, and not every packet causes an update.
            let floor = causes("places", "floor").as_u64();
            assert!(floor > Some(0), "{floor:?}");
            assert_eq!(causes("places", "p50")[0].as_u64(), floor);
            assert!(causes("places", "slope").is_f64());
            let first = causes("places", "count")[0].as_u64();
            assert!((1..=packets / 7).contains(&first.unwrap_or(0)), "{first:?}");
            let row = |figure: &str| causes("application", figure).as_u64();
            assert!(row("p1") <= row("p25") && row("p75") <= row("p99_9"));
            // Not every kernel counts it.
            if std::path::Path::new("/proc/thread-self/schedstat").exists() {
                for process in ["gateway", "sender"] {
                    let waited = causes(&format!("run-queue-{process}"), "per_s");
                    assert!(waited.as_f64() >= Some(0.0), "{waited}");
                }
            }
        }
    }
}

/// A line of causes: floor, slope, and the run queues of gateway and sender.
#[test]
fn bench_feed_says_where_the_time_of_a_row_is() {
    let run = Desk::bare("feed-text").run("bench feed --packets 300 --rate 1000 --cpus 1,0,1");
    let text = run.done().stdout;
    let (_, causes) = text.split_once("\ncauses ").expect("a table");
    let row = causes.lines().nth(1).unwrap_or_default();
    let columns: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(columns.len(), 7, "{row}");
    assert_eq!(columns[0], "application");
    assert!(
        columns[1].parse::<u64>().is_ok_and(|floor| floor > 0),
        "{row}"
    );
    assert!(columns[2].parse::<f64>().is_ok(), "{row}");
}

#[test]
fn bench_receive_measures_frames_of_virtual_cards() {
    if !makes_namespaces("receive") {
        return;
    }
    let arguments =
        "--rounds 1 --packets 5 --stream-packets 500 --batch 1 --pause-us 50 --xdp --json";
    let lines = lines("receive-xdp", &format!("bench receive {arguments}"));
    for way in ["recvmsg", "xdp", "xdp-generic"] {
        assert_eq!(of(&lines, &format!("{way}-sent"), "count"), 5);
        assert_eq!(of(&lines, &format!("{way}-lost"), "value"), 0.0);
    }
}

#[test]
fn bench_relay_publishes_beside_a_stopped_receiver() {
    for carrier in [
        "tcp",
        #[cfg(feature = "aeron")]
        "aeron",
    ] {
        let arguments = format!("--carrier {carrier} --messages 500 --rounds 2 --json");
        let lines = lines(
            &format!("relay-{carrier}"),
            &format!("bench relay {arguments}"),
        );
        for subject in ["one-receiver", "and-a-stopped-one"] {
            assert_eq!(of(&lines, subject, "count"), 1_000, "{carrier}");
        }
    }
}

#[test]
fn bench_relay_path_brings_every_message_from_bus_to_bus() {
    for (name, cpus) in [("relay-path", "0"), ("relay-path-2", "0,1")] {
        let arguments = format!("--samples 200 --rounds 2 --cpus {cpus} --json");
        let lines = lines(name, &format!("bench relay-path {arguments}"));
        for subject in [
            "relay-tcp",
            "udp-beside-relay-tcp",
            #[cfg(feature = "aeron")]
            "relay-aeron-udp",
            #[cfg(feature = "aeron")]
            "relay-aeron-multicast",
            #[cfg(feature = "aeron")]
            "aeron-udp",
        ] {
            assert_eq!(of(&lines, subject, "count"), 400, "{subject}");
        }
        let has_floor = lines.iter().any(|line| line["subject"] == "cache-line");
        assert_eq!(has_floor, cpus.contains(','), "{cpus}");
    }
}

#[test]
fn bench_relay_path_measures_a_rate() {
    let subjects = [
        "relay-tcp",
        #[cfg(feature = "aeron")]
        "relay-aeron-udp",
        #[cfg(feature = "aeron")]
        "aeron-udp",
        #[cfg(feature = "aeron")]
        "aeron-udp-own-settings",
    ];
    for (name, cpus, ends) in [
        ("rate", "0", &["-send", "-receive"][..]),
        ("rate-2", "0,1", &[""]),
    ] {
        let arguments = format!("--rate --samples 1024 --rounds 2 --cpus {cpus} --json");
        let lines = lines(name, &format!("bench relay-path {arguments}"));
        assert_eq!(lines.len(), subjects.len() * ends.len(), "{lines:?}");
        for subject in subjects {
            for end in ends {
                assert_eq!(of(&lines, &format!("{subject}{end}"), "count"), 4);
            }
        }
    }
}

/// The benchmarks that no test above runs with `--json`.
#[test]
fn json_lines_of_every_benchmark_have_time_build_arguments_and_host() {
    for name in [
        "book",
        "decode-fix",
        "event",
        "ipc-rtt",
        "ipc-throughput",
        "publish",
    ] {
        let (_, arguments) = SMALL
            .iter()
            .find(|(known, _)| *known == name)
            .expect("known");
        lines(
            &format!("json-{name}"),
            &format!("bench {name} {arguments} --json"),
        );
    }
}

#[test]
fn bench_fx_compose_measures_quotes_in_memory_by_buses_and_over_sockets() {
    let lines_of =
        |name: &str, arguments: &str| lines(name, &format!("bench fx-compose {arguments} --json"));
    let memory = lines_of("fx-memory", "--banks 3 --samples 100 --rounds 2");
    for subject in ["one-tier", "one-bank", "top-only"] {
        // Without the first twentieth.
        assert_eq!(of(&memory, subject, "count"), 190);
    }
    let buses = lines_of(
        "fx-buses",
        "--profile buses --banks 3 --samples 100 --rounds 1",
    );
    let count = of(&buses, "quoted-round", "count").as_u64();
    assert!(matches!(count, Some(1..=95)), "{count:?}");
    let sockets = lines_of("fx-burst", "--profile burst --banks 2 --seconds 2");
    for subject in [
        "burst-receive-to-consumed",
        "burst-compose",
        "tcp-one-way",
        "touchline-one-way",
    ] {
        let count = of(&sockets, subject, "count").as_u64();
        assert!(count > Some(0), "{subject}: {count:?}");
    }
}

#[test]
fn bench_journal_measures_each_mode_a_bare_sync_and_starts() {
    let arguments = "--samples 200 --syncs 20 --segments 2 --rounds 2 --json";
    let lines = lines("journal-bench", &format!("bench journal {arguments}"));
    for (subject, count) in [
        ("process", 400),
        ("host", 400),
        ("synced", 40),
        ("fdatasync", 40),
        ("start-1", 2),
        ("start-2", 2),
        ("read-2", 2),
    ] {
        assert_eq!(of(&lines, subject, "count"), count, "{subject}");
        let shortest = of(&lines, subject, "min").as_f64();
        assert!(shortest > Some(0.0), "{subject}: {shortest:?}");
    }
}

#[test]
fn bench_fx_trade_measures_each_stage_of_an_order_and_a_kill() {
    let lines_of = |name: &str, arguments: &str| {
        let arguments = format!("bench fx-trade --banks 3 --rounds 1 {arguments} --json");
        lines(name, &arguments)
    };
    let path = lines_of("fx-trade", "--samples 20 --syncs 5 --pause-us 0");
    for (prefix, count) in [("", 20), ("sync-", 5)] {
        for stage in ["composite", "plan", "journal", "sent", "total", "burst"] {
            let subject = format!("{prefix}{stage}");
            assert_eq!(of(&path, &subject, "count"), count, "{subject}");
        }
    }
    assert_eq!(of(&path, "fdatasync", "count"), 5);
    // Stages are parts of the whole.
    let p50 = |subject: &str| of(&path, subject, "p50").as_f64();
    assert!(p50("sent") <= p50("total") && p50("total") <= p50("burst"));
    let kill = lines_of("fx-kill", "--kill --orders 30");
    assert_eq!(of(&kill, "kill-30", "count"), 1);
}

/// Every benchmark with a table of subjects, and arguments for a short run. The table of `feed` has rows of another form.
const SMALL: [(&str, &str); 16] = [
    ("book", "--samples 50 --rounds 1"),
    ("decode-fix", "--samples 50 --rounds 1"),
    ("event", "--rounds 1"),
    ("export", "--events 100000 --segment-mb 16 --rounds 1"),
    ("fx-compose", "--banks 3 --samples 50 --rounds 1"),
    (
        "fx-trade",
        "--banks 3 --samples 20 --syncs 3 --rounds 1 --pause-us 0",
    ),
    ("hash", "--orders 1000 --samples 50 --rounds 1"),
    ("ipc-rtt", "--messages 200 --rounds 1"),
    ("ipc-throughput", "--messages 2000 --rounds 1"),
    ("journal", "--samples 50 --syncs 3 --segments 2 --rounds 1"),
    ("publish", "--messages 100 --rounds 1"),
    (
        "receive",
        "--packets 5 --stream-packets 500 --pause-us 500 --rounds 1",
    ),
    ("record", "--messages 50 --rounds 1"),
    ("relay", "--messages 50 --rounds 1"),
    ("relay-path", "--samples 20 --rounds 1"),
    (
        "tape",
        "--events 100000 --segment-mb 16 --samples 3 --rounds 1",
    ),
];

#[test]
fn the_small_runs_are_of_every_benchmark() {
    let help = Desk::bare("bench-help").run("bench --help").done().stdout;
    let (_, commands) = help.split_once("Commands:\n").expect("a list");
    let names: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_once(' '))
        .map(|(name, _)| name)
        .filter(|name| !["", "feed", "help"].contains(name))
        .collect();
    assert_eq!(names, SMALL.map(|(name, _)| name));
}

/// Every row has a value for each column of its head.
#[test]
fn tables_have_units_clock_and_separated_columns() {
    let desk = Desk::bare("tables");
    for (name, arguments) in SMALL {
        let text = desk.run(&format!("bench {name} {arguments}")).done().stdout;
        let host = text.lines().next().unwrap_or_default();
        assert!(host.contains("; touchline 0."), "{host}");
        assert!(
            text.contains("times in nanoseconds; the clock moves in steps of"),
            "{text}"
        );
        assert_ne!(text.contains("\nNOT OPTIMISED: "), IS_OPTIMISED, "{text}");
        let mut rows = text
            .lines()
            .skip_while(|line| !line.starts_with("subject "));
        let head = rows.next().expect("a head");
        let columns = ["p50 ratio", "p99.9 ratio", "to bound", "to ours"]
            .iter()
            .fold(head.to_owned(), |head, words| head.replace(words, "ratio"))
            .split_whitespace()
            .count();
        let is_behind = |line: &str| {
            let starts = [
                "NOT OPTIMISED",
                "DISTURBED",
                "ratios: ",
                "the ",
                "publishing ",
                "p99.9 ratio by round",
            ];
            line.is_empty() || starts.iter().any(|start| line.starts_with(start))
        };
        let rows: Vec<_> = rows.take_while(|line| !is_behind(line)).collect();
        assert!(rows.len() > 1, "{text}");
        for row in rows {
            assert_eq!(row.split_whitespace().count(), columns, "{name}: {row}");
        }
    }
}

/// A reader that closes the pipe ends the printing; a disk without space is named.
#[test]
fn figures_without_a_reader_are_no_failure() {
    let desk = Desk::bare("bench-without-reader");
    for arguments in ["", " --json"] {
        let line = format!("bench hash --orders 100 --samples 10 --rounds 1{arguments}");
        let mut command = desk.command(&line);
        let mut closed = Process::with_streams(command.stdout(Stdio::piped()));
        drop(closed.pipe());
        assert!(closed.wait().success(), "{line}");
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = desk.command(&line);
        let ended = command.stdout(full.expect("a device of Linux")).output();
        let ended = ended.expect("our command");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("touchline: standard output: cannot be written (")
                && said.lines().count() == 1,
            "{said}"
        );
    }
}
