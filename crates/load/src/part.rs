//! The processes of a step: a driver, a publisher, readers. Each is told its role, and when to begin and to stop.
//!
//! The role is a line of JSON among the arguments. On standard output a process says `{"ready":true}`, and at the end what it did, or
//! `{"failed":"why"}`. On standard input it is told `go NANOSECONDS` of the shared clock, and `stop`; the end of the input is
//! a stop, too.

use crate::check::Received;
use crate::clock::Timebase;
use crate::publish::publish;
use crate::receive::receive;
use crate::schedule::Schedule;
use crate::subject::{self, Kind, Place, Receiver, Sender};
use crate::{Failed, row};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The driver of a transport that has one.
    Drive,
    /// Publishes.
    Publish,
    /// Reads.
    Read,
}

/// How a process waits that has nothing to do; the same for all subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// It looks again at once.
    Spin,
    /// It sleeps for 20 µs.
    Sleep,
    /// It lets others run: for processes that share a processor.
    Yield,
}

impl Wait {
    /// Waits once.
    #[inline]
    pub fn idle(self) {
        match self {
            Wait::Spin => std::hint::spin_loop(),
            Wait::Sleep => std::thread::sleep(Duration::from_micros(20)),
            Wait::Yield => std::thread::yield_now(),
        }
    }
}

/// The role of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    /// What it does.
    pub part: Part,
    /// Name of the subject.
    pub subject: String,
    /// Where the processes find each other.
    pub place: Place,
    /// What is sent, and when.
    pub schedule: Schedule,
    /// The shared clock.
    pub clock: Timebase,
    /// How it waits.
    pub wait: Wait,
    /// Processor that it runs on.
    pub cpu: Option<usize>,
    /// Number of the reader, from 0.
    pub reader: usize,
    /// Microseconds that it spends on each message: of a slow reader.
    pub delay_us: u64,
}

/// What a reader says at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// What came.
    pub received: Received,
    /// How late it came: a histogram in the V2 form of HdrHistogram, compressed, in base64.
    pub latency_ns: String,
    /// What the transport itself counts, by name.
    pub counts: BTreeMap<String, u64>,
}

/// How long processes wait for each other at the beginning.
pub const START_MAX: Duration = Duration::from_secs(20);

/// Plays the role that the line describes, with a transport of this program.
///
/// # Errors
/// What was said on standard output as a failure.
pub fn play(role: &str) -> Result<(), Failed> {
    let kind = |role: &Role| {
        let kind = Kind::ALL.iter().find(|(name, _)| *name == role.subject);
        let unknown = || Failed(format!("{}: not a subject of this build", role.subject));
        kind.map(|(_, kind)| *kind).ok_or_else(unknown)
    };
    let transport = Transport {
        drive: |role: &Role, orders: &Orders| {
            subject::drive(kind(role)?, &role.place, say_ready, || orders.is_stopped())
        },
        sender: |role: &Role| subject::sender(kind(role)?, &role.place),
        receiver: |role: &Role| subject::receiver(kind(role)?, &role.place, role.reader),
    };
    play_with(role, &transport)
}

/// How the two sides of a transport, and its driver process, are opened for a role.
#[derive(Clone, Copy, Debug)]
pub struct Transport<D, S, R> {
    /// Runs the driver process until it is told to stop.
    pub drive: D,
    /// Opens the sending side.
    pub sender: S,
    /// Opens the receiving side.
    pub receiver: R,
}

/// Plays the role that the line describes, with any transport: other programs become subjects by this.
///
/// # Errors
/// What was said on standard output as a failure.
pub fn play_with<D, S, R>(role: &str, transport: &Transport<D, S, R>) -> Result<(), Failed>
where
    D: Fn(&Role, &Orders) -> Result<(), Failed>,
    S: Fn(&Role) -> Result<Box<dyn Sender>, Failed>,
    R: Fn(&Role) -> Result<Box<dyn Receiver>, Failed>,
{
    let orders = Orders::listen();
    let played = serde_json::from_str(role)
        .map_err(|error| Failed(format!("no role: {error}")))
        .and_then(|role: Role| match role.part {
            Part::Drive => (transport.drive)(&role, &orders),
            Part::Publish => play_publisher(&role, || (transport.sender)(&role), &orders),
            Part::Read => play_reader(&role, || (transport.receiver)(&role), &orders),
        });
    if let Err(Failed(why)) = &played {
        say(&json!({ "failed": why }));
    }
    played
}

fn play_publisher(
    role: &Role,
    open: impl Fn() -> Result<Box<dyn Sender>, Failed>,
    orders: &Orders,
) -> Result<(), Failed> {
    let mut sender = retry(open)?;
    pin(role.cpu)?;
    wait_until_ready(|| sender.is_ready())?;
    let begin_ns = orders.wait_for_go(|| sender.turn())?;
    let published = publish(
        &mut *sender,
        role.schedule,
        begin_ns,
        &role.clock,
        role.wait,
    )?;
    let published = serde_json::to_value(published)?;
    say(&json!({ "published": published }));
    // What is on its way may have to be sent again.
    while !orders.is_stopped() {
        sender.turn()?;
        role.wait.idle();
    }
    Ok(())
}

fn play_reader(
    role: &Role,
    open: impl Fn() -> Result<Box<dyn Receiver>, Failed>,
    orders: &Orders,
) -> Result<(), Failed> {
    let mut receiver = retry(open)?;
    pin(role.cpu)?;
    wait_until_ready(|| receiver.is_ready())?;
    orders.wait_for_go(|| receiver.poll(&mut |_| {}).map(|_| ()))?;
    let delay = Duration::from_micros(role.delay_us);
    let read = receive(
        &mut *receiver,
        &role.schedule,
        &role.clock,
        role.wait,
        delay,
        || orders.is_stopped(),
    )?;
    let report = ReadReport {
        received: read.received,
        latency_ns: row::encode(&read.latency_ns)?,
        counts: read.counts,
    };
    say(&json!({ "read": serde_json::to_value(report)? }));
    // A receiver that goes away is an event for the publisher, which may still be measured.
    while !orders.is_stopped() {
        receiver.poll(&mut |_| {})?;
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}

/// What this process is told.
#[derive(Debug)]
pub struct Orders {
    begin_ns: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
}

impl Orders {
    fn listen() -> Orders {
        let orders = Orders {
            begin_ns: Arc::default(),
            is_stopped: Arc::default(),
        };
        let (begin_ns, is_stopped) = (Arc::clone(&orders.begin_ns), Arc::clone(&orders.is_stopped));
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                match line.strip_prefix("go ").and_then(|ns| ns.parse().ok()) {
                    Some(ns) => begin_ns.store(ns, Ordering::Release),
                    None => break,
                }
            }
            is_stopped.store(true, Ordering::Release);
        });
        orders
    }

    /// Whether it is told to stop.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Says that this process is ready, and works until it is told when to begin.
    fn wait_for_go(&self, mut work: impl FnMut() -> Result<(), Failed>) -> Result<u64, Failed> {
        say_ready();
        loop {
            match self.begin_ns.load(Ordering::Acquire) {
                0 if self.is_stopped() => {
                    return Err(Failed("stopped before the beginning".to_owned()));
                }
                0 => work()?,
                begin_ns => return Ok(begin_ns),
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Tries until it is there: its other side may have begun a moment later.
fn retry<T>(mut open: impl FnMut() -> Result<T, Failed>) -> Result<T, Failed> {
    let begin = Instant::now();
    loop {
        match open() {
            Err(_) if begin.elapsed() < START_MAX => std::thread::sleep(Duration::from_millis(5)),
            opened => return opened,
        }
    }
}

fn wait_until_ready(mut is_ready: impl FnMut() -> Result<bool, Failed>) -> Result<(), Failed> {
    let begin = Instant::now();
    while !is_ready()? {
        if begin.elapsed() > START_MAX {
            return Err(Failed("the other side did not come".to_owned()));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// Keeps this thread on a processor.
fn pin(cpu: Option<usize>) -> Result<(), Failed> {
    let Some(cpu) = cpu else {
        return Ok(());
    };
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).map_err(|error| {
        Failed(format!(
            "processor {cpu}: {error}; choose others with --cpus"
        ))
    })
}

fn say_ready() {
    say(&json!({ "ready": true }));
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    // A parent that is gone hears nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
