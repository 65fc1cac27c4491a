//! Files of the report: written as a whole when they changed, but fills, which are appended.

use super::page::page;
use crate::output::{Failure, Output};
use serde_json::{Map, Value, json};
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
    folder: Option<PathBuf>,
    /// Rows of fills that are not in the file yet.
    fills: String,
    /// The file of fills, after it was written once.
    appended: Option<File>,
    is_changed: bool,
}

impl Files {
    /// Files of an empty ledger in a folder, or none.
    pub fn new(folder: Option<&Path>, ledger: Ledger) -> Files {
        Files {
            ledger,
            folder: folder.map(Path::to_owned),
            fills: COLUMNS.join(",") + "\n",
            appended: None,
            is_changed: true,
        }
    }

    /// State.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes an entry of the engine.
    pub fn take(&mut self, told: &PublishedEntry<'_>) {
        self.ledger.take(told);
        let Entry::Event(event, _) = &told.entry else {
            return;
        };
        self.is_changed |= !matches!(event, Event::Composite { .. });
        if matches!(event, Event::Fill(_)) && self.folder.is_some() {
            told.lines(&mut String::new(), |kind, text| {
                assert_eq!(kind, LineKind::Fill, "a fill is one line");
                self.row(text);
            });
        }
    }

    /// Adds the row of a fill's line.
    fn row(&mut self, line: &str) {
        let line: Map<String, Value> = serde_json::from_str(line).expect("a line is JSON");
        let cells = COLUMNS.map(|column| match line.get(column) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => cell(text),
            Some(other) => other.to_string(),
        });
        self.fills.push_str(&cells.join(","));
        self.fills.push('\n');
    }

    /// Writes what changed since the last call.
    pub fn write(&mut self) -> Result<(), Failure> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::run(format!("{}: cannot be made ({error})", folder.display()))
        })?;
        append(&folder.join("fills.csv"), &mut self.appended, &self.fills)?;
        self.fills.clear();
        for (name, text) in [
            ("positions.jsonl", &positions(&self.ledger)),
            ("positions.csv", &position_rows(&self.ledger)),
            ("scorecard.jsonl", &scorecard(&self.ledger)),
            ("report.html", &page(&self.ledger)),
        ] {
            let mut output = Output::private(&folder.join(name))?;
            output.text(text)?;
            output.finish()?;
        }
        Ok(())
    }
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
    let line = |line: &String| {
        let rest = line.strip_prefix('{').unwrap_or(line);
        format!("{{\"t\":{},{rest}\n", ledger.scores_at_ns)
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

/// A cell that a bank named: quoted if it has a character of the format, and never a formula of a spreadsheet.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t']);
    match text.contains([',', '"', '\n', '\r']) || is_formula {
        true => {
            let mark = if is_formula { "'" } else { "" };
            format!("\"{mark}{}\"", text.replace('"', "\"\""))
        }
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use touchline_testing::Folder;

    /// A bank chooses its ExecIDs: none of them is a formula where the file is opened, and none breaks a row.
    #[test]
    fn a_cell_is_never_a_formula_of_a_spreadsheet() {
        for (text, expected) in [
            ("LP01-X1", "LP01-X1"),
            ("=1+1", "\"'=1+1\""),
            ("+1", "\"'+1\""),
            ("-2+3", "\"'-2+3\""),
            ("@a", "\"'@a\""),
            ("\ta", "\"'\ta\""),
            ("a,\"b", "\"a,\"\"b\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    /// Positions and fills are read by their owner alone; numbers stay numbers.
    #[test]
    fn files_of_the_report_are_private() {
        let folder = Folder::new("report");
        let mut files = Files::new(Some(&folder), Ledger::default());
        files.row("{\"t\":1,\"exec_id\":\"-1\",\"improve\":-5}");
        files.write().expect("our folder");
        let fills = std::fs::read_to_string(folder.join("fills.csv")).expect("a file");
        assert!(fills.ends_with("1,,,,\"'-1\",,,,,,-5,,,,,\n"), "{fills}");
        for entry in std::fs::read_dir(&folder).expect("our folder") {
            let entry = entry.expect("an entry");
            let mode = entry.metadata().expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
        }
    }
}
