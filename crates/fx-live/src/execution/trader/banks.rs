//! The banks of a run: for each bank its order session, faults and counts.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

use super::faults::Faults;
use crate::execution::config::Config;
use crate::execution::edge::Link;
use crate::execution::numbers::Numbers;
use crate::execution::order_session::OrderSession;
use crate::execution::statistics::BankCounts;
use std::ops::{Index, IndexMut};
use touchline_fx_events::setup::Bank;

/// Banks by number.
pub(super) struct Banks<L> {
    all: Vec<BankState<L>>,
    /// The first bank whose connection may run in the next round.
    connects_next: Bank,
}

/// A bank of a run.
pub(super) struct BankState<L> {
    pub session: OrderSession<L>,
    pub faults: Faults,
    pub counts: BankCounts,
    /// The session has messages of the present batch.
    pub is_filled: bool,
}

impl<L: Link> Banks<L> {
    /// The banks, with sessions that continue at these sequence numbers, and one link for each bank.
    pub fn new(
        config: &Config,
        numbers: &[Numbers],
        links: impl IntoIterator<Item = L>,
    ) -> Banks<L> {
        let banks = config.banks.iter().zip(numbers).zip(links);
        let banks = banks.map(|((bank, numbers), link)| {
            let session = config.session(bank).expect("the configuration was checked");
            BankState {
                session: OrderSession::new(session, *numbers, link),
                faults: Faults::default(),
                counts: BankCounts::default(),
                is_filled: false,
            }
        });
        Banks {
            all: banks.collect(),
            connects_next: 0,
        }
    }

    /// Number of banks.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Number of the next message to a bank.
    pub fn next_out(&self, bank: Bank) -> u64 {
        self.all[bank].session.next_out()
    }

    /// Order sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &OrderSession<L>> {
        self.all.iter().map(|bank| &bank.session)
    }

    /// Counts.
    pub fn counts(&self) -> impl Iterator<Item = BankCounts> {
        self.all.iter().map(|bank| bank.counts)
    }

    /// The bank whose connection may run in this round, each in turn: quotes and commands wait for one step of one
    /// handshake, not for the handshakes of all banks after a cut of the network.
    pub fn connecting(&mut self, mono_ns: u64) -> Option<Bank> {
        let count = self.all.len();
        let mut banks = (self.connects_next..count).chain(0..self.connects_next);
        let bank = banks.find(|&bank| self.all[bank].session.is_connecting(mono_ns))?;
        self.connects_next = (bank + 1) % count;
        Some(bank)
    }
}

impl<L> Index<Bank> for Banks<L> {
    type Output = BankState<L>;

    fn index(&self, bank: Bank) -> &BankState<L> {
        &self.all[bank]
    }
}

impl<L> IndexMut<Bank> for Banks<L> {
    fn index_mut(&mut self, bank: Bank) -> &mut BankState<L> {
        &mut self.all[bank]
    }
}
