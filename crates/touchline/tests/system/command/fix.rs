//! `touchline sim fix-acceptor` and `fix-initiator` over TCP.

use crate::command::{Desk, waits_in_4_s};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_lab::fix::scenario::{Heard, Scenario, TestTransport, filled};
use touchline_session::fix::Role;
use touchline_testing::{Process, free_address};

/// A running counterparty.
pub struct Running {
    pub process: Process,
    lines: BufReader<ChildStdout>,
    /// Its first line.
    pub said: String,
}

impl Running {
    pub fn start(desk: &Desk, arguments: &str) -> Running {
        Running::of(desk.command(arguments))
    }

    /// Starts a prepared command.
    pub fn of(mut command: Command) -> Running {
        let mut process = Process::with_streams(command.stdout(Stdio::piped()));
        let mut lines = BufReader::new(process.pipe());
        let mut said = String::new();
        lines.read_line(&mut said).expect("its first line");
        Running {
            process,
            lines,
            said,
        }
    }

    /// The third word: `listening on ADDRESS ...`.
    pub fn address(&self) -> &str {
        self.said.split(' ').nth(2).expect("an address")
    }

    /// Asks it to end, and returns its output.
    pub fn end(mut self) -> (Option<i32>, String) {
        self.process.signal("TERM");
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("text");
        (self.process.wait().code(), rest)
    }
}

/// Testers of a running acceptor.
struct Testers {
    address: String,
    streams: [Option<(TcpStream, Vec<u8>)>; 3],
}

impl TestTransport for Testers {
    fn connect(&mut self, line: u8) {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(40)))
            .expect("a socket");
        self.streams[usize::from(line)] = Some((stream, Vec::new()));
    }

    fn drop(&mut self, line: u8) {
        self.streams[usize::from(line)] = None;
        std::thread::sleep(Duration::from_millis(50));
    }

    fn say(&mut self, line: u8, bytes: &[u8]) {
        if let Some((stream, _)) = &mut self.streams[usize::from(line)] {
            // A rejected client's connection is closed while it still sends.
            let _ = stream.write_all(bytes);
        }
    }

    fn hear(&mut self, line: u8) -> Heard {
        let Some((stream, buffer)) = &mut self.streams[usize::from(line)] else {
            return Heard::End;
        };
        let mut room = [0; 4_096];
        loop {
            if let Some(place) = buffer.windows(4).position(|window| window == b"\x0110=")
                && buffer.len() >= place + 8
            {
                return Heard::Message(buffer.drain(..place + 8).collect());
            }
            match stream.read(&mut room) {
                Ok(0) => return Heard::End,
                Ok(bytes) => buffer.extend(&room[..bytes]),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Heard::Nothing,
                    // This process was stopped and continued: the wait of a socket with a timeout ends so.
                    ErrorKind::Interrupted => {}
                    _ => return Heard::End,
                },
            }
        }
    }

    fn wait(&mut self, seconds: u64) {
        std::thread::sleep(Duration::from_secs(seconds));
    }

    fn wall_ns(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.expect("after 1970").as_nanos() as u64
    }
}

fn run(running: &Running, name: &str, text: &[u8]) -> Result<(), String> {
    let scenario = Scenario::parse(text).map_err(|what| format!("{name}: {what}"))?;
    let mut testers = Testers {
        address: running.address().to_owned(),
        streams: [const { None }; 3],
    };
    let outcome = scenario.run(Role::Acceptor, &mut testers);
    outcome.map_err(|what| format!("{name}: {what}"))
}

#[test]
fn the_acceptor_answers_public_scenarios_over_tcp() {
    let Some(captures) = touchline_testing::captures("public scenarios of FIX") else {
        return;
    };
    let desk = Desk::bare("fix-public");
    let running = Running::start(&desk, "sim fix-acceptor --listen 127.0.0.1:0");
    let folder = captures.join("quickfix-at/fix44");
    let mut ran = 0;
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read(&path).expect("a file");
        assert_eq!(run(&running, &path.display().to_string(), &text), Ok(()));
        ran += 1;
    }
    let (status, said) = running.end();
    assert_eq!((status, ran), (Some(0), 20), "{said}");
    assert!(
        said.contains(" logons") && said.contains(" garbled"),
        "{said}"
    );
}

const TRADE: &str = "\
iCONNECT
I8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=1|
E8=FIX.4.4|35=A|34=1|49=ISLD|52=<TIME>|56=TW44|98=0|108=1|
I8=FIX.4.4|35=D|34=2|49=TW44|52=<TIME>|56=ISLD|11=a|21=1|40=1|54=1|55=X|60=<TIME>|
E8=FIX.4.4|35=D|34=2|49=ISLD|52=<TIME>|56=TW44|11=a|21=1|40=1|54=1|55=X|60=<TIME>|
I8=FIX.4.4|35=D|34=3|49=TW44|52=<TIME>|56=ISLD|11=a|54=1|55=X|60=<TIME>|
E8=FIX.4.4|35=3|34=3|49=ISLD|52=<TIME>|56=TW44|45=3|371=40|372=D|373=1|
I8=FIX.4.4|35=5|34=4|49=TW44|52=<TIME>|56=ISLD|
E8=FIX.4.4|35=5|34=4|49=ISLD|52=<TIME>|56=TW44|
eDISCONNECT
";

#[test]
fn an_acceptor_and_an_initiator_log_on_and_print_their_counts() {
    let desk = Desk::bare("fix-pair");
    let acceptor = Running::start(&desk, "sim fix-acceptor --listen 127.0.0.1:0");
    assert!(
        acceptor.said.ends_with(" as ISLD for TW44\n"),
        "{}",
        acceptor.said
    );
    assert_eq!(run(&acceptor, "trade", TRADE.as_bytes()), Ok(()));
    let arguments = format!(
        "sim fix-initiator --connect {} --seconds 1",
        acceptor.address()
    );
    let initiator = desk.run(&arguments);
    assert_eq!(initiator.status, 0, "{initiator:?}");
    assert!(
        initiator
            .stdout
            .contains("1 connection, 0 turned away, 1 logon\n"),
        "{initiator:?}"
    );
    let (status, said) = acceptor.end();
    assert_eq!(status, Some(0));
    assert!(
        said.contains("2 connections, 0 turned away, 2 logons\n"),
        "{said}"
    );
    assert!(said.contains(", 0 garbled, 1 rejected\n"), "{said}");
}

/// A running initiator.
struct Initiator {
    process: Process,
    /// Events of its log that the test has seen.
    seen: usize,
}

impl Initiator {
    /// One that has printed its first line.
    fn start(desk: &Desk, arguments: &str) -> Initiator {
        let mut process = desk.start(&format!("sim fix-initiator {arguments}"));
        process.next_line();
        Initiator { process, seen: 0 }
    }

    /// The next line of its log that is not of the start, without its time.
    fn event(&mut self) -> String {
        let of_start = ["INFO started ", "INFO sim_started "];
        let event = self.process.wait_for("a line of the log", |process| {
            let log = process.err();
            let lines = log
                .split_inclusive('\n')
                .filter_map(|line| line.strip_suffix('\n'));
            let said = lines.map(|line| line.split_once(' ').expect("a time").1);
            let mut events =
                said.filter(|said| !of_start.iter().any(|first| said.starts_with(first)));
            events.nth(self.seen).map(str::to_owned)
        });
        self.seen += 1;
        event
    }
}

#[test]
fn an_initiator_reports_refused_connections_and_retries_with_backoff() {
    let desk = Desk::bare("fix-refused");
    let address = free_address();
    let start = Instant::now();
    let mut initiator = Initiator::start(&desk, &format!("--connect {address}"));
    for ms in [500, 1_000, 2_000] {
        let expected = format!(
            "WARN connection_failed venue=fix host={address} reason=\"connection refused: no process listens there; start the \
             acceptor, or correct --connect\" retry_ms={ms}"
        );
        assert_eq!(initiator.event(), expected);
    }
    assert!(start.elapsed() >= Duration::from_millis(1_500), "too often");
    let acceptor = Running::start(&desk, &format!("sim fix-acceptor --listen {address}"));
    let line = initiator.process.next_line();
    assert_eq!(line, format!("logged on to {address} as TW44 for ISLD"));
    assert_eq!(
        initiator.event(),
        format!("INFO logon venue=fix count=1 host={address}")
    );
    // The initiator starts again with the shortest backoff.
    acceptor.end();
    for (name, what) in [
        ("connection_closed", "session ended: logout"),
        ("connection_failed", "connection refused"),
    ] {
        let said = initiator.event();
        let starts = format!("WARN {name} venue=fix host={address} reason=\"{what}");
        assert!(
            said.starts_with(&starts) && said.ends_with(" retry_ms=500"),
            "{said}"
        );
    }
}

/// The counterparty's reason is printed, and without one the possible causes.
#[test]
fn an_initiator_reports_why_its_logon_was_refused() {
    let desk = Desk::bare("fix-refused-logon");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    let mut initiator = Initiator::start(&desk, &format!("--connect {address} --sender ME"));
    let mut next = |answer: Option<&str>| {
        let (mut stream, _) = listener.accept().expect("it connects");
        let mut logon = [0; 512];
        assert!(stream.read(&mut logon).expect("a Logon") > 0);
        if let Some(answer) = answer {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now_ns = now.expect("after 1970").as_nanos() as u64;
            let answer = filled(answer.replace('|', "\x01").as_bytes(), now_ns);
            stream.write_all(&answer).expect("it listens");
            // Reads until the close: unread data would be lost with a reset.
            let _ = stream.read_to_end(&mut Vec::new());
        }
        drop(stream);
        let said = initiator.event();
        said.strip_prefix(&format!("WARN connection_closed venue=fix host={address} "))
            .expect("where")
            .to_owned()
    };
    let logout = "8=FIX.4.4|35=5|34=1|49=ISLD|56=ME|52=<TIME>|58=no such firm|";
    assert_eq!(
        next(Some(logout)),
        "reason=\"Logon of ME for ISLD rejected (no such firm); correct --sender, --target or what the text names\" \
         retry_ms=500"
    );
    assert_eq!(
        next(None),
        "reason=\"connection closed instead of an answer to the Logon of ME for ISLD; check that the acceptor has this \
         session (--sender, --target) and accepts Logons from this address\" retry_ms=1000"
    );
    let logon = "8=FIX.4.4|35=A|34=1|49=OTHER|56=ME|52=<TIME>|98=0|108=30|141=Y|";
    assert_eq!(
        next(Some(logon)),
        "reason=\"the answer was not a Logon of ISLD for ME; correct --sender, --target or --begin-string\" retry_ms=2000"
    );
}

/// The answers are not echoed, otherwise each order would be echoed without end.
#[test]
fn an_initiator_sends_an_order_a_second_and_counts_the_answers() {
    let desk = Desk::bare("fix-orders");
    let acceptor = Running::start(&desk, "sim fix-acceptor --listen 127.0.0.1:0");
    let address = acceptor.address();
    let initiator = |seconds: u32| {
        desk.run(&format!(
            "sim fix-initiator --connect {address} --send 3 --seconds {seconds}"
        ))
        .done()
        .stdout
    };
    // One if it was connected late: no more than an order a second.
    let said = initiator(2);
    let is_sent =
        |count: &usize| said.contains(&format!("\n{count} orders sent, {count} answered\n"));
    let first = (1..=2).find(is_sent).unwrap_or_else(|| panic!("{said}"));
    let said = initiator(8);
    assert!(said.contains("\n3 orders sent, 3 answered\n"), "{said}");
    // Logon, three orders, Logout.
    assert!(
        said.contains("\n5 messages received, 5 sent, 0 garbled, 0 rejected\n"),
        "{said}"
    );
    let (status, said) = acceptor.end();
    assert_eq!(status, Some(0));
    let both = first + 2 + 5;
    let totals = format!("\n{both} messages received, {both} sent, 0 garbled, 0 rejected\n");
    assert!(said.contains(&totals), "{said}");
    desk.run("sim fix-initiator --send 0")
        .refused(2, &["--send"]);
}

/// An acceptor without connections sleeps for 10 ms at a time.
#[test]
fn a_simulated_acceptor_without_clients_is_idle() {
    let desk = Desk::bare("fix-idle");
    let acceptor = Running::start(&desk, "sim fix-acceptor --listen 127.0.0.1:0");
    let count = waits_in_4_s(acceptor.process.id());
    // 400, and the shorter sleeps of the start.
    assert!((1..=500).contains(&count), "{count} waits in 4 s");
    acceptor.end();
}

/// The tester comes from 127.0.0.1.
#[test]
fn an_acceptor_accepts_logons_from_listed_addresses_only() {
    let turned_away = "\
iCONNECT
I8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|
eDISCONNECT
";
    let desk = Desk::bare("fix-from");
    for (from, scenario, summary) in [
        ("--from 127.0.0.2", turned_away, "1 turned away, 0 logons\n"),
        (
            "--from 127.0.0.2 --from 127.0.0.0/31",
            TRADE,
            "0 turned away, 1 logon\n",
        ),
    ] {
        let arguments = format!("sim fix-acceptor --listen 127.0.0.1:0 {from}");
        let acceptor = Running::start(&desk, &arguments);
        assert_eq!(run(&acceptor, from, scenario.as_bytes()), Ok(()));
        let (status, said) = acceptor.end();
        assert_eq!(status, Some(0));
        assert!(said.contains(summary), "{from}: {said}");
    }
}

#[test]
fn an_address_that_cannot_be_bound_is_refused_in_one_line() {
    let desk = Desk::bare("fix-refusal");
    let running = Running::start(&desk, "sim fix-acceptor --listen 127.0.0.1:0");
    let taken = format!("sim fix-acceptor --listen {}", running.address());
    desk.write("wrong.xml", "<fix major='4' minor='4'/>");
    for (arguments, status, wanted) in [
        (taken.as_str(), 1, "free port"),
        ("sim fix-acceptor --dictionary absent.xml", 2, "absent.xml"),
        ("sim fix-acceptor --dictionary wrong.xml", 2, "wrong.xml"),
        ("sim fix-acceptor --sender ", 2, "--sender"),
        ("sim fix-initiator --heartbeat=-1", 2, "heartbeat"),
        ("sim fix-acceptor --from nowhere", 2, "192.0.2.0/24"),
        ("sim fix-acceptor --from 10.1.2.3/8", 2, "10.0.0.0/8"),
        ("sim fix-acceptor --from 10.1.2.3/33", 2, "--from"),
        ("sim fix-acceptor --listen 0.0.0.0:0", 2, "--from 0.0.0.0/0"),
    ] {
        desk.run(arguments).refused(status, &[wanted]);
    }
    running.end();
}
