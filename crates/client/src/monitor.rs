//! State of buses, publishers and readers, for screens and exporters.
//!
//! [`Monitor`] reads a directory of buses. It only reads shared memory and slows no process.

use crate::options::root;
use crate::{Error, error};
use std::path::Path;
use touchline_transport::bus::{FOREIGN_SCHEMA, schema_of};
use touchline_transport::shm::Root;
pub use touchline_transport::shm::{
    CountersView, Description, HistogramView, Holder, Liveness, Origin, Overview, ProcessView,
    READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderView, RegisteredReader,
};

/// A directory of buses.
#[derive(Clone, Debug)]
pub struct Monitor {
    root: Root,
}

impl Monitor {
    /// Monitor of a directory; `None` is `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub fn new(directory: Option<&Path>) -> Monitor {
        Monitor {
            root: root(directory),
        }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Names of the buses of market data, sorted. Those of a trading engine, its drop copy and its clients' commands, are left out:
    /// its counters are among [`Monitor::processes`].
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn buses(&self) -> Result<Vec<String>, Error> {
        let buses = self.root.buses();
        let mut buses = buses.map_err(|error| error::of_segment(&self.root, "", error))?;
        // One that cannot be read is listed: its overview says why.
        buses.retain(|bus| {
            let schema = schema_of(&self.root, bus);
            schema.map_or(true, |schema| schema < FOREIGN_SCHEMA)
        });
        Ok(buses)
    }

    /// Overview of a bus, and its named readers.
    ///
    /// # Errors
    /// The bus does not exist or cannot be read.
    pub fn overview(&self, bus: &str) -> Result<(Overview, Vec<ReaderView>), Error> {
        let seen = Overview::with_readers(&self.root, bus);
        seen.map_err(|error| error::of_bus(&self.root, bus, error))
    }

    /// Counters of a bus's publisher; `None` if it keeps none.
    ///
    /// # Errors
    /// The bus does not exist, or its counters cannot be read.
    pub fn counters(&self, bus: &str) -> Result<Option<CountersView>, Error> {
        let view = CountersView::open(&self.root, bus);
        view.map_err(|error| error::of_bus(&self.root, bus, error))
    }

    /// Processes that count apart from any bus, by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn processes(&self) -> Result<Vec<ProcessView>, Error> {
        let processes = ProcessView::all(&self.root);
        processes.map_err(|error| error::of_bus(&self.root, "", error))
    }

    /// Process that publishes on a bus, also if its files are damaged; `None` if there is none.
    ///
    /// # Errors
    /// The bus does not exist, or this user may not read it.
    pub fn publisher(&self, bus: &str) -> Result<Option<Holder>, Error> {
        let holder = Overview::publisher_of(&self.root, bus);
        holder.map_err(|error| error::of_bus(&self.root, bus, error))
    }
}
