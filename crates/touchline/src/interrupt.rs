//! Ctrl-C and SIGTERM, for commands that run until they are stopped.

use crate::output::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stop request by signal. A second signal ends the process at once.
#[derive(Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

/// Exit status after a second signal: 128 + SIGINT, as a shell reports Ctrl-C.
const CUT_OFF: i32 = 130;

impl Interrupt {
    /// Installs the signal handlers.
    pub fn catch() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Order: the shutdown handler runs first and finds the flag unset at the first signal.
            let caught = flag::register_conditional_shutdown(signal, CUT_OFF, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)));
            caught.map_err(|error| Failure::run(format!("cannot catch signals: {error}")))?;
        }
        Ok(Interrupt { asked })
    }

    /// Also requests a stop when standard input ends: a parent process ended or closed the pipe.
    pub fn at_end_of_input(&self) {
        let asked = Arc::clone(&self.asked);
        std::thread::spawn(move || {
            // An unreadable input counts as ended.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            asked.store(true, Ordering::Relaxed);
        });
    }

    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
