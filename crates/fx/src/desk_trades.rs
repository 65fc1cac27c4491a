//! Trades that the desk books without an order: opening positions, reversals and corrections. Two persons book each.
//! Rules: `docs/venues/fx-banks.md`, "Desk".

use std::collections::HashMap;
use touchline_fx_events::desk::{BookState, DeskTrade};
use touchline_types::Id;

/// Maximum length of the name of a booking: its ExecID has two bytes more.
pub const NAME_MAX: usize = 62;

/// Proposals by name; one that was booked keeps its name.
#[derive(Debug, Clone, Default)]
pub struct DeskTrades(HashMap<Id, Proposal>);

/// A proposal.
#[derive(Debug, Clone, Copy)]
struct Proposal {
    by: Id,
    trade: DeskTrade,
    is_booked: bool,
}

impl DeskTrades {
    /// Verdict on a booking command of a permitted user: it proposes a trade, or confirms one.
    pub fn judge(&self, by: &Id, trade: &DeskTrade) -> BookState {
        let Some(proposal) = self.0.get(&trade.id) else {
            return BookState::First;
        };
        if proposal.is_booked {
            return BookState::DuplicateId;
        }
        if proposal.trade != *trade {
            return BookState::Differs;
        }
        // mutant: fx: one user alone may book
        match proposal.by == *by {
            true => BookState::SamePerson,
            false => BookState::Booked,
        }
    }

    /// Whether a trade of this name was booked.
    pub fn is_booked(&self, id: &Id) -> bool {
        self.0.get(id).is_some_and(|proposal| proposal.is_booked)
    }

    /// Stores the verdict on a proposal or a confirmation.
    pub fn apply(&mut self, state: BookState, by: Id, trade: &DeskTrade) {
        let proposal = self.0.get_mut(&trade.id);
        match (state, proposal) {
            (BookState::First, None) => {
                let proposal = Proposal {
                    by,
                    trade: *trade,
                    is_booked: false,
                };
                self.0.insert(trade.id, proposal);
            }
            (BookState::Booked, Some(proposal)) => {
                let was_booked = std::mem::replace(&mut proposal.is_booked, true);
                assert!(
                    proposal.by != by && !was_booked,
                    "two persons book a trade once"
                );
            }
            _ => {}
        }
    }
}
