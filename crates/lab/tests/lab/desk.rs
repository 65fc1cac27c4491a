//! The dealing desk of a bank against clients that break the rules, and against rules of its own.

use std::path::Path;
use touchline_lab::bank::{Config, Desk, Ladder};
use touchline_lab::random::Random;
use touchline_testing::Folder;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Frame, Precision, frame};

const MS: u64 = 1_000_000;
const START_NS: u64 = 1 << 60;

/// A desk, and its client that sends what a test says.
struct Stage {
    config: Config,
    desk: Desk,
    time: ReceiveTime,
    /// Number of the client's last message.
    number: u64,
    shown: Vec<Option<Ladder>>,
    /// Whether the desk makes no faults.
    is_sound: bool,
}

impl Stage {
    /// A desk with these settings, with its file in the folder, if one is given, and a client that has logged on.
    fn new(settings: &str, folder: Option<&Path>) -> Stage {
        let config = Config::parse(&format!(
            "[[pairs]]\nsymbol = \"EUR/USD\"\nspot_date = \"20260107\"\nmid_ticks = 110000\n\
            [[banks]]\nname = \"LP01\"\npairs = [\"EUR/USD\"]\n{settings}"
        ));
        let config = config.expect("a configuration");
        let bank = &config.banks[0];
        let orders = bank.orders.as_ref().expect("a desk");
        let desk = Desk::new("LP01", orders, 1, Random::from_seed(1)).with_day(bank.day.as_ref());
        let desk = match folder {
            Some(folder) => desk.with_file(&folder.join("LP01.jsonl")).expect("a file"),
            None => desk,
        };
        let mut stage = Stage {
            shown: vec![Some(Ladder::around(110_000, bank))],
            config,
            desk,
            time: ReceiveTime::at(START_NS),
            number: 0,
            is_sound: true,
        };
        assert!(stage.desk.connected("TL", stage.time));
        stage.send("A", &[(98, "0"), (108, "30"), (141, "Y")]);
        stage
    }

    /// Sends a message under the next number; returns the desk's messages of this turn.
    fn send(&mut self, msg_type: &str, fields: &[(u32, &str)]) -> Vec<String> {
        self.number += 1;
        self.send_as(self.number, msg_type, fields)
    }

    fn send_as(&mut self, number: u64, msg_type: &str, fields: &[(u32, &str)]) -> Vec<String> {
        let mut room = [0; 512];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type.as_bytes());
        message.bytes(34, number.to_string().as_bytes());
        message.bytes(49, b"TL").bytes(56, b"LP01");
        message.timestamp(52, self.time.wall_ns, Precision::Milliseconds);
        for (tag, value) in fields {
            message.bytes(*tag, value.as_bytes());
        }
        let message = message.finish().expect("room");
        self.desk.room()[..message.len()].copy_from_slice(message);
        self.desk.filled(message.len(), self.time);
        self.turn(0)
    }

    /// Sends an order to buy.
    fn buy(&mut self, id: &str, units: &str, price: &str) -> Vec<String> {
        self.send("D", &order(id, units, price))
    }

    /// A turn that many milliseconds later.
    fn turn(&mut self, ms: u64) -> Vec<String> {
        self.time = ReceiveTime::at(self.time.wall_ns + ms * MS);
        self.desk
            .work(&self.config, &self.shown, self.is_sound, self.time);
        self.desk.commit().expect("a disk");
        let bytes = self.desk.transmit().to_vec();
        self.desk.transmitted(bytes.len());
        let mut rest = &bytes[..];
        let mut said = Vec::new();
        while let Ok(Frame::Whole(message)) = frame(rest, usize::MAX) {
            let text = String::from_utf8_lossy(&rest[..message.len()]);
            said.push(text.replace('\x01', "|"));
            rest = &rest[message.len()..];
        }
        said
    }
}

fn order<'a>(id: &'a str, units: &'a str, price: &'a str) -> [(u32, &'a str); 9] {
    [
        (11, id),
        (55, "EUR/USD"),
        (54, "1"),
        (38, units),
        (40, "2"),
        (44, price),
        (59, "3"),
        (60, "20260105-10:00:00.000"),
        (64, "20260107"),
    ]
}

/// An order that a client sends again is a duplicate also if the desk lost the first one or could not read it, and behind a restart,
/// and is not filled. A message that the session sends again with its number is none.
#[test]
fn an_order_that_is_sent_again_is_counted_whatever_became_of_the_first() {
    let folder = Folder::new("desk-again");
    let mut stage = Stage::new("[banks.orders]\nlost = 1.0", Some(&folder));
    stage.is_sound = false;
    stage.buy("lost", "1000000", "1.1");
    assert_eq!(stage.desk.books().lost, 1);
    stage.is_sound = true;
    stage.buy("malformed", "0", "1.1");
    stage.buy("precise", "1000000", "1.1000001");
    stage.buy("filled", "1000000", "1.1001");
    let again = [(43, "Y"), (122, "20260105-10:00:00.000")];
    let fields = [&again[..], &order("filled", "1000000", "1.1001")].concat();
    stage.send_as(stage.number, "D", &fields);
    assert_eq!(
        (stage.desk.books().fills, stage.desk.books().duplicates),
        (1, 0)
    );
    let ids = ["lost", "malformed", "precise", "filled"];
    for (before, id) in ids.iter().enumerate() {
        assert_eq!(stage.buy(id, "1000000", "1.1001"), Vec::<String>::new());
        assert_eq!(stage.desk.books().duplicates, before as u64 + 1);
    }
    drop(stage);
    let mut stage = Stage::new("[banks.orders]", Some(&folder));
    for (before, id) in ids.iter().enumerate() {
        stage.buy(id, "1000000", "1.1001");
        assert_eq!(stage.desk.books().duplicates, before as u64 + 5);
    }
    assert_eq!(stage.desk.books().fills, 1);
}

/// The value date of an order is compared with that of the pair, also with one that the configuration states.
#[test]
fn an_order_of_another_value_date_is_counted() {
    let mut stage = Stage::new("[banks.orders]", None);
    stage.buy("spot", "1000000", "1.1001");
    assert_eq!(stage.desk.books().wrong_dates, 0);
    let mut tomorrow = order("tomorrow", "1000000", "1.1001");
    tomorrow[8].1 = "20260106";
    stage.send("D", &tomorrow);
    assert_eq!(stage.desk.books().wrong_dates, 1);
}

/// A desk whose rules drop the orders of a lost session drops them also when it was killed itself.
#[test]
fn a_killed_desk_that_drops_orders_fills_none_of_them_after_its_start() {
    let folder = Folder::new("desk-drops");
    let day = "[banks.day]\nzone = \"UTC\"\nstart = \"00:00\"\nend = \"00:00\"\ndays = [\"SUN\"]\ndrops_orders = ";
    for (drops, fills) in [("true", 0), ("false", 1)] {
        let folder = folder.join(drops);
        std::fs::create_dir(&folder).expect("our folder");
        let settings = format!("[banks.orders]\nhold_ms = [100, 100]\n{day}{drops}");
        let mut stage = Stage::new(&settings, Some(&folder));
        stage.buy("open", "1000000", "1.1001");
        drop(stage);
        let mut stage = Stage::new(&settings, Some(&folder));
        assert_eq!(
            stage.desk.deals().next().map(|deal| deal.is_ended),
            Some(fills == 0)
        );
        stage.turn(1_000);
        assert_eq!(stage.desk.books().fills, fills);
    }
}
