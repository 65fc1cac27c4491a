//! The conductor: starts the processes in order, watches, ends them in order, and judges.

use super::children::Process;
use super::memory::{Choice, choose};
use super::progress::Picture;
use super::{Arguments, truth};
use crate::figures::counted;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::top;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use touchline_gateway::bus;
use touchline_gateway::config::{Config, Limits, Publication};
use touchline_lab::cme::config::{CHANNEL, GROUP_SETS};
use touchline_transport::shm::Root;

/// Name of the demo's bus.
const BUS: &str = "demo";

/// What goes wrong on the way, from the start on: both lines on their own, and now and then together.
const FAULTS: &[&str] = &[
    "drop a 0.02",
    "drop b 0.02",
    "both 0.0005 6",
    "duplicate ab 0.02",
    "reorder ab 0.02 4",
    "delay ab 0.01 1 5",
    "corrupt ab 0.005",
];

/// A line is dead for so many seconds, each so many.
const OUTAGE: &str = "0.5";
const OUTAGE_EVERY: Duration = Duration::from_secs(10);

/// How long a process may take to be up, and to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The processes, in the order of the data.
struct Cast {
    exchange: Process,
    gateway: Process,
    subscriber: Process,
}

/// A folder of its own, gone with the demo.
struct Folder(PathBuf);

/// Runs until the end, and compares.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let folder = Folder::create()?;
    let choice = choose(arguments.dir.as_deref(), &folder.0)?;
    say(&format!(
        "exchange, gateway and subscriber are starting; {}\n",
        choice.reason
    ))?;
    let start = Instant::now();
    let mut cast = Cast::start(arguments, &folder.0, &choice)?;
    let root = bus::root(Some(&choice.directory));
    let watched = watch(arguments, &mut cast, &interrupt, &root);
    let picture = Picture::of(&root, BUS);
    // What the watch found wrong is the better reason.
    let ended = cast.end();
    let _ = fs::remove_dir_all(root.path().join(BUS));
    watched?;
    let sent = ended?;
    let comparison = truth::compare(&folder.0)?;
    let paint = Paint::for_stdout();
    let mut page = format!("\n{}\n", paint.bold("The exchange"));
    // Before that are its answers to commands.
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

/// Until somebody wants an end: on a screen, or with a line a second.
fn watch(
    arguments: &Arguments,
    cast: &mut Cast,
    interrupt: &Interrupt,
    root: &Root,
) -> Result<(), Failure> {
    let start = Instant::now();
    let end = arguments.seconds.map(Duration::from_secs);
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
    match arguments.plain || !std::io::stdout().is_terminal() {
        true => write_lines(root, goes_on),
        false => top::watch(root, BUS, &mut goes_on),
    }
}

fn write_lines(
    root: &Root,
    mut goes_on: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    const LOOK: Duration = Duration::from_millis(20);
    const LINE: Duration = Duration::from_secs(1);
    let mut before = Picture::of(root, BUS);
    let mut next_line = Instant::now() + LINE;
    let mut second = 0;
    while goes_on()? {
        thread::sleep(LOOK);
        if Instant::now() >= next_line {
            second += 1;
            let now = Picture::of(root, BUS);
            say(&now.line(&before, second, LINE.as_secs_f64()))?;
            before = now;
            next_line += LINE;
        }
    }
    Ok(())
}

impl Cast {
    /// The exchange first, then who listens to it, then who listens to that.
    fn start(arguments: &Arguments, folder: &Path, choice: &Choice) -> Result<Cast, Failure> {
        let mut exchange = Process::start("exchange", &exchange(arguments, folder))?;
        exchange.wait_for("sending", PATIENCE)?;
        let config = folder.join("demo.toml");
        let written = fs::write(&config, configuration(folder, choice).to_toml());
        written.map_err(|error| Failure::run(format!("{}: {error}", config.display())))?;
        let mut gateway = Process::start(
            "gateway",
            &words(&["gateway", "--until-eof", "--config"], &[&config]),
        )?;
        gateway.wait_for("listening", PATIENCE)?;
        let (books, orders) = (folder.join("books.jsonl"), folder.join("orders.jsonl"));
        let mut follow = words(
            &[
                "follow",
                BUS,
                "--until-eof",
                "--wait",
                "10",
                "--name",
                "subscriber",
                "--dir",
            ],
            &[&choice.directory],
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

    /// The exchange heals everything and says what it sent; the others have time to take it in.
    fn end(self) -> Result<Vec<String>, Failure> {
        let sent = self.exchange.end(PATIENCE)?;
        thread::sleep(Duration::from_millis(300));
        self.subscriber.end(PATIENCE)?;
        self.gateway.end(PATIENCE)?;
        Ok(sent)
    }
}

fn exchange(arguments: &Arguments, folder: &Path) -> Vec<String> {
    let mut all = words(
        &["sim", "cme", "--commands", "--until-eof", "--write"],
        &[folder],
    );
    let numbers = [
        ("--seed", arguments.seed),
        ("--instruments", arguments.instruments),
        ("--events-per-second", arguments.events_per_second),
        // Two demos on one host do not hear each other.
        (
            "--groups",
            u64::from(std::process::id() % u32::from(GROUP_SETS)),
        ),
    ];
    for (name, number) in numbers {
        all.extend([name.to_owned(), number.to_string()]);
    }
    all.extend(["--schema-version".to_owned(), arguments.version.clone()]);
    for kind in ["books", "orders"] {
        let out = folder.join(format!("truth-{kind}.jsonl"));
        all.extend(words(&[&format!("--truth-{kind}")], &[&out]));
    }
    for fault in FAULTS {
        all.extend(words(&["--fault", fault], &[]));
    }
    all
}

/// A gateway of few instruments, which shares the processor with everything else here.
fn configuration(folder: &Path, choice: &Choice) -> Config {
    let mut config = Config::of_cme_channel(folder.join("config.xml"), u32::from(CHANNEL));
    config.bus = BUS.to_owned();
    config.venue.interface = Some("127.0.0.1".to_owned());
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
        directory: Some(choice.directory.clone()),
        ring_bytes: choice.ring_bytes,
        ..Publication::default()
    };
    config
}

fn words(words: &[&str], paths: &[&Path]) -> Vec<String> {
    let paths = paths.iter().map(|path| path.display().to_string());
    words
        .iter()
        .map(|&word| word.to_owned())
        .chain(paths)
        .collect()
}

impl Folder {
    fn create() -> Result<Folder, Failure> {
        let path = std::env::temp_dir().join(format!("touchline-demo-{}", std::process::id()));
        // One that is there already is somebody else's, whatever it is.
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700);
        builder
            .create(&path)
            .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
