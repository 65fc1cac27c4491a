//! Code shared by all rivals: the command line, the second process, pinning, the two measurements and the line of JSON.
//!
//! A subject has a small number of roles. The process that was started is the one that pings or publishes, on the first
//! CPU; it starts itself again for each other role (`--role echo`, `reader`, `driver`), and those die with it.
#![warn(missing_docs)]

mod subject;

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use rustix::{
    process::{Pid, Signal, WaitId, WaitIdOptions, set_parent_process_death_signal, waitid},
    thread::{CpuSet, sched_setaffinity},
};
use std::{
    collections::BTreeMap,
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitCode, Stdio},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub use subject::opened;

/// Kind of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bench {
    /// Ping-pong: nanoseconds from before the send to after the answer was checked.
    Rtt,
    /// One publisher, one or more readers: messages a second.
    Throughput,
}

/// The command line.
#[derive(Debug, Clone)]
pub struct Request {
    /// The benchmark.
    pub bench: Bench,
    /// Bytes of one message, 16 or more: its first eight and its last eight bytes are the number of the message.
    pub payload: usize,
    /// Messages that count.
    pub messages: u64,
    /// Messages before those.
    pub warmup: u64,
    /// The CPU of the process that pings or publishes, and the CPU of its peer.
    pub cpus: [usize; 2],
    /// Reader processes of the throughput measurement.
    pub readers: usize,
    /// Messages a second of the throughput measurement; 0: as fast as the subject can.
    pub rate: f64,
    /// Role of this process; `None` in the process that was started by hand.
    pub role: Option<String>,
    /// Index among the peers of that role.
    pub index: usize,
    /// A folder in memory that all processes of this run share, removed at the end.
    pub session: PathBuf,
    options: BTreeMap<String, String>,
}

impl Request {
    /// Reads the command line. `known` are the subject's own options with their defaults.
    ///
    /// # Errors
    /// Names the argument that is missing, unknown or out of range.
    pub fn parse(known: &[(&str, &str)]) -> Result<Self> {
        let mut arguments = env::args().skip(1);
        let bench = match arguments.next().as_deref() {
            Some("rtt") => Bench::Rtt,
            Some("throughput") => Bench::Throughput,
            other => bail!("expected rtt or throughput, not {other:?}"),
        };
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        while let Some(argument) = arguments.next() {
            let name = argument
                .strip_prefix("--")
                .with_context(|| format!("expected --option value, not {argument}"))?;
            let value = arguments
                .next()
                .with_context(|| format!("--{name} needs a value"))?;
            given.insert(name.to_owned(), value);
        }
        let mut take =
            |name: &str, default: &str| given.remove(name).unwrap_or_else(|| default.to_owned());
        let cpus = take("cpus", "0,1");
        let (a, b) = cpus.split_once(',').context("--cpus takes two CPUs: A,B")?;
        let mut request = Self {
            bench,
            payload: number("payload", &take("payload", "100"))?,
            messages: number("messages", &take("messages", "1000000"))?,
            warmup: number("warmup", &take("warmup", "100000"))?,
            cpus: [number("cpus", a)?, number("cpus", b)?],
            readers: number("readers", &take("readers", "1"))?,
            rate: number("rate", &take("rate", "0"))?,
            role: Some(take("role", "")).filter(|role| !role.is_empty()),
            index: number("index", &take("index", "0"))?,
            session: PathBuf::from(take("session", "")),
            options: BTreeMap::new(),
        };
        for (name, default) in known {
            let value = take(name, default);
            request.options.insert((*name).to_owned(), value);
        }
        if let Some((name, _)) = given.first_key_value() {
            bail!("--{name} is not an option of this subject");
        }
        ensure!(
            (16..=1024).contains(&request.payload),
            "--payload must be 16 to 1024 bytes"
        );
        ensure!(request.messages > 1, "--messages must be at least 2");
        ensure!(
            (1..=8).contains(&request.readers),
            "--readers must be 1 to 8"
        );
        ensure!(
            request.rate >= 0.0 && request.rate.is_finite(),
            "--rate must be a number of messages a second, or 0"
        );
        Ok(request)
    }

    /// An option of the subject, as text.
    ///
    /// # Panics
    /// When the subject did not declare it.
    pub fn text(&self, name: &str) -> &str {
        &self.options[name]
    }

    /// An option of the subject, as a number.
    ///
    /// # Errors
    /// When it is not a number.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<T> {
        number(name, self.text(name))
    }

    /// Sets an option for the peers that are started from here on, and for the report.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.options.insert(name.to_owned(), value.to_string());
    }

    /// Warm-up and measured messages together.
    pub fn total(&self) -> u64 {
        self.warmup + self.messages
    }

    /// The CPU of a peer: the second one for all, so that the first process keeps its own, as the program that compares has it.
    pub fn peer_cpu(&self) -> usize {
        self.cpus[1]
    }

    /// Waits a moment when nothing arrived or nothing can be sent: spins if each process has a CPU to itself, else lets
    /// the others run.
    #[inline]
    pub fn idle(&self) {
        if self.readers == 1 {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }

    fn start(&self, role: &str, index: usize) -> Result<Child> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(if self.bench == Bench::Rtt {
            "rtt"
        } else {
            "throughput"
        });
        let cpus = format!("{},{}", self.cpus[0], self.cpus[1]);
        let fixed = [
            ("payload", self.payload.to_string()),
            ("messages", self.messages.to_string()),
            ("warmup", self.warmup.to_string()),
            ("cpus", cpus),
            ("readers", self.readers.to_string()),
            ("rate", self.rate.to_string()),
            ("role", role.to_owned()),
            ("index", index.to_string()),
            ("session", self.session.display().to_string()),
        ];
        let own = self
            .options
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in fixed.into_iter().chain(own) {
            command.arg(format!("--{name}")).arg(value);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the {role} process"))
    }
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<T> {
    text.parse()
        .ok()
        .with_context(|| format!("--{name}: {text} is not a number that fits"))
}

/// Runs a subject: `body` gets the request and acts in its role.
pub fn main(subject: &str, known: &[(&str, &str)], body: fn(Request) -> Result<()>) -> ExitCode {
    match Request::parse(known).and_then(|request| run(request, body)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{subject}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut request: Request, body: fn(Request) -> Result<()>) -> Result<()> {
    if request.role.is_some() {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        return body(request);
    }
    remove_sessions(|pid| !Path::new("/proc").join(pid).exists());
    let own = std::process::id().to_string();
    request.session = PathBuf::from(format!("{SESSIONS}{own}"));
    fs::create_dir(&request.session)
        .with_context(|| format!("cannot make {}", request.session.display()))?;
    let result = body(request);
    remove_sessions(|pid| pid == own);
    result
}

/// Folder of a run, followed by the number of its first process. Files that a library makes in /dev/shm must have a
/// name with the same start.
const SESSIONS: &str = "/dev/shm/touchline-rival-";

/// Removes the files of the processes that `is_over` selects, such as killed ones.
fn remove_sessions(is_over: impl Fn(&str) -> bool) {
    for path in fs::read_dir("/dev/shm")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let name = path.to_string_lossy();
        let Some(rest) = name.strip_prefix(SESSIONS) else {
            continue;
        };
        let pid = rest
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap_or_default();
        if is_over(pid) {
            fs::remove_dir_all(&path)
                .or_else(|_| fs::remove_file(&path))
                .ok();
        }
    }
}

/// Keeps the calling thread on one CPU. Threads it starts later inherit this; a library's threads should be there
/// before.
///
/// # Errors
/// When this process may not run there.
pub fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("cannot run on CPU {cpu}"))
}

/// Another process of this run, killed when this is dropped.
pub struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
    role: String,
    wanted: Arc<AtomicBool>,
}

impl Peer {
    /// Starts this program in another role and waits until it reports that it is ready. From then on a failure of that
    /// process ends this run with one line.
    ///
    /// # Errors
    /// When it cannot be started, or ends before it was ready.
    pub fn start(request: &Request, role: &str, index: usize) -> Result<Self> {
        let mut child = request.start(role, index)?;
        let lines = BufReader::new(child.stdout.take().context("no pipe from the peer")?);
        let wanted = Arc::new(AtomicBool::new(true));
        let mut peer = Self {
            child,
            lines,
            role: role.to_owned(),
            wanted,
        };
        ensure!(
            peer.line()? == "ready",
            "the {role} process did not become ready"
        );
        peer.watch();
        Ok(peer)
    }

    /// Ends this run if the peer dies: a process that waits for the answer of a dead one would spin for ever.
    fn watch(&self) {
        let (wanted, role) = (self.wanted.clone(), self.role.clone());
        let process = WaitId::Pid(Pid::from_child(&self.child));
        thread::spawn(move || {
            // Looks without collecting: the child is collected when the peer is dropped.
            let end = waitid(process, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
                .ok()
                .flatten();
            let failed = end.is_none_or(|end| end.exit_status() != Some(0));
            if failed && wanted.load(Ordering::Acquire) {
                eprintln!("the {role} process failed");
                remove_sessions(|pid| pid == std::process::id().to_string());
                std::process::exit(1);
            }
        });
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the {} process ended early", self.role);
        Ok(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Release);
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reports to the process that started this one that messages can come.
///
/// # Errors
/// When the pipe is closed.
pub fn ready() -> Result<()> {
    say("ready")
}

fn say(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

/// Writes the number of a message at both ends of it, so that a reader of both has seen every cache line arrive.
#[inline]
pub fn stamp(payload: &mut [u8], sequence: u64) {
    let tail = payload.len() - 8;
    payload[..8].copy_from_slice(&sequence.to_le_bytes());
    payload[tail..].copy_from_slice(&sequence.to_le_bytes());
}

/// The number of a message; `None` when its two ends differ.
#[inline]
pub fn sequence(payload: &[u8]) -> Option<u64> {
    let first = u64::from_le_bytes(*payload.first_chunk()?);
    let last = u64::from_le_bytes(*payload.last_chunk()?);
    (first == last).then_some(first)
}

/// The processor's time stamp counter: 9 ns a reading, where the system's clock takes 23.
#[inline]
fn ticks() -> u64 {
    // SAFETY: reads a register that every x86-64 processor has; it touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Schedule of a publisher: each message has its time, and is sent at once when that has passed.
pub struct Schedule {
    start: u64,
    ticks_between: f64,
}

impl Schedule {
    /// The schedule of [`Request::rate`], from now on.
    pub fn start(request: &Request) -> Self {
        let ticks_between = match request.rate {
            0.0 => 0.0,
            rate => {
                let (clock, begin) = (Instant::now(), ticks());
                while clock.elapsed().as_millis() < 50 {}
                (ticks() - begin) as f64 / clock.elapsed().as_secs_f64() / rate
            }
        };
        Self {
            start: ticks(),
            ticks_between,
        }
    }

    /// Waits for the time of a message, numbered from 0.
    #[inline]
    pub fn wait(&self, number: u64) {
        if self.ticks_between > 0.0 {
            let due = (number as f64 * self.ticks_between) as u64;
            while ticks() - self.start < due {}
        }
    }
}

/// Plays ping-pong and prints the result. `trip` sends the message it is given and returns the number in the answer.
///
/// # Errors
/// When a trip fails, or something else comes back than was sent.
pub fn measure_rtt(
    subject: &str,
    request: &Request,
    mut trip: impl FnMut(&mut [u8], u64) -> Result<Option<u64>>,
) -> Result<()> {
    let mut payload = vec![0x5A; request.payload];
    let mut histogram = Histogram::<u64>::new(3)?;
    for number in 0..request.warmup {
        ensure!(
            trip(&mut payload, number)? == Some(number),
            "message {number} came back as another"
        );
    }
    let (clock, clock_ticks) = (Instant::now(), ticks());
    for number in request.warmup..request.total() {
        let start = ticks();
        let answer = trip(&mut payload, number)?;
        let taken = ticks() - start;
        ensure!(
            answer == Some(number),
            "message {number} came back as another"
        );
        histogram.record(taken.max(1))?;
    }
    let ns_per_tick = clock.elapsed().as_nanos() as f64 / (ticks() - clock_ticks) as f64;
    let values: Vec<String> = histogram
        .iter_recorded()
        .map(|step| {
            let ns = (step.value_iterated_to() as f64 * ns_per_tick).round();
            format!("[{ns},{}]", step.count_at_value())
        })
        .collect();
    say(&format!(
        r#"{{"subject":"{subject}","bench":"ipc-rtt","payload_bytes":{},"unit":"ns","values":[{}],"options":{}}}"#,
        request.payload,
        values.join(","),
        options(request),
    ))
}

/// The reader's side of the throughput measurement: order, loss, and the time from the first to the last message.
pub struct Reader {
    expected: u64,
    lost: u64,
    received: u64,
    first: Option<Instant>,
    warmup: u64,
    total: u64,
}

impl Reader {
    /// A reader that has seen nothing.
    pub fn new(request: &Request) -> Self {
        Self {
            expected: 0,
            lost: 0,
            received: 0,
            first: None,
            warmup: request.warmup,
            total: request.total(),
        }
    }

    /// Takes the next message.
    ///
    /// # Errors
    /// When it is torn, or older than one that came before.
    #[inline]
    pub fn take(&mut self, payload: &[u8]) -> Result<()> {
        let number = sequence(payload);
        if number == Some(self.expected) && self.first.is_some() {
            self.expected += 1;
            self.received += 1;
            return Ok(());
        }
        self.take_rarely(number)
    }

    /// Messages of the warm-up, the first that counts, gaps and faults.
    #[cold]
    fn take_rarely(&mut self, number: Option<u64>) -> Result<()> {
        let number = number.context("a message has two numbers")?;
        ensure!(
            number >= self.expected,
            "message {number} came after {}",
            self.expected
        );
        if self.first.is_some() {
            self.lost += number - self.expected;
            self.received += 1;
        } else if number >= self.warmup {
            self.lost += number - self.warmup;
            self.first = Some(Instant::now());
        }
        self.expected = number + 1;
        Ok(())
    }

    /// Whether the last message was seen.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.expected >= self.total
    }

    /// Reports the reader's counts to the publisher's process.
    ///
    /// # Errors
    /// When the last message came before the first that counts, or the pipe is closed.
    pub fn report(&self) -> Result<()> {
        let elapsed = self.first.context("no message that counts came")?.elapsed();
        say(&format!(
            "{} {} {}",
            self.received,
            elapsed.as_nanos(),
            self.lost
        ))
    }
}

/// Waits for the readers and prints the result: the rate of the slowest, the losses of all.
///
/// # Errors
/// When a reader failed.
pub fn report_throughput(subject: &str, request: &Request, readers: Vec<Peer>) -> Result<()> {
    let (mut slowest, mut lost) = (f64::INFINITY, 0);
    for mut reader in readers {
        let line = reader.line()?;
        let figures: Vec<u64> = line
            .split(' ')
            .filter_map(|figure| figure.parse().ok())
            .collect();
        let [received, ns, gaps] = figures[..] else {
            bail!("a reader said: {line}");
        };
        slowest = slowest.min(received as f64 * 1e9 / ns as f64);
        lost += gaps;
    }
    say(&format!(
        r#"{{"subject":"{subject}","bench":"ipc-throughput","payload_bytes":{},"unit":"msg/s","value":{slowest:.0},"readers":{},"messages":{},"lost":{lost},"options":{}}}"#,
        request.payload,
        request.readers,
        request.messages,
        options(request),
    ))
}

/// [`report_throughput`] of a publisher that waits for no reader: the last message is sent again until all have reported, because
/// a reader that lost it would wait for ever.
///
/// # Errors
/// When a reader failed.
pub fn report_while(
    subject: &str,
    request: &Request,
    readers: Vec<Peer>,
    mut send_again: impl FnMut(),
) -> Result<()> {
    thread::scope(|scope| {
        let report = scope.spawn(|| report_throughput(subject, request, readers));
        while !report.is_finished() {
            thread::sleep(Duration::from_millis(1));
            send_again();
        }
        report.join().expect("a report does not panic")
    })
}

fn options(request: &Request) -> String {
    let list: Vec<String> = request
        .options
        .iter()
        .map(|(name, value)| match value.parse::<f64>() {
            Ok(_) => format!(r#""{name}":{value}"#),
            Err(_) => format!(r#""{name}":"{value}""#),
        })
        .collect();
    format!("{{{}}}", list.join(","))
}

#[cfg(test)]
mod tests;
