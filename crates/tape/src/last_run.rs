//! What the runs before have recorded: where each stream ends.

use crate::messages::Messages;
use crate::publication::{Publication, StreamPlace};
use crate::state_bodies::place_of_state;
use std::collections::BTreeMap;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::{Gap, Stream};
use touchline_journal::{Entry, Error, is_journal, read_from};
use touchline_types::native::Message;

/// Ends of the streams of a tape.
#[derive(Debug, Default)]
pub struct LastRun {
    streams: BTreeMap<u16, LastStream>,
    /// Places of states whose end was not read.
    states: BTreeMap<u16, u64>,
    /// Descriptions of streams that were read.
    descriptions: usize,
    /// Whether a record follows descriptions of streams, so that those of all buses were read.
    is_whole: bool,
}

/// End of a stream.
#[derive(Debug, Clone)]
pub struct LastStream {
    /// Its number.
    pub stream: u16,
    /// What it has.
    pub publication: Publication,
    /// Number of the last message that it has, states as lost, or has in a state; 0 if there is none.
    pub sequence: u64,
    /// Time of its last record.
    pub time_ns: u64,
}

impl LastRun {
    /// Reads the last segment that has streams, and those behind it; each segment begins with the streams and their places. The journal of
    /// this run is open, so that it has every record of the runs before.
    ///
    /// # Errors
    /// The journal is damaged, or cannot be read.
    pub fn read(directory: &Path) -> Result<LastRun, Error> {
        let mut last = LastRun::default();
        if !is_journal(directory).unwrap_or(false) {
            return Ok(last);
        }
        let report = read_from(directory, u64::MAX, false, |_| {})?;
        let mut described = 0;
        for segment in report.segments.iter().rev() {
            if segment.frames == 0 {
                continue;
            }
            let descriptions = last.descriptions;
            last = LastRun::default();
            read_from(directory, segment.first, false, |entry| last.take(entry))?;
            // A run whose buses did not exist has segments without streams. A tape that was cut within the descriptions of its last segment
            // has a part of them there, and all of them in the one before.
            described += usize::from(last.descriptions > descriptions);
            // mutant: tape: a part of the descriptions is all buses
            if last.is_whole || described == 2 {
                break;
            }
        }
        Ok(last)
    }

    fn take(&mut self, entry: &Entry<'_>) {
        let (stream, time_ns) = (entry.head.stream, entry.head.time_ns);
        match entry.head.kind {
            kind::BEGIN | kind::END | kind::CLOCK | kind::STREAM => {}
            _ => self.is_whole |= self.descriptions > 0,
        }
        match entry.head.kind {
            kind::STREAM => {
                self.descriptions += 1;
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
                self.reach(stream, last_sequence(entry.body), time_ns);
            }
            // Lost messages are stated, and those before a state are in it.
            kind::GAP => {
                let gap = Gap::decode(entry.body);
                self.reach(stream, gap.map_or(0, |gap| gap.last), time_ns);
            }
            kind::DEFINITIONS if entry.body.is_empty() => {
                let place = self.states.remove(&stream);
                self.reach(stream, place.unwrap_or(0), time_ns);
            }
            kind::DEFINITIONS => {
                if let Some(place) = place_of_state(entry.body) {
                    self.states.insert(stream, place);
                }
            }
            _ => {}
        }
    }

    /// The tape accounts for the messages of a stream up to this number.
    fn reach(&mut self, stream: u16, sequence: u64, time_ns: u64) {
        if let Some(known) = self.streams.get_mut(&stream) {
            known.time_ns = time_ns;
            known.sequence = known.sequence.max(sequence);
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

    /// Names of their buses, sorted.
    pub fn buses(&self) -> Vec<String> {
        let mut buses: Vec<String> = self
            .streams()
            .map(|stream| stream.publication.bus.clone())
            .collect();
        buses.sort_unstable();
        buses
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
