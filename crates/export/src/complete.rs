//! Files that are complete, and get their names together.

use crate::error::Error;
use crate::part_file::PartFile;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

/// A file on the disk that has no name yet, with its `NAME.json`.
#[derive(Debug)]
pub struct Complete {
    part: PartFile,
    about: PartFile,
    written: Written,
}

/// A file that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// Rows or records.
    pub count: u64,
}

impl Complete {
    /// Writes a file with this many rows or records to the disk, and its `NAME.json`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn new(
        mut part: PartFile,
        path: PathBuf,
        count: u64,
        about: &Value,
    ) -> Result<Complete, Error> {
        part.sync().map_err(Error::file(&path))?;
        let beside = beside(&path);
        let mut text = PartFile::create(&beside).map_err(Error::file(&beside))?;
        let written = writeln!(text, "{about:#}").and_then(|()| text.sync());
        written.map_err(Error::file(&beside))?;
        Ok(Complete {
            part,
            about: text,
            written: Written { path, count },
        })
    }

    /// Gives the file its name, behind its `NAME.json`: no file is without it.
    ///
    /// # Errors
    /// A file cannot be renamed.
    pub fn publish(self) -> Result<Written, Error> {
        let Complete {
            part,
            about,
            written,
        } = self;
        let beside = beside(&written.path);
        about.publish(&beside).map_err(Error::file(&beside))?;
        part.publish(&written.path)
            .map_err(Error::file(&written.path))?;
        Ok(written)
    }
}

/// `NAME.json` of a file.
pub fn beside(path: &std::path::Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}
