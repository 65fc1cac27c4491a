//! Records of the order journal: little-endian. Times are nanoseconds since 1970.
//!
//! | kind | record | body |
//! |--:|---|---|
//! | 56 | numbers | bank u16, next MsgSeqNum out u64, in u64 |
//! | 58 | session | bank u16, names of its order session: our CompID and the bank's, with their SubIDs, UTF-8 |
//! | 57 | boot | time u64, id of the boot of the host 16 bytes, epoch u64: orders of earlier ones may be lacking; 0: none |
//! | 59 | day | bank u16, day YYYYMMDD u32 for which the numbers of its order session began again |
//! | 64 | batch | an input with everything that followed from it ([`touchline_fx_events::encoding`]) |

use crate::follow_error::FollowError;
use std::path::Path;
use touchline_fx_events::encoding::{Decoder, Entry, Place};
use touchline_fx_events::{Batch, Labels};
use touchline_journal::Entry as JournalEntry;
use touchline_journal::records::Stream;

/// Stream of the records in the journal.
pub const STREAM: u16 = 1;
/// Content of the stream: orders.
pub const CONTENT: u16 = 4;
/// Version of the records.
pub const VERSION: u16 = touchline_fx_events::encoding::VERSION;

/// Kinds of records.
pub mod kind {
    /// Sequence numbers of a session.
    pub const NUMBERS: u16 = 56;
    /// The boot of the host in which a run begins.
    pub const BOOT: u16 = 57;
    /// The names of an order session.
    pub const SESSION: u16 = 58;
    /// The day for which the numbers of an order session began again.
    pub const DAY: u16 = 59;
    /// An input with everything that followed from it.
    pub const BATCH: u16 = 64;
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// Sequence numbers.
    Numbers {
        /// Bank.
        bank: u16,
        /// Number of our next message.
        next_out: u64,
        /// Number of the expected message.
        next_in: u64,
    },
    /// Names of an order session, stored with its numbers: they identify the session.
    Session {
        /// Bank.
        bank: u16,
        /// The CompIDs with their SubIDs.
        names: &'a str,
    },
    /// The day of an order session whose numbers began again with its first Logon, which the bank accepted.
    Day {
        /// Bank.
        bank: u16,
        /// Local date of the session's start, `YYYYMMDD`.
        day: u32,
    },
    /// The boot of the host in which a run begins.
    Boot {
        /// Time.
        at_ns: u64,
        /// Id of the boot.
        id: [u8; 16],
        /// Orders of earlier epochs may be lacking in the journal; 0: none.
        lacks_before: u64,
    },
    /// An input with everything that followed from it, or a part of it.
    Batch(&'a [u8]),
}

impl Record<'_> {
    /// Appends the body, and returns the kind.
    pub fn encode(&self, out: &mut Vec<u8>) -> u16 {
        match self {
            Record::Numbers {
                bank,
                next_out,
                next_in,
            } => {
                out.extend(bank.to_le_bytes());
                put_u64(out, *next_out);
                put_u64(out, *next_in);
                kind::NUMBERS
            }
            Record::Boot {
                at_ns,
                id,
                lacks_before,
            } => {
                put_u64(out, *at_ns);
                out.extend(id);
                put_u64(out, *lacks_before);
                kind::BOOT
            }
            Record::Day { bank, day } => {
                out.extend(bank.to_le_bytes());
                out.extend(day.to_le_bytes());
                kind::DAY
            }
            Record::Session { bank, names } => {
                out.extend(bank.to_le_bytes());
                out.extend(names.as_bytes());
                kind::SESSION
            }
            Record::Batch(body) => {
                out.extend_from_slice(body);
                kind::BATCH
            }
        }
    }
}

impl<'a> Record<'a> {
    /// Reads a body; `None` if it is not one of this kind, or the kind is not one of ours.
    pub fn decode(record_kind: u16, body: &'a [u8]) -> Option<Record<'a>> {
        let mut rest = Rest(body);
        let record = match record_kind {
            kind::NUMBERS => Record::Numbers {
                bank: u16::from_le_bytes(rest.take(2)?.try_into().ok()?),
                next_out: rest.u64()?,
                next_in: rest.u64()?,
            },
            kind::BOOT => Record::Boot {
                at_ns: rest.u64()?,
                id: rest.take(16)?.try_into().ok()?,
                lacks_before: rest.u64()?,
            },
            kind::DAY => Record::Day {
                bank: u16::from_le_bytes(rest.take(2)?.try_into().ok()?),
                day: u32::from_le_bytes(rest.take(4)?.try_into().ok()?),
            },
            kind::SESSION => Record::Session {
                bank: u16::from_le_bytes(rest.take(2)?.try_into().ok()?),
                names: std::str::from_utf8(std::mem::take(&mut rest.0)).ok()?,
            },
            kind::BATCH => Record::Batch(std::mem::take(&mut rest.0)),
            _ => return None,
        };
        rest.0.is_empty().then_some(record)
    }
}

/// Gives each entry of the batches of a journal to `each`: a number that the entries of its batch alone have, names, time, the entry and
/// the lists of its batch.
///
/// # Errors
/// The journal cannot be read, is damaged, or another version wrote it.
pub fn read(
    journal: &Path,
    mut each: impl FnMut(u64, &Labels, u64, Entry<'_>, &Batch),
) -> Result<(), FollowError> {
    let mut reader = Reader::default();
    let mut failed = None;
    touchline_journal::read(journal, false, |entry| {
        if failed.is_none() {
            let batch = reader.batch(journal, entry);
            let read = batch.and_then(|batch| match batch {
                Some(bytes) => {
                    let number = Place::of(bytes).map_or(0, |part| part.first);
                    reader.read(journal, entry, bytes, |labels, at_ns, entry, batch| {
                        each(number, labels, at_ns, entry, batch);
                    })
                }
                None => Ok(()),
            });
            failed = read.err();
        }
    })?;
    failed.map_or(Ok(()), Err)
}

/// Reads batches out of the records of a journal.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub decoder: Decoder,
}

impl Reader {
    /// The part of a batch that a record has.
    pub fn batch<'a>(
        &self,
        journal: &Path,
        entry: &JournalEntry<'a>,
    ) -> Result<Option<&'a [u8]>, FollowError> {
        if entry.head.stream != STREAM {
            return Ok(None);
        }
        if entry.head.kind == touchline_journal::format::kind::STREAM {
            let found = Stream::decode(entry.body).map(|stream| stream.version);
            return match found.filter(|found| *found != VERSION) {
                Some(found) => Err(FollowError::Version {
                    journal: journal.display().to_string(),
                    found,
                }),
                None => Ok(None),
            };
        }
        Ok(match Record::decode(entry.head.kind, entry.body) {
            Some(Record::Batch(bytes)) => Some(bytes),
            _ => None,
        })
    }

    /// Gives the entries of a batch to `each`, with its last part.
    pub fn read(
        &mut self,
        journal: &Path,
        entry: &JournalEntry<'_>,
        bytes: &[u8],
        each: impl FnMut(&Labels, u64, Entry<'_>, &Batch),
    ) -> Result<(), FollowError> {
        let read = self.decoder.read(bytes, each);
        read.map_err(|error| FollowError::Malformed {
            journal: journal.display().to_string(),
            sequence: entry.sequence.unwrap_or(0),
            error,
        })
    }
}

/// The unread bytes of a body.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

#[cfg(test)]
mod tests;
