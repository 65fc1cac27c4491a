//! Processes of the demo: this program with other arguments.
//!
//! Each child ends when its standard input ends, so that none survives the demo, however the demo
//! ends. Children are in process groups of their own: Ctrl-C reaches only the demo, which stops
//! them in order.

use crate::output::Failure;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A process of the demo.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    said: [Listener; 2],
}

/// Lines that a process wrote to one of its outputs.
#[derive(Debug)]
struct Listener {
    lines: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts the process.
    pub fn start(name: &'static str, arguments: &[String]) -> Result<Process, Failure> {
        let failed = |error| Failure::run(format!("the {name} cannot be started: {error}"));
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let said = [
            Listener::to(child.stdout.take()),
            Listener::to(child.stderr.take()),
        ];
        Ok(Process { name, child, said })
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on standard output or error that contains `word`.
    pub fn wait_for(&mut self, word: &str, patience: Duration) -> Result<(), Failure> {
        self.wait_for_more(word, 0, patience)
    }

    /// Writes a line to its standard input, and waits for the answer, a line that contains `word`.
    pub fn ask(&mut self, line: &str, word: &str, patience: Duration) -> Result<(), Failure> {
        let before = self.count(word);
        self.tell(line);
        self.wait_for_more(word, before, patience)
    }

    /// Lines that contain `word`.
    fn count(&self, word: &str) -> usize {
        let said = self.said();
        said.iter().filter(|line| line.contains(word)).count()
    }

    fn wait_for_more(
        &mut self,
        word: &str,
        before: usize,
        patience: Duration,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            if self.count(word) > before {
                return Ok(());
            }
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            if start.elapsed() > patience {
                return Err(Failure::run(format!(
                    "the {} is not up after {} s",
                    self.name,
                    patience.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Why the process ended early, if it did.
    pub fn failure(&mut self) -> Option<Failure> {
        let status = self.child.try_wait().ok()??;
        self.hear_out();
        Some(self.ended(status))
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.child.stdin {
            // An ended process is detected elsewhere.
            let _ = writeln!(input, "{line}");
        }
    }

    /// Requests the end and waits; returns the lines of standard output.
    pub fn end(mut self, patience: Duration) -> Result<Vec<String>, Failure> {
        drop(self.child.stdin.take());
        let start = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.hear_out();
                return match status.success() {
                    true => Ok(self.said[0].heard()),
                    false => Err(self.ended(status)),
                };
            }
            if start.elapsed() > patience {
                return Err(Failure::run(format!("the {} does not end", self.name)));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lines of both outputs so far.
    pub fn said(&self) -> Vec<String> {
        let [out, error] = &self.said;
        out.heard().into_iter().chain(error.heard()).collect()
    }

    /// Waits for the remaining output of an ended process.
    fn hear_out(&mut self) {
        for listener in &mut self.said {
            if let Some(thread) = listener.thread.take() {
                let _ = thread.join();
            }
        }
    }

    fn ended(&self, status: ExitStatus) -> Failure {
        let last = self.said[1].heard().pop().unwrap_or_default();
        let last = last.trim_start_matches("touchline: ");
        match status.code() {
            // The arguments of the process come from ours.
            Some(2) => Failure::usage(format!("the {}: {last}", self.name)),
            _ => Failure::run(format!("the {} ended ({status}): {last}", self.name)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An ended process needs no kill.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Listener {
    fn to(output: Option<impl Read + Send + 'static>) -> Listener {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let thread = output.map(|output| {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    keep(&heard, line);
                }
            })
        });
        Listener { lines, thread }
    }

    fn heard(&self) -> Vec<String> {
        let lines = self.lines.lock();
        lines.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Lines kept of one output; a demo may run for a day.
const LINES_MAX: usize = 512;

fn keep(lines: &Mutex<Vec<String>>, line: String) {
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() >= LINES_MAX {
        lines.remove(0);
    }
    lines.push(line);
}
