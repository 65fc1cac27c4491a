//! `touchline definitions`, and `replay --definitions`: a capture or a tape without definitions gets them from a file.

use super::tape::recorder;
use super::{Desk, Run};
use serde_json::Value;
use touchline_lab::capture::{Feed, write_pcap};
use touchline_testing::built;

const OUTPUTS: [&str; 5] = ["books", "orders", "tops", "q.csv", "t.csv"];

/// A session, `bare.pcap` without its feed of definitions, and its table `d.jsonl`.
fn desk(name: &str) -> Desk {
    let desk = Desk::new(name);
    let mut bare = desk.arrivals.clone();
    bare.retain(|arrival| arrival.feed != Feed::Definitions);
    assert!(bare.len() < desk.arrivals.len());
    write_pcap(&bare, &desk.path("bare.pcap")).expect("our folder");
    desk.run("definitions --config cme.toml --pcap session.pcap --output d.jsonl")
        .done();
    desk
}

fn replay(desk: &Desk, more: &str) -> Run {
    let outputs = "--books books --orders orders --tops tops --quotes q.csv --trades t.csv";
    desk.run(&format!("replay --config cme.toml {outputs} {more}"))
}

fn outputs(desk: &Desk) -> [String; OUTPUTS.len()] {
    OUTPUTS.map(|name| desk.read(name))
}

/// The table of a capture gives a capture without definitions the outputs of the first one, byte for byte; so do the captured definitions.
#[test]
fn definitions_of_a_file_give_the_outputs_of_captured_ones() {
    let desk = desk("definitions");
    for display in ["", "--display"] {
        replay(&desk, &format!("--pcap session.pcap {display}")).done();
        let whole = outputs(&desk);
        replay(&desk, &format!("--pcap bare.pcap {display}")).done();
        assert!(whole != outputs(&desk), "without definitions");
        for source in ["d.jsonl", "session.pcap"] {
            let more = format!("--pcap bare.pcap --definitions {source} {display}");
            let run = replay(&desk, &more);
            assert_eq!(run.stderr, "", "no conflict");
            run.done();
            for (name, (ours, theirs)) in OUTPUTS.iter().zip(outputs(&desk).iter().zip(&whole)) {
                assert!(ours == theirs, "{name} of {source} {display}");
            }
        }
    }
}

/// A bus, its tape and the capture of both write the same table; written again from a run that had it as its input, it is the same.
#[test]
fn a_bus_a_tape_and_a_capture_write_the_same_table() {
    let desk = Desk::new("definitions-same");
    let mut recorder = recorder(&desk, "");
    desk.publish("--speed 0.25").done();
    recorder.wait_for_line("record_source_down");
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    let table = |source: &str| {
        let run = desk.run(&format!("definitions {source}"));
        run.done().stdout
    };
    let of_capture = table("--config cme.toml --pcap session.pcap");
    assert!(of_capture.lines().count() >= 8, "{of_capture}");
    assert_eq!(table("lab"), of_capture);
    assert_eq!(table("--journal tape"), of_capture);
    desk.write("d.jsonl", &of_capture);
    desk.run("rm lab").done();
    desk.publish("--definitions d.jsonl").done();
    assert_eq!(table("lab"), of_capture);
}

/// A tape of `bare.pcap`.
fn recorded(name: &str) -> Desk {
    let desk = desk(name);
    let mut recorder = recorder(&desk, "");
    desk.run("replay --config bus.toml --pcap bare.pcap --publish --quiet --speed 0.25")
        .done();
    recorder.wait_for_line("record_source_down");
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    desk
}

/// Python gives the rows of the command, with the definitions of the table, and books by the venue's id without.
#[test]
fn a_tape_without_definitions_gets_them_in_python() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let desk = recorded("definitions-python");
    desk.run("replay --journal tape --quiet --display --trades t.csv --definitions d.jsonl")
        .done();
    let program = "
import csv, touchline
expected = [(row['symbol'], float(row['price']), float(row['quantity'])) for row in csv.DictReader(open('t.csv'))]
def trades(**options):
    with touchline.Journal('tape', events=['trades'], **options) as journal:
        return [(e.symbol, e.price, e.size) for e in journal if e.kind == 'trade'], journal.security_ids
got, ids = trades(definitions='d.jsonl')
assert got == expected and len(got) > 10, (got[:3], expected[:3])
assert trades(definitions=['d.jsonl'])[0] == got
bare, _ = trades()
assert len(bare) == len(got) and all(symbol in (None, '?', '') for symbol, _, _ in bare), bare[:3]
one, of_one = trades(symbols=[str(ids[0])])
assert of_one == [ids[0]], of_one
with touchline.Journal('tape') as journal:
    for event in journal:
        pass
    assert len(journal.book(security_id=ids[0]).bids) > 0
try:
    trades(definitions='bare.pcap')
except touchline.Error as error:
    assert 'bare.pcap' in str(error), error
else:
    raise SystemExit('a capture is refused')
";
    let output = std::process::Command::new(python)
        .args(["-c", program])
        .current_dir(desk.path(""))
        .env("PYTHONPATH", built::python_package(&desk.path("packages")))
        .output();
    let output = output.expect("the environment has an interpreter");
    assert!(output.status.success(), "{output:?}");
}

/// A tape without definitions gets symbols and factors from the table.
#[test]
fn a_tape_without_definitions_gets_them() {
    let desk = recorded("definitions-tape");
    desk.run("replay --config cme.toml --pcap bare.pcap --definitions d.jsonl --display --quiet --trades expected.csv")
        .done();
    let play = |more: &str| {
        desk.run(&format!(
            "replay --journal tape --quiet --display --trades t.csv --books books {more}"
        ))
        .done();
        let trades = desk.read("t.csv");
        let lines = trades.lines().skip(1).map(str::to_owned);
        (lines.collect::<Vec<_>>(), desk.read("books"))
    };
    let (bare, bare_books) = play("");
    let (named, books) = play("--definitions d.jsonl");
    let column = |line: &String, at: usize| line.split(',').nth(at).map(str::to_owned);
    assert!(
        bare.iter()
            .all(|line| column(line, 4).as_deref() == Some(""))
    );
    let expected = desk.read("expected.csv");
    let expected: Vec<_> = expected.lines().skip(1).collect();
    // The state is of a book, and books without a depth were not live.
    let without_state = |line: &str| {
        let columns = line.split(',').enumerate();
        let kept = columns.filter(|(at, _)| *at != 5).map(|(_, column)| column);
        kept.collect::<Vec<_>>().join(",")
    };
    assert!(!named.is_empty());
    let behind = &expected[expected.len() - named.len()..];
    for (ours, theirs) in named.iter().zip(behind) {
        assert_eq!(without_state(ours), without_state(theirs));
    }
    assert!(bare_books.contains("\"symbol\":null") && !books.contains("\"symbol\":null"));
}

/// Each malformed line is one line of the error, with file, line, field and cure.
#[test]
fn malformed_lines_are_told_with_the_cure() {
    let desk = desk("definitions-malformed");
    let table = desk.read("d.jsonl");
    let first = table.lines().next().expect("a line");
    let broken = [
        first.replace("\"security_id\":", "\"security_id\":\"x\",\"was\":"),
        first.replace("\"symbol\":", "\"simbol\":"),
        first.replace("\"implied_depth\":", "\"implied_depth\":-"),
        "{\"security_id\":7,\"symbol\":\"A\",\"display_factor\":0}".to_owned(),
        "{\"security_id\":7,\"symbol\":\"A\",\"tick\":\"0.0000000001\"}".to_owned(),
        "{\"symbol\":\"A\"}".to_owned(),
        "{\"security_id\":7".to_owned(),
    ];
    desk.write(
        "broken.jsonl",
        format!("{first}\n\n{}\n", broken.join("\n")),
    );
    let run = replay(&desk, "--pcap bare.pcap --definitions broken.jsonl");
    assert_eq!(run.status, 2, "{run:?}");
    let lines: Vec<_> = run.stderr.lines().collect();
    let words = [
        ["broken.jsonl:3: ", "key was is unknown"],
        ["broken.jsonl:4: ", "did you mean symbol?"],
        ["broken.jsonl:5: ", "give a number from 0 to 255"],
        [
            "broken.jsonl:6: ",
            "display_factor is 0: give two whole numbers above 0",
        ],
        [
            "broken.jsonl:7: ",
            "tick is \"0.0000000001\": give a decimal",
        ],
        ["broken.jsonl:8: ", "security_id is missing"],
        ["broken.jsonl:9: ", "not a JSON object"],
    ];
    assert_eq!(lines.len(), words.len(), "{run:?}");
    for (line, words) in lines.iter().zip(words) {
        let said = words.iter().all(|word| line.contains(word));
        assert!(said, "{line}");
    }
    desk.write("some.txt", "ESU4 118\n");
    let run = replay(&desk, "--pcap bare.pcap --definitions some.txt");
    run.refused(2, &["some.txt is text", "or a file of definitions"]);
    let run = desk.run("definitions --config cme.toml --pcap bare.pcap");
    run.refused(1, &["no instrument has a definition", "definition feed"]);
    desk.run("definitions").refused(2, &["--journal DIR"]);
}

/// A table may state a book of every level, as of a venue with changes by price: for CME the depth is not stated then, as with 0.
#[test]
fn a_file_cannot_give_a_book_by_position_every_level() {
    let desk = desk("definitions-depth");
    let table = desk.read("d.jsonl");
    let mut books = Vec::new();
    for depth in [Value::from(0), Value::Null] {
        let of_depth = table.lines().map(|line| {
            let mut row: Value = serde_json::from_str(line).expect("an object a line");
            row["depth"] = depth.clone();
            format!("{row}\n")
        });
        desk.write("depth.jsonl", of_depth.collect::<String>());
        let run = replay(&desk, "--pcap bare.pcap --definitions depth.jsonl");
        assert_eq!(run.status, 0, "{run:?}");
        books.push(outputs(&desk));
    }
    assert!(books[0] == books[1]);
}

/// Where the capture has another definition, that one applies, and a warning says so.
#[test]
fn the_definition_of_the_capture_wins() {
    let desk = desk("definitions-conflict");
    replay(&desk, "--pcap session.pcap --display").done();
    let whole = desk.read("books");
    let table = desk.read("d.jsonl");
    let other = table.replacen("\"symbol\":\"", "\"symbol\":\"X", 1);
    desk.write("other.jsonl", other);
    let run = replay(
        &desk,
        "--pcap session.pcap --display --definitions other.jsonl",
    );
    assert!(
        run.stderr
            .contains("the capture defines 1 instrument otherwise")
            && run.stderr.contains("(symbol)")
            && run.stderr.contains("applies from its packet on"),
        "{run:?}"
    );
    assert_eq!(run.status, 0);
    assert_eq!(desk.read("books"), whole);
}

/// An export has the definitions of the file, of captures and of a tape.
#[test]
fn an_export_has_the_definitions_of_a_file() {
    let desk = recorded("definitions-export");
    for source in ["--config cme.toml --pcap bare.pcap", "--journal tape"] {
        let export = |out: &str, more: &str| {
            let run = desk.run(&format!(
                "export {source} --csv trades --out {out} --quiet {more}"
            ));
            assert_eq!(run.status, 0, "{run:?}");
            let files = std::fs::read_dir(desk.path(out)).expect("its folder");
            let text = files
                .map(|file| file.expect("a file").path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
                .map(|path| std::fs::read_to_string(path).expect("our file"))
                .collect::<String>();
            std::fs::remove_dir_all(desk.path(out)).expect("our folder");
            text
        };
        let (bare, named) = (export("bare", ""), export("named", "--definitions d.jsonl"));
        assert_eq!(bare.lines().count(), named.lines().count());
        assert!(
            named.contains(",ZQA0,") && !bare.contains(",ZQA0,"),
            "{named}"
        );
    }
}
