//! `touchline sim deribit`, alone and with a gateway and a subscriber of it.

use crate::command::{Desk, until, waits_in_4_s};
use std::time::Duration;
use touchline_lab::cme::expected_books::{BookState, Checker};
use touchline_testing::Process;

/// A running exchange that reads commands.
struct Exchange(Process);

impl Exchange {
    fn start(desk: &Desk, arguments: &str) -> Exchange {
        let line = format!("sim deribit --listen 127.0.0.1:0 --commands --until-eof {arguments}");
        let mut exchange = desk.start_with_input(&line);
        let up = exchange.next_line();
        assert!(up.starts_with("listening on 127.0.0.1:"), "{up}");
        Exchange(exchange)
    }

    #[track_caller]
    fn tell(&mut self, line: &str, answer: &str) {
        self.0.tell(line);
        let said = self.0.next_line();
        assert!(said.starts_with(answer), "{line}: {said}");
    }

    /// Ends it, and returns its last output.
    fn end(mut self) -> String {
        self.0.close();
        assert!(self.0.wait().success());
        self.0.other_lines().join("\n")
    }
}

/// The number behind a name in the exchange's summary.
#[track_caller]
fn number(summary: &str, name: &str) -> u64 {
    let of = |line: &str| {
        line.trim()
            .strip_prefix(name)?
            .trim()
            .replace(',', "")
            .parse()
            .ok()
    };
    summary
        .lines()
        .find_map(of)
        .unwrap_or_else(|| panic!("{name}: {summary}"))
}

/// An exchange without clients sleeps for 10 ms at a time; the events that are due by then happen together.
#[test]
fn a_simulated_exchange_without_clients_is_idle() {
    let desk = Desk::bare("deribit-idle");
    let exchange = Exchange::start(&desk, "--write sim");
    let count = waits_in_4_s(exchange.0.id());
    // 400, and the shorter sleeps of the start.
    assert!((1..=500).contains(&count), "{count} waits in 4 s");
    let summary = exchange.end();
    let mut lines = summary.lines();
    let events = lines.find_map(|line| line.split_once(" events in "));
    let events = events.expect("a count").0.replace(',', "");
    let events: u64 = events.parse().expect("a number");
    assert!(events > 4_000, "of some 8,000: {summary}");
}

#[test]
fn a_subscriber_shows_only_books_that_the_exchange_had() {
    let desk = Desk::bare("deribit-truth");
    let mut exchange = Exchange::start(
        &desk,
        "--write sim --instruments 5 --levels 300 --events-per-second 1000 \
         --truth-log truth.log --truth-books truth.jsonl",
    );
    let gateway = desk.start("gateway --config sim/gateway.toml");
    let mut follow = desk.start_with_input(
        "follow deribit-sim --wait 60 --states seen.log --books books.jsonl --until-eof",
    );
    let is_live = || {
        let book = desk.run("book deribit-sim BTC-PERPETUAL");
        book.status == 0
            && book
                .stdout
                .lines()
                .next()
                .is_some_and(|line| line.ends_with(", live"))
    };
    until("a live book", is_live);
    let pass = |ms| std::thread::sleep(Duration::from_millis(ms));
    pass(1_000);
    // Missing or damaged messages: the gateway connects again, and shows no wrong book.
    // One kind after the other, each from a live book, so that each occurs.
    exchange.tell("skip 0.05", "ok");
    pass(1_500);
    exchange.tell("clear", "ok");
    until("healing", is_live);
    exchange.tell("malform checksum 0.05", "ok");
    exchange.tell("malform header 0.05", "ok");
    pass(1_500);
    exchange.tell("clear", "ok");
    exchange.tell("nonsense", "refused: ");
    until("healing", is_live);
    exchange.tell("rate 0", "ok");
    until("healing", is_live);
    pass(1_000);
    exchange.tell("truth", "ok");
    follow.close();
    assert!(follow.wait().success());
    let summary = exchange.end();
    drop(gateway);
    assert!(
        number(&summary, "skipped") > 0 && number(&summary, "malformed") > 0,
        "{summary}"
    );
    assert!(
        number(&summary, "logons") > 1,
        "the session reconnected: {summary}"
    );

    let mut checker = Checker::new(1_000_000);
    let states = |name: &str| {
        let text = desk.read(name);
        let states: Vec<BookState> = text.lines().filter_map(|line| line.parse().ok()).collect();
        states
    };
    states("truth.log")
        .into_iter()
        .for_each(|state| checker.expected(state));
    states("seen.log")
        .iter()
        .for_each(|state| checker.seen(state.security_id, state.hash));
    let verdict = checker.finish();
    assert!(verdict.wrong == 0 && verdict.right > 1_000, "{verdict:?}");

    let rows = |name: &str| {
        let row = |line: &str| {
            let mut row: serde_json::Value = serde_json::from_str(line).expect("JSON");
            row.as_object_mut().expect("a row").remove("last_rpt_seq");
            row
        };
        desk.read(name).lines().map(row).collect::<Vec<_>>()
    };
    assert_eq!(rows("books.jsonl"), rows("truth.jsonl"));
}

#[test]
fn credentials_must_be_in_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::bare("deribit-access");
    let with = |content: &str, mode| {
        desk.write("login", content);
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(desk.path("login"), mode).expect("our own file");
        desk.run("sim deribit --listen 127.0.0.1:0 --credentials login --seconds 1")
    };
    with("user:sentinel-17\n", 0o644).refused(2, &["login", "0644", "0600"]);
    with("sentinel-17\n", 0o600).refused(2, &["login", "USER:SECRET"]);
    with("user:\n", 0o600).refused(2, &["login", "USER:SECRET"]);
    let done = with("user:sentinel-17\n", 0o600).done();
    assert!(!done.stdout.contains("sentinel"), "{done:?}");
    let nobody = desk.run("sim deribit --listen 127.0.0.1:0");
    assert_eq!(nobody.status, 2);
    assert!(nobody.stderr.contains("--credentials"), "{nobody:?}");
}

#[test]
fn a_gateway_from_an_unlisted_address_gets_no_information() {
    let desk = Desk::bare("deribit-from");
    let exchange = Exchange::start(&desk, "--write sim --instruments 2 --from 127.0.0.2");
    let log = std::fs::File::create(desk.path("log")).expect("our folder");
    let mut command = desk.command("gateway --config sim/gateway.toml");
    let gateway = Process::with_streams(command.stderr(log));
    until("the end of a connection", || {
        ["connection_lost", "connection_closed"]
            .iter()
            .any(|event| desk.read("log").contains(event))
    });
    drop(gateway);
    let summary = exchange.end();
    assert!(number(&summary, "turned away") > 0, "{summary}");
    assert_eq!(number(&summary, "logons refused"), 0, "{summary}");
}

/// The simulated venue lists a call spread, whose legs are the calls listed at 5 and 7.
#[test]
fn definitions_of_a_security_list_reach_the_screens() {
    const SPREAD: &str = "BTC-CS-31DEC27-40000_41000";
    let desk = Desk::bare("deribit-definitions");
    let exchange = Exchange::start(&desk, "--write sim --instruments 8 --levels 5");
    let gateway = desk.start("gateway --config sim/gateway.toml");
    let definition = |symbol: &str| desk.run(&format!("book deribit-sim {symbol} --definition"));
    until("the definition", || definition(SPREAD).status == 0);
    let shown = |symbol: &str, lines: &[&str]| {
        let text = definition(symbol).done().stdout;
        for line in lines {
            assert!(text.lines().any(|shown| shown == *line), "{line}: {text}");
        }
    };
    shown(
        SPREAD,
        &[
            " security type        option_spread",
            " currency             BTC",
            " tick                 0.0005",
            " contract size        1",
            " smallest order       0.1",
            " status               ready to trade",
            " leg 1 of 2           buys 1 of 5",
            " leg 2 of 2           sells 1 of 7",
        ],
    );
    shown(
        "BTC-31DEC27-41000-C",
        &[
            " security id          7",
            " strike               41000",
            " right                call",
        ],
    );
    let rows = desk.run(&format!(
        "tail deribit-sim --symbol {SPREAD} --count 1 --json"
    ));
    let rows = rows.done().stdout;
    for part in [
        r#""legs":[[5,"bid",1],[7,"ask",1]]"#,
        r#""status_name":"ready to trade""#,
        r#""quantity_min":"0.1""#,
    ] {
        assert!(rows.contains(part), "{part}: {rows}");
    }
    drop(gateway);
    exchange.end();
}

#[test]
fn invalid_arguments_are_refused() {
    let desk = Desk::bare("deribit-arguments");
    for (arguments, word) in [
        ("--write sim --levels 2", "2 is not in"),
        ("--write sim --fault skip", "not a fault"),
        ("--write sim --play a --levels 5", "--levels"),
        ("--write sim --from 127.0.0.1/33", "--from"),
    ] {
        let run = desk.run(&format!("sim deribit --listen 127.0.0.1:0 {arguments}"));
        assert!(
            run.status == 2 && run.stderr.contains(word),
            "{arguments}: {run:?}"
        );
    }
    let open = desk.run("sim deribit --listen 0.0.0.0:0 --write sim");
    open.refused(2, &["--from ADDRESS[/BITS]"]);
    desk.write("text", "no message");
    let run = desk.run("sim deribit --listen 127.0.0.1:0 --write sim --play text");
    run.refused(2, &["text", "byte 0"]);
}

/// An established, a lost and a failed connection are a line each, with host and reason.
#[test]
fn each_event_of_a_session_is_a_log_line() {
    let desk = Desk::bare("deribit-log");
    let exchange = Exchange::start(&desk, "--write sim --instruments 2");
    let log = std::fs::File::create(desk.path("log")).expect("our folder");
    let mut command = desk.command("gateway --config sim/gateway.toml");
    let gateway = Process::with_streams(command.stderr(log));
    let line_of = |event: &str| {
        until(event, || desk.read("log").contains(&format!(" {event} ")));
        let log = desk.read("log");
        let mut lines = log.lines().filter_map(|line| Some(line.split_once(' ')?.1));
        let is_of = |line: &&str| line.split(' ').nth(1) == Some(event);
        lines.find(is_of).expect("it is there").to_owned()
    };
    let session = "bus=deribit-sim session=TOUCHLINE:DERIBITSERVER";
    for event in ["connecting", "connected", "logon", "ready"] {
        let line = line_of(event);
        let starts = format!("INFO {event} {session} ");
        assert!(line.starts_with(&starts), "{line}");
    }
    drop(exchange);
    let lost = line_of("connection_lost");
    assert!(
        lost.starts_with(&format!("WARN connection_lost {session} host=127.0.0.1:")),
        "{lost}"
    );
    assert!(
        lost.contains(" reason=\"connection reset or closed by the other side\" retry_ms="),
        "{lost}"
    );
    let failed = line_of("connection_failed");
    assert!(
        failed.contains(" reason=\"connection refused\" retry_ms="),
        "{failed}"
    );
    line_of("not_ready");
    drop(gateway);
}
