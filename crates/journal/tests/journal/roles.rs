//! Roles of a test in processes of their own: this program, started again.

use std::path::Path;
use std::process::{Command, Stdio};
use touchline_testing::with_role;

const DONE: &str = "the role is done";

/// The command that plays a role; words before it run the program, as `unshare -rm`.
pub fn command(before: &[&str], role: &str, folder: &Path) -> Command {
    let mut command = with_role(before, "roles::role", role, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Runs a role to its end; its assertions fail the test.
pub fn play(before: &[&str], role: &str, folder: &Path) {
    let output = command(before, role, folder).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(
        output.status.success() && text.contains(DONE),
        "role {role}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Entry point of a started process; in the run of all tests it has no role.
#[test]
fn role() {
    let Some((role, folder)) = touchline_testing::role() else {
        return;
    };
    let play: fn(&Path) = match role.as_str() {
        "writer" => crate::kills::play_writer,
        "full disk" => crate::full::play_full_disk,
        "space" => crate::full::play_space,
        "few descriptors" => crate::full::play_few_descriptors,
        "file size limit" => crate::full::play_file_size_limit,
        other => panic!("no role is called {other}"),
    };
    play(&folder);
    println!("{DONE}");
}
