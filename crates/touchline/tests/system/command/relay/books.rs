//! A process that publishes a bus whose books change at random, a process that reads it, and the books of a reader that joins a bus now.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use touchline_lab::random::Random;
use touchline_testing::{PATIENCE, Process, until, with_role};
use touchline_transport::shm::{
    Activity, CountersFile, Join, Lock, Overview, Publisher, ReaderView, Root, Settings, Subscriber,
};
use touchline_transport::{Mirror, Publish, boot_ns};
use touchline_types::{
    BookKind, BookSnapshot, Depth, Instrument, InstrumentDefinition, Level, Price, Quantity, Side,
    Symbol, Timestamps, Update, Validity,
};

/// The processes that a test kills.
pub const PARTS: [&str; 4] = ["gateway", "sending relay", "receiving relay", "reader"];

/// A process that publishes bus `a`: books that change at random. Killed when it goes out of scope.
pub struct Gateway {
    root: Root,
    process: Process,
}

const INSTRUMENTS: u32 = 8;

/// Answers of that process.
const READY: &str = "the gateway has its bus";
const DONE: &str = "the gateway has published";

/// Books that are being published.
pub struct Flow {
    /// Position of the bus in the middle of it.
    seen: u64,
}

/// Books of a flow, and how many of them are published each millisecond.
const FLOW: usize = 50_000;
const PACE: usize = 50;

impl Gateway {
    /// Begins bus `a`, or takes it over; its books are current for an hour.
    pub fn start(root: &Root, seed: u64) -> Gateway {
        let (_, module) = module_path!().split_once("::").expect("not the root");
        let test = format!("{module}::play");
        let mut command = with_role(&[], &test, &seed.to_string(), root.path());
        let mut gateway = Gateway {
            root: root.clone(),
            process: Process::start(command.stdin(Stdio::piped())),
        };
        gateway.answers(READY);
        gateway
    }

    /// Publishes this many books.
    pub fn publish(&mut self, events: usize) {
        self.process.tell(&events.to_string());
        self.answers(DONE);
    }

    /// Begins to publish books for a second or more, and returns in the middle of it, 1 to 20 ms after the first.
    pub fn begins_flow(&mut self, random: &mut Random) -> Flow {
        let before = position(&self.root);
        self.process.tell(&FLOW.to_string());
        until("a message", PATIENCE, || position(&self.root) > before);
        std::thread::sleep(Duration::from_millis(1 + random.below(20)));
        Flow {
            seen: position(&self.root),
        }
    }

    /// The end of a flow, which went on when it was looked at.
    #[track_caller]
    pub fn ends_flow(&mut self, flow: &Flow, what: &str) {
        self.answers(DONE);
        assert!(position(&self.root) > flow.seen, "{what}: not in a flow");
    }

    #[track_caller]
    fn answers(&mut self, text: &str) {
        while !self.process.next_line().contains(text) {}
    }

    /// Kills it, like `kill -9`, in the middle of a flow.
    #[track_caller]
    pub fn kill_in(&mut self, flow: &Flow, what: &str) {
        self.process.kill();
        let is_done = self
            .process
            .other_lines()
            .iter()
            .any(|line| line.contains(DONE));
        assert!(
            !is_done && position(&self.root) >= flow.seen,
            "{what}: not in a flow"
        );
    }
}

/// Entry of the process that is a gateway; without effect in the run of all tests.
#[test]
fn play() {
    let Some((seed, root)) = touchline_testing::role() else {
        return;
    };
    let mut random = Random::from_seed(seed.parse().expect("a number"));
    let mut publisher = begin(&Root::at(root));
    println!("{READY}");
    // Until the parent ends, or kills this.
    for line in std::io::stdin().lines() {
        let events = line.expect("text").parse().expect("a number");
        publish(&mut publisher, &mut random, events);
        println!("{DONE}");
    }
}

fn begin(root: &Root) -> Publisher {
    let settings = Settings {
        instruments_max: 64,
        lock: Lock::No,
        ..Settings::default()
    };
    let mut publisher = Publisher::open(root, "a", &settings).expect("nobody else writes it");
    // As a gateway's: they say that the data is of this host.
    CountersFile::create(publisher.lock(), 1.0, [], []).expect("a file");
    publisher.state_activity(Activity {
        at_ns: boot_ns(),
        timeout_ns: 3_600_000_000_000,
    });
    for index in 0..INSTRUMENTS {
        let depth = Depth {
            direct: 1,
            implied: 0,
        };
        let instrument = Instrument(index);
        let definition = InstrumentDefinition {
            symbol: Symbol::new(format!("SYM{index}").as_bytes()),
            defined: true,
            ..InstrumentDefinition::unknown(instrument, i64::from(index) + 1, depth)
        };
        publisher.publish(&Update::Definition(&definition), &Timestamps::default());
    }
    publisher.commit();
    publisher
}

fn publish(publisher: &mut Publisher, random: &mut Random, events: usize) {
    for event in 1..=events {
        if event % PACE == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let level = |random: &mut Random| Level {
            price: Price(random.below(1_000) as i64),
            quantity: Quantity(random.below(100) as i64),
            orders: 1,
            known: true,
        };
        let (bid, ask) = (level(random), level(random));
        let book = BookSnapshot {
            instrument: Instrument(random.below(u64::from(INSTRUMENTS)) as u32),
            validity: Validity::Live,
            bids: &[bid],
            asks: &[ask],
            implied_bids: &[],
            implied_asks: &[],
        };
        publisher.publish(&Update::BookSnapshot(book), &Timestamps::default());
        publisher.commit();
    }
}

/// A process that reads bus `b` for as long as it lives. Killed when it goes out of scope.
pub struct Reader {
    process: Process,
    root: Root,
    folder: PathBuf,
}

impl Reader {
    /// Its books go to a file in `folder`.
    pub fn start(root: &Root, folder: &Path) -> Reader {
        let mut command = follow(root, "b", folder);
        command.args(["--until-eof", "--wait", "60", "--name", "reader"]);
        let reader = Reader {
            process: Process::start(command.stdin(Stdio::piped())),
            root: root.clone(),
            folder: folder.to_owned(),
        };
        until("a reader", PATIENCE, || reader.view().is_some());
        reader
    }

    /// The reader's own statistics.
    fn view(&self) -> Option<ReaderView> {
        let (_, readers) = Overview::with_readers(&self.root, "b").ok()?;
        let is_it = |view: &ReaderView| {
            let process = view.process.as_ref();
            process.is_some_and(|process| process.pid == self.process.id())
        };
        readers.into_iter().find(is_it)
    }

    /// Kills it, like `kill -9`.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits until it has read everything and ends it; its books are those of a reader of bus `a`.
    #[track_caller]
    pub fn ends_with_equal_books(mut self, what: &str) {
        until(&format!("{what}: the reader is behind"), PATIENCE, || {
            let view = self.view();
            view.is_some_and(|view| view.counters.messages > 0 && view.lag_bytes == 0)
        });
        self.process.close();
        assert!(self.process.wait().success(), "{what}");
        let mut a = follow(&self.root, "a", &self.folder);
        let status = a.args(["--seconds", "3"]).status();
        assert!(status.expect("the command starts").success(), "{what}");
        let books = |bus| {
            let file = std::fs::read_to_string(self.folder.join(format!("books-{bus}.jsonl")));
            file.expect("the command writes it")
        };
        let a = books("a");
        assert!(a.contains("\"state\":\"live\""), "{what}: {a}");
        assert_eq!(books("b"), a, "{what}: books of the reader of b");
    }
}

/// `touchline follow`, which writes its books at its end.
fn follow(root: &Root, bus: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchline"));
    let books = folder.join(format!("books-{bus}.jsonl"));
    command
        .args(["follow", bus, "--quiet", "--books"])
        .arg(books);
    command.env("TOUCHLINE_DIR", root.path());
    command
}

/// Books of a reader that joins now; empty if the bus does not exist.
pub fn joined(root: &Root, bus: &str) -> Vec<(Vec<Level>, Validity)> {
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

/// Position of bus `a`.
fn position(root: &Root) -> u64 {
    Overview::of(root, "a").expect("it is there").position
}

/// Waits until no book at B is live. A relay promises 350 ms; the limit leaves room for a loaded host, so the tests of the
/// relay's crate, which have a clock of their own, judge the promise.
#[track_caller]
pub fn becomes_stale(root: &Root, what: &str) {
    let start = Instant::now();
    until(&format!("{what}: books are stale"), PATIENCE, || {
        let books = joined(root, "b");
        books
            .iter()
            .all(|(_, validity)| *validity == Validity::Stale)
    });
    let took = start.elapsed();
    assert!(took < STALE_MAX, "{what}: books were live for {took:?}");
}

/// Waits until books at B are live, and those at A.
#[track_caller]
pub fn becomes_right(root: &Root, what: &str) {
    until(&format!("{what}: books differ"), PATIENCE, || {
        let books = joined(root, "b");
        let is_live = books
            .iter()
            .any(|(_, validity)| *validity == Validity::Live);
        is_live && books == joined(root, "a")
    });
}

const STALE_MAX: Duration = Duration::from_secs(10);
