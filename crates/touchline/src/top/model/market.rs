//! Instruments of a bus, followed by the client: tops, last trades, activity, and the book of one.

use super::list::{InstrumentRow, Quoted};
use crate::best_banks::BestBanks;
use crate::format;
use crate::ladder::{side_cells, spread_word};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchline_client::{
    Book, Bus, Definition, Error, Event, Events, Instrument, Price, Side, State, TouchSource,
};

/// Follower of a bus.
pub struct Market {
    bus: Bus,
    /// By the client's instrument index.
    activity: Vec<Activity>,
    /// Banks at the best of composites.
    best: BestBanks,
    /// Time of the last count of changes.
    counted: Instant,
    /// Whether the bus has a publisher, as of the last sample: the client notices only after a pause without messages.
    is_published: bool,
}

/// Activity of an instrument.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    /// Changes since the last count.
    changes: u64,
    /// Changes per second at the last count.
    per_second: f64,
    /// When the packet of the last change was received on the host of the gateway, nanoseconds since 1970; 0 if unknown. The time at which
    /// this process reads the change is not the book's age: the change may have waited behind a frozen relay, or in the ring.
    received_ns: u64,
}

/// Book of an instrument as text.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Symbol, or the security id of an instrument without one.
    pub symbol: String,
    /// Validity of the book; `None` without a book.
    pub state: Option<State>,
    /// Reason why there is no book.
    pub why_none: Option<String>,
    /// LOCKED or CROSSED.
    pub spread: Option<&'static str>,
    /// Name and value of the known reference data.
    pub details: Vec<(&'static str, String)>,
    /// Bid and ask of each row, best first.
    pub levels: Vec<[LadderLevel; 2]>,
}

/// Level of a side as text; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LadderLevel {
    /// Price as traders quote it; `?` for a level that was never published.
    pub price: String,
    /// Direct quantity.
    pub quantity: String,
    /// Implied quantity.
    pub implied: String,
    /// Number of orders.
    pub orders: String,
}

/// Maximum number of events per read; the next read continues.
const EVENTS_MAX: usize = 2_000_000;

/// Age above which a kept value belongs to a recording or a closed market and its age is not shown.
const AGE_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Time by which a host's clock may be ahead of ours.
const AHEAD_MAX: Duration = Duration::from_secs(1);

impl Market {
    /// Joins the bus.
    ///
    /// # Errors
    /// The bus does not exist or cannot be read.
    pub fn join(directory: &Path, bus: &str) -> Result<Market, Error> {
        let events = Events::TOPS | Events::TRADES | Events::BOOKS | Events::QUOTES;
        let bus = Bus::options()
            .directory(directory)
            .events(events)
            .join(bus)?;
        Ok(Market {
            bus,
            activity: Vec::new(),
            best: BestBanks::default(),
            counted: Instant::now(),
            is_published: true,
        })
    }

    /// Reads the pending events without waiting.
    pub fn read(&mut self) {
        for _ in 0..EVENTS_MAX {
            match self.bus.poll() {
                None => return,
                Some(event) => self.take(&event),
            }
        }
    }

    /// Counts changes and returns all instruments; the caller knows whether the bus has a publisher.
    pub fn rows(&mut self, is_published: bool) -> Vec<InstrumentRow> {
        self.is_published = is_published;
        let seconds = self.counted.elapsed().as_secs_f64().max(1e-3);
        self.counted = Instant::now();
        for activity in &mut self.activity {
            activity.per_second = activity.changes as f64 / seconds;
            activity.changes = 0;
        }
        let instruments = self.bus.instruments();
        instruments
            .filter_map(|instrument| self.row(instrument))
            .collect()
    }

    /// Book of an instrument, by its id in the list.
    pub fn ladder(&self, id: usize) -> Option<Ladder> {
        let mut instruments = self.bus.instruments();
        let instrument = instruments.find(|instrument| instrument.index() == id)?;
        let definition = self.bus.definition(instrument).ok()?;
        let book = self.bus.book(instrument).ok()?;
        let state = self.state(&book);
        let mut ladder = Ladder::of(definition, &book, state);
        if state == Some(State::Live) {
            let banks = self.best.lines(definition.security_id);
            ladder.details.splice(0..0, banks);
        }
        Some(ladder)
    }

    fn take(&mut self, event: &Event) {
        self.best.take(&self.bus, event);
        let times = match event {
            Event::Book(change) => change.times,
            Event::Trade(trade) => trade.times,
            // A top is counted with the book update that follows.
            _ => return,
        };
        let Some(instrument) = event.instrument() else {
            return;
        };
        if self.activity.len() <= instrument.index() {
            self.activity
                .resize(instrument.index() + 1, Activity::default());
        }
        let activity = &mut self.activity[instrument.index()];
        activity.received_ns = times.receive_ns;
        activity.changes += u64::from(!self.bus.trace().is_kept);
    }

    /// Validity of a book; `None` without a book.
    fn state(&self, book: &Book<'_>) -> Option<State> {
        let state = has_book(book).then(|| book.state())?;
        Some(match state {
            State::Live if !self.is_published => State::Stale,
            other => other,
        })
    }

    fn row(&self, instrument: Instrument) -> Option<InstrumentRow> {
        let definition = self.bus.definition(instrument).ok()?;
        let book = self.bus.book(instrument).ok()?;
        let trade = self.bus.last_trade(instrument).ok().flatten();
        let decimals = decimals(definition);
        let quoted = |price: Price, quantity: String| Quoted {
            price: padded(price, decimals),
            quantity,
        };
        // The touch of `book` and of the ladder: the better of the direct and the implied book.
        let best = |side| {
            let touch = book.best(side)?;
            let source = match touch.source {
                TouchSource::Direct => "",
                TouchSource::Implied => "i",
                TouchSource::Merged => "+i",
            };
            Some(quoted(touch.price, format!("{}{source}", touch.quantity)))
        };
        let activity = self
            .activity
            .get(instrument.index())
            .copied()
            .unwrap_or_default();
        Some(InstrumentRow {
            id: instrument.index(),
            symbol: name(definition),
            security_id: definition.security_id,
            state: self.state(&book),
            bid: best(Side::Bid),
            ask: best(Side::Ask),
            last: trade.map(|trade| quoted(trade.price, trade.quantity.to_string())),
            per_second: activity.per_second,
            age: age(activity.received_ns, SystemTime::now()),
        })
    }
}

/// Age of a packet that was received at this time; `None` if it is unknown, or of a recording. A host's clock may be a little
/// ahead of ours.
fn age(received_ns: u64, now: SystemTime) -> Option<Duration> {
    let now = now.duration_since(UNIX_EPOCH).ok()?;
    let received = Duration::from_nanos(received_ns);
    let is_known = received_ns > 0 && received <= now + AHEAD_MAX;
    let age = now.saturating_sub(received);
    (is_known && age < AGE_MAX).then_some(age)
}

/// Whether the book was published at all.
fn has_book(book: &Book<'_>) -> bool {
    book.sequence() > 0
}

fn name(definition: &Definition) -> String {
    match definition.symbol.as_str() {
        "" => definition.security_id.to_string(),
        symbol => symbol.to_owned(),
    }
}

/// Decimals of the instrument's price step.
fn decimals(definition: &Definition) -> usize {
    let tick = definition
        .tick
        .map(|tick| tick.to_string())
        .unwrap_or_default();
    tick.split_once('.').map_or(0, |(_, behind)| behind.len())
}

/// A price with a minimum number of decimals, so that prices of one instrument align.
fn padded(price: Price, decimals: usize) -> String {
    let mut text = price.to_string();
    let behind = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    if behind < decimals {
        if behind == 0 {
            text.push('.');
        }
        text.push_str(&"0".repeat(decimals - behind));
    }
    text
}

impl Ladder {
    fn of(definition: &Definition, book: &Book<'_>, state: Option<State>) -> Ladder {
        let [bids, asks] = [Side::Bid, Side::Ask].map(|side| levels(definition, book, side));
        let rows = bids.len().max(asks.len());
        let (mut bids, mut asks) = (bids.into_iter(), asks.into_iter());
        let mut row = || [bids.next(), asks.next()].map(Option::unwrap_or_default);
        let has_book = state.is_some();
        Ladder {
            symbol: name(definition),
            state,
            why_none: (!has_book).then(|| "no book was published yet".to_owned()),
            spread: spread_word(book.spread()),
            details: details(definition),
            levels: (0..rows).map(|_| row()).collect(),
        }
    }
}

/// Direct and implied levels of a side by price, best first.
fn levels(definition: &Definition, book: &Book<'_>, side: Side) -> Vec<LadderLevel> {
    let decimals = decimals(definition);
    let cells = side_cells(book, side, move |price| padded(price, decimals));
    let level = |[price, quantity, implied, orders]: [String; 4]| LadderLevel {
        price,
        quantity,
        implied,
        orders,
    };
    cells.map(level).collect()
}

/// The main reference data of an instrument.
fn details(definition: &Definition) -> Vec<(&'static str, String)> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let price = |price: Option<Price>| price.map(|price| price.to_string());
    let expiry = (definition.maturity > 0).then(|| format::maturity(definition.maturity));
    let factor = definition.display_factor.map(|factor| factor.to_string());
    let all = [
        ("id", Some(definition.security_id.to_string())),
        ("venue", text(definition.venue.as_str())),
        ("group", text(definition.group.as_str())),
        (
            "type",
            definition.security_type.map(|kind| kind.name().to_owned()),
        ),
        ("currency", text(definition.currency.as_str())),
        ("tick", price(definition.tick)),
        ("multiplier", price(definition.multiplier)),
        ("display factor", factor.filter(|factor| factor != "1")),
        (
            "quoted in",
            definition
                .price_fraction
                .map(|fraction| fraction.to_string()),
        ),
        ("expiry", expiry),
        ("strike", price(definition.strike)),
        (
            "legs",
            (definition.leg_count() > 0).then(|| definition.leg_count().to_string()),
        ),
        ("low limit", price(definition.low_limit)),
        ("high limit", price(definition.high_limit)),
    ];
    let known = all.into_iter();
    known
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_the_packets_and_none_of_a_recording() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let age_ms = |ms_before: i64| {
            let received_ns = 1_700_000_000_000_000_000 - ms_before * 1_000_000;
            age(received_ns as u64, now).map(|age| age.as_millis())
        };
        assert_eq!(age_ms(0), Some(0));
        assert_eq!(age_ms(61_500), Some(61_500));
        assert_eq!(age_ms(-900), Some(0), "a clock that is ahead");
        assert_eq!(age_ms(-1_100), None);
        assert_eq!(age_ms(8 * 86_400_000), None, "a recording");
        assert_eq!(age(0, now), None, "unknown");
    }
}
