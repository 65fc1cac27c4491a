//! `touchline fx report`: positions, fills and scorecard of a trading engine, from its journal.

use super::follow::{Source, open};
use crate::interrupt::Interrupt;
use crate::output::{Failure, Output, say};
use clap::Args;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_execution::blotter::Blotter;

/// Report positions, fills and the scorecard of a trading engine, from its journal.
///
/// The report is a process of its own: the engine does not notice whether it runs, is slow, is frozen or dies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  touchline fx report --config fx/run.toml
  touchline fx report --config fx/run.toml --out report --follow

Files of --out:
  positions.jsonl  position of each pair: base units, cash in term currency
  fills.csv        every fill, bust and correction
  scorecard.jsonl  scorecard of each bank and pair, as of the last minute or the end of the last run

Exit status:
  0  done, or stopped by Ctrl-C
  1  the journal cannot be read, a file cannot be written
  2  bad arguments or configuration")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Write the files into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Follow the engine until Ctrl-C; the files are written again each second that brought something
    #[arg(long, requires = "out")]
    follow: bool,
}

/// Columns of `fills.csv`, which are keys of a fill's line.
const COLUMNS: [&str; 13] = [
    "t", "clordid", "parent", "bank", "exec_id", "kind", "pair", "side", "qty", "price", "improve",
    "hold_ns", "late",
];
const EVERY: Duration = Duration::from_secs(1);
const NAP: Duration = Duration::from_millis(20);

/// Writes the report.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let mut follower = open(&arguments.source)?;
    let mut report = Report {
        blotter: Blotter::default(),
        fills: COLUMNS.join(",") + "\n",
    };
    loop {
        let start = Instant::now();
        let polled = follower.poll(&mut |kind, text| report.take(kind, text));
        let count = polled.map_err(Failure::run)?;
        if let Some(folder) = arguments
            .out
            .as_ref()
            .filter(|_| count > 0 || !arguments.follow)
        {
            report.write(folder)?;
        }
        if !arguments.follow {
            return say(&report.positions());
        }
        while start.elapsed() < EVERY {
            if interrupt.is_asked() {
                return say(&report.positions());
            }
            std::thread::sleep(NAP);
        }
    }
}

struct Report {
    blotter: Blotter,
    fills: String,
}

impl Report {
    fn take(&mut self, kind: u8, text: &str) {
        self.blotter.take(kind, text);
        if kind != 3 {
            return;
        }
        let Ok(line) = serde_json::from_str::<Map<String, Value>>(text) else {
            return;
        };
        let cells = COLUMNS.map(|column| match line.get(column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => cell(text),
            Some(other) => other.to_string(),
        });
        self.fills.push_str(&cells.join(","));
        self.fills.push('\n');
    }

    fn positions(&self) -> String {
        let mut text = String::new();
        for (pair, row) in &self.blotter.pairs {
            let line = json!({"pair": pair, "position": row.position, "cash": row.cash, "out": self.blotter.out()});
            // Writing into a string does not fail.
            let _ = writeln!(text, "{line}");
        }
        text
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::run(format!("{}: cannot be made ({error})", folder.display()))
        })?;
        let scores: Vec<&str> = self.blotter.scores.values().map(String::as_str).collect();
        let mut scorecard = scores.join("\n");
        if !scorecard.is_empty() {
            scorecard.push('\n');
        }
        for (name, text) in [
            ("positions.jsonl", &self.positions()),
            ("fills.csv", &self.fills),
            ("scorecard.jsonl", &scorecard),
        ] {
            let mut output = Output::open(&folder.join(name))?;
            output.text(text)?;
            output.finish()?;
        }
        Ok(())
    }
}

/// A cell that a bank named: quoted if it has a character of the format, and never a formula of a spreadsheet.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '@']);
    match text.contains([',', '"', '\n', '\r']) || is_formula {
        true => {
            let mark = if is_formula { "'" } else { "" };
            format!("\"{mark}{}\"", text.replace('"', "\"\""))
        }
        false => text.to_owned(),
    }
}
