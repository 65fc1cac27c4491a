//! Ending a loop from another thread, or from a signal.

#[cfg(feature = "signals")]
use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the loop of a [`Bus`](crate::Bus): [`Bus::next`](crate::Bus::next) returns `None` from then on.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<AtomicBool>);

impl Stopper {
    /// One that was not asked.
    pub fn new() -> Stopper {
        Stopper::default()
    }

    /// Ends the loop, within a millisecond. May be called from a signal handler.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the loop was ended.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Has Ctrl-C (SIGINT) and SIGTERM end the loop. A second one ends the process, with status 130.
    ///
    /// # Errors
    /// The system does not let them be caught.
    #[cfg(feature = "signals")]
    pub fn on_signals(&self) -> Result<(), Error> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first time there is nothing to find, and then it is set.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&self.0))
                .and_then(|_| flag::register(signal, Arc::clone(&self.0)))
                .map_err(|error| Error::System(format!("cannot catch signals: {error}")))?;
        }
        Ok(())
    }
}
