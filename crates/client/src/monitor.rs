//! How buses, their publishers and their readers are doing: for screens and exporters.
//!
//! [`Monitor`] looks at a directory of buses. What it gives is read from shared memory, and disturbs nobody.

use crate::options::root;
use crate::{Error, error};
use std::path::Path;
use touchline_transport::shm::Root;
pub use touchline_transport::shm::{
    CountersView, Description, HistogramView, Holder, Liveness, Origin, Overview,
    READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderView, RegisteredReader,
};

/// A directory of buses.
#[derive(Clone, Debug)]
pub struct Monitor {
    root: Root,
}

impl Monitor {
    /// Of a directory; `None` is `$TOUCHLINE_DIR`, else `/dev/shm/touchline-<uid>`.
    pub fn new(directory: Option<&Path>) -> Monitor {
        Monitor {
            root: root(directory),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Names of the buses, in order.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn buses(&self) -> Result<Vec<String>, Error> {
        let buses = self.root.buses();
        buses.map_err(|error| error::of_segment(&self.root, "", error))
    }

    /// A bus as a whole, and its named readers as they were just before.
    ///
    /// # Errors
    /// There is no such bus, or it cannot be read.
    pub fn overview(&self, bus: &str) -> Result<(Overview, Vec<ReaderView>), Error> {
        let seen = Overview::with_readers(&self.root, bus);
        seen.map_err(|error| error::of_bus(&self.root, bus, error))
    }

    /// What the publisher of a bus counts; `None` of one that keeps no counters.
    ///
    /// # Errors
    /// There is no such bus, or its counters cannot be read.
    pub fn counters(&self, bus: &str) -> Result<Option<CountersView>, Error> {
        let view = CountersView::open(&self.root, bus);
        view.map_err(|error| error::of_bus(&self.root, bus, error))
    }

    /// Who publishes on a bus, whatever its files are like; `None` if nobody does.
    ///
    /// # Errors
    /// There is no such bus, or it is not this user's to look at.
    pub fn publisher(&self, bus: &str) -> Result<Option<Holder>, Error> {
        let holder = Overview::publisher_of(&self.root, bus);
        holder.map_err(|error| error::of_bus(&self.root, bus, error))
    }
}
