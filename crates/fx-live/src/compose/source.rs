//! Conversion of a bank's bus into inputs of the core.
//!
//! A bank counts while its channel is live and its publisher is active; a pair counts from a snapshot on, since changes
//! alone are not its complete state. After a loss no pair counts until its next snapshot.

mod times;

use crate::compose::config::BankSource;
use crate::compose::counters::Counters;
use crate::compose::incident::KindRefused;
use touchline_fx::input::Session;
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::setup::{Setup, ns};
use touchline_fx_events::desk::Day;
use touchline_fx_events::setup::{Bank, Pair};
use touchline_transport::SubscriptionEvent;
use touchline_transport::bus::Polled;
use touchline_transport::shm::{CountersView, Item, Join, Kinds, Root, Subscriber};
use touchline_types::{
    InstrumentDefinition, Quote, QuoteAction, QuoteChange, QuoteSnapshot, QuoteStream, QuoteUpdate,
    Update, Validity,
};

/// Interval of attempts to join a missing bus, nanoseconds.
const RETRY_NS: u64 = 100_000_000;
/// Interval of looks at the counters of the gateway of a bank that is down, nanoseconds.
const HOURS_NS: u64 = 1_000_000_000;
/// Counter of a gateway: start of the next session, while its venue is closed by its hours.
pub const CLOSED_UNTIL: &str = "connection_closed_until";
/// Most quotes of one message.
const QUOTES_MAX: usize = 4_096;
/// Most instruments of a bank's bus.
const INSTRUMENTS_MAX: usize = 4_096;

/// The bus of one bank.
pub struct Source {
    bank: Bank,
    bus: String,
    subscriber: Option<Subscriber>,
    retry_ns: u64,
    hours_ns: u64,
    closed_until_ns: u64,
    state: State,
}

/// State of a bank.
struct State {
    bank: Bank,
    /// Pairs by the publisher's instrument numbers.
    pairs: Vec<Option<Pair>>,
    /// Whether the complete state of a pair is known.
    is_synced: Vec<bool>,
    /// Whether a quote message of a pair counts. A bank that refuses the request for them has none from then on.
    is_quoted: Vec<bool>,
    /// The core was notified that the session is up.
    is_up: bool,
    /// The bank's session is up, according to its gateway.
    is_live: bool,
    /// The publisher is active.
    is_trusted: bool,
    /// The ring has reached the position of the tables: before that the channel's state is newer than the quotes.
    is_current: bool,
    stale_ns: u64,
    /// The wall clock, by which gateways state times, less the clock of the inputs, nanoseconds.
    wall_ahead_ns: i64,
    /// Snapshots of older quotes are ignored, by the clock of the inputs: the wall clock was set then.
    not_before_ns: u64,
    /// Quotes of a message in time of the inputs, while the clocks differ.
    retimed: (Vec<Quote>, Vec<QuoteChange>),
    /// Times that the bank states in the present message: of its sending, and of its prices.
    bank_ns: [u64; 2],
    /// Whether quotes of a pair count only if the bank states their value date.
    must_be_dated: Vec<bool>,
    /// Whether quotes of a pair without a stated value date came since the last loss of the session.
    is_undated: Vec<bool>,
    /// Whether the configuration states that the bank's quotes are bands.
    is_full: bool,
    /// Whether the operator knows that the gateway's kind differs from the configuration.
    is_kind_told: bool,
    /// Refusal to report, until it is taken.
    refusal: Option<KindRefused>,
}

/// Inputs of the core, at most two for a message.
pub type Tell<'t> = dyn FnMut(Session<'_>) + 't;

impl Source {
    /// A bus that is not joined yet.
    pub fn new(bank: Bank, source: &BankSource, setup: &Setup) -> Source {
        Source {
            bank,
            bus: source.bus_name(),
            subscriber: None,
            retry_ns: 0,
            hours_ns: 0,
            closed_until_ns: 0,
            state: State {
                bank,
                pairs: Vec::with_capacity(INSTRUMENTS_MAX),
                is_synced: vec![false; setup.pairs.len()],
                is_quoted: vec![false; setup.pairs.len()],
                is_up: false,
                is_live: false,
                is_trusted: false,
                is_current: false,
                stale_ns: ns(source.stale_ms),
                wall_ahead_ns: 0,
                not_before_ns: 0,
                retimed: (Vec::new(), Vec::new()),
                bank_ns: [0; 2],
                must_be_dated: vec![false; setup.pairs.len()],
                is_undated: vec![false; setup.pairs.len()],
                is_full: setup.banks[bank].is_full,
                is_kind_told: false,
                refusal: None,
            },
        }
    }

    /// The bank.
    pub fn bank(&self) -> Bank {
        self.bank
    }

    /// Reads the buses of all banks by new days, each with the time of its start: the quotes of a pair are forgotten, and it waits for a
    /// snapshot.
    pub fn follow_days(
        sources: &mut [Source],
        setup: &mut Setup,
        begun: Vec<(Day, u64)>,
        now_ns: u64,
        mut input: impl FnMut(&Setup, Bank, Session<'_>),
    ) {
        for (day, at_ns) in begun {
            setup.begin_day(&day, at_ns);
            let synced = sources.iter_mut().filter(|of| of.state.is_synced[day.pair]);
            for source in synced {
                let bank = source.bank;
                let tell = &mut |session: Session<'_>| input(setup, bank, session);
                source.state.drop_pair(day.pair, now_ns, tell);
            }
        }
    }

    /// Sets how far the wall clock is ahead of the clock of the inputs.
    pub fn set_wall_ahead(&mut self, wall_ahead_ns: i64) {
        self.state.wall_ahead_ns = wall_ahead_ns;
    }

    /// Notes that the wall clock was set: quotes of the bank do not count before new ones arrive, whose times are
    /// known.
    pub fn doubt_times(
        &mut self,
        now_ns: u64,
        wall_ahead_ns: i64,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) {
        self.state.wall_ahead_ns = wall_ahead_ns;
        self.state.not_before_ns = now_ns;
        let is_live = self.state.is_live || self.state.is_up;
        self.state.lose(counters, tell);
        // The session is unchanged: only its quotes are in doubt.
        self.state.is_live = is_live;
    }

    /// Start of the bank's next session, nanoseconds since 1970, while its gateway says that it is closed by its hours; else 0.
    pub fn closed_until_ns(&self) -> u64 {
        self.closed_until_ns
    }

    /// Reads the hours of a bank that is down from the counters of its gateway, at intervals: a bank outside its hours is closed, not
    /// lost. Those of a gateway that has ended or stalled say nothing.
    pub fn look_at_hours(&mut self, root: &Root, now_ns: u64) {
        if self.state.is_up {
            (self.hours_ns, self.closed_until_ns) = (0, 0);
            return;
        }
        if now_ns < self.hours_ns {
            return;
        }
        self.hours_ns = now_ns + HOURS_NS;
        let written = CountersView::open(root, &self.bus).ok().flatten();
        let written =
            written.filter(|file| file.age().is_some_and(|age| age < CountersView::LATE_AFTER));
        self.closed_until_ns = written.map_or(0, |file| file.counter(CLOSED_UNTIL).unwrap_or(0));
    }

    /// Quotes of the bank that cannot be used: for the operator, once.
    pub fn take_refusal(&mut self) -> Option<KindRefused> {
        self.state.refusal.take()
    }

    /// Requires the bank's value date for quotes of a pair from now on. True if quotes without it were received.
    pub fn require_dates(&mut self, pair: Pair) -> bool {
        self.state.must_be_dated[pair] = true;
        self.state.is_undated[pair]
    }

    /// Joins the bus if it exists; tries at intervals.
    pub fn join(&mut self, root: &Root, now_ns: u64, counters: &mut Counters) {
        if self.subscriber.is_some() || now_ns < self.retry_ns {
            return;
        }
        self.retry_ns = now_ns + RETRY_NS;
        let join = Join {
            kinds: Kinds::QUOTES,
            resync: true,
            quotes_max: QUOTES_MAX,
            ..Join::default()
        };
        match Subscriber::join(root, &self.bus, join) {
            Ok(subscriber) => {
                self.subscriber = Some(subscriber);
                // The first poll reports reasons against trust before any quotes.
                self.state.is_trusted = true;
            }
            Err(_) => counters.buses_refused += 1,
        }
    }

    /// Checks the liveness of the gateway, so that the next poll reports a stall: the composer may have been stopped
    /// itself, and must not afterwards declare quotes of a dead gateway current.
    pub fn look(&mut self) {
        if let Some(subscriber) = &mut self.subscriber
            && subscriber
                .liveness()
                .is_some_and(|liveness| liveness.is_stalled())
        {
            subscriber.look_again();
        }
    }

    /// Processes available messages of the bus, at most `limit`. Returns their number.
    pub fn poll(
        &mut self,
        limit: usize,
        now_ns: u64,
        setup: &Setup,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) -> usize {
        let Some(subscriber) = &mut self.subscriber else {
            return 0;
        };
        let state = &mut self.state;
        let mut taken = 0;
        while taken < limit {
            let polled = subscriber.poll(|item| state.item(item, now_ns, setup, counters, tell));
            match polled {
                Polled::Given(()) => taken += 1,
                Polled::Passed(passed) => taken += passed,
                Polled::Nothing => break,
            }
        }
        taken
    }
}

impl State {
    fn item(
        &mut self,
        item: Item<'_>,
        now_ns: u64,
        setup: &Setup,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) {
        match item {
            Item::Update(received) => {
                let times = &received.timestamps;
                let receive_ns = self.timed(times.packet.receive_ns);
                let of_bank = [times.packet.sending_ns, times.exchange_ns];
                self.bank_ns = of_bank.map(|wall_ns| self.timed(wall_ns));
                self.update(
                    &received.update,
                    (receive_ns, now_ns),
                    setup,
                    counters,
                    tell,
                );
            }
            Item::SubscriptionEvent(event) => self.event(event, counters, tell),
            Item::Top { .. } | Item::BatchEnd | Item::Undecoded(_) => {}
        }
    }

    fn event(&mut self, event: SubscriptionEvent, counters: &mut Counters, tell: &mut Tell<'_>) {
        match event {
            SubscriptionEvent::CaughtUp => self.is_current = true,
            SubscriptionEvent::PublisherResumed => self.is_trusted = true,
            SubscriptionEvent::NotWaitedFor => {}
            SubscriptionEvent::Restarted { .. } => {
                self.lose(counters, tell);
                self.pairs.clear();
                self.is_current = false;
                self.is_trusted = true;
            }
            SubscriptionEvent::Overrun { .. } | SubscriptionEvent::Corrupt { .. } => {
                self.is_current = false;
                // mutant: compose: quotes outlive a loss of messages
                self.lose(counters, tell);
            }
            SubscriptionEvent::PublisherGone
            | SubscriptionEvent::PublisherStalled
            | SubscriptionEvent::Damaged
            | SubscriptionEvent::Incompatible { .. }
            | SubscriptionEvent::Refused
            | SubscriptionEvent::Forked => {
                (self.is_trusted, self.is_current) = (false, false);
                // mutant: compose: quotes outlive a gateway that stalls
                self.lose(counters, tell);
            }
        }
    }

    /// Drops the state of the bank. Its session may go on: a gateway that hears nothing and a relay that lacks messages say the same as one
    /// whose session has ended. Quotes of a new session begin with a pair that is not quoted.
    fn lose(&mut self, counters: &mut Counters, tell: &mut Tell<'_>) {
        self.is_synced.fill(false);
        self.is_undated.fill(false);
        // The state of the channel arrives again, with the tables or with its next message.
        self.is_live = false;
        if std::mem::take(&mut self.is_up) {
            counters.banks_lost += 1;
            tell(Session::Missed);
        }
    }

    fn update(
        &mut self,
        update: &Update<'_>,
        (receive_ns, now_ns): (u64, u64),
        setup: &Setup,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) {
        match update {
            Update::Definition(definition) => self.define(definition, setup),
            Update::Channel(channel) => match (channel.price == Validity::Live, self.is_up) {
                (false, _) => self.lose(counters, tell),
                (true, true) => tell(Session::Heard),
                (true, false) => self.is_live = true,
            },
            Update::QuoteSnapshot(snapshot) => {
                self.snapshot(snapshot, (receive_ns, now_ns), setup, counters, tell);
            }
            Update::Quotes(update) => self.changes(update, receive_ns, setup, counters, tell),
            // A message was too long for this reader: its contents are unknown.
            Update::State(state) if state.validity != Validity::Live => {
                let pair = self.pairs.get(state.instrument.index()).copied().flatten();
                if let Some(pair) = pair.filter(|pair| self.is_synced[*pair]) {
                    self.drop_pair(pair, now_ns, tell);
                }
            }
            _ => {}
        }
    }

    /// Takes a snapshot as the complete state of a pair that waits for one.
    fn snapshot(
        &mut self,
        snapshot: &QuoteSnapshot<'_>,
        (receive_ns, now_ns): (u64, u64),
        setup: &Setup,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) {
        let Some(pair) = self.pair_of(&snapshot.stream, setup, counters) else {
            return;
        };
        // A pair whose snapshot is already stale waits for a quote message.
        let is_unquoted = snapshot.stream.is_unquoted;
        let is_stale =
            !is_unquoted && self.stale_ns > 0 && now_ns.saturating_sub(receive_ns) >= self.stale_ns;
        let is_doubted = !is_unquoted && !self.is_time_sure(receive_ns, now_ns);
        if self.is_synced[pair] && is_unquoted && self.is_quoted[pair] {
            return self.forget(pair, receive_ns, tell);
        }
        if self.is_synced[pair] || is_stale || is_doubted {
            return;
        }
        if !self.is_of_kind(snapshot.quotes.iter(), setup) {
            counters.kinds_refused += 1;
            return;
        }
        if !self.is_dated(pair, &snapshot.stream, !snapshot.quotes.is_empty()) {
            counters.value_dates_refused += 1;
            return;
        }
        counters.bank_snapshots += 1;
        if !std::mem::replace(&mut self.is_up, true) {
            tell(Session::Up);
        }
        self.is_synced[pair] = true;
        self.is_quoted[pair] = !is_unquoted;
        let bank_ns = self.bank_ns;
        let quoted = Quoted::All(self.retimed(snapshot.quotes));
        tell(Session::Quotes(BusQuotes {
            pair,
            receive_ns,
            bank_ns,
            is_unquoted,
            quoted,
        }));
    }

    /// Takes changes of a pair whose state is complete.
    fn changes(
        &mut self,
        update: &QuoteUpdate<'_>,
        receive_ns: u64,
        setup: &Setup,
        counters: &mut Counters,
        tell: &mut Tell<'_>,
    ) {
        let Some(pair) = self.pair_of(&update.stream, setup, counters) else {
            // Changes for another value date are not applied, so the rest of the pair's quotes is not known either.
            let other = self.believed_pair(&update.stream);
            match other.filter(|pair| self.is_synced[*pair]) {
                Some(pair) => self.drop_pair(pair, receive_ns, tell),
                None => self.hear(&update.stream, tell),
            }
            return;
        };
        if !self.is_synced[pair] {
            counters.bank_updates_unsynced += 1;
            self.hear(&update.stream, tell);
            return;
        }
        let set = |change: &&QuoteChange| change.action == QuoteAction::Set;
        let set = update
            .changes
            .iter()
            .filter(set)
            .map(|change| &change.quote);
        let is_any = set.clone().next().is_some();
        if !self.is_of_kind(set, setup) {
            counters.kinds_refused += 1;
            self.drop_pair(pair, receive_ns, tell);
            return;
        }
        if !self.is_dated(pair, &update.stream, is_any) {
            counters.value_dates_refused += 1;
            self.drop_pair(pair, receive_ns, tell);
            return;
        }
        counters.bank_updates += 1;
        self.is_quoted[pair] |= !update.stream.is_unquoted;
        let bank_ns = self.bank_ns;
        let quoted = Quoted::Changes(self.retimed_changes(update.changes));
        tell(Session::Quotes(BusQuotes {
            pair,
            receive_ns,
            bank_ns,
            is_unquoted: update.stream.is_unquoted,
            quoted,
        }));
    }

    /// A message of a live bank whose quotes are not used: the bank is not silent.
    fn hear(&self, stream: &QuoteStream, tell: &mut Tell<'_>) {
        // mutant: compose: messages of pairs that are not used leave a bank silent
        if self.is_up && self.is_believed(stream) {
            tell(Session::Heard);
        }
    }

    /// The quotes of a pair are not known any more, until its next snapshot.
    fn drop_pair(&mut self, pair: Pair, at_ns: u64, tell: &mut Tell<'_>) {
        self.is_synced[pair] = false;
        self.forget(pair, at_ns, tell);
    }

    /// A pair has no quotes, and is not live.
    fn forget(&mut self, pair: Pair, at_ns: u64, tell: &mut Tell<'_>) {
        self.is_quoted[pair] = false;
        tell(Session::Quotes(BusQuotes {
            pair,
            receive_ns: at_ns,
            bank_ns: [0; 2],
            is_unquoted: true,
            quoted: Quoted::All(&[]),
        }));
    }

    /// Whether the quotes are of the configured kind, bands or amounts. Bands that count as amounts would be added up.
    fn is_of_kind<'q>(
        &mut self,
        mut quotes: impl Iterator<Item = &'q Quote>,
        setup: &Setup,
    ) -> bool {
        if quotes.all(|quote| quote.is_full_amount == self.is_full) {
            return true;
        }
        if !std::mem::replace(&mut self.is_kind_told, true) {
            self.refusal = Some(KindRefused {
                bank: setup.banks[self.bank].config.name.clone(),
                is_full: !self.is_full,
            });
        }
        false
    }

    /// Whether quotes state their value date, or need not.
    fn is_dated(&mut self, pair: Pair, stream: &QuoteStream, is_any: bool) -> bool {
        let is_undated = is_any && stream.value_date == 0;
        self.is_undated[pair] |= is_undated;
        !(is_undated && self.must_be_dated[pair])
    }

    fn define(&mut self, definition: &InstrumentDefinition, setup: &Setup) {
        let index = definition.instrument.index();
        if index >= INSTRUMENTS_MAX {
            return;
        }
        if index >= self.pairs.len() {
            self.pairs.resize(index + 1, None);
        }
        self.pairs[index] = setup.pair_of(self.bank, definition.symbol.as_str().as_bytes());
    }

    /// Whether a stream is of a bank that is up.
    fn is_believed(&self, stream: &QuoteStream) -> bool {
        let is_known = self.is_live && self.is_trusted && self.is_current;
        is_known && stream.validity == Validity::Live
    }

    /// The pair of a stream of a bank that is up.
    fn believed_pair(&self, stream: &QuoteStream) -> Option<Pair> {
        let pair = self.pairs.get(stream.instrument.index());
        pair.copied().flatten().filter(|_| self.is_believed(stream))
    }

    /// The pair of usable quotes.
    fn pair_of(
        &self,
        stream: &QuoteStream,
        setup: &Setup,
        counters: &mut Counters,
    ) -> Option<Pair> {
        let pair = self.pairs.get(stream.instrument.index());
        let pair = pair.copied().flatten()?;
        let spot = setup.pairs[pair].spot_date;
        let is_spot = stream.value_date == 0 || stream.value_date == spot;
        counters.value_dates_refused += u64::from(!is_spot);
        self.believed_pair(stream).filter(|_| is_spot)
    }
}

#[cfg(test)]
mod tests;
