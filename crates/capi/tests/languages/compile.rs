//! Header and programs compile without a warning, by two compilers as C and as C++, and link with both libraries.

use crate::tools::{has, libraries, package, run};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let libraries = libraries();
    let mut command = Command::new(compiler);
    command
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
    let folder = tempfile();
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
            Language::C => &["tests/programs/scenario.c", "examples/top_of_book.c"],
            Language::Cpp => &["tests/programs/scenario.cpp", "examples/top_of_book.cpp"],
        };
        for source in sources {
            program(compiler, language, source, &folder.join("program"));
        }
    }
    std::fs::remove_dir_all(folder).expect("our folder");
}

/// A folder of this test.
pub fn tempfile() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!(
        "touchline-languages-{}-{number}",
        std::process::id()
    ));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
