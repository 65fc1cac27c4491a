//! File of a desk: its orders, its books, the numbers of its session, and the messages that it may send again.
//!
//! The file is a log of JSON records, one a line. The records of a turn are appended with one write before a byte of the turn is
//! sent, so a client never receives anything that a desk, killed and started again, does not know. Records behind the
//! last [`Record::End`] are of an interrupted write: no client has received them, and they are removed.

use super::Books;
use super::answers::Fields;
use super::order::Order;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use touchline_session::fix::{Memory, Store, StoreError};

/// A record.
#[derive(Debug, Serialize, Deserialize)]
pub enum Record<'a> {
    /// The one client, by its CompID.
    Client(Cow<'a, str>),
    /// The session sends this message under its next number; empty for one that is never sent again.
    Sent(Cow<'a, str>),
    /// The session expects this number.
    Expected(u64),
    /// The session begins at 1 again.
    Reset,
    /// The present state of the order at this index.
    Order(usize, Cow<'a, Order>),
    /// ClOrdID of an order that was lost or could not be read.
    Id(Cow<'a, str>),
    /// The present books, and the number of executions so far.
    Books(u64, Cow<'a, Books>),
    /// All messages that the session did not accept yet.
    Waiting(Cow<'a, [(String, Fields)]>),
    /// The end of a turn.
    End,
}

/// Records of the turn, shared by the desk and its session; a desk without a file makes none.
#[derive(Debug, Clone, Default)]
pub struct Turn(Option<Rc<RefCell<Vec<u8>>>>);

impl Turn {
    pub fn add(&self, record: &Record<'_>) {
        if let Some(bytes) = &self.0 {
            let mut bytes = bytes.borrow_mut();
            serde_json::to_writer(&mut *bytes, record).expect("a record is JSON");
            bytes.push(b'\n');
        }
    }
}

/// The file of a desk.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    turn: Turn,
}

impl Log {
    /// Opens the file, which need not exist, and hands its records to `take` in their order.
    ///
    /// # Errors
    /// The file cannot be read or written; a record before the end of the last turn cannot be read.
    pub fn open(
        path: &Path,
        mut take: impl FnMut(Record<'_>) -> Result<(), String>,
    ) -> Result<Log, Error> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let end = text.rfind("\"End\"\n").map_or(0, |start| start + 6);
        for (number, line) in text[..end].lines().enumerate() {
            let record = serde_json::from_str(line).map_err(|error| error.to_string());
            record.and_then(&mut take).map_err(|error| {
                let what = format!("line {} is no record of this bank ({error})", number + 1);
                Error::new(ErrorKind::InvalidData, what)
            })?;
        }
        file.set_len(end as u64)?;
        Ok(Log {
            path: path.to_owned(),
            file,
            turn: Turn(Some(Rc::default())),
        })
    }

    pub fn turn(&self) -> Turn {
        self.turn.clone()
    }

    /// Appends the records of the turn.
    ///
    /// # Errors
    /// The file may lack the records: no message of the turn may be sent.
    pub fn commit(&mut self) -> Result<(), Error> {
        let Some(bytes) = self
            .turn
            .0
            .as_ref()
            .filter(|bytes| !bytes.borrow().is_empty())
        else {
            return Ok(());
        };
        self.turn.add(&Record::End);
        let written = self.file.write_all(&bytes.borrow());
        bytes.borrow_mut().clear();
        written.map_err(|error| {
            let what = format!(
                "{}: {error}; free the disk and start the banks again",
                self.path.display()
            );
            Error::new(error.kind(), what)
        })
    }
}

/// The session's store: in memory, and with a record of each change.
#[derive(Debug)]
pub struct Numbers {
    pub memory: Memory,
    pub turn: Turn,
}

impl Store for Numbers {
    fn next_out(&self) -> u64 {
        self.memory.next_out()
    }

    fn next_in(&self) -> u64 {
        self.memory.next_in()
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.memory.add(message)?;
        // Fields of a desk are text, so the conversion is exact.
        let text = String::from_utf8_lossy(message);
        self.turn.add(&Record::Sent(text));
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.turn.add(&Record::Expected(next_in));
        self.memory.expect(next_in)
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.memory.read(number, room)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.turn.add(&Record::Reset);
        self.memory.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::{Log, Record};
    use std::io::Write;
    use touchline_testing::Folder;

    /// Numbers that a file's records expect.
    fn numbers(path: &std::path::Path) -> Result<(Log, Vec<u64>), std::io::Error> {
        let mut found = Vec::new();
        let log = Log::open(path, |record| {
            if let Record::Expected(number) = record {
                found.push(number);
            }
            Ok(())
        })?;
        Ok((log, found))
    }

    /// A turn is in the file as a whole or not at all, also behind one whose write was interrupted; other damage is an error.
    #[test]
    fn an_interrupted_turn_is_removed_and_damage_is_refused() {
        let folder = Folder::new("bank-log");
        let path = folder.join("log");
        let (mut log, _) = numbers(&path).expect("a new file");
        log.turn().add(&Record::Expected(1));
        log.commit().expect("a disk");
        for cut in [&b"{\"Expected\":2}\n"[..], b"{\"Expected\":2}\n\"En", b"{"] {
            log.file.write_all(cut).expect("a disk");
            let found;
            (log, found) = numbers(&path).expect("what was written");
            assert_eq!(found, [1]);
        }
        log.turn().add(&Record::Expected(3));
        log.commit().expect("a disk");
        assert_eq!(numbers(&path).expect("two turns").1, [1, 3]);
        log.file.write_all(b"{]\n\"End\"\n").expect("a disk");
        let error = numbers(&path).expect_err("damage").to_string();
        assert!(error.contains("line 5 is no record"), "{error}");
    }
}
