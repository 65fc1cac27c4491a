//! Random sessions: banks that quote in every form, answer in every way, connect and disconnect; a desk that uses every
//! command. The tests check invariants.
//!
//! `SEED=7 cargo test -p touchline-fx random` repeats one seed; `SEEDS=500` runs 500.

pub mod banks;

use banks::{Banks, CONTRADICTED, Random};
use std::collections::{BTreeMap, HashMap, HashSet};
use touchline_fx::sessions::Replay;
use touchline_fx_events::event::{Event, Message, OrderEvent};
use touchline_fx_events::lines::Files;
use touchline_fx_events::orders::{FillKind, Terms};
use touchline_types::{Id, Side};

const SEEDS: u64 = 60;
const STEPS: usize = 700;

pub fn seeds() -> Vec<u64> {
    let number = |key: &str| {
        std::env::var(key)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    match number("SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("SEEDS").unwrap_or(SEEDS)).collect(),
    }
}

/// State derived from the events of a run, compared with the state of the core.
#[derive(Default)]
struct Watch {
    journaled: HashSet<String>,
    sent: HashSet<String>,
    positions: HashMap<usize, (i64, i128)>,
    /// Orders that a kill found at a bank.
    killed_orders: u64,
    /// Fills that a bank took back, and those that it corrected.
    reversed: [u64; 2],
    /// Price of each fill, by its order and its ExecID.
    prices: HashMap<(Option<Id>, Id), i64>,
    is_killed: bool,
}

impl Watch {
    fn look(&mut self, replay: &Replay) {
        for (_, event) in &replay.batch().events {
            match event {
                Event::Kill { .. } => self.is_killed = true,
                Event::Lift { is_killed, .. } => self.is_killed = *is_killed,
                Event::Plan { .. } => assert!(!self.is_killed, "a plan while killed"),
                Event::Fill(fill) => {
                    let is_taken_back = fill.kind == FillKind::Bust;
                    self.reversed[0] += u64::from(is_taken_back);
                    self.reversed[1] += u64::from(fill.kind == FillKind::Correct);
                    let sign = if (fill.side == Side::Bid) == is_taken_back {
                        -1
                    } else {
                        1
                    };
                    let of = |exec_id: Id| (fill.order.map(|order| order.id), exec_id);
                    let before = fill.part_of.map(|part_of| self.prices[&of(part_of)]);
                    let price = fill.price.0 - before.unwrap_or(0);
                    self.prices.insert(of(fill.exec_id), fill.price.0);
                    let (units, cash) = self.positions.entry(fill.pair).or_default();
                    *units += sign * if before.is_some() { 0 } else { fill.quantity };
                    *cash -= i128::from(sign * fill.quantity) * i128::from(price);
                }
                Event::Order(line) => match (line.what, &line.message) {
                    (OrderEvent::Journal, _) => {
                        let id = line.id.expect("an order").as_str().to_owned();
                        assert!(self.journaled.insert(id), "journaled once");
                    }
                    (OrderEvent::Sent, Some(Message::Order(terms))) => {
                        let id = terms.id.as_str().to_owned();
                        assert!(
                            self.journaled.contains(&id),
                            "{id} is sent before it is journaled"
                        );
                        assert!(!self.is_killed, "{id} is sent while killed");
                        assert!(self.sent.insert(id), "an order is sent once");
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        let engine = replay.engine();
        self.look_for_cancels(replay);
        for at in engine.trading().parents().live() {
            let parent = engine.trading().parents().get(*at);
            let exposure = parent.exposure();
            assert!(exposure.done() + exposure.out() <= exposure.quantity() + exposure.late());
            let own = engine
                .trading()
                .orders()
                .iter()
                .filter(|order| order.terms.parent == *at);
            let (done, out) = own.fold((0, 0), |(done, out), order| {
                (done + order.cum(), out + order.leaves())
            });
            assert_eq!(
                (done, out),
                (exposure.done(), exposure.out()),
                "the orders of a parent"
            );
        }
        for (pair, held) in &self.positions {
            let position = engine.trading().positions().of(*pair);
            assert_eq!(
                *held,
                (position.units, position.cash),
                "the sum of the fills"
            );
        }
    }
}

impl Watch {
    /// Checks that a kill cancels every order that may be live at a bank whose session is up, in any state.
    fn look_for_cancels(&mut self, replay: &Replay) {
        let events = &replay.batch().events;
        let is_kill = |(_, event): &(u64, Event)| matches!(event, Event::Kill { .. });
        let Some(kill) = events.iter().position(is_kill) else {
            return;
        };
        let canceled = |id: Id| {
            events[kill..].iter().any(|(_, event)| match event {
                Event::Order(line) => match &line.message {
                    Some(Message::Cancel { order, .. }) => order.id == id,
                    _ => false,
                },
                _ => false,
            })
        };
        let engine = replay.engine();
        for at in engine.trading().orders().live() {
            let order = engine.trading().orders().get(*at);
            let Terms { id, bank, .. } = order.terms;
            if engine.trading().is_order_session_up(bank) {
                self.killed_orders += 1;
                assert!(
                    order.is_cancel_asked() || canceled(id),
                    "{id} is not canceled by a kill"
                );
            }
        }
    }
}

/// Runs a session, with random additional wake-ups if requested.
fn run(lines: &[String], config: &str, wakes: Option<u64>) -> Files {
    let setup = touchline_fx::Setup::parse(config).expect("a configuration");
    let mut replay = Replay::new(setup);
    let mut random = wakes.map(Random::new);
    let mut last_ns = 0;
    for line in lines {
        let at_ns: u64 = line
            .split(' ')
            .next()
            .and_then(|time| time.parse().ok())
            .expect("a time");
        if let Some(random) = &mut random
            && last_ns > 0
        {
            let mut wakes: Vec<u64> = (0..random.below(4))
                .map(|_| last_ns + random.below(at_ns - last_ns + 1))
                .collect();
            wakes.sort_unstable();
            wakes.into_iter().for_each(|wake_ns| replay.wake(wake_ns));
        }
        last_ns = at_ns;
        replay
            .line(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    replay.finish().0
}

/// A quote looks at the parents of its pair alone, and the result is that of a router that looks at every parent in each step.
#[test]
fn parents_of_other_pairs_need_no_look() {
    for seed in seeds().into_iter().take(20) {
        let mut banks = Banks::new(seed);
        let setup = || touchline_fx::Setup::parse(Banks::new(seed).config());
        let mut replay = Replay::new(setup().expect("a configuration"));
        let mut of_all = Replay::new(setup().expect("a configuration"));
        for _ in 0..STEPS {
            for line in banks.next() {
                replay.line(&line).expect("a line");
                of_all.hold(false);
                of_all.line(&line).expect("a line");
                let [events, all] = [&replay, &of_all].map(|replay| &replay.batch().events);
                assert_eq!(events, all, "SEED={seed}: {line}");
                banks.hear(replay.batch());
            }
        }
    }
}

#[test]
fn random_sessions_keep_what_must_hold() {
    let (mut orders, mut fills, mut plans) = (0, 0, 0);
    let (mut reversed, mut killed_orders) = ([0; 2], 0);
    let mut contradictions = BTreeMap::new();
    for seed in seeds() {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let setup = touchline_fx::Setup::parse(banks.config()).expect("a configuration");
        let mut replay = Replay::new(setup);
        let mut watch = Watch::default();
        let mut lines = Vec::new();
        for _ in 0..STEPS {
            for line in banks.next() {
                replay
                    .line(&line)
                    .unwrap_or_else(|error| panic!("{line}: {error}"));
                watch.look(&replay);
                banks.hear(replay.batch());
                lines.push(line);
            }
        }
        for (tag, count) in &banks.contradictions {
            *contradictions.entry(*tag).or_insert(0) += count;
        }
        orders += watch.sent.len();
        killed_orders += watch.killed_orders;
        for (all, own) in reversed.iter_mut().zip(watch.reversed) {
            *all += own;
        }
        let (files, _) = replay.finish();
        fills += files.fills.lines().count();
        plans += files
            .decisions
            .lines()
            .filter(|line| line.contains("\"plan\""))
            .count();
        let again = run(&lines, banks.config(), None);
        assert!(files == again, "the same input, other bytes: seed {seed}");
        let woken = run(&lines, banks.config(), Some(seed));
        for ((name, text), (_, other)) in files.named().iter().zip(woken.named()) {
            let difference = text
                .lines()
                .zip(other.lines())
                .find(|(one, other)| one != other);
            assert!(
                *text == other,
                "waking up changes {name}: seed {seed}: {difference:?}"
            );
        }
    }
    // Sessions without activity would prove nothing. A single seed may have no fill.
    println!("{orders} orders, {fills} fills, {plans} plans");
    let is_single = seeds().len() == 1;
    assert!(is_single || orders > 0 && fills > 0 && plans > 0);
    println!(
        "{reversed:?} fills taken back and corrected, {killed_orders} orders canceled by kills"
    );
    assert!(is_single || killed_orders > 0 && !reversed.contains(&0));
    println!("contradictions by tag: {contradictions:?}");
    assert!(is_single || contradictions.keys().copied().eq(CONTRADICTED));
}
