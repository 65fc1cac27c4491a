//! Suspects: packets that contradict the processed ones, and wait for confirmation.

use super::packet::Packet;
use std::collections::{BTreeMap, VecDeque};

pub const SECOND: u64 = 1_000_000_000;
pub const MINUTE: u64 = 60 * SECOND;

/// Packets refused last: sequence, SendingTime, length, line.
#[derive(Clone, Debug, Default)]
pub struct Refused(VecDeque<(u64, u64, usize, usize)>);

impl Refused {
    /// Whether the other line delivered the same packet.
    pub fn is_shown(&mut self, line: usize, bytes: usize, packet: &Packet) -> bool {
        let brought = |line| (u64::from(packet.sequence), packet.sending_time, bytes, line);
        if self.0.contains(&brought(1 - line)) {
            return true;
        }
        self.0.push_back(brought(line));
        if self.0.len() > 16 {
            self.0.pop_front();
        }
        false
    }
}

/// Contradicting packets that wait for confirmation.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    /// By sequence, with the time of arrival, the length, and the lines that delivered it.
    pub packets: BTreeMap<u64, Suspect>,
    /// Lowest sequence that was ever in the set.
    pub began: u64,
    pub since: u64,
    pub spoken: u64,
    pub first_line: usize,
    pub distinct: usize,
    pub agreed: usize,
    pub passed_over: bool,
    pub ambiguous: bool,
    /// Earlier suspects exist that contradict these.
    pub replace_others: bool,
}

#[derive(Clone, Debug)]
pub struct Suspect {
    pub arrived: u64,
    pub bytes: usize,
    pub lines: [bool; 2],
    /// A different packet arrived with this sequence: neither is confirmed, and the next copy replaces it.
    pub disputed: bool,
    pub packet: Packet,
}

impl Suspects {
    pub fn lowest(&self) -> &Suspect {
        self.packets.values().next().expect("there are some")
    }

    pub fn highest(&self) -> &Suspect {
        self.packets.values().next_back().expect("there are some")
    }

    fn undisputed(&self, sequence: u64) -> Option<&Suspect> {
        let suspect = self.packets.get(&sequence);
        suspect.filter(|suspect| !suspect.disputed)
    }

    /// All from sequence 1 on, confirmed by two packets.
    pub fn is_whole(&self) -> bool {
        let shown = self.agreed > 0 || self.distinct > 1 && self.undisputed(2).is_some();
        let (lowest, highest) = (self.lowest(), self.highest());
        let sent = (highest.packet.sending_time).saturating_sub(lowest.packet.sending_time);
        let one_clock = sent <= highest.arrived.saturating_sub(lowest.arrived) + SECOND;
        self.packets.contains_key(&1) && shown && one_clock && !self.ambiguous
    }

    pub fn continues(&self, now_ns: u64, max: u64, packet: &Packet) -> bool {
        let highest = &self.highest().packet;
        packet.sequence > highest.sequence && self.agrees(now_ns, max, packet)
            || packet.sequence == highest.sequence && packet.sending_time == highest.sending_time
    }

    /// Near in sequence, and sent in order of sequence.
    pub fn agrees(&self, now_ns: u64, max: u64, packet: &Packet) -> bool {
        let (lowest, highest) = (self.lowest(), self.highest());
        let (sequence, sending_time) = (packet.sequence, packet.sending_time);
        let passed = now_ns.saturating_sub(highest.arrived);
        if sequence > highest.packet.sequence {
            let latest = highest.packet.sending_time.saturating_add(passed + MINUTE);
            u64::from(sequence - highest.packet.sequence) < max
                && (highest.packet.sending_time..=latest).contains(&sending_time)
        } else if sequence < lowest.packet.sequence {
            let earliest = lowest.packet.sending_time.saturating_sub(SECOND / 4);
            u64::from(highest.packet.sequence - sequence) < max
                && (earliest..=lowest.packet.sending_time).contains(&sending_time)
        } else {
            match self.undisputed(u64::from(sequence)) {
                Some(same) => same.packet.sending_time == sending_time,
                None => (lowest.packet.sending_time..=highest.packet.sending_time)
                    .contains(&sending_time),
            }
        }
    }

    /// Keeps the packets between the first and the last sequence that both lines delivered, if
    /// there is one.
    pub fn keep_agreed(&mut self) {
        let of_both = |suspect: &Suspect| !suspect.disputed && suspect.lines == [true; 2];
        let mut agreed = self.packets.iter().filter(|(_, suspect)| of_both(suspect));
        let Some((&first, _)) = agreed.next() else {
            return;
        };
        let last = agreed.next_back().map_or(first, |(&last, _)| last);
        self.packets
            .retain(|sequence, _| (first..=last).contains(sequence));
    }

    /// Whether the others are replaced by a contradicting one: they are unconfirmed, or have been for long enough.
    pub fn give_way(&self, now_ns: u64, wait_ns: u64, max: u64, packet: &Packet) -> bool {
        self.distinct == 1 && self.agreed == 0
            || now_ns.saturating_sub(self.spoken) >= wait_ns
            || self.agrees(now_ns, max, packet)
    }

    /// Replaces the others by a packet that contradicts them; returns them.
    pub fn offer(
        &mut self,
        now_ns: u64,
        line: usize,
        bytes: usize,
        max: u64,
        packet: Packet,
    ) -> Option<Suspects> {
        let mut replaced = None;
        if !self.packets.is_empty() && !self.agrees(now_ns, max, &packet) {
            replaced = Some(std::mem::take(self));
            self.replace_others = true;
        }
        self.spoken = now_ns;
        let sequence = u64::from(packet.sequence);
        if let Some(same) = self.packets.get_mut(&sequence)
            && !same.disputed
        {
            if same.bytes != bytes {
                same.disputed = true;
                return replaced;
            }
            self.agreed += usize::from(!same.lines[line]);
            same.lines[line] = true;
            return replaced;
        }
        while self
            .packets
            .keys()
            .next()
            .is_some_and(|lowest| sequence >= lowest + max)
        {
            self.packets.pop_first();
            while self.packets.len() > 1 && self.lowest().disputed {
                self.packets.pop_first();
            }
        }
        if self.distinct == 0 {
            (self.began, self.since, self.first_line) = (sequence, now_ns, line);
        }
        self.began = self.began.min(sequence);
        self.distinct += 1;
        let mut lines = [false; 2];
        lines[line] = true;
        let suspect = Suspect {
            arrived: now_ns,
            bytes,
            lines,
            disputed: false,
            packet,
        };
        self.packets.insert(sequence, suspect);
        replaced
    }
}
