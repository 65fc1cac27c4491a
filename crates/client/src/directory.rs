//! The directory of the buses, and the buses in it.

use std::path::{Path, PathBuf};
use touchline_transport::bus::{FOREIGN_SCHEMA, schema_of};
use touchline_transport::shm::{Root, SegmentError};

/// Directory of the buses.
pub(crate) fn root(directory: Option<&Path>) -> Root {
    let of_environment = || std::env::var_os("TOUCHLINE_DIR").map(PathBuf::from);
    match directory.map(Path::to_owned).or_else(of_environment) {
        Some(directory) => Root::at(directory),
        None => Root::of_this_user(),
    }
}

/// Names of the buses of market data, sorted; those of a trading engine and its clients are left out.
pub(crate) fn market_buses(root: &Root) -> Result<Vec<String>, SegmentError> {
    let mut buses = root.buses()?;
    // A bus that cannot be read is listed, so that opening it reports the error.
    buses.retain(|bus| schema_of(root, bus).map_or(true, |schema| schema < FOREIGN_SCHEMA));
    Ok(buses)
}
