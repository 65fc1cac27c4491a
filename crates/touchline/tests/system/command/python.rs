//! The tests of the Python package, on the bus of a replayed session, in an environment with numpy and pytest; the Python
//! of the documents, in one with the packages that these use.

use super::examples::published;
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

#[test]
fn the_python_package_keeps_its_promises() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let desk = published("python");
    faulty_sessions(&desk);
    let tests = built::root().join("crates/python/tests");
    let output = command(&desk, &python, ".")
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .env("TOUCHLINE_FAULTY", desk.path("faulty"))
        .arg(tests)
        .output()
        .expect("the environment has an interpreter");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}

/// The blocks of the page print what it shows; the notebook draws its pictures from a capture, and from a live bus.
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
    let desk = published("documents");
    run(&desk, &python, ".", ["page.py", "languages.md"]);
    // The publisher of the bus has ended, so the notebook takes the capture.
    let notebook = ["notebook.py", "book.ipynb"];
    let said = run(&desk, &python, ".", notebook);
    assert!(said.contains("is not ready"), "{said}");

    let _alone = demo::alone();
    let desk = Desk::bare("notebook");
    let mut child = demo::running(&desk, "demo --seconds 120");
    let said = run(&desk, &python, ".", notebook);
    assert!(!said.contains("is not ready"), "{said}");
    child.end("INT");
}
