//! Whole sessions through the whole path, with faults, against the expected books.
//!
//! Goal: the properties R4, R5 and R6. Method: the lab's generated exchange sends a session over
//! two faulty lines. The path's final books, its published updates and a subscriber's mirror of
//! them are compared with the generator's expected books, with the lossless run and with a slow
//! reference that shares no code with the path. A failure names its seed: `SEED=n` runs that seed
//! only, `SEEDS=n` runs n seeds.

mod bus;
mod captures;
mod copies;
pub mod fold;
mod hostile;
mod lines;
mod path;
pub mod recovery;
mod reference;
mod relay;
#[cfg(feature = "aeron")]
mod relay_aeron;
mod relay_links;
mod relay_rate;
mod replay;
mod silence;
mod watch;

use std::io::Write;
use touchline_lab::picture::Picture;

/// The seeds to run: `SEED`, or the first `SEEDS`, or the first `count`. Prints progress after each
/// thousand.
pub fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    touchline_lab::random::seeds(count).inspect(move |seed| {
        if seed % 1000 == 0 && *seed > 0 {
            // Not by `println!`: the harness would hold it back until the end.
            let _ = writeln!(std::io::stderr(), "{name}: {seed} seeds so far");
        }
    })
}

/// Compares texts; shows the first line that differs.
#[track_caller]
fn same(actual: &str, expected: &str, what: &str) {
    let mut lines = actual.lines().zip(expected.lines()).enumerate();
    if let Some((at, (actual, expected))) = lines.find(|(_, (actual, expected))| actual != expected)
    {
        panic!(
            "{what}, line {}:\n actual   {actual}\n expected {expected}",
            at + 1
        );
    }
    assert_eq!(
        actual.lines().count(),
        expected.lines().count(),
        "{what}: number of lines"
    );
}

/// Compares the books and the order books of two pictures.
#[track_caller]
fn same_books(actual: &Picture, expected: &Picture, what: &str) {
    let books = [actual, expected].map(Picture::books_jsonl);
    same(&books[0], &books[1], &format!("books, {what}"));
    let orders = [actual, expected].map(Picture::orders_jsonl);
    same(&orders[0], &orders[1], &format!("orders, {what}"));
}
