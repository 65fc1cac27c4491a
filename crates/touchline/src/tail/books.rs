//! The price books of a bus as they are with the last update: a message alone does not say what is implied.

use touchline_book::Touch;
use touchline_transport::shm::Received;
use touchline_transport::{Envelope, Mirror, Subscribe};
use touchline_types::{ChannelState, Instrument, Side, Update};

/// Price books, kept from what is received.
#[derive(Debug)]
pub struct Books(Mirror);

impl Default for Books {
    fn default() -> Books {
        Books(Mirror::new(0, 0))
    }
}

impl Books {
    /// Takes an update; orders are no part of a best price, and there is no room for them.
    pub fn note(&mut self, received: &Received<'_>) {
        if !matches!(
            received.update,
            Update::Orders(_) | Update::OrdersSnapshot(_)
        ) {
            self.0.update(&Envelope {
                sequence: received.sequence,
                timestamps: &received.timestamps,
                update: &received.update,
            });
        }
    }

    /// Another publisher numbers instruments anew.
    pub fn forget(&mut self) {
        *self = Books::default();
    }

    /// State of the channel as it was last published: a line says the worse of a book's own validity and this.
    pub fn channel(&self) -> &ChannelState {
        self.0.channel()
    }

    /// The best bid and ask of an instrument, direct and implied.
    pub fn touches(&self, instrument: Instrument) -> [Option<Touch>; 2] {
        let book = self.0.book(instrument);
        // mutant: tail: the best prices are the direct book's
        Side::BOTH.map(|side| book.and_then(|book| book.touch(side)))
    }
}
