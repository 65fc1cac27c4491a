//! The age of quotes by way of a bus: neither a withdrawal nor a composer that joins makes them fresh.

use crate::world::{START_NS, config, fix};
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::sessions::{LineReader, Replay};
use touchline_fx::{BankStream, Engine, Setup};
use touchline_fx_events::Batch;
use touchline_fx_events::lines::Files;
use touchline_fx_live::compose::LineWriter;
use touchline_types::Side;

const MS: u64 = 1_000_000;

/// A composer, and one bank with its gateway, whose configuration has no limits.
struct World {
    setup: Setup,
    gateway: BankStream,
    engine: Engine,
    batch: Batch,
    files: Files,
    writer: LineWriter,
    recorded: String,
}

impl World {
    /// The bank's settings at the composer. The gateway is logged on.
    fn new(settings: &str) -> World {
        let setup = Setup::parse(&config("", &[("LP01", settings)])).expect("a composer");
        let alone = Setup::parse(&config("", &[("LP01", "")])).expect("a gateway");
        let mut gateway = BankStream::new(alone);
        gateway.up(START_NS);
        World {
            engine: Engine::new(setup.clone()),
            setup,
            gateway,
            batch: Batch::default(),
            files: Files::default(),
            writer: LineWriter::default(),
            recorded: String::new(),
        }
    }

    fn input(&mut self, at_ms: u64, session: Session<'_>) {
        let (at_ns, input) = (START_NS + at_ms * MS, Input::Pricing(0, session));
        self.writer
            .write(&self.setup, at_ns, &input, &mut self.recorded);
        self.batch.clear();
        self.engine.handle(at_ns, &input, &mut self.batch);
        self.files.write(&self.setup.labels, &self.batch);
    }

    fn wake(&mut self, at_ms: u64) {
        self.batch.clear();
        self.engine
            .handle_timeout(START_NS + at_ms * MS, &mut self.batch);
        self.files.write(&self.setup.labels, &self.batch);
    }

    /// The composer joins, or joins again: all quotes of each pair, as the gateway repeats them.
    fn join(&mut self, at_ms: u64) {
        self.input(at_ms, Session::Up);
        let mut quotes = Vec::new();
        for pair in 0..self.setup.pairs.len() {
            self.gateway.all(pair, &mut quotes);
            let quoted_ns = self.gateway.quoted_ns(pair);
            let snapshot = BusQuotes {
                pair,
                receive_ns: quoted_ns,
                bank_ns: [0; 2],
                is_unquoted: quoted_ns == 0,
                quoted: Quoted::All(&quotes),
            };
            self.input(at_ms, Session::Quotes(snapshot));
        }
    }

    /// A message of the bank, for the gateway alone.
    fn quote(&mut self, at_ms: u64, body: &str) {
        let message = fix(body).replace('|', "\u{1}");
        self.gateway
            .message(START_NS + at_ms * MS, message.as_bytes());
    }

    /// Passes the gateway's updates of its last message to the composer.
    fn pass_on(&mut self, at_ms: u64) {
        self.pass_on_late(at_ms, at_ms);
    }

    /// Passes the gateway's updates of its last message to the composer, which reads them later.
    fn pass_on_late(&mut self, received_ms: u64, at_ms: u64) {
        for pair in 0..self.setup.pairs.len() {
            let changes = self.gateway.take_changes(pair).map(<[_]>::to_vec);
            let Some(changes) = changes else {
                continue;
            };
            let quotes = BusQuotes {
                pair,
                receive_ns: START_NS + received_ms * MS,
                bank_ns: [0; 2],
                is_unquoted: !self.gateway.is_quoted(pair),
                quoted: Quoted::Changes(&changes),
            };
            self.input(at_ms, Session::Quotes(quotes));
        }
    }

    /// Best prices of EUR/USD, ticks.
    fn tops(&self) -> [Option<i64>; 2] {
        let tops = &self.engine.pricing().composites().of(0).tops;
        [0, 1].map(|side| tops[side].map(|top| top.price))
    }

    /// Checks that a replay of the composer's recording writes the same composites.
    fn check_replay(mut self, at_ms: u64) {
        self.wake(at_ms);
        self.recorded += &format!("{} - {{\"op\":\"end\"}}\n", START_NS + at_ms * MS);
        let mut replay = Replay::new(self.setup);
        for line in self.recorded.lines() {
            let read = replay.line(line);
            read.unwrap_or_else(|error| panic!("{line}: {error}"));
        }
        assert_eq!(replay.finish().0.composite, self.files.composite);
    }
}

fn increment(side: Side, id: &str, price: &str) -> String {
    let side = side.index();
    format!("35=X|268=1|279=0|278={id}|269={side}|55=EUR/USD|270={price}|271=1000000|299=q{id}")
}

/// Only a quote message of the pair ends its staleness.
#[test]
fn a_withdrawal_does_not_make_old_quotes_fresh() {
    for withdrawal in ["35=Z|298=5|117=qb", "35=AI|297=5|117=qb"] {
        let mut world = World::new("stale_ms = 600");
        world.join(0);
        world.quote(0, &increment(Side::Bid, "a", "1.1"));
        world.pass_on(0);
        world.quote(1, &increment(Side::Ask, "b", "1.2"));
        world.pass_on(1);
        assert_eq!(world.tops(), [Some(110_000), Some(120_000)]);
        world.quote(1_500, withdrawal);
        world.pass_on(1_500);
        assert_eq!(
            (world.tops(), world.engine.pricing().is_live(0)),
            ([None; 2], false)
        );
        assert_eq!(world.engine.score(0, 0).quotes, 2, "{withdrawal}");
        // A quote message makes the pair live, without the withdrawn quotes.
        world.quote(1_600, &increment(Side::Ask, "c", "1.3"));
        world.pass_on(1_600);
        assert_eq!(world.tops(), [Some(110_000), Some(130_000)]);
        assert!(world.recorded.contains("LP01.q !withdrawn 8=FIX.4.4|"));
        world.check_replay(3_000);
    }
}

/// Each quote lives `ttl_ms` from the time when the bank set it, independent of the time when the composer joins.
#[test]
fn a_composer_that_joins_gives_no_quote_a_new_life() {
    let mut world = World::new("ttl_ms = 1000");
    world.quote(0, &increment(Side::Bid, "a", "1.1"));
    for number in 1..=12 {
        world.quote(250 * number, &increment(Side::Ask, "b", "1.2"));
    }
    world.join(3_100);
    assert_eq!(world.tops(), [None, Some(120_000)]);
    world.wake(3_999);
    assert_eq!(world.tops(), [None, Some(120_000)]);
    world.wake(4_000);
    assert_eq!(world.tops(), [None; 2]);
    assert_eq!(
        world.engine.score(0, 0).quotes,
        0,
        "it received no quote message"
    );
    world.check_replay(5_000);
}

/// A pair is stale `stale_ms` after its last quote message, whenever the composer joins.
#[test]
fn a_composer_that_joins_makes_no_pair_fresh() {
    let mut world = World::new("stale_ms = 600");
    world.quote(0, &increment(Side::Bid, "a", "1.1"));
    world.join(500);
    assert_eq!(
        (world.tops(), world.engine.pricing().is_live(0)),
        ([Some(110_000), None], true)
    );
    world.wake(600);
    assert_eq!(
        (world.tops(), world.engine.pricing().is_live(0)),
        ([None; 2], false)
    );
    assert!(
        world
            .recorded
            .contains(&format!("LP01.q !taken {START_NS} 8=FIX"))
    );
    world.check_replay(2_000);
}

/// A composer that was stopped, or is behind, reads quotes of before: their age counts from the gateway's receive time.
#[test]
fn a_quote_that_is_read_late_is_as_old_as_its_receive_time() {
    let mut world = World::new("stale_ms = 600");
    world.join(0);
    world.quote(100, &increment(Side::Bid, "a", "1.1"));
    world.pass_on_late(100, 650);
    assert_eq!(world.tops(), [Some(110_000), None]);
    world.wake(700);
    assert_eq!(
        (world.tops(), world.engine.pricing().is_live(0)),
        ([None; 2], false)
    );
    world.quote(800, &increment(Side::Ask, "b", "1.2"));
    world.pass_on_late(800, 2_000);
    assert_eq!(
        (world.tops(), world.engine.pricing().is_live(0)),
        ([None; 2], false),
        "old when it is read"
    );
    assert_eq!(world.engine.score(0, 0).quotes, 2, "the bank quoted");
    // Clocks that differ make no quote of the future.
    world.quote(2_500, &increment(Side::Ask, "b", "1.3"));
    world.pass_on_late(2_500, 2_400);
    world.wake(2_999);
    assert_eq!(world.tops(), [Some(110_000), Some(130_000)]);
    world.wake(3_000);
    assert_eq!(world.tops(), [None; 2]);
    let quoted = format!("LP01.q !quoted {} 8=FIX", START_NS + 100 * MS);
    assert!(world.recorded.contains(&quoted), "{}", world.recorded);
    world.check_replay(3_500);
}

/// The record of a plan states the age of a quote from its receive time at the gateway.
#[test]
fn a_plan_states_the_age_of_quotes_since_their_gateway_received_them() {
    let mut world = World::new("");
    world.join(0);
    for (side, id, price) in [(Side::Bid, "a", "1.1"), (Side::Ask, "b", "1.10002")] {
        world.quote(100, &increment(side, id, price));
        world.pass_on_late(100, 400);
    }
    let at_ns = START_NS + 400 * MS;
    let up = Input::Orders(0, Session::Up);
    world.engine.handle(at_ns, &up, &mut world.batch);
    let parent = "{\"op\":\"parent\",\"id\":\"P1\",\"pair\":\"EUR/USD\",\"side\":\"buy\",\"qty\":1000,\"deadline_ms\":9000}";
    let (line, mut reader) = (format!("{at_ns} - {parent}"), LineReader::default());
    let read = reader.read(&world.setup, &line).expect("a line");
    let (_, parent) = read.expect("an input");
    world.batch.clear();
    world.engine.handle(at_ns, &parent, &mut world.batch);
    let ages = world.batch.seen.entries.iter().map(|entry| entry.age_us);
    assert_eq!(ages.collect::<Vec<_>>(), [300_000; 2]);
}

/// A bank is live in a pair only after a quote of the pair since its logon.
#[test]
fn a_pair_without_a_quote_message_is_not_live() {
    let mut world = World::new("");
    world.quote(0, &increment(Side::Bid, "a", "1.1"));
    world.join(10);
    assert!(world.engine.pricing().is_live(0) && !world.engine.pricing().is_live(1));
    // A withdrawal is not a quote message either, and a new session starts without quotes.
    world.quote(20, "35=Z|298=4");
    world.pass_on(20);
    assert!(world.engine.pricing().is_live(0) && !world.engine.pricing().is_live(1));
    world.gateway.down(START_NS + 30 * MS);
    world.gateway.up(START_NS + 40 * MS);
    world.join(50);
    assert!(!world.engine.pricing().is_live(0) && !world.engine.pricing().is_live(1));
    world.check_replay(100);
}
