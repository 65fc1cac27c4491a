//! Pricing sessions, and updates of the composites.

use super::Engine;
use crate::composite::BankSet;
use crate::event::{Batch, Event};
use crate::input::Session;
use crate::quotes::{BusQuotes, Quotes};
use crate::setup::{Bank, Pair, Slot};
use touchline_types::Side;

impl Engine {
    pub(super) fn pricing(&mut self, bank: Bank, session: &Session<'_>) {
        match session {
            Session::Up => self.set_pricing_up(bank, true),
            Session::Down => self.set_pricing_up(bank, false),
            Session::Message(bytes) => self.message(bank, bytes, |_| ()),
            Session::TakenUp(quoted_ns, bytes) => {
                self.message(bank, bytes, |quotes| quotes.take_up(*quoted_ns));
            }
            Session::Withdrawn(bytes) => self.message(bank, bytes, Quotes::unquote),
            Session::Quotes(quotes) => self.bus_quotes(bank, quotes),
            Session::Heard => {
                if self.is_heard_up(bank) {
                    self.hear(bank);
                }
            }
        }
    }

    /// Handles a message; `told` corrects what it says about the age of quotes.
    fn message(&mut self, bank: Bank, bytes: &[u8], told: impl FnOnce(&mut Quotes)) {
        let is_up = self.streams.is_up(bank);
        let Some(message) = self.whole_message(is_up, bytes) else {
            return;
        };
        self.hear(bank);
        let now_ns = self.now();
        self.quotes.apply(&self.setup, bank, &message, now_ns);
        told(&mut self.quotes);
        self.note_changes(bank);
    }

    /// Handles quotes from the bus of the bank's gateway.
    fn bus_quotes(&mut self, bank: Bank, quotes: &BusQuotes<'_>) {
        if !self.is_heard_up(bank) {
            return;
        }
        self.hear(bank);
        let now_ns = self.now();
        self.quotes.apply_bus(&self.setup, bank, quotes, now_ns);
        self.note_changes(bank);
    }

    /// Whether the session is up. Messages of a lost session are counted.
    fn is_heard_up(&mut self, bank: Bank) -> bool {
        let is_up = self.streams.is_up(bank);
        self.quotes.counters_mut().session_down += u64::from(!is_up);
        is_up
    }

    /// Records activity of a session that is up.
    fn hear(&mut self, bank: Bank) {
        let now_ns = self.now();
        let ends_silence = self.streams.hear(bank, now_ns);
        self.wake_at(self.streams.silence_due_ns(&self.setup, bank));
        if ends_silence {
            self.silences_ended += 1;
            self.mark_bank(bank);
        }
    }

    /// Pairs of the last message.
    fn note_changes(&mut self, bank: Bank) {
        let now_ns = self.now();
        let changes = self.quotes.changes();
        for pair in &changes.quoted {
            let slot = self.setup.slot(bank, *pair);
            match changes.taken_up_ns {
                Some(quoted_ns) => self.streams.note_quoted(slot, quoted_ns.min(now_ns)),
                None => {
                    self.streams.note_quoted(slot, now_ns);
                    self.scorecard.note_quoted(slot);
                }
            }
        }
        for pair in &changes.changed {
            let slot = self.setup.slot(bank, *pair);
            mark(&mut self.dirty, &mut self.is_dirty, bank, slot);
        }
    }

    /// Sets a session up or down; either removes all its quotes.
    pub(super) fn set_pricing_up(&mut self, bank: Bank, is_up: bool) {
        let now_ns = self.now();
        // mutant: fx: quotes outlive their session
        self.quotes.clear(&self.setup, bank);
        self.streams.set_up(&self.setup, bank, is_up, now_ns);
        self.scorecard.set_up(bank, is_up, now_ns);
        self.wake_at(self.streams.silence_due_ns(&self.setup, bank));
        self.mark_bank(bank);
    }

    /// Marks all pairs of a bank for the next step.
    pub(super) fn mark_bank(&mut self, bank: Bank) {
        for pair in 0..self.setup.pairs.len() {
            let slot = self.setup.slot(bank, pair);
            mark(&mut self.dirty, &mut self.is_dirty, bank, slot);
        }
    }

    /// Marks slots with an entry that has become unusable for the next step.
    pub(super) fn mark_due(&mut self, now_ns: u64) {
        for bank in 0..self.setup.banks.len() {
            if self.streams.note_silence(&self.setup, bank, now_ns) {
                self.mark_bank(bank);
            }
            for pair in 0..self.setup.pairs.len() {
                let slot = self.setup.slot(bank, pair);
                if self.slot_due_ns[slot] <= now_ns {
                    mark(&mut self.dirty, &mut self.is_dirty, bank, slot);
                }
            }
        }
    }

    /// Updates the composites.
    pub(super) fn refresh_composites(&mut self, out: &mut Batch) {
        let now_ns = self.now();
        let pairs = self.setup.pairs.len();
        while let Some((bank, slot)) = self.dirty.pop() {
            self.is_dirty[slot] = false;
            let pair = slot % pairs;
            let entries = self.quotes.book(slot).entries();
            let counting = &mut self.counting;
            self.streams.count(
                &self.setup,
                (bank, slot),
                entries,
                self.composites.held(slot),
                now_ns,
                counting,
            );
            // Otherwise the same timer would fire repeatedly.
            assert!(counting.due_ns > now_ns, "what-counts-ends-later");
            self.composites.replace(&self.setup, (bank, pair), counting);
            let own = self.composites.own(&self.setup, bank, pair);
            self.scorecard.note_own(slot, own, now_ns);
            self.slot_due_ns[slot] = counting.due_ns;
            self.wake_at(self.slot_due_ns[slot]);
        }
        for pair in 0..pairs {
            if self.composites.is_dirty(pair) {
                self.refresh_composite(pair, now_ns);
            }
        }
        for pair in 0..pairs {
            if self.composites.is_reference_due(pair, now_ns) {
                self.renew_reference(pair, now_ns, out);
            }
        }
    }

    fn renew_reference(&mut self, pair: Pair, now_ns: u64, out: &mut Batch) {
        let events = &mut out.events;
        self.composites
            .renew_reference(&self.setup, pair, now_ns, |bank, is_off| {
                events.push((now_ns, Event::OffMarket { bank, pair, is_off }));
            });
        self.wake_at(self.composites.reference_ends_ns(pair));
    }

    fn refresh_composite(&mut self, pair: Pair, now_ns: u64) {
        let before = self.composites.of(pair).tops;
        self.composites.refresh(&self.setup, pair);
        self.is_fresh[pair] = true;
        let now = &self.composites.of(pair).tops;
        for side in Side::BOTH {
            let banks = [&before[side.index()], &now[side.index()]]
                .map(|top| top.map_or(BankSet::default(), |top| top.banks));
            let [before, now] = &banks;
            self.scorecard
                .note_best(&self.setup, (pair, side), [before, now], now_ns);
        }
    }
}

fn mark(dirty: &mut Vec<(Bank, Slot)>, is_dirty: &mut [bool], bank: Bank, slot: Slot) {
    if !std::mem::replace(&mut is_dirty[slot], true) {
        dirty.push((bank, slot));
    }
}
