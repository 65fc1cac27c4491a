//! The feed of one channel, and the state that its parts share.

use super::arbiter::{Arbiter, Step, Verdict};
use super::assemblies::Assemblies;
use super::counters::Counters;
use super::instruments::{Instruments, PriceState, Row};
use super::loops::LoopTracker;
use super::queue::{Queue, QueuePool};
use super::settings::{Feed, Join, Line, Settings};
use super::silence::Silence;
use super::templates::Templates;
use crate::{Action, Batch, Venue, When};
use touchline_types::{CounterInfo, Event, Headline, Instrument, InstrumentDefinition, Validity};
use touchline_wire::mdp3::{Packet, PacketHeader};

/// The feed handler of one MDP 3.0 channel.
#[derive(Debug)]
pub struct CmeFeed {
    arbiter: Arbiter,
    channel: Channel,
    arrived: Option<Arrival>,
    /// Books are not as new as they could be: packets are awaited, or wait to be processed behind
    /// those that were.
    behind: bool,
    silence: Silence,
}

/// A packet that was received and is not yet judged.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    feed: Feed,
    line: Line,
    when: When,
}

/// What is known of the channel: instruments, queues, loops, and the last loss and reset.
#[derive(Debug)]
pub(super) struct Channel {
    pub settings: Settings,
    pub counters: Counters,
    pub templates: Templates,
    pub instruments: Instruments,
    pub price_queue: QueuePool,
    pub order_queue: QueuePool,
    pub assemblies: Assemblies,
    pub price_loop: LoopTracker,
    pub order_loop: LoopTracker,
    pub definition_loop: LoopTracker,
    /// The last lost packet number; `u32::MAX` before the first packet of all.
    pub lost: u32,
    /// From which packet on an instrument that was never heard of is known to be empty.
    pub known_from: u32,
    /// Snapshots sent at or before this are from before the last reset.
    pub reset_ns: u64,
    /// Up to this packet the stream repeats what snapshots had shown before a reset took their books back;
    /// 0 if it does not.
    pub repeats_until: u32,
    /// Whether the channel has shown any order yet.
    pub orders_seen: bool,
    /// Whether the last message of the incremental feed left its event open.
    pub event_open: bool,
    /// The packet being processed.
    pub headline: Headline,
}

impl CmeFeed {
    /// All memory is taken here.
    pub fn new(settings: Settings) -> CmeFeed {
        CmeFeed {
            arbiter: Arbiter::new(
                settings.wait_ns,
                settings.hold_packets_max,
                settings.packet_bytes_max,
                settings.replay,
            ),
            arrived: None,
            behind: false,
            silence: Silence::default(),
            channel: Channel {
                counters: Counters::default(),
                templates: Templates::new(),
                instruments: Instruments::new(settings.instruments_max),
                price_queue: QueuePool::new(settings.queue_entries_max),
                order_queue: QueuePool::new(settings.queue_entries_max),
                assemblies: Assemblies::new(settings.snapshot_orders_max),
                price_loop: LoopTracker::default(),
                order_loop: LoopTracker::default(),
                definition_loop: LoopTracker::default(),
                lost: u32::MAX,
                known_from: 0,
                reset_ns: 0,
                repeats_until: 0,
                orders_seen: false,
                event_open: false,
                headline: Headline::default(),
                settings,
            },
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.channel.counters
    }

    /// Messages processed so far, by template.
    pub fn templates(&self) -> &Templates {
        &self.channel.templates
    }

    /// RptSeq of the last entry taken in for an instrument, into the queue too; 0 if none.
    pub fn last_rpt_seq(&self, instrument: Instrument) -> u32 {
        self.channel.instruments.row(instrument).price.last_rpt
    }

    /// Carries a due step out.
    fn step(&mut self, step: Step, batch: &mut Batch) {
        let Channel { counters, .. } = &mut self.channel;
        match step {
            Step::Packet(held) => {
                batch.headline = Headline {
                    sequence: held.sequence as u32,
                    sending_ns: held.sending_ns,
                    receive_ns: held.when.receive_ns,
                };
                self.channel.headline = batch.headline;
                // It was valid when it was kept.
                if let Ok(packet) = Packet::parse(self.arbiter.payload(&held)) {
                    self.channel.incremental(&packet, &mut batch.events);
                }
                self.heard(held.when);
                if self.behind && self.arbiter.is_caught_up() {
                    self.behind = false;
                    let shown = self.shown();
                    self.channel.show(shown, &mut batch.events);
                }
            }
            Step::Awaited { .. } => {
                counters.replays_asked += 1;
                self.behind = true;
                let shown = self.shown();
                self.channel.show(shown, &mut batch.events);
            }
            Step::Filled => counters.replays_filled += 1,
            Step::Joined(first) => self.channel.joined(first, &mut batch.events),
            Step::Lost { first, last } => {
                counters.packets_lost += u64::from(last - first) + 1;
                counters.gaps += 1;
                // The loss says more of every book.
                self.behind = false;
                self.channel.lose(first, last, &mut batch.events);
                if !self.is_fresh() {
                    self.channel.distrust(&mut batch.events);
                }
            }
            Step::Doubt(at) => {
                counters.doubts += 1;
                self.channel.lose(at, at, &mut batch.events);
                if !self.is_fresh() {
                    self.channel.distrust(&mut batch.events);
                }
            }
            Step::Restarted { sending_ns } => {
                counters.numbering_restarts += 1;
                self.behind = false;
                self.channel.lost = 0;
                self.channel.reset(0, sending_ns, &mut batch.events);
            }
        }
    }

    /// Judges a packet of the incremental feed, and fills the batch from it if it is the next one.
    #[inline]
    fn offer(&mut self, arrival: Arrival, payload: &[u8], batch: &mut Batch) {
        let header = PacketHeader::peek(payload);
        if let Some(verdict) = header.and_then(|header| {
            self.arbiter
                .old_copy(header.sequence, header.sending_time_ns)
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
        let verdict = self
            .arbiter
            .accept(sequence, sending_time_ns, arrival.when, payload);
        self.channel.counters.note(verdict, arrival.line);
        if verdict == Verdict::Again {
            self.arrived = Some(arrival);
        }
        if verdict == Verdict::Deliver {
            batch.headline = Headline {
                sequence,
                sending_ns: sending_time_ns,
                receive_ns: arrival.when.receive_ns,
            };
            self.channel.headline = batch.headline;
            self.channel.incremental(&packet, &mut batch.events);
            self.heard(arrival.when);
        }
    }

    /// Takes a packet of a feed that needs no arbitration.
    fn recover(&mut self, arrival: Arrival, payload: &[u8], batch: &mut Batch) {
        let Some(packet) = valid(payload, &self.channel.settings) else {
            self.channel.counters.packets_invalid += 1;
            return;
        };
        batch.headline = Headline {
            sequence: packet.header.sequence,
            sending_ns: packet.header.sending_time_ns,
            receive_ns: arrival.when.receive_ns,
        };
        let (known, events) = (self.channel.instruments.len(), &mut batch.events);
        match arrival.feed {
            Feed::Definition => self.channel.definitions(&packet, events),
            Feed::Replay => return self.fill(&packet, arrival.when, payload),
            _ => self.channel.snapshots(arrival.feed, &packet, events),
        }
        if !self.is_fresh() {
            self.channel.distrust(events);
            self.channel.show_from(known, self.shown(), events);
        }
    }

    /// A packet of the incremental feed was processed, in its order. Copies, old packets and forged
    /// ones are no sign of life: nothing is known to be new by them.
    #[inline]
    fn heard(&mut self, when: When) {
        self.silence.heard_ns = when.receive_ns;
        if self.silence.is_on {
            self.turn(false);
        }
    }

    /// The incremental feed is heard, or silent for too long.
    #[cold]
    fn turn(&mut self, is_silent: bool) {
        self.silence.is_on = is_silent;
        self.silence.is_due = true;
        self.channel.counters.silences += u64::from(is_silent);
    }

    /// Tells of a silence that has begun or ended.
    #[cold]
    fn tell_of_silence(&mut self, batch: &mut Batch) {
        self.silence.is_due = false;
        let shown = self.shown();
        self.channel.show(shown, &mut batch.events);
    }

    /// What a live book is shown as.
    fn shown(&self) -> Validity {
        match (self.silence.is_on, self.behind || self.channel.repeats()) {
            (true, _) => Validity::Stale,
            (false, true) => Validity::Gapped,
            (false, false) => Validity::Live,
        }
    }

    /// Takes a replayed packet into the hole that it was lost in.
    fn fill(&mut self, packet: &Packet<'_>, when: When, payload: &[u8]) {
        let PacketHeader {
            sequence,
            sending_time_ns,
        } = packet.header;
        let counters = &mut self.channel.counters;
        let filled = self
            .arbiter
            .accept_replayed(sequence, sending_time_ns, when, payload);
        counters.packets_replayed += u64::from(filled);
        counters.packets_replay_unused += u64::from(!filled);
    }
}

impl Venue for CmeFeed {
    type Channel = (Feed, Line);

    const TABLES: &'static [&'static [CounterInfo]] = &[Counters::TABLE];

    fn counted(&self) -> impl Iterator<Item = u64> {
        self.channel.counters.counts()
    }

    #[inline]
    fn receive(&mut self, (feed, line): (Feed, Line), _payload: &[u8], when: When) {
        let counters = &mut self.channel.counters;
        match (feed, line) {
            (Feed::Incremental, Line::A) => counters.packets_a += 1,
            (Feed::Incremental, Line::B) => counters.packets_b += 1,
            (Feed::Definition, _) => counters.packets_definition += 1,
            (Feed::Snapshot | Feed::SnapshotOrders, _) => counters.packets_snapshot += 1,
            // What becomes of it is counted.
            (Feed::Replay, _) => {}
        }
        self.arbiter.advance(when.now_ns);
        self.arrived = Some(Arrival { feed, line, when });
    }

    fn batch(&self) -> Batch {
        Batch::new(events_max(&self.channel.settings))
    }

    #[inline]
    fn next(&mut self, payload: &[u8], batch: &mut Batch) -> bool {
        batch.events.clear();
        while batch.events.is_empty() {
            if self.silence.is_due {
                self.tell_of_silence(batch);
            } else if let Some(step) = self.arbiter.pop() {
                self.step(step, batch);
            } else if let Some(arrival) = self.arrived.take() {
                match arrival.feed {
                    Feed::Incremental => self.offer(arrival, payload, batch),
                    _ => self.recover(arrival, payload, batch),
                }
            } else {
                return false;
            }
        }
        true
    }

    fn advance(&mut self, when: When) {
        let Silence {
            heard_ns, is_on, ..
        } = self.silence;
        let silent_ns = when.receive_ns.saturating_sub(heard_ns);
        if heard_ns > 0 && !is_on && silent_ns >= self.channel.settings.stale_ns {
            self.turn(true);
        }
        self.arbiter.advance(when.now_ns);
    }

    fn finish(&mut self) {
        self.arbiter.finish();
    }

    fn action(&self) -> Option<Action> {
        let awaited = self.arbiter.awaited()?;
        Some(Action::Replay {
            first: awaited.first as u32,
            last: awaited.last as u32,
        })
    }

    fn failed(&mut self, again_ns: u64) {
        self.arbiter.give_up(again_ns);
    }

    fn orders_overflowed(&mut self, instrument: Instrument) {
        self.channel.counters.orders_overflowed += 1;
        let packet = self.channel.headline.sequence;
        self.channel.orders_lost(instrument, packet);
    }

    fn event_open(&self) -> bool {
        self.channel.event_open
    }

    fn missing(&self) -> Validity {
        self.channel.missing()
    }

    /// The channel is heard, and nothing is awaited.
    fn is_fresh(&self) -> bool {
        self.shown() == Validity::Live
    }

    fn is_defined(&self) -> bool {
        self.channel.counters.definition_loops > 0
    }

    fn orders_seen(&self) -> bool {
        self.channel.orders_seen
    }

    fn instruments(&self) -> usize {
        self.channel.instruments.len()
    }

    fn definition(&self, instrument: Instrument) -> &InstrumentDefinition {
        &self.channel.instruments.row(instrument).definition
    }

    fn validity(&self, instrument: Instrument) -> Validity {
        self.channel
            .validity(self.channel.instruments.row(instrument))
    }

    fn orders_validity(&self, instrument: Instrument) -> Validity {
        self.channel
            .orders_validity(self.channel.instruments.row(instrument))
    }
}

impl Channel {
    /// What a book is that misses something.
    pub fn missing(&self) -> Validity {
        match self.settings.join {
            Join::Snapshot => Validity::Recovering,
            Join::Natural => Validity::Natural,
        }
    }

    /// The validity of a price book.
    #[inline]
    pub fn validity(&self, row: &Row) -> Validity {
        if row.price.hole {
            self.missing()
        } else if row.price.confirmed >= self.lost {
            Validity::Live
        } else {
            Validity::Gapped
        }
    }

    /// The validity of an order book.
    pub fn orders_validity(&self, row: &Row) -> Validity {
        if row.orders.known {
            Validity::Live
        } else {
            self.missing()
        }
    }

    /// The instrument with this SecurityID, added if it is new.
    #[inline]
    pub fn instrument(&mut self, security_id: i32) -> Option<Instrument> {
        match self.instruments.find(security_id) {
            Some(instrument) => Some(instrument),
            None => self.add_instrument(security_id),
        }
    }

    #[cold]
    fn add_instrument(&mut self, security_id: i32) -> Option<Instrument> {
        let orders_known = self.known_from >= self.lost;
        let depth = self.settings.default_depth;
        let added = self
            .instruments
            .add(security_id, depth, self.known_from, orders_known);
        match added {
            Some(instrument) => {
                let row = self.instruments.row_mut(instrument);
                row.price.hole = !self.settings.trust_undefined;
            }
            None => self.counters.instruments_full += 1,
        }
        added
    }

    /// Whether the levels of an instrument cannot be kept, since nobody said how many there are.
    #[inline]
    pub fn lacks_definition(&self, row: &Row) -> bool {
        !row.definition.defined && !self.settings.trust_undefined
    }

    /// The first packet has this number: everything before it is missed.
    fn joined(&mut self, first: u32, events: &mut Vec<Event>) {
        if first > 1 {
            self.lose(1, first - 1, events);
        } else {
            self.lost = 0;
            self.reset(0, 0, events);
        }
    }

    /// Numbers up to `last` are lost: price books are to be confirmed anew, order books unknown.
    fn lose(&mut self, first: u32, last: u32, events: &mut Vec<Event>) {
        self.lost = last;
        self.event_open = false;
        for row in self.instruments.rows_mut() {
            row.orders.known = false;
            row.orders.queue = Queue::EMPTY;
        }
        self.order_queue.clear_all();
        self.assemblies.clear();
        events.push(Event::Lost { first, last });
        self.still_live(events);
    }

    /// Every book is empty and complete as of packet `packet`, sent at `sending_ns`; 0 where a numbering
    /// begins, of which no snapshot has told yet.
    pub fn reset(&mut self, packet: u32, sending_ns: u64, events: &mut Vec<Event>) {
        self.known_from = packet;
        self.reset_ns = sending_ns;
        self.event_open = false;
        self.repeats_until = match packet {
            0 => 0,
            _ => self.repeats_until.max(self.ahead_of(packet)),
        };
        for row in self.instruments.rows_mut() {
            row.price = PriceState::known_from(packet);
            row.price.hole = !row.definition.defined && !self.settings.trust_undefined;
            row.orders.reset(packet);
        }
        self.price_queue.clear_all();
        self.order_queue.clear_all();
        self.assemblies.clear();
        self.price_loop.abandon();
        self.order_loop.abandon();
        events.push(Event::Reset);
        self.taken_back(events);
    }
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

/// The most events that one packet can give, as a sum of what can happen in it.
fn events_max(settings: &Settings) -> usize {
    let entries_max = settings.packet_bytes_max / ENTRY_BYTES_MIN;
    // Each entry: a restart or hole, a change of validity, itself.
    let from_entries = 4 * entries_max;
    // A packet of snapshots may let every queue of both pools be replayed and close every snapshot
    // in the making, and a whole loop touches every instrument with an empty snapshot.
    let queued = 2 * settings.queue_entries_max;
    let assembled = 4 * settings.snapshot_orders_max;
    // Where packets are awaited, it is said of each what it is besides.
    let per_instrument = 3 + usize::from(settings.replay.is_some());
    let from_recovery = queued + assembled + per_instrument * settings.instruments_max;
    from_entries + from_recovery + 16
}

/// The shortest entry of any group that makes events (template 37).
const ENTRY_BYTES_MIN: usize = 16;
