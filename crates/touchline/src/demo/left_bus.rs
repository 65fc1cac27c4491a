//! Bus that a killed demo leaves in shared memory.
//!
//! The cleaner, which outlives the demo, removes the bus once the demo's gateway has ended. One line names bus and
//! gateway; the demo writes it as soon as the gateway runs.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use touchline_transport::shm::{Overview, Root, remove};

/// A bus and the process that published it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBus {
    /// Directory of the buses.
    pub directory: PathBuf,
    /// Name of the bus.
    pub bus: String,
    /// Process id of the demo's gateway.
    pub gateway: u32,
}

impl LeftBus {
    /// One line for the cleaner. The directory is last because it may contain spaces.
    pub fn to_line(&self) -> String {
        let LeftBus {
            directory,
            bus,
            gateway,
        } = self;
        format!("{gateway} {bus} {}\n", directory.display())
    }

    /// Parses such a line; `None` for any other, and for an incomplete one.
    pub fn of_line(line: &str) -> Option<LeftBus> {
        let mut words = line.strip_suffix('\n')?.splitn(3, ' ');
        let gateway = words.next()?.parse().ok()?;
        let bus = words.next()?.to_owned();
        let directory = words.next().filter(|path| !path.is_empty())?;
        Some(LeftBus {
            directory: Path::new(directory).to_owned(),
            bus,
            gateway,
        })
    }

    /// Waits until the gateway has ended and removes the bus. A bus that another process publishes by then stays, as
    /// does the bus of a gateway that still runs after `patience`.
    pub fn remove(&self, patience: Duration, nap: Duration) {
        let root = Root::at(&self.directory);
        let start = Instant::now();
        while start.elapsed() < patience {
            match Overview::publisher_of(&root, &self.bus) {
                Ok(Some(holder)) if holder.pid == self.gateway => thread::sleep(nap),
                Ok(None) => {
                    // A process that opens the bus at this moment keeps it.
                    let _ = remove(&root, &self.bus);
                    return;
                }
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_testing::Folder;
    use touchline_transport::shm::{Publisher, Settings};

    fn left(directory: &Path, gateway: u32) -> LeftBus {
        LeftBus {
            directory: directory.to_owned(),
            bus: "demo".to_owned(),
            gateway,
        }
    }

    #[test]
    fn a_line_is_read_back_and_a_truncated_one_is_ignored() {
        let left = left(Path::new("/dev/shm/a place"), 4711);
        let line = left.to_line();
        assert_eq!(line, "4711 demo /dev/shm/a place\n");
        assert_eq!(LeftBus::of_line(&line), Some(left));
        for cut in 0..line.len() {
            assert_eq!(LeftBus::of_line(&line[..cut]), None, "{}", &line[..cut]);
        }
    }

    /// This process publishes, as the demo's gateway or as another process.
    #[test]
    fn a_left_bus_is_removed_once_it_has_no_publisher() {
        let directory = Folder::new("left-bus");
        let root = Root::at(directory.join("buses"));
        let open = || Publisher::open(&root, "demo", &Settings::default());
        let path = root.path().join("demo");
        let us = std::process::id();
        let (long, short) = (Duration::from_secs(30), Duration::from_millis(30));
        let nap = Duration::from_millis(1);

        let publisher = open().expect("a bus");
        std::fs::create_dir_all(path.join("boards/reader")).expect("our folder");
        left(root.path(), us + 1).remove(long, nap);
        assert!(path.exists(), "somebody else's went");
        left(root.path(), us).remove(short, nap);
        assert!(path.exists(), "it went while its gateway published");
        drop(publisher);
        left(root.path(), us).remove(long, nap);
        assert!(!path.exists(), "it stays");
        // A missing bus is not an error.
        left(root.path(), us).remove(long, nap);
    }
}
