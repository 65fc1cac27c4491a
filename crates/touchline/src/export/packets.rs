//! The packets of a raw recording as a capture for other tools.

use super::{Arguments, failed};
use crate::format::bytes;
use crate::output::{Failure, say};
use std::io::{Read, Write};
use std::path::Path;
use touchline_export::{Error, PartFile};
use touchline_tape::raw::Capture;

/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes NAME.pcapng, with the name of the recording's directory.
pub fn run(arguments: &Arguments, directory: &Path) -> Result<(), Failure> {
    let mut capture = Capture::open(directory).map_err(Failure::run)?;
    // The directory may be `.`.
    let whole = directory.canonicalize().map_err(Failure::run)?;
    let mut name = whole.file_name().unwrap_or("packets".as_ref()).to_owned();
    name.push(".pcapng");
    let path = arguments.out.join(name);
    let mut file = PartFile::create(&path).map_err(|error| failed(Error::file(&path)(error)))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let written = loop {
        let count = capture.read(&mut chunk).map_err(Failure::run)?;
        if count == 0 {
            break file.sync();
        }
        if let Err(error) = file.write_all(&chunk[..count]) {
            break Err(error);
        }
    };
    let size = file.bytes();
    let published = written.and_then(|()| file.publish(&path));
    published.map_err(|error| failed(Error::file(&path)(error)))?;
    match arguments.quiet {
        true => Ok(()),
        false => say(&format!("{:>14}  {}\n", bytes(size), path.display())),
    }
}
