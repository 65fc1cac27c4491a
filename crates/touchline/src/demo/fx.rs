//! `touchline demo fx`: simulated banks, a gateway for each, the composer, a trading engine and a screen, each in a
//! separate process.

mod compare;
mod trading;

use super::children::Process;
use super::folder::Folder;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::paint::Paint;
use crate::{screen, version};
use compare::Comparison;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use touchline_lab::bank::Config;
use touchline_transport::shm::{CountersView, Root};
use trading::Trading;

/// Banks that quote currency pairs, a gateway for each, one composite price, and orders on it.
///
/// Five simulated banks quote three pairs over FIX, each in a dialect; some are late, fall silent, lose their connection, or quote
/// inverted or malformed prices. A gateway for each publishes its quotes, and the composer makes one price of them. A trading engine
/// executes parent orders at random; the banks hold, reject, split, lose, bust and correct. The screen shows the blotter. The engine is
/// killed (-9) once and continues from its journal. At the end the faults stop, the composite is compared with the best prices of
/// the banks, and the engine's positions with the banks' own books.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Stop after N seconds; by default at Ctrl-C.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Seed of the mids and of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print one line a second instead of the screen. Without a terminal this is the default.
    #[arg(long)]
    plain: bool,
    /// Run a standby; it is promoted when the engine is killed, and the promotion's duration is printed
    #[arg(long)]
    standby: bool,
}

const BANKS: &str = include_str!("fx/banks.toml");
/// The composite's bus.
const BUS: &str = "fx";
/// Folder of the configurations, and file of the banks' ledgers.
const FILES: &str = "files";
const LEDGER: &str = "ledger.jsonl";
/// Maximum time of a process to start and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time that all books take to recover after the faults were stopped, and its maximum on a loaded host.
const HEALING: Duration = Duration::from_secs(3);
const HEALING_MAX: Duration = Duration::from_secs(60);

/// The processes, in the order of the data flow.
pub struct Cast {
    banks: Process,
    gateways: Vec<Process>,
    composer: Process,
}

/// Runs until the end, and compares.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let folder = Folder::create()?;
    let config = BANKS.replace("SEED", &arguments.seed.to_string());
    let banks = Config::parse(&config).map_err(Failure::run)?;
    let buses = folder.path().join("buses");
    let failed = |error: std::io::Error| Failure::run(format!("{}: {error}", buses.display()));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&buses)
        .map_err(failed)?;
    let path = folder.path().join("banks.toml");
    fs::write(&path, config).map_err(failed)?;
    say(&format!(
        "{} banks, their gateways and the composer are starting; buses are in {}\n{}",
        banks.banks.len(),
        buses.display(),
        version::profile_note()
    ))?;
    let mut cast = Cast::start(&path, folder.path(), &buses, &banks)?;
    let pairs = banks.pairs.iter().map(|pair| pair.symbol.clone()).collect();
    let files = folder.path().join(FILES);
    let mut trading = Trading::start(arguments, &files, &buses, pairs)?;
    watch(arguments, &buses, &mut cast, &mut trading, &interrupt)?;
    let comparison = cast.compare(&Root::at(&buses))?;
    let own = trading.end()?;
    let said = cast.end()?;
    let paint = Paint::for_stdout();
    let summary = said
        .iter()
        .skip_while(|line| !line.starts_with("bank "))
        .take_while(|line| !line.is_empty());
    let mut page = format!("\n{}\n", paint.bold("The banks"));
    for line in summary {
        page += &format!("  {line}\n");
    }
    page += &comparison.describe(paint);
    let ledger = folder.path().join(LEDGER);
    let ledgers = fs::read_to_string(&ledger)
        .map_err(|error| Failure::run(format!("{}: {error}", ledger.display())))?;
    let (are_positions_equal, text) = trading::compare(&own, &trading::ledgers(&ledgers)?, paint);
    page += &text;
    say(&page)?;
    verdict(comparison.is_equal(), are_positions_equal)
}

fn verdict(is_composite_equal: bool, are_positions_equal: bool) -> Result<(), Failure> {
    match (is_composite_equal, are_positions_equal) {
        (true, true) => Ok(()),
        (false, _) => Err(Failure::run(
            "the composite differs from the best prices of the banks; please report it with this command line",
        )),
        (true, false) => Err(Failure::run(
            "positions differ from the banks' books; please report it with this command line",
        )),
    }
}

/// Trades and watches until a stop is requested: on a screen, or with one line a second.
fn watch(
    arguments: &Arguments,
    buses: &Path,
    cast: &mut Cast,
    trading: &mut Trading,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let start = Instant::now();
    let end = arguments.seconds.map(Duration::from_secs);
    let trading = RefCell::new(trading);
    let mut goes_on = || {
        cast.all_alive()?;
        trading.borrow_mut().work()?;
        Ok(!interrupt.is_asked() && end.is_none_or(|end| start.elapsed() < end))
    };
    if !arguments.plain && std::io::stdout().is_terminal() {
        let paint = Paint::for_stdout();
        let picture = || {
            let trading = trading.borrow();
            let about = format!(
                "Orders at random on the quotes of five simulated banks. Ctrl-C ends the demo.\n\
                 The composite: touchline top {BUS} --dir {}\n{}{}",
                buses.display(),
                version::profile_note(),
                trading.kill_text()
            );
            let about = wrapped_to(&about, screen::size().0);
            let blotter = trading.screen(about.lines().count(), paint);
            Ok(about + &blotter)
        };
        return screen::watch_while(goes_on, picture);
    }
    let root = Root::at(buses);
    let (mut next, mut before) = (Instant::now() + Duration::from_secs(1), [0; 2]);
    while goes_on()? {
        thread::sleep(Duration::from_millis(20));
        trading::say_news(&mut trading.borrow_mut())?;
        if Instant::now() >= next {
            next += Duration::from_secs(1);
            let view = CountersView::open(&root, BUS).ok().flatten();
            let counter = |name: &str| {
                let view = view.as_ref();
                view.and_then(|view| view.counter(name)).unwrap_or(0)
            };
            let now = [counter("bank_updates"), counter("composites_published")];
            say(&format!(
                "{:>4} s  {:>6} updates/s of banks  {:>6} composites/s  {} banks live  {}\n",
                start.elapsed().as_secs(),
                now[0].saturating_sub(before[0]),
                now[1].saturating_sub(before[1]),
                counter("banks_live"),
                trading.borrow().line(),
            ))?;
            before = now;
        }
    }
    let trading = trading.borrow();
    let page = trading.page(Paint::for_stdout());
    say(&format!("\n{}\n{page}", trading.kill_text()))
}

impl Cast {
    /// Banks first, then gateways, then the composer.
    pub fn start(
        path: &Path,
        folder: &Path,
        buses: &Path,
        config: &Config,
    ) -> Result<Cast, Failure> {
        let out = folder.join(FILES);
        let text = |path: &Path| path.display().to_string();
        let words = |words: &[&str], paths: &[(&str, PathBuf)]| {
            let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            for (name, path) in paths {
                all.extend([(*name).to_owned(), text(path)]);
            }
            all
        };
        let sim = words(
            &["sim", "bank", "--commands", "--until-eof"],
            &[
                ("--config", path.to_owned()),
                ("--write", out.clone()),
                ("--ledger", folder.join(LEDGER)),
            ],
        );
        let mut banks = Process::start("banks", &sim)?;
        banks.wait_for("sim_started", PATIENCE)?;
        let mut gateways = Vec::new();
        for bank in &config.banks {
            let file = out.join(format!("{}.toml", bank.name.to_ascii_lowercase()));
            let gateway = words(
                &["gateway", "--until-eof"],
                &[("--config", file), ("--dir", buses.to_owned())],
            );
            gateways.push(Process::start("gateway", &gateway)?);
        }
        for gateway in &mut gateways {
            gateway.wait_for("connected", PATIENCE)?;
        }
        let compose = words(
            &["fx", "compose", "--until-eof"],
            &[
                ("--config", out.join("compose.toml")),
                ("--dir", buses.to_owned()),
            ],
        );
        let mut composer = Process::start("composer", &compose)?;
        composer.wait_for("composing", PATIENCE)?;
        Ok(Cast {
            banks,
            gateways,
            composer,
        })
    }

    fn all_alive(&mut self) -> Result<(), Failure> {
        let all = [&mut self.banks, &mut self.composer];
        let mut all = all.into_iter().chain(&mut self.gateways);
        all.find_map(Process::failure).map_or(Ok(()), Err)
    }

    /// Stops the faults and freezes the mids: the composite then converges to the best prices of the banks.
    fn compare(&mut self, root: &Root) -> Result<Comparison, Failure> {
        self.banks.ask("heal", "ok", PATIENCE)?;
        let start = Instant::now();
        loop {
            thread::sleep(HEALING);
            let composite = compare::read(root, BUS)?;
            self.banks.ask("best", "ok", PATIENCE)?;
            let comparison = Comparison::of(&composite, &self.banks.said());
            if comparison.is_equal() || start.elapsed() > HEALING_MAX {
                return Ok(comparison);
            }
        }
    }

    /// Process ids of the gateways, and of the composer.
    pub fn readers(&self) -> (Vec<u32>, u32) {
        let gateways = self.gateways.iter().map(Process::id).collect();
        (gateways, self.composer.id())
    }

    /// Ends all processes; returns the output of the banks.
    pub fn end(self) -> Result<Vec<String>, Failure> {
        self.composer.end(PATIENCE)?;
        for gateway in self.gateways {
            gateway.end(PATIENCE)?;
        }
        self.banks.end(PATIENCE)
    }
}

/// Text whose lines end at words within these columns; a longer word has a line of its own.
fn wrapped_to(text: &str, columns: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut width = 0;
        for word in line.split_whitespace() {
            let letters = word.chars().count();
            let is_first = width == 0;
            width = match width + usize::from(!is_first) + letters {
                fits if is_first || fits <= columns => fits,
                _ => {
                    wrapped.push('\n');
                    letters
                }
            };
            if !is_first && width > letters {
                wrapped.push(' ');
            }
            wrapped += word;
        }
        wrapped.push('\n');
    }
    wrapped
}

/// Sends a signal to a process of the demo.
fn signal(process: u32, signal: Signal) -> Result<(), Failure> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| Failure::run("a process without a number"))?;
    kill_process(process, signal).map_err(|error| Failure::run(format!("cannot signal: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_words() {
        assert_eq!(
            wrapped_to("one two three\nfour", 7),
            "one two\nthree\nfour\n"
        );
        assert_eq!(wrapped_to("one two three", 13), "one two three\n");
        assert_eq!(wrapped_to("a /a/long/path b", 5), "a\n/a/long/path\nb\n");
    }
}
