//! The histograms of rows as an interval log, which HdrHistogram's tools read.

use crate::Failed;
use crate::row::Row;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::io::Write;
use std::time::{Duration, SystemTime};

/// Writes a log: each row under the tag `SUBJECT@RATE/ROUND`.
///
/// # Errors
/// The log cannot be written, or a row has no histogram.
pub fn write(rows: &[Row], out: &mut impl Write) -> Result<(), Failed> {
    let failed = |error: &dyn std::fmt::Debug| Failed(format!("interval log: {error:?}"));
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("touchline load: latency in nanoseconds, from the due time of a message")
        .with_start_time(SystemTime::now())
        .begin_log_with(out, &mut serializer)
        .map_err(|error| failed(&error))?;
    let mut at = Duration::ZERO;
    for row in rows.iter().filter(|row| !row.histogram.is_empty()) {
        let tag = format!(
            "{}@{}/{}",
            row.subject.replace([' ', ','], "-"),
            row.rate,
            row.round
        );
        let took = Duration::from_secs_f64(row.host.window_s);
        log.write_histogram(&row.decoded()?, at, took, Tag::new(&tag))
            .map_err(|error| failed(&error))?;
        at += took;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Verdict;
    use crate::step::made_up_row;

    #[test]
    fn each_row_has_its_line() {
        let rows =
            [1, 2].map(|round| made_up_row("tcp 3 readers", 10_000, round, Verdict::Sustained));
        let mut text = Vec::new();
        write(&rows, &mut text).expect("written");
        let text = String::from_utf8(text).expect("text");
        assert!(text.contains("Tag=tcp-3-readers@10000/1,"), "{text}");
        assert!(text.contains("Tag=tcp-3-readers@10000/2,"), "{text}");
    }
}
