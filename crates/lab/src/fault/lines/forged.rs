//! Packets that the exchange did not send at this time: forged packets, packets of another session, wrong clocks.

use super::{Copy, Lines};
use crate::capture::Feed;
use crate::cme::{SentPacket, header};
use crate::fault::{Forgery, Rule, damage, forger};
use crate::random::Random;
use std::collections::BTreeSet;

/// Turns a packet into a heartbeat just before it.
pub(super) fn heartbeat(copy: &mut Copy, Forgery { number, seconds }: Forgery) {
    let number = number.beside(header::number(&copy.payload));
    let sending_time = header::moved(header::sending_time(&copy.payload), seconds);
    copy.payload = forger::heartbeat(number, sending_time);
    copy.intact = false;
    copy.time_ns -= 1;
}

/// Adds a heartbeat before all other packets.
pub(super) fn first(copies: &mut Vec<Copy>, rule: &Rule, forgery: Forgery) -> u64 {
    let Some(first) = copies
        .iter()
        .position(|copy| rule.feeds.contains(&copy.feed))
    else {
        return 0;
    };
    let mut forged = copies[first].clone();
    heartbeat(&mut forged, forgery);
    forged.time_ns = copies[0].time_ns - 1;
    copies.push(forged);
    1
}

/// Replaces a packet by one of the same feed from the earlier session, with its original time.
pub(super) fn earlier(
    copy: &mut Copy,
    before: &[SentPacket],
    seconds_ago: u32,
    random: &mut Random,
) {
    if let Some(sent) = any_of(before, copy.feed, random) {
        copy.payload.clone_from(&sent.payload);
        header::retime(&mut copy.payload, -i64::from(seconds_ago));
        copy.intact = false;
        copy.time_ns += 1;
    }
}

/// Replaces a packet by one of the same feed from the earlier session, with the current time and with snapshots that
/// claim to contain later packets.
pub(super) fn snapshot(copy: &mut Copy, before: &[SentPacket], ahead: u32, random: &mut Random) {
    if let Some(sent) = any_of(before, copy.feed, random) {
        let sending_time = header::sending_time(&copy.payload);
        copy.payload.clone_from(&sent.payload);
        header::set_sending_time(&mut copy.payload, sending_time);
        damage::reach_further(&mut copy.payload, ahead);
        copy.intact = false;
        copy.time_ns += 1;
    }
}

/// Moves a packet to another feed.
pub(super) fn misroute(copy: &mut Copy, random: &mut Random) {
    let others: Vec<Feed> = Feed::ALL
        .into_iter()
        .filter(|feed| *feed != copy.feed)
        .collect();
    copy.feed = *random.pick(&others);
    copy.intact = false;
    copy.time_ns += 1;
}

/// A packet near a random position of the session.
fn any_of<'a>(before: &'a [SentPacket], feed: Feed, random: &mut Random) -> Option<&'a SentPacket> {
    if before.is_empty() {
        return None;
    }
    let (ahead, behind) = before.split_at(random.index(before.len()));
    behind.iter().chain(ahead).find(|sent| sent.feed == feed)
}

impl Lines<'_> {
    /// Gives consecutive packets another sending time, on every line.
    pub(super) fn wrong_clock(
        &mut self,
        rule: &Rule,
        packets: u64,
        seconds: i64,
        random: &mut Random,
    ) -> u64 {
        let copies = self.copies.iter_mut().flatten();
        let struck = copies.filter(|copy| rule.strikes(copy));
        let sent: BTreeSet<usize> = struck.map(|copy| copy.packet).collect();
        let first = random.index(sent.len().max(1));
        let run: BTreeSet<usize> = sent
            .into_iter()
            .skip(first)
            .take(packets as usize)
            .collect();
        let mut struck = 0;
        for copy in self.copies.iter_mut().flatten() {
            if rule.strikes(copy) && run.contains(&copy.packet) {
                header::retime(&mut copy.payload, seconds);
                struck += 1;
            }
        }
        struck
    }

    /// Steps the clock of the receiving host at a random time.
    pub(super) fn set_host_clock(&mut self, seconds: i64, random: &mut Random) -> u64 {
        let times: Vec<u64> = self
            .copies
            .iter()
            .flatten()
            .map(|copy| copy.time_ns)
            .collect();
        if times.is_empty() {
            return 0;
        }
        self.clock_set.push((*random.pick(&times), seconds));
        1
    }
}
