//! Processes of a step: a driver, a publisher, readers. Each receives its role, and when to start and stop.
//!
//! The role is a line of JSON among the arguments. On standard output a process writes `{"ready":true}`, and at the end
//! its results or `{"failed":"why"}`. On standard input it receives `go NANOSECONDS` of the shared clock, and `stop`;
//! the end of the input is a stop, too.

use crate::check::{Checker, Received};
use crate::clock::Timebase;
use crate::publish::publish;
use crate::receive::{Read, receive};
use crate::schedule::Schedule;
use crate::subject::{self, Kind, Place, Receiver, Sender};
use crate::wait::Wait;
use crate::{Failed, row};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Role of a process.
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

/// The role of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    /// Role.
    pub part: Part,
    /// Name of the subject.
    pub subject: String,
    /// Addresses of the step.
    pub place: Place,
    /// Schedule.
    pub schedule: Schedule,
    /// The shared clock.
    pub clock: Timebase,
    /// Idle strategy.
    pub wait: Wait,
    /// Processor of its thread.
    pub cpu: Option<usize>,
    /// Number of the reader, from 0.
    pub reader: usize,
    /// Microseconds for each message, for a slow reader.
    pub delay_us: u64,
}

/// Results of a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadReport {
    /// Counts.
    pub received: Received,
    /// Latencies: a histogram in the V2 form of HdrHistogram, compressed, in base64.
    pub latency_ns: String,
    /// Counters of the transport, by name.
    pub counts: BTreeMap<String, u64>,
}

/// Timeout of processes that wait for each other at the start.
pub const START_MAX: Duration = Duration::from_secs(20);

/// Runs the role of this line, with a transport of this program.
///
/// # Errors
/// The error was written to standard output.
pub fn play(role: &str) -> Result<(), Failed> {
    let kind = |role: &Role| Kind::named(&role.subject);
    let transport = Transport {
        drive: |role: &Role, orders: &Orders| {
            subject::drive(kind(role)?, &role.place, say_ready, || orders.is_stopped())
        },
        sender: |role: &Role| subject::sender(kind(role)?, &role.place),
        receiver: |role: &Role| subject::receiver(kind(role)?, &role.place, role.reader),
    };
    play_with(role, &transport)
}

/// Functions that open the two sides of a transport, and its driver process, for a role.
#[derive(Clone, Copy, Debug)]
pub struct Transport<D, S, R> {
    /// Runs the driver process until it is stopped.
    pub drive: D,
    /// Opens the sending side.
    pub sender: S,
    /// Opens the receiving side.
    pub receiver: R,
}

/// Runs the role of this line, with any transport: other programs become subjects with this function.
///
/// # Errors
/// The error was written to standard output.
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
    // Datagrams in transit may have to be retransmitted.
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
    let read = read(role, &mut *receiver, orders)?;
    let report = ReadReport {
        received: read.received,
        latency_ns: row::encode(&read.latency_ns)?,
        counts: read.counts,
    };
    say(&json!({ "read": serde_json::to_value(report)? }));
    // A receiver that disconnects is an event for the publisher, which may still be measured.
    while !orders.is_stopped() {
        receiver.poll(&mut |_| {})?;
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}

/// Waits for the start, and receives the schedule. The publisher begins at a fixed time, and this process may learn of the start after it:
/// what arrives meanwhile is checked as well. Probes of a transport end in its receiver.
fn read(role: &Role, receiver: &mut dyn Receiver, orders: &Orders) -> Result<Read, Failed> {
    let mut checker = Checker::new(&role.schedule);
    // mutant: load: messages before the start is known are lost
    orders.wait_for_go(|| {
        let taken = receiver.poll(&mut |bytes| checker.take(bytes, role.clock.now_ns()));
        taken.map(|_| ())
    })?;
    let delay = Duration::from_micros(role.delay_us);
    let stop = || orders.is_stopped();
    receive(
        receiver,
        checker,
        &role.schedule,
        &role.clock,
        role.wait,
        delay,
        stop,
    )
}

/// Commands to this process.
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

    /// Whether the part must stop.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Reports that this process is ready, and runs turns until the start command.
    fn wait_for_go(&self, mut work: impl FnMut() -> Result<(), Failed>) -> Result<u64, Failed> {
        say_ready();
        loop {
            match self.begin_ns.load(Ordering::Acquire) {
                0 if self.is_stopped() => {
                    return Err(Failed("stopped before the start".to_owned()));
                }
                0 => work()?,
                begin_ns => return Ok(begin_ns),
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Retries until it is open: its other side may start a moment later.
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
            return Err(Failed(
                "timeout: the other side of the transport did not start".to_owned(),
            ));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// Binds this thread to a processor.
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
    // A parent that has ended reads nothing.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::schedule::Profile;
    use std::net::Ipv4Addr;

    /// Its first poll gives all messages; start and stop are known after it.
    struct Early {
        begin_ns: Arc<AtomicU64>,
        is_stopped: Arc<AtomicBool>,
    }

    impl Receiver for Early {
        fn poll(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<usize, Failed> {
            if self.begin_ns.swap(1, Ordering::AcqRel) > 0 {
                return Ok(0);
            }
            self.is_stopped.store(true, Ordering::Release);
            let mut message = Message::default();
            for number in 0..4 {
                message.set(number, 1);
                take(message.bytes());
            }
            Ok(4)
        }

        fn is_ready(&mut self) -> Result<bool, Failed> {
            Ok(true)
        }
    }

    #[test]
    fn messages_that_arrive_before_the_start_is_known_are_received() {
        let schedule = Schedule {
            profile: Profile::Steady,
            rate: 1_000,
            warmup: 1,
            measured: 3,
        };
        let role = Role {
            part: Part::Read,
            subject: "x".to_owned(),
            place: Place {
                folder: "/nowhere".into(),
                port: 0,
                stream: 0,
                readers: 1,
                hosts: [Ipv4Addr::LOCALHOST; 2],
            },
            schedule,
            clock: Timebase::new(),
            wait: Wait::Yield,
            cpu: None,
            reader: 0,
            delay_us: 0,
        };
        let orders = Orders {
            begin_ns: Arc::default(),
            is_stopped: Arc::default(),
        };
        let mut early = Early {
            begin_ns: Arc::clone(&orders.begin_ns),
            is_stopped: Arc::clone(&orders.is_stopped),
        };
        let read = read(&role, &mut early, &orders);
        let received = read.expect("it does not fail").received;
        assert_eq!(
            (received.messages, received.lost, received.measured),
            (4, 0, 3)
        );
    }
}
