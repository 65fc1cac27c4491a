//! The days of the banks' credit: each date begins it once, and the clock begins none by being set.

use super::carry::Core;
use crate::execution::edge::{Link, Output};
use touchline_fx::config::CreditBy;
use touchline_fx::input::Input;
use touchline_fx_days::days_between;
use touchline_fx_events::desk::Desk;
use touchline_fx_events::setup::Bank;
use touchline_types::ReceiveTime;

/// Most days from a date to the next one: a clock that is set back may show the one before, which no run began.
const BACK_DAYS: i32 = 3;

impl<O: Output, L: Link> Core<O, L> {
    /// Days of the banks whose credit begins with New York's trade date, if it begins with this one.
    pub(super) fn credit_days(&self, trade: u32, is_landed: bool) -> Vec<Desk> {
        let is_new =
            |bank: &Bank| !self.has_own_day(*bank) && self.begins_credit(*bank, trade, is_landed);
        let banks = (0..self.banks.len()).filter(is_new);
        banks.map(|bank| Desk::BankDay { bank, trade }).collect()
    }

    /// A session of a bank has started: its used credit is zero again, once for each session.
    pub(super) fn begin_session_day(&mut self, bank: Bank, time: ReceiveTime) {
        let day = self.banks[bank].session.bank_day();
        let day = day.filter(|_| self.days.rolls().is_some() && self.has_own_day(bank));
        // An earlier release began this bank's day with New York's: within this session the credit was free once.
        // mutant: execution: an update within a session frees its credit again
        let day = day.filter(|(_, began_ns)| self.bank_days_ns[bank] < *began_ns);
        let is_new = |(trade, began_ns): &(u32, u64)| {
            self.begins_credit(bank, *trade, *began_ns <= self.landing.at_ns)
        };
        if let Some((trade, _)) = day.filter(is_new) {
            self.handle(time, &Input::Desk(Desk::BankDay { bank, trade }));
        }
    }

    /// Whether the day of a bank's credit begins with a session of the bank, and not with New York's trade date.
    fn has_own_day(&self, bank: Bank) -> bool {
        let by = self.engine.setup().banks[bank].config.credit_by;
        // mutant: execution: a bank with hours begins its credit with New York's day
        by == CreditBy::Day && self.banks[bank].session.has_days()
    }

    /// Whether a date begins the credit of a bank. The clock came to this date by its own pace, or `is_landed`.
    fn begins_credit(&self, bank: Bank, trade: u32, is_landed: bool) -> bool {
        let begun = self.engine.trading().bank_days(bank);
        let is_latest = begun.iter().all(|day| *day < trade);
        match is_landed {
            // mutant: execution: a clock that is set ahead frees credit
            true => is_latest && !self.landing.is_step,
            // A clock that was far ahead began the credit with later dates; today's are new all the same.
            false => is_latest || !begun.iter().any(|day| is_soon(trade, *day)),
        }
    }
}

/// Whether a date is another one, or one that follows soon: then the clock may have been set back from that.
fn is_soon(date: u32, other: u32) -> bool {
    // mutant: execution: a clock that is set back frees credit
    days_between(date, other).is_some_and(|days| (0..=BACK_DAYS).contains(&days))
}
