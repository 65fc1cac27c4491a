//! Number of messages of a bank that its orders explain. A bank that repeats reports, reports unknown orders, or sends messages of the
//! session, some thousand times a second would fill the journal, and stop the trade with all other banks.

/// Reports that a message of ours explains: acknowledgements, fills in parts, answers. A report that books a fill costs nothing.
const PER_MESSAGE: u64 = 50;
/// Reports that nothing explains, at once: with their journal records of 4 KiB they have room in a tail of 4 MiB.
const BURST: u64 = 200;
/// Reports that nothing explains, a second: with their records a gigabyte a day.
const PER_S: u64 = 1;
/// Messages of our session that no message of the core explains, at once and a second: heartbeats and answers.
const OWN_BURST: u64 = 500;
const OWN_PER_S: u64 = 10;
/// The budget does not grow beyond this.
const MOST: u64 = 100_000;
/// A thousandth of a report is the unit, so that a second divides.
const UNIT: u64 = 1_000;

/// Messages that a bank may still send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    burst: u64,
    per_s: u64,
    left: u64,
    filled_ns: u64,
}

impl Budget {
    /// Of reports that book nothing.
    pub fn of_reports() -> Budget {
        Budget::new(BURST, PER_S)
    }

    /// Of answers of the session itself.
    pub fn of_own_messages() -> Budget {
        Budget::new(OWN_BURST, OWN_PER_S)
    }

    fn new(burst: u64, per_s: u64) -> Budget {
        Budget {
            burst,
            per_s,
            left: burst * UNIT,
            filled_ns: 0,
        }
    }

    /// A message that the bank answers left, and it may name `orders` orders in its answer.
    pub fn grant(&mut self, orders: u64) {
        let more = (PER_MESSAGE + orders).saturating_mul(UNIT);
        self.left = self.left.saturating_add(more).min(MOST * UNIT);
    }

    /// Takes a message without effect. False: nothing explains it, and the session must end.
    pub fn take(&mut self, mono_ns: u64) -> bool {
        let since_ms = mono_ns.saturating_sub(self.filled_ns) / 1_000_000;
        if since_ms > 0 {
            self.filled_ns = mono_ns;
            let more = since_ms.saturating_mul(self.per_s * UNIT / 1_000);
            let most = self.left.max(self.burst * UNIT);
            self.left = self.left.saturating_add(more).min(most);
        }
        let is_explained = self.left >= UNIT;
        // mutant: execution: a flood of foreign reports does not end the session
        self.left = self.left.saturating_sub(UNIT);
        is_explained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Takes reports until one is not explained.
    fn taken(budget: &mut Budget, at_ns: u64) -> usize {
        (0..).take_while(|_| budget.take(at_ns)).count()
    }

    /// A burst, then one a second; each message of ours explains its answers.
    #[test]
    fn a_bank_may_report_what_our_messages_explain() {
        let mut budget = Budget::of_reports();
        assert_eq!(taken(&mut budget, 0), 200);
        assert_eq!(taken(&mut budget, 10 * SECOND_NS), 10);
        budget.grant(0);
        assert_eq!(taken(&mut budget, 10 * SECOND_NS), 50);
        budget.grant(3_000);
        assert_eq!(taken(&mut budget, 10 * SECOND_NS), 3_050);
        assert_eq!(taken(&mut budget, 100_000 * SECOND_NS), 200);
        (0..10_000).for_each(|_| budget.grant(0));
        assert_eq!(taken(&mut budget, 100_000 * SECOND_NS), 100_000);
    }
}
