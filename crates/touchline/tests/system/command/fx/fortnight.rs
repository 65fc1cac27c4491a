//! A fortnight of the real processes: banks with and without hours, gateways, composer and engine, over rolls of New York and of
//! Auckland, a change of time and holidays, killed with -9 at random moments. The wall clock is set from one time of interest to the
//! next, so a fortnight takes minutes.
//!
//! `KILLS` is the number of kills, `BANKS` that of the banks, `DAYS` that of the days with trading, at most 10; `SEED` selects moments
//! and load; `KEEP` names a directory that the files of a failed run are copied to. The whole fortnight:
//! `KILLS=200 BANKS=20 DAYS=10 cargo test -p touchline --test system -- fortnight --nocapture`.

mod clock;
mod day;
mod stops;

use super::books::{self, ByDate, Ledgers};
use super::deals::{Traded, deals};
use super::kills::account::{Account, settle};
use super::kills::desk::Load;
use super::kills::{end, keep, with_files};
use super::live::{composed, last, shown};
use super::trade::unguarded;
use crate::command::{Desk, until};
use clock::Clock;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use stops::{DAYS, Stop, stops};
use touchline_lab::random::{Random, amount};
use touchline_testing::{Process, skip};
use touchline_transport::bus::Root;

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(240);
/// Time in which processes read what the banks have sent, and notice that their clock was set.
const READ: Duration = Duration::from_millis(500);
/// Time without a fill after which the desk asks the banks itself.
const ASKED: Duration = Duration::from_secs(5);
/// The dates of these pairs are those of the calendars.
const PAIRS: &str = "[[pairs]]\nsymbol = \"EUR/USD\"\nprecision = 5\nmid_ticks = 110000\n\
                     [[pairs]]\nsymbol = \"USD/JPY\"\nprecision = 3\nmid_ticks = 150000\n\
                     [[pairs]]\nsymbol = \"NZD/USD\"\nprecision = 5\nmid_ticks = 60000\n\
                     [[pairs]]\nsymbol = \"USD/CAD\"\nprecision = 5\nmid_ticks = 136000\n";
const SYMBOLS: [&str; 4] = ["EUR/USD", "USD/JPY", "NZD/USD", "USD/CAD"];
/// Faults of a dealing desk.
const WRONG: &str = "hold_ms = [2, 60]\nreject = 0.05\npartial = 0.1\nsplit = 0.1\ndisconnect = 0.002\noutage_ms = 100\n\
     lost = 0.02\nsilent = 0.02\nlate = 0.03\nlate_ms = 700\n";

/// A process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Engine,
    Gateway,
    Composer,
}

/// Each victim, repeated by its weight.
const VICTIMS: [Victim; 7] = [
    Victim::Engine,
    Victim::Engine,
    Victim::Engine,
    Victim::Gateway,
    Victim::Gateway,
    Victim::Gateway,
    Victim::Composer,
];

/// The processes, and the engine as its lines state it.
struct Fortnight {
    desk: Desk,
    clock: Clock,
    random: Random,
    names: Vec<String>,
    banks: Process,
    gateways: Vec<Process>,
    composer: Process,
    /// With the name of its output.
    engine: (Process, String),
    starts: u32,
    load: Load,
    account: Account,
    dates: ByDate,
    kills: BTreeMap<Victim, u64>,
    with_orders_out: u64,
}

/// The configuration of a number of banks. Every other one has hours; of those every other one begins at 1 behind its end of day.
fn bank_file(seed: u64, names: &[String]) -> String {
    let mut text = format!("seed = {seed}\nmove_ms = 100\n{PAIRS}");
    for (place, name) in names.iter().enumerate() {
        let dialect = ["W", "WX", "i"][place % 3];
        let _ = write!(
            text,
            "[[banks]]\nname = \"{name}\"\npairs = {SYMBOLS:?}\ndialect = \"{dialect}\"\nspread_ticks = {}\n\
             [banks.orders]\n{WRONG}",
            2 + place % 4,
        );
        if place % 2 == 0 {
            text.push_str("after_end = 0.2\nbust = 0.03\ncorrect = 0.03\n");
            continue;
        }
        let numbers = ["keep", "begin"][place / 2 % 2];
        let closed = if place == 1 { "\"20261110\"" } else { "" };
        let _ = write!(
            text,
            "[banks.day]\nzone = \"America/New_York\"\nstart = \"17:04\"\nend = \"17:00\"\n\
             days = [\"SUN\", \"MON\", \"TUE\", \"WED\", \"THU\"]\nclosed = [{closed}]\nnumbers = \"{numbers}\"\n",
        );
    }
    text
}

const BANKS_LINE: &str = "sim bank --config banks.toml --write fx --store banks --commands --until-eof --ledger ledger.jsonl";
const ENGINE: &str = "fx run --config fx/run.toml --until-eof";
const COMPOSER: &str = "fx compose --config fx/compose.toml --until-eof";

impl Fortnight {
    /// The processes, five seconds before the first of these times. `None`: there is no C compiler.
    fn before(name: &str, stops: &[Stop], seed: u64, banks: usize) -> Option<Fortnight> {
        let desk = Desk::bare(name);
        let mut clock = Clock::build(&desk)?;
        clock.step(stops[0].from_ns as i64 - clock.now_ns() as i64 - 5_000_000_000);
        Some(Fortnight::open(desk, clock, seed, banks))
    }

    /// The value of a step that held; of one that did not, the files are kept, and the test ends.
    fn held<T>(&self, step: Result<T, String>, place: &str) -> T {
        step.unwrap_or_else(|what| {
            keep(&self.desk);
            panic!("{place}: {what}");
        })
    }

    fn open(desk: Desk, clock: Clock, seed: u64, banks: usize) -> Fortnight {
        let names: Vec<String> = (1..=banks).map(|bank| format!("LP{bank:02}")).collect();
        desk.write("banks.toml", bank_file(seed, &names));
        let start = |line: &str, name: &str| with_files(&desk, clock.of(desk.command(line)), name);
        let banks = start(BANKS_LINE, "banks");
        until("the engine's file", || desk.path("fx/run.toml").exists());
        unguarded(&desk);
        for name in &names {
            let file = format!("fx/{}.toml", name.to_ascii_lowercase());
            let text = desk.read(&file);
            desk.write(&file, text.replace("\"100us\"", "\"2ms\""));
        }
        let gateways = names.iter().map(|name| gateway(&desk, &clock, name));
        let gateways = gateways.collect();
        let composer = start(COMPOSER, "composer");
        let engine = (start(ENGINE, "engine0"), "engine0".to_owned());
        let root = Root::at(desk.path("buses"));
        Fortnight {
            random: Random::from_seed(seed ^ 0xF0F7),
            names,
            banks,
            gateways,
            composer,
            engine,
            starts: 0,
            load: Load::open(&root, seed, &SYMBOLS),
            account: Account::of(&desk, &root),
            dates: ByDate::default(),
            kills: BTreeMap::new(),
            with_orders_out: 0,
            desk,
            clock,
        }
    }

    fn start(&self, line: &str, name: &str) -> Process {
        with_files(&self.desk, self.clock.of(self.desk.command(line)), name)
    }

    /// Sets the clocks of all processes, forward, without connections: the clock of a connection is that of its begin, as the clock of
    /// a real bank has no step.
    fn set(&mut self, to_ns: u64) {
        let answers = |desk: &Desk| desk.read("banks.out").matches("ok").count();
        let before = answers(&self.desk);
        for name in &self.names {
            self.banks
                .tell(&format!("outage {name} {}", 3 * READ.as_millis()));
        }
        self.banks.tell("pause");
        let all = before + self.names.len() + 1;
        until("a pause of the banks", || answers(&self.desk) >= all);
        std::thread::sleep(READ);
        let step_ms = to_ns.saturating_sub(self.clock.now_ns()) / 1_000_000;
        self.clock.step(step_ms as i64 * 1_000_000);
        std::thread::sleep(READ);
        self.banks.tell(&format!("clock {step_ms}"));
    }

    /// Reads the lines of the engine.
    fn follow(&mut self) -> Result<(), String> {
        let dates = &mut self.dates;
        self.account.follow(|kind, text| dates.take(kind, text))
    }

    /// Sends parents and other commands once.
    fn trade(&mut self) -> Result<(), String> {
        self.load.act(&self.account.ledger);
        self.follow()?;
        std::thread::sleep(Duration::from_millis(5));
        Ok(())
    }

    /// Trades until the engine has booked a fill since now.
    fn trade_until_filled(&mut self) -> Result<(), String> {
        let (start, fills) = (Instant::now(), self.account.books.fills);
        let mut asked = start;
        while self.account.books.fills == fills {
            self.is_running()?;
            if start.elapsed() > HANGS {
                return Err("the engine trades no more".to_owned());
            }
            // An engine that was killed while it began may lack orders: it waits for each bank, also a closed one, or for the desk.
            if asked.elapsed() > ASKED {
                asked = Instant::now();
                for bank in &self.names {
                    self.load.enable(bank, SYMBOLS[0]);
                }
            }
            self.trade()?;
        }
        Ok(())
    }

    /// Trades around a time of interest, with this number of kills in it.
    fn stop_at(&mut self, stop: Stop, kills: u64) -> Result<(), String> {
        self.set(stop.from_ns);
        let span_ns = stop.until_ns - stop.from_ns;
        let moments = (0..kills).map(|_| stop.from_ns + self.random.below(span_ns));
        let mut moments: Vec<u64> = moments.collect();
        moments.sort_unstable();
        for moment_ns in moments.into_iter().chain([stop.until_ns]) {
            while self.clock.now_ns() < moment_ns {
                self.trade()?;
            }
            self.is_running()?;
            if moment_ns < stop.until_ns {
                self.kill();
            }
        }
        self.trade_until_filled()
    }

    /// One kill, and the start of another process in its place.
    fn kill(&mut self) {
        // Each of them in a short run.
        let victim = match self.kills.values().sum::<u64>() {
            0 => Victim::Engine,
            1 => Victim::Gateway,
            2 => Victim::Composer,
            _ => *self.random.pick(&VICTIMS),
        };
        *self.kills.entry(victim).or_default() += 1;
        match victim {
            Victim::Engine => {
                self.with_orders_out += u64::from(self.account.ledger.out() > 0);
                self.engine.0.kill();
                self.starts += 1;
                let output = format!("engine{}", self.starts);
                self.engine = (self.start(ENGINE, &output), output);
            }
            Victim::Gateway => {
                let bank = self.random.index(self.names.len());
                self.gateways[bank].kill();
                self.gateways[bank] = gateway(&self.desk, &self.clock, &self.names[bank]);
            }
            Victim::Composer => {
                self.composer.kill();
                self.composer = self.start(COMPOSER, "composer");
            }
        }
    }

    /// No process ended by itself.
    fn is_running(&mut self) -> Result<(), String> {
        let mut all = vec![
            (&mut self.engine.0, self.engine.1.clone()),
            (&mut self.banks, "banks".to_owned()),
            (&mut self.composer, "composer".to_owned()),
        ];
        all.extend(self.gateways.iter_mut().zip(self.names.iter().cloned()));
        for (process, name) in all {
            if !process.is_running() {
                let status = process.wait();
                let said = self.desk.read(&format!("{name}.err"));
                let last = said.lines().last().unwrap_or_default();
                return Err(format!("{name} ended by itself ({status}): {last}"));
            }
        }
        Ok(())
    }

    /// Memory in KiB and open descriptors of engine, composer and all gateways together.
    fn resources(&self) -> [(u64, usize); 3] {
        let gateways = self.gateways.iter().map(|gateway| used(gateway.id()));
        let sum = |sum: (u64, usize), of: (u64, usize)| (sum.0 + of.0, sum.1 + of.1);
        [
            used(self.engine.0.id()),
            used(self.composer.id()),
            gateways.fold((0, 0), sum),
        ]
    }

    /// The banks inject no faults any more, and no order is sent: open and unknown orders come to their end.
    fn settle(&mut self) -> Result<(), String> {
        self.banks.tell("heal");
        settle(HANGS, || {
            self.is_running()?;
            let before = self.account.books.fills;
            self.follow()?;
            Ok(self.account.unsettled(before))
        })
    }

    /// The composite that a reader has is the best of the banks.
    fn compare_composite(&mut self) {
        let tail = self.desk.start("tail fx --json");
        let rows = || {
            let banks = last(&self.desk.read("banks.out"), shown);
            (banks, last(&tail.out(), composed))
        };
        let banks = &mut self.banks;
        until("the composite of the banks", || {
            banks.tell("best");
            let (banks, composite) = rows();
            banks.len() == SYMBOLS.len() && banks == composite
        });
    }

    /// Ends everything, and compares.
    fn compare(&mut self) -> Result<Ledgers, String> {
        self.settle()?;
        self.compare_composite();
        end(&mut self.engine.0)?;
        self.follow()?;
        end(&mut self.composer)?;
        self.gateways.iter_mut().try_for_each(end)?;
        end(&mut self.banks)?;
        let said = self.desk.read(&format!("{}.out", self.engine.1));
        let ledgers = Ledgers::read(&self.desk.read("ledger.jsonl"));
        books::judge_end(&said, &ledgers)?;
        books::judge(&self.account.books, &ledgers)?;
        books::is_equal(
            "its value dates",
            &self.dates.positions(),
            &ledgers.by_date(),
        )?;
        match ledgers.count("wrong_dates") {
            0 => {}
            count => return Err(format!("{count} orders had a date that was not their own")),
        }
        let deals = self
            .names
            .iter()
            .flat_map(|name| deals(&self.desk, "banks", name));
        Traded::new(deals.collect(), self.load.wanted.clone()).judge()?;
        Ok(ledgers)
    }
}

fn gateway(desk: &Desk, clock: &Clock, bank: &str) -> Process {
    let line = format!(
        "gateway --config fx/{}.toml --until-eof",
        bank.to_ascii_lowercase()
    );
    with_files(desk, clock.of(desk.command(&line)), bank)
}

/// Resident memory of a process in KiB, and its open descriptors.
fn used(id: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let memory = status.lines().find_map(|line| {
        let value = line.strip_prefix("VmRSS:")?;
        value.trim().strip_suffix(" kB")?.parse().ok()
    });
    let open = std::fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
    (memory.unwrap_or(0), open)
}

/// Size of the files of a folder.
fn kib(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).expect("our folder").flatten();
    let sizes = files.filter_map(|file| file.metadata().ok());
    sizes.map(|about| about.blocks() / 2).sum()
}

/// Positions by value date are those of the banks, no order and no execution came twice, no parent was traded beyond its quantity, and
/// no order had a date that was not its pair's when it left.
#[test]
fn a_fortnight_over_rolls_and_kills_has_the_positions_and_dates_of_the_banks() {
    let (kills, seed) = (amount("KILLS", 4), amount("SEED", 1));
    let (banks, days) = (amount("BANKS", 6) as usize, amount("DAYS", 1) as usize);
    println!("SEED={seed} KILLS={kills} BANKS={banks} DAYS={days}");
    let stops = stops(days.min(DAYS));
    let Some(mut run) = Fortnight::before("fx-fortnight", &stops, seed, banks) else {
        return skip("no C compiler");
    };
    let count = stops.len() as u64;
    for (number, stop) in stops.into_iter().enumerate() {
        let number = number as u64;
        let here = kills * (number + 1) / count - kills * number / count;
        let held = run.stop_at(stop, here);
        run.held(held, &format!("seed {seed}, {stop:?}"));
        println!(
            "{} {}: {:?}, {} fills; memory in KiB and descriptors of engine, composer and gateways: {:?}; journal {} KiB",
            stop.what,
            touchline_fx_days::utc(stop.from_ns),
            run.kills,
            run.account.books.fills,
            run.resources(),
            kib(&run.desk.path("fx/journal"))
        );
    }
    let compared = run.compare();
    let ledgers = run.held(compared, &format!("seed {seed}"));
    println!(
        "{:?}, {} of the engine with orders out; {} parents, {} orders, {} fills, {} questions; {:?}",
        run.kills,
        run.with_orders_out,
        run.load.wanted.len(),
        ledgers.count("orders"),
        run.account.books.fills,
        ledgers.count("questions"),
        run.account.outcomes
    );
    let dates = run.dates.positions();
    let other = ledgers.of_another_date().by_date();
    let judged = books::is_equal("", &dates, &other);
    assert!(judged.is_err(), "{other:?} was not noticed");
    let traded = ledgers.value_dates();
    assert!(traded.len() > days, "only {traded:?} were traded");
    assert!(
        run.account.books.fills > kills,
        "{}",
        run.account.books.fills
    );
}
