//! The two sides of a publication.

use super::PublisherCounters;
use crate::bus::{Activity, Damage};
use touchline_types::native::TopOfBook;
use touchline_types::{Timestamps, Update};

/// An update with what the publication adds to it.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Gap-free number of the update in its publication, from 1.
    pub sequence: u64,
    /// When things happened.
    pub timestamps: &'a Timestamps,
    /// The update.
    pub update: &'a Update<'a>,
}

/// Takes updates from a gateway.
pub trait Publish {
    /// Takes one update. It must not block, allocate or fail: a slow reader is the reader's affair.
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps);

    /// The batch of one packet ends: what was published may be acted on.
    fn commit(&mut self);

    /// Says that the publication lives, where nothing else is to be said.
    fn heartbeat(&mut self, _timestamps: &Timestamps) {}

    /// States that the duty cycle runs and that what was published is current. Readers take the
    /// publication for stalled when the timeout is over before it is stated again; one that never
    /// states it is never stalled.
    fn state_activity(&mut self, _activity: Activity) {}

    /// What it has counted, if it counts.
    fn counters(&self) -> Option<&PublisherCounters> {
        None
    }

    /// Whether what it publishes into is still what its readers find. To be asked a few times a second, by
    /// everybody who publishes: who goes on without its name publishes beside the next one.
    ///
    /// # Errors
    /// What somebody did to it: it must be begun again.
    fn check(&self) -> Result<(), Damage> {
        Ok(())
    }
}

/// Takes updates from a publication, in order.
pub trait Subscribe {
    /// One update.
    fn update(&mut self, envelope: &Envelope<'_>);

    /// The top of a book changed; the whole change follows as an update. Only of publications that
    /// give tops.
    fn top(&mut self, _sequence: u64, _top: &TopOfBook) {}

    /// The batch of one packet ends: now is the time to act.
    fn batch_end(&mut self) {}

    /// Something happened to the subscription itself.
    fn event(&mut self, _notice: &SubscriptionEvent) {}
}

/// An event of a subscription, beside its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionEvent {
    /// Every book that was told of is now as of one place in the stream: joining is over.
    CaughtUp,
    /// The publisher has overtaken this subscriber. Books follow as
    /// snapshots, at once if that was asked for, else when they change next.
    Overrun {
        /// Messages that were lost.
        messages: u64,
        /// Bytes of them.
        bytes: u64,
    },
    /// Another publisher goes on: all that was told is void, instruments are numbered anew.
    Restarted {
        /// Its number, from 1.
        generation: u64,
    },
    /// The publisher is gone: what books show is of the last moment.
    PublisherGone,
    /// The publisher has its bus and gives no sign of life: it is stopped, stuck, or behind its venue.
    /// Books are as it left them and stale, also what is handed out from here on.
    PublisherStalled,
    /// The publisher works again and has caught up with its venue. Each book follows as it is now;
    /// those that were live are live again.
    PublisherResumed,
    /// The shared memory holds what no publisher writes, from this message on: as overrun.
    Corrupt {
        /// Number of the message that was expected.
        sequence: u64,
    },
    /// A file of the bus was made shorter by somebody: nothing can be read until it is begun anew.
    Damaged,
    /// Another publisher goes on in a layout that this program cannot read: books stay as they were and are stale, until one
    /// begins that it can.
    Incompatible {
        /// Number of the layout.
        layout: u64,
    },
}

/// Two publications, one after the other; pairs nest.
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

    fn check(&self) -> Result<(), Damage> {
        self.0.check()?;
        self.1.check()
    }

    fn state_activity(&mut self, activity: Activity) {
        self.0.state_activity(activity);
        self.1.state_activity(activity);
    }

    /// Of the first one that counts.
    fn counters(&self) -> Option<&PublisherCounters> {
        self.0.counters().or_else(|| self.1.counters())
    }
}

/// A publication that may be absent.
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

    fn counters(&self) -> Option<&PublisherCounters> {
        self.as_ref().and_then(P::counters)
    }

    fn check(&self) -> Result<(), Damage> {
        self.as_ref().map_or(Ok(()), P::check)
    }
}

/// Nobody listens.
impl Subscribe for () {
    fn update(&mut self, _: &Envelope<'_>) {}
}

/// Two listeners, one after the other; pairs nest.
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

/// A listener that may be absent.
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
