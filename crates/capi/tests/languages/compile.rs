//! Header and programs compile without a warning, by two compilers as C and as C++, and link with both libraries.

use crate::publisher::{BUS, Kind, Process};
use crate::recorder::Recorder;
use crate::tools::{has, libraries, package, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use touchline_testing::Folder;

/// A language as compilers know it.
#[derive(Clone, Copy, Debug)]
pub enum Language {
    C,
    Cpp,
}

impl Language {
    fn standard(self) -> &'static str {
        match self {
            Language::C => "-std=c11",
            Language::Cpp => "-std=c++17",
        }
    }
}

/// Compiles a program of this package against the shared library.
pub fn program(compiler: &str, language: Language, source: &str, to: &Path) -> PathBuf {
    with_options(&[], compiler, language, source, to)
}

/// Options of a sanitized program: it fails at a use of memory that is not its own, and at its end if memory is not freed.
pub const SANITIZED: [&str; 2] = ["-fsanitize=address", "-fno-omit-frame-pointer"];

/// Compiles a program as [`program`] does, with further options.
pub fn with_options(
    options: &[&str],
    compiler: &str,
    language: Language,
    source: &str,
    to: &Path,
) -> PathBuf {
    let libraries = libraries();
    let mut command = Command::new(compiler);
    command
        .args(options)
        .args([language.standard(), "-O1", "-g", "-pthread"])
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"])
        .arg("-I")
        .arg(package("include"))
        .arg(package(source))
        .arg("-o")
        .arg(to)
        .arg(libraries.join("libtouchline.so"))
        .arg(format!("-Wl,-rpath,{}", libraries.display()));
    run(&mut command);
    to.to_owned()
}

#[test]
fn programs_compile_without_a_warning() {
    let folder = folder();
    let compilers = [
        ("gcc", Language::C),
        ("clang", Language::C),
        ("g++", Language::Cpp),
        ("clang++", Language::Cpp),
    ];
    for (compiler, language) in compilers {
        if !has(compiler) {
            touchline_testing::skip(&format!("there is no {compiler}"));
            continue;
        }
        let sources: &[&str] = match language {
            Language::C => &[
                "tests/programs/scenario.c",
                "tests/programs/edges.c",
                "tests/programs/fold.c",
                "tests/programs/desk_lists.c",
                "benches/programs/reader.c",
                "examples/top_of_book.c",
                "examples/desk.c",
            ],
            Language::Cpp => &[
                "tests/programs/scenario.cpp",
                "tests/programs/desk_lists.cpp",
                "tests/programs/desk_no_answer.cpp",
                "tests/programs/waits.cpp",
                "tests/programs/polls.cpp",
                "tests/programs/fold.cpp",
                "examples/top_of_book.cpp",
                "examples/desk.cpp",
            ],
        };
        for source in sources {
            program(compiler, language, source, &folder.join("program"));
        }
    }
}

/// The shared library exports the functions of the header, and nothing else: symbols of Rust stay inside.
#[test]
fn what_is_exported_is_what_the_header_declares() {
    if !has("nm") {
        touchline_testing::skip("exported symbols: there is no nm");
        return;
    }
    let mut nm = Command::new("nm");
    nm.args(["--dynamic", "--defined-only", "--format=just-symbols"]);
    let exported = run(nm.arg(libraries().join("libtouchline.so")));
    let header = std::fs::read_to_string(package("include/touchline.h")).expect("a file");
    let declarations = header.split_once("extern \"C\" {").expect("functions").1;
    let words = declarations.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let called = format!("{declarations} ");
    let functions =
        words.filter(|word| word.starts_with("tl_") && called.contains(&format!("{word}(")));
    let mut functions: Vec<&str> = functions.collect();
    functions.sort_unstable();
    functions.dedup();
    let mut exported: Vec<&str> = exported.lines().collect();
    exported.sort_unstable();
    assert!(functions.len() > 15, "{functions:?}");
    assert_eq!(exported, functions);
}

/// The address sanitizer also finds memory that is not freed.
#[test]
fn mistakes_are_refused_and_nothing_leaks() {
    if !has("gcc") {
        touchline_testing::skip("mistakes of programs in C: there is no gcc");
        return;
    }
    let folder = folder();
    let buses = folder.join("buses");
    let mut publisher = Process::start(&buses);
    publisher.step(&["define", "0", "ESU4", "100"]);
    publisher.step(&["book", "0", "450025", "12", "450050", "7"]);
    publisher.step(&["orders", "0"]);
    let recorder = Recorder::start(&buses, false);
    publisher.step(&["orders", "0"]);
    recorder.end();
    for options in [&[][..], &SANITIZED[..]] {
        let to = folder.join("edges");
        let program = with_options(options, "gcc", Language::C, "tests/programs/edges.c", &to);
        let said = run(Command::new(program).arg(BUS).arg(&buses));
        assert_eq!(said, "all of it holds\n");
    }
    drop(publisher);
}

/// A wait says whether its time has passed or the bus was stopped; absent numbers are absent.
#[test]
fn waits_and_values_of_cpp_are_told_apart() {
    if !has("g++") {
        touchline_testing::skip("waits in C++: there is no g++");
        return;
    }
    let folder = folder();
    let buses = folder.join("buses");
    let mut publisher = Process::start(&buses);
    publisher.step(&["define", "0", "ESU4", "100"]);
    publisher.step(&["book", "0", "450025", "12", "450050", "7"]);
    publisher.step(&["trade", "0", "450050", "3"]);
    let to = folder.join("waits");
    let program = program("g++", Language::Cpp, "tests/programs/waits.cpp", &to);
    let said = run(Command::new(program).arg(BUS).arg(&buses));
    assert_eq!(said, "all of it holds\n");
    drop(publisher);
}

/// Messages without an event, however many, are not the end of a tape: here more records than one poll of a bus passes over.
#[test]
fn a_loop_that_never_waits_reads_a_tape_to_its_end() {
    if !has("g++") {
        touchline_testing::skip("polls in C++: there is no g++");
        return;
    }
    let folder = folder();
    let buses = folder.join("buses");
    let mut publisher = Process::start_as(&buses, Kind::Lossless);
    publisher.step(&["define", "0", "ESU4", "100"]);
    publisher.step(&["book", "0", "450025", "12", "450050", "7"]);
    let recorder = Recorder::start(&buses, true);
    publisher.step(&["trade", "0", "450050", "3"]);
    // More than one call reads that has no time.
    for _ in 0..66_000 {
        publisher.step(&["book", "0", "450025", "12", "450050", "7"]);
    }
    publisher.step(&["trade", "0", "450050", "3"]);
    recorder.end();
    let to = folder.join("polls");
    let program = program("g++", Language::Cpp, "tests/programs/polls.cpp", &to);
    let said = run(Command::new(program).arg(crate::recorder::tape_of(&buses)));
    assert_eq!(said, "4 trades, to the end\n");
    drop(publisher);
}

/// A compiler set to an older standard says which one the header needs.
#[test]
fn an_older_standard_is_refused_with_the_one_that_is_needed() {
    if !has("g++") {
        touchline_testing::skip("an older standard of C++: there is no g++");
        return;
    }
    let mut command = Command::new("g++");
    command.args(["-std=c++14", "-fsyntax-only", "-I"]);
    command.arg(package("include"));
    let output = command.arg(package("examples/top_of_book.cpp")).output();
    let said = output.expect("it starts").stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("touchline.hpp needs C++17"), "{said}");
}

/// The page has one program in C, which is compiled above.
#[test]
fn the_program_of_the_page_is_the_example() {
    let read = |file| std::fs::read_to_string(package(file)).expect("a file of this checkout");
    let page = read("../../docs/languages.md");
    let (_, behind) = page.split_once("```c\n").expect("a block of C");
    let (program, rest) = behind.split_once("```\n").expect("its end");
    assert_eq!(program, read("examples/top_of_book.c"));
    assert!(!rest.contains("```c\n"), "one program");
}

/// A folder of this test, in which programs of other users read.
pub fn folder() -> Folder {
    Folder::new("languages").for_every_user()
}
