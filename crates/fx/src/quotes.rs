//! Quote books of the banks.

mod apply;
mod book;
mod counters;
mod entry;
mod fields;
mod used;

pub use apply::{BusQuotes, Quoted, Sound, set_at};
pub use book::{Book, ENTRIES_MAX, Logged};
pub use counters::Counters;
pub use entry::{Entry, Key, NEVER, QuoteTimes};

use crate::setup::{Setup, Slot};
use apply::Apply;
use touchline_fx_events::setup::{Bank, Pair};
use used::Used;

/// Books of all banks, by slot.
#[derive(Debug, Clone)]
pub struct Quotes {
    books: Vec<Book>,
    /// Used quotes that are not known at present, by slot.
    used: Vec<Used>,
    /// Number of each bank's last set entry.
    ages: Vec<u64>,
    counters: Counters,
    changes: Changes,
    /// The wall clock less the clock of calls, nanoseconds.
    wall_ahead_ns: i64,
}

/// Pairs of a message.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Pairs of a quote message (W, X, S, i).
    pub quoted: Vec<Pair>,
    /// Time of the pair's last quote message, if it is not that of the input: a gateway received it before it was read.
    pub quoted_ns: Option<u64>,
    /// Whether the message is a snapshot at which a reader of a bus joined the pair, and no quote message itself.
    pub is_taken_up: bool,
    /// Pairs whose entries may have changed.
    pub changed: Vec<Pair>,
}

impl Quotes {
    /// Empty books.
    pub fn new(setup: &Setup) -> Quotes {
        Quotes {
            books: vec![Book::default(); setup.slots()],
            used: vec![Used::default(); setup.slots()],
            ages: vec![0; setup.banks.len()],
            counters: Counters::default(),
            changes: Changes::default(),
            wall_ahead_ns: 0,
        }
    }

    /// Applies a message of a bank's pricing session and returns its pairs.
    pub fn apply(
        &mut self,
        setup: &Setup,
        bank: Bank,
        message: &Sound<'_>,
        now_ns: u64,
    ) -> &Changes {
        self.apply_with(setup, bank, now_ns, |apply| apply.message(message))
    }

    /// Applies quotes of a bank from its bus, and returns their pairs.
    pub fn apply_bus(
        &mut self,
        setup: &Setup,
        bank: Bank,
        quotes: &BusQuotes<'_>,
        now_ns: u64,
    ) -> &Changes {
        self.apply_with(setup, bank, now_ns, |apply| apply.bus_quotes(quotes))
    }

    fn apply_with(
        &mut self,
        setup: &Setup,
        bank: Bank,
        now_ns: u64,
        apply: impl FnOnce(&mut Apply<'_>),
    ) -> &Changes {
        self.forget_changes();
        let slots = setup.slot(bank, 0)..setup.slot(bank + 1, 0);
        apply(&mut Apply {
            setup,
            bank,
            now_ns,
            wall_ahead_ns: self.wall_ahead_ns,
            books: &mut self.books[slots.clone()],
            used: &mut self.used[slots],
            age: &mut self.ages[bank],
            counters: &mut self.counters,
            quoted: &mut self.changes.quoted,
            quoted_ns: &mut self.changes.quoted_ns,
            is_taken_up: &mut self.changes.is_taken_up,
            changed: &mut self.changes.changed,
        });
        &self.changes
    }

    /// Sets by how much the wall clock, by which banks state the ends of quotes, is ahead of the clock of calls, nanoseconds.
    pub fn set_wall_ahead(&mut self, wall_ahead_ns: i64) {
        self.wall_ahead_ns = wall_ahead_ns;
    }

    /// Starts to log changes of entries, for gateways that publish quotes.
    pub fn begin_logs(&mut self) {
        self.books.iter_mut().for_each(Book::begin_log);
    }

    /// Empties the log of a slot.
    pub fn clear_log(&mut self, slot: Slot) {
        self.books[slot].clear_log();
    }

    /// Empties the books of a bank, when its session connects or disconnects.
    pub fn clear(&mut self, setup: &Setup, bank: Bank) {
        for pair in 0..setup.pairs.len() {
            self.books[setup.slot(bank, pair)].clear();
        }
    }

    /// Keeps which quotes of a bank are used, before [`Quotes::clear`]: the bank may not have set them again when they are known.
    pub fn keep_used(&mut self, setup: &Setup, bank: Bank) {
        for slot in setup.slot(bank, 0)..setup.slot(bank + 1, 0) {
            self.used[slot].keep(&self.books[slot]);
        }
    }

    /// Forgets used quotes of a bank that are not known at present: its session was lost.
    pub fn forget_used(&mut self, setup: &Setup, bank: Bank) {
        let slots = setup.slot(bank, 0)..setup.slot(bank + 1, 0);
        self.used[slots].iter_mut().for_each(Used::forget);
    }

    /// Empties the books of a pair at all banks: its day has ended.
    pub fn begin_day(&mut self, setup: &Setup, pair: Pair) {
        for bank in 0..setup.banks.len() {
            self.used[setup.slot(bank, pair)].forget();
            // mutant: fx: a change after the roll lacks the fields that it leaves out
            self.books[setup.slot(bank, pair)].begin_day();
        }
    }

    /// Clears the pairs of the last message.
    pub fn forget_changes(&mut self) {
        self.changes.quoted.clear();
        self.changes.quoted_ns = None;
        self.changes.is_taken_up = false;
        self.changes.changed.clear();
    }

    /// The last message was the snapshot of a bus at which a pair was taken up; the time of the pair's last quote message.
    pub fn take_up(&mut self, quoted_ns: u64) {
        self.quote_at(quoted_ns);
        self.changes.is_taken_up = true;
    }

    /// A gateway received the last message at this time.
    pub fn quote_at(&mut self, quoted_ns: u64) {
        self.changes.quoted_ns = Some(quoted_ns);
    }

    /// Notes that the last message of the bank was not a quote message.
    pub fn unquote(&mut self) {
        self.changes.quoted.clear();
    }

    /// Pairs of the last message.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The book of a bank's pair.
    pub fn book(&self, slot: Slot) -> &Book {
        &self.books[slot]
    }

    /// Marks an entry as used by an order.
    pub fn set_used(&mut self, slot: Slot, entry: usize) {
        self.books[slot].set_used(entry);
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counters.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }
}
