//! The text of a configuration.

use crate::output::Failure;
use std::path::Path;

/// The text of a configuration, without secrets and control characters.
pub fn read_config(path: &Path) -> Result<String, Failure> {
    let text = touchline_credentials::read_config(path).map_err(Failure::usage)?;
    touchline_credentials::check_text(path, &text).map_err(Failure::usage)?;
    Ok(text)
}
