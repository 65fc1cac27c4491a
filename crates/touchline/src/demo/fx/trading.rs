//! Trading in the demo: an engine, parent orders at random, one kill (-9) of the engine, and at the end its positions
//! beside the banks' own books.

use super::{Arguments, PATIENCE, signal};
use crate::demo::children::Process;
use crate::fx::blotter::{Live, Room, draw};
use crate::fx::numbers::{money, units};
use crate::output::{Failure, say};
use crate::paint::Paint;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use touchline_fx_desk::DeskClient;
use touchline_fx_desk::Follower;
use touchline_fx_desk::ledger::LiveLedger;
use touchline_fx_events::command::{Command, Order};
use touchline_fx_events::ticks;
use touchline_lab::random::Random;
use touchline_transport::boot_ns;
use touchline_transport::shm::Root;
use touchline_types::{Id, Side};

/// Bus of the engine, and the client of it.
const BUS: &str = "fx-run";
const CLIENT: &str = "desk";
/// Time between two parents at most.
const BETWEEN_MS: u64 = 400;
/// Time after which a parent ends.
const DEADLINE_MS: u64 = 1_500;
/// Time until the kill if the demo has no end.
const KILL_AFTER: Duration = Duration::from_secs(8);
/// Longest delay of the kill, which waits for open orders that it can cancel.
const KILL_WAIT: Duration = Duration::from_secs(1);
/// Longest time that outcomes may be open at the end.
const SETTLING_MAX: Duration = Duration::from_secs(60);
/// Positions by pair: base units, and cash in term currency, 1e-9.
pub type Positions = BTreeMap<String, (i64, i128)>;

/// The engine and its desk.
pub struct Trading {
    engine: Process,
    /// Standby, which takes over from the killed engine; `None`: the engine is started again.
    standby: Option<Process>,
    command: Vec<String>,
    desk: Option<DeskClient>,
    root: Root,
    follower: Follower,
    ledger: LiveLedger,
    random: Random,
    pairs: Vec<String>,
    next: Instant,
    parents: u64,
    /// When the engine is killed; none afterwards.
    kill_at: Option<Instant>,
    kill: Option<String>,
    /// Whether the kill was printed.
    is_told: bool,
}

impl Trading {
    /// Starts the engine, and its standby if there is one; `files` has their configuration.
    pub fn start(
        arguments: &Arguments,
        files: &Path,
        buses: &Path,
        pairs: Vec<String>,
    ) -> Result<Trading, Failure> {
        let text = |path: PathBuf| path.display().to_string();
        let config = files.join("run.toml");
        if arguments.standby {
            with_default_segments(&config)?;
        }
        let words = ["fx", "run", "--until-eof", "--config"].map(str::to_owned);
        let paths = [text(config), "--dir".to_owned(), text(buses.to_owned())];
        let command: Vec<String> = words.into_iter().chain(paths).collect();
        let root = Root::at(buses);
        let half = arguments
            .seconds
            .map(|seconds| Duration::from_millis(500 * seconds));
        let engine = start(&command)?;
        let standby = arguments.standby.then(|| stand_by(&command)).transpose()?;
        Ok(Trading {
            engine,
            standby,
            follower: Follower::new(&files.join("journal"), &root, BUS),
            root,
            command,
            desk: None,
            ledger: LiveLedger::default(),
            random: Random::from_seed(arguments.seed ^ 0xDE5C),
            pairs,
            next: Instant::now(),
            parents: 0,
            kill_at: Some(Instant::now() + half.unwrap_or(KILL_AFTER)),
            kill: None,
            is_told: false,
        })
    }

    /// Reads what the engine did, sends a parent if one is due, and kills the engine when it is time.
    pub fn work(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.engine.failure() {
            return Err(failure);
        }
        self.read()?;
        if self.next <= Instant::now() {
            self.next = Instant::now() + Duration::from_millis(self.random.below(BETWEEN_MS));
            self.send()?;
        }
        let now = Instant::now();
        let is_due = |at: Instant| {
            let has_orders = self.ledger.now().open().len() > 0;
            now >= at && (has_orders || now >= at + KILL_WAIT)
        };
        if self.kill_at.is_some_and(is_due) {
            self.kill_at = None;
            self.kill()?;
        }
        Ok(())
    }

    /// The blotter as text, for the whole terminal below this number of other lines.
    pub fn screen(&self, above: usize, paint: Paint) -> String {
        let (ledger, live) = (self.ledger.now(), self.live());
        let room = Room::of_terminal(ledger, &live, above);
        draw(ledger, &live, room, paint)
    }

    /// The whole blotter as text, without a limit of lines.
    pub fn page(&self, paint: Paint) -> String {
        draw(self.ledger.now(), &self.live(), Room::default(), paint)
    }

    /// Result of the kill, as text.
    pub fn kill_text(&self) -> &str {
        let kill = self.kill.as_deref();
        kill.unwrap_or("The engine will be killed (-9) once.")
    }

    fn live(&self) -> Live {
        match self.follower.has_engine() {
            true => Live::read(&self.root, BUS),
            false => Live::default(),
        }
    }

    /// Parents, fills and orders out, for a line.
    pub fn line(&self) -> String {
        format!(
            "{} parents  {} fills  {} orders out",
            self.parents,
            self.ledger.now().fill_count,
            self.ledger.now().open().len()
        )
    }

    /// Result of the kill; returned once.
    pub fn news(&mut self) -> Option<&str> {
        let kill = self.kill.as_deref()?;
        (!std::mem::replace(&mut self.is_told, true)).then_some(kill)
    }

    /// Waits until no outcome is open, and ends the engine: its positions.
    pub fn end(mut self) -> Result<Positions, Failure> {
        let start = Instant::now();
        // Parents have ended by their deadlines: the composite was compared first.
        while self.ledger.now().open().len() > 0 {
            if start.elapsed() > SETTLING_MAX {
                let open: Vec<&str> = self.ledger.now().open().map(|(id, _)| id).collect();
                return Err(Failure::run(format!(
                    "outcomes are open after {} s: {open:?}",
                    SETTLING_MAX.as_secs()
                )));
            }
            thread::sleep(Duration::from_millis(50));
            self.read()?;
        }
        let said = self.engine.end(PATIENCE)?;
        positions(said.iter().map(String::as_str), |line| {
            let pair = line["pair"].as_str()?.to_owned();
            Some(vec![(
                pair,
                units_and_cash(&line["position"], &line["cash"])?,
            )])
        })
    }

    fn read(&mut self) -> Result<(), Failure> {
        let ledger = &mut self.ledger;
        let polled = self.follower.poll_live(&mut |told| ledger.take(told));
        polled.map(drop).map_err(Failure::run)
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.desk.is_none() {
            let desk = DeskClient::open(&self.root, BUS, CLIENT).map_err(Failure::run)?;
            self.desk = Some(desk);
        }
        self.parents += 1;
        let name = |text: &str| Id::lossy(text.as_bytes());
        let (id, pair) = (format!("D{}", self.parents), self.random.pick(&self.pairs));
        let (id, pair) = (name(&id), name(pair));
        let side = *self.random.pick(&[Side::Bid, Side::Ask]);
        let quantity = 1_000_000 * self.random.between(1, 4);
        let order = Order {
            deadline_ms: DEADLINE_MS,
            urgency: self.random.below(3) as u8,
            ..Order::new(id, pair, side, quantity)
        };
        if let Some(desk) = &mut self.desk {
            desk.send(boot_ns(), &Command::Parent(order));
        }
        Ok(())
    }

    fn kill(&mut self) -> Result<(), Failure> {
        let out = self.ledger.now().open().len();
        signal(self.engine.id(), Signal::KILL)?;
        // The dying process has the bus until it is gone.
        let until = Instant::now() + PATIENCE;
        while self.engine.failure().is_none() {
            if Instant::now() > until {
                return Err(Failure::run("the killed engine does not end"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        let then = match self.standby.take() {
            Some(standby) => self.promote(standby)?,
            None => self.start_again()?,
        };
        self.kill = Some(format!(
            "The engine was killed (-9) with {out} orders out, and {then}"
        ));
        Ok(())
    }

    fn start_again(&mut self) -> Result<String, Failure> {
        self.engine = start(&self.command)?;
        let said = self.engine.said();
        let restored = said
            .iter()
            .find_map(|line| line.split_once("what="))
            .map_or("", |(_, what)| what);
        let restored = restored.trim_matches('"');
        Ok(format!("continues from its journal: {restored}"))
    }

    /// Promotes the standby, as a user does.
    fn promote(&mut self, standby: Process) -> Result<String, Failure> {
        let mut words = ["fx", "promote", "--dir"].map(str::to_owned).to_vec();
        words.push(self.root.path().display().to_string());
        let said = Process::start("promotion", &words)?.end(PATIENCE)?;
        self.engine = standby;
        Ok(format!("its standby was {}", said.join(" ").trim()))
    }
}

/// A promotion is measured with files of the size that an engine has by default.
fn with_default_segments(config: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::run(format!("{}: {error}", config.display()));
    let text = fs::read_to_string(config).map_err(failed)?;
    let sizes = ["segment_bytes", "tail_bytes"];
    let lines = text
        .lines()
        .filter(|line| !sizes.iter().any(|size| line.starts_with(size)));
    let text: Vec<&str> = lines.collect();
    fs::write(config, text.join("\n")).map_err(failed)
}

fn stand_by(command: &[String]) -> Result<Process, Failure> {
    let mut words = command.to_vec();
    words.push("--standby".to_owned());
    let mut standby = Process::start("standby", &words)?;
    standby.wait_for("fx_standby", PATIENCE)?;
    Ok(standby)
}

fn start(command: &[String]) -> Result<Process, Failure> {
    let mut engine = Process::start("engine", command)?;
    engine.wait_for("fx_started", PATIENCE)?;
    Ok(engine)
}

/// Positions of the banks by their ledgers, seen from our side.
pub fn ledgers(text: &str) -> Result<Positions, Failure> {
    positions(text.lines(), |line| {
        let books = line["positions"].as_object()?;
        let rows = books.iter();
        rows.map(|(pair, book)| Some((pair.clone(), units_and_cash(&book[0], &book[1])?)))
            .collect()
    })
}

fn units_and_cash(units: &Value, cash: &Value) -> Option<(i64, i128)> {
    let (whole, fraction) = cash
        .as_str()
        .map(|cash| cash.split_once('.').unwrap_or((cash, "")))?;
    let width = ticks::PRICE_DECIMALS as usize;
    let digits = format!("{whole}{fraction:0<width$}");
    Some((units.as_i64()?, digits.parse().ok()?))
}

/// Sums rows of JSON lines; other lines are passed over.
fn positions<'a>(
    lines: impl Iterator<Item = &'a str>,
    rows: impl Fn(&Value) -> Option<Vec<(String, (i64, i128))>>,
) -> Result<Positions, Failure> {
    let mut all = Positions::new();
    for line in lines.filter(|line| line.starts_with('{')) {
        let value: Value = serde_json::from_str(line).map_err(Failure::run)?;
        let rows = rows(&value).ok_or_else(|| Failure::run(format!("not a position: {line}")))?;
        for (pair, (units, cash)) in rows {
            let entry = all.entry(pair).or_default();
            entry.0 += units;
            entry.1 += cash;
        }
    }
    Ok(all)
}

/// Whether the positions are equal, and the text that says so. A pair that one side does not name is flat.
pub fn compare(own: &Positions, banks: &Positions, paint: Paint) -> (bool, String) {
    let mut text = format!("\n{}\n", paint.bold("Positions, and the banks' own books"));
    let pairs: Vec<&String> = own.keys().chain(banks.keys()).collect();
    let mut is_equal = !own.is_empty();
    for pair in BTreeMap::from_iter(pairs.into_iter().map(|pair| (pair, ()))).into_keys() {
        let of = |all: &Positions| all.get(pair).copied().unwrap_or_default();
        let (ours, theirs) = (of(own), of(banks));
        is_equal &= ours == theirs;
        let term = pair.split('/').next_back().unwrap_or_default();
        let words = |(base, cash): (i64, i128)| {
            let cash = ticks::text(cash, ticks::PRICE_DECIMALS);
            format!("{:>12}, cash {:>17} {term}", units(base), money(&cash))
        };
        // Writing into a string does not fail.
        let _ = match ours == theirs {
            true => writeln!(text, "  {} {}", paint.green(pair), words(ours)),
            false => writeln!(
                text,
                "  {} {}\n  the banks' books: {}, a difference of {} {term}",
                paint.red(pair),
                words(ours),
                words(theirs),
                ticks::text(ours.1 - theirs.1, ticks::PRICE_DECIMALS)
            ),
        };
    }
    let verdict = match is_equal {
        true => "equal: every position and its cash are those of the banks' books",
        false => "not equal: positions differ from the banks' books",
    };
    (is_equal, format!("{text}  {verdict}\n"))
}

/// Prints the result of the kill, as soon as it is known.
pub fn say_news(trading: &mut Trading) -> Result<(), Failure> {
    trading
        .news()
        .map_or(Ok(()), |news| say(&format!("{news}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANKS: &str = "{\"bank\":\"A\",\"positions\":{\"EUR/USD\":[3000,\"-3.3\"]}}\n\
                         {\"bank\":\"B\",\"positions\":{\"EUR/USD\":[-1000,\"1.11\"]}}\n";

    /// One unit, a billionth of cash or a pair more is a difference; a flat pair that one side leaves out is none.
    #[test]
    fn any_difference_is_found() {
        let banks = ledgers(BANKS).expect("ledgers");
        let compared = |own: &[(&str, i64, i128)]| {
            let own = own
                .iter()
                .map(|(pair, units, cash)| ((*pair).to_owned(), (*units, *cash)));
            compare(&own.collect(), &banks, Paint::plain())
        };
        let equal = |own: &[(&str, i64, i128)]| compared(own).0;
        assert!(equal(&[
            ("EUR/USD", 2_000, -2_190_000_000),
            ("USD/JPY", 0, 0)
        ]));
        assert!(!equal(&[("EUR/USD", 2_001, -2_190_000_000)]));
        assert!(!equal(&[("EUR/USD", 2_000, -2_190_000_001)]));
        assert!(!equal(&[
            ("EUR/USD", 2_000, -2_190_000_000),
            ("USD/JPY", 1, 0)
        ]));
        assert!(!equal(&[]));
        // Cash is in the pair's second currency, with any tick.
        let (_, text) = compared(&[
            ("EUR/USD", 1_000_000, -1_100_020_000_000_000),
            ("USD/JPY", -2_000_000, 300_000_000_000_000_000),
        ]);
        for part in [
            "1,000,000, cash     -1,100,020.00 USD",
            "-2,000,000, cash    300,000,000.00 JPY",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
