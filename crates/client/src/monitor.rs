//! State of buses, publishers and readers, for screens and exporters.
//!
//! [`Monitor`] reads a directory of buses. It only reads shared memory and slows no process.

use crate::directory::{market_buses, root};
use crate::{Error, error};
use std::path::Path;
use touchline_transport::bus::{DROP_COPY_SCHEMA, schema_of};
use touchline_transport::shm::Root;
pub use touchline_transport::shm::{
    Build, CountersView, Description, HistogramView, Holder, Liveness, Origin, Overview,
    ProcessView, READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderView, RegisteredReader,
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
    /// see [`Monitor::engines`].
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn buses(&self) -> Result<Vec<String>, Error> {
        market_buses(&self.root).map_err(|error| error::of_segment(&self.root, "", error))
    }

    /// Names of the trading engines and their standbys, sorted, also of those that have ended. Their counters are among
    /// [`Monitor::processes`].
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn engines(&self) -> Result<Vec<String>, Error> {
        let mut buses = self.all_buses()?;
        buses.retain(|bus| self.is_engine(bus));
        Ok(buses)
    }

    /// Whether a bus is that of a trading engine or of a standby: it has a drop copy and no market data.
    pub fn is_engine(&self, bus: &str) -> bool {
        schema_of(&self.root, bus).is_ok_and(|schema| schema == u64::from(DROP_COPY_SCHEMA))
    }

    fn all_buses(&self) -> Result<Vec<String>, Error> {
        let buses = self.root.buses();
        buses.map_err(|error| error::of_segment(&self.root, "", error))
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
