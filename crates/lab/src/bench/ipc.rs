//! Two processes that talk through shared memory: round trips and streams, and the floor under them.
//!
//! The measuring side lives in the process of the benchmark; the other side in processes that it
//! starts with the arguments of a [`Role`].

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

/// What the other process is to do.
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
    /// Messages that will come.
    pub messages: u64,
    /// Rounds of waiting where a stream has nothing, so that some messages gather.
    pub gather: u32,
    /// Others run on the same processor, so that waiting gives it to them.
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

/// Parts that the other process may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Answers each store into a cache line by one into another line.
    LowerBoundEcho,
    /// Sends each message back.
    RingEcho,
    /// Takes every message, in order; the writer does not wait for it.
    RingRead,
    /// Takes every message, in order; the writer waits for it.
    RingReadRegistered,
}

impl Part {
    /// All of them, by name.
    pub const ALL: [(&str, Part); 4] = [
        ("floor-echo", Part::LowerBoundEcho),
        ("ring-echo", Part::RingEcho),
        ("ring-read", Part::RingRead),
        ("ring-read-named", Part::RingReadRegistered),
    ];

    /// As an argument.
    pub fn name(self) -> &'static str {
        let found = Part::ALL.iter().find(|(_, part)| *part == self);
        found.map_or("", |(name, _)| name)
    }
}

/// Why a benchmark between processes came to nothing.
#[derive(Debug)]
pub struct Failed(pub String);

impl<E: std::error::Error> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed(error.to_string())
    }
}

/// Plays a role to its end.
pub fn play(role: &Role) -> Result<(), Failed> {
    pin(role.cpu)?;
    match role.part {
        Part::LowerBoundEcho => lower_bound::echo(role),
        Part::RingEcho => ring::echo(role),
        Part::RingRead => ring::read(role, false),
        Part::RingReadRegistered => ring::read(role, true),
    }
}

/// Keeps this thread on one processor.
pub fn pin(cpu: usize) -> Result<(), Failed> {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).map_err(|error| {
        Failed(format!(
            "processor {cpu}: {error}; choose others with --cpus"
        ))
    })
}

/// A folder in shared memory that is gone when the benchmark is over.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new one of this process.
    pub fn new() -> Result<Folder, Failed> {
        let path = PathBuf::from(format!("/dev/shm/touchline-bench-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Ok(Folder { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Forgets what is in it.
    pub fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The other process; it ends with this value, whatever happens.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a program that plays a role, and waits until it says that it is ready.
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
                "the other process said {other:?} and not {READY:?}"
            ))),
        }
    }

    /// Stops it, as Ctrl-Z does: it stands still until it is killed.
    pub fn stop(&self) -> Result<(), Failed> {
        rustix::process::kill_process(Pid::from_child(&self.child), Signal::STOP)?;
        Ok(())
    }

    /// Waits for its end, and gives what it said last.
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
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process says when it can begin.
const READY: &str = "ready";

/// Tells [`Peer::start`] that this process can begin.
pub fn say_ready() {
    println!("{READY}");
}

fn root(folder: &Path) -> Root {
    Root::at(folder)
}

/// How long one side waits for the other before it gives up.
const PATIENCE: Duration = Duration::from_secs(30);
