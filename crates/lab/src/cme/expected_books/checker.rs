//! Check that the books of a subscriber are states of the exchange's books, in order.
//!
//! A subscriber may miss states, and may see one again. It may never show another book, nor go back. If two states are
//! equal, the checker matches the earlier one, so a correct subscriber is never reported.

use super::BookState;
use std::collections::{BTreeMap, VecDeque};

/// Comparison of a subscriber's books with the expected books, which arrive while it runs.
#[derive(Clone, Debug)]
pub struct Checker {
    ahead_max: usize,
    books: BTreeMap<i32, Book>,
    right: u64,
    wrong: u64,
    first_wrong: Option<Wrong>,
}

/// One instrument.
#[derive(Clone, Debug, Default)]
struct Book {
    /// States from the last matched one on; earlier ones cannot be seen any more.
    expected: VecDeque<BookState>,
    /// Books of the subscriber that are not found in the expected books so far, in order.
    seen: VecDeque<u64>,
    /// Number of states of `expected` that were compared with the first of `seen`.
    searched: usize,
    last_right: Option<BookState>,
}

/// A shown book that is not a state of the exchange's book, or an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The instrument.
    pub security_id: i32,
    /// Hash of the shown book.
    pub hash: u64,
    /// Last matched state before it.
    pub after: Option<BookState>,
}

/// Result of the comparison so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Books that are states of the exchange's books.
    pub right: u64,
    /// Books that are not: unknown states and steps back.
    pub wrong: u64,
    /// Books that wait for further expected states.
    pub waiting: u64,
    /// The first wrong book.
    pub first_wrong: Option<Wrong>,
}

impl Checker {
    /// A comparison in which the expected states of an instrument may be at most `ahead_max` ahead of a book to be
    /// matched; a book that is not among them is wrong. This bounds the memory and the delay of a result.
    pub fn new(ahead_max: usize) -> Self {
        Self {
            ahead_max: ahead_max.max(1),
            books: BTreeMap::new(),
            right: 0,
            wrong: 0,
            first_wrong: None,
        }
    }

    /// Adds the next expected state.
    pub fn expected(&mut self, state: BookState) {
        let book = self.books.entry(state.security_id).or_default();
        book.expected.push_back(state);
        self.settle(state.security_id);
        let book = self.books.entry(state.security_id).or_default();
        if book.expected.len() <= self.ahead_max {
            return;
        }
        if !book.seen.is_empty() {
            self.condemn(state.security_id);
            self.settle(state.security_id);
        }
        let book = self.books.entry(state.security_id).or_default();
        if book.expected.len() > self.ahead_max {
            book.expected.pop_front();
            book.searched = book.searched.saturating_sub(1);
        }
    }

    /// Adds the next book of an instrument as a subscriber shows it.
    pub fn seen(&mut self, security_id: i32, hash: u64) {
        let book = self.books.entry(security_id).or_default();
        book.seen.push_back(hash);
        self.settle(security_id);
    }

    /// Result so far.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            right: self.right,
            wrong: self.wrong,
            waiting: self.books.values().map(|book| book.seen.len() as u64).sum(),
            first_wrong: self.first_wrong,
        }
    }

    /// Final result: books that still wait are wrong.
    pub fn finish(mut self) -> Verdict {
        let ids: Vec<i32> = self.books.keys().copied().collect();
        for security_id in ids {
            while self.condemn(security_id) {
                self.settle(security_id);
            }
        }
        self.verdict()
    }

    /// Matches the seen books with the expected states, as far as both go.
    fn settle(&mut self, security_id: i32) {
        let book = self.books.entry(security_id).or_default();
        while let Some(&hash) = book.seen.front() {
            let found =
                (book.searched..book.expected.len()).find(|&at| book.expected[at].hash == hash);
            let Some(at) = found else {
                book.searched = book.expected.len();
                return;
            };
            // The state stays in the list: it may be seen again.
            book.expected.drain(..at);
            book.seen.pop_front();
            book.searched = 0;
            book.last_right = book.expected.front().copied();
            self.right += 1;
        }
    }

    /// Marks the first unmatched book as wrong and continues with the next. False if there is none.
    fn condemn(&mut self, security_id: i32) -> bool {
        let book = self.books.entry(security_id).or_default();
        let Some(hash) = book.seen.pop_front() else {
            return false;
        };
        book.searched = 0;
        self.wrong += 1;
        let after = book.last_right;
        self.first_wrong.get_or_insert(Wrong {
            security_id,
            hash,
            after,
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cme::Options;
    use crate::cme::live::{Live, Moment};
    use crate::random::Random;

    fn state(security_id: i32, hash: u64) -> BookState {
        BookState {
            sequence: 0,
            security_id,
            hash,
        }
    }

    fn check(expected_books: &[u64], seen: &[u64]) -> (u64, u64) {
        let mut checker = Checker::new(100);
        expected_books
            .iter()
            .for_each(|&hash| checker.expected(state(1, hash)));
        seen.iter().for_each(|&hash| checker.seen(1, hash));
        let verdict = checker.finish();
        (verdict.right, verdict.wrong)
    }

    #[test]
    fn states_may_be_skipped_or_repeated_and_nothing_else() {
        assert_eq!(check(&[1, 2, 3, 4], &[1, 2, 3, 4]), (4, 0));
        assert_eq!(check(&[1, 2, 3, 4], &[2, 2, 4, 4, 4]), (5, 0));
        assert_eq!(
            check(&[1, 2, 1, 2], &[2, 1, 2]),
            (3, 0),
            "the market came back"
        );
        assert_eq!(check(&[1, 2, 3], &[3, 2]), (1, 1), "a step back");
        assert_eq!(check(&[1, 2, 3], &[1, 9, 2, 9, 3]), (3, 2), "unknown books");
        assert_eq!(check(&[1, 2, 1], &[2, 1, 2]), (2, 1), "too often back");
        assert_eq!(check(&[], &[1]), (0, 1));
    }

    #[test]
    fn instruments_are_checked_separately_and_the_first_wrong_book_is_named() {
        let mut checker = Checker::new(10);
        checker.expected(state(1, 5));
        checker.expected(state(2, 6));
        checker.seen(2, 6);
        checker.seen(1, 6);
        checker.seen(2, 7);
        assert_eq!(checker.verdict().waiting, 2);
        let wrong = Wrong {
            security_id: 1,
            hash: 6,
            after: None,
        };
        let verdict = checker.finish();
        assert_eq!(verdict.first_wrong, Some(wrong));
        assert_eq!((verdict.right, verdict.wrong, verdict.waiting), (1, 2, 0));
    }

    #[test]
    fn a_book_ahead_of_the_expected_books_waits_a_limited_time() {
        let mut checker = Checker::new(10);
        checker.seen(1, 3);
        checker.seen(1, 99);
        for hash in 1..=12 {
            assert_eq!(checker.verdict().wrong, 0, "{hash}");
            checker.expected(state(1, hash));
        }
        let verdict = checker.verdict();
        assert_eq!((verdict.right, verdict.waiting), (1, 1));
        checker.expected(state(1, 13));
        let verdict = checker.verdict();
        assert_eq!((verdict.right, verdict.wrong, verdict.waiting), (1, 1, 0));
        assert_eq!(
            verdict.first_wrong.and_then(|wrong| wrong.after),
            Some(state(1, 3))
        );
        for hash in 100..100_000 {
            checker.expected(state(1, hash));
        }
        assert!(checker.books[&1].expected.len() <= 10, "memory is bounded");
    }

    /// States of an exchange, with a channel reset.
    fn exchange(seed: u64) -> Vec<BookState> {
        let mut live = Live::new(&Options::default(), 2_000.0, seed);
        live.keep_states();
        while live.events() < 600 {
            let elapsed_ns = live.due_ns();
            let now = Moment {
                elapsed_ns,
                wall_ns: elapsed_ns,
            };
            live.step(now);
            if live.events() == 300 {
                live.reset_channel(now);
            }
        }
        std::mem::take(live.states())
    }

    #[test]
    fn any_subset_of_states_is_accepted_and_one_wrong_state_is_found() {
        for seed in crate::random::seeds(20) {
            let mut random = Random::from_seed(seed);
            let expected_books = exchange(seed);
            assert!(expected_books.len() > 600, "seed {seed}");
            let mut seen: Vec<_> = expected_books
                .iter()
                .filter(|_| random.chance(0.4))
                .copied()
                .collect();
            let verdict = compare(&expected_books, &seen, &mut random);
            assert_eq!(
                (verdict.right, verdict.wrong),
                (seen.len() as u64, 0),
                "seed {seed}"
            );
            let at = random.index(seen.len());
            seen[at].hash ^= 1 << random.below(64);
            let verdict = compare(&expected_books, &seen, &mut random);
            assert_eq!(verdict.wrong, 1, "seed {seed}");
            assert_eq!(
                verdict.first_wrong.map(|wrong| wrong.hash),
                Some(seen[at].hash)
            );
        }
    }

    /// Compares with either side ahead at random.
    fn compare(expected_books: &[BookState], seen: &[BookState], random: &mut Random) -> Verdict {
        let mut checker = Checker::new(10_000);
        let (mut expected_books, mut seen) = (expected_books.iter(), seen.iter());
        loop {
            let (from_expected, from_seen) = match random.chance(0.7) {
                true => (expected_books.next(), None),
                false => (None, seen.next()),
            };
            from_expected
                .into_iter()
                .for_each(|state| checker.expected(*state));
            from_seen
                .into_iter()
                .for_each(|state| checker.seen(state.security_id, state.hash));
            if expected_books.len() == 0 && seen.len() == 0 {
                return checker.finish();
            }
        }
    }
}
