//! Arbitration of two equal lines into one stream: first valid copy by sequence, a bounded wait for gaps, and
//! confirmation of packets that contradict the stream: the first packet, a jump, a sequence reset, a clock step.

use super::packet::Packet;
use super::suspects::{MINUTE, Refused, SECOND, Suspects};
use crate::capture::Line;
use std::collections::BTreeMap;
pub use step::{Moment, Step};

mod copies;
mod step;

/// Interpretation of the suspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Beginning,
    Inside,
    OutOfWindow,
    Reset,
    AgainstClock,
}

/// Transition of the stream to confirmed suspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Join,
    Restart,
    Forward,
}

const SUSPECTS_MAX: u64 = 256;

/// Arbitration of the incremental feed of one channel. Time is an argument.
#[derive(Clone, Debug)]
pub struct Arbitration {
    wait_ns: u64,
    window: u64,
    /// Next expected sequence; `None` before the first packet.
    next: Option<u64>,
    /// Packets behind a gap, each with its time of arrival and its length.
    waiting: BTreeMap<u64, (u64, usize, Packet)>,
    /// SendingTime and length of the processed packets of this epoch.
    processed: BTreeMap<u64, (u64, usize)>,
    /// Latest processed SendingTime, and the arrival of that packet.
    newest_ns: u64,
    newest_arrived: u64,
    /// Largest lead of the venue's clock over ours.
    apart_ns: u64,
    /// Packets sent before this are of an older epoch.
    begun_ns: u64,
    begun: Moment,
    begun_arrived: u64,
    last_sent_ns: u64,
    suspects: Suspects,
    /// Suspects with an earlier time: old copies, or a clock that was set back.
    earlier: Suspects,
    refused: Refused,
    pending: Option<Move>,
    /// A processed packet may be forged.
    conflict: bool,
    /// A conflict was found since the last packet.
    has_conflict: bool,
    activity: [u64; 2],
}

impl Arbitration {
    /// Waits `wait_ns` for a gap to be filled; `window` sequences may wait.
    pub fn new(wait_ns: u64, window: u64) -> Self {
        Self {
            wait_ns,
            window,
            next: None,
            waiting: BTreeMap::new(),
            processed: BTreeMap::new(),
            newest_ns: 0,
            newest_arrived: 0,
            apart_ns: MINUTE,
            begun_ns: 0,
            begun: Moment::default(),
            begun_arrived: 0,
            last_sent_ns: 0,
            suspects: Suspects::default(),
            earlier: Suspects::default(),
            refused: Refused::default(),
            pending: None,
            conflict: false,
            has_conflict: false,
            activity: [0; 2],
        }
    }

    /// Newest packet passed on; `None` before the first.
    pub fn newest(&self) -> Option<Moment> {
        self.next.map(|next| Moment {
            sequence: next - 1,
            sending_time: self.last_sent_ns,
        })
    }

    /// First packet of the current epoch, or since the venue's clock was set back.
    pub fn begun(&self) -> Moment {
        self.begun
    }

    /// Whether a packet sent at this time may be of an epoch that both lines show and that is not confirmed yet.
    pub fn is_in_doubt(&self, sending_time: u64, now_ns: u64) -> bool {
        let behind = |suspects: &Suspects| {
            suspects.agreed > 1
                && now_ns.saturating_sub(suspects.spoken) < 10 * self.wait_ns
                && sending_time >= suspects.lowest().packet.sending_time
        };
        self.next.is_some() && (behind(&self.suspects) || behind(&self.earlier))
    }

    /// Whether a packet with this arrival was sent more than a second earlier before the first packet than it arrived
    /// before it.
    pub fn is_long_before(&self, sending_time: u64, arrived: u64) -> bool {
        let before = self.begun_arrived.saturating_sub(arrived);
        sending_time + before + SECOND < self.begun.sending_time
    }

    /// Largest number of sequences behind a gap.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Whether the venue's clock can have reached a time by `now_ns`.
    pub fn is_reached(&self, sending_time: u64, now_ns: u64) -> bool {
        self.newest_ns == 0 || self.ahead(sending_time, now_ns) <= self.apart_ns
    }

    /// Lead of a time over the newest packet and the time since.
    pub fn ahead(&self, sending_time: u64, now_ns: u64) -> u64 {
        let passed = now_ns.saturating_sub(self.newest_arrived);
        sending_time.saturating_sub(self.newest_ns.saturating_add(passed))
    }

    /// Gives up gaps whose wait time is over at `now_ns`, and checks the suspects again.
    pub fn expire(&mut self, now_ns: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        let overdue = |(arrived, _, _): &(u64, usize, Packet)| {
            now_ns.saturating_sub(*arrived) >= self.wait_ns
        };
        let release_to = self
            .waiting
            .iter()
            .rev()
            .find(|(_, waits)| overdue(waits))
            .map(|(sequence, _)| *sequence);
        let is_idle = self.waiting.is_empty();
        self.look_again(now_ns, is_idle);
        if self.pending.is_none() {
            std::mem::swap(&mut self.suspects, &mut self.earlier);
            self.look_again(now_ns, is_idle);
            self.swap_back();
        }
        self.settle(release_to.unwrap_or(0), &mut steps);
        steps
    }

    /// Records activity of a line, from valid or invalid packets.
    pub fn record_activity(&mut self, now_ns: u64, line: Line) {
        self.activity[line as usize] = now_ns;
    }

    /// Processes a valid packet of `bytes` bytes. Call [`expire`](Self::expire) with the same time first.
    pub fn accept(&mut self, now_ns: u64, line: Line, bytes: usize, packet: Packet) -> Vec<Step> {
        let mut steps = Vec::new();
        let sequence = u64::from(packet.sequence);
        if let Some(next) = self.next.filter(|next| sequence < *next) {
            if self.is_old_copy(next, bytes, &packet) {
                return steps;
            }
            let is_old = packet.sending_time < self.begun.sending_time;
            let agrees = |suspects: &Suspects| {
                !suspects.packets.is_empty()
                    && suspects.agrees(now_ns, self.suspects_max(), &packet)
            };
            let (by_others, by_earlier) = (agrees(&self.suspects), agrees(&self.earlier));
            let by_both_lines =
                by_others && self.suspects.agreed > 0 || by_earlier && self.earlier.agreed > 0;
            if !by_both_lines && !is_old && self.conflicts(next, bytes, &packet) {
                self.conflict |= !std::mem::replace(&mut self.has_conflict, true);
                if !by_others && !by_earlier {
                    self.processed
                        .insert(sequence, (packet.sending_time, bytes));
                    self.settle(0, &mut steps);
                    return steps;
                }
            }
        }
        let inside = self.is_inside(now_ns, &packet);
        let of_reset = !self.suspects.packets.is_empty()
            && self.claim() == Claim::Reset
            && self
                .suspects
                .continues(now_ns, self.suspects_max(), &packet);
        let of_earlier = self.next.is_some_and(|next| sequence >= next)
            && self.earlier.agreed > 0
            && self.earlier.agrees(now_ns, self.suspects_max(), &packet);
        if inside && !of_reset && !of_earlier {
            let is_new = !self.waiting.contains_key(&sequence);
            if is_new && !self.suspects.packets.is_empty() && self.claim() == Claim::OutOfWindow {
                self.suspects.passed_over = true;
            }
            match self.waiting.get(&sequence) {
                None => {
                    self.waiting.insert(sequence, (now_ns, bytes, packet));
                }
                Some((_, length, waits))
                    if *length != bytes || waits.sending_time != packet.sending_time =>
                {
                    self.waiting.remove(&sequence);
                }
                Some(_) => {}
            }
        } else if of_earlier || self.next.is_some_and(|next| self.is_earlier(next, &packet)) {
            if self.pending.is_none() {
                std::mem::swap(&mut self.suspects, &mut self.earlier);
                self.suspect(now_ns, line, bytes, inside, packet);
                self.swap_back();
            }
        } else {
            self.suspect(now_ns, line, bytes, inside, packet);
        }
        self.settle(0, &mut steps);
        steps
    }

    /// End of input: every gap is lost, and suspects without contradiction are confirmed.
    pub fn finish(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let is_denied = self.suspects.passed_over || self.suspects.packets.is_empty();
        if !is_denied && self.claim() != Claim::AgainstClock {
            self.suspects.agreed += 1;
            self.pending = Some(self.way());
        }
        self.settle(u64::MAX, &mut steps);
        steps
    }

    /// Keeps confirmed suspects; the others are then irrelevant.
    fn swap_back(&mut self) {
        match self.pending {
            None => std::mem::swap(&mut self.suspects, &mut self.earlier),
            Some(_) => self.forget_earlier(),
        }
    }

    fn forget(&mut self) {
        let forgotten = std::mem::take(&mut self.suspects);
        self.note_forgotten(&forgotten);
    }

    fn forget_earlier(&mut self) {
        let forgotten = std::mem::take(&mut self.earlier);
        self.note_forgotten(&forgotten);
    }

    fn note_forgotten(&mut self, forgotten: &Suspects) {
        let Some(next) = self.next.filter(|_| !forgotten.packets.is_empty()) else {
            return;
        };
        let highest = forgotten.highest();
        let of_now = self.fits(highest.packet.sending_time, highest.arrived);
        let is_shown = forgotten.agreed > 1 || forgotten.agreed > 0 && of_now;
        self.conflict |= forgotten.ambiguous || is_shown && forgotten.began < next;
    }

    /// Confirms the suspects, or drops those that the stream has contradicted for long enough.
    fn look_again(&mut self, now_ns: u64, is_idle: bool) {
        if self.suspects.packets.is_empty() {
            return;
        }
        self.believe(now_ns);
        let waits = if self.claim() == Claim::Reset { 10 } else { 1 };
        let is_over = now_ns.saturating_sub(self.suspects.since) >= waits * self.wait_ns;
        if self.pending.is_none() && self.suspects.passed_over && is_idle && is_over {
            self.forget();
        }
    }

    /// Adds a packet to the suspects.
    fn suspect(&mut self, now_ns: u64, line: Line, bytes: usize, inside: bool, packet: Packet) {
        let max = self.suspects_max();
        let suspects = &mut self.suspects;
        let takes_two =
            !suspects.packets.is_empty() && !suspects.give_way(now_ns, self.wait_ns, max, &packet);
        if !takes_two || self.refused.is_shown(line as usize, bytes, &packet) {
            let sequence = u64::from(packet.sequence);
            let replaced = suspects.offer(now_ns, line as usize, bytes, max, packet);
            if takes_two && let Some(shown) = suspects.packets.get_mut(&sequence) {
                shown.lines = [true; 2];
            }
            suspects.ambiguous |= inside;
            if let Some(replaced) = replaced {
                self.note_forgotten(&replaced);
            }
            self.believe(now_ns);
        }
    }

    fn is_earlier(&self, next: u64, packet: &Packet) -> bool {
        let sending_time = packet.sending_time;
        sending_time < self.newest_ns.saturating_sub(SECOND).max(self.begun_ns)
            || u64::from(packet.sequence) < next && sending_time <= self.newest_ns
    }

    fn suspects_max(&self) -> u64 {
        SUSPECTS_MAX.min(self.window)
    }

    /// Whether a packet is inside the window, with a current time that is before the packets behind
    /// it.
    fn is_inside(&self, now_ns: u64, packet: &Packet) -> bool {
        let sequence = u64::from(packet.sequence);
        let Some(next) = self.next else { return false };
        (next..next + self.window).contains(&sequence)
            && self.fits(packet.sending_time, now_ns)
            && self.in_order(packet)
    }

    /// Sent before the highest waiting sequence, if that is a higher one.
    fn in_order(&self, packet: &Packet) -> bool {
        let highest = self.waiting.last_key_value();
        highest.is_none_or(|(highest, (_, _, waits))| {
            u64::from(packet.sequence) >= *highest || packet.sending_time <= waits.sending_time
        })
    }

    fn fits(&self, sending_time: u64, now_ns: u64) -> bool {
        sending_time >= self.newest_ns.saturating_sub(SECOND).max(self.begun_ns)
            && self.is_reached(sending_time, now_ns)
    }

    /// Interpretation of the suspects; there is at least one.
    fn claim(&self) -> Claim {
        let Some(next) = self.next else {
            return Claim::Beginning;
        };
        let (lowest, highest) = (self.suspects.lowest(), self.suspects.highest());
        let fits = self.fits(lowest.packet.sending_time, lowest.arrived)
            && self.is_reached(highest.packet.sending_time, highest.arrived);
        match self.suspects.began {
            _ if !fits => Claim::AgainstClock,
            began if began >= next + self.window => Claim::OutOfWindow,
            began if began >= next && self.in_order(&lowest.packet) => Claim::Inside,
            _ if lowest.packet.sending_time > self.newest_ns => Claim::Reset,
            _ => Claim::AgainstClock,
        }
    }

    fn is_next_step(&self) -> bool {
        let goes_on = Some(self.suspects.began) == self.next && !self.suspects.replace_others;
        goes_on && self.waiting.is_empty()
    }

    fn way(&self) -> Move {
        match self.claim() {
            Claim::Beginning => Move::Join,
            Claim::Inside | Claim::OutOfWindow => Move::Forward,
            Claim::AgainstClock if self.is_next_step() => Move::Forward,
            Claim::Reset | Claim::AgainstClock => Move::Restart,
        }
    }

    fn believe(&mut self, now_ns: u64) {
        let suspects = &self.suspects;
        let age = now_ns.saturating_sub(suspects.since);
        let other = self.activity[1 - suspects.first_line];
        let alone = other == 0 || other < suspects.since;
        let starts_at_one = suspects.packets.contains_key(&1);
        let believed = match self.claim() {
            Claim::Beginning => {
                let shown = suspects.distinct > 1 || suspects.agreed > 0;
                shown && (!starts_at_one || suspects.is_whole() || age >= self.wait_ns)
            }
            Claim::OutOfWindow => suspects.distinct > 1,
            Claim::Reset => {
                let shown = suspects.agreed >= 2 || alone && suspects.distinct >= 8;
                shown && (starts_at_one || age >= self.wait_ns)
            }
            Claim::AgainstClock | Claim::Inside => {
                let alone = alone && suspects.distinct >= 8 && (other == 0 || age >= MINUTE);
                let goes_on = now_ns.saturating_sub(suspects.spoken) < self.wait_ns;
                goes_on && age >= 10 * self.wait_ns && (suspects.agreed >= 2 || alone)
            }
        };
        if believed && self.pending.is_none() {
            let (way, claim) = (self.way(), self.claim());
            self.pending = Some(way);
            if claim == Claim::AgainstClock && way == Move::Restart {
                self.suspects.keep_agreed();
            }
            if claim == Claim::Reset {
                self.take_over();
            }
            if claim == Claim::AgainstClock || self.earlier.agreed >= 2 {
                self.waiting.clear();
            }
        }
    }

    /// Waiting packets that were sent after a reset are of the new epoch.
    fn take_over(&mut self) {
        let begun = self.suspects.lowest().packet.sending_time;
        let (max, waiting) = (self.suspects_max(), std::mem::take(&mut self.waiting));
        for (sequence, (arrived, bytes, packet)) in waiting {
            if packet.sending_time < begun {
                self.waiting.insert(sequence, (arrived, bytes, packet));
            } else if self.suspects.agrees(arrived, max, &packet) {
                self.suspects.offer(arrived, 0, bytes, max, packet);
            }
        }
    }

    /// Runs every due step; gaps up to `release_to` are lost.
    fn settle(&mut self, mut release_to: u64, steps: &mut Vec<Step>) {
        loop {
            if std::mem::take(&mut self.conflict) {
                let newest = self.next.map_or(0, |next| next - 1) as u32;
                steps.push(Step::Conflict { newest });
                continue;
            }
            if self.pending.is_none()
                && !self.suspects.packets.is_empty()
                && self.next.is_some()
                && self.claim() == Claim::Inside
            {
                self.adopt();
            }
            let next = self.next.unwrap_or(0);
            if let Some((arrived, bytes, packet)) = self.waiting.remove(&next) {
                self.pass_on(arrived, bytes, packet, steps);
                continue;
            }
            let behind = self.waiting.values().next();
            let behind = behind.filter(|_| self.pending.is_some() || next <= release_to);
            if let Some((arrived, _, packet)) = behind.cloned() {
                self.lose_to(arrived, &packet, steps);
                continue;
            }
            let Some(way) = self.pending.take() else {
                return;
            };
            if way == Move::Restart && release_to < u64::MAX {
                // The wait of the previous epoch does not apply to this one.
                release_to = 0;
            }
            self.go(way, steps);
        }
    }

    /// Gives up the gap before a packet. A clock step meanwhile may be another exchange's.
    fn lose_to(&mut self, arrived: u64, behind: &Packet, steps: &mut Vec<Step>) {
        let (next, target) = (self.next.unwrap_or(1), u64::from(behind.sequence));
        let is_ahead = self.ahead(behind.sending_time, arrived) > SECOND;
        let was_set =
            behind.sending_time < self.last_sent_ns || is_ahead && arrived >= self.newest_arrived;
        self.conflict |= was_set;
        steps.push(Step::Lost {
            first: next as u32,
            last: (target - 1) as u32,
        });
        self.next = Some(target);
    }

    fn go(&mut self, way: Move, steps: &mut Vec<Step>) {
        let lowest = self.suspects.lowest().clone();
        let (first, sending_time) = (lowest.packet.sequence, lowest.packet.sending_time);
        let whole = self.suspects.is_whole();
        match way {
            Move::Join => {
                self.next = Some(u64::from(first));
                steps.push(Step::Joined { first, whole });
            }
            Move::Restart => {
                self.processed.clear();
                self.next = Some(u64::from(first));
                self.begun_ns = if sending_time > self.newest_ns {
                    sending_time
                } else {
                    0
                };
                steps.push(Step::Restarted {
                    first,
                    whole,
                    sending_time,
                });
            }
            Move::Forward => {
                self.begun_ns = self.begun_ns.min(sending_time);
                if self.next.is_some_and(|next| u64::from(first) > next) {
                    self.lose_to(lowest.arrived, &lowest.packet, steps);
                }
            }
        }
        if way != Move::Forward || sending_time < self.newest_ns {
            self.begun = Moment {
                sequence: u64::from(first),
                sending_time,
            };
            self.begun_arrived = lowest.arrived;
        }
        let back = self.newest_ns.saturating_sub(sending_time);
        if back > 0 {
            self.apart_ns = (back / 2).clamp(SECOND, MINUTE);
        }
        (self.newest_ns, self.newest_arrived) = (sending_time, lowest.arrived);
        if way == Move::Restart && self.earlier.spoken < self.suspects.since {
            self.earlier = Suspects::default();
        }
        self.forget_earlier();
        self.adopt();
    }

    /// Adopts the suspects as the stream.
    fn adopt(&mut self) {
        let next = self.next.unwrap_or(0);
        for (sequence, suspect) in std::mem::take(&mut self.suspects).packets {
            if (next..next + self.window).contains(&sequence) && !suspect.disputed {
                let place = (suspect.bytes, suspect.packet.sending_time);
                let waits = (suspect.arrived, suspect.bytes, suspect.packet);
                match self.waiting.get(&sequence) {
                    Some((_, bytes, other)) if (*bytes, other.sending_time) == place => {}
                    Some(_) if suspect.lines == [true; 2] => {
                        self.waiting.insert(sequence, waits);
                    }
                    Some(_) => {
                        self.waiting.remove(&sequence);
                    }
                    None => {
                        self.waiting.insert(sequence, waits);
                    }
                }
            }
        }
        self.pending = None;
    }

    fn pass_on(&mut self, arrived: u64, bytes: usize, packet: Packet, steps: &mut Vec<Step>) {
        let (sequence, sending_time) = (u64::from(packet.sequence), packet.sending_time);
        self.deny(arrived, &packet);
        if self.conflict {
            let newest = (sequence - 1) as u32;
            steps.push(Step::Conflict { newest });
        }
        self.processed.insert(sequence, (sending_time, bytes));
        self.has_conflict = false;
        self.next = Some(sequence + 1);
        self.last_sent_ns = sending_time;
        if sending_time > self.newest_ns || arrived < self.newest_arrived {
            (self.newest_ns, self.newest_arrived) = (self.newest_ns.max(sending_time), arrived);
        }
        steps.push(Step::Packet(packet));
    }

    /// Drops the suspects that a packet of the stream contradicts.
    fn deny(&mut self, arrived: u64, packet: &Packet) {
        if self.pending.is_some() {
            return;
        }
        let sending_time = packet.sending_time;
        let max = self.suspects_max();
        let long = arrived.saturating_sub(self.earlier.since) >= self.wait_ns;
        if long && self.earlier.distinct > 2 && self.earlier.agrees(arrived, max, packet) {
            self.conflict |= !self.is_late(&self.earlier.highest().packet);
        }
        self.forget_earlier();
        if self.suspects.packets.is_empty() {
            return;
        }
        match self.claim() {
            Claim::AgainstClock => self.forget(),
            Claim::Reset if sending_time >= self.suspects.lowest().packet.sending_time => {
                self.forget();
            }
            _ => self.suspects.passed_over = true,
        }
    }
}

#[cfg(test)]
mod tests;
