//! Facts about a host: files of the kernel and results of system calls.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use touchline_net::nic::{self, Timestamps};

/// Maximum size of a file that is read, bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A host, read from the files below a directory: `/`, or that of a test host.
#[derive(Debug)]
pub struct Host {
    root: PathBuf,
    calls: Calls,
}

/// Facts that only system calls report.
#[derive(Debug)]
enum Calls {
    /// Calls are made on this host.
    Made,
    /// A test host: fixed answers, if there are any.
    MadeUp(Answers),
}

/// Answers of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    /// Space of the file system at `/dev/shm`.
    pub shm: Option<Space>,
    /// Timestamps of the driver of the interface.
    pub timestamps: Option<Timestamps>,
}

/// Room in a file system, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Total.
    pub total_bytes: u64,
    /// Free.
    pub free_bytes: u64,
}

/// Reason why a fact is unknown, in one line. An unknown fact is not a failure.
#[derive(Debug)]
pub struct Unknown(pub String);

impl Unknown {
    /// With this reason.
    pub fn because(what: impl Display) -> Unknown {
        Unknown(what.to_string())
    }
}

impl Host {
    /// The host that this process runs on.
    pub fn this() -> Host {
        Host {
            root: "/".into(),
            calls: Calls::Made,
        }
    }

    /// A host of files; facts outside files are unknown.
    pub fn made_up(root: &Path) -> Host {
        Host::answering(root, Answers::default())
    }

    /// A host of files and fixed answers.
    pub fn answering(root: &Path, answers: Answers) -> Host {
        Host {
            root: root.to_owned(),
            calls: Calls::MadeUp(answers),
        }
    }

    /// Content of a file, trimmed.
    pub fn text(&self, path: &str) -> Result<String, Unknown> {
        let mut bytes = Vec::new();
        let read = File::open(self.place(path))
            .and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
            Err(error) => Err(Unknown(format!("{path} cannot be read: {error}"))),
        }
    }

    /// Number in a file.
    pub fn number(&self, path: &str) -> Result<u64, Unknown> {
        let text = self.text(path)?;
        let number = text.parse();
        number.map_err(|_| Unknown(format!("{path} has no number: {:?}", start(&text))))
    }

    /// The selected word of a file, in brackets among its alternatives.
    pub fn chosen(&self, path: &str) -> Result<String, Unknown> {
        let text = self.text(path)?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        match chosen {
            Some((chosen, _)) => Ok(chosen.to_owned()),
            None => Err(Unknown(format!("{path} has no choice: {:?}", start(&text)))),
        }
    }

    /// The names in a directory, sorted; none if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.place(path)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// Whether a directory exists.
    pub fn has_directory(&self, path: &str) -> bool {
        self.place(path).is_dir()
    }

    /// Space of `/dev/shm`.
    pub fn shm_space(&self) -> Result<Space, Unknown> {
        if let Calls::MadeUp(answers) = self.calls {
            return answers.shm.ok_or_else(not_asked);
        }
        let space = rustix::fs::statvfs("/dev/shm");
        let space =
            space.map_err(|error| Unknown(format!("/dev/shm cannot be measured: {error}")))?;
        Ok(Space {
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        })
    }

    /// Timestamping of an interface.
    pub fn timestamps(&self, interface: &str) -> Result<Timestamps, Unknown> {
        if let Calls::MadeUp(answers) = self.calls {
            return answers.timestamps.ok_or_else(not_asked);
        }
        let timestamps = nic::timestamps(interface);
        timestamps
            .map_err(|error| Unknown(format!("the driver of {interface} does not say: {error}")))
    }

    fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

fn not_asked() -> Unknown {
    Unknown::because("a test host has no kernel")
}

/// First characters, to keep a message short.
fn start(text: &str) -> String {
    text.chars().take(40).collect()
}
