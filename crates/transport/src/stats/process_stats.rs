//! Counters of a process without a bus, or beside its bus: a counters file with its own name.
//!
//! ```text
//!  <root>/.processes/<name>/lock       lock of the writer, released when it dies
//!                          /counters
//! ```
//!
//! A process that ends in order removes its file. The file of one that failed or was killed stays, for those who look why it is
//! gone, until the next process of that name or [`ProcessStats::remove`].

use super::counters_file::{CountersFile, CountersView};
use crate::bus::{Error, Holder, Root};
use touchline_shm::segment::WriterLock;
use touchline_types::CounterInfo;

/// Not a bus: names that start with a period are not listed as buses.
const FOLDER: &str = ".processes";

/// Writing side: a name and its counters file.
#[derive(Debug)]
pub struct ProcessStats {
    counters_file: CountersFile,
    /// Lock of the name, held until this is dropped or its process dies.
    lock: WriterLock,
}

/// A counting process at one moment.
#[derive(Debug)]
pub struct ProcessView {
    /// Its name.
    pub name: String,
    /// Process; `None` if it failed or was killed, and left the file.
    pub process: Option<Holder>,
    /// Counters file, or the reason why it cannot be read; `Ok(None)` while it is created.
    pub counters_file: Result<Option<CountersView>, Error>,
}

impl ProcessStats {
    /// Takes a name (letters, digits, `-`, `_`, `.`, at most 64 of them) and creates a counters file. `ns_per_tick` is
    /// the tick length of values recorded in histograms.
    ///
    /// # Errors
    /// Another process has the name (it is in the error), or there is no room for the file.
    pub fn create<'a>(
        root: &Root,
        name: &str,
        ns_per_tick: f64,
        counters: impl IntoIterator<Item = &'a CounterInfo>,
        histograms: impl IntoIterator<Item = &'a CounterInfo>,
    ) -> Result<ProcessStats, Error> {
        root.make_root()?;
        let lock = WriterLock::acquire(folder(root).create(name)?)?;
        Ok(ProcessStats {
            counters_file: CountersFile::create(&lock, ns_per_tick, counters, histograms)?,
            lock,
        })
    }

    /// The counters file, for writing.
    pub fn counters_file(&mut self) -> &mut CountersFile {
        &mut self.counters_file
    }

    /// Removes the file: a process that ends in order is not shown any more. One that is dropped without this call has failed: only
    /// its lock is released, and its last values say that it is gone.
    pub fn finish(self) {
        // A file that cannot be removed is shown as that of a failed process, and taken over by the next one of that name.
        let _ = self.lock.remove_directory();
    }

    /// Removes the file that a process of this name has left.
    ///
    /// # Errors
    /// There is no such file, or its process lives (it is in the error): then the file is left unchanged.
    pub fn remove(root: &Root, name: &str) -> Result<(), Error> {
        let lock = WriterLock::acquire(folder(root).open(name)?)?;
        Ok(lock.remove_directory()?)
    }
}

impl ProcessView {
    /// All counting processes by name, including those that failed or were killed and left their files; no process is affected. Only their
    /// own user sees them.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(root: &Root) -> Result<Vec<ProcessView>, Error> {
        if matches!(root.is_own(), Ok(false)) {
            return Ok(Vec::new());
        }
        let folder = folder(root);
        let view = |name: String| {
            // One that ends meanwhile is left out.
            let directory = folder.open(&name).ok()?;
            Some(ProcessView {
                process: WriterLock::holder(&directory).ok()?,
                counters_file: CountersView::open(&folder, &name),
                name,
            })
        };
        let names = match folder.buses() {
            // Without the root there is no such folder, and no process.
            Err(touchline_shm::segment::Error::NoParent { .. }) => {
                root.buses().map(|_| Vec::new())?
            }
            names => names?,
        };
        Ok(names.into_iter().filter_map(view).collect())
    }
}

fn folder(root: &Root) -> Root {
    Root::at(root.path().join(FOLDER))
}
