//! Folder and bus of the demo, removed at its end, however it ends.
//!
//! A cleaner process waits on a pipe for the end of the demo and removes both. If both were killed, the next demo
//! removes their files.

use super::left_bus::LeftBus;
use crate::output::Failure;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::process::{Pid, geteuid, test_kill_process};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A temporary folder, removed at the end of the demo.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Lock: a locked folder is not removed by other processes.
    _lock: OwnedFd,
    cleaner: Cleaner,
}

/// The process that outlives the demo.
#[derive(Debug)]
struct Cleaner(Child);

/// Prefix of the folder's name, followed by the process id.
const PREFIX: &str = "touchline-demo-";

/// Maximum wait for the end of a demo after its pipe is closed, and for files that are still being created.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(5);

impl Folder {
    /// Creates the folder and removes those of killed demos.
    pub fn create() -> Result<Folder, Failure> {
        let process = std::process::id();
        let path = path_of(process);
        let failed = |error: std::io::Error| {
            let path = path.display();
            Failure::run(format!(
                "{path}: {error}; set TMPDIR to a folder that you may write"
            ))
        };
        sweep();
        // Before anything exists that must be removed: a kill may come at any moment.
        let cleaner = Cleaner::start(process)?;
        // An existing folder of this name belongs to another process.
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).create(&path).map_err(failed)?;
        let lock = lock(&path).ok_or_else(|| failed(ErrorKind::ResourceBusy.into()))?;
        Ok(Folder {
            path,
            _lock: lock,
            cleaner,
        })
    }

    /// The bus is removed with the folder from now on.
    pub fn takes_along(&self, bus: &LeftBus) {
        if let Some(mut input) = self.cleaner.0.stdin.as_ref() {
            // A killed cleaner removes nothing; the demo continues.
            let _ = input.write_all(bus.to_line().as_bytes());
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        self.cleaner.end();
    }
}

impl Cleaner {
    fn start(process: u32) -> Result<Cleaner, Failure> {
        let failed = |error| Failure::run(format!("the cleaner cannot be started: {error}"));
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["demo", "--clean-up-after", &process.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A process group of its own: Ctrl-C must not end the cleaner.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        Ok(Cleaner(child))
    }

    fn end(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Removes the folder and the bus of a demo when standard input ends, that is, when the demo has ended.
pub fn clean_up_after(process: u32) -> Result<(), Failure> {
    let mut told = String::new();
    let _ = std::io::stdin().read_to_string(&mut told);
    let path = path_of(process);
    let patience = Instant::now() + PATIENCE;
    // The pipe may close before the lock is released, and child processes may still be creating files.
    while path.exists() && Instant::now() < patience {
        if let Some(_lock) = lock(&path) {
            let _ = fs::remove_dir_all(&path);
        }
        thread::sleep(NAP);
    }
    if let Some(bus) = LeftBus::of_line(&told) {
        bus.remove(PATIENCE, NAP);
    }
    Ok(())
}

/// Removes the folders of ended demos of this user.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some(process) = process.and_then(|number| number.parse().ok()) else {
            continue;
        };
        // A new folder is not locked yet.
        if is_running(process) {
            continue;
        }
        if let Some(_lock) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn path_of(process: u32) -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{process}"))
}

/// Whether another process with this id runs.
fn is_running(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let answer = pid.map(test_kill_process);
    process != std::process::id() && !matches!(answer, None | Some(Err(rustix::io::Errno::SRCH)))
}

/// Locks a folder of this user that is not locked; the lock ends with the value.
fn lock(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let is_ours = rustix::fs::fstat(&folder).ok()?.st_uid == geteuid().as_raw();
    let locked = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive);
    (is_ours && locked.is_ok()).then_some(folder)
}
