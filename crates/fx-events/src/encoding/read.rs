//! Reading batches.

mod body;

use super::bytes::Rest;
use super::{CONTINUES, MORE, kind};
use crate::desk::Desk;
use crate::event::{Answer, Batch, Event, OrderEvent, OrderLine, SessionChange};
use crate::labels::Labels;
use crate::orders::Terms;
use crate::parents::ParentTerms;
use body::{Body, bank, decision, order, parent};
use std::collections::HashMap;
use std::fmt;

/// Bytes that are not a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no batch of events")
    }
}

/// An entry of a batch.
#[expect(
    clippy::large_enum_variant,
    reason = "an entry is passed on where it was read, and a box would be an allocation for each"
)]
#[derive(Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A run begins; the names are its own.
    Run {
        /// Epoch of the journal.
        epoch: u64,
        /// Trading day.
        date: &'a str,
        /// Whether each bank drops open orders with a lost connection, one byte a bank; empty in a run that did not record it.
        drops: &'a [u8],
    },
    /// A message of a bank about orders.
    Received {
        /// Bank.
        bank: usize,
        /// The message.
        bytes: &'a [u8],
    },
    /// An order session changed.
    Session {
        /// Bank.
        bank: usize,
        /// How.
        change: SessionChange,
    },
    /// A command as received.
    Command {
        /// Number of the request. It ascends for each client but for commands that were refused as replayed or malformed.
        request: u64,
        /// Client.
        client: &'a str,
        /// Person.
        person: &'a str,
        /// The command, for [`Command::decode`](crate::command::Command::decode), or bytes that cannot be decoded.
        bytes: &'a [u8],
    },
    /// Decision of a command.
    Decision(Desk),
    /// The answer to a command.
    Answer(Answer<'a>),
    /// An event; the second value is the MsgSeqNum of the message that it sends, or 0.
    Event(&'a Event, u64),
}

/// Decoder of the batches of a journal, in their order: the names of parents and orders come from earlier batches.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    labels: Labels,
    /// Labels of earlier runs, one for each time that the banks or the pairs changed.
    earlier: Vec<Labels>,
    /// Whether the decoder started after the first batch: entries with names from before are skipped.
    has_joined: bool,
    /// Bodies of kinds 1 and 23, by the parent's number.
    parents: Bodies,
    /// Bodies of kinds 7 and 22, by the order's number.
    orders: Bodies,
    /// Parts of a batch whose last part is missing: of a journaled batch, and of an unjournaled one.
    held: [Vec<Vec<u8>>; 2],
    batch: Batch,
}

/// Bodies by their number. A reader that joins late meets any numbers, as does the reader of a damaged record, so no
/// list is as long as a number.
#[derive(Debug, Clone, Default)]
struct Bodies {
    bytes: Vec<u8>,
    places: HashMap<u32, BodyPlace>,
}

/// Place of a body.
#[derive(Debug, Clone, Copy)]
struct BodyPlace {
    begin: usize,
    length: usize,
    /// Its banks and pairs are indexes of these labels of [`Decoder::earlier`]; behind the last, of those of the present run.
    labels: usize,
}

impl Bodies {
    fn get(&self, number: u32) -> Option<(Rest<'_>, usize)> {
        let place = self.places.get(&number)?;
        let body = &self.bytes[place.begin..place.begin + place.length];
        Some((Rest(body), place.labels))
    }

    fn set(&mut self, number: u32, body: &[u8], labels: usize) {
        let place = BodyPlace {
            begin: self.bytes.len(),
            length: body.len(),
            labels,
        };
        self.places.insert(number, place);
        self.bytes.extend_from_slice(body);
    }
}

/// Place of a part in its journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of its first entry; 0: it is in no journal.
    pub first: u64,
    /// Number behind its last entry; 0: it is in no journal.
    pub end: u64,
    /// Whether the entry is the first of its batch.
    pub is_first: bool,
    /// Whether the entry is the last of its batch.
    pub is_last: bool,
}

impl Place {
    /// Place of a part; `None` if the bytes are not a part.
    pub fn of(body: &[u8]) -> Option<Place> {
        let part = part(body).ok()?;
        let count = if part.first == 0 { 0 } else { part.count };
        Some(Place {
            first: part.first,
            end: part.first.checked_add(u64::from(count))?,
            is_first: part.flags & CONTINUES == 0,
            is_last: part.flags & MORE == 0,
        })
    }
}

/// Head of a part.
struct Part<'a> {
    at_ns: u64,
    first: u64,
    count: u32,
    flags: u8,
    entries: &'a [u8],
}

fn part(body: &[u8]) -> Result<Part<'_>, Malformed> {
    let head = |body| -> Option<Part<'_>> {
        let mut rest = Rest(body);
        Some(Part {
            at_ns: rest.u64()?,
            first: rest.u64()?,
            count: rest.u32()?,
            flags: rest.u8().filter(|flags| flags & !(MORE | CONTINUES) == 0)?,
            entries: rest.0,
        })
    };
    head(body).ok_or(Malformed)
}

/// Kinds of the entries of a part, up to the first malformed entry.
pub fn kinds(body: &[u8]) -> impl Iterator<Item = u8> {
    let all = part(body).ok().into_iter().flat_map(entries);
    all.map_while(|entry| entry.ok().map(|(of, _)| of))
}

impl Decoder {
    /// A reader that joins a run behind its first batch; `run` is that batch, without which it reads answers alone.
    pub fn joined(run: &[u8]) -> Decoder {
        let mut decoder = Decoder {
            has_joined: true,
            ..Decoder::default()
        };
        // Names are unknown, and entries with names are skipped.
        let _ = decoder.read(run, |_, _, _, _| ());
        decoder
    }

    /// Names of the run.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Reads a part of a batch. With the last part, each entry of the batch is given to `each`: its time, and the lists of events.
    /// An entry of a kind that is not known is left out.
    ///
    /// # Errors
    /// The bytes are not part of a batch, or it names a bank, a pair, a parent or an order that is not known.
    pub fn read(
        &mut self,
        body: &[u8],
        mut each: impl FnMut(&Labels, u64, Entry<'_>, &Batch),
    ) -> Result<(), Malformed> {
        let last = part(body)?;
        let place = usize::from(last.first == 0);
        if last.flags & CONTINUES == 0 {
            self.held[place].clear();
        }
        if last.flags & MORE != 0 {
            self.held[place].push(body.to_vec());
            return Ok(());
        }
        if let Some(Ok((kind::RUN, run))) = entries(last).next() {
            return self.begin_run(run, &mut each);
        }
        let labels = std::mem::take(&mut self.labels);
        let mut held = std::mem::take(&mut self.held[place]);
        let parts = held.iter().map(Vec::as_slice).chain([body]);
        let outcome = self.read_all(&labels, parts, &mut each);
        held.clear();
        self.held[place] = held;
        self.labels = labels;
        outcome
    }

    fn begin_run(
        &mut self,
        body: &[u8],
        each: &mut impl FnMut(&Labels, u64, Entry<'_>, &Batch),
    ) -> Result<(), Malformed> {
        let mut rest = Rest(body);
        let mut run = || Some((rest.u64()?, rest.text()?, Labels::decode(&mut rest)?));
        let (epoch, date, labels) = run().ok_or(Malformed)?;
        let banks = labels.banks.len();
        let before = std::mem::replace(&mut self.labels, labels);
        // mutant: fx: old orders are read with the banks and pairs of the present run
        if (&before.banks, &before.pairs) != (&self.labels.banks, &self.labels.pairs) {
            self.earlier.push(before);
        }
        // A later version may have more behind it.
        let drops = rest.0.get(..banks).unwrap_or_default();
        let entry = Entry::Run { epoch, date, drops };
        each(&self.labels, 0, entry, &self.batch);
        Ok(())
    }

    fn read_all<'a>(
        &mut self,
        labels: &Labels,
        parts: impl Iterator<Item = &'a [u8]> + Clone,
        each: &mut impl FnMut(&Labels, u64, Entry<'_>, &Batch),
    ) -> Result<(), Malformed> {
        // Names first: a plan is encoded before its orders.
        for bytes in parts.clone() {
            for entry in entries(part(bytes)?) {
                let (of, body) = entry?;
                self.note_name(of, body).ok_or(Malformed)?;
            }
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        for bytes in parts {
            let part = part(bytes)?;
            let mut at_ns = part.at_ns;
            for entry in entries(part) {
                let (of, body) = entry?;
                if of == kind::TIME {
                    at_ns = Rest(body).u64().ok_or(Malformed)?;
                    continue;
                }
                let mut give = |entry: Entry<'_>, batch: &Batch| each(labels, at_ns, entry, batch);
                let read = self.entry(labels, of, body, &mut batch, &mut give);
                if read.is_none() && !self.has_joined {
                    return Err(Malformed);
                }
            }
        }
        self.batch = batch;
        Ok(())
    }

    fn note_name(&mut self, of: u8, body: &[u8]) -> Option<()> {
        let bodies = match of {
            kind::PARENT | kind::ADOPTED_PARENT => &mut self.parents,
            kind::ORDER | kind::ADOPTED => &mut self.orders,
            _ => return Some(()),
        };
        bodies.set(Rest(body).u32()?, body, self.earlier.len());
        Some(())
    }

    fn entry(
        &self,
        labels: &Labels,
        of: u8,
        body: &[u8],
        batch: &mut Batch,
        give: &mut impl FnMut(Entry<'_>, &Batch),
    ) -> Option<()> {
        let mut rest = Rest(body);
        let entry = match of {
            kind::RECEIVED => Entry::Received {
                bank: bank(labels, &mut rest)?,
                bytes: std::mem::take(&mut rest.0),
            },
            kind::SESSION => Entry::Session {
                bank: bank(labels, &mut rest)?,
                change: *SessionChange::ALL.get(usize::from(rest.u8()?))?,
            },
            kind::COMMAND => Entry::Command {
                request: rest.u64()?,
                client: rest.text()?,
                person: rest.text()?,
                bytes: std::mem::take(&mut rest.0),
            },
            kind::DECISION => Entry::Decision(decision(labels, &mut rest)?),
            kind::ANSWER => Entry::Answer(Answer {
                request: rest.u64()?,
                client: rest.text()?,
                answer: rest.long_text()??,
                reason: rest.long_text()?,
                cause: rest.long_text()?,
            }),
            kind::ADOPTED_PARENT => return Some(()),
            kind::POSITION_DATES => return body::position_dates(labels, &mut rest, batch),
            // A later version may have more.
            _ if of > kind::ADOPTED_PARENT
                && !matches!(
                    of,
                    kind::BENCHMARK | kind::SEEN | kind::DAY | kind::BANK_DAY
                ) =>
            {
                return Some(());
            }
            _ => return self.event(labels, of, rest, batch, give),
        };
        if !rest.0.is_empty() {
            return None;
        }
        give(entry, batch);
        Some(())
    }

    /// An event, and before it the record of its order.
    fn event(
        &self,
        labels: &Labels,
        of: u8,
        mut rest: Rest<'_>,
        batch: &mut Batch,
        give: &mut impl FnMut(Entry<'_>, &Batch),
    ) -> Option<()> {
        let body = Body {
            labels,
            names: self,
        };
        let (event, sequence) = body.event(of, &mut rest, batch)?;
        if !rest.0.is_empty() {
            return None;
        }
        if let Event::Order(line) = &event
            && of == kind::ORDER
        {
            let journal = OrderLine {
                what: OrderEvent::Journal,
                message: None,
                ..line.clone()
            };
            give(Entry::Event(&Event::Order(journal), 0), batch);
        }
        give(Entry::Event(&event, sequence), batch);
        Some(())
    }

    /// A parent, with its pair in the present run.
    fn parent(&self, present: &Labels, number: u32) -> Option<ParentTerms> {
        let (of_run, terms) = self.parent_of_run(present, number)?;
        Some(ParentTerms {
            pair: present.pair(&of_run.pairs[terms.pair])?,
            ..terms
        })
    }

    /// An order, with its bank and pair in the present run.
    fn order(&self, present: &Labels, number: u32) -> Option<Terms> {
        let (of_run, terms) = self.order_of_run(present, number)?;
        Some(Terms {
            bank: present.bank(&of_run.banks[terms.bank])?,
            pair: present.pair(&of_run.pairs[terms.pair])?,
            ..terms
        })
    }

    /// A parent as the run that accepted it wrote it, and the labels of that run.
    fn parent_of_run<'a>(
        &'a self,
        present: &'a Labels,
        number: u32,
    ) -> Option<(&'a Labels, ParentTerms)> {
        let (mut body, labels) = self.parents.get(number)?;
        let labels = self.earlier.get(labels).unwrap_or(present);
        Some((labels, parent(labels, &mut body)?.1))
    }

    /// An order as the run that sent it wrote it, and the labels of that run.
    fn order_of_run<'a>(&'a self, present: &'a Labels, number: u32) -> Option<(&'a Labels, Terms)> {
        let (mut body, labels) = self.orders.get(number)?;
        let labels = self.earlier.get(labels).unwrap_or(present);
        Some((labels, order(labels, &mut body)?.1))
    }
}

/// Kind and body of each entry of a part.
fn entries(part: Part<'_>) -> impl Iterator<Item = Result<(u8, &[u8]), Malformed>> {
    let mut rest = Rest(part.entries);
    std::iter::from_fn(move || {
        if rest.0.is_empty() {
            return None;
        }
        let mut next = || {
            let (of, length) = (rest.u8()?, rest.u32()?);
            Some((of, rest.take(length as usize)?))
        };
        let entry = next().ok_or(Malformed);
        if entry.is_err() {
            rest.0 = &[];
        }
        Some(entry)
    })
}
