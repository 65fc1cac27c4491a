//! Drop copy: decisions of the engine and reports of the banks, on a bus that any number of readers follow.
//!
//! A message is a part of a batch, with the same bytes as in the journal ([`touchline_fx_events::encoding`]). The
//! number of its first entry is 0 if the journal lacks it: a composite, or an entry that an engine publishes after its
//! journal failed. A slow reader loses messages, notices by the numbers, and finds them in the journal
//! ([`crate::Follower`]).
//!
//! The names of banks and pairs are in the first batch of each run. A reader that joins later and does not read the journal finds them
//! in a file beside the bus.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use touchline_fx_events::encoding::{Decoder, Encoder};
use touchline_fx_events::event::Answer;
use touchline_transport::bus::{
    Activity, DROP_COPY_SCHEMA, Damage, END_OF_BATCH, Error, Layout, Lock, Publication, Root,
    WriterLock,
};

/// Longest part of a batch, bytes: the names of a thousand pairs. A longer part is not published, and readers find it in
/// the journal.
const PART_BYTES_MAX: usize = 60_000;
/// File with the batch that begins the run.
const RUN: &str = "run";
/// Note of the directory of the journal.
pub const JOURNAL: &str = "journal";

/// Writing side.
#[derive(Debug)]
pub struct DropCopy {
    publication: Publication,
    root: Root,
}

impl DropCopy {
    /// Takes the bus.
    ///
    /// # Errors
    /// Another engine has it, or there is no room.
    pub fn open(root: &Root, bus: &str, ring_bytes: u64) -> Result<DropCopy, Error> {
        let layout = Layout {
            ring_bytes,
            message_bytes_min: PART_BYTES_MAX,
            schema: DROP_COPY_SCHEMA,
            tables: [],
            lossless: None,
            huge_pages: false,
            lock: Lock::No,
        };
        let (publication, []) = Publication::open(root, bus, &layout)?;
        Ok(DropCopy {
            publication,
            root: root.clone(),
        })
    }

    /// The lock of the bus, which only the active engine holds.
    pub fn lock(&self) -> &WriterLock {
        self.publication.lock()
    }

    /// Publishes the first batch of a run. An engine whose file cannot be written trades, and its late readers need the
    /// journal.
    pub fn begin_run(&mut self, run: &[u8]) {
        let _ = write_note(&self.root, self.publication.bus(), RUN, run);
    }

    /// Publishes a part of a batch.
    pub fn publish(&mut self, part: &[u8]) {
        if part.len() > PART_BYTES_MAX {
            return;
        }
        self.publication.stage(part.len(), |frame| {
            frame.put(part);
            frame.finish();
        });
        self.publication.release(END_OF_BATCH);
    }

    /// Publishes an answer that no journal has.
    pub fn answer(&mut self, at_ns: u64, answer: &Answer<'_>) {
        let mut batch = Encoder::default();
        batch.begin(at_ns);
        batch.answer(answer);
        for place in 0..batch.finish(0) {
            self.publish(batch.part(place));
        }
    }

    /// States that the engine works.
    pub fn state_activity(&mut self, activity: Activity) {
        self.publication.state_activity(activity);
    }

    /// Checks that readers still find the bus.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&mut self) -> Result<(), Damage> {
        self.publication.check()
    }
}

/// Notes a file or folder of a started engine in the directory of its bus, under a name, for its readers. An engine whose note cannot be
/// written trades, and its readers must be notified of the file.
pub fn note(root: &Root, bus: &str, name: &str, path: &Path) {
    if let Ok(path) = std::path::absolute(path) {
        let _ = write_note(root, bus, name, path.as_os_str().as_bytes());
    }
}

/// Path that the engine noted under a name.
///
/// # Errors
/// The engine noted no path under this name.
pub fn noted(root: &Root, bus: &str, name: &str) -> io::Result<PathBuf> {
    let path = root.path().join(bus).join(name);
    Ok(OsString::from_vec(fs::read(path)?).into())
}

/// Writes a file beside the ring, for the group of the root to read.
fn write_note(root: &Root, bus: &str, name: &str, content: &[u8]) -> io::Result<()> {
    let directory = root.path().join(bus);
    let partial = directory.join(format!("{name}.new"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&partial)?;
    let shared = root.share(file.as_fd(), &partial);
    shared.map_err(io::Error::other)?;
    file.write_all(content)?;
    fs::rename(partial, directory.join(name))
}

/// A decoder for a reader that joins a bus and reads no journal.
pub(crate) fn joined(root: &Root, bus: &str) -> Decoder {
    // A standby has no run, and answers.
    let run = fs::read(root.path().join(bus).join(RUN)).unwrap_or_default();
    Decoder::joined(&run)
}
