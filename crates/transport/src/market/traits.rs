//! Traits of both sides of a publication.

use super::PublisherCounters;
use crate::bus::{Activity, Damage};
use touchline_types::native::TopOfBook;
use touchline_types::{Instrument, Timestamps, Update};

/// An update with number and times.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Gap-free number of the update in its publication, from 1.
    pub sequence: u64,
    /// Times.
    pub timestamps: &'a Timestamps,
    /// The update.
    pub update: &'a Update<'a>,
}

/// Receiver of a gateway's updates.
pub trait Publish {
    /// Takes one update. It must not block, allocate or fail: slow readers must not affect the
    /// gateway.
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps);

    /// Ends the batch of one packet: readers may act on it.
    fn commit(&mut self);

    /// Publishes a heartbeat if nothing else is published.
    fn heartbeat(&mut self, _timestamps: &Timestamps) {}

    /// States that the duty cycle runs and that published data is current. Readers treat the
    /// publication as stalled if the timeout passes without another statement; without any
    /// statement it is never stalled.
    fn state_activity(&mut self, _activity: Activity) {}

    /// Stores a value for late joiners without publishing it: a known value, or one too old to publish.
    /// The default stores no value for late joiners.
    fn keep(&mut self, _update: &Update<'_>, _timestamps: &Timestamps) {}

    /// Prefetches for writing the memory that most updates of this instrument write: its price book's slot, its
    /// top, the next bytes of the ring. The default has no effect.
    fn warm(&self, _instrument: Instrument) {}

    /// Counters, if it has any.
    fn counters(&self) -> Option<&PublisherCounters> {
        None
    }

    /// Checks that readers still find the publication, and asks again for memory that it was refused. Every publisher must
    /// call it several times a second, between messages: one that continues without its name would publish beside its
    /// successor.
    ///
    /// # Errors
    /// The damage: the publication must be started again.
    fn check(&mut self) -> Result<(), Damage> {
        Ok(())
    }
}

/// Consumer of a publication's updates, in order.
pub trait Subscribe {
    /// One update.
    fn update(&mut self, envelope: &Envelope<'_>);

    /// The top of a book changed; the complete change follows as an update. Only from publications
    /// that publish tops.
    fn top(&mut self, _sequence: u64, _top: &TopOfBook) {}

    /// The batch of one packet ends: the reader may act.
    fn batch_end(&mut self) {}

    /// An event of the subscription.
    fn event(&mut self, _notice: &SubscriptionEvent) {}
}

/// Event of a subscription, beside its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionEvent {
    /// All books are consistent with one position of the stream: joining is complete.
    CaughtUp,
    /// The publisher has overrun this subscriber. Books follow as snapshots, at once if requested,
    /// else at their next change.
    Overrun {
        /// Lost messages.
        messages: u64,
        /// Lost bytes.
        bytes: u64,
    },
    /// Another publisher has started: everything handed out is void, instrument indexes are new.
    Restarted {
        /// Its number, from 1.
        generation: u64,
    },
    /// The publisher has ended: books show their last contents.
    PublisherGone,
    /// The publisher runs without activity: it is stopped, stuck, or behind its venue. Its books are stale, including
    /// those handed out from here on.
    PublisherStalled,
    /// The publisher works again and has caught up with its venue. The states of the channel and of each live book follow, and
    /// then the next message; for a reader of live books alone, the present books.
    PublisherResumed,
    /// The shared memory contains an invalid message; the reader recovers as after an overrun.
    Corrupt {
        /// Number of the expected message.
        sequence: u64,
    },
    /// A file of the bus was truncated: nothing can be read until the bus is created again.
    Damaged,
    /// Another publisher has started with a layout that this program cannot read: books keep their contents and are
    /// stale until a readable publisher starts.
    Incompatible {
        /// Layout number; for a reader of tops alone also the version of the native format, if its tops are of the direct book.
        layout: u64,
    },
    /// The bus was created again, and this process cannot join it: books keep their contents and are stale. The subscriber has the
    /// reason (`refusal`), and tries again several times a second.
    Refused,
    /// The present publisher does not wait for this reader, which joined to be waited for: its bus is not lossless, or all places are
    /// taken. Messages can be lost from here on; nothing else changes. A reader of another user than the publisher's learns of taken places by
    /// its first [`SubscriptionEvent::Overrun`] alone.
    NotWaitedFor,
    /// This process was forked from the process of a reader with a name or a place, which keeps the reader: the child reads no messages.
    Forked,
}

/// Two publications, one after the other; pairs may be nested.
impl<A: Publish, B: Publish> Publish for (A, B) {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.0.publish(update, timestamps);
        self.1.publish(update, timestamps);
    }

    #[inline]
    fn commit(&mut self) {
        self.0.commit();
        self.1.commit();
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        self.0.heartbeat(timestamps);
        self.1.heartbeat(timestamps);
    }

    fn keep(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.0.keep(update, timestamps);
        self.1.keep(update, timestamps);
    }

    fn check(&mut self) -> Result<(), Damage> {
        self.0.check()?;
        self.1.check()
    }

    fn state_activity(&mut self, activity: Activity) {
        self.0.state_activity(activity);
        self.1.state_activity(activity);
    }

    fn warm(&self, instrument: Instrument) {
        self.0.warm(instrument);
        self.1.warm(instrument);
    }

    /// Counters of the first one that has any.
    fn counters(&self) -> Option<&PublisherCounters> {
        self.0.counters().or_else(|| self.1.counters())
    }
}

/// An optional publication.
impl<P: Publish> Publish for Option<P> {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        if let Some(publication) = self {
            publication.publish(update, timestamps);
        }
    }

    #[inline]
    fn commit(&mut self) {
        if let Some(publication) = self {
            publication.commit();
        }
    }

    fn heartbeat(&mut self, timestamps: &Timestamps) {
        if let Some(publication) = self {
            publication.heartbeat(timestamps);
        }
    }

    fn state_activity(&mut self, activity: Activity) {
        if let Some(publication) = self {
            publication.state_activity(activity);
        }
    }

    fn warm(&self, instrument: Instrument) {
        if let Some(publication) = self {
            publication.warm(instrument);
        }
    }

    fn keep(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        if let Some(publication) = self {
            publication.keep(update, timestamps);
        }
    }

    fn counters(&self) -> Option<&PublisherCounters> {
        self.as_ref().and_then(P::counters)
    }

    fn check(&mut self) -> Result<(), Damage> {
        self.as_mut().map_or(Ok(()), P::check)
    }
}

/// No listener.
impl Subscribe for () {
    fn update(&mut self, _: &Envelope<'_>) {}
}

/// Two listeners, one after the other; pairs may be nested.
impl<A: Subscribe, B: Subscribe> Subscribe for (A, B) {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.0.update(envelope);
        self.1.update(envelope);
    }

    fn batch_end(&mut self) {
        self.0.batch_end();
        self.1.batch_end();
    }

    fn top(&mut self, sequence: u64, top: &TopOfBook) {
        self.0.top(sequence, top);
        self.1.top(sequence, top);
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        self.0.event(event);
        self.1.event(event);
    }
}

/// A borrowed listener.
impl<S: Subscribe> Subscribe for &mut S {
    fn update(&mut self, envelope: &Envelope<'_>) {
        (**self).update(envelope);
    }

    fn batch_end(&mut self) {
        (**self).batch_end();
    }

    fn top(&mut self, sequence: u64, top: &TopOfBook) {
        (**self).top(sequence, top);
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        (**self).event(event);
    }
}

/// An optional listener.
impl<S: Subscribe> Subscribe for Option<S> {
    fn update(&mut self, envelope: &Envelope<'_>) {
        if let Some(subscriber) = self {
            subscriber.update(envelope);
        }
    }

    fn batch_end(&mut self) {
        if let Some(subscriber) = self {
            subscriber.batch_end();
        }
    }

    fn top(&mut self, sequence: u64, top: &TopOfBook) {
        if let Some(subscriber) = self {
            subscriber.top(sequence, top);
        }
    }

    fn event(&mut self, event: &SubscriptionEvent) {
        if let Some(subscriber) = self {
            subscriber.event(event);
        }
    }
}
