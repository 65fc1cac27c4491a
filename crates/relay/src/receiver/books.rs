//! Published state of books: the updates that a book may apply, and rows of its orders on this host.

use super::trust::Trust;
use crate::ReceiverCounters;
use touchline_transport::Publish;
use touchline_transport::market::OwnRows;
use touchline_types::{
    BookUpdate, ChannelState, Instrument, OrdersSnapshot, OrdersUpdate, State, Timestamps, Update,
    Validity,
};

/// State of the books, and the orders with their rows.
#[derive(Debug)]
pub struct Books {
    /// Data that equals the sender's.
    pub trust: Trust,
    /// State of the channel at the source.
    pub channel: ChannelState,
    /// Whether every order fitted since this was set.
    pub has_room: bool,
    orders: OwnRows,
}

impl Books {
    /// Makes the state in which all data is unknown.
    pub fn new(instruments_max: usize, orders_max: usize, entries_max: usize) -> Books {
        Books {
            trust: Trust::new(instruments_max),
            channel: ChannelState::LIVE,
            has_room: true,
            orders: OwnRows::new(instruments_max, orders_max, entries_max),
        }
    }

    /// A new stream: complete from its first message, or unknown.
    pub fn reset(&mut self, is_whole: bool) {
        self.trust.reset(is_whole);
        self.channel = ChannelState::LIVE;
        self.orders.clear_all();
    }

    /// Messages were lost, with any contents.
    pub fn lose_all(&mut self) {
        self.trust.lose_all();
        self.orders.clear_all();
    }

    /// A book is unknown until it arrives completely.
    pub fn lose(
        &mut self,
        instrument: Instrument,
        is_of_orders: bool,
        timestamps: &Timestamps,
        out: &mut impl Publish,
    ) {
        let Some(known) = self.trust.of_mut(instrument) else {
            return;
        };
        known.values = false;
        let validity = Validity::Recovering;
        if is_of_orders {
            known.orders = false;
            self.orders.clear(instrument);
            out.publish(&no_orders(instrument, validity), timestamps);
        } else {
            known.price = false;
            let state = State {
                instrument,
                validity,
            };
            out.publish(&Update::State(state), timestamps);
        }
    }

    /// Publishes an update of the stream.
    #[inline]
    pub fn apply(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        is_image: bool,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        match update {
            Update::Book(book) if self.trust.of(book.instrument).price => {
                out.publish(update, timestamps);
            }
            Update::Orders(orders) if self.trust.of(orders.instrument).orders => {
                self.change_orders(orders, timestamps, counters, out);
            }
            Update::State(state) if self.trust.of(state.instrument).price => {
                out.publish(update, timestamps);
            }
            Update::Book(BookUpdate { instrument, .. })
            | Update::Orders(OrdersUpdate { instrument, .. })
            | Update::State(State { instrument, .. }) => {
                counters.relay_withheld += 1;
                if let Some(known) = self.trust.of_mut(*instrument) {
                    known.is_withheld = true;
                }
            }
            _ => self.apply_rare(update, timestamps, is_image, counters, out),
        }
    }

    #[inline(never)]
    fn apply_rare(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        is_image: bool,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        match update {
            Update::BookSnapshot(_) | Update::OrdersSnapshot(_) => {
                return self.replace(update, timestamps, counters, out);
            }
            Update::Gap(_) => {
                self.orders.clear_all();
                self.trust.all_orders_are_known();
            }
            Update::Reset => {
                self.orders.clear_all();
                self.trust.all_books_are_known();
            }
            // Published with the state of the link.
            Update::Channel(state) => {
                self.channel = **state;
                self.trust.is_channel_known = true;
                return;
            }
            Update::Trade(_) if is_image => return out.keep(update, timestamps),
            _ => {}
        }
        out.publish(update, timestamps);
    }

    /// Publishes an update of a refresh, if its data is missing.
    pub fn refresh(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        match update {
            Update::BookSnapshot(_) | Update::OrdersSnapshot(_) => {
                self.replace(update, timestamps, counters, out);
            }
            Update::Channel(state) => {
                self.channel = **state;
                self.trust.is_channel_known = true;
            }
            // The value is old: it is stored for late joiners, and not a new event.
            Update::Trade(_) => out.keep(update, timestamps),
            _ => out.publish(update, timestamps),
        }
    }

    /// Publishes a complete book.
    fn replace(
        &mut self,
        update: &Update<'_>,
        timestamps: &Timestamps,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        match update {
            Update::OrdersSnapshot(snapshot) => {
                self.replace_orders(snapshot, timestamps, counters, out);
            }
            Update::BookSnapshot(book) => {
                out.publish(update, timestamps);
                if let Some(known) = self.trust.of_mut(book.instrument) {
                    known.price = true;
                }
            }
            _ => {}
        }
    }

    #[inline]
    fn change_orders(
        &mut self,
        update: &OrdersUpdate<'_>,
        timestamps: &Timestamps,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        match self.orders.change(update) {
            Some(update) => out.publish(&Update::Orders(update), timestamps),
            None => self.orders_full(update.instrument, timestamps, counters, out),
        }
    }

    fn replace_orders(
        &mut self,
        snapshot: &OrdersSnapshot<'_>,
        timestamps: &Timestamps,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        let instrument = snapshot.instrument;
        let Some(snapshot) = self.orders.replace(snapshot) else {
            return self.orders_full(instrument, timestamps, counters, out);
        };
        out.publish(&Update::OrdersSnapshot(snapshot), timestamps);
        if let Some(known) = self.trust.of_mut(instrument) {
            known.orders = true;
        }
    }

    /// An order of the book does not fit: the book is empty and recovering until it arrives completely.
    #[cold]
    fn orders_full(
        &mut self,
        instrument: Instrument,
        timestamps: &Timestamps,
        counters: &mut ReceiverCounters,
        out: &mut impl Publish,
    ) {
        counters.relay_orders_full += 1;
        self.has_room = false;
        self.orders.clear(instrument);
        if let Some(known) = self.trust.of_mut(instrument) {
            known.orders = false;
        }
        self.trust.refuse(instrument);
        out.publish(&no_orders(instrument, Validity::Recovering), timestamps);
    }
}

fn no_orders<'a>(instrument: Instrument, validity: Validity) -> Update<'a> {
    Update::OrdersSnapshot(OrdersSnapshot {
        instrument,
        validity,
        orders: &[],
    })
}
