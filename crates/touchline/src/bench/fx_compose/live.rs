//! `bench fx-compose --profile`: simulated banks over sockets, a gateway for each, the composer, and a consumer, all of them processes.

use super::bars::bars;
use super::kernel::Role;
use super::{Arguments, row};
use crate::bench::feed::histogram;
use crate::bench::progress::{Progress, SECONDS};
use crate::bench::run::Run;
use crate::demo::folder::Folder;
use crate::demo::fx::Cast;
use crate::output::Failure;
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_gateway::replay::latency_histogram;
use touchline_lab::bank::Config;
use touchline_load::clock::Timebase;
use touchline_load::limits::Limits;
use touchline_load::schedule::Profile as Shape;
use touchline_load::step::{self, Settings, Subject};
use touchline_load::subject::Kind;
use touchline_load::wait::Wait;
use touchline_transport::bus::Polled;
use touchline_transport::clock::{Clock, ticks};
use touchline_transport::shm::{CountersView, Item, Join, Root, Subscriber};
use touchline_transport::{BackOff, Idle, Idler};
use touchline_types::Timestamps;

/// How the banks quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// One change at a time, in memory.
    Memory,
    /// One change at a time, published on a bus of each bank.
    Buses,
    /// Every bank sends 20 quotes at once, four times a second.
    Burst,
    /// As `burst`, then one quote of each bank after each silence.
    Sparse,
}

/// Maximum time until all processes are connected and all banks have quoted.
const WARM_UP: Duration = Duration::from_secs(3);
/// A quote that comes later than this after the one before is a wake-up.
const WAKE: Duration = Duration::from_millis(400);
/// Bytes of a quote of five tiers a side, about.
const MESSAGE_BYTES: usize = 700;
/// Messages a second of the comparison with bare transports, about those of a composite in a burst.
const TRANSPORT_RATE: u64 = 1_000;
/// Round trips of the comparison with bare sockets.
const ROUND_TRIPS: u32 = 2_000;

/// Rows of a phase.
const ROWS: [&str; 4] = [
    "receive-to-consumed",
    "receive-to-polled",
    "compose",
    "published-to-consumed",
];

/// Latencies of a phase, in the order of [`ROWS`].
struct Phase {
    name: &'static str,
    histograms: [Histogram<u64>; ROWS.len()],
    /// The kernel's share, by role.
    kernel: Vec<String>,
    /// Time of a quote in the socket of its gateway, of all quotes since the start.
    socket: Histogram<u64>,
}

/// Runs the phases, and prints the table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin(&arguments.common);
    let clock = run.clock();
    let mut phases = vec![phase(arguments, "burst", 250, &clock)?];
    if arguments.profile == Profile::Sparse {
        phases.push(phase(
            arguments,
            "sparse",
            arguments.silence_s * 1_000,
            &clock,
        )?);
    }
    let mut lines = Vec::new();
    let mut notes = vec![
        "socket: the kernel has received the last segment that a gateway reads;".to_owned(),
        "receive: a gateway has read the quote from its socket; polled: the composer has read it from the gateway's bus;".to_owned(),
        format!("tcp-one-way: {MESSAGE_BYTES} bytes between two blocked threads over the loopback: the kernel's part, before receive;"),
        "ipc-one-way: 70 bytes between two processes that sleep when idle, over the bus, and over Aeron in a build with it".to_owned(),
    ];
    for phase in &phases {
        notes.push(String::new());
        notes.extend(bars(
            &format!("{}, received to consumed", phase.name),
            &phase.histograms[0],
        ));
        notes.extend(phase.kernel.iter().cloned());
        notes.push(phase.shares());
    }
    if let [busy, sparse] = &phases[..] {
        notes.push(sparse.compared_with(busy, arguments.silence_s));
    }
    for phase in phases {
        lines.push(row(
            format!("{}-socket-to-receive", phase.name),
            phase.socket,
        ));
        for (part, histogram) in ROWS.iter().zip(phase.histograms) {
            lines.push(row(format!("{}-{part}", phase.name), histogram));
        }
    }
    lines.push(row("tcp-one-way", bare_sockets(&clock)?));
    for (subject, histogram) in transports()? {
        lines.push(row(format!("{subject}-one-way"), histogram));
    }
    let head = format!(
        "{} banks over TCP with {} tiers a side, one pair; a gateway for each; gateways, composer and consumer are separate processes that sleep when idle",
        arguments.banks, arguments.tiers
    );
    run.report_with(&head, &lines, "", |_| String::new(), &notes)
}

/// Starts all processes and measures for the duration of the profile.
fn phase(
    arguments: &Arguments,
    name: &'static str,
    move_ms: u64,
    clock: &Clock,
) -> Result<Phase, Failure> {
    let folder = Folder::create()?;
    let text = banks(arguments, name, move_ms);
    let config = Config::parse(&text).map_err(Failure::run)?;
    let buses = folder.path().join("buses");
    let path = folder.path().join("banks.toml");
    let failed = |error: std::io::Error| Failure::run(format!("{}: {error}", path.display()));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&buses)
        .map_err(failed)?;
    std::fs::write(&path, text).map_err(failed)?;
    let cast = Cast::start(&path, folder.path(), &buses, &config)?;
    let duration = match name {
        "sparse" => Duration::from_secs(arguments.silence_s * arguments.wakes) + WARM_UP,
        _ => Duration::from_secs(arguments.seconds),
    };
    let (gateways, composer) = cast.readers();
    let roles = [
        Role::begin("gateways", &gateways),
        Role::begin("composer", &[composer]),
        Role::begin("consumer", &[std::process::id()]),
    ];
    let mut phase = consume(&buses, name, duration, clock)?;
    phase.kernel = roles.iter().map(Role::end).collect();
    for bank in &config.banks {
        in_socket(&buses, &bank.name.to_ascii_lowercase(), &mut phase.socket)?;
    }
    cast.end()?;
    Ok(phase)
}

fn banks(arguments: &Arguments, profile: &str, move_ms: u64) -> String {
    let mut text = format!(
        "profile = \"{profile}\"\nmove_ms = {move_ms}\n[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nspot_date = \"20260107\"\n\
         mid_ticks = 110000\n"
    );
    let tiers: Vec<u64> = (1..=u64::from(arguments.tiers))
        .map(|tier| tier * 1_000_000)
        .collect();
    for bank in 0..arguments.banks {
        // Writing into a string does not fail.
        let _ = write!(
            text,
            "[[banks]]\nname = \"LP{bank:03}\"\npairs = [\"EUR/USD\"]\nspread_ticks = {}\ntiers = {tiers:?}\n",
            2 + bank % 4
        );
    }
    text
}

/// Consumer of the composite's bus that sleeps when idle.
fn consume(
    buses: &Path,
    name: &'static str,
    duration: Duration,
    clock: &Clock,
) -> Result<Phase, Failure> {
    let root = Root::at(buses);
    let mut subscriber = Subscriber::join(&root, "fx", Join::default()).map_err(Failure::run)?;
    let mut idler = Idler::new(Idle::BackOff(BackOff {
        sleep_max: Duration::from_micros(100),
        ..BackOff::default()
    }));
    let mut phase = Phase {
        name,
        histograms: ROWS.map(|_| latency_histogram()),
        kernel: Vec::new(),
        socket: latency_histogram(),
    };
    let begin = Instant::now();
    let begin_ns = now_ns() + WARM_UP.as_nanos() as u64;
    let mut newest = None;
    let mut quoted = begin;
    let whole = duration + WARM_UP;
    let mut progress = Progress::new(whole.as_secs(), SECONDS);
    loop {
        let elapsed = begin.elapsed();
        if elapsed >= whole {
            break;
        }
        progress.at(elapsed.as_secs());
        let polled = subscriber.poll(|item| match item {
            Item::Update(received) => {
                newest = (!received.is_image).then_some(received.timestamps);
                received.batch_end
            }
            Item::Top { timestamps, .. } => {
                newest = Some(timestamps);
                false
            }
            Item::BatchEnd => true,
            Item::Undecoded(_) | Item::SubscriptionEvent(_) => false,
        });
        idler.idle(usize::from(!matches!(polled, Polled::Nothing)));
        if !matches!(polled, Polled::Given(true)) {
            continue;
        }
        // An update of a timer has no quote.
        let caused = newest
            .take()
            .filter(|times: &Timestamps| times.polled > 0 && times.packet.receive_ns >= begin_ns);
        if let Some(times) = caused {
            let is_wake = quoted.elapsed() > WAKE;
            quoted = Instant::now();
            if name != "sparse" || is_wake {
                phase.note(&times, clock);
            }
        }
    }
    Ok(phase)
}

impl Phase {
    fn medians(&self) -> [u64; ROWS.len()] {
        std::array::from_fn(|part| self.histograms[part].value_at_quantile(0.5))
    }

    /// How much of the median is the work of a process, and how much sleep and wake-up of two.
    fn shares(&self) -> String {
        let [total, polled, compose, bus] = self.medians();
        let share = |part: u64| 100.0 * part as f64 / total.max(1) as f64;
        format!(
            "of the median of {:.1} µs: {:.0} % until the composer has polled it, {:.0} % composing, {:.0} % until the consumer has it",
            total as f64 / 1_000.0,
            share(polled),
            share(compose),
            share(bus)
        )
    }

    /// The ratio of the medians, and by how much each part grew.
    fn compared_with(&self, busy: &Phase, silence_s: u64) -> String {
        let (here, there) = (self.medians(), busy.medians());
        let parts = ROWS.iter().zip(here).zip(there).skip(1);
        let grown: Vec<String> = parts
            .map(|((name, here), there)| {
                format!("{name} {:+.1} µs", (here as f64 - there as f64) / 1_000.0)
            })
            .collect();
        format!(
            "after {silence_s} s of silence the median is {:.1} times the median of the bursts: {}",
            here[0] as f64 / there[0].max(1) as f64,
            grown.join(", ")
        )
    }

    fn note(&mut self, times: &Timestamps, clock: &Clock) {
        let (now, now_ns) = (ticks(), now_ns());
        let total_ns = now_ns.saturating_sub(times.packet.receive_ns);
        let since_polled_ns = clock.between_ns(times.polled, now);
        let bus_ns = clock.between_ns(times.published, now);
        let parts = [
            total_ns,
            total_ns.saturating_sub(since_polled_ns),
            since_polled_ns.saturating_sub(bus_ns),
            bus_ns,
        ];
        for (histogram, part) in self.histograms.iter_mut().zip(parts) {
            histogram.saturating_record(part);
        }
    }
}

/// Adds the times that quotes of a bank spent in the socket of its gateway.
fn in_socket(buses: &Path, bus: &str, into: &mut Histogram<u64>) -> Result<(), Failure> {
    let view = CountersView::open(&Root::at(buses), bus).map_err(Failure::run)?;
    let histograms = view.iter().flat_map(CountersView::histograms);
    for (_, view) in histograms.filter(|(what, _)| what.name == "wire_to_polled_ns") {
        into.add(histogram(&view)).map_err(Failure::run)?;
    }
    Ok(())
}

/// One-way latency between two processes that sleep when idle: over the bus, and over Aeron IPC in a build with the feature `aeron`.
fn transports() -> Result<Vec<(String, Histogram<u64>)>, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let settings = Settings {
        profile: Shape::Steady,
        readers: 1,
        slow_us: None,
        warmup_s: 0.5,
        measured_s: 2.0,
        cpus: None,
        wait: Wait::Sleep,
        interface: "lo".to_owned(),
        limits: Limits::default(),
        clock: Timebase::new(),
        peer: None,
    };
    let named = ["touchline", "aeron-ipc"];
    let failed = |error: touchline_load::Failed| Failure::run(error.0);
    let kinds = Kind::ALL.iter().filter(|(name, _)| named.contains(name));
    let measured = kinds.map(|(name, kind)| {
        let subject = Subject::own(name, *kind, program.clone(), &["load", "--role"]);
        let row = step::run(&subject, TRANSPORT_RATE, 1, &settings).map_err(failed)?;
        if row.received.messages == 0 {
            return Err(Failure::run(format!("{name}: {}", row.reason)));
        }
        let histogram = row.decoded().map_err(failed)?;
        Ok(((*name).to_owned(), histogram))
    });
    measured.collect()
}

/// One-way latency of a bank's message between two blocked threads over TCP.
fn bare_sockets(clock: &Clock) -> Result<Histogram<u64>, Failure> {
    let failed = |error: std::io::Error| Failure::run(format!("a socket on the loopback: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let echo = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut bytes = [0; MESSAGE_BYTES];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let mut histogram = latency_histogram();
    let mut bytes = [0; MESSAGE_BYTES];
    for _ in 0..ROUND_TRIPS {
        let begin = ticks();
        stream.write_all(&bytes).map_err(failed)?;
        stream.read_exact(&mut bytes).map_err(failed)?;
        histogram.saturating_record(clock.between_ns(begin, ticks()) / 2);
    }
    drop(stream);
    let ended = echo.join();
    ended
        .map_err(|_| Failure::run("the thread of the loopback ended early"))?
        .map_err(failed)?;
    Ok(histogram)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
