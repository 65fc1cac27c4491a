//! Ctrl-C, SIGTERM and the end of the terminal, for commands that run until they are stopped.

use crate::output::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// `--seconds` and `--until-eof`: other ends than a signal.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Ending {
    /// Stop after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long)]
    until_eof: bool,
}

impl Ending {
    /// Installs the signal handlers, and watches standard input if that was asked for.
    pub fn catch(self) -> Result<Interrupt, Failure> {
        let interrupt = Interrupt::catch()?;
        if self.until_eof {
            interrupt.at_end_of_input();
        }
        Ok(interrupt)
    }

    /// Time after which the command ends.
    pub fn after(self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs)
    }
}

/// A write beyond the limit of a file's size (`ulimit -f`) fails with an error, as on a full disk, instead of ending the process.
pub fn report_file_limit() {
    // If this is refused, the process ends as before.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Stop request. A second Ctrl-C or SIGTERM ends the process at once.
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
        // Set by these two signals alone: the first one after a closed terminal or the end of the input is not the second request.
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Order: the shutdown handler runs first and finds the flag unset at the first signal.
            let caught =
                flag::register_conditional_shutdown(signal, CUT_OFF, Arc::clone(&is_second))
                    .and_then(|_| flag::register(signal, Arc::clone(&is_second)))
                    .and_then(|_| flag::register(signal, Arc::clone(&asked)));
            caught.map_err(refused)?;
        }
        // The terminal closed: shell and system may both say so, and the process ends in order all the same. Under nohup it goes on.
        if !is_ignored(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&asked)).map_err(refused)?;
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

fn refused(error: std::io::Error) -> Failure {
    Failure::run(format!("cannot catch signals: {error}"))
}

/// Whether this process ignores a signal; not if the system does not say so.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    ignored.is_some_and(|bits| bits >> (signal - 1) & 1 == 1)
}
