//! Which buses a command is about.

use std::path::PathBuf;
use touchline_gateway::bus;
use touchline_transport::shm::Root;

/// Where the buses are.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// Directory of the buses; by default /dev/shm/touchline-UID.
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    pub dir: Option<PathBuf>,
}

impl Place {
    /// The directory of the buses.
    pub fn root(&self) -> Root {
        bus::root(self.dir.as_deref())
    }
}
