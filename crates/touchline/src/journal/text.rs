//! Records, segments and verdicts of a journal as text.

use super::events::Events;
use std::fmt::Write;
use std::path::Path;
use touchline_journal::format::{kind, kind_name, segment_name};
use touchline_journal::records::{Begin, Clock, End, Gap, Stream};
use touchline_journal::{Chain, Entry, Report, SegmentState, Verdict};

/// Bytes of a body that a line shows.
const BODY_BYTES_SHOWN: usize = 64;

/// Appends the line of a record: its place, then what its body says, or the first bytes of the body. A batch of a trading engine has
/// further lines.
pub fn record(text: &mut String, entry: &Entry<'_>, events: &mut Events) {
    if let (kind::STREAM, Some(stream)) = (entry.head.kind, Stream::decode(entry.body)) {
        events.note_stream(entry.head.stream, &stream);
    }
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let (sequence, position) = (number(entry.sequence), number(entry.position));
    let (time_ns, stream, kind) = (entry.head.time_ns, entry.head.stream, entry.head.kind);
    let name = kind_name(kind).unwrap_or("Record");
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{name} sequence={sequence} position={position} segment={} time_ns={time_ns} stream={stream} kind={kind}",
        entry.segment
    );
    if !decoded(text, kind, entry.body) && !events.record(text, entry) {
        bytes(text, entry.body);
    }
    text.push('\n');
}

/// Appends the fields of a body that the journal defines; `false` for another body.
fn decoded(text: &mut String, kind: u16, body: &[u8]) -> bool {
    let fields = match kind {
        kind::BEGIN => Begin::decode(body).map(|begin| {
            format!(
                "base={} first={} end_crc={:08x}",
                begin.base, begin.first, begin.end_crc
            )
        }),
        kind::END => End::decode(body).map(|end| {
            let (position, next, aside) = (end.position, end.next, end.set_aside);
            let cause = end.cause;
            format!("end={position} next={next} set_aside={aside} cause={cause}")
        }),
        kind::STREAM => Stream::decode(body).map(|stream| {
            format!(
                "content={} schema={} version={} name={:?}",
                stream.content, stream.schema, stream.version, stream.name
            )
        }),
        kind::GAP => Gap::decode(body).map(|gap| {
            let count = match gap.count {
                u64::MAX => "unknown".to_owned(),
                count => count.to_string(),
            };
            format!(
                "cause={} first={} last={} count={count} from_ns={} to_ns={}",
                gap.cause, gap.first, gap.last, gap.from_ns, gap.to_ns
            )
        }),
        kind::NOTE => std::str::from_utf8(body)
            .ok()
            .map(|note| format!("text={note:?}")),
        kind::CLOCK => Clock::decode(body).map(|clock| {
            format!(
                "ticks={} wall_ns={} uncertainty_ns={} state={}",
                clock.ticks, clock.wall_ns, clock.uncertainty_ns, clock.state
            )
        }),
        _ => None,
    };
    let Some(fields) = fields else {
        return false;
    };
    let _ = write!(text, " {fields}");
    true
}

fn bytes(text: &mut String, body: &[u8]) {
    let _ = write!(text, " bytes={} body=", body.len());
    for byte in body.iter().take(BODY_BYTES_SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    if body.len() > BODY_BYTES_SHOWN {
        text.push_str("...");
    }
}

/// A table of the segments.
pub fn segments(report: &Report, directory: &Path) -> String {
    let mut text = format!(
        "{:<10} {:>6} {:>9} {:>11} {:>11} {:>11}  {:<10} {:>16}\n",
        "segment", "epoch", "frames", "used", "bytes", "file", "state", "base"
    );
    for segment in &report.segments {
        let state = match segment.state {
            SegmentState::Closed => "closed",
            SegmentState::Open => "open",
            SegmentState::Prepared => "prepared",
            SegmentState::Unfinished => "unfinished",
            SegmentState::Behind => "behind",
        };
        let header = segment.header.as_ref();
        let number =
            |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let epoch = number(header.map(|header| header.epoch));
        let file_bytes = number(header.map(|header| header.file_bytes));
        let base = number(segment.base);
        let file = number(file_bytes_in(directory, segment.index));
        let (index, frames, used) = (segment.index, segment.frames, segment.used_bytes);
        let _ = writeln!(
            text,
            "{index:010} {epoch:>6} {frames:>9} {used:>11} {file_bytes:>11} {file:>11}  {state:<10} {base:>16}"
        );
    }
    text
}

/// Bytes of the file of a segment, which may be compressed.
fn file_bytes_in(directory: &Path, index: u64) -> Option<u64> {
    let path = directory.join(segment_name(index));
    let compressed = path.with_extension("tlj.zst");
    let found = std::fs::metadata(path).or_else(|_| std::fs::metadata(compressed));
    found.ok().map(|found| found.len())
}

/// Findings, one line each, and the verdict.
pub fn report(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let _ = writeln!(text, "{finding}");
    }
    let verdict = match report.verdict {
        Verdict::Clean => "clean",
        Verdict::Cut => "cut by a crash",
        Verdict::Damaged => "damaged",
    };
    let (frames, position, next) = (report.frames, report.position, report.next_sequence);
    let _ = write!(
        text,
        "{verdict}: segments={} frames={frames} position={position} next_sequence={next}",
        report.segments.len()
    );
    if report.bytes_behind > 0 {
        let (bytes, frames) = (report.bytes_behind, report.frames_behind);
        let _ = write!(text, " bytes_behind={bytes} frames_behind={frames}");
    }
    if report.unknown_kinds > 0 {
        let _ = write!(text, " unknown_kinds={}", report.unknown_kinds);
    }
    text.push('\n');
    text
}

/// The head of the hash chain in a line, and a line for each place that was changed.
pub fn chain(chain: &Chain) -> String {
    let mut text = String::new();
    for fault in &chain.faults {
        let _ = writeln!(text, "chain: {fault}");
    }
    let noted = match chain.noted {
        Some(noted) => format!("noted up to segment {}", noted.to),
        None => "no note: nothing to compare it with".to_owned(),
    };
    let _ = match chain.head {
        Some(head) => writeln!(text, "{head}, {noted}"),
        None => writeln!(text, "chain: no closed segment"),
    };
    text
}
