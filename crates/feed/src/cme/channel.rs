//! State of a channel, and events that affect all of it: a join, a loss, a reset.

use super::arbiter::StreamPoint;
use super::counters::Counters;
use super::cycles::Cycles;
use super::epoch::Epoch;
use super::progress::Progress;
use super::rows::{OrderState, PriceState, Row, Rows};
use super::settings::{Join, Settings};
use super::snapshot_assembler::SnapshotAssembler;
use super::templates::Templates;
use crate::Output;
use touchline_types::{Event, Instrument, Validity};

/// State of a channel: parts with rules of their own, and the events that affect all of them.
#[derive(Debug)]
pub(super) struct Channel {
    pub settings: Settings,
    pub counters: Counters,
    pub templates: Templates,
    pub rows: Rows,
    pub epoch: Epoch,
    pub cycles: Cycles,
    pub assembler: SnapshotAssembler,
    pub progress: Progress,
}

impl Channel {
    /// Allocates all memory.
    pub fn new(settings: Settings) -> Channel {
        Channel {
            counters: Counters::default(),
            templates: Templates::new(),
            rows: Rows::new(settings.instruments_max, settings.queue_entries_max),
            epoch: Epoch::new(),
            cycles: Cycles::default(),
            assembler: SnapshotAssembler::new(settings.snapshot_orders_max),
            progress: Progress::default(),
            settings,
        }
    }

    /// Validity of a book with a gap.
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
        } else if self.epoch.is_confirmed(row.price.confirmed) {
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
                let mut price = PriceState::known_from(self.epoch.known_from());
                price.gap = !self.settings.trust_undefined;
                let is_all_known = self.epoch.is_rest_empty();
                self.rows
                    .add(instrument, price, OrderState::new(is_all_known));
                if is_all_known && price.gap {
                    // Readers treat unknown instruments as empty and live.
                    out.push(Event::BookLost(instrument, self.missing()));
                }
                // Before the first packet readers treat order books as recovering.
                if self.epoch.is_before_all() && self.missing() != Validity::Recovering {
                    out.push(Event::OrdersLost(instrument, self.missing()));
                }
            }
            None => self.counters.instruments_full += 1,
        }
        added
    }

    /// Whether the levels of an instrument cannot be stored, since its depth is unknown.
    #[inline]
    pub fn lacks_definition(&self, row: &Row) -> bool {
        !row.is_defined && !self.settings.trust_undefined
    }

    /// The first packet has this number: everything before it was missed.
    pub fn joined(&mut self, first: u32, whole: bool, out: &mut Output<'_>) {
        if whole {
            self.epoch.begin();
            self.reset((0, 0), None, out);
        } else {
            self.lose_packets((1, first.max(2) - 1), true, out);
        }
    }

    /// A new epoch starts. If its first packets were or may have been missed, no book is known, as after a late join.
    pub fn restarted(&mut self, first: u32, whole: bool, sending_ns: u64, out: &mut Output<'_>) {
        self.cycles.forget();
        if whole {
            self.epoch.begin();
            return self.reset((0, sending_ns), None, out);
        }
        self.epoch.reset(0, sending_ns);
        self.lose_all(1, first.max(2) - 1, PriceState::known_from(0), out);
    }

    /// A processed packet may not be the venue's: every book that may contain it is gapped.
    pub fn distrust_all(&mut self, sequence: u32, newest: u32, out: &mut Output<'_>) {
        let unknown = PriceState {
            // mutant: feed: a conflict leaves price books live
            gap: true,
            last_seen: newest,
            ..PriceState::known_from(0)
        };
        // Unknown instruments are not known to be empty either.
        self.epoch.distrust();
        self.lose_all(sequence, newest, unknown, out);
    }

    /// Numbers up to `last` are lost, and the contents of the books with them.
    fn lose_all(&mut self, first: u32, last: u32, price: PriceState, out: &mut Output<'_>) {
        self.rows.drop_prices();
        for row in self.rows.iter_mut() {
            row.price = price;
            row.price.gap |= !row.is_defined && !self.settings.trust_undefined;
            row.orders = OrderState::new(false);
        }
        self.cycles.abandon_snapshots();
        self.lose(first, last, out);
        for (instrument, row) in self.rows.iter() {
            out.push(Event::BookLost(instrument, self.validity(row)));
        }
    }

    /// Drops times that the venue's clock no longer shows, since it was set back or they were forged.
    pub fn forget_wrong_times(&mut self, is_of_now: impl Fn(u64) -> bool, begun: StreamPoint) {
        self.cycles.forget_unless(is_of_now);
        self.epoch.set_back(begun);
    }

    /// Numbers up to `last` are lost: price books need confirmation, order books are unknown.
    pub fn lose(&mut self, first: u32, last: u32, out: &mut Output<'_>) {
        self.lose_packets((first, last), false, out);
    }

    fn lose_packets(&mut self, (first, last): (u32, u32), is_join: bool, out: &mut Output<'_>) {
        self.epoch.lose(last);
        self.progress.close();
        for row in self.rows.iter_mut() {
            row.orders.known = false;
        }
        self.rows.drop_orders();
        self.assembler.clear();
        let (first, last) = (u64::from(first), u64::from(last));
        out.push(Event::Lost {
            first,
            last,
            is_join,
        });
        self.still_live(out);
    }

    /// A loss makes every book gapped for subscribers; those that a snapshot had confirmed beyond the lost packets
    /// are published as live.
    fn still_live(&self, out: &mut Output<'_>) {
        for (instrument, row) in self.rows.iter() {
            if self.validity(row) == Validity::Live {
                out.push(Event::Validity(instrument, Validity::Live));
            }
        }
    }

    /// Every book is empty and complete as of packet `packet`, sent at `sending_ns`; both are 0 at the start of an
    /// epoch. `transact_ns`: the venue's time of it.
    pub fn reset(
        &mut self,
        (packet, sending_ns): (u32, u64),
        transact_ns: Option<u64>,
        out: &mut Output<'_>,
    ) {
        self.epoch.reset(packet, sending_ns);
        self.progress.close();
        for row in self.rows.iter_mut() {
            row.price = PriceState::known_from(packet);
            row.price.gap = !row.is_defined && !self.settings.trust_undefined;
            row.orders = OrderState::new(true);
        }
        self.rows.drop_prices();
        self.rows.drop_orders();
        self.assembler.clear();
        self.cycles.abandon_snapshots();
        out.push(Event::Reset(transact_ns));
        // A reset makes every book live for readers; the depth of these books is unknown.
        for (instrument, row) in self.rows.iter().filter(|(_, row)| row.price.gap) {
            out.push(Event::BookLost(instrument, self.validity(row)));
        }
    }
}
