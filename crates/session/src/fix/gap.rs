//! A gap in the counterparty's numbers, which was requested and has not come.

/// Gap request: the requested numbers, the time, and the number of repetitions.
///
/// Invariant: what is awaited is not expected behind its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct GapRequest {
    awaited: Option<Awaited>,
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// The last number that is known to be missing.
    last: u64,
    at_ns: u64,
    times: u32,
    /// The number that was expected then.
    expected: u64,
}

/// What is to be done about a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// It is requested again: up to this number, for the time that `times` says.
    Request {
        /// The last number that is known to be missing.
        last: u64,
        /// How often it will have been requested without anything coming.
        times: u32,
    },
    /// It was requested often enough.
    GiveUp,
}

/// Resend requests for one gap before the session gives up.
const REQUESTS_MAX: u32 = 3;

impl GapRequest {
    /// Nothing is awaited.
    pub fn clear(&mut self) {
        self.awaited = None;
    }

    /// Whether something is awaited, where this number is expected.
    pub fn is_open(&self, next_in: u64) -> bool {
        self.awaited.is_some_and(|awaited| awaited.last >= next_in)
    }

    /// Everything from `expected` on was requested; `last` is known to be missing.
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

    /// What is to be done, where this number is expected and a request has so long to bring something.
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
        // What comes slowly is coming.
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

    /// When something is to be done at the earliest, by the steady clock.
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
    fn a_gap_is_open_until_its_last_number_came() {
        let mut gap = requested(1);
        assert!(gap.is_open(5) && gap.is_open(9) && !gap.is_open(10));
        assert_eq!(gap.due(10, 1_000, WAIT), Due::Nothing);
        assert!(!gap.is_open(5), "and then it is forgotten");
    }

    #[test]
    fn nothing_came_it_is_requested_twice_more_and_given_up() {
        let again = |times| Due::Request { last: 9, times };
        assert_eq!(requested(1).next_timeout(5, WAIT), Some(130));
        assert_eq!(requested(1).due(5, 129, WAIT), Due::Nothing);
        assert_eq!(requested(1).due(5, 130, WAIT), again(2));
        assert_eq!(requested(2).due(5, 130, WAIT), again(3));
        assert_eq!(requested(3).due(5, 130, WAIT), Due::GiveUp);
    }

    #[test]
    fn what_comes_slowly_is_coming() {
        let again = Due::Request { last: 9, times: 1 };
        assert_eq!(requested(3).due(6, 130, WAIT), again);
    }

    #[test]
    #[should_panic(expected = "what is requested is missing")]
    fn nothing_is_requested_that_came() {
        GapRequest::default().requested(5, 4, 1, 0);
    }
}
