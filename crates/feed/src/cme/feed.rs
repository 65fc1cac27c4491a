//! Feed of one channel: routing of packets, and order of steps.

use super::arbiter::{Arbiter, Step, Verdict};
use super::arrival::{Arrival, ArrivedPacket};
use super::channel::Channel;
use super::counters::Counters;
use super::early::EarlySnapshots;
use super::settings::{FeedType, Line, Settings};
use super::silence::Silence;
use super::snapshots;
use super::templates::Templates;
use super::timeliness::{SNAPSHOT_AHEAD_NS_MAX, Timeliness, timeliness};
use super::wait_clock::WaitClock;
use crate::health::{ChannelHealth, Condition};
use crate::{Batch, BookRules, DifferingCopy, Feed, Feedback, ReceiveTime, Request};
use std::hint::black_box;
use touchline_instruments::Instruments;
use touchline_types::{CounterInfo, Event, Instrument, PacketInfo, Validity};
use touchline_wire::mdp3::{Packet, PacketHeader};

/// The feed handler of one MDP 3.0 channel.
#[derive(Debug)]
pub struct CmeFeed {
    arbiter: Arbiter,
    pub(super) channel: Channel,
    /// The received packet that waits until earlier steps are processed.
    arrived: ArrivedPacket,
    health: ChannelHealth,
    /// End of input was reached.
    is_over: bool,
    waiting: WaitClock,
    early: EarlySnapshots,
    silence: Silence,
    /// The last request was filled, and this is not published yet.
    is_filled: bool,
    /// The last copy whose bytes differ from those of the first one, until its receiver takes it.
    differing: Option<DifferingCopy>,
}

impl CmeFeed {
    /// Allocates all memory.
    pub fn new(settings: Settings) -> CmeFeed {
        CmeFeed {
            arbiter: Arbiter::new(
                settings.wait_ns,
                settings.hold_packets_max,
                settings.packet_bytes_max,
                settings.replay,
            )
            .comparing(settings.compare_copies),
            arrived: ArrivedPacket::new(settings.packet_bytes_max),
            health: ChannelHealth::default(),
            is_over: false,
            waiting: WaitClock::default(),
            early: EarlySnapshots::new(settings.packet_bytes_max),
            silence: Silence::new(&settings),
            is_filled: false,
            differing: None,
            channel: Channel::new(settings),
        }
    }

    /// Counters of the feed.
    pub fn counters(&self) -> &Counters {
        &self.channel.counters
    }

    /// Messages processed so far, by template.
    pub fn templates(&self) -> &Templates {
        &self.channel.templates
    }

    /// RptSeq of the last entry of an instrument that was applied or queued; 0 if none.
    pub fn last_rpt_seq(&self, instrument: Instrument) -> u32 {
        self.channel.rows.row(instrument).price.last_rpt
    }

    /// Whether the venue publishes single orders, as far as observed.
    pub fn orders_seen(&self) -> bool {
        self.channel.rows.orders_seen()
    }

    /// Current validity of an instrument's price book; subscribers may be notified of it later.
    pub fn validity(&self, instrument: Instrument) -> Validity {
        self.channel.validity(self.channel.rows.row(instrument))
    }

    /// Current validity of an instrument's order book; subscribers may be notified of it later.
    pub fn orders_validity(&self, instrument: Instrument) -> Validity {
        self.channel
            .orders_validity(self.channel.rows.row(instrument))
    }

    /// Executes a due step.
    fn step(&mut self, step: Step, instruments: &mut Instruments, batch: &mut Batch) {
        let Channel { counters, .. } = &mut self.channel;
        match step {
            Step::Packet(buffered) => {
                let packet = Packet::parse(self.arbiter.payload(&buffered))
                    .expect("a buffered packet is valid");
                process(
                    &mut self.channel,
                    &packet,
                    buffered.time,
                    instruments,
                    batch,
                );
                self.processed(buffered.time);
            }
            Step::Awaited { first, .. } => {
                self.silence.missed(first);
                counters.replays_requested += 1;
                self.health.raise(Condition::Waiting);
            }
            Step::Filled => {
                counters.replays_filled += 1;
                self.is_filled = true;
            }
            Step::Joined { first, whole } => {
                (self.channel).joined(first, whole, &mut batch.output(instruments));
            }
            Step::Lost { first, last } => {
                self.silence.missed(first);
                counters.packets_lost += u64::from(last - first) + 1;
                counters.gaps += 1;
                // The loss covers more books.
                self.health.clear(Condition::Waiting);
                self.channel
                    .lose(first, last, &mut batch.output(instruments));
            }
            Step::JumpUnconfirmed => {
                counters.jumps_unconfirmed += 1;
                // mutant: feed: unconfirmed books are live
                self.health.raise(Condition::UnconfirmedJump);
            }
            Step::Conflict(sequence) => {
                counters.packets_conflicting += 1;
                self.clear_behind();
                // The packets may be of an exchange that has restarted.
                self.early.clear();
                self.channel
                    .distrust_all(sequence, self.newest(), &mut batch.output(instruments));
            }
            Step::Restarted {
                first,
                whole,
                sending_ns,
            } => {
                counters.numbering_restarts += 1;
                self.silence.restarted();
                self.health.clear(Condition::Waiting);
                self.health.clear(Condition::UnconfirmedJump);
                // mutant: feed: a buffered snapshot survives the end of its epoch
                // The packets may be of the previous epoch.
                self.early.clear();
                self.channel
                    .restarted(first, whole, sending_ns, &mut batch.output(instruments));
            }
        }
    }

    /// Offers a packet of the incremental feed, and fills the batch if it is the next one.
    #[inline]
    fn offer(
        &mut self,
        arrival: Arrival,
        payload: &[u8],
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        self.arbiter
            .record_activity(arrival.line, arrival.time.mono_ns);
        let header = PacketHeader::peek(payload);
        if let Some(verdict) = header.and_then(|header| {
            let (sequence, sending_ns) = (header.sequence, header.sending_time_ns);
            self.arbiter.old_copy(sequence, sending_ns, payload)
        }) {
            self.channel.counters.note(verdict, arrival.line);
            return;
        }
        let Some(packet) = valid(payload, &self.channel.settings) else {
            self.channel.counters.packets_invalid += 1;
            return;
        };
        let PacketHeader {
            sequence,
            sending_time_ns,
        } = packet.header;
        let verdict = self.arbiter.accept(
            sequence,
            sending_time_ns,
            arrival.line,
            arrival.time,
            payload,
        );
        self.channel.counters.note(verdict, arrival.line);
        if matches!(verdict, Verdict::Deliver | Verdict::Buffered) {
            self.silence.arrived(sequence);
        }
        match verdict {
            Verdict::Deliver => {
                process(&mut self.channel, &packet, arrival.time, instruments, batch);
                self.processed(arrival.time);
            }
            Verdict::Differs => self.differing = Some(arrival.differing(sequence)),
            _ => {}
        }
    }

    /// Processes a packet of a feed without arbitration.
    fn recover(
        &mut self,
        arrival: Arrival,
        payload: &[u8],
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        let Some(packet) = valid(payload, &self.channel.settings) else {
            self.channel.counters.packets_invalid += 1;
            return;
        };
        if arrival.feed == FeedType::Replay {
            return self.fill(&packet, arrival.time, payload);
        }
        let snapshot_sequence = match arrival.feed {
            FeedType::Definition => 0,
            _ => snapshots::snapshot_sequence(&packet),
        };
        let sending_ns = packet.header.sending_time_ns;
        let timely = timeliness(&self.arbiter, snapshot_sequence, sending_ns, arrival.time);
        if timely != Timeliness::Impossible {
            let number = packet.header.sequence;
            self.repeated(arrival, number, (timely, snapshot_sequence));
        }
        match timely {
            Timeliness::Due => {
                self.take_recovery(arrival.feed, arrival.time, &packet, instruments, batch);
            }
            Timeliness::Early => {
                self.channel.counters.snapshots_early += 1;
                self.early
                    .keep(arrival.feed, snapshot_sequence, arrival.time, payload);
            }
            Timeliness::Impossible => self.channel.counters.recovery_refused += 1,
        }
    }

    /// Processes a snapshot packet that was early, after the incremental feed has reached it.
    #[cold]
    fn take_early(&mut self, instruments: &mut Instruments, batch: &mut Batch) {
        let mut early = std::mem::take(&mut self.early);
        if let Some(kept) = early.take(self.reached()) {
            self.take_timely(
                kept.feed,
                kept.time,
                early.payload(&kept),
                instruments,
                batch,
            );
        }
        self.early = early;
    }

    /// Processes buffered snapshots that the incremental feed has reached; drops them if a new epoch started meanwhile.
    fn take_timely(
        &mut self,
        feed: FeedType,
        time: ReceiveTime,
        payload: &[u8],
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        let packet = valid(payload, &self.channel.settings).expect("it was valid when it was kept");
        let snapshot_sequence = snapshots::snapshot_sequence(&packet);
        let sending_ns = packet.header.sending_time_ns;
        let ahead_ns = self.arbiter.ahead_ns(sending_ns, time.wall_ns);
        match timeliness(&self.arbiter, snapshot_sequence, sending_ns, time) {
            Timeliness::Due if ahead_ns <= SNAPSHOT_AHEAD_NS_MAX => {
                self.take_recovery(feed, time, &packet, instruments, batch)
            }
            // Without an incremental feed the snapshot is the only information, and no book is live.
            Timeliness::Early if self.is_over => {
                self.take_recovery(feed, time, &packet, instruments, batch)
            }
            _ => self.channel.counters.recovery_refused += 1,
        }
    }

    /// Processes snapshots and definitions that may be used now.
    fn take_recovery(
        &mut self,
        feed: FeedType,
        time: ReceiveTime,
        packet: &Packet<'_>,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        batch.packet_info = PacketInfo {
            sequence: u64::from(packet.header.sequence),
            sending_ns: packet.header.sending_time_ns,
            receive_ns: time.wall_ns,
        };
        let is_of_now = |sending_ns| self.arbiter.is_of_now(sending_ns, time.wall_ns);
        self.channel
            .forget_wrong_times(is_of_now, self.arbiter.begun());
        let out = &mut batch.output(instruments);
        match feed {
            FeedType::Definition => self.channel.definitions(packet, out),
            _ => self.channel.snapshots(feed, packet, out),
        }
    }

    /// Highest packet number that a snapshot may contain. At the end of an input without an incremental feed that is
    /// any number.
    #[inline]
    fn reached(&self) -> u32 {
        match self.arbiter.newest() {
            None if self.is_over => u32::MAX - 1,
            newest => newest.map_or(0, |newest| newest.sequence as u32),
        }
    }

    /// Newest processed packet of the incremental feed; 0 before the first.
    #[inline]
    fn newest(&self) -> u32 {
        self.arbiter
            .newest()
            .map_or(0, |newest| newest.sequence as u32)
    }

    /// Records a packet of the groups that repeat. A silence ends when one shows that no packet of the incremental feed was missed;
    /// definitions do not show that, and a snapshot ahead of the feed shows the opposite.
    fn repeated(&mut self, arrival: Arrival, number: u32, (timely, newest): (Timeliness, u32)) {
        let now_ns = arrival.time.mono_ns;
        self.silence.repeated(arrival.feed, number, now_ns);
        let limit_ns = self.silence.limit_ns().unwrap_or(0);
        self.channel.counters.silence_limit_ms = limit_ns / 1_000_000;
        if timely == Timeliness::Early {
            self.silence.note_ahead(newest, now_ns);
        } else if newest > 0 && self.health.has(Condition::ChannelSilent) {
            Silence::end(&mut self.health, &mut self.channel.counters);
        }
    }

    /// Records the next packet of the incremental feed. Copies, old and forged packets do not count as activity, because
    /// they contain no new message.
    #[inline]
    fn processed(&mut self, time: ReceiveTime) {
        self.silence.processed(time.mono_ns);
        if self.health.has_any() {
            self.clear_conditions();
        }
    }

    #[cold]
    fn clear_conditions(&mut self) {
        self.health.clear(Condition::FeedTimeout);
        Silence::end(&mut self.health, &mut self.channel.counters);
        self.health.clear(Condition::UnconfirmedJump);
        self.clear_behind();
    }

    /// Clears the waiting condition if no packet is awaited: the books are then as new as the stream.
    #[inline]
    fn clear_behind(&mut self) {
        if self.health.has(Condition::Waiting) && self.arbiter.is_caught_up() {
            self.health.clear(Condition::Waiting);
        }
    }

    /// Processes a replayed packet of a gap.
    fn fill(&mut self, packet: &Packet<'_>, time: ReceiveTime, payload: &[u8]) {
        let PacketHeader {
            sequence,
            sending_time_ns,
        } = packet.header;
        let counters = &mut self.channel.counters;
        let filled = self
            .arbiter
            .accept_replayed(sequence, sending_time_ns, time, payload);
        counters.packets_replayed += u64::from(filled);
        counters.packets_replay_unused += u64::from(!filled);
    }
}

impl Feed for CmeFeed {
    type Source = (FeedType, Line);

    const TABLES: &'static [&'static [CounterInfo]] = &[Counters::TABLE];

    fn warm(&self, instrument: Instrument) {
        black_box(self.last_rpt_seq(instrument));
    }

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.channel.counters.counts()
    }

    fn instruments(&mut self) -> Instruments {
        Instruments::by_security_id(
            super::reference::venue(),
            self.channel.settings.instruments_max,
        )
    }

    fn batch(&self) -> Batch {
        Batch::new(events_max(&self.channel.settings))
    }

    fn book_rules(&self) -> BookRules {
        BookRules {
            missing: self.channel.missing(),
            inconsistent: self.channel.missing(),
        }
    }

    #[inline]
    fn handle(
        &mut self,
        (feed, line): (FeedType, Line),
        payload: &[u8],
        time: ReceiveTime,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> usize {
        assert!(
            self.arrived.is_none(),
            "the events of a packet are read before the next one comes"
        );
        self.channel.counters.note_arrival(feed, line);
        let time = self.waiting.pass(time);
        self.arbiter.advance(time.mono_ns);
        let arrival = Arrival { feed, line, time };
        if self.is_idle() {
            self.judge(arrival, payload, instruments, batch);
        } else {
            self.arrived.keep(arrival, payload);
        }
        batch.event_open = self.channel.progress.event_open();
        payload.len()
    }

    #[inline]
    fn poll(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        batch.events.clear();
        while batch.events.is_empty() {
            if !self.is_idle() && self.carry_on(instruments, batch) {
                continue;
            }
            let Some((arrival, bytes)) = self.arrived.take() else {
                return false;
            };
            self.judge(arrival, &bytes, instruments, batch);
            self.arrived.give_back(bytes);
        }
        batch.event_open = self.channel.progress.event_open();
        true
    }

    fn handle_timeout(&mut self, time: ReceiveTime) {
        let time = self.waiting.pass(time);
        let counters = &mut self.channel.counters;
        self.silence
            .expire(time.mono_ns, &mut self.health, counters);
        self.arbiter.advance(time.mono_ns);
    }

    /// The arbiter compares wall times of neighbouring packets only, and takes a clock that was set either way with the next one.
    fn wall_stepped(&mut self, _: i64) {}

    fn next_timeout(&self) -> Option<u64> {
        let next_ns = [
            self.silence.next_ns(&self.health),
            self.arbiter.next_timeout(),
        ];
        let next_ns = next_ns.into_iter().flatten().min()?;
        Some(self.waiting.given_by(next_ns))
    }

    fn finish(&mut self) {
        self.arbiter.finish();
        self.is_over = true;
    }

    fn request(&self) -> Option<Request> {
        let (first, last) = self.arbiter.awaited()?;
        Some(Request::Retransmit { first, last })
    }

    fn take_filled(&mut self) -> bool {
        std::mem::take(&mut self.is_filled)
    }

    fn take_differing(&mut self) -> Option<DifferingCopy> {
        self.differing.take()
    }

    fn request_failed(&mut self, again_ns: u64) {
        self.arbiter.give_up(again_ns);
    }

    fn feedback(&mut self, feedback: &Feedback) {
        assert!(
            feedback.inconsistent.is_empty(),
            "changes-by-position-fit-any-book"
        );
        for instrument in &feedback.orders_overflowed {
            self.channel.counters.orders_overflowed += 1;
            let packet = self.channel.progress.packet();
            self.channel.orders_lost(*instrument, packet);
        }
    }

    fn is_defined(&self) -> bool {
        self.channel.cycles.is_defined()
    }
}

impl CmeFeed {
    /// Whether no step is due before a packet that arrives now.
    #[inline]
    fn is_idle(&self) -> bool {
        self.arbiter.is_idle() && !self.health.is_due() && !self.early.is_due(self.reached())
    }

    /// Executes due steps that need no packet; returns whether there were any.
    #[cold]
    fn carry_on(&mut self, instruments: &mut Instruments, batch: &mut Batch) -> bool {
        if let Some(state) = self.health.take(u64::from(self.newest())) {
            batch.events.push(Event::Channel(state));
        } else if let Some(step) = self.arbiter.pop() {
            self.step(step, instruments, batch);
        } else if self.early.is_due(self.reached()) {
            self.take_early(instruments, batch);
        } else {
            return false;
        }
        true
    }

    #[inline]
    fn judge(
        &mut self,
        arrival: Arrival,
        payload: &[u8],
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) {
        match arrival.feed {
            FeedType::Incremental => self.offer(arrival, payload, instruments, batch),
            _ => self.recover(arrival, payload, instruments, batch),
        }
    }
}

/// Fills the batch from the next packet of the incremental feed.
#[inline]
fn process(
    channel: &mut Channel,
    packet: &Packet<'_>,
    time: ReceiveTime,
    instruments: &mut Instruments,
    batch: &mut Batch,
) {
    batch.packet_info = PacketInfo {
        sequence: u64::from(packet.header.sequence),
        sending_ns: packet.header.sending_time_ns,
        receive_ns: time.wall_ns,
    };
    channel.progress.begin(batch.packet_info);
    channel.incremental(packet, &mut batch.output(instruments));
    batch.delivered += 1;
}

fn valid<'a>(payload: &'a [u8], settings: &Settings) -> Option<Packet<'a>> {
    if payload.len() > settings.packet_bytes_max {
        return None;
    }
    // Numbers start at 1; a packet without one cannot be put in order.
    Packet::parse(payload)
        .ok()
        .filter(|packet| packet.header.sequence > 0)
}

/// Largest number of events of one packet: a sum over all possible effects.
fn events_max(settings: &Settings) -> usize {
    let entries_max = settings.packet_bytes_max / ENTRY_BYTES_MIN;
    // Each entry: a restart or gap, a change of validity, and the entry itself.
    let from_entries = 4 * entries_max;
    // A packet of snapshots may replay every queue of both pools and complete every open snapshot; a complete cycle
    // confirms every instrument with an empty snapshot.
    let queued = 2 * settings.queue_entries_max;
    let assembled = 4 * settings.snapshot_orders_max;
    let from_recovery = queued + assembled + 3 * settings.instruments_max;
    from_entries + from_recovery + 16
}

/// Shortest entry of any group that creates events (template 37).
const ENTRY_BYTES_MIN: usize = 16;
