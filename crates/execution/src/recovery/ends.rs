//! Ends of parents that a run has told. Most follow from the other records. Those that a price decided do not, as the journal has no prices,
//! and neither do those of timers that ran after the last record.

use crate::records;
use serde_json::{Map, Value};
use touchline_fx::parents::EndReason;
use touchline_types::Id;

/// Kind of the lines that have them.
const DECISION: u8 = 1;

/// Parents that ended by the lines of a record, with the reasons.
pub(super) fn ends(lines: &[u8]) -> impl Iterator<Item = (Id, EndReason)> {
    // Nearly no line is one: it is searched before it is parsed.
    let is_end =
        |(kind, text): &(u8, &str)| *kind == DECISION && text.contains(r#""event":"ended""#);
    records::lines(lines)
        .filter(is_end)
        .filter_map(|(_, text)| {
            let line: Map<String, Value> = serde_json::from_str(text).ok()?;
            let text = |key| line.get(key).and_then(Value::as_str);
            let parent = Id::new(text("parent")?.as_bytes())?;
            Some((parent, EndReason::of_name(text("reason")?)?))
        })
}
