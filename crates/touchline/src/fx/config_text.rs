//! Reading of a configuration file.

use crate::output::Failure;
use std::path::Path;
use touchline_settings::Mistakes;

/// Reads a configuration without secrets and control characters; a failure names every mistake of the file.
pub fn read_config<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, Mistakes>,
) -> Result<T, Failure> {
    let text = touchline_credentials::read_config(path).map_err(Failure::usage)?;
    touchline_credentials::check_text(path, &text).map_err(Failure::usage)?;
    parse(&text).map_err(|mistakes| Failure::file(mistakes.in_file(path)))
}
