//! Roles of a test in processes of their own: this program, started again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROLE: &str = "TOUCHLINE_TEST_ROLE";
const FOLDER: &str = "TOUCHLINE_TEST_FOLDER";
const DONE: &str = "the role is done";

/// The command that plays a role; words before it run the program, as `unshare -rm`.
pub fn command(before: &[&str], role: &str, folder: &Path) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut command = match before {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    command
        .args(["--exact", "roles::role", "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Runs a role to its end; its assertions fail the test.
pub fn play(before: &[&str], role: &str, folder: &Path) {
    let output = command(before, role, folder).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success() && text.contains(DONE),
        "role {role}: {}",
        output.status
    );
}

/// Entry point of a started process; in the run of all tests it has no role.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the folder of the role"));
    let play: fn(&Path) = match role.as_str() {
        "writer" => crate::kills::play_writer,
        "full disk" => crate::full::play_full_disk,
        "space" => crate::full::play_space,
        "file size limit" => crate::full::play_file_size_limit,
        other => panic!("no role is called {other}"),
    };
    play(&folder);
    println!("{DONE}");
}
