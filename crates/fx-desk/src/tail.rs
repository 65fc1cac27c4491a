//! Reader of a drop copy alone: entries from the last join point on, and the losses of the reader.

use crate::drop_copy::joined;
use crate::follower::{PublishedEntry, published};
use touchline_fx_events::encoding::{Decoder, Place};
use touchline_transport::bus::{BusEvent, Error, Polled, Root, Subscription};

/// Reader of a drop copy.
pub struct Tail {
    root: Root,
    bus: String,
    subscription: Subscription<0>,
    decoder: Decoder,
    lost: Option<BusEvent>,
}

impl Tail {
    /// Joins an engine's bus.
    ///
    /// # Errors
    /// Among others: the bus is missing, or belongs to another user.
    pub fn join(root: &Root, bus: &str) -> Result<Tail, Error> {
        Ok(Tail {
            subscription: Subscription::join(root, bus, [], false)?,
            decoder: joined(root, bus),
            root: root.clone(),
            bus: bus.to_owned(),
            lost: None,
        })
    }

    /// Gives the entries of the next message to `each`; false: there is no message. Messages other than a batch of this
    /// version are skipped.
    ///
    /// # Errors
    /// An event of the bus; reading continues.
    pub fn poll(&mut self, mut each: impl FnMut(&PublishedEntry<'_>)) -> Result<bool, BusEvent> {
        let decoder = &mut self.decoder;
        let polled = self.subscription.poll(|message| {
            let part = Place::of(message.bytes).unwrap_or_default();
            let _ = decoder.read(message.bytes, published(&part, &mut each));
        });
        let outcome = self.outcome(polled);
        self.lost = self.lost.or(outcome.err().filter(is_loss));
        outcome
    }

    /// The first event of all polls by which entries may be missing: an overrun, a message or file that cannot be read.
    pub fn lost(&self) -> Option<BusEvent> {
        self.lost
    }

    /// Skips waiting messages, at most this many; true if no message is left.
    pub fn skip(&mut self, messages_max: usize) -> bool {
        (0..messages_max).any(|_| {
            let polled = self.subscription.poll(|_| ());
            matches!(self.outcome(polled), Ok(false))
        })
    }

    /// Whether an engine publishes.
    ///
    /// # Errors
    /// Files of the bus cannot be read.
    pub fn has_engine(&self) -> Result<bool, Error> {
        Ok(self.subscription.publisher()?.is_some())
    }

    fn outcome(&mut self, polled: Result<Polled<()>, BusEvent>) -> Result<bool, BusEvent> {
        if let Err(BusEvent::Restarted { .. }) = polled {
            self.decoder = joined(&self.root, &self.bus);
        }
        Ok(!matches!(polled?, Polled::Nothing))
    }
}

/// Whether entries of the present engine may be missing behind an event.
fn is_loss(event: &BusEvent) -> bool {
    match event {
        BusEvent::Overrun { .. }
        | BusEvent::Corrupt
        | BusEvent::Damaged
        | BusEvent::Incompatible { .. }
        | BusEvent::Refused => true,
        // A loss behind the last one has an event of its own.
        BusEvent::Restarted { .. } | BusEvent::PublisherGone | BusEvent::NotWaitedFor => false,
    }
}

/// Text of an event of an engine's bus, for people.
pub fn happened(event: &BusEvent) -> String {
    match event {
        BusEvent::Overrun { messages, .. } => format!("overrun: {messages} messages lost"),
        BusEvent::Restarted { .. } => "the engine was started again".to_owned(),
        BusEvent::PublisherGone => "the engine has ended".to_owned(),
        BusEvent::Corrupt => "a message is corrupt".to_owned(),
        BusEvent::Damaged => "a file of the bus was truncated; start the engine again".to_owned(),
        BusEvent::Incompatible { layout } => {
            format!("the engine has bus format {layout}, which this program cannot read")
        }
        BusEvent::Refused => {
            "the new bus of the engine cannot be joined; a new join says why".to_owned()
        }
        BusEvent::NotWaitedFor => "the engine does not wait for this reader any more".to_owned(),
    }
}
