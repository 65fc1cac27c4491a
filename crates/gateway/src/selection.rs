//! The symbols that a gateway publishes.

use touchline_instruments::{Admitted, Symbols};
use touchline_transport::Publish;
use touchline_transport::shm::{Activity, Damage, PublisherCounters};
use touchline_types::{Instrument, Timestamps, Update};

/// Publisher of the configured symbols only.
///
/// All books are kept, so that a book is complete when its definition arrives late; an instrument
/// without a definition has no symbol and is published only if all symbols are selected.
#[derive(Debug)]
pub struct Selected<P> {
    publisher: P,
    admitted: Admitted,
}

impl<P: Publish> Selected<P> {
    /// Allocates room for `instruments_max` instruments.
    pub fn new(publisher: P, symbols: Symbols, instruments_max: usize) -> Selected<P> {
        Selected {
            publisher,
            admitted: Admitted::new(symbols, instruments_max),
        }
    }

    /// The inner publisher.
    pub fn inner(&self) -> &P {
        &self.publisher
    }

    /// The inner publisher.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.publisher
    }

    fn admits(&mut self, update: &Update<'_>) -> bool {
        let instrument = match update {
            Update::Book(update) => update.instrument,
            Update::Orders(update) => update.instrument,
            Update::Trade(trade) => trade.instrument,
            Update::Statistic(statistic) => statistic.instrument,
            Update::BookSnapshot(snapshot) => snapshot.instrument,
            Update::OrdersSnapshot(snapshot) => snapshot.instrument,
            Update::State(state) => state.instrument,
            Update::Quotes(update) => update.stream.instrument,
            Update::QuoteSnapshot(snapshot) => snapshot.stream.instrument,
            Update::Status(status) => match status.instrument {
                Some(instrument) => instrument,
                None => return true,
            },
            Update::Gap(_) | Update::Reset | Update::Download(_) | Update::Channel(_) => {
                return true;
            }
            Update::Definition(definition) => return self.admitted.define(definition),
        };
        self.admitted.has(instrument)
    }
}

impl<P: Publish> Publish for Selected<P> {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        if self.admitted.is_all() || self.admits(update) {
            self.publisher.publish(update, timestamps);
        }
    }

    #[inline]
    fn commit(&mut self) {
        self.publisher.commit();
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        self.publisher.heartbeat(timestamps);
    }

    fn state_activity(&mut self, activity: Activity) {
        self.publisher.state_activity(activity);
    }

    fn warm(&self, instrument: Instrument) {
        self.publisher.warm(instrument);
    }

    fn counters(&self) -> Option<&PublisherCounters> {
        self.publisher.counters()
    }

    fn check(&mut self) -> Result<(), Damage> {
        self.publisher.check()
    }
}
