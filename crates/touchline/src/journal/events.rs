//! Batches of a trading engine as text: one line for each entry, as its readers have it.

use std::fmt::Write;
use std::path::Path;
use touchline_fx_desk::records;
use touchline_fx_events::Labels;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::encoding::{Decoder, Entry, Place, kind, kinds};
use touchline_fx_events::event::{Event, OrderEvent};
use touchline_fx_events::lines::{command_text, lines_of};
use touchline_journal::records::Stream;
use touchline_journal::{Entry as Record, Follow};
use touchline_types::text::Visible;

/// Reads the batches of a journal from any record on.
pub struct Events {
    decoder: Decoder,
    /// Stream of the batches.
    stream: Option<u16>,
    /// Entries of the parts whose last part is still to come.
    waiting: usize,
}

impl Events {
    /// Before the first record.
    pub fn new() -> Events {
        Events {
            decoder: Decoder::joined(b""),
            stream: Some(records::STREAM),
            waiting: 0,
        }
    }

    /// Another stream's records, or another version's, are bytes.
    pub fn note_stream(&mut self, number: u16, stream: &Stream) {
        if number == records::STREAM {
            let is_ours = stream.content == records::CONTENT && stream.version == records::VERSION;
            self.stream = is_ours.then_some(number);
        }
    }

    /// Reads a record that is not printed, for the names in later ones.
    pub fn pass(&mut self, record: &Record<'_>) {
        self.record(&mut String::new(), record);
    }

    /// Appends what a record of the engine says; `false` for another record.
    pub fn record(&mut self, text: &mut String, record: &Record<'_>) -> bool {
        if self.stream != Some(record.head.stream) {
            return false;
        }
        // Writing into a string does not fail.
        let _ = match records::Record::decode(record.head.kind, record.body) {
            Some(records::Record::Numbers {
                bank,
                next_out,
                next_in,
            }) => {
                write!(
                    text,
                    " numbers bank={bank} next_out={next_out} next_in={next_in}"
                )
            }
            Some(records::Record::Session { bank, names }) => {
                write!(text, " session bank={bank} names={names:?}")
            }
            Some(records::Record::Boot {
                id, lacks_before, ..
            }) => {
                let id = u128::from_be_bytes(id);
                write!(text, " boot id={id:032x} lacks_before={lacks_before}")
            }
            _ => return self.batch(text, record),
        };
        true
    }

    /// Appends place and entries of a batch; `false` for another record.
    fn batch(&mut self, text: &mut String, record: &Record<'_>) -> bool {
        let is_batch = record.head.kind == records::kind::BATCH;
        let Some(place) = Place::of(record.body).filter(|_| is_batch) else {
            return false;
        };
        let has_line = |of: &u8| !matches!(*of, kind::TIME | kind::ADOPTED_PARENT);
        self.waiting += kinds(record.body).filter(has_line).count();
        let _ = write!(text, " first={} end={}", place.first, place.end);
        let (mut given, mut line) = (0, String::new());
        let read = self
            .decoder
            .read(record.body, |labels, at_ns, entry, batch| {
                if let Entry::Event(Event::Order(order), _) = &entry
                    && order.what == OrderEvent::Journal
                {
                    return;
                }
                given += 1;
                if !evidence(text, labels, &entry) {
                    lines_of((labels, batch), at_ns, &entry, &mut line, |kind, line| {
                        let _ = write!(text, "\n  {} {line}", kind.name());
                    });
                }
            });
        if read.is_err() {
            text.push_str("\n  it is damaged");
        }
        if place.is_last {
            let unnamed = std::mem::take(&mut self.waiting) - given;
            if unnamed > 0 {
                let _ = write!(
                    text,
                    "\n  and {unnamed} of banks, parents or orders whose names are in no record before"
                );
            }
        }
        true
    }
}

/// Whether a journal is that of an engine: its later records have numbers for the names in earlier ones.
pub fn is_of_engine(directory: &Path) -> bool {
    let mut is_of_engine = false;
    // The command itself reports what cannot be read.
    let _ = Follow::new(directory).poll(u64::MAX, FIRST_RECORDS, |record| {
        let stream = (record.head.kind == touchline_journal::format::kind::STREAM)
            .then(|| Stream::decode(record.body))
            .flatten();
        is_of_engine |= stream.is_some_and(|stream| stream.content == records::CONTENT);
    });
    is_of_engine
}

/// Number of records within which the first stream record is.
const FIRST_RECORDS: usize = 8;

/// Appends input from outside, and the decision of a command; `false` for entries that follow from them.
fn evidence(text: &mut String, labels: &Labels, entry: &Entry<'_>) -> bool {
    if matches!(entry, Entry::Answer(_) | Entry::Event(..)) {
        return false;
    }
    text.push_str("\n  ");
    // Writing into a string does not fail.
    let _ = match entry {
        Entry::Run { epoch, date, .. } => {
            let (prefix, banks) = (&labels.prefix, labels.banks.join(","));
            let symbols = labels.pairs.iter().map(|pair| pair.symbol.as_str());
            let pairs = symbols.collect::<Vec<_>>().join(",");
            write!(
                text,
                "run epoch={epoch} date={date} prefix={prefix} banks={banks} pairs={pairs}"
            )
        }
        Entry::Received { bank, bytes } => {
            let message = String::from_utf8_lossy(bytes).replace('\u{1}', "|");
            write!(
                text,
                "received bank={} {}",
                labels.banks[*bank],
                Visible(&message)
            )
        }
        Entry::Session { bank, change } => {
            let (bank, change) = (&labels.banks[*bank], change.name());
            write!(text, "session bank={bank} {change}")
        }
        Entry::Command {
            request,
            client,
            person,
            bytes,
        } => write!(
            text,
            "command request={request} client={client} person={person} {}",
            Visible(&command_text(bytes))
        ),
        Entry::Decision(desk) => write!(text, "decision {}", decision(desk)),
        Entry::Answer(_) | Entry::Event(..) => unreachable!("they are lines"),
    };
    true
}

/// The word of a decision; its command has the rest.
fn decision(desk: &Desk) -> &'static str {
    match desk {
        Desk::Cancel { .. } => "cancel",
        Desk::Lift { .. } => "lift",
        Desk::Enable { .. } => "enable",
        Desk::Resolve { .. } => "resolve",
        Desk::Book { .. } => "book",
        Desk::Parent(_)
        | Desk::Kill { .. }
        | Desk::Restart
        | Desk::Reboot { .. }
        | Desk::Day(_)
        | Desk::BankDay { .. }
        | Desk::End => {
            unreachable!("it is no decision of its own")
        }
    }
}
