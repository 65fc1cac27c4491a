//! What goes wrong with the engine's process and its host.

use super::{BOOT_NS, MS, Process, Standby, World};
use crate::variant::Variant;
use touchline_journal::State;

impl World {
    pub(super) fn fault(&mut self) {
        self.fault_ns = self.now_ns + 10 * MS + self.random.below(150 * MS);
        let bank = self.random.index(self.banks.len());
        match self.random.below(9) {
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
        self.counts.freezes += 1;
        self.note(|| "the process is frozen".to_owned());
        if self.process.is_none() || self.standby.is_none() || self.rival.is_some() {
            return;
        }
        if !Variant::PromotedWithoutLock.is_on() {
            self.counts.refused_promotions += 1;
            return;
        }
        self.rival = self.process.take();
        for bank in &mut self.banks {
            bank.line.borrow_mut().engine_died(self.now_ns, false);
        }
        self.machine.borrow_mut().journal.kill();
        self.start_ns = self.now_ns;
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
        let with_host = self.random.chance(0.5);
        self.note(|| format!("the {} dies", if with_host { "host" } else { "process" }));
        for bank in &mut self.banks {
            bank.line.borrow_mut().engine_died(self.now_ns, with_host);
        }
        let machine = &mut *self.machine.borrow_mut();
        machine.arm(None);
        if machine.journal.state().0 == State::Failed {
            // It could not record its own kill.
            machine.watch.is_killed = false;
        }
        if with_host {
            machine.journal.lose_power();
            // What was not on the disk is lost, also a kill.
            machine.watch.is_killed = false;
            self.counts.power_losses += 1;
            self.standby = None;
            self.is_booting = true;
        } else {
            machine.journal.kill();
        }
        self.counts.deaths += 1;
        let boot_ns = if with_host { BOOT_NS } else { 0 };
        self.end_ns += boot_ns;
        self.start_ns = self.now_ns + boot_ns + self.random.below(40 * MS);
        if with_host {
            self.traders.host_lost(self.start_ns);
        }
    }
}
