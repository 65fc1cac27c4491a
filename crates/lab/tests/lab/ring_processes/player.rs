//! A part that is played in a process of its own: this very program, started again.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::path::Path;
use std::process::Stdio;
use touchline_testing::{Process, with_role};

const SAYS: &str = "role says: ";

/// For roles: tells the one who started it.
pub fn say(text: &str) {
    println!("\n{SAYS}{text}");
}

/// A process that plays a role. Dropped, it is killed.
pub struct Player {
    role: &'static str,
    process: Process,
}

impl Player {
    pub fn start(role: &'static str, folder: &Path) -> Self {
        let mut command = with_role(&[], "ring_processes::roles::play", role, folder);
        command.arg("--test-threads=1").env("RUST_BACKTRACE", "0");
        let process = Process::start(command.stdin(Stdio::null()));
        Self { role, process }
    }

    /// Its next line of output.
    pub fn listen(&mut self) -> String {
        loop {
            let line = self.process.next_line();
            if let Some(said) = line.strip_prefix(SAYS) {
                return said.trim().to_owned();
            }
        }
    }

    /// Panics if it has ended by itself, which only happens when it has found a fault.
    pub fn assert_alive(&mut self) {
        let (role, process) = (self.role, &mut self.process);
        let is_running = process.is_running();
        assert!(is_running, "the {role} ended: {}", process.out());
    }

    /// SIGKILL, and the process is gone when this returns.
    pub fn kill(mut self) {
        self.assert_alive();
        self.process.kill();
    }

    /// Waits until it has stopped itself.
    pub fn wait_for_stop(&mut self) {
        let (_, status) = waitpid(Some(self.pid()), WaitOptions::UNTRACED)
            .unwrap()
            .unwrap();
        assert!(status.stopped(), "{status:?}");
    }

    /// Waits for its end, and returns whether it found no violation.
    pub fn ends_well(&mut self) -> bool {
        self.process.wait().success()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id() as i32).expect("a process")
    }
}
