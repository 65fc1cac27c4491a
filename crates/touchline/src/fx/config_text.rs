//! The text of a configuration.

use crate::output::Failure;
use std::io::ErrorKind;
use std::path::Path;

/// The text of a configuration, without secrets and control characters.
pub fn read_config(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    touchline_credentials::check_text(path, &text).map_err(Failure::usage)?;
    Ok(text)
}

/// A configuration file that cannot be read, and what to do.
fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let fix = match error.kind() {
        ErrorKind::NotFound => "give the path of a configuration file",
        _ => "give read permission",
    };
    Failure::usage(format!(
        "{}: cannot be read ({error}); {fix}",
        path.display()
    ))
}
