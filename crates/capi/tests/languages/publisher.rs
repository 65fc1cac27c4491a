//! A publisher in a process of its own, so that it can be stopped and killed. It obeys lines on its standard input.

use crate::day;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use touchline_shm::clock::boot_ns;
use touchline_testing::with_role;
use touchline_transport::Publish;
use touchline_transport::shm::{Activity, Lossless, Publisher, Root, Settings};
use touchline_types::{
    BookSnapshot, Code, Depth, DisplayFactor, Gap, Instrument, InstrumentDefinition, Level,
    OptionRight, OrderAction, OrderChange, OrderRow, OrdersSnapshot, PacketInfo, Price,
    PriceFraction, Quantity, ReferenceData, SecurityType, Side, Statistic, StatisticKind, Symbol,
    Timestamps, Trade, Update, UpdateAction, Validity,
};

/// Kinds of buses.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Small,
    /// Bus whose publisher waits for readers.
    Lossless,
    /// Bus of a simulated [`day`].
    Day,
}

/// Bus of a simulated [`day`].
pub const BUS: &str = "test";

/// A running publisher.
pub struct Process {
    process: touchline_testing::Process,
}

impl Process {
    /// Starts one, and waits until its bus is there.
    pub fn start(directory: &Path) -> Process {
        Process::start_as(directory, Kind::Small)
    }

    /// Starts one with a bus of this kind.
    pub fn start_as(directory: &Path, kind: Kind) -> Process {
        let test = "publisher::a_publisher_ends_with_its_input";
        let mut command = with_role(&[], test, &format!("{kind:?}"), directory);
        let process = touchline_testing::Process::start(command.stdin(Stdio::piped()));
        let mut process = Process { process };
        process.until("ready");
        process
    }

    /// Publishes what the words say, and returns when it is published.
    pub fn step(&mut self, words: &[&str]) {
        self.process.tell(&words.join(" "));
        self.until("done");
    }

    /// Sends a signal; after a death returns when the process has gone.
    pub fn signal(&mut self, signal: &str) {
        match signal.trim_start_matches('-') {
            "KILL" => self.process.kill(),
            signal => self.process.signal(signal),
        }
    }

    fn until(&mut self, word: &str) {
        while !self.process.next_line().ends_with(word) {}
    }
}

/// With the environment's word this is the publisher; without it, its parts are tested here.
#[test]
fn a_publisher_ends_with_its_input() {
    let Some((kind, directory)) = touchline_testing::role() else {
        let folder = crate::compile::folder();
        let mut process = Process::start(&folder.join("buses"));
        process.step(&["define", "0", "ESU4", "100"]);
        process.process.close();
        assert!(process.process.wait().success());
        return;
    };
    let small = Settings {
        ring_bytes: 64 * 1024,
        instruments_max: 64,
        image_levels_max: 12,
        orders_max: 1_024,
        ..Settings::default()
    };
    let settings = match kind.as_str() {
        "Small" => small,
        "Lossless" => Settings {
            lossless: Some(Lossless {
                wait_max: Duration::from_secs(60),
                ..Lossless::default()
            }),
            ..small
        },
        "Day" => day::settings(),
        _ => panic!("no such bus: {kind}"),
    };
    let root = Root::at(directory);
    let mut out = Publisher::open(&root, BUS, &settings).expect("no other process writes it");
    println!("ready");
    let (send, steps) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            send.send(line.expect("a pipe"))
                .expect("the publisher runs");
        }
    });
    // As a gateway, it says that it works, and is stalled when it does not.
    loop {
        out.state_activity(Activity {
            at_ns: boot_ns(),
            timeout_ns: 4_000_000_000,
        });
        match steps.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => {
                let words: Vec<&str> = line.split_whitespace().collect();
                for step in words.split(|word| *word == ";") {
                    publish(&mut out, step);
                }
                out.commit();
                println!("done");
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn publish(out: &mut Publisher, words: &[&str]) {
    match words {
        ["define", index, symbol, id] => define(out, number(index), symbol, number(id)),
        ["book", index, bid, bids, ask, asks] => {
            book(
                out,
                number(index),
                (number(bid), number(bids)),
                (number(ask), number(asks)),
                &[],
            );
        }
        ["merged", index, bid, bids, ask, asks, implied, quantity] => {
            book(
                out,
                number(index),
                (number(bid), number(bids)),
                (number(ask), number(asks)),
                &[(number(implied), number(quantity))],
            );
        }
        ["orders", index] => orders(out, number(index), &ORDERS),
        ["no-orders", index] => orders(out, number(index), &[]),
        ["reset"] => out.publish(&Update::Reset, &timestamps()),
        ["gap"] => {
            let gap = Gap {
                first: 1,
                last: 2,
                orders: Validity::Recovering,
            };
            out.publish(&Update::Gap(gap), &timestamps());
        }
        // The venue states nothing but the symbol, and no time.
        ["bare", index, symbol, id] => {
            let depth = Depth {
                direct: 10,
                implied: 2,
            };
            let definition = InstrumentDefinition {
                symbol: Symbol::new(symbol.as_bytes()),
                defined: true,
                ..InstrumentDefinition::unknown(Instrument(number(index) as u32), number(id), depth)
            };
            out.publish(&Update::Definition(&definition), &Timestamps::default());
            book_at(
                out,
                number(index),
                (1, 1),
                (2, 1),
                &[],
                &Timestamps::default(),
            );
        }
        ["trade", index, price, size] => trade(out, number(index), number(price), number(size)),
        ["statistic", index, price] => {
            let price = Price(number(price) * 1_000_000_000);
            settlement(out, number(index), UpdateAction::New, price);
        }
        ["withdrawn", index] => settlement(out, number(index), UpdateAction::Delete, Price::NULL),
        ["trades", index, count] => {
            for size in 1..=number(count) {
                trade(out, number(index), 450_000, size);
                out.commit();
            }
        }
        // One packet each; the size is its number.
        ["numbered", index, from, count] => {
            for size in number(from)..number(from) + number(count) {
                trade(out, number(index), 450_000, size);
                out.commit();
            }
        }
        ["begin"] => day::begin(out),
        ["packets", from, count, all] => {
            let [from, count, all] = [from, count, all].map(|word| number(word) as u64);
            day::packets(out, from, count, all);
        }
        _ => panic!("no such step: {words:?}"),
    }
}

fn number(word: &str) -> i64 {
    word.parse()
        .unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Prices of the venue are a hundred times those that traders quote. Every field of reference data has a value of its own.
pub fn define(out: &mut Publisher, index: i64, symbol: &str, security_id: i64) {
    let depth = Depth {
        direct: 10,
        implied: 2,
    };
    let code = |text: &str| Code::new(text.as_bytes()).expect("a code");
    let definition = InstrumentDefinition {
        symbol: Symbol::new(symbol.as_bytes()),
        group: Symbol::new(b"ES"),
        asset: Symbol::new(b"EQ"),
        defined: true,
        tick: Price(25_000_000_000),
        reference: ReferenceData {
            venue: code("test"),
            security_type: Some(SecurityType::OptionSpread),
            currency: code("USD"),
            settlement_currency: code("EUR"),
            display_factor: DisplayFactor::new(1, 100),
            price_fraction: Some(PriceFraction { main: 32, sub: 4 }),
            multiplier: Price(50_000_000_000),
            lot: Quantity(2),
            quantity_min: Quantity(4),
            quantity_max: Quantity(3_000),
            expiry_ns: 1_734_705_000_000_000_000,
            maturity: 20_241_220,
            strike: Price(450_000_000_000_000),
            right: Some(OptionRight::Call),
            underlying: Some(77),
            high_limit: Price(500_000_000_000_000),
            low_limit: Price(400_000_000_000_000),
            status: 17,
            ..ReferenceData::NULL
        },
        ..InstrumentDefinition::unknown(Instrument(index as u32), security_id, depth)
    };
    out.publish(&Update::Definition(&definition), &timestamps());
}

/// An order on each side.
const ORDERS: [OrderChange; 2] = [
    order(0, Side::Bid, 450_025, 12),
    order(1, Side::Ask, 450_050, 7),
];

const fn order(row: u32, side: Side, cents: i64, quantity: i64) -> OrderChange {
    OrderChange {
        order_id: 900 + row as u64,
        priority: 30 + row as u64,
        price: Price(cents * 1_000_000_000),
        quantity: Quantity(quantity),
        side,
        action: OrderAction::New,
        row: OrderRow {
            index: row,
            number: 1 + row as u64,
        },
    }
}

fn orders(out: &mut Publisher, index: i64, orders: &[OrderChange]) {
    let snapshot = OrdersSnapshot {
        instrument: Instrument(index as u32),
        validity: Validity::Live,
        orders,
    };
    out.publish(&Update::OrdersSnapshot(snapshot), &timestamps());
}

/// A whole book with a level a side, and these bids of the implied book.
fn book(
    out: &mut Publisher,
    index: i64,
    bid: (i64, i64),
    ask: (i64, i64),
    implied_bids: &[(i64, i64)],
) {
    book_at(out, index, bid, ask, implied_bids, &timestamps());
}

fn book_at(
    out: &mut Publisher,
    index: i64,
    bid: (i64, i64),
    ask: (i64, i64),
    implied_bids: &[(i64, i64)],
    timestamps: &Timestamps,
) {
    let level = |(cents, quantity): (i64, i64)| Level {
        price: Price(cents * 1_000_000_000),
        quantity: Quantity(quantity),
        orders: 1,
        known: true,
    };
    let implied_bids: Vec<Level> = implied_bids.iter().copied().map(level).collect();
    let snapshot = BookSnapshot {
        instrument: Instrument(index as u32),
        validity: Validity::Live,
        bids: &[level(bid)],
        asks: &[level(ask)],
        implied_bids: &implied_bids,
        implied_asks: &[],
    };
    out.publish(&Update::BookSnapshot(snapshot), timestamps);
}

fn trade(out: &mut Publisher, index: i64, cents: i64, quantity: i64) {
    let trade = Trade {
        instrument: Instrument(index as u32),
        orders: 2,
        price: Price(cents * 1_000_000_000),
        quantity: Quantity(quantity),
        aggressor: Some(Side::Ask),
        action: UpdateAction::New,
        trade_id: 5,
    };
    out.publish(&Update::Trade(&trade), &timestamps());
}

/// A settlement price is set or withdrawn.
fn settlement(out: &mut Publisher, index: i64, action: UpdateAction, price: Price) {
    let statistic = Statistic {
        instrument: Instrument(index as u32),
        kind: StatisticKind::Settlement,
        action,
        price,
        quantity: Quantity::NULL,
    };
    out.publish(&Update::Statistic(&statistic), &timestamps());
}

fn timestamps() -> Timestamps {
    Timestamps {
        exchange_ns: 1_000,
        packet: PacketInfo {
            sequence: 7,
            sending_ns: 1_500,
            receive_ns: 2_000,
        },
        ..Timestamps::default()
    }
}
