//! What the runs before have recorded in a raw journal: where it ends.

use std::collections::BTreeMap;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::Gap;
use touchline_journal::{Entry, Error, read_from};

/// End of a raw journal.
#[derive(Debug, Default)]
pub(super) struct LastRaw {
    /// Time of its last record; `None` if it has none.
    pub last_ns: Option<u64>,
    /// The last segment with a record.
    pub segment: u64,
    /// What that segment has of each stream.
    pub records: BTreeMap<u16, Accounted>,
}

/// Packets or reads of a stream that a journal accounts for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Accounted {
    /// Recorded ones.
    pub records: u64,
    /// Lost ones, as far as their number is known.
    pub lost: u64,
}

impl Accounted {
    /// Takes a record: false if it states a loss of an unknown number.
    pub fn take(&mut self, kind: u16, body: &[u8]) -> bool {
        match (kind, Gap::decode(body).map(|gap| gap.count)) {
            (kind::PACKET | kind::BYTES, _) => self.records += 1,
            (kind::GAP, Some(Gap::UNKNOWN)) => return false,
            (kind::GAP, Some(count)) => self.lost += count,
            _ => {}
        }
        true
    }
}

impl LastRaw {
    /// Reads the last segment with a record; the first segment of this run is there already.
    ///
    /// # Errors
    /// The journal is damaged, or cannot be read.
    pub fn read(directory: &Path) -> Result<LastRaw, Error> {
        let report = read_from(directory, u64::MAX, false, |_| {})?;
        let mut last = LastRaw::default();
        for segment in report.segments.iter().rev() {
            if segment.frames > 0 && last.last_ns.is_none() {
                last.segment = segment.index;
                read_from(directory, segment.first, false, |entry| last.take(entry))?;
            }
        }
        Ok(last)
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let head = &entry.head;
        if !matches!(head.kind, kind::BEGIN | kind::END) {
            self.last_ns = self.last_ns.max(Some(head.time_ns));
        }
        let accounted = self.records.entry(head.stream).or_default();
        accounted.take(head.kind, entry.body);
    }
}
