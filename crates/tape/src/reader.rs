//! The reading side: records of one bus as the items that a subscriber of the bus had.

mod directory;
mod due;
mod end;
mod error;
mod item;
mod lead;
mod options;
pub(crate) mod rest;
mod resume;
mod seek;

use crate::messages::Messages;
use crate::publication::Publication;
use crate::state_bodies::{begins_state, place_of_state};
pub use directory::buses;
use directory::{check_tape, of_journal};
use end::SeenRecorder;
pub use error::Error;
use item::{fits, received, top_of};
use lead::Lead;
use options::{Only, Passed, defined_by};
pub use options::{ReadOptions, Selection, TapePlace};
use seek::OpenIndex;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use touchline_instruments::KnownDefinitions;
use touchline_journal::format::kind;
use touchline_journal::records::{Clock, Gap, Stream};
use touchline_journal::{Entry, Follow, sync_segment, writer};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::{Item, Room};
use touchline_transport::memory::has_room;
use touchline_types::native::{Body, Decoder, Flags, Message, Unfit};
use touchline_types::{OrderChange, Update};

/// Most changes of one event, or levels of one book.
const CHANGES_MAX: usize = 65_536;
/// Most orders of one message on a bus without order tables.
const ORDERS_MAX: usize = 65_536;
/// Most quotes of one message.
const QUOTES_MAX: usize = 4_096;
/// Records that one poll passes over.
const PASSED_MAX: usize = 1_024;
/// Records before the first one of a bus after which the buses of the tape are listed.
const LISTED_AFTER: usize = 4_096;
/// Bytes of a [`Room`], rounded up: for any bus, and for each order.
const ROOM_BYTES: usize = 8 << 20;
const ORDER_BYTES: usize = size_of::<OrderChange>();

/// Result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taped<T> {
    /// An item was handed out, with this result.
    Given(T),
    /// Records were passed over; there may be more.
    Passed,
    /// There is no further record, so far: a recorder writes the tape.
    Nothing,
    /// The tape has no further record, and is not recorded. A later poll goes on if a recorder comes back.
    End,
}

/// Reads one bus of a tape from its first record on, also while it is recorded.
pub struct Reader {
    path: PathBuf,
    follow: Follow,
    place: PlaceInStream,
    /// Begin of the next message in the body of the present record.
    from: usize,
    /// Polls that found no record.
    polls_without: u64,
    /// No recorder writes the tape, and its end was verified; or the place at which this reader ends was reached.
    is_ended: bool,
    recorder: SeenRecorder,
    /// Messages before the place at which this reader begins.
    lead: Option<Lead>,
    /// Place at which it ends.
    to: Option<TapePlace>,
    /// Bodies of the state at the place at which it begins, and the rest of the record of that place.
    states: VecDeque<Vec<u8>>,
    rest: Option<(Vec<u8>, usize)>,
    /// A loss at that place, behind the event of another publication.
    late: Option<SubscriptionEvent>,
    /// Instruments that are handed out.
    only: Option<Only>,
    index: Option<OpenIndex>,
    /// Segments whose index was built by this reader.
    unindexed: u64,
    /// Definitions for instruments that the tape has without one.
    known: Arc<KnownDefinitions>,
}

/// Place in the stream of a bus, and the present record of it.
struct PlaceInStream {
    /// Name of the bus; `None`: the first one of the tape.
    bus: Option<String>,
    /// Stream of the bus, and its publication.
    open: Option<(u16, Publication)>,
    /// Time of the present record, ns since the Unix epoch.
    at_ns: u64,
    passed: Passed,
    /// Body of the present record.
    body: Vec<u8>,
    /// Whether it has a state instead of messages of the bus.
    is_state: bool,
    /// Books are unknown: the state of the next `Definitions` records is handed out.
    needs_state: bool,
    /// The begin of that state was read.
    is_state_begun: bool,
    /// Publication whose books the receiver has: it continues them by the numbers of the messages, and needs no state, also behind a gap.
    resumed: Option<Publication>,
    event: Option<SubscriptionEvent>,
    decoder: Decoder,
    /// For messages of the recorder, which may stand between two parts of an update.
    own: Decoder,
    room: Room,
    /// Messages that were passed over, because no state came before them.
    without_state: u64,
    /// Messages of a newer schema.
    unknown: u64,
    /// Bytes of the room for updates that this process cannot have.
    missing_bytes: Option<usize>,
    gaps: u64,
    lost: u64,
    last_gap: Option<Gap>,
    /// Clocks of the recorder's host.
    clock: Option<Clock>,
}

impl Reader {
    /// Opens a tape at its first segment; `bus` is the name of a bus, or `None` for the first one that the tape has.
    ///
    /// # Errors
    /// [`Error::NoTape`].
    pub fn open(directory: &Path, bus: Option<&str>) -> Result<Reader, Error> {
        Reader::over(Follow::new(directory), directory, bus)
    }

    /// Opens a tape with these options, and goes to its place by the indexes of the segments. A segment without an index is read as a whole.
    ///
    /// # Errors
    /// [`Error::NoTape`], or a segment cannot be read.
    pub fn open_with(directory: &Path, options: ReadOptions) -> Result<Reader, Error> {
        let mut reader = Reader::open(directory, options.bus.as_deref())?;
        reader.lead = options.from.map(Lead::new);
        reader.to = options.to;
        reader.known = options.known;
        reader.only = options.only.map(Only::new);
        reader.recorder = SeenRecorder::new(options.recorder_wait, reader.is_recorded());
        if let Some(from) = options.from {
            reader.seek(from)?;
        }
        Ok(reader)
    }

    /// Opens a tape at this segment, which has the state of its buses at its start.
    ///
    /// # Errors
    /// [`Error::NoTape`].
    pub fn open_at(directory: &Path, bus: Option<&str>, segment: u64) -> Result<Reader, Error> {
        Reader::over(Follow::from_segment(directory, segment), directory, bus)
    }

    fn over(follow: Follow, directory: &Path, bus: Option<&str>) -> Result<Reader, Error> {
        check_tape(directory)?;
        Ok(Reader {
            path: directory.to_owned(),
            follow,
            place: PlaceInStream {
                bus: bus.map(str::to_owned),
                open: None,
                at_ns: 0,
                passed: Passed::default(),
                body: Vec::new(),
                is_state: false,
                needs_state: true,
                is_state_begun: false,
                resumed: None,
                event: None,
                decoder: Decoder::new(),
                own: Decoder::new(),
                room: Room::new(0, 0, 0),
                without_state: 0,
                unknown: 0,
                missing_bytes: None,
                gaps: 0,
                lost: 0,
                last_gap: None,
                clock: None,
            },
            from: 0,
            polls_without: 0,
            is_ended: false,
            recorder: SeenRecorder::default(),
            lead: None,
            to: None,
            states: VecDeque::new(),
            rest: None,
            late: None,
            only: None,
            index: None,
            unindexed: 0,
            known: Arc::default(),
        })
    }

    /// Reads up to the first record of the bus, and to the place at which it begins, and returns the publication there; `None` if the tape
    /// has none, so far.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn begin(&mut self) -> Result<Option<&Publication>, Error> {
        let mut records = 0;
        while self.place.open.is_none() && self.record()? {
            records += 1;
            // A long tape is not read to its end for a bus that it does not have.
            if records == LISTED_AFTER
                && let Some(bus) = &self.place.bus
                && !buses(&self.path)?.contains(bus)
            {
                break;
            }
        }
        self.begin_lead()?;
        Ok(self.publication())
    }

    /// Whether a recorder writes the tape now.
    pub fn is_recorded(&self) -> bool {
        writer(&self.path).is_some()
    }

    /// The publication that is read; `None` before the first record of the bus.
    pub fn publication(&self) -> Option<&Publication> {
        self.place.open.as_ref().map(|(_, publication)| publication)
    }

    /// Time of the present record, ns since the Unix epoch; 0 before the first.
    pub fn time_ns(&self) -> u64 {
        self.place.at_ns
    }

    /// Position in the journal behind the present record.
    pub fn position(&self) -> u64 {
        self.follow.position()
    }

    /// Losses that the tape states, and lost messages as far as their number is known.
    pub fn gaps(&self) -> (u64, u64) {
        (self.place.gaps, self.place.lost)
    }

    /// The last loss that was handed out as [`SubscriptionEvent::Overrun`], with its cause.
    pub fn last_gap(&self) -> Option<&Gap> {
        self.place.last_gap.as_ref()
    }

    /// Clocks of the recorder's host, and the error of its wall clock, as last stated.
    pub fn clock(&self) -> Option<&Clock> {
        self.place.clock.as_ref()
    }

    /// Number of the segment that is read, or of the next one.
    pub fn segment(&self) -> u64 {
        self.follow.segment()
    }

    /// Waits until the disk has the segments from this one on, up to the one that is read.
    ///
    /// # Errors
    /// A segment cannot be opened, or the disk fails.
    pub fn sync_from(&self, segment: u64) -> Result<(), Error> {
        let mut closed = segment..self.segment();
        Ok(closed.try_for_each(|segment| sync_segment(&self.path, segment))?)
    }

    /// Id of the journal; `None` before the first record.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.follow.journal()
    }

    /// Messages that were passed over, because no state of the books came before them.
    pub fn without_state(&self) -> u64 {
        self.place.without_state
    }

    /// Messages of a newer schema, which were passed over.
    pub fn unknown_messages(&self) -> u64 {
        self.place.unknown
    }

    /// Passes the next item to `take`, if there is one; never waits.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Result<Taped<T>, Error> {
        self.poll_by(|reader, event| match event {
            Some(event) => Ok(Next::Given(take(Item::SubscriptionEvent(event)))),
            None => reader.message(reader.to, &mut take),
        })
    }

    fn poll_by<T>(
        &mut self,
        mut give: impl FnMut(&mut Reader, Option<SubscriptionEvent>) -> Result<Next<T>, Error>,
    ) -> Result<Taped<T>, Error> {
        if let Some(lead) = self.lead.take() {
            return Ok(match self.read_lead(lead)? {
                true => Taped::Passed,
                false => self.without_record(),
            });
        }
        for _ in 0..PASSED_MAX {
            let event = self.place.event.take();
            let is_event = event.is_some();
            match give(self, event)? {
                Next::Given(given) => return Ok(Taped::Given(given)),
                Next::Reached => {
                    self.is_ended = true;
                    return Ok(Taped::End);
                }
                Next::Nothing => {}
            }
            if is_event || self.place.event.is_some() {
                continue;
            }
            if !self.record()? && !self.looked_again()? {
                return Ok(self.without_record());
            }
            // The caller may wait for the time of the record.
            if !self.place.body.is_empty() {
                return Ok(Taped::Passed);
            }
        }
        Ok(Taped::Passed)
    }

    /// Result of a poll without a further record.
    fn without_record<T>(&self) -> Taped<T> {
        match self.is_ended {
            true => Taped::End,
            false => Taped::Nothing,
        }
    }

    /// Hands out the next message of the present record, if it is before the place `until`.
    fn message<T>(
        &mut self,
        until: Option<TapePlace>,
        take: &mut impl FnMut(Item<'_>) -> T,
    ) -> Result<Next<T>, Error> {
        let Reader {
            path,
            follow,
            place,
            from,
            only,
            known,
            ..
        } = self;
        let malformed = |what: String| malformed(path, follow, what);
        loop {
            let next = next_of(&place.body, *from).map_err(|what| malformed(what.to_owned()))?;
            let Some((bytes, message, behind)) = next else {
                return Ok(Next::Nothing);
            };
            if !place.is_state {
                if place.passed.reaches(until, &message, &place.body, *from) {
                    return Ok(Next::Reached);
                }
                place.passed.note(&message);
            }
            *from = behind;
            let (batch_end, is_image) = (message.flags().has(Flags::END_OF_BATCH), place.is_state);
            place.unknown += u64::from(matches!(message.body, Body::Unknown { .. }));
            if only.as_mut().is_some_and(|only| !only.has(&message, known)) {
                match batch_end && !is_image {
                    true => return Ok(Next::Given(take(Item::BatchEnd))),
                    false => continue,
                }
            }
            if let Body::TopOfBook(top) = &message.body {
                return Ok(Next::Given(take(top_of(&message, *top, is_image, bytes))));
            }
            let is_own = message.sequence() == 0 && !is_image;
            let decoder = if is_own {
                &mut place.own
            } else {
                &mut place.decoder
            };
            match decoder.update(&message, place.room.lend()) {
                Ok(Some(update)) if !fits(&update, &place.open) => {
                    let what = "an instrument that its bus has no room for";
                    return Err(malformed(what.to_owned()));
                }
                Ok(Some(update)) => {
                    let defined = defined_by(known, &update);
                    let bytes = defined.is_none().then_some(bytes);
                    let update = defined.as_ref().map_or(update, Update::Definition);
                    let received = received(&message, update, is_image, bytes);
                    return Ok(Next::Given(take(Item::Update(received))));
                }
                Ok(None) if is_image => {}
                Ok(None) if batch_end => return Ok(Next::Given(take(Item::BatchEnd))),
                Ok(None) => return Ok(Next::Given(take(Item::Undecoded(bytes)))),
                // A book of more levels than a reader has room for stays unknown.
                Err(Unfit::NoRoom) if is_image => {}
                Err(unfit) => {
                    return Err(malformed(format!(
                        "an update that cannot be read: {unfit:?}"
                    )));
                }
            }
        }
    }

    /// Reads the next record: false if there is none.
    fn record(&mut self) -> Result<bool, Error> {
        self.place.body.clear();
        self.from = 0;
        if self.take_of_place() {
            return Ok(true);
        }
        self.skip_blocks()?;
        let Reader {
            path,
            follow,
            place,
            only,
            is_ended,
            recorder,
            ..
        } = self;
        let polled = follow.poll(u64::MAX, 1, |entry| place.take(entry));
        let is_read = polled.map_err(of_journal)? > 0;
        // A recorder that came back goes on.
        if is_read {
            *is_ended = false;
            // mutant: tape: the wait for a recorder goes on over its records
            recorder.note_record();
        }
        if let (Some(only), Some(SubscriptionEvent::Restarted { .. })) = (only, &place.event) {
            only.forget();
        }
        match (place.missing_bytes.take(), &place.open) {
            (Some(bytes), Some((_, publication))) => Err(Error::Memory {
                path: path.clone(),
                bus: publication.bus.clone(),
                bytes,
            }),
            _ => Ok(is_read),
        }
    }
}

impl PlaceInStream {
    fn take(&mut self, entry: &Entry<'_>) {
        let stream = entry.head.stream;
        if entry.head.kind == kind::STREAM {
            if let Some(publication) = publication_of(entry, self.bus.as_deref()) {
                self.begin(stream, publication);
            }
            return;
        }
        if self.open.as_ref().is_none_or(|open| open.0 != stream) {
            if entry.head.kind == kind::CLOCK {
                self.clock = Clock::decode(entry.body);
            }
            return;
        }
        self.at_ns = entry.head.time_ns;
        self.passed.position = entry.position.unwrap_or(0);
        match entry.head.kind {
            kind::GAP => self.gap(entry.body),
            kind::DEFINITIONS if !self.needs_state => {}
            // The rest of a state that began in the segment before.
            // mutant: tape: a reader takes the rest of a state
            kind::DEFINITIONS if !self.is_state_begun && !begins_state(entry.body) => {}
            kind::DEFINITIONS => self.take_state(entry.body),
            kind::MESSAGES if self.needs_state => {
                self.without_state += Messages::of(entry.body).count() as u64;
            }
            kind::MESSAGES => {
                self.is_state = false;
                self.body.extend_from_slice(entry.body);
            }
            _ => {}
        }
    }

    /// A record of a state; an empty one ends it.
    fn take_state(&mut self, body: &[u8]) {
        self.is_state = true;
        if !std::mem::replace(&mut self.is_state_begun, !body.is_empty()) {
            self.passed.sequence = place_of_state(body).unwrap_or(0);
        }
        self.body.extend_from_slice(body);
        if body.is_empty() {
            self.needs_state = false;
            self.event = Some(SubscriptionEvent::CaughtUp);
        }
    }

    /// A stream is described, at its begin and again in each segment.
    fn begin(&mut self, stream: u16, publication: Publication) {
        let before = self.open.as_ref();
        let is_other = |resumed: &Publication| *resumed != publication;
        // mutant: tape: messages of another publication are continued
        if before.is_none() && self.resumed.as_ref().is_some_and(is_other) {
            return;
        }
        // Without a name given, a tape of several buses is read for the first one alone.
        let is_other_bus = before.is_some_and(|(_, before)| before.bus != publication.bus);
        if is_other_bus || before == Some(&(stream, publication.clone())) {
            return;
        }
        self.event = before.map(|_| SubscriptionEvent::Restarted {
            generation: publication.generation,
        });
        let orders_max = publication.orders_max.max(ORDERS_MAX);
        let bytes = ROOM_BYTES + orders_max * ORDER_BYTES;
        match has_room(bytes) {
            true => self.room = Room::new(CHANGES_MAX, orders_max, QUOTES_MAX),
            false => self.missing_bytes = Some(bytes),
        }
        self.decoder.forget();
        self.passed.note_gap();
        self.open = Some((stream, publication));
        (self.needs_state, self.is_state_begun) = (true, false);
        self.needs_state = self.resumed.is_none();
    }

    fn gap(&mut self, body: &[u8]) {
        let Some(gap) = Gap::decode(body) else {
            return;
        };
        let messages = match gap.count {
            Gap::UNKNOWN => 0,
            count => count,
        };
        self.gaps += 1;
        self.lost += messages;
        if self.resumed.is_some() {
            return;
        }
        self.last_gap = Some(gap);
        self.decoder.forget();
        self.passed.note_gap();
        (self.needs_state, self.is_state_begun) = (true, false);
        self.event = Some(SubscriptionEvent::Overrun { messages, bytes: 0 });
    }
}

const BEYOND_ITS_END: &str = "a length beyond its end";

fn malformed(path: &Path, follow: &Follow, what: impl Into<String>) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        sequence: follow.next_sequence().saturating_sub(1),
        what: what.into(),
    }
}

/// A message, its bytes, and the place behind it.
type InBody<'a> = (&'a [u8], Message<'a>, usize);

/// The message of a body at this place; the fault if there is another one.
#[inline(always)]
fn next_of(body: &[u8], from: usize) -> Result<Option<InBody<'_>>, &'static str> {
    let mut messages = Messages::of(&body[from..]);
    let Some(bytes) = messages.next() else {
        return match from == body.len() {
            true => Ok(None),
            false => Err(BEYOND_ITS_END),
        };
    };
    let behind = body.len() - messages.rest().len();
    match Message::parse(bytes) {
        Ok(message) => Ok(Some((bytes, message, behind))),
        Err(_) => Err("a message that is not one of the native format"),
    }
}

/// Next message of a record.
enum Next<T> {
    /// It was handed out, with this result.
    Given(T),
    /// It is at the place at which reading ends.
    Reached,
    /// The record has no further one.
    Nothing,
}

/// The publication of a `Stream` record, if it is of this bus.
fn publication_of(entry: &Entry<'_>, bus: Option<&str>) -> Option<Publication> {
    let publication = Publication::of(&Stream::decode(entry.body)?)?;
    let is_asked = bus.is_none_or(|bus| bus == publication.bus);
    is_asked.then_some(publication)
}
