//! The tests of the Python package, on the bus of a replayed session, in an environment with numpy and pytest; the Python
//! of the documents, in one with the packages that these use.

use super::examples::PUBLISH;
use super::{Desk, demo};
use crate::sessions::recovery::everything_at_once;
use crate::sessions::seeds;
use std::path::Path;
use std::process::Command;
use touchline_lab::capture::write_pcap;
use touchline_lab::cme::config::config_xml;
use touchline_lab::cme::{Options, generate};
use touchline_testing::built;

/// The interpreter in this folder of the desk, with the package of this checkout and the buses of the desk.
fn command(desk: &Desk, python: &Path, folder: &str) -> Command {
    let package = built::python_package(&desk.path("packages"));
    let folder = desk.path(folder);
    std::fs::create_dir_all(&folder).expect("our folder");
    let mut command = Command::new(python);
    command
        .current_dir(folder)
        .env("PYTHONPATH", package)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TOUCHLINE_DIR", desk.path("buses"))
        .env("TOUCHLINE_SESSION", desk.path("demo"));
    command
}

/// Runs a program of the package's tests with a page of the documents; returns what it prints.
fn run(desk: &Desk, python: &Path, folder: &str, [program, page]: [&str; 2]) -> String {
    let root = built::root();
    let output = command(desk, python, folder)
        .arg(root.join("crates/python/tests").join(program))
        .arg(root.join("docs").join(page))
        .output()
        .expect("the environment has an interpreter");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{failed}");
    said
}

/// Sessions with every fault and resets, each with its `config.xml` in a folder of its own; some end early.
fn faulty_sessions(desk: &Desk) {
    for seed in seeds(12) {
        let options = Options {
            events: 150,
            channel_resets: 2,
            ..Options::varied(seed)
        };
        let arrivals = everything_at_once(&generate(&options, seed), seed).arrivals;
        let end = match seed % 3 {
            0 => 20 + seed as usize,
            _ => arrivals.len(),
        };
        let folder = desk.path(&format!("faulty/{seed}"));
        std::fs::create_dir_all(&folder).expect("our folder");
        write_pcap(&arrivals[..end], &folder.join("session.pcap")).expect("our folder");
        std::fs::write(folder.join("config.xml"), config_xml()).expect("our folder");
    }
}

/// The bus of the session, and the tape of it.
fn recorded(name: &str) -> Desk {
    let desk = Desk::bare(name);
    desk.run("demo --save demo");
    let mut recorder =
        desk.start_with_input("record demo --journal tape --segment-mb 16 --until-eof");
    recorder.wait_for_line("record_waiting");
    desk.run(&format!("{PUBLISH} --speed 2")).done();
    recorder.wait_for_line("record_source_down");
    recorder.close();
    assert!(recorder.wait().success(), "{}", recorder.err());
    desk
}

#[test]
fn the_python_package_keeps_its_promises() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let desk = recorded("python");
    faulty_sessions(&desk);
    // The environment is without the packages of the tables.
    let tables = built::root().join("crates/python/tests/test_frames.py");
    pytest(
        &desk,
        &python,
        &[&format!("--ignore={}", tables.display())],
        "",
    );
}

/// Tables of a replay and of a tape are the series and books of the command, in an environment with pyarrow, pandas and Polars.
#[test]
fn the_tables_of_the_python_package_are_those_of_the_command() {
    let packages = ["numpy", "pytest", "pandas", "polars", "pyarrow"];
    let Some(python) = built::python("python-frames", &packages) else {
        return;
    };
    let desk = recorded("python-frames");
    let outputs = "--quotes demo/quotes.csv --trades demo/trades.csv --books demo/books.jsonl";
    desk.run(&format!(
        "replay --config demo/cme.toml --pcap demo/session.pcap --quiet --display {outputs}"
    ))
    .done();
    pytest(&desk, &python, &[], "test_frames.py");
}

/// Runs tests of the package.
fn pytest(desk: &Desk, python: &Path, options: &[&str], file: &str) {
    let output = command(desk, python, ".")
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .args(options)
        .env("TOUCHLINE_FAULTY", desk.path("faulty"))
        .env("TOUCHLINE_TAPE", desk.path("tape"))
        .arg(built::root().join("crates/python/tests").join(file))
        .output()
        .expect("the environment has an interpreter");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

/// The blocks of the page print what it shows; the notebook draws its pictures from a tape, a capture and a live bus.
#[test]
fn the_python_of_the_documents_runs() {
    let packages = [
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "nbclient",
        "ipykernel",
    ];
    let Some(python) = built::python("python-documents", &packages) else {
        return;
    };
    let desk = recorded("documents");
    run(&desk, &python, ".", ["page.py", "languages.md"]);
    // The publisher of the bus has ended, so the notebook takes the tape, and without one the capture.
    let notebook = ["notebook.py", "book.ipynb"];
    let said = run(&desk, &python, ".", notebook);
    assert!(said.contains("source: Journal"), "{said}");
    std::fs::remove_dir_all(desk.path("tape")).expect("its tape");
    let said = run(&desk, &python, ".", notebook);
    assert!(said.contains("source: Replay"), "{said}");

    let _alone = demo::alone();
    let desk = Desk::bare("notebook");
    let mut child = demo::running(&desk, "demo --seconds 120");
    let said = run(&desk, &python, ".", notebook);
    assert!(said.contains("source: Bus"), "{said}");
    child.end("INT");
}
