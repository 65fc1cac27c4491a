//! Whether a bus can be read, and whether its books are live.

#[cfg(feature = "tape")]
use super::Source;
use super::{Bus, Next};
use crate::{Error, State, error};
use std::time::{Duration, Instant};
use touchline_transport::shm::Subscriber;

impl Bus {
    /// Reads until the reader has caught up and every defined book is live, or until `time` has passed. Events are
    /// applied and not returned.
    ///
    /// # Errors
    /// [`Error::NotReady`]: books were missing at the end of the time or of the tape, or the loop was ended; the sentence says so if nothing
    /// publishes. Those of [`Bus::check_process`].
    pub fn ready(&mut self, time: Duration) -> Result<(), Error> {
        self.check_process()?;
        let until = Instant::now() + time;
        loop {
            if self.reading.has_caught_up() && matches!(self.not_live(), (0, 1..)) {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            let is_event = matches!(self.try_next_within(left), Some(Next::Event(_)));
            // Neither an endless sequence of events nor a long tape extends the wait.
            if !is_event || left.is_zero() {
                self.check_process()?;
                return Err(self.not_ready());
            }
        }
    }

    /// Why it is not ready.
    #[cold]
    fn not_ready(&self) -> Error {
        let (missing, defined) = self.not_live();
        let publisher = match &self.source {
            #[cfg(feature = "tape")]
            Source::Tape(tape) if tape.has_ended() => error::Publisher::OfTape,
            source => {
                let subscriber = source.subscriber();
                subscriber.map_or(error::Publisher::Works, error::Publisher::of)
            }
        };
        error::missing(&self.name, missing, defined, publisher)
    }

    /// Checks that this process may read: that it is not a forked child of one that joined with a name or as a lossless reader. Such a
    /// child gets a [`Connection::Forked`](crate::Connection::Forked), and its loop ends. Also says why a tape was not read to its end.
    ///
    /// # Errors
    /// [`Error::Forked`], [`Error::Tape`].
    #[inline]
    pub fn check_process(&self) -> Result<(), Error> {
        let of_fork = self.source.subscriber().and_then(Subscriber::forked_from);
        match (&self.source, of_fork) {
            (_, Some(process)) => Err(Error::Forked {
                bus: self.name.clone(),
                process: process.id(),
            }),
            #[cfg(feature = "tape")]
            (Source::Tape(tape), None) => tape.failure().cloned().map_or(Ok(()), Err),
            _ => Ok(()),
        }
    }

    /// Number of books that are not live, and of defined instruments.
    fn not_live(&self) -> (usize, usize) {
        let kept = &self.reading.kept;
        let defined = kept
            .registry
            .all()
            .filter(|instrument| kept.registry.publisher_index(*instrument).is_some());
        defined.fold((0, 0), |(missing, all), instrument| {
            let is_live = self.reading.kept.state(instrument) == State::Live;
            (missing + usize::from(!is_live), all + 1)
        })
    }
}
