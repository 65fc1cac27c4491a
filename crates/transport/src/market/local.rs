//! Publication inside one process: subscribers are called directly.

use crate::{Envelope, Publish, Subscribe};
use touchline_types::{Timestamps, Update};

/// Passes each update to its subscriber at once, on the publisher's thread.
///
/// For replays, tests and tools. A reader that must not slow the gateway uses a bus instead.
#[derive(Debug, Default)]
pub struct Local<S> {
    /// The subscriber.
    pub subscriber: S,
    sequence: u64,
}

impl<S: Subscribe> Local<S> {
    /// A publication with one subscriber; a pair of subscribers is one.
    pub fn new(subscriber: S) -> Local<S> {
        Local {
            subscriber,
            sequence: 0,
        }
    }

    /// Number of published updates.
    pub fn published(&self) -> u64 {
        self.sequence
    }
}

impl<S: Subscribe> Publish for Local<S> {
    #[inline]
    fn publish(&mut self, update: &Update<'_>, timestamps: &Timestamps) {
        self.sequence += 1;
        self.subscriber.update(&Envelope {
            sequence: self.sequence,
            timestamps,
            update,
        });
    }

    #[inline]
    fn commit(&mut self) {
        self.subscriber.batch_end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count {
        sequences: Vec<u64>,
        batches: usize,
    }

    impl Subscribe for Count {
        fn update(&mut self, envelope: &Envelope<'_>) {
            self.sequences.push(envelope.sequence);
        }

        fn batch_end(&mut self) {
            self.batches += 1;
        }
    }

    #[test]
    fn every_subscriber_sees_every_update_once_in_order() {
        let mut publication = Local::new((Count::default(), Some(Count::default())));
        for _ in 0..3 {
            publication.publish(&Update::Reset, &Timestamps::default());
        }
        publication.commit();
        let (first, second) = publication.subscriber;
        assert_eq!(first.sequences, [1, 2, 3]);
        assert_eq!(second.unwrap().sequences, [1, 2, 3]);
        assert_eq!(first.batches, 1);
    }
}
