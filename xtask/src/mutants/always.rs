//! The mutants that every change is tried against: rules of a specification, and orderings of memory.

use super::{Mutant, image, ring};

/// Rules that the venue, FIX or the native format states.
const RULES: &[&str] = &[
    // CME: lines, numbers, resets, the two kinds of snapshots, the end of an event.
    "feed: the sequence is not checked",
    "feed: a second copy is delivered",
    "feed: a hole is never declared lost",
    "feed: a loss is not told to the books",
    "feed: orders outlive a lost packet",
    "feed: a channel reset is ignored",
    "feed: RptSeq is not checked",
    "feed: a hole does not empty the book",
    "feed: a snapshot that is too old is used",
    "feed: the queue is not replayed",
    "feed: what the snapshot contains is replayed",
    "feed: a snapshot from before a reset is used",
    "feed: part of a loop counts as whole",
    "feed: an order snapshot from before the loss is used",
    "feed: TransactTime of an order snapshot is ignored",
    "feed: one chunk is enough",
    "gateway: changes are seen before the end of the event",
    // CME: books.
    "book: the level beyond the depth stays",
    "book: implied levels go into the direct book",
    "book: orders of a price stand as they came",
    "book: a null quantity overwrites",
    // FIX: the form of a message, and the session.
    "fix: a wrong checksum is taken",
    "fix: a message with a wrong length ends where it says",
    "fix: data ends at the first separator",
    "fix: entries are not counted",
    "fix session: a message goes before it is stored",
    "fix session: what is sent again is not marked",
    // The native format.
    "native: a deep place is what a byte says of it",
];

/// Whether `mutant` is one of them.
pub fn has(mutant: &Mutant) -> bool {
    RULES.contains(&mutant.name) || orderings().any(|ordering| ordering.name == mutant.name)
}

fn orderings() -> impl Iterator<Item = &'static Mutant> {
    [ring::ORDERINGS, image::ORDERINGS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_of_a_mutant() {
        for name in RULES {
            assert!(super::super::all().any(|m| m.name == *name), "'{name}'");
        }
        let always = super::super::all().filter(|mutant| has(mutant)).count();
        assert_eq!(always, RULES.len() + orderings().count());
    }
}
