//! `touchline relay` as processes: every part is killed, and the books at B are the books at A again.

use super::Desk;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use touchline_lab::random::{Random, seeds};
use touchline_transport::shm::{Activity, Join, Lock, Publisher, Root, Settings, Subscriber};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::{
    BookKind, BookSnapshot, Instrument, Level, Price, Quantity, Side, Timestamps, Update, Validity,
};

/// A relay process, and the lines of its log.
struct Relay {
    child: Child,
    lines: Receiver<String>,
}

impl Relay {
    fn start(desk: &Desk, arguments: &[&str]) -> Relay {
        let mut child = Command::new(env!("CARGO_BIN_EXE_touchline"))
            .arg("relay")
            .args(arguments)
            .env("TOUCHLINE_DIR", desk.folder.join("buses"))
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .expect("the command starts");
        let stderr = child.stderr.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Relay { child, lines }
    }

    /// The next line with this text.
    fn line_with(&self, text: &str) -> String {
        let until = Instant::now() + Duration::from_secs(30);
        let mut seen = Vec::new();
        while Instant::now() < until {
            if let Ok(line) = self.lines.recv_timeout(Duration::from_millis(100)) {
                if line.contains(text) {
                    return line;
                }
                seen.push(line);
            }
        }
        panic!("no line with {text:?} in {seen:?}");
    }

    /// Where it listens.
    fn address(&self) -> String {
        let line = self.line_with("relay_started");
        let (_, address) = line.rsplit_once("tcp://").expect("an address");
        let end = address.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
        format!("tcp://{}", &address[..end.unwrap_or(address.len())])
    }

    /// kill -9.
    fn kill(mut self) {
        self.child.kill().expect("it is ours");
        let _ = self.child.wait();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The gateway's part: books that change at random.
struct Gateway {
    publisher: Publisher,
    random: Random,
}

const INSTRUMENTS: u32 = 8;

impl Gateway {
    fn start(root: &Root, seed: u64) -> Gateway {
        let settings = Settings {
            instruments_max: 64,
            lock: Lock::No,
            ..Settings::default()
        };
        let mut publisher =
            Publisher::open(root, "a", &settings).expect("no other process writes it");
        publisher.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 3_600_000_000_000,
        });
        Gateway {
            publisher,
            random: Random::from_seed(seed),
        }
    }

    fn publish(&mut self, events: usize) {
        for _ in 0..events {
            let level = |random: &mut Random| Level {
                price: Price(random.below(1_000) as i64),
                quantity: Quantity(random.below(100) as i64),
                orders: 1,
                known: true,
            };
            let (bid, ask) = (level(&mut self.random), level(&mut self.random));
            let book = BookSnapshot {
                instrument: Instrument(self.random.below(u64::from(INSTRUMENTS)) as u32),
                validity: Validity::Live,
                bids: &[bid],
                asks: &[ask],
                implied_bids: &[],
                implied_asks: &[],
            };
            self.publisher
                .publish(&Update::BookSnapshot(book), &Timestamps::default());
            self.publisher.commit();
        }
    }
}

/// What a reader has that joins now; nothing where there is no bus.
fn joined(root: &Root, bus: &str) -> Vec<(Vec<Level>, Validity)> {
    let Ok(mut reader) = Subscriber::join(root, bus, Join::default()) else {
        return Vec::new();
    };
    let mut mirror = Mirror::new(64, 64);
    while reader.drain(usize::MAX, &mut mirror) > 0 {}
    let seen = |instrument| {
        let book = mirror.book(instrument);
        let levels = |side| {
            let levels = book.map(|book| book.levels(BookKind::Direct, side).iter().copied());
            levels.into_iter().flatten()
        };
        let levels = levels(Side::Bid).chain(levels(Side::Ask)).collect();
        (levels, mirror.validity(instrument))
    };
    (0..INSTRUMENTS).map(Instrument).map(seen).collect()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

#[test]
fn every_part_may_be_killed_and_books_are_stale_in_between_and_right_again() {
    for seed in seeds(1) {
        let desk = Desk::bare("relay-kills");
        let root = Root::at(desk.folder.join("buses"));
        let mut random = Random::from_seed(seed);
        let mut gateway = Gateway::start(&root, seed);
        gateway.publish(200);
        let mut send = Relay::start(&desk, &["a", "--to", "tcp://127.0.0.1:0"]);
        let address = send.address();
        let mut receive = Relay::start(&desk, &["--from", &address, "--bus", "b"]);
        let is_same = || joined(&root, "a") == joined(&root, "b");
        let is_stale = || {
            let books = joined(&root, "b");
            books
                .iter()
                .all(|(_, validity)| *validity == Validity::Stale)
        };
        until("books differ at the start", is_same);
        for round in 0..6 {
            let what = format!("seed {seed}, round {round}");
            match random.below(3) {
                0 => {
                    receive.kill();
                    until(&format!("{what}: receiver gone, books live"), is_stale);
                    gateway.publish(100);
                    receive = Relay::start(&desk, &["--from", &address, "--bus", "b"]);
                }
                1 => {
                    send.kill();
                    until(&format!("{what}: sender gone, books live"), is_stale);
                    gateway.publish(100);
                    send = Relay::start(&desk, &["a", "--to", &address]);
                }
                _ => {
                    // Its lock goes with it, as that of a process that is killed.
                    drop(gateway);
                    until(&format!("{what}: gateway gone, books live"), is_stale);
                    gateway = Gateway::start(&root, seed + round);
                    gateway.publish(200);
                }
            }
            gateway.publish(50);
            until(&format!("{what}: books differ"), || {
                is_same() && !is_stale()
            });
        }
    }
}

#[test]
fn what_is_wrong_is_one_line_with_its_status() {
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
            "did you mean \"queue_bytes_max\"?",
        ),
        (&["a", "--to", "udp://127.0.0.1:1"], 2, "tcp://HOST:PORT"),
        (&["a", "--to", "tls://127.0.0.1:0"], 2, "[send.tls]"),
        (&["a"], 2, "--to"),
        (&["--from", "tcp://127.0.0.1:1"], 2, "--bus"),
        (&["a", "--to", &taken], 1, "cannot listen on"),
        (
            &["--from", "tcp://127.0.0.1:1", "--bus", "a"],
            1,
            "is being written by process",
        ),
    ] {
        let run = Command::new(env!("CARGO_BIN_EXE_touchline"))
            .args(["relay", "--seconds", "1"])
            .args(arguments)
            .env("TOUCHLINE_DIR", desk.folder.join("buses"))
            .output()
            .expect("the command starts");
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
    }
}
