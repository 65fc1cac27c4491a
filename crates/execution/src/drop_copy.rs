//! Drop copy: what the engine decides and learns, on a bus that any number of readers follow.
//!
//! A message is one byte, the kind of its line as in the journal ([`crate::records::LINE_KINDS`]), its number there (u64,
//! little-endian; 0 for a composite, which the journal has not), and the line: a JSON object. A slow reader loses
//! messages, notices by the numbers, and finds them in the journal ([`crate::Follower`]).

use touchline_transport::bus::{
    Activity, DROP_COPY_SCHEMA, Damage, END_OF_BATCH, Error, Layout, Lock, Publication, Root,
    WriterLock,
};

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
            message_bytes_min: LINE_BYTES_MAX + 9,
            schema: DROP_COPY_SCHEMA,
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
    pub fn publish(&mut self, kind: u8, number: u64, line: &str) {
        if line.len() > LINE_BYTES_MAX {
            return;
        }
        self.publication.stage(9 + line.len(), |frame| {
            frame.put(&[kind]);
            frame.put(&number.to_le_bytes());
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

/// Kind, number and text of a message of the drop copy.
pub fn decode(bytes: &[u8]) -> Option<(u8, u64, &str)> {
    let (kind, rest) = bytes.split_first()?;
    let (number, text) = rest.split_at_checked(8)?;
    let number = u64::from_le_bytes(number.try_into().ok()?);
    Some((*kind, number, std::str::from_utf8(text).ok()?))
}
