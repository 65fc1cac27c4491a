//! An engine with banks: their buses, their dealing desks, and the desk's ring, all turned by one thread.
//!
//! The engine is that of `touchline fx run`: quotes come over buses in shared memory, orders leave over TCP. Beside the
//! path are the banks: [`Rig::quote`] publishes, [`Rig::settle`] answers.

use super::fx_banks::{Banks, MID, TIER_UNITS, now, quote_of};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_fx_desk::DeskClient;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_live::execution::{Config, Trader};
use touchline_lab::bank::guards::{BANK_OFF, PAIR_OFF, RISK_OFF};
use touchline_lab::bench::dealers::{Answer, Dealers};
use touchline_lab::random::Random;
use touchline_transport::boot_ns;
use touchline_transport::shm::Root;
use touchline_types::{Id, Side};

/// Longest wait for sessions, buses and answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// Distance of each bank's best price from the mid, ticks. The parent's limit lies half way.
const AWAY: i64 = 10;
/// Units of the parent: it has a thousand orders of a first tier.
const PARENT: i64 = 1_000 * TIER_UNITS;

/// Size and settings of a rig.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// Banks.
    pub banks: usize,
    /// Tiers a side.
    pub tiers: u32,
    /// Directory of the buses.
    pub buses: &'a Path,
    /// Directory of the journal.
    pub journal: &'a Path,
    /// An order is sent when it is on the disk.
    pub is_disk: bool,
    /// Bytes of the journal's ring: half of it may wait for the disk.
    pub tail_bytes: u64,
    /// The engine spins: it keeps its send path warm.
    pub spin: bool,
}

/// The engine, with the banks, dealing desks and client that it works with.
pub struct Rig {
    /// The engine.
    pub trader: Trader,
    /// The dealing desks.
    pub dealers: Dealers,
    banks: Banks,
    desk: DeskClient,
    random: Random,
    tiers: u32,
    /// Banks whose best ask is at the parent's limit or better.
    hit: Vec<bool>,
    parents: u64,
}

/// A failure, for people.
pub type Failed = Box<dyn std::error::Error>;

impl Rig {
    /// Opens everything, until each session is up and each bank has quoted.
    pub fn open(plan: &Plan<'_>, seed: u64) -> Result<Rig, Failed> {
        let root = Root::at(plan.buses);
        let names: Vec<String> = (0..plan.banks).map(|bank| format!("LP{bank:03}")).collect();
        let dealers = Dealers::listen(&names, "DESK")?;
        let buses: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let banks = Banks::open(&root, &buses, plan.tiers)?;
        let config = Config::parse(&config(plan, &names, &dealers))?;
        let trader = Trader::open(&config)?;
        let mut rig = Rig {
            trader,
            dealers,
            hit: vec![false; banks.len()],
            banks,
            desk: DeskClient::open(&root, &config.run.bus, "desk")?,
            random: Random::from_seed(seed),
            tiers: plan.tiers,
            parents: 0,
        };
        rig.begin()?;
        Ok(rig)
    }

    fn begin(&mut self) -> Result<(), Failed> {
        let begin = Instant::now();
        while !self.is_ready() {
            self.banks.snapshots(AWAY);
            for _ in 0..20 {
                self.trader.work()?;
                self.dealers.turn(now());
            }
            if begin.elapsed() > PATIENCE {
                return Err("sessions and buses of the banks did not come up".into());
            }
        }
        self.settle()?;
        self.parent()
    }

    /// Whether every bank quotes and its order session is up.
    fn is_ready(&self) -> bool {
        let engine = self.trader.engine();
        let pair = 0;
        let banks = 0..self.banks.len();
        engine.pricing().is_live(pair)
            && banks.clone().all(|bank| {
                engine
                    .pricing()
                    .composites()
                    .own(engine.setup(), bank, pair)[0]
                    .is_some()
            })
            && banks
                .clone()
                .all(|bank| engine.trading().is_order_session_up(bank))
    }

    /// Sends a parent that buys the offers at its limit.
    fn parent(&mut self) -> Result<(), Failed> {
        self.parents += 1;
        let name = |text: &str| Id::lossy(text.as_bytes());
        let (id, pair) = (name(&format!("B{}", self.parents)), name("EUR/USD"));
        self.command(&Command::Parent(Order {
            limit: Some(name(&price(MID + AWAY / 2))),
            deadline_ms: 3_600_000,
            ..Order::new(id, pair, Side::Bid, PARENT)
        }));
        let (begin, before) = (Instant::now(), self.trader.totals().commands);
        while self.trader.totals().commands == before {
            self.trader.work()?;
            if begin.elapsed() > PATIENCE {
                return Err("the engine does not take commands".into());
            }
        }
        match self.trader.totals().refused {
            0 => Ok(()),
            _ => Err(self.incidents().into()),
        }
    }

    /// Publishes a command of the desk, which the next round of the engine executes.
    pub fn command(&mut self, command: &Command) {
        self.desk.send(boot_ns(), command);
    }

    /// A burst: every bank changes a price; one of them, the result, goes to the parent's limit.
    pub fn quote(&mut self) -> usize {
        let winner = self.random.index(self.banks.len());
        for bank in 0..self.banks.len() {
            let (tier, better) = match (bank == winner, self.hit[bank]) {
                (true, _) => (0, AWAY / 2 + self.random.between(0, 3)),
                // Its offer was taken: it quotes as before.
                (false, true) => (0, 0),
                (false, false) => (self.random.below(u64::from(self.tiers)) as u32, 0),
            };
            self.hit[bank] = bank == winner;
            let away = match bank == winner {
                true => -better,
                false => self.random.between(0, 3),
            };
            let quote = quote_of(tier, Side::Ask, AWAY + away);
            self.banks.change(bank, quote);
        }
        winner
    }

    /// Lets the banks answer until no order is under way; a parent that is done is followed by another.
    pub fn settle(&mut self) -> Result<(), Failed> {
        let begin = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            let answered = self.dealers.turn(now());
            let worked = self.trader.work()?;
            let is_open = self.dealers.answer == Answer::Fill
                && !self.trader.engine().trading().orders().live().is_empty();
            quiet = match answered + worked > 0 || is_open {
                true => 0,
                false => quiet + 1,
            };
            if begin.elapsed() > PATIENCE {
                return Err("orders are not answered".into());
            }
        }
        while self.trader.next_incident().is_some() {}
        let parents = self.trader.engine().trading().parents();
        let is_done = !parents
            .live()
            .iter()
            .any(|at| parents.get(*at).is_working());
        match is_done && self.parents > 0 && !self.trader.engine().trading().is_killed() {
            true => self.parent(),
            false => Ok(()),
        }
    }

    /// Incidents that wait for the log.
    pub fn incidents(&mut self) -> String {
        let mut text = String::new();
        while let Some(incident) = self.trader.next_incident() {
            let _ = writeln!(text, "{incident}");
        }
        text
    }
}

/// The configuration: limits that these orders do not reach.
fn config(plan: &Plan<'_>, banks: &[String], dealers: &Dealers) -> String {
    // Parents follow each other, and each counts.
    let [pair, risk] =
        [PAIR_OFF, RISK_OFF].map(|text| text.replace("1000000000000\n", "1000000000000000\n"));
    let mut text = format!(
        "date = \"20260105\"\nprefix = \"T\"\naccount = \"DESK\"\n\
         [run]\njournal = \"{}\"\ndirectory = \"{}\"\nsync = \"{}\"\nsync_wait_ms = 5000\npause_max_ms = 60000\n\
         segment_bytes = 16777216\ntail_bytes = {}\nspin = {}\n\
         [[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\nsizes = [1000000, 5000000]\n\
         {pair}[risk]\n{risk}\
         [[clients]]\nname = \"desk\"\nmay = [\"send\", \"kill\"]\n",
        plan.journal.display(),
        plan.buses.display(),
        if plan.is_disk { "disk" } else { "host" },
        plan.tail_bytes,
        plan.spin,
    );
    for (bank, address) in banks.iter().zip(dealers.addresses()) {
        let _ = write!(
            text,
            "[[banks]]\nname = \"{bank}\"\npairs = [\"EUR/USD\"]\nstatus_final = true\n{BANK_OFF}answer_ms = 60000\n\
             max_orders_per_s = 1000000\n\
             [[sessions]]\nbank = \"{bank}\"\nhost = \"{address}\"\nsender = \"DESK\"\nheartbeat_s = 3600\n"
        );
    }
    text
}

fn price(ticks: i64) -> String {
    format!("{}.{:05}", ticks / 100_000, ticks % 100_000)
}
