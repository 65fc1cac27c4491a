//! The only hot thread of the engine: desk, order sessions, quotes, timers.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod bank_days;
mod banks;
mod budget;
mod carry;
mod cause;
mod commands;
#[cfg(test)]
mod connections;
mod counts;
mod credit_days;
mod dates;
mod directory;
mod faults;
mod incident;
mod landing;
mod path;
mod recorder;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod rig;
mod run;
mod sessions;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod stopped;
mod totals;
mod value_dates;
mod warm;
mod watch;

pub use crate::execution::error::Error;
pub(crate) use commands::RING_REFUSED;
pub use incident::Incident;
pub use path::Path;
pub use totals::Totals;

use crate::compose::{Counters, HostClock, Source};
use crate::execution::active::{Active, other};
use crate::execution::config::{Access, ClientConfig, Config, ConfigError};
use crate::execution::desk::{Old, Received, Ring, Unfit};
use crate::execution::edge::{Host, Socket};
use crate::execution::recovery::{Recovered, read_whole};
use crate::execution::statistics::Statistics;
use carry::Core;
use dates::Dates;
use directory::Directory;
use touchline_fx::Engine;
use touchline_fx::setup::Setup;
use touchline_fx_days::Rolls;
use touchline_journal::StartReport;
use touchline_journal::format::segment_name;
use touchline_net::stream::Readiness;
use touchline_transport::boot_ns;
use touchline_transport::bus::{Activity, Root};
use touchline_transport::clock::{Clock, ticks, wall_ns};
use touchline_types::ReceiveTime;

/// Most messages of one bus in a round.
const ROUND_MAX: usize = 256;
/// Interval of timers, nanoseconds.
const TIMER_NS: u64 = 1_000_000;
/// Interval of the liveness check of the banks' gateways, nanoseconds.
const LOOK_NS: u64 = 10_000_000;
/// Interval at which the counters are written, nanoseconds.
const SHOW_NS: u64 = 100_000_000;
/// Interval of the check for the files of the bus, nanoseconds.
const INTACT_NS: u64 = 250_000_000;
/// Time without activity after which readers of the drop copy count the engine as stalled.
const STALLED_NS: u64 = 500_000_000;
/// Longest interval at which positions and the scorecard are journaled and published, nanoseconds.
const SCORES_NS: u64 = 60_000_000_000;
/// Time from the first order of a run to the scorecard behind it, nanoseconds.
const SCORES_FIRST_NS: u64 = 1_000_000_000;

/// A trading engine.
pub struct Trader {
    core: Core<Host, Socket>,
    /// Order sessions that have bytes to read.
    readiness: Readiness,
    setup: Setup,
    root: Root,
    sources: Vec<Source>,
    rings: Vec<Ring>,
    commands: Vec<Received>,
    counters: Counters,
    clock: HostClock,
    statistics: Statistics,
    timers: Timers,
    dates: Dates,
    /// Start of the last round.
    round_ns: u64,
    start: StartReport,
    recovered: (u64, u64),
    /// Banks added since the last run, and banks of it that are no longer configured.
    banks_changed: [Vec<String>; 2],
    directory: Directory,
}

/// Due times, by the host's clock.
#[derive(Debug, Default)]
struct Timers {
    control_ns: u64,
    look_ns: u64,
    intact_ns: u64,
    show_ns: u64,
    scores_ns: u64,
    /// Time between the last two scorecards; 0: the run has sent no order.
    scores_pause_ns: u64,
    /// Never, unless the engine spins.
    warm_send_ns: u64,
}

impl Timers {
    /// Whether positions and the scorecard are due: soon after the first order of the run, so that a report made then
    /// contains them, then with pauses that double up to [`SCORES_NS`].
    fn are_scores_due(&mut self, now_ns: u64, orders: u64) -> bool {
        if self.scores_pause_ns == 0 && orders > 0 {
            self.scores_pause_ns = SCORES_FIRST_NS;
            self.scores_ns = now_ns + SCORES_FIRST_NS;
        }
        if now_ns < self.scores_ns {
            return false;
        }
        self.scores_pause_ns = (2 * self.scores_pause_ns).min(SCORES_NS);
        self.scores_ns = now_ns
            + match self.scores_pause_ns {
                0 => SCORES_NS,
                pause_ns => pause_ns,
            };
        true
    }
}

impl Trader {
    /// Takes the bus and the journal, and restores the state of the last run. Sessions connect in the first rounds.
    ///
    /// # Errors
    /// Another engine runs, the journal is damaged or does not fit the configuration.
    pub fn open(config: &Config) -> Result<Trader, Error> {
        let setup = config.setup().map_err(ConfigError::from)?;
        let rolls = config
            .rolls_at_start(wall_ns())
            .map_err(ConfigError::from)?;
        let access = config.access()?;
        if let Some(active) = other(config) {
            return Err(active);
        }
        // mutant: execution: a journal is continued before it is read
        let mut reading = read_whole(&config.run.journal, &setup)?;
        reading.check_sessions(config)?;
        let active = Active::take(config)?;
        reading.read_rest(&config.run.journal, active.journal.report())?;
        Trader::start_from(config, (access, rolls), active, reading.finish())
    }

    /// Continues the recovered state, as the one active engine, with the secrets and certificates of each bank's session and the calendars:
    /// their files are read before the locks are taken.
    pub(crate) fn start_from(
        config: &Config,
        (access, rolls): (Vec<Access>, Option<Rolls>),
        active: Active,
        mut recovered: Recovered,
    ) -> Result<Trader, Error> {
        let Active { journal, drop_copy } = active;
        let setup = config.setup().map_err(ConfigError::from)?;
        let root = config.root();
        let start = journal.report().clone();
        let directory = Directory::at(&config.run.journal);
        recovered.note_start(&start);
        let counts = (recovered.records, recovered.orders);
        let banks_changed = [&mut recovered.banks_added, &mut recovered.banks_removed];
        let banks_changed = banks_changed.map(std::mem::take);
        let banks = config.banks.iter().enumerate();
        let sources = banks.map(|(bank, _)| Source::new(bank, &config.source(bank), &setup));
        let began_ns = boot_ns();
        let rings = config.clients.iter().map(|client| {
            let known = recovered.known(&client.name);
            Ring::new(client, &root, &config.run.bus, known, began_ns)
        });
        let rings = rings.collect();
        let fine = Clock::calibrated();
        let statistics = Statistics::create(&root, &config.run.bus, fine, &setup)?;
        let mut clock = HostClock::start(fine, recovered.last_ns);
        let (now_ns, wall_ahead_ns) = (clock.now_ns(), clock.wall_ahead_ns());
        let host = Host { journal, drop_copy };
        let readiness = Readiness::new(config.banks.len()).map_err(Error::Sockets)?;
        let (tls, passwords): (Vec<_>, Vec<_>) = access
            .into_iter()
            .map(|access| (access.tls, access.password))
            .unzip();
        let banks = config.banks.iter().zip(tls).enumerate();
        let links = banks.map(|(number, (bank, tls))| {
            let session = config.session(bank).expect("the configuration was checked");
            Socket::new(session.host, tls, readiness.watch(number))
        });
        let mut trader = Trader {
            sources: sources.collect(),
            rings,
            commands: Vec::new(),
            core: Core::new(config, host, links, recovered, start.epoch),
            readiness,
            setup,
            root,
            counters: Counters::default(),
            clock,
            statistics,
            timers: Timers {
                warm_send_ns: if config.run.spin { 0 } else { u64::MAX },
                ..Timers::default()
            },
            dates: Dates::new(config, wall_ns()),
            round_ns: 0,
            directory,
            start,
            recovered: counts,
            banks_changed,
        };
        for (bank, password) in passwords.into_iter().enumerate() {
            trader.core.banks[bank].session.set_password(password);
        }
        trader.core.prepare(ticks);
        trader.set_clocks(rolls, wall_ahead_ns);
        let time = trader.core.time(boot_ns(), now_ns);
        trader.core.begin(config, trader.start.epoch, time)?;
        trader.watch_dates(boot_ns());
        Ok(trader)
    }

    /// State in which the start found the journal.
    pub fn start(&self) -> &StartReport {
        &self.start
    }

    /// Records and orders that were restored.
    pub fn recovered(&self) -> (u64, u64) {
        self.recovered
    }

    /// Banks added since the last run, and banks of it that are no longer configured; both empty if there was no
    /// earlier run.
    pub fn banks_changed(&self) -> [&[String]; 2] {
        self.banks_changed.each_ref().map(Vec::as_slice)
    }

    /// Order sessions that are logged on, and all.
    pub fn sessions(&self) -> (usize, usize) {
        let banks = &self.core.banks;
        let up = banks.sessions().filter(|session| session.is_up());
        (up.count(), banks.len())
    }

    /// Journals a command that was executed before this engine had its journal, and its answer.
    pub(crate) fn note_command(&mut self, client: &ClientConfig, command: &Received, answer: &str) {
        let time = self.time(boot_ns());
        self.core.note_command(time, client, command, answer);
    }

    /// The state.
    pub fn engine(&self) -> &Engine {
        &self.core.engine
    }

    /// Totals of this run.
    pub fn totals(&self) -> &Totals {
        &self.core.totals
    }

    /// Paths of the last round: inputs of which orders were sent, in ticks of the host's fine clock.
    pub fn paths(&self) -> &[Path] {
        &self.core.paths
    }

    /// When the last cancel was handed to the kernel, in ticks of the host's fine clock; 0 before the first.
    pub fn last_canceled(&self) -> u64 {
        self.core.last_canceled
    }

    /// Next incident for the log.
    pub fn next_incident(&mut self) -> Option<Incident> {
        self.core.incidents.pop_front()
    }

    /// A round. Returns the number of messages and commands.
    ///
    /// # Errors
    /// The files of the bus were changed.
    pub fn work(&mut self) -> Result<usize, Error> {
        let began_ns = boot_ns();
        self.core.paths.clear();
        self.watch_pause(began_ns);
        let mut count = self.desk(began_ns);
        count += self.order_sessions(began_ns);
        if began_ns >= self.timers.look_ns {
            self.timers.look_ns = began_ns + LOOK_NS;
            self.sources.iter_mut().for_each(Source::look);
        }
        let (messages, is_drained) = self.quotes(began_ns);
        count += messages;
        let time = self.time(began_ns);
        self.core.wake(time);
        if is_drained {
            self.core.release();
        }
        if began_ns >= self.timers.control_ns {
            self.control(began_ns)?;
        }
        if count == 0 && began_ns >= self.timers.warm_send_ns {
            self.timers.warm_send_ns = began_ns + warm::WARM_SEND_NS;
            self.core.warm_send(time);
        }
        self.statistics
            .record(&self.core.paths, self.clock.now_ns(), ticks());
        Ok(count)
    }

    /// Sends the logouts; rounds go on until [`Trader::is_disconnected`].
    pub fn log_out(&mut self) {
        let time = self.time(boot_ns());
        self.core.log_out(time);
    }

    /// Whether no order session has a connection.
    pub fn is_disconnected(&self) -> bool {
        self.core.is_disconnected()
    }

    /// Ends the run: everything is on the disk when this returns. The counters of an engine that is dropped without this, or fails at
    /// it, stay: they say that it is gone.
    ///
    /// # Errors
    /// The journal could not be written to its end.
    pub fn finish(mut self) -> Result<(), Error> {
        let time = self.time(boot_ns());
        self.core.tell_scores(time);
        self.core.publish_alarms(time);
        self.show_counters();
        self.core.recorder.into_out().journal.close(wall_ns())?;
        self.statistics.finish();
        Ok(())
    }

    /// An engine that was stopped, between two rounds or in the last one, finds old quotes first.
    fn watch_pause(&mut self, began_ns: u64) {
        let last_ns = std::mem::replace(&mut self.round_ns, began_ns);
        let pause_ns = began_ns.saturating_sub(last_ns);
        // mutant: execution: an engine that was stopped trades on the first quotes that it reads
        if last_ns > 0 && pause_ns > self.core.pause_max_ns {
            self.timers.look_ns = 0;
            self.core.pause(pause_ns);
        }
    }

    /// Without its directory a journal is written and cannot be found again: the next run would start a new journal, and use the same
    /// names for its orders.
    fn watch_directory(&mut self, began_ns: u64) {
        let journal = &self.core.recorder.out().journal;
        let why = if !self.directory.is_there(journal) {
            let path = self.directory.path.display();
            format!("its directory {path} was removed or replaced")
        } else if let Some(segment) = self.directory.lacks(journal) {
            let name = segment_name(segment);
            format!("its segment {name} was removed, replaced or truncated")
        } else {
            return;
        };
        let time = self.time(began_ns);
        self.core.journal_failed(&why, time);
    }

    fn time(&mut self, mono_ns: u64) -> ReceiveTime {
        self.core.time(mono_ns, self.clock.now_ns())
    }

    fn desk(&mut self, began_ns: u64) -> usize {
        let mut count = 0;
        for place in 0..self.rings.len() {
            let mut commands = std::mem::take(&mut self.commands);
            self.rings[place].poll(&mut commands);
            for command in commands.drain(..) {
                let time = self.time(began_ns);
                let ring = &mut self.rings[place];
                count += 1;
                match ring.old(&command, boot_ns()) {
                    Some(Old::Recorded) => {}
                    Some(Old::Flood(told)) => {
                        let told = (Unfit::TooOld, told);
                        (self.core).answer_unrecorded(time, &ring.client, command.request, told);
                    }
                    Some(Old::Missed) => self.core.missed_command(time, &ring.client, &command),
                    None => {
                        let admitted = ring.admit(&command, boot_ns());
                        self.core.command(time, &ring.client, &command, admitted);
                    }
                }
            }
            self.commands = commands;
            let ring = &mut self.rings[place];
            if let Some(count) = ring.take_missed() {
                let client = ring.client.name.clone();
                self.core.incident(Incident::Missed { client, count });
            }
        }
        count
    }

    /// Sessions with bytes to read, and at intervals all of them: a system call for each in every round would be paid by the
    /// quotes that wait behind them.
    fn order_sessions(&mut self, began_ns: u64) -> usize {
        self.readiness.look();
        let is_each = began_ns >= self.timers.control_ns;
        let (clock, readiness) = (&mut self.clock, &self.readiness);
        self.core.order_sessions(
            began_ns,
            || clock.now_ns(),
            |bank| is_each || readiness.is_ready(bank),
        )
    }

    fn quotes(&mut self, began_ns: u64) -> (usize, bool) {
        let time = self.time(began_ns);
        self.core.wake(time);
        self.read_by_days(began_ns);
        let Trader {
            core,
            setup,
            sources,
            counters,
            clock,
            ..
        } = self;
        let (mut count, mut is_drained) = (0, true);
        for source in sources.iter_mut() {
            let (bank, now_ns) = (source.bank(), clock.now_ns());
            let messages = source.poll(ROUND_MAX, now_ns, setup, counters, &mut |session| {
                let time = core.time(began_ns, clock.now_ns());
                core.quotes(time, bank, session);
            });
            count += messages;
            is_drained &= messages < ROUND_MAX;
        }
        (count, is_drained)
    }

    fn join_rings(&mut self, began_ns: u64) {
        let time = self.core.time(began_ns, self.clock.now_ns());
        for ring in &mut self.rings {
            let why = ring.join(began_ns).map(str::to_owned);
            if let Some(why) = why {
                self.core.refuse_ring(time, &ring.client, &why);
            }
        }
    }

    /// Kills that came without a ring.
    fn take_kills(&mut self, began_ns: u64) {
        for place in 0..self.rings.len() {
            let Some(taken) = self.rings[place].take_kill() else {
                continue;
            };
            let time = self.time(began_ns);
            let ring = &mut self.rings[place];
            match taken {
                Ok(command) => {
                    let admitted = ring.admit(&command, boot_ns());
                    self.core.command(time, &ring.client, &command, admitted);
                }
                Err(why) => self.core.refuse_ring(time, &ring.client, &why),
            }
        }
    }

    /// The wall clock was set: times of the gateways before it are not known.
    #[cold]
    fn wall_stepped(&mut self, began_ns: u64, step_ns: i64) {
        self.counters.wall_clock_steps += 1;
        let wall_ahead_ns = self.clock.wall_ahead_ns();
        let time = self.time(began_ns);
        self.core.wall_stepped(time, step_ns, wall_ahead_ns);
        let Trader {
            core,
            sources,
            counters,
            clock,
            ..
        } = self;
        for source in sources {
            let (bank, now_ns) = (source.bank(), clock.now_ns());
            source.doubt_times(now_ns, wall_ahead_ns, counters, &mut |session| {
                let time = core.time(began_ns, now_ns);
                core.quotes(time, bank, session);
            });
        }
    }

    #[cold]
    fn control(&mut self, began_ns: u64) -> Result<(), Error> {
        self.timers.control_ns = began_ns + TIMER_NS;
        self.clock.set();
        if let Some(step_ns) = self.clock.wall_step() {
            self.wall_stepped(began_ns, step_ns);
        }
        for source in &mut self.sources {
            if let Some(refused) = source.take_refusal() {
                self.core.incident(Incident::Quotes(refused));
            }
            source.join(&self.root, began_ns, &mut self.counters);
        }
        self.join_rings(began_ns);
        self.watch_dates(began_ns);
        self.take_kills(began_ns);
        self.core.watch_journal(ReceiveTime {
            wall_ns: self.clock.now_ns(),
            mono_ns: began_ns,
        });
        let time = self.time(began_ns);
        self.core.publish_alarms(time);
        self.core
            .recorder
            .out_mut()
            .drop_copy
            .state_activity(Activity {
                at_ns: began_ns.max(1),
                timeout_ns: STALLED_NS,
            });
        if began_ns >= self.timers.show_ns {
            self.timers.show_ns = began_ns + SHOW_NS;
            self.show_counters();
        }
        if began_ns >= self.timers.intact_ns {
            self.timers.intact_ns = began_ns + INTACT_NS;
            self.core.recorder.out_mut().drop_copy.check()?;
            self.watch_directory(began_ns);
        }
        if self
            .timers
            .are_scores_due(began_ns, self.core.totals.orders)
        {
            let time = self.time(began_ns);
            self.core.tell_scores(time);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scorecard at the start and each minute without orders; behind the first order one after a second, then less and less often.
    #[test]
    fn the_scorecard_follows_the_first_orders_of_a_run() {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut timers = Timers::default();
        let mut due = |seconds: std::ops::Range<u64>, orders| -> Vec<u64> {
            let due = |second: &u64| timers.are_scores_due(second * SECOND_NS, orders);
            seconds.filter(due).collect()
        };
        assert_eq!(due(1_000..1_100, 0), [1_000, 1_060]);
        assert_eq!(
            due(1_100..1_300, 1),
            [1_101, 1_103, 1_107, 1_115, 1_131, 1_163, 1_223, 1_283]
        );
    }
}
