//! An exchange in real time: events in bursts on an absolute schedule, loops and heartbeats beside them, for ever.
//!
//! Each kind of sending has its next due time, and the one after is counted from that, not from when it was done: what
//! is late is late, and the rate holds. Time is an argument; nothing here waits.

use super::exchange::Exchange;
use super::truth::BookState;
use super::{Options, SentPacket};
use crate::picture::Picture;
use crate::random::Random;

/// What time it is, in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since the exchange opened, nanoseconds, on a clock that never steps: what is due is measured by it.
    pub elapsed_ns: u64,
    /// Since 1970, nanoseconds: what packets and events say.
    pub wall_ns: u64,
}

/// An exchange and its schedule.
#[derive(Clone, Debug)]
pub struct Live {
    exchange: Exchange,
    random: Random,
    pauses: Pauses,
    events: u64,
    due: [Due; TASKS.len()],
    /// Number of the next packet of the definition loop.
    definition: usize,
    /// The first definition loop runs.
    is_opening: bool,
    /// Sequence at the last look; the feed is quiet while it stays.
    heard: u32,
    restarts: u64,
    closing: Option<Closing>,
}

/// What happens again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Event,
    Heartbeat,
    Definitions,
    /// The loop of this number.
    Snapshots(usize),
}

const TASKS: [Task; 5] = [
    Task::Event,
    Task::Heartbeat,
    Task::Definitions,
    Task::Snapshots(0),
    Task::Snapshots(1),
];

#[derive(Clone, Copy, Debug)]
struct Due {
    at_ns: u64,
    /// From one time to the next; events have pauses of their own.
    every_ns: u64,
}

/// The upper ends of the pauses between events: short ones inside a burst, long ones between bursts.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    short_ns: u64,
    long_ns: u64,
}

/// The end of an exchange: heartbeats that show the last holes, then whole loops of all feeds.
#[derive(Clone, Copy, Debug, Default)]
struct Closing {
    heartbeats: u32,
    /// Whole loops of definitions and of the two snapshot feeds.
    loops: [u32; 3],
}

const MILLISECOND_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Between the packets of the first definition loop, and behind it before the market opens.
const OPENING_EVERY_NS: u64 = MILLISECOND_NS;
const OPENING_NS: u64 = 20 * MILLISECOND_NS;
/// Further behind than this, the schedule begins anew: the process stood still, and nobody wants all that at once.
const LATE_NS_MAX: u64 = SECOND_NS;
/// Share of the pauses that are long.
const LONG_SHARE: f64 = 0.3;
/// At the end, a heartbeat so often, so many of them before loops count, and so many whole loops.
const CLOSING_EVERY_NS: u64 = 100 * MILLISECOND_NS;
const CLOSING_HEARTBEATS: u32 = 4;
const CLOSING_LOOPS: u32 = 2;

impl Live {
    /// The exchange of a seed that is open from 0 on. Events come at this rate on the average: most of them in bursts a
    /// few microseconds apart, with pauses between. At 0 nothing happens but loops and heartbeats.
    pub fn new(options: &Options, events_per_second: f64, seed: u64) -> Self {
        let exchange = Exchange::new(options, seed);
        let instruments = exchange.instruments() as u64;
        let definitions = exchange.definition_packets() as u64;
        let opened_ns = definitions * OPENING_EVERY_NS + OPENING_NS;
        let has_events = events_per_second > 0.0;
        let due = TASKS.map(|task| {
            // A price snapshot takes half a packet; with its orders it takes up to three packets.
            let (at_ns, every_ns) = match task {
                Task::Event => (if has_events { opened_ns } else { u64::MAX }, 0),
                Task::Heartbeat => (0, SECOND_NS),
                Task::Definitions => (1, pace(definitions)),
                Task::Snapshots(0) => (opened_ns, pace(instruments)),
                Task::Snapshots(_) => (opened_ns, pace(instruments * 3)),
            };
            Due { at_ns, every_ns }
        });
        Self {
            exchange,
            random: Random::from_seed(seed ^ 0x7363_6865_6475_6c65),
            pauses: Pauses::at(events_per_second),
            events: 0,
            due,
            definition: 0,
            is_opening: true,
            heard: 0,
            restarts: 0,
            closing: None,
        }
    }

    /// Sets how many events come a second on the average; 0 leaves loops and heartbeats.
    pub fn set_rate(&mut self, events_per_second: f64, now: Moment) {
        self.exchange.flush();
        self.pauses = Pauses::at(events_per_second);
        let opens_ns = self.due[0].at_ns;
        self.due[0].at_ns = match events_per_second > 0.0 && self.closing.is_none() {
            // Not before the market has opened.
            true if opens_ns == u64::MAX => now.elapsed_ns,
            true => opens_ns,
            false => u64::MAX,
        };
    }

    /// When the next thing is due, in [`Moment::elapsed_ns`].
    pub fn due_ns(&self) -> u64 {
        self.due[self.next()].at_ns
    }

    /// Does the one thing that is due next, whether or not its time has come. What is sent is in
    /// [`packets`](Self::packets).
    pub fn step(&mut self, now: Moment) {
        self.exchange.set_clock(now.wall_ns);
        if now.elapsed_ns.saturating_sub(self.due_ns()) > LATE_NS_MAX {
            self.restart_schedule(now.elapsed_ns);
        }
        let at = self.next();
        let due_ns = self.due[at].at_ns;
        let every_ns = match TASKS[at] {
            Task::Event => self.event(),
            Task::Heartbeat => self.heartbeat(at),
            Task::Definitions => self.definitions(at),
            Task::Snapshots(kind) => self.snapshots(at, kind, now.wall_ns),
        };
        self.due[at].at_ns = due_ns + every_ns;
        // What follows at once may stand in the same packet.
        match self.due[0].at_ns <= now.elapsed_ns {
            true => self.exchange.flush_mostly(),
            false => self.exchange.flush(),
        }
    }

    /// What was sent and not taken yet, in the order in which it was made.
    pub fn packets(&mut self) -> &mut Vec<SentPacket> {
        self.exchange.packets()
    }

    /// Notes the state of each book now and, from now on, after each event; they are to be taken from
    /// [`states`](Self::states).
    pub fn keep_states(&mut self) {
        self.exchange.keep_states();
    }

    /// The states of books since they were last taken.
    pub fn states(&mut self) -> &mut Vec<BookState> {
        self.exchange.states()
    }

    /// Notes the state of each order book now and, from now on, after each event; they are to be taken from
    /// [`order_states`](Self::order_states).
    pub fn keep_order_states(&mut self) {
        self.exchange.keep_order_states();
    }

    /// The states of order books since they were last taken.
    pub fn order_states(&mut self) -> &mut Vec<BookState> {
        self.exchange.order_states()
    }

    /// What a subscriber has who has everything; what was still to be sent of it is in [`packets`](Self::packets).
    pub fn truth(&mut self) -> Picture {
        self.exchange.flush();
        self.exchange.truth()
    }

    /// A channel reset now. Faults leave its packets alone: see [`Options::spare_resets`].
    pub fn reset_channel(&mut self, now: Moment) {
        self.exchange.set_clock(now.wall_ns);
        self.exchange.reset_channel(false);
    }

    /// No more events. What follows heals whoever listens: heartbeats, then whole loops of all feeds, twice as fast.
    pub fn close(&mut self, now: Moment) {
        self.exchange.set_clock(now.wall_ns);
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

    /// True once [`close`](Self::close) was asked for and everything that follows it is sent.
    pub fn is_over(&self) -> bool {
        let is_whole = |closing: Closing| closing.loops.iter().all(|&loops| loops >= CLOSING_LOOPS);
        self.closing.is_some_and(is_whole)
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Sequence of the last packet of the incremental feed.
    pub fn sequence(&self) -> u32 {
        self.exchange.sequence()
    }

    /// How often the schedule began anew because it was more than a second behind.
    pub fn restarts(&self) -> u64 {
        self.restarts
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

    fn snapshots(&mut self, at: usize, kind: usize, wall_ns: u64) -> u64 {
        self.exchange.flush();
        if !self.exchange.loop_packet(kind, wall_ns) {
            self.loop_ended(1 + kind);
        }
        self.due[at].every_ns
    }

    /// Loops count that began behind the last heartbeat that is waited for.
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
        // Half of the upper ends, by their shares, is the mean.
        let long_ns = (2.0 * mean_ns - (1.0 - LONG_SHARE) * short_ns) / LONG_SHARE;
        Self {
            short_ns: (short_ns as u64).max(1),
            long_ns: (long_ns as u64).max(1),
        }
    }
}

/// From packet to packet of a loop of so many, so that it takes about a second.
fn pace(packets: u64) -> u64 {
    (SECOND_NS / packets.max(1)).clamp(MILLISECOND_NS / 2, 250 * MILLISECOND_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Feed;
    use crate::cme::encode::Version;
    use crate::cme::truth;
    use crate::picture::{BookRow, OrderRow};
    use std::collections::BTreeMap;

    const WALL_NS: u64 = 1_800_000_000_000_000_000;

    fn options(instruments: usize) -> Options {
        Options {
            version: Version::V13,
            instruments,
            ..Options::default()
        }
    }

    /// Steps an exchange on time until a moment; what it sends goes to `take`.
    fn run(live: &mut Live, until_ns: u64, mut take: impl FnMut(SentPacket)) {
        while live.due_ns() < until_ns {
            let elapsed_ns = live.due_ns();
            live.step(at(elapsed_ns));
            live.packets().drain(..).for_each(&mut take);
        }
    }

    fn at(elapsed_ns: u64) -> Moment {
        Moment {
            elapsed_ns,
            wall_ns: WALL_NS + elapsed_ns,
        }
    }

    fn hash_of(row: &BookRow) -> u64 {
        let lists = [&row.bids, &row.asks, &row.implied_bids, &row.implied_asks];
        let number = |number: Option<i64>| number.unwrap_or(0);
        truth::hash(lists.map(|list| {
            let known = list.iter().flatten();
            known.map(|level| {
                (
                    number(level.price),
                    number(level.quantity),
                    number(level.orders),
                )
            })
        }))
    }

    fn orders(rows: &[OrderRow]) -> Vec<(i64, i64, u64)> {
        let number = |number: Option<i64>| number.expect("a real order");
        let parts = |row: &OrderRow| (number(row.price), number(row.quantity), row.id);
        rows.iter().map(parts).collect()
    }

    #[test]
    fn events_keep_their_rate_and_loops_their_second() {
        for (instruments, rate) in [(1, 50.0), (10, 2_000.0), (64, 300.0)] {
            let mut live = Live::new(&options(instruments), rate, 3);
            let mut loops = [0; 4];
            run(&mut live, 20 * SECOND_NS, |packet| {
                loops[packet.feed as usize] += u32::from(packet.sequence == 1);
            });
            let expected = rate * 20.0;
            let events = live.events() as f64;
            assert!(
                (0.9 * expected..1.1 * expected).contains(&events),
                "{events} events instead of {expected}"
            );
            for feed in [Feed::Definitions, Feed::Snapshot, Feed::OrderSnapshot] {
                let loops = loops[feed as usize];
                assert!(loops >= 10, "{loops} loops of {feed:?} with {instruments}");
            }
            assert_eq!(live.restarts(), 0);
        }
    }

    #[test]
    fn sending_times_are_now() {
        let mut live = Live::new(&options(8), 5_000.0, 1);
        let mut sent = 0;
        while live.due_ns() < 2 * SECOND_NS {
            let now = at(live.due_ns() + 7_000);
            live.step(now);
            for packet in live.packets().drain(..) {
                let sending =
                    u64::from_le_bytes(packet.payload[4..12].try_into().expect("8 bytes"));
                assert!(
                    sending.abs_diff(now.wall_ns) < 1_000,
                    "{sending} at {now:?}"
                );
                sent += 1;
            }
        }
        assert!(sent > 10_000, "{sent}");
    }

    #[test]
    fn a_quiet_feed_has_heartbeats() {
        let mut live = Live::new(&options(3), 0.0, 1);
        let mut heartbeats = 0;
        run(&mut live, 10 * SECOND_NS, |packet| {
            heartbeats += u32::from(packet.feed == Feed::Incremental);
        });
        assert_eq!((heartbeats, live.events()), (10, 0));
    }

    #[test]
    fn who_stood_still_does_not_catch_up_for_hours() {
        let mut live = Live::new(&options(3), 1_000.0, 1);
        run(&mut live, SECOND_NS, drop);
        let before = live.events();
        live.step(at(3_600 * SECOND_NS));
        assert!(live.due_ns() >= 3_600 * SECOND_NS);
        assert_eq!(live.restarts(), 1);
        assert!(live.events() <= before + 1);
    }

    #[test]
    fn the_end_is_heartbeats_and_whole_loops() {
        let mut live = Live::new(&options(20), 2_000.0, 9);
        live.keep_states();
        live.keep_order_states();
        run(&mut live, 3 * SECOND_NS, drop);
        let closed_ns = live.due_ns();
        live.close(at(closed_ns));
        let mut last = Vec::new();
        while !live.is_over() {
            let now = at(live.due_ns());
            live.step(now);
            last.append(live.packets());
        }
        // The last state of each book is the one that it ends with.
        let states = live.states().drain(..);
        let ends: BTreeMap<i32, u64> = states
            .map(|state| (state.security_id, state.hash))
            .collect();
        let truth = live.truth();
        let hashes = truth
            .books
            .iter()
            .map(|row| (row.security_id, hash_of(row)));
        assert_eq!(ends, hashes.collect());
        let states = live.order_states().drain(..);
        let ends: BTreeMap<i32, u64> = states
            .map(|state| (state.security_id, state.hash))
            .collect();
        let hashes = truth.orders.iter().map(|row| {
            let sides = [&row.bids, &row.asks];
            (
                row.security_id,
                truth::hash_of_orders(sides.map(|rows| orders(rows))),
            )
        });
        assert_eq!(ends, hashes.collect());
        let took_ns = live.due_ns() - closed_ns;
        assert!(took_ns < 4 * SECOND_NS, "{took_ns} ns");
        let of = |feed| last.iter().filter(move |packet| packet.feed == feed);
        assert!(of(Feed::Incremental).all(|packet| packet.payload.len() == 22));
        for feed in [Feed::Definitions, Feed::Snapshot, Feed::OrderSnapshot] {
            assert!(of(feed).filter(|packet| packet.sequence == 1).count() >= 2);
        }
    }

    #[test]
    fn a_hundred_thousand_events_take_no_more_memory_than_a_thousand() {
        let mut live = Live::new(&options(4), 2_000.0, 2);
        live.keep_states();
        let (mut states, mut orders_max) = (0, 0);
        while live.events() < 100_000 {
            let now = at(live.due_ns());
            live.step(now);
            assert!(live.packets().len() < 100);
            live.packets().clear();
            states += live.states().len();
            live.states().clear();
            if live.events().is_multiple_of(1_000) {
                let truth = live.truth();
                assert!(truth.tops.is_empty());
                let orders = truth.orders.iter();
                let orders = orders.map(|row| row.bids.len() + row.asks.len()).max();
                orders_max = orders_max.max(orders.unwrap_or(0));
            }
        }
        assert!(states > 50_000, "{states}");
        assert!(
            (1..1_000).contains(&orders_max),
            "{orders_max} orders in a book"
        );
    }
}
