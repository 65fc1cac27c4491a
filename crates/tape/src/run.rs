//! A running recorder: buses, recorder and journal in one duty cycle, stepped by the caller.

use crate::counters::RecorderCounters;
use crate::index::index_segments;
use crate::last_run::LastRun;
pub use crate::outcome::{RunError, RunEvent};
use crate::publication::Publication;
use crate::raw::Content;
use crate::recorder::{Now, Recorder, Settings};
use crate::retention::Retention;
use crate::upkeep::{CLOSE, EVENTS_MAX, Place, Upkeep, drain};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use touchline_journal::{Journal, Options, Refused};
use touchline_transport::SubscriptionEvent;
use touchline_transport::boot_ns;
use touchline_transport::clock::{Clock, ticks, wall_ns};
use touchline_transport::market::{Item, Join, Kinds};
use touchline_transport::shm::{FineClock, Polled, ReaderStats, Root, Subscriber};

/// Messages of a bus in one round.
const MESSAGES_MAX: usize = 1_024;
const TRY_NS: u64 = 250_000_000;
const SHOW_NS: u64 = 100_000_000;
const TICK_NS: u64 = 1_000_000_000;
/// Longest time that a message waits for further ones of its record.
const FLUSH_NS: u64 = 1_000_000;
/// Least time for the end of the tape, when the records before it took all the time there is.
const WAIT_MIN: Duration = Duration::from_secs(1);

/// Settings of a running recorder.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// Directory of the buses.
    pub root: Root,
    /// Buses to record.
    pub buses: Vec<String>,
    /// Whether the publishers of lossless buses wait for the recorder.
    pub lossless: bool,
    /// Name of the recorder, as a reader of the buses and for its counters.
    pub name: String,
    /// Directory of the tape.
    pub directory: PathBuf,
    /// Segments, ring and mode of the journal.
    pub journal: Options,
    /// Records.
    pub recorder: Settings,
    /// Limits of the tape.
    pub retention: Retention,
    /// Whether closed segments are compressed, in a thread of the lowest priority.
    pub compress: bool,
}

/// A running recorder.
pub struct Recording {
    settings: RunSettings,
    recorder: Recorder,
    last: LastRun,
    buses: Vec<Joined>,
    upkeep: Upkeep<LastRun>,
    ns_per_tick: f64,
    events: VecDeque<RunEvent>,
    next_try_ns: u64,
    next_show_ns: u64,
    next_tick_ns: u64,
    next_flush_ns: u64,
}

/// A bus and its subscription.
struct Joined {
    name: String,
    waiting: Option<String>,
    open: Option<(Subscriber, usize)>,
}

impl Recording {
    /// Opens the tape, and continues it. Takes 20 ms to calibrate the clock.
    ///
    /// # Errors
    /// The journal is damaged, cannot be written, or another process writes it or has the name.
    pub fn open(settings: RunSettings) -> Result<Recording, RunError> {
        let RunSettings {
            root,
            directory,
            name,
            ..
        } = &settings;
        let now = now();
        let place = Place {
            root,
            name,
            directory,
            retention: settings.retention,
            compress: settings.compress,
            index: true,
            last: LastRun::read,
        };
        if matches!(Content::of(directory)?, Content::Raw | Content::Session) {
            return Err(RunError::OtherContent {
                directory: directory.clone(),
                what: "a raw recording",
            });
        }
        let (journal, last, upkeep) = Upkeep::open(&place, &settings.journal, now.wall_ns)?;
        let joined = |name: &String| Joined {
            name: name.clone(),
            waiting: None,
            open: None,
        };
        Ok(Recording {
            recorder: Recorder::new(journal, settings.recorder, &last, now),
            last,
            buses: settings.buses.iter().map(joined).collect(),
            upkeep,
            ns_per_tick: Clock::calibrated().ns_per_tick(),
            events: VecDeque::new(),
            next_try_ns: 0,
            next_show_ns: 0,
            next_tick_ns: 0,
            next_flush_ns: 0,
            settings,
        })
    }

    /// One round of the duty cycle; returns the amount of work, so that the caller idles after a round without work. A journal that fails is
    /// opened again each second.
    ///
    /// # Errors
    /// The tape is damaged, another process writes it, or another tape is in its place.
    pub fn work(&mut self) -> Result<usize, RunError> {
        if self.recorder.journal().is_none() {
            let opened = self.upkeep.reopened(&mut self.events)?;
            if let Some((journal, last)) = opened {
                self.recorder.reopened(journal, &last, now());
                self.last = last;
            }
        } else if self.upkeep.is_replaced() {
            let reason = "its directory was removed, or another one has its name".to_owned();
            self.fail(reason);
        }
        let excess = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..excess);
        match self.round() {
            Ok(done) => Ok(done),
            Err(Refused::Failed { errno }) => {
                self.fail(std::io::Error::from_raw_os_error(errno as i32).to_string());
                Ok(0)
            }
            Err(refused) => Err(self.failed(refused)),
        }
    }

    /// Leaves the journal until the disk can be written again.
    fn fail(&mut self, reason: String) {
        self.recorder.counters().record_failures += 1;
        let durable = self.recorder.leave_journal(now());
        let event = self.upkeep.failed(reason, durable);
        self.events.push_back(event);
    }

    fn failed(&mut self, refused: Refused) -> RunError {
        RunError::Failed {
            directory: self.settings.directory.clone(),
            refused,
            durable: self.recorder.counters().record_durable,
        }
    }

    /// The next event for the log.
    pub fn event(&mut self) -> Option<RunEvent> {
        self.events.pop_front()
    }

    /// Counters.
    pub fn counters(&mut self) -> &RecorderCounters {
        self.recorder.counters()
    }

    /// Ends the tape: its end is on the disk when this returns. Takes at most 11 seconds: a disk that does not answer is not waited for longer.
    /// The counters of a recorder that is dropped without this, or fails at it, stay: they say that it is gone.
    ///
    /// # Errors
    /// The disk has failed, or does not take the end of the tape.
    pub fn close(mut self) -> Result<RecorderCounters, RunError> {
        let begun = Instant::now();
        drain(|| {
            self.work()?;
            Ok::<_, RunError>(!self.recorder.is_blocked())
        })?;
        self.show();
        let wait = CLOSE.saturating_sub(begun.elapsed()).max(WAIT_MIN);
        let durable = self.recorder.counters().record_durable;
        let segment = self.recorder.journal().map_or(0, Journal::segment);
        let directory = self.settings.directory.clone();
        let closed = self.recorder.close(now(), wait);
        if closed.is_ok() {
            let left = CLOSE.saturating_sub(begun.elapsed()).max(WAIT_MIN);
            index_within(directory.clone(), segment.saturating_sub(1), left);
        }
        let counters = closed.map_err(|refused| RunError::Failed {
            directory,
            refused,
            durable,
        })?;
        self.upkeep.finish();
        Ok(counters)
    }

    fn round(&mut self) -> Result<usize, Refused> {
        let at_ns = boot_ns();
        if at_ns >= self.next_try_ns {
            self.next_try_ns = at_ns + TRY_NS;
            (0..self.buses.len()).for_each(|bus| self.join(bus));
            self.recorder.flush(now())?;
        }
        let now = now();
        let mut done = 0;
        for bus in 0..self.buses.len() {
            done += self.read(bus, now)?;
        }
        if done == 0 || self.recorder.is_blocked() || at_ns >= self.next_flush_ns {
            self.next_flush_ns = at_ns + FLUSH_NS;
            self.recorder.flush(now)?;
        }
        if at_ns >= self.next_tick_ns {
            self.next_tick_ns = at_ns + TICK_NS;
            self.recorder.tick(now)?;
        }
        let (is_blocked, journal) = (self.recorder.is_blocked(), self.recorder.journal());
        let event = self.upkeep.look_at_disk(is_blocked, journal, at_ns);
        self.events.extend(event);
        if at_ns >= self.next_show_ns {
            self.next_show_ns = at_ns + SHOW_NS;
            let done = self.upkeep.attend(self.recorder.counters());
            self.events.extend(done);
            self.show();
        }
        Ok(done)
    }

    fn join(&mut self, bus: usize) {
        let Joined { name, open, .. } = &self.buses[bus];
        if open.is_some() {
            return;
        }
        let RunSettings { root, .. } = &self.settings;
        let clock = FineClock {
            ticks,
            ns_per_tick: self.ns_per_tick,
        };
        let join = Join {
            // If another reader has the name, the recorder reads without one.
            reader_stats: ReaderStats::create(root, name, &self.settings.name, clock).ok(),
            registered: self.settings.lossless,
            last_values: true,
            undecoded: true,
            kinds: Kinds::ALL,
            ..Join::default()
        };
        match Subscriber::try_join(root, name, join) {
            Ok(subscriber) => {
                let publication = Publication::read_by(&subscriber);
                let next = subscriber.next_sequence();
                let number = self
                    .recorder
                    .add(publication.clone(), next, &self.last, now());
                self.events.push_back(RunEvent::Recording { publication });
                let joined = &mut self.buses[bus];
                (joined.open, joined.waiting) = (Some((subscriber, number)), None);
            }
            Err(error) => {
                let (bus, reason) = (name.clone(), error.to_string());
                let joined = self.buses.iter_mut().find(|joined| joined.name == bus);
                let joined = joined.expect("it is the bus that was tried");
                if joined.waiting.as_ref() != Some(&reason) {
                    joined.waiting = Some(reason.clone());
                    self.events.push_back(RunEvent::Waiting { bus, reason });
                }
            }
        }
    }

    /// Records what a bus has, as long as the journal takes it.
    fn read(&mut self, bus: usize, now: Now) -> Result<usize, Refused> {
        let Recording {
            buses,
            recorder,
            events,
            ..
        } = self;
        let Joined { name, open, .. } = &mut buses[bus];
        let Some((subscriber, number)) = open else {
            return Ok(0);
        };
        let mut done = 0;
        while done < MESSAGES_MAX && !recorder.is_blocked() {
            let (mut is_restarted, mut is_caught_up, mut is_refused) = (false, false, false);
            let mut taken = Ok(());
            let polled = subscriber.poll(|item| {
                if let Item::SubscriptionEvent(event) = &item {
                    is_restarted = matches!(event, SubscriptionEvent::Restarted { .. });
                    is_caught_up = *event == SubscriptionEvent::CaughtUp;
                    is_refused = *event == SubscriptionEvent::Refused;
                    events.extend(reported(name, event));
                }
                taken = recorder.item(*number, &item, now);
            });
            taken?;
            if is_restarted {
                recorder.restarted(*number, subscriber, now)?;
                let publication = Publication::read_by(subscriber);
                events.push_back(RunEvent::Recording { publication });
            }
            if let (true, Some(refusal)) = (is_refused, subscriber.refusal()) {
                let (bus, reason) = (name.clone(), refusal.to_string());
                events.push_back(RunEvent::Waiting { bus, reason });
            }
            // A bus may never be idle.
            let is_round = polled == Polled::Given(()) && done + 1 == MESSAGES_MAX;
            if is_caught_up || is_round && subscriber.has_caught_up() {
                recorder.caught_up(*number, subscriber.next_sequence(), now)?;
            }
            match polled {
                Polled::Given(()) => done += 1,
                Polled::Passed(passed) => done += passed.max(1),
                Polled::Nothing => break,
            }
        }
        Ok(done)
    }

    fn show(&mut self) {
        let open = self.buses.iter().filter_map(|bus| bus.open.as_ref());
        let (lag_bytes, buses) = open.fold((0, 0), |(lag, buses), (bus, _)| {
            (lag + bus.lag_bytes(), buses + 1)
        });
        let counters = self.recorder.counters();
        (counters.record_lag_bytes, counters.record_buses) = (lag_bytes, buses);
        let counters = *counters;
        let shown = self.upkeep.show(self.recorder.journal(), counters);
        *self.recorder.counters() = shown;
    }
}

fn now() -> Now {
    Now {
        wall_ns: wall_ns(),
        ticks: ticks(),
    }
}

fn reported(bus: &str, event: &SubscriptionEvent) -> Option<RunEvent> {
    let bus = bus.to_owned();
    match *event {
        SubscriptionEvent::Overrun { messages, .. } => Some(RunEvent::Overrun { bus, messages }),
        SubscriptionEvent::PublisherGone
        | SubscriptionEvent::PublisherStalled
        | SubscriptionEvent::Damaged
        | SubscriptionEvent::Incompatible { .. }
        | SubscriptionEvent::Refused => {
            let is_live = false;
            Some(RunEvent::Source { bus, is_live })
        }
        SubscriptionEvent::PublisherResumed => {
            let is_live = true;
            Some(RunEvent::Source { bus, is_live })
        }
        SubscriptionEvent::NotWaitedFor => Some(RunEvent::NotWaitedFor { bus }),
        _ => None,
    }
}

/// Writes the index of the last segments, which the thread may not have seen. A disk that stands still is not waited for: without an index a
/// reader is slower, and the next start writes it.
fn index_within(directory: PathBuf, from: u64, wait: Duration) {
    let (sender, written) = channel();
    let body = move || {
        let _ = index_segments(&directory, from);
        let _ = sender.send(());
    };
    let thread = std::thread::Builder::new().name("index".to_owned());
    if thread.spawn(body).is_ok() {
        let _ = written.recv_timeout(wait);
    }
}
