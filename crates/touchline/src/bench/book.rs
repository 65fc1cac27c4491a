//! `touchline bench book`: cost of a change of a price book, with few levels and with thousands.

use super::run::{Common, Run, failure};
use crate::output::Failure;
use std::hint::black_box;
use touchline_book::{ApplyResult, PriceBook};
use touchline_lab::bench::ipc::Folder;
use touchline_lab::random::Random;
use touchline_transport::Publish;
use touchline_transport::shm::{Publisher, Root, Settings};
use touchline_types::{
    BookKind, BookSnapshot, BookUpdate, Depth, Instrument, LevelChange, LevelEvent, Place, Price,
    Quantity, Side, Timestamps, Update, UpdateAction, Validity,
};

/// Cost of one change of a price book: applied alone, and applied and published on a bus.
///
/// Books of 10 levels kept by position, and of --levels levels kept by price, with changes near the best level, at
/// random levels, and near the worst. Half of the changes modify quantities; the others insert and delete levels.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench book
  touchline bench book --levels 5000 --json

Output:
  Each sample is the mean of 32 changes: reading the clock costs as much as one change.

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Levels a side of the deep books.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u16).range(64..=60_000))]
    levels: u16,
    /// Samples of each subject in each round, of 32 changes each.
    #[arg(long, value_name = "N", default_value_t = 12_500, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,
    /// Rounds; each measures every subject once.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Processor.
    #[arg(long, value_name = "A", default_value_t = 0)]
    cpus: usize,
    #[command(flatten)]
    common: Common,
}

/// Location of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// In a book of ten levels, at random levels.
    Few,
    /// Among the best five.
    Near,
    /// At random levels.
    Uniform,
    /// Among the worst fifty.
    Far,
}

/// Name, location of the changes, and whether they are published.
const SUBJECTS: [(&str, (Where, bool)); 8] = [
    ("few", (Where::Few, false)),
    ("deep-near", (Where::Near, false)),
    ("deep-uniform", (Where::Uniform, false)),
    ("deep-far", (Where::Far, false)),
    ("few-published", (Where::Few, true)),
    ("deep-near-published", (Where::Near, true)),
    ("deep-uniform-published", (Where::Uniform, true)),
    ("deep-far-published", (Where::Far, true)),
];

const INSTRUMENT: Instrument = Instrument(0);

/// Changes that are timed together.
const BATCH: usize = 32;

/// Changes generated once and applied repeatedly: the cycle ends in the state in which it starts.
const CYCLE: usize = 64 * BATCH;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus, &arguments.common)?;
    let lines = run.alternate(
        "book",
        arguments.rounds,
        &SUBJECTS,
        |round, (place, is_published), into| {
            let mut subject = Subject::new(*place, arguments.levels, u64::from(round))?;
            let mut bus = is_published
                .then(|| Bus::new(arguments.levels, &subject.book))
                .transpose()?;
            for batch in 0..arguments.samples as usize {
                run.sample(into, BATCH as u64, || subject.batch(batch, bus.as_mut()))?;
            }
            bus.as_ref().map_or(Ok(()), Bus::has_every_image)
        },
    )?;
    let head = format!(
        "books of {} levels a side, and of 10; one change, the mean of {BATCH} timed together, on processor {}",
        arguments.levels, arguments.cpus
    );
    run.report(&head, &lines)
}

/// A book and the changes applied to it.
struct Subject {
    book: PriceBook,
    events: Vec<LevelEvent>,
    changes: Vec<LevelChange>,
}

impl Subject {
    fn new(place: Where, levels: u16, seed: u64) -> Result<Subject, Failure> {
        let (book, levels) = match place {
            Where::Few => (PriceBook::new(FEW), FEW.direct),
            _ => (PriceBook::deep(2 * usize::from(levels)), levels),
        };
        let mut subject = Subject {
            book,
            events: Vec::with_capacity(CYCLE),
            changes: Vec::with_capacity(BATCH * 4),
        };
        for index in 0..i64::from(levels) {
            for side in Side::BOTH {
                let event = event(place, side, index, UpdateAction::New, 1 + index);
                subject.apply(&event)?;
            }
        }
        let mut random = Random::from_seed(seed);
        while subject.events.len() < CYCLE {
            let side = *random.pick(&Side::BOTH);
            let index = place.index(&mut random, i64::from(levels));
            let quantity = random.between(1, 1_000);
            let mut push = |action| {
                subject
                    .events
                    .push(event(place, side, index, action, quantity))
            };
            push(UpdateAction::Change);
            push(UpdateAction::Change);
            push(UpdateAction::Delete);
            push(UpdateAction::New);
        }
        Ok(subject)
    }

    /// Applies one batch of changes and publishes each if there is a bus.
    fn batch(&mut self, number: usize, mut bus: Option<&mut Bus>) -> Result<(), Failure> {
        let begin = number * BATCH % CYCLE;
        for at in begin..begin + BATCH {
            let event = self.events[at];
            self.apply(&event)?;
            if let Some(bus) = &mut bus {
                bus.publish(&self.book, &self.changes);
            }
        }
        Ok(())
    }

    #[inline]
    fn apply(&mut self, event: &LevelEvent) -> Result<(), Failure> {
        self.changes.clear();
        match self.book.apply(black_box(event), &mut self.changes) {
            ApplyResult::Expected => Ok(()),
            result => Err(Failure::run(format!("{event:?} is {result:?}"))),
        }
    }
}

const FEW: Depth = Depth {
    direct: 10,
    implied: 0,
};

impl Where {
    fn index(self, random: &mut Random, levels: i64) -> i64 {
        match self {
            Where::Few | Where::Uniform => random.between(0, levels - 1),
            Where::Near => random.between(0, 4),
            Where::Far => random.between(levels - 50, levels - 1),
        }
    }
}

/// A change of the level at an index of a full book.
fn event(place: Where, side: Side, index: i64, action: UpdateAction, quantity: i64) -> LevelEvent {
    let away = match side {
        Side::Bid => -1 - index,
        Side::Ask => index,
    };
    LevelEvent {
        instrument: INSTRUMENT,
        orders: -1,
        price: Price((50_000 + away) * 500_000_000),
        quantity: Quantity(quantity),
        place: match place {
            Where::Few => Place::Position(index as u8 + 1),
            _ => Place::Price,
        },
        action,
        side,
        book: BookKind::Direct,
    }
}

/// A temporary bus, removed when dropped.
struct Bus {
    publisher: Publisher,
    _folder: Folder,
}

impl Bus {
    /// Publishes the whole book first: incremental updates refer to it.
    fn new(levels: u16, book: &PriceBook) -> Result<Bus, Failure> {
        let folder = Folder::new().map_err(failure)?;
        let settings = Settings {
            instruments_max: 1,
            image_levels_max: 2 * usize::from(levels),
            ..Settings::default()
        };
        let opened = Publisher::open(&Root::at(folder.path()), "book", &settings);
        let mut publisher = opened.map_err(|error| Failure::run(error.to_string()))?;
        let room = &mut [Vec::new(), Vec::new()];
        let [bids, asks] = room;
        let snapshot = BookSnapshot {
            instrument: INSTRUMENT,
            validity: Validity::Live,
            bids: book.levels(BookKind::Direct, Side::Bid).slice(bids),
            asks: book.levels(BookKind::Direct, Side::Ask).slice(asks),
            implied_bids: &[],
            implied_asks: &[],
        };
        publisher.publish(&Update::BookSnapshot(snapshot), &Timestamps::default());
        publisher.commit();
        Ok(Bus {
            publisher,
            _folder: folder,
        })
    }

    /// Checks that each change reached the snapshot slot: a book that does not fit its slot costs
    /// less and must not be measured.
    fn has_every_image(&self) -> Result<(), Failure> {
        match self.publisher.counters().images_cut {
            0 => Ok(()),
            cut => Err(Failure::run(format!(
                "{cut} changes did not reach the snapshot slot of the book"
            ))),
        }
    }

    #[inline]
    fn publish(&mut self, book: &PriceBook, changes: &[LevelChange]) {
        let update = BookUpdate {
            instrument: INSTRUMENT,
            security_id: 1,
            validity: Validity::Live,
            direct: true,
            whole: true,
            changes,
            best_bid: book.first(Side::Bid),
            best_ask: book.first(Side::Ask),
        };
        self.publisher
            .publish(&Update::Book(update), &Timestamps::default());
        self.publisher.commit();
    }
}
