//! Ctrl-C and SIGTERM, for commands that run until they are stopped.

use crate::output::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process was asked to stop. The second time it is stopped where it stands.
#[derive(Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

/// Exit status of a command that was cut off by a second signal: what a shell says of Ctrl-C.
const CUT_OFF: i32 = 130;

impl Interrupt {
    /// From now on the signals are caught.
    pub fn catch() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first time there is nothing to find, and then it is set.
            let caught = flag::register_conditional_shutdown(signal, CUT_OFF, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)));
            caught.map_err(|error| Failure::run(format!("cannot catch signals: {error}")))?;
        }
        Ok(Interrupt { asked })
    }

    /// Asks also when standard input ends: that of a child whose parent has gone, or wants an end.
    pub fn at_end_of_input(&self) {
        let asked = Arc::clone(&self.asked);
        std::thread::spawn(move || {
            // An input that cannot be read has ended, too.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            asked.store(true, Ordering::Relaxed);
        });
    }

    /// Whether it was asked.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}
