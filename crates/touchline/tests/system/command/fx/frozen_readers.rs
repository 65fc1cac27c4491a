//! Readers of a trading engine that are frozen by a signal while it trades, and go on afterwards.

use super::live::{end, start};
use super::trade::Market;
use crate::command::Desk;
use crate::command::until;
use serde_json::Value;
use std::time::Duration;
use touchline_fx_desk::DeskClient;
use touchline_fx_desk::Follower;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::lines::LineKind;
use touchline_testing::Process;
use touchline_transport::boot_ns;
use touchline_transport::bus::Root;
use touchline_types::{Id, Side};

/// Ring of the drop copy. A reader that is frozen for more than this loses lines.
const RING_BYTES: u64 = 524_288;
/// Units of each parent.
const QUANTITY: i64 = 1_000;
/// Parents that are sent at once, and the time between: a client may send 100 in a second.
const BURST: i64 = 10;
const PAUSE: Duration = Duration::from_millis(120);
/// Files of a report.
const FILES: [&str; 5] = [
    "fills.csv",
    "positions.csv",
    "positions.jsonl",
    "scorecard.jsonl",
    "report.html",
];

/// `fx report --follow` and `fx blotter`.
struct Readers {
    report: Process,
    blotter: Process,
}

impl Readers {
    fn start(desk: &Desk) -> Readers {
        let report = "fx report --config fx/run.toml --out followed --follow --until-eof";
        let blotter = "fx blotter --config fx/run.toml";
        Readers {
            report: start(desk, report, "report.txt"),
            blotter: start(desk, blotter, "blotter.txt"),
        }
    }

    /// Returns when neither runs any more.
    fn freeze(&self) {
        for reader in [&self.report, &self.blotter] {
            reader.signal("STOP");
            let about = format!("/proc/{}/stat", reader.id());
            until("a frozen reader", || {
                let stat = std::fs::read_to_string(&about).expect("our child");
                stat.contains(") T ")
            });
        }
    }

    fn resume(&self) {
        self.report.signal("CONT");
        self.blotter.signal("CONT");
    }

    fn end(mut self) {
        end(self.report);
        self.blotter.signal("INT");
        assert!(self.blotter.wait().success());
    }
}

/// A client of the engine, and its view of its own parents.
struct Load {
    client: DeskClient,
    follower: Follower,
    sent: i64,
    /// Units.
    filled: i64,
}

impl Load {
    fn open(desk: &Desk) -> Load {
        let root = Root::at(desk.path("buses"));
        Load {
            client: DeskClient::open(&root, "fx-run", "load").expect("a ring of ours"),
            follower: Follower::new(&desk.path("fx/journal"), &root, "fx-run"),
            sent: 0,
            filled: 0,
        }
    }

    /// Sends parents, each of which is filled, until more lines have come than the drop copy holds.
    fn trade(&mut self) {
        let mut bytes = 0;
        while bytes <= RING_BYTES {
            (0..BURST).for_each(|_| self.send());
            until("the fill of each parent", || {
                bytes += self.read();
                self.filled == self.sent * QUANTITY
            });
            std::thread::sleep(PAUSE);
        }
    }

    fn send(&mut self) {
        self.sent += 1;
        let name = |text: &str| Id::lossy(text.as_bytes());
        let (id, pair) = (name(&format!("L{}", self.sent)), name("EUR/USD"));
        let side = [Side::Bid, Side::Ask][self.sent as usize % 2];
        let order = Order::new(id, pair, side, QUANTITY);
        self.client.send(boot_ns(), &Command::Parent(order));
    }

    /// Bytes of the lines that have come.
    fn read(&mut self) -> u64 {
        let (mut bytes, filled) = (0, &mut self.filled);
        let polled = self.follower.poll_lines(|kind, text| {
            bytes += text.len() as u64;
            let line: Value = serde_json::from_str(text).expect("a line is JSON");
            let parent = line["parent"].as_str().unwrap_or_default();
            if kind == LineKind::Fill && parent.starts_with('L') {
                *filled += line["qty"].as_i64().expect("units");
            }
        });
        polled.expect("a journal");
        bytes
    }
}

/// The report that followed and the last picture of the blotter have the fills of a fresh report: their number.
fn until_read(desk: &Desk) -> usize {
    desk.run("fx report --config fx/run.toml --out fresh")
        .done();
    let fresh = desk.read("fresh/fills.csv");
    until("the fills in the report that followed", || {
        desk.read("followed/fills.csv") == fresh
    });
    let count = fresh.lines().count() - 1;
    let plural = if count == 1 { "" } else { "s" };
    let shown = format!("  {count} fill{plural}, 0 orders out");
    until("the fills in the blotter", || {
        let pictures = desk.read("blotter.txt");
        let head = pictures.lines().rfind(|line| line.contains(" UTC "));
        // Numbers have thousands separators.
        head.is_some_and(|head| head.replace(',', "").contains(&shown.replace(',', "")))
    });
    count
}

/// Files of the report that followed which are not those of the fresh one.
fn different(desk: &Desk) -> Vec<&'static str> {
    let read = |folder: &str, name: &str| desk.read(&format!("{folder}/{name}"));
    let mut files = FILES.to_vec();
    files.retain(|name| read("followed", name) != read("fresh", name));
    files
}

/// The engine fills every parent while its readers are frozen, for longer than the drop copy keeps its lines; once it is killed
/// and started again meanwhile. Afterwards the readers have every fill, once, and at the end the files of the report that
/// followed are those of a fresh one.
#[test]
fn frozen_readers_neither_stop_the_engine_nor_miss_a_line() {
    let market = Market::open("fx-frozen-readers", &["[banks.orders]"; 2]);
    let desk = &market.desk;
    let settings = desk.read("fx/run.toml");
    let ring = format!("[run]\nring_bytes = {RING_BYTES}\n");
    let client = "\n[[clients]]\nname = \"load\"\nmay = [\"send\"]\n";
    let settings = settings.replace("[run]\n", &ring) + client;
    desk.write("fx/run.toml", settings);
    let mut load = Load::open(desk);
    let mut engine = market.engine("engine0.txt");
    let readers = Readers::start(desk);
    until("a report", || desk.path("followed/fills.csv").exists());
    let mut fills = until_read(desk);
    for round in 1..=2 {
        readers.freeze();
        let frozen = desk.read("followed/fills.csv");
        load.trade();
        if round == 2 {
            engine.signal("KILL");
            drop(engine);
            engine = market.engine("engine2.txt");
            load.trade();
        }
        assert_eq!(desk.read("followed/fills.csv"), frozen);
        readers.resume();
        let before = std::mem::replace(&mut fills, until_read(desk));
        assert!(fills > before, "{fills} after {before}");
    }
    end(engine);
    desk.run("fx report --config fx/run.toml --out fresh")
        .done();
    until("the last lines in the report", || {
        // The page names the head of the journal's hash chain, which a report that follows reads at its end.
        matches!(different(desk)[..], [] | ["report.html"])
    });
    readers.end();
    assert_eq!(different(desk), Vec::<&str>::new());
    assert_eq!(market.ledgers().count("duplicates"), 0);
}
