//! The reading side: records of one bus as the items that a subscriber of the bus had.

use crate::messages::Messages;
use crate::publication::Publication;
use std::path::{Path, PathBuf};
use touchline_journal::format::kind;
use touchline_journal::records::{Gap, Stream};
use touchline_journal::{Entry, Follow, is_journal, read_from, writer};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::{Item, Received, Room};
use touchline_types::Update;
use touchline_types::native::{Body, Decoder, Flags, Message, Unfit};

/// Most changes of one event, or levels of one book.
const CHANGES_MAX: usize = 65_536;
/// Most orders of one message on a bus without order tables.
const ORDERS_MAX: usize = 65_536;
/// Most quotes of one message.
const QUOTES_MAX: usize = 4_096;
/// Polls without a record after which the tape's directory is looked at.
const LOOKS: u64 = 256;
/// Records that one poll passes over.
const PASSED_MAX: usize = 1_024;

/// Why a tape is not read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The journal cannot be read, or is damaged.
    #[error(transparent)]
    Journal(#[from] touchline_journal::Error),
    /// There is no journal.
    #[error("{}: no segment of a tape; give the directory that has the files 0000000001.tlj and on", path.display())]
    NoTape {
        /// The directory.
        path: PathBuf,
    },
    /// Segments were removed while this reader was before them.
    #[error(
        "{}: segment {segment} was removed before it was read: give the tape more room, or read from its oldest segment", path.display()
    )]
    Removed {
        /// The directory.
        path: PathBuf,
        /// The segment.
        segment: u64,
    },
    /// The body of a record is not what its kind says.
    #[error("{}: record {sequence}: {what}", path.display())]
    Malformed {
        /// The directory.
        path: PathBuf,
        /// Sequence of the record in the journal.
        sequence: u64,
        /// The fault.
        what: String,
    },
}

impl Error {
    /// Whether memory, or room in the address space of this process, was missing.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Journal(error) if error.is_out_of_memory())
    }
}

/// Result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taped<T> {
    /// An item was handed out, with this result.
    Given(T),
    /// Records were passed over; there may be more.
    Passed,
    /// There is no further record, so far: a recorder writes the tape.
    Nothing,
    /// The tape has no further record, and is not recorded.
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
    /// No recorder writes the tape, and its end was verified.
    is_ended: bool,
}

/// Place in the stream of a bus, and the present record of it.
struct PlaceInStream {
    /// Name of the bus; `None`: the first one of the tape.
    bus: Option<String>,
    /// Stream of the bus, and its publication.
    open: Option<(u16, Publication)>,
    /// Time of the present record, ns since the Unix epoch.
    at_ns: u64,
    /// Body of the present record.
    body: Vec<u8>,
    /// Whether it has a state instead of messages of the bus.
    is_state: bool,
    /// Books are unknown: the state of the next `Definitions` records is handed out.
    needs_state: bool,
    event: Option<SubscriptionEvent>,
    decoder: Decoder,
    /// For messages of the recorder, which may stand between two parts of an update.
    own: Decoder,
    room: Room,
    /// Messages that were passed over, because no state came before them.
    without_state: u64,
    gaps: u64,
    lost: u64,
}

impl Reader {
    /// Opens a tape at its first segment; `bus` is the name of a bus, or `None` for the first one that the tape has.
    ///
    /// # Errors
    /// [`Error::NoTape`].
    pub fn open(directory: &Path, bus: Option<&str>) -> Result<Reader, Error> {
        Reader::over(Follow::new(directory), directory, bus)
    }

    /// Opens a tape at this segment, which has the state of its buses at its start.
    ///
    /// # Errors
    /// [`Error::NoTape`].
    pub fn open_at(directory: &Path, bus: Option<&str>, segment: u64) -> Result<Reader, Error> {
        Reader::over(Follow::from_segment(directory, segment), directory, bus)
    }

    fn over(follow: Follow, directory: &Path, bus: Option<&str>) -> Result<Reader, Error> {
        if !is_journal(directory).unwrap_or(false) {
            let path = directory.to_owned();
            return Err(Error::NoTape { path });
        }
        Ok(Reader {
            path: directory.to_owned(),
            follow,
            place: PlaceInStream {
                bus: bus.map(str::to_owned),
                open: None,
                at_ns: 0,
                body: Vec::new(),
                is_state: false,
                needs_state: true,
                event: None,
                decoder: Decoder::new(),
                own: Decoder::new(),
                room: Room::new(0, 0, 0),
                without_state: 0,
                gaps: 0,
                lost: 0,
            },
            from: 0,
            polls_without: 0,
            is_ended: false,
        })
    }

    /// Reads up to the first record of the bus, and returns its publication; `None` if the tape has none, so far.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn begin(&mut self) -> Result<Option<&Publication>, Error> {
        while self.place.open.is_none() && self.record()? {}
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

    /// Messages that were passed over, because no state of the books came before them.
    pub fn without_state(&self) -> u64 {
        self.place.without_state
    }

    /// Passes the next item to `take`, if there is one; never waits.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll<T>(&mut self, mut take: impl FnMut(Item<'_>) -> T) -> Result<Taped<T>, Error> {
        if let Some(event) = self.place.event.take() {
            return Ok(Taped::Given(take(Item::SubscriptionEvent(event))));
        }
        for _ in 0..PASSED_MAX {
            if let Some(given) = self.message(&mut take)? {
                return Ok(Taped::Given(given));
            }
            if let Some(event) = self.place.event.take() {
                return Ok(Taped::Given(take(Item::SubscriptionEvent(event))));
            }
            if !self.record()? && !self.looked_again()? {
                return Ok(match self.is_ended {
                    true => Taped::End,
                    false => Taped::Nothing,
                });
            }
            // The caller may wait for the time of the record.
            if !self.place.body.is_empty() {
                return Ok(Taped::Passed);
            }
        }
        Ok(Taped::Passed)
    }

    /// Hands out the next message of the present record.
    fn message<T>(&mut self, take: &mut impl FnMut(Item<'_>) -> T) -> Result<Option<T>, Error> {
        let Reader {
            path,
            follow,
            place,
            from,
            ..
        } = self;
        let malformed = |what: String| Error::Malformed {
            path: path.clone(),
            sequence: follow.next_sequence().saturating_sub(1),
            what,
        };
        loop {
            let mut messages = Messages::of(&place.body[*from..]);
            let Some(bytes) = messages.next() else {
                return match *from == place.body.len() {
                    true => Ok(None),
                    false => Err(malformed("a length beyond its end".to_owned())),
                };
            };
            *from = place.body.len() - messages.rest().len();
            let message = Message::parse(bytes).map_err(|_| {
                malformed("a message that is not one of the native format".to_owned())
            })?;
            let (batch_end, is_image) = (message.flags().has(Flags::END_OF_BATCH), place.is_state);
            if let Body::TopOfBook(top) = &message.body {
                return Ok(Some(take(Item::Top {
                    sequence: message.sequence(),
                    timestamps: message.timestamps(),
                    top: *top,
                    is_image,
                    bytes: Some(bytes),
                })));
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
                    return Ok(Some(take(Item::Update(Received {
                        sequence: message.sequence(),
                        timestamps: message.timestamps(),
                        update,
                        batch_end,
                        is_image,
                        bytes: Some(bytes),
                    }))));
                }
                Ok(None) if is_image => {}
                Ok(None) if batch_end => return Ok(Some(take(Item::BatchEnd))),
                Ok(None) => return Ok(Some(take(Item::Undecoded(bytes)))),
                // A book of more levels than a reader has room for stays unknown.
                Err(Unfit::NoRoom) if is_image => {}
                Err(unfit) => {
                    let what = format!("an update that cannot be read: {unfit:?}");
                    return Err(malformed(what));
                }
            }
        }
    }

    /// Reads the next record: false if there is none.
    fn record(&mut self) -> Result<bool, Error> {
        self.place.body.clear();
        self.from = 0;
        let Reader { follow, place, .. } = self;
        Ok(follow.poll(u64::MAX, 1, |entry| place.take(entry))? > 0)
    }

    /// Looks at the directory of a tape without a further record, now and then: whether a recorder writes it, and whether the next segment
    /// was removed before this reader was there. True if a record came meanwhile.
    ///
    /// Bytes behind the last record may not be written yet; without a recorder they are the end that a crash left, or damage.
    fn looked_again(&mut self) -> Result<bool, Error> {
        let is_due = self.polls_without.is_multiple_of(LOOKS);
        self.polls_without += 1;
        if !is_due || self.is_ended {
            return Ok(false);
        }
        // mutant: tape: a reader passes over removed segments
        if self.follow.is_overtaken()? {
            return Err(Error::Removed {
                path: self.path.clone(),
                segment: self.follow.segment(),
            });
        }
        if self.is_recorded() {
            return Ok(false);
        }
        // The recorder may have written its last records just before it ended.
        if self.record()? {
            self.polls_without = 0;
            return Ok(true);
        }
        read_from(&self.path, self.follow.next_sequence(), false, |_| {})?;
        self.is_ended = true;
        Ok(false)
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
            return;
        }
        self.at_ns = entry.head.time_ns;
        match entry.head.kind {
            kind::GAP => self.gap(entry.body),
            kind::DEFINITIONS if !self.needs_state => {}
            kind::DEFINITIONS if entry.body.is_empty() => {
                self.needs_state = false;
                self.event = Some(SubscriptionEvent::CaughtUp);
            }
            kind::MESSAGES if self.needs_state => {
                self.without_state += Messages::of(entry.body).count() as u64;
            }
            kind @ (kind::DEFINITIONS | kind::MESSAGES) => {
                self.is_state = kind == kind::DEFINITIONS;
                self.body.extend_from_slice(entry.body);
            }
            _ => {}
        }
    }

    /// A stream is described, at its begin and again in each segment.
    fn begin(&mut self, stream: u16, publication: Publication) {
        let before = self.open.as_ref();
        // Without a name given, a tape of several buses is read for the first one alone.
        let is_other_bus = before.is_some_and(|(_, before)| before.bus != publication.bus);
        if is_other_bus || before == Some(&(stream, publication.clone())) {
            return;
        }
        self.event = before.map(|_| SubscriptionEvent::Restarted {
            generation: publication.generation,
        });
        let orders_max = publication.orders_max.max(ORDERS_MAX);
        self.room = Room::new(CHANGES_MAX, orders_max, QUOTES_MAX);
        self.decoder.forget();
        self.open = Some((stream, publication));
        self.needs_state = true;
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
        self.decoder.forget();
        self.needs_state = true;
        self.event = Some(SubscriptionEvent::Overrun { messages, bytes: 0 });
    }
}

/// Whether the bus had room for the instrument of an update.
fn fits(update: &Update<'_>, open: &Option<(u16, Publication)>) -> bool {
    let room = open
        .as_ref()
        .map_or(0, |(_, publication)| publication.instruments_max);
    let instrument = update.instrument();
    instrument.is_none_or(|instrument| instrument.index() < room)
}

/// The publication of a `Stream` record, if it is of this bus.
fn publication_of(entry: &Entry<'_>, bus: Option<&str>) -> Option<Publication> {
    let publication = Publication::of(&Stream::decode(entry.body)?)?;
    let is_asked = bus.is_none_or(|bus| bus == publication.bus);
    is_asked.then_some(publication)
}
