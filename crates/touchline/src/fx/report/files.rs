//! Files of the report: a folder of each trade date, and the whole period. Files are written as a whole when they changed, but fills,
//! which are appended.

use super::about::{Origin, about, digest, digits};
use super::account::{Account, Day};
use super::page::{Parts, page};
use super::period::Period;
use super::quality::qualities;
use super::tables::{self, cell};
use super::{scores, value_dates};
use crate::output::{Failure, Output};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use touchline_fx_desk::PublishedEntry;
use touchline_fx_desk::ledger::Ledger;
use touchline_fx_events::encoding::Entry;
use touchline_fx_events::event::Event;
use touchline_fx_events::lines::LineKind;

/// Columns of `fills.csv`, which are keys of a fill's line.
const COLUMNS: [&str; 16] = [
    "t",
    "clordid",
    "parent",
    "bank",
    "exec_id",
    "kind",
    "pair",
    "side",
    "qty",
    "price",
    "improve",
    "hold_ns",
    "late",
    "settl_date",
    "currency",
    "ref",
];

/// State of an engine, and the files that show it.
pub struct Files {
    ledger: Ledger,
    account: Account,
    folder: Option<PathBuf>,
    origin: Origin,
    period: Period,
    /// Fills of the whole period, and of each trade date.
    fills: BTreeMap<Option<Day>, Fills>,
    /// Trade dates whose files are out of date.
    changed: BTreeSet<Day>,
    /// Trade dates whose entries changed since the last head of the chain, and between the two heads before.
    uncovered: [BTreeSet<Day>; 2],
    /// Trade dates whose folder names an earlier head, which may not cover their entries, or lacks a fault.
    outdated: BTreeSet<Day>,
    is_changed: bool,
    /// Rows of each trade date in `scorecard_days.csv`, as its own files were written last.
    day_scores: BTreeMap<Day, Vec<Vec<String>>>,
}

/// Rows of a file of fills, which is appended to.
struct Fills {
    /// Rows that are not in the file yet.
    rows: String,
    /// The file, after it was written once.
    file: Option<File>,
    /// Digest of the whole file.
    sha256: Sha256,
}

impl Fills {
    fn new() -> Fills {
        Fills {
            rows: COLUMNS.join(",") + "\n",
            file: None,
            sha256: Sha256::new(),
        }
    }

    /// Appends the rows; returns the digest of the file.
    fn write(&mut self, path: &Path) -> Result<String, Failure> {
        append(path, &mut self.file, &self.rows)?;
        self.sha256.update(&self.rows);
        self.rows.clear();
        Ok(digits(&self.sha256.clone().finalize()))
    }
}

impl Files {
    /// Files of an empty ledger in a folder, or none; the ledger keeps every order.
    pub fn new(folder: Option<&Path>, origin: Origin, period: Period) -> Files {
        Files {
            ledger: Ledger::of_all_orders(),
            account: Account::default(),
            folder: folder.map(Path::to_owned),
            origin,
            period,
            fills: BTreeMap::from([(None, Fills::new())]),
            changed: BTreeSet::new(),
            uncovered: Default::default(),
            outdated: BTreeSet::new(),
            is_changed: true,
            day_scores: BTreeMap::new(),
        }
    }

    /// State.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Whether there is a folder.
    pub fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Notes the id of the journal, and its hash chain as far as it goes. The folders of days follow: an entry that was taken is in the
    /// file of the journal soon, at latest in the segment behind the one that is written, so the second head from then on covers it. A
    /// day whose entries are covered keeps its files.
    pub fn note_journal(&mut self, id: String, chain: String, faults: Vec<String>) {
        let origin = &mut self.origin;
        let is_other_head = chain != origin.chain;
        if is_other_head || id != origin.journal {
            // mutant: fx: the folder of a day keeps a head that does not cover its entries
            self.outdated.extend(self.uncovered.iter().flatten());
            self.is_changed = true;
        }
        if is_other_head {
            let [since, before] = &mut self.uncovered;
            *before = std::mem::take(since);
        }
        if faults != origin.faults {
            self.outdated.extend(self.account.days.keys());
            self.is_changed = true;
        }
        (origin.journal, origin.chain, origin.faults) = (id, chain, faults);
    }

    /// Takes an entry of the engine.
    pub fn take(&mut self, told: &PublishedEntry<'_>) {
        self.ledger.take(told);
        if self.folder.is_none() {
            return;
        }
        let day = self.account.take(&self.ledger, told);
        self.is_changed = true;
        let Some(day) = day.filter(|day| self.period.has(*day)) else {
            return;
        };
        self.changed.insert(day);
        if matches!(&told.entry, Entry::Event(Event::Fill(_), _)) {
            told.lines(&mut String::new(), |kind, text| {
                assert_eq!(kind, LineKind::Fill, "a fill is one line");
                self.row(day, text);
            });
        }
    }

    /// Adds the row of a fill's line.
    fn row(&mut self, day: Day, line: &str) {
        let line: Map<String, Value> = serde_json::from_str(line).expect("a line is JSON");
        let cells = COLUMNS.map(|column| match line.get(column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => cell(text),
            Some(other) => other.to_string(),
        });
        for of in [None, Some(day)] {
            let fills = self.fills.entry(of).or_insert_with(Fills::new);
            fills.rows.push_str(&cells.join(","));
            fills.rows.push('\n');
        }
    }

    /// Writes what changed since the last call.
    pub fn write(&mut self) -> Result<(), Failure> {
        let Some(folder) = self.folder.clone() else {
            return Ok(());
        };
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        self.changed.append(&mut self.account.changed);
        let mut days = std::mem::take(&mut self.outdated);
        days.extend(&self.changed);
        self.uncovered[0].append(&mut self.changed);
        for day in days {
            if self.period.has(day) {
                self.period(&folder.join(day.to_string()), Period::of(day), Some(day))?;
            }
        }
        self.period(&folder, self.period, None)
    }

    /// Writes the files of a period.
    fn period(&mut self, folder: &Path, period: Period, of: Option<Day>) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::run(format!("{}: cannot be made ({error})", folder.display()))
        })?;
        let fills = self.fills.entry(of).or_insert_with(Fills::new);
        let fills = fills.write(&folder.join("fills.csv"))?;
        let (account, currency) = (&self.account, &self.origin.currency);
        let positions = value_dates::positions(account, period, currency);
        let qualities = qualities(account, period);
        let is_whole = of.is_none() && period == Period::ALL;
        let parts = Parts {
            positions: &positions,
            qualities: &qualities,
            ledger: Some(&self.ledger).filter(|_| is_whole),
        };
        let mut texts = vec![
            ("parents.csv", tables::parents(account, period)),
            ("orders.csv", tables::orders(account, period)),
            ("commands.csv", tables::commands(account, period)),
            ("alarms.csv", tables::alarms(account, period)),
            (
                "value_dates.csv",
                tables::value_dates(account, &positions, currency),
            ),
            ("scorecard.csv", scores::scorecard(account, &qualities)),
            ("means.csv", scores::means(account, &qualities)),
            ("prices.csv", scores::prices(account, &qualities)),
            ("report.html", page(account, period, &self.origin, &parts)),
        ];
        match of {
            Some(day) => {
                let rows = scores::day_rows(account, day, &qualities);
                self.day_scores.insert(day, rows);
            }
            // The files of its trade dates are written before.
            None => {
                let days = self.day_scores.values().flatten();
                texts.push(("scorecard_days.csv", scores::scorecard_days(days)));
            }
        }
        // The state at the end of the journal is not that of a shorter period.
        // mutant: fx: a report on some days has the positions of all
        if is_whole {
            texts.push(("positions.jsonl", self::positions(&self.ledger)));
            texts.push(("positions.csv", position_rows(&self.ledger)));
            texts.push(("scorecard.jsonl", scorecard(&self.ledger)));
        }
        let mut digests = vec![("fills.csv", fills)];
        for (name, text) in texts {
            private(&folder.join(name), &text)?;
            digests.push((name, digest(text.as_bytes())));
        }
        let parts = (&*positions, &*qualities);
        let about = about(account, period, &self.origin, parts, &digests);
        private(&folder.join("about.json"), &about)
    }
}

fn private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut output = Output::private(path)?;
    output.text(text)?;
    output.finish()
}

/// The first call replaces the file; later calls append, so that a reader may follow the file.
fn append(path: &Path, file: &mut Option<File>, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::run(format!("{}: cannot be written ({error})", path.display()));
    if let Some(file) = file {
        return file.write_all(text.as_bytes()).map_err(failed);
    }
    let mut output = Output::private(path)?;
    output.text(text)?;
    output.finish()?;
    *file = Some(OpenOptions::new().append(true).open(path).map_err(failed)?);
    Ok(())
}

/// The scorecard as JSON lines, each with the time as of which it is.
pub fn scorecard(ledger: &Ledger) -> String {
    let line = |(at_ns, line): &(u64, String)| {
        let rest = line.strip_prefix('{').unwrap_or(line);
        format!("{{\"t\":{at_ns},{rest}\n")
    };
    ledger.scores.values().map(line).collect()
}

/// Positions as JSON lines, each with the time as of which it is.
pub fn positions(ledger: &Ledger) -> String {
    let mut text = String::new();
    for (pair, row) in &ledger.pairs {
        let line = json!({
            "t": ledger.at_ns, "pair": pair, "position": row.position, "cash": row.cash, "out": ledger.out(),
        });
        // Writing into a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    text
}

fn position_rows(ledger: &Ledger) -> String {
    let mut text = String::from("pair,position,cash,worst_long,worst_short,pnl\n");
    for (pair, row) in &ledger.pairs {
        let [long, short] = row.worst;
        let pnl = row.pnl.as_deref().unwrap_or_default();
        let _ = writeln!(
            text,
            "{},{},{},{long},{short},{pnl}",
            cell(pair),
            row.position,
            row.cash
        );
    }
    text
}

#[cfg(test)]
mod tests;
