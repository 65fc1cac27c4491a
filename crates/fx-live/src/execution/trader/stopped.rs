//! Tests of an engine that is stopped in the middle of a round.

use super::carry::Core;
use crate::execution::config::Config;
use crate::execution::edge::{Link, Lost, Output};
use crate::execution::order_session::Said;
use crate::execution::recovery::recover_from;
use crate::execution::trader::Incident;
use std::cell::Cell;
use std::rc::Rc;
use touchline_fx::commands;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::encoding::{Decoder, Entry, kind, kinds};
use touchline_fx_events::lines::lines_of;
use touchline_journal::{Appended, Record, Refused, State};
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};
use touchline_types::{Id, Price, Quantity, Quote, ReceiveTime, Side};

/// A configuration with one bank.
pub(super) fn config() -> Config {
    Config::parse(&text()).expect("a configuration")
}

pub(super) fn text() -> String {
    format!(
        "date = \"20260105\"\nprefix = \"T\"\naccount = \"D\"\n[run]\njournal = \"journal\"\n[risk]\n{RISK_OFF}[[pairs]]\n\
         symbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n{PAIR_OFF}[[banks]]\nname = \"A\"\n\
         pairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}[[sessions]]\nbank = \"A\"\nhost = \"127.0.0.1:1\"\nsender = \"T\"\n"
    )
}

/// A parent that buys, without a limit.
pub(super) fn order(id: &str, quantity: i64) -> Order {
    let id = Id::lossy(id.as_bytes());
    Order::new(id, Id::lossy(b"EUR/USD"), Side::Bid, quantity)
}

const SECOND_NS: u64 = 1_000_000_000;

/// When the process is stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stop {
    #[default]
    Never,
    BeforeTheQuotes,
    /// Behind the record of the order, before the order leaves.
    BehindTheRecord,
}

/// A journal that takes everything, and the clock.
#[derive(Default)]
pub(super) struct Host {
    stop: Stop,
    late: Rc<Cell<bool>>,
    orders: Rc<Cell<u64>>,
    pub(super) position: u64,
    /// Published changes of the reason why a parent waits.
    pub(super) waits: u64,
    /// Answers that were published, as lines.
    pub(super) answers: Vec<String>,
}

impl Output for Host {
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if kinds(record.body).any(|of| of == kind::ORDER) {
            self.orders.set(self.orders.get() + 1);
            self.late.set(self.stop == Stop::BehindTheRecord);
        }
        let position = self.position;
        self.position += 1;
        Ok(Appended {
            position,
            end: self.position,
            sequence: position,
        })
    }

    fn wait_until_safe(&mut self, _record: &Appended, _wait_ns: u64) -> bool {
        true
    }

    fn state(&self) -> (State, u64) {
        (State::Running, 0)
    }

    fn alarm(&self) -> u64 {
        0
    }

    fn give_up(&mut self) {}

    fn failure_recorded(&mut self) {}

    fn begin_run(&mut self, _run: &[u8]) {}

    fn publish(&mut self, part: &[u8]) {
        self.waits += kinds(part).filter(|of| *of == kind::WAITS).count() as u64;
        let mut line = String::new();
        let read = Decoder::joined(b"").read(part, |labels, at_ns, entry, batch| {
            if matches!(entry, Entry::Answer(_)) {
                lines_of((labels, batch), at_ns, &entry, &mut line, |_, text| {
                    self.answers.push(text.to_owned());
                });
            }
        });
        read.expect("a part of a batch");
    }

    fn since_ns(&self, _mono_ns: u64) -> u64 {
        if self.late.get() { SECOND_NS } else { 0 }
    }
}

/// A bank without a connection: messages given to its session are not sent.
pub(super) struct Nothing;

impl Link for Nothing {
    fn connect(&mut self, _until_ns: u64) -> Result<(), Lost> {
        Err(Lost::CLOSED)
    }

    fn is_connected(&mut self, _now_ns: u64) -> Result<bool, Lost> {
        Err(Lost::CLOSED)
    }

    fn receive(&mut self, _room: &mut [u8]) -> Result<usize, Lost> {
        Err(Lost::CLOSED)
    }

    fn send(&mut self, _bytes: &[u8]) -> Result<usize, Lost> {
        Err(Lost::CLOSED)
    }

    fn has_unread(&self) -> bool {
        false
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn close(&mut self) {}
}

/// The bank's quotes, with this ask.
pub(super) fn show<O: Output>(core: &mut Core<O, Nothing>, time: ReceiveTime, ask: i64) {
    let quote = |side, price| Quote {
        side,
        price: Price(price),
        quantity: Quantity(5_000_000),
        entry: side as u32,
        ..Quote::NULL
    };
    let quotes = [quote(Side::Bid, 1_099_000_000), quote(Side::Ask, ask)];
    let quotes = BusQuotes {
        pair: 0,
        receive_ns: time.wall_ns,
        is_unquoted: false,
        quoted: Quoted::All(&quotes),
    };
    core.quotes(time, 0, Session::Quotes(quotes));
}

/// An engine with this journal, whose session is up and whose parent has a limit below the ask.
pub(super) fn with_a_parent<O: Output>(journal: O) -> (Core<O, Nothing>, ReceiveTime) {
    let config = config();
    let setup = config.setup().expect("a setup");
    let recovered = recover_from(&setup, |_| Ok(())).expect("an empty journal");
    let mut core = Core::new(&config, journal, [Nothing], recovered, 1);
    let time = ReceiveTime {
        wall_ns: SECOND_NS,
        mono_ns: SECOND_NS,
    };
    core.engine.hold(false);
    core.said(0, Said::Up(false), time);
    core.quotes(time, 0, Session::Up);
    show(&mut core, time, 1_100_000_000);
    // The parent waits for a lower ask.
    let parent = Command::Parent(Order {
        limit: Some(Id::lossy(b"1.0995")),
        ..order("P1", 1_000)
    });
    let parent = commands::desk(&setup, &parent).expect("no command for a standby");
    core.handle(time, &Input::Desk(parent));
    (core, time)
}

/// Records of orders, and pauses that were noticed, of a round with a quote on which a parent is to trade.
fn round(stop: Stop) -> (u64, usize) {
    let (late, orders) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (mut core, time) = with_a_parent(Host {
        stop,
        late: Rc::clone(&late),
        orders: Rc::clone(&orders),
        ..Host::default()
    });
    assert_eq!(orders.get(), 0, "the limit is below the ask");
    late.set(stop == Stop::BeforeTheQuotes);
    show(&mut core, time, 1_099_500_000);
    let is_pause = |incident: &&Incident| matches!(incident, Incident::Paused { .. });
    (orders.get(), core.incidents.iter().filter(is_pause).count())
}

/// A quote that is read after the stop makes no order; an order that was decided before it is not sent.
#[test]
fn a_round_that_was_stopped_makes_and_sends_no_order() {
    assert_eq!(round(Stop::Never), (1, 0));
    assert_eq!(round(Stop::BeforeTheQuotes), (0, 1));
    assert_eq!(round(Stop::BehindTheRecord), (1, 1));
}
