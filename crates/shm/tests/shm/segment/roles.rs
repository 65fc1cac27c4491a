//! Roles of a test in processes of their own: this program, started again.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

const ROLE: &str = "TOUCHLINE_TEST_ROLE";
const FOLDER: &str = "TOUCHLINE_TEST_FOLDER";
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
    pub child: Child,
    pub said: String,
    _stdout: BufReader<ChildStdout>,
}

impl Player {
    pub fn start(role: &str, folder: &Path) -> Self {
        let mut child = command(role, folder).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            assert!(
                stdout.read_line(&mut line).unwrap() > 0,
                "{role} ended early"
            );
        }
        let (_, said) = line.split_once(READY).unwrap();
        Self {
            child,
            said: said.trim().to_owned(),
            _stdout: stdout,
        }
    }

    /// SIGKILL; the process has ended when this returns.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
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
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "segment::roles::role", "--nocapture"])
        .env(ROLE, role)
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Entry point of a started process; in the run of all tests it has no role.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
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
