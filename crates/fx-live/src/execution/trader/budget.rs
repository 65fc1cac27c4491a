//! Limits of records in the journal: for messages of a bank, the number that its orders explain; and for changes caused
//! by prices. A bank that repeats reports, reports unknown orders, or sends messages of the session some thousand times
//! a second would otherwise fill the journal, and so stop trading with all other banks.

#![cfg_attr(not(test), deny(clippy::disallowed_macros))]

/// Reports without a fill that a message of ours explains: acknowledgements, an end, answers. A report that books a fill costs nothing.
pub(super) const PER_MESSAGE: u64 = 10;
/// Reports that nothing explains, at once: with their journal records of 4 KiB they have room in a tail of 4 MiB.
const BURST: u64 = 200;
/// Reports that nothing explains, a second: with their records a gigabyte a day.
const PER_S: u64 = 1;
/// Messages of our session that no message of the core explains, at once and a second: heartbeats and answers.
const OWN_BURST: u64 = 500;
const OWN_PER_S: u64 = 10;
/// Time, ns: a message of ours explains answers for one to two windows, and as long as its order is open. After that
/// the unused answers expire: a day of orders does not explain a flood in the evening.
const WINDOW_NS: u64 = 1_000_000_000;
/// Time for which a request for all orders explains answers, ns: its answer may be long.
const ALL_NS: u64 = 60_000_000_000;
/// A thousandth of a report is the unit, so that a second divides.
const UNIT: u64 = 1_000;

/// Messages that a bank may still send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    burst: u64,
    per_s: u64,
    left: u64,
    filled_ns: u64,
    /// Answers explained by messages of the present and of the previous window, and the start of the present one.
    explained: [u64; 2],
    window_ns: u64,
    /// Explained by a question for all orders, and until when.
    all: (u64, u64),
}

impl Budget {
    /// Budget of reports that book nothing.
    pub fn of_reports() -> Budget {
        Budget::new(BURST, PER_S)
    }

    /// Budget of changes that prices alone cause.
    pub fn of_prices() -> Budget {
        Budget::new(BURST, PER_S)
    }

    /// Budget of answers of the session itself.
    pub fn of_own_messages() -> Budget {
        Budget::new(OWN_BURST, OWN_PER_S)
    }

    fn new(burst: u64, per_s: u64) -> Budget {
        Budget {
            burst: burst * UNIT,
            per_s,
            left: burst * UNIT,
            filled_ns: 0,
            explained: [0; 2],
            window_ns: 0,
            all: (0, 0),
        }
    }

    /// A message that the bank answers left.
    pub fn grant(&mut self, mono_ns: u64) {
        self.roll(mono_ns);
        self.explained[0] += PER_MESSAGE * UNIT;
        self.left += PER_MESSAGE * UNIT;
    }

    /// A question for all orders left, and the answer may name `orders` of them.
    pub fn grant_all(&mut self, orders: u64, mono_ns: u64) {
        let more = orders * UNIT;
        self.all = (more, mono_ns.saturating_add(ALL_NS));
        self.left += more;
    }

    /// Takes a message without effect; the bank has `open` orders. False: nothing explains it, and the session must end.
    pub fn take(&mut self, open: usize, mono_ns: u64) -> bool {
        self.roll(mono_ns);
        let since_ms = mono_ns.saturating_sub(self.filled_ns) / 1_000_000;
        if since_ms > 0 {
            self.filled_ns = mono_ns;
            let more = since_ms.saturating_mul(self.per_s * UNIT / 1_000);
            let most = self.left.max(self.burst);
            self.left = self.left.saturating_add(more).min(most);
        }
        let of_all = match mono_ns < self.all.1 {
            true => self.all.0,
            false => 0,
        };
        let of_open = open as u64 * PER_MESSAGE * UNIT;
        let explained = self.explained[0] + self.explained[1] + of_open + of_all;
        self.left = self.left.min(self.burst + explained);
        let is_explained = self.left >= UNIT;
        // mutant: execution: a flood of foreign reports does not end the session
        self.left = self.left.saturating_sub(UNIT);
        is_explained
    }

    fn roll(&mut self, mono_ns: u64) {
        let windows = mono_ns.saturating_sub(self.window_ns) / WINDOW_NS;
        if windows > 0 {
            let before = match windows {
                1 => self.explained[0],
                _ => 0,
            };
            self.explained = [0, before];
            self.window_ns = mono_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Takes reports until one is not explained, with this many open orders.
    fn taken(budget: &mut Budget, open: usize, at_ns: u64) -> usize {
        (0..).take_while(|_| budget.take(open, at_ns)).count()
    }

    /// A burst, then one a second; each message of ours explains its answers.
    #[test]
    fn a_bank_may_report_what_our_messages_explain() {
        let mut budget = Budget::of_reports();
        assert_eq!(taken(&mut budget, 0, 0), 200);
        let at_ns = 10 * SECOND_NS;
        assert_eq!(taken(&mut budget, 0, at_ns), 10);
        budget.grant(at_ns);
        assert_eq!(taken(&mut budget, 0, at_ns), 10);
        budget.grant_all(3_000, at_ns);
        assert_eq!(taken(&mut budget, 0, at_ns + 1), 3_000);
        let at_ns = 100_000 * SECOND_NS;
        assert_eq!(taken(&mut budget, 0, at_ns), 200);
        // A bank that answers many orders late.
        (0..100).for_each(|_| budget.grant(at_ns));
        let later_ns = at_ns + 50 * SECOND_NS;
        assert_eq!(taken(&mut budget, 100, later_ns), 1_000);
    }

    /// Unused answers of the day's orders expire when the orders have ended; so do those of an old request.
    #[test]
    fn orders_that_have_ended_explain_no_flood() {
        let mut budget = Budget::of_reports();
        budget.grant_all(50_000, 0);
        for order in 0..10_000 {
            budget.grant(order * SECOND_NS / 10);
        }
        let at_ns = 1_000 * SECOND_NS;
        // Twenty orders of the last two seconds at most.
        let left = taken(&mut budget, 0, at_ns);
        assert!((200..=400).contains(&left), "{left}");
        let later_ns = at_ns + 1_000 * SECOND_NS;
        assert_eq!(taken(&mut budget, 0, later_ns), 200);
    }
}
