//! A bus without shared memory: the publisher is in the same process, as in a replay.

use super::{Bus, Source};
use crate::Options;
use crate::room::Room;
use touchline_instruments::Symbols;
use touchline_transport::Envelope;
use touchline_transport::shm::{Item, Received};

impl Bus {
    /// A bus without shared memory: a publisher of this process gives each update to [`take`](Bus::take), and the program
    /// [polls](Bus::poll) its events after each. [`next`](Bus::next) would wait without end.
    pub fn local(options: &Options, name: &str, instruments_max: usize, orders_max: usize) -> Bus {
        let room = Room::new(options, instruments_max, orders_max);
        // Its publisher selects.
        let symbols = Symbols::default();
        Bus::over(Source::Local(None), options, name, (room, symbols))
    }

    /// Applies an update of this process's publisher, on a [local](Bus::local) bus.
    ///
    /// # Panics
    /// The bus is shared memory, or the events of the update before were not polled.
    #[inline]
    pub fn take(&mut self, envelope: &Envelope<'_>) {
        if !self.reading.wants(envelope.update) {
            return;
        }
        self.take_item(Item::Update(Received {
            sequence: envelope.sequence,
            timestamps: *envelope.timestamps,
            update: *envelope.update,
            batch_end: false,
            is_image: false,
            bytes: None,
        }));
    }

    /// Ends the batch of one packet, on a [local](Bus::local) bus.
    ///
    /// # Panics
    /// As [`take`](Bus::take).
    #[inline]
    pub fn end_batch(&mut self) {
        self.take_item(Item::BatchEnd);
    }

    fn take_item(&mut self, item: Item<'_>) {
        let Source::Local(took) = &mut self.source else {
            panic!("a bus in shared memory has its own publisher");
        };
        assert!(
            took.is_none(),
            "the events of the update before were not polled"
        );
        let taken = self.reading.take(item);
        *took = self.reading.has_result(taken).then_some(taken);
    }
}
