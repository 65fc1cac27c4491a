//! Dispatch of the venue's messages by type.

use super::cause::Cause;
use super::instruments::{Book, Row};
use super::refresh::{Decoded, Decoder};
use super::securities::{self, Listed};
use super::settings::Settings;
use touchline_session::Secret;
use touchline_types::{Event, Instrument, Validity};
use touchline_wire::fix::{Header, Message, tag, unsigned};

/// Result of one event of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// The session has no more events.
    Idle,
    /// Processed without an event for subscribers.
    Noted,
    /// The batch has events.
    Events,
    /// The venue accepted our Logon.
    LoggedOn,
    /// The list of instruments is complete.
    Listed,
    /// A part of the list arrived, and more follows.
    ListedInPart,
    /// A request was answered without a book.
    Answered,
    /// This book must be requested again.
    Inconsistent(Instrument, Cause),
    /// Every book must be requested again: the changed one is unknown.
    AllInconsistent(Cause),
    /// A message of the venue did not reach the application.
    Missed(Cause),
}

/// Text (58) of a message, truncated. A text that contains our password is replaced.
pub fn text(message: &Message<'_>, password: Option<&Secret>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    if password.is_some_and(|password| password.stands_in(text)) {
        return "a text with our password, withheld".into();
    }
    String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned()
}

/// Processes an application message: the decoder writes its events.
pub fn take(
    message: &Message<'_>,
    header: &Header<'_>,
    settings: &Settings,
    decoder: &mut Decoder<'_>,
) -> Step {
    let decoded = match message.msg_type() {
        // mutant: fix market data: changes overtake an incomplete set
        b"X" | b"W" if decoder.parts.is_awaited() => {
            return Step::AllInconsistent(Cause::PartMissing);
        }
        b"X" => decoder.increment(message, header),
        b"W" => decoder.snapshot(message, header),
        b"i" => decoder.mass_quote(message, header),
        b"y" => {
            let (rows, counters) = (&mut *decoder.rows, &mut *decoder.counters);
            let (chosen, out) = (&settings.chosen, &mut decoder.out);
            return match securities::take(message, rows, chosen, counters, out) {
                Ok(Listed::Whole) => Step::Listed,
                Ok(Listed::Part) => Step::ListedInPart,
                Ok(Listed::Refused) => {
                    counters.requests_refused += 1;
                    Step::AllInconsistent(Cause::ListRefused)
                }
                Err(malformed) => {
                    counters.messages_malformed += 1;
                    Step::AllInconsistent(Cause::Malformed(malformed))
                }
            };
        }
        b"f" => {
            let (counters, out) = (&mut *decoder.counters, &mut decoder.out);
            return match securities::status(message, counters, out) {
                Ok(()) if out.events.is_empty() => Step::Noted,
                Ok(()) => Step::Events,
                Err(_) => {
                    counters.messages_malformed += 1;
                    Step::Noted
                }
            };
        }
        b"Y" => {
            decoder.counters.requests_rejected += 1;
            return match rejected(message, decoder) {
                true => Step::Answered,
                false => Step::Noted,
            };
        }
        b"j" => {
            decoder.counters.requests_refused += 1;
            return Step::AllInconsistent(Cause::Refused);
        }
        // Quotes were withdrawn: the books of the next connection show the rest.
        b"Z" => return Step::AllInconsistent(Cause::Withdrawn),
        _ => {
            decoder.counters.messages_unknown += 1;
            return Step::Noted;
        }
    };
    match decoded {
        Decoded::Whole => Step::Events,
        Decoded::Dropped => Step::Noted,
        Decoded::Inconsistent(instrument, malformed) => {
            Step::Inconsistent(instrument, Cause::MalformedBook(instrument, malformed))
        }
        Decoded::AllInconsistent(malformed) => Step::AllInconsistent(Cause::Malformed(malformed)),
    }
}

/// The instruments of a rejected request have no book; if there are several, each is requested again in a request of
/// its own, since perhaps only one is wrong. Returns whether there were any.
fn rejected(message: &Message<'_>, decoder: &mut Decoder<'_>) -> bool {
    let mut fields = message.fields().map_while(Result::ok);
    let id = fields.find(|field| field.tag == tag::MD_REQ_ID);
    let Some(number) = id.and_then(|field| unsigned(field.value).ok()) else {
        return false;
    };
    let is_asked = |row: &&mut Row| row.request == number && row.book == Book::Awaited;
    let rows = &mut *decoder.rows;
    let several = rows.iter_mut().filter(is_asked).count() > 1;
    let mut any = false;
    for row in rows.iter_mut().filter(is_asked) {
        any = true;
        if several {
            (row.book, row.is_alone) = (Book::Unasked, true);
        } else {
            row.book = Book::Rejected;
            let closed = Event::Validity(row.instrument, Validity::Closed);
            decoder.out.push(closed);
        }
    }
    any
}
