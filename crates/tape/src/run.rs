//! A running recorder: buses, recorder and journal in one duty cycle, stepped by the caller.

use crate::counters::RecorderCounters;
use crate::last_run::LastRun;
use crate::publication::Publication;
use crate::recorder::{Now, Recorder, Settings};
use crate::retention::Retention;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use touchline_journal::{Journal, Options, Refused, WriterLock};
use touchline_transport::SubscriptionEvent;
use touchline_transport::boot_ns;
use touchline_transport::clock::{Clock, ticks, wall_ns};
use touchline_transport::market::{Item, Join, Kinds};
use touchline_transport::shm::{
    Error as BusError, FineClock, Polled, ProcessStats, ReaderStats, Root, SegmentError, Subscriber,
};

/// Folder of the tails, beside the buses. Names that start with a period are not listed as buses.
const TAILS: &str = ".tapes";
/// Messages of a bus in one round.
const MESSAGES_MAX: usize = 1_024;
const TRY_NS: u64 = 250_000_000;
const SHOW_NS: u64 = 100_000_000;
const TICK_NS: u64 = 1_000_000_000;
/// Interval of looks for old segments.
const RETAIN_NS: u64 = 60_000_000_000;
/// Longest time that a message waits for further ones of its record.
const FLUSH_NS: u64 = 1_000_000;

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
}

/// Why a recorder ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The journal cannot be opened: among others, it is damaged, or another process writes it.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// A file in shared memory.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The name of the recorder, or the place of its tail.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// A write or a sync of the disk failed: records after the durable position may be lost.
    #[error(
        "{}: {refused}; the tape is complete up to position {durable}: start the recorder again when the disk can be written", directory.display()
    )]
    Failed {
        /// Directory of the tape.
        directory: PathBuf,
        /// The refusal.
        refused: Refused,
        /// Position up to which the tape is on the disk.
        durable: u64,
    },
}

/// Event for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A bus cannot be joined yet.
    Waiting {
        /// The bus.
        bus: String,
        /// Reason.
        reason: String,
    },
    /// A bus is recorded from now on.
    Recording {
        /// The publication that is recorded.
        publication: Publication,
    },
    /// The publisher of a bus has overrun the recorder.
    Overrun {
        /// The bus.
        bus: String,
        /// Messages lost.
        messages: u64,
    },
    /// The publisher of a bus has ended or is stalled, or works again.
    Source {
        /// The bus.
        bus: String,
        /// Whether it works.
        is_live: bool,
    },
    /// The oldest segments cannot be removed.
    NotRemoved {
        /// Reason.
        reason: String,
    },
    /// The journal takes no record: the disk is behind or full; or it takes them again.
    Disk {
        /// Whether it takes records.
        takes: bool,
        /// Error of the system for the next segment, 0: none.
        errno: u64,
    },
}

/// A running recorder.
pub struct Recording {
    settings: RunSettings,
    recorder: Recorder,
    last: LastRun,
    buses: Vec<Joined>,
    stats: Option<ProcessStats>,
    ns_per_tick: f64,
    events: VecDeque<RunEvent>,
    next_try_ns: u64,
    next_show_ns: u64,
    next_tick_ns: u64,
    next_flush_ns: u64,
    blocked_since_ns: Option<u64>,
    is_disk_told: bool,
    retained_segment: u64,
    retaining: Option<JoinHandle<Result<u64, touchline_journal::Error>>>,
    _tail: WriterLock,
}

/// A bus and its subscription.
struct Joined {
    name: String,
    waiting: Option<String>,
    open: Option<(Subscriber, usize)>,
}

/// Longest time in which a recorder that ends waits for its disk, and its pause meanwhile.
const CLOSE_NS: u64 = 10_000_000_000;
const PAUSE: Duration = Duration::from_millis(1);
/// Time without a taken record after which the disk is reported.
const DISK_NS: u64 = 1_000_000_000;

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
        root.make_root()?;
        let tails = Root::at(root.path().join(TAILS));
        let tail = WriterLock::acquire(tails.create(name)?)?;
        let now = now();
        let journal = Journal::open(directory, &tail, &settings.journal, now.wall_ns)?;
        // After the start, which appends the records that only the shared memory had.
        let last = LastRun::read(directory)?;
        let table = RecorderCounters::TABLE;
        let stats = ProcessStats::create(root, name, 1.0, table, [])?;
        let joined = |name: &String| Joined {
            name: name.clone(),
            waiting: None,
            open: None,
        };
        Ok(Recording {
            recorder: Recorder::new(journal, settings.recorder, &last, now),
            last,
            buses: settings.buses.iter().map(joined).collect(),
            stats: Some(stats),
            ns_per_tick: Clock::calibrated().ns_per_tick(),
            events: VecDeque::new(),
            next_try_ns: 0,
            next_show_ns: 0,
            next_tick_ns: 0,
            next_flush_ns: 0,
            blocked_since_ns: None,
            is_disk_told: false,
            retained_segment: 0,
            retaining: None,
            _tail: tail,
            settings,
        })
    }

    /// One round of the duty cycle; returns the amount of work, so that the caller idles after a round without work.
    ///
    /// # Errors
    /// The journal has failed.
    pub fn work(&mut self) -> Result<usize, RunError> {
        let done = self.round();
        done.map_err(|refused| RunError::Failed {
            directory: self.settings.directory.clone(),
            refused,
            durable: self.recorder.journal().durable(),
        })
    }

    /// The next event for the log.
    pub fn event(&mut self) -> Option<RunEvent> {
        self.events.pop_front()
    }

    /// Counters.
    pub fn counters(&mut self) -> &RecorderCounters {
        self.recorder.counters()
    }

    /// Ends the tape: its end is on the disk when this returns.
    ///
    /// # Errors
    /// The journal had failed, or fails at this.
    pub fn close(mut self) -> Result<RecorderCounters, RunError> {
        // A slow disk has some time to take what waits.
        let until_ns = boot_ns() + CLOSE_NS;
        while self.recorder.is_blocked() && boot_ns() < until_ns {
            self.work()?;
            std::thread::sleep(PAUSE);
        }
        self.show();
        let RunSettings { directory, .. } = &self.settings;
        let durable = self.recorder.journal().durable();
        let closed = self.recorder.close(now());
        closed.map_err(|refused| RunError::Failed {
            directory: directory.clone(),
            refused,
            durable,
        })
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
            self.retain(now);
        }
        self.look_at_disk(at_ns);
        if at_ns >= self.next_show_ns {
            self.next_show_ns = at_ns + SHOW_NS;
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
            let mut is_restarted = false;
            let mut taken = Ok(());
            let polled = subscriber.poll(|item| {
                if let Item::SubscriptionEvent(event) = &item {
                    is_restarted = matches!(event, SubscriptionEvent::Restarted { .. });
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
            match polled {
                Polled::Given(()) => done += 1,
                Polled::Passed(passed) => done += passed.max(1),
                Polled::Nothing => break,
            }
        }
        Ok(done)
    }

    /// Applies the limits of the tape after each new segment, and each minute for its age: in a thread, since it waits for the disk.
    fn retain(&mut self, now: Now) {
        if let Some(done) = self.retaining.take_if(|retaining| retaining.is_finished()) {
            match done.join().expect("it does not panic") {
                Ok(removed) => self.recorder.counters().record_segments_removed += removed,
                Err(error) => self.events.push_back(RunEvent::NotRemoved {
                    reason: error.to_string(),
                }),
            }
        }
        let place = self.recorder.journal().segment() ^ (now.wall_ns / RETAIN_NS) << 32;
        let is_due = place != self.retained_segment && self.retaining.is_none();
        if !is_due || self.settings.retention == Retention::default() {
            return;
        }
        self.retained_segment = place;
        let (directory, retention) = (self.settings.directory.clone(), self.settings.retention);
        let apply = move || retention.apply(&directory, now.wall_ns);
        let thread = std::thread::Builder::new().name("retention".to_owned());
        match thread.spawn(apply) {
            Ok(retaining) => self.retaining = Some(retaining),
            Err(error) => self.events.push_back(RunEvent::NotRemoved {
                reason: error.to_string(),
            }),
        }
    }

    /// Notices a journal that takes no record for a second.
    fn look_at_disk(&mut self, at_ns: u64) {
        if !self.recorder.is_blocked() {
            self.blocked_since_ns = None;
            if std::mem::take(&mut self.is_disk_told) {
                let (takes, errno) = (true, 0);
                self.events.push_back(RunEvent::Disk { takes, errno });
            }
            return;
        }
        let since_ns = *self.blocked_since_ns.get_or_insert(at_ns);
        if at_ns - since_ns >= DISK_NS && !std::mem::replace(&mut self.is_disk_told, true) {
            let (takes, errno) = (false, self.recorder.journal().alarm());
            self.events.push_back(RunEvent::Disk { takes, errno });
        }
    }

    fn show(&mut self) {
        let open = self.buses.iter().filter_map(|bus| bus.open.as_ref());
        let (lag_bytes, buses) = open.fold((0, 0), |(lag, buses), (bus, _)| {
            (lag + bus.lag_bytes(), buses + 1)
        });
        let journal = self.recorder.journal();
        let (position, durable) = (journal.position(), journal.durable());
        let (segment, errno) = (journal.segment(), journal.alarm());
        let counters = self.recorder.counters();
        counters.record_lag_bytes = lag_bytes;
        counters.record_buses = buses;
        (counters.record_position, counters.record_durable) = (position, durable);
        (counters.record_segment, counters.record_disk_errno) = (segment, errno);
        if let Some(stats) = &mut self.stats {
            stats.counters_file().show(counters.counts());
        }
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
        | SubscriptionEvent::Incompatible { .. } => {
            let is_live = false;
            Some(RunEvent::Source { bus, is_live })
        }
        SubscriptionEvent::PublisherResumed => {
            let is_live = true;
            Some(RunEvent::Source { bus, is_live })
        }
        _ => None,
    }
}
