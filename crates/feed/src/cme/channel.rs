//! What is known of a channel, and what happens to all of it: a join, a loss, a reset.

use super::arbiter::StreamPoint;
use super::counters::Counters;
use super::queue::{Queue, QueuePool};
use super::rows::{OrderState, PriceState, Row, Rows};
use super::settings::{Join, Settings};
use super::snapshot_assembler::SnapshotAssembler;
use super::snapshot_cycle::SnapshotCycle;
use super::templates::Templates;
use crate::Output;
use touchline_types::{Event, Instrument, PacketInfo, Validity};

/// What is known of the channel: instruments, queues, cycles, and the last loss and reset.
#[derive(Debug)]
pub(super) struct Channel {
    pub settings: Settings,
    pub counters: Counters,
    pub templates: Templates,
    pub rows: Rows,
    pub price_queue: QueuePool,
    pub order_queue: QueuePool,
    pub assembler: SnapshotAssembler,
    pub price_cycle: SnapshotCycle,
    pub order_cycle: SnapshotCycle,
    pub definition_cycle: SnapshotCycle,
    /// The last lost packet number; `u32::MAX` before the first packet of all.
    pub lost: u32,
    /// From which packet on an instrument that was never heard of is known to be empty.
    pub known_from: u32,
    /// The packet of the last reset: snapshots that hold less are from before it.
    pub reset_at: u32,
    /// Snapshots sent at or before this are from before the last reset.
    pub reset_ns: u64,
    /// Whether the channel has shown any order yet.
    pub orders_seen: bool,
    /// Whether the last message of the incremental feed left its event open.
    pub event_open: bool,
    /// The packet being processed.
    pub packet_info: PacketInfo,
}

impl Channel {
    /// All memory is taken here.
    pub fn new(settings: Settings) -> Channel {
        Channel {
            counters: Counters::default(),
            templates: Templates::new(),
            rows: Rows::new(settings.instruments_max),
            price_queue: QueuePool::new(settings.queue_entries_max),
            order_queue: QueuePool::new(settings.queue_entries_max),
            assembler: SnapshotAssembler::new(settings.snapshot_orders_max),
            price_cycle: SnapshotCycle::default(),
            order_cycle: SnapshotCycle::default(),
            definition_cycle: SnapshotCycle::default(),
            lost: u32::MAX,
            known_from: 0,
            reset_at: 0,
            reset_ns: 0,
            orders_seen: false,
            event_open: false,
            packet_info: PacketInfo::default(),
            settings,
        }
    }

    /// The number of the packet being processed: CME's have 32 bits.
    #[inline]
    pub fn packet(&self) -> u32 {
        self.packet_info.sequence as u32
    }

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
        if row.price.gap {
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
    pub fn instrument(&mut self, security_id: i32, out: &mut Output<'_>) -> Option<Instrument> {
        match out.instruments.find_security(i64::from(security_id)) {
            Some(instrument) => Some(instrument),
            None => self.add_instrument(security_id, out),
        }
    }

    #[cold]
    fn add_instrument(&mut self, security_id: i32, out: &mut Output<'_>) -> Option<Instrument> {
        let depth = self.settings.default_depth;
        let added = out.instruments.add_security(i64::from(security_id), depth);
        match added {
            Some(instrument) => {
                let mut price = PriceState::known_from(self.known_from);
                price.gap = !self.settings.trust_undefined;
                let is_all_known = self.known_from >= self.lost;
                self.rows
                    .add(instrument, price, OrderState::new(is_all_known));
                if is_all_known && price.gap {
                    // Readers take what they never heard of for empty and live.
                    out.push(Event::BookLost(instrument, self.missing()));
                }
            }
            None => self.counters.instruments_full += 1,
        }
        added
    }

    /// Whether the levels of an instrument cannot be kept, since nobody said how many there are.
    #[inline]
    pub fn lacks_definition(&self, row: &Row) -> bool {
        !row.is_defined && !self.settings.trust_undefined
    }

    /// The first packet has this number: everything before it is missed.
    pub fn joined(&mut self, first: u32, whole: bool, out: &mut Output<'_>) {
        if whole {
            self.lost = 0;
            self.reset(0, 0, out);
        } else {
            self.lose(1, first.max(2) - 1, out);
        }
    }

    /// A new numbering begins. Where its beginning is missed, or may be, nothing is known, as after a late join.
    pub fn restarted(&mut self, first: u32, whole: bool, sending_ns: u64, out: &mut Output<'_>) {
        for tracker in [
            &mut self.price_cycle,
            &mut self.order_cycle,
            &mut self.definition_cycle,
        ] {
            tracker.forget();
        }
        // mutant: feed: a reset without its beginning empties every book
        if whole {
            self.lost = 0;
            return self.reset(0, sending_ns, out);
        }
        (self.known_from, self.reset_at, self.reset_ns) = (0, 0, sending_ns);
        self.lose_all(1, first.max(2) - 1, PriceState::known_from(0), out);
    }

    /// A packet that was processed may not be the venue's: no book is known that may hold it.
    pub fn distrust_all(&mut self, sequence: u32, newest: u32, out: &mut Output<'_>) {
        let unknown = PriceState {
            // mutant: feed: a conflict leaves price books live
            gap: true,
            last_seen: newest,
            ..PriceState::known_from(0)
        };
        // mutant: feed: behind a conflict what is heard of first is known to be empty
        // Nor is what was never heard of known to be empty.
        self.known_from = 0;
        self.lose_all(sequence, newest, unknown, out);
    }

    /// Numbers up to `last` are lost, and with them all that the books hold.
    fn lose_all(&mut self, first: u32, last: u32, price: PriceState, out: &mut Output<'_>) {
        self.price_queue.clear_all();
        for row in self.rows.iter_mut() {
            row.price = price;
            row.price.gap |= !row.is_defined && !self.settings.trust_undefined;
            row.orders = OrderState::new(false);
        }
        self.price_cycle.abandon();
        self.order_cycle.abandon();
        self.lose(first, last, out);
        for (instrument, row) in self.rows.iter() {
            out.push(Event::BookLost(instrument, self.validity(row)));
        }
    }

    /// Forgets times that the venue's clock does not show any more, since it was set back or they were forged.
    pub fn forget_wrong_times(&mut self, is_of_now: impl Fn(u64) -> bool, begun: StreamPoint) {
        for tracker in [
            &mut self.price_cycle,
            &mut self.order_cycle,
            &mut self.definition_cycle,
        ] {
            // mutant: feed: a loop of next year hides the others
            if !is_of_now(tracker.start_ns()) {
                tracker.forget();
            }
        }
        let was_set_since = begun.sequence > u64::from(self.reset_at);
        if was_set_since && self.reset_ns > begun.sending_ns {
            self.reset_ns = begun.sending_ns.saturating_sub(1);
        }
    }

    /// Numbers up to `last` are lost: price books are to be confirmed anew, order books unknown.
    pub fn lose(&mut self, first: u32, last: u32, out: &mut Output<'_>) {
        // mutant: feed: a loss is not told to the books
        self.lost = last;
        self.event_open = false;
        for row in self.rows.iter_mut() {
            // mutant: feed: orders outlive a lost packet
            row.orders.known = false;
            row.orders.queue = Queue::EMPTY;
        }
        self.order_queue.clear_all();
        self.assembler.clear();
        let (first, last) = (u64::from(first), u64::from(last));
        // mutant: sessions: a lost packet is not told
        out.push(Event::Lost { first, last });
        self.still_live(out);
    }

    /// Loss makes every book doubtful to a subscriber; those that a snapshot had confirmed beyond
    /// the lost packets are said to be live.
    fn still_live(&self, out: &mut Output<'_>) {
        for (instrument, row) in self.rows.iter() {
            if self.validity(row) == Validity::Live {
                out.push(Event::Validity(instrument, Validity::Live));
            }
        }
    }

    /// Every book is empty and complete as of packet `packet`, sent at `sending_ns`; 0 where a numbering
    /// begins.
    pub fn reset(&mut self, packet: u32, sending_ns: u64, out: &mut Output<'_>) {
        (self.known_from, self.reset_at) = (packet, packet);
        self.reset_ns = sending_ns;
        self.event_open = false;
        for row in self.rows.iter_mut() {
            row.price = PriceState::known_from(packet);
            row.price.gap = !row.is_defined && !self.settings.trust_undefined;
            // mutant: feed: a loop outlives a reset
            row.orders = OrderState::new(true);
        }
        self.price_queue.clear_all();
        self.order_queue.clear_all();
        self.assembler.clear();
        self.price_cycle.abandon();
        self.order_cycle.abandon();
        out.push(Event::Reset);
        // To readers a reset makes every book live; of these nobody knows how many levels they have.
        for (instrument, row) in self.rows.iter().filter(|(_, row)| row.price.gap) {
            out.push(Event::BookLost(instrument, self.validity(row)));
        }
    }
}
