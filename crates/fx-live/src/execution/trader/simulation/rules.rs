//! Banks whose rules drop open orders with a lost connection, but for last looks, which go on; and parents that end with their day.

use super::scenario::Scenario;
use touchline_fx::config::{AfterLoss, AtRoll, Recover};
use touchline_fx::setup::Setup;
use touchline_lab::random::Random;

/// Separates these random numbers from those of the seed: a seed without such a bank is the same run as without this file.
const STREAM: u64 = 0x6166_7465_725f_6c6f;
const MS: u64 = 1_000_000;
/// Longest last look behind a loss of the connection.
const LAST_LOOK_MS: u64 = 60;

/// The rules of the banks of a run.
pub struct Rules {
    last_looks: Vec<Option<u64>>,
}

impl Rules {
    pub fn new(seed: u64, scenario: &mut Scenario) -> Rules {
        let mut random = Random::from_seed(seed ^ STREAM);
        let has_rules = random.chance(0.3);
        if has_rules && random.chance(0.5) {
            scenario.engine.risk.at_roll = AtRoll::End;
        }
        let banks = 0..scenario.engine.banks.len();
        let last_looks = banks.map(|bank| {
            (has_rules && random.chance(0.7)).then(|| {
                drop_orders(scenario, bank, &mut random);
                LAST_LOOK_MS * MS
            })
        });
        Rules {
            last_looks: last_looks.collect(),
        }
    }

    /// Longest last look of a bank behind a loss of the connection, with which it drops all other orders; none if it keeps orders.
    pub fn last_look_ns(&self, bank: usize) -> Option<u64> {
        self.last_looks[bank]
    }
}

/// Such a bank answers no question, so each of its trades has its report.
fn drop_orders(scenario: &mut Scenario, bank: usize, random: &mut Random) {
    let about = &mut scenario.engine.banks[bank];
    (about.mass_status, about.recover) = (false, Recover::H);
    about.answer_ms = LAST_LOOK_MS + 60 + random.below(100);
    let schedule = "after_loss = \"canceled\"";
    let schedule = toml::from_str(schedule).expect("a schedule without hours");
    scenario.engine.sessions[bank].schedule = Some(Box::new(schedule));
    let orders = scenario.banks.banks[bank].orders.as_mut();
    let orders = orders.expect("a bank with a desk");
    (orders.silent, orders.contradict, orders.after_end) = (0.0, 0.0, 0.0);
    (orders.bust, orders.correct) = (0.0, 0.0);
    // The engine is back before the last look is over.
    (orders.disconnect, orders.outage_ms) = (0.3, random.below(6));
    orders.hold_ms = [30, 2 * (LAST_LOOK_MS - 10)];
}

/// The same settings, but that each rule of a loss, of an unknown order and of a roll is another one.
pub fn others(setup: &Setup) -> Setup {
    let mut other = setup.clone();
    for bank in &mut other.banks {
        let rule = &mut bank.config.after_loss;
        *rule = match *rule {
            AfterLoss::Ask => AfterLoss::Canceled,
            AfterLoss::Canceled | AfterLoss::AskThenCanceled => AfterLoss::Ask,
        };
        let is_final = &mut bank.config.status_final;
        *is_final = is_final.map(|is_final| !is_final);
    }
    let at_roll = &mut other.risk.at_roll;
    *at_roll = match *at_roll {
        AtRoll::GoOn => AtRoll::End,
        AtRoll::End => AtRoll::GoOn,
    };
    other
}
