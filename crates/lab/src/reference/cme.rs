//! Reference handler of one CME channel: arrivals in, [`Picture`] out.
//!
//! It follows the rules of the venue step by step: arbitration, RptSeq, states and queues, snapshots, orders, tops.

pub mod arbitration;
mod block;
pub mod message;
pub mod orders;
pub mod packet;
pub mod prices;
pub mod snapshot_cycle;
mod suspects;

use crate::capture::{Arrival, Feed};
use crate::picture::{BookRow, OrdersRow, Picture, Side, State, TopRow};
use arbitration::{Arbitration, Step};
use message::{Message, PriceSnapshot};
use orders::Orders;
use packet::Packet;
use prices::Prices;
use snapshot_cycle::SnapshotCycle;
use std::collections::{BTreeMap, BTreeSet};
use suspects::SECOND;

/// Settings of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time to wait for a missing packet, in nanoseconds of capture time.
    pub wait_ns: u64,
    /// Largest number of packets behind a gap.
    pub window: u64,
    /// Fill a book from its updates while it waits for a snapshot (natural refresh).
    pub natural: bool,
    /// An injected defect, to show that a comparison detects it.
    pub flaw: Option<Flaw>,
}

/// Kinds of injected defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Every valid packet is processed on arrival.
    SequenceNotChecked,
    /// Every entry is applied, with any RptSeq.
    RptSeqNotChecked,
    /// Tops are written after each message.
    EndOfEventIgnored,
    /// An insertion keeps the last level beyond the depth.
    LastLevelKept,
    /// Implied entries are applied to the direct book.
    ImpliedInOutright,
}

impl Flaw {
    /// All defects.
    pub const ALL: [Self; 5] = [
        Self::SequenceNotChecked,
        Self::RptSeqNotChecked,
        Self::EndOfEventIgnored,
        Self::LastLevelKept,
        Self::ImpliedInOutright,
    ];
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            wait_ns: 20_000_000,
            window: 1024,
            natural: false,
            flaw: None,
        }
    }
}

/// Runs a complete session.
pub fn run<'a>(arrivals: impl IntoIterator<Item = &'a Arrival>, settings: Settings) -> Picture {
    let mut handler = Handler::new(settings);
    for arrival in arrivals {
        handler.arrive(arrival);
    }
    handler.finish()
}

/// State of one channel.
#[derive(Clone, Debug)]
pub struct Handler {
    settings: Settings,
    arbitration: Arbitration,
    instruments: BTreeMap<i32, Instrument>,
    /// Cycles of the snapshot feed and of the order snapshot feed.
    loops: [SnapshotCycle; 2],
    /// Highest lost packet; `None` if none was lost, the largest number before the first packet.
    last_lost: Option<u32>,
    /// Packet of the last reset; 0 at the start of an epoch.
    last_reset: u32,
    /// SendingTime of the last reset of any kind; older snapshots are from before it.
    last_reset_ns: u64,
    /// Instruments whose direct book had an entry applied in the open event.
    touched: BTreeSet<i32>,
    /// Packets of snapshots that are ahead of the incremental feed, in order of arrival.
    early: Vec<Early>,
    processed_ns: u64,
    saw_orders: bool,
    tops: Vec<TopRow>,
}

/// Packet of a snapshot feed that waits for the incremental feed.
#[derive(Clone, Debug)]
struct Early {
    arrived: u64,
    of_orders: bool,
    payload: Vec<u8>,
    packet: Packet,
}

/// Largest number of waiting packets; the oldest is dropped.
const EARLY_MAX: usize = 256;

impl Early {
    /// Highest packet that one of its snapshots contains.
    fn snapshot_sequence(&self) -> u32 {
        let snapshot_sequence = self.packet.messages.iter().map(|message| match message {
            Message::PriceSnapshot(snapshot) => snapshot.last_packet,
            Message::OrderChunk(chunk) => chunk.last_packet,
            _ => 0,
        });
        snapshot_sequence.max().unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
struct Instrument {
    symbol: Option<String>,
    prices: Prices,
    orders: Orders,
}

/// Depths of a book without depths in its definition: CME's defaults for direct and implied books.
const DEFAULT_DEPTHS: (usize, usize) = (10, 2);

impl Handler {
    /// A handler before the first packet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            arbitration: Arbitration::new(settings.wait_ns, settings.window),
            instruments: BTreeMap::new(),
            loops: Default::default(),
            last_lost: Some(u32::MAX),
            last_reset: 0,
            last_reset_ns: 0,
            touched: BTreeSet::new(),
            early: Vec::new(),
            processed_ns: 0,
            saw_orders: false,
            tops: Vec::new(),
        }
    }

    /// Processes one packet. Arrivals are in order of time.
    pub fn arrive(&mut self, arrival: &Arrival) {
        let steps = self.arbitration.expire(arrival.time_ns);
        self.follow(steps);
        self.take_early();
        if arrival.feed == Feed::Incremental {
            self.arbitration
                .record_activity(arrival.time_ns, arrival.line);
        }
        let Some(packet) = packet::read(&arrival.payload).filter(|packet| packet.sequence > 0)
        else {
            return;
        };
        match arrival.feed {
            Feed::Incremental if self.settings.flaw == Some(Flaw::SequenceNotChecked) => {
                self.last_lost = self.last_lost.filter(|lost| *lost < u32::MAX);
                self.follow(vec![Step::Packet(packet)]);
            }
            Feed::Incremental => {
                let (now_ns, bytes) = (arrival.time_ns, arrival.payload.len());
                let steps = self.arbitration.accept(now_ns, arrival.line, bytes, packet);
                self.follow(steps);
                self.take_early();
            }
            Feed::Definitions => {
                if self.is_timely(0, packet.sending_time, arrival.time_ns) {
                    packet
                        .messages
                        .iter()
                        .for_each(|message| self.define(message));
                }
            }
            Feed::Snapshot | Feed::OrderSnapshot => self.recover(Early {
                arrived: arrival.time_ns,
                of_orders: arrival.feed == Feed::OrderSnapshot,
                payload: arrival.payload.clone(),
                packet,
            }),
        }
    }

    /// Processes a packet of a snapshot feed, now or when the incremental feed has reached it; drops it if its sequence
    /// or its time is impossible.
    fn recover(&mut self, early: Early) {
        if !self.is_timely(
            early.snapshot_sequence(),
            early.packet.sending_time,
            early.arrived,
        ) {
            return;
        }
        let newest = self.arbitration.newest().map(|newest| newest.sequence);
        if newest.is_some_and(|newest| u64::from(early.snapshot_sequence()) <= newest) {
            return self.take_snapshots(usize::from(early.of_orders), &early.packet);
        }
        let is_copy =
            |kept: &Early| (kept.of_orders, &kept.payload) == (early.of_orders, &early.payload);
        if !self.early.iter().any(is_copy) {
            if self.early.len() == EARLY_MAX {
                self.early.remove(0);
            }
            self.early.push(early);
        }
    }

    /// Processes waiting snapshots that the incremental feed has reached.
    fn take_early(&mut self) {
        let Some(newest) = self.arbitration.newest() else {
            return;
        };
        let due = |early: &Early| u64::from(early.snapshot_sequence()) <= newest.sequence;
        while let Some(at) = self.early.iter().position(due) {
            let early = self.early.remove(at);
            let (sent, arrived) = (early.packet.sending_time, early.arrived);
            if self.arbitration.ahead(sent, arrived) <= SECOND / 4 {
                self.recover(early);
            }
        }
    }

    /// Whether the venue can have sent this at that time: a snapshot that contains a packet is sent
    /// after it.
    fn is_timely(&self, snapshot_sequence: u32, sending_time: u64, now_ns: u64) -> bool {
        let Some(newest) = self.arbitration.newest() else {
            return true;
        };
        let (snapshot_sequence, begun) = (u64::from(snapshot_sequence), self.arbitration.begun());
        let is_ahead = snapshot_sequence > newest.sequence;
        let is_in_doubt =
            snapshot_sequence > 0 && self.arbitration.is_in_doubt(sending_time, now_ns);
        !(is_in_doubt
            || is_ahead && sending_time < newest.sending_time
            || snapshot_sequence >= begun.sequence
                && sending_time < begun.sending_time.min(newest.sending_time)
            || snapshot_sequence > 0
                && snapshot_sequence < begun.sequence
                && self.arbitration.is_long_before(sending_time, now_ns)
            || snapshot_sequence > newest.sequence + self.arbitration.window()
            || !self.arbitration.is_reached(sending_time, now_ns))
    }

    /// End of input.
    pub fn finish(mut self) -> Picture {
        let steps = self.arbitration.finish();
        self.follow(steps);
        self.take_early();
        if self.arbitration.newest().is_none() {
            // Without an incremental feed they are the only data, and their books are not live.
            for early in std::mem::take(&mut self.early) {
                self.take_snapshots(usize::from(early.of_orders), &early.packet);
            }
        }
        let mut picture = self.picture();
        picture.tops = self.tops;
        picture
    }

    /// SendingTime of the newest incremental packet processed; 0 before the first.
    pub fn processed_ns(&self) -> u64 {
        self.processed_ns
    }

    /// Current books and orders, and the tops so far.
    pub fn picture(&self) -> Picture {
        let books = self.instruments.iter().map(|(&security_id, instrument)| {
            let [bids, asks, implied_bids, implied_asks] = instrument
                .prices
                .sides()
                .each_ref()
                .map(|side| side.levels().to_vec());
            BookRow {
                security_id,
                symbol: instrument.symbol.clone(),
                state: instrument.prices.state(self.last_lost),
                last_rpt_seq: instrument.prices.last_rpt_seq(),
                bids,
                asks,
                implied_bids,
                implied_asks,
            }
        });
        let orders = self.instruments.iter().filter(|_| self.saw_orders).map(
            |(&security_id, instrument)| OrdersRow {
                security_id,
                symbol: instrument.symbol.clone(),
                state: instrument.orders.state(),
                bids: instrument.orders.book().rows(Side::Bid),
                asks: instrument.orders.book().rows(Side::Ask),
            },
        );
        Picture {
            books: books.collect(),
            orders: orders.collect(),
            tops: self.tops.clone(),
        }
    }

    fn follow(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Lost { last, .. } => {
                    self.last_lost = Some(last);
                    self.touched.clear();
                    self.instruments
                        .values_mut()
                        .for_each(|instrument| instrument.orders.lose());
                }
                Step::Joined { whole: true, .. } => {
                    // No packet was lost before the first one, so all books are known.
                    self.last_lost = None;
                    self.instruments
                        .values_mut()
                        .for_each(|instrument| instrument.orders.reset());
                }
                Step::Joined { first, .. } => self.last_lost = Some(first.max(2) - 1),
                Step::Restarted {
                    whole: true,
                    sending_time,
                    ..
                } => {
                    self.early.clear();
                    self.reset(0, sending_time);
                }
                Step::Restarted {
                    first,
                    sending_time,
                    ..
                } => {
                    self.early.clear();
                    self.reset(0, sending_time);
                    self.last_lost = Some(first.max(2) - 1);
                    self.instruments
                        .values_mut()
                        .for_each(|instrument| instrument.orders.lose());
                }
                Step::Conflict { newest } => {
                    self.early.clear();
                    self.distrust(newest);
                }
                Step::Packet(packet) => self.process(&packet),
            }
        }
    }

    /// Processes a packet of the arbitrated incremental feed.
    fn process(&mut self, packet: &Packet) {
        self.processed_ns = packet.sending_time;
        for message in &packet.messages {
            let end_of_event = match message {
                Message::Entries { end_of_event, .. } => {
                    self.take_entries(packet.sequence, message);
                    *end_of_event
                }
                Message::ChannelReset { end_of_event } => {
                    self.reset(packet.sequence, packet.sending_time);
                    *end_of_event
                }
                Message::Definition { end_of_event, .. } => {
                    self.define(message);
                    *end_of_event
                }
                Message::Other { end_of_event } => *end_of_event,
                Message::PriceSnapshot(_) | Message::OrderChunk(_) | Message::Unknown => false,
            };
            if end_of_event || self.settings.flaw == Some(Flaw::EndOfEventIgnored) {
                self.write_tops(packet.sequence);
            }
        }
    }

    fn take_entries(&mut self, sequence: u32, message: &Message) {
        let Message::Entries {
            transact_time,
            entries,
            orders,
            ..
        } = message
        else {
            return;
        };
        for entry in entries {
            let instrument = self.instrument(entry.security_id);
            if entry.book.is_some() {
                instrument.orders.note(sequence, *transact_time);
            }
            if instrument.prices.take(sequence, *entry) {
                self.touched.insert(entry.security_id);
            }
        }
        for entry in orders {
            self.saw_orders = true;
            let orders = &mut self.instrument(entry.security_id).orders;
            orders.note(sequence, *transact_time);
            orders.take(sequence, *entry);
        }
    }

    /// Channel or sequence reset in this packet: every book is empty and known.
    fn reset(&mut self, sequence: u32, sending_time: u64) {
        self.last_lost = None;
        (self.last_reset, self.last_reset_ns) = (sequence, sending_time);
        self.loops = Default::default();
        self.touched.clear();
        for instrument in self.instruments.values_mut() {
            instrument.prices.reset(sequence);
            instrument.orders.reset();
        }
    }

    /// A processed packet may be forged: every book waits for a snapshot.
    fn distrust(&mut self, newest: u32) {
        self.last_lost = Some(newest);
        self.loops.iter_mut().for_each(SnapshotCycle::abandon);
        self.touched.clear();
        for instrument in self.instruments.values_mut() {
            instrument.prices.distrust(newest);
            instrument.orders.lose();
        }
    }

    fn define(&mut self, message: &Message) {
        let Message::Definition {
            security_id,
            symbol,
            depth,
            implied_depth,
            ..
        } = message
        else {
            return;
        };
        let instrument = self.instrument(*security_id);
        instrument.symbol = Some(symbol.clone());
        let depths = (
            depth.unwrap_or(DEFAULT_DEPTHS.0),
            implied_depth.unwrap_or(DEFAULT_DEPTHS.1),
        );
        instrument.prices.set_depths(depths.0, depths.1);
    }

    fn take_snapshots(&mut self, feed: usize, packet: &Packet) {
        let begun = self.arbitration.begun();
        let was_set_since = begun.sequence > u64::from(self.last_reset);
        if was_set_since && self.last_reset_ns > begun.sending_time {
            self.last_reset_ns = begun.sending_time.saturating_sub(1);
        }
        if packet.sending_time <= self.last_reset_ns {
            return;
        }
        self.loops[feed].see_packet(packet.sequence, packet.sending_time);
        for message in &packet.messages {
            let (security_id, reports, last_packet) = match message {
                Message::PriceSnapshot(snapshot) => {
                    self.take_price_snapshot(snapshot);
                    (snapshot.security_id, snapshot.reports, snapshot.last_packet)
                }
                Message::OrderChunk(chunk) => {
                    self.saw_orders = true;
                    let last_lost = self.last_lost.max(Some(self.last_reset));
                    self.instrument(chunk.security_id)
                        .orders
                        .take_chunk(chunk, last_lost);
                    (chunk.security_id, chunk.reports, chunk.last_packet)
                }
                _ => continue,
            };
            let whole = self.loops[feed].see_message(
                packet.sending_time,
                security_id,
                reports,
                last_packet,
            );
            if let Some(whole) = whole {
                self.take_absences(feed == 1, &whole.named, whole.last_packet);
            }
        }
    }

    fn take_price_snapshot(&mut self, snapshot: &PriceSnapshot) {
        let last_lost = self.last_lost;
        let is_older = snapshot.last_packet < self.last_reset;
        let prices = &mut self.instrument(snapshot.security_id).prices;
        if prices.state(last_lost) != State::Live && !is_older {
            prices.take_snapshot(snapshot);
        }
    }

    /// An instrument without a snapshot in a complete cycle had no activity up to the cycle's first packet. The cycle
    /// of order snapshots covers orders only: an instrument without orders may have prices (implied ones, for example).
    fn take_absences(&mut self, of_orders: bool, named: &BTreeSet<i32>, last_packet: u32) {
        let absent: Vec<i32> = self
            .instruments
            .keys()
            .filter(|id| !named.contains(id))
            .copied()
            .collect();
        for security_id in absent {
            if of_orders {
                let last_lost = self.last_lost.max(Some(self.last_reset));
                self.instrument(security_id)
                    .orders
                    .take_absence(last_packet, last_lost);
                continue;
            }
            self.take_price_snapshot(&PriceSnapshot {
                security_id,
                last_packet,
                reports: 0,
                rpt_seq: 0,
                levels: Vec::new(),
            });
        }
    }

    fn write_tops(&mut self, sequence: u32) {
        for security_id in std::mem::take(&mut self.touched) {
            let [bids, asks, ..] = self.instrument(security_id).prices.sides();
            let (bid, ask) = (bids.best(), asks.best());
            self.tops.push(TopRow {
                sequence: u64::from(sequence),
                security_id,
                bid,
                ask,
            });
        }
    }

    fn instrument(&mut self, security_id: i32) -> &mut Instrument {
        let (settings, known) = (self.settings, self.last_lost.is_none());
        self.instruments
            .entry(security_id)
            .or_insert_with(|| Instrument {
                symbol: None,
                prices: Prices::new(DEFAULT_DEPTHS.0, DEFAULT_DEPTHS.1, settings),
                orders: Orders::new(known, settings),
            })
    }
}
