//! Treatment of a message, which depends on the state that its receiver has.

use touchline_types::{Instrument, Validity};

/// Treatment of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Hand it out.
    Deliver,
    /// Not for this subscriber, or handed out already.
    Skip,
    /// The receiver lacks the book that it refers to: hand out the slot instead.
    Image(Instrument),
    /// The book is not live any more, and the subscriber wants live books only: report its state.
    BookState(Instrument, Validity),
    /// The order book is not live any more, and the subscriber wants live books only: report its state.
    OrdersState(Instrument, Validity),
    /// Hand it out, and then every slot again: some slots that were handed out are newer than the message.
    DeliverAndRejoin,
    /// The receiver lacks the order book that it refers to: hand out the tables of order books instead.
    OrderImages,
}
