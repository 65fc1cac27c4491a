//! `touchline sim cme`: packets, answers, and files.
//!
//! Each exchange sends to sockets of the test on 127.0.0.1, so that tests do not receive each other's packets.

mod forged;

use crate::command::{Desk, Run};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};
use touchline_lab::capture::{Arrival, Feed, Line, write_pcap};
use touchline_lab::cme::config::group_of;
use touchline_lab::cme::expected_books::BookState;
use touchline_net::{frame, pcap};
use touchline_testing::{PATIENCE, Process};

/// A socket for each feed on each line.
struct Ears {
    sockets: Vec<(Feed, Line, UdpSocket)>,
    arrivals: Vec<Arrival>,
}

impl Ears {
    /// Binds the sockets; writes their addresses as `config.xml` of channel 7 to the desk.
    fn open(desk: &Desk) -> Ears {
        let lanes = Feed::ALL
            .into_iter()
            .flat_map(|feed| Line::BOTH.map(|line| (feed, line)));
        let sockets = lanes.map(|(feed, line)| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
            socket.set_nonblocking(true).expect("a socket");
            (feed, line, socket)
        });
        let ears = Ears {
            sockets: sockets.collect(),
            arrivals: Vec::new(),
        };
        desk.write("ears.xml", ears.config_xml());
        ears
    }

    fn config_xml(&self) -> String {
        let mut xml = "<configuration><channel id=\"7\"><connections>".to_owned();
        for (feed, line, socket) in &self.sockets {
            let address = socket.local_addr().expect("a bound socket");
            let (feed, line) = (feed.code(), line.code());
            let _ = write!(
                xml,
                "<connection id=\"7{feed}{line}\"><type feed-type=\"{feed}\"/><protocol>UDP/IP</protocol>\
                 <ip>{}</ip><port>{}</port><feed>{line}</feed></connection>",
                address.ip(),
                address.port()
            );
        }
        xml + "</connections></channel></configuration>"
    }

    fn address(&self, feed: Feed, line: Line) -> SocketAddrV4 {
        let of = |(f, l, _): &&(Feed, Line, UdpSocket)| (*f, *l) == (feed, line);
        let (_, _, socket) = self.sockets.iter().find(of).expect("every lane has one");
        SocketAddrV4::new(
            Ipv4Addr::LOCALHOST,
            socket.local_addr().expect("a bound socket").port(),
        )
    }

    /// Receives available packets.
    fn hear(&mut self) {
        let mut buffer = [0; 2_048];
        for (feed, line, socket) in &self.sockets {
            while let Ok(length) = socket.recv(&mut buffer) {
                let time = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .expect("after 1970");
                self.arrivals.push(Arrival {
                    time_ns: time.as_nanos() as u64,
                    feed: *feed,
                    line: *line,
                    payload: buffer[..length].to_vec(),
                });
            }
        }
    }

    fn hear_until(&mut self, mut is_enough: impl FnMut(&[Arrival]) -> bool) {
        touchline_testing::until("packets", PATIENCE, || {
            self.hear();
            match is_enough(&self.arrivals) {
                true => Ok(()),
                false => Err(self.arrivals.len()),
            }
        });
    }

    fn count(&self, feed: Feed, line: Line) -> usize {
        count(&self.arrivals, feed, line)
    }
}

fn count(arrivals: &[Arrival], feed: Feed, line: Line) -> usize {
    let of = |arrival: &&Arrival| (arrival.feed, arrival.line) == (feed, line);
    arrivals.iter().filter(of).count()
}

/// A running exchange.
struct Exchange {
    process: Process,
    /// Output at its start.
    up: String,
}

const EARS: &str = "sim cme --config-xml ears.xml --channel 7";

impl Exchange {
    /// Starts an exchange and waits until it is up. `~` replaces the spaces of a fault.
    fn start(desk: &Desk, arguments: &str) -> Exchange {
        let mut command = desk.command("");
        let words = format!("{EARS} {arguments}");
        command.args(words.split_whitespace().map(|word| word.replace("~", " ")));
        let mut process = Process::start(command.stdin(Stdio::piped()));
        let up = process.next_line();
        Exchange { process, up }
    }

    /// Sends a command; returns its answer.
    fn say(&mut self, command: &str) -> String {
        self.process.tell(command);
        self.process.next_line()
    }

    /// Receives until its end; returns the summary.
    fn end(mut self, ears: &mut Ears) -> String {
        touchline_testing::until("the end of the exchange", PATIENCE, || {
            ears.hear();
            !self.process.is_running()
        });
        ears.hear();
        let status = self.process.wait();
        assert!(status.success(), "{status}");
        self.process.other_lines().join("\n")
    }
}

/// Books of `replay` from the received packets.
fn replayed(desk: &Desk, ears: &Ears) -> Run {
    let mut arrivals = ears.arrivals.clone();
    arrivals.sort_by_key(|arrival| arrival.time_ns);
    write_pcap(&arrivals, &desk.path("heard.pcap")).expect("our folder");
    desk.run("replay --config cme.toml --pcap heard.pcap --books books --orders orders --quiet")
}

#[test]
fn a_terminated_exchange_stops_its_faults_and_writes_the_expected_books() {
    let desk = Desk::new("sim-truth");
    let mut ears = Ears::open(&desk);
    let exchange = Exchange::start(
        &desk,
        "--events-per-second 500 --instruments 6 --schema-version 9 --truth-books b --truth-orders o --truth-log t \
         --fault drop~ab~0.03 --fault both~0.01~4 --fault reorder~a~0.02~3 --fault corrupt~b~0.01 \
         --fault delay~b~0.02~1~9 --fault duplicate~a~0.05",
    );
    assert!(
        exchange.up.starts_with("sending channel 7 on 127.0.0.1:"),
        "{}",
        exchange.up
    );
    assert!(
        exchange.up.ends_with("and 7 more, interface 127.0.0.1"),
        "{}",
        exchange.up
    );
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::A) > 600);
    exchange.process.signal("TERM");
    let summary = exchange.end(&mut ears);
    for fault in ["drop", "both", "reorder", "corrupt", "delay", "duplicate"] {
        let line = format!("\n  {fault} ");
        assert!(summary.contains(&line), "{fault} struck nothing: {summary}");
    }
    assert!(summary.contains("late: "), "{summary}");
    replayed(&desk, &ears).done();
    assert_eq!(desk.read("books"), desk.read("b"));
    assert_eq!(desk.read("orders"), desk.read("o"));
    assert_eq!(desk.read("b").lines().count(), 6);
    let states: Result<Vec<BookState>, _> = desk.read("t").lines().map(str::parse).collect();
    assert!(states.expect("whole lines").len() > 600);
    assert!(summary.lines().count() <= 24, "one screen: {summary}");
}

#[test]
fn each_command_is_answered() {
    let desk = Desk::new("sim-commands");
    let mut ears = Ears::open(&desk);
    let mut exchange = Exchange::start(
        &desk,
        "--commands --events-per-second 300 --instruments 3 --truth-books b --truth-orders o",
    );
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::B) > 50);
    let refused = exchange.say("drop a 1.5");
    assert!(
        refused.starts_with("refused: `drop a 1.5`: SHARE is `1.5`"),
        "{refused}"
    );
    assert_eq!(exchange.say("outage a 600"), "ok");
    ears.hear();
    let (a, b) = (
        ears.count(Feed::Incremental, Line::A),
        ears.count(Feed::Incremental, Line::B),
    );
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::B) > b + 100);
    // Packets in transit at the time of the answer still arrive.
    assert!(
        ears.count(Feed::Incremental, Line::A) < a + 20,
        "line A is dead"
    );
    assert!(
        exchange
            .say("replay half")
            .starts_with("refused: no TCP replay server")
    );
    let expected_books = exchange.say("truth");
    assert!(
        expected_books.starts_with("ok: expected books after packet "),
        "{expected_books}"
    );
    let early = desk.read("b");
    assert_eq!(exchange.say("clear"), "ok");
    assert_eq!(exchange.say("reset"), "ok");
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::B) > b + 300);
    assert_eq!(exchange.say("quit"), "ok");
    exchange.end(&mut ears);
    replayed(&desk, &ears).done();
    assert_eq!(desk.read("books"), desk.read("b"));
    assert_ne!(desk.read("b"), early);
}

#[test]
fn a_seed_is_the_same_market_and_replay_serves_what_was_sent() {
    let desk = Desk::new("sim-replay");
    let mut ears = Ears::open(&desk);
    let exchange = Exchange::start(
        &desk,
        "--seed 5 --events 400 --events-per-second 400 --replay-listen 127.0.0.1:0 --write w --truth-books b1",
    );
    let (_, address) = exchange
        .up
        .split_once("TCP replay on ")
        .expect("an address");
    let mut client = TcpStream::connect(address).expect("it listens");
    let fix = |body: &str| {
        let body = body.replace('|', "\u{1}");
        let message = format!("9={}\u{1}{body}", body.len());
        let sum = message.bytes().fold(0u8, u8::wrapping_add);
        format!("{message}10={sum:03}\u{1}")
    };
    client
        .write_all(fix("35=A|553=CME|554=CME|").as_bytes())
        .expect("it reads");
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::A) > 60);
    let request = fix("35=V|1180=7|262=7-1|1182=1|1183=50|");
    client.write_all(request.as_bytes()).expect("it reads");
    let mut answer = Vec::new();
    client
        .read_to_end(&mut answer)
        .expect("it answers and closes");
    let sent = ears.arrivals.iter();
    let sent = sent.filter(|arrival| (arrival.feed, arrival.line) == (Feed::Incremental, Line::A));
    let mut expected = Vec::new();
    for arrival in sent.take(50) {
        expected.extend((arrival.payload.len() as u16).to_le_bytes());
        expected.extend(&arrival.payload);
    }
    let at = answer
        .windows(expected.len())
        .position(|window| window == expected);
    assert_eq!(at, Some(2 + 12 + 10 + 1), "behind the logon");
    let summary = exchange.end(&mut ears);
    assert!(
        summary.contains("TCP replay: 1 connection, 1 served with 50 packets, 0 refused"),
        "{summary}"
    );
    assert!(summary.contains("\n400 events and "), "{summary}");
    assert_eq!(desk.read("w/config.xml"), desk.read("ears.xml"));
    let config = desk
        .run("gateway --config w/gateway.toml --print-config")
        .done()
        .stdout;
    assert!(config.contains("interface = \"127.0.0.1\""), "{config}");
    assert!(config.contains("requests_per_day_max = 100000"), "{config}");
    Exchange::start(
        &desk,
        "--seed 5 --events 400 --events-per-second 9999 --truth-books b2",
    )
    .end(&mut ears);
    let prices = |name| desk.read(name).lines().next().map(str::to_owned);
    assert_eq!(prices("b1"), prices("b2"), "whatever the time");
}

#[test]
fn captures_are_sent_in_order_and_never_early() {
    let desk = Desk::new("sim-pcap");
    let mut ears = Ears::open(&desk);
    // A burst, a pause, a burst: the last packet is 300 ms after the first.
    let offsets_ms = [0, 0, 0, 0, 100, 100, 100, 250, 300];
    let mut bytes = Vec::new();
    let mut writer = pcap::Writer::new(Vec::new()).expect("memory");
    for (number, offset_ms) in (0u8..).zip(offsets_ms) {
        let line = Line::BOTH[usize::from(number) % 2];
        let source = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
        let destination = ears.address(Feed::Incremental, line);
        frame::udp_ipv4_frame(&mut bytes, source, destination, &[number; 30]).expect("short");
        let time_ns = 1_700_000_000_000_000_000 + offset_ms * 1_000_000;
        writer.write(time_ns, &bytes).expect("memory");
    }
    desk.write("burst.pcap", writer.finish().expect("memory"));
    for (speed, times) in [(1, 1), (2, 2)] {
        ears.arrivals.clear();
        let started_ns = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let exchange = Exchange::start(&desk, &format!("--play burst.pcap --speed {speed}"));
        assert_eq!(
            exchange.up,
            format!("sending burst.pcap at speed {speed}, interface 127.0.0.1")
        );
        let summary = exchange.end(&mut ears);
        let started_ns = started_ns.as_nanos() as u64;
        for line in Line::BOTH {
            let numbers = ears.arrivals.iter().filter(|arrival| arrival.line == line);
            let numbers: Vec<u8> = numbers.map(|arrival| arrival.payload[0]).collect();
            let expected: Vec<u8> = (line as u8..9).step_by(2).collect();
            assert_eq!(numbers, expected, "line {line:?}");
        }
        for arrival in &ears.arrivals {
            let due_ns = offsets_ms[usize::from(arrival.payload[0])] * 1_000_000 / times;
            assert!(
                arrival.time_ns - started_ns >= due_ns,
                "{arrival:?} is early"
            );
        }
        assert!(summary.contains("9 packets in "), "{summary}");
        assert!(summary.contains("late: "), "{summary}");
    }
    ears.arrivals.clear();
    let exchange = Exchange::start(&desk, "--play burst.pcap --fault drop~a~1");
    exchange.end(&mut ears);
    assert_eq!(
        (
            ears.count(Feed::Incremental, Line::A),
            ears.count(Feed::Incremental, Line::B)
        ),
        (0, 4)
    );
    let exchange = Exchange::start(&desk, "--play burst.pcap --speed 100 --loop");
    ears.hear_until(|arrivals| count(arrivals, Feed::Incremental, Line::B) >= 4 + 6);
    exchange.process.signal("INT");
    exchange.end(&mut ears);
}

#[test]
fn invalid_arguments_are_refused_in_one_line() {
    let desk = Desk::new("sim-refused");
    let ears = Ears::open(&desk);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = format!("--replay-listen {}", taken.local_addr().expect("bound"));
    for (arguments, status, words) in [
        (
            "--interface nowhere9",
            2,
            &["no network interface \"nowhere9\"", "lo (127.0.0.1)"][..],
        ),
        (
            &taken,
            1,
            &["TCP replay cannot listen on 127.0.0.1:", "a free port"],
        ),
        (
            "--truth-books /nowhere/b",
            1,
            &["/nowhere/b: cannot be written"],
        ),
        (
            "--truth-log /nowhere/t",
            1,
            &["/nowhere/t: cannot be written"],
        ),
        ("--write /proc/nowhere", 1, &["/proc/nowhere: "]),
        (
            "--fault drop~a",
            2,
            &["SHARE is missing; write `drop LINE SHARE`"],
        ),
        ("--fault reset", 2, &["not a fault"]),
        ("--fault restart", 2, &["not a fault"]),
        (
            "--fault old~a~12",
            2,
            &["no packet was sent before it", "give it to --commands"],
        ),
        (
            "--fault forge~a~1",
            2,
            &["SECONDS is missing; write `forge LINE NUMBER SECONDS`"],
        ),
        (
            "--play session.pcap --fault clock~-60",
            2,
            &["not possible with captures"],
        ),
        ("--fault replay~half", 2, &["--replay-listen"]),
        ("--schema-version 10", 2, &["[possible values: 9, 13]"]),
        ("--instruments 0", 2, &["--instruments"]),
        (
            "--events-per-second 1e7",
            2,
            &["a number from 0 to 1000000"],
        ),
        ("--speed 2", 2, &["--play"]),
        (
            "--play session.pcap --course 1",
            2,
            &["cannot be used with"],
        ),
        ("--play nowhere.pcap", 1, &["nowhere.pcap"]),
        ("--play ears.xml", 1, &["ears.xml"]),
        (
            "--play session.pcap --fault both~0.1~2",
            2,
            &["use `drop` or `burst` on a line"],
        ),
    ] {
        let mut command = desk.command("");
        let words_of = format!("{EARS} {arguments}");
        command.args(
            words_of
                .split_whitespace()
                .map(|word| word.replace('~', " ")),
        );
        let output = command.output().expect("the command starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let run = Run {
            status: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        run.refused(status, words);
    }
    desk.run("sim cme --config-xml ears.xml")
        .refused(2, &["--channel"]);
    desk.run("sim cme --config-xml ears.xml --channel 8")
        .refused(2, &["no channel 8"]);
    desk.run("sim cme --play session.pcap --write w")
        .refused(2, &["give --config-xml"]);
    drop(ears);
}

#[test]
fn an_exchange_ends_when_its_standard_input_is_closed() {
    let desk = Desk::new("sim-eof");
    let mut ears = Ears::open(&desk);
    for arguments in [
        "--commands --until-eof",
        "--commands --until-eof --play session.pcap --loop --speed 0.001",
    ] {
        let mut exchange = Exchange::start(&desk, arguments);
        exchange.process.close();
        exchange.end(&mut ears);
    }
    let mut exchange = Exchange::start(&desk, "--commands");
    exchange.process.close();
    let count = ears.arrivals.len();
    ears.hear_until(|arrivals| arrivals.len() > count + 100);
    exchange.process.signal("TERM");
    exchange.end(&mut ears);
}

#[test]
fn the_built_in_channel_has_sets_of_groups() {
    let desk = Desk::new("sim-groups");
    let run = desk
        .run("sim cme --groups 300 --seconds 1 --events-per-second 0 --write w")
        .done();
    let up = "sending channel 998 on 239.192.18.192:14998 and 7 more";
    assert!(run.stdout.starts_with(up), "{run:?}");
    assert!(
        desk.read("w/config.xml")
            .contains("<ip>239.192.18.203</ip>")
    );
    assert!(
        desk.read("w/gateway.toml")
            .starts_with("bus = \"cme-998\"\n")
    );
    desk.run("sim cme --groups 16384").refused(2, &["--groups"]);
}

/// An exchange on a set of groups that no other run of these tests uses.
fn on_groups(desk: &Desk, set: u32) -> Process {
    let mut exchange = desk.start(&format!("sim cme --groups {set}"));
    let up = exchange.next_line();
    assert!(up.starts_with("sending channel 998 on 239."), "{up}");
    exchange
}

/// With the fix of the refusal it runs beside the first one, and a killed one blocks no other.
#[test]
fn exchanges_on_the_same_groups_refuse_each_other_with_the_fix() {
    let desk = Desk::bare("sim-claimed");
    let set = 1_000 + std::process::id() % 7_000;
    let first = on_groups(&desk, set);
    let second = desk.run(&format!("sim cme --groups {set} --seconds 2"));
    let said = second.stderr.clone();
    let holder = format!(
        ":14998 is in use by another simulator, process {};",
        first.id()
    );
    second.refused(2, &[&holder, "give --groups ", "stop that one"]);
    let (_, fix) = said.split_once("give --groups ").expect("the fix");
    let free: u32 = fix.split(' ').next().expect("a word").parse().expect(fix);
    let beside = format!("sim cme --groups {free} --seconds 1 --events-per-second 0 --write w");
    desk.run(&beside).done();
    drop(first);
    drop(on_groups(&desk, set));
}

/// Captures without a channel are sent to their recorded groups.
#[test]
fn captures_are_not_sent_to_the_groups_of_another_exchange() {
    let desk = Desk::bare("sim-claimed-pcap");
    let set = 8_000 + std::process::id() % 7_000;
    let group = group_of(set as u16, Feed::Incremental, Line::B);
    let mut writer = pcap::Writer::new(Vec::new()).expect("memory");
    let mut bytes = Vec::new();
    let source = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    frame::udp_ipv4_frame(&mut bytes, source, group, &[0; 30]).expect("short");
    writer.write(1, &bytes).expect("memory");
    desk.write("one.pcap", writer.finish().expect("memory"));
    let exchange = on_groups(&desk, set);
    let refused = desk.run("sim cme --play one.pcap");
    let words = format!(
        "touchline: {group} is in use by another simulator, process {}; stop one of the two\n",
        exchange.id()
    );
    // The group is known from the first packet only.
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.ends_with(&words), "{refused:?}");
    drop(exchange);
    assert_eq!(desk.run("sim cme --play one.pcap").status, 0);
}

/// An address that its source cannot reach is a wrong setting, and no interface that may come back: the run ends, although packets for the
/// other addresses leave.
#[test]
fn an_address_that_is_not_reached_ends_the_run() {
    let desk = Desk::bare("unreached");
    let ears = Ears::open(&desk);
    let feed = Feed::Snapshot;
    let ours = ears.address(feed, Line::A);
    let xml = ears.config_xml();
    let place = format!("<ip>{}</ip><port>{}</port>", ours.ip(), ours.port());
    assert!(xml.contains(&place), "{xml}");
    let far = format!("<ip>192.0.2.1</ip><port>{}</port>", ours.port());
    desk.write("ears.xml", xml.replace(&place, &far));
    let run = desk.run(&format!("{EARS} --seconds 20"));
    assert_eq!(run.status, 1, "{run:?}");
    let said = format!(
        "no packet can be sent to 192.0.2.1:{} from 127.0.0.1",
        ours.port()
    );
    assert!(run.stderr.contains(&said), "{run:?}");
}
