//! Faults on packets as they are sent: the kinds of a fault plan, set and cleared during a session.
//!
//! Each feed on each line is a lane with its own random stream, so that a fault on one lane does not change another.
//! Time is an argument. The number of delayed packets is bounded.

use super::damage;
use super::forger::Injected;
use crate::capture::{Feed, Line};
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A fault with its lines and feeds. A share is the probability, 0 to 1, that a packet is affected; 0 clears the fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Lines, independent of each other.
    pub lines: Vec<Line>,
    /// Feeds, independent of each other.
    pub feeds: Vec<Feed>,
    /// The fault.
    pub fault: Fault,
}

/// Kinds of faults of packets in transit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Packets are lost one by one.
    Drop {
        /// Share of packets.
        share: f64,
    },
    /// Packets are lost in bursts.
    Burst {
        /// Share of packets at which a burst begins, and its largest length.
        begin: Begin,
    },
    /// The same packets are lost on both lines, in bursts.
    Both {
        /// Share of packets at which a burst begins, and its largest length.
        begin: Begin,
    },
    /// Packets arrive twice.
    Duplicate {
        /// Share of packets.
        share: f64,
    },
    /// Packets arrive after the next ones of their lane.
    Reorder {
        /// Share of packets.
        share: f64,
        /// Largest number of packets that overtake one.
        by_max: u64,
    },
    /// Packets are late.
    Delay {
        /// Share of packets.
        share: f64,
        /// The shortest delay, nanoseconds.
        min_ns: u64,
        /// The longest delay, nanoseconds.
        max_ns: u64,
    },
    /// Bytes change so that a packet is invalid.
    Corrupt {
        /// Share of packets.
        share: f64,
    },
    /// A line is down for a time from now on.
    Outage {
        /// Duration, nanoseconds.
        duration_ns: u64,
    },
}

/// Start and length of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Begin {
    /// Share of packets at which one begins.
    pub share: f64,
    /// Largest number of packets of a burst.
    pub packets_max: u64,
}

/// Counts of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent, by line and feed; a duplicated packet counts twice.
    pub sent: [[u64; Feed::ALL.len()]; 2],
    /// Affected, by fault in the order of [`FAULT_NAMES`] and by line.
    pub struck: [[u64; 2]; FAULT_NAMES.len()],
    /// Packets without an undamaged copy on any line, by feed.
    pub lost_on_both: [u64; Feed::ALL.len()],
}

/// Names of the faults in the order of [`Counts::struck`].
pub const FAULT_NAMES: [&str; 11] = [
    "outage",
    "both",
    "drop",
    "burst",
    "corrupt",
    "duplicate",
    "reorder",
    "delay",
    "forge",
    "forge-snapshot",
    "old",
];
const OUTAGE: usize = 0;
const BOTH: usize = 1;
const DROP: usize = 2;
const BURST: usize = 3;
const CORRUPT: usize = 4;
const DUPLICATE: usize = 5;
const REORDER: usize = 6;
const DELAY: usize = 7;
const FORGE: usize = 8;
const FORGE_SNAPSHOT: usize = 9;
const OLD: usize = 10;

/// Largest number of delayed packets, over all lanes; beyond it packets are not delayed.
pub const HELD_PACKETS_MAX: usize = 65_536;
/// Longest time that a packet waits for reordering.
const REORDER_NS_MAX: u64 = 100_000_000;

/// Two lines with their faults.
#[derive(Clone, Debug)]
pub struct FaultStream {
    lanes: [[Lane; Feed::ALL.len()]; 2],
    /// Bursts on both lines, by feed.
    both: [Burst; Feed::ALL.len()],
    random: Random,
    late: BinaryHeap<Reverse<Late>>,
    /// Packets that wait for reordering.
    waiting: usize,
    held: u64,
    counts: Counts,
}

/// One feed on one line.
#[derive(Clone, Debug)]
struct Lane {
    random: Random,
    drop: f64,
    burst: Burst,
    duplicate: f64,
    reorder: (f64, u64),
    delay: (f64, u64, u64),
    corrupt: f64,
    dead_until_ns: u64,
    overtaken: Vec<Overtaken>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    begin: Begin,
    left: u64,
}

#[derive(Clone, Debug)]
struct Overtaken {
    /// Number of packets still to overtake it.
    by: u64,
    at_latest_ns: u64,
    payload: Vec<u8>,
}

/// A packet with the time of its sending; packets with the same time keep their order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    due_ns: u64,
    number: u64,
    line: Line,
    feed: Feed,
    payload: Vec<u8>,
}

impl FaultStream {
    /// Two lines without a fault. The same seed, settings, packets and times give the same faults.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::from_seed(seed ^ 0x6661_756c_7473_2121);
        let lanes = Line::BOTH.map(|_| Feed::ALL.map(|_| Lane::new(random.split())));
        Self {
            lanes,
            both: Default::default(),
            random,
            late: BinaryHeap::new(),
            waiting: 0,
            held: 0,
            counts: Counts::default(),
        }
    }

    /// Sets or clears a fault; it replaces the previous setting of its kind, line and feed.
    pub fn set(&mut self, setting: &Setting, now_ns: u64) {
        for &feed in &setting.feeds {
            if let Fault::Both { begin } = setting.fault {
                self.both[feed as usize] = Burst { begin, left: 0 };
                continue;
            }
            for &line in &setting.lines {
                self.lanes[line as usize][feed as usize].set(setting.fault, now_ns);
            }
        }
    }

    /// Clears all faults. Delayed packets are sent by the next [`release`](Self::release).
    pub fn clear(&mut self) {
        self.both = Default::default();
        for (line, lanes) in Line::BOTH.into_iter().zip(&mut self.lanes) {
            for (feed, lane) in Feed::ALL.into_iter().zip(lanes) {
                let overtaken = lane.clear();
                self.waiting -= overtaken.len();
                for Overtaken { payload, .. } in overtaken {
                    let number = self.held;
                    self.held += 1;
                    let late = Late {
                        due_ns: 0,
                        number,
                        line,
                        feed,
                        payload,
                    };
                    self.late.push(Reverse(late));
                }
            }
        }
        let at_once = |Reverse(late)| Reverse(Late { due_ns: 0, ..late });
        self.late = std::mem::take(&mut self.late)
            .into_iter()
            .map(at_once)
            .collect();
    }

    /// Sends a packet over both lines. Faults do not affect a spared one.
    pub fn send(
        &mut self,
        feed: Feed,
        payload: &[u8],
        spared: bool,
        now_ns: u64,
        out: &mut impl FnMut(Line, Feed, &[u8]),
    ) {
        let is_lost = !spared && self.both[feed as usize].takes(&mut self.random);
        let mut intact = 0;
        for line in Line::BOTH {
            if is_lost {
                self.counts.struck[BOTH][line as usize] += 1;
            } else {
                intact += u64::from(self.send_on(line, feed, payload, spared, now_ns, out));
            }
        }
        self.counts.lost_on_both[feed as usize] += u64::from(intact == 0);
    }

    /// Sends a packet over one line. True if an undamaged copy is sent, now or later.
    pub fn send_on(
        &mut self,
        line: Line,
        feed: Feed,
        payload: &[u8],
        spared: bool,
        now_ns: u64,
        out: &mut impl FnMut(Line, Feed, &[u8]),
    ) -> bool {
        let mut sent = Sent {
            line,
            feed,
            counts: &mut self.counts,
            out,
        };
        if spared {
            sent.send(payload);
            return true;
        }
        let has_room = self.late.len() + self.waiting < HELD_PACKETS_MAX;
        let lane = &mut self.lanes[line as usize][feed as usize];
        if let Some(fault) = lane.loses(now_ns) {
            sent.counts.struck[fault][line as usize] += 1;
            return false;
        }
        if lane.random.chance(lane.corrupt) && payload.len() >= damage::CORRUPT_BYTES_MIN {
            let mut payload = payload.to_vec();
            damage::corrupt(&mut payload, &mut lane.random);
            sent.strike(CORRUPT);
            sent.send(&payload);
            return false;
        }
        let (reorder, by_max) = lane.reorder;
        let (delay, min_ns, max_ns) = lane.delay;
        if lane.random.chance(reorder) && has_room {
            sent.strike(REORDER);
            self.waiting += 1;
            lane.overtaken.push(Overtaken {
                by: lane.random.below(by_max.max(1)) + 1,
                at_latest_ns: now_ns + REORDER_NS_MAX,
                payload: payload.to_vec(),
            });
            return true;
        }
        if lane.random.chance(delay) && has_room {
            sent.strike(DELAY);
            let number = self.held;
            self.held += 1;
            let delay_ns = min_ns + lane.random.below(max_ns.saturating_sub(min_ns) + 1);
            self.late.push(Reverse(Late {
                due_ns: now_ns + delay_ns,
                number,
                line,
                feed,
                payload: payload.to_vec(),
            }));
            return true;
        }
        sent.send(payload);
        if lane.random.chance(lane.duplicate) {
            sent.strike(DUPLICATE);
            sent.send(payload);
        }
        for overtaken in &mut lane.overtaken {
            overtaken.by -= 1;
        }
        self.waiting -= lane.release(|overtaken| overtaken.by == 0, |payload| sent.send(payload));
        true
    }

    /// Sends an injected packet over one line. Faults do not affect it.
    pub fn inject(
        &mut self,
        line: Line,
        feed: Feed,
        what: Injected,
        payload: &[u8],
        out: &mut impl FnMut(Line, Feed, &[u8]),
    ) {
        let mut sent = Sent {
            line,
            feed,
            counts: &mut self.counts,
            out,
        };
        sent.strike(match what {
            Injected::Heartbeat(_) => FORGE,
            Injected::Snapshot(_) => FORGE_SNAPSHOT,
            Injected::Old { .. } => OLD,
        });
        sent.send(payload);
    }

    /// Sends delayed packets that are due.
    pub fn release(&mut self, now_ns: u64, out: &mut impl FnMut(Line, Feed, &[u8])) {
        while self
            .late
            .peek()
            .is_some_and(|Reverse(late)| late.due_ns <= now_ns)
        {
            let Some(Reverse(Late {
                line,
                feed,
                payload,
                ..
            })) = self.late.pop()
            else {
                break;
            };
            self.counts.sent[line as usize][feed as usize] += 1;
            out(line, feed, &payload);
        }
        if self.waiting == 0 {
            return;
        }
        for (line, lanes) in Line::BOTH.into_iter().zip(&mut self.lanes) {
            for (feed, lane) in Feed::ALL.into_iter().zip(lanes) {
                let mut sent = Sent {
                    line,
                    feed,
                    counts: &mut self.counts,
                    out,
                };
                let is_due = |overtaken: &Overtaken| overtaken.at_latest_ns <= now_ns;
                self.waiting -= lane.release(is_due, |payload| sent.send(payload));
            }
        }
    }

    /// Time of the next delayed packet, if there is one.
    pub fn due_ns(&self) -> Option<u64> {
        let late = self.late.peek().map(|Reverse(late)| late.due_ns);
        let lanes = self.lanes.iter().flatten();
        let overtaken = lanes.filter_map(|lane| lane.overtaken.first());
        let overtaken = overtaken.map(|overtaken| overtaken.at_latest_ns).min();
        late.into_iter().chain(overtaken).min()
    }

    /// Counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

/// Output of a lane.
struct Sent<'a, Out> {
    line: Line,
    feed: Feed,
    counts: &'a mut Counts,
    out: &'a mut Out,
}

impl<Out: FnMut(Line, Feed, &[u8])> Sent<'_, Out> {
    fn send(&mut self, payload: &[u8]) {
        self.counts.sent[self.line as usize][self.feed as usize] += 1;
        (self.out)(self.line, self.feed, payload);
    }

    fn strike(&mut self, fault: usize) {
        self.counts.struck[fault][self.line as usize] += 1;
    }
}

impl Lane {
    fn new(random: Random) -> Self {
        Self {
            random,
            drop: 0.0,
            burst: Burst::default(),
            duplicate: 0.0,
            reorder: (0.0, 0),
            delay: (0.0, 0, 0),
            corrupt: 0.0,
            dead_until_ns: 0,
            overtaken: Vec::new(),
        }
    }

    fn set(&mut self, fault: Fault, now_ns: u64) {
        match fault {
            Fault::Drop { share } => self.drop = share,
            Fault::Burst { begin } => self.burst = Burst { begin, left: 0 },
            Fault::Duplicate { share } => self.duplicate = share,
            Fault::Reorder { share, by_max } => self.reorder = (share, by_max),
            Fault::Delay {
                share,
                min_ns,
                max_ns,
            } => self.delay = (share, min_ns, max_ns),
            Fault::Corrupt { share } => self.corrupt = share,
            Fault::Outage { duration_ns } => {
                self.dead_until_ns = now_ns.saturating_add(duration_ns)
            }
            Fault::Both { .. } => unreachable!("strikes both lines at once"),
        }
    }

    /// Clears the faults; returns the packets that waited for reordering.
    fn clear(&mut self) -> Vec<Overtaken> {
        let random = self.random.split();
        std::mem::replace(self, Self::new(random)).overtaken
    }

    /// The fault that drops the packet, if any.
    fn loses(&mut self, now_ns: u64) -> Option<usize> {
        let is_dead = now_ns < self.dead_until_ns;
        let is_dropped = self.random.chance(self.drop);
        let is_in_burst = self.burst.takes(&mut self.random);
        match (is_dead, is_dropped, is_in_burst) {
            (true, ..) => Some(OUTAGE),
            (_, true, _) => Some(DROP),
            (.., true) => Some(BURST),
            _ => None,
        }
    }

    /// Sends due packets in order; returns their number.
    fn release(
        &mut self,
        is_due: impl Fn(&Overtaken) -> bool,
        mut send: impl FnMut(&[u8]),
    ) -> usize {
        let before = self.overtaken.len();
        self.overtaken.retain(|overtaken| {
            let is_due = is_due(overtaken);
            if is_due {
                send(&overtaken.payload);
            }
            !is_due
        });
        before - self.overtaken.len()
    }
}

impl Burst {
    /// True if the burst drops the next packet.
    fn takes(&mut self, random: &mut Random) -> bool {
        let Begin { share, packets_max } = self.begin;
        super::lines::in_burst(&mut self.left, share, packets_max, random)
    }
}

#[cfg(test)]
mod tests;
