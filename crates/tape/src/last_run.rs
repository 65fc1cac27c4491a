//! What the runs before have recorded: where each stream ends.

use crate::messages::Messages;
use crate::publication::{Publication, StreamPlace};
use std::collections::BTreeMap;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::Stream;
use touchline_journal::{Entry, Error, is_journal, read_from};
use touchline_types::native::Message;

/// Ends of the streams of a tape.
#[derive(Debug, Default)]
pub struct LastRun {
    streams: BTreeMap<u16, LastStream>,
}

/// End of a stream.
#[derive(Debug, Clone)]
pub struct LastStream {
    /// Its number.
    pub stream: u16,
    /// What it has.
    pub publication: Publication,
    /// Number of its last message; 0 if it has none.
    pub sequence: u64,
    /// Time of its last record.
    pub time_ns: u64,
}

impl LastRun {
    /// Reads the last segment that has streams; each segment begins with them and their places. The journal of this run is open, so that it
    /// has every record of the runs before.
    ///
    /// # Errors
    /// The journal is damaged, or cannot be read.
    pub fn read(directory: &Path) -> Result<LastRun, Error> {
        let mut last = LastRun::default();
        if !is_journal(directory).unwrap_or(false) {
            return Ok(last);
        }
        let report = read_from(directory, u64::MAX, false, |_| {})?;
        // A run whose buses did not exist has segments without streams.
        for segment in report.segments.iter().rev() {
            if segment.frames > 0 && last.streams.is_empty() {
                read_from(directory, segment.first, false, |entry| last.take(entry))?;
            }
        }
        Ok(last)
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let (stream, time_ns) = (entry.head.stream, entry.head.time_ns);
        match entry.head.kind {
            kind::STREAM => {
                let Some(described) = Stream::decode(entry.body) else {
                    return;
                };
                if let Some(publication) = Publication::of(&described) {
                    let StreamPlace { sequence, at_ns } = StreamPlace::of(&described);
                    let last = LastStream {
                        stream,
                        publication,
                        sequence,
                        time_ns: at_ns,
                    };
                    self.streams.insert(stream, last);
                }
            }
            kind::MESSAGES => {
                if let Some(known) = self.streams.get_mut(&stream) {
                    known.time_ns = time_ns;
                    known.sequence = known.sequence.max(last_sequence(entry.body));
                }
            }
            _ => {}
        }
    }

    /// The last stream of a bus.
    pub fn of(&self, bus: &str) -> Option<&LastStream> {
        let mut streams = self.streams.values().rev();
        streams.find(|stream| stream.publication.bus == bus)
    }

    /// The last stream of each bus.
    pub(crate) fn streams(&self) -> impl Iterator<Item = &LastStream> {
        let of_its_bus = |stream: &&LastStream| {
            let last = self.of(&stream.publication.bus);
            last.is_some_and(|last| last.stream == stream.stream)
        };
        self.streams.values().filter(of_its_bus)
    }

    /// Number of the next stream, from 1.
    pub fn next_stream(&self) -> u16 {
        self.streams
            .keys()
            .next_back()
            .map_or(1, |last| last.saturating_add(1))
    }
}

/// Largest number of the messages of a record; those of the recorder have 0.
fn last_sequence(body: &[u8]) -> u64 {
    let parsed = Messages::of(body).filter_map(|bytes| Message::parse(bytes).ok());
    parsed.map(|message| message.sequence()).max().unwrap_or(0)
}
