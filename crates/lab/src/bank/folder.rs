//! The folder of banks that survive a kill: a file of each dealing desk, and the ports on which all of them listen.

use super::dealer::Desk;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Banks cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Error of a port.
    Port(touchline_net::stream::Error),
    /// Error of this file of the folder.
    File(PathBuf, io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Port(error) => write!(
                f,
                "cannot listen ({error}); give an address of this host and free ports, or port = 0"
            ),
            OpenError::File(path, error) => write!(
                f,
                "{}: {error}; give a folder of the same banks that you may write to, or an empty one",
                path.display()
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<touchline_net::stream::Error> for OpenError {
    fn from(error: touchline_net::stream::Error) -> OpenError {
        OpenError::Port(error)
    }
}

/// Ports of quotes and orders, by bank.
type Ports = BTreeMap<String, [u16; 2]>;

/// The folder.
pub struct Folder {
    path: PathBuf,
    ports: Ports,
}

impl Folder {
    /// Opens a folder, which need not exist.
    pub fn open(path: &Path) -> Result<Folder, OpenError> {
        let wrong = |error| OpenError::File(path.to_owned(), error);
        std::fs::create_dir_all(path).map_err(wrong)?;
        let file = path.join("ports.json");
        let ports = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Ports::new()),
            Err(error) => Err(error),
        };
        Ok(Folder {
            path: path.to_owned(),
            ports: ports.map_err(|error| OpenError::File(file, error))?,
        })
    }

    /// The ports that a bank had.
    pub fn ports(&self, bank: &str) -> Option<[u16; 2]> {
        self.ports.get(bank).copied()
    }

    /// A desk with what its file says.
    pub fn restore(&self, bank: &str, desk: Desk) -> Result<Desk, OpenError> {
        let file = self.path.join(format!("{bank}.jsonl"));
        let restored = desk.with_file(&file);
        restored.map_err(|error| OpenError::File(file, error))
    }

    /// Writes the ports of all banks: of quotes and of orders, by name.
    pub fn write(
        &mut self,
        banks: impl Iterator<Item = (String, [u16; 2])>,
    ) -> Result<(), OpenError> {
        self.ports.extend(banks);
        let (new, file) = (self.path.join("ports.new"), self.path.join("ports.json"));
        let text = serde_json::to_vec(&self.ports).expect("ports are JSON");
        // A kill leaves the old file or the new one.
        let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &file));
        written.map_err(|error| OpenError::File(file, error))
    }
}
