//! Programs in C, C++ and Python that use the installed packages, and the bus of a demo that runs meanwhile.

use super::Root;
use crate::command::must;
use crate::dist::report::Report;
use anyhow::{Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Starts the demo of the program `$0`, and prints the first live book that the command of the other words prints: it is
/// repeated until the bus is there.
const LIVE: &str = "\"$0\" demo --plain --seconds 120 >&2 & demo=$!
trap 'kill -INT $demo; wait' EXIT
while kill -0 $demo; do
  if timeout 20 \"$@\" | grep -m 1 ' live '; then exit; fi
  sleep 0.3
done
exit 1";

/// Words of a shell that runs a command while a program has a demo.
pub fn live<'a>(lab: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    [&["sh", "-c", LIVE, lab], command].concat()
}

/// Reports the book of a demo that a program in this language has printed.
pub fn has_read(language: &str, said: &str, report: &Report) {
    report.seen(&format!("{language} reads a live demo: {}", said.trim()));
}

/// Compiles the example of the library in a root, with the header and the flags of its packages, and runs it.
pub fn c_program(root: &Root, lab: &str, report: &Report) -> Result<()> {
    let example = include_str!("../../../../crates/capi/examples/top_of_book.c");
    fs::write(root.path("example.c"), example)?;
    let compile = "cc -o /example /example.c $(pkg-config --cflags --libs touchline)";
    root.run(&["sh", "-c", compile])?;
    has_read("C", &root.run(&live(lab, &["/example"]))?, report);
    for made in ["example", "example.c"] {
        fs::remove_file(root.path(made))?;
    }
    Ok(())
}

/// Builds the example in C++ with CMake, which finds the library by its package, and runs it.
pub fn cpp_program(root: &Root, lab: &str, report: &Report) -> Result<()> {
    let example = include_str!("../../../../crates/capi/examples/top_of_book.cpp");
    let folder = root.path("example");
    fs::create_dir(&folder)?;
    fs::write(folder.join("example.cpp"), example)?;
    fs::write(
        folder.join("CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.16)\nproject(example CXX)\nset(CMAKE_CXX_STANDARD 17)\n\
         find_package(touchline 0.1 CONFIG REQUIRED)\nadd_executable(example example.cpp)\n\
         target_link_libraries(example touchline::touchline)\n",
    )?;
    let build = "cmake -S /example -B /example/build && cmake --build /example/build";
    root.run(&["sh", "-c", build])?;
    let said = root.run(&live(lab, &["/example/build/example"]))?;
    has_read("C++ by CMake", &said, report);
    fs::remove_dir_all(folder)?;
    Ok(())
}

/// Installs the package for Python in a fresh environment, by pip with these words, and removes it again.
///
/// # Errors
/// It is not installed, does not run, or leaves something.
pub fn python(
    what: &str,
    pip: &[&str],
    lab: &Path,
    folder: &Path,
    report: &mut Report,
) -> Result<()> {
    let made = must(Command::new("python3").args(["-m", "venv"]).arg(folder));
    if made.is_err() {
        report.left_out(format!("{what}: python3 -m venv fails here"));
        return Ok(());
    }
    let bin = folder.join("bin");
    let run_pip = |words: &[&str]| must(Command::new(bin.join("pip")).args(words));
    run_pip(&[&["install", "--quiet"], pip].concat())?;
    let example = crate::root().join("crates/python/examples/top_of_book.py");
    let words =
        [bin.join("python"), PathBuf::from("-u"), example].map(|word| word.display().to_string());
    let lab = lab.display().to_string();
    let words = live(&lab, &words.each_ref().map(String::as_str));
    let buses = folder.join("buses");
    let said = must(
        Command::new(words[0])
            .args(&words[1..])
            .env("TOUCHLINE_DIR", &buses),
    )?;
    has_read(what, &said, report);
    run_pip(&["uninstall", "--yes", "touchline"])?;
    let left = run_pip(&["freeze"])?;
    ensure!(!left.contains("touchline"), "pip keeps it: {left}");
    Ok(())
}
