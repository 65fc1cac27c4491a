//! Directory and name of the bus that a command uses.

use std::path::PathBuf;
use touchline_client::monitor::Monitor;
use touchline_gateway::bus;
use touchline_transport::shm::Root;

/// Directory of the buses.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Directory of the buses. Default: /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    pub dir: Option<PathBuf>,
}

/// Validates the name of a bus; for clap.
pub fn bus_name(name: &str) -> Result<String, String> {
    touchline_gateway::config::bus_name(name)
}

impl Place {
    /// Monitor of the directory of the buses.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(self.dir.as_deref())
    }

    /// The directory of the buses.
    pub fn root(&self) -> Root {
        bus::root(self.dir.as_deref())
    }
}
