//! Two equal lines into one stream: first valid copy by sequence, a bounded wait for holes, and the detection of a
//! numbering that started again.

use super::packet::Packet;
use std::collections::BTreeMap;

/// One step of the arbitrated stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Packets up to this sequence were missed or lost, from `first` on.
    Lost {
        /// The first one.
        first: u32,
        /// The last one.
        last: u32,
    },
    /// Numbering started again; the packet that showed it was sent at this time.
    Restarted {
        /// Its SendingTime.
        sending_time: u64,
    },
    /// The next packet.
    Packet(Packet),
}

/// Arbitrates the incremental feed of one channel. Time is an argument.
#[derive(Clone, Debug)]
pub struct Arbitration {
    wait_ns: u64,
    /// The sequence that comes next; `None` before the first packet. Wider than a sequence, so that it never wraps.
    next: Option<u64>,
    /// Packets behind a hole, each with the time it arrived.
    waiting: BTreeMap<u32, (u64, Packet)>,
    /// SendingTime of the newest packet passed on.
    newest_ns: u64,
    restart: Option<Restart>,
    /// Packets passed on since another one began to wait, by that one's sequence: what a jump must answer to.
    overtaken: BTreeMap<u32, u32>,
}

/// What is needed to tell late packets of the old numbering from early ones of the new.
#[derive(Clone, Copy, Debug)]
struct Restart {
    /// The packet that showed the restart.
    shown_by: u32,
    shown_by_ns: u64,
    /// SendingTime of the last packet of the old numbering.
    old_ns: u64,
}

/// A packet so far ahead of the stream is not believed on its word alone: if packets of the old place come in while it
/// waits, it was forged or damaged. No real gap is this wide and then fills from its beginning.
const FAR_AHEAD: u32 = 1 << 20;

impl Arbitration {
    /// Waits `wait_ns` for a hole to be filled.
    pub fn new(wait_ns: u64) -> Self {
        Self {
            wait_ns,
            next: None,
            waiting: BTreeMap::new(),
            newest_ns: 0,
            restart: None,
            overtaken: BTreeMap::new(),
        }
    }

    /// True from the first packet on.
    pub fn joined(&self) -> bool {
        self.next.is_some()
    }

    /// Gives up the holes that were waited for long enough at `now_ns`.
    pub fn expire(&mut self, now_ns: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        while let Some(since) = self.waiting.values().map(|(arrived, _)| *arrived).min() {
            if now_ns.saturating_sub(since) < self.wait_ns {
                break;
            }
            self.give_up_first_hole(&mut steps);
        }
        steps
    }

    /// Takes in a valid packet from either line. Call [`expire`](Self::expire) with the same time before.
    pub fn accept(&mut self, now_ns: u64, packet: Packet) -> Vec<Step> {
        let mut steps = Vec::new();
        let sequence = packet.sequence;
        let Some(next) = self.next else {
            if let Some(last) = sequence.checked_sub(1).filter(|&last| last > 0) {
                steps.push(Step::Lost { first: 1, last });
            }
            self.next = Some(u64::from(sequence));
            self.pass_on(packet, &mut steps);
            return steps;
        };
        if self.is_of_the_old_numbering(&packet) {
            return steps;
        }
        if u64::from(sequence) < next {
            if packet.sending_time > self.newest_ns {
                self.start_again(now_ns, packet, &mut steps);
            }
        } else if u64::from(sequence) == next {
            self.pass_on(packet, &mut steps);
            self.pass_on_waiting(&mut steps);
        } else {
            self.waiting.entry(sequence).or_insert((now_ns, packet));
        }
        steps
    }

    /// End of input: every hole is lost.
    pub fn finish(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        while !self.waiting.is_empty() {
            self.give_up_first_hole(&mut steps);
        }
        steps
    }

    fn is_of_the_old_numbering(&self, packet: &Packet) -> bool {
        self.restart.is_some_and(|restart| {
            let is_early_new =
                packet.sequence < restart.shown_by && packet.sending_time > restart.old_ns;
            packet.sending_time < restart.shown_by_ns && !is_early_new
        })
    }

    /// Numbering started again, as `packet` shows. Waiting packets that were sent before it belong to the old numbering
    /// and their holes are lost; those sent after it were early ones of the new.
    fn start_again(&mut self, now_ns: u64, packet: Packet, steps: &mut Vec<Step>) {
        let waiting = std::mem::take(&mut self.waiting);
        let (old, new) = waiting
            .into_iter()
            .partition(|(_, (_, w))| w.sending_time < packet.sending_time);
        self.waiting = old;
        steps.extend(self.finish());
        self.waiting = new;
        self.overtaken.clear();
        self.restart = Some(Restart {
            shown_by: packet.sequence,
            shown_by_ns: packet.sending_time,
            old_ns: self.newest_ns,
        });
        steps.push(Step::Restarted {
            sending_time: packet.sending_time,
        });
        self.next = Some(1);
        self.waiting.insert(packet.sequence, (now_ns, packet));
        self.pass_on_waiting(steps);
    }

    fn give_up_first_hole(&mut self, steps: &mut Vec<Step>) {
        let (Some(next), Some((&first_waiting, _))) = (self.next, self.waiting.first_key_value())
        else {
            return;
        };
        let overtaken = self.overtaken.get(&first_waiting).copied().unwrap_or(0);
        let next = next as u32; // below a waiting sequence, so it fits
        if first_waiting - next > FAR_AHEAD && overtaken > 0 {
            self.waiting.remove(&first_waiting);
            self.overtaken.remove(&first_waiting);
            return;
        }
        steps.push(Step::Lost {
            first: next,
            last: first_waiting - 1,
        });
        self.next = Some(u64::from(first_waiting));
        self.pass_on_waiting(steps);
    }

    fn pass_on_waiting(&mut self, steps: &mut Vec<Step>) {
        while let Some((_, packet)) = self
            .next
            .and_then(|next| self.waiting.remove(&u32::try_from(next).ok()?))
        {
            self.pass_on(packet, steps);
        }
    }

    fn pass_on(&mut self, packet: Packet, steps: &mut Vec<Step>) {
        self.overtaken.remove(&packet.sequence);
        for &waiting in self.waiting.keys() {
            *self.overtaken.entry(waiting).or_default() += 1;
        }
        self.newest_ns = self.newest_ns.max(packet.sending_time);
        self.next = Some(u64::from(packet.sequence) + 1);
        steps.push(Step::Packet(packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `(arrival, sequence, sending time)` in, and writes the steps down: `7` a packet, `-3..5` lost, `!` a
    /// restart.
    fn steps(packets: &[(u64, u32, u64)]) -> String {
        let mut arbitration = Arbitration::new(20);
        let mut steps = Vec::new();
        for &(now, sequence, sending_time) in packets {
            steps.extend(arbitration.expire(now));
            let messages = Vec::new();
            steps.extend(arbitration.accept(
                now,
                Packet {
                    sequence,
                    sending_time,
                    messages,
                },
            ));
        }
        steps.extend(arbitration.finish());
        let words = steps.iter().map(|step| match step {
            Step::Packet(packet) => packet.sequence.to_string(),
            Step::Lost { first, last } => format!("-{first}..{last}"),
            Step::Restarted { .. } => "!".to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_copy_counts_and_holes_are_waited_for() {
        assert_eq!(
            steps(&[(0, 1, 1), (1, 1, 1), (2, 3, 3), (3, 2, 2), (4, 2, 2)]),
            "1 2 3"
        );
        assert_eq!(steps(&[(0, 1, 1), (2, 3, 3), (21, 2, 2)]), "1 2 3");
        assert_eq!(steps(&[(0, 1, 1), (2, 3, 3), (22, 2, 2)]), "1 -2..2 3");
        assert_eq!(steps(&[(0, 7, 7), (1, 6, 6)]), "-1..6 7");
        assert_eq!(
            steps(&[(0, 1, 1), (1, 3, 3), (2, 5, 5)]),
            "1 -2..2 3 -4..4 5"
        );
    }

    #[test]
    fn each_hole_has_its_own_wait() {
        assert_eq!(
            steps(&[(0, 1, 1), (2, 3, 3), (15, 5, 5), (23, 4, 4)]),
            "1 -2..2 3 4 5"
        );
    }

    #[test]
    fn a_numbering_that_starts_again_is_seen() {
        let old = [(0, 8, 8), (1, 9, 9)];
        let with = |new: &[(u64, u32, u64)]| steps(&[&old[..], new].concat());
        assert_eq!(with(&[(2, 1, 20), (3, 2, 21)]), "-1..7 8 9 ! 1 2");
        assert_eq!(with(&[(2, 2, 21), (3, 1, 20)]), "-1..7 8 9 ! 1 2");
        assert_eq!(with(&[(2, 2, 21), (30, 1, 20)]), "-1..7 8 9 ! -1..1 2");
        assert_eq!(
            with(&[(2, 11, 11), (3, 1, 20), (4, 10, 10)]),
            "-1..7 8 9 -10..10 11 ! 1"
        );
        assert_eq!(with(&[(2, 12, 31), (3, 1, 20)]), "-1..7 8 9 ! 1 -2..11 12");
    }

    #[test]
    fn a_packet_from_far_ahead_that_the_stream_overtakes_is_not_believed() {
        let far = 9 + (1 << 31);
        assert_eq!(
            steps(&[(0, 9, 9), (1, far, 9), (2, 10, 10), (30, 11, 11)]),
            "-1..8 9 10 11"
        );
        assert_eq!(
            steps(&[(0, 9, 9), (1, far, 10)]),
            format!("-1..8 9 -10..{} {far}", far - 1)
        );
    }
}
