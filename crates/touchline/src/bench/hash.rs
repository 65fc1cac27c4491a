//! `touchline bench hash`: cost of the keyed hash of an order's key.

use super::run::{Common, Run};
use crate::output::Failure;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::hint::black_box;
use touchline_book::OrderBooks;
use touchline_lab::random::Random;
use touchline_types::hash::HashKeys;
use touchline_types::{Instrument, OrderAction, OrderEvent, Price, Quantity, Side};

/// Cost of the keyed hash of an order's key, compared with an unkeyed hash, SipHash, and a complete change of an order.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  touchline bench hash
  touchline bench hash --orders 1000000 --json

Output:
  Each sample is the time of 32 hashes, each of which depends on the one before: a single hash
  is too short for the clock. The subjects are measured alternately. The bytes of an order are
  those of its node in the book and of its part of the index.
  fixed         a multiplication by a public constant; without a secret, an attacker can choose
                ids that collide
  keyed         the hash of the order books
  siphash       the hash of the standard library
  order-change  a new quantity for one of many orders; it computes one keyed hash

Exit status:
  0  measured
  1  a subject failed, or the output cannot be written
  2  bad arguments")]
pub struct Arguments {
    /// Orders in the book.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(32..=4_000_000))]
    orders: u32,
    /// Samples of each subject in each round.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
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

/// Hashes or changes of one sample.
const BATCH: usize = 32;

/// Name and number of each subject.
const SUBJECTS: [(&str, usize); 4] = [
    ("fixed", 0),
    ("keyed", 1),
    ("siphash", 2),
    ("order-change", 3),
];

const INSTRUMENT: Instrument = Instrument(0);

/// 2^64 divided by the golden ratio.
const CONSTANT: u64 = 0x9E37_79B9_7F4A_7C15;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Run::begin_on(arguments.cpus, &arguments.common)?;
    let mut subjects = Subjects::new(arguments.orders)?;
    let lines = run.alternate("hash", arguments.rounds, &SUBJECTS, |_, subject, into| {
        (0..arguments.samples).try_for_each(|_| {
            subjects.draw();
            run.sample(into, 1, || subjects.sample(*subject))
        })
    })?;
    let head = format!(
        "{} orders, {} bytes each; {BATCH} hashes or changes in a row, on processor {}",
        arguments.orders,
        subjects.books.bytes() / subjects.books.len(),
        arguments.cpus
    );
    run.report(&head, &lines)
}

/// The hashes, a book, and the orders of the next sample.
struct Subjects {
    keyed: HashKeys<2>,
    siphash: RandomState,
    books: OrderBooks,
    changes: Vec<touchline_types::OrderChange>,
    random: Random,
    orders: u32,
    ids: [u64; BATCH],
}

impl Subjects {
    fn new(orders: u32) -> Result<Subjects, Failure> {
        let source = RandomState::new();
        let mut subjects = Subjects {
            keyed: HashKeys::drawn_from(&source),
            siphash: source,
            books: OrderBooks::new(1, orders as usize),
            changes: Vec::with_capacity(1),
            random: Random::from_seed(1),
            orders,
            ids: [0; BATCH],
        };
        for number in 0..u64::from(orders) {
            subjects.apply(OrderAction::New, id_of(number), 1)?;
        }
        Ok(subjects)
    }

    fn draw(&mut self) {
        for id in &mut self.ids {
            *id = id_of(self.random.below(u64::from(self.orders)));
        }
    }

    fn sample(&mut self, subject: usize) -> Result<(), Failure> {
        let Subjects { keyed, siphash, .. } = self;
        match subject {
            0 => chain(&self.ids, |id| id.wrapping_mul(CONSTANT)),
            1 => chain(&self.ids, |id| keyed.hash([id, 0])),
            2 => chain(&self.ids, |id| siphash.hash_one((id, 0u64))),
            _ => {
                let mut quantity = 1;
                for id in self.ids {
                    quantity = self.apply(OrderAction::Update, id, quantity % 1_000 + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Applies an action; `quantity` is the new quantity of the order.
    #[inline]
    fn apply(&mut self, action: OrderAction, order_id: u64, quantity: i64) -> Result<i64, Failure> {
        let event = OrderEvent {
            order_id,
            priority: Some(order_id),
            price: Price((order_id % 64) as i64 * 250_000_000),
            quantity: Quantity(quantity),
            instrument: INSTRUMENT,
            action,
            side: Side::Bid,
        };
        self.changes.clear();
        let applied = self.books.apply(black_box(&event), &mut self.changes);
        match (applied, self.changes.as_slice()) {
            (Ok(()), [change]) if change.action == action => Ok(change.quantity.0),
            (applied, changes) => Err(Failure::run(format!("{event:?}: {applied:?}, {changes:?}"))),
        }
    }
}

/// Hashes each id in a dependent chain: each key depends on the previous hash.
#[inline]
fn chain(ids: &[u64; BATCH], hash: impl Fn(u64) -> u64) {
    let nothing = black_box(0);
    let last = ids.iter().fold(0, |last, id| hash(id ^ (last & nothing)));
    black_box(last);
}

/// Ids like those of venues: ascending with gaps.
fn id_of(number: u64) -> u64 {
    6_400_000_000_000 + number * 3
}
