//! Conversion of messages to updates: the decoder, and times of this host.

use super::Receiver;
use touchline_transport::Publish;
use touchline_types::Timestamps;
use touchline_types::native::{Body, Message, Unfit};

/// Times of a message on this host: venue and receive times are unchanged. Ticks are of the sender's host, so the
/// arrival time here replaces them.
#[inline]
fn timestamps_here(message: &Message<'_>, arrived: u64) -> Timestamps {
    Timestamps {
        polled: arrived,
        decoded: 0,
        applied: 0,
        published: arrived,
        ..message.timestamps()
    }
}

impl Receiver {
    /// Publishes a message of the stream, unless its book waits for a refresh.
    #[inline]
    pub(super) fn apply(
        &mut self,
        message: &Message<'_>,
        is_image: bool,
        now_ns: u64,
        arrived: u64,
        out: &mut impl Publish,
    ) {
        let timestamps = timestamps_here(message, arrived);
        let Receiver {
            decoder,
            room,
            books,
            counters,
            ..
        } = self;
        match &decoder.update(message, room.lend()) {
            Ok(Some(update)) => books.apply(update, &timestamps, is_image, counters, out),
            Ok(None) => {}
            Err(_) => self.unfit(message, &timestamps, is_image, now_ns, out),
        }
    }

    /// A part is missing, or the entries do not fit the buffers: the book is unknown until it arrives completely. A
    /// message that only followed such a part is applied.
    #[cold]
    fn unfit(
        &mut self,
        message: &Message<'_>,
        timestamps: &Timestamps,
        is_image: bool,
        now_ns: u64,
        out: &mut impl Publish,
    ) {
        let Receiver {
            decoder,
            room,
            books,
            counters,
            progress,
            ..
        } = self;
        let is_of_orders = match message.body {
            Body::BookUpdate(_) | Body::BookSnapshot(_) => false,
            Body::OrderUpdate(_) | Body::OrdersSnapshot(_) => true,
            _ => {
                // mutant: relay: a loss behind a part is ignored
                if let Ok(Some(update)) = decoder.update(message, room.lend()) {
                    books.apply(&update, timestamps, is_image, counters, out);
                }
                return;
            }
        };
        if let Some(instrument) = message.instrument() {
            books.lose(instrument, is_of_orders, timestamps, out);
            progress.lose(now_ns);
        }
    }

    /// Publishes the missing data of a refresh message.
    pub(super) fn apply_refreshed(
        &mut self,
        message: &Message<'_>,
        arrived: u64,
        out: &mut impl Publish,
    ) {
        let timestamps = timestamps_here(message, arrived);
        let Receiver {
            decoder,
            room,
            books,
            counters,
            ..
        } = self;
        match decoder.update(message, room.lend()) {
            Ok(Some(update)) => books.refresh(&update, &timestamps, counters, out),
            Ok(None) => {}
            Err(Unfit::NoRoom) => self.skip_unit(),
            Err(Unfit::PartMissing | Unfit::Malformed(_)) => self.break_refresh(),
        }
    }
}
