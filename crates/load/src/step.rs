//! A step: one subject at one rate, with new processes.

mod window;

use crate::Failed;
use crate::check::Received;
use crate::clock::Timebase;
use crate::limits::{Limits, judge};
use crate::part::{Part, ReadReport, Role};
use crate::process::Process;
use crate::publish::{GRACE_NS, Published};
use crate::remote::{Peer, Request};
use crate::row::{self, Cause, Row, Verdict};
use crate::sample::{HostUse, ProcessUse};
use crate::schedule::{Profile, Schedule};
use crate::subject::{self, Kind, Place, folder_bytes};
use crate::wait::Wait;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;
use touchline_testing::free_ports;
use window::{Window, processors};

/// Settings of all steps of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Shape of the load.
    pub profile: Profile,
    /// Readers.
    pub readers: usize,
    /// Microseconds per message of one additional slow reader.
    pub slow_us: Option<u64>,
    /// Seconds of warm-up.
    pub warmup_s: f64,
    /// Seconds that are measured.
    pub measured_s: f64,
    /// Processors of the publisher and of the first reader; `None` leaves all to the scheduler.
    pub cpus: Option<[usize; 2]>,
    /// Idle strategy of the processes.
    pub wait: Wait,
    /// Interface whose traffic is counted.
    pub interface: String,
    /// Limits of a sustained step.
    pub limits: Limits,
    /// The shared clock.
    pub clock: Timebase,
    /// Host of the readers, if it is another one.
    pub peer: Option<Peer>,
}

/// A subject: a transport of this program, or another program with the same roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name in the results.
    pub name: String,
    /// The program that runs its roles, with its first arguments; the role follows.
    pub program: PathBuf,
    /// Arguments before the role.
    pub arguments: Vec<String>,
    /// The transport, if it is one of this program.
    pub kind: Option<Kind>,
    /// Description of its setup.
    pub settings: String,
}

impl Subject {
    /// Another program; its transport counts as lossy.
    pub fn other(name: &str, program: PathBuf) -> Subject {
        Subject {
            name: name.to_owned(),
            settings: format!("{} load", program.display()),
            program,
            arguments: vec!["load".to_owned()],
            kind: None,
        }
    }

    /// A transport of this program.
    pub fn own(name: &str, kind: Kind, program: PathBuf, arguments: &[&str]) -> Subject {
        Subject {
            name: name.to_owned(),
            program,
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            kind: Some(kind),
            settings: kind.settings().to_owned(),
        }
    }

    /// Whether a loss in this row is a fault of the transport.
    pub fn may_not_lose(&self, row: &Row) -> bool {
        let counted = |name: &str| row.counts.get(name).is_some_and(|times| *times > 0);
        (self.kind)
            .is_some_and(|kind| kind.holds(row.sent) && !kind.interruptions().is_some_and(counted))
    }

    fn command(&self, role: &Role) -> Result<Command, Failed> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .arg(serde_json::to_string(role)?);
        Ok(command)
    }
}

/// Results of the processes of a step.
struct Measured {
    published: Published,
    reads: Vec<ReadReport>,
    processes: Vec<ProcessUse>,
    host: HostUse,
    shm_bytes: u64,
    begin_ns: u64,
    clock_error_ns: u64,
}

/// Runs a step and returns its row. A subject that fails has a row, too, with the reason.
///
/// # Errors
/// No folder or port for the step.
pub fn run(subject: &Subject, rate: u64, round: u32, settings: &Settings) -> Result<Row, Failed> {
    let schedule = Schedule::new(
        settings.profile,
        rate,
        settings.warmup_s,
        settings.measured_s,
    );
    let folder = Folder::new()?;
    let measured = measure(subject, &schedule, &folder, settings);
    let mut row = empty_row(subject, rate, round, settings);
    match measured {
        Ok(measured) => {
            row.counts = counts(subject, &measured);
            fill(&mut row, &measured, &schedule, settings)?;
        }
        Err(Failed(why)) => {
            row.verdict = settings.limits.not_met();
            row.cause = Some(Cause::Failed);
            row.reason = why;
        }
    }
    Ok(row)
}

fn measure(
    subject: &Subject,
    schedule: &Schedule,
    folder: &Folder,
    settings: &Settings,
) -> Result<Measured, Failed> {
    let readers = settings.readers + usize::from(settings.slow_us.is_some());
    let role = Role {
        part: Part::Publish,
        subject: subject.name.clone(),
        place: place(folder, readers, settings.peer.as_ref())?,
        schedule: *schedule,
        clock: settings.clock,
        wait: settings.wait,
        cpu: settings.cpus.map(|cpus| cpus[0]),
        reader: 0,
        delay_us: 0,
    };
    let peer = settings.peer.as_ref();
    let compare = || peer.map(|peer| peer.clock(&settings.clock)).transpose();
    let clock_before = compare()?;
    let reader_clock = clock_before.map_or(settings.clock, |theirs| theirs.clock);
    let Started {
        mut processes,
        helpers,
    } = start(subject, &role, (readers, reader_clock), settings)?;
    let here = processes.iter().chain(&helpers);
    let here = here.filter_map(|process| Some((process.name.clone(), process.pid()?)));
    let (names, watched): (Vec<String>, Vec<u32>) = here.unzip();
    let begin_ns = settings.clock.now_ns() + 20_000_000;
    for process in processes.iter_mut().rev() {
        process.go(begin_ns)?;
    }
    let window = Window::watch(
        begin_ns,
        schedule,
        &watched,
        &settings.clock,
        &settings.interface,
    );
    let grace = Duration::from_nanos(GRACE_NS);
    let published = processes[0].wait_for("published", grace * 5)?;
    // Messages in transit get the same time as unsent ones; then readers are stopped and send their results.
    let shm_bytes = folder_bytes(&folder.path);
    let reads = collect(&mut processes[1..], settings.readers, grace)?;
    let clock_after = compare()?;
    processes
        .into_iter()
        .chain(helpers)
        .for_each(|process| process.end(Duration::from_secs(2)));
    let uses: Vec<ProcessUse> = window.uses(&names);
    let own_s = uses.iter().map(ProcessUse::cpu_s).sum::<f64>() + window.controller_s();
    Ok(Measured {
        published: serde_json::from_value(published)?,
        reads,
        host: window.host(own_s),
        processes: uses,
        shm_bytes,
        begin_ns,
        clock_error_ns: clock_before
            .zip(clock_after)
            .map_or(0, |(before, after)| before.error_until(&after)),
    })
}

/// The processes of a step, ready to go.
struct Started {
    /// The publisher, then the readers.
    processes: Vec<Process>,
    /// The media driver, and the processes between publisher and readers.
    helpers: Vec<Process>,
}

/// Starts the processes of a step, with `role` for the publisher.
fn start(
    subject: &Subject,
    role: &Role,
    (readers, reader_clock): (usize, Timebase),
    settings: &Settings,
) -> Result<Started, Failed> {
    let mut helpers = Vec::new();
    if subject.kind.is_some_and(Kind::has_driver) {
        helpers.push(start_driver(subject, role, settings)?);
    }
    let publisher = Process::start("publisher".to_owned(), subject.command(role)?)?;
    let between = subject
        .kind
        .map(|kind| subject::between(kind, &role.place))
        .unwrap_or_default();
    let has_between = !between.is_empty();
    if has_between {
        // Its bus exists now, and the processes in between find it.
        publisher.wait_until_ready()?;
    }
    for process in between {
        helpers.push(start_between(subject, role, &process, settings)?);
    }
    let reader = |reader| {
        let clock = reader_clock;
        start_reader(
            subject,
            reader,
            Role {
                clock,
                ..role.clone()
            },
            settings,
        )
    };
    let readers = (0..readers).map(reader).collect::<Result<Vec<_>, _>>()?;
    let processes: Vec<Process> = [publisher].into_iter().chain(readers).collect();
    for process in processes.iter().skip(usize::from(has_between)) {
        process.wait_until_ready()?;
    }
    Ok(Started { processes, helpers })
}

fn start_driver(subject: &Subject, role: &Role, settings: &Settings) -> Result<Process, Failed> {
    let role = Role {
        part: Part::Drive,
        cpu: settings.cpus.map(|cpus| cpus[1]),
        ..role.clone()
    };
    let driver = Process::start("driver".to_owned(), subject.command(&role)?)?;
    driver.wait_until_ready()?;
    Ok(driver)
}

/// Starts a process between publisher and readers, on the host that it belongs to.
fn start_between(
    subject: &Subject,
    role: &Role,
    process: &subject::Between,
    settings: &Settings,
) -> Result<Process, Failed> {
    let name = process.name.to_owned();
    if let Some(peer) = settings.peer.as_ref().filter(|_| process.is_far) {
        let request = Request::Between {
            subject: subject.name.clone(),
            place: role.place.clone(),
        };
        return Process::behind(name, peer.open(&request)?);
    }
    let mut command = Command::new(&subject.program);
    command
        .args(&process.arguments)
        .stderr(std::process::Stdio::null());
    Process::start(name, command)
}

/// Starts a reader; the one behind the last of the settings is the slow one.
fn start_reader(
    subject: &Subject,
    reader: usize,
    role: Role,
    settings: &Settings,
) -> Result<Process, Failed> {
    let slow_us = settings.slow_us.filter(|_| reader == settings.readers);
    let delay_us = slow_us.unwrap_or_default();
    let name = if delay_us > 0 {
        "slow-reader".to_owned()
    } else {
        format!("reader-{reader}")
    };
    let role = Role {
        part: Part::Read,
        reader,
        delay_us,
        cpu: settings.cpus.map(|cpus| cpus[(reader + 1) % 2]),
        ..role
    };
    match &settings.peer {
        Some(peer) => Process::behind(name, peer.open(&Request::Read(Box::new(role)))?),
        None => Process::start(name, subject.command(&role)?),
    }
}

/// Results of each reader except the slow one.
fn collect(
    processes: &mut [Process],
    readers: usize,
    grace: Duration,
) -> Result<Vec<ReadReport>, Failed> {
    let mut reads = Vec::new();
    for process in processes.iter_mut().take(readers) {
        let said = match process.wait_for("read", grace) {
            Ok(said) => said,
            Err(_) => {
                process.stop();
                process.wait_for("read", grace * 5)?
            }
        };
        reads.push(serde_json::from_value(said)?);
    }
    Ok(reads)
}

fn empty_row(subject: &Subject, rate: u64, round: u32, settings: &Settings) -> Row {
    Row {
        load: 1,
        subject: subject.name.clone(),
        round,
        profile: settings.profile,
        readers: settings.readers,
        rate,
        received_rate: 0.0,
        verdict: settings.limits.met(),
        reason: String::new(),
        cause: None,
        is_repeated: false,
        is_disturbed: false,
        sent: 0,
        unsent: 0,
        received: Received::default(),
        blocked_turns: 0,
        pause_ns_max: 0,
        latency_ns: BTreeMap::new(),
        histogram: String::new(),
        processes: Vec::new(),
        host: HostUse::default(),
        shm_bytes: 0,
        counts: BTreeMap::new(),
        processors_needed: processors_needed(subject, settings),
        processors: processors(),
        floor_ns: Vec::new(),
        clock_error_ns: 0,
    }
}

/// Processors that the processes of a step on this host use all the time; 0 if they sleep.
fn processors_needed(subject: &Subject, settings: &Settings) -> usize {
    let has = |what: fn(Kind) -> bool| usize::from(subject.kind.is_some_and(what));
    let here = 1 + has(Kind::has_driver) + has(Kind::has_relays);
    let there = has(Kind::has_relays) + settings.readers + usize::from(settings.slow_us.is_some());
    match (settings.wait, &settings.peer) {
        (Wait::Sleep, _) => 0,
        (Wait::Spin | Wait::Yield, Some(_)) => here,
        (Wait::Spin | Wait::Yield, None) => here + there,
    }
}

fn fill(
    row: &mut Row,
    measured: &Measured,
    schedule: &Schedule,
    settings: &Settings,
) -> Result<(), Failed> {
    let published = &measured.published;
    row.sent = published.sent;
    row.unsent = published.unsent;
    row.blocked_turns = published.blocked_turns;
    row.pause_ns_max = published.pause_ns_max;
    row.processes = measured.processes.clone();
    row.host = measured.host.clone();
    row.shm_bytes = measured.shm_bytes;
    row.clock_error_ns = measured.clock_error_ns;
    let mut latency = Histogram::new_with_bounds(1, 3_600_000_000_000, 3)?;
    let from_ns = measured.begin_ns + schedule.measured_from_ns();
    let mut slowest = f64::INFINITY;
    for read in &measured.reads {
        // Messages after the last received one are lost, too.
        let missing = published.sent.saturating_sub(read.received.next);
        let took_s = read.received.last_ns.saturating_sub(from_ns) as f64 / 1e9;
        slowest = slowest.min(read.received.measured as f64 / took_s.max(1e-6));
        add(&mut row.received, &read.received, missing);
        latency.add(row::decode(&read.latency_ns)?)?;
    }
    row.received_rate = if row.received.measured == 0 {
        0.0
    } else {
        slowest
    };
    row.latency_ns = row::quantiles(&latency);
    row.histogram = row::encode(&latency)?;
    row.is_disturbed = row.host.foreign + row.host.steal > settings.limits.foreign_max;
    if let Some((cause, reason)) = judge(row, &settings.limits) {
        row.verdict = match cause {
            Cause::Stopped => Verdict::Invalid,
            _ => settings.limits.not_met(),
        };
        (row.cause, row.reason) = (Some(cause), reason);
    }
    Ok(())
}

/// Counters of the transport. Those of a relay or of a driver process are the same for each process that reads them; others are added.
fn counts(subject: &Subject, measured: &Measured) -> BTreeMap<String, u64> {
    let is_one = |kind: Kind| kind.has_relays() || kind.has_driver();
    let is_one = subject.kind.is_some_and(is_one);
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    let reads = measured.reads.iter().map(|read| &read.counts);
    for (name, count) in reads.chain([&measured.published.counts]).flatten() {
        let sum = all.entry(name.clone()).or_default();
        *sum = match is_one {
            true => (*sum).max(*count),
            false => *sum + count,
        };
    }
    all
}

fn add(sum: &mut Received, received: &Received, missing: u64) {
    sum.messages += received.messages;
    sum.measured += received.measured;
    sum.lost += received.lost + missing;
    sum.duplicates += received.duplicates;
    sum.reordered += received.reordered;
    sum.torn += received.torn;
    sum.next = sum.next.max(received.next);
    sum.last_ns = sum.last_ns.max(received.last_ns);
}

/// Folder, ports and stream of one step: a subscriber on an old stream would see the end of the previous run.
fn place(folder: &Folder, readers: usize, peer: Option<&Peer>) -> Result<Place, Failed> {
    static STREAM: AtomicI32 = AtomicI32::new(1000);
    let hosts = peer.map_or([Ipv4Addr::LOCALHOST; 2], Peer::hosts);
    let ports = readers.max(2);
    let port = u32::try_from(ports).ok().and_then(free_ports);
    let port = port.ok_or_else(|| Failed(format!("no {ports} free ports in a row")))?;
    Ok(Place {
        folder: folder.path.clone(),
        port,
        stream: STREAM.fetch_add(1, Ordering::Relaxed),
        readers,
        hosts,
    })
}

/// A folder in shared memory, removed after the step.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> Result<Folder, Failed> {
        let path = PathBuf::from(format!("/dev/shm/touchline-load-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        make(&path).map_err(|error| Failed(format!("{}: {error}", path.display())))?;
        Ok(Folder { path })
    }
}

/// A private folder: the bus trusts no other.
fn make(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A row of a step that did not run.
#[cfg(test)]
pub fn made_up_row(subject: &str, rate: u64, round: u32, verdict: Verdict) -> Row {
    let mut latency = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
    (0..1000).for_each(|value| latency.saturating_record(300 + value));
    Row {
        load: 1,
        subject: subject.to_owned(),
        round,
        profile: Profile::Steady,
        readers: 1,
        rate,
        received_rate: rate as f64,
        verdict,
        reason: String::new(),
        cause: None,
        is_repeated: false,
        is_disturbed: false,
        sent: rate,
        unsent: 0,
        received: Received {
            measured: rate,
            ..Received::default()
        },
        blocked_turns: 0,
        pause_ns_max: 0,
        latency_ns: row::quantiles(&latency),
        histogram: row::encode(&latency).expect("encoded"),
        processes: vec![ProcessUse {
            process: "publisher".to_owned(),
            user_s: 1.0,
            ..ProcessUse::default()
        }],
        host: HostUse {
            window_s: 1.0,
            ..HostUse::default()
        },
        shm_bytes: 1 << 20,
        counts: BTreeMap::new(),
        processors_needed: 0,
        processors: 8,
        floor_ns: Vec::new(),
        clock_error_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_that_processes_share_are_counted_once() {
        let read = |lost| ReadReport {
            counts: [("lost".to_owned(), lost)].into(),
            ..ReadReport::default()
        };
        let measured = Measured {
            published: Published::default(),
            reads: vec![read(10), read(10), read(9)],
            processes: Vec::new(),
            host: HostUse::default(),
            shm_bytes: 0,
            begin_ns: 0,
            clock_error_ns: 0,
        };
        let lost = |kind| {
            let subject = Subject::own("x", kind, PathBuf::from("touchline"), &[]);
            counts(&subject, &measured)["lost"]
        };
        assert_eq!(lost(Kind::TouchlineRelayTcp), 10);
        assert_eq!(lost(Kind::AeronIpc), 10);
        assert_eq!(lost(Kind::AeronUdp), 29);
    }

    /// A relay may lose messages that were sent while its link was interrupted for too long, and no others.
    #[test]
    fn an_interrupted_link_excuses_a_loss() {
        let mut row = made_up_row("relay", 10, 1, Verdict::NotSustained);
        let may_not_lose = |kind, row: &Row| {
            let program = PathBuf::from("touchline");
            Subject::own("relay", kind, program, &[]).may_not_lose(row)
        };
        for (kind, other, interruption) in [
            (Kind::TouchlineRelayUdp, "relay_gaps", "relay_timeouts"),
            (Kind::TouchlineRelayTcp, "relay_timeouts", "relay_gaps"),
        ] {
            row.counts = [(other, 1), (interruption, 0)]
                .map(|(name, times)| (name.to_owned(), times))
                .into();
            assert!(may_not_lose(kind, &row), "{kind:?}");
            row.counts.insert(interruption.to_owned(), 1);
            assert!(!may_not_lose(kind, &row), "{kind:?}");
        }
    }
}
