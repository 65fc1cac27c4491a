//! A tape for a reader of the bus, which continues with its next message.

use super::{BEYOND_ITS_END, Error, Next, Reader, Taped, malformed};
use crate::messages::Messages;
use crate::publication::{Publication, StreamPlace};
use std::ops::Range;
use std::path::Path;
use touchline_journal::format::kind;
use touchline_journal::records::Stream;
use touchline_journal::{Follow, segment_numbers};
use touchline_transport::SubscriptionEvent;
use touchline_transport::market::TapedMessage;

/// Most records at the start of a segment that describe its streams.
const DESCRIPTIONS_MAX: usize = 65_536;

impl Reader {
    /// Opens a tape for a reader that has the books of a publication up to the message before `next`: at the block that has this message, if
    /// the tape has it; without an index at its segment. Messages are handed out without a state, also earlier ones, and behind gaps: their numbers say whether they continue.
    ///
    /// # Errors
    /// [`Error::NoTape`], and a segment that cannot be read.
    pub fn resume(directory: &Path, publication: &Publication, next: u64) -> Result<Reader, Error> {
        let segment = segment_of(directory, publication, next)?;
        let mut reader = Reader::open_at(directory, Some(&publication.bus), segment)?;
        reader.place.resumed = Some(publication.clone());
        reader.place.needs_state = false;
        reader.seek_message(segment, next)?;
        Ok(reader)
    }

    /// Passes the bytes of the next message to `take`, or the next event; of all instruments, and up to the end of the tape.
    ///
    /// # Errors
    /// As [`Reader::poll`].
    pub fn poll_messages<T>(
        &mut self,
        mut take: impl FnMut(Result<TapedMessage<'_>, SubscriptionEvent>) -> T,
    ) -> Result<Taped<T>, Error> {
        self.poll_by(|reader, event| {
            if let Some(event) = event {
                return Ok(Next::Given(take(Err(event))));
            }
            let Some(range) = reader.advance()? else {
                return Ok(Next::Nothing);
            };
            let bytes = &reader.place.body[range];
            Ok(Next::Given(take(Ok(match reader.place.is_state {
                true => TapedMessage::State(bytes),
                false => TapedMessage::Message(bytes),
            }))))
        })
    }

    /// Place of the next message in the body of the present record.
    fn advance(&mut self) -> Result<Option<Range<usize>>, Error> {
        let body = &self.place.body;
        let mut messages = Messages::of(&body[self.from..]);
        match messages.next() {
            Some(bytes) => {
                self.from = body.len() - messages.rest().len();
                Ok(Some(self.from - bytes.len()..self.from))
            }
            None if self.from == body.len() => Ok(None),
            None => Err(malformed(&self.path, &self.follow, BEYOND_ITS_END)),
        }
    }
}

/// The newest segment whose streams begin before a message, or the newest that may have it.
fn segment_of(directory: &Path, publication: &Publication, next: u64) -> Result<u64, Error> {
    let mut oldest = 0;
    for index in segment_numbers(directory)?.into_iter().rev() {
        match place_at(directory, index, publication)? {
            Start::Empty => {}
            Start::Described(place) if place.sequence >= next => oldest = index,
            // Without a description the publication begins in this segment, if the tape has it.
            Start::Described(_) | Start::Other => return Ok(index),
        }
    }
    Ok(oldest)
}

/// Start of a segment.
enum Start {
    /// Its streams are not described yet.
    Empty,
    /// It goes on with the publication from this place on.
    Described(StreamPlace),
    /// It does not begin with the publication.
    Other,
}

fn place_at(directory: &Path, index: u64, publication: &Publication) -> Result<Start, Error> {
    let mut follow = Follow::from_segment(directory, index);
    let (mut start, mut is_over) = (Start::Empty, false);
    for _ in 0..DESCRIPTIONS_MAX {
        let read = follow.poll(u64::MAX, 1, |entry| {
            let described = match entry.head.kind {
                kind::STREAM => Stream::decode(entry.body),
                // Of another bus: the descriptions are over.
                kind::MESSAGES | kind::DEFINITIONS | kind::GAP => {
                    (start, is_over) = (Start::Other, true);
                    None
                }
                _ => None,
            };
            let of_it = |stream: &Stream| Publication::of(stream).as_ref() == Some(publication);
            if let Some(stream) = described.filter(of_it) {
                start = Start::Described(StreamPlace::of(&stream));
                is_over = true;
            }
        })?;
        if read == 0 || is_over || follow.segment() > index {
            break;
        }
    }
    Ok(start)
}
