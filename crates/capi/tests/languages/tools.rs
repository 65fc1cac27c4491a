//! Files of this package, built libraries, compilers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use touchline_testing::built;

/// A file of this package.
pub fn package(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// Folder with `libtouchline.so` and `libtouchline.a`, built from these sources.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| built::build("-p touchline-capi"))
}

/// Whether a program is on this machine.
pub fn has(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs it; it must succeed. Returns what it printed.
///
/// # Panics
/// It failed; with all that it printed.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said
}
