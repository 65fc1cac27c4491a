//! Buses of other hosts for a command that reads one: a receiving relay as a child, which writes a bus of this command alone.

use crate::output::Failure;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use touchline_client::monitor::Monitor;

/// Name of the bus that the relay writes.
pub const BUS: &str = "remote";

/// A relay at work. It ends with this value, and its bus with it.
#[derive(Debug)]
pub struct Remote {
    child: Child,
    folder: PathBuf,
}

/// Folders of commands: this and the number of the process.
const PREFIX: &str = "touchline-remote-";
const SHM: &str = "/dev/shm";

/// How long the relay may take to begin its bus.
const START_MAX: Duration = Duration::from_secs(10);

impl Remote {
    /// Receives from this address. Returns when the bus is there; its books come with the sender's first refresh.
    ///
    /// # Errors
    /// The relay's own: an address that is none, a build without Aeron.
    pub fn receive(from: &str) -> Result<Remote, Failure> {
        remove_left();
        let folder = Path::new(SHM).join(format!("{PREFIX}{}", std::process::id()));
        // A killed command of this process number may have left its folder.
        let _ = std::fs::remove_dir_all(&folder);
        let made = std::fs::DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| Failure::run(format!("{}: {error}", folder.display())))?;
        let program = std::env::current_exe().map_err(Failure::run)?;
        // Its log is that of this command: a link that is down is a line on standard error.
        let child = Command::new(program)
            .args([
                "relay",
                "--from",
                from,
                "--bus",
                BUS,
                "--until-eof",
                "--dir",
            ])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let child = child.map_err(|error| {
            let _ = std::fs::remove_dir_all(&folder);
            Failure::run(format!("cannot start a relay: {error}"))
        })?;
        let mut remote = Remote { child, folder };
        remote.wait_for_bus()?;
        Ok(remote)
    }

    /// Directory of its bus.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn wait_for_bus(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        // The counters are the last file of a bus that begins.
        while !self.folder.join(BUS).join("counters").exists() {
            if let Ok(Some(status)) = self.child.try_wait() {
                // The relay has logged the reason.
                return Err(Failure::Logged(status.code().map_or(1, |code| code as u8)));
            }
            if start.elapsed() > START_MAX {
                let seconds = START_MAX.as_secs();
                return Err(Failure::run(format!(
                    "no bus of the relay within {seconds} s"
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The relay ends when its input does.
        drop(self.child.stdin.take());
        let start = Instant::now();
        while !matches!(self.child.try_wait(), Ok(Some(_))) && start.elapsed() < START_MAX {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Removes folders of this user that killed commands have left: those whose process is gone, and whose bus has no writer either. A process of
/// another container has a number that is not seen here.
fn remove_left() {
    let Ok(folders) = std::fs::read_dir(SHM) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for folder in folders.flatten() {
        let name = folder.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let Some(pid) = name.and_then(|pid| pid.parse::<u32>().ok()) else {
            continue;
        };
        let is_own = folder.metadata().is_ok_and(|about| about.uid() == user);
        let is_gone = !Path::new(&format!("/proc/{pid}")).exists();
        if is_own && is_gone && !is_written(&folder.path()) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

fn is_written(folder: &Path) -> bool {
    let overview = Monitor::new(Some(folder)).overview(BUS);
    overview.is_ok_and(|(overview, _)| overview.publisher.is_some())
}
