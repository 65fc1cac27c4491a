//! Makes updates from the changes of the open event.

use super::MarketBooks;
use super::changes::FlushReason;
use touchline_instruments::Instruments;
use touchline_transport::Publish;
use touchline_types::{
    BookUpdate, Instrument, OrdersSnapshot, OrdersUpdate, Side, Spread, Update, Validity,
};

impl MarketBooks {
    /// Publishes the changes of the open event, by ascending security id.
    #[inline]
    pub(super) fn flush(
        &mut self,
        reason: FlushReason,
        instruments: &Instruments,
        out: &mut impl Publish,
    ) {
        if self.levels.is_empty() && self.order_changes.is_empty() {
            return;
        }
        let is_spilled = std::mem::take(&mut self.spilled);
        self.counters.events_cut += u64::from(is_spilled || reason != FlushReason::EndOfEvent);
        if !self.inconsistent.is_empty() {
            self.distrust(instruments);
        }
        self.trace_applied();
        self.flush_books(reason, out);
        self.flush_orders(out);
    }

    /// Books with an inconsistent update are published as not live.
    #[cold]
    fn distrust(&mut self, instruments: &Instruments) {
        for instrument in &self.inconsistent {
            let definition = instruments.definition(*instrument);
            self.levels.touch(definition, self.rules.inconsistent);
        }
    }

    #[inline]
    fn flush_books(&mut self, reason: FlushReason, out: &mut impl Publish) {
        let MarketBooks {
            prices,
            counters,
            timestamps,
            levels,
            whole_sides,
            ..
        } = self;
        levels.drain(|touched, changes| {
            let (instrument, validity) = (touched.instrument, reason.validity(touched.validity));
            let book = prices.get_mut(instrument);
            if touched.rebuilt {
                counters.book_snapshots += 1;
                out.publish(
                    &Update::BookSnapshot(whole_sides.snapshot(instrument, validity, book)),
                    timestamps,
                );
            }
            if touched.rebuilt && !touched.direct {
                return;
            }
            let (best_bid, best_ask) = (book.first(Side::Bid), book.first(Side::Ask));
            let spread = book.spread();
            counters.book_updates += 1;
            counters.books_locked += u64::from(spread == Spread::Locked);
            counters.books_crossed += u64::from(spread == Spread::Crossed);
            let update = BookUpdate {
                instrument,
                security_id: touched.security_id,
                validity,
                direct: touched.direct,
                whole: reason == FlushReason::EndOfEvent,
                changes: if touched.rebuilt { &[] } else { changes },
                best_bid,
                best_ask,
            };
            out.publish(&Update::Book(update), timestamps);
        });
    }

    #[inline]
    fn flush_orders(&mut self, out: &mut impl Publish) {
        let missing = self.rules.missing;
        let MarketBooks {
            orders,
            counters,
            timestamps,
            order_changes,
            whole_book,
            overflowed,
            ..
        } = self;
        order_changes.drain(|touched, changes| {
            let instrument = touched.instrument;
            let validity = match overflowed.contains(&instrument) {
                true => missing,
                false => touched.validity,
            };
            if touched.rebuilt {
                counters.order_snapshots += 1;
                orders.gather(instrument, whole_book);
                let snapshot = OrdersSnapshot {
                    instrument,
                    validity,
                    orders: whole_book,
                };
                out.publish(&Update::OrdersSnapshot(snapshot), timestamps);
            } else {
                counters.order_updates += 1;
                out.publish(
                    &Update::Orders(OrdersUpdate {
                        instrument,
                        validity,
                        changes,
                    }),
                    timestamps,
                );
            }
        });
    }

    /// Publishes a whole book: after recovery, and with a definition.
    pub(super) fn publish_book(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        out: &mut impl Publish,
    ) {
        self.counters.book_snapshots += 1;
        self.trace_applied();
        let book = self.prices.get_mut(instrument);
        out.publish(
            &Update::BookSnapshot(self.whole_sides.snapshot(instrument, validity, book)),
            &self.timestamps,
        );
    }

    /// [`Self::publish_book`] for a book by order.
    pub(super) fn publish_orders(
        &mut self,
        instrument: Instrument,
        validity: Validity,
        out: &mut impl Publish,
    ) {
        self.counters.order_snapshots += 1;
        self.trace_applied();
        self.orders.gather(instrument, &mut self.whole_book);
        let validity = match self.overflowed.contains(&instrument) {
            true => self.rules.missing,
            false => validity,
        };
        out.publish(
            &Update::OrdersSnapshot(OrdersSnapshot {
                instrument,
                validity,
                orders: &self.whole_book,
            }),
            &self.timestamps,
        );
    }
}
