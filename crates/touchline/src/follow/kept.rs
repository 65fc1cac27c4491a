//! What a subscriber holds: the books, and what happened to the subscription.

use crate::tail::Known;
use touchline_transport::{Envelope, Mirror, Notice, Subscribe};
use touchline_types::{InstrumentDefinition, Update, Validity};

/// Books, definitions, and a tally.
#[derive(Debug)]
pub struct Kept {
    /// The books.
    pub mirror: Mirror,
    /// What happened.
    pub seen: Seen,
    known: Known,
}

/// What happened to the subscription.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Updates handed over.
    pub updates: u64,
    /// Batches that ended.
    pub batches: u64,
    /// Losses of the channel.
    pub gaps: u64,
    /// Times that the venue began anew.
    pub resets: u64,
    /// Messages lost because this reader was too slow.
    pub lost: u64,
    /// Publishers after the first.
    pub restarts: u64,
}

impl Kept {
    /// Nothing is held yet. Memory grows with what the bus shows.
    pub fn new() -> Kept {
        Kept {
            mirror: Mirror::new(INSTRUMENTS, ORDERS_MAX),
            seen: Seen::default(),
            known: Known::default(),
        }
    }

    /// Every instrument that was named, by ascending venue id.
    pub fn by_venue_id(&self) -> Vec<InstrumentDefinition> {
        let mut rows: Vec<_> = self.known.all().collect();
        rows.sort_by_key(|definition| definition.venue_id);
        rows
    }

    /// How many price books are live, and how many there are.
    pub fn live(&self) -> (usize, usize) {
        let is_live = |definition: &InstrumentDefinition| {
            self.mirror.validity(definition.instrument) == Validity::Live
        };
        let known = self.known.all();
        (self.known.all().filter(is_live).count(), known.count())
    }
}

/// Before it grows.
const INSTRUMENTS: usize = 1_024;

/// As many as a gateway's default.
const ORDERS_MAX: usize = 262_144;

impl Subscribe for Kept {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.seen.updates += 1;
        self.known.note(envelope.update);
        self.mirror.update(envelope);
        match envelope.update {
            Update::Gap(_) => self.seen.gaps += 1,
            Update::Reset => self.seen.resets += 1,
            _ => {}
        }
    }

    fn batch_end(&mut self) {
        self.seen.batches += 1;
    }

    fn notice(&mut self, notice: &Notice) {
        self.mirror.notice(notice);
        match notice {
            Notice::Lapped { messages, .. } => self.seen.lost += messages,
            Notice::Restarted { .. } => {
                self.seen.restarts += 1;
                self.known.forget();
            }
            _ => {}
        }
    }
}
