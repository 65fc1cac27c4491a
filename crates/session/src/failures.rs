//! Failures of a connection that is made again and again: how often the same one in a row, and how long a pause may be.

/// Equal failures in a row from which on they are a repeated failure.
const SAME: u32 = 3;
/// A connection that lasted as long ends a row of failures.
const LASTING_NS: u64 = 3_600_000_000_000;
/// Longest pause behind a repeated failure, if none longer is configured.
const PAUSE_NS: u64 = 60_000_000_000;

/// Equal failures in a row.
#[derive(Debug, Default)]
pub struct Failures {
    reason: String,
    count: u32,
}

impl Failures {
    /// Adds a failure of a connection that lasted this long; its reason is compared without digits. Returns the number
    /// of equal failures in a row if it must be logged: the third, and then each time the number has doubled.
    pub fn add(&mut self, reason: &str, lasted_ns: u64) -> Option<u32> {
        // Sequence numbers in a text differ with each failure.
        let is_letter = |letter: &char| !letter.is_ascii_digit();
        let reason: String = reason.chars().filter(is_letter).collect();
        if self.reason != reason || lasted_ns >= LASTING_NS {
            self.reason = reason;
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        let is_told = self.count.is_multiple_of(SAME) && (self.count / SAME).is_power_of_two();
        is_told.then_some(self.count)
    }

    /// Longest pause before the next connection, of which this one is configured. Behind a repeated failure it is a minute at
    /// least: the venue will probably answer the same again.
    pub fn pause_max_ns(&self, configured_ns: u64) -> u64 {
        match self.count >= SAME {
            true => configured_ns.max(PAUSE_NS),
            false => configured_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_equal_failure_is_told_and_then_twice_as_many() {
        let mut failures = Failures::default();
        let told: Vec<u32> = (0..25)
            .filter_map(|number| failures.add(&format!("expecting {number}"), 5))
            .collect();
        assert_eq!(told, [3, 6, 12, 24]);
        assert_eq!(failures.pause_max_ns(5), PAUSE_NS);
        assert_eq!(failures.pause_max_ns(2 * PAUSE_NS), 2 * PAUSE_NS);
        assert_eq!(failures.add("other", 5), None);
        assert_eq!(failures.pause_max_ns(5), 5);
        assert_eq!(failures.add("other", 5), None);
        assert_eq!(failures.add("other", LASTING_NS), None, "it had worked");
        assert_eq!(failures.add("other", 5), None);
        assert_eq!(failures.add("other", 5), Some(3));
    }
}
