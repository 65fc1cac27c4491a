//! Serving of resend requests.

use std::ops::Range;

/// Open resend request. New messages wait behind it, in the store.
///
/// Invariants: the next number is at most one after the last; a gap starts before the next number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resend {
    under_way: Option<UnderWay>,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    next: u64,
    last: u64,
    /// Start of the numbers before `next` that are covered by one gap fill.
    gap: Option<u64>,
}

/// Next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read the message of this number, then call [`Resend::sent`] or [`Resend::skipped`].
    Look(u64),
    /// End: the rest of the numbers to be covered by a gap fill.
    End(Option<Range<u64>>),
}

impl Resend {
    /// No open request.
    pub fn clear(&mut self) {
        self.under_way = None;
    }

    /// Whether a request is open.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Opens a request for numbers `first` to `last`. A request during another one is merged with it, from the lower of
    /// both numbers on.
    pub fn request(&mut self, first: u64, last: u64) {
        assert!(
            first <= last,
            "resend: the last number is not before the first"
        );
        let (mut next, mut end) = (first, last);
        if let Some(before) = self.under_way {
            next = next.min(before.gap.unwrap_or(before.next));
            end = end.max(before.last);
        }
        self.under_way = Some(UnderWay {
            next,
            last: end,
            gap: None,
        });
    }

    /// No number of the open request is resent: one gap fill covers the rest.
    pub fn skip_all(&mut self) {
        if let Some(under_way) = &mut self.under_way
            && under_way.next <= under_way.last
        {
            under_way.gap.get_or_insert(under_way.next);
            under_way.next = under_way.last + 1;
        }
    }

    /// The next step; `None`: no open request.
    pub fn next(&mut self) -> Option<Next> {
        let under_way = self.under_way?;
        if under_way.next <= under_way.last {
            return Some(Next::Look(under_way.next));
        }
        self.under_way = None;
        Some(Next::End(under_way.gap.map(|first| first..under_way.next)))
    }

    /// The message is resent. Returns the numbers before it for a gap fill.
    pub fn sent(&mut self) -> Option<Range<u64>> {
        let under_way = self.looked_at();
        let number = under_way.next;
        under_way.next += 1;
        under_way.gap.take().map(|first| first..number)
    }

    /// The message is not resent: a gap fill will cover its number.
    pub fn skipped(&mut self) {
        let under_way = self.looked_at();
        let number = under_way.next;
        under_way.gap.get_or_insert(number);
        under_way.next += 1;
    }

    fn looked_at(&mut self) -> &mut UnderWay {
        match &mut self.under_way {
            Some(under_way) if under_way.next <= under_way.last => under_way,
            _ => panic!("resend: only a number that was asked for is looked at"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves the open request: resent messages by number, gap fills as ranges.
    fn serve(resend: &mut Resend, is_sent: impl Fn(u64) -> bool) -> Vec<Range<u64>> {
        let mut said = Vec::new();
        while let Some(next) = resend.next() {
            match next {
                Next::Look(number) if is_sent(number) => {
                    said.extend(resend.sent());
                    said.push(number..number);
                }
                Next::Look(_) => resend.skipped(),
                Next::End(fill) => said.extend(fill),
            }
        }
        said
    }

    #[test]
    fn consecutive_numbers_are_one_gap_fill() {
        let mut resend = Resend::default();
        resend.request(1, 7);
        let said = serve(&mut resend, |number| matches!(number, 3 | 4));
        assert_eq!(said, [1..3, 3..3, 4..4, 5..8]);
        assert!(!resend.is_under_way());
    }

    #[test]
    fn a_request_during_a_resend_continues_from_the_lower_number() {
        let mut resend = Resend::default();
        resend.request(1, 4);
        assert_eq!(resend.next(), Some(Next::Look(1)));
        assert_eq!(resend.sent(), None);
        // Number 2 was read and is not filled yet.
        resend.skipped();
        resend.request(4, 6);
        assert_eq!(serve(&mut resend, |_| true), [2..2, 3..3, 4..4, 5..5, 6..6]);
        resend.request(5, 6);
        resend.request(2, 3);
        assert_eq!(serve(&mut resend, |_| false), [Range { start: 2, end: 7 }]);
    }

    #[test]
    fn a_request_for_messages_that_are_not_stored_is_answered_with_one_gap_fill() {
        let mut resend = Resend::default();
        resend.skip_all();
        assert_eq!(resend.next(), None);
        resend.request(3, 20_000);
        resend.skip_all();
        assert_eq!(resend.next(), Some(Next::End(Some(3..20_001))));
        assert!(!resend.is_under_way());
    }

    #[test]
    #[should_panic(expected = "only a number that was asked for")]
    fn only_requested_messages_are_resent() {
        Resend::default().skipped();
    }
}
