//! One run: the events of a seed in their order.

mod commands;
mod faults;
mod lists;
mod silence;

use super::Kind;
use super::banks::Bank;
use super::counts::Counts;
use super::machine::{BEGIN_NS, Machine, PACE, SimulatedHost};
use super::network::{Line, Wire};
use super::rules::Rules;
use super::scenario::Scenario;
use super::standby::Standby;
use super::traders::Traders;
use super::watch::Watch;
use super::weeks::Weeks;
use crate::compose::InputTime;
use crate::execution::config::SyncMode;
use crate::execution::desk::Gate;
use crate::execution::recovery::{Recovered, recover_from};
use crate::execution::trader::Incident;
use crate::execution::trader::carry::Core;
use faults::arm_start;
use lists::Lists;
use silence::{Given, Silences};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use touchline_fx::setup::Setup;
use touchline_journal::{Mode, SimulatedJournal, State};
use touchline_lab::bank::CONTRADICTED;
use touchline_lab::random::Random;
use touchline_session::fix::SequenceFault;
use touchline_transport::clock::WallWatch;
use touchline_types::{Id, ReceiveTime};

const MS: u64 = 1_000_000;
const SEGMENT_BYTES: u64 = 64 << 10;
const RING_BYTES: u64 = 128 << 10;
/// Pace of a slow disk.
const SLOW_PACE: u64 = 10 * PACE;
/// Longest step of the clock.
const STEP_NS: u64 = 20 * MS;
/// Longest step of the clock without faults.
const CALM_STEP_NS: u64 = 100 * MS;
/// Time until a host that lost power starts again: more than the second of a bank's rate.
const BOOT_NS: u64 = 1_000 * MS;
/// Longest time from the end of all faults until everything is settled.
const SETTLED_NS: u64 = 30_000 * MS;

type Engine = Core<SimulatedHost, Wire>;

/// A process of the engine.
struct Process {
    core: Engine,
    gates: Vec<Gate>,
    epoch: u64,
    has_begun: bool,
    clock: InputTime,
    began_ns: u64,
    /// Number of the last kill that was taken from the file of each client.
    kills_taken: [u64; 2],
    /// Number of the last kill of each client that was executed.
    kills_done: [u64; 2],
    given: Given,
}

/// The world of a run.
pub struct World {
    pub scenario: Scenario,
    pub setup: Setup,
    pub random: Random,
    pub machine: Rc<RefCell<Machine>>,
    pub banks: Vec<Bank>,
    pub counts: Counts,
    process: Option<Process>,
    standby: Option<Standby>,
    /// The process does nothing until then.
    frozen_ns: u64,
    /// Whether the process was frozen since its last round.
    was_frozen: bool,
    /// A frozen process beside the standby that was promoted without the lock.
    rival: Option<Process>,
    traders: Traders,
    silences: Silences,
    lists: Option<Lists>,
    /// The days of the run, if it has any.
    pub weeks: Option<Rc<Weeks>>,
    /// Commands that enable a bank which the desk has asked for its orders: number and epoch.
    asked: HashSet<(u64, u64)>,
    mids: Vec<i64>,
    now_ns: u64,
    start_ns: u64,
    /// When faults end.
    end_ns: u64,
    fault_ns: u64,
    /// When a session was not whole last.
    whole_ns: u64,
    is_sound: bool,
    /// The host lost power, and no process has started since.
    is_booting: bool,
    /// The journal had failed, and no start has recorded the kill yet.
    is_failure_open: bool,
}

impl World {
    pub fn new(seed: u64, traces: bool, kind: Kind) -> World {
        let mut random = Random::from_seed(seed);
        let mut scenario = Scenario::new(&mut random);
        let silences = Silences::new(seed, &mut scenario.engine);
        let rules = Rules::new(seed, &mut scenario);
        let weeks = (kind == Kind::Weeks).then(|| Rc::new(Weeks::new(seed, &mut scenario)));
        let lists = (kind == Kind::Lists).then(|| Lists::new(seed, &scenario.engine));
        let setup = scenario.engine.setup().expect("a configuration");
        let pairs = setup.pairs.iter();
        let pairs = pairs.map(|pair| (pair.config.symbol.clone(), pair.config.precision));
        let rates = scenario.engine.banks.iter();
        let rates = rates.map(|bank| bank.max_orders_per_s);
        let mut watch = Watch::new(pairs.collect(), rates, traces);
        watch.weeks.clone_from(&weeks);
        let mode = match scenario.engine.run.sync {
            SyncMode::Disk => Mode::Disk,
            SyncMode::Host => Mode::Host,
        };
        let journal = SimulatedJournal::new(random.next_u64(), mode, SEGMENT_BYTES, RING_BYTES);
        let mut machine = Machine::new(journal, watch, random.split());
        if mode == Mode::Host && random.chance(0.4) {
            machine.pace = SLOW_PACE;
        }
        let banks = 0..scenario.engine.banks.len();
        let banks = banks.map(|bank| {
            let line = Rc::new(RefCell::new(Line::new(random.split(), traces)));
            let last_look_ns = rules.last_look_ns(bank);
            Bank::new(bank, &scenario.banks, line, last_look_ns, &mut random)
        });
        World {
            banks: banks.collect(),
            mids: scenario
                .banks
                .pairs
                .iter()
                .map(|pair| pair.mid_ticks)
                .collect(),
            machine: Rc::new(RefCell::new(machine)),
            counts: Counts::default(),
            process: None,
            standby: None,
            frozen_ns: 0,
            was_frozen: false,
            rival: None,
            traders: Traders::new(random.split()),
            silences,
            lists,
            weeks,
            asked: HashSet::new(),
            now_ns: MS,
            start_ns: 0,
            end_ns: 0,
            fault_ns: 50 * MS,
            whole_ns: 0,
            is_sound: false,
            is_booting: false,
            is_failure_open: false,
            scenario,
            setup,
            random,
        }
    }

    /// Runs with faults, then without, until everything is settled.
    pub fn run(&mut self) -> Result<(), String> {
        self.end_ns = (300 + self.random.below(900)) * MS;
        if self.weeks.as_ref().is_some_and(|weeks| weeks.are_ten) {
            self.end_ns += 14_000 * MS;
        }
        while self.now_ns < self.end_ns {
            self.step()?;
        }
        self.heal();
        // A lost connection is noticed by missing heartbeats at the latest.
        let (calm_ns, last_ns) = (self.now_ns + 3_500 * MS, self.now_ns + SETTLED_NS);
        while !self.is_settled(calm_ns) {
            if self.now_ns > last_ns {
                return Err(format!("not settled: {}", self.unsettled()));
            }
            self.step()?;
        }
        let orders = self.engine().trading().orders().iter();
        self.counts.adopted = orders.filter(|order| order.is_adopted()).count() as u64;
        self.counts.simulated_ms = self.now_ns / MS;
        Ok(())
    }

    /// The engine at the end.
    pub fn engine(&self) -> &touchline_fx::Engine {
        &self.process.as_ref().expect("a running engine").core.engine
    }

    /// The core of a process that did its round, if there is one.
    pub fn awake(&self) -> Option<&Core<SimulatedHost, Wire>> {
        let process = self.process.as_ref()?;
        let is_awake = self.frozen_ns <= self.now_ns && process.has_begun;
        is_awake.then_some(&process.core)
    }

    /// The process dies for the last time.
    pub fn end_process(&mut self) {
        self.process = None;
        self.machine.borrow_mut().journal.kill();
    }

    pub fn counts(&self) -> Counts {
        let lines = self.banks.iter().map(|bank| bank.line.borrow().cuts);
        let books = self.banks.iter().map(|bank| bank.desk.books());
        Counts {
            orders: self.machine.borrow().watch.orders,
            fills: books.map(|books| books.fills).sum(),
            last_looks: self.banks.iter().map(|bank| bank.desk.last_looks()).sum(),
            contradictions: CONTRADICTED.map(|tag| self.contradictions(tag)),
            cuts: lines.sum(),
            ..self.counts
        }
    }

    /// Reports of all banks that contradicted themselves in a tag.
    fn contradictions(&self, tag: u32) -> u64 {
        let books = self.banks.iter().map(|bank| bank.desk.books());
        books
            .filter_map(|books| books.contradictions.get(&tag))
            .sum()
    }

    pub fn trace(&self) -> Vec<String> {
        let Ok(machine) = self.machine.try_borrow() else {
            return Vec::new();
        };
        machine.watch.trace().cloned().collect()
    }

    fn note(&self, what: impl FnOnce() -> String) {
        self.machine.borrow_mut().watch.note(self.now_ns, what);
    }

    /// One step of the clock, in which each part works once.
    fn step(&mut self) -> Result<(), String> {
        self.advance();
        let at = self.time();
        let pace = self.machine.borrow().pace / 2;
        if self.random.below(pace) == 0 {
            let machine = &mut *self.machine.borrow_mut();
            let wall_ns = machine.wall_ns();
            machine.journal.step(wall_ns);
        }
        if !self.is_sound && self.fault_ns <= self.now_ns {
            self.fault();
            self.follow()?;
        }
        if !self.is_sound {
            self.fall_silent();
        }
        for bank in &mut self.banks {
            bank.work(&self.scenario.banks, &self.mids, self.is_sound, at);
            if let Some(said) = &mut bank.line.borrow_mut().said {
                let watch = &mut self.machine.borrow_mut().watch;
                watch.said(bank.place, self.now_ns, &std::mem::take(said));
            }
        }
        if !self.is_sound {
            let watch = &mut self.machine.borrow_mut().watch;
            self.traders.work(self.now_ns, &self.mids, watch);
        }
        if self.frozen_ns <= self.now_ns
            && let Some(rival) = self.rival.take()
        {
            let process = self.process.take();
            self.round(rival);
            self.process = process;
        }
        match self.process.take() {
            Some(process) if self.frozen_ns > self.now_ns && self.rival.is_none() => {
                self.process = Some(process);
            }
            Some(process) => self.round(process),
            None if self.start_ns <= self.now_ns => self.start()?,
            None => {}
        }
        let failure = self.machine.borrow_mut().watch.failure.take();
        match failure {
            Some(failure) => Err(failure),
            None => super::checks::limits(self).and_then(|()| super::checks::cancels(self)),
        }
    }

    fn advance(&mut self) {
        let step_ns = if self.is_sound { CALM_STEP_NS } else { STEP_NS };
        let mut due_ns = self.now_ns + step_ns;
        for bank in &self.banks {
            due_ns = due_ns.min(bank.due_ns());
        }
        if !self.is_sound {
            due_ns = due_ns.min(self.traders.due_ns()).min(self.fault_ns);
        }
        match &self.process {
            Some(process) => {
                let wake_ns = process.core.engine.next_timeout_ns();
                due_ns = due_ns.min(wake_ns.saturating_sub(process.clock.at_ns(0)));
            }
            None => due_ns = due_ns.min(self.start_ns),
        }
        let late_ns = match self.random.below(4) {
            0 => self.random.below(3 * MS),
            _ => 1_000 + self.random.below(100_000),
        };
        self.now_ns = due_ns.max(self.now_ns) + late_ns;
        self.machine.borrow_mut().now_ns = self.now_ns;
        for mid in &mut self.mids {
            if self.random.below(64) == 0 {
                *mid += self.random.between(-3, 3);
            }
        }
    }

    /// A time of the world, whose clock is never set.
    fn time(&self) -> ReceiveTime {
        ReceiveTime {
            wall_ns: BEGIN_NS + self.now_ns,
            mono_ns: self.now_ns,
        }
    }

    fn start(&mut self) -> Result<(), String> {
        // The session of a bank may be down for longer than the desk waits.
        if std::mem::take(&mut self.is_booting) && !self.is_sound {
            for bank in &mut self.banks {
                if self.random.chance(0.4) {
                    bank.desk.close(self.now_ns + self.random.below(600 * MS));
                }
            }
        }
        self.change_lists();
        let machine = &mut *self.machine.borrow_mut();
        if !self.is_sound {
            arm_start(machine, &mut self.random, self.is_failure_open);
        }
        let report = match machine.journal.start(machine.wall_ns()) {
            Ok(report) => report,
            // The process died in it, or a sync failed.
            Err(error)
                if machine.is_dead() || matches!(error, touchline_journal::Error::Io { .. }) =>
            {
                self.start_ns = self.now_ns + MS;
                machine.journal.kill();
                return Ok(());
            }
            Err(error) => return Err(format!("a crash is taken for damage: {error}")),
        };
        let is_promoted = self.standby.is_some() && self.random.chance(0.5);
        let mut recovered = match self.standby.take_if(|_| is_promoted) {
            Some(standby) => {
                self.counts.promotions += 1;
                standby.take_over(&mut machine.journal)?
            }
            None => recover_from(&self.setup, |each| {
                machine.journal.read(|entry| each(entry))
            })
            .map_err(|error| format!("no recovery: {error}"))?,
        };
        recovered.note_start(&report);
        let clients = &self.scenario.engine.clients;
        let known = [0, 1].map(|client: usize| recovered.known(&clients[client].name).kill);
        if !report.is_other_boot {
            self.counts.commands_of_before += self.traders.read_again() as u64;
        }
        let is_killed = recovered.engine.trading().is_killed() || recovered.had_unrecorded_kill();
        let was_killed = machine.watch.is_killed || machine.watch.is_killing;
        if was_killed && !is_killed && !self.traders.is_kill_waiting(known) {
            return Err("a kill was lost with the process".to_owned());
        }
        self.is_failure_open = recovered.had_unrecorded_kill();
        self.counts.starts_after_failure += u64::from(self.is_failure_open);
        let what = (recovered.orders, recovered.last_ns.saturating_sub(BEGIN_NS));
        machine.watch.note(self.now_ns, || {
            format!("start {} with {} orders", report.epoch, what.0)
        });
        (machine.watch.is_killed, machine.watch.is_killing) = (is_killed, false);
        machine.watch.started(report.epoch);
        let watch = WallWatch::of(machine.wall_offset_ns());
        self.process = Some(self.process_of(recovered, report.epoch, watch));
        Ok(())
    }

    fn process_of(&self, recovered: Recovered, epoch: u64, watch: WallWatch) -> Process {
        let clients = self.scenario.engine.clients.iter();
        let began_ns = self.traders.boot_ns(self.now_ns);
        let gates = clients.map(|client| {
            let known = recovered.known(&client.name);
            Gate::new(client.max_commands_per_s, known, began_ns)
        });
        let gates = gates.collect();
        let links = self.banks.iter().enumerate().map(|(bank, about)| Wire {
            bank,
            line: about.line.clone(),
            machine: self.machine.clone(),
        });
        let host = SimulatedHost(self.machine.clone());
        let clock = InputTime::start(watch, self.now_ns, recovered.last_ns);
        let mut core = Core::new(&self.scenario.engine, host, links, recovered, epoch);
        core.wall_ahead_ns = clock.wall_ahead_ns();
        if let Some(weeks) = &self.weeks {
            core.set_days(Some(weeks.rolls.clone()), &self.setup);
        }
        let given = Given::new(self.banks.len(), self.pairs_before(), &core);
        Process {
            core,
            gates,
            epoch,
            has_begun: false,
            clock,
            began_ns,
            kills_taken: [0; 2],
            kills_done: [0; 2],
            given,
        }
    }

    /// A round of the hot thread.
    fn round(&mut self, mut process: Process) {
        let mono_ns = self.now_ns;
        if std::mem::take(&mut self.was_frozen) {
            process.core.pause(MS);
        }
        self.watch_wall(&mut process);
        let wall_ns = self.input_ns(&process);
        if !process.has_begun {
            process.has_begun = true;
            let core = &mut process.core;
            let time = core.time(mono_ns, wall_ns);
            // The start fails if the process dies in it; a journal that fails ends the process as well.
            let begun = core.begin(&self.scenario.engine, process.epoch, time);
            if begun.is_err() || self.machine.borrow().is_dead() {
                self.counts.deaths_before_kill_recorded += u64::from(self.is_failure_open);
                return self.died(process);
            }
            self.is_failure_open = false;
            for bank in &mut self.banks {
                bank.stream(mono_ns, true);
            }
        }
        self.commands(&mut process);
        self.take_kills(&mut process);
        let core = &mut process.core;
        let was_killed = core.engine.trading().is_killed();
        core.order_sessions(mono_ns, || wall_ns, |_| true);
        watch(&self.machine, core);
        self.price(&mut process, wall_ns);
        let core = &mut process.core;
        let time = core.time(mono_ns, wall_ns);
        core.wake(time);
        core.release();
        core.watch_journal(time);
        watch(&self.machine, core);
        self.check_silence(&mut process, time);
        let core = &mut process.core;
        self.counts.days += std::mem::take(&mut core.begun).len() as u64;
        self.counts.own_kills += u64::from(!was_killed && core.engine.trading().is_killed());
        for incident in core.incidents.drain(..) {
            let watch = &mut self.machine.borrow_mut().watch;
            let text = incident.to_string();
            watch.note(mono_ns, || text.clone());
            let ours = Some(SequenceFault::OursTooLow);
            if matches!(incident, Incident::SessionDown { numbers, .. } if numbers == ours) {
                watch.fail(format!("a number was used twice: {text}"));
            }
        }
        let is_failed = core.recorder.out().0.borrow().journal.state().0 == State::Failed;
        if self.machine.borrow().is_dead() {
            self.died(process);
        } else if is_failed && (self.is_sound || self.random.chance(0.05)) {
            // The desk starts it again, with a sound disk.
            self.died(process);
        } else {
            self.process = Some(process);
        }
    }

    /// Stops all faults; the desk ends everything.
    fn heal(&mut self) {
        self.note(|| "all faults end".to_owned());
        self.is_sound = true;
        self.set_engine_wall(0);
        let machine = &mut *self.machine.borrow_mut();
        machine.arm(None);
        if !machine.is_dead() {
            machine.journal.arm(None, None);
        }
        for bank in &mut self.banks {
            bank.heal();
        }
        self.traders.kill(self.now_ns);
        self.traders.book_all(self.now_ns);
        self.counts.booked = self.traders.bookings.len() as u64;
        for bank in &mut self.banks {
            let until_ns = self.now_ns;
            bank.line.borrow_mut().stall(until_ns);
        }
    }

    /// Whether no more events will follow. After a while the desk resolves the orders that are still unknown.
    fn is_settled(&mut self, calm_ns: u64) -> bool {
        if self.now_ns < calm_ns || self.unsettled_banks() > 0 {
            return false;
        }
        let Some(process) = &self.process else {
            return false;
        };
        if !process
            .core
            .banks
            .sessions()
            .all(|session| session.is_whole())
        {
            self.whole_ns = self.now_ns;
        }
        if self.now_ns < self.whole_ns + 200 * MS {
            return false;
        }
        let engine = &process.core.engine;
        let live = engine.trading().orders().live().to_vec();
        let is_waiting = self.traders.waiting.is_empty() && self.traders.kill_files == [None; 2];
        // A booking that a failed journal refused is sent again.
        let names = (0..self.traders.bookings.len()).map(|number| format!("B{number}"));
        let mut names = names.map(|name| Id::lossy(name.as_bytes()));
        if is_waiting && names.any(|name| !engine.trading().desk_trades().is_booked(&name)) {
            self.traders.book_all(self.now_ns);
            return false;
        }
        for at in &live {
            let order = engine.trading().orders().get(*at);
            if order.state().is_doubtful() && is_waiting && self.now_ns > calm_ns + 500 * MS {
                let terms = &order.terms;
                let deals = self.banks[terms.bank].desk.deals();
                let precision = engine.setup().pairs[terms.pair].config.precision;
                self.traders
                    .resolve_as(self.now_ns, terms, precision, deals);
                self.counts.resolved += 1;
            }
        }
        live.is_empty() && is_waiting
    }

    fn unsettled_banks(&self) -> usize {
        let banks = self.banks.iter();
        banks.filter(|bank| bank.desk.due_ns() != u64::MAX).count()
    }

    fn unsettled(&self) -> String {
        let Some(process) = &self.process else {
            return "no engine".to_owned();
        };
        let engine = &process.core.engine;
        let live = engine.trading().orders().live().iter().map(|at| {
            let order = engine.trading().orders().get(*at);
            format!("{} {:?}", order.terms.id.as_str(), order.state())
        });
        let up: Vec<_> = process
            .core
            .banks
            .sessions()
            .map(|session| session.is_whole())
            .collect();
        format!(
            "sessions {up:?}, banks {}, {:?}",
            self.unsettled_banks(),
            live.collect::<Vec<_>>()
        )
    }
}

fn watch(machine: &Rc<RefCell<Machine>>, core: &Engine) {
    let mut machine = machine.borrow_mut();
    if !machine.is_dead() {
        (machine.watch.is_killed, machine.watch.is_killing) =
            (core.engine.trading().is_killed(), false);
    }
}
