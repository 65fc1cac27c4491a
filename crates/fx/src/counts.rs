//! Usable quotes: the session is up and within its feed timeout, the pair is not stale, the quote is firm and has not
//! expired, and the bank is not inverted.

use crate::plan::Offer;
use crate::quotes::{Entry, NEVER};
use crate::setup::{Bank, Setup, Slot, ns};
use touchline_types::Side;

/// Activity of the banks' pricing sessions.
#[derive(Debug, Clone)]
pub struct Streams {
    banks: Vec<Stream>,
    /// Time of the slot's last quote message; none since the session came up.
    quoted_ns: Vec<Option<u64>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    is_up: bool,
    heard_ns: u64,
    /// Whether a feed timeout was noted since.
    is_silent: bool,
}

/// Usable entries of a slot.
#[derive(Debug, Clone, Default)]
pub struct Counting {
    /// Usable entries, by side.
    pub offers: [Vec<Offer>; 2],
    /// Time at which the next of them becomes unusable without further input.
    pub due_ns: u64,
}

impl Streams {
    /// All sessions down.
    pub fn new(setup: &Setup) -> Streams {
        Streams {
            banks: vec![Stream::default(); setup.banks.len()],
            quoted_ns: vec![None; setup.slots()],
        }
    }

    /// Whether the pricing session is up.
    pub fn is_up(&self, bank: Bank) -> bool {
        self.banks[bank].is_up
    }

    /// Whether quotes of a slot can count: the session is up and heard, and quoted the pair not too long ago.
    pub fn is_live(&self, setup: &Setup, (bank, slot): (Bank, Slot), now_ns: u64) -> bool {
        let stream = &self.banks[bank];
        let config = &setup.banks[bank].config;
        stream.is_up
            && now_ns < after(stream.heard_ns, config.silence_ms)
            && self.quoted_ns[slot]
                .is_some_and(|quoted_ns| now_ns < after(quoted_ns, config.stale_ms))
    }

    /// Sets the session up or down.
    pub fn set_up(&mut self, setup: &Setup, bank: Bank, is_up: bool, now_ns: u64) {
        self.banks[bank] = Stream {
            is_up,
            heard_ns: now_ns,
            is_silent: false,
        };
        self.quoted_ns[setup.slot(bank, 0)..setup.slot(bank + 1, 0)].fill(None);
    }

    /// Records activity. True if it ends a feed timeout.
    pub fn hear(&mut self, bank: Bank, now_ns: u64) -> bool {
        let stream = &mut self.banks[bank];
        stream.heard_ns = now_ns;
        std::mem::take(&mut stream.is_silent)
    }

    /// Records a quote message of the slot.
    pub fn note_quoted(&mut self, slot: Slot, now_ns: u64) {
        self.quoted_ns[slot] = Some(now_ns);
    }

    /// Time of the bank's feed timeout without further activity.
    pub fn silence_due_ns(&self, setup: &Setup, bank: Bank) -> u64 {
        let stream = &self.banks[bank];
        match stream.is_up && !stream.is_silent {
            true => after(stream.heard_ns, setup.banks[bank].config.silence_ms),
            false => NEVER,
        }
    }

    /// Records a feed timeout. True if it is new.
    pub fn note_silence(&mut self, setup: &Setup, bank: Bank, now_ns: u64) -> bool {
        let is_due = self.silence_due_ns(setup, bank) <= now_ns;
        self.banks[bank].is_silent |= is_due;
        is_due
    }

    /// Collects the usable entries of a slot.
    pub fn count(
        &self,
        setup: &Setup,
        (bank, slot): (Bank, Slot),
        lot: i64,
        entries: &[Entry],
        now_ns: u64,
        into: &mut Counting,
    ) {
        into.offers.iter_mut().for_each(Vec::clear);
        into.due_ns = NEVER;
        let stream = &self.banks[bank];
        let config = &setup.banks[bank].config;
        let silent_ns = after(stream.heard_ns, config.silence_ms);
        let stale_ns =
            self.quoted_ns[slot].map_or(NEVER, |quoted_ns| after(quoted_ns, config.stale_ms));
        // mutant: fx: a bank without heartbeat counts
        if !stream.is_up || now_ns >= silent_ns {
            return;
        }
        // mutant: fx: a stale pair counts
        if now_ns >= stale_ns {
            return;
        }
        into.due_ns = stale_ns;
        for (place, entry) in entries.iter().enumerate() {
            // mutant: fx: an indicative quote counts
            // mutant: fx: a quote counts at its expiry
            if !entry.is_firm || now_ns >= entry.expires_ns {
                continue;
            }
            into.due_ns = into.due_ns.min(entry.expires_ns);
            into.offers[entry.side.index()].push(Offer {
                price: entry.price,
                size: crate::plan::whole_lots(entry.size, lot),
                minimum: entry.minimum,
                age: entry.age,
                penalty: 0,
                entry: place as u32,
                bank: bank as u16,
                is_full: setup.banks[bank].is_full,
            });
        }
        // mutant: fx: an inverted bank counts
        if is_inverted(&into.offers) {
            into.offers.iter_mut().for_each(Vec::clear);
        }
    }
}

/// Whether a bank's best bid is above its best ask.
fn is_inverted([bids, asks]: &[Vec<Offer>; 2]) -> bool {
    let bid = bids.iter().map(|offer| offer.price).max();
    let ask = asks.iter().map(|offer| offer.price).min();
    bid.zip(ask).is_some_and(|(bid, ask)| bid > ask)
}

/// Best price of a side.
pub fn best(side: Side, offers: &[Offer]) -> Option<i64> {
    let prices = offers.iter().map(|offer| offer.price);
    match side {
        Side::Bid => prices.max(),
        Side::Ask => prices.min(),
    }
}

/// A time in milliseconds later; 0 milliseconds means never.
fn after(from_ns: u64, ms: u64) -> u64 {
    match ms {
        0 => NEVER,
        ms => from_ns.saturating_add(ns(ms)),
    }
}
