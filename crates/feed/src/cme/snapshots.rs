//! The snapshot feeds: price snapshots (52; 38, 69) and order snapshots (53; 44), in cycles.
//!
//! Source: CME client systems wiki, "MBP and MBOFD Market Recovery".

use super::channel::Channel;
use super::cycles::CycleKind;
use super::normalise::{BookEntry, book_entry, is_negative, statistic_kind};
use super::prices::{PriceSnapshot, Use};
use super::settings::FeedType;
use super::snapshot_assembler::Chunk;
use super::snapshot_cycle::CompleteCycle;
use crate::Output;
use touchline_types::{
    Event, Instrument, LevelEvent, OrderAction, OrderEvent, Place, Price, Quantity, Statistic,
    UpdateAction, Validity,
};
use touchline_wire::mdp3::*;

/// The cycle of a packet's messages, if that cycle is followed.
type InCycle = Option<CycleKind>;

/// A price snapshot message; both generations and the messages with long quantities have the same fields.
macro_rules! price_message {
    ($name:ident, $view:ident) => {
        fn $name(&mut self, raw: CheckedMessage<'_>, in_cycle: InCycle, out: &mut Output<'_>) {
            let message = $view::of(raw);
            let snapshot = PriceSnapshot {
                rpt_seq: message.rpt_seq(),
                snapshot_sequence: message.last_msg_seq_num_processed(),
            };
            let Some(instrument) = self.instrument(message.security_id(), out) else {
                return;
            };
            let is_usable = message.no_md_entries().iter().all(|entry| {
                let is_level = matches!(book_entry(entry.md_entry_type().0), BookEntry::Level(..));
                !is_level || !is_negative(entry.md_entry_size())
            });
            self.counters.quantities_negative += u64::from(!is_usable);
            if is_usable && self.price_snapshot(instrument, snapshot) == Use::Replace {
                out.push(Event::RebuildBook(instrument));
                for entry in message.no_md_entries() {
                    let price = self.price(entry.md_entry_px());
                    let quantity = self.quantity(entry.md_entry_size());
                    let position = entry.md_price_level().map_or(0, |level| level as u8);
                    let orders = entry.number_of_orders();
                    let item = Item {
                        price,
                        quantity,
                        position,
                        orders,
                        entry_type: entry.md_entry_type(),
                    };
                    let event = item.event(instrument, message.transact_time());
                    if !self.has_negative(&event) {
                        out.push(event);
                    }
                }
                self.replay(instrument, snapshot, out);
            }
            self.name(
                instrument,
                in_cycle,
                message.tot_num_reports(),
                snapshot.snapshot_sequence,
                out,
            );
        }
    };
}

/// A chunk of an order snapshot, in both generations.
macro_rules! order_message {
    ($name:ident, $view:ident) => {
        fn $name(&mut self, raw: CheckedMessage<'_>, in_cycle: InCycle, out: &mut Output<'_>) {
            let message = $view::of(raw);
            let snapshot_sequence = message.last_msg_seq_num_processed();
            let Some(instrument) = self.instrument(message.security_id(), out) else {
                return;
            };
            let chunk = Chunk {
                instrument,
                snapshot_sequence,
                chunks: message.no_chunks(),
                transact_ns: message.transact_time(),
            };
            if self.begin_chunk(chunk, message.current_chunk()) {
                for entry in message.no_md_entries() {
                    let price = self.price(entry.md_entry_px());
                    let quantity = self.quantity(entry.md_display_qty());
                    let BookEntry::Level(_, side) = book_entry(entry.md_entry_type().0) else {
                        continue;
                    };
                    self.chunk_order(OrderEvent {
                        order_id: entry.order_id(),
                        priority: entry.md_order_priority(),
                        price,
                        quantity,
                        instrument,
                        action: OrderAction::New,
                        side,
                    });
                }
                self.end_chunk(out);
            }
            self.name(
                instrument,
                in_cycle,
                message.tot_num_reports(),
                snapshot_sequence,
                out,
            );
        }
    };
}

/// Fields of a snapshot entry, in common widths.
struct Item {
    price: Price,
    quantity: Quantity,
    position: u8,
    orders: Option<i32>,
    entry_type: MdEntryType,
}

impl Item {
    fn event(self, instrument: Instrument, transact_ns: u64) -> Event {
        let Item {
            price,
            quantity,
            position,
            ..
        } = self;
        match book_entry(self.entry_type.0) {
            BookEntry::Level(book, side) => Event::RebuildLevel(LevelEvent {
                instrument,
                orders: self.orders.unwrap_or(-1),
                price,
                quantity,
                place: Place::Position(position),
                action: UpdateAction::Change,
                side,
                book,
            }),
            _ => {
                let statistic = Statistic {
                    instrument,
                    kind: statistic_kind(self.entry_type.0),
                    action: UpdateAction::New,
                    price,
                    quantity,
                };
                Event::Statistic(statistic, transact_ns)
            }
        }
    }
}

/// Highest LastMsgSeqNumProcessed of a packet of a snapshot feed; 0 if it has no snapshot.
pub fn snapshot_sequence(packet: &Packet<'_>) -> u32 {
    let of_message = |raw: CheckedMessage<'_>| match raw.header.template_id {
        SnapshotFullRefresh52::TEMPLATE_ID
        | SnapshotFullRefresh38::TEMPLATE_ID
        | SnapshotFullRefreshLongQty69::TEMPLATE_ID
        | SnapshotFullRefreshOrderBook53::TEMPLATE_ID
        | SnapshotFullRefreshOrderBook44::TEMPLATE_ID => first_u32(raw.body),
        _ => 0,
    };
    packet.messages().map(of_message).max().unwrap_or(0)
}

/// LastMsgSeqNumProcessed is the first field of each snapshot message (a test checks this).
fn first_u32(body: &[u8]) -> u32 {
    body.first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

impl Channel {
    /// Processes a packet of a snapshot feed. The order feed contains price snapshots, too.
    pub fn snapshots(&mut self, feed: FeedType, packet: &Packet<'_>, out: &mut Output<'_>) {
        let PacketHeader {
            sequence,
            sending_time_ns,
        } = packet.header;
        if self.epoch.is_sent_before(sending_time_ns) {
            self.counters.snapshots_stale += 1;
            return;
        }
        let kind = match feed {
            FeedType::SnapshotOrders => CycleKind::Orders,
            _ => CycleKind::Price,
        };
        let is_followed = self.cycles.packet(kind, sequence, sending_time_ns);
        let in_cycle = is_followed.then_some(kind);
        for raw in packet.messages() {
            self.templates.count(raw);
            self.snapshot(raw, in_cycle, out);
        }
    }

    fn snapshot(&mut self, raw: CheckedMessage<'_>, in_cycle: InCycle, out: &mut Output<'_>) {
        match raw.header.template_id {
            SnapshotFullRefresh52::TEMPLATE_ID => self.price52(raw, in_cycle, out),
            SnapshotFullRefresh38::TEMPLATE_ID => self.price38(raw, in_cycle, out),
            SnapshotFullRefreshLongQty69::TEMPLATE_ID => self.price69(raw, in_cycle, out),
            SnapshotFullRefreshOrderBook53::TEMPLATE_ID => self.orders53(raw, in_cycle, out),
            SnapshotFullRefreshOrderBook44::TEMPLATE_ID => self.orders44(raw, in_cycle, out),
            _ => {
                let is_known = Message::is_known(raw.header.template_id);
                self.counters.messages_unknown += u64::from(!is_known);
            }
        }
    }

    price_message!(price52, SnapshotFullRefresh52);
    price_message!(price38, SnapshotFullRefresh38);
    price_message!(price69, SnapshotFullRefreshLongQty69);
    order_message!(orders53, SnapshotFullRefreshOrderBook53);
    order_message!(orders44, SnapshotFullRefreshOrderBook44);

    /// Decides about a price snapshot.
    fn price_snapshot(&mut self, instrument: Instrument, snapshot: PriceSnapshot) -> Use {
        let row = self.rows.row(instrument);
        let is_needed = self.validity(row) != Validity::Live && !self.lacks_definition(row);
        if !is_needed || self.epoch.is_before(snapshot.snapshot_sequence) {
            return Use::Ignore;
        }
        let judged = self.judge(instrument, snapshot);
        match judged {
            Use::Ignore => {}
            Use::Replace => self.counters.snapshots_used += 1,
            Use::TooOld => self.counters.snapshots_too_old += 1,
        }
        judged
    }

    /// Records an instrument of a cycle; if the cycle is complete, handles the instruments that it did not contain.
    /// Either kind of message of a cycle of order snapshots counts, but the cycle is evidence for orders alone: an
    /// instrument without orders may have prices (implied ones, for example).
    fn name(
        &mut self,
        instrument: Instrument,
        in_cycle: InCycle,
        total: u32,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        let Some(kind) = in_cycle else {
            return;
        };
        let named_by = &mut self.rows.row_mut(instrument).named_by;
        if let Some(whole) = self.cycles.name(kind, named_by, total, snapshot_sequence) {
            self.absent(kind, whole, out);
        }
    }

    /// Instruments that a complete cycle did not contain had no activity.
    fn absent(&mut self, kind: CycleKind, whole: CompleteCycle, out: &mut Output<'_>) {
        self.counters.snapshot_cycles += 1;
        for instrument in (0..self.rows.len() as u32).map(Instrument) {
            if self.rows.row(instrument).named_by.is_named(kind, whole) {
                continue;
            }
            match kind {
                CycleKind::Orders => self.orders_absent(instrument, whole.lowest, out),
                _ => self.price_absent(instrument, whole.lowest, out),
            }
        }
    }

    /// An instrument that a complete price cycle does not name: as a snapshot without entries.
    fn price_absent(
        &mut self,
        instrument: Instrument,
        snapshot_sequence: u32,
        out: &mut Output<'_>,
    ) {
        let snapshot = PriceSnapshot {
            rpt_seq: 0,
            snapshot_sequence,
        };
        if self.price_snapshot(instrument, snapshot) == Use::Replace {
            self.counters.instruments_absent += 1;
            out.push(Event::RebuildBook(instrument));
            self.replay(instrument, snapshot, out);
        }
    }
}
