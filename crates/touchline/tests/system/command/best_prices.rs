//! The best bid and offer is one thing: files, screens and every language have the same rows of one session.

use super::Desk;
use super::examples::{Running, published, settle};
use super::series::price;
use crate::sessions::recovery::everything_at_once;
use crate::sessions::seeds;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use touchline_client::{Bus, Decimal, Event, Events, Next, Quote};
use touchline_lab::capture::write_pcap;
use touchline_lab::cme::{Options, generate};
use touchline_testing::built;

/// Price in 1e-9, quantity, book; `None` without a best price.
type Best = Option<(i64, String, String)>;

/// Live rows of each symbol: bid and ask, each different from the one before.
#[derive(Debug, Default, PartialEq)]
struct Rows {
    live: BTreeMap<String, Vec<[Best; 2]>>,
    /// Last best prices and state.
    last: BTreeMap<String, ([Best; 2], String)>,
}

impl Rows {
    /// Takes best prices, or a state alone.
    fn take(&mut self, symbol: &str, state: &str, best: Option<[Best; 2]>) {
        let last = self.last.entry(symbol.to_owned()).or_default();
        if let Some(best) = best {
            last.0 = best;
        }
        last.1 = state.to_owned();
        if state != "live" {
            return;
        }
        let rows = self.live.entry(symbol.to_owned()).or_default();
        // The reset that begins the session comes before some readers know the instrument.
        let is_first = rows.is_empty() && last.0 == [None, None];
        if rows.last() != Some(&last.0) && !is_first {
            rows.push(last.0.clone());
        }
    }

    /// Empties every book: a screen has one line for it.
    fn reset(&mut self) {
        let symbols: Vec<String> = self.last.keys().cloned().collect();
        for symbol in symbols {
            self.take(&symbol, "live", Some([None, None]));
        }
    }

    /// Row by row.
    #[track_caller]
    fn assert_equal(&self, expected: &Rows, name: &str) {
        for (symbol, expected) in &expected.live {
            let rows = self.live.get(symbol).map_or(&[][..], Vec::as_slice);
            let differs = (0..).zip(rows).zip(expected).find(|((_, a), b)| a != b);
            assert_eq!(
                differs, None,
                "{name}, {symbol}: (row, it has), the file has"
            );
            assert_eq!(rows.len(), expected.len(), "{name}, {symbol}: rows");
        }
    }

    fn count(&self) -> usize {
        self.live.values().map(Vec::len).sum()
    }
}

/// `172@74.6875 merged`: what screens show.
fn shown(words: &[&str]) -> Best {
    let (quantity, at) = words.first()?.split_once('@')?;
    Some((price(at).0, quantity.to_owned(), words[1].to_owned()))
}

/// Rows of `--quotes`.
fn of_csv(text: &str) -> Rows {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let mut rows = Rows::default();
    for line in lines {
        let values: Vec<&str> = line.split(',').collect();
        let value = |name: &str| values[head.iter().position(|of| *of == name).expect("a column")];
        let best = ["bid", "ask"].map(|side| {
            let [at, quantity, book] =
                ["price", "quantity", "book"].map(|part| value(&format!("{side}_{part}")));
            (!at.is_empty()).then(|| (price(at).0, quantity.to_owned(), book.to_owned()))
        });
        rows.take(value("symbol"), value("state"), Some(best));
    }
    rows
}

/// Lines of `tail`.
fn of_screen(lines: &[String]) -> Rows {
    let mut rows = Rows::default();
    for line in lines.iter().filter(|line| !line.starts_with("--")) {
        if line.ends_with(" reset: every book is empty and live") {
            rows.reset();
        }
        let best = line.split_once(" | ").map(|(left, right)| {
            let left: Vec<&str> = left.split_whitespace().collect();
            let right: Vec<&str> = right.split_whitespace().collect();
            // Time, symbol, state, and the bid, which is two words, or a dash.
            [shown(&left[3..]), shown(&right)]
        });
        let words: Vec<&str> = line.split_whitespace().collect();
        if best.is_some() || words.len() == 3 {
            rows.take(words[1], words[2], best);
        }
    }
    rows
}

/// Lines of `tail --json`.
fn of_json(lines: &[String]) -> Rows {
    let mut rows = Rows::default();
    for line in lines {
        let line: Value = serde_json::from_str(line).expect("an object a line");
        if line["message"] == "reset" {
            rows.reset();
        }
        let (Some(symbol), Some(state)) = (line["symbol"].as_str(), line["state"].as_str()) else {
            continue;
        };
        if ["orders", "orders_snapshot"].contains(&line["message"].as_str().unwrap_or_default()) {
            continue;
        }
        let best = line.get("best_bid").map(|_| {
            ["best_bid", "best_ask"].map(|side| {
                let best = line[side].as_array()?;
                let quantity = best[1].to_string().replace('"', "");
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                Some((price(&text(&best[0])).0, quantity, text(&best[2])))
            })
        });
        rows.take(symbol, state, best);
    }
    rows
}

/// Lines of the programs in other languages: numbers in the units of the bus.
fn of_program(lines: &[String], exponents: &BTreeMap<String, i8>) -> Rows {
    let mut rows = Rows::default();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let best = |symbol: &str, words: &[&str]| {
            let at = words[0].parse().ok()?;
            let quantity = Decimal {
                mantissa: words[1].parse().expect("a quantity"),
                exponent: exponents[symbol],
            };
            Some((at, quantity.to_string(), words[2].to_owned()))
        };
        match words.as_slice() {
            ["top", symbol, state, sides @ ..] => {
                let sides = [best(symbol, &sides[..3]), best(symbol, &sides[3..])];
                rows.take(symbol, state, Some(sides));
            }
            ["state", symbol, state] => rows.take(symbol, state, None),
            _ => {}
        }
    }
    rows
}

/// Events of the client.
fn of_client(bus: &mut Bus) -> Rows {
    let best = |quote: Option<Quote>| {
        let quote = quote?;
        let book = quote.source.name().to_owned();
        Some((quote.price.0, quote.quantity.to_string(), book))
    };
    let mut rows = Rows::default();
    while let Next::Event(event) = bus.next_within(Duration::from_secs(1)) {
        match event {
            Event::Top(top) => rows.take(
                bus.symbol(top.instrument),
                top.state.name(),
                Some([best(top.bid), best(top.ask)]),
            ),
            Event::State(change) => {
                rows.take(bus.symbol(change.instrument), change.state.name(), None);
            }
            _ => {}
        }
    }
    rows
}

/// A program of the languages' tests, compiled.
pub(super) fn program_of(desk: &Desk, compiler: &str, source: &str) -> Option<PathBuf> {
    let folder = built::build("-p touchline-capi");
    let capi = built::root().join("crates/capi");
    let program = desk.path(&format!("{source}.out"));
    let mut compile = Command::new(compiler);
    if source.ends_with("cpp") {
        compile.arg("-std=c++17");
    }
    compile
        .args(["-O1", "-o"])
        .arg(&program)
        .arg(capi.join("tests/programs").join(source))
        .arg("-I")
        .arg(capi.join("include"))
        .arg(folder.join("libtouchline.so"))
        .arg(format!("-Wl,-rpath,{}", folder.display()));
    match compile.status() {
        Ok(status) => assert!(status.success(), "{compile:?}"),
        Err(error) => {
            touchline_testing::skip(&format!("{source}: {compiler}: {error}"));
            return None;
        }
    }
    Some(program)
}

/// The reader in C.
fn reader_in_c(desk: &Desk) -> Option<Command> {
    let mut reader = Command::new(program_of(desk, "cc", "scenario.c")?);
    reader.arg("demo").arg(desk.path("buses"));
    Some(reader)
}

/// Reader in Python, event by event or from arrays.
fn reader_in_python(desk: &Desk, python: &Path, is_arrays: bool) -> Command {
    let mut reader = Command::new(python);
    reader
        .arg(built::root().join("crates/capi/tests/programs/scenario.py"))
        .arg("demo")
        .arg(desk.path("buses"))
        .env("PYTHONPATH", built::python_package(&desk.path("packages")))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if is_arrays {
        reader.env("TOUCHLINE_TEST_ARRAYS", "1");
    }
    reader
}

/// Every reader joins before the session, and has its rows; those of the file are the reference. The session has implied
/// books that are better than the direct ones, and some with the same best price.
#[test]
fn files_screens_and_languages_have_the_same_best_prices() {
    let desk = published("best-prices");
    let expected = rows_of_every_reader(
        &desk,
        "--config demo/cme.toml --pcap demo/session.pcap",
        &["tail", "tail --json"],
    );
    let books = expected.live.values().flatten().flatten().flatten();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (.., book) in books {
        *kinds.entry(book).or_default() += 1;
    }
    assert!(
        expected.count() > 2_000 && kinds["implied"] > 100 && kinds["merged"] > 20,
        "{} rows, {kinds:?}",
        expected.count()
    );
}

/// The same over losses on one line and on both, recovery, resets and every other fault.
#[test]
fn a_faulty_session_has_the_same_best_prices_everywhere() {
    let (mut rows, mut recovered) = (0, 0);
    for seed in seeds(3) {
        let options = Options {
            events: 250,
            channel_resets: 1,
            // Before it an instrument has no symbol in a file, and one in a reader that knows it.
            late_definition: false,
            ..Options::varied(seed)
        };
        let desk = Desk::bare(&format!("faulty-prices-{seed}"));
        let arrivals = everything_at_once(&generate(&options, seed), seed).arrivals;
        write_pcap(&arrivals, &desk.path("session.pcap")).expect("our folder");
        let config = desk.read("cme.toml").replace("lab", "demo");
        desk.write("demo.toml", config);
        let session = "--config demo.toml --pcap session.pcap";
        desk.run(&format!("replay {session} --publish --quiet"))
            .done();
        rows += rows_of_every_reader(&desk, session, &["tail", "tail --json"]).count();
        recovered += desk.read("q.csv").matches(",recovering,").count();
    }
    assert!(
        rows > 300 && recovered > 20,
        "{rows} rows, {recovered} not live"
    );
}

/// Publishes the session behind readers that have joined, and compares the rows of each with those of the file, which it returns.
fn rows_of_every_reader(desk: &Desk, session: &str, screens: &[&'static str]) -> Rows {
    desk.run(&format!(
        "replay {session} --quiet --display --quotes q.csv"
    ))
    .done();
    let expected = of_csv(&desk.read("q.csv"));
    let of_tops = |options: touchline_client::Options| {
        let options = options.directory(desk.path("buses"));
        options.join("demo").expect("the bus is there")
    };
    let tops = Bus::options().events(Events::TOPS);
    let mut clients = [
        ("tops alone", of_tops(tops.clone().keep_books(false))),
        ("tops and books", of_tops(tops)),
    ];
    clients.iter_mut().for_each(|(_, bus)| drop(of_client(bus)));
    let (_, bus) = &clients[0];
    let exponents: BTreeMap<String, i8> = bus
        .instruments()
        .map(|instrument| {
            let definition = bus.definition(instrument).expect("ours");
            (definition.symbol.to_string(), definition.quantity_exponent)
        })
        .collect();
    let screens = screens.iter();
    let screens = screens.map(|words| (*words, desk.command(&words.replace("tail", "tail demo"))));
    let mut programs: Vec<(&str, Command)> = screens.collect();
    programs.extend(reader_in_c(desk).map(|reader| ("C", reader)));
    if let Some(python) = built::python("python-tests", &["numpy", "pytest"]) {
        programs.push(("Python", reader_in_python(desk, &python, false)));
        programs.push(("arrays", reader_in_python(desk, &python, true)));
    }
    let running: Vec<(&str, Running)> = programs
        .iter_mut()
        .map(|(name, command)| (*name, Running::of(desk, command)))
        .collect();
    for (name, reader) in &running {
        reader.wait(name, |out, err| {
            let mut lines = out.iter().chain(err);
            lines.any(|line| line.contains("caught up") || line.contains("caught_up"))
        });
    }
    let before: Vec<usize> = running.iter().map(|(_, reader)| reader.printed()).collect();
    desk.run(&format!("replay {session} --publish --quiet"))
        .done();
    for (name, bus) in &mut clients {
        of_client(bus).assert_equal(&expected, name);
    }
    for ((name, reader), before) in running.into_iter().zip(before) {
        settle(&reader);
        let (out, _) = reader.end("INT");
        let rows = match name {
            "tail" => of_screen(&out[before..]),
            "tail --json" => of_json(&out[before..]),
            _ => of_program(&out[before..], &exponents),
        };
        rows.assert_equal(&expected, name);
    }
    expected
}
