//! Options for joining a bus.

use crate::bus::Error;
use crate::market::Kinds;
use crate::market::reading::MarketReading;
use crate::stats::ReaderStats;
use touchline_types::InstrumentDefinition;
use touchline_types::native::{Message, TopOfBook};

/// Options for joining a bus.
pub struct Join {
    /// Statistics of this reader by name, visible to tools; `None`: not visible.
    pub reader_stats: Option<ReaderStats>,
    /// Take a slot, so that a lossless publisher waits for this reader.
    pub registered: bool,
    /// Hand out live books only, price books and order books: those that are live and whose channel is live for them. A
    /// book that stops being live is reported by its state only; it returns as a whole.
    pub live_only: bool,
    /// After a loss, take every book from its slot at once. Otherwise each book is taken from its
    /// slot at its next change.
    pub resync: bool,
    /// After an overrun, keep the books and the place: the receiver gives the lost messages from a tape, as
    /// [`Subscriber::backlog`](super::Subscriber::backlog) says.
    pub has_tape: bool,
    /// Hand out last trades, statistics and statuses with the books while joining, as snapshots; a trade is handed out
    /// again if the ring contains it.
    pub last_values: bool,
    /// Selected instruments; `None` is all. A definition that the filter refuses is handed out if the instrument that it replaces was selected: it
    /// is the last message of that one.
    pub filter: Option<Filter>,
    /// Selected message kinds. Others are skipped by their headers, neither copied nor decoded.
    pub kinds: Kinds,
    /// Maximum changes of one event or levels of one book. Takes no memory if `kinds` excludes price books.
    pub changes_max: usize,
    /// Hand out the bytes of each message of the ring with its update, and as [`Item::Undecoded`](super::Item::Undecoded) each
    /// message without an update of its own: for relays and recorders.
    pub undecoded: bool,
    /// Maximum orders of one whole order book in a message, or changes of one event. From its table an order book of
    /// any length is handed out, including one that exceeded this. Takes no memory if `kinds` excludes order books.
    pub orders_max: usize,
    /// Bytes that the reader will allocate for this many instruments and orders, here and for itself: looked for before any of them is
    /// allocated.
    pub memory: fn(usize, usize) -> usize,
    /// Maximum quotes of one message. Takes no memory if `kinds` excludes quotes.
    pub quotes_max: usize,
}

impl Join {
    /// Refuses a bus whose tops are of the direct book alone to a reader without books, from which the best prices follow.
    pub(super) fn refuse_direct_tops(
        &self,
        reading: &MarketReading,
        bus: &str,
    ) -> Result<(), Error> {
        let is_tops_alone = self.kinds.has_any(Kinds::TOPS) && !self.kinds.has_any(Kinds::BOOKS);
        match reading.writer_before(TopOfBook::MERGED_SINCE) {
            Some((schema, writer)) if is_tops_alone => Err(Error::DirectTops {
                bus: bus.to_owned(),
                schema,
                writer,
            }),
            _ => Ok(()),
        }
    }

    /// Whether a top is passed over: it is of the direct book alone.
    #[inline]
    pub(super) fn passes_top(top: &Message<'_>) -> bool {
        top.version() < TopOfBook::MERGED_SINCE
    }
}

/// Decides at the definition of an instrument whether it is selected.
pub type Filter = Box<dyn FnMut(&InstrumentDefinition) -> bool + Send + Sync>;

impl Default for Join {
    fn default() -> Join {
        Join {
            reader_stats: None,
            registered: false,
            live_only: false,
            resync: true,
            has_tape: false,
            last_values: false,
            filter: None,
            kinds: Kinds::ALL,
            undecoded: false,
            changes_max: 65_536,
            orders_max: 65_536,
            quotes_max: 4_096,
            memory: |_, _| 0,
        }
    }
}
