//! A bank's pricing session by itself: its messages in, quotes to pass on out, with the bank's own best prices.

use crate::composite::Composites;
use crate::engine::Engine;
use crate::event::Batch;
use crate::input::{Input, Session};
use crate::quotes::{Counters, Entry, Logged, NEVER};
use crate::setup::{Pair, Setup, ns};
use touchline_types::{Price, Quantity, Quote, QuoteAction, QuoteChange};

/// The only bank.
const BANK: usize = 0;
/// Decimals of a [`Price`].
const PRICE_DECIMALS: u32 = 9;

/// One bank's books, and what its last message did to them.
#[derive(Debug, Clone)]
pub struct BankStream {
    engine: Engine,
    batch: Batch,
    changes: Vec<QuoteChange>,
    /// When a quote message of a pair came last, 0 before the first.
    quoted_ns: Vec<u64>,
}

impl BankStream {
    /// The session is down. The first bank of the configuration is the one.
    pub fn new(setup: Setup) -> BankStream {
        let pairs = setup.pairs.len();
        let mut engine = Engine::new(setup);
        engine.quotes_mut().begin_logs();
        BankStream {
            engine,
            batch: Batch::default(),
            changes: Vec::with_capacity(64),
            quoted_ns: vec![0; pairs],
        }
    }

    /// The session is up, with empty books.
    pub fn up(&mut self, at_ns: u64) {
        self.handle(at_ns, Session::Up);
    }

    /// The session is lost, and every quote with it.
    pub fn down(&mut self, at_ns: u64) {
        self.handle(at_ns, Session::Down);
    }

    /// A sign of life that is no quote.
    pub fn heard(&mut self, at_ns: u64) {
        self.handle(at_ns, Session::Heard);
    }

    /// A whole FIX message of the bank.
    pub fn message(&mut self, at_ns: u64, bytes: &[u8]) {
        self.handle(at_ns, Session::Message(bytes));
        let at_ns = self.now_ns();
        for pair in &self.engine.quotes().changes().quoted {
            self.quoted_ns[*pair] = at_ns;
        }
    }

    /// Time passed.
    pub fn wake(&mut self, at_ns: u64) {
        let at_ns = at_ns.max(self.now_ns());
        self.batch.clear();
        self.engine.handle_timeout(at_ns, &mut self.batch);
    }

    /// When something ends by itself at the earliest; [`NEVER`] if nothing does.
    pub fn next_timeout_ns(&self) -> u64 {
        self.engine.next_timeout_ns()
    }

    /// What the last message did to the quotes of a pair; `None` if it was not about the pair.
    pub fn take_changes(&mut self, pair: Pair) -> Option<&[QuoteChange]> {
        self.changes.clear();
        let slot = self.engine.setup().slot(BANK, pair);
        let quotes = self.engine.quotes();
        let is_quoted = quotes.changes().quoted.contains(&pair);
        for logged in quotes.book(slot).log() {
            self.changes.push(self.change(pair, logged));
        }
        self.engine.quotes_mut().clear_log(slot);
        (is_quoted || !self.changes.is_empty()).then_some(&self.changes)
    }

    /// All quotes of a pair, oldest first, and when a quote message of it came last.
    pub fn all(&self, pair: Pair, into: &mut Vec<Quote>) -> u64 {
        into.clear();
        let slot = self.engine.setup().slot(BANK, pair);
        let entries = self.engine.quotes().book(slot).numbered();
        into.extend(entries.map(|(place, entry)| self.quote(pair, place, entry)));
        into.sort_unstable_by_key(|quote| quote.priority);
        self.quoted_ns[pair]
    }

    /// The bank's own best prices and offers.
    pub fn composites(&self) -> &Composites {
        self.engine.composites()
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        self.engine.setup()
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        self.engine.counters()
    }

    fn now_ns(&self) -> u64 {
        self.engine.now_ns().unwrap_or(0)
    }

    fn handle(&mut self, at_ns: u64, session: Session<'_>) {
        // A clock that steps back does not make time fall.
        let at_ns = at_ns.max(self.now_ns());
        self.batch.clear();
        self.engine.quotes_mut().forget_changes();
        self.engine
            .handle(at_ns, &Input::Pricing(BANK, session), &mut self.batch);
    }

    fn change(&self, pair: Pair, logged: &Logged) -> QuoteChange {
        let quote = match &logged.entry {
            Some(entry) => self.quote(pair, logged.place, entry),
            None => Quote::NULL,
        };
        let is_set = logged.action == QuoteAction::Set;
        QuoteChange {
            action: logged.action,
            quote: match is_set {
                true => quote,
                false => Quote {
                    entry: logged.place,
                    side: quote.side,
                    ..Quote::NULL
                },
            },
        }
    }

    fn quote(&self, pair: Pair, place: u32, entry: &Entry) -> Quote {
        let setup = self.engine.setup();
        let precision = u32::from(setup.pairs[pair].config.precision);
        let tick = 10_i64.pow(PRICE_DECIMALS - precision);
        Quote {
            entry: place,
            side: entry.side,
            price: entry.price.checked_mul(tick).map_or(Price::NULL, Price),
            quantity: Quantity(entry.size),
            // The reader's own minimum holds where the bank states none.
            quantity_min: match entry.minimum {
                0 => Quantity::NULL,
                minimum => Quantity(minimum),
            },
            expiry_ns: match entry.expires_ns {
                NEVER => 0,
                expires_ns => expires_ns,
            },
            priority: entry.age,
            tier: None,
            is_indicative: !entry.is_firm,
            is_full_amount: setup.banks[BANK].is_full,
            quote_id: entry.quote_id,
        }
    }

    /// Time of silence after which the bank's quotes do not count, nanoseconds; 0 where there is none.
    pub fn silence_ns(&self) -> u64 {
        ns(self.engine.setup().banks[BANK].config.silence_ms)
    }
}
