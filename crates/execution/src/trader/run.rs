//! A run of the core: restored from the recovered state and started; its rounds of order sessions, and the logouts.

use super::Incident;
use super::Totals;
use super::budget::Budget;
use super::carry::{Boot, Core, PATHS_MAX};
use super::sessions::Faults;
use crate::config::{ClientConfig, Config, SyncMode};
use crate::edge::{Link, Output};
use crate::order_session::{OrderSession, Said};
use crate::records::{self, Record};
use crate::recovery::Recovered;
use crate::statistics::BankCounts;
use crate::variant::Variant;
use std::collections::VecDeque;
use touchline_fx::Batch;
use touchline_fx::encoding::Encoder as Events;
use touchline_fx::input::{Desk, Input};
use touchline_fx::setup::Bank;
use touchline_fx::stages::Stopwatch;
use touchline_journal::Refused;
use touchline_transport::bus::Root;
use touchline_types::{Id, ReceiveTime};

/// Orders of a run for which memory is taken at the start; further ones may wait for it.
const ORDERS_ROOM: usize = 50_000;
/// Events of one input for which memory is taken at the start: a kill cancels a thousand orders.
const EVENTS_ROOM: usize = 4_096;
/// Orders of the plans of one input for which memory is taken at the start.
const LEGS_ROOM: usize = 1_024;
/// Bytes of the record of one input for which memory is taken at the start: a kill cancels a thousand orders.
const RECORD_ROOM: usize = 256 << 10;
/// Most reads of one order session in a round: each fills the session's room.
const READS_MAX: usize = 4;

impl<O: Output, L: Link> Core<O, L> {
    /// The core of a run that continues what was recovered; `links` has one link for each bank.
    pub fn new(
        config: &Config,
        out: O,
        links: impl IntoIterator<Item = L>,
        recovered: Recovered,
        epoch: u64,
    ) -> Core<O, L> {
        let sessions = config.banks.iter().zip(&recovered.numbers).zip(links);
        let sessions = sessions.map(|((bank, numbers), link)| {
            let session = config.session(bank).expect("the configuration was checked");
            OrderSession::new(session, *numbers, link)
        });
        let sessions = sessions.collect();
        let boot = Boot {
            id: recovered.start.boot,
            before: recovered.boot,
            is_tail_lost: recovered.start.is_other_boot,
            lacks: recovered.may_lack_orders() && !Variant::NotAskedAfterReboot.is_on(),
        };
        let is_kill_unrecorded = recovered.had_unrecorded_kill();
        let (mut engine, next_event) = (recovered.engine, recovered.next_event);
        let prefix = format!("{}e{epoch}", config.prefix);
        engine.set_prefix(Id::lossy(prefix.as_bytes()));
        Core {
            engine,
            batch: Batch::default(),
            out,
            is_disk: config.run.sync == SyncMode::Disk,
            sync_wait_ns: config.run.sync_wait_ms * 1_000_000,
            pause_max_ns: config.run.pause_max_ms * 1_000_000,
            is_journal_dead: false,
            is_kill_unrecorded,
            refused: None,
            alarm: 0,
            sessions,
            incidents: VecDeque::new(),
            totals: Totals::default(),
            clients: config.clients.iter().map(of_user).collect(),
            boot,
            next_event,
            banks: vec![BankCounts::default(); config.banks.len()],
            faults: vec![Faults::default(); config.banks.len()],
            prices: Budget::of_prices(),
            is_filled: vec![false; config.banks.len()],
            wall_ahead_ns: 0,
            paths: Vec::new(),
            last_canceled: 0,
            connects_next: 0,
            ahead: vec![0; config.banks.len()],
            record: Events::default(),
            body: Vec::with_capacity(4 << 10),
        }
    }

    /// Takes the memory of the path, and measures its stages by a clock. A simulation does neither.
    pub fn prepare(&mut self, clock: fn() -> u64) {
        self.engine.reserve(ORDERS_ROOM);
        self.batch.events.reserve(EVENTS_ROOM);
        self.batch.legs.reserve(LEGS_ROOM);
        let sizes = self.engine.setup().pairs.iter();
        let sizes = sizes.map(|pair| pair.config.sizes.len()).sum();
        self.batch.averages.reserve(sizes);
        self.batch.stages = Stopwatch::of(clock);
        self.paths.reserve(PATHS_MAX);
        self.record.reserve(RECORD_ROOM);
    }

    /// Writes the start of the run, then ends what the run before left.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn begin(&mut self, config: &Config, epoch: u64, time: ReceiveTime) -> Result<(), Refused> {
        let stream = touchline_journal::records::Stream {
            content: records::CONTENT,
            schema: 0,
            version: records::VERSION,
            name: "fx".to_owned(),
        };
        let now_ns = time.wall_ns;
        let kind = touchline_journal::format::kind::STREAM;
        self.append_raw(kind, now_ns, &stream.encode())?;
        self.begin_run(epoch, &config.date, now_ns)?;
        for bank in 0..self.sessions.len() {
            let (next_out, next_in) = self.sessions[bank].numbers();
            let numbers = Record::Numbers {
                bank: bank as u16,
                next_out,
                next_in,
            };
            self.append(now_ns, &numbers)?;
        }
        // The run before ended with its last record, as a later start will read it: none of its timers runs after that.
        if let Some(last_ns) = self.engine.now_ns() {
            let last = ReceiveTime {
                wall_ns: last_ns,
                ..time
            };
            self.handle(last, &Input::Desk(Desk::Restart));
        }
        // What is due since is done before, so that the records have the order of their times.
        self.wake(time);
        self.begin_boot(epoch, now_ns)?;
        let desk = match self.boot.lacks {
            // Asked, and none of its orders is adopted.
            true if Variant::LostOrderRefused.is_on() => Desk::Reboot { epoch: 0 },
            true => Desk::Reboot { epoch },
            false => Desk::Restart,
        };
        if Variant::FailureForgottenEarly.is_on() {
            self.out.failure_recorded();
        }
        self.handle(time, &Input::Desk(desk));
        if self.is_kill_unrecorded {
            self.kill("auto:journal", time);
        }
        // Not before: a start that dies until here leaves the failure to the next one.
        // mutant: execution: a failure is forgotten by a journal that refuses its kill
        if self.refused.is_none() {
            self.out.failure_recorded();
        }
        Ok(())
    }

    /// Writes and publishes the names of the run.
    fn begin_run(&mut self, epoch: u64, date: &str, at_ns: u64) -> Result<(), Refused> {
        let mut record = std::mem::take(&mut self.record);
        record.begin(at_ns);
        record.run(epoch, date, &self.engine.setup().labels);
        assert_eq!(
            record.finish(self.next_event),
            1,
            "a run begins in one part"
        );
        let appended = self.append_raw(records::kind::BATCH, at_ns, record.part(0));
        if appended.is_ok() {
            self.out.begin_run(record.part(0));
            self.out.publish(record.part(0));
            self.next_event += record.entries();
        }
        self.record = record;
        appended.map(drop)
    }

    /// Writes the boot of the host. A run that dies before this record is there has sent nothing, and the next one asks.
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
        self.append(at_ns, &record)?;
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

    /// A time of the engine with the wall clock, for what counterparties read.
    pub fn wall(&self, time: ReceiveTime) -> ReceiveTime {
        ReceiveTime {
            wall_ns: time.wall_ns.saturating_add_signed(self.wall_ahead_ns),
            mono_ns: time.mono_ns,
        }
    }

    /// The wall clock was set by this much, and is that much ahead of the engine's clock now.
    pub fn wall_stepped(&mut self, step_ns: i64, wall_ahead_ns: i64) {
        if Variant::StepIgnored.is_on() {
            return;
        }
        self.wall_ahead_ns = wall_ahead_ns;
        for session in &mut self.sessions {
            session.wall_stepped(step_ns);
        }
        self.incident(Incident::ClockStepped {
            ms: step_ns / 1_000_000,
        });
    }

    /// A round of the order sessions, by the engine's clock `now_ns`: those that are due, as `is_due` says or as they say themselves.
    /// One of them makes a step of its connection. Returns the number of things that they said.
    pub fn order_sessions(
        &mut self,
        mono_ns: u64,
        mut now_ns: impl FnMut() -> u64,
        is_due: impl Fn(Bank) -> bool,
    ) -> usize {
        let mut count = 0;
        let connecting = self.connecting(mono_ns);
        for bank in 0..self.sessions.len() {
            if !is_due(bank) && !self.sessions[bank].is_due(mono_ns) {
                continue;
            }
            let wall = self.wall(self.time(mono_ns, now_ns()));
            if connecting == Some(bank) {
                self.sessions[bank].connect(wall);
            }
            for _ in 0..READS_MAX {
                let has_more = self.sessions[bank].read(wall);
                count += self.heard(bank, mono_ns, &mut now_ns);
                if !has_more {
                    break;
                }
            }
            self.sessions[bank].tick(wall);
            let time = self.time(mono_ns, now_ns());
            self.flush(bank, time);
        }
        count
    }

    /// The bank that may make a step of its connection in this round, one after the other: quotes and commands wait for one step
    /// of a handshake, and not for those of all banks after a cut of the network.
    fn connecting(&mut self, mono_ns: u64) -> Option<Bank> {
        let count = self.sessions.len();
        let mut banks = (self.connects_next..count).chain(0..self.connects_next);
        let bank = banks.find(|&bank| self.sessions[bank].is_connecting(mono_ns))?;
        self.connects_next = (bank + 1) % count;
        Some(bank)
    }

    /// Handles what a session says of the bytes that it has. Returns the number.
    fn heard(&mut self, bank: Bank, mono_ns: u64, now_ns: &mut impl FnMut() -> u64) -> usize {
        let mut count = 0;
        loop {
            let time = self.time(mono_ns, now_ns());
            let wall = self.wall(time);
            match self.sessions[bank].poll(wall) {
                Said::Nothing => {
                    self.own_messages(bank, time);
                    return count;
                }
                said => self.said(bank, said, time),
            }
            count += 1;
        }
    }

    /// Sends the logouts, and makes no order any more.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.engine.hold(true);
        let wall = self.wall(time);
        for bank in 0..self.sessions.len() {
            self.sessions[bank].log_out(wall);
            self.flush(bank, time);
        }
    }

    /// Whether no order session has a connection.
    pub fn is_disconnected(&self) -> bool {
        self.sessions.iter().all(OrderSession::is_disconnected)
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
