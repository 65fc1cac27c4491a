//! A standby in the simulation: it follows the journal at random moments, and may be promoted when the engine is dead.

use crate::execution::recovery::{Reading, Recovered};
use touchline_fx::setup::Setup;
use touchline_journal::SimulatedJournal;

/// A standby.
pub struct Standby {
    reading: Reading,
    /// Entries of the journal that were applied.
    applied: usize,
}

impl Standby {
    pub fn new(setup: &Setup) -> Standby {
        Standby {
            reading: Reading::new(setup),
            applied: 0,
        }
    }

    /// Applies the records written since the last call.
    pub fn follow(&mut self, journal: &mut SimulatedJournal) -> Result<(), String> {
        let (mut place, mut failed) = (0, None);
        let read = journal.read(|entry| {
            if place >= self.applied && failed.is_none() {
                failed = self.reading.entry(entry).err();
            }
            place += 1;
        });
        if place < self.applied {
            return Err(format!(
                "a standby applied {} entries, the journal has {place}",
                self.applied
            ));
        }
        self.applied = place;
        match (read, failed) {
            (Err(error), _) => Err(format!("a standby cannot follow: {error}")),
            (_, Some(error)) => Err(format!("a standby cannot follow: {error}")),
            _ => Ok(()),
        }
    }

    /// Takes over after the lock was taken and the last run's journal has ended. Returns the state to start from.
    pub fn take_over(mut self, journal: &mut SimulatedJournal) -> Result<Recovered, String> {
        // mutant: simulation: a standby starts from what it had applied before
        self.follow(journal)?;
        Ok(self.reading.finish())
    }
}
