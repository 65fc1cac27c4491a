//! Drop copy: what the engine decides and learns, on a bus that any number of readers follow.
//!
//! A message is one byte, the kind of its line as in the journal ([`crate::records::LINE_KINDS`]), and the line: a JSON
//! object. A slow reader loses messages and is told so; the journal has them all.

use touchline_transport::bus::{
    Activity, Damage, END_OF_BATCH, Error, Layout, Lock, Publication, Root, WriterLock,
};

/// Schema of the bus.
pub const SCHEMA: u16 = 900;
/// Longest line, bytes; a longer one is left out of the drop copy.
const LINE_BYTES_MAX: usize = 60_000;

/// Writing side.
#[derive(Debug)]
pub struct DropCopy {
    publication: Publication,
}

impl DropCopy {
    /// Takes the bus.
    ///
    /// # Errors
    /// Another engine has it, or there is no room.
    pub fn open(root: &Root, bus: &str, ring_bytes: u64) -> Result<DropCopy, Error> {
        let layout = Layout {
            ring_bytes,
            message_bytes_min: LINE_BYTES_MAX + 1,
            schema: SCHEMA,
            tables: [],
            lossless: None,
            huge_pages: false,
            lock: Lock::No,
        };
        let (publication, []) = Publication::open(root, bus, &layout)?;
        Ok(DropCopy { publication })
    }

    /// The right to write the bus, which is that of being the one engine.
    pub fn lock(&self) -> &WriterLock {
        self.publication.lock()
    }

    /// Publishes a line.
    pub fn publish(&mut self, kind: u8, line: &str) {
        if line.len() > LINE_BYTES_MAX {
            return;
        }
        self.publication.stage(1 + line.len(), |frame| {
            frame.put(&[kind]);
            frame.put(line.as_bytes());
            frame.finish();
        });
        self.publication.release(END_OF_BATCH);
    }

    /// States that the engine works.
    pub fn state_activity(&mut self, activity: Activity) {
        self.publication.state_activity(activity);
    }

    /// Checks that readers still find the bus.
    ///
    /// # Errors
    /// The damage.
    pub fn check(&self) -> Result<(), Damage> {
        self.publication.check()
    }
}
