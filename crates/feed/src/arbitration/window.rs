//! Window of sequence numbers: the next number, packets behind a gap, and the wait of a gap, first for the other lines,
//! then for retransmission, one request at a time.

use super::reorder_buffer::{BufferedPacket, ReorderBuffer};
use super::span::Span;
use crate::ReceiveTime;

/// Retransmission of packets that all lines lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retransmission {
    /// Time that a gap waits for requested packets, nanoseconds.
    pub wait_ns: u64,
    /// Largest number of packets of one request; a longer gap is lost at once.
    pub numbers_max: u64,
}

/// Range of numbers, some of which are requested again.
#[derive(Clone, Copy, Debug)]
pub struct Awaited {
    /// The first number, which is missing.
    pub first: u64,
    /// The last missing number; the next one is buffered.
    pub last: u64,
    /// Number of missing packets.
    missing: u64,
    /// Sending time of the packet behind them: none of them was sent later.
    behind_ns: u64,
    since_ns: u64,
    published: bool,
}

/// State of a request that blocks the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No packet is awaited.
    Nothing,
    /// All requested packets have arrived.
    Filled,
    /// These numbers are requested from now on; returned once.
    Asked {
        /// First number, which is missing.
        first: u64,
        /// Last number, which is missing.
        last: u64,
    },
    /// Requested packets are still awaited.
    Awaiting,
}

/// Window of numbers from the next one on.
#[derive(Debug)]
pub struct Window {
    /// Next number to process; 0 before the first packet.
    next: u64,
    wait_ns: u64,
    buffer: ReorderBuffer,
    /// No packet in `buffer` was received before this.
    oldest_ns: u64,
    /// Gaps up to here are lost; all of them, at the end.
    release_to: u64,
    /// Time of the last release of packets.
    released_ns: u64,
    retransmission: Option<Retransmission>,
    awaited: Option<Awaited>,
    /// No request is allowed before this time.
    ask_from_ns: u64,
}

impl Window {
    /// A gap waits `wait_ns` for its packets. Memory for `packets_max` buffered packets of `packet_bytes_max` bytes is
    /// allocated now.
    pub fn new(
        wait_ns: u64,
        packets_max: usize,
        packet_bytes_max: usize,
        retransmission: Option<Retransmission>,
    ) -> Window {
        Window {
            next: 0,
            wait_ns,
            buffer: ReorderBuffer::new(packets_max, packet_bytes_max),
            oldest_ns: u64::MAX,
            release_to: 0,
            released_ns: 0,
            retransmission,
            awaited: None,
            ask_from_ns: 0,
        }
    }

    /// Next number to process; 0 before the first packet.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Wait time of a gap.
    #[inline]
    pub fn wait_ns(&self) -> u64 {
        self.wait_ns
    }

    /// Number of sequence numbers in the window.
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.buffer.capacity()
    }

    /// Whether a number is in the window.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        number >= self.next && number - self.next < self.capacity()
    }

    /// Number of buffered packets.
    #[inline]
    pub fn buffer(&self) -> &ReorderBuffer {
        &self.buffer
    }

    /// Whether no packet is buffered.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether retransmission is awaited, or its completion was not returned yet.
    #[inline]
    pub fn is_held_up(&self) -> bool {
        self.awaited.is_some()
    }

    /// Starts an epoch with this number: gaps of the previous one are dropped.
    pub fn begin(&mut self, first: u64) {
        self.next = first;
        if self.release_to < u64::MAX {
            self.release_to = 0;
        }
    }

    /// This number of sequence numbers was processed.
    #[inline]
    pub fn pass(&mut self, count: u64) {
        let passed = self.next;
        self.next += count;
        if !self.buffer.is_empty() {
            self.buffer.forget_passed(passed, self.next);
        }
    }

    /// All missing packets before a number are lost.
    pub fn lose_to(&mut self, number: u64) {
        assert!(number > self.next, "a loss moves the window on");
        self.pass(number - self.next);
    }

    /// Buffers a packet whose first number is in the window; `false` if it is buffered already.
    pub fn keep(&mut self, span: Span, sending_ns: u64, time: ReceiveTime, payload: &[u8]) -> bool {
        assert!(self.contains(span.first), "what waits lies in the window");
        let news = self.missing_of(span);
        let kept = self.buffer.keep(span, sending_ns, time, payload);
        if kept {
            self.oldest_ns = self.oldest_ns.min(time.mono_ns);
            if let Some(awaited) = &mut self.awaited {
                awaited.missing -= news;
            }
        }
        kept
    }

    /// Drops the buffered packet of a number: it may be forged.
    pub fn discard(&mut self, number: u64) {
        let span = self.buffer.peek(number).span();
        self.buffer.discard(self.next, number);
        let gone = self.missing_of(span);
        if let Some(awaited) = &mut self.awaited {
            // mutant: feed: conflicting packets fill a request
            awaited.missing += gone;
        }
    }

    /// Number of sequence numbers of a span that are awaited and not buffered.
    fn missing_of(&self, span: Span) -> u64 {
        let Some(awaited) = &self.awaited else {
            return 0;
        };
        let numbers = span.first.max(awaited.first)..span.end().min(awaited.last + 1);
        // mutant: arbitration: a partly filled request counts as filled
        numbers
            .filter(|number| !self.buffer.covers(*number))
            .count() as u64
    }

    /// Drops all buffered packets.
    pub fn clear(&mut self) {
        self.buffer.clear(self.next);
    }

    /// Removes the buffered packet of a number.
    pub fn take(&mut self, number: u64) -> Option<BufferedPacket> {
        self.buffer.take(number)
    }

    /// Whether a buffered packet starts with the next number.
    pub fn has_next(&self) -> bool {
        self.buffer.has(self.next)
    }

    /// Removes the buffered packet that contains the next number, possibly after earlier numbers.
    pub fn take_next(&mut self) -> Option<BufferedPacket> {
        let taken = self.buffer.take_covering(self.next);
        if taken.is_some() && self.buffer.is_empty() {
            self.oldest_ns = u64::MAX;
        }
        taken
    }

    /// Payload of the last removed packet.
    pub fn payload(&self, buffered: &BufferedPacket) -> &[u8] {
        self.buffer.payload(buffered)
    }

    /// The packet behind a lost gap: its wait time is over, or all packets are released (`flush`).
    pub fn behind_lost(&self, flush: bool) -> Option<BufferedPacket> {
        let is_lost = flush || self.next <= self.release_to;
        let first = self.buffer.first(self.next).filter(|_| is_lost)?;
        Some(*self.buffer.peek(first))
    }

    /// Advances time. Gaps whose wait time is over are requested if allowed now (`may_ask`), or
    /// lost.
    #[inline]
    pub fn advance(&mut self, now_ns: u64, may_ask: bool) {
        if self.oldest_ns != u64::MAX && is_over(self.oldest_ns, now_ns, self.wait_ns) {
            self.release_overdue(now_ns, may_ask);
        }
    }

    /// Time of the next timeout; awaited packets are checked in each call.
    pub fn next_timeout(&self) -> Option<u64> {
        (self.oldest_ns != u64::MAX).then(|| self.oldest_ns.saturating_add(self.wait_ns))
    }

    /// End of input: every gap is lost.
    pub fn finish(&mut self) {
        (self.retransmission, self.awaited) = (None, None);
        self.release_to = u64::MAX;
    }

    #[cold]
    fn release_overdue(&mut self, now_ns: u64, may_ask: bool) {
        self.released_ns = now_ns;
        if self.is_awaiting(now_ns) {
            return;
        }
        self.oldest_ns = u64::MAX;
        for buffered in self.buffer.waiting(self.next) {
            if is_over(buffered.time.mono_ns, now_ns, self.wait_ns) {
                // mutant: feed: a gap is never declared lost
                self.release_to = buffered.sequence;
            } else {
                self.oldest_ns = self.oldest_ns.min(buffered.time.mono_ns);
            }
        }
        if may_ask && now_ns >= self.ask_from_ns {
            self.await_overdue(now_ns);
        }
    }

    /// Requested packets that are still missing.
    pub fn awaited(&self) -> Option<&Awaited> {
        self.awaited.as_ref().filter(|awaited| awaited.missing > 0)
    }

    /// Processes a retransmitted packet. `false` if it was not requested or is not needed any more, or if it cannot be the
    /// lost packet, which was sent between its neighbours, the first of them at `processed_ns`.
    pub fn keep_retransmitted(
        &mut self,
        span: Span,
        sending_ns: u64,
        processed_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        let Some(awaited) = self.awaited else {
            return false;
        };
        let asked = (awaited.first.max(self.next)..=awaited.last).contains(&span.first);
        let in_time = (processed_ns..=awaited.behind_ns).contains(&sending_ns);
        // mutant: feed: a replayed packet of another week is accepted
        asked && in_time && self.keep_asked(span, sending_ns, time, payload)
    }

    /// The wait for requested packets is not counted for others.
    fn keep_asked(
        &mut self,
        span: Span,
        sending_ns: u64,
        time: ReceiveTime,
        payload: &[u8],
    ) -> bool {
        let oldest_ns = self.oldest_ns;
        let kept = self.keep(span, sending_ns, time, payload);
        self.oldest_ns = oldest_ns;
        kept
    }

    /// The request has ended without further packets, and no request is allowed before `again_ns`.
    pub fn give_up(&mut self, again_ns: u64) {
        self.awaited = None;
        self.ask_from_ns = again_ns;
    }

    /// Whether every processable packet was processed, so that books are up to date.
    pub fn is_caught_up(&self) -> bool {
        let overdue = |buffered: &BufferedPacket| {
            is_over(buffered.time.mono_ns, self.released_ns, self.wait_ns)
        };
        self.awaited.is_none()
            && !self.buffer.covers(self.next)
            && !self.buffer.waiting(self.next).any(overdue)
    }

    /// State of the request; with `flush` no request blocks.
    pub fn pop_wait(&mut self, flush: bool) -> Wait {
        let Some(awaited) = self.awaited.as_mut().filter(|_| !flush) else {
            self.awaited = None;
            return Wait::Nothing;
        };
        // mutant: feed: processing continues in the middle of a gap
        if awaited.missing == 0 {
            self.awaited = None;
            return Wait::Filled;
        }
        if std::mem::replace(&mut awaited.published, true) {
            return Wait::Awaiting;
        }
        let Awaited { first, last, .. } = *awaited;
        Wait::Asked { first, last }
    }

    /// Whether packets are or were awaited, which blocks all other releases. Gives up packets whose wait time is over.
    fn is_awaiting(&mut self, now_ns: u64) -> bool {
        let awaited = self.awaited;
        let wait_ns = self.retransmission.map_or(0, |again| again.wait_ns);
        if awaited.is_some_and(|awaited| is_over(awaited.since_ns, now_ns, wait_ns)) {
            self.awaited = None;
        }
        awaited.is_some()
    }

    /// Lets the gaps before overdue packets wait for retransmission, as far as one request reaches. If it does not
    /// reach the end of the first gap, that gap is lost.
    fn await_overdue(&mut self, now_ns: u64) {
        let Some(retransmission) = self.retransmission else {
            return;
        };
        let (first, mut missing, mut expected) = (self.next, 0, self.next);
        let overdue = self
            .buffer
            .waiting(first)
            .take_while(|buffered| buffered.sequence <= self.release_to);
        for buffered in overdue {
            if buffered.sequence > expected {
                if buffered.sequence - first > retransmission.numbers_max {
                    break;
                }
                missing += buffered.sequence - expected;
                self.awaited = Some(Awaited {
                    first,
                    last: buffered.sequence - 1,
                    missing,
                    behind_ns: buffered.sending_ns,
                    since_ns: now_ns,
                    published: false,
                });
            }
            expected = expected.max(buffered.span().end());
        }
        if let Some(awaited) = self.awaited {
            // Later gaps wait for their own request.
            self.release_to = awaited.last;
            self.oldest_ns = now_ns.saturating_sub(self.wait_ns);
        }
    }
}

/// Whether a time has passed, by the monotonic clock.
#[inline]
pub fn is_over(since_ns: u64, now_ns: u64, wait_ns: u64) -> bool {
    now_ns.saturating_sub(since_ns) >= wait_ns
}
