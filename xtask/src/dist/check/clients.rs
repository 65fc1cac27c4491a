//! Programs in C and Python against what a user installs.

use super::Root;
use crate::dist::report::{Report, must};
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A bus that does not exist: the library runs, finds no bus, and says so.
const NO_BUS: &str = "no-such-bus";

/// Compiles the example of the library in a root, with the header and the flags of its packages, and runs it.
pub fn c_program(root: &Root, report: &Report) -> Result<()> {
    let example = include_str!("../../../../crates/capi/examples/top_of_book.c");
    fs::write(root.path("example.c"), example)?;
    let compile = "cc -o /example /example.c $(pkg-config --cflags --libs touchline)";
    root.run(&["sh", "-c", compile])?;
    let said = root.run(&["sh", "-c", &format!("/example {NO_BUS} 2>&1 || true")])?;
    ensure!(said.contains(NO_BUS), "the example in C: {said}");
    report.seen(&format!(
        "an example in C is compiled and runs: {}",
        said.trim()
    ));
    for made in ["example", "example.c"] {
        fs::remove_file(root.path(made))?;
    }
    Ok(())
}

/// Builds the example in C++ with CMake, which finds the library by its package, and runs it.
pub fn cpp_program(root: &Root, report: &Report) -> Result<()> {
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
    let run = format!("/example/build/example {NO_BUS} 2>&1 || true");
    let said = root.run(&["sh", "-c", &run])?;
    ensure!(said.contains(NO_BUS), "the example in C++: {said}");
    report.seen("an example in C++ is built by CMake and runs");
    fs::remove_dir_all(folder)?;
    Ok(())
}

/// Installs the wheel in a fresh environment, and joins a bus.
pub fn wheel(wheel: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let made = must(Command::new("python3").args(["-m", "venv"]).arg(folder));
    if made.is_err() {
        report.left_out("the wheel: python3 -m venv fails here");
        return Ok(());
    }
    let bin = folder.join("bin");
    let mut pip = Command::new(bin.join("pip"));
    must(pip.args(["install", "--quiet", "--no-index"]).arg(wheel))?;
    let program = format!(
        "import touchline\nprint(touchline.__version__)\n\
         try:\n    touchline.Bus('{NO_BUS}')\nexcept touchline.BusNotFound as error:\n    print(error)\n"
    );
    let said = must(Command::new(bin.join("python")).args(["-c", &program]))?;
    ensure!(said.contains(NO_BUS), "the package for Python: {said}");
    report.seen(&format!(
        "the wheel is installed and runs: {}",
        said.trim().replace('\n', ": ")
    ));
    must(Command::new(bin.join("pip")).args(["uninstall", "--yes", "touchline"]))?;
    let left = must(Command::new(bin.join("pip")).args(["freeze"]))?;
    ensure!(!left.contains("touchline"), "pip keeps it: {left}");
    Ok(())
}
