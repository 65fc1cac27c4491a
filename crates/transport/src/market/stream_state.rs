//! State that a stream of updates has reached: books, and the last values beside them. Who sends or records a stream gives it to
//! readers that begin in its middle.

mod values;

use super::Mirror;
use crate::{Envelope, Subscribe, SubscriptionEvent};
use touchline_types::{
    BookKind, BookSnapshot, ChannelState, Instrument, Level, OrderChange, OrdersSnapshot, Phase,
    Side, Timestamps, TradingStatus, Update, Validity,
};
use values::{StoredValues, Timed, Values};

/// Most orders that one event adds: messages of an event are grouped by instrument, so its new orders may come before the deleted ones. Who
/// keeps the orders of a stream has this room beyond those of its bus.
pub const EVENT_ORDERS_MAX: usize = 65_536;

/// Books and last values of every instrument, built from the updates of one stream: the state at its place in the stream.
#[derive(Debug)]
pub struct StreamState {
    mirror: Mirror,
    stored: StoredValues,
}

/// State of one instrument, with memory that is used again.
#[derive(Debug, Default)]
pub struct InstrumentImage {
    values: Values,
    book: Option<(Instrument, Validity)>,
    /// Direct bids and asks, implied bids and asks.
    levels: [Vec<Level>; 4],
    orders_of: Option<(Instrument, Validity)>,
    orders: Vec<OrderChange>,
}

/// State beside the instruments.
#[derive(Debug)]
pub struct ChannelImage {
    groups: Vec<Timed<TradingStatus>>,
    download: Option<Phase>,
    channel: ChannelState,
}

impl StreamState {
    /// Room for `instruments_max` instruments and `orders_max` orders; memory grows with what the stream has.
    pub fn new(instruments_max: usize, orders_max: usize) -> StreamState {
        StreamState {
            mirror: Mirror::new(instruments_max, orders_max),
            stored: StoredValues::new(instruments_max),
        }
    }

    /// Empties it, with other limits: another publisher continues the stream.
    pub fn restart(&mut self, instruments_max: usize, orders_max: usize) {
        self.mirror = Mirror::new(instruments_max, orders_max);
        self.stored.clear();
        self.stored.set_instruments_max(instruments_max);
    }

    /// Takes an update; `is_image` if it was read from a table of the bus.
    #[inline]
    pub fn update(
        &mut self,
        sequence: u64,
        update: &Update<'_>,
        timestamps: &Timestamps,
        is_image: bool,
    ) {
        self.mirror.update(&Envelope {
            sequence,
            timestamps,
            update,
        });
        self.stored.update(update, timestamps, is_image);
    }

    /// Takes an event of the subscription.
    pub fn event(&mut self, event: &SubscriptionEvent) {
        self.mirror.event(event);
        if matches!(
            event,
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. }
        ) {
            self.stored.lose();
        }
    }

    /// The books.
    pub fn books(&self) -> &Mirror {
        &self.mirror
    }

    /// Number of instruments: every index below it may have values.
    pub fn instruments(&self) -> u32 {
        self.stored.instruments()
    }

    /// Copy of the state beside the instruments.
    pub fn channel(&self) -> ChannelImage {
        ChannelImage {
            groups: self.stored.groups().to_vec(),
            download: self.mirror.download(),
            channel: *self.mirror.channel(),
        }
    }

    /// Copies the state of an instrument; false if the stream has never named it.
    pub fn copy_to(&self, instrument: Instrument, image: &mut InstrumentImage) -> bool {
        let Some(values) = self.stored.of(instrument) else {
            return false;
        };
        image.values.clone_from(values);
        let (price, orders) = self.mirror.own_validity(instrument);
        // A book without published data may still be live and empty: after a reset of the channel.
        let has_book = values.has_book || price != Validity::Gapped;
        image.book = has_book.then_some((instrument, price));
        image.levels.iter_mut().for_each(Vec::clear);
        if let Some(book) = self.mirror.book(instrument).filter(|_| has_book) {
            let [bids, asks, implied_bids, implied_asks] = &mut image.levels;
            bids.extend(book.levels(BookKind::Direct, Side::Bid).iter().copied());
            asks.extend(book.levels(BookKind::Direct, Side::Ask).iter().copied());
            implied_bids.extend_from_slice(book.implied(Side::Bid));
            implied_asks.extend_from_slice(book.implied(Side::Ask));
        }
        let has_orders = values.has_orders || orders != Validity::Recovering;
        image.orders_of = has_orders.then_some((instrument, orders));
        image.orders.clear();
        if has_orders {
            self.mirror.orders().gather(instrument, &mut image.orders);
        }
        true
    }
}

impl ChannelImage {
    /// Gives the state as updates: statuses of product groups, download phase, and last the channel.
    pub fn updates(&self, mut each: impl FnMut(&Update<'_>, &Timestamps)) {
        let none = Timestamps::default();
        for group in &self.groups {
            each(&Update::Status(&group.value), &group.timestamps());
        }
        if let Some(phase) = self.download {
            each(&Update::Download(phase), &none);
        }
        each(&Update::Channel(&self.channel), &none);
    }
}

impl InstrumentImage {
    /// Gives the state as updates: definition, books, status, statistics, last trade.
    pub fn updates(&self, mut each: impl FnMut(&Update<'_>, &Timestamps)) {
        let none = Timestamps::default();
        let values = &self.values;
        if let Some(definition) = &values.definition {
            each(
                &Update::Definition(&definition.value),
                &definition.timestamps(),
            );
        }
        if let Some((instrument, validity)) = self.book {
            let [bids, asks, implied_bids, implied_asks] = &self.levels;
            let snapshot = BookSnapshot {
                instrument,
                validity,
                bids,
                asks,
                implied_bids,
                implied_asks,
            };
            each(&Update::BookSnapshot(snapshot), &none);
        }
        if let Some((instrument, validity)) = self.orders_of {
            let snapshot = OrdersSnapshot {
                instrument,
                validity,
                orders: &self.orders,
            };
            each(&Update::OrdersSnapshot(snapshot), &none);
        }
        if let Some(status) = &values.status {
            each(&Update::Status(&status.value), &status.timestamps());
        }
        for statistic in values.statistics.iter().flatten() {
            each(
                &Update::Statistic(&statistic.value),
                &statistic.timestamps(),
            );
        }
        if let Some(trade) = &values.trade {
            each(&Update::Trade(&trade.value), &trade.timestamps());
        }
    }
}
