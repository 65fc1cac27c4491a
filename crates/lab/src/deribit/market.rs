//! Market of price levels: instruments, their books, and events, from a seed.

use crate::random::Random;
use std::collections::BTreeMap;
use touchline_types::OptionRight;

/// Parameters of a market.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of the market.
    pub seed: u64,
    /// Number of instruments, at least 1.
    pub instruments: usize,
    /// Initial number of levels of a side, around which it varies, at least 3.
    pub levels: usize,
}

/// An instrument, as the venue lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// Position in the list, from 1.
    pub number: i32,
    /// Symbol.
    pub symbol: String,
    /// SecurityType (167): `FUT`, `OPT` or `OPTCO`.
    pub kind: &'static str,
    /// Right of an option and its strike in whole units.
    pub option: Option<(OptionRight, u64)>,
    /// Symbols and ratios of a combination's legs; a negative ratio is sold.
    pub legs: Vec<(String, i64)>,
    /// Currency.
    pub currency: &'static str,
    /// Price increment, in units of 1e-9.
    pub tick: i64,
    /// Smallest quantity, in units of 1e-8.
    pub lot: i64,
    /// Contract multiplier, in units of 1e-4.
    pub multiplier: i64,
    /// Initial price, in ticks.
    centre: i64,
}

/// Side of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Buyers.
    Bid,
    /// Sellers.
    Offer,
}

/// Quantities by price, in lots and ticks.
pub type Levels = BTreeMap<i64, i64>;

/// Both sides of a book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Buyers; the best has the highest price.
    pub bids: Levels,
    /// Sellers; the best has the lowest price.
    pub offers: Levels,
}

/// Kind of change of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The level is new.
    New,
    /// The quantity changed.
    Change,
    /// The level was deleted.
    Delete,
}

/// Changed level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind of change.
    pub action: Action,
    /// Side.
    pub side: Side,
    /// Price in ticks.
    pub price: i64,
    /// Quantity in lots; 0 if deleted.
    pub quantity: i64,
}

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// The venue's id of the trade.
    pub id: u64,
    /// Side of the incoming order: buyers take offers.
    pub taker: Side,
    /// Price in ticks.
    pub price: i64,
    /// Quantity in lots.
    pub quantity: i64,
}

/// One event of an instrument: trades first, then the changed levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happening {
    /// Index of the instrument, from 0.
    pub instrument: usize,
    /// Trades.
    pub trades: Vec<Trade>,
    /// Levels that changed.
    pub changes: Vec<Change>,
}

/// The market.
#[derive(Debug)]
pub struct Market {
    random: Random,
    levels: usize,
    instruments: Vec<Instrument>,
    books: Vec<Book>,
    trades: u64,
    happened: u32,
}

/// Range from the touch in which most events happen: each level is half as likely as the one before
/// it.
const NEAR_LEVELS: u64 = 12;
/// Largest spread between two events, ticks.
const SPREAD_TICKS_MAX: i64 = 8;
/// Largest quantity of a level, lots.
const LOTS_MAX: i64 = 9_999;

impl Market {
    /// Opens a market.
    pub fn open(settings: &Settings) -> Market {
        let mut random = Random::from_seed(settings.seed);
        let count = settings.instruments.max(1);
        let instruments: Vec<Instrument> = (0..count).map(listed).collect();
        let levels = settings.levels.max(3);
        let mut random_books = random.split();
        let books = instruments
            .iter()
            .map(|instrument| first_book(instrument, levels, &mut random_books))
            .collect();
        Market {
            random,
            levels,
            instruments,
            books,
            trades: 0,
            happened: 0,
        }
    }

    /// Instruments.
    pub fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    /// Books of the instruments.
    pub fn books(&self) -> &[Book] {
        &self.books
    }

    /// Number of events so far.
    pub fn happened(&self) -> u32 {
        self.happened
    }

    /// Runs one event.
    pub fn step(&mut self) -> Happening {
        self.happened += 1;
        // The first instruments are the busy ones.
        let count = self.instruments.len();
        let instrument = self.random.index(count).min(self.random.index(count));
        let mut happening = Happening {
            instrument,
            ..Happening::default()
        };
        match self.random.below(100) {
            0..=9 => self.trade(&mut happening),
            10..=16 => {
                // A mass quote: several levels change together, each once.
                for _ in 0..self.random.between(2, 6) {
                    self.change(&mut happening);
                }
            }
            _ => self.change(&mut happening),
        }
        self.narrow(&mut happening);
        happening
    }

    /// A maker quotes inside a spread that has become too wide.
    fn narrow(&mut self, happening: &mut Happening) {
        let book = &self.books[happening.instrument];
        let best = |side| best(book, side).next();
        let (Some((bid, _)), Some((offer, _))) = (best(Side::Bid), best(Side::Offer)) else {
            return;
        };
        if offer - bid <= SPREAD_TICKS_MAX {
            return;
        }
        let (side, from) = (self.side(), self.random.between(1, 2));
        // A level is named once; at most six levels are named.
        let price = (from..).map(|ticks| match side {
            Side::Bid => offer - ticks,
            Side::Offer => bid + ticks,
        });
        let is_free = |price: &i64| {
            happening
                .changes
                .iter()
                .all(|change| change.price != *price)
        };
        let quantity = self.lots();
        if let Some(price) = price.take(7).find(is_free) {
            let change = self.books[happening.instrument].set(side, price, quantity);
            happening.changes.push(change);
        }
    }

    /// A participant takes the best level of a side, or the best two.
    fn trade(&mut self, happening: &mut Happening) {
        let taker = self.side();
        let book = &mut self.books[happening.instrument];
        let hit = match taker {
            Side::Bid => Side::Offer,
            Side::Offer => Side::Bid,
        };
        let best: Vec<(i64, i64)> = best(book, hit).take(2).collect();
        let is_deep = self.random.chance(0.2) && book.levels(hit).len() > 3;
        for &(price, resting) in &best[..1 + usize::from(is_deep).min(best.len() - 1)] {
            let is_all = is_deep || (self.random.chance(0.5) && book.levels(hit).len() > 3);
            let quantity = match is_all {
                true => resting,
                false if resting > 1 => self.random.between(1, resting - 1),
                // The last lot stays, otherwise the side would be empty.
                false => return,
            };
            self.trades += 1;
            happening.trades.push(Trade {
                id: 100_000_000 + self.trades,
                taker,
                price,
                quantity,
            });
            happening
                .changes
                .push(book.set(hit, price, resting - quantity));
        }
    }

    /// Adds a level, deletes one, or changes its quantity.
    fn change(&mut self, happening: &mut Happening) {
        let side = self.side();
        let instrument = happening.instrument;
        let count = self.books[instrument].levels(side).len();
        let share_new = if count < self.levels { 30 } else { 20 };
        let (price, quantity) = match self.random.below(100) {
            draw if draw < share_new => (self.free_price(instrument, side), self.lots()),
            draw if draw >= 75 && count > 3 => (self.resting_price(instrument, side), 0),
            _ => (self.resting_price(instrument, side), self.lots()),
        };
        let is_named = |change: &Change| change.side == side && change.price == price;
        if price < 1 || happening.changes.iter().any(is_named) {
            return;
        }
        let book = &mut self.books[instrument];
        if book.levels(side).get(&price) != Some(&quantity) {
            happening.changes.push(book.set(side, price, quantity));
        }
    }

    /// Price of an existing level, mostly near the touch.
    fn resting_price(&mut self, instrument: usize, side: Side) -> i64 {
        let book = &self.books[instrument];
        let count = book.levels(side).len();
        let place = match self.random.chance(0.9) {
            true => (self.random.next_u64().trailing_zeros() as u64).min(NEAR_LEVELS) as usize,
            false => self.random.index(count),
        };
        let found = best(book, side).nth(place.min(count - 1));
        found.map_or(0, |(price, _)| price)
    }

    /// Price of a new level: inside the spread, in a gap, or behind the last level.
    fn free_price(&mut self, instrument: usize, side: Side) -> i64 {
        let from = self.resting_price(instrument, side);
        let book = &self.books[instrument];
        let step = if side == Side::Bid { 1 } else { -1 };
        // Towards the other side if possible, otherwise away from it.
        let other = match side {
            Side::Bid => best(book, Side::Offer).next(),
            Side::Offer => best(book, Side::Bid).next(),
        };
        let better = from + step;
        let is_free = other.is_none_or(|(price, _)| price != better)
            && !book.levels(side).contains_key(&better);
        if is_free {
            return better;
        }
        let away = (1..).map(|ticks| from - step * ticks);
        let mut away = away.take_while(|price| *price > 0);
        away.find(|price| !book.levels(side).contains_key(price))
            .unwrap_or(0)
    }

    fn side(&mut self) -> Side {
        match self.random.chance(0.5) {
            true => Side::Bid,
            false => Side::Offer,
        }
    }

    fn lots(&mut self) -> i64 {
        self.random.between(1, LOTS_MAX)
    }
}

impl Book {
    /// One side.
    pub fn levels(&self, side: Side) -> &Levels {
        match side {
            Side::Bid => &self.bids,
            Side::Offer => &self.offers,
        }
    }

    fn set(&mut self, side: Side, price: i64, quantity: i64) -> Change {
        let levels = match side {
            Side::Bid => &mut self.bids,
            Side::Offer => &mut self.offers,
        };
        let was_there = match quantity {
            0 => levels.remove(&price).is_some(),
            _ => levels.insert(price, quantity).is_some(),
        };
        let action = match (quantity, was_there) {
            (0, _) => Action::Delete,
            (_, true) => Action::Change,
            (_, false) => Action::New,
        };
        Change {
            action,
            side,
            price,
            quantity,
        }
    }
}

/// The levels of a side, best first.
pub fn best(book: &Book, side: Side) -> Box<dyn Iterator<Item = (i64, i64)> + '_> {
    match side {
        Side::Bid => Box::new(book.bids.iter().rev().map(|(price, lots)| (*price, *lots))),
        Side::Offer => Box::new(book.offers.iter().map(|(price, lots)| (*price, *lots))),
    }
}

/// Index of the call spread, counted from the first option.
const CALL_SPREAD: usize = 3;

const UNIT: i64 = 1_000_000_000;
const COIN: i64 = 100_000_000;

/// Symbol, currency, tick, lot, multiplier, and initial price.
type Perpetual = (&'static str, &'static str, i64, i64, i64, i64);

const PERPETUALS: [Perpetual; 4] = [
    (
        "BTC-PERPETUAL",
        "BTC",
        UNIT / 2,
        10 * COIN,
        100_000,
        60_000 * UNIT,
    ),
    (
        "ETH-PERPETUAL",
        "ETH",
        UNIT / 20,
        COIN,
        10_000,
        3_000 * UNIT,
    ),
    (
        "SOL_USDC-PERPETUAL",
        "USDC",
        UNIT / 100,
        COIN / 10,
        1_000,
        150 * UNIT,
    ),
    (
        "XRP_USDC-PERPETUAL",
        "USDC",
        UNIT / 10_000,
        COIN,
        10_000,
        UNIT / 2,
    ),
];

/// Instrument at a position of the list: a few perpetuals, then options, with one combination of them.
fn listed(place: usize) -> Instrument {
    let number = place as i32 + 1;
    match place.checked_sub(PERPETUALS.len()) {
        None => perpetual(number, PERPETUALS[place]),
        Some(index) => option(number, index),
    }
}

fn perpetual(
    number: i32,
    (symbol, currency, tick, lot, multiplier, price): Perpetual,
) -> Instrument {
    Instrument {
        number,
        symbol: symbol.to_owned(),
        kind: "FUT",
        option: None,
        legs: Vec::new(),
        currency,
        tick,
        lot,
        multiplier,
        centre: price / tick,
    }
}

/// An option, or the combination among them.
fn option(number: i32, index: usize) -> Instrument {
    let option = Instrument {
        number,
        symbol: String::new(),
        kind: "OPT",
        option: None,
        legs: Vec::new(),
        currency: "BTC",
        tick: UNIT / 2_000,
        lot: COIN / 10,
        multiplier: 10_000,
        centre: 200,
    };
    if index == CALL_SPREAD {
        // Of the instruments at 0 and 2.
        let legs = [(40_000, 1), (41_000, -1)];
        let legs = legs.map(|(strike, ratio)| (format!("BTC-31DEC27-{strike}-C"), ratio));
        return Instrument {
            symbol: "BTC-CS-31DEC27-40000_41000".to_owned(),
            kind: "OPTCO",
            legs: legs.into(),
            ..option
        };
    }
    let (right, letter) = match index.is_multiple_of(2) {
        true => (OptionRight::Call, 'C'),
        false => (OptionRight::Put, 'P'),
    };
    let strike = 40_000 + 1_000 * (index as u64 / 2);
    Instrument {
        symbol: format!("BTC-31DEC27-{strike}-{letter}"),
        option: Some((right, strike)),
        ..option
    }
}

/// Levels on both sides of the centre, most of them adjacent.
fn first_book(instrument: &Instrument, levels: usize, random: &mut Random) -> Book {
    let mut book = Book::default();
    for (side, step) in [(Side::Bid, -1), (Side::Offer, 1)] {
        let mut price = instrument.centre + step;
        for _ in 0..levels {
            if price < 1 {
                break;
            }
            book.set(side, price, random.between(1, LOTS_MAX));
            price += step * (1 + i64::from(random.chance(0.1)));
        }
    }
    book
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market(seed: u64) -> Market {
        Market::open(&Settings {
            seed,
            instruments: 7,
            levels: 40,
        })
    }

    #[test]
    fn the_market_depends_only_on_the_seed() {
        let run = |seed| {
            let mut market = market(seed);
            let all: Vec<Happening> = (0..2_000).map(|_| market.step()).collect();
            (all, market.books)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).0, run(2).0);
    }

    #[test]
    fn books_are_never_crossed_or_empty_and_changes_lead_from_one_to_the_next() {
        for seed in crate::random::seeds(4) {
            let mut market = market(seed);
            let mut kept = market.books.clone();
            let (mut trades, mut several) = (0, 0);
            for _ in 0..20_000 {
                let Happening {
                    instrument,
                    trades: traded,
                    changes,
                } = market.step();
                trades += traded.len();
                several += usize::from(changes.len() > 1);
                for change in changes {
                    let expected = kept[instrument].set(change.side, change.price, change.quantity);
                    assert_eq!(change, expected, "seed {seed}");
                }
                let book = &market.books[instrument];
                let (bid, offer) = (best(book, Side::Bid).next(), best(book, Side::Offer).next());
                let (bid, offer) = (bid.expect("buyers"), offer.expect("sellers"));
                assert!(
                    0 < bid.0 && bid.0 < offer.0 && offer.0 - bid.0 <= SPREAD_TICKS_MAX,
                    "seed {seed}: {bid:?} {offer:?}"
                );
            }
            assert_eq!(kept, market.books, "seed {seed}");
            assert!(trades > 1_000 && several > 500, "{trades} {several}");
            let counts = market.books.iter().map(|book| book.bids.len());
            assert!(counts.clone().all(|count| (3..400).contains(&count)));
        }
    }
}
