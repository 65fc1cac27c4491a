//! Price books of one instrument and their state: RptSeq, queue, snapshots.

use super::message::{BookEntry, Entry, PriceSnapshot};
use super::{Flaw, Settings};
use crate::picture::{Level, State};
use crate::reference::price_book::{Action, PriceSide};

/// Direct and implied price books of one instrument.
#[derive(Clone, Debug)]
pub struct Prices {
    /// Direct bids, direct offers, implied bids, implied offers.
    sides: [PriceSide; 4],
    settings: Settings,
    /// No gap in RptSeq is known.
    complete: bool,
    /// RptSeq of the last processed or queued entry.
    last_rpt_seq: u32,
    /// All entries of this instrument up to this packet were received.
    have_up_to: u32,
    /// If complete, the books are confirmed up to this packet.
    confirmed_up_to: u32,
    /// The used snapshot contains all packets before this one, at any RptSeq: the snapshot may be ahead of the
    /// incremental feed, and of a reset there.
    contained_before: u32,
    /// Entries since the gap, each with its packet.
    queue: Vec<(u32, Entry)>,
}

impl Prices {
    /// Empty, complete books at RptSeq 0.
    pub fn new(depth: usize, implied_depth: usize, settings: Settings) -> Self {
        let side = |depth| PriceSide::new(depth, settings.flaw != Some(Flaw::LastLevelKept));
        Self {
            sides: [
                side(depth),
                side(depth),
                side(implied_depth),
                side(implied_depth),
            ],
            settings,
            complete: true,
            last_rpt_seq: 0,
            have_up_to: 0,
            confirmed_up_to: 0,
            contained_before: 0,
            queue: Vec::new(),
        }
    }

    /// The four lists: direct bids, direct offers, implied bids, implied offers.
    pub fn sides(&self) -> &[PriceSide; 4] {
        &self.sides
    }

    /// RptSeq of the last processed entry; 0 if there was none.
    pub fn last_rpt_seq(&self) -> u32 {
        self.last_rpt_seq
    }

    /// State, given the last lost packet (`None` if none was lost).
    pub fn state(&self, last_lost: Option<u32>) -> State {
        match (self.complete, self.settings.natural) {
            (true, _) if last_lost.is_none_or(|lost| self.confirmed_up_to >= lost) => State::Live,
            (true, _) => State::Gapped,
            (false, true) => State::Natural,
            (false, false) => State::Recovering,
        }
    }

    /// Processes one entry of a packet. True if it was applied to the direct book.
    pub fn take(&mut self, packet: u32, entry: Entry) -> bool {
        if packet < self.contained_before {
            return false;
        }
        let expected = self.last_rpt_seq.wrapping_add(1);
        if entry.rpt_seq <= self.last_rpt_seq && self.settings.flaw != Some(Flaw::RptSeqNotChecked)
        {
            if packet <= self.have_up_to {
                return false;
            }
            // RptSeq started again in a new packet: the reset before it was lost.
            self.start_again(entry.rpt_seq == 1);
        } else if entry.rpt_seq != expected && self.settings.flaw != Some(Flaw::RptSeqNotChecked) {
            self.recover();
        }
        self.last_rpt_seq = entry.rpt_seq;
        self.have_up_to = self.have_up_to.max(packet);
        if self.complete {
            self.confirmed_up_to = self.confirmed_up_to.max(packet);
        } else {
            self.queue.push((packet, entry));
        }
        (self.complete || self.settings.natural) && self.apply(entry)
    }

    /// Processes a snapshot; called while the books are not live.
    pub fn take_snapshot(&mut self, snapshot: &PriceSnapshot) {
        let (rpt_seq, last_packet) = (snapshot.rpt_seq, snapshot.last_packet);
        let is_news = last_packet > self.have_up_to;
        if self.complete {
            // The same RptSeq in a new packet does not prove that the book is the same: the snapshot may be from after
            // a reset that is still to arrive. So it replaces the book, usually by the same levels.
            if rpt_seq > self.last_rpt_seq || is_news {
                self.replace(snapshot);
            } else if rpt_seq == self.last_rpt_seq {
                self.confirm(last_packet);
            }
            return;
        }
        let mut rest = std::mem::take(&mut self.queue);
        let all = rest.clone();
        rest.retain(|(packet, entry)| entry.rpt_seq > rpt_seq && *packet >= last_packet);
        let follows = match rest.is_empty() {
            true => rpt_seq >= self.last_rpt_seq || is_news,
            false => rest
                .iter()
                .zip(1..)
                .all(|((_, entry), i)| entry.rpt_seq.checked_sub(rpt_seq) == Some(i)),
        };
        if !follows {
            self.queue = all;
            return;
        }
        self.replace(snapshot);
        for (packet, entry) in rest {
            self.apply(entry);
            self.last_rpt_seq = entry.rpt_seq;
            self.confirm(packet);
        }
    }

    /// Channel reset: empty, complete, RptSeq 0, as of this packet.
    pub fn reset(&mut self, packet: u32) {
        self.start_again(true);
        self.last_rpt_seq = 0;
        self.have_up_to = packet;
        self.confirmed_up_to = packet;
    }

    /// The books may be forged: they are unknown up to this packet.
    pub fn distrust(&mut self, newest: u32) {
        self.start_again(false);
        self.last_rpt_seq = 0;
        self.have_up_to = newest;
        self.confirmed_up_to = 0;
    }

    /// A definition changed the depths. Books with entries had wrong depths and must recover.
    pub fn set_depths(&mut self, depth: usize, implied_depth: usize) {
        let fresh = Self::new(depth, implied_depth, self.settings);
        let same = self
            .sides
            .iter()
            .zip(&fresh.sides)
            .all(|(old, new)| old.depth() == new.depth());
        if same {
            return;
        }
        self.sides = fresh.sides;
        let in_use = self.last_rpt_seq > 0 || !self.complete;
        if in_use {
            self.recover();
        }
    }

    /// A gap: the books are wrong, including levels filled in since an earlier gap. An existing queue is kept.
    fn recover(&mut self) {
        self.clear();
        self.complete = false;
    }

    fn start_again(&mut self, complete: bool) {
        self.clear();
        self.queue.clear();
        self.complete = complete;
        self.contained_before = 0;
    }

    fn replace(&mut self, snapshot: &PriceSnapshot) {
        self.start_again(true);
        for &level in &snapshot.levels {
            self.apply_book(level);
        }
        self.last_rpt_seq = snapshot.rpt_seq;
        self.contained_before = snapshot.last_packet;
        // A snapshot may confirm less than was confirmed before: after a sequence reset, confirmation starts again.
        self.confirmed_up_to = snapshot.last_packet;
        self.have_up_to = self.have_up_to.max(snapshot.last_packet);
    }

    fn confirm(&mut self, packet: u32) {
        self.confirmed_up_to = self.confirmed_up_to.max(packet);
        self.have_up_to = self.have_up_to.max(packet);
    }

    fn clear(&mut self) {
        self.sides.iter_mut().for_each(PriceSide::clear);
    }

    fn apply(&mut self, entry: Entry) -> bool {
        entry.book.is_some_and(|book| self.apply_book(book))
    }

    /// True if the entry belongs to the direct book.
    fn apply_book(&mut self, entry: BookEntry) -> bool {
        let implied_in_outright = self.settings.flaw == Some(Flaw::ImpliedInOutright);
        let side = match entry.kind {
            b'0' => 0,
            b'1' => 1,
            b'E' if implied_in_outright => 0,
            b'F' if implied_in_outright => 1,
            b'E' => 2,
            b'F' => 3,
            b'J' => {
                self.clear();
                return true;
            }
            _ => return false,
        };
        let level = Level {
            price: entry.price,
            quantity: entry.quantity,
            orders: entry.orders,
        };
        if let Some(action) = Action::from_wire(entry.action) {
            self.sides[side].apply(action, usize::from(entry.level), level);
        }
        side < 2
    }
}
