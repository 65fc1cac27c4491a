//! A running exchange: markets, what it has published, and the loops beside that. It runs as long as it is asked to, in
//! bounded memory: what it sends is taken from it as it is made.

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
    /// How many instruments are defined.
    defined: usize,
    spare_resets: bool,
    /// The running loops of the two snapshot feeds.
    loops: [Option<SnapshotCycle>; 2],
    random: Random,
}

/// The snapshot feeds, in the order of the numbers by which [`Exchange::loop_packet`] knows them.
pub const LOOP_FEEDS: [Feed; 2] = [Feed::Snapshot, Feed::OrderSnapshot];

/// When sessions begin: 2026-01-05 00:00:00 UTC, a Monday.
const START_NS: u64 = 1_767_571_200_000_000_000;

/// Sequences and RptSeq are 32 bits wide; from here on a new week is due.
const NUMBERS_MAX: u32 = 0xf000_0000;

impl Exchange {
    /// The exchange of a seed, before its first packet.
    pub fn new(options: &Options, seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let instruments = instrument::generate(options.instruments, options.version, &mut random);
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

    /// What was sent and not taken yet, in the order in which it was made.
    pub fn packets(&mut self) -> &mut Vec<SentPacket> {
        &mut self.publisher.packets
    }

    /// The states of books since they were last taken; see [`keep_states`](Self::keep_states).
    pub fn states(&mut self) -> &mut Vec<BookState> {
        &mut self.publisher.states
    }

    /// Notes the state of each book, and from now on of each that an event changed. They are to be taken as they come.
    pub fn keep_states(&mut self) {
        self.publisher.keep_states = true;
        self.publisher.note_all_states();
    }

    /// The states of order books since they were last taken; see [`keep_order_states`](Self::keep_order_states).
    pub fn order_states(&mut self) -> &mut Vec<BookState> {
        &mut self.publisher.order_states
    }

    /// Notes the state of each order book, and from now on of each that an event changed. They are to be taken as they
    /// come.
    pub fn keep_order_states(&mut self) {
        self.publisher.keep_order_states = true;
        self.publisher.note_all_states();
    }

    /// Notes the best prices after each event for the truth, which grows without end by that.
    pub fn keep_tops(&mut self) {
        self.flow.keep_tops = true;
    }

    /// What a subscriber that misses nothing has once it has everything up to the last packet.
    ///
    /// Between events and with no packet open; [`flush`](Self::flush) sees to that.
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

    /// The venue's clock is at `now_ns`, nanoseconds since 1970; it never steps back. From now on it is the caller who
    /// moves it: an event that spans packets takes no time by itself.
    pub fn set_clock(&mut self, now_ns: u64) {
        self.flow.split_pause_ns = 1;
        self.publisher.now_ns = now_ns.max(self.publisher.now_ns);
    }

    /// The venue's clock jumps to `now_ns`, also back. What was open before is to be sent first.
    pub fn jump_clock(&mut self, now_ns: u64) {
        self.publisher.jump_clock(now_ns);
    }

    /// What the exchange before had sent, and its states, are taken as this one's; its states are noted if those were.
    pub fn succeed(&mut self, before: &mut Exchange) {
        self.publisher.packets.append(before.packets());
        self.publisher.states.append(before.states());
        self.publisher.order_states.append(before.order_states());
        self.publisher.keep_states = before.publisher.keep_states;
        // mutant: sim: the truth of an exchange that starts again has no empty books
        self.publisher.keep_order_states = before.publisher.keep_order_states;
        self.publisher.note_all_states();
    }

    /// Participants act, and the venue tells it; the last packet of it may stay open.
    pub fn event(&mut self) {
        self.flow.event(&mut self.publisher, self.defined);
    }

    /// Sends the packet that is open, if one is.
    pub fn flush(&mut self) {
        self.publisher.flush();
    }

    /// Leaves the packet open as often as a session does.
    pub fn flush_mostly(&mut self) {
        if self.random.chance(0.75) {
            self.publisher.flush();
        }
    }

    /// A heartbeat on the incremental feed, a packet of its own.
    pub fn heartbeat(&mut self) {
        self.publisher.flush();
        self.publisher.emit(Body::Heartbeat, 0, 0, &mut self.random);
        self.publisher.flush();
    }

    /// Packets of one run of the definition loop.
    pub fn definition_packets(&self) -> usize {
        definition_packets(self.defined)
    }

    /// Sends one packet of the definition loop, `0..definition_packets()`.
    pub fn definition_packet(&mut self, number: usize) {
        send_definition_packet(&mut self.publisher, self.defined, number);
    }

    /// Sends the next packet of a snapshot loop of `LOOP_FEEDS`, at a packet boundary. False, and nothing is sent, if
    /// that loop is over; the next call begins another.
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

    /// Running snapshot loops end where they are; the next packets begin new ones.
    pub fn restart_loops(&mut self) {
        self.loops = [None, None];
    }

    /// A channel reset, and the books again; packet numbers go on, or start again at 1.
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

    /// True when numbers are about to run out, which takes weeks; then [`reset_week`](Self::reset_week).
    pub fn is_week_over(&self) -> bool {
        let highest = self.publisher.published.iter().map(|each| each.rpt_seq);
        highest.chain([self.publisher.sequence]).max() > Some(NUMBERS_MAX)
    }

    /// A new week: empty markets, and all numbers from 1.
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

/// What only a whole session has, whose clock is the exchange's own.
impl Exchange {
    /// The first definitions, and the first packet.
    pub(super) fn open(&mut self) {
        send_definitions(&mut self.publisher, self.defined);
        self.paused_heartbeat();
        // Whoever hears the first packet of either line second must not take it for an old one.
        self.publisher.now_ns += 1_000_000;
    }

    /// Bursts of a few microseconds, and pauses of a few milliseconds.
    pub(super) fn pass_time(&mut self) {
        let pause_ns = if self.random.chance(0.3) {
            6_000_000
        } else {
            20_000
        };
        self.publisher.now_ns += self.random.below(pause_ns);
    }

    /// Time between the last packet of a week and the first of the next.
    pub(super) fn pass_weekend(&mut self) {
        self.publisher.flush();
        self.publisher.now_ns += 51_000_000;
    }

    /// What goes on beside the events: packets end, loops run, heartbeats.
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

    /// Instruments that are not in the definition loop yet come on the incremental feed, an event of their own.
    pub(super) fn define_rest(&mut self) {
        let instruments = self.publisher.instruments.clone();
        let reports = instruments.len() as u32;
        for instrument in &instruments[self.defined..] {
            let definition = definition::encode(self.publisher.version, instrument, reports, 0x80);
            self.publisher.put(definition);
        }
        self.defined = instruments.len();
    }

    /// The end that heals everything: time for the last gaps to be given up and for a clock that was set to be
    /// believed, then whole loops of all feeds.
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

    /// Runs a snapshot loop from its beginning to its end.
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
