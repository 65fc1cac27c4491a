//! Packets as records of a raw recording.

use super::last_raw::{Accounted, LastRaw};
use super::output::{Failed, Output};
use super::{BytesBody, Line, PacketBody};
use crate::counters::RecorderCounters;
use crate::recorder::Now;
use crate::upkeep::LeftJournal;
use std::collections::VecDeque;
use touchline_journal::format::kind;
use touchline_journal::records::{Gap, Stream};
use touchline_journal::{Journal, Record};
use touchline_net::Packet;

/// Stream of the records about the journal itself, and of losses of an unknown line.
const OF_JOURNAL: u16 = 0;
/// Stream of a session.
const OF_SESSION: u16 = 1;

/// Records packets. Without waiting: if the output takes no record, the caller receives no packet until it does.
#[derive(Debug)]
pub(super) struct RawRecorder {
    output: Output,
    lines: Vec<Recorded>,
    /// What the output has taken in this run, by stream.
    given: Vec<Accounted>,
    /// Position behind the last taken loss of an unknown number.
    unknown_end: u64,
    waiting: VecDeque<Waiting>,
    /// Segments that the disk may lack, and the present one.
    begun: VecDeque<BegunSegment>,
    /// The journal that has failed.
    left: LeftJournal,
    segment_began_ns: u64,
    segment_ns_max: Option<u64>,
    /// Body of the noted packet, and its time.
    body: Vec<u8>,
    noted_ns: u64,
    counters: RecorderCounters,
}

/// A stream, and the time of its last record.
#[derive(Debug)]
struct Recorded {
    stream: Stream,
    /// Number of the line; of packets.
    number: u8,
    last_ns: u64,
}

/// A segment as it began.
#[derive(Debug)]
struct BegunSegment {
    number: u64,
    position: u64,
    at_ns: u64,
    /// Whether the journal was opened with it.
    is_first: bool,
    /// `given` at its begin.
    given: Vec<Accounted>,
}

/// A record that waits for the output.
#[derive(Debug)]
struct Waiting {
    stream: u16,
    kind: u16,
    time_ns: u64,
    body: Vec<u8>,
}

impl RawRecorder {
    /// A recorder of these lines; `last_ns` is the time of the last record of the runs before, if there were any.
    pub fn new(
        output: Output,
        lines: &[Line],
        segment_ns_max: Option<u64>,
        last_ns: Option<u64>,
        now: Now,
    ) -> RawRecorder {
        let recorded = |line: &Line| Recorded {
            stream: line.stream(),
            number: line.number,
            last_ns: now.wall_ns,
        };
        let mut recorder = RawRecorder {
            output,
            lines: lines.iter().map(recorded).collect(),
            given: vec![Accounted::default(); lines.len() + 1],
            unknown_end: 0,
            waiting: VecDeque::new(),
            begun: VecDeque::new(),
            left: LeftJournal::default(),
            segment_began_ns: now.wall_ns,
            segment_ns_max,
            body: Vec::new(),
            noted_ns: 0,
            counters: RecorderCounters::default(),
        };
        recorder.waiting = recorder.heads(now).into();
        if let Some(last_ns) = last_ns {
            recorder.gap(OF_JOURNAL, Gap::NOT_RUNNING, Gap::UNKNOWN, last_ns, now);
        }
        recorder.segment_begun(now);
        recorder
    }

    pub fn output(&self) -> &Output {
        &self.output
    }

    pub fn counters(&mut self) -> &mut RecorderCounters {
        &mut self.counters
    }

    /// Whether records wait for the output, or it takes none.
    pub fn is_blocked(&self) -> bool {
        matches!(self.output, Output::Left) || !self.waiting.is_empty()
    }

    /// Notes a packet of a line, for [`RawRecorder::write`]: a loss before it may be written first. Returns the time of its record.
    pub fn note(&mut self, line: usize, packet: &Packet<'_>, now: Now) -> u64 {
        let recorded = &self.lines[line];
        self.noted_ns = packet.receive_ns;
        self.counters.record_messages += 1;
        self.counters.record_bytes += packet.payload.len() as u64;
        let mut body = std::mem::take(&mut self.body);
        let time_ns = PacketBody::write(recorded.number, packet, now.wall_ns, &mut body);
        self.body = body;
        time_ns
    }

    /// Describes the stream of a session for another connection.
    pub fn describe(&mut self, stream: Stream, now: Now) {
        self.waiting.push_back(Waiting {
            stream: OF_SESSION,
            kind: kind::STREAM,
            time_ns: now.wall_ns,
            body: stream.encode(),
        });
        if self.lines.is_empty() {
            self.lines.push(Recorded {
                stream,
                number: 0,
                last_ns: now.wall_ns,
            });
            self.given.push(Accounted::default());
        }
    }

    /// Writes bytes of a session.
    pub fn bytes(&mut self, offset: u64, bytes: &[u8], at_ns: u64, now: Now) -> Result<(), Failed> {
        self.noted_ns = at_ns;
        self.counters.record_messages += 1;
        self.counters.record_bytes += bytes.len() as u64;
        BytesBody::write(offset, bytes, &mut self.body);
        self.write_body(0, kind::BYTES, at_ns, now)
    }

    /// Writes the packet that was noted.
    pub fn write(&mut self, line: usize, time_ns: u64, now: Now) -> Result<(), Failed> {
        self.write_body(line, kind::PACKET, time_ns, now)
    }

    fn write_body(&mut self, line: usize, kind: u16, time_ns: u64, now: Now) -> Result<(), Failed> {
        let stream = line as u16 + 1;
        self.lines[line].last_ns = self.noted_ns;
        let is_due = self.is_segment_due(now) || !self.output.has_room(self.body.len());
        let is_free = self.waiting.is_empty() && !is_due;
        let record = Record {
            stream,
            kind,
            time_ns,
            body: &self.body,
        };
        let appended = match is_free {
            true => self.output.append(&record),
            false => Ok(false),
        };
        if matches!(appended, Ok(true)) {
            self.given[stream as usize].records += 1;
            return Ok(());
        }
        // Also a record that an output has refused because it has failed.
        self.waiting.push_back(Waiting {
            stream,
            kind,
            time_ns,
            body: self.body.clone(),
        });
        appended?;
        self.give(now)
    }

    /// Writes a loss of a line, or of an unknown one, after its last packet.
    pub fn lost(&mut self, line: Option<usize>, count: u64, now: Now) -> Result<(), Failed> {
        let from_ns = match line {
            Some(line) => self.lines[line].last_ns,
            None => {
                let all = self.lines.iter().map(|recorded| recorded.last_ns);
                all.min().unwrap_or(now.wall_ns)
            }
        };
        self.counters.record_lost += count;
        let stream = line.map_or(OF_JOURNAL, |line| line as u16 + 1);
        self.gap(stream, Gap::DROPPED, count, from_ns, now);
        self.give(now)
    }

    /// States the clock, and ends a segment that is old. The caller calls it once a second.
    pub fn tick(&mut self, now: Now) -> Result<(), Failed> {
        if self.waiting.is_empty() {
            self.waiting.push_back(clock(now));
        }
        self.give(now)
    }

    /// Gives waiting records to the output until it takes no more.
    pub fn give(&mut self, now: Now) -> Result<(), Failed> {
        while let Some(front) = self.waiting.front() {
            let has_room = self.output.has_room(front.body.len());
            if self.is_segment_due(now) || !has_room {
                match self.output.begin_segment(now.wall_ns)? {
                    true => {
                        self.segment_begun(now);
                        for head in self.heads(now).into_iter().rev() {
                            self.waiting.push_front(head);
                        }
                        continue;
                    }
                    false if !has_room => return self.refused(),
                    // The present segment goes on, and the next one is tried again with the next record.
                    false => {}
                }
            }
            let record = Record {
                stream: front.stream,
                kind: front.kind,
                time_ns: front.time_ns,
                body: &front.body,
            };
            if !self.output.append(&record)? {
                return self.refused();
            }
            self.given();
        }
        Ok(())
    }

    /// The output has taken the first waiting record.
    fn given(&mut self) {
        let record = self.waiting.pop_front().expect("it was appended");
        let stream = record.stream as usize;
        if !self.given[stream].take(record.kind, &record.body) {
            self.unknown_end = self.output.journal().map_or(0, Journal::position);
        }
        // The segments from here on are of this connection.
        if record.kind == kind::STREAM
            && let Some(described) = Stream::decode(&record.body)
        {
            self.lines[stream - 1].stream = described;
        }
    }

    fn segment_begun(&mut self, now: Now) {
        self.segment_began_ns = now.wall_ns;
        let Some(journal) = self.output.journal() else {
            return;
        };
        let durable = journal.durable();
        let begun = BegunSegment {
            number: journal.segment(),
            position: journal.position(),
            at_ns: now.wall_ns,
            is_first: self.begun.is_empty(),
            given: self.given.clone(),
        };
        self.begun.push_back(begun);
        // The disk has all before the second one.
        while self
            .begun
            .get(1)
            .is_some_and(|next| next.position <= durable)
        {
            self.begun.pop_front();
        }
    }

    /// Leaves a journal that has failed: records wait until it is open again. Returns its durable position.
    pub fn leave_journal(&mut self, now: Now) -> u64 {
        let Some(journal) = self.output.leave() else {
            return 0;
        };
        self.left = LeftJournal::leave(journal, now.wall_ns);
        self.left.durable
    }

    /// Goes on in a journal that was opened again, which has what the tail had. What it lacks is a gap of each stream.
    pub fn reopened(&mut self, journal: Journal, last: &LastRaw, now: Now) {
        let lacks_from = self.left.lacks_from(&journal);
        self.output = Output::Journal(journal);
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting = self.heads(now).into();
        if let Some(position) = lacks_from {
            self.cut(position, last, now);
        }
        // Positions from here on are those of this journal, which may be another one.
        self.unknown_end = 0;
        self.waiting.extend(waiting);
        self.begun.clear();
        self.segment_begun(now);
    }

    /// The gaps of the records behind this position, which were not on the disk.
    fn cut(&mut self, position: u64, last: &LastRaw, now: Now) {
        let begun = self.begun.iter().find(|begun| begun.number == last.segment);
        let (is_found, first) = (begun.is_some(), self.begun.front());
        // Without a record of this run all of them are lost.
        // mutant: tape: a raw run that was lost as a whole has no gap
        let Some(begun) = begun.or(first) else {
            return;
        };
        let from_ns = last.last_ns.unwrap_or(begun.at_ns);
        let is_unknown = self.unknown_end > position || !is_found && !begun.is_first;
        let before = begun.given.clone();
        for stream in 0..self.given.len() {
            let mut found = before.get(stream).copied().unwrap_or_default();
            if is_found && let Some(records) = last.records.get(&(stream as u16)) {
                found.records += records.records;
                found.lost += records.lost;
            }
            let given = std::mem::replace(&mut self.given[stream], found);
            let records = given.records.saturating_sub(found.records);
            let lost = records + given.lost.saturating_sub(found.lost);
            if lost > 0 {
                self.counters.record_lost += records;
                self.gap(stream as u16, Gap::CUT, lost, from_ns, now);
            }
        }
        if is_unknown {
            self.gap(OF_JOURNAL, Gap::CUT, Gap::UNKNOWN, from_ns, now);
        }
    }

    /// Hands on what waits for further records.
    pub fn flush(&mut self, now: Now) -> Result<(), Failed> {
        self.give(now)?;
        self.output.flush()
    }

    /// Ends the recording.
    pub fn end(self) -> (Output, RecorderCounters) {
        (self.output, self.counters)
    }

    fn refused(&mut self) -> Result<(), Failed> {
        self.counters.record_refused += 1;
        Ok(())
    }

    fn is_segment_due(&self, now: Now) -> bool {
        let age_ns = now.wall_ns.saturating_sub(self.segment_began_ns);
        self.segment_ns_max.is_some_and(|most| age_ns >= most)
    }

    /// The first records of a segment: the clock, and the descriptions of the lines.
    fn heads(&self, now: Now) -> Vec<Waiting> {
        let descriptions = self.lines.iter().enumerate().map(|(at, recorded)| Waiting {
            stream: at as u16 + 1,
            kind: kind::STREAM,
            time_ns: now.wall_ns,
            body: recorded.stream.encode(),
        });
        std::iter::once(clock(now)).chain(descriptions).collect()
    }

    fn gap(&mut self, stream: u16, cause: u16, count: u64, from_ns: u64, now: Now) {
        self.counters.record_gaps += 1;
        let gap = Gap {
            cause,
            first: 0,
            last: 0,
            count,
            from_ns,
            to_ns: now.wall_ns,
        };
        self.waiting.push_back(Waiting {
            stream,
            kind: kind::GAP,
            time_ns: now.wall_ns,
            body: gap.encode().to_vec(),
        });
    }
}

fn clock(now: Now) -> Waiting {
    Waiting {
        stream: OF_JOURNAL,
        kind: kind::CLOCK,
        time_ns: now.wall_ns,
        body: now.clock().encode().to_vec(),
    }
}
