//! Writing side of a client's ring: commands to the engine. The engine has the reading side and decides which commands
//! to admit.

use crate::bus_names::ring_name;
use touchline_fx_events::command::Command;
use touchline_fx_events::encoding::COMMAND_BYTES_MAX;
use touchline_transport::bus::{END_OF_BATCH, Error, Layout, Lock, Publication, Root};

/// Schema of a client's bus.
const SCHEMA: u16 = 901;
/// Bytes of a client's ring.
const RING_BYTES: u64 = 64 << 10;

/// Writing side: a client.
#[derive(Debug)]
pub struct DeskClient {
    publication: Publication,
}

impl DeskClient {
    /// Takes the ring of a client; one process at a time has it.
    ///
    /// # Errors
    /// Another process has it, or it cannot be made.
    pub fn open(root: &Root, engine: &str, client: &str) -> Result<DeskClient, Error> {
        let layout = Layout {
            ring_bytes: RING_BYTES,
            message_bytes_min: COMMAND_BYTES_MAX + 8,
            schema: SCHEMA,
            tables: [],
            lossless: None,
            huge_pages: false,
            lock: Lock::No,
        };
        let (publication, []) = Publication::open(root, &ring_name(engine, client), &layout)?;
        Ok(DeskClient { publication })
    }

    /// Publishes a command.
    pub fn send(&mut self, request: u64, command: &Command) {
        let mut bytes = request.to_le_bytes().to_vec();
        command.encode(&mut bytes);
        self.publication.stage(bytes.len(), |frame| {
            frame.put(bytes.as_slice());
            frame.finish();
        });
        self.publication.release(END_OF_BATCH);
    }
}
