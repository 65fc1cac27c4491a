//! Books of thousands of levels, kept by price: compared with a slow reference, and over a bus with
//! readers that join at any moment.

use crate::world::{Buses, counts, mirror};
use touchline_book::{ApplyResult, PriceBook};
use touchline_lab::random::{Random, seeds};
use touchline_lab::reference::keyed_book::{Became, KeyedSide, Said};
use touchline_transport::shm::{Join, Publisher, Settings};
use touchline_transport::{Mirror, Publish};
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Depth, Instrument, InstrumentDefinition, Level,
    LevelChange, LevelEvent, Place, Price, Quantity, ReferenceData, Side, Symbol, Timestamps,
    Update, UpdateAction, Validity,
};

const DEPTH: Depth = Depth {
    direct: Depth::ALL,
    implied: 0,
};

const INSTRUMENT: Instrument = Instrument(0);

/// A book, the reference, a mirror that applies its steps, and random events.
struct Venue {
    random: Random,
    book: PriceBook,
    sides: [KeyedSide; 2],
    mirror: PriceBook,
    changes: Vec<LevelChange>,
    /// Half of the price range of levels, per side.
    span: i64,
    middle: i64,
    seen: [u64; 3],
}

impl Venue {
    fn new(seed: u64, levels_max: usize, span: i64) -> Venue {
        Venue {
            random: Random::from_seed(seed),
            book: PriceBook::deep(levels_max),
            sides: [true, false].map(|bids| KeyedSide::new(bids, levels_max)),
            mirror: PriceBook::deep(levels_max),
            changes: Vec::new(),
            span,
            middle: 1_000_000,
            seen: [0; 3],
        }
    }

    /// Mostly near the middle, sometimes anywhere or at the far end.
    fn price(&mut self, side: Side) -> i64 {
        let away = match self.random.index(10) {
            0..6 => self.random.below(1 + self.span as u64 / 50),
            6..9 => self.random.below(self.span as u64),
            _ => self.span as u64 - 1 - self.random.below(5.min(self.span as u64)),
        } as i64;
        match side {
            Side::Bid => self.middle - 1 - away,
            Side::Ask => self.middle + away,
        }
    }

    fn event(&mut self, side: Side, said: Said, price: i64, quantity: i64) {
        let action = match said {
            Said::New => UpdateAction::New,
            Said::Change => UpdateAction::Change,
            Said::Delete => UpdateAction::Delete,
        };
        let event = LevelEvent {
            instrument: INSTRUMENT,
            orders: -1,
            price: Price(price),
            quantity: Quantity(quantity),
            place: Place::Price,
            action,
            side,
            book: BookKind::Direct,
        };
        let before = self.changes.len();
        let result = self.book.apply(&event, &mut self.changes);
        let became = self.sides[side.index()].apply(said, price, quantity);
        let expected = match became {
            Became::Expected => ApplyResult::Expected,
            Became::Unexpected => ApplyResult::Unexpected,
            Became::Beyond => ApplyResult::Beyond,
        };
        assert_eq!(result, expected, "{said:?} {side:?} {price} x {quantity}");
        self.seen[became as usize] += 1;
        for change in &self.changes[before..] {
            assert!(self.mirror.apply_delta(change), "{change:?}");
        }
        assert!(self.changes.len() - before <= 2);
    }

    /// Mostly an event that is consistent with the book; sometimes not.
    fn step(&mut self) {
        let side = *self.random.pick(&Side::BOTH);
        let price = self.price(side);
        let quantity = self.random.between(1, 1_000);
        let is_there = self.sides[side.index()].has(price);
        let (said, quantity) = match (self.random.index(40), is_there) {
            (0, _) => (Said::New, quantity),
            (1, _) => (Said::Change, quantity),
            (2, _) => (Said::Delete, quantity),
            (3, _) => (Said::Change, 0),
            (4..22, true) => (Said::Delete, 0),
            (_, true) => (Said::Change, quantity),
            (_, false) => (Said::New, quantity),
        };
        self.event(side, said, price, quantity);
        if self.random.index(20) == 0 {
            self.middle += self.random.between(-1, 1);
        }
    }

    /// Empties everything, and possibly refills it, as a snapshot does.
    fn rebuild(&mut self, levels: i64) {
        self.book.clear(&mut self.changes);
        self.mirror.clear(&mut Vec::new());
        self.sides.iter_mut().for_each(KeyedSide::clear);
        for away in 0..levels {
            self.event(Side::Bid, Said::New, self.middle - 1 - away, 1 + away);
            self.event(Side::Ask, Said::New, self.middle + away, 1 + away);
        }
    }

    fn check(&self) {
        for side in Side::BOTH {
            let reference = &self.sides[side.index()];
            let expected = || reference.levels();
            for book in [&self.book, &self.mirror] {
                let levels = book.levels(BookKind::Direct, side);
                let held = levels.iter().map(|level| (level.price.0, level.quantity.0));
                assert!(held.eq(expected()), "{side:?}");
            }
            assert!(reference.is_best_part());
            let best = self.book.best(side).map(|level| level.price.0);
            assert_eq!(best, expected().next().map(|(price, _)| price));
        }
    }

    fn snapshot<'a>(&self, room: &'a mut [Vec<Level>; 2]) -> BookSnapshot<'a> {
        let [bids, asks] = room;
        BookSnapshot {
            instrument: INSTRUMENT,
            validity: Validity::Live,
            bids: copied(&self.book, Side::Bid, bids),
            asks: copied(&self.book, Side::Ask, asks),
            implied_bids: &[],
            implied_asks: &[],
        }
    }
}

fn copied<'a>(book: &PriceBook, side: Side, room: &'a mut Vec<Level>) -> &'a [Level] {
    room.clear();
    room.extend(book.levels(BookKind::Direct, side).iter());
    room
}

/// More than a million events; the book matches the slow reference, and a mirror of the steps matches the book.
#[test]
fn a_book_by_price_equals_a_simple_implementation() {
    let mut seen = [0; 3];
    let mut deepest = 0;
    for seed in seeds(11) {
        let limits = [3_000, 8_000, 1, 200, 7, 3_000, 64, 2_000, 5_000, 2, 1_000];
        let spans = [4_000, 3_500, 5, 400, 6, 3_000, 500, 6_000, 8_000, 40, 1_000];
        let case = (seed % 11) as usize;
        let mut venue = Venue::new(seed, limits[case], spans[case]);
        venue.rebuild(spans[case]);
        venue.check();
        for event in 0..100_000 {
            venue.changes.clear();
            venue.step();
            if event % 1_000 == 0 || limits[case] < 100 && event % 7 == 0 {
                venue.check();
            }
            if venue.random.index(30_000) == 0 {
                let levels = venue.random.between(0, venue.span);
                venue.rebuild(levels);
            }
        }
        venue.check();
        deepest = deepest.max(venue.sides[0].len());
        (0..3).for_each(|at| seen[at] += venue.seen[at]);
    }
    println!("expected, unexpected, beyond: {seen:?}; deepest {deepest}");
    if std::env::var_os("SEED").is_none() {
        assert!(seen.iter().all(|count| *count > 10_000) && deepest > 1_000);
    }
}

/// Events of the other kind (position or price) change nothing.
#[test]
fn events_of_the_other_kind_change_nothing() {
    let event = |place, price| LevelEvent {
        instrument: INSTRUMENT,
        orders: 1,
        price: Price(price),
        quantity: Quantity(1),
        place,
        action: UpdateAction::New,
        side: Side::Bid,
        book: BookKind::Direct,
    };
    let few = Depth {
        direct: 10,
        implied: 2,
    };
    let mut changes = Vec::new();
    for (mut book, right, wrong) in [
        (PriceBook::deep(9), Place::Price, Place::Position(1)),
        (PriceBook::new(few), Place::Position(1), Place::Price),
    ] {
        assert_eq!(
            book.apply(&event(wrong, 5), &mut changes),
            ApplyResult::Unexpected
        );
        assert!(changes.is_empty() && book.best(Side::Bid).is_none());
        assert_eq!(
            book.apply(&event(right, 5), &mut changes),
            ApplyResult::Expected
        );
        assert!(book.best(Side::Bid).is_some());
        changes.clear();
    }
}

fn publisher(buses: &Buses, image_levels_max: usize) -> Publisher {
    let settings = Settings {
        ring_bytes: 1 << 20,
        instruments_max: 4,
        image_levels_max,
        ..Settings::default()
    };
    Publisher::open(&buses.root(), "test", &settings).expect("no other process writes it")
}

fn define(publisher: &mut Publisher) {
    let definition = InstrumentDefinition {
        symbol: Symbol::new(b"DEEP"),
        defined: true,
        reference: ReferenceData::NULL,
        ..InstrumentDefinition::unknown(INSTRUMENT, 1, DEPTH)
    };
    publisher.publish(&Update::Definition(&definition), &Timestamps::default());
}

fn publish_changes(venue: &Venue, publisher: &mut Publisher) {
    let update = BookUpdate {
        instrument: INSTRUMENT,
        security_id: 1,
        validity: Validity::Live,
        direct: true,
        whole: true,
        changes: &venue.changes,
        best_bid: venue.book.best(Side::Bid),
        best_ask: venue.book.best(Side::Ask),
    };
    publisher.publish(&Update::Book(update), &Timestamps::default());
    publisher.commit();
}

#[track_caller]
fn assert_mirrored(venue: &Venue, mirror: &Mirror, context: &str) {
    assert_eq!(mirror.inconsistent_updates(), 0, "{context}");
    let book = mirror.book(INSTRUMENT).expect(context);
    for side in Side::BOTH {
        let (ours, theirs) = (
            venue.book.levels(BookKind::Direct, side),
            book.levels(BookKind::Direct, side),
        );
        assert_eq!(ours.len(), theirs.len(), "{context}: {side:?}");
        assert!(ours.iter().eq(theirs.iter()), "{context}: {side:?}");
    }
}

/// A book of 3,000 levels over a bus: the mirror equals the book after every message, and a late
/// joiner receives it from its slot.
#[test]
fn readers_have_every_level_after_every_message_whenever_they_join() {
    for seed in seeds(2) {
        let buses = Buses::new();
        let mut publisher = publisher(&buses, 4_096);
        let mut venue = Venue::new(seed, 4_096, 3_000);
        define(&mut publisher);
        let (mut early, mut mirror_of_early) = (buses.join(Join::default()), mirror());
        let mut room = [Vec::new(), Vec::new()];
        for event in 0..3_000 {
            let context = format!("SEED={seed}, event {event}");
            if event % 1_000 == 0 {
                venue.rebuild(3_000);
                let snapshot = venue.snapshot(&mut room);
                publisher.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
                publisher.commit();
            } else {
                venue.changes.clear();
                (0..1 + event % 3).for_each(|_| venue.step());
                publish_changes(&venue, &mut publisher);
            }
            while early.drain(usize::MAX, &mut mirror_of_early) > 0 {}
            assert_mirrored(&venue, &mirror_of_early, &context);
            if event % 97 == 0 {
                let mut mirror = mirror();
                buses.join(Join::default()).drain(usize::MAX, &mut mirror);
                assert_mirrored(&venue, &mirror, &format!("{context}, joined now"));
            }
        }
        let deepest = venue.sides.iter().map(KeyedSide::len).max();
        assert!(deepest > Some(1_000) && mirror_of_early.validity(INSTRUMENT) == Validity::Live);
        assert_eq!(counts(&publisher).images_cut, 0);
    }
}

/// A book deeper than its slot is reported as such until it arrives as a whole or fits again; the
/// stream continues.
#[test]
fn a_book_deeper_than_its_image_is_never_shown_in_part() {
    let buses = Buses::new();
    let mut publisher = publisher(&buses, 100);
    let mut venue = Venue::new(1, 4_096, 500);
    define(&mut publisher);
    let (mut early, mut mirror_of_early) = (buses.join(Join::default()), mirror());
    early.drain(usize::MAX, &mut mirror_of_early);
    let mut room = [Vec::new(), Vec::new()];
    venue.rebuild(300);
    publisher.publish(
        &Update::BookSnapshot(venue.snapshot(&mut room)),
        &Timestamps::default(),
    );
    publisher.commit();
    let mut late = buses.join(Join::default());
    let mut mirror_of_late = mirror();
    venue.changes.clear();
    venue.step();
    publish_changes(&venue, &mut publisher);
    while early.drain(usize::MAX, &mut mirror_of_early) > 0 {}
    late.drain(usize::MAX, &mut mirror_of_late);
    assert_mirrored(&venue, &mirror_of_early, "the stream");
    assert_ne!(mirror_of_late.validity(INSTRUMENT), Validity::Live);
    assert!(counts(&publisher).images_cut > 0);
    // Whole again, and small enough.
    venue.rebuild(90);
    publisher.publish(
        &Update::BookSnapshot(venue.snapshot(&mut room)),
        &Timestamps::default(),
    );
    publisher.commit();
    late.drain(usize::MAX, &mut mirror_of_late);
    assert_mirrored(&venue, &mirror_of_late, "from its snapshot");
    let mut mirror = mirror();
    buses.join(Join::default()).drain(usize::MAX, &mut mirror);
    assert_mirrored(&venue, &mirror, "from its image");
}
