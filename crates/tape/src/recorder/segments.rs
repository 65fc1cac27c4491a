//! Records handed to the journal, and the segments that they begin.

use super::{Bus, Now, OF_JOURNAL, Recorder, Waiting};
use crate::publication::StreamPlace;
use crate::state_bodies::Bodies;
use touchline_journal::format::kind;
use touchline_journal::records::Clock;
use touchline_journal::{Record, Refused};

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
        let described = self.buses[bus].described().encode();
        self.wait(self.buses[bus].stream, kind::STREAM, described);
    }

    /// Descriptions of all streams at this place.
    pub(super) fn descriptions(&self) -> Vec<Waiting> {
        let old = self.old.iter().map(|old| {
            let (sequence, at_ns) = (old.sequence, old.time_ns);
            let place = StreamPlace { sequence, at_ns };
            (old.stream, old.publication.stream(place))
        });
        let open = self.buses.iter().map(|bus| (bus.stream, bus.described()));
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
        Bodies::write(
            state,
            &channel,
            *sequence,
            settings.body_bytes_max,
            &mut |body| {
                waiting.push_back(Waiting {
                    stream: *stream,
                    kind: kind::DEFINITIONS,
                    sequence: 0,
                    body,
                });
            },
        );
    }

    pub(super) fn clock(&mut self, now: Now) {
        let clock = Clock {
            ticks: now.ticks,
            wall_ns: now.wall_ns,
            uncertainty_ns: 0,
            state: 0,
        };
        self.wait(OF_JOURNAL, kind::CLOCK, clock.encode().to_vec());
    }

    /// Gives waiting records to the journal until it takes no more, and begins the next segment in time.
    pub(super) fn hand_over(&mut self, now: Now) -> Result<(), Refused> {
        if self.waiting.is_empty() && !self.ends_segment {
            return Ok(());
        }
        if !self.give_waiting(now)? {
            return Ok(());
        }
        let room = SEGMENT_END_BODIES * (self.settings.body_bytes_max + SEGMENT_END_BYTES);
        self.ends_segment |= !self.journal.segment_has_room(room * (1 + self.buses.len()));
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
            let has_room = self.journal.segment_has_room(room);
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
        let begun = self.journal.begin_segment(now.wall_ns);
        self.taken(begun)
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
            if !self.journal.segment_has_room(body.len()) {
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
            let appended = self.journal.append(&Record {
                stream: *stream,
                kind: *kind,
                time_ns: now.wall_ns,
                body,
            });
            if !self.taken(appended.map(drop))? {
                return Ok(false);
            }
            self.given();
        }
        Ok(true)
    }

    /// The journal has taken the first waiting record.
    fn given(&mut self) {
        let record = self.waiting.pop_front().expect("it was appended");
        let of_it = self
            .buses
            .iter_mut()
            .find(|bus| bus.stream == record.stream);
        if let Some(bus) = of_it.filter(|_| record.kind == kind::MESSAGES) {
            bus.given_sequence = record.sequence;
        }
    }

    /// A journal that is behind its disk, or has no next segment, takes the record later.
    pub(super) fn taken(&mut self, result: Result<(), Refused>) -> Result<bool, Refused> {
        match result {
            Ok(()) => Ok(true),
            Err(Refused::TailFull { .. } | Refused::NoSegment) => {
                self.counters.record_refused += 1;
                Ok(false)
            }
            Err(other) => Err(other),
        }
    }
}
