//! The two sides of a publication.

use touchline_types::{Stamps, Update};

/// An update with what the publication adds to it.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// Gap-free number of the update in its publication, from 1.
    pub sequence: u64,
    /// When things happened.
    pub stamps: &'a Stamps,
    /// The update.
    pub update: &'a Update<'a>,
}

/// Takes updates from a gateway.
pub trait Publish {
    /// Takes one update. It must not block, allocate or fail: a slow reader is the reader's affair.
    fn publish(&mut self, update: &Update<'_>, stamps: &Stamps);

    /// The batch of one packet ends: what was published may be acted on.
    fn commit(&mut self);
}

/// Takes updates from a publication, in order.
pub trait Subscribe {
    /// One update.
    fn update(&mut self, envelope: &Envelope<'_>);

    /// The batch of one packet ends: now is the time to act.
    fn batch_end(&mut self) {}
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
}
