//! A running receiving link.

use super::{Clocks, RunError, RunEvent, Work};
use crate::ReceiverCounters;
use crate::head::{Epoch, HEAD_BYTES, Source};
use crate::link::{LinkEvent, ReceiveLink};
use crate::receiver::{Receiver, ReceiverSettings, Taken};
use crate::sender::Now;
use std::borrow::Cow;
use std::collections::VecDeque;
use touchline_transport::Publish;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::market::{Noted, PublishedStates};
use touchline_transport::shm::{
    Activity, CountersFile, Publisher, PublisherCounters, Root, Settings,
};

/// Settings of a receiving link.
#[derive(Clone, Debug)]
pub struct ReceiveSettings {
    /// Directory of the buses.
    pub root: Root,
    /// Bus to write.
    pub bus: String,
    /// Settings of the bus.
    pub publication: Settings,
    /// Settings of the receiver.
    pub receiver: ReceiverSettings,
}

/// A receiving link and its bus.
pub struct Receiving<L> {
    link: L,
    side: Side,
    clocks: Clocks,
    next_tick_ns: u64,
    checked_ns: u64,
    reported_ns: u64,
    events: VecDeque<RunEvent>,
    /// State at the last check, for the log.
    was_up: bool,
    was_complete: bool,
    stream: Option<(Source, Epoch)>,
    seen: ReceiverCounters,
    reason: Option<String>,
}

/// Receiver and bus.
struct Side {
    settings: ReceiveSettings,
    receiver: Receiver,
    publisher: Option<Publisher>,
    /// Published states of its books.
    states: PublishedStates,
    counters_file: Option<CountersFile>,
    clock: Clock,
    /// Reason why the bus could not be restarted.
    failed: Option<RunError>,
}

const TICK_NS: u64 = 1_000_000;
const LOOK_NS: u64 = 100_000_000;
/// Reason of a link that is down because books are old.
const LAGS: &str = "lag: books are older than lag_ms_max; the line is slower than the market, or the sending relay is";
/// Interval of reports to the sender.
const REPORT_NS: u64 = 500_000_000;

impl<L: ReceiveLink> Receiving<L> {
    /// Creates or takes over the bus; its books are stale until the link is up. Takes 20 ms to calibrate the clock.
    ///
    /// # Errors
    /// Another process writes the bus, for example.
    pub fn open(settings: ReceiveSettings, link: L) -> Result<Receiving<L>, RunError> {
        let mut side = Side {
            receiver: Receiver::new(settings.receiver.clone()),
            states: PublishedStates::new(settings.receiver.instruments_max),
            settings,
            publisher: None,
            counters_file: None,
            clock: Clock::calibrated(),
            failed: None,
        };
        side.open()?;
        if let Some((receiver, mut out)) = side.parts() {
            receiver.begin(&mut out);
        }
        Ok(Receiving {
            link,
            side,
            clocks: Clocks::new(),
            next_tick_ns: 0,
            checked_ns: 0,
            reported_ns: 0,
            events: VecDeque::with_capacity(64),
            was_up: false,
            was_complete: false,
            stream: None,
            seen: ReceiverCounters::default(),
            reason: None,
        })
    }

    fn tick(&mut self, now: Now) -> Result<(), RunError> {
        let timeout_ns = self.side.settings.receiver.link_timeout_ns;
        let Some((receiver, mut out)) = self.side.parts() else {
            return Ok(());
        };
        if let Some(request) = receiver.tick(now, &mut out) {
            let mut bytes = [0; HEAD_BYTES];
            request.write(&mut bytes);
            self.link.request(&bytes);
        }
        if let Some(probe) = receiver.probe(now) {
            let mut bytes = [0; HEAD_BYTES];
            probe.write(&mut bytes);
            self.link.probe(&bytes);
        }
        out.state_activity(Activity {
            at_ns: now.mono_ns,
            timeout_ns,
        });
        if now.mono_ns.saturating_sub(self.reported_ns) >= REPORT_NS
            && let Some(report) = receiver.report(now)
        {
            self.reported_ns = now.mono_ns;
            let mut bytes = [0; HEAD_BYTES];
            report.write(&mut bytes);
            self.link.report(&bytes);
        }
        if now.mono_ns.saturating_sub(self.checked_ns) >= LOOK_NS {
            self.checked_ns = now.mono_ns;
            out.check()?;
            self.look();
        }
        Ok(())
    }

    /// Updates counters, and reports changes since the last call.
    fn look(&mut self) {
        let counters = self.side.receiver.counters();
        counters.relay_clock_steps = self.clocks.steps;
        self.link.count(counters);
        self.side.show();
        let receiver = &mut self.side.receiver;
        if receiver.stream() != self.stream {
            self.stream = receiver.stream();
            if let Some((source, epoch)) = self.stream {
                self.events.push_back(RunEvent::Stream { source, epoch });
            }
        }
        let (is_up, is_complete) = (receiver.is_up(), receiver.has_everything());
        if std::mem::replace(&mut self.was_up, is_up) != is_up {
            let reason = match receiver.is_lagging() {
                true => Some(LAGS.into()),
                false => self.reason.take().map(Cow::Owned),
            };
            self.events.push_back(RunEvent::Link { is_up, reason });
        }
        if !std::mem::replace(&mut self.was_complete, is_complete) && is_complete {
            self.events.push_back(RunEvent::Recovered);
        }
        let counters = *receiver.counters();
        let seen = std::mem::replace(&mut self.seen, counters);
        let messages = counters.relay_lost.wrapping_sub(seen.relay_lost);
        if messages > 0 {
            self.events.push_back(RunEvent::Gap { messages });
        }
        for (now, before, reason) in [
            (
                counters.relay_refused_sources,
                seen.relay_refused_sources,
                "source",
            ),
            (counters.relay_refused_hops, seen.relay_refused_hops, "hops"),
            (
                counters.relay_refused_versions,
                seen.relay_refused_versions,
                "version",
            ),
            (counters.relay_malformed, seen.relay_malformed, "malformed"),
            (
                counters.relay_other_source,
                seen.relay_other_source,
                "second sender",
            ),
        ] {
            if now > before {
                let batches = now - before;
                self.events.push_back(RunEvent::Refused { batches, reason });
            }
        }
    }
}

impl<L: ReceiveLink> Work for Receiving<L> {
    fn work(&mut self) -> Result<usize, RunError> {
        let now = self.clocks.now();
        let side = &mut self.side;
        if let Some((receiver, mut out)) = side.parts() {
            // Before the batches: while this process was stopped, those that wait became old.
            receiver.judge(now, &mut out);
        }
        let (batches, event) = self
            .link
            .receive(now.mono_ns, &mut |bytes| side.take(bytes, now));
        if let Some(failed) = self.side.failed.take() {
            return Err(failed);
        }
        if let Some(reason) = self.link.failed() {
            return Err(RunError::Link(reason));
        }
        self.side.receiver.counters().relay_refused_sources += self.link.refused();
        if event == Some(LinkEvent::Connected) {
            self.side.receiver.connected();
        }
        if event == Some(LinkEvent::Disconnected) {
            if let Some((receiver, mut out)) = self.side.parts() {
                receiver.disconnected(&mut out);
            }
            let reason = self.link.last_error();
            if reason.is_some() && self.was_up || self.reason.is_none() {
                self.reason.clone_from(&reason);
                if !self.was_up {
                    self.events.push_back(RunEvent::Link {
                        is_up: false,
                        reason: reason.map(Cow::Owned),
                    });
                }
            }
        }
        if now.mono_ns >= self.next_tick_ns {
            self.next_tick_ns = now.mono_ns + TICK_NS;
            self.tick(now)?;
        }
        Ok(batches)
    }

    fn event(&mut self) -> Option<RunEvent> {
        let event = self.events.pop_front().or_else(|| self.clocks.event());
        event.or_else(|| self.link.carrier_event().map(RunEvent::Carrier))
    }

    /// Its counters are those of its bus, which stay after every end.
    fn finish(self: Box<Self>) {}
}

impl Side {
    /// Creates the bus and its counters file.
    fn open(&mut self) -> Result<(), RunError> {
        // The counters remain until the next ones are there: a relay that sends the bus on must not read the origin of the
        // stream before from them.
        self.receiver.forget_origin();
        self.show();
        // Only one process writes it at a time.
        self.counters_file = None;
        self.publisher = None;
        let ReceiveSettings {
            root,
            bus,
            publication,
            ..
        } = &self.settings;
        let publisher = Publisher::open(root, bus, publication)?;
        let tables = [ReceiverCounters::TABLE, PublisherCounters::TABLE];
        let tables = tables.into_iter().flatten();
        let ns_per_tick = self.clock.ns_per_tick();
        let file = CountersFile::create(publisher.lock(), ns_per_tick, tables, [])?;
        self.counters_file = Some(file);
        self.publisher = Some(publisher);
        self.states = PublishedStates::new(self.settings.receiver.instruments_max);
        self.show();
        Ok(())
    }

    /// The receiver, and the bus that it publishes to.
    #[inline]
    fn parts(&mut self) -> Option<(&mut Receiver, Noted<'_, Publisher>)> {
        let (states, publisher) = (&mut self.states, self.publisher.as_mut()?);
        Some((&mut self.receiver, Noted { states, publisher }))
    }

    fn show(&mut self) {
        let is_defined = self.receiver.is_up() && self.receiver.has_everything();
        let books = self.states.book_health(self.states.defined(), is_defined);
        let counters = self.receiver.counters();
        counters.books_known = books.known;
        counters.books_live = books.live;
        counters.order_books_live = books.orders_live;
        counters.ready = u64::from(books.ready);
        if let (Some(file), Some(publisher)) = (&mut self.counters_file, &self.publisher) {
            let counters = self.receiver.counters().counts();
            file.show(counters.chain(publisher.counters().counts()));
        }
    }

    /// Processes a batch; `false` closes the connection.
    #[inline]
    fn take(&mut self, bytes: &[u8], now: Now) -> bool {
        // The second time the bus has been restarted.
        for _ in 0..2 {
            let Some((receiver, mut out)) = self.parts() else {
                return false;
            };
            match receiver.take(bytes, now, ticks(), &mut out) {
                Taken::Done => return true,
                Taken::Malformed(_) => return false,
                Taken::Restart => {
                    if let Err(failed) = self.open() {
                        self.failed = Some(failed);
                        return false;
                    }
                    if let Some((receiver, mut out)) = self.parts() {
                        receiver.restart(&mut out);
                    }
                }
            }
        }
        true
    }
}
