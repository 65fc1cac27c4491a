//! Span: the sequence numbers of a packet.

/// Consecutive sequence numbers of a packet: the first one and their count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First number.
    pub first: u64,
    /// Count; 0 for a packet without messages.
    pub count: u64,
}

impl Span {
    /// A single number, for venues that number packets and not messages.
    #[inline]
    #[must_use]
    pub fn one(number: u64) -> Span {
        Span {
            first: number,
            count: 1,
        }
    }

    /// The number after the last one; at most the highest of 64 bits.
    #[inline]
    #[must_use]
    pub fn end(self) -> u64 {
        self.first.saturating_add(self.count)
    }

    /// Whether the span contains a number.
    #[inline]
    #[must_use]
    pub fn contains(self, number: u64) -> bool {
        (self.first..self.end()).contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_behind_its_last_number() {
        let span = Span {
            first: 1 << 40,
            count: 3,
        };
        assert_eq!(span.end(), (1 << 40) + 3);
        assert!(
            span.contains(1 << 40) && span.contains((1 << 40) + 2) && !span.contains(span.end())
        );
        assert!(!Span { first: 7, count: 0 }.contains(7));
        let last = Span {
            first: u64::MAX - 1,
            count: 9,
        };
        assert_eq!(last.end(), u64::MAX, "nothing is behind the last number");
    }
}
