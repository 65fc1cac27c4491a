//! Rare events: losses, resets, whole books, validities, definitions.

use super::MarketBooks;
use super::changes::FlushReason;
use crate::incident::GapReport;
use touchline_book::ApplyResult;
use touchline_book::price::STEPS_MAX;
use touchline_instruments::Instruments;
use touchline_transport::Publish;
use touchline_types::{
    Event, Gap, Instrument, LevelChange, LevelEvent, OrderEvent, State, Update, Validity,
};

impl MarketBooks {
    #[inline(never)]
    pub(super) fn rare_event(
        &mut self,
        event: &Event,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        match *event {
            Event::BookEmptied(instrument, validity) => {
                self.book_emptied(instrument, validity, instruments)
            }
            Event::Status(ref status, begun_ns) => {
                self.publish_of(begun_ns, &Update::Status(status), out)
            }
            Event::Defined {
                instrument,
                price,
                orders,
            } => {
                self.defined(instrument, price, orders, instruments, out);
            }
            Event::Lost {
                first,
                last,
                is_join,
            } => {
                self.report_loss(first, last, is_join);
                self.lost(first, last, instruments, out);
            }
            Event::Reset(begun_ns) => self.reset(begun_ns, out),
            Event::BookLost(instrument, validity) => {
                self.clear_book(instrument, validity);
                self.publish_book(instrument, validity, out);
            }
            Event::RebuildBook(instrument) => self.clear_book(instrument, Validity::Recovering),
            Event::RebuildLevel(ref level) => self.rebuild_level(level),
            Event::BookRebuilt(instrument, validity, begun_ns) => {
                self.begins(begun_ns);
                self.book_rebuilt(instrument, validity, instruments, out);
            }
            Event::OrdersLost(instrument, validity) => {
                self.forget_orders(instrument, validity);
                self.publish_orders(instrument, validity, out);
            }
            Event::RebuildOrders(instrument) => {
                self.forget_orders(instrument, Validity::Recovering)
            }
            Event::RebuildOrder(ref order) => self.rebuild_order(order, instruments),
            Event::OrdersRebuilt(instrument, validity) => {
                self.show_orders(instrument, validity, instruments, out);
            }
            Event::Validity(instrument, validity) => {
                self.validity(instrument, validity, instruments, out)
            }
            // mutant: gateway: books of a silent channel stay live
            Event::Channel(ref state) => self.publish(&Update::Channel(state), out),
            Event::Download(phase) => self.publish(&Update::Download(phase), out),
            // Its book may contain half of the event until the event ends.
            Event::Confirmed(instrument) => {
                self.levels
                    .touch(instruments.definition(instrument), Validity::Live);
            }
            Event::Level(..)
            | Event::Order(..)
            | Event::EndOfEvent { .. }
            | Event::Trade(..)
            | Event::Statistic(..) => unreachable!("they are on the path, and no rare events"),
        }
    }

    /// Takes the time of an event whose updates precede its end; without one they have that of the last event.
    fn begins(&mut self, begun_ns: Option<u64>) {
        // mutant: gateway: the book of a snapshot has the time of the event before
        self.timestamps.exchange_ns = begun_ns.unwrap_or(self.timestamps.exchange_ns);
    }

    /// Keeps the loss for the log: packets of before the start, or a gap.
    fn report_loss(&mut self, first: u64, last: u64, is_join: bool) {
        match is_join {
            true => self.missed = Some(last),
            false => self.gaps = Some(GapReport::after(self.gaps, first, last)),
        }
    }

    fn rebuild_level(&mut self, level: &LevelEvent) {
        self.steps.clear();
        let result = self.prices.rebuild(level, &mut self.steps);
        if result != ApplyResult::Expected {
            self.inconsistent_update(level.instrument, result);
        }
    }

    fn book_rebuilt(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        let validity = match self.inconsistent.contains(&instrument) {
            true => self.rules.inconsistent,
            false => validity,
        };
        self.show_book(instrument, validity, instruments, out);
    }

    /// Handles a book that the venue emptied within an event.
    fn book_emptied(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        instruments: &Instruments,
    ) {
        if self.levels.room() < STEPS_MAX {
            self.spilled = true;
            self.levels.spill();
        }
        let MarketBooks { levels, prices, .. } = self;
        let security_id = || instruments.definition(instrument).security_id;
        let clear = |changes: &mut Vec<LevelChange>| prices.get_mut(instrument).clear(changes);
        let touched = levels.add(instrument, security_id, validity, clear);
        touched.direct = true;
    }

    /// Handles a definition, which may select the instrument: its books are published with it.
    fn defined(
        &mut self,
        instrument: Instrument,
        price: Validity,
        orders: Option<Validity>,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        let definition = instruments.definition(instrument);
        self.prices.define(instrument, definition.depth);
        self.publish(&Update::Definition(definition), out);
        self.show_book(instrument, price, instruments, out);
        if let Some(orders) = orders {
            self.show_orders(instrument, orders, instruments, out);
        }
    }

    /// Handles lost packets: first reports the loss, then publishes the changes of the open event.
    fn lost(&mut self, first: u64, last: u64, instruments: &Instruments, out: &mut impl Publish) {
        self.orders.clear_all();
        self.order_changes.clear();
        let orders = self.rules.missing;
        self.publish(
            &Update::Gap(Gap {
                first,
                last,
                orders,
            }),
            out,
        );
        self.flush(FlushReason::Gap, instruments, out);
        self.spilled = false;
        self.inconsistent.clear();
    }

    fn reset(&mut self, begun_ns: Option<u64>, out: &mut impl Publish) {
        self.begins(begun_ns);
        self.levels.clear();
        self.order_changes.clear();
        self.spilled = false;
        self.inconsistent.clear();
        self.prices.clear();
        self.orders.clear_all();
        self.overflowed.clear();
        self.publish(&Update::Reset, out);
    }

    /// Publishes the validity of an unchanged book at once, or at the end of the event that the
    /// book may contain half of.
    fn validity(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        if self.is_event_open() {
            self.levels
                .touch(instruments.definition(instrument), validity);
        } else {
            self.publish(
                &Update::State(State {
                    instrument,
                    validity,
                }),
                out,
            );
        }
    }

    /// Publishes a whole book at once, or at the end of the event that it may contain half of.
    fn show_book(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        if self.is_event_open() {
            self.levels
                .touch(instruments.definition(instrument), validity)
                .rebuilt = true;
        } else {
            self.publish_book(instrument, validity, out);
        }
    }

    fn show_orders(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        if self.is_event_open() {
            self.order_changes
                .touch(instruments.definition(instrument), validity)
                .rebuilt = true;
        } else {
            self.publish_orders(instrument, validity, out);
        }
    }

    /// Whether a book may contain half an event. Changes waiting here count even if the venue is at the end of the
    /// packet.
    pub(super) fn is_event_open(&self) -> bool {
        self.event_open || !self.levels.is_empty() || !self.order_changes.is_empty()
    }

    /// Empties a price book, and forgets its inconsistencies.
    fn clear_book(&mut self, instrument: Instrument, validity: Validity) {
        self.inconsistent.retain(|other| *other != instrument);
        self.steps.clear();
        self.prices.get_mut(instrument).clear(&mut self.steps);
        self.levels.forget(instrument, validity);
    }

    /// Empties an order book, for which there is room again.
    fn forget_orders(&mut self, instrument: Instrument, validity: Validity) {
        self.overflowed.retain(|other| *other != instrument);
        self.clear_orders(instrument, validity);
    }

    fn clear_orders(&mut self, instrument: Instrument, validity: Validity) {
        self.orders.clear(instrument);
        self.order_changes.forget(instrument, validity);
    }

    /// Inserts an order of a snapshot.
    fn rebuild_order(&mut self, order: &OrderEvent, instruments: &Instruments) {
        self.order_steps.clear();
        if self.orders.apply(order, &mut self.order_steps).is_err() {
            self.orders_overflowed(order.instrument, instruments);
        }
    }

    /// Handles a full order table: this order book is unknown from here on.
    #[cold]
    pub(super) fn orders_overflowed(&mut self, instrument: Instrument, instruments: &Instruments) {
        if !self.overflowed.contains(&instrument) {
            self.overflowed.push(instrument);
        }
        if !self.feedback.orders_overflowed.contains(&instrument) {
            self.feedback.orders_overflowed.push(instrument);
        }
        self.clear_orders(instrument, self.rules.missing);
        let definition = instruments.definition(instrument);
        self.order_changes
            .touch(definition, self.rules.missing)
            .rebuilt = true;
    }
}
