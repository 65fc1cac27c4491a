//! Running exchange: markets, published packets, and the cycles of definitions and snapshots. It runs without end in
//! bounded memory: the caller takes its packets.

use super::encode::definition;
use super::encode::incremental::Body;
use super::expected_books::{self, BookState};
use super::flow::Flow;
use super::publisher::Publisher;
use super::snapshots::{
    SnapshotCycle, definition_packets, send_definition_packet, send_definitions,
};
use super::{Options, SentPacket, instrument};
use crate::capture::Feed;
use crate::picture::Picture;
use crate::random::Random;

/// A running exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    publisher: Publisher,
    flow: Flow,
    /// Number of defined instruments.
    defined: usize,
    spare_resets: bool,
    /// Running cycles of the two snapshot feeds.
    loops: [Option<SnapshotCycle>; 2],
    random: Random,
}

/// Snapshot feeds, in the order of their index in [`Exchange::loop_packet`].
pub const LOOP_FEEDS: [Feed; 2] = [Feed::Snapshot, Feed::OrderSnapshot];

/// Start of all sessions: 2026-01-05 00:00:00 UTC, a Monday.
const START_NS: u64 = 1_767_571_200_000_000_000;

/// Sequences and RptSeq are 32 bits wide; at this number a new week is due.
const NUMBERS_MAX: u32 = 0xf000_0000;

impl Exchange {
    /// Exchange of a seed, before its first packet.
    pub fn new(options: &Options, seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let mut instruments =
            instrument::generate(options.instruments, options.version, &mut random);
        for instrument in &mut instruments {
            instrument.display_factor = options.display_factor;
        }
        if let Some(course) = options.course {
            random = Random::from_seed(course);
        }
        let defined =
            instruments.len() - usize::from(options.late_definition && instruments.len() > 1);
        let mut flow = Flow::new(&instruments, random.split());
        flow.bulk_actions = options.bulk_actions;
        flow.unknown_share = options.unknown_share;
        flow.large_quantities = options.large_quantities;
        let mut publisher = Publisher::new(options.version, instruments, START_NS);
        publisher.future_share = options.future_share;
        Self {
            publisher,
            flow,
            defined,
            spare_resets: options.spare_resets,
            loops: [None, None],
            random,
        }
    }

    /// Packets that the caller still has to take, in order of creation.
    pub fn packets(&mut self) -> &mut Vec<SentPacket> {
        &mut self.publisher.packets
    }

    /// States of books since the caller last took them; see [`keep_states`](Self::keep_states).
    pub fn states(&mut self) -> &mut Vec<BookState> {
        &mut self.publisher.states
    }

    /// Records the state of each book now, and of each changed book after every event. The caller takes the states
    /// regularly.
    pub fn keep_states(&mut self) {
        self.publisher.keep_states = true;
        self.publisher.note_all_states();
    }

    /// States of order books since the caller last took them; see [`keep_order_states`](Self::keep_order_states).
    pub fn order_states(&mut self) -> &mut Vec<BookState> {
        &mut self.publisher.order_states
    }

    /// Records the state of each order book now, and of each changed order book after every event. The caller takes the
    /// states regularly.
    pub fn keep_order_states(&mut self) {
        self.publisher.keep_order_states = true;
        self.publisher.note_all_states();
    }

    /// Records the best prices after each event. The memory for them grows with the session.
    pub fn keep_tops(&mut self) {
        self.flow.keep_tops = true;
    }

    /// Final state of a subscriber that has received every packet so far.
    ///
    /// Called between events, without an open packet; see [`flush`](Self::flush).
    pub fn expected(&self) -> Picture {
        expected_books::picture(&self.publisher, &self.flow)
    }

    /// Number of instruments, defined or not.
    pub fn instruments(&self) -> usize {
        self.publisher.instruments.len()
    }

    /// Sequence of the last packet of the incremental feed.
    pub fn sequence(&self) -> u32 {
        self.publisher.sequence
    }

    /// Sets the venue's clock to `now_ns`, nanoseconds since 1970; it never steps back. From now on the caller moves
    /// the clock: an event over several packets takes no time by itself.
    pub fn set_clock(&mut self, now_ns: u64) {
        self.flow.split_pause_ns = 1;
        self.publisher.now_ns = now_ns.max(self.publisher.now_ns);
    }

    /// Sets the venue's clock to `now_ns`, also backwards. Call [`flush`](Self::flush) first.
    pub fn jump_clock(&mut self, now_ns: u64) {
        self.publisher.jump_clock(now_ns);
    }

    /// Takes over the packets and states of the previous exchange, and records states if that one did.
    pub fn succeed(&mut self, before: &mut Exchange) {
        self.publisher.packets.append(before.packets());
        self.publisher.states.append(before.states());
        self.publisher.order_states.append(before.order_states());
        self.publisher.keep_states = before.publisher.keep_states;
        self.publisher.keep_order_states = before.publisher.keep_order_states;
        self.publisher.note_all_states();
    }

    /// Runs one event: actions of participants, and their messages; the last packet may stay open.
    pub fn event(&mut self) {
        self.flow.event(&mut self.publisher, self.defined);
    }

    /// Sends the open packet, if any.
    pub fn flush(&mut self) {
        self.publisher.flush();
    }

    /// Sends the open packet with the probability of a generated session.
    pub fn flush_mostly(&mut self) {
        if self.random.chance(0.75) {
            self.publisher.flush();
        }
    }

    /// Sends a heartbeat on the incremental feed, in a packet of its own.
    pub fn heartbeat(&mut self) {
        self.publisher.flush();
        self.publisher.emit(Body::Heartbeat, 0, 0, &mut self.random);
        self.publisher.flush();
    }

    /// Number of packets of one definition cycle.
    pub fn definition_packets(&self) -> usize {
        definition_packets(self.defined)
    }

    /// Sends one packet of the definition cycle, `0..definition_packets()`.
    pub fn definition_packet(&mut self, number: usize) {
        send_definition_packet(&mut self.publisher, self.defined, number);
    }

    /// Sends the next packet of a snapshot cycle of `LOOP_FEEDS`, at a packet boundary. Returns false without sending
    /// if the cycle is complete; the next call starts another.
    pub fn loop_packet(&mut self, kind: usize, wanted_ns: u64) -> bool {
        let publisher = &mut self.publisher;
        let running = self.loops[kind]
            .get_or_insert_with(|| SnapshotCycle::begin(LOOP_FEEDS[kind], publisher));
        let is_running = running.send_packet(publisher, wanted_ns, &mut self.random);
        if !is_running {
            self.loops[kind] = None;
        }
        is_running
    }

    /// Aborts running snapshot cycles; the next packets start new ones.
    pub fn restart_loops(&mut self) {
        self.loops = [None, None];
    }

    /// Sends a channel reset, then all books; packet numbers continue, or start again at 1.
    pub fn reset_channel(&mut self, renumber: bool) {
        self.publisher.flush();
        self.publisher.spared = self.spare_resets;
        self.flow.reset_channel(&mut self.publisher);
        if renumber {
            self.publisher.flush();
            self.publisher.now_ns += 100_000;
            self.publisher.sequence = 0;
        }
        self.restart_loops();
        self.flow.republish(&mut self.publisher);
        self.publisher.flush();
        self.publisher.spared = false;
    }

    /// True when numbers are about to overflow, after weeks; then call [`reset_week`](Self::reset_week).
    pub fn is_week_over(&self) -> bool {
        let highest = self.publisher.published.iter().map(|each| each.rpt_seq);
        highest.chain([self.publisher.sequence]).max() > Some(NUMBERS_MAX)
    }

    /// Starts a new week: empty markets, all numbers from 1.
    pub fn reset_week(&mut self) {
        self.publisher.flush();
        self.flow.clear();
        self.publisher.sequence = 0;
        self.publisher.forget_published();
        self.restart_loops();
        self.publisher.spared = self.spare_resets;
        self.heartbeat();
        self.publisher.spared = false;
    }
}

/// Parts of a generated session, in which the exchange moves its own clock.
impl Exchange {
    /// Sends the first definitions and the first packet.
    pub(super) fn open(&mut self) {
        send_definitions(&mut self.publisher, self.defined);
        self.paused_heartbeat();
        // A receiver that gets the first packet of one line later must not take it for an old one.
        self.publisher.now_ns += 1_000_000;
    }

    /// Advances the clock: a few microseconds within bursts, pauses of a few milliseconds.
    pub(super) fn pass_time(&mut self) {
        let pause_ns = if self.random.chance(0.3) {
            6_000_000
        } else {
            20_000
        };
        self.publisher.now_ns += self.random.below(pause_ns);
    }

    /// Advances the clock from the last packet of a week to the first of the next.
    pub(super) fn pass_weekend(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 51_000_000;
    }

    /// Sends all packets besides the events: ends of packets, cycles, heartbeats.
    pub(super) fn send_around(&mut self) {
        self.flush_mostly();
        if !self.publisher.at_boundary() {
            return;
        }
        for kind in 0..2 {
            if self.random.chance(0.4) {
                self.step_loop(kind);
            }
        }
        if self.random.chance(0.02) {
            self.paused_heartbeat();
        }
        if self.random.chance(0.02) {
            send_definitions(&mut self.publisher, self.defined);
        }
    }

    /// Defines the instruments that are not in the definition cycle yet, on the incremental feed, in an event of their
    /// own.
    pub(super) fn define_rest(&mut self) {
        let instruments = self.publisher.instruments.clone();
        let reports = instruments.len() as u32;
        for instrument in &instruments[self.defined..] {
            let definition = definition::encode(self.publisher.version, instrument, reports, 0x80);
            self.publisher.put(definition);
        }
        self.defined = instruments.len();
    }

    /// End of a session, in which all books recover: time for the last gaps to be given up and for a clock step to be
    /// confirmed, then complete cycles of all feeds.
    pub(super) fn wind_down(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 1_000_000_000;
        self.publisher.spared = true;
        for _ in 0..6 {
            self.paused_heartbeat();
            self.publisher.now_ns += 100_000_000;
        }
        send_definitions(&mut self.publisher, self.defined);
        for kind in [0, 1, 0, 1] {
            self.whole_loop(kind);
        }
    }

    fn paused_heartbeat(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 1_000_000;
        self.heartbeat();
    }

    /// A snapshot packet may arrive before the last incremental packet that it contains.
    fn step_loop(&mut self, kind: usize) -> bool {
        let ahead = self.random.chance(0.2);
        let now_ns = self.publisher.now_ns;
        self.loop_packet(kind, if ahead { now_ns } else { now_ns + 5_000 })
    }

    /// Sends a complete snapshot cycle.
    fn whole_loop(&mut self, kind: usize) {
        self.loops[kind] = None;
        loop {
            self.publisher.now_ns += 1_000_000;
            if !self.step_loop(kind) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
