//! The text of a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use touchline_credentials::ConfigError;

/// Maximum size of a configuration; CME's config.xml has 300 KB.
pub(super) const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads a text in UTF-8 of limited size.
///
/// # Errors
/// The file cannot be read, or is something else.
pub(crate) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let refuse = |what: String, fix: &str| ConfigError {
        file: path.to_owned(),
        line: None,
        what,
        fix: fix.to_owned(),
    };
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => refuse(
                "it is not text in UTF-8".to_owned(),
                "save it as UTF-8, without a byte order mark",
            ),
            std::io::ErrorKind::IsADirectory => {
                refuse("it is a directory".to_owned(), "give the file in it")
            }
            _ => refuse(
                format!("cannot read it: {error}"),
                "check the path and its permissions",
            ),
        })?;
    if read as u64 > FILE_BYTES_MAX {
        return Err(refuse(
            format!("it has more than {FILE_BYTES_MAX} bytes"),
            "give a configuration file",
        ));
    }
    Ok(text)
}
