//! What each message of the venue is, by its type.

use super::cause::Cause;
use super::instruments::{Book, Row};
use super::refresh::{Decoded, Decoder};
use super::securities::{self, Listed};
use super::settings::Settings;
use touchline_session::Secret;
use touchline_types::{Event, Instrument, Validity};
use touchline_wire::fix::{Header, Message, tag, unsigned};

/// What one thing that the session said comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// The session has nothing more to say.
    Idle,
    /// It was taken note of.
    Noted,
    /// The batch has events.
    Events,
    /// The venue let us in.
    LoggedOn,
    /// The list of instruments came, or its last part.
    Listed,
    /// A part of the list came, and more is to come.
    ListedInPart,
    /// A request was answered, if not with a book.
    Answered,
    /// This book is to be requested again.
    Inconsistent(Instrument, Cause),
    /// Every book is: it is not known which one changed.
    AllInconsistent(Cause),
    /// Something of the venue did not come to the application.
    Missed(Cause),
}

/// Text (58) of a message, truncated. One that repeats our password is never shown.
pub fn text(message: &Message<'_>, password: Option<&Secret>) -> String {
    let mut fields = message.fields().map_while(Result::ok);
    let text = fields.find(|field| field.tag == tag::TEXT);
    let text = text.map_or(&b""[..], |field| field.value);
    if password.is_some_and(|password| password.stands_in(text)) {
        return "a text with our password, withheld".into();
    }
    String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned()
}

/// Takes an application message: events go to where the decoder writes.
pub fn take(
    message: &Message<'_>,
    header: &Header<'_>,
    settings: &Settings,
    decoder: &mut Decoder<'_>,
) -> Step {
    let decoded = match message.msg_type() {
        // mutant: fix market data: changes overtake a set of which more is to come
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
        // Quotes are withdrawn: what is left of the books says the next connection.
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

/// The instruments of a rejected request have no book; if there are several, each is requested again by itself, since
/// perhaps only one is wrong. Returns whether there were any.
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
