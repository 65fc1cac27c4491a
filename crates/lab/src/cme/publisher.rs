//! Sending side of the venue: numbers entries and packets, and keeps the published state at every packet boundary.

use super::SentPacket;
use super::encode::incremental::{self, Body, LevelEntry};
use super::encode::{Version, packet};
use super::hashes;
use super::instrument::Instrument;
use super::ladder::{Ladder, LevelUpdate, List, Rung};
use super::market::RestingOrder;
use crate::capture::Feed;
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};
use touchline_types::book_state::BookState;

/// Published state of one instrument.
#[derive(Clone, Debug, Default)]
pub struct Published {
    /// RptSeq of the last entry; 0 if there was none.
    pub rpt_seq: u32,
    /// TransactTime of the last event.
    pub transact_time: u64,
    /// The four lists, in the order of [`List::ALL`].
    pub ladders: [Ladder; 4],
    /// The orders, by id.
    pub orders: BTreeMap<u64, RestingOrder>,
}

/// The sending side of a channel's incremental feed.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// The schema version.
    pub version: Version,
    /// The instruments, by ascending id.
    pub instruments: Vec<Instrument>,
    /// Published state of each instrument.
    pub published: Vec<Published>,
    /// Sequence of the last packet sent.
    pub sequence: u32,
    /// Packets sent on all feeds, until the caller takes them.
    pub packets: Vec<SentPacket>,
    /// Instruments whose direct book had an entry in the open event.
    pub touched: BTreeSet<usize>,
    /// Instruments of which any list had an entry in the open event.
    pub changed: BTreeSet<usize>,
    /// States of books after each event, and at each end of a packet within an event, until the caller takes them.
    pub states: Vec<BookState>,
    /// Record the states.
    pub keep_states: bool,
    /// Instruments whose orders changed in the open event.
    pub changed_orders: BTreeSet<usize>,
    /// States of order books, like `states` for price books.
    pub order_states: Vec<BookState>,
    /// Record the states of order books.
    pub keep_order_states: bool,
    /// The venue's clock, nanoseconds since 1970.
    pub now_ns: u64,
    /// Faults do not affect packets sent now.
    pub spared: bool,
    /// Share of messages written as a future version would.
    pub future_share: f64,
    /// Messages of the packet that is being filled.
    open: Vec<Vec<u8>>,
    last_sent: BTreeMap<Feed, (u64, u64)>,
}

/// The most bytes of a packet, so that it fits an Ethernet frame.
const PACKET_BYTES_MAX: usize = 1_420;

impl Publisher {
    /// A channel before its first packet.
    pub fn new(version: Version, instruments: Vec<Instrument>, now_ns: u64) -> Self {
        Self {
            version,
            published: vec![Published::default(); instruments.len()],
            instruments,
            sequence: 0,
            packets: Vec::new(),
            touched: BTreeSet::new(),
            changed: BTreeSet::new(),
            states: Vec::new(),
            keep_states: false,
            changed_orders: BTreeSet::new(),
            order_states: Vec::new(),
            keep_order_states: false,
            now_ns,
            spared: false,
            future_share: 0.0,
            open: Vec::new(),
            last_sent: BTreeMap::new(),
        }
    }

    /// True at a packet boundary, where [`published`](Self::published) is the state published by the packets so far.
    pub fn at_boundary(&self) -> bool {
        self.open.is_empty()
    }

    /// Sequence of the packet that is being filled.
    pub fn open_sequence(&self) -> u32 {
        self.sequence + 1
    }

    /// Numbers a message's entries, puts it into the open packet, and records its published state.
    pub fn emit(&mut self, mut body: Body, transact_time: u64, indicator: u8, random: &mut Random) {
        self.number(&mut body);
        let future = random.chance(self.future_share);
        let bytes = incremental::encode(self.version, future, &body, transact_time, indicator);
        self.put(bytes);
        self.note(&body, transact_time);
    }

    /// Adds an encoded message to the open packet; sends the packet first if it has no room left.
    pub fn put(&mut self, message: Vec<u8>) {
        let open: usize = self.open.iter().map(Vec::len).sum();
        if 12 + open + message.len() > PACKET_BYTES_MAX {
            self.flush();
        }
        self.open.push(message);
    }

    /// Sends the open packet, unless it is empty.
    pub fn flush(&mut self) {
        if self.open.is_empty() {
            return;
        }
        // Also in the middle of an event: a snapshot shows the end of a packet.
        self.note_states();
        self.sequence += 1;
        let messages = std::mem::take(&mut self.open);
        self.send(Feed::Incremental, self.sequence, self.now_ns, &messages);
    }

    /// Sends a packet on a feed. Sending times and arrivals of one feed are in order.
    pub fn send(&mut self, feed: Feed, sequence: u32, wanted_ns: u64, messages: &[Vec<u8>]) {
        let (last_sending, last_arrival) = self.last_sent.get(&feed).copied().unwrap_or_default();
        let sending_time = wanted_ns.max(last_sending + 1);
        let travel_ns = if feed == Feed::Incremental {
            2_000
        } else {
            700
        };
        let time_ns = (sending_time + travel_ns).max(last_arrival + 1);
        self.last_sent.insert(feed, (sending_time, time_ns));
        let payload = packet(sequence, sending_time, messages);
        self.packets.push(SentPacket {
            time_ns,
            feed,
            sequence,
            spared: self.spared,
            payload,
        });
    }

    /// Sets the venue's clock, also back; sending times and arrivals continue from there.
    pub fn jump_clock(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.last_sent.clear();
    }

    /// Empties every published book, with RptSeq 0.
    pub fn forget_published(&mut self) {
        self.published.fill(Published::default());
        self.touched.clear();
        self.note_all_states();
    }

    /// Records the state of each book.
    pub fn note_all_states(&mut self) {
        self.changed = (0..self.instruments.len()).collect();
        self.changed_orders = self.changed.clone();
        self.note_states();
    }

    /// Records the state of each book that changed since the last call.
    pub fn note_states(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let changed_orders = std::mem::take(&mut self.changed_orders);
        let state = |index: usize, hash: fn(&Published) -> u64| BookState {
            sequence: u64::from(self.sequence) + 1,
            security_id: self.instruments[index].security_id,
            hash: hash(&self.published[index]),
        };
        if self.keep_states {
            let of = |index| state(index, |each| hashes::hash_of_ladders(&each.ladders));
            self.states.extend(changed.into_iter().map(of));
        }
        if self.keep_order_states {
            let of = |index| state(index, |each| hashes::hash_of_published_orders(&each.orders));
            let states = changed_orders.into_iter().map(of);
            self.order_states.extend(states);
        }
    }

    fn number(&mut self, body: &mut Body) {
        let instruments = &self.instruments;
        let published = &mut self.published;
        let mut next = |security_id: i32| {
            let index = index_of(instruments, security_id);
            published[index].rpt_seq += 1;
            published[index].rpt_seq
        };
        match body {
            Body::Book { levels, .. } => {
                levels
                    .iter_mut()
                    .for_each(|entry| entry.rpt_seq = next(entry.security_id));
            }
            Body::Trades { trades, .. } => {
                trades
                    .iter_mut()
                    .for_each(|entry| entry.rpt_seq = next(entry.security_id));
            }
            Body::Volume { entries, .. }
            | Body::DailyStatistics(entries)
            | Body::Limits(entries)
            | Body::SessionStatistics { entries, .. } => {
                entries
                    .iter_mut()
                    .for_each(|entry| entry.rpt_seq = next(entry.security_id));
            }
            Body::ChannelReset
            | Body::Heartbeat
            | Body::Status { .. }
            | Body::Orders(_)
            | Body::Unknown(..) => {}
        }
    }

    /// Applies a message to the published state, as a subscriber does to its books.
    fn note(&mut self, body: &Body, transact_time: u64) {
        match body {
            Body::Book { levels, orders, .. } => {
                levels
                    .iter()
                    .for_each(|entry| self.note_level(entry, transact_time));
                for order in orders {
                    let entry = &levels[usize::from(order.reference) - 1];
                    let side = List::of_entry_type(entry.entry_type).side;
                    let index = index_of(&self.instruments, entry.security_id);
                    self.changed_orders.insert(index);
                    let published = &mut self.published[index];
                    let change = (order.id, Some(entry.price), order.quantity, order.priority);
                    note_order(published, side, order.action, change);
                }
            }
            Body::Orders(orders) => {
                for order in orders {
                    let index = index_of(&self.instruments, order.security_id);
                    self.changed_orders.insert(index);
                    let published = &mut self.published[index];
                    published.transact_time = transact_time;
                    let change = (order.id, order.price, order.quantity, order.priority);
                    note_order(published, order.side, order.action, change);
                }
            }
            _ => {}
        }
    }

    fn note_level(&mut self, entry: &LevelEntry, transact_time: u64) {
        let index = index_of(&self.instruments, entry.security_id);
        let list = List::of_entry_type(entry.entry_type);
        let instrument = &self.instruments[index];
        let depth = if list.implied {
            instrument.implied_depth()
        } else {
            instrument.depth()
        };
        let rung = Rung {
            price: entry.price,
            quantity: entry.quantity,
            orders: entry.orders,
        };
        let update = LevelUpdate {
            action: entry.action,
            level: usize::from(entry.level),
            rung,
        };
        let published = &mut self.published[index];
        update.apply(&mut published.ladders[list.index()], depth);
        published.transact_time = transact_time;
        self.changed.insert(index);
        if !list.implied {
            self.touched.insert(index);
        }
    }
}

fn note_order(
    published: &mut Published,
    side: crate::picture::Side,
    action: u8,
    (id, price, quantity, priority): (u64, Option<i64>, Option<i64>, Option<u64>),
) {
    if action == 2 {
        published.orders.remove(&id);
        return;
    }
    let old = published.orders.get(&id).copied();
    let known = "a new order has all fields";
    published.orders.insert(
        id,
        RestingOrder {
            id,
            side,
            price: price.or(old.map(|o| o.price)).expect(known),
            quantity: quantity.or(old.map(|o| o.quantity)).expect(known),
            priority: priority.or(old.map(|o| o.priority)).expect(known),
        },
    );
}

fn index_of(instruments: &[Instrument], security_id: i32) -> usize {
    instruments
        .binary_search_by_key(&security_id, |instrument| instrument.security_id)
        .expect("an entry is of an instrument of the session")
}
