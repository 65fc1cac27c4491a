//! `metrics`: the page, and access to it.

use super::exposition::Page;
use super::{Desk, full_pipe, until};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;
use touchline_testing::{PATIENCE, Process, free_address};

#[test]
fn the_page_has_the_counters_of_the_buses() {
    let desk = Desk::new("metrics-page");
    desk.publish("").done();
    desk.publish("--bus other").done();
    let page = desk.page();
    for bus in ["lab", "other"] {
        let stat: serde_json::Value =
            serde_json::from_str(&desk.run(&format!("stat {bus} --json")).done().stdout)
                .expect("an object");
        let counters = stat["counters"].as_object().expect("counters");
        assert!(counters.len() > 50);
        for (name, value) in counters {
            let line = name.strip_suffix("_a").map(|stem| (stem, "a"));
            let line = line.or_else(|| name.strip_suffix("_b").map(|stem| (stem, "b")));
            let shown = match line {
                Some((stem, line)) => page.labelled(
                    &format!("touchline_line_{stem}_total"),
                    &[("bus", bus), ("line", line)],
                ),
                None => {
                    // A gauge has no total; one in milliseconds is 0 after a replay, in seconds too.
                    let gauge = name
                        .strip_suffix("_ms")
                        .map(|stem| format!("{stem}_seconds"));
                    let gauge = format!("touchline_{}", gauge.as_ref().unwrap_or(name));
                    let total = page.value(&format!("touchline_{name}_total"), bus);
                    total.or_else(|| page.value(&gauge, bus))
                }
            };
            assert_eq!(shown, value.as_f64(), "{name}");
        }
        let value = |name: &str| page.value(name, bus).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(
            value("touchline_bus_messages_total"),
            stat["messages"].as_f64().unwrap()
        );
        assert_eq!(
            value("touchline_bus_position_bytes"),
            stat["position"].as_f64().unwrap()
        );
        assert_eq!(value("touchline_bus_publisher_generation"), 1.0);
        assert_eq!(value("touchline_bus_publisher_up"), 0.0);
        assert_eq!(value("touchline_bus_unreadable"), 0.0);
        let histogram = &stat["histograms"]["packet_ns"];
        let count = value("touchline_packet_seconds_count");
        assert!(count > 0.0 && Some(count) == histogram["count"].as_f64());
        page.check_histogram("touchline_packet_seconds", bus, &histogram["p50"]);
    }
    assert_eq!(page.alone("touchline_buses"), 2.0);
    assert_eq!(page.alone("touchline_metrics_refused"), 0.0);
}

/// Readers by name while they read, and after they died.
#[test]
fn readers_are_exported_by_name() {
    let desk = Desk::new("metrics-readers");
    desk.publish("").done();
    let mut readers = ["quick", "slow"].map(|name| {
        let mut tail = desk.command(&format!("tail lab --json --name {name}"));
        Process::with_streams(tail.stdout(Stdio::null()))
    });
    let read = |page: &Page, name: &str, reader: &str| {
        page.labelled(name, &[("bus", "lab"), ("reader", reader)])
    };
    let is_alive = |reader: &str| read(&desk.page(), "touchline_reader_alive", reader) == Some(1.0);
    until("both readers", || is_alive("slow") && is_alive("quick"));
    // An ended reader's lag grows; a running one has none.
    readers[1].signal("STOP");
    desk.publish("").done();
    let page = touchline_testing::until("all of it read", PATIENCE, || {
        let page = desk.page();
        let messages = read(&page, "touchline_reader_messages_total", "quick");
        let lag = read(&page, "touchline_reader_lag_bytes", "quick");
        (messages > Some(0.0) && lag == Some(0.0)).then_some(page)
    });
    assert!(read(&page, "touchline_reader_lag_bytes", "slow") > Some(100_000.0));
    let batches = read(&page, "touchline_reader_batches_total", "quick").expect("batches");
    let latencies = read(
        &page,
        "touchline_reader_published_to_consumed_seconds_count",
        "quick",
    );
    assert!(
        batches > 0.0 && latencies > Some(0.0),
        "{batches} {latencies:?}"
    );
    for reader in &mut readers {
        reader.kill();
    }
    assert_eq!(
        read(&desk.page(), "touchline_reader_alive", "slow"),
        Some(0.0)
    );
}

#[test]
fn unreadable_buses_are_exported_as_a_gauge() {
    let desk = Desk::new("metrics-unreadable");
    let page = desk.page();
    assert_eq!(
        (
            page.alone("touchline_buses"),
            page.alone("touchline_directory_unreadable")
        ),
        (0.0, 0.0)
    );
    desk.publish("").done();
    let buses = desk.path("buses");
    for bus in ["damaged", "empty", "a b", "x\"}\ny 1", "..x", ".hidden"] {
        std::fs::create_dir(buses.join(bus)).expect("our folder");
    }
    std::fs::write(buses.join("file"), "").expect("our folder");
    std::os::unix::fs::symlink(buses.join("lab"), buses.join("link")).expect("our folder");
    for file in ["ring", "definitions", "images", "counters"] {
        std::fs::write(buses.join("damaged").join(file), [7; 8192]).expect("our folder");
    }
    let page = desk.page();
    // A plain file is not a bus.
    assert_eq!(page.buses(), ["damaged", "empty", "lab", "link"]);
    for bus in page.buses() {
        let expected = if bus == "lab" { 0.0 } else { 1.0 };
        assert_eq!(
            page.value("touchline_bus_unreadable", &bus),
            Some(expected),
            "{bus}"
        );
    }
    // A damaged counters file of a reader hides the rest of its bus, and no other bus.
    desk.publish("--bus other").done();
    let counters = std::fs::File::options()
        .write(true)
        .open(buses.join("other/counters"));
    counters
        .and_then(|mut file| file.write_all(&[7; 64]))
        .expect("our file");
    let page = desk.page();
    assert_eq!(page.value("touchline_bus_unreadable", "other"), Some(1.0));
    assert_eq!(page.value("touchline_bus_unreadable", "lab"), Some(0.0));

    std::fs::remove_dir_all(&buses).expect("our folder");
    std::fs::write(&buses, "").expect("our folder");
    let page = desk.page();
    assert_eq!(page.alone("touchline_directory_unreadable"), 1.0);
}

#[test]
fn the_page_has_a_limit_of_buses_and_no_symbol() {
    let desk = Desk::new("metrics-many");
    desk.publish("").done();
    for number in 0..100 {
        std::fs::create_dir(desk.path("buses").join(format!("z{number:03}"))).expect("our folder");
    }
    let text = desk.run("metrics --print").done().stdout;
    let page = Page::read(&text);
    assert_eq!(page.buses().len(), 64);
    assert_eq!(
        (
            page.alone("touchline_buses"),
            page.alone("touchline_buses_not_shown")
        ),
        (101.0, 37.0)
    );
    let list = desk.run("book lab").done().stdout;
    let symbols: Vec<_> = list
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(symbols.len() > 3, "{list}");
    for symbol in symbols {
        assert!(!text.contains(symbol), "{symbol}");
    }
}

/// `promtool check metrics` reports no problem. Without promtool the test reports that.
#[test]
fn promtool_accepts_the_page() {
    let desk = Desk::new("metrics-promtool");
    desk.publish("").done();
    let page = desk.run("metrics --print").done().stdout;
    let Some((status, said)) = promtool(&["check", "metrics"], &page) else {
        return;
    };
    assert!(status && said.is_empty(), "{said}");
    let broken = format!("{page}touchline_no_help 1\n");
    let (status, said) = promtool(&["check", "metrics"], &broken).expect("it was there");
    assert!(
        !status && said.contains("no_help"),
        "it finds something where there is: {said}"
    );
}

#[test]
fn the_page_is_served_until_a_signal() {
    let desk = Desk::new("metrics-served");
    desk.publish("").done();
    let mut server = Served::start(&desk);
    assert_eq!(server.address.ip().to_string(), "127.0.0.1");
    let page = server.get("/metrics");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    let (head, body) = page.split_once("\r\n\r\n").expect("a head");
    assert!(
        head.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    assert!(
        head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
        "{head}"
    );
    assert!(Page::read(body).buses() == ["lab"]);
    assert!(server.get("/healthz").ends_with("\r\n\r\nok\n"));

    let address = server.address.to_string();
    desk.run(&format!("metrics --listen {address}"))
        .refused(1, &[&address, "ss -ltnp", "--listen"]);
    desk.run("metrics --listen 192.0.2.1:9464")
        .refused(1, &["192.0.2.1:9464", "no such address"]);
    desk.run("metrics --listen nowhere")
        .refused(2, &["--listen"]);
    assert_eq!(server.stop(), Some(0));
}

/// Standard output is a full pipe without a reader: scrapes are answered, and the exporter ends when it is asked to.
#[test]
fn an_exporter_whose_line_nobody_reads_serves() {
    let desk = Desk::new("metrics-unread");
    let (_unread, pipe) = full_pipe();
    let address = free_address();
    let mut command = desk.command(&format!("metrics --listen {address}"));
    let mut server = Process::with_streams(command.stdout(pipe).stderr(Stdio::null()));
    until("it serves", || TcpStream::connect(address).is_ok());
    assert_eq!(server.end("TERM"), Some(0));
}

#[test]
fn other_requests_are_refused() {
    let desk = Desk::new("metrics-refused");
    desk.publish("").done();
    let server = Served::start(&desk);
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9000));
    let body = format!(
        "POST /metrics HTTP/1.1\r\nContent-Length: 100000\r\n\r\n{}",
        "x".repeat(100_000)
    );
    for (request, status) in [
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("DELETE /healthz HTTP/1.1\r\n\r\n", "405"),
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        ("GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", "404"),
        ("nonsense\r\n\r\n", "400"),
        (&long, "431"),
        (&body, "405"),
    ] {
        let answer = server.ask(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{status}: {answer}"
        );
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    assert!(server.get("/metrics").starts_with("HTTP/1.1 200 "));
}

/// Clients that send nothing, one byte at a time, or never read delay no other client.
#[test]
fn slow_clients_are_disconnected_when_a_new_one_connects() {
    let desk = Desk::new("metrics-slow");
    desk.publish("").done();
    let server = Served::start(&desk);
    let before = server.resident_kib();
    let mut slow: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    for (number, client) in slow.iter_mut().enumerate() {
        let bytes: &[u8] = match number % 3 {
            0 => b"",
            1 => b"GET /met",
            _ => b"GET /metrics HTTP/1.1\r\n\r\n",
        };
        // A disconnected client cannot write.
        let _ = client.write_all(bytes);
    }
    assert!(
        server.get("/metrics").starts_with("HTTP/1.1 200 "),
        "it is served behind all of them"
    );
    until("no more threads than slots", || {
        server.least_threads() <= 2 + 8
    });
    let after = server.resident_kib();
    assert!(after < before + 16 * 1024, "{before} KiB, then {after} KiB");
    // The first client was disconnected for the others, before its five seconds.
    let mut farewell = Vec::new();
    let first = &mut slow[0];
    first
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a socket");
    // Its connection may have been reset.
    let _ = first.read_to_end(&mut farewell);
    assert_eq!(String::from_utf8_lossy(&farewell), "");
    drop(slow);
    assert!(server.get("/healthz").ends_with("ok\n"));
}

/// A slow client without competition has five seconds: then it is disconnected.
#[test]
fn a_slow_request_times_out() {
    let desk = Desk::bare("metrics-time");
    let server = Served::start(&desk);
    let mut client = server.connect();
    client
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a socket");
    client
        .write_all(b"GET /metrics HTTP/1.1\r\n")
        .expect("it listens");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn a_hundred_clients_at_once_are_served() {
    let desk = Desk::new("metrics-hundred");
    desk.publish("").done();
    let server = Served::start(&desk);
    // A client that the host stops before it has sent its request gives its slot to others, and tries again.
    let get = || {
        let mut answers = (0..20).map(|_| server.get("/metrics"));
        let answer = answers.find(|answer| !answer.is_empty());
        answer.expect("it is served behind others")
    };
    let served = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..100).map(|_| scope.spawn(get)).collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("it is answered"))
            .collect::<Vec<_>>()
    });
    assert_eq!(served.len(), 100);
    for page in served {
        let (_, body) = page.split_once("\r\n\r\n").expect("a head");
        assert_eq!(Page::read(body).buses(), ["lab"]);
    }
}

impl Desk {
    pub fn page(&self) -> Page {
        Page::read(&self.run("metrics --print").done().stdout)
    }
}

/// A server on a free port; it ends on drop.
struct Served {
    process: Process,
    address: SocketAddr,
}

impl Served {
    fn start(desk: &Desk) -> Served {
        let mut process = desk.start("metrics --listen 127.0.0.1:0");
        let line = process.next_line();
        let address = line
            .strip_suffix("/metrics")
            .and_then(|line| line.rsplit('/').next());
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address: {line:?}"));
        Served { process, address }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("it listens")
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"))
    }

    fn ask(&self, request: &str) -> String {
        let mut client = self.connect();
        client
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a socket");
        // The server may answer before it has received the whole request.
        let sent = client.write_all(request.as_bytes());
        assert!(sent.is_ok() || request.len() > 8192, "{sent:?}");
        let mut answer = Vec::new();
        match client.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => {
                panic!("no answer: {error}")
            }
            _ => String::from_utf8(answer).expect("text"),
        }
    }

    fn resident_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The least number of threads in a tenth of a second: a thread that has freed its slot may not have ended yet,
    /// while the next connection's has started.
    fn least_threads(&self) -> u64 {
        let readings = (0..20).map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            self.status("Threads:")
        });
        readings.min().expect("twenty readings")
    }

    fn status(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .expect(key);
        line.split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
            .expect(key)
    }

    fn stop(&mut self) -> Option<i32> {
        self.process.end("TERM")
    }
}

/// Whether the tool accepts the file, and its output; `None`, with a message, without the tool.
pub fn promtool(arguments: &[&str], input: &str) -> Option<(bool, String)> {
    let mut command = Command::new("promtool");
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            touchline_testing::skip("no promtool here; Debian's package prometheus has it");
            return None;
        }
        spawned => spawned.expect("promtool starts"),
    };
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}
