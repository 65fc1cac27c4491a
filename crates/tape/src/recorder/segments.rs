//! Records handed to the journal, and the segments that they begin.

use super::{Bus, Described, Now, OF_JOURNAL, Recorder, STATE_SHARE, Waiting};
use crate::last_run::LastRun;
use crate::publication::{Publication, StreamPlace};
use crate::state_bodies::Bodies;
use crate::upkeep::LeftJournal;
use touchline_journal::format::kind;
use touchline_journal::records::{Gap, Stream};
use touchline_journal::{Journal, Record, Refused};

/// A segment ends while it has room for this many records of messages of each bus, so that none begins the next segment before the state.
const SEGMENT_END_BODIES: usize = 2;
/// Bytes of a record beside its body.
const SEGMENT_END_BYTES: usize = 4_096;
/// Attempts to begin the next segment before the rest of the present one is used.
const TRIES: u32 = 1_000;

impl Recorder {
    pub(super) fn begin_stream(&mut self, bus: usize) {
        self.buses[bus].stream = self.next_stream;
        let next = self.next_stream.checked_add(1);
        self.next_stream = next.expect("a tape has at most 65,534 publications: begin another one");
        self.describe_stream(bus);
    }

    pub(super) fn describe_stream(&mut self, bus: usize) {
        let open = &mut self.buses[bus];
        open.begin = StreamPlace {
            sequence: open.sequence,
            at_ns: open.at_ns,
        };
        let described = open.publication.stream(open.begin).encode();
        self.wait(self.buses[bus].stream, kind::STREAM, described);
    }

    /// Descriptions of all streams at this place.
    pub(super) fn descriptions(&self) -> Vec<Waiting> {
        let old = self.old.iter().map(|old| {
            let (sequence, at_ns) = (old.sequence, old.time_ns);
            let place = StreamPlace { sequence, at_ns };
            (old.stream, old.publication.stream(place))
        });
        // mutant: tape: messages that wait are of the next publisher
        let open = self.buses.iter().map(|bus| match &bus.described {
            Some(described) => {
                let (sequence, at_ns) = (described.reached, bus.at_ns);
                let place = StreamPlace { sequence, at_ns };
                (described.stream, described.publication.stream(place))
            }
            None => (bus.stream, bus.publication.stream(bus.begin)),
        });
        let described = old.chain(open).map(|(stream, description)| Waiting {
            stream,
            kind: kind::STREAM,
            sequence: 0,
            body: description.encode(),
        });
        described.collect()
    }

    /// Writes the states that are due, if no update goes on there.
    pub(super) fn write_due_states(&mut self) {
        for bus in 0..self.buses.len() {
            let open = &mut self.buses[bus];
            if !open.is_in_parts && std::mem::take(&mut open.is_state_due) {
                self.write_state(bus);
            }
        }
    }

    /// The state of a stream at this place.
    fn write_state(&mut self, bus: usize) {
        self.close_body(bus);
        let Recorder {
            buses,
            waiting,
            settings,
            ..
        } = self;
        let Bus {
            state,
            stream,
            sequence,
            ..
        } = &buses[bus];
        let channel = buses[bus].channel();
        let mut bytes = 0;
        Bodies::write(
            state,
            &channel,
            *sequence,
            settings.body_bytes_max,
            &mut |body| {
                bytes += body.len() as u64;
                // The empty body is the end of the state.
                let sequence = if body.is_empty() { *sequence } else { 0 };
                waiting.push_back(Waiting {
                    stream: *stream,
                    kind: kind::DEFINITIONS,
                    sequence,
                    body,
                });
            },
        );
        buses[bus].since_state = 0;
        buses[bus].next_state = settings.state_bytes.max(STATE_SHARE * bytes);
    }

    pub(super) fn clock(&mut self, now: Now) {
        self.wait(OF_JOURNAL, kind::CLOCK, now.clock().encode().to_vec());
    }

    /// Gives waiting records to the journal until it takes no more, and begins the next segment in time.
    pub(super) fn hand_over(&mut self, now: Now) -> Result<(), Refused> {
        let is_idle = self.waiting.is_empty() && !self.ends_segment;
        if is_idle || self.journal.is_none() {
            return Ok(());
        }
        if !self.give_waiting(now)? {
            return Ok(());
        }
        let room = SEGMENT_END_BODIES * (self.settings.body_bytes_max + SEGMENT_END_BYTES);
        self.ends_segment |= !self.segment_has_room(room * (1 + self.buses.len()));
        if !self.may_end_segment() {
            return Ok(());
        }
        for bus in 0..self.buses.len() {
            self.close_body(bus);
        }
        if !self.give_waiting(now)? {
            return Ok(());
        }
        if !self.begins_segment(now)? {
            // Without a next segment the present one is used to its end.
            self.tries += 1;
            let has_room = self.segment_has_room(room);
            self.ends_segment = self.tries < TRIES || !has_room;
            return Ok(());
        }
        (self.ends_segment, self.tries) = (false, 0);
        self.segment_began_ns = now.wall_ns;
        self.clock(now);
        self.waiting.extend(self.descriptions());
        self.states_are_due();
        self.write_due_states();
        self.give_waiting(now).map(drop)
    }

    pub(super) fn begins_segment(&mut self, now: Now) -> Result<bool, Refused> {
        let Some(journal) = &mut self.journal else {
            return Ok(false);
        };
        let begun = journal.begin_segment(now.wall_ns);
        self.taken(begun)
    }

    fn segment_has_room(&self, bytes: usize) -> bool {
        let journal = self.journal.as_ref();
        journal.is_some_and(|journal| journal.segment_has_room(bytes))
    }

    /// A join that is not complete writes its state when it is.
    pub(super) fn states_are_due(&mut self) {
        for bus in &mut self.buses {
            // mutant: tape: a segment begins without the state
            bus.is_state_due |= !bus.is_joining;
        }
    }

    /// Whether the journal has taken all waiting records. A long update or state may go on in another segment: readers that begin there
    /// wait for the state after it.
    fn give_waiting(&mut self, now: Now) -> Result<bool, Refused> {
        while let Some(Waiting {
            stream, kind, body, ..
        }) = self.waiting.front()
        {
            if !self.segment_has_room(body.len()) {
                if !self.begins_segment(now)? {
                    return Ok(false);
                }
                self.segment_began_ns = now.wall_ns;
                for description in self.descriptions().into_iter().rev() {
                    self.waiting.push_front(description);
                }
                self.states_are_due();
                continue;
            }
            let Some(journal) = &mut self.journal else {
                return Ok(false);
            };
            let appended = journal.append(&Record {
                stream: *stream,
                kind: *kind,
                time_ns: now.wall_ns,
                body,
            });
            let end = appended.as_ref().map_or(0, |appended| appended.end);
            if !self.taken(appended.map(drop))? {
                return Ok(false);
            }
            self.given(end);
        }
        Ok(true)
    }

    /// The journal has taken the first waiting record, up to this position.
    fn given(&mut self, end: u64) {
        let record = self.waiting.pop_front().expect("it was appended");
        if record.kind == kind::STREAM {
            self.described(&record, end);
            return;
        }
        for bus in &mut self.buses {
            let described = bus.described.as_mut();
            let Some(described) = described.filter(|of| of.stream == record.stream) else {
                continue;
            };
            described.reached = described.reached.max(record.sequence);
            bus.given_end = end;
            let gap = Gap::decode(&record.body).filter(|_| record.kind == kind::GAP);
            if gap.is_some_and(|gap| gap.count == Gap::UNKNOWN) {
                bus.unknown_end = end;
            }
        }
    }

    /// The journal has the description of a stream, up to this position.
    fn described(&mut self, record: &Waiting, end: u64) {
        let stream = Stream::decode(&record.body).expect("a description of this recorder");
        let Some(publication) = Publication::of(&stream) else {
            return;
        };
        let named = |bus: &&mut Bus| bus.publication.bus == publication.bus;
        let Some(bus) = self.buses.iter_mut().find(named) else {
            return;
        };
        let before = bus.described.as_ref().map(|before| before.stream);
        if before == Some(record.stream) {
            return;
        }
        // With it messages of the stream before may be lost.
        if before.is_some() {
            bus.unknown_end = end;
        }
        let begin = StreamPlace::of(&stream);
        bus.described = Some(Described {
            stream: record.stream,
            publication,
            begin,
            reached: begin.sequence,
        });
    }

    /// A journal that is behind its disk, or has no next segment, takes the record later.
    pub(super) fn taken(&mut self, result: Result<(), Refused>) -> Result<bool, Refused> {
        match result {
            Ok(()) => Ok(true),
            Err(Refused::TailFull { .. } | Refused::NoSegment) => {
                self.counters.record_refused += 1;
                self.was_refused();
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }

    /// A loss before the next item of a bus is of the disk.
    fn was_refused(&mut self) {
        for bus in &mut self.buses {
            bus.was_refused = true;
        }
    }

    /// Leaves a journal that has failed: records wait until it is open again. Returns its durable position.
    pub fn leave_journal(&mut self, now: Now) -> u64 {
        self.was_refused();
        let Some(journal) = self.journal.take() else {
            return 0;
        };
        self.left = LeftJournal::leave(journal, now.wall_ns);
        self.left.durable
    }

    /// Goes on in a journal that was opened again, which has what the tail had, and with the state of its buses. What it lacks is a gap.
    pub fn reopened(&mut self, journal: Journal, last: &LastRun, now: Now) {
        let lacks_from = self.left.lacks_from(&journal);
        self.journal = Some(journal);
        (self.ends_segment, self.tries) = (false, 0);
        self.segment_began_ns = now.wall_ns;
        let gaps: Vec<Waiting> = lacks_from.map_or_else(Vec::new, |position| {
            let buses = 0..self.buses.len();
            let gaps = buses.filter_map(|bus| self.cut(bus, position, last, now));
            gaps.collect()
        });
        // Positions of the records that are given from here on are those of this journal, which may be another one.
        for bus in &mut self.buses {
            (bus.given_end, bus.unknown_end) = (0, 0);
        }
        let cut: Vec<u16> = gaps.iter().map(|gap| gap.stream).collect();
        let waiting = std::mem::take(&mut self.waiting);
        self.clock(now);
        self.waiting.extend(self.descriptions());
        self.waiting.extend(gaps);
        self.waiting.extend(waiting);
        for bus in 0..self.buses.len() {
            if cut.contains(&self.buses[bus].stream) {
                self.state_channel(bus);
            }
        }
        self.states_are_due();
        self.write_due_states();
    }

    /// The gap of a bus whose records behind this position were not on the disk.
    fn cut(&mut self, bus: usize, position: u64, last: &LastRun, now: Now) -> Option<Waiting> {
        let open = &mut self.buses[bus];
        let described = open.described.as_mut()?;
        let found = last.of(&described.publication.bus);
        // mutant: tape: a stream that was lost with its description has no gap
        let StreamPlace { sequence, at_ns } = match found {
            Some(found) if found.stream == described.stream => StreamPlace {
                sequence: found.sequence,
                at_ns: found.time_ns,
            },
            // The stream was lost with its description.
            _ => described.begin,
        };
        let stream = described.stream;
        let reached = std::mem::replace(&mut described.reached, sequence);
        let lost = reached.saturating_sub(sequence);
        // mutant: tape: a loss of an unknown number is lost with its gap
        let (first, count) = match open.unknown_end > position {
            true => (0, Gap::UNKNOWN),
            false if lost > 0 => (sequence + 1, lost),
            // Messages of the recorder, or a part of a state.
            // mutant: tape: a change of the publisher that was lost with the ring has no gap
            false if open.given_end > position => (0, 0),
            false => return None,
        };
        let gap = Gap {
            cause: Gap::CUT,
            first,
            last: reached,
            count,
            from_ns: at_ns,
            to_ns: now.wall_ns,
        };
        self.counters.record_gaps += 1;
        self.counters.record_lost += if count == Gap::UNKNOWN { 0 } else { lost };
        Some(Waiting {
            stream,
            kind: kind::GAP,
            // If the disk loses the gap, the next one is of the same messages.
            sequence: reached,
            body: gap.encode().to_vec(),
        })
    }
}
