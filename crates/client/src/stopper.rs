//! Stopper of a loop, for other threads and signals.

#[cfg(feature = "signals")]
use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the loop of a [`Bus`](crate::Bus): [`Bus::next`](crate::Bus::next) returns `None` from then on.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<AtomicBool>);

impl Stopper {
    /// A stopper without a request.
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

    /// Makes Ctrl-C (SIGINT) and SIGTERM end the loop. A second signal ends the process with status 130.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    #[cfg(feature = "signals")]
    pub fn on_signals(&self) -> Result<(), Error> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        for signal in [SIGINT, SIGTERM] {
            // Order: the shutdown handler runs first and finds the flag unset at the first signal.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&self.0))
                .and_then(|_| flag::register(signal, Arc::clone(&self.0)))
                .map_err(|error| Error::System(format!("cannot catch signals: {error}")))?;
        }
        Ok(())
    }
}
