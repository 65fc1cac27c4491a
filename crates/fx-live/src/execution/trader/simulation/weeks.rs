//! Weeks within a run: each day lasts a fraction of a second, over changes of time and holidays, and each bank rolls on time, late or
//! never.

use super::machine::BEGIN_NS;
use super::scenario::Scenario;
use super::world::World;
use std::collections::BTreeMap;
use touchline_fx::setup::Setup;
use touchline_fx_days::{CalendarsConfig, Pace, Rolls, Timestamp};
use touchline_lab::random::Random;
use touchline_types::{Id, Side};

/// Nanoseconds that pass in one of the clock: a day in 200 ms.
const SPEED: u64 = 432_000;
/// Weeks with a change of time in New York or in Europe, Easter, 4 July, and the end of a year.
const BEGINS: [&str; 6] = [
    "2026-03-05T12:00:00Z",
    "2026-03-26T12:00:00Z",
    "2026-10-29T12:00:00Z",
    "2026-03-31T12:00:00Z",
    "2026-06-30T12:00:00Z",
    "2026-12-21T12:00:00Z",
];
/// Times around a roll in which an order may have either date: TransactTime has milliseconds.
const AROUND_NS: u64 = 2_000_000;

/// When a bank begins a day.
#[derive(Debug, Clone, Copy)]
enum Rolling {
    /// This much after the roll, by the clock of the run.
    Late(u64),
    /// Never.
    Never,
}

/// The days of a run.
pub struct Weeks {
    pub rolls: Rolls,
    banks: Vec<Rolling>,
    /// Whether a bank states the value date of its quotes.
    is_dated: Vec<bool>,
    /// Whether the faults last for ten weeks.
    pub are_ten: bool,
}

impl Weeks {
    pub fn new(seed: u64, scenario: &mut Scenario) -> Weeks {
        let mut random = Random::from_seed(seed ^ 0x5EED_DA75);
        scenario.engine.calendars = Some(CalendarsConfig::default());
        for pair in &mut scenario.engine.pairs {
            pair.spot_date.clear();
        }
        for bank in &mut scenario.banks.banks {
            let orders = bank.orders.as_mut().expect("a bank with a desk");
            (orders.bust, orders.correct, orders.after_end) = (0.0, 0.0, 0.0);
        }
        let begin: Timestamp = BEGINS[random.index(BEGINS.len())]
            .parse()
            .expect("an instant");
        let begin_ns = u64::try_from(begin.as_nanosecond()).expect("after 1970");
        let pace = Pace {
            clock_ns: BEGIN_NS,
            instant_ns: begin_ns + random.below(86_400) * 1_000_000_000,
            speed: SPEED,
        };
        let rolls = scenario.engine.rolls().expect("built-in calendars");
        let banks = 0..scenario.engine.banks.len();
        Weeks {
            rolls: rolls.expect("calendars").paced(pace),
            banks: banks
                .clone()
                .map(|bank| match random.below(5) {
                    // One bank at least can be traded with on each day.
                    _ if bank == 0 => Rolling::Late(0),
                    0 | 1 => Rolling::Late(0),
                    // A minute.
                    2 => Rolling::Late(60_000_000_000 / SPEED),
                    3 => Rolling::Late(random.below(40_000_000)),
                    _ => Rolling::Never,
                })
                .collect(),
            is_dated: banks.map(|_| random.chance(0.8)).collect(),
            are_ten: random.below(12) == 0,
        }
    }

    /// Whether the gateway of a bank would publish its quotes of a pair, and the engine take them, at a time of the wall clock.
    pub fn is_usable(&self, setup: &Setup, bank: usize, pair: usize, wall_ns: u64) -> bool {
        let at_ns = match self.banks[bank] {
            Rolling::Late(late_ns) => wall_ns - late_ns,
            Rolling::Never => BEGIN_NS,
        };
        let spot = self.rolls.dates(pair, at_ns).spot;
        !self.is_dated[bank] || spot == setup.pairs[pair].spot_date
    }

    /// Whether an order that was made at a time of the wall clock may have a value date.
    pub fn may_have(&self, pair: usize, value_date: u32, wall_ns: u64) -> bool {
        let at = [wall_ns - AROUND_NS, wall_ns, wall_ns + AROUND_NS];
        at.iter()
            .any(|at_ns| self.rolls.dates(pair, *at_ns).spot == value_date)
    }
}

/// Positions by value date are those of the orders that left with this date, and of the bookings.
pub fn agree(world: &World) -> Result<(), String> {
    let engine = world.engine();
    let machine = world.machine.borrow();
    let mut expected: BTreeMap<(usize, u32), i64> = BTreeMap::new();
    for (place, bank) in world.banks.iter().enumerate() {
        for deal in bank.desk.deals() {
            let Some(at) = engine
                .trading()
                .orders()
                .of_id(&Id::lossy(deal.id.as_bytes()))
            else {
                return Err(format!("order {} of bank {place} is not known", deal.id));
            };
            let terms = &engine.trading().orders().get(at).terms;
            let date = *machine
                .watch
                .dates
                .get(deal.id)
                .ok_or("an order without a date")?;
            let units = match terms.side {
                Side::Bid => deal.cum,
                Side::Ask => -deal.cum,
            };
            if date != terms.value_date {
                return Err(format!(
                    "order {} left for {date}, and is {} here",
                    deal.id, terms.value_date
                ));
            }
            *expected.entry((terms.pair, date)).or_default() += units;
        }
    }
    for pair in 0..world.setup.pairs.len() {
        let (units, _) = world.booked(pair);
        *expected.entry((pair, 20_260_107)).or_default() += units;
        for (date, part) in engine.trading().positions().dates(pair) {
            *expected.entry((pair, *date)).or_default() -= part.units;
        }
    }
    match expected.iter().find(|(_, difference)| **difference != 0) {
        None => Ok(()),
        Some(((pair, date), difference)) => Err(format!(
            "position of pair {pair} for {date}: the banks have {difference} more than the engine"
        )),
    }
}
