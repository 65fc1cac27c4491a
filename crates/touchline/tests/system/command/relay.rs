//! `touchline relay` as processes.

#[cfg(feature = "aeron")]
mod aeron_driver;
mod books;
mod kills;

use super::{Desk, full_pipe, program, until};
use books::{Gateway, joined};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use touchline_relay::Source;
use touchline_testing::{Process, free_address};
use touchline_transport::shm::{CountersView, Root};

/// A relay process.
struct Relay(Process);

impl Relay {
    fn start(desk: &Desk, arguments: &[&str]) -> Relay {
        Relay(Process::start(relay(desk, arguments).stdin(Stdio::null())))
    }

    /// The first line with this text.
    #[track_caller]
    fn line_with(&mut self, text: &str) -> String {
        self.0.wait_for_line(text)
    }

    /// Address on which it listens.
    fn address(&mut self) -> String {
        let line = self.line_with("relay_started");
        let (_, address) = line.rsplit_once("tcp://").expect("an address");
        let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        format!("tcp://{}", &address[..end.unwrap_or(address.len())])
    }
}

/// A sender says at its start that receivers would have stale books.
#[test]
fn rare_heartbeats_are_warned_of() {
    let desk = Desk::bare("relay-heartbeats");
    let file = desk.folder.join("relay.toml");
    let text = "[[send]]\nbus = \"a\"\nto = \"tcp://127.0.0.1:0\"\nheartbeat_ms = 1000\n";
    std::fs::write(&file, text).expect("our folder");
    let mut send = Relay::start(&desk, &["--config", file.to_str().expect("a plain path")]);
    let line = send.line_with("relay_heartbeats_rare");
    assert!(line.contains("1000") && line.contains("a>tcp://"), "{line}");
}

/// Standard error is a full pipe without a reader.
#[test]
fn a_relay_whose_log_nobody_reads_ends() {
    let desk = Desk::bare("relay-unread");
    let (_unread, pipe) = full_pipe();
    let arguments = ["a", "--to", "tcp://127.0.0.1:0", "--seconds", "1"];
    let mut command = relay(&desk, &arguments);
    let mut send = Process::with_streams(command.stdin(Stdio::null()).stderr(pipe));
    assert!(send.wait().success());
}

/// The command before its start.
fn relay(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = Command::new(program("relay"));
    command.arg("relay").args(arguments);
    command.env("TOUCHLINE_DIR", desk.path("buses"));
    command
}

/// Also where the directory of the buses is set for all commands. These tests may themselves be run with a SIGHUP that is ignored.
fn tail_from(desk: &Desk, address: &str, hup: &str, arguments: &[&str]) -> Process {
    let mut tail = Command::new("env");
    tail.arg(format!("--{hup}-signal=HUP")).arg(program("tail"));
    tail.args(["tail", "--from", address]).args(arguments);
    tail.env("TOUCHLINE_DIR", desk.path("buses"));
    Process::start(&mut tail)
}

/// A command on another host reads a bus without a bus of its own, and leaves nothing behind.
#[test]
fn tail_reads_a_bus_of_another_host() {
    let desk = Desk::bare("relay-tail");
    let root = Root::at(desk.folder.join("buses"));
    let mut gateway = Gateway::start(&root, 5);
    gateway.publish(50);
    let mut send = Relay::start(&desk, &["a", "--to", "tcp://127.0.0.1:0"]);
    let address = send.address();
    // A killed command has left its folder.
    let mut ended = Command::new("true").spawn().expect("the command is there");
    ended.wait().expect("it ends");
    let left = format!("/dev/shm/touchline-remote-{}", ended.id());
    std::fs::create_dir(&left).expect("no other folder");
    // A new one may be of a command that starts.
    let made = std::fs::File::open(&left).expect("our folder");
    let earlier = SystemTime::now() - Duration::from_secs(60);
    made.set_modified(earlier).expect("our folder");
    let mut tail = tail_from(&desk, &address, "default", &["--json", "--count", "60"]);
    let folder = format!("/dev/shm/touchline-remote-{}", tail.id());
    until("60 messages", || {
        gateway.publish(10);
        !tail.is_running()
    });
    assert!(tail.wait().success(), "{}", tail.err());
    let text = tail.out();
    let books = text
        .lines()
        .filter(|line| line.contains("\"message\":\"book"));
    assert!(books.count() >= 8, "{text}");
    for folder in [folder, left] {
        assert!(!Path::new(&folder).exists(), "{folder} is left");
    }

    // The terminal closes; shell and system say so. With `nohup` the command goes on.
    for (hup, signals) in [("default", &["HUP", "HUP"]), ("ignore", &["HUP", "TERM"])] {
        let mut tail = tail_from(&desk, &address, hup, &[]);
        let folder = format!("/dev/shm/touchline-remote-{}", tail.id());
        until("no bus", || {
            Path::new(&folder).join("remote/counters").exists()
        });
        for signal in signals {
            assert!(hup == "default" || tail.is_running(), "{}", tail.err());
            tail.signal(signal);
            std::thread::sleep(Duration::from_millis(50));
        }
        tail.wait();
        assert!(!Path::new(&folder).exists(), "{folder} is left");
    }

    let refused = Command::new(program("tail"))
        .args(["tail", "--from", "udp://127.0.0.1:1"])
        .output()
        .expect("the command starts");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("tcp://HOST:PORT"), "{said}");
}

/// The bus of the receiving side says how many of its books are live and whether all are, by the names and with the values of a gateway's:
/// also when the gateway is gone, with its own counters as it left them.
#[test]
fn a_received_bus_counts_its_books_as_a_gateway_does() {
    counts_as_a_gateway("relay-counts", "tcp://127.0.0.1:0", 0);
}

#[cfg(feature = "aeron")]
#[test]
fn a_bus_received_over_aeron_counts_its_books_as_a_gateway_does() {
    let port = touchline_testing::free_port();
    let group = format!("aeron:udp?endpoint=239.255.91.75:{port}|interface=127.0.0.1");
    counts_as_a_gateway("relay-counts-aeron", &group, 1);
}

/// The exchanges of two tests differ in the number that is added to their groups.
fn counts_as_a_gateway(name: &str, to: &str, more: u32) {
    let desk = Desk::bare(name);
    let root = Root::at(desk.folder.join("buses"));
    let set = 1 + more + std::process::id() % 16_000;
    let exchange = format!("sim cme --groups {set} --write sim --instruments 20");
    let mut exchange = desk.start(&exchange);
    let config = desk.path("sim/gateway.toml");
    until("the exchange has not begun", || config.exists());
    let mut gateway = desk.start("gateway --config sim/gateway.toml");
    let counters = |bus: &str| {
        let view = CountersView::open(&root, bus).ok().flatten();
        let names = ["ready", "books_known", "books_live", "order_books_live"];
        names.map(|name| view.as_ref().and_then(|view| view.counter(name)))
    };
    let is_ready = |bus: &str| counters(bus)[0] == Some(1);
    until("the gateway is not ready", || is_ready("cme-998"));
    let mut send = Relay::start(&desk, &["cme-998", "--to", to]);
    let from = match to.starts_with("tcp:") {
        true => send.address(),
        false => to.to_owned(),
    };
    let _receive = Relay::start(&desk, &["--from", &from, "--bus", "b"]);
    until("the received bus is not ready", || is_ready("b"));
    until("they count different books", || {
        counters("b") == counters("cme-998")
    });
    let [_, known, live, of_orders] = counters("b");
    assert!(
        known > Some(0) && live == known && of_orders > Some(0),
        "{known:?}"
    );
    // Each counter of a publisher is on both sides; others of the gateway are of its host.
    let shown = desk.run("stat b --filter books_").done().stdout;
    assert!(shown.contains("books_known"), "{shown}");
    gateway.kill();
    until("books of a dead gateway count as live", || {
        counters("b") == [Some(0), known, Some(0), Some(0)]
    });
    exchange.kill();
}

/// A receiver that does not read is named in counters, and `stat` shows its address.
#[test]
fn a_slow_receiver_is_named() {
    let desk = Desk::bare("relay-slow");
    let root = Root::at(desk.folder.join("buses"));
    let mut gateway = Gateway::start(&root, 6);
    gateway.publish(50);
    let file = desk.folder.join("relay.toml");
    let text = "[[send]]\nbus = \"a\"\nto = \"tcp://127.0.0.1:0\"\nqueue_bytes_max = 65536\n";
    std::fs::write(&file, text).expect("our folder");
    let mut send = Relay::start(&desk, &["--config", file.to_str().expect("a plain path")]);
    let address = send.address();
    let receive = Relay::start(&desk, &["--from", &address, "--bus", "b"]);
    until("books differ", || joined(&root, "a") == joined(&root, "b"));
    let connected = send.line_with("relay_receiver_connected");
    let (_, receiver) = connected.split_once("127.0.0.1:").expect("an address");
    let receiver = receiver
        .split_once("receiver")
        .map_or(receiver, |(_, rest)| rest);
    let port: String = receiver
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    receive.0.signal("STOP");
    let slow = format!("127.0.0.1:{port}");
    let stat = |name: &str| -> String {
        let text = desk.run("stat a --all").stdout;
        let line = text.lines().find(|line| line.contains(name));
        line.unwrap_or_default().to_owned()
    };
    until("the slow receiver is not named", || {
        gateway.publish(3_000);
        stat("relay_slow_receiver").contains(&slow)
    });
    send.line_with("relay_receiver_slow");
    receive.0.signal("CONT");
    until("books differ behind it", || {
        joined(&root, "a") == joined(&root, "b")
    });
}

/// One process receives a bus and sends it on, from one configuration. Both links carry the data, with its origin, also
/// when they start before any data is there; and the bus is not sent without `forward`.
#[test]
fn two_links_of_one_process_carry_data() {
    let desk = Desk::bare("relay-two-links");
    let root = Root::at(desk.folder.join("buses"));
    let mut gateway = Gateway::start(&root, 7);
    gateway.publish(50);
    let first = format!("tcp://{}", free_address());
    let middle = |forward: &str| {
        let file = desk.folder.join("relay.toml");
        let text = format!(
            "[[receive]]\nfrom = \"{first}\"\nbus = \"b\"\n\
             [[send]]\nbus = \"b\"\nto = \"tcp://127.0.0.1:0\"\n{forward}"
        );
        std::fs::write(&file, text).expect("our folder");
        Relay::start(&desk, &["--config", file.to_str().expect("a plain path")])
    };
    let mut refused = middle("");
    refused.line_with("relay_waiting");
    let _send = Relay::start(&desk, &["a", "--to", &first, "--source", "gw1"]);
    refused.line_with("set forward to send it on");
    let status = refused.0.wait();
    assert_eq!(status.code(), Some(1), "one failed link ends the process");

    let mut both = middle("forward = true\n");
    let line = both.line_with("b>tcp://");
    let (_, address) = line.rsplit_once("b>").expect("an address");
    let end = address.find(|c: char| !c.is_ascii_alphanumeric() && !".:/".contains(c));
    let address = &address[..end.unwrap_or(address.len())];
    let _receive = Relay::start(&desk, &["--from", address, "--bus", "c"]);
    let counter = |name: &str| {
        let view = CountersView::open(&root, "c").ok().flatten();
        view.and_then(|view| view.counter(name))
    };
    for _ in 0..3 {
        gateway.publish(200);
        until("books differ behind either link", || {
            let a = joined(&root, "a");
            joined(&root, "b") == a && joined(&root, "c") == a
        });
    }
    until("not counted", || counter("relay_hops") == Some(2));
    let origin = Source::named("gw1").expect("a name").number();
    assert_eq!(counter("relay_origin"), Some(origin));
}

#[test]
fn an_error_is_one_line_with_its_exit_status() {
    let desk = Desk::bare("relay-refused");
    let root = Root::at(desk.folder.join("buses"));
    let _gateway = Gateway::start(&root, 1);
    let file = desk.folder.join("relay.toml");
    std::fs::write(
        &file,
        "[[send]]\nbus = \"a\"\nto = \"tcp://127.0.0.1:0\"\nqueue_bytes = 5\n",
    )
    .expect("our folder");
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = format!("tcp://{}", port.local_addr().expect("it is bound"));
    for (arguments, status, said) in [
        (
            &["--config", file.to_str().expect("a plain path")][..],
            2,
            "did you mean `queue_bytes_max`?",
        ),
        (&["a", "--to", "udp://127.0.0.1:1"], 2, "tcp://HOST:PORT"),
        (&["a", "--to", "tls://127.0.0.1:0"], 2, "[send.tls]"),
        (&["a"], 2, "--to"),
        (&["--config", "f", "--source", "gw1"], 2, "--source"),
        (&["--config", "f", "--stream", "7"], 2, "--stream"),
        (&["--config", "f", "--control", "aeron:ipc"], 2, "--control"),
        (&["--from", "tcp://127.0.0.1:1"], 2, "--bus"),
        (&["a", "--to", &taken], 1, "cannot listen on"),
        (
            &["--from", "tcp://127.0.0.1:1", "--bus", "a"],
            1,
            "is being written by process",
        ),
    ] {
        let run = relay(&desk, arguments)
            .args(["--seconds", "1"])
            .output()
            .expect("the command starts");
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

/// A setting of the channel that costs data is a line of the log, and one that cannot work ends the start.
#[cfg(feature = "aeron")]
#[test]
fn pitfalls_of_aeron_channels_are_told_at_start() {
    let desk = Desk::bare("relay-aeron-pitfalls");
    let root = Root::at(desk.folder.join("buses"));
    let mut gateway = Gateway::start(&root, 8);
    gateway.publish(5);
    let port = touchline_testing::free_port();
    let group = format!("aeron:udp?endpoint=239.255.91.71:{port}|interface=127.0.0.1");
    let mut send = Relay::start(&desk, &["a", "--to", &format!("{group}|fc=min")]);
    let line = send.line_with("relay_aeron_warning");
    let told = [
        "WARN",
        "fc=min: the slowest receiver holds all",
        "fc=tagged,g:7",
    ];
    assert!(told.iter().all(|text| line.contains(text)), "{line}");
    for (channel, fix) in [
        (format!("{group}|session-id=5"), "remove session-id"),
        (group.replace("127.0.0.1", "0.0.0.0"), "|interface="),
    ] {
        let run = relay(&desk, &["a", "--seconds", "1", "--to", &channel])
            .output()
            .expect("the command starts");
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(fix), "{stderr}");
    }
}
