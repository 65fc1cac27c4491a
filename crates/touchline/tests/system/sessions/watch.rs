//! Observing subscribers: the tops, the whole stream, and every live book.

use crate::sessions::path::level;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use touchline_book::{LevelList, PriceBook};
use touchline_lab::picture::TopRow;
use touchline_transport::{Envelope, Mirror, Subscribe};
use touchline_types::{BookKind, Instrument, Side, Update, Validity};

/// Collects a row after each whole event for each instrument whose direct book changed in it.
#[derive(Debug, Default)]
pub struct Tops(pub Vec<TopRow>);

impl Subscribe for Tops {
    fn update(&mut self, envelope: &Envelope<'_>) {
        if let Update::Book(update) = envelope.update
            && update.whole
            && update.direct
        {
            self.0.push(TopRow {
                sequence: envelope.timestamps.packet.sequence,
                security_id: update.security_id as i32,
                bid: update
                    .best_bid
                    .as_ref()
                    .and_then(|best| level(best, BookKind::Direct)),
                ask: update
                    .best_ask
                    .as_ref()
                    .and_then(|best| level(best, BookKind::Direct)),
            });
        }
    }
}

/// Stores every update as text, with the venue's timestamps; receive times differ between runs.
#[derive(Debug, Default)]
pub struct Stream(pub Vec<String>);

impl Subscribe for Stream {
    fn update(&mut self, envelope: &Envelope<'_>) {
        let packet = envelope.timestamps.packet;
        let (sequence, exchange_ns) = (envelope.sequence, envelope.timestamps.exchange_ns);
        self.0.push(format!(
            "{sequence} {} {exchange_ns} {:?}",
            packet.sequence, envelope.update
        ));
    }
}

/// Live books of a subscriber, each as a hash of its levels.
#[derive(Debug)]
pub struct History {
    mirror: Mirror,
    security_ids: HashMap<Instrument, i64>,
    /// Per venue id and packet (by its sending time): states at the ends of its events.
    pub by_packet: HashMap<(i64, u64), HashSet<u64>>,
    /// Number of live books; a test fails without any.
    pub live: u64,
    /// Books to check: venue id, sending time if the update ends an event, state.
    pub claims: Vec<(i64, Option<u64>, u64)>,
}

impl Default for History {
    fn default() -> History {
        History {
            mirror: Mirror::new(256, 16_384),
            security_ids: HashMap::new(),
            by_packet: HashMap::new(),
            live: 0,
            claims: Vec::new(),
        }
    }
}

impl History {
    fn note(
        &mut self,
        instrument: Instrument,
        security_id: i64,
        validity: Validity,
        event_end: Option<u64>,
    ) {
        // Without its definition a book has the default depth, by the rules.
        if validity != Validity::Live || !self.security_ids.contains_key(&instrument) {
            return;
        }
        self.live += 1;
        let state = hash_of(self.mirror.book(instrument));
        if let Some(sending_ns) = event_end {
            self.by_packet
                .entry((security_id, sending_ns))
                .or_default()
                .insert(state);
        }
        self.claims.push((security_id, event_end, state));
    }
}

/// A hash of the four lists.
pub fn hash_of(book: Option<&PriceBook>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for kind in [BookKind::Direct, BookKind::Implied] {
        for side in Side::BOTH {
            let levels = book.map_or(LevelList::EMPTY, |book| book.levels(kind, side));
            levels.len().hash(&mut hasher);
            for entry in levels {
                (entry.price, entry.quantity, entry.orders, entry.known).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

impl Subscribe for History {
    fn update(&mut self, envelope: &Envelope<'_>) {
        self.mirror.update(envelope);
        let sending_ns = envelope.timestamps.packet.sending_ns;
        match envelope.update {
            // Before its definition it is announced by its id only.
            Update::Definition(definition) if definition.defined => {
                self.security_ids
                    .insert(definition.instrument, definition.security_id);
            }
            Update::Book(update) => {
                // An update without changes confirms a book that the event itself did not change.
                let changed = update.direct || !update.changes.is_empty();
                let event_end = (update.whole && changed).then_some(sending_ns);
                self.note(
                    update.instrument,
                    update.security_id,
                    update.validity,
                    event_end,
                );
            }
            Update::BookSnapshot(snapshot) => {
                if let Some(security_id) = self.security_ids.get(&snapshot.instrument).copied() {
                    self.note(snapshot.instrument, security_id, snapshot.validity, None);
                }
            }
            Update::State(state) => {
                if let Some(security_id) = self.security_ids.get(&state.instrument).copied() {
                    self.note(state.instrument, security_id, state.validity, None);
                }
            }
            _ => {}
        }
    }
}
