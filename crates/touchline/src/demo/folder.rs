//! The demo's folder and its bus, which go with the demo however that ends.
//!
//! Beside the demo runs a process that only waits for its end, which it learns from a pipe, and removes both.
//! Where both were killed at once, the next demo removes what they left.

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

/// A folder of its own, gone with the demo.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Nobody removes a folder that is locked by another process.
    _lock: OwnedFd,
    cleaner: Cleaner,
}

/// The process that survives the demo.
#[derive(Debug)]
struct Cleaner(Child);

/// What the folders of demos are called, with the number of the process behind it.
const PREFIX: &str = "touchline-demo-";

/// How long the end of a demo is waited for once its pipe has ended, and for files that are still being made.
const PATIENCE: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(5);

impl Folder {
    /// Makes it, and removes what killed demos left.
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
        // Before there is anything to remove: a kill may come at any moment.
        let cleaner = Cleaner::start(process)?;
        // One that is there already is somebody else's, whatever it is.
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).create(&path).map_err(failed)?;
        let lock = lock(&path).ok_or_else(|| failed(ErrorKind::ResourceBusy.into()))?;
        Ok(Folder {
            path,
            _lock: lock,
            cleaner,
        })
    }

    /// The bus goes with the folder, from now on.
    pub fn takes_along(&self, bus: &LeftBus) {
        if let Some(mut input) = self.cleaner.0.stdin.as_ref() {
            // A cleaner that was killed removes nothing; the demo goes on.
            let _ = input.write_all(bus.to_line().as_bytes());
        }
    }

    /// Where it is.
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
            // Out of the terminal's reach: Ctrl-C is for the demo.
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

/// Removes the folder and the bus of a demo as soon as standard input, and with it the demo, has ended.
pub fn clean_up_after(process: u32) -> Result<(), Failure> {
    let mut told = String::new();
    let _ = std::io::stdin().read_to_string(&mut told);
    let path = path_of(process);
    let patience = Instant::now() + PATIENCE;
    // Its pipe may end a moment before its lock. Its other processes have not ended yet, and may just make a file.
    // mutant: demo: nobody removes what a killed one leaves
    while path.exists() && Instant::now() < patience {
        if let Some(_lock) = lock(&path) {
            let _ = fs::remove_dir_all(&path);
        }
        thread::sleep(NAP);
    }
    if let Some(bus) = LeftBus::of_line(&told) {
        // mutant: demo: its bus stays
        bus.remove(PATIENCE, NAP);
    }
    Ok(())
}

/// Removes the folders of demos of this user that are no more.
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
        // One that has just been made is not locked yet.
        // mutant: demo: the next one sweeps nothing
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

/// Whether another process of this number runs.
fn is_running(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let answer = pid.map(test_kill_process);
    process != std::process::id() && !matches!(answer, None | Some(Err(rustix::io::Errno::SRCH)))
}

/// A folder of ours that nobody has locked; it is locked until the value goes.
fn lock(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let is_ours = rustix::fs::fstat(&folder).ok()?.st_uid == geteuid().as_raw();
    let locked = rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive);
    (is_ours && locked.is_ok()).then_some(folder)
}
