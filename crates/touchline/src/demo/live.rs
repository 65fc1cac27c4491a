//! Runs the demo: starts the processes in order, watches them, stops them in order, and compares
//! the books.

use super::children::Process;
use super::folder::Folder;
use super::left_bus::LeftBus;
use super::memory::{Choice, choose};
use super::progress::Picture;
use super::{Arguments, expected_books};
use crate::format::counted;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::{top, version};
use std::fs;
use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use touchline_client::monitor::Monitor;
use touchline_gateway::bus;
use touchline_gateway::config::{Config, Limits, Publication};
use touchline_gateway::venues::cme::CmeConfig;
use touchline_lab::cme::config::{CHANNEL, GROUP_SETS, config_xml_of};
use touchline_transport::shm::{Overview, Root};

/// Name of the demo's bus; `--groups N` appends the number.
const BUS: &str = "demo";

/// Faults injected from the start, on each line separately and now and then on both.
const FAULTS: &[&str] = &[
    "drop a 0.02",
    "drop b 0.02",
    "both 0.0005 6",
    "duplicate ab 0.02",
    "reorder ab 0.02 4",
    "delay ab 0.01 1 5",
    "corrupt ab 0.005",
];

/// Duration of an outage of one line, and the interval of outages, seconds.
const OUTAGE: &str = "0.5";
const OUTAGE_EVERY: Duration = Duration::from_secs(10);

/// Maximum time of a process to start and to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Maximum time until the last packets have arrived.
const REST: Duration = Duration::from_secs(10);

/// The processes, in the order of the data flow.
struct Cast {
    exchange: Process,
    gateway: Process,
    subscriber: Process,
}

/// Parameters of a run: groups, bus, directories.
struct Plan<'a> {
    arguments: &'a Arguments,
    groups: u16,
    bus: String,
    root: Root,
    choice: Choice,
    folder: &'a Path,
}

/// Runs the demo to its end and compares the books.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let folder = Folder::create()?;
    let plan = Plan::of(arguments, folder.path())?;
    plan.check_alone()?;
    say(&format!(
        "exchange, gateway and subscriber are starting; {}\n{}",
        plan.choice.reason,
        version::profile_note()
    ))?;
    let start = Instant::now();
    // If another demo started at the same moment, that is the reported error.
    let started = Cast::start(&plan, &folder);
    let mut cast = started.or_else(|failure| plan.check_alone().and(Err(failure)))?;
    let watched = watch(&plan, &mut cast, &interrupt);
    let picture = Picture::of(&plan.root, &plan.bus);
    // A failure found while watching takes precedence.
    let ended = cast.end(&plan);
    watched?;
    let sent = ended?;
    let comparison = expected_books::compare(plan.folder)?;
    let paint = Paint::for_stdout();
    let mut page = format!("\n{}\n", paint.bold("The exchange"));
    // Earlier lines are answers to commands.
    for line in sent.iter().skip_while(|line| !line.starts_with("packets")) {
        page += &format!("  {line}\n");
    }
    page += &picture.table(paint);
    page += &comparison.describe(paint);
    let lost = counted(picture.counter("packets_lost"), "packet");
    page += &format!(
        "\n{lost} lost on both lines in {} and recovered, over {:.1} s\n",
        counted(picture.counter("gaps"), "gap"),
        start.elapsed().as_secs_f64()
    );
    say(&page)?;
    match comparison.is_equal() {
        true => Ok(()),
        false => Err(Failure::run(format!(
            "{}; please report it with this command line",
            comparison.difference()
        ))),
    }
}

/// Watches until a stop is requested: on a screen, or with one line a second.
fn watch(plan: &Plan<'_>, cast: &mut Cast, interrupt: &Interrupt) -> Result<(), Failure> {
    let start = Instant::now();
    let end = plan.arguments.seconds.map(Duration::from_secs);
    let mut next_outage = OUTAGE_EVERY / 3;
    let mut goes_on = || {
        cast.all_alive()?;
        if start.elapsed() >= next_outage {
            let line = ["a", "b"][(next_outage.as_secs() / OUTAGE_EVERY.as_secs()) as usize % 2];
            cast.exchange.tell(&format!("outage {line} {OUTAGE}"));
            next_outage += OUTAGE_EVERY;
        }
        Ok(!interrupt.is_asked() && end.is_none_or(|end| start.elapsed() < end))
    };
    match plan.arguments.plain || !std::io::stdout().is_terminal() {
        true => write_lines(plan, goes_on),
        false => top::watch(
            &Monitor::new(Some(plan.root.path())),
            &plan.bus,
            introduction(plan.arguments),
            &mut goes_on,
        ),
    }
}

/// Text that explains the screen: data flow, keys, end.
fn introduction(arguments: &Arguments) -> String {
    let end = match arguments.seconds {
        None => "q ends the demo".to_owned(),
        Some(seconds) => format!("the demo ends after {seconds} s, or with q"),
    };
    format!(
        "This demo simulates an exchange that sends {} on two lines, A and B, with lost, late, doubled and damaged packets. A \
         gateway repairs that and publishes the books below. When both lines lose a packet, books turn from live to \
         recovering until the next snapshot. Press Enter for lines, latencies and readers, ? for all keys; {end}. Then a \
         subscriber's books are compared with the exchange's.",
        counted(arguments.instruments, "instrument")
    )
}

fn write_lines(
    plan: &Plan<'_>,
    mut goes_on: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    const LOOK: Duration = Duration::from_millis(20);
    const LINE: Duration = Duration::from_secs(1);
    let mut before = Picture::of(&plan.root, &plan.bus);
    let mut next_line = Instant::now() + LINE;
    let mut second = 0;
    while goes_on()? {
        thread::sleep(LOOK);
        if Instant::now() >= next_line {
            second += 1;
            let now = Picture::of(&plan.root, &plan.bus);
            say(&now.line(&before, second, LINE.as_secs_f64()))?;
            before = now;
            next_line += LINE;
        }
    }
    Ok(())
}

impl Cast {
    /// Starts the exchange first, then its gateway, then the subscriber.
    fn start(plan: &Plan<'_>, home: &Folder) -> Result<Cast, Failure> {
        let mut exchange = Process::start("exchange", &plan.exchange())?;
        exchange.wait_for("sending", PATIENCE)?;
        let folder = plan.folder;
        let config = plan.write_configuration()?;
        let mut gateway = Process::start(
            "gateway",
            &words(&["gateway", "--until-eof", "--config"], &[&config]),
        )?;
        home.takes_along(&LeftBus {
            directory: plan.root.path().to_owned(),
            bus: plan.bus.clone(),
            gateway: gateway.id(),
        });
        gateway.wait_for("listening", PATIENCE)?;
        let (books, orders) = (folder.join("books.jsonl"), folder.join("orders.jsonl"));
        let mut follow = words(
            &[
                "follow",
                &plan.bus,
                "--until-eof",
                "--wait",
                "10",
                "--name",
                "subscriber",
                "--dir",
            ],
            &[&plan.choice.directory],
        );
        follow.extend(words(&["--books"], &[&books]));
        follow.extend(words(&["--orders"], &[&orders]));
        let subscriber = Process::start("subscriber", &follow)?;
        Ok(Cast {
            exchange,
            gateway,
            subscriber,
        })
    }

    fn all_alive(&mut self) -> Result<(), Failure> {
        let Cast {
            exchange,
            gateway,
            subscriber,
        } = self;
        let mut all = [exchange, gateway, subscriber].into_iter();
        all.find_map(Process::failure).map_or(Ok(()), Err)
    }

    /// Stops the exchange, which stops injecting faults and prints its counts; the others receive
    /// the rest first.
    fn end(self, plan: &Plan<'_>) -> Result<Vec<String>, Failure> {
        let sent = self.exchange.end(PATIENCE)?;
        wait_for_the_rest(plan);
        self.subscriber.end(PATIENCE)?;
        self.gateway.end(PATIENCE)?;
        Ok(sent)
    }
}

/// Waits until the subscriber has read the last packets of the exchange, for at most [`REST`]; then the comparison names the books that
/// differ. The gateway counts the same packets twice: a host may stop it for a while.
fn wait_for_the_rest(plan: &Plan<'_>) {
    // Longer than the interval at which a gateway counts.
    const LOOK: Duration = Duration::from_millis(150);
    let start = Instant::now();
    let mut before = None;
    while start.elapsed() < REST {
        let looked = Instant::now();
        thread::sleep(LOOK);
        let now = Picture::settled(&plan.root, &plan.bus, looked.elapsed());
        if now.is_some() && now == before {
            return;
        }
        before = now;
    }
}

impl<'a> Plan<'a> {
    fn of(arguments: &'a Arguments, folder: &'a Path) -> Result<Plan<'a>, Failure> {
        let choice = choose(arguments.dir.as_deref(), folder)?;
        let (groups, bus) = match arguments.groups {
            Some(set) => (set, format!("{BUS}-{set}")),
            // Not the default text of simulators.
            None => {
                let others = u32::from(GROUP_SETS - 1);
                (1 + (std::process::id() % others) as u16, BUS.to_owned())
            }
        };
        Ok(Plan {
            arguments,
            groups,
            bus,
            root: bus::root(Some(&choice.directory)),
            choice,
            folder,
        })
    }

    /// A bus has one writer: a second demo needs another bus and its own groups.
    fn check_alone(&self) -> Result<(), Failure> {
        let publisher = |bus: &str| Overview::publisher_of(&self.root, bus).ok().flatten();
        let Some(holder) = publisher(&self.bus) else {
            return Ok(());
        };
        let is_free = |set: &u16| publisher(&format!("{BUS}-{set}")).is_none();
        let free = (1..GROUP_SETS).find(is_free).unwrap_or(1);
        Err(Failure::usage(format!(
            "bus {} in {} is being written by {holder}; give --groups {free} for a demo beside it, or stop that one",
            self.bus,
            self.root.path().display()
        )))
    }

    fn exchange(&self) -> Vec<String> {
        let arguments = self.arguments;
        let mut all = words(&["sim", "cme", "--commands", "--until-eof"], &[]);
        let numbers = [
            ("--seed", arguments.seed),
            ("--instruments", arguments.instruments),
            ("--events-per-second", arguments.events_per_second),
            ("--groups", u64::from(self.groups)),
        ];
        for (name, number) in numbers {
            all.extend([name.to_owned(), number.to_string()]);
        }
        all.extend(["--schema-version".to_owned(), arguments.version.clone()]);
        for kind in ["books", "orders"] {
            let out = self.folder.join(format!("truth-{kind}.jsonl"));
            all.extend(words(&[&format!("--truth-{kind}")], &[&out]));
        }
        for fault in FAULTS {
            all.extend(words(&["--fault", fault], &[]));
        }
        all
    }

    /// Writes the gateway's configuration. The exchange would create the folder again after it was removed behind a
    /// killed demo.
    fn write_configuration(&self) -> Result<PathBuf, Failure> {
        let file = |name: &str, text: String| {
            let path = self.folder.join(name);
            let written = fs::write(&path, text);
            written.map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
            Ok(path)
        };
        let xml = config_xml_of(self.groups, Some(Ipv4Addr::LOCALHOST), None);
        let config_xml = file("config.xml", xml)?;
        file("demo.toml", self.configuration(config_xml).to_toml())
    }

    /// Configuration of a gateway with few instruments that shares its processor with the other
    /// processes.
    fn configuration(&self, config_xml: PathBuf) -> CmeConfig {
        let mut config = Config::of_cme_channel(config_xml, u32::from(CHANNEL));
        config.bus = self.bus.clone();
        config.venue.interface = Some(Ipv4Addr::LOCALHOST.to_string());
        config.limits = Limits {
            hold_packets_max: 1_024,
            packet_bytes_max: 2_048,
            instruments_max: 256,
            queue_entries_max: 65_536,
            orders_max: 65_536,
            ..Limits::default()
        };
        config.duty.loop_sleep = Duration::from_micros(20);
        config.publication = Publication {
            directory: Some(self.choice.directory.clone()),
            ring_bytes: self.choice.ring_bytes,
            ..Publication::default()
        };
        config
    }
}

fn words(words: &[&str], paths: &[&Path]) -> Vec<String> {
    let paths = paths.iter().map(|path| path.display().to_string());
    words
        .iter()
        .map(|&word| word.to_owned())
        .chain(paths)
        .collect()
}
