//! A running sending link.

use super::origin::{Origin, Search};
use super::{Clocks, RunError, RunEvent, SendSettings, Work};
use crate::head::Epoch;
use crate::link::SendLink;
use crate::sender::{Now, Sender, SenderSettings};
use std::collections::VecDeque;
use touchline_transport::SubscriptionEvent;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::market::{EVENT_ORDERS_MAX, Item, Join, Kinds};
use touchline_transport::shm::{FineClock, Polled, ProcessStats, ReaderStats, Subscriber};

/// A sending link and its bus.
pub struct Sending<L> {
    settings: SendSettings,
    link: L,
    bus: Option<(Subscriber, Sender)>,
    search: Search,
    /// The bus was restarted, and the origin of its data is not known yet.
    is_origin_due: bool,
    /// Counters file; `None` if another user owns the buses.
    stats: Option<ProcessStats>,
    clocks: Clocks,
    ns_per_tick: f64,
    next_try_ns: u64,
    next_tick_ns: u64,
    shown_ns: u64,
    waiting: Option<String>,
    pressure: Pressure,
    /// Rejected requests of receivers at the last look.
    refused: u64,
    events: VecDeque<RunEvent>,
}

/// Messages of the bus in one round. An embedded Aeron driver sends after them: with 256, a burst of 512 takes 9 % longer to arrive.
/// A smaller limit needs more writes over TCP.
const MESSAGES_MAX: usize = 128;
const TRY_NS: u64 = 250_000_000;
const TICK_NS: u64 = 1_000_000;
const SHOW_NS: u64 = 100_000_000;

impl<L: SendLink> Sending<L> {
    /// A link that sends as soon as the bus exists. Takes 20 ms to calibrate the clock.
    ///
    /// # Errors
    /// Another process has its name of counters.
    pub fn new(settings: SendSettings, link: L) -> Result<Sending<L>, RunError> {
        let table = crate::SenderCounters::TABLE;
        let (root, name) = (&settings.root, &settings.name);
        let stats = match root.is_own().map_err(|error| RunError::Bus(error.into()))? {
            true => Some(ProcessStats::create(root, name, 1.0, table, [])?),
            false => None,
        };
        Ok(Sending {
            settings,
            link,
            bus: None,
            search: Search::default(),
            is_origin_due: false,
            stats,
            clocks: Clocks::new(),
            ns_per_tick: Clock::calibrated().ns_per_tick(),
            next_try_ns: 0,
            next_tick_ns: 0,
            shown_ns: 0,
            waiting: None,
            pressure: Pressure::default(),
            refused: 0,
            events: VecDeque::with_capacity(64),
        })
    }

    /// The carrier.
    pub fn link(&self) -> &L {
        &self.link
    }

    fn join(&mut self, now: Now) -> Result<(), RunError> {
        if now.mono_ns < self.next_try_ns {
            return Ok(());
        }
        self.next_try_ns = now.mono_ns + TRY_NS;
        let SendSettings { root, bus, .. } = &self.settings;
        // Registered among the readers of the bus, with its lag; if the name is taken, the link runs without
        // registration.
        let clock = FineClock {
            ticks,
            ns_per_tick: self.ns_per_tick,
        };
        let reader_stats = ReaderStats::create(root, bus, &self.settings.name, clock).ok();
        let join = Join {
            reader_stats,
            last_values: true,
            undecoded: true,
            kinds: Kinds::BOOKS | Kinds::ORDERS | Kinds::TRADES | Kinds::STATISTICS | Kinds::STATUS,
            ..Join::default()
        };
        let subscriber = match Subscriber::join(root, bus, join) {
            Ok(subscriber) => subscriber,
            Err(error) => {
                self.wait(error.to_string());
                return Ok(());
            }
        };
        let origin = self.search.origin(&self.settings, &subscriber, now.mono_ns);
        let (source, hops) = match origin? {
            Origin::Known(source, hops) => (source, hops),
            Origin::Unknown(reason) => {
                self.wait(reason.to_owned());
                return Ok(());
            }
        };
        let settings = SenderSettings {
            source,
            hops,
            instruments_max: subscriber.instruments_max(),
            orders_max: orders_max(&subscriber),
            batch_bytes_max: self.settings.batch_bytes_max,
            heartbeat_ns: self.settings.heartbeat_ns,
            cyclic: self.settings.cyclic,
        };
        let epoch = Epoch::starting_at(touchline_transport::clock::wall_ns());
        self.events.push_back(RunEvent::Sending { epoch });
        self.bus = Some((subscriber, Sender::new(settings, epoch)));
        self.waiting = None;
        Ok(())
    }

    /// The bus cannot be sent yet.
    fn wait(&mut self, reason: String) {
        if self.waiting.as_ref() != Some(&reason) {
            self.waiting = Some(reason.clone());
            self.events.push_back(RunEvent::Waiting { reason });
        }
    }

    /// After a restart the data of the bus may be of another origin; the link sends none of it before it knows which.
    fn continue_stream(&mut self, now: Now) -> Result<(), RunError> {
        let Some((subscriber, sender)) = &mut self.bus else {
            return Ok(());
        };
        if !self.is_origin_due || now.mono_ns < self.next_try_ns {
            return Ok(());
        }
        self.next_try_ns = now.mono_ns + TRY_NS;
        let origin = self.search.origin(&self.settings, subscriber, now.mono_ns);
        match origin? {
            Origin::Unknown(reason) => self.wait(reason.to_owned()),
            Origin::Known(source, hops) => {
                let limits = (subscriber.instruments_max(), orders_max(subscriber));
                sender.continue_with(source, hops, limits);
                let epoch = sender.epoch();
                self.events.push_back(RunEvent::Sending { epoch });
                self.is_origin_due = false;
                self.waiting = None;
            }
        }
        Ok(())
    }

    /// Sends available messages of the bus.
    fn send(&mut self, now: Now) -> usize {
        let Sending {
            bus, link, events, ..
        } = self;
        let Some((subscriber, sender)) = bus.as_mut().filter(|_| !self.is_origin_due) else {
            return 0;
        };
        let mut messages = 0;
        let mut is_restarted = false;
        let mut is_refused = false;
        let mut is_at_end = false;
        while messages < MESSAGES_MAX && !sender.is_blocked() && !is_restarted {
            let polled = subscriber.poll(|item| {
                let was_down = sender.is_source_down();
                sender.item(&item, now, link);
                if let Item::SubscriptionEvent(event) = &item {
                    is_restarted |= matches!(event, SubscriptionEvent::Restarted { .. });
                    is_refused |= *event == SubscriptionEvent::Refused;
                    events.extend(reported(event));
                    // Several events may say of one publisher that it is gone.
                    if sender.is_source_down() != was_down {
                        let is_live = was_down;
                        events.push_back(RunEvent::SourceState { is_live });
                    }
                }
            });
            match polled {
                Polled::Given(()) => messages += 1,
                Polled::Passed(passed) => messages += passed.max(1),
                Polled::Nothing => {
                    is_at_end = true;
                    break;
                }
            }
        }
        if messages > 0 || sender.is_blocked() {
            sender.flush(now, link);
        }
        if is_at_end {
            sender.answer(now, link);
        }
        if is_restarted {
            // mutant: relay: a restarted bus keeps the origin of the one before
            self.is_origin_due = true;
            self.next_try_ns = now.mono_ns;
        }
        if let (true, Some(refusal)) = (is_refused, subscriber.refusal()) {
            let reason = refusal.to_string();
            events.push_back(RunEvent::Waiting { reason });
        }
        messages
    }

    fn show(&mut self, now: Now) {
        if now.mono_ns.saturating_sub(self.shown_ns) < SHOW_NS {
            return;
        }
        self.shown_ns = now.mono_ns;
        let Some((subscriber, sender)) = &mut self.bus else {
            if let Some(stats) = &mut self.stats {
                stats.counters_file().show([]);
            }
            return;
        };
        let counters = sender.counters();
        counters.relay_clock_steps = self.clocks.steps;
        counters.relay_lag_bytes = subscriber.lag_bytes();
        self.link.count(counters);
        if let Some(stats) = &mut self.stats {
            stats.counters_file().show(counters.counts());
        }
        let refused = counters.relay_requests_invalid;
        let batches = refused - std::mem::replace(&mut self.refused, refused);
        if batches > 0 {
            let reason = "malformed request";
            self.events.push_back(RunEvent::Refused { batches, reason });
        }
    }
}

impl<L: SendLink> Work for Sending<L> {
    fn work(&mut self) -> Result<usize, RunError> {
        let now = self.clocks.now();
        if self.bus.is_none() {
            self.join(now)?;
        }
        self.continue_stream(now)?;
        let mut work = self.send(now) + self.link.work(now.mono_ns);
        if let Some((_, sender)) = &mut self.bus
            && !self.is_origin_due
            && (now.mono_ns >= self.next_tick_ns || work == 0)
        {
            self.next_tick_ns = now.mono_ns + TICK_NS;
            work += sender.tick(now, &mut self.link);
        }
        if let Some((subscriber, sender)) = &mut self.bus
            && self.pressure.begins(sender.is_blocked(), now.mono_ns)
        {
            let lag_bytes = subscriber.lag_bytes();
            self.events.push_back(RunEvent::BackPressure { lag_bytes });
        }
        if let Some(reason) = self.link.failed() {
            return Err(RunError::Link(reason));
        }
        self.show(now);
        Ok(work)
    }

    fn event(&mut self) -> Option<RunEvent> {
        let event = self.events.pop_front().or_else(|| self.clocks.event());
        let event = event.or_else(|| self.link.event().map(RunEvent::Receiver));
        event.or_else(|| self.link.carrier_event().map(RunEvent::Carrier))
    }

    fn finish(self: Box<Self>) {
        if let Some(stats) = self.stats {
            stats.finish();
        }
    }
}

/// Most orders of a bus; those of one event, without order tables.
fn orders_max(subscriber: &Subscriber) -> usize {
    subscriber.orders_max() + EVENT_ORDERS_MAX
}

/// Time for which the link is full.
#[derive(Debug, Default)]
struct Pressure {
    since_ns: Option<u64>,
    is_told: bool,
}

/// Time after which a full link is reported: a burst fills it for less.
const FULL_NS: u64 = 1_000_000_000;

impl Pressure {
    /// Whether the link has now been full for [`FULL_NS`]; once until it has room again.
    fn begins(&mut self, is_full: bool, now_ns: u64) -> bool {
        if !is_full {
            *self = Pressure::default();
            return false;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        let is_due = now_ns.saturating_sub(since_ns) >= FULL_NS;
        is_due && !std::mem::replace(&mut self.is_told, is_due)
    }
}

fn reported(event: &SubscriptionEvent) -> Option<RunEvent> {
    match *event {
        SubscriptionEvent::Overrun { messages, .. } => Some(RunEvent::Overrun { messages }),
        _ => None,
    }
}
