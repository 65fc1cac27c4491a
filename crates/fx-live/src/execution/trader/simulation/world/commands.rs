//! The desk's commands reach the engine, and the desk answers its call for a bank that does not list its orders.

use super::super::watch::parent_of;
use super::{Engine, Machine, Process, World, watch};
use crate::execution::desk::Received;
use std::collections::BTreeSet;
use touchline_fx_events::command::Command;
use touchline_fx_events::orders::OrderState;
use touchline_lab::random::Random;
use touchline_types::Id;

impl World {
    /// Units and cash that the desk booked without an order.
    pub fn booked(&self, pair: usize) -> (i64, i128) {
        let bookings = self.traders.bookings.iter();
        let own = bookings.filter(|(_, of, ..)| *of == pair);
        own.fold((0, 0), |(units, cash), (.., more, more_cash)| {
            (units + more, cash + more_cash)
        })
    }

    /// Most units that the desk may have bought and sold without an order.
    pub fn booked_sides(&self, pair: usize) -> (i64, i64) {
        let bookings = self.traders.bookings.iter();
        let own = bookings.filter(|(_, of, ..)| *of == pair);
        own.fold((0, 0), |(bought, sold), (_, _, units, _)| {
            (bought + (*units).max(0), sold + (-units).max(0))
        })
    }

    /// Handles the commands that wait in the rings.
    pub(super) fn commands(&mut self, process: &mut Process) {
        let (mono_ns, epoch) = (self.now_ns, process.epoch);
        let wall_ns = self.input_ns(process);
        let core = &mut process.core;
        // Due notifications are delivered before the desk acts.
        core.wake(core.time(mono_ns, wall_ns));
        for bank in 0..self.banks.len() {
            if core.engine.trading().waits_for_desk(bank) && self.random.chance(0.1) {
                self.ask(core, bank, epoch);
            }
        }
        self.resolve_disputed(core);
        while !self.machine.borrow().is_dead() {
            let Some((client, received)) = self.traders.waiting.pop_front() else {
                break;
            };
            self.command(process, client, &received);
        }
    }

    /// Handles a command of a client.
    fn command(&mut self, process: &mut Process, client: usize, received: &Received) {
        let (mono_ns, epoch) = (self.now_ns, process.epoch);
        let wall_ns = self.input_ns(process);
        let core = &mut process.core;
        let banks = 0..core.banks.len();
        let waits: Vec<usize> = banks
            .filter(|at| core.engine.trading().waits_for_desk(*at))
            .collect();
        let command = received.command.as_ref().ok();
        let is_enable = |at: &usize| match command {
            Some(Command::Enable { bank, .. }) => bank.as_str() == format!("LP{}", at + 1),
            _ => false,
        };
        // A bank that waits for the desk is not enabled before the desk asked the bank.
        let is_asked = self.asked.contains(&(received.request, epoch));
        if waits.iter().any(is_enable) && !is_asked {
            return;
        }
        let time = core.time(mono_ns, wall_ns);
        let boot_ns = self.traders.boot_ns(mono_ns);
        let admitted = process.gates[client].admit(received, boot_ns);
        let machine = &self.machine;
        machine
            .borrow_mut()
            .watch
            .note(mono_ns, || format!("command: {command:?} {admitted:?}"));
        let was_killed = core.engine.trading().is_killed();
        let is_kill = command == Some(&Command::Kill) && admitted.is_ok();
        if is_kill {
            self.counts.ring_kills += 1;
            let is_new = is_new_kill(&mut process.kills_done[client], received.request);
            let machine = &mut machine.borrow_mut();
            kill(machine, &mut self.random, self.is_sound, is_new);
        }
        if command == Some(&Command::Lift) {
            machine.borrow_mut().watch.is_killed = false;
        }
        let parent = match command {
            Some(Command::Parent(order)) => Some(order.id),
            _ => None,
        };
        let parent = parent.filter(|id| !core.engine.trading().parents().has(id));
        let about = &self.scenario.engine.clients[client];
        core.command(time, about, received, admitted);
        watch(machine, core);
        self.counts.lifts += u64::from(was_killed && !core.engine.trading().is_killed());
        self.counts.deaths_in_kills += u64::from(is_kill && machine.borrow().is_dead());
        if let Some(id) = parent.filter(|id| core.engine.trading().parents().has(id)) {
            let watch = &mut machine.borrow_mut().watch;
            if received.request < process.began_ns {
                let id = id.as_str();
                watch.fail(format!("parent {id} is of before the start, and executed"));
            }
            if let Some(parent) = watch.parents.get_mut(id.as_str()) {
                parent.accepted = Some((mono_ns, epoch));
            }
        }
        let released = waits
            .iter()
            .filter(|bank| !core.engine.trading().waits_for_desk(**bank));
        self.counts.released += released.count() as u64;
    }

    /// Kills in files. The engine removes a file when it looks the next time.
    pub(super) fn take_kills(&mut self, process: &mut Process) {
        let wall_ns = self.input_ns(process);
        for client in 0..process.gates.len() {
            if self.machine.borrow().is_dead() {
                return;
            }
            let Some(request) = self.traders.kill_files[client] else {
                continue;
            };
            if process.kills_taken[client] == request {
                self.traders.kill_files[client] = None;
                continue;
            }
            process.kills_taken[client] = request;
            // mutant: simulation: the file of a kill is removed before the kill is recorded
            let command = Ok(Command::Kill);
            let command = Received { request, command };
            let boot_ns = self.traders.boot_ns(self.now_ns);
            let admitted = process.gates[client].admit(&command, boot_ns);
            if admitted.is_ok() {
                self.counts.file_kills += 1;
                let is_new = is_new_kill(&mut process.kills_done[client], request);
                let machine = &mut self.machine.borrow_mut();
                kill(machine, &mut self.random, self.is_sound, is_new);
            }
            let core = &mut process.core;
            let time = core.time(self.now_ns, wall_ns);
            let client = &self.scenario.engine.clients[client];
            core.command(time, client, &command, admitted);
            watch(&self.machine, core);
            let is_dead = self.machine.borrow().is_dead();
            self.counts.deaths_in_kills += u64::from(admitted.is_ok() && is_dead);
        }
    }

    /// The desk resolves a disputed order that the bank has ended, now and then.
    fn resolve_disputed(&mut self, core: &Engine) {
        let orders = core.engine.trading().orders();
        for at in orders.live() {
            let order = orders.get(*at);
            if order.state() != OrderState::Disputed || !self.random.chance(0.02) {
                continue;
            }
            let deals = self.banks[order.terms.bank].desk.deals();
            let mut ended = deals.filter(|deal| deal.is_ended);
            if ended.any(|deal| deal.id == order.terms.id.as_str()) {
                let precision = self.setup.pairs[order.terms.pair].config.precision;
                let deals = self.banks[order.terms.bank].desk.deals();
                self.traders
                    .resolve_as(self.now_ns, &order.terms, precision, deals);
                self.counts.disputed += 1;
            }
        }
    }

    /// Lets the desk ask a bank for its orders: the desk cancels each parent of which the bank has an order that the
    /// engine lacks, does not send the parent again, and enables the bank.
    fn ask(&mut self, core: &Engine, bank: usize, epoch: u64) {
        let dealer = &self.banks[bank];
        // Even the bank does not know messages in transit on a connection of an earlier run.
        if dealer.line.borrow().has_older() {
            return;
        }
        let orders = core.engine.trading().orders();
        let is_lost = |id: &&str| orders.of_id(&Id::lossy(id.as_bytes())).is_none();
        let lost = dealer.desk.deals().map(|deal| deal.id).filter(is_lost);
        let lost: BTreeSet<String> = lost.filter_map(parent_of).map(str::to_owned).collect();
        self.counts.released_with_lost += u64::from(!lost.is_empty());
        self.note(|| format!("the desk asks bank {bank}, which names {lost:?}"));
        for parent in &lost {
            self.traders.forget(parent);
            self.traders.cancel(self.now_ns, parent);
        }
        let symbol = &self.setup.pairs[self.pairs_before()].config.symbol;
        let request = self.traders.enable(self.now_ns, bank, symbol);
        self.asked.insert((request, epoch));
    }
}

/// Whether a kill is newer than those that were executed, which it is among from here on.
fn is_new_kill(done: &mut u64, request: u64) -> bool {
    let is_new = request > *done;
    *done = request.max(*done);
    is_new
}

/// Notes that a kill is about to be executed, in which some processes die. An earlier kill may have been lifted since.
fn kill(machine: &mut Machine, random: &mut Random, is_sound: bool, is_new: bool) {
    machine.watch.is_killing |= is_new;
    if !is_sound && random.chance(0.15) {
        machine.arm(Some(1 + random.below(4)));
    }
}
