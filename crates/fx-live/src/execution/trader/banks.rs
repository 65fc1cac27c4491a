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
    /// Banks whose sessions have messages of the present batch.
    filled: BankSet,
}

/// A bank of a run.
pub(super) struct BankState<L> {
    pub session: OrderSession<L>,
    pub faults: Faults,
    pub counts: BankCounts,
}

impl<L: Link> Banks<L> {
    /// The banks, with sessions that continue at these sequence numbers and days, and one link for each bank.
    pub fn new(
        config: &Config,
        numbers: &[(Numbers, u32)],
        links: impl IntoIterator<Item = L>,
    ) -> Banks<L> {
        let banks = config.banks.iter().zip(numbers).zip(links);
        let banks = banks.map(|((bank, (numbers, begun)), link)| {
            let session = config.session(bank).expect("the configuration was checked");
            let mut session = OrderSession::new(session, *numbers, *begun, link);
            session.set_answer_ms(bank.answer_ms);
            BankState {
                session,
                faults: Faults::default(),
                counts: BankCounts::default(),
            }
        });
        let all: Vec<BankState<L>> = banks.collect();
        Banks {
            filled: BankSet::new(all.len()),
            all,
            connects_next: 0,
        }
    }

    /// The session of a bank has a message of the present batch.
    #[inline]
    pub fn fill(&mut self, bank: Bank) {
        self.filled.insert(bank);
    }

    /// The first bank that was filled, which no longer counts as filled.
    #[inline]
    pub fn take_filled(&mut self) -> Option<Bank> {
        self.filled.take_first()
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
        self.all.iter().map(|bank| BankCounts {
            closed_until_ns: bank.session.closed_until_ns().unwrap_or(0),
            ..bank.counts
        })
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

/// Set of banks, a bit each: looking at the state of each bank would take lines of memory that an order does not need.
struct BankSet(Vec<u64>);

/// Banks of a word.
const BITS: usize = u64::BITS as usize;

impl BankSet {
    fn new(banks: usize) -> BankSet {
        BankSet(vec![0; banks.div_ceil(BITS)])
    }

    #[inline]
    fn insert(&mut self, bank: Bank) {
        self.0[bank / BITS] |= 1 << (bank % BITS);
    }

    #[inline]
    fn take_first(&mut self) -> Option<Bank> {
        let at = self.0.iter().position(|bits| *bits != 0)?;
        let bits = &mut self.0[at];
        let bit = bits.trailing_zeros() as usize;
        *bits &= *bits - 1;
        Some(at * BITS + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kill fills every bank, in any order and several times.
    #[test]
    fn each_filled_bank_is_taken_once_and_in_order() {
        let mut filled = BankSet::new(200);
        for bank in [199, 64, 0, 63, 64, 128] {
            filled.insert(bank);
        }
        let taken: Vec<Bank> = std::iter::from_fn(|| filled.take_first()).collect();
        assert_eq!(taken, [0, 63, 64, 128, 199]);
        filled.insert(1);
        assert_eq!((filled.take_first(), filled.take_first()), (Some(1), None));
    }
}
