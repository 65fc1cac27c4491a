//! The tests of the Python package, on the bus of a replayed session, in an environment with numpy and pytest; the Python
//! of the documents, in one with the packages that these use.

use super::examples::published;
use super::{Desk, demo, signal};
use std::path::Path;
use std::process::Command;
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

#[test]
fn the_python_package_keeps_its_promises() {
    let Some(python) = built::python("python-tests", &["numpy", "pytest"]) else {
        return;
    };
    let desk = published("python");
    let tests = built::root().join("crates/python/tests");
    let output = command(&desk, &python, ".")
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
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
    let (mut child, _output) = demo::running(&desk, "demo --seconds 120");
    let said = run(&desk, &python, ".", notebook);
    assert!(!said.contains("is not ready"), "{said}");
    signal(&child, "INT");
    child.wait().expect("it ends");
}
