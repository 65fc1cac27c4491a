//! A message of a publication, from a bus, a tape or a capture.

use touchline_transport::Envelope;
use touchline_types::native::Flags;
use touchline_types::{Timestamps, Update};

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Number in its publication.
    pub sequence: u64,
    /// Times.
    pub timestamps: &'a Timestamps,
    /// The update.
    pub update: &'a Update<'a>,
    /// Who took the receive time.
    pub stamp: Stamp,
    /// Whether it is of the state that a join or a segment begins with, not an event.
    pub is_image: bool,
}

impl<'a> Message<'a> {
    /// The same with another update, one of its steps.
    pub(crate) fn with<'b>(&self, update: &'b Update<'b>) -> Message<'b>
    where
        'a: 'b,
    {
        Message { update, ..*self }
    }
}

/// Who took the receive time of a message; the numbers are those of the column `stamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The gateway, when it polled the socket.
    Poll = 0,
    /// The kernel.
    Kernel = 1,
    /// The network card.
    Card = 2,
    /// The program that wrote the capture.
    Capture = 3,
}

impl Stamp {
    /// Of a message with these flags.
    pub const fn of(flags: Flags) -> Stamp {
        if flags.has(Flags::STAMPED_BY_CARD) {
            Stamp::Card
        } else if flags.has(Flags::STAMPED_BY_KERNEL) {
            Stamp::Kernel
        } else {
            Stamp::Poll
        }
    }
}

impl Message<'_> {
    /// The message as subscribers take it.
    pub fn envelope(&self) -> Envelope<'_> {
        Envelope {
            sequence: self.sequence,
            timestamps: self.timestamps,
            update: self.update,
        }
    }

    /// Name of its kind, as in the native format.
    pub const fn name(&self) -> &'static str {
        match self.update {
            Update::Book(_) => "BookUpdate",
            Update::Orders(_) => "OrderUpdate",
            Update::Trade(_) => "Trade",
            Update::Statistic(_) => "Statistics",
            Update::Status(_) => "TradingStatus",
            Update::BookSnapshot(_) => "BookSnapshot",
            Update::OrdersSnapshot(_) => "OrdersSnapshot",
            Update::State(_) => "InstrumentState",
            Update::Gap(_) => "Gap",
            Update::Reset => "Reset",
            Update::Definition(_) => "InstrumentDefinition",
            Update::Download(_) => "Download",
            Update::Channel(_) => "ChannelState",
            Update::Quotes(_) => "QuoteUpdate",
            Update::QuoteSnapshot(_) => "QuoteSnapshot",
        }
    }
}
