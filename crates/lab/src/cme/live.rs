//! Exchange in real time: events in bursts on an absolute schedule, cycles and heartbeats, without end.
//!
//! Each task has its next due time, and the following one is counted from that time, not from the time of execution,
//! so the rate holds when a task is late. Time is an argument; nothing here waits.

use super::exchange::Exchange;
use super::expected_books::BookState;
use super::{Options, SentPacket, header};
use crate::picture::Picture;
use crate::random::Random;

/// Current time, on two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since the exchange opened, nanoseconds, on a clock that never steps: the schedule uses it.
    pub elapsed_ns: u64,
    /// Since 1970, nanoseconds: packets and events use it.
    pub wall_ns: u64,
}

/// An exchange and its schedule.
#[derive(Clone, Debug)]
pub struct Live {
    exchange: Exchange,
    /// Options of the exchange, for a restart.
    options: Options,
    seed: u64,
    /// Number of exchanges before this one, and their packets of the incremental feed.
    exchanges_before: u64,
    packets_before: u64,
    /// Offset of the venue's clock from the wall clock.
    clock_off_ns: i64,
    random: Random,
    pauses: Pauses,
    events: u64,
    due: [Due; TASKS.len()],
    /// Number of the next packet of the definition cycle.
    definition: usize,
    /// The first definition cycle is running.
    is_opening: bool,
    /// Start of events.
    opened_ns: u64,
    /// Sequence at the last check; while it does not change, the feed is quiet.
    heard: u32,
    restarts: u64,
    closing: Option<Closing>,
}

/// Periodic tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Event,
    Heartbeat,
    Definitions,
    /// The snapshot cycle of this index.
    Snapshots(usize),
}

const TASKS: [Task; 5] = [
    Task::Event,
    Task::Heartbeat,
    Task::Definitions,
    Task::Snapshots(0),
    Task::Snapshots(1),
];

#[derive(Clone, Copy, Debug, Default)]
struct Due {
    at_ns: u64,
    /// Interval; events have separate pauses.
    every_ns: u64,
}

/// Upper bounds of the pauses between events: short ones within a burst, long ones between bursts.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    short_ns: u64,
    long_ns: u64,
}

/// End of an exchange: heartbeats that show the last gaps, then complete cycles of all feeds.
#[derive(Clone, Copy, Debug, Default)]
struct Closing {
    heartbeats: u32,
    /// Complete cycles of definitions and of the two snapshot feeds.
    loops: [u32; 3],
}

const MILLISECOND_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Interval of the packets of the first definition cycle, and the pause before the market opens.
const OPENING_EVERY_NS: u64 = MILLISECOND_NS;
const OPENING_NS: u64 = 20 * MILLISECOND_NS;
/// Largest delay of the schedule; beyond it the schedule starts again, because the process was stopped and a burst of
/// all late packets would be useless.
const LATE_NS_MAX: u64 = SECOND_NS;
/// Constant from which, with the seed, the courses of restarted exchanges are derived.
const COURSES: u64 = 0x636f_7572_7365_7321;
/// Share of the pauses that are long.
const LONG_SHARE: f64 = 0.3;
/// At the end: interval of heartbeats, their number before cycles are counted, and the number of
/// complete cycles.
const CLOSING_EVERY_NS: u64 = 100 * MILLISECOND_NS;
const CLOSING_HEARTBEATS: u32 = 4;
const CLOSING_LOOPS: u32 = 2;

impl Live {
    /// The exchange of a seed, open from time 0 on. Events come at this average rate, most of them in bursts a few
    /// microseconds apart, with pauses between. At rate 0 there are cycles and heartbeats only.
    pub fn new(options: &Options, events_per_second: f64, seed: u64) -> Self {
        let mut live = Self {
            exchange: Exchange::new(options, seed),
            options: options.clone(),
            seed,
            exchanges_before: 0,
            packets_before: 0,
            clock_off_ns: 0,
            random: Random::from_seed(seed ^ 0x7363_6865_6475_6c65),
            pauses: Pauses::at(events_per_second),
            events: 0,
            due: TASKS.map(|_| Due::default()),
            definition: 0,
            is_opening: true,
            opened_ns: 0,
            heard: 0,
            restarts: 0,
            closing: None,
        };
        live.open(0, events_per_second > 0.0);
        live
    }

    /// Ends the exchange process and starts another at once: the same instruments, empty books, another course of
    /// events, all numbers from 1, and no channel reset. Its clock is `clock_off_ns` from the wall clock. The packets
    /// left in [`packets`](Self::packets) are the last ones of the previous exchange. Not allowed after
    /// [`close`](Self::close).
    pub fn restart(&mut self, clock_off_ns: i64, now: Moment) {
        self.exchange.flush();
        self.packets_before += u64::from(self.exchange.sequence());
        self.exchanges_before += 1;
        let course = Random::from_seed(self.seed ^ self.exchanges_before ^ COURSES).next_u64();
        let options = Options {
            course: Some(course),
            ..self.options.clone()
        };
        let mut next = Exchange::new(&options, self.seed);
        next.succeed(&mut self.exchange);
        self.exchange = next;
        self.clock_off_ns = clock_off_ns;
        self.exchange.jump_clock(self.venue_ns(now));
        let has_events = self.due[0].at_ns < u64::MAX;
        self.open(now.elapsed_ns, has_events);
    }

    /// Steps the venue's clock by this time, also back. Events and packets have the new time from now on.
    pub fn step_clock(&mut self, by_ns: i64, now: Moment) {
        self.exchange.flush();
        self.clock_off_ns = self.clock_off_ns.saturating_add(by_ns);
        self.exchange.jump_clock(self.venue_ns(now));
    }

    /// Time of the venue's clock, nanoseconds since 1970.
    pub fn venue_ns(&self, now: Moment) -> u64 {
        header::moved_ns(now.wall_ns, self.clock_off_ns)
    }

    /// Offset of the venue's clock from the wall clock, nanoseconds.
    pub fn clock_off_ns(&self) -> i64 {
        self.clock_off_ns
    }

    /// Sets the average number of events a second; at 0 there are cycles and heartbeats only.
    pub fn set_rate(&mut self, events_per_second: f64, now: Moment) {
        self.exchange.flush();
        self.pauses = Pauses::at(events_per_second);
        let opens_ns = self.due[0].at_ns;
        self.due[0].at_ns = match events_per_second > 0.0 && self.closing.is_none() {
            // Not before the market opens.
            true if opens_ns == u64::MAX => now.elapsed_ns.max(self.opened_ns),
            true => opens_ns,
            false => u64::MAX,
        };
    }

    /// Time of the next due task, in [`Moment::elapsed_ns`].
    pub fn due_ns(&self) -> u64 {
        self.due[self.next()].at_ns
    }

    /// Runs the next due task, whether or not its time has come. Its packets are in
    /// [`packets`](Self::packets).
    pub fn step(&mut self, now: Moment) {
        let venue_ns = self.venue_ns(now);
        self.exchange.set_clock(venue_ns);
        if now.elapsed_ns.saturating_sub(self.due_ns()) > LATE_NS_MAX {
            self.restart_schedule(now.elapsed_ns);
        }
        let at = self.next();
        let due_ns = self.due[at].at_ns;
        let every_ns = match TASKS[at] {
            Task::Event => self.event(),
            Task::Heartbeat => self.heartbeat(at),
            Task::Definitions => self.definitions(at),
            Task::Snapshots(kind) => self.snapshots(at, kind, venue_ns),
        };
        self.due[at].at_ns = due_ns + every_ns;
        // If the next event is due already, it may share the packet.
        match self.due[0].at_ns <= now.elapsed_ns {
            true => self.exchange.flush_mostly(),
            false => self.exchange.flush(),
        }
    }

    /// Packets that the caller still has to take, in order of creation.
    pub fn packets(&mut self) -> &mut Vec<SentPacket> {
        self.exchange.packets()
    }

    /// Records the state of each book now, and of each changed book after every event; the caller takes them from
    /// [`states`](Self::states).
    pub fn keep_states(&mut self) {
        self.exchange.keep_states();
    }

    /// States of books since the caller last took them.
    pub fn states(&mut self) -> &mut Vec<BookState> {
        self.exchange.states()
    }

    /// Records the state of each order book now, and of each changed one after every event; the caller takes them from
    /// [`order_states`](Self::order_states).
    pub fn keep_order_states(&mut self) {
        self.exchange.keep_order_states();
    }

    /// States of order books since the caller last took them.
    pub fn order_states(&mut self) -> &mut Vec<BookState> {
        self.exchange.order_states()
    }

    /// State of a subscriber without losses; its last packets are in [`packets`](Self::packets).
    pub fn expected(&mut self) -> Picture {
        self.exchange.flush();
        self.exchange.expected()
    }

    /// Sends a channel reset now. Faults do not affect its packets: see [`Options::spare_resets`].
    pub fn reset_channel(&mut self, now: Moment) {
        self.exchange.set_clock(self.venue_ns(now));
        self.exchange.reset_channel(false);
    }

    /// Stops events. Then heartbeats and complete cycles of all feeds, at double rate, let all receivers recover.
    pub fn close(&mut self, now: Moment) {
        self.exchange.set_clock(self.venue_ns(now));
        self.exchange.flush();
        for (due, task) in self.due.iter_mut().zip(TASKS) {
            match task {
                Task::Event => due.at_ns = u64::MAX,
                Task::Heartbeat => (due.at_ns, due.every_ns) = (now.elapsed_ns, CLOSING_EVERY_NS),
                Task::Definitions | Task::Snapshots(_) => due.every_ns = due.every_ns.div_ceil(2),
            }
        }
        self.closing.get_or_insert_default();
    }

    /// True when all packets after [`close`](Self::close) are sent.
    pub fn is_over(&self) -> bool {
        let is_whole = |closing: Closing| closing.loops.iter().all(|&loops| loops >= CLOSING_LOOPS);
        self.closing.is_some_and(is_whole)
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Sequence of the last packet of the incremental feed.
    pub fn sequence(&self) -> u32 {
        self.exchange.sequence()
    }

    /// Packets of the incremental feed, including those of earlier exchanges.
    pub fn incremental_packets(&self) -> u64 {
        self.packets_before + u64::from(self.exchange.sequence())
    }

    /// Number of restarts of the exchange.
    pub fn exchanges_before(&self) -> u64 {
        self.exchanges_before
    }

    /// Number of times that the schedule started again because it was more than a second late.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Schedule of an exchange that starts at `from_ns`: definitions first, then all other tasks.
    fn open(&mut self, from_ns: u64, has_events: bool) {
        let instruments = self.exchange.instruments() as u64;
        let definitions = self.exchange.definition_packets() as u64;
        let opened_ns = from_ns + definitions * OPENING_EVERY_NS + OPENING_NS;
        self.due = TASKS.map(|task| {
            // A price snapshot takes half a packet, with its orders up to three packets.
            let (at_ns, every_ns) = match task {
                Task::Event => (if has_events { opened_ns } else { u64::MAX }, 0),
                Task::Heartbeat => (from_ns, SECOND_NS),
                Task::Definitions => (from_ns + 1, pace(definitions)),
                Task::Snapshots(0) => (opened_ns, pace(instruments)),
                Task::Snapshots(_) => (opened_ns, pace(instruments * 3)),
            };
            Due { at_ns, every_ns }
        });
        (self.definition, self.is_opening) = (0, true);
        (self.opened_ns, self.heard) = (opened_ns, 0);
    }

    fn next(&self) -> usize {
        let mut first = 0;
        for at in 1..TASKS.len() {
            if self.due[at].at_ns < self.due[first].at_ns {
                first = at;
            }
        }
        first
    }

    fn restart_schedule(&mut self, elapsed_ns: u64) {
        self.restarts += 1;
        for due in &mut self.due {
            due.at_ns = due.at_ns.max(elapsed_ns);
        }
    }

    fn event(&mut self) -> u64 {
        if self.exchange.is_week_over() {
            self.exchange.reset_week();
        }
        self.exchange.event();
        self.events += 1;
        let long = self.random.chance(LONG_SHARE);
        let Pauses { short_ns, long_ns } = self.pauses;
        self.random.below(if long { long_ns } else { short_ns })
    }

    fn heartbeat(&mut self, at: usize) -> u64 {
        if self.closing.is_some() || self.exchange.sequence() == self.heard {
            self.exchange.heartbeat();
        }
        self.heard = self.exchange.sequence();
        if let Some(closing) = &mut self.closing {
            closing.heartbeats += 1;
            if closing.heartbeats == CLOSING_HEARTBEATS {
                self.exchange.restart_loops();
                self.definition = 0;
            }
        }
        self.due[at].every_ns
    }

    fn definitions(&mut self, at: usize) -> u64 {
        self.exchange.definition_packet(self.definition);
        self.definition += 1;
        if self.definition == self.exchange.definition_packets() {
            self.definition = 0;
            self.is_opening = false;
            self.loop_ended(0);
        }
        match self.is_opening {
            true => OPENING_EVERY_NS,
            false => self.due[at].every_ns,
        }
    }

    fn snapshots(&mut self, at: usize, kind: usize, venue_ns: u64) -> u64 {
        self.exchange.flush();
        if !self.exchange.loop_packet(kind, venue_ns) {
            self.loop_ended(1 + kind);
        }
        self.due[at].every_ns
    }

    /// Only cycles that started after the last required heartbeat are counted.
    fn loop_ended(&mut self, which: usize) {
        if let Some(closing) = &mut self.closing
            && closing.heartbeats >= CLOSING_HEARTBEATS
        {
            closing.loops[which] += 1;
        }
    }
}

impl Pauses {
    fn at(events_per_second: f64) -> Self {
        let mean_ns = SECOND_NS as f64 / events_per_second.max(1e-6);
        let short_ns = mean_ns.min(20_000.0);
        // The mean is half of the upper bounds, weighted by their shares.
        let long_ns = (2.0 * mean_ns - (1.0 - LONG_SHARE) * short_ns) / LONG_SHARE;
        Self {
            short_ns: (short_ns as u64).max(1),
            long_ns: (long_ns as u64).max(1),
        }
    }
}

/// Interval between the packets of a cycle of this length, so that it takes about a second.
fn pace(packets: u64) -> u64 {
    (SECOND_NS / packets.max(1)).clamp(MILLISECOND_NS / 2, 250 * MILLISECOND_NS)
}

#[cfg(test)]
mod tests;
