//! Gap in the counterparty's numbers, with its resend request.

/// Gap request: requested numbers, time of the request, and number of repetitions.
///
/// Invariant: the expected number is not beyond the end of the gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct GapRequest {
    awaited: Option<Awaited>,
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// The last number known to be missing.
    last: u64,
    at_ns: u64,
    times: u32,
    /// The expected number at the time of the request.
    expected: u64,
}

/// Action for a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// None yet.
    Nothing,
    /// Request again up to this number, for the `times`-th time.
    Request {
        /// The last number known to be missing.
        last: u64,
        /// Number of requests without progress, this one included.
        times: u32,
    },
    /// All requests were sent.
    GiveUp,
}

/// Resend requests for one gap before the session gives up.
const REQUESTS_MAX: u32 = 3;

impl GapRequest {
    /// No open request.
    pub fn clear(&mut self) {
        self.awaited = None;
    }

    /// Whether a gap is open while this number is expected.
    pub fn is_open(&self, next_in: u64) -> bool {
        self.last(next_in).is_some()
    }

    /// The last number of the gap that is open while this number is expected.
    pub fn last(&self, next_in: u64) -> Option<u64> {
        let last = self.awaited.map(|awaited| awaited.last);
        last.filter(|last| *last >= next_in)
    }

    /// Records a request of everything from `expected` on; `last` is known to be missing.
    pub fn requested(&mut self, expected: u64, last: u64, times: u32, now_ns: u64) {
        assert!(
            expected <= last,
            "gap request: what is requested is missing"
        );
        assert!(
            (1..=REQUESTS_MAX).contains(&times),
            "gap request: repeated so often and no more"
        );
        self.awaited = Some(Awaited {
            last,
            at_ns: now_ns,
            times,
            expected,
        });
    }

    /// The action while this number is expected; `wait_ns` is the time for a request to make progress.
    pub fn due(&mut self, next_in: u64, now_ns: u64, wait_ns: u64) -> Due {
        let Some(awaited) = self.awaited else {
            return Due::Nothing;
        };
        if awaited.last < next_in {
            self.awaited = None;
            return Due::Nothing;
        }
        if now_ns.saturating_sub(awaited.at_ns) < wait_ns {
            return Due::Nothing;
        }
        // Any progress starts the count again, however slow it is.
        let times = match awaited.expected < next_in {
            true => 1,
            false => awaited.times + 1,
        };
        match times <= REQUESTS_MAX {
            true => Due::Request {
                last: awaited.last,
                times,
            },
            false => Due::GiveUp,
        }
    }

    /// Time of the next action, by the monotonic clock.
    pub fn next_timeout(&self, next_in: u64, wait_ns: u64) -> Option<u64> {
        let awaited = self.awaited.filter(|awaited| awaited.last >= next_in)?;
        Some(awaited.at_ns.saturating_add(wait_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: u64 = 30;

    fn requested(times: u32) -> GapRequest {
        let mut gap = GapRequest::default();
        gap.requested(5, 9, times, 100);
        gap
    }

    #[test]
    fn a_gap_is_open_until_its_last_message_arrives() {
        let mut gap = requested(1);
        assert!(gap.is_open(5) && gap.is_open(9) && !gap.is_open(10));
        assert_eq!(gap.due(10, 1_000, WAIT), Due::Nothing);
        assert!(!gap.is_open(5), "and then it is forgotten");
    }

    #[test]
    fn a_gap_without_progress_is_requested_twice_more_and_given_up() {
        let again = |times| Due::Request { last: 9, times };
        assert_eq!(requested(1).next_timeout(5, WAIT), Some(130));
        assert_eq!(requested(1).due(5, 129, WAIT), Due::Nothing);
        assert_eq!(requested(1).due(5, 130, WAIT), again(2));
        assert_eq!(requested(2).due(5, 130, WAIT), again(3));
        assert_eq!(requested(3).due(5, 130, WAIT), Due::GiveUp);
    }

    #[test]
    fn progress_restarts_the_count_of_requests() {
        let again = Due::Request { last: 9, times: 1 };
        assert_eq!(requested(3).due(6, 130, WAIT), again);
    }

    #[test]
    #[should_panic(expected = "what is requested is missing")]
    fn requesting_an_empty_range_panics() {
        GapRequest::default().requested(5, 4, 1, 0);
    }
}
