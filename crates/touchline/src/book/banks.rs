//! Names of the banks at the best of a composite, from the stream of its bus: tables have no quotes.

use crate::best_banks::{BestBanks, COMPOSITE};
use std::path::Path;
use std::time::{Duration, Instant};
use touchline_client::{Bus, Events, Instrument, Next, Snapshot};

/// How long a book that is printed once waits for the names: a composer repeats them each `snapshot_ms`.
const PATIENCE: Duration = Duration::from_millis(500);

/// A reader of names; of a bus without composites it reads nothing.
pub struct Banks {
    bus: Option<Bus>,
    best: BestBanks,
}

impl Banks {
    /// Reads the bus if the instrument is a composite of banks.
    pub fn of(directory: &Path, bus: &str, snapshot: &Snapshot, one: Instrument) -> Banks {
        let is_composite = snapshot
            .definition(one)
            .is_ok_and(|definition| definition.venue.as_str() == COMPOSITE);
        let options = Bus::options().directory(directory).events(Events::QUOTES);
        Banks {
            // Without the stream the book is printed without names.
            bus: is_composite.then(|| options.join(bus).ok()).flatten(),
            best: BestBanks::default(),
        }
    }

    /// Names at the best bid and ask, as of now; waits for the first ones.
    pub fn lines(&mut self, security_id: i64) -> Vec<(&'static str, String)> {
        let Some(bus) = &mut self.bus else {
            return Vec::new();
        };
        // A bus that stalled or ended meanwhile has no best bank.
        bus.look_again();
        let start = Instant::now();
        while start.elapsed() < PATIENCE
            && let Some(event) = bus.poll()
        {
            self.best.take(bus, &event);
        }
        while !self.best.has(security_id) && start.elapsed() < PATIENCE {
            match bus.next_within(PATIENCE.saturating_sub(start.elapsed())) {
                Next::Event(event) => self.best.take(bus, &event),
                _ => break,
            }
        }
        self.best.lines(security_id)
    }
}
