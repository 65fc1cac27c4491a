//! An engine for tests: its core, a journal without files, and a bank without a connection.

use super::carry::Core;
use crate::execution::config::Config;
use crate::execution::config::tests::text;
use crate::execution::edge::{Link, Lost, Output};
use crate::execution::order_session::Said;
use crate::execution::recovery::recover_from;
use touchline_fx::commands;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::encoding::{Decoder, Entry, Place, kind, kinds};
use touchline_fx_events::lines::lines_of;
use touchline_journal::{Appended, Record, Refused, State};
use touchline_types::{Id, Price, Quantity, Quote, ReceiveTime, Side};

pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// A parent that buys, without a limit.
pub(super) fn order(id: &str, quantity: i64) -> Order {
    let id = Id::lossy(id.as_bytes());
    Order::new(id, Id::lossy(b"EUR/USD"), Side::Bid, quantity)
}

/// A journal without a next segment, the drop copy, and the clock.
pub(super) struct Host {
    /// Bytes left in the last segment: a record that does not fit is refused.
    pub room: usize,
    pub records: Vec<Stored>,
    /// Number and contents of each published record.
    pub published: Vec<(u64, Stored)>,
    /// Published changes of the reason why a parent waits.
    pub waits: u64,
    /// Answers that were published, as lines.
    pub answers: Vec<String>,
    pub is_given_up: bool,
    pub is_failure_recorded: bool,
    /// The process is stopped for a second, from now on or behind the record of the next order.
    pub is_late: bool,
    pub stops_behind_order: bool,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            room: usize::MAX,
            records: Vec::new(),
            published: Vec::new(),
            waits: 0,
            answers: Vec::new(),
            is_given_up: false,
            is_failure_recorded: false,
            is_late: false,
            stops_behind_order: false,
        }
    }
}

/// The parts of a record that the tests compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub length: usize,
    pub has_order: bool,
    pub has_kill: bool,
    /// Number of its command.
    pub request: Option<u64>,
    /// Why the command was refused.
    pub refusal: Option<String>,
}

impl Stored {
    fn of(body: &[u8]) -> Stored {
        let has = |wanted| kinds(body).any(|of| of == wanted);
        let (mut request, mut refusal) = (None, None);
        let _ = Decoder::joined(b"").read(body, |_, _, entry, _| match entry {
            Entry::Command {
                request: number, ..
            } => request = Some(number),
            Entry::Answer(answer) => refusal = answer.reason.map(str::to_owned),
            _ => {}
        });
        Stored {
            length: body.len(),
            has_order: has(kind::ORDER),
            has_kill: has(kind::KILL),
            request,
            refusal,
        }
    }
}

impl Output for Host {
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        if self.is_given_up {
            return Err(Refused::Failed { errno: 28 });
        }
        let room = self.room.checked_sub(record.body.len());
        self.room = room.ok_or(Refused::NoSegment)?;
        let stored = Stored::of(record.body);
        self.is_late |= self.stops_behind_order && stored.has_order;
        self.records.push(stored);
        let sequence = self.records.len() as u64;
        Ok(Appended {
            position: sequence - 1,
            end: sequence,
            sequence,
        })
    }

    fn wait_until_safe(&mut self, _record: &Appended, _wait_ns: u64) -> bool {
        true
    }

    fn state(&self) -> (State, u64) {
        match self.is_given_up {
            true => (State::Failed, 28),
            false => (State::Running, 0),
        }
    }

    fn alarm(&self) -> u64 {
        self.state().1
    }

    fn give_up(&mut self) {
        self.is_given_up = true;
    }

    fn failure_recorded(&mut self) {
        self.is_failure_recorded = true;
    }

    fn begin_run(&mut self, _run: &[u8]) {}

    fn publish(&mut self, part: &[u8]) {
        let place = Place::of(part).expect("a part of a batch");
        self.published.push((place.first, Stored::of(part)));
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
        if self.is_late { SECOND_NS } else { 0 }
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

/// An engine with this configuration and an empty journal.
pub(super) fn engine<L: Link>(text: &str, links: impl IntoIterator<Item = L>) -> Core<Host, L> {
    let config = Config::parse(text).expect("a configuration");
    let setup = config.setup().expect("a setup");
    let recovered = recover_from(&setup, |_| Ok(())).expect("an empty journal");
    Core::new(&config, Host::default(), links, recovered, 1)
}

/// The bank's quotes, with this ask, read by the present days.
pub(super) fn show<L: Link>(core: &mut Core<Host, L>, time: ReceiveTime, ask: i64) {
    core.begun.clear();
    show_received(core, time, (time.wall_ns, ask));
}

/// The bank's quotes, which its gateway received at a time, with this ask.
pub(super) fn show_received<L: Link>(
    core: &mut Core<Host, L>,
    time: ReceiveTime,
    (receive_ns, ask): (u64, i64),
) {
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
        receive_ns,
        bank_ns: [0; 2],
        is_unquoted: false,
        quoted: Quoted::All(&quotes),
    };
    core.quotes(time, 0, Session::Quotes(quotes));
}

/// An engine with this configuration, whose session is up and which has a price.
pub(super) fn with_a_price(text: &str) -> (Core<Host, Nothing>, ReceiveTime) {
    let mut core = engine(text, [Nothing]);
    let time = ReceiveTime::at(SECOND_NS);
    core.engine.hold(false);
    core.said(0, Said::Up(false), time);
    core.quotes(time, 0, Session::Up);
    show(&mut core, time, 1_100_000_000);
    (core, time)
}

/// An engine whose session is up and whose parent has a limit below the ask.
pub(super) fn with_a_parent() -> (Core<Host, Nothing>, ReceiveTime) {
    let (mut core, time) = with_a_price(&text());
    let parent = Command::Parent(Order {
        limit: Some(Id::lossy(b"1.0995")),
        ..order("P1", 1_000)
    });
    let parent = commands::desk(core.engine.setup(), &parent).expect("no command for a standby");
    core.handle(time, &Input::Desk(parent));
    (core, time)
}
