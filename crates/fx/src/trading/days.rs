//! The days of pairs and banks: each pair has a trade date and a spot date, each bank a day of its credit.

use super::{Step, Trading};
use crate::config::AtRoll;
use crate::setup::Setup;
use std::sync::Arc;
use touchline_fx_events::desk::Day;
use touchline_fx_events::event::Event;
use touchline_fx_events::parents::EndReason;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_types::Id;

impl Trading {
    /// Gives a pair the dates of its day. Orders that are out keep theirs.
    pub(crate) fn begin_day(&mut self, day: &Day, step: &mut Step<'_>) {
        self.look_at_all();
        // mutant: fx: orders keep the value date of the day before
        Arc::make_mut(&mut self.setup).begin_day(day, step.now_ns);
        self.gate.set_stopped(day.pair, day.spot == 0);
        self.positions.begin_day(day);
        self.days[day.pair].push(*day);
        step.push(Event::Day(*day));
        // A journal has the ends.
        if self.setup.risk.at_roll == AtRoll::End && !self.is_restoring {
            let live = self.parents.live().iter().copied();
            let is_of_pair = |at: &usize| {
                let parent = self.parents.get(*at);
                parent.terms.pair == day.pair && parent.is_working()
            };
            let of_pair: Vec<usize> = live.filter(is_of_pair).collect();
            for at in of_pair {
                self.end_parent(at, EndReason::Roll, step);
            }
        }
    }

    /// The spot date of a pair on the day that a ClOrdID names; none if it names none that is known.
    pub(super) fn spot_date_of(&self, id: &Id, pair: Pair) -> Option<u32> {
        let named = self.lost.run_of(id).and_then(|(_, date, _)| date);
        let mut days = self.days[pair].iter().rev();
        // mutant: fx: an order of yesterday is adopted with the date of today
        let found = days.find(|day| Some(day.trade % 1_000_000) == named);
        found.map(|day| day.spot)
    }

    /// The used credit of a bank is zero again, but for its open orders: their credit is used in the new day, too.
    pub(super) fn begin_bank_day(&mut self, bank: Bank, trade: u32, step: &mut Step<'_>) {
        let by = self.setup.banks[bank].config.credit_by;
        // mutant: fx: the credit of the day before is not free
        self.orders.begin_bank_day(bank, by, trade);
        self.bank_days[bank].push(trade);
        step.push(Event::BankDay { bank, trade });
    }

    /// The spot dates are those of a configuration.
    pub(crate) fn forget_days(&mut self, setup: &Setup) {
        let own = Arc::make_mut(&mut self.setup);
        own.pairs.clone_from(&setup.pairs);
        for pair in 0..setup.pairs.len() {
            self.gate.set_stopped(pair, false);
        }
    }
}
