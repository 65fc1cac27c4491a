//! Pricing: quotes of the banks' pricing sessions, and the composite of each pair. It has no parents, orders or router:
//! gateways and composers run it alone, [`Engine`](crate::Engine) runs it beside trading.
//!
//! ```text
//! input ─► books of the bank ─► changed slots ─► step: usable offers ─► composite, reference ─► published composite
//! ```

mod dirty;
mod publish;

use crate::composite::Composites;
use crate::counts::{Counting, Streams};
use crate::input::Session;
use crate::quotes::{BusQuotes, Counters, NEVER, Quoted, Quotes, Sound};
use crate::scorecard::{QuoteScore, QuoteScores};
use crate::setup::{Setup, Slot};
use dirty::DirtySet;
use publish::Publication;
use std::sync::Arc;
use touchline_fx_events::composite::BankSet;
use touchline_fx_events::desk::Day;
use touchline_fx_events::event::{Batch, Event};
use touchline_fx_events::setup::{Bank, Pair};
use touchline_fx_events::stages::Stage;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Frame, Message, frame};

/// Maximum size of a message, bytes.
pub const MESSAGE_MAX: usize = 4 << 20;

/// Quotes and composites.
///
/// Invariant: after a step no slot is changed, and each end of an offer is in the future.
#[derive(Debug, Clone)]
pub struct Pricing {
    setup: Arc<Setup>,
    /// Time of the last instant or input; none before the first.
    now_ns: Option<u64>,
    /// No timer is due before this time.
    wake_ns: u64,
    streams: Streams,
    quotes: Quotes,
    composites: Composites,
    /// Feed timeouts of pricing sessions that have ended so far.
    silences_ended: u64,
    /// Slots whose usable entries may have changed since the last step.
    changed: DirtySet,
    /// Pairs with a changed slot or another reference in this step.
    moved: DirtySet,
    /// Time at which the next entry of a slot becomes unusable.
    slot_due_ns: Vec<u64>,
    counting: Counting,
    publication: Publication,
    scores: QuoteScores,
}

impl Pricing {
    /// Sessions that are down, with references: for trading.
    pub fn new(setup: Arc<Setup>) -> Pricing {
        let composites = Composites::new(&setup);
        let pairs = setup.pairs.len();
        Pricing {
            now_ns: None,
            wake_ns: NEVER,
            streams: Streams::new(&setup),
            quotes: Quotes::new(&setup),
            silences_ended: 0,
            changed: DirtySet::new(setup.slots()),
            moved: DirtySet::new(pairs),
            slot_due_ns: vec![NEVER; setup.slots()],
            counting: Counting::default(),
            publication: Publication::new(&composites, pairs),
            scores: QuoteScores::new(&setup),
            composites,
            setup,
        }
    }

    /// Sessions that are down, without references: for a process that sends no orders.
    pub fn without_references(setup: Setup) -> Pricing {
        let mut pricing = Pricing::new(Arc::new(setup));
        pricing.composites.without_references();
        pricing
    }

    /// Runs all timers up to the input's time, handles an input of a bank's pricing session, and publishes changed composites. Times
    /// must not decrease.
    pub fn handle(&mut self, at_ns: u64, bank: Bank, session: &Session<'_>, out: &mut Batch) {
        self.handle_timeout(at_ns, out);
        self.set_now(at_ns);
        self.input(bank, session);
        self.step(out);
    }

    /// Runs all timers up to a time, gives a pair the dates of its day, and publishes changed composites.
    pub fn begin_day_at(&mut self, at_ns: u64, day: &Day, out: &mut Batch) {
        self.handle_timeout(at_ns, out);
        self.set_now(at_ns);
        self.begin_day(day);
        self.step(out);
    }

    /// Runs all timers up to a time, which is the time of the next queries, and publishes changed composites.
    pub fn advance_to(&mut self, at_ns: u64, out: &mut Batch) {
        self.handle_timeout(at_ns, out);
        self.set_now(at_ns);
        self.step(out);
    }

    /// Runs all timers up to a time, instant by instant.
    pub fn handle_timeout(&mut self, at_ns: u64, out: &mut Batch) {
        assert!(
            self.now_ns.is_none_or(|now_ns| now_ns <= at_ns),
            "the time of an input never falls"
        );
        while self.wake_ns <= at_ns {
            self.wake_ns = self.earliest_ns();
            if self.wake_ns > at_ns {
                break;
            }
            self.set_now(self.wake_ns.max(self.now()));
            self.mark_due();
            self.step(out);
            self.publish_conflated(out);
            self.wake_ns = self.earliest_ns();
            assert!(
                self.wake_ns > self.now(),
                "a timer that stays due would run for ever"
            );
        }
    }

    /// Earliest time of a timer; [`NEVER`] if there is none. A wake-up without a due timer is harmless.
    pub fn next_timeout_ns(&self) -> u64 {
        self.wake_ns
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Time of the last instant or input.
    pub fn now_ns(&self) -> Option<u64> {
        self.now_ns
    }

    /// Counters of quotes.
    pub fn counters(&self) -> &Counters {
        self.quotes.counters()
    }

    /// The banks' quotes.
    pub fn quotes(&self) -> &Quotes {
        &self.quotes
    }

    /// Marks an entry as used by an order. Returns the id of its quote.
    pub(crate) fn use_entry(&mut self, slot: Slot, place: usize) -> Id {
        self.quotes.set_used(slot, place);
        self.quotes.book(slot).entries()[place].quote_id
    }

    /// Starts to log the changes of quotes, for a gateway that publishes them.
    pub(crate) fn begin_logs(&mut self) {
        self.quotes.begin_logs();
    }

    /// Empties the log of a slot.
    pub(crate) fn clear_log(&mut self, slot: Slot) {
        self.quotes.clear_log(slot);
    }

    /// Forgets the pairs of the last message.
    pub(crate) fn forget_changes(&mut self) {
        self.quotes.forget_changes();
    }

    /// Sets the wall clock less the clock of calls, nanoseconds.
    pub(crate) fn set_wall_ahead(&mut self, wall_ahead_ns: i64) {
        self.quotes.set_wall_ahead(wall_ahead_ns);
    }

    /// The composites as of the last step.
    pub fn composites(&self) -> &Composites {
        &self.composites
    }

    /// Reserves memory, so that an average needs none.
    pub(crate) fn reserve(&mut self) {
        self.composites.reserve();
    }

    /// Average price of a quantity on a side, hundredths of a tick; none if it is not available completely.
    pub(crate) fn average(&mut self, traded: (Pair, Side), quantity: i64) -> Option<i64> {
        self.composites.average(&self.setup, traded, quantity)
    }

    /// Feed timeouts of pricing sessions that have ended so far: a message that ends one may change every pair of its bank.
    pub fn silences_ended(&self) -> u64 {
        self.silences_ended
    }

    /// Quotes of a bank and a pair so far, scored.
    pub fn score(&mut self, bank: Bank, pair: Pair) -> &QuoteScore {
        let (slot, now_ns) = (self.setup.slot(bank, pair), self.now());
        self.scores.settle(slot, now_ns);
        self.scores.of(slot)
    }

    /// Time that a bank's pricing session was up so far.
    pub fn up_ns(&self, bank: Bank) -> u64 {
        self.scores.up_ns(bank, self.now())
    }

    /// Whether any bank is live in a pair: its session is up and within its feed timeout, and the pair is not stale.
    pub fn is_live(&self, pair: Pair) -> bool {
        let now_ns = self.now();
        let mut banks = 0..self.setup.banks.len();
        banks.any(|bank| {
            let slot = self.setup.slot(bank, pair);
            self.streams.is_live(&self.setup, (bank, slot), now_ns)
        })
    }

    /// Number of banks with usable quotes in at least one pair.
    pub fn banks_usable(&self) -> usize {
        let is_held = |slot: Slot| {
            self.composites
                .held(slot)
                .iter()
                .any(|held| !held.is_empty())
        };
        let slots = |bank: Bank| self.setup.slot(bank, 0)..self.setup.slot(bank + 1, 0);
        let banks = 0..self.setup.banks.len();
        banks.filter(|bank| slots(*bank).any(is_held)).count()
    }

    pub(crate) fn now(&self) -> u64 {
        self.now_ns.unwrap_or(0)
    }

    pub(crate) fn set_now(&mut self, now_ns: u64) {
        assert!(self.now() <= now_ns, "the time of an input never falls");
        self.now_ns = Some(now_ns);
    }

    /// Sets the time of the next wake-up after the owner has run the timers of an instant.
    pub(crate) fn sleep(&mut self) {
        self.wake_ns = self.earliest_ns();
    }

    /// Pairs whose quotes, composite or reference may have changed in this step.
    pub(crate) fn moved(&self) -> &[Pair] {
        self.moved.places()
    }

    /// The process starts again: all sessions are lost, and the references.
    pub(crate) fn restart(&mut self) {
        for bank in 0..self.setup.banks.len() {
            self.set_up(bank, false);
            self.quotes.forget_used(&self.setup, bank);
        }
        self.composites.forget_references();
    }

    /// A valid message of a session that is up, as `read` reads it to its end.
    pub(crate) fn whole_message<'a, T>(
        &mut self,
        is_up: bool,
        bytes: &'a [u8],
        read: impl FnOnce(Message<'a>) -> Option<T>,
    ) -> Option<T> {
        let counters = self.quotes.counters_mut();
        if !is_up {
            counters.session_down += 1;
            return None;
        }
        let message = match frame(bytes, MESSAGE_MAX) {
            Ok(Frame::Whole(message)) if message.len() == bytes.len() => Some(message),
            _ => None,
        };
        let sound = message.and_then(read);
        if sound.is_none() {
            counters.malformed += 1;
        }
        sound
    }

    /// Handles an input; its changes are in the composites after the next [`Pricing::refresh`].
    pub(crate) fn input(&mut self, bank: Bank, session: &Session<'_>) {
        match session {
            Session::Up => self.set_up(bank, true),
            Session::Down => {
                self.set_up(bank, false);
                self.quotes.forget_used(&self.setup, bank);
            }
            Session::Missed => {
                self.quotes.keep_used(&self.setup, bank);
                self.set_up(bank, false);
            }
            // They are of order sessions.
            Session::Settled | Session::Doubted | Session::Closing | Session::Closed => {}
            Session::Message(bytes) => self.message(bank, bytes, |_| ()),
            Session::QuotedAt(quoted_ns, bytes) => {
                self.message(bank, bytes, |quotes| quotes.quote_at(*quoted_ns));
            }
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

    /// Gives a pair the dates of its day. Quotes of the day before are for another value date: each bank is usable from its next
    /// quote message on.
    pub(crate) fn begin_day(&mut self, day: &Day) {
        let now_ns = self.now();
        Arc::make_mut(&mut self.setup).begin_day(day, now_ns);
        // mutant: fx: quotes outlive the day of their pair
        self.quotes.begin_day(&self.setup, day.pair);
        self.composites.forget_reference(day.pair);
        for bank in 0..self.setup.banks.len() {
            self.changed.mark(self.setup.slot(bank, day.pair));
        }
    }

    /// The spot dates are those of a configuration.
    pub(crate) fn forget_days(&mut self, setup: &Setup) {
        Arc::make_mut(&mut self.setup)
            .pairs
            .clone_from(&setup.pairs);
    }

    /// Handles a message; `told` corrects the age that it states for quotes.
    fn message(&mut self, bank: Bank, bytes: &[u8], told: impl FnOnce(&mut Quotes)) {
        let is_up = self.streams.is_up(bank);
        let read = |message| Sound::read(message).ok();
        let Some(message) = self.whole_message(is_up, bytes, read) else {
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
        if quotes.is_unquoted && matches!(quotes.quoted, Quoted::All(_)) {
            let slot = self.setup.slot(bank, quotes.pair);
            // mutant: fx: a pair whose quotes are unknown is live
            self.streams.forget_quoted(slot);
        }
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
            // A reader that was stopped, or is behind, reads quotes of before: their age counts from the gateway.
            // mutant: fx: a quote is as old as its reading
            let quoted_ns = changes.quoted_ns.map_or(now_ns, |at_ns| at_ns.min(now_ns));
            self.streams.note_quoted(slot, quoted_ns);
            if !changes.is_taken_up {
                self.scores.note_quoted(slot);
            }
        }
        for pair in &changes.changed {
            self.changed.mark(self.setup.slot(bank, *pair));
        }
    }

    /// Sets a session up or down; either removes all its quotes.
    fn set_up(&mut self, bank: Bank, is_up: bool) {
        let now_ns = self.now();
        // mutant: fx: quotes outlive their session
        self.quotes.clear(&self.setup, bank);
        self.streams.set_up(&self.setup, bank, is_up, now_ns);
        self.scores.set_up(bank, is_up, now_ns);
        self.wake_at(self.streams.silence_due_ns(&self.setup, bank));
        self.mark_bank(bank);
    }

    /// Marks all pairs of a bank for the next step.
    fn mark_bank(&mut self, bank: Bank) {
        for slot in self.setup.slot(bank, 0)..self.setup.slot(bank + 1, 0) {
            self.changed.mark(slot);
        }
    }

    /// Marks slots with an entry that has become unusable for the next step.
    pub(crate) fn mark_due(&mut self) {
        let now_ns = self.now();
        for bank in 0..self.setup.banks.len() {
            if self.streams.note_silence(&self.setup, bank, now_ns) {
                self.mark_bank(bank);
            }
            for pair in 0..self.setup.pairs.len() {
                let slot = self.setup.slot(bank, pair);
                if self.slot_due_ns[slot] <= now_ns {
                    self.changed.mark(slot);
                }
            }
        }
    }

    fn step(&mut self, out: &mut Batch) {
        out.stages.lap(Stage::Quotes);
        self.refresh(out);
        out.stages.lap(Stage::Composite);
        self.publish_changes(out);
    }

    /// Updates the composites, references and scores of changed slots.
    pub(crate) fn refresh(&mut self, out: &mut Batch) {
        let now_ns = self.now();
        let pairs = self.setup.pairs.len();
        self.moved.clear();
        while let Some(slot) = self.changed.pop() {
            self.moved.mark(slot % pairs);
            self.refresh_slot(slot, now_ns);
        }
        for pair in 0..pairs {
            if self.composites.is_dirty(pair) {
                self.refresh_composite(pair, now_ns);
            }
        }
        for pair in 0..pairs {
            if self.composites.is_reference_due(pair, now_ns) {
                self.moved.mark(pair);
                self.renew_reference(pair, now_ns, out);
            }
        }
        assert!(self.changed.is_empty(), "after a step no slot is changed");
    }

    fn refresh_slot(&mut self, slot: Slot, now_ns: u64) {
        let pairs = self.setup.pairs.len();
        let (bank, pair) = (slot / pairs, slot % pairs);
        let counting = &mut self.counting;
        self.streams.count(
            &self.setup,
            (bank, slot),
            self.quotes.book(slot).entries(),
            self.composites.held(slot),
            now_ns,
            counting,
        );
        // Otherwise the same timer would fire repeatedly.
        assert!(
            counting.due_ns > now_ns,
            "an offer that is counted ends later"
        );
        self.composites.replace(&self.setup, (bank, pair), counting);
        let own = self.composites.own(&self.setup, bank, pair);
        self.scores.note_own(slot, own, now_ns);
        self.slot_due_ns[slot] = counting.due_ns;
        self.wake_at(self.slot_due_ns[slot]);
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
        self.publication.note_computed(pair);
        let now = &self.composites.of(pair).tops;
        for side in Side::BOTH {
            let banks = [&before[side.index()], &now[side.index()]]
                .map(|top| top.map_or(BankSet::default(), |top| top.banks));
            let [before, now] = &banks;
            self.scores
                .note_best(&self.setup, (pair, side), [before, now], now_ns);
        }
    }

    /// Lowers the time of the next wake-up.
    fn wake_at(&mut self, due_ns: u64) {
        self.wake_ns = self.wake_ns.min(due_ns);
    }

    /// Earliest time of a timer; in the past if overdue.
    pub(crate) fn earliest_ns(&self) -> u64 {
        let slots = self.slot_due_ns.iter().copied();
        let banks = 0..self.setup.banks.len();
        let silences = banks.map(|bank| self.streams.silence_due_ns(&self.setup, bank));
        let others = [self.composites.reference_due_ns(), self.conflation_due_ns()];
        let all = slots.chain(silences).chain(others);
        all.min().unwrap_or(NEVER)
    }
}
