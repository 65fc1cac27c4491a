//! One bank's pricing session: messages in, quote changes and the bank's best prices out.

use crate::composite::Composites;
use crate::input::Session;
use crate::ladder::price_of;
use crate::pricing::Pricing;
use crate::quotes::{BusQuotes, Counters, Entry, Logged, NEVER, Quoted};
use crate::setup::{Setup, ns};
use touchline_fx_events::desk::Day;
use touchline_fx_events::event::Batch;
use touchline_fx_events::setup::Pair;
use touchline_types::{Quantity, Quote, QuoteAction, QuoteChange};

/// The only bank.
const BANK: usize = 0;

/// Books of one bank, and the changes of its last message.
///
/// Times of calls and results are those of the wall clock. Ages and ends of quotes are kept by this clock without its steps
/// ([`BankStream::wall_stepped`]), which continues as the boot clock does.
#[derive(Debug, Clone)]
pub struct BankStream {
    pricing: Pricing,
    batch: Batch,
    changes: Vec<QuoteChange>,
    /// Wall clock less the clock of the quotes: the sum of its steps, nanoseconds.
    wall_ahead_ns: i64,
    /// Receive time of the last quote message of each pair since the logon; 0 before the first.
    quoted_ns: Vec<u64>,
}

impl BankStream {
    /// A session that is down, of the first bank of the configuration.
    pub fn new(setup: Setup) -> BankStream {
        let pairs = setup.pairs.len();
        let mut pricing = Pricing::without_references(setup);
        pricing.begin_logs();
        BankStream {
            pricing,
            batch: Batch::default(),
            changes: Vec::with_capacity(64),
            wall_ahead_ns: 0,
            quoted_ns: vec![0; pairs],
        }
    }

    /// Sets the session up, with empty books.
    pub fn up(&mut self, at_ns: u64) {
        self.quoted_ns.fill(0);
        self.handle(at_ns, Session::Up);
    }

    /// Sets the session down, and removes every quote.
    pub fn down(&mut self, at_ns: u64) {
        self.quoted_ns.fill(0);
        self.handle(at_ns, Session::Down);
    }

    /// Records activity without a quote, such as a Heartbeat.
    pub fn heard(&mut self, at_ns: u64) {
        self.handle(at_ns, Session::Heard);
    }

    /// Handles a complete FIX message of the bank.
    pub fn message(&mut self, at_ns: u64, bytes: &[u8]) {
        self.handle(at_ns, Session::Message(bytes));
        let at_ns = self.now_ns();
        for pair in &self.pricing.quotes().changes().quoted {
            self.quoted_ns[*pair] = at_ns;
        }
    }

    /// Removes every quote of a pair: the bank rejected the request for them.
    pub fn withdraw(&mut self, at_ns: u64, pair: Pair) {
        self.quoted_ns[pair] = 0;
        let clear = QuoteChange {
            action: QuoteAction::Clear,
            quote: Quote::NULL,
        };
        let withdrawn = BusQuotes {
            pair,
            receive_ns: self.quote_ns(at_ns),
            bank_ns: [0; 2],
            is_unquoted: true,
            quoted: Quoted::Changes(&[clear]),
        };
        self.handle(at_ns, Session::Quotes(withdrawn));
    }

    /// Gives a pair the dates of its day, from a time on: the bank has no quote of it until its next quote message.
    pub fn begin_day(&mut self, at_ns: u64, day: &Day) {
        self.quoted_ns[day.pair] = 0;
        let at_ns = self.quote_ns(at_ns).max(self.now_ns());
        self.batch.clear();
        self.pricing.forget_changes();
        self.pricing.begin_day_at(at_ns, day, &mut self.batch);
    }

    /// Runs all timers up to a time.
    pub fn wake(&mut self, at_ns: u64) {
        let at_ns = self.quote_ns(at_ns).max(self.now_ns());
        self.batch.clear();
        self.pricing.handle_timeout(at_ns, &mut self.batch);
    }

    /// The wall clock was set by this much, nanoseconds: times of later calls have the step. Quotes keep their ages. An end that the
    /// bank gave as a time was compared with the wall clock when the quote came.
    pub fn wall_stepped(&mut self, step_ns: i64) {
        self.wall_ahead_ns = self.wall_ahead_ns.saturating_add(step_ns);
        self.pricing.set_wall_ahead(self.wall_ahead_ns);
    }

    /// Earliest time of a timer; [`NEVER`] if no timer is set.
    pub fn next_timeout_ns(&self) -> u64 {
        self.wall_ns(self.pricing.next_timeout_ns())
    }

    /// Whether the last message was a quote message of a pair: W, X, S or i.
    pub fn is_quoted(&self, pair: Pair) -> bool {
        self.pricing.quotes().changes().quoted.contains(&pair)
    }

    /// Receive time of the last quote message of a pair since the logon; 0 before the first.
    pub fn quoted_ns(&self, pair: Pair) -> u64 {
        match self.quoted_ns[pair] {
            0 => 0,
            quoted_ns => self.wall_ns(quoted_ns),
        }
    }

    /// The spot date of a pair, `YYYYMMDD`, if the bank has stated it since the logon; else 0.
    pub fn value_date(&self, pair: Pair) -> u32 {
        let setup = self.pricing.setup();
        match self
            .pricing
            .quotes()
            .book(setup.slot(BANK, pair))
            .is_dated()
        {
            true => setup.pairs[pair].spot_date,
            false => 0,
        }
    }

    /// Changes of a pair's quotes by the last message; `None` if the message was of other pairs.
    pub fn take_changes(&mut self, pair: Pair) -> Option<&[QuoteChange]> {
        self.changes.clear();
        let slot = self.pricing.setup().slot(BANK, pair);
        let is_quoted = self.is_quoted(pair);
        for logged in self.pricing.quotes().book(slot).log() {
            self.changes.push(self.change(pair, logged));
        }
        self.pricing.clear_log(slot);
        (is_quoted || !self.changes.is_empty()).then_some(&self.changes)
    }

    /// All quotes of a pair, oldest first.
    pub fn all(&self, pair: Pair, into: &mut Vec<Quote>) {
        into.clear();
        let slot = self.pricing.setup().slot(BANK, pair);
        let entries = self.pricing.quotes().book(slot).numbered();
        into.extend(entries.map(|(place, entry)| self.quote(pair, place, entry)));
        into.sort_unstable_by_key(|quote| quote.priority);
    }

    /// The bank's best prices and offers.
    pub fn composites(&self) -> &Composites {
        self.pricing.composites()
    }

    /// The configuration.
    pub fn setup(&self) -> &Setup {
        self.pricing.setup()
    }

    /// Counters of quotes.
    pub fn counters(&self) -> &Counters {
        self.pricing.counters()
    }

    fn now_ns(&self) -> u64 {
        self.pricing.now_ns().unwrap_or(0)
    }

    /// A wall time by the clock of the quotes.
    fn quote_ns(&self, wall_ns: u64) -> u64 {
        wall_ns.saturating_add_signed(-self.wall_ahead_ns)
    }

    /// A time of the quotes by the wall clock; [`NEVER`] stays.
    fn wall_ns(&self, quote_ns: u64) -> u64 {
        match quote_ns {
            NEVER => NEVER,
            _ => quote_ns.saturating_add_signed(self.wall_ahead_ns),
        }
    }

    fn handle(&mut self, at_ns: u64, session: Session<'_>) {
        // Changes of the clock that are too small for a step are in it.
        let at_ns = self.quote_ns(at_ns).max(self.now_ns());
        self.batch.clear();
        self.pricing.forget_changes();
        self.pricing.handle(at_ns, BANK, &session, &mut self.batch);
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
                // The quote was set by this message.
                true => Quote { set_ns: 0, ..quote },
                false => Quote {
                    entry: logged.place,
                    side: quote.side,
                    ..Quote::NULL
                },
            },
        }
    }

    fn quote(&self, pair: Pair, place: u32, entry: &Entry) -> Quote {
        let setup = self.pricing.setup();
        Quote {
            entry: place,
            side: entry.side,
            price: price_of(entry.price, setup.pairs[pair].config.precision),
            quantity: Quantity(entry.size),
            // Without a minimum of the bank the reader's minimum applies.
            quantity_min: match entry.minimum {
                0 => Quantity::NULL,
                minimum => Quantity(minimum),
            },
            expiry_ns: match entry.expires_ns {
                NEVER => 0,
                expires_ns => self.wall_ns(expires_ns),
            },
            priority: entry.age,
            set_ns: self.wall_ns(entry.set_ns),
            tier: None,
            is_indicative: !entry.is_firm,
            is_full_amount: setup.banks[BANK].is_full,
            quote_id: entry.quote_id,
        }
    }

    /// Feed timeout of the bank, nanoseconds; 0 if it has none.
    pub fn silence_ns(&self) -> u64 {
        ns(self.pricing.setup().banks[BANK].config.silence_ms)
    }
}
