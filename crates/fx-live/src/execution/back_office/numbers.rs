//! Sequence numbers of a client's session: a file with the report of each number.
//!
//! Messages are not stored: a resend is written again from the reports, which come from the journal. The file has a
//! head of 64 bytes, then 24 bytes for each sent number: report (u64, from 1; 0 for a message of the session; the
//! highest bit marks PossResend), time of sending (u64), checksum of the report (u64), little-endian. The head: magic,
//! next number in, reports sent before the last reset, the host's boot, and the id of the journal (16 bytes; zeros if
//! it is unknown).
//!
//! Written to the file before a byte is sent, which survives the process. It is not synced, so that the disk of the
//! journal has no more work; after a start of the host numbers are skipped in place of those that may be lost.

use super::reports::Reports;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use thiserror::Error;
use touchline_session::fix::{Settings, Store, StoreError};
use touchline_wire::fix::{Encoder, tag};

const MAGIC: [u8; 8] = *b"TLDROP\0\x01";
const HEAD: u64 = 64;
const RECORD: u64 = 24;
/// Place of the journal's id in the head.
const JOURNAL_AT: usize = 32;
/// Id of a journal that is not known.
const NO_JOURNAL: [u8; 16] = [0; 16];
/// Numbers skipped after a start of the host.
const SKIPPED: usize = 10_000;
/// Set in a report's number if it was sent before a reset, too.
const AGAIN: u64 = 1 << 63;
/// Messages of the session that wait for room in the output at most.
const OTHERS: usize = 64;

/// A sent number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sent {
    report: u64,
    at_ns: u64,
    checksum: u64,
}

/// Why numbers cannot be used.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file cannot be used.
    #[error(
        "{0}: cannot be used ({1}); the folder of report.numbers must be writable for this user"
    )]
    System(PathBuf, io::Error),
    /// Another process has the file.
    #[error("{0}: another process serves this client; stop it first")]
    Locked(PathBuf),
    /// The file is not a file of sequence numbers.
    #[error(
        "{0}: is not a file of sequence numbers; remove it, and let the client log on with ResetSeqNumFlag"
    )]
    Damaged(PathBuf),
    /// The numbers belong to another journal, which is not a later journal of the same engine.
    #[error(
        "{}: it is the journal of another engine: it has id {}, these numbers are of {}, and were used after it began; give the \
         directory of this engine's journal (run.journal), or remove the file, and let the client log on with ResetSeqNumFlag",
        .path.display(), hex(.found), hex(.own)
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// Id of the journal.
        found: [u8; 16],
        /// Id of the journal that the numbers are of.
        own: [u8; 16],
    },
}

/// Numbers of a client.
pub struct Numbers {
    file: File,
    path: PathBuf,
    /// Id of the journal that the numbers are of; zeros: it is not known.
    journal: [u8; 16],
    next_in: u64,
    sent: Vec<Sent>,
    /// Reports that were sent before the last reset.
    before_reset: u64,
    reports: Rc<RefCell<Reports>>,
    names: [String; 3],
    /// Number of the report that is sent next, from 0.
    next_report: u64,
    /// Time of sending, if the next message is that report.
    sending_ns: Option<u64>,
    /// Last messages of the session itself, which may wait for room.
    others: VecDeque<(u64, Vec<u8>)>,
}

impl Numbers {
    /// Opens or makes the file. Numbers whose report the journal no longer contains are never sent again, and the
    /// reports after the last known one are sent next.
    ///
    /// # Errors
    /// The file cannot be used, or belongs to another engine's journal: the file is unchanged then.
    pub fn open(
        path: &Path,
        settings: &Settings,
        reports: &Rc<RefCell<Reports>>,
        boot: u64,
    ) -> Result<Numbers, OpenError> {
        let failed = |error| OpenError::System(path.to_owned(), error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked(path.to_owned()),
            TryLockError::Error(error) => failed(error),
        })?;
        let mut numbers = Numbers {
            file,
            path: path.to_owned(),
            journal: NO_JOURNAL,
            next_in: 1,
            sent: Vec::new(),
            before_reset: 0,
            reports: Rc::clone(reports),
            names: [&settings.begin_string, &settings.sender, &settings.target].map(Clone::clone),
            next_report: 0,
            sending_ns: None,
            others: VecDeque::new(),
        };
        let last_boot = numbers.load().map_err(failed)?;
        let last_boot = last_boot.ok_or_else(|| OpenError::Damaged(path.to_owned()))?;
        numbers.check_journal()?;
        if last_boot != boot && !numbers.sent.is_empty() {
            let count = numbers.sent.len() + SKIPPED;
            numbers.sent.resize(count, Sent::default());
            let bytes = HEAD + count as u64 * RECORD;
            numbers.file.set_len(bytes).map_err(failed)?;
        }
        numbers.write_head(boot).map_err(failed)?;
        numbers.forget_lost();
        Ok(numbers)
    }

    /// Continues the numbers with the journal of the reports. Numbers of an unknown one become numbers of it.
    ///
    /// # Errors
    /// The numbers belong to another journal. A journal that began after their last use is a new journal of the same
    /// engine.
    pub fn check_journal(&mut self) -> Result<(), OpenError> {
        let reports = self.reports.borrow();
        let Some(found) = reports.journal() else {
            return Ok(());
        };
        let used = self.sent.iter().filter(|sent| sent.report > 0);
        let used_ns = used.map(|sent| sent.at_ns).max();
        let is_newer = reports.began_ns().is_none_or(|began| used_ns < Some(began));
        let own = self.journal;
        if own != NO_JOURNAL && own != found && !is_newer {
            let path = self.path.clone();
            return Err(OpenError::Other { path, found, own });
        }
        self.journal = found;
        Ok(())
    }

    /// [`Numbers::check_journal`] of a journal that was made after the file was opened; the file has its id then.
    ///
    /// # Errors
    /// As for `check_journal`, or the file cannot be written.
    pub fn continue_journal(&mut self) -> Result<(), OpenError> {
        self.check_journal()?;
        let written = self.file.write_all_at(&self.journal, JOURNAL_AT as u64);
        written.map_err(|error| OpenError::System(self.path.clone(), error))
    }

    /// Number of the report that is sent next, from 0.
    pub fn next_report(&self) -> u64 {
        self.next_report
    }

    /// Whether a report was sent before the last reset, too.
    pub fn is_again(&self, report: u64) -> bool {
        report < self.before_reset
    }

    /// The next message is the next report, sent at this time; `None`: the session did not take it.
    pub fn set_sending(&mut self, at_ns: Option<u64>) {
        self.sending_ns = at_ns;
    }

    /// Reads the file: the boot in its head, this one's if it is new; `None` if it is not such a file.
    fn load(&mut self) -> io::Result<Option<u64>> {
        let length = self.file.metadata()?.len();
        if length == 0 {
            return Ok(Some(0));
        }
        let mut head = [0; HEAD as usize];
        if length < HEAD {
            return Ok(None);
        }
        self.file.read_exact_at(&mut head, 0)?;
        if head[..8] != MAGIC {
            return Ok(None);
        }
        self.next_in = word(&head, 1).max(1);
        self.before_reset = word(&head, 2);
        let journal = &head[JOURNAL_AT..JOURNAL_AT + 16];
        self.journal = journal.try_into().expect("sixteen bytes");
        // A record that a crash of the host cut off does not count.
        let mut bytes = vec![0; ((length - HEAD) / RECORD * RECORD) as usize];
        self.file.read_exact_at(&mut bytes, HEAD)?;
        let records = bytes.chunks_exact(RECORD as usize);
        self.sent = records
            .map(|record| Sent {
                report: word(record, 0),
                at_ns: word(record, 1),
                checksum: word(record, 2),
            })
            .collect();
        Ok(Some(word(&head, 3)))
    }

    fn write_head(&self, boot: u64) -> io::Result<()> {
        let mut head = [0; HEAD as usize];
        head[..8].copy_from_slice(&MAGIC);
        for (place, value) in [self.next_in, self.before_reset, boot].iter().enumerate() {
            head[8 * (place + 1)..8 * (place + 2)].copy_from_slice(&value.to_le_bytes());
        }
        head[JOURNAL_AT..JOURNAL_AT + 16].copy_from_slice(&self.journal);
        self.file.write_all_at(&head, 0)
    }

    /// Clears trailing numbers whose report is not in the journal.
    fn forget_lost(&mut self) {
        let reports = self.reports.borrow();
        let is_known = |sent: &Sent| {
            let report = reports.get((sent.report & !AGAIN).wrapping_sub(1));
            report.is_some_and(|report| report.checksum() == sent.checksum)
        };
        for sent in self.sent.iter_mut().rev().filter(|sent| sent.report > 0) {
            if is_known(sent) {
                self.next_report = sent.report & !AGAIN;
                return;
            }
            *sent = Sent::default();
        }
        self.before_reset = 0;
    }

    fn head_word(&self, place: u64, value: u64) -> Result<(), StoreError> {
        let written = self.file.write_all_at(&value.to_le_bytes(), 8 * place);
        written.map_err(|error| failed(&error))
    }
}

impl Store for Numbers {
    fn next_out(&self) -> u64 {
        self.sent.len() as u64 + 1
    }

    fn next_in(&self) -> u64 {
        self.next_in
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        let sent = match self.sending_ns.take() {
            None => Sent::default(),
            Some(at_ns) => {
                let number = self.next_report;
                let reports = self.reports.borrow();
                let report = reports.get(number).expect("what is sent is a report");
                let again = if self.is_again(number) { AGAIN } else { 0 };
                Sent {
                    report: (number + 1) | again,
                    at_ns,
                    checksum: report.checksum(),
                }
            }
        };
        let mut record = [0; RECORD as usize];
        for (place, value) in [sent.report, sent.at_ns, sent.checksum].iter().enumerate() {
            record[8 * place..8 * (place + 1)].copy_from_slice(&value.to_le_bytes());
        }
        let at = HEAD + self.sent.len() as u64 * RECORD;
        let written = self.file.write_all_at(&record, at);
        written.map_err(|error| failed(&error))?;
        if sent.report == 0 && !message.is_empty() {
            if self.others.len() == OTHERS {
                self.others.pop_front();
            }
            self.others.push_back((self.next_out(), message.to_vec()));
        }
        if sent.report > 0 {
            self.next_report = sent.report & !AGAIN;
        }
        self.sent.push(sent);
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.head_word(1, next_in)?;
        self.next_in = next_in;
        Ok(())
    }

    /// Writes the message again, if it was a report that the journal has.
    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        let place = usize::try_from(number.wrapping_sub(1)).unwrap_or(usize::MAX);
        let Some(sent) = self.sent.get(place) else {
            return Ok(0);
        };
        if sent.report == 0 {
            let other = self.others.iter().find(|(other, _)| *other == number);
            return Ok(other.map_or(0, |(_, message)| {
                assert!(
                    message.len() <= room.len(),
                    "a message is written again into the room that it was written in"
                );
                room[..message.len()].copy_from_slice(message);
                message.len()
            }));
        }
        let reports = self.reports.borrow();
        let report = reports.get((sent.report & !AGAIN) - 1);
        let Some(report) = report.filter(|report| report.checksum() == sent.checksum) else {
            return Ok(0);
        };
        let [begin_string, sender, target] = &self.names;
        let mut encoder = Encoder::new(room, begin_string.as_bytes(), b"8");
        encoder
            .bytes(tag::SENDER_COMP_ID, sender.as_bytes())
            .bytes(tag::TARGET_COMP_ID, target.as_bytes())
            .unsigned(tag::MSG_SEQ_NUM, number)
            .timestamp(tag::SENDING_TIME, sent.at_ns, Default::default());
        if sent.report & AGAIN != 0 {
            encoder.flag(tag::POSS_RESEND, true);
        }
        report.write(&mut encoder);
        Ok(encoder.finish().map_or(0, <[u8]>::len))
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        let before_reset = self.before_reset.max(self.next_report);
        self.head_word(2, before_reset)?;
        self.head_word(1, 1)?;
        self.file.set_len(HEAD).map_err(|error| failed(&error))?;
        self.before_reset = before_reset;
        (self.next_in, self.next_report) = (1, 0);
        self.sent.clear();
        self.others.clear();
        Ok(())
    }
}

fn word(bytes: &[u8], place: usize) -> u64 {
    let bytes = &bytes[8 * place..8 * (place + 1)];
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn failed(error: &io::Error) -> StoreError {
    StoreError::System(error.raw_os_error().unwrap_or(0))
}
