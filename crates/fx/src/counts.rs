//! Usable quotes: the session is up and within its feed timeout, the pair is not stale, the quote is firm and not
//! expired, and the bank is not inverted.

use crate::plan::Offer;
use crate::quotes::{Entry, NEVER};
use crate::setup::{Setup, Slot, ns};
use touchline_fx_events::setup::Bank;
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
    /// Whether a feed timeout was recorded since.
    is_silent: bool,
}

/// Usable entries of a slot.
#[derive(Debug, Clone, Default)]
pub struct Counting {
    /// Number of the first ones that are the same as before, by side.
    pub ahead: [usize; 2],
    /// Usable entries behind these, by side.
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

    /// Whether quotes of a slot can be usable: the session is up and within its feed timeout, and the pair is not stale.
    pub fn is_live(&self, setup: &Setup, (bank, slot): (Bank, Slot), now_ns: u64) -> bool {
        let stream = &self.banks[bank];
        let config = &setup.banks[bank].config;
        // mutant: simulation: quotes of a silent bank count
        // mutant: simulation: stale quotes count
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
        let quoted_ns = &mut self.quoted_ns[slot];
        // A snapshot at which a reader joins a pair may be older than the reader's state.
        *quoted_ns = (*quoted_ns).max(Some(now_ns));
    }

    /// The quotes of a slot are not known, or the bank has none to give: it is not live in the pair until its next quote message.
    pub fn forget_quoted(&mut self, slot: Slot) {
        self.quoted_ns[slot] = None;
    }

    /// Time of the bank's feed timeout without further activity.
    pub fn silence_due_ns(&self, setup: &Setup, bank: Bank) -> u64 {
        let stream = &self.banks[bank];
        match stream.is_up && !stream.is_silent {
            // mutant: simulation: quotes of a silent bank count
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

    /// Collects the usable entries of a slot, of which those in `before` were usable so far.
    pub fn count(
        &self,
        setup: &Setup,
        (bank, slot): (Bank, Slot),
        entries: &[Entry],
        before: &[Vec<Offer>; 2],
        now_ns: u64,
        into: &mut Counting,
    ) {
        into.clear();
        into.due_ns = NEVER;
        let stream = &self.banks[bank];
        let config = &setup.banks[bank].config;
        // mutant: simulation: quotes of a silent bank count
        let silent_ns = after(stream.heard_ns, config.silence_ms);
        // mutant: simulation: stale quotes count
        let stale_ns =
            self.quoted_ns[slot].map_or(NEVER, |quoted_ns| after(quoted_ns, config.stale_ms));
        if !stream.is_up || now_ns >= silent_ns {
            return;
        }
        if now_ns >= stale_ns {
            return;
        }
        into.due_ns = stale_ns;
        let is_full = setup.banks[bank].is_full;
        let mut best = [i64::MIN, i64::MAX];
        for (place, entry) in entries.iter().enumerate() {
            // mutant: fx: a quote counts at its expiry
            if !entry.is_firm || now_ns >= entry.expires_ns {
                continue;
            }
            into.due_ns = into.due_ns.min(entry.expires_ns);
            match entry.side {
                Side::Bid => best[0] = best[0].max(entry.price),
                Side::Ask => best[1] = best[1].min(entry.price),
            }
            into.add(entry, place, (bank, is_full), before);
        }
        // mutant: fx: an inverted bank counts
        if is_inverted(best) {
            into.ahead = [0; 2];
            into.offers.iter_mut().for_each(Vec::clear);
        }
    }
}

impl Counting {
    fn clear(&mut self) {
        self.ahead = [0; 2];
        self.offers.iter_mut().for_each(Vec::clear);
    }

    #[inline]
    fn add(
        &mut self,
        entry: &Entry,
        place: usize,
        (bank, is_full): (Bank, bool),
        before: &[Vec<Offer>; 2],
    ) {
        let side = entry.side.index();
        let (ahead, offers) = (&mut self.ahead[side], &mut self.offers[side]);
        let known = before[side].get(*ahead);
        if offers.is_empty()
            && known.is_some_and(|offer| offer.age == entry.age && offer.entry == place as u32)
        {
            *ahead += 1;
            return;
        }
        offers.push(Offer {
            price: entry.price,
            size: entry.whole,
            minimum: entry.minimum,
            age: entry.age,
            penalty: 0,
            entry: place as u32,
            bank: bank as u16,
            is_full,
        });
    }
}

/// Whether a bank's best bid is above its best ask, the lowest and highest number where it has none.
fn is_inverted([bid, ask]: [i64; 2]) -> bool {
    bid > ask
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
