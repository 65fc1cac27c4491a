//! A run of the core: restored from the recovered state and started; its rounds of order sessions, and the logouts.

use super::Incident;
use super::Totals;
use super::banks::Banks;
use super::carry::{Boot, Core, PATHS_MAX};
use super::landing::Landing;
use super::recorder::Recorder;
use crate::execution::config::{ClientConfig, Config};
use crate::execution::edge::{Link, Output};
use crate::execution::order_session::{OrderSession, Said};
use crate::execution::recovery::Recovered;
use std::collections::VecDeque;
use touchline_fx::input::Input;
use touchline_fx_days::DayWatch;
use touchline_fx_desk::records::Record;
use touchline_fx_events::Batch;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::event::Alarm;
use touchline_fx_events::setup::Bank;
use touchline_fx_events::stages::Stopwatch;
use touchline_journal::Refused;
use touchline_transport::bus::Root;
use touchline_types::{Id, ReceiveTime};

/// Orders of a run for which memory is reserved at the start; further orders may wait for the allocator.
const ORDERS_ROOM: usize = 50_000;
/// Events of one input for which memory is reserved at the start: a kill cancels a thousand orders.
const EVENTS_ROOM: usize = 4_096;
/// Orders of the plans of one input for which memory is reserved at the start.
const LEGS_ROOM: usize = 1_024;
/// Most reads of one order session in a round: each fills the session's room.
const READS_MAX: usize = 4;

impl<O: Output, L: Link> Core<O, L> {
    /// Makes the core of a run that continues the recovered state; `links` has one link for each bank.
    pub fn new(
        config: &Config,
        out: O,
        links: impl IntoIterator<Item = L>,
        recovered: Recovered,
        epoch: u64,
    ) -> Core<O, L> {
        let numbers = recovered.numbers.iter().zip(&recovered.days);
        let numbers: Vec<_> = numbers.map(|(numbers, day)| (*numbers, *day)).collect();
        let banks = Banks::new(config, &numbers, links);
        let boot = Boot {
            id: recovered.start.boot,
            before: recovered.boot,
            is_tail_lost: recovered.start.is_other_boot,
            // mutant: simulation: banks are not asked for orders after a reboot
            lacks: recovered.may_lack_orders(),
        };
        let is_kill_unrecorded = recovered.had_unrecorded_kill();
        let (mut engine, next_event) = (recovered.engine, recovered.next_event);
        engine.set_restoring(false);
        let prefix = format!("{}e{epoch}", config.prefix);
        engine.set_prefix(Id::lossy(prefix.as_bytes()));
        Core {
            engine,
            batch: Batch::default(),
            recorder: Recorder::new(out, &config.run, next_event, config.banks.len()),
            banks,
            pause_max_ns: config.run.pause_max_ms * 1_000_000,
            is_stopping: false,
            is_kill_unrecorded,
            incidents: VecDeque::new(),
            unpublished: Vec::new(),
            totals: Totals::default(),
            alarms: vec![0; Alarm::all().count()],
            clients: config.clients.iter().map(of_user).collect(),
            boot,
            wall_ahead_ns: 0,
            days: DayWatch::new(None),
            landing: Landing::default(),
            bank_days_ns: recovered.bank_days_ns,
            begun: Vec::new(),
            paths: Vec::new(),
            last_canceled: 0,
            warmed_next: 0,
        }
    }

    /// Reserves the memory of the path, and measures its stages by a clock. A simulation does neither.
    pub fn prepare(&mut self, clock: fn() -> u64) {
        self.engine.reserve(ORDERS_ROOM);
        self.batch.events.reserve(EVENTS_ROOM);
        self.batch.legs.reserve(LEGS_ROOM);
        self.batch.seen.reserve(LEGS_ROOM);
        let sizes = self.engine.setup().pairs.iter();
        let sizes = sizes.map(|pair| pair.config.sizes.len()).sum();
        self.batch.averages.reserve(sizes);
        self.batch.stages = Stopwatch::of(clock);
        self.paths.reserve(PATHS_MAX);
        self.recorder.reserve();
    }

    /// Writes the start of the run, then ends the objects that the last run left.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn begin(&mut self, config: &Config, epoch: u64, time: ReceiveTime) -> Result<(), Refused> {
        let now_ns = time.wall_ns;
        let setup = self.engine.setup();
        self.recorder
            .begin_run((epoch, &config.date), setup, now_ns)?;
        for bank in 0..self.banks.len() {
            let (next_out, next_in) = self.banks[bank].session.numbers();
            let numbers = Record::Numbers {
                bank: bank as u16,
                next_out,
                next_in,
            };
            self.recorder.append(now_ns, &numbers)?;
            let names = config.names_of(bank);
            let session = Record::Session {
                bank: bank as u16,
                names: &names,
            };
            self.recorder.append(now_ns, &session)?;
        }
        // The last run ended with its last record, as a later start will read the journal: no timer of that run is due later.
        if let Some(last_ns) = self.engine.now_ns() {
            let last = ReceiveTime {
                wall_ns: last_ns,
                ..time
            };
            // mutant: execution: an order that a crash lost is judged by the rule of the next run
            self.handle(last, &Input::Desk(Desk::Restart));
        }
        self.engine.begin_drops();
        // Timers that became due since the last run are handled first, so that the records are in the order of their times.
        self.wake(time);
        self.begin_boot(epoch, now_ns)?;
        let desk = match self.boot.lacks {
            // mutant: simulation: a report of a lost order is refused
            true => Desk::Reboot { epoch },
            false => Desk::Restart,
        };
        // mutant: simulation: a failure is forgotten before the kill is recorded
        self.handle(time, &Input::Desk(desk));
        if self.is_kill_unrecorded {
            self.kill("auto:journal", time);
        }
        // Cleared only here: a start that dies earlier leaves the failure to the next start.
        // mutant: execution: a failure is forgotten by a journal that refuses its kill
        if self.recorder.refused().is_none() {
            self.recorder.failure_recorded();
        }
        Ok(())
    }

    /// Writes the boot of the host. A run that dies before this record has sent no message, and the next run asks the banks.
    fn begin_boot(&mut self, epoch: u64, at_ns: u64) -> Result<(), Refused> {
        let Boot {
            id,
            before,
            lacks,
            is_tail_lost,
        } = self.boot;
        let record = Record::Boot {
            at_ns,
            id,
            lacks_before: if lacks { epoch } else { 0 },
        };
        self.recorder.append(at_ns, &record)?;
        if lacks {
            self.incident(Incident::Rebooted {
                before,
                now: id,
                is_tail_lost,
            });
        }
        Ok(())
    }

    /// A time of the engine, which never goes back.
    pub fn time(&self, mono_ns: u64, wall_ns: u64) -> ReceiveTime {
        ReceiveTime {
            wall_ns: wall_ns.max(self.engine.now_ns().unwrap_or(0)),
            mono_ns,
        }
    }

    /// A time of the engine with the wall clock, for counterparties.
    pub fn wall(&self, time: ReceiveTime) -> ReceiveTime {
        ReceiveTime {
            wall_ns: time.wall_ns.saturating_add_signed(self.wall_ahead_ns),
            mono_ns: time.mono_ns,
        }
    }

    /// Notes a step of the wall clock, and its distance ahead of the engine's clock after the step.
    pub fn wall_stepped(&mut self, time: ReceiveTime, step_ns: i64, wall_ahead_ns: i64) {
        // mutant: simulation: a step of the wall clock is ignored
        self.wall_ahead_ns = wall_ahead_ns;
        self.landing.stepped(step_ns, self.wall(time).wall_ns);
        for bank in 0..self.banks.len() {
            self.banks[bank].session.wall_stepped(step_ns);
        }
        self.incident(Incident::ClockStepped {
            ms: step_ns / 1_000_000,
        });
    }

    /// A round of the order sessions, by the engine's clock `now_ns`: sessions that are due, by `is_due` or by their
    /// own timers. One of the sessions runs its connection once. Returns the number of outputs of the sessions.
    pub fn order_sessions(
        &mut self,
        mono_ns: u64,
        mut now_ns: impl FnMut() -> u64,
        is_due: impl Fn(Bank) -> bool,
    ) -> usize {
        let mut count = 0;
        let connecting = self.banks.connecting(mono_ns);
        for bank in 0..self.banks.len() {
            if !is_due(bank) && !self.banks[bank].session.is_due(mono_ns) {
                continue;
            }
            let wall = self.wall(self.time(mono_ns, now_ns()));
            while let Some(turn) = self.banks[bank].session.turn(wall) {
                let time = self.time(mono_ns, now_ns());
                self.turned(bank, turn, time);
            }
            if connecting == Some(bank) {
                self.banks[bank].session.connect(wall);
            }
            for _ in 0..READS_MAX {
                let has_more = self.banks[bank].session.read(wall);
                count += self.heard(bank, mono_ns, &mut now_ns);
                if !has_more {
                    break;
                }
            }
            self.banks[bank].session.tick(wall);
            let time = self.time(mono_ns, now_ns());
            self.flush(bank, time);
        }
        count
    }

    /// Handles the output of a session for received bytes. Returns the number of outputs.
    fn heard(&mut self, bank: Bank, mono_ns: u64, now_ns: &mut impl FnMut() -> u64) -> usize {
        let mut count = 0;
        loop {
            let time = self.time(mono_ns, now_ns());
            let wall = self.wall(time);
            match self.banks[bank].session.poll(wall) {
                Said::Nothing => {
                    self.own_messages(bank, time);
                    return count;
                }
                said => self.said(bank, said, time),
            }
            count += 1;
        }
    }

    /// Sends the logouts, and makes no further order. A session that is not up yet does not come up.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.is_stopping = true;
        self.engine.hold(true);
        let wall = self.wall(time);
        for bank in 0..self.banks.len() {
            self.banks[bank].session.log_out(wall);
            self.flush(bank, time);
        }
    }

    /// Whether no order session has a connection.
    pub fn is_disconnected(&self) -> bool {
        self.banks.sessions().all(OrderSession::is_disconnected)
    }
}

/// A client with its user: that of this process, if the configuration names none.
fn of_user(client: &ClientConfig) -> ClientConfig {
    let user = client.user.unwrap_or_else(|| Root::of_this_user().owner());
    ClientConfig {
        user: Some(user),
        ..client.clone()
    }
}
