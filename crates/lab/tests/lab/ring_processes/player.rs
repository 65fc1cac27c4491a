//! A part that is played in a process of its own: this very program, started again.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

pub const ROLE: &str = "TOUCHLINE_TEST_ROLE";
pub const FOLDER: &str = "TOUCHLINE_TEST_FOLDER";

const SAYS: &str = "role says: ";

/// For roles: tells the one who started it.
pub fn say(text: &str) {
    println!("\n{SAYS}{text}");
}

/// A process that plays a role. Dropped, it is killed.
pub struct Player {
    pub role: &'static str,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Player {
    pub fn start(role: &'static str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "ring_processes::roles::play",
                "--exact",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            role,
            child,
            output,
        }
    }

    /// Its next line of output.
    pub fn listen(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line).unwrap();
            assert!(
                read > 0,
                "the {} went away; its reason stands above",
                self.role
            );
            if let Some(said) = line.strip_prefix(SAYS) {
                return said.trim().to_owned();
            }
        }
    }

    /// Panics if it has ended by itself, which only happens when it has found a fault.
    pub fn assert_alive(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!(
                "the {} ended with {status}; its reason stands above",
                self.role
            );
        }
    }

    /// SIGKILL, and the process is gone when this returns.
    pub fn kill(mut self) {
        self.assert_alive();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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
        self.child.wait().unwrap().success()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
