//! Communication of two processes through shared memory: round trips and streams, and their lower bound.
//!
//! The measuring side runs in the process of the benchmark. The other side runs in processes that it starts with the
//! arguments of a [`Role`].

pub mod lower_bound;
pub mod ring;
pub mod rival;

use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use touchline_shm::segment::Root;

/// Task of the other process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its part: see [`Part`].
    pub part: Part,
    /// Folder of the rings.
    pub folder: PathBuf,
    /// Processor to run on.
    pub cpu: usize,
    /// Bytes of a message.
    pub payload_bytes: usize,
    /// Number of messages of a stream before those that are measured.
    pub warmup: u64,
    /// Number of messages to expect, behind those of the warm-up.
    pub messages: u64,
    /// Rounds of waiting when a stream is empty, so that several messages accumulate.
    pub gather: u32,
    /// Other processes share the processor: yield it while waiting.
    pub shares_cpu: bool,
}

/// One round of waiting for the other side.
#[inline]
fn wait(shares_cpu: bool) {
    if shares_cpu {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// Parts of the other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Answers each store into a cache line with a store into another line.
    LowerBoundEcho,
    /// Sends each message back.
    RingEcho,
    /// Reads every message, in order; the writer does not wait for it.
    RingRead,
    /// Reads every message, in order; the writer waits for it.
    RingReadRegistered,
}

impl Part {
    /// All parts, by name.
    pub const ALL: [(&str, Part); 4] = [
        ("floor-echo", Part::LowerBoundEcho),
        ("ring-echo", Part::RingEcho),
        ("ring-read", Part::RingRead),
        ("ring-read-named", Part::RingReadRegistered),
    ];

    /// Name as an argument.
    pub fn name(self) -> &'static str {
        let found = Part::ALL.iter().find(|(_, part)| *part == self);
        found.map_or("", |(name, _)| name)
    }
}

/// Reason why a benchmark between processes failed.
#[derive(Debug)]
pub struct Failed(pub String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.to_string())
    }
}

/// Runs a role to its end.
pub fn play(role: &Role) -> Result<(), Failed> {
    pin(role.cpu)?;
    match role.part {
        Part::LowerBoundEcho => lower_bound::echo(role),
        Part::RingEcho => ring::echo(role),
        Part::RingRead => ring::read(role, false),
        Part::RingReadRegistered => ring::read(role, true),
    }
}

/// Pins this thread to one processor.
pub fn pin(cpu: usize) -> Result<(), Failed> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).map_err(|error| {
        Failed(format!(
            "processor {cpu}: {error}; choose others with --cpus"
        ))
    })
}

/// Folder in shared memory, removed at the end of the benchmark.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new folder of this process.
    pub fn new() -> Result<Folder, Failed> {
        let path = PathBuf::from(format!("/dev/shm/touchline-bench-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Ok(Folder { path })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the contents of the folder.
    pub fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Other process of a benchmark; killed when this value is dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a program that runs a role, and waits until it reports that it is ready.
    pub fn start(mut program: Command) -> Result<Peer, Failed> {
        program.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = program.spawn()?;
        let stdout = child.stdout.take().expect("it is piped");
        let mut peer = Peer {
            child,
            lines: BufReader::new(stdout),
        };
        match peer.line()?.as_str() {
            READY => Ok(peer),
            other => Err(Failed(format!(
                "the other process printed {other:?} instead of {READY:?}"
            ))),
        }
    }

    /// Stops the process with SIGSTOP until it is killed.
    pub fn stop(&self) -> Result<(), Failed> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::STOP)?;
        Ok(())
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        // An error is reported by the wait for the end.
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the process, and returns its last output.
    pub fn finish(mut self) -> Result<String, Failed> {
        let mut said = String::new();
        self.lines.read_to_string(&mut said)?;
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(said.trim().to_owned()),
            false => Err(Failed(format!("the other process failed ({status})"))),
        }
    }

    fn line(&mut self) -> Result<String, Failed> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Output of a process that is ready.
const READY: &str = "ready";

/// Tells [`Peer::start`] that this process is ready.
pub fn say_ready() {
    println!("{READY}");
}

fn root(folder: &Path) -> Root {
    Root::at(folder)
}

/// Time that one side waits for the other before it fails.
const PATIENCE: Duration = Duration::from_secs(30);
