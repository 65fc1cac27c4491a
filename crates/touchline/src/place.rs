//! Which buses a command is about.

use std::path::PathBuf;
use touchline_client::monitor::Monitor;
use touchline_gateway::bus;
use touchline_transport::shm::Root;

/// Where the buses are.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Directory of the buses. Default: /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    pub dir: Option<PathBuf>,
}

/// A name that a bus may have; for clap.
pub fn bus_name(name: &str) -> Result<String, String> {
    touchline_gateway::config::bus_name(name)
}

impl Place {
    /// The directory of the buses, for who looks at how they are doing.
    pub fn monitor(&self) -> Monitor {
        Monitor::new(self.dir.as_deref())
    }

    /// The directory of the buses.
    pub fn root(&self) -> Root {
        bus::root(self.dir.as_deref())
    }
}
