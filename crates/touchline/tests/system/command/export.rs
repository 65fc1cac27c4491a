//! `touchline export`: files of other tools have what a replay has.

mod dbn;

use super::Desk;
use super::tape::recorded;
#[cfg(feature = "parquet")]
use super::tape::recorder;
use dbn::DbnFile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use touchline_lab::cme::{Options, generate};
use touchline_lab::fault::{FaultPlan, deliver};
use touchline_testing::built;
#[cfg(feature = "parquet")]
use touchline_testing::{PATIENCE, until};

fn rows(text: &str) -> Vec<Value> {
    let parsed = text.lines().map(serde_json::from_str);
    parsed.collect::<Result<_, _>>().expect("JSON lines")
}

/// Rows of a CSV file by the names of its columns.
fn table(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').map(str::to_owned).collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(cells)
            .collect()
    };
    lines.map(row).collect()
}

/// The first levels of a side of a book of a replay, up to one that was never stated.
fn levels(book: &Value, side: &str, count: usize) -> Vec<Level> {
    let list = book[side].as_array().expect("a list").iter().take(count);
    let known = list.take_while(|level| !level.is_null());
    known
        .map(|level| {
            let price = level[0].as_str().expect("a price").to_owned();
            let quantity = level[1].as_u64().expect("a whole quantity");
            (price, quantity, level[2].as_u64().unwrap_or(0))
        })
        .collect()
}

/// A part has the rows that a replay of the part has.
#[test]
fn a_part_of_a_tape_is_exported() {
    let desk = recorded("export-part");
    desk.run("export --journal tape --csv trades --out whole --quiet")
        .done();
    let whole = table(&desk.read("whole/trades.csv"));
    let middle = &whole[whole.len() / 2];
    let (symbol, sequence) = (&middle["symbol"], &middle["sequence"]);
    let part = format!("--from sequence:{sequence} --instrument {symbol}");
    desk.run(&format!(
        "export --journal tape {part} --csv trades --out part --quiet"
    ))
    .done();
    let trades = table(&desk.read("part/trades.csv"));
    assert!(trades.contains(middle) && trades.len() < whole.len());
    assert!(trades.iter().all(|trade| trade["symbol"] == *symbol));
    let played = format!("replay --journal tape {part} --trades part.csv --quiet");
    desk.run(&played).done();
    assert_eq!(table(&desk.read("part.csv")).len(), trades.len());
    desk.run(&format!(
        "export --journal tape {part} --parquet all --out p --follow"
    ))
    .refused(2, &["--follow"]);
    desk.run("export --journal tape --pcapng --out p")
        .refused(2, &["--pcapng is for raw recordings"]);
}

/// Rows of trades have the values of `replay --trades`, and the changes of a book, one after the other, give the books.
#[test]
fn tables_of_a_tape_have_the_trades_and_books_of_a_replay() {
    let desk = recorded("export-csv");
    desk.run("replay --journal tape --quiet --books books --trades trades.csv")
        .done();
    let said = desk.run("export --journal tape --csv all --out out").done();
    assert!(said.stdout.contains(" out/trades.csv"), "{said:?}");
    let expected = table(&desk.read("trades.csv"));
    let trades = table(&desk.read("out/trades.csv"));
    assert!(!trades.is_empty());
    assert_eq!(trades.len(), expected.len());
    for (trade, expected) in trades.iter().zip(&expected) {
        for name in ["price", "quantity", "symbol"] {
            assert_eq!(trade[name], expected[name], "{trade:?}");
        }
    }
    let about: Value = serde_json::from_str(&desk.read("out/trades.csv.json")).expect("JSON");
    assert_eq!(about["rows"], trades.len());
    assert_eq!(about["journal"].as_str().map(str::len), Some(32), "{about}");
    compare_books(&desk);
}

/// A reset of the channel empties the books, and the venue states them again.
#[test]
fn tables_of_a_capture_with_a_reset_have_the_books_of_its_replay() {
    let options = Options {
        events: 150,
        channel_resets: 1,
        ..Options::default()
    };
    let session = generate(&options, 5);
    let arrivals = deliver(&session, &FaultPlan::incremental([]), 5).arrivals;
    let desk = Desk::with("export-reset", session, arrivals);
    desk.replay("--quiet --books books").done();
    desk.run("export --config cme.toml --pcap session.pcap --csv all --quiet --out out")
        .done();
    let updates = table(&desk.read("out/book_updates.csv"));
    assert!(updates.iter().any(|row| row["action"] == "clear"));
    compare_books(&desk);
}

/// The rows of `out`, one after the other, give the direct books of the replay in `books`.
fn compare_books(desk: &Desk) {
    let mut books = Books::default();
    let mut rows_of_books = [
        table(&desk.read("out/book_updates.csv")),
        table(&desk.read("out/snapshots.csv")),
    ]
    .concat();
    // The state behind a message has its number, and stands behind its changes.
    rows_of_books.sort_by_key(|row| row["sequence"].parse::<u64>().expect("a number"));
    rows_of_books.iter().for_each(|row| books.take(row));
    let mut compared = 0;
    for book in rows(&desk.read("books")) {
        for (side, name) in [("bid", "bids"), ("ask", "asks")] {
            let expected = levels(&book, name, usize::MAX);
            let folded = books.of(&book["security_id"].to_string(), side);
            assert_eq!(folded, expected, "{book}");
            compared += expected.len();
        }
    }
    assert!(compared > 0, "books that are empty prove nothing");
}

/// Price, quantity and orders.
type Level = (String, u64, u64);

/// Direct books of rows: by the venue's id and side.
#[derive(Default)]
struct Books {
    lists: BTreeMap<(String, String), Vec<Level>>,
    /// Message of the last row of a whole book.
    whole: BTreeMap<String, String>,
}

impl Books {
    fn take(&mut self, row: &BTreeMap<String, String>) {
        if row["book"] != "direct" {
            return;
        }
        let id = &row["security_id"];
        let level = || {
            let number = |name: &str| row[name].parse().unwrap_or(0);
            (row["price"].clone(), number("quantity"), number("orders"))
        };
        let action = row.get("action").map_or("whole", String::as_str);
        if action == "whole" && self.whole.get(id) != Some(&row["sequence"]) {
            self.whole.insert(id.clone(), row["sequence"].clone());
            self.lists.retain(|(of, _), _| of != id);
        }
        // An empty book.
        if row["level"].is_empty() {
            return;
        }
        let at = row["level"].parse::<usize>().expect("a place");
        let key = (id.clone(), row["side"].clone());
        let list = self.lists.entry(key).or_default();
        match action {
            "insert" | "whole" => list.insert(at, level()),
            "replace" => list[at] = level(),
            "remove" => drop(list.remove(at)),
            "clear" => list.clear(),
            other => panic!("{other}"),
        }
    }

    fn of(&self, id: &str, side: &str) -> Vec<Level> {
        let list = self.lists.get(&(id.to_owned(), side.to_owned()));
        let list = list.into_iter().flatten();
        // A level that was never stated has no price.
        list.take_while(|level| !level.0.is_empty())
            .cloned()
            .collect()
    }
}

/// The records of DBN are those that the tables have, and the last record of each instrument has the ten best levels of a replay.
#[test]
fn records_of_a_tape_have_the_books_of_a_replay() {
    let desk = recorded("export-dbn");
    desk.run("replay --journal tape --quiet --books books")
        .done();
    desk.run("export --journal tape --quiet --csv trades,statistics --dbn all --out out")
        .done();
    let file = |name: &str| DbnFile::read(&desk.path(&format!("out/{name}.dbn")));
    for (schema, name) in [("trades", "trades"), ("statistics", "statistics")] {
        let rows = table(&desk.read(&format!("out/{name}.csv")));
        assert_eq!(file(schema).records.len(), rows.len(), "{schema}");
    }
    let mut compared = 0;
    for (schema, count) in [("mbp-10", 10), ("mbp-1", 1)] {
        let file = file(schema);
        for book in rows(&desk.read("books")) {
            let id = book["security_id"].as_u64().expect("a number") as u32;
            let symbol = book["symbol"].as_str().expect("a symbol");
            assert_eq!(file.symbols.get(symbol), Some(&id), "{symbol}");
            let last = file.last_of(id);
            for (side, name) in [(0, "bids"), (1, "asks")] {
                let expected = levels(&book, name, count);
                let folded = last.map_or_else(Vec::new, |record| record.levels(side));
                assert_eq!(folded, expected, "{schema} {symbol}");
                compared += expected.len();
            }
        }
    }
    assert!(compared > 0, "books that are empty prove nothing");
    // The same, compressed: two frames of zstd.
    desk.run("export --journal tape --quiet --dbn mbp-10 --zstd --out packed")
        .done();
    let packed = std::fs::read(desk.path("packed/mbp-10.dbn.zst")).expect("the file");
    let unpacked = zstd::stream::decode_all(&packed[..]).expect("frames of zstd");
    let plain = std::fs::read(desk.path("out/mbp-10.dbn")).expect("the file");
    assert!(unpacked == plain, "the content is the same");
}

/// Databento's own reader reads every file, and folds the books of a replay from it.
#[test]
fn databento_reads_the_records() {
    let Some(python) = built::python("python-dbn", &["databento_dbn"]) else {
        return;
    };
    let desk = recorded("export-databento");
    desk.run("replay --journal tape --quiet --books books --orders orders")
        .done();
    desk.run("export --journal tape --quiet --dbn all --out out")
        .done();
    check(&desk, &python, "read_dbn.py", &["out", "books", "orders"]);
}

/// Runs a program of this folder.
fn check(desk: &Desk, python: &Path, program: &str, arguments: &[&str]) {
    let programs = built::root().join("crates/touchline/tests/system/command/export");
    let output = Command::new(python)
        .arg(programs.join(program))
        .args(arguments)
        .current_dir(&desk.folder)
        .output()
        .expect("the environment has an interpreter");
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{failed}");
}

/// pyarrow, DuckDB and Polars read the rows of CSV from the files of Parquet, whose names a second export does not change.
#[cfg(feature = "parquet")]
#[test]
fn tables_of_parquet_are_those_of_csv() {
    let desk = recorded("export-parquet");
    let command = "export --journal tape --quiet --csv all --parquet all --out out";
    desk.run(command).done();
    let files = parquet_files(&desk);
    assert!(!files.is_empty());
    desk.run(command).done();
    assert_eq!(parquet_files(&desk), files, "the same names and bytes");
    let Some(python) = built::python("python-parquet", &["pyarrow", "duckdb", "polars"]) else {
        return;
    };
    check(&desk, &python, "read_parquet.py", &["out"]);
    for prices in ["decimal", "double"] {
        desk.run(&format!(
            "export --journal tape --quiet --parquet trades --prices {prices} --out {prices}"
        ))
        .done();
    }
}

/// Names of the files of Parquet, with their bytes.
#[cfg(feature = "parquet")]
fn parquet_files(desk: &Desk) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![desk.path("out")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("our folder") {
            let path = entry.expect("our folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| of == "parquet") {
                files.insert(path.clone(), std::fs::read(path).expect("the file"));
            }
        }
    }
    files
}

#[cfg(feature = "parquet")]
const FOLLOW: &str = "export --journal tape --quiet --parquet all --out out --follow";

/// A tape that is followed has the files of its closed segments, its position as a holder, and goes on behind it.
#[cfg(feature = "parquet")]
#[test]
fn a_followed_tape_is_exported_once() {
    let desk = recorded("export-follow");
    desk.run(FOLLOW).done();
    let files = parquet_files(&desk);
    assert!(!files.is_empty());
    let holder = || std::fs::read(desk.path("tape/holders/export-lab")).expect("a position");
    let position = holder();
    // Records without a message end the tape; they are exported, too.
    let segments = desk.run("journal ls tape").done().stdout;
    let closed = segments.lines().find(|line| line.contains("closed"));
    let used = closed.and_then(|line| line.split_whitespace().nth(3));
    let used = used.and_then(|bytes| bytes.parse::<u64>().ok());
    assert_eq!(
        Some(position.clone()),
        used.map(|bytes| bytes.to_le_bytes().to_vec())
    );
    // Without a further record the second run writes no file.
    desk.run(FOLLOW).done();
    assert_eq!(parquet_files(&desk), files);
    assert_eq!(holder(), position);
    // The host has crashed and lost records that were exported.
    let beyond = u64::from_le_bytes(position.clone().try_into().expect("8 bytes")) + 4_096;
    std::fs::write(desk.path("tape/holders/export-lab"), beyond.to_le_bytes()).expect("room");
    let again = desk.run(FOLLOW);
    let warning = format!("lost records below position {beyond}");
    assert!(
        again.status == 0 && again.stderr.contains(&warning),
        "{again:?}"
    );
    assert_eq!(parquet_files(&desk), files);
    assert_eq!(holder(), position);
    desk.run("export --journal tape --csv all --out out --follow")
        .refused(2, &["--follow is for Parquet"]);
}

/// A segment is exported when it is closed, and not with the next message: its position is behind its `End`, so that retention may remove it.
#[cfg(feature = "parquet")]
#[test]
fn a_closed_segment_is_exported_without_a_further_message() {
    let desk = Desk::new("export-quiet");
    let mut recorder = recorder(&desk, "--segment-s 1");
    desk.publish("--speed 0.25").done();
    recorder.wait_for_line("record_source_down");
    let segments = desk.run("journal ls tape").done().stdout;
    let bases = segments
        .lines()
        .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
    let base = bases.max().expect("a segment");
    let follow = desk.start(FOLLOW);
    let holder = desk.path("tape/holders/export-lab");
    until("the position of a quiet tape", PATIENCE, || {
        let bytes = std::fs::read(&holder).ok();
        let kept = bytes.and_then(|bytes| bytes.try_into().ok());
        kept.map_or(0, u64::from_le_bytes) > base
    });
    assert!(!parquet_files(&desk).is_empty());
    drop(follow);
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
}

/// A recorder that was killed goes on in the segment of that time: its file has the whole segment then, and not the rest alone.
#[cfg(feature = "parquet")]
#[test]
fn a_segment_that_goes_on_after_a_kill_is_exported_whole() {
    let desk = Desk::new("export-killed");
    let mut killed = recorder(&desk, "");
    desk.publish("--speed 0.25").done();
    killed.wait_for_line("record_source_down");
    killed.kill();
    desk.run(FOLLOW).done();
    let before = parquet_files(&desk);
    assert!(!before.is_empty());
    let holder = desk.path("tape/holders/export-lab");
    assert_eq!(std::fs::read(holder).expect("a position"), [0; 8]);
    let command = "record lab --journal tape --segment-mb 16 --until-eof";
    let mut again = desk.start_with_input(command);
    desk.publish("--speed 0.25").done();
    again.close();
    assert!(again.wait().success(), "{}", again.err());
    desk.run(FOLLOW).done();
    let after = parquet_files(&desk);
    let smaller = before
        .iter()
        .find(|(path, bytes)| after.get(*path).is_none_or(|now| now.len() < bytes.len()));
    assert_eq!(smaller.map(|(path, _)| path), None);
    assert_ne!(before, after);
}

/// A capture gives the rows that its tape gives, but for what the recorder was not there for.
#[test]
fn a_capture_has_the_trades_of_its_replay() {
    let desk = Desk::new("export-capture");
    desk.replay("--quiet --trades trades.csv").done();
    desk.run("export --config cme.toml --pcap session.pcap --csv trades --dbn trades --out out")
        .done();
    let trades = table(&desk.read("out/trades.csv"));
    assert_eq!(trades.len(), table(&desk.read("trades.csv")).len());
    assert!(trades.iter().all(|trade| trade["stamp"] == "capture"));
    let records = DbnFile::read(&desk.path("out/trades.dbn")).records;
    assert_eq!(records.len(), trades.len());
}

#[test]
fn wrong_arguments_of_an_export_are_refused_in_one_line() {
    let desk = Desk::bare("export-refused");
    desk.write("empty", "");
    let refused = |words: &str, status, parts: &[&str]| {
        desk.run(&format!("export {words}")).refused(status, parts);
    };
    refused(
        "--journal missing --csv tops --out out",
        1,
        &["no segment of a tape"],
    );
    refused("--journal missing --out out", 2, &["--csv", "--dbn"]);
    refused("--csv tops --out out", 2, &["--journal", "--pcap"]);
    refused(
        "--journal missing --csv tips --out out",
        2,
        &["tips", "tops"],
    );
    refused("--journal missing --csv tops", 2, &["--out"]);
    #[cfg(not(feature = "parquet"))]
    refused(
        "--journal missing --parquet tops --out out",
        2,
        &["this build writes no Parquet", "--features parquet"],
    );
    let long = "--journal missing --dbn mbo --out out --dataset SIXTEEN.LETTERS.X";
    refused(long, 2, &["1 to 15 characters"]);
    assert!(!desk.path("out").exists(), "nothing is written");
}

/// An export that fails leaves the files of the one before, and none of its own.
#[test]
fn a_failed_export_leaves_no_file() {
    let desk = recorded("export-failed");
    desk.run("export --journal tape --quiet --csv trades --out out")
        .done();
    let before = desk.read("out/trades.csv");
    let path = desk.path("tape/0000000001.tlj");
    let mut damaged = std::fs::read(&path).expect("a segment");
    damaged[9_000] ^= 1;
    std::fs::write(&path, damaged).expect("room");
    desk.run("export --journal tape --quiet --csv trades,tops --dbn mbo --out out")
        .refused(1, &["is damaged"]);
    let mut names: Vec<_> = std::fs::read_dir(desk.path("out"))
        .expect("our folder")
        .map(|entry| entry.expect("our folder").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["trades.csv", "trades.csv.json"]);
    assert_eq!(desk.read("out/trades.csv"), before);
}
