//! Buses of other hosts for a command that reads one: a receiving relay as a child, which writes a bus of this command alone.

use crate::output::Failure;
use std::fs::Metadata;
use std::io::ErrorKind;
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

/// Folders of commands: this and the number of the process, with `-2` and so on behind it while another one has that name.
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
        remove_left(Path::new(SHM));
        let folder = new_folder(Path::new(SHM))?;
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

/// Makes a folder that no other command has. A process of another container may have the number of this one, and the same `/dev/shm`.
fn new_folder(shm: &Path) -> Result<PathBuf, Failure> {
    let name = format!("{PREFIX}{}", std::process::id());
    let mut folder = shm.join(&name);
    for number in 2_u32.. {
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                folder = shm.join(format!("{name}-{number}"));
            }
            Err(error) => return Err(Failure::run(format!("{}: {error}", folder.display()))),
        }
    }
    Ok(folder)
}

/// Removes folders of this user that killed commands have left: those whose process is gone, and whose bus has no writer either. A process of
/// another container has a number that is not seen here, or is another process here.
fn remove_left(shm: &Path) {
    let Ok(folders) = std::fs::read_dir(shm) else {
        return;
    };
    let user = rustix::process::geteuid().as_raw();
    for folder in folders.flatten() {
        let name = folder.file_name();
        let name = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let pid = name.and_then(|name| name.split('-').next()?.parse::<u32>().ok());
        let (Some(pid), Ok(about)) = (pid, folder.metadata()) else {
            continue;
        };
        // This process has none yet.
        let is_gone = pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists();
        if about.uid() == user && is_gone && !is_new(&about) && !is_written(&folder.path()) {
            let _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

/// Whether the relay of a folder may still create its bus.
fn is_new(about: &Metadata) -> bool {
    let changed = about.modified().ok().map(|at| at.elapsed());
    // A time ahead of ours is of a clock that was set.
    !matches!(changed, Some(Ok(since)) if since > START_MAX)
}

fn is_written(folder: &Path) -> bool {
    let publisher = Monitor::new(Some(folder)).publisher(BUS);
    publisher.is_ok_and(|publisher| publisher.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;
    use touchline_testing::Folder;
    use touchline_transport::shm::{Publisher, Root, Settings};

    /// A command of another container has the number of this process and the same `/dev/shm`.
    #[test]
    fn a_folder_of_another_command_is_removed_only_without_a_writer() {
        let shm = Folder::new("remote");
        let other = new_folder(&shm).expect("our folder");
        let settings = Settings {
            ring_bytes: 64 * 1024,
            instruments_max: 8,
            ..Settings::default()
        };
        let long_ago = SystemTime::now() - 2 * START_MAX;
        let make_old = || {
            let folder = std::fs::File::open(&other).expect("our folder");
            folder.set_modified(long_ago).expect("our folder");
        };
        remove_left(&shm);
        assert!(other.exists(), "its relay may begin");
        let publisher = Publisher::open(&Root::at(&other), BUS, &settings).expect("our folder");
        make_old();
        remove_left(&shm);
        let own = new_folder(&shm).expect("our folder");
        assert!(own != other && other.join(BUS).join("ring").exists());
        drop(publisher);
        make_old();
        remove_left(&shm);
        assert!(!other.exists() && own.exists());
    }
}
