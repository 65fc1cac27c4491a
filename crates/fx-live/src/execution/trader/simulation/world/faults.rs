//! Faults of the engine's process and its host.

use super::{BOOT_NS, MS, Process, Standby, World};
use crate::execution::trader::simulation::machine::Machine;
use touchline_fx::input::Session;
use touchline_journal::State;
use touchline_lab::random::Random;

impl World {
    pub(super) fn fault(&mut self) {
        self.fault_ns = self.now_ns + 10 * MS + self.random.below(150 * MS);
        let bank = self.random.index(self.banks.len());
        match self.random.below(12) {
            11 => {
                self.counts.quote_stalls += 1;
                self.banks[bank].quiet_ns = self.now_ns + self.random.below(300 * MS);
            }
            // Days are short: a step of the clock would be years.
            9 | 10 if self.weeks.is_none() => self.set_wall(bank),
            8 => self.freeze(),
            0..=2 => {
                self.note(|| format!("the connection to bank {bank} is cut"));
                self.banks[bank].line.borrow_mut().cut(self.now_ns);
            }
            3 | 4 => {
                let until_ns = self.now_ns + self.random.below(300 * MS);
                self.note(|| {
                    format!(
                        "nothing passes to bank {bank} until {} us",
                        until_ns / 1_000
                    )
                });
                self.banks[bank].line.borrow_mut().stall(until_ns);
            }
            5 => {
                let is_up = self.random.chance(0.6);
                self.banks[bank].stream(self.now_ns, is_up);
            }
            _ => self.die(),
        }
    }

    /// The wall clock of a host is set: the engine's, whether the engine runs or not, or that of a bank.
    fn set_wall(&mut self, bank: usize) {
        let seconds = self.random.between(-40, 40);
        let set_ns = seconds * 1_000_000_000 + self.random.between(0, 999) * MS as i64;
        if self.random.chance(0.3) {
            self.note(|| format!("the clock of bank {bank} is set to {set_ns} ns"));
            self.counts.bank_steps += 1;
            self.banks[bank].set_ns = set_ns;
            return;
        }
        // An hour, by a person; a second that a time service corrects.
        let set_ns = match self.random.below(8) {
            0 => 3_600_000_000_000 * self.random.between(-1, 1),
            1 => set_ns % 1_000_000_000,
            _ => set_ns,
        };
        self.set_engine_wall(set_ns);
    }

    pub(super) fn set_engine_wall(&mut self, set_ns: i64) {
        let machine = &mut *self.machine.borrow_mut();
        let step_ns = set_ns - machine.set_ns;
        if step_ns.unsigned_abs() < 150 * MS {
            return;
        }
        let now_ns = self.now_ns;
        machine.watch.note(now_ns, || {
            format!("the clock of the engine is set by {step_ns} ns")
        });
        machine.set_wall(set_ns);
        self.counts.engine_steps_down += u64::from(self.process.is_none());
        match step_ns > 0 {
            true => self.counts.engine_steps_forward += 1,
            false => self.counts.engine_steps_back += 1,
        }
    }

    /// The engine checks its wall clock, as it does each millisecond: quotes of before a step do not count.
    pub(super) fn watch_wall(&mut self, process: &mut Process) {
        let offset_ns = self.machine.borrow().wall_offset_ns();
        let Some(step_ns) = process.clock.judge(offset_ns) else {
            return;
        };
        let (now_ns, wall_ns) = (self.now_ns, self.input_ns(process));
        let core = &mut process.core;
        let time = core.time(now_ns, wall_ns);
        core.wall_stepped(time, step_ns, process.clock.wall_ahead_ns());
        if !process.has_begun {
            return;
        }
        for (place, bank) in self.banks.iter_mut().enumerate() {
            bank.doubt(now_ns);
            let time = core.time(now_ns, wall_ns);
            core.quotes(time, place, Session::Down);
        }
        let time = process.core.time(now_ns, wall_ns);
        self.all_down(process, time);
    }

    /// Time of inputs of the engine now.
    pub(super) fn input_ns(&self, process: &Process) -> u64 {
        process.clock.at_ns(self.now_ns)
    }

    /// The standby follows, or another one starts.
    pub(super) fn follow(&mut self) -> Result<(), String> {
        if self.process.is_none() || self.random.chance(0.5) {
            return Ok(());
        }
        let setup = &self.setup;
        let standby = self.standby.get_or_insert_with(|| Standby::new(setup));
        standby.follow(&mut self.machine.borrow_mut().journal)
    }

    /// The process is frozen, and somebody tries to promote its standby: the process has the lock.
    fn freeze(&mut self) {
        self.frozen_ns = self.now_ns + self.random.below(300 * MS);
        self.was_frozen = true;
        self.counts.freezes += 1;
        self.note(|| "the process is frozen".to_owned());
        if self.process.is_none() || self.standby.is_none() || self.rival.is_some() {
            return;
        }
        // mutant: simulation: a standby is promoted while the engine is frozen
        self.counts.refused_promotions += 1;
    }

    /// The process dies between two calls, and the host with it or not.
    fn die(&mut self) {
        if let Some(process) = self.process.take() {
            self.died(process);
        }
    }

    pub(super) fn died(&mut self, process: Process) {
        drop(process);
        self.frozen_ns = self.now_ns;
        self.was_frozen = false;
        let with_host = self.random.chance(0.5);
        self.note(|| format!("the {} dies", if with_host { "host" } else { "process" }));
        for bank in &mut self.banks {
            bank.line.borrow_mut().engine_died(self.now_ns, with_host);
        }
        let machine = &mut *self.machine.borrow_mut();
        machine.arm(None);
        self.counts.journal_failures += u64::from(machine.journal.state().0 == State::Failed);
        self.is_failure_open |= machine.journal.state().0 == State::Failed;
        if with_host {
            machine.journal.lose_power();
            // Records that were not on the disk are lost, also a kill.
            (machine.watch.is_killed, machine.watch.is_killing) = (false, false);
            self.counts.power_losses += 1;
            self.standby = None;
            self.is_booting = true;
            self.is_failure_open = false;
        } else {
            machine.journal.kill();
        }
        self.counts.deaths += 1;
        let boot_ns = if with_host { BOOT_NS } else { 0 };
        self.end_ns += boot_ns;
        self.start_ns = self.now_ns + boot_ns + self.random.below(40 * MS);
        if with_host {
            self.traders.host_lost(self.now_ns, self.start_ns);
        }
    }
}

/// The process of a start dies, or its journal fails, after some calls.
pub(super) fn arm_start(machine: &mut Machine, random: &mut Random, is_failure_open: bool) {
    let death = random.chance(0.3).then(|| 1 + random.index(60));
    let failed_sync = random.chance(0.05).then(|| 1 + random.index(40));
    machine.journal.arm(death, failed_sync);
    let calls = match is_failure_open && random.chance(0.6) {
        true => 30,
        false => 400,
    };
    machine.arm(random.chance(0.7).then(|| 1 + random.below(calls)));
}
