//! Roles of a test in processes of their own: this program, started again.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use touchline_testing::{Process, with_role};

const READY: &str = "the role is ready: ";
const DONE: &str = "the role is done";

/// Runs a role to its end; its assertions fail the test. Returns the output.
pub fn play(role: &str, folder: &Path) -> String {
    let output = command(role, folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains(DONE),
        "role {role}: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// Runs a role that must not end normally.
pub fn run_to_crash(role: &str, folder: &Path) -> ExitStatus {
    let output = command(role, folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(READY) && !text.contains(DONE), "{text}");
    output.status
}

/// A role that has reported that it is ready, and waits.
pub struct Player {
    pub process: Process,
    pub said: String,
}

impl Player {
    pub fn start(role: &str, folder: &Path) -> Self {
        let mut process = Process::start(command(role, folder).stdin(Stdio::piped()));
        let line = process.wait_for_line(READY);
        let (_, said) = line.split_once(READY).unwrap();
        Self {
            process,
            said: said.to_owned(),
        }
    }
}

/// For roles: writes a line to the parent.
pub fn ready(saying: &str) {
    println!("{READY}{saying}");
}

/// For roles: waits until the parent has ended, or longer if the role is killed first.
pub fn wait_for_the_end() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn command(role: &str, folder: &Path) -> Command {
    let mut command = with_role(&[], "segment::roles::role", role, folder);
    command.stdin(Stdio::null());
    command
}

/// Entry point of a started process; in the run of all tests it has no role.
#[test]
fn role() {
    let Some((role, folder)) = touchline_testing::role() else {
        return;
    };
    let play: fn(&Path) = match role.as_str() {
        "umask" => crate::segment::other_users::play_umask,
        "reader of no group" => crate::segment::groups::play_stranger,
        "reader of the group" => crate::segment::groups::play_member,
        "publisher of another user" => crate::segment::groups::play_publisher,
        "store as reader" => crate::segment::other_users::play_store_as_reader,
        "fault elsewhere" => crate::segment::faults::play_fault_elsewhere,
        "fault elsewhere, with a handler" => crate::segment::faults::play_fault_with_handler,
        "writer" => crate::segment::locks::play_writer,
        "owner" => crate::segment::names::play_owner,
        "starter" => crate::segment::locks::play_starter,
        "reader" => crate::segment::locks::play_reader,
        "small tmpfs" => crate::segment::room::play_small_tmpfs,
        "hugetlbfs" => crate::segment::room::play_hugetlbfs,
        "file size limit" => crate::segment::room::play_file_size_limit,
        "memlock limit" => crate::segment::room::play_memlock_limit,
        "many mappings" => crate::segment::room::play_many_mappings,
        other => panic!("no role is called {other}"),
    };
    play(&folder);
    println!("{DONE}");
}
