//! `touchline journal index`, and what `verify` says of indexes.

use crate::format::counted;
use crate::output::{Failure, say};
use std::fmt::Write;
use std::path::Path;
use touchline_journal::{Report, SegmentState, index_path};
use touchline_tape::{IndexFile, index_segments, verify_indexes};

/// Writes the missing and the wrong indexes.
pub fn run(directory: &Path) -> Result<(), Failure> {
    let (written, next) = index_segments(directory, 0).map_err(super::failed)?;
    let below = match next {
        0 => "no segment is closed".to_owned(),
        next => format!("segments below {next} are closed"),
    };
    say(&format!(
        "indexes of {} written; {below}\n",
        counted(written, "segment")
    ))
}

/// A line for all index files, and one for each that is wrong; none if there are none.
pub fn report(directory: &Path, report: &Report) -> String {
    let closed = report.segments.iter();
    let closed = closed.filter(|segment| segment.state == SegmentState::Closed);
    let files = verify_indexes(directory, closed.map(|segment| segment.index));
    let right = files.iter().filter(|(_, file)| *file == IndexFile::Right);
    let mut text = String::new();
    if files.iter().any(|(_, file)| *file != IndexFile::Missing) {
        let (right, all) = (right.count(), files.len());
        let _ = writeln!(
            text,
            "index: {right} of {}",
            counted(all as u64, "closed segment")
        );
    }
    for (segment, _) in files.iter().filter(|(_, file)| *file == IndexFile::Wrong) {
        let path = index_path(directory, *segment);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(
            text,
            "index {name}: damaged, or of another segment; readers ignore it, `touchline journal index` writes it again"
        );
    }
    text
}
