//! Follows an engine without being noticed by it: its lines, none missed and none twice, from the journal and the drop
//! copy.

use crate::drop_copy::decode;
use crate::records::{self, Record};
use std::path::{Path, PathBuf};
use touchline_transport::bus::{Polled, Root, Subscription};

/// A reader of the lines of all runs, in order.
pub struct Follower {
    journal: PathBuf,
    root: Root,
    bus: String,
    drop_copy: Option<Subscription<0>>,
    /// Number of the next line.
    next: u64,
    /// Lines are missing that the drop copy does not have any more.
    is_behind: bool,
}

/// Receives a line: its kind, as in [`records::LINE_KINDS`], and its text.
pub type Each<'e> = dyn FnMut(u8, &str) + 'e;

impl Follower {
    /// A follower of the engine with this journal and bus; neither must exist yet.
    pub fn new(journal: &Path, root: &Root, bus: &str) -> Follower {
        Follower {
            journal: journal.to_owned(),
            root: root.clone(),
            bus: bus.to_owned(),
            drop_copy: None,
            next: 1,
            is_behind: true,
        }
    }

    /// Whether an engine publishes.
    pub fn has_engine(&self) -> bool {
        let publisher = self.drop_copy.as_ref().map(Subscription::publisher);
        matches!(publisher, Some(Ok(Some(_))))
    }

    /// Passes on what is new. Composites have no number and come as they are published.
    ///
    /// # Errors
    /// The journal cannot be read, or is damaged.
    pub fn poll(&mut self, each: &mut Each<'_>) -> Result<usize, touchline_journal::Error> {
        if self.drop_copy.is_none() {
            // Before the journal is read, so that nothing falls between the two.
            self.drop_copy = Subscription::join(&self.root, &self.bus, [], false).ok();
            self.is_behind = true;
        }
        let mut count = 0;
        if std::mem::take(&mut self.is_behind) {
            count += self.read_journal(each)?;
        }
        let Some(drop_copy) = &mut self.drop_copy else {
            return Ok(count);
        };
        loop {
            let next = self.next;
            let polled = drop_copy.poll(|message| {
                let (kind, number, text) = decode(message.bytes)?;
                if number == 0 || number == next {
                    each(kind, text);
                }
                Some(number)
            });
            match polled {
                Ok(Polled::Given(Some(number))) if number == next => {
                    self.next += 1;
                    count += 1;
                }
                // Lost, or a line that was too long: the journal has it.
                Ok(Polled::Given(Some(number))) if number > next => {
                    self.is_behind = true;
                    return Ok(count);
                }
                Ok(Polled::Given(_) | Polled::Passed(_)) => {}
                Ok(Polled::Nothing) => return Ok(count),
                Err(_) => {
                    self.is_behind = true;
                    return Ok(count);
                }
            }
        }
    }

    fn read_journal(&mut self, each: &mut Each<'_>) -> Result<usize, touchline_journal::Error> {
        if !self.journal.exists() {
            return Ok(0);
        }
        let mut count = 0;
        let next = &mut self.next;
        touchline_journal::read(&self.journal, false, |entry| {
            if entry.head.stream != records::STREAM {
                return;
            }
            if let Some(Record::Lines { first, lines, .. }) =
                Record::decode(entry.head.kind, entry.body)
            {
                for (number, (kind, text)) in (first..).zip(records::lines(lines)) {
                    if number >= *next {
                        each(kind, text);
                        *next = number + 1;
                        count += 1;
                    }
                }
            }
        })?;
        Ok(count)
    }
}
