//! How a confirmed candidate becomes the stream, and how an unconfirmed one is dropped.

use super::candidate::{Forgotten, Jump, Place, Situation};
use super::{Arbiter, JumpWarning, Likeness, Line, Sent, Step, StreamPoint};
use crate::arbitration::{BufferedPacket, Span, is_over};

/// A sequence reset is awaited for this many times the wait time of a gap while the stream continues without it.
const WAITS_MAX: u64 = 10;

impl Arbiter {
    /// Position of the candidate, which is not empty.
    pub(super) fn place(&self) -> Place {
        let (lowest, highest) = (self.candidate.lowest(), self.candidate.highest());
        let fits = self.clock.fits(lowest.sending_ns, lowest.time.wall_ns)
            && self
                .clock
                .is_reached(highest.sending_ns, highest.time.wall_ns);
        let next = self.window.next();
        if next == 0 {
            Place::First
        } else if !fits {
            Place::AgainstClock
        } else if self.candidate.began() >= next + self.window.capacity() {
            Place::OutOfWindow
        } else if self.candidate.began() >= next
            && self.is_in_order(lowest.sequence, lowest.sending_ns)
        {
            Place::Inside
        } else if lowest.sending_ns > self.clock.newest_ns {
            Place::Reset
        } else {
            Place::AgainstClock
        }
    }

    /// How the window would move to a candidate there. If the clock was set, the numbers continue if none is missing;
    /// otherwise they may have restarted.
    pub(super) fn way(&self, place: Place) -> Jump {
        match place {
            Place::First => Jump::Join,
            Place::Inside | Place::OutOfWindow => Jump::Forward,
            Place::AgainstClock if self.is_next_step() => Jump::Forward,
            Place::Reset | Place::AgainstClock => Jump::Restart,
        }
    }

    /// Whether the numbers of the candidate continue the processed ones without a packet in between.
    fn is_next_step(&self) -> bool {
        let next = self.window.next();
        let goes_on = self.candidate.began() == next && !self.candidate.replaces_others();
        goes_on && self.window.is_empty()
    }

    /// Runs `act` on the candidate of earlier sending times in place of the other one. They stay swapped if that
    /// candidate is confirmed.
    pub(super) fn on_earlier<T>(&mut self, act: impl FnOnce(&mut Arbiter) -> T) -> T {
        assert!(self.jump.is_none(), "the window moves to one candidate");
        std::mem::swap(&mut self.candidate, &mut self.earlier);
        let result = act(self);
        match self.jump {
            None => std::mem::swap(&mut self.candidate, &mut self.earlier),
            Some(_) => self.earlier.clear(),
        }
        self.note_forgotten();
        result
    }

    #[cold]
    pub(super) fn advance_candidates(&mut self, now_ns: u64) {
        if !self.candidate.is_empty() {
            self.advance_candidate(now_ns);
        }
        if self.jump.is_none() && !self.earlier.is_empty() {
            self.on_earlier(|arbiter| arbiter.advance_candidate(now_ns));
        }
    }

    fn advance_candidate(&mut self, now_ns: u64) {
        self.accept_candidate(now_ns);
        if self.jump.is_none() && self.candidate.is_passed_over() && self.window.is_empty() {
            // One line may show a reset long before the other has brought all packets before it.
            let waits = if self.place() == Place::Reset {
                WAITS_MAX
            } else {
                1
            };
            if is_over(
                self.candidate.since_ns(),
                now_ns,
                waits * self.window.wait_ns(),
            ) {
                self.candidate.clear();
                self.note_forgotten();
            }
        }
        if let JumpWarning::Since(since_ns) = self.warning
            && self.jump.is_none()
            && is_over(since_ns, now_ns, self.window.wait_ns())
            && !self.candidate.is_passed_over()
        {
            self.warning = JumpWarning::Due;
        }
    }

    pub(super) fn accept_candidate(&mut self, now_ns: u64) {
        let situation = Situation {
            place: self.place(),
            now_ns,
            wait_ns: self.window.wait_ns(),
            activity_ns: self.activity_ns,
        };
        if self.jump.is_none() && self.candidate.is_confirmed(situation) {
            let way = self.way(situation.place);
            self.jump = Some(way);
            if situation.place == Place::Reset {
                self.take_over();
            }
            if situation.place == Place::AgainstClock && way == Jump::Restart {
                self.candidate.keep_agreed();
            }
            if situation.place == Place::AgainstClock || self.earlier.is_agreed() {
                // Buffered packets may be of either epoch.
                self.window.clear();
            }
        }
    }

    /// Numbers that fit the window and were sent after the reset are of the new epoch.
    fn take_over(&mut self) {
        let begun_ns = self.candidate.lowest().sending_ns;
        let Arbiter {
            window, candidate, ..
        } = self;
        let highest = match window.is_empty() {
            true => 0,
            false => window.buffer().highest(),
        };
        for sequence in window.next()..=highest {
            let buffer = window.buffer();
            if !buffer.has(sequence) || buffer.peek(sequence).sending_ns < begun_ns {
                continue;
            }
            if let Some(buffered) = window.take(sequence)
                && candidate.agrees(sequence, buffered.sending_ns, buffered.time)
            {
                let payload = window.payload(&buffered);
                candidate.offer(
                    sequence,
                    buffered.sending_ns,
                    Line::A,
                    buffered.time,
                    payload,
                );
            }
        }
    }

    /// Called before the next packet is processed: the candidate is over, unless the packet shows that a later epoch
    /// has started. Returns the number processed last if the dropped candidate may nevertheless be real.
    #[cold]
    pub(super) fn deny(&mut self) -> Option<u64> {
        if self.is_undisputed() || self.jump.is_some() {
            return None;
        }
        let next = *self.window.buffer().peek(self.window.next());
        let sending_ns = next.sending_ns;
        let newest = self.earlier.highest();
        let sent = Sent {
            sending_ns: newest.sending_ns,
            bytes: newest.bytes() as u32,
            hash: 0,
        };
        let is_late = self.likeness(newest.sequence, sent) == Likeness::Lost;
        let is_long = is_over(
            self.earlier.since_ns(),
            next.time.mono_ns,
            self.window.wait_ns(),
        );
        if is_long && self.earlier.is_continued_by(&next) && !is_late {
            // The packet may be of an exchange that restarted a little behind the clock, while only one line is received.
            self.conflict = Some(self.window.next() - 1);
        }
        self.earlier.clear();
        if !self.candidate.is_empty() {
            match self.place() {
                Place::AgainstClock => self.candidate.clear(),
                Place::Reset if sending_ns >= self.candidate.lowest().sending_ns => {
                    self.candidate.clear()
                }
                _ => self.candidate.pass_over(),
            }
        }
        self.note_forgotten();
        self.denied |= self.conflict.is_some();
        self.conflict.take()
    }

    /// If a candidate had a packet that could be of the present epoch, and the stream continues without it, the
    /// packet processed in its place may not be the venue's. If both lines brought low numbers, one with a present
    /// time or several, a sequence reset may have passed unnoticed.
    pub(super) fn note_forgotten(&mut self) {
        let Arbiter {
            candidate,
            earlier,
            clock,
            window,
            ..
        } = self;
        let next = window.next();
        let may_be_so = |other: Forgotten| {
            let is_of_now = clock.fits(other.newest.sending_ns, other.newest.time.wall_ns);
            other.is_ambiguous || other.began < next && (other.is_agreed || is_of_now)
        };
        let forgotten = [candidate.take_forgotten(), earlier.take_forgotten()];
        if forgotten.into_iter().flatten().any(may_be_so) && next > 0 {
            self.conflict = Some(self.window.next() - 1);
        }
    }

    /// Moves the window to the candidate; the reorder buffer is empty afterwards.
    pub(super) fn jump_to_candidate(&mut self, jump: Jump) -> Option<Step> {
        let (lowest, whole) = (*self.candidate.lowest(), self.candidate.is_whole());
        let (first, sending_ns) = (lowest.sequence as u32, lowest.sending_ns);
        let step = match jump {
            Jump::Join => {
                self.window.begin(lowest.sequence);
                Some(Step::Joined { first, whole })
            }
            Jump::Restart => {
                self.sent.forget(0..self.window.next());
                self.differed = None;
                self.window.begin(lowest.sequence);
                let is_later = sending_ns > self.clock.newest_ns;
                self.clock.begun_ns = if is_later { sending_ns } else { 0 };
                Some(Step::Restarted {
                    first,
                    whole,
                    sending_ns,
                })
            }
            Jump::Forward => {
                self.clock.begun_ns = self.clock.begun_ns.min(sending_ns);
                (lowest.sequence > self.window.next()).then(|| self.lose_to(&lowest))
            }
        };
        if jump != Jump::Forward || sending_ns < self.clock.newest_ns {
            self.begun = StreamPoint {
                sequence: lowest.sequence,
                sending_ns,
            };
            self.begun_at_ns = lowest.time.mono_ns;
        }
        self.clock.set(&lowest);
        self.warning = JumpWarning::None;
        let earlier_ended_first =
            jump == Jump::Restart && self.earlier.ended_before(&self.candidate);
        self.earlier.clear();
        if earlier_ended_first {
            // The earlier packets were of the previous epoch.
            self.earlier.take_forgotten();
        }
        self.note_forgotten();
        self.adopt();
        step.or_else(|| self.pop_waiting())
    }

    /// Moves the candidate's packets into the window once the window has reached them.
    pub(super) fn adopt_reached(&mut self) {
        // mutant: feed: a confirmed restart becomes a loss
        if self.jump.is_none() && !self.candidate.is_empty() && self.place() == Place::Inside {
            self.adopt();
        }
    }

    fn adopt(&mut self) {
        let compares = self.compare.is_some();
        let Arbiter {
            window, candidate, ..
        } = self;
        candidate.drain(|buffered, payload, of_both_lines| {
            let BufferedPacket {
                sequence,
                sending_ns,
                time,
                ..
            } = *buffered;
            if !window.contains(sequence) {
                return;
            }
            // mutant: feed: a packet of one line is not replaced by packets of both lines
            let buffer = window.buffer();
            let is_disputed = buffer.disputes(sequence, sending_ns, payload.len())
                || compares && buffer.differs(sequence, sending_ns, payload);
            if is_disputed {
                window.discard(sequence);
            }
            // Of two packets of one number, the one of both lines is the venue's; otherwise neither is accepted.
            if !is_disputed || of_both_lines {
                window.keep(Span::one(sequence), sending_ns, time, payload);
            }
        });
        self.jump = None;
    }
}
