//! Banks, their gateways, the trading engine and its report, each a process, as a user starts them.

use super::judge::Execution;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use touchline_testing::free_port;

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);
/// Longest lifetime of a parent.
const LIFETIME: Duration = Duration::from_millis(500);
/// Reversals and late fills of a bank come within this time.
const LATE: Duration = Duration::from_millis(300);
const BANKS: [&str; 2] = ["LP01", "LP02"];
const PAIRS: [&str; 2] = ["EUR/USD", "USD/JPY"];
/// Behavior of the banks.
const ORDERS: &str = "hold_ms = [1, 20]\nreject = 0.15\npartial = 0.2\nsplit = 0.2\nafter_end = 0.2\nbust = 0.1\ncorrect = 0.1";

/// The processes.
pub struct Market {
    program: PathBuf,
    folder: PathBuf,
    port: u16,
    random: u64,
    parents: u64,
    /// Ended in this order.
    engine: Option<Process>,
    gateways: Vec<Process>,
    banks: Option<Process>,
}

/// A process that ends when its standard input is closed, and is killed with this value.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Kills it with SIGKILL.
    pub fn kill(mut self) -> Result<()> {
        let ended = self.0.try_wait()?;
        ensure!(ended.is_none(), "it had ended already: {ended:?}");
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Ends it in order.
    pub fn end(mut self) -> Result<()> {
        drop(self.0.stdin.take());
        let status = self.0.wait()?;
        ensure!(status.success(), "a process of touchline failed: {status}");
        Ok(())
    }
}

impl Market {
    /// Starts everything but the report; the engine is ready when a small order has been filled.
    pub fn open(program: &Path, folder: &Path, seed: u64) -> Result<Market> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("banks.toml"), banks(seed))?;
        let mut market = Market {
            program: program.to_owned(),
            folder: folder.to_owned(),
            port: free_port(),
            random: seed,
            parents: 0,
            engine: None,
            gateways: Vec::new(),
            banks: None,
        };
        let line =
            "sim bank --config banks.toml --write fx --commands --until-eof --ledger ledger.jsonl";
        market.banks = Some(market.start(line, "banks")?);
        let engine = folder.join("fx/run.toml");
        until("the engine's file", || engine.exists())?;
        let section = format!(
            "\n[report]\nlisten = \"127.0.0.1:{}\"\nnumbers = \"numbers\"\n[[report.clients]]\ntarget = \"OPS\"\n",
            market.port
        );
        let mut file = OpenOptions::new().append(true).open(&engine)?;
        file.write_all(section.as_bytes())?;
        for name in BANKS.map(str::to_lowercase) {
            let line = format!("gateway --config fx/{name}.toml --until-eof");
            let gateway = market.start(&line, &name)?;
            market.gateways.push(gateway);
        }
        let line = "fx run --config fx/run.toml --until-eof";
        market.engine = Some(market.start(line, "engine")?);
        until("an engine that trades", || {
            let said = market.command("fx send EUR/USD buy 1000 --tif ioc --wait");
            said.is_ok_and(|said| said.contains(": 1000 filled"))
        })?;
        Ok(market)
    }

    /// Starts the drop copy.
    pub fn report(&self, output: &str) -> Result<Process> {
        self.start(
            "fx report --config fx/run.toml --follow --until-eof",
            output,
        )
    }

    /// Port of the drop copy.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends seeded parents, and cancels some.
    pub fn trade(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            let mut one = self.parent();
            ensure!(one.status()?.success(), "a parent was refused: {one:?}");
            if self.below(4) == 0 {
                // The parent may have ended.
                let id = format!("fx cancel P{}", self.parents);
                let _ = self.command(&id);
            }
        }
        Ok(())
    }

    fn parent(&mut self) -> Command {
        self.parents += 1;
        let pair = PAIRS[self.below(2) as usize];
        let side = ["buy", "sell"][self.below(2) as usize];
        let kind = ["--tif ioc", "--tif fok", "--deadline-ms 500"][self.below(3) as usize];
        let quantity = 1_000 * (1 + self.below(3_000));
        let id = self.parents;
        self.touchline(&format!(
            "fx send {pair} {side} {quantity} {kind} --id P{id}"
        ))
    }

    /// Ends the engine when no order is out, and the banks: the executions of the journal, and the ledgers.
    pub fn close(&mut self) -> Result<(Vec<Execution>, Vec<Value>)> {
        std::thread::sleep(LIFETIME);
        until("the end of all orders", || {
            let said = self.command("fx blotter --config fx/run.toml --once");
            said.is_ok_and(|said| said.contains(" 0 orders out"))
        })?;
        std::thread::sleep(LATE);
        self.engine.take().context("an engine")?.end()?;
        for gateway in self.gateways.drain(..) {
            gateway.end()?;
        }
        self.banks.take().context("banks")?.end()?;
        self.command("fx report --config fx/run.toml --out final")?;
        let fills = fs::read_to_string(self.folder.join("final/fills.csv"))?;
        let ledgers = fs::read_to_string(self.folder.join("ledger.jsonl"))?;
        let ledgers: Result<Vec<Value>, _> = ledgers.lines().map(serde_json::from_str).collect();
        Ok((Execution::of_csv(&fills)?, ledgers?))
    }

    /// A command of ours, whose words have no spaces, in the folder.
    fn touchline(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(line.split_whitespace())
            .current_dir(&self.folder)
            .env("TOUCHLINE_DIR", self.folder.join("buses"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs a command to its end: its output.
    fn command(&self, line: &str) -> Result<String> {
        let output = self.touchline(line).stdout(Stdio::piped()).output()?;
        ensure!(output.status.success(), "touchline {line} failed");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn start(&self, line: &str, output: &str) -> Result<Process> {
        let file = File::create(self.folder.join(output))?;
        let mut command = self.touchline(line);
        command.stdin(Stdio::piped()).stdout(file.try_clone()?);
        Ok(Process(command.stderr(file).spawn()?))
    }

    /// The next number of a seeded sequence (SplitMix64), below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn banks(seed: u64) -> String {
    let mut text = format!("seed = {seed}\nmove_ms = 50\n");
    for (symbol, precision, mid) in [(PAIRS[0], 5, 110_000), (PAIRS[1], 3, 150_000)] {
        text += &format!(
            "[[pairs]]\nsymbol = \"{symbol}\"\nprecision = {precision}\nspot_date = \"20260107\"\nmid_ticks = {mid}\n"
        );
    }
    for bank in BANKS {
        text +=
            &format!("[[banks]]\nname = \"{bank}\"\npairs = {PAIRS:?}\n[banks.orders]\n{ORDERS}\n");
    }
    text
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        ensure!(start.elapsed() < HANGS, "did not come: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
