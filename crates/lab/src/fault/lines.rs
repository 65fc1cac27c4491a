//! Two lines with the same packets, and the effect of each fault on them.

use super::{Fault, Rule, damage};
use crate::capture::{Arrival, Feed, Line};
use crate::cme::{SentPacket, Session, header};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

mod forged;

/// The packets on both lines.
pub struct Lines<'a> {
    /// The copies on lines A and B, each in order of arrival.
    copies: [Vec<Copy>; 2],
    /// Index of the first packet of the session that we were there for.
    pub joined_at: usize,
    packets: usize,
    /// Packets of an earlier session of the exchange.
    earlier: &'a [SentPacket],
    /// Time at which the clock of the receiving host is set, nanoseconds, and the step in seconds.
    clock_set: Vec<(u64, i64)>,
}

/// One packet on one line.
#[derive(Clone)]
struct Copy {
    time_ns: u64,
    feed: Feed,
    /// Index in the session.
    packet: usize,
    spared: bool,
    /// The bytes were not changed.
    intact: bool,
    payload: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Every packet on both lines, at slightly different times; either line may be first.
    pub fn of(session: &Session, earlier: &'a [SentPacket], random: &mut Random) -> Self {
        let copies = Line::BOTH.map(|_| {
            let mut last: BTreeMap<Feed, u64> = BTreeMap::new();
            let copies = session.packets.iter().enumerate().map(|(packet, sent)| {
                let after = last.get(&sent.feed).map_or(0, |time| time + 1);
                let time_ns = (sent.time_ns + random.below(2_000)).max(after);
                last.insert(sent.feed, time_ns);
                let (feed, spared, payload) = (sent.feed, sent.spared, sent.payload.clone());
                Copy {
                    time_ns,
                    feed,
                    packet,
                    spared,
                    intact: true,
                    payload,
                }
            });
            copies.collect()
        });
        let mut lines = Self {
            copies,
            joined_at: 0,
            packets: session.packets.len(),
            earlier,
            clock_set: Vec::new(),
        };
        lines.sort();
        lines
    }

    /// Applies a rule; returns the number of affected copies.
    pub fn strike(&mut self, rule: &Rule, random: &mut Random) -> u64 {
        let struck = match rule.fault {
            Fault::DropOnAllLines { share, packets_max } => {
                let victims = self.bursts_of_packets(rule, share, packets_max, random);
                self.drop_where(rule, |copy| victims.contains(&copy.packet))
            }
            Fault::JoinLate { share } => {
                self.joined_at = (self.packets as f64 * share) as usize;
                let joined_at = self.joined_at;
                self.drop_where(rule, |copy| copy.packet < joined_at)
            }
            Fault::Silence { duration_ns } => {
                let begin_ns = self.time_of_any(rule, random);
                let end_ns = begin_ns.saturating_add(duration_ns);
                self.drop_where(rule, |copy| (begin_ns..end_ns).contains(&copy.time_ns))
            }
            Fault::WrongClock { packets, seconds } => {
                self.wrong_clock(rule, packets, seconds, random)
            }
            Fault::HostClock { seconds } => self.set_host_clock(seconds, random),
            _ => rule
                .lines
                .iter()
                .map(|&line| self.strike_line(rule, line, random))
                .sum(),
        };
        self.sort();
        struck
    }

    /// Packets with an undamaged copy.
    pub fn undamaged(&self) -> BTreeSet<usize> {
        self.copies
            .iter()
            .flatten()
            .filter(|copy| copy.intact)
            .map(|copy| copy.packet)
            .collect()
    }

    /// Both lines in order of arrival, and the clock steps of the receiving host.
    pub fn arrivals(self) -> (Vec<Arrival>, Vec<(usize, i64)>) {
        let mut arrivals = Vec::new();
        for (line, copies) in Line::BOTH.into_iter().zip(self.copies) {
            arrivals.extend(copies.into_iter().map(|copy| Arrival {
                time_ns: copy.time_ns,
                feed: copy.feed,
                line,
                payload: copy.payload,
            }));
        }
        arrivals.sort_by_key(|arrival| arrival.time_ns);
        let mut clock_set = Vec::new();
        for (set_ns, seconds) in self.clock_set {
            let behind = arrivals.partition_point(|arrival| arrival.time_ns < set_ns);
            clock_set.push((behind, seconds));
        }
        for &(behind, seconds) in &clock_set {
            for arrival in &mut arrivals[behind..] {
                arrival.time_ns = header::moved(arrival.time_ns, seconds);
            }
        }
        (arrivals, clock_set)
    }

    fn sort(&mut self) {
        self.copies
            .iter_mut()
            .for_each(|copies| copies.sort_by_key(|copy| copy.time_ns));
    }

    fn strike_line(&mut self, rule: &Rule, line: Line, random: &mut Random) -> u64 {
        let earlier = self.earlier;
        let copies = &mut self.copies[line as usize];
        match rule.fault {
            Fault::Drop { share } => drop_bursts(copies, rule, share, 1, random),
            Fault::DropBurst { share, packets_max } => {
                drop_bursts(copies, rule, share, packets_max, random)
            }
            Fault::Outage { packets } => outage(copies, rule, packets, random),
            Fault::Reorder { share, by_max } => reorder(copies, rule, share, by_max, random),
            Fault::Delay { share, .. }
            | Fault::Corrupt { share }
            | Fault::Flip { share, .. }
            | Fault::Tamper { share }
            | Fault::Truncate { share } => {
                for_share(copies, rule, share, random, |copy, random| {
                    change(copy, &rule.fault, random)
                })
            }
            Fault::ForgeFirst { forgery } => forged::first(copies, rule, forgery),
            Fault::Duplicate { share }
            | Fault::Forge { share, .. }
            | Fault::Replay { share }
            | Fault::ForgeHeartbeat { share, .. }
            | Fault::Earlier { share, .. }
            | Fault::ForgeSnapshot { share, .. }
            | Fault::Misroute { share } => {
                add_for_share(copies, rule, share, random, |of_line, copy, random| {
                    make(copy, of_line, earlier, &rule.fault, random)
                })
            }
            Fault::DropOnAllLines { .. }
            | Fault::JoinLate { .. }
            | Fault::Silence { .. }
            | Fault::WrongClock { .. }
            | Fault::HostClock { .. } => unreachable!("strikes all lines at once"),
        }
    }

    /// Packets that a rule drops in bursts, each burst in one feed.
    fn bursts_of_packets(
        &self,
        rule: &Rule,
        share: f64,
        packets_max: u64,
        random: &mut Random,
    ) -> BTreeSet<usize> {
        let sent: BTreeMap<usize, &Copy> = self
            .copies
            .iter()
            .flatten()
            .map(|copy| (copy.packet, copy))
            .collect();
        let mut left: BTreeMap<Feed, u64> = BTreeMap::new();
        let mut victims = BTreeSet::new();
        for (packet, copy) in sent {
            if rule.strikes(copy)
                && in_burst(
                    left.entry(copy.feed).or_default(),
                    share,
                    packets_max,
                    random,
                )
            {
                victims.insert(packet);
            }
        }
        victims
    }

    /// Time of any packet that a rule affects; 0 if there is none.
    fn time_of_any(&self, rule: &Rule, random: &mut Random) -> u64 {
        let lines = rule.lines.iter().map(|&line| &self.copies[line as usize]);
        let affected = lines.flatten().filter(|copy| rule.strikes(copy));
        let times: Vec<u64> = affected.map(|copy| copy.time_ns).collect();
        match times.len() {
            0 => 0,
            count => times[random.index(count)],
        }
    }

    fn drop_where(&mut self, rule: &Rule, victim: impl Fn(&Copy) -> bool) -> u64 {
        let mut struck = 0;
        for &line in &rule.lines {
            self.copies[line as usize].retain(|copy| {
                let drop = rule.strikes(copy) && victim(copy);
                struck += u64::from(drop);
                !drop
            });
        }
        struck
    }
}

impl Rule {
    fn strikes(&self, copy: &Copy) -> bool {
        !copy.spared && self.feeds.contains(&copy.feed)
    }
}

/// True if the next packet belongs to a burst; `left` counts the rest of the current one.
pub(super) fn in_burst(left: &mut u64, share: f64, packets_max: u64, random: &mut Random) -> bool {
    if *left == 0 && random.chance(share) {
        *left = random.below(packets_max.max(1)) + 1;
    }
    let inside = *left > 0;
    *left -= u64::from(inside);
    inside
}

fn drop_bursts(
    copies: &mut Vec<Copy>,
    rule: &Rule,
    share: f64,
    packets_max: u64,
    random: &mut Random,
) -> u64 {
    let before = copies.len();
    let mut left: BTreeMap<Feed, u64> = BTreeMap::new();
    copies.retain(|copy| {
        !(rule.strikes(copy)
            && in_burst(
                left.entry(copy.feed).or_default(),
                share,
                packets_max,
                random,
            ))
    });
    (before - copies.len()) as u64
}

fn outage(copies: &mut Vec<Copy>, rule: &Rule, packets: u64, random: &mut Random) -> u64 {
    let victims = copies.iter().filter(|copy| rule.strikes(copy)).count() as u64;
    let first = random.below(victims.saturating_sub(packets).max(1));
    let mut place = 0;
    let before = copies.len();
    copies.retain(|copy| {
        if !rule.strikes(copy) {
            return true;
        }
        place += 1;
        !(first < place && place <= first + packets)
    });
    (before - copies.len()) as u64
}

fn reorder(copies: &mut [Copy], rule: &Rule, share: f64, by_max: u64, random: &mut Random) -> u64 {
    let mut struck = 0;
    let times: Vec<(Feed, u64, bool)> = copies
        .iter()
        .map(|c| (c.feed, c.time_ns, c.spared))
        .collect();
    for (index, copy) in copies.iter_mut().enumerate() {
        if !rule.strikes(copy) || !random.chance(share) {
            continue;
        }
        let by = random.index(by_max.max(1) as usize);
        let later = times[index + 1..]
            .iter()
            .filter(|(feed, _, spared)| *feed == copy.feed && !spared);
        if let Some((_, time_ns, _)) = later.take(by + 1).last() {
            copy.time_ns = time_ns + 1;
            struck += 1;
        }
    }
    struck
}

/// Changes a copy of a packet.
fn change(copy: &mut Copy, fault: &Fault, random: &mut Random) {
    match *fault {
        Fault::Delay { min_ns, max_ns, .. } => {
            copy.time_ns += random.between(min_ns as i64, max_ns as i64) as u64;
        }
        Fault::Corrupt { .. } => {
            copy.intact = false;
            damage::corrupt(&mut copy.payload, random);
        }
        Fault::Flip { bytes_max, .. } => {
            copy.intact = false;
            damage::flip(&mut copy.payload, bytes_max, random);
        }
        Fault::Tamper { .. } => copy.intact &= !damage::tamper(&mut copy.payload, random),
        Fault::Truncate { .. } => {
            copy.intact = false;
            damage::truncate(&mut copy.payload, random);
        }
        _ => unreachable!("it changes no copy"),
    }
}

/// Makes another packet of the copy of a packet. `sent` has the copies of its line up to it, `earlier` an earlier session.
fn make(
    copy: &mut Copy,
    sent: &[Copy],
    earlier: &[SentPacket],
    fault: &Fault,
    random: &mut Random,
) {
    match *fault {
        Fault::Duplicate { .. } => copy.time_ns += random.below(50_000),
        Fault::Forge { ahead, .. } => {
            copy.intact = false;
            header::renumber(&mut copy.payload, ahead);
        }
        Fault::Replay { .. } => {
            let old = random.pick(sent);
            let time_ns = copy.time_ns + 1;
            if old.feed == copy.feed {
                *copy = old.clone();
            }
            copy.time_ns = time_ns;
        }
        Fault::ForgeHeartbeat { forgery, .. } => forged::heartbeat(copy, forgery),
        Fault::Earlier { seconds_ago, .. } => forged::earlier(copy, earlier, seconds_ago, random),
        Fault::ForgeSnapshot { ahead, .. } => forged::snapshot(copy, earlier, ahead, random),
        Fault::Misroute { .. } => forged::misroute(copy, random),
        _ => unreachable!("it makes no packet of a copy"),
    }
}

fn for_share(
    copies: &mut [Copy],
    rule: &Rule,
    share: f64,
    random: &mut Random,
    mut act: impl FnMut(&mut Copy, &mut Random),
) -> u64 {
    let mut struck = 0;
    for copy in copies.iter_mut().filter(|copy| rule.strikes(copy)) {
        if random.chance(share) {
            act(copy, random);
            struck += 1;
        }
    }
    struck
}

/// Adds a changed copy after a share of the packets. `change` also gets the packets up to that one.
fn add_for_share(
    copies: &mut Vec<Copy>,
    rule: &Rule,
    share: f64,
    random: &mut Random,
    change: impl Fn(&[Copy], &mut Copy, &mut Random),
) -> u64 {
    let mut added = Vec::new();
    for (index, copy) in copies.iter().enumerate() {
        if rule.strikes(copy) && random.chance(share) {
            let mut copy = copy.clone();
            change(&copies[..=index], &mut copy, random);
            added.push(copy);
        }
    }
    let struck = added.len() as u64;
    copies.extend(added);
    struck
}
