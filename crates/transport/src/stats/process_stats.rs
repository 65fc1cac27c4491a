//! What a process counts that has no bus, or counts apart from it: a counters file under a name of its own.
//!
//! ```text
//!  <root>/.processes/<name>/lock       who writes it, a lock that dies with it
//!                          /counters
//! ```
//!
//! A process that ends takes its file with it; that of one which died stays to be read, until the next of that name.

use super::counters_file::{CountersFile, CountersView};
use crate::bus::{Error, Holder, Root};
use touchline_shm::segment::WriterLock;
use touchline_types::CounterInfo;

/// No bus: names that begin so are not listed as buses.
const FOLDER: &str = ".processes";

/// The writing side: a name, and the counters file under it.
#[derive(Debug)]
pub struct ProcessStats {
    counters_file: CountersFile,
    /// The name, until this is dropped or its process dies.
    lock: Option<WriterLock>,
}

/// A process that counts, at one moment.
#[derive(Debug)]
pub struct ProcessView {
    /// Its name.
    pub name: String,
    /// The process; `None` if it died and left the file.
    pub process: Option<Holder>,
    /// Its counters file, or why that cannot be read; `Ok(None)` while it is begun.
    pub counters_file: Result<Option<CountersView>, Error>,
}

impl ProcessStats {
    /// Takes a name (letters, digits, `-`, `_`, `.`, at most 64 of them), and begins a counters file. `ns_per_tick` is the
    /// length of a tick of what is recorded in histograms.
    ///
    /// # Errors
    /// Another process has the name, which says who; or no room for the file.
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
            lock: Some(lock),
        })
    }

    /// Its counters file, to be written.
    pub fn counters_file(&mut self) -> &mut CountersFile {
        &mut self.counters_file
    }
}

/// Who ends is not seen any more.
impl Drop for ProcessStats {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // What cannot be removed is seen as dead, and taken by the next of that name.
            let _ = lock.remove_directory();
        }
    }
}

impl ProcessView {
    /// Every process that counts, by name, and those that died and left their files; disturbs nobody.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(root: &Root) -> Result<Vec<ProcessView>, Error> {
        let folder = folder(root);
        let view = |name: String| {
            // One that ends in between is not there.
            let directory = folder.open(&name).ok()?;
            Some(ProcessView {
                process: WriterLock::holder(&directory).ok()?,
                counters_file: CountersView::open(&folder, &name),
                name,
            })
        };
        let names = match folder.buses() {
            // Without the root there is no folder in it, and no process.
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
