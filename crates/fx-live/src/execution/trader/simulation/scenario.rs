//! Choices of a seed: settings of the engine, and the behavior of its banks.

use crate::execution::config::{Config, SyncMode};
use touchline_fx::config::{OrderStyle, Recover, StreamKind};
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};
use touchline_lab::bank::{self, Kind};
use touchline_lab::random::Random;

const BANKS: usize = 4;

/// Settings of a run.
pub struct Scenario {
    pub engine: Config,
    pub banks: bank::Config,
}

thread_local! {
    static BASE: (Config, bank::Config) = (
        Config::parse(&engine_text()).expect("a configuration"),
        bank::Config::parse(&banks_text()).expect("a configuration"),
    );
}

impl Scenario {
    pub fn new(random: &mut Random) -> Scenario {
        let (engine, banks) = BASE.with(Clone::clone);
        let mut scenario = Scenario { engine, banks };
        let count = 2 + random.index(BANKS - 1);
        scenario.engine.banks.truncate(count);
        scenario.engine.sessions.truncate(count);
        scenario.banks.banks.truncate(count);
        for bank in 0..count {
            scenario.bank(bank, random);
        }
        let Config { run, risk, .. } = &mut scenario.engine;
        if random.chance(0.4) {
            run.sync = SyncMode::Disk;
        }
        if random.chance(0.3) {
            risk.kill_unknown = 2 + random.index(6);
            risk.kill_rejects_per_s = 3 + random.index(10);
        }
        if random.chance(0.3) {
            risk.max_parents_per_s = 5 + random.index(20);
        }
        for pair in &mut scenario.engine.pairs {
            if random.chance(0.5) {
                pair.max_net = 10_000_000 + 1_000_000 * random.below(20) as i64;
            }
        }
        scenario
    }

    fn bank(&mut self, place: usize, random: &mut Random) {
        let bank = &mut self.engine.banks[place];
        let quotes = &mut self.banks.banks[place];
        if random.chance(0.3) {
            (bank.kind, quotes.kind) = (StreamKind::Full, Kind::Full);
        }
        if random.chance(0.3) {
            bank.orders = OrderStyle::Quoted;
        }
        if random.chance(0.5) {
            bank.recover = Recover::MassStatus;
        }
        // Such a bank reports each order, or an order that the journal lost would never be found.
        let lists_orders = random.chance(0.7);
        if !lists_orders {
            bank.mass_status = false;
            bank.recover = Recover::default();
        }
        bank.status_final = Some(random.chance(0.7));
        bank.answer_ms = 20 + random.below(150);
        bank.status_ms = 10 + random.below(100);
        bank.status_tries = 1 + random.below(4) as u32;
        if random.chance(0.3) {
            bank.max_orders_per_s = 2 + random.index(10);
        }
        let mut share = |chance: f64, most: u64| match random.chance(chance) {
            true => random.below(most) as f64 / 100.0,
            false => 0.0,
        };
        let orders = quotes.orders.as_mut().expect("a bank with a desk");
        orders.reject = share(0.5, 40);
        orders.partial = share(0.5, 40);
        orders.split = share(0.5, 40);
        orders.lost = share(0.3, 20);
        orders.late = share(0.4, 30);
        orders.disconnect = share(0.3, 15);
        orders.silent = if lists_orders { share(0.3, 30) } else { 0.0 };
        // The answer to a mass status is right: an order that the journal lost is known by it.
        orders.contradict = if lists_orders { share(0.5, 60) } else { 0.0 };
        // A fill without a report, or with a refused report, may become known only by a status request or by the desk:
        // its later bust or correction would stay unknown.
        if orders.silent == 0.0 && orders.contradict == 0.0 {
            orders.after_end = share(0.3, 50);
            orders.bust = share(0.3, 20);
            orders.correct = share(0.3, 20);
        }
        let hold_ms = random.below(40);
        orders.hold_ms = [hold_ms / 3, hold_ms];
        orders.late_ms = 50 + random.below(400);
        orders.outage_ms = random.below(200);
        // A fill that a bank neither reports nor lists cannot become known.
        orders.mass_status_ms = 3_600_000;
        orders.last_look_ticks = random.below(4) as i64;
    }
}

fn engine_text() -> String {
    let mut text = r#"
date = "20260105"
prefix = "T"
account = "DESK"
conflate_ms = 1000
[run]
journal = "/nowhere"
[risk]
RISKlift_by_one_user = true
[router]
cooldown_ms = 20
retry_ms = [20, 5, 0]
[[pairs]]
symbol = "EUR/USD"
precision = 5
spot_date = "20260107"
PAIR[[pairs]]
symbol = "USD/JPY"
precision = 3
spot_date = "20260107"
PAIR[[clients]]
name = "alpha"
may = ["send", "cancel", "kill", "lift", "enable", "resolve", "book"]
max_order = 9000000
max_commands_per_s = 1000
[[clients]]
name = "beta"
may = ["kill", "lift", "book"]
"#
    .replace(
        "RISK",
        &RISK_OFF.replace("desk", "alpha").replace("chief", "beta"),
    )
    .replace("PAIR", PAIR_OFF);
    for bank in 1..=BANKS {
        text += &format!(
            r#"
[[banks]]
name = "LP{bank}"
pairs = ["EUR/USD", "USD/JPY"]
status_final = true
{BANK_OFF}[[sessions]]
bank = "LP{bank}"
host = "127.0.0.1:1"
sender = "TL"
heartbeat_s = 1
reconnect_ms = 5
reconnect_ms_max = 80
"#
        );
    }
    text
}

fn banks_text() -> String {
    let mut text = r#"
[[pairs]]
symbol = "EUR/USD"
spot_date = "20260107"
mid_ticks = 110000
[[pairs]]
symbol = "USD/JPY"
precision = 3
spot_date = "20260107"
mid_ticks = 150000
"#
    .to_owned();
    for bank in 1..=BANKS {
        text += &format!(
            r#"
[[banks]]
name = "LP{bank}"
pairs = ["EUR/USD", "USD/JPY"]
tiers = [1000000, 3000000]
[banks.orders]
"#
        );
    }
    text
}
