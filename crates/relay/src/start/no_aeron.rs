//! Aeron links of a build without the feature `aeron`.

use super::{StartError, Started};
use crate::config::{Address, Config, ReceiveConfig, SendConfig};
use crate::head::Source;
use touchline_transport::shm::Root;

/// Rejects a sending link.
pub fn send(_: &Config, link: &SendConfig, _: &Root, _: Source) -> Result<Started, StartError> {
    Err(refused(&link.to))
}

/// Rejects a receiving link.
pub fn receive(
    _: &Config,
    link: &ReceiveConfig,
    _: &Root,
    _: &[Source],
) -> Result<Started, StartError> {
    Err(refused(&link.from))
}

fn refused(address: &Address) -> StartError {
    StartError::Setting(format!(
        "{address}: this build has no Aeron; build with --features aeron, or use tcp:// or tls://"
    ))
}
