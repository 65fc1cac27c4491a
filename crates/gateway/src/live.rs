//! The live gateway: one thread, one loop, from the sockets to the bus.
//!
//! [`Gateway::do_work`] is one round: a packet through the path, if there is one, and due timers. It returns the amount
//! of work; the caller decides the cost of an idle round.

mod affinity;
mod client_link;
mod counters;
mod feed_link;
mod liveness;
mod multicast;
mod tap;

use crate::config::Duty;
use crate::host_time::Clocks;
use crate::incident::{Incident, IncidentSender};
use crate::{CountersFile, Pipeline};
use liveness::Liveness;
use std::time::Duration;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::market::BookHealth;
use touchline_transport::shm::Activity;
use touchline_transport::{Publish, boot_ns};
use touchline_types::{CounterInfo, Timestamps};

pub use affinity::{NotBound, bind_to};
pub use client_link::{ClientLink, ClientLinkCounters, Dial, Host, Phase};
pub use counters::{LiveCounters, OF_A_LIVE_GATEWAY};
pub use feed_link::{Error, FeedLink, Work};
pub use liveness::Pause;
pub use multicast::{Multicast, MulticastCounters};
pub use tap::{Tap, TappedBytes};

/// A running gateway.
#[derive(Debug)]
pub struct Gateway<L: FeedLink, P> {
    link: L,
    pipeline: Pipeline<L::Feed, P>,
    counters_file: Option<CountersFile>,
    incidents: Option<IncidentSender>,
    clocks: Clocks,
    timers: Timers,
    liveness: Liveness,
    counters: LiveCounters,
}

/// Maximum duration of an idle round without its sleep; a longer one means that the process was
/// stopped.
const ROUND_MAX: Duration = Duration::from_millis(1);

/// Interval of checks of the bus's files. A second gateway is refused while this one lives; a gateway
/// whose files were removed must end soon.
const INTACT_EVERY: Duration = Duration::from_millis(250);

/// Due times, in ticks.
#[derive(Debug)]
struct Timers {
    control: Every,
    intact: Every,
    heartbeat: Every,
    /// An instrument's data is read, if it is kept warm.
    warm: Option<Every>,
    /// Messages published at the last heartbeat check.
    published: u64,
}

/// A periodic timer.
#[derive(Debug)]
struct Every {
    ticks: u64,
    due: u64,
}

impl Every {
    fn new(period: Duration, clock: &Clock, now: u64) -> Every {
        let ticks = clock.ticks_of(period).max(1);
        Every {
            ticks,
            due: now.wrapping_add(ticks),
        }
    }

    #[inline]
    fn is_due(&self, now: u64) -> bool {
        now >= self.due
    }

    /// Restarts the period: missed ones are skipped.
    fn restart(&mut self, now: u64) {
        self.due = now.wrapping_add(self.ticks);
    }
}

impl<L: FeedLink, P: Publish> Gateway<L, P> {
    /// A gateway before its first packet. `clock` is that of the counters file.
    pub fn new(
        link: L,
        mut pipeline: Pipeline<L::Feed, P>,
        counters_file: Option<CountersFile>,
        clock: Clock,
        duty: &Duty,
    ) -> Gateway<L, P> {
        pipeline.set_keep_warm(duty.warm_every().is_some());
        Gateway {
            link,
            pipeline,
            counters_file,
            incidents: None,
            clocks: Clocks::new(clock, ROUND_MAX + duty.loop_sleep),
            timers: Timers::new(duty, &clock),
            liveness: Liveness::new(duty, boot_ns()),
            counters: LiveCounters::default(),
        }
    }

    /// Sends incidents to a log.
    pub fn report_to(&mut self, incidents: IncidentSender) {
        self.incidents = Some(incidents);
    }

    /// Counters of such a gateway beside those of the path.
    pub fn tables() -> impl Iterator<Item = &'static CounterInfo> {
        let link = L::TABLES.iter().copied().flatten();
        LiveCounters::TABLE.iter().chain(link)
    }

    /// One round: at most one packet, and due timers. Returns the amount of work.
    ///
    /// # Errors
    /// The link failed, or the bus can no longer be written.
    #[inline]
    pub fn do_work(&mut self) -> Result<usize, Error> {
        let work = self.receive()?;
        self.end_round(ticks(), boot_ns, work)?;
        Ok(work)
    }

    /// Ends a round at this tick: its duration, and due timers. `boot_ns` reads the host's clock.
    #[inline]
    fn end_round(
        &mut self,
        now: u64,
        boot_ns: impl FnOnce() -> u64,
        work: usize,
    ) -> Result<(), Error> {
        self.clocks.pass(now, work > 0);
        if self.timers.control.is_due(now) {
            self.run_timers(now, boot_ns(), work == 0)?;
        }
        if let (0, Some(warm)) = (work, &mut self.timers.warm)
            && warm.is_due(now)
        {
            warm.restart(now);
            self.pipeline.warm();
        }
        Ok(())
    }

    /// Takes a packet through the path.
    #[inline]
    fn receive(&mut self) -> Result<usize, Error> {
        match self.link.receive(&mut self.pipeline, &self.clocks)? {
            Work::None => {
                self.counters.rounds_idle += 1;
                return Ok(0);
            }
            Work::Done => {}
            Work::Packet {
                polled,
                waited_ns,
                is_latest,
            } => {
                if self.liveness.pause().is_some() {
                    self.note_processed(polled, waited_ns, is_latest);
                }
                if let Some(counters_file) = &mut self.counters_file {
                    counters_file.packet(&self.pipeline.latency_trace(polled, ticks(), waited_ns));
                }
            }
        }
        self.counters.rounds_busy += 1;
        Ok(1)
    }

    /// After a pause: a packet was processed in sequence, which tells how much of the backlog is.
    #[cold]
    fn note_processed(&mut self, polled: u64, waited_ns: Option<u64>, is_latest: bool) {
        let now_ns = boot_ns();
        let since_ns = self.clocks.clock().between_ns(polled, ticks());
        let polled_ns = now_ns.saturating_sub(since_ns);
        let arrived_ns = liveness::arrived_ns(polled_ns, waited_ns, is_latest);
        self.liveness.processed(now_ns, arrived_ns);
    }

    /// Runs due timers; each part is short.
    #[cold]
    fn run_timers(&mut self, now: u64, boot_ns: u64, is_empty: bool) -> Result<(), Error> {
        self.record_timer(now);
        if let Some(step_ns) = self.clocks.set(now) {
            self.wall_stepped(step_ns);
        }
        let dropped = self.counters.packets_dropped_kernel;
        let has_paused = self.liveness.tick(boot_ns, dropped, is_empty);
        self.counters.stalls += u64::from(has_paused);
        // While sockets or rings hold packets, an awaited packet may be among them, and the timeout of the channel does not apply. After a
        // pause this round may have found them empty before the pause.
        let is_drained = |pause: &Pause| pause.is_drained;
        if is_empty && self.liveness.pause().is_none_or(is_drained) {
            // mutant: gateway: a live channel is not checked for silence
            self.pipeline.advance_at(self.clocks.now(now).time);
        }
        self.link.control(&mut self.pipeline, self.clocks.now(now));
        self.report();
        self.send_heartbeat(now);
        self.state_activity(boot_ns, has_paused);
        if self.timers.intact.is_due(now) {
            self.timers.intact.restart(now);
            self.pipeline.publisher_mut().check()?;
            self.counters_file
                .as_ref()
                .map_or(Ok(()), CountersFile::check)?;
        }
        if self
            .counters_file
            .as_ref()
            .is_some_and(|counters_file| counters_file.is_due(now))
        {
            self.show(now);
        }
        Ok(())
    }

    /// The wall clock was set, in the times from now on.
    #[cold]
    fn wall_stepped(&mut self, step_ns: i64) {
        self.counters.wall_clock_steps += 1;
        self.pipeline.wall_stepped(step_ns);
        if let Some(log) = &self.incidents {
            log.send(Incident::ClockStepped { step_ns });
        }
    }

    /// Passes incidents since the last timer to the log.
    fn report(&mut self) {
        let gaps = self.pipeline.take_gaps().map(Incident::Gap);
        let joined = self.pipeline.take_missed();
        let joined = joined.map(|missed| Incident::Joined { missed });
        let happened = joined
            .into_iter()
            .chain(gaps)
            .chain(self.link.take_incident());
        if let Some(log) = &self.incidents {
            happened.for_each(|incident| log.send(incident));
        }
    }

    fn record_timer(&mut self, now: u64) {
        let late_ns = self.clocks.clock().between_ns(self.timers.control.due, now);
        let latest = &mut self.counters.timer_late_ns_max;
        *latest = late_ns.max(*latest);
        self.counters.timers += 1;
        self.timers.control.restart(now);
    }

    /// Publishes a heartbeat, so that subscribers can distinguish a quiet venue from an ended
    /// gateway.
    fn send_heartbeat(&mut self, now: u64) {
        let published = self.messages_published();
        if published != self.timers.published {
            self.timers.published = published;
            self.timers.heartbeat.restart(now);
        } else if self.timers.heartbeat.is_due(now) {
            let timestamps = Timestamps {
                published: now,
                ..Timestamps::default()
            };
            self.pipeline.publisher_mut().heartbeat(&timestamps);
            self.counters.heartbeats += 1;
            self.timers.published = self.messages_published();
            self.timers.heartbeat.restart(now);
        }
    }

    /// States that the bus is current; after a pause of the duty cycle, only once it has caught up.
    fn state_activity(&mut self, now_ns: u64, has_paused: bool) {
        if let Some(pause) = self.liveness.pause()
            && self.link.is_caught_up(pause)
        {
            self.liveness.caught_up();
        }
        let timeout_ns = self.liveness.timeout_ns();
        let at_ns = match self.liveness.pause() {
            None => now_ns,
            // The earlier statement is withdrawn, however short the pause was.
            Some(_) if has_paused => now_ns.saturating_sub(timeout_ns + 1).max(1),
            Some(_) => return,
        };
        let activity = Activity { at_ns, timeout_ns };
        self.pipeline.publisher_mut().state_activity(activity);
    }

    fn messages_published(&self) -> u64 {
        let counters = self.pipeline.publisher().counters();
        counters.map_or(0, |counters| counters.messages_published)
    }

    fn show(&mut self, now: u64) {
        self.count();
        if let Some(counters_file) = &mut self.counters_file {
            let more = self.counters.counts().chain(self.link.counted());
            counters_file.show(now, &self.pipeline, more);
        }
    }

    /// Collects the counters of all parts.
    fn count(&mut self) {
        let totals = self.link.tally();
        let book_health = match self.liveness.pause() {
            None => self.pipeline.book_health(),
            Some(_) => BookHealth {
                known: self.pipeline.book_health().known,
                ..BookHealth::default()
            },
        };
        self.counters = LiveCounters {
            packets_received: totals.packets,
            bytes_received: totals.bytes,
            packets_dropped_kernel: totals.dropped_kernel,
            packets_foreign: totals.foreign_source,
            packets_truncated: totals.truncated,
            packets_without_timestamp: totals.timestamps_missing,
            timestamps_implausible: totals.timestamps_implausible,
            timestamps_raised: totals.timestamps_raised,
            receive_errors: totals.receive_errors,
            packets_damaged: totals.damaged,
            xdp_no_frame: totals.ring_empty,
            xdp_detached: u64::from(totals.is_detached),
            xdp_by_sockets: totals.by_sockets,
            groups_lost: totals.groups_lost,
            groups_rejoined: totals.groups_rejoined,
            books_known: book_health.known,
            books_live: book_health.live,
            order_books_live: book_health.orders_live,
            ready: u64::from(book_health.ready),
            ..self.counters
        };
    }

    /// Logs out of the venue if there is a session; false while it is not finished.
    pub fn log_out(&mut self) -> bool {
        let now = ticks();
        self.link.log_out(&mut self.pipeline, self.clocks.now(now))
    }

    /// Ends the gateway: buffered packets are released, and the last counters written.
    pub fn finish(&mut self) {
        self.pipeline.finish();
        self.report();
        self.show(ticks());
    }

    /// The path.
    pub fn pipeline(&self) -> &Pipeline<L::Feed, P> {
        &self.pipeline
    }

    /// Counters at the last write.
    pub fn counters(&self) -> &LiveCounters {
        &self.counters
    }
}

impl Timers {
    fn new(duty: &Duty, clock: &Clock) -> Timers {
        let now = ticks();
        let every = |period| Every::new(period, clock, now);
        Timers {
            control: every(duty.loop_timer_freq),
            intact: every(INTACT_EVERY),
            heartbeat: every(Duration::from_millis(duty.heartbeat_ms)),
            warm: duty.warm_every().map(every),
            published: 0,
        }
    }
}

#[cfg(test)]
mod tests;
