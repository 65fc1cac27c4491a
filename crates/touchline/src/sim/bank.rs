//! `touchline sim bank`: banks that quote currency pairs, each a FIX 4.4 acceptor on a port of its own.

mod files;

use super::clients::Clients;
use super::logged::logged;
use super::orders::{Orders, answer};
use crate::format::counted;
use crate::interrupt::Interrupt;
use crate::log::LogArguments;
use crate::output::{Failure, Output, say};
use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use touchline_fx_events::ticks;
use touchline_lab::bank::{Banks, Best, Config};
use touchline_lab::pacing::Pacer;
use touchline_types::ReceiveTime;

/// Simulate banks that quote currency pairs over FIX 4.4.
///
/// Every bank quotes around one seeded mid with a separate spread, skew, tiers, latency and dialect. The configuration sets the
/// faults: silences, outages, disconnects, wrong clocks, inverted and malformed quotes. When the simulator is stopped, it stops
/// injecting faults, every bank quotes once more, and the best prices of the banks are printed.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Configuration file (TOML); its settings are below.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Write a gateway's configuration of each bank, compose.toml and, if banks take orders, run.toml into this folder.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Write the best prices of the banks at the end to this file.
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Write the banks' ledgers of trades to this file at the end, a JSON object a bank.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Keep orders, books and order sessions of the banks in this folder: banks that are killed and started again with it know
    /// every order and execution, and listen on the same ports.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Read commands from standard input, one a line; the answers go to standard output.
    #[arg(long)]
    commands: bool,
    /// Stop when standard input is closed, for a process that starts this as a child.
    #[arg(long, requires = "commands")]
    until_eof: bool,
    /// Stop after N seconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    #[command(flatten)]
    log: LogArguments,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim bank --config banks.toml --write fx
  touchline sim bank --config banks.toml --seconds 60 --expected best.jsonl
  touchline sim bank --config banks.toml --store banks

Commands of --commands:
  heal                     stop all faults and freeze the mids; every bank quotes once more
  best                     print the best prices of the banks
  ledger                   print the trades in the banks' ledgers
  outage BANK MS           BANK closes its connections and refuses others for MS milliseconds
  pause                    do nothing until the next command
  clock MS                 set the clocks of all banks MS milliseconds ahead of where they are
  quit                     stop, as on Ctrl-C

Settings of the file, with defaults in parentheses (shares are 0 to 1):
  seed (1)                 seed of the mids and of all random events
  address (127.0.0.1), port (0)
                           port of the first bank; each further one has the next; 0 takes any
                           free ports
  profile (\"calm\")         calm: the mid moves ten times a second and some banks follow;
                           burst: four times a second it moves twenty times at once and every
                           bank follows; sparse: one quote a minute
  move_ms                  mean time between two moves, in place of the profile's
  [[pairs]]                symbol, precision (5), spot_date (that of the built-in calendars,
                           which changes with the day), mid_ticks (initial mid), step_ticks
                           (2, largest move); or ticks: a CSV file of recorded ticks
                           (time,bid,ask), each move takes the next mid, to the end and back
  [tls]                    certificate_file, key_file (mode 0600): certificate of all banks with
                           its chain, and its key, in PEM; roots_file: issuers that --write
                           names (the certificate itself); client_roots_file: issuers of client
                           certificates, a client without one is refused, with
                           client_certificate_file and client_key_file for --write

Each of [[banks]]:
  name, pairs              its CompID: 1 to 16 letters, digits, . _ -, unique without regard to
                           case, not compose, run, fx, fx-run or ports; symbols in its order
  dialect (\"W\")            W snapshots, WX then increments, S quotes, i mass quotes
  kind (\"sweep\")           sweep: amounts that add up; full: bands
  spread_ticks (4), skew_ticks (0)
                           spread at the first tier; offset of its prices above the mid
  tiers, tier_ticks (1)    sizes (1, 3 and 5 million), and the additional distance for each
  follows (0.5), latency_ms (0)
                           share of moves that it follows (calm), and the delay
  life_ms (0)              stated lifetime of its quotes; 0 states none
  clock_ms (0)             offset of its clock ahead of the host's
  silence, silence_ms (1000)
                           share of quotes after which it sends nothing for this time
  disconnect               share of quotes after which it closes the connection
  outage, outage_ms (1000) the same, and it rejects connections for this time
  inverted, malformed      shares of quotes that are inverted or malformed
  bad_checksum, sequence_gap
                           shares of quotes with a wrong checksum, and of quotes that are not
                           sent although their sequence number is used
  flood                    share of quotes with 10,000 further entries far from the best; W only

[banks.orders], the dealing desk of a bank; without it the bank takes no orders:
  port (0)                 port of the order session; 0 takes any free one
  hold_ms ([0, 0])         shortest and longest hold before the desk compares the order with its
                           best price, whatever the order's quantity
  last_look_ticks (2)      ticks by which its price may have moved at the end of the hold
  reject, reject_codes ([30, 31, 32])
                           share of orders rejected at any price, and their reasons (103)
  partial, split           shares of IOC orders filled by half, and in two parts
  lost, silent             shares of orders that do not arrive, and of orders without a report; a
                           status request is answered, and their trades are not reversed
  late, late_ms (1000)     share of orders answered late
  after_end                share of rejected orders that are filled afterwards
  bust, correct            shares of fills that are reversed, and corrected by one tick
  contradict, contradict_in (all)
                           share of reports that contradict themselves or their order, and in
                           which tags: 14, 17, 31, 32, 38, 39, 64, 151; the ledger is right and
                           counts them
  mass_status_ms (10000)   how long an order that has ended is part of the answer to a mass
                           status; open ones always are
  disconnect, outage_ms (200)
                           share of orders after which the connection is closed, and the time
                           for which new ones are refused

Of a bank, in a table [banks.day]; without one it is always open:
  zone, start, end, days   its hours, as \"America/New_York\", \"17:04\", \"17:00\", [\"SUN\", \"MON\"]: at the end it
                           logs its clients out, and refuses others until the next start
  closed                   its holidays: dates on which no session starts, as [\"20261225\"]
  numbers (\"keep\")         \"begin\": behind its end of day the order session begins at 1, without 141
  drops_orders (false)     a lost order session ends its open orders, and no question is answered

Exit status:
  0  stopped
  1  the run failed: a port is in use, an output cannot be written
  2  bad arguments or configuration";

/// Time for quotes to arrive after the faults were stopped.
const HEALING_NS: u64 = 1_500_000_000;
/// Maximum wait for gateways to log out at the end.
const FAREWELL_NS: u64 = 2_000_000_000;

/// Delay of a command to paused banks.
const PAUSED_SLEEP: Duration = Duration::from_millis(1);

/// A command on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Command {
    Heal,
    Best,
    Ledger,
    Outage { bank: String, ms: u64 },
    Clock { ms: u64 },
    Pause,
    Quit,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Command, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["heal"] => Ok(Command::Heal),
            ["best"] => Ok(Command::Best),
            ["ledger"] => Ok(Command::Ledger),
            ["quit"] => Ok(Command::Quit),
            ["pause"] => Ok(Command::Pause),
            ["outage", bank, ms] => Ok(Command::Outage {
                bank: bank.to_owned(),
                ms: milliseconds(ms)?,
            }),
            ["clock", ms] => Ok(Command::Clock {
                ms: milliseconds(ms)?,
            }),
            _ => Err(format!(
                "{text:?} is not a command; give heal, best, ledger, outage BANK MS, pause, clock MS or quit"
            )),
        }
    }
}

fn milliseconds(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a number of milliseconds"))
}

struct Running<'a> {
    arguments: &'a Arguments,
    banks: Banks,
    /// Warning about files of an earlier run that do not fit these banks.
    note: Option<String>,
    pacer: Pacer,
    /// How far commands have set the banks' clocks ahead, nanoseconds.
    ahead_ns: u64,
    /// A command stops all banks until the next one.
    is_paused: bool,
}

/// Runs the banks until a signal, a command or the given time ends them.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let mut orders = Orders::listen(arguments.commands, arguments.until_eof)?;
    let mut running = Running::open(arguments)?;
    logged(arguments.log, "bank", &running.describe(), |log| {
        let mut clients = Clients::default();
        let mut is_over = false;
        while !is_over {
            while let Some(command) = orders.next() {
                is_over |= running.obey(command)?;
            }
            is_over |= interrupt.is_asked() || running.pacer.is_over(arguments.seconds);
            running.turn();
            if let Some(what) = running.banks.failure() {
                return Err(Failure::run(what.to_owned()));
            }
            clients.log(running.clients(), log);
        }
        running.close()
    })
}

impl<'a> Running<'a> {
    fn open(arguments: &'a Arguments) -> Result<Running<'a>, Failure> {
        let config = files::read(&arguments.config)?;
        let tls = files::tls_server(&config)?;
        let banks = Banks::listen(config, tls.as_ref(), arguments.store.as_deref())
            .map_err(|error| Failure::run(error.to_string()))?;
        let mut note = None;
        if let Some(folder) = &arguments.write {
            files::write(folder, &banks)?;
            note = arguments
                .store
                .is_none()
                .then(|| files::old_journal(folder))
                .flatten();
        }
        Ok(Running {
            note,
            arguments,
            banks,
            pacer: Pacer::start(),
            ahead_ns: 0,
            is_paused: false,
        })
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for bank in self.banks.banks() {
            let config = bank.config();
            // Writing into a string does not fail.
            let _ = writeln!(
                text,
                "listening on {}: bank {}",
                bank.address(),
                config.name
            );
            if let Some(address) = bank.orders_address() {
                let _ = writeln!(
                    text,
                    "listening on {address}: orders of bank {}",
                    config.name
                );
            }
        }
        if let Some(note) = &self.note {
            let _ = writeln!(text, "{note}");
        }
        text
    }

    fn clients(&self) -> Clients {
        let all = self.banks.banks().iter();
        let logons = all.map(|bank| bank.totals().clients).sum();
        Clients {
            connections: logons,
            logons,
            refused: 0,
        }
    }

    fn time(&self) -> ReceiveTime {
        let time = self.pacer.time();
        ReceiveTime {
            wall_ns: time.wall_ns + self.ahead_ns,
            ..time
        }
    }

    fn turn(&mut self) {
        if self.is_paused {
            return std::thread::sleep(PAUSED_SLEEP);
        }
        if !self.banks.work(self.time()) {
            self.banks.sleep(self.pacer.elapsed_ns());
        }
    }

    fn turns(&mut self, ns: u64, is_over: impl Fn(&Banks) -> bool) {
        let until_ns = self.pacer.elapsed_ns() + ns;
        while self.pacer.elapsed_ns() < until_ns && !is_over(&self.banks) {
            self.turn();
        }
    }

    fn obey(&mut self, command: Command) -> Result<bool, Failure> {
        self.is_paused = command == Command::Pause;
        match &command {
            Command::Heal => self.banks.heal(self.time()),
            Command::Best => say(&best_lines(&self.banks))?,
            Command::Ledger => say(&ledger_lines(&self.banks))?,
            Command::Outage { bank, ms } => {
                let time = self.time();
                match self.banks.outage(bank, *ms, time) {
                    true => answer(&format!("ok {bank} is out")),
                    false => answer(&format!("refused: no bank {bank:?}")),
                }
                return Ok(false);
            }
            Command::Clock { ms } => self.ahead_ns += ms * 1_000_000,
            Command::Pause => {}
            Command::Quit => {}
        }
        answer("ok");
        Ok(command == Command::Quit)
    }

    /// Stops the faults; the composite then converges to the best prices of the banks.
    fn close(mut self) -> Result<(), Failure> {
        self.banks.heal(self.time());
        self.turns(HEALING_NS, |_| false);
        if let Some(path) = &self.arguments.expected {
            let mut output = Output::open(path)?;
            output.text(&best_lines(&self.banks))?;
            output.finish()?;
        }
        if let Some(path) = &self.arguments.ledger {
            let mut output = Output::open(path)?;
            output.text(&ledger_lines(&self.banks))?;
            output.finish()?;
        }
        let text = summary(&self.banks);
        self.banks.log_out(self.time());
        self.turns(FAREWELL_NS, Banks::is_empty);
        say(&text)
    }
}

/// The best prices of each pair, a JSON object a line.
fn best_lines(banks: &Banks) -> String {
    let mut text = String::new();
    for (pair, about) in banks.config().pairs.iter().enumerate() {
        let side = |best: &Option<Best>| match best {
            None => serde_json::Value::Null,
            Some(best) => serde_json::json!([
                ticks::text(best.price.into(), about.precision.into()),
                best.quantity,
                best.banks,
            ]),
        };
        let [bid, ask] = banks.best(pair);
        let line = serde_json::json!({"pair": about.symbol, "bid": side(&bid), "ask": side(&ask)});
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The books of each bank with a dealing desk, a JSON object a line.
fn ledger_lines(banks: &Banks) -> String {
    let pairs = banks.config().pairs.iter();
    let pairs: Vec<(&str, u32)> = pairs
        .map(|pair| (pair.symbol.as_str(), u32::from(pair.precision)))
        .collect();
    let mut text = String::new();
    for bank in banks.banks() {
        if let Some(books) = bank.books() {
            let _ = writeln!(text, "{}", books.json(&bank.config().name, &pairs));
        }
    }
    text
}

/// Counts of each bank, of its faults those that occurred, in a line.
fn summary(banks: &Banks) -> String {
    let mut text = String::new();
    for bank in banks.banks() {
        let totals = bank.totals();
        let _ = write!(
            text,
            "bank {}: {}, {}",
            bank.config().name,
            counted(totals.clients, "client"),
            counted(totals.quotes, "quote")
        );
        for (number, what) in [
            (totals.silences, "silence"),
            (totals.disconnects, "disconnect"),
            (totals.outages, "outage"),
            (totals.inverted, "inverted quote"),
            (totals.malformed, "malformed quote"),
            (totals.bad_checksums, "bad checksum"),
            (totals.sequence_gaps, "sequence gap"),
            (totals.floods, "flood"),
        ] {
            if number > 0 {
                let _ = write!(text, ", {}", counted(number, what));
            }
        }
        text.push('\n');
    }
    let ledger = ledger_lines(banks);
    if !ledger.is_empty() {
        text.push_str("\ntrades in the banks' ledgers:\n");
        text.push_str(&ledger);
    }
    text.push_str("\nbest prices of the banks:\n");
    text.push_str(&best_lines(banks));
    text
}

#[cfg(test)]
mod tests {
    use super::AFTER_HELP;

    #[test]
    fn the_help_names_every_setting() {
        let config = include_str!("../../../lab/src/bank/config.rs");
        let lines = config.lines();
        let fields = lines
            .clone()
            .zip(lines.skip(1))
            .filter_map(|(before, line)| {
                let field = line.strip_prefix("    pub ")?;
                let (name, _) = field.split_once(": ")?;
                // The file cannot have a field that serde skips.
                let is_setting = !name.contains(' ') && before.trim() != "#[serde(skip)]";
                is_setting.then_some(name)
            });
        let settings: Vec<&str> = fields.collect();
        assert!(settings.len() > 50, "{settings:?}");
        for setting in settings {
            assert!(AFTER_HELP.contains(setting), "{setting}");
        }
    }
}
