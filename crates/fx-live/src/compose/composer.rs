//! Duty cycle of the composer: the banks' buses are input, the core computes, the composite is output.

use crate::compose::config::Config;
use crate::compose::counters::Counters;
use crate::compose::incident::Incident;
use crate::compose::output::{self, Cause, Output};
use crate::compose::recorder::Recorder;
use crate::compose::source::Source;
use crate::compose::statistics::Statistics;
use crate::compose::time::HostClock;
use crate::days::{changed_day, is_of_old_day};
use std::io;
use std::path::Path;
use thiserror::Error;
use touchline_fx::Pricing;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::Quoted;
use touchline_fx::setup::Setup;
use touchline_fx_days::DayWatch;
use touchline_fx_events::Batch;
use touchline_fx_events::desk::{Day, Desk};
use touchline_fx_events::setup::{Bank, Pair};
use touchline_settings::Mistakes;
use touchline_transport::clock::{Clock, ticks, wall_ns};
use touchline_transport::shm::{self, Activity, Damage, Publisher, Root};
use touchline_transport::{Publish, boot_ns};
use touchline_types::{Side, Timestamps, Validity};

/// Most messages of one bus in a round, so that all buses are read.
const ROUND_MAX: usize = 256;
/// Interval of the liveness check of the banks' gateways, nanoseconds.
const LOOK_NS: u64 = 10_000_000;
/// Interval of timers, nanoseconds.
const TIMER_NS: u64 = 1_000_000;
/// Interval at which a recording is written to the file, nanoseconds.
const FLUSH_NS: u64 = 1_000_000_000;
/// Interval of the check for the files of the bus, nanoseconds.
const INTACT_NS: u64 = 250_000_000;
/// Interval of counter updates, nanoseconds.
const SHOW_NS: u64 = 100_000_000;

/// Reason why a composer cannot start or continue.
#[derive(Debug, Error)]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] Mistakes),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] shm::Error),
    /// Another process changed the files of the bus.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// The recording.
    #[error("the recording cannot be written ({0}); make room or record elsewhere")]
    Recording(#[from] io::Error),
}

/// Result of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Messages of banks' buses.
    pub messages: usize,
    /// Whether all buses are read to their end.
    pub is_drained: bool,
}

/// Banks' buses, the core, and the composite's bus.
pub struct Composer<P> {
    setup: Setup,
    core: Core<P>,
    root: Root,
    sources: Vec<Source>,
    counters: Counters,
    statistics: Option<Statistics>,
    clock: HostClock,
    timers: Timers,
    timeout_ns: u64,
    heartbeat_ns: u64,
    /// Interval at which quotes are published again, nanoseconds.
    repeat_ns: u64,
    /// All messages of the buses up to this time of the host's clock are published.
    drained_ns: u64,
    /// Sum of the steps of the wall clock that the operator does not know yet, nanoseconds.
    step_ns: Option<i64>,
}

/// Due times, by the host's clock.
#[derive(Debug, Default)]
struct Timers {
    control_ns: u64,
    look_ns: u64,
    repeat_ns: u64,
    flush_ns: u64,
    intact_ns: u64,
    show_ns: u64,
    heartbeat_ns: u64,
    /// Number of published messages at the last heartbeat check.
    published: u64,
}

/// The core, and its output.
struct Core<P> {
    pricing: Pricing,
    batch: Batch,
    output: Output<P>,
    recorder: Option<Recorder>,
    /// The recording failed.
    failed: Option<io::Error>,
    composites: u64,
    is_conflated: bool,
    /// The wall clock less the clock of the inputs, nanoseconds.
    wall_ahead_ns: i64,
    /// A bank was lost or withdrew quotes: they leave the bus at once, also between two conflated composites.
    is_withdrawal: bool,
    /// Days of the pairs.
    days: DayWatch,
    /// Days that began, until the buses of the banks are read by them.
    begun: Vec<(Day, u64)>,
    /// Revisions of the levels of each pair before the timers run: their changes are quotes that ended, which are
    /// published at once. Empty between timers.
    before: Vec<[u64; 2]>,
}

impl Composer<Publisher> {
    /// Opens the bus, and starts a recording in a folder; joins the banks' buses as they appear. An earlier recording in the folder is
    /// replaced, but not that of a composer that publishes the bus.
    ///
    /// # Errors
    /// The configuration is invalid, the bus cannot be opened, or the recording cannot be written.
    pub fn open(config: &Config, record: Option<&Path>) -> Result<Self, Error> {
        let root = match &config.directory {
            Some(directory) => Root::at(directory),
            None => Root::of_this_user(),
        };
        let root = root.shared_with(config.group.as_deref());
        let root = root.map_err(shm::Error::from)?;
        let publisher = output::open(config, &root)?;
        let setup = config.setup()?;
        let statistics = Statistics::create(&publisher, &setup)?;
        let mut composer = Composer::new(config, root, publisher)?;
        composer.statistics = Some(statistics);
        let recorded = config.recorded(composer.core.days.rolls(), wall_ns());
        let recorder = record.map(|folder| Recorder::create(folder, &recorded));
        composer.core.recorder = recorder.transpose()?;
        Ok(composer)
    }
}

impl<P: Publish> Composer<P> {
    /// A composer with this output, without counters and recording.
    ///
    /// # Errors
    /// The configuration is invalid.
    pub fn new(config: &Config, root: Root, publisher: P) -> Result<Self, Error> {
        let setup = config.setup()?;
        let rolls = config.rolls_at_start(wall_ns())?;
        let banks = config.banks.iter().enumerate();
        let sources = banks.map(|(bank, source)| Source::new(bank, source, &setup));
        let timeout_ns = 2 * config.heartbeat_ms * 1_000_000;
        Ok(Composer {
            sources: sources.collect(),
            core: Core {
                pricing: Pricing::without_references(setup.clone()),
                batch: Batch::default(),
                output: Output::new(publisher, &setup, config.levels),
                recorder: None,
                failed: None,
                composites: 0,
                is_conflated: config.conflate_ms > 0,
                wall_ahead_ns: 0,
                is_withdrawal: false,
                days: DayWatch::new(rolls),
                begun: Vec::new(),
                before: Vec::with_capacity(setup.pairs.len()),
            },
            root,
            counters: Counters::default(),
            statistics: None,
            clock: HostClock::start(Clock::calibrated(), 0),
            timers: Timers::default(),
            timeout_ns: timeout_ns.max(100_000_000),
            heartbeat_ns: config.heartbeat_ms * 1_000_000,
            repeat_ns: config.snapshot_ms * 1_000_000,
            drained_ns: 0,
            step_ns: None,
            setup,
        })
    }

    /// A round: pending messages of the buses, up to a limit for each, then due timers.
    ///
    /// # Errors
    /// The bus or the recording can no longer be written.
    pub fn work(&mut self) -> Result<Taken, Error> {
        // Before the first read: later messages may not be included.
        let began_ns = boot_ns();
        let mut taken = Taken {
            messages: 0,
            is_drained: true,
        };
        if began_ns >= self.timers.look_ns {
            self.timers.look_ns = began_ns + LOOK_NS;
            self.sources.iter_mut().for_each(Source::look);
        }
        self.read_by_days();
        let Composer {
            setup,
            core,
            sources,
            counters,
            clock,
            statistics,
            ..
        } = self;
        for source in sources.iter_mut() {
            let (bank, now_ns) = (source.bank(), clock.now_ns());
            let messages = source.poll(ROUND_MAX, now_ns, setup, counters, &mut |session| {
                let polled = ticks();
                let cause = core.input(setup, (bank, clock.now_ns()), session, polled);
                if let Some(statistics) = statistics {
                    statistics.published(&cause, clock);
                }
            });
            taken.messages += messages;
            taken.is_drained &= messages < ROUND_MAX;
        }
        core.wake(setup, clock.now_ns());
        // mutant: compose: a composer that is behind states activity
        if taken.is_drained {
            self.drained_ns = began_ns;
        }
        if began_ns >= self.timers.control_ns {
            self.run_timers(began_ns)?;
        }
        Ok(taken)
    }

    /// The banks' buses are read by the present days.
    fn read_by_days(&mut self) {
        let now_ns = self.clock.now_ns();
        self.core.wake(&self.setup, now_ns);
        let begun = std::mem::take(&mut self.core.begun);
        let Composer {
            setup,
            core,
            sources,
            ..
        } = self;
        Source::follow_days(sources, setup, begun, now_ns, |setup, bank, session| {
            core.input(setup, (bank, now_ns), session, 0);
        });
    }

    /// An input of a bank without a bus, at a monotonic time: for measurements and tests.
    pub fn input(&mut self, bank: Bank, now_ns: u64, session: Session<'_>) {
        self.core
            .input(&self.setup, (bank, now_ns), session, ticks());
    }

    /// Quotes and composites.
    pub fn pricing(&self) -> &Pricing {
        &self.core.pricing
    }

    /// Output.
    pub fn output(&self) -> &Output<P> {
        &self.core.output
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Next event for the operator.
    pub fn next_incident(&mut self) -> Option<Incident> {
        if let Some(step_ns) = self.step_ns.take() {
            return Some(Incident::ClockStep(step_ns));
        }
        let refused = self.sources.iter_mut().find_map(Source::take_refusal);
        refused.map(Incident::KindRefused)
    }

    /// Ends the composer: completes the recording, and updates the counters.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let now_ns = self.clock.now_ns();
        self.core.end(&self.setup, now_ns);
        self.show();
        if let Some(recorder) = &mut self.core.recorder {
            recorder.finish(now_ns)?;
        }
        Ok(())
    }

    #[cold]
    fn run_timers(&mut self, now_ns: u64) -> Result<(), Error> {
        self.timers.control_ns = now_ns + TIMER_NS;
        self.clock.set();
        if let Some(step_ns) = self.clock.wall_step() {
            self.wall_stepped(step_ns);
        }
        if let Some(failed) = self.core.failed.take() {
            return Err(failed.into());
        }
        for source in &mut self.sources {
            source.join(&self.root, now_ns, &mut self.counters);
        }
        if now_ns >= self.timers.repeat_ns {
            self.timers.repeat_ns = now_ns + self.repeat_ns;
            self.core.output.repeat(&self.setup);
        }
        if now_ns >= self.timers.flush_ns {
            self.timers.flush_ns = now_ns + FLUSH_NS;
            if let Some(recorder) = &mut self.core.recorder {
                recorder.flush()?;
            }
        }
        self.send_heartbeat(now_ns);
        let activity = Activity {
            at_ns: self.drained_ns.max(1),
            timeout_ns: self.timeout_ns,
        };
        self.core.output.publisher_mut().state_activity(activity);
        if now_ns >= self.timers.intact_ns {
            self.timers.intact_ns = now_ns + INTACT_NS;
            self.core.output.publisher_mut().check()?;
        }
        if now_ns >= self.timers.show_ns {
            self.timers.show_ns = now_ns + SHOW_NS;
            for source in &mut self.sources {
                source.look_at_hours(&self.root, now_ns);
            }
            self.show();
        }
        Ok(())
    }

    /// The wall clock was set: times of the gateways before it are not known.
    #[cold]
    fn wall_stepped(&mut self, step_ns: i64) {
        self.counters.wall_clock_steps += 1;
        let untold_ns = self.step_ns.unwrap_or(0);
        self.step_ns = Some(untold_ns.saturating_add(step_ns));
        let (now_ns, wall_ahead_ns) = (self.clock.now_ns(), self.clock.wall_ahead_ns());
        self.core.wall_ahead_ns = wall_ahead_ns;
        let Composer {
            setup,
            core,
            sources,
            counters,
            ..
        } = self;
        for source in sources {
            let bank = source.bank();
            source.doubt_times(now_ns, wall_ahead_ns, counters, &mut |session| {
                core.input(setup, (bank, now_ns), session, 0);
            });
        }
    }

    fn send_heartbeat(&mut self, now_ns: u64) {
        let publisher = self.core.output.publisher_mut();
        let counters = publisher.counters();
        let published = counters.map_or(0, |counters| counters.messages_published);
        if published != self.timers.published {
            self.timers.published = published;
            self.timers.heartbeat_ns = now_ns + self.heartbeat_ns;
        } else if now_ns >= self.timers.heartbeat_ns {
            let timestamps = Timestamps {
                published: ticks(),
                ..Timestamps::default()
            };
            publisher.heartbeat(&timestamps);
            self.timers.heartbeat_ns = now_ns + self.heartbeat_ns;
            self.timers.published += 1;
        }
    }

    fn show(&mut self) {
        self.counters.composites_published = self.core.composites;
        self.counters.banks_live = self.core.pricing.banks_usable() as u64;
        if let Some(statistics) = &mut self.statistics {
            let publisher = self.core.output.publisher().counters();
            let publisher = publisher.copied().unwrap_or_default();
            statistics.show(
                &self.counters,
                &publisher,
                self.sources.iter().map(Source::closed_until_ns),
                &mut self.core.pricing,
                &self.setup,
            );
        }
    }
}

impl<P: Publish> Core<P> {
    /// Passes an input to the core, and publishes the result.
    fn input(
        &mut self,
        setup: &Setup,
        (bank, now_ns): (Bank, u64),
        session: Session<'_>,
        polled: u64,
    ) -> Cause {
        // Timers that are due before it may concern any pair.
        self.wake(setup, now_ns);
        if is_of_old_day(self.pricing.setup(), &self.begun, &session) {
            return Cause::default();
        }
        let input = Input::Pricing(bank, session);
        if let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.input(setup, now_ns, &input)
        {
            self.failed.get_or_insert(error);
        }
        self.batch.clear();
        let silences_ended = self.pricing.silences_ended();
        let before = self.usable(setup, bank, &session);
        self.pricing.handle(now_ns, bank, &session, &mut self.batch);
        let is_of_one = silences_ended == self.pricing.silences_ended();
        let (pair, cause) = match session {
            Session::Quotes(quotes) => (
                Some(quotes.pair).filter(|_| is_of_one),
                Cause {
                    receive_ns: quotes.receive_ns.saturating_add_signed(self.wall_ahead_ns),
                    polled,
                    is_taken_up: matches!(quotes.quoted, Quoted::All(_)),
                },
            ),
            _ => (None, Cause::default()),
        };
        let after = self.usable(setup, bank, &session);
        let is_fewer = before
            .iter()
            .zip(after)
            .any(|(before, after)| after < *before);
        self.is_withdrawal = match session {
            Session::Down | Session::Missed => true,
            // mutant: compose: a conflated composite keeps quotes that their bank removed
            Session::Quotes(quotes) => quotes.is_unquoted || is_fewer,
            _ => false,
        };
        self.publish(setup, pair, &cause);
        self.is_withdrawal = false;
        cause
    }

    /// Number of usable quotes of the bank in the pair of a message, by side, while composites are conflated: quotes that are replaced
    /// wait for the next composite, quotes that end do not.
    fn usable(&self, setup: &Setup, bank: Bank, session: &Session<'_>) -> [usize; 2] {
        match session {
            Session::Quotes(quotes) if self.is_conflated => {
                let slot = setup.slot(bank, quotes.pair);
                self.pricing
                    .composites()
                    .held(slot)
                    .each_ref()
                    .map(Vec::len)
            }
            _ => [0; 2],
        }
    }

    /// The end, as in the last line of a recording: due timers, and a composite that was not published yet.
    fn end(&mut self, setup: &Setup, now_ns: u64) {
        self.wake(setup, now_ns);
        self.batch.clear();
        self.pricing.advance_to(now_ns, &mut self.batch);
        self.publish(setup, None, &Cause::default());
    }

    /// Executes due timers.
    fn wake(&mut self, setup: &Setup, now_ns: u64) {
        if self
            .days
            .are_due(now_ns.saturating_add_signed(self.wall_ahead_ns))
        {
            self.begin_days(setup, now_ns);
        }
        self.run_timers(setup, now_ns);
    }

    fn run_timers(&mut self, setup: &Setup, now_ns: u64) {
        if self.pricing.next_timeout_ns() <= now_ns {
            self.batch.clear();
            let composites = self.pricing.composites();
            let revisions = |pair| Side::BOTH.map(|side| composites.revision(pair, side));
            self.before.extend((0..setup.pairs.len()).map(revisions));
            self.pricing.handle_timeout(now_ns, &mut self.batch);
            self.publish(setup, None, &Cause::default());
            self.before.clear();
        }
    }

    /// Gives each pair the day of the wall clock, if it has another one: at the instant of the roll, before all later inputs.
    fn begin_days(&mut self, setup: &Setup, now_ns: u64) {
        let wall_ns = now_ns.saturating_add_signed(self.wall_ahead_ns);
        let own = self.pricing.setup();
        let Some((began_ns, rolls)) = self.days.renew(wall_ns) else {
            return;
        };
        let pairs = 0..own.pairs.len();
        let days: Vec<Day> = pairs
            .filter_map(|pair| changed_day(rolls, own, pair, wall_ns))
            .collect();
        let began_ns = began_ns.saturating_add_signed(-self.wall_ahead_ns);
        for day in days {
            let last_ns = self.pricing.now_ns().unwrap_or(0);
            let at_ns = began_ns.min(now_ns).max(last_ns);
            self.run_timers(setup, at_ns);
            if let Some(recorder) = &mut self.recorder
                && let Err(error) = recorder.input(setup, at_ns, &Input::Desk(Desk::Day(day)))
            {
                self.failed.get_or_insert(error);
            }
            self.output.set_value_date(day.pair, day.spot);
            self.batch.clear();
            self.pricing.begin_day_at(at_ns, &day, &mut self.batch);
            self.is_withdrawal = true;
            self.publish(setup, None, &Cause::default());
            self.is_withdrawal = false;
            self.begun.push((day, at_ns));
        }
    }

    /// Publishes changes: of one quoted pair, or of all.
    fn publish(&mut self, setup: &Setup, quoted: Option<Pair>, cause: &Cause) {
        if let Some(recorder) = &mut self.recorder
            && !self.batch.events.is_empty()
            && let Err(error) = recorder.published(setup, &self.batch)
        {
            self.failed.get_or_insert(error);
        }
        let mut is_any = false;
        let pairs = match quoted {
            Some(pair) => pair..pair + 1,
            None => 0..setup.pairs.len(),
        };
        for pair in pairs {
            is_any |= self.refresh(pair, cause);
        }
        let composites = self.output.composites(setup, &self.batch, cause);
        self.composites += composites;
        if is_any || composites > 0 {
            self.output.commit();
        }
    }

    fn refresh(&mut self, pair: Pair, cause: &Cause) -> bool {
        let is_said = self.batch.of_pair(pair);
        let is_live = self.pricing.is_live(pair);
        let validity = match is_live {
            true => Validity::Live,
            false => Validity::Stale,
        };
        // A conflated book changes with its composite, or when its validity changes.
        let is_changed = is_said || validity != self.output.validity(pair);
        let is_withdrawn = self.is_withdrawal || self.is_ended(pair);
        // mutant: compose: a conflated composite keeps the quotes of a lost bank
        let is_due = !self.is_conflated || is_changed || is_withdrawn;
        let is_book = is_due && self.output.refresh(&self.pricing, pair, validity, cause);
        let is_best = is_withdrawn && self.output.catch_up(&self.pricing, pair, cause);
        is_book || is_best
    }

    /// Whether a timer ended quotes of a pair: expired, of a silent bank, or stale.
    fn is_ended(&self, pair: Pair) -> bool {
        let composites = self.pricing.composites();
        let is_other = |before: &[u64; 2]| {
            let now = Side::BOTH.map(|side| composites.revision(pair, side));
            now != *before
        };
        self.before.get(pair).is_some_and(is_other)
    }
}

#[cfg(test)]
mod tests;
