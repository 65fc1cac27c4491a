//! Login throttle: addresses with repeated failed Logons wait, longer each time.

use std::net::Ipv4Addr;

/// Limits of failed Logons.
#[derive(Clone, Copy, Debug)]
pub struct ThrottleLimits {
    /// Failed Logons of an address without a pause.
    pub failures_free: u32,
    /// Pause after the next failure, nanoseconds; doubled by each further one.
    pub pause_ns: u64,
    /// Maximum pause, nanoseconds.
    pub pause_ns_max: u64,
    /// Number of addresses stored, at least 1. A further address replaces the one with the oldest failure.
    pub addresses_max: usize,
}

impl Default for ThrottleLimits {
    fn default() -> ThrottleLimits {
        ThrottleLimits {
            failures_free: 5,
            pause_ns: 1_000_000_000,
            pause_ns_max: 60_000_000_000,
            addresses_max: 1_024,
        }
    }
}

impl ThrottleLimits {
    /// Pause after this number of failures.
    fn pause_ns(&self, failures: u32) -> u64 {
        match failures.checked_sub(self.failures_free.saturating_add(1)) {
            None => 0,
            Some(doublings) => {
                let pause_ns = self.pause_ns.saturating_mul(1 << doublings.min(63));
                pause_ns.min(self.pause_ns_max)
            }
        }
    }
}

/// Login throttle: addresses with failed Logons. All memory is allocated at the start.
#[derive(Debug)]
pub struct LoginThrottle {
    throttle_limits: ThrottleLimits,
    rows: Vec<Row>,
}

/// One address.
#[derive(Clone, Copy, Debug)]
struct Row {
    from: Ipv4Addr,
    /// Failures without a long quiet time between them; successes do not reset them.
    failures: u32,
    /// Time of the last failure.
    failed_ns: u64,
    /// End of the pause.
    until_ns: u64,
}

/// An address without a failure for this number of maximum pauses starts again at zero. A success does not reset it:
/// otherwise a legitimate counterparty could try other names without limit, with its own between them.
const QUIET_PAUSES: u64 = 10;

impl LoginThrottle {
    /// No failures.
    pub fn new(throttle_limits: ThrottleLimits) -> LoginThrottle {
        LoginThrottle {
            rows: Vec::with_capacity(throttle_limits.addresses_max.max(1)),
            throttle_limits,
        }
    }

    /// Whether an address is throttled; its bytes are not read.
    pub fn is_waiting(&self, from: Ipv4Addr, now_ns: u64) -> bool {
        let row = self.rows.iter().find(|row| row.from == from);
        row.is_some_and(|row| now_ns < row.until_ns)
    }

    /// Records a failed Logon of this address.
    pub fn failed(&mut self, from: Ipv4Addr, now_ns: u64) {
        let (throttle_limits, row) = (self.throttle_limits, self.row(from, now_ns));
        let quiet_ns = now_ns.saturating_sub(row.failed_ns);
        if quiet_ns >= throttle_limits.pause_ns_max.saturating_mul(QUIET_PAUSES) {
            row.failures = 0;
        }
        row.failures = row.failures.saturating_add(1);
        row.failed_ns = now_ns;
        row.until_ns = now_ns.saturating_add(throttle_limits.pause_ns(row.failures));
    }

    /// The row of an address, which may replace another address.
    fn row(&mut self, from: Ipv4Addr, now_ns: u64) -> &mut Row {
        let new = Row {
            from,
            failures: 0,
            failed_ns: now_ns,
            until_ns: 0,
        };
        let known = self.rows.iter().position(|row| row.from == from);
        let place = known.unwrap_or_else(|| {
            if self.rows.len() < self.throttle_limits.addresses_max.max(1) {
                self.rows.push(new);
                return self.rows.len() - 1;
            }
            let oldest = (0..self.rows.len()).min_by_key(|place| self.rows[*place].failed_ns);
            let place = oldest.unwrap_or(0);
            self.rows[place] = new;
            place
        });
        &mut self.rows[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use touchline_lab::random::{Random, seeds};

    const S: u64 = 1_000_000_000;

    fn address(number: u32) -> Ipv4Addr {
        Ipv4Addr::from(0x7f00_0000 + number)
    }

    /// Fails repeatedly, each time at the end of the pause, and returns the pauses in seconds.
    fn pauses_s(
        login_throttle: &mut LoginThrottle,
        from: Ipv4Addr,
        times: u32,
        now_ns: &mut u64,
    ) -> Vec<u64> {
        let mut pause = || {
            login_throttle.failed(from, *now_ns);
            let start_ns = *now_ns;
            while login_throttle.is_waiting(from, *now_ns) {
                *now_ns += S / 2;
            }
            (*now_ns - start_ns) / S
        };
        (0..times).map(|_| pause()).collect()
    }

    #[test]
    fn pauses_start_after_some_failures_and_double_up_to_the_maximum() {
        let (mut login_throttle, mut now_ns) = (LoginThrottle::new(ThrottleLimits::default()), S);
        let took = pauses_s(&mut login_throttle, address(1), 14, &mut now_ns);
        assert_eq!(took, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        // The last nanosecond of a pause belongs to it; the next one does not.
        login_throttle.failed(address(1), now_ns);
        assert!(login_throttle.is_waiting(address(1), now_ns + 60 * S - 1));
        assert!(!login_throttle.is_waiting(address(1), now_ns + 60 * S));
    }

    #[test]
    fn failures_are_forgotten_after_a_long_pause() {
        let (mut login_throttle, mut now_ns) = (LoginThrottle::new(ThrottleLimits::default()), S);
        let anew = [0, 0, 0, 0, 0, 1, 2];
        assert_eq!(
            pauses_s(&mut login_throttle, address(1), 7, &mut now_ns),
            anew
        );
        // The last failure was two seconds ago.
        now_ns += 598 * S - 1;
        assert_eq!(
            pauses_s(&mut login_throttle, address(1), 1, &mut now_ns),
            [4]
        );
        now_ns += 596 * S;
        assert_eq!(
            pauses_s(&mut login_throttle, address(1), 7, &mut now_ns),
            anew
        );
    }

    #[test]
    fn a_pause_applies_to_one_address() {
        let (mut login_throttle, mut now_ns) = (LoginThrottle::new(ThrottleLimits::default()), S);
        pauses_s(&mut login_throttle, address(1), 9, &mut now_ns);
        login_throttle.failed(address(1), now_ns);
        login_throttle.failed(address(2), now_ns);
        for (number, is_waiting) in [(0, false), (1, true), (2, false), (3, false)] {
            assert_eq!(
                login_throttle.is_waiting(address(number), now_ns),
                is_waiting
            );
        }
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_addresses() {
        let throttle_limits = ThrottleLimits {
            failures_free: 0,
            addresses_max: 8,
            ..ThrottleLimits::default()
        };
        let mut login_throttle = LoginThrottle::new(throttle_limits);
        let room = login_throttle.rows.capacity();
        for number in 0..100_000 {
            login_throttle.failed(address(number), S + u64::from(number));
        }
        assert_eq!(
            (login_throttle.rows.len(), login_throttle.rows.capacity()),
            (8, room)
        );
        // The latest addresses are stored.
        let now_ns = S + 100_000;
        let is_waiting = |number: &u32| login_throttle.is_waiting(address(*number), now_ns);
        let waiting: Vec<u32> = (0..100_000).filter(is_waiting).collect();
        assert_eq!(waiting, (99_992..100_000).collect::<Vec<_>>());
    }

    /// Model: a row for each address, without a limit. It behaves the same while there is room.
    #[test]
    fn a_random_sequence_equals_an_unlimited_map() {
        let (mut waited, mut passed) = (0, 0);
        for seed in seeds(200) {
            let mut random = Random::from_seed(seed);
            let throttle_limits = ThrottleLimits {
                failures_free: random.below(4) as u32,
                pause_ns: 1 + random.below(100),
                pause_ns_max: 100 + random.below(1_000),
                addresses_max: 6,
            };
            let mut login_throttle = LoginThrottle::new(throttle_limits);
            let mut plain: HashMap<Ipv4Addr, (u32, u64, u64)> = HashMap::new();
            let mut now_ns = 1;
            for _ in 0..500 {
                let longest_ns = if random.chance(0.02) { 20_000 } else { 200 };
                now_ns += random.below(longest_ns);
                let from = address(random.below(6) as u32);
                let row = plain.entry(from).or_insert((0, now_ns, 0));
                let is_waiting = now_ns < row.2;
                assert_eq!(
                    login_throttle.is_waiting(from, now_ns),
                    is_waiting,
                    "seed {seed}"
                );
                waited += u32::from(is_waiting);
                passed += u32::from(!is_waiting);
                if now_ns - row.1 >= 10 * throttle_limits.pause_ns_max {
                    row.0 = 0;
                }
                let mut pause_ns = throttle_limits.pause_ns;
                for _ in throttle_limits.failures_free..row.0 {
                    pause_ns = (2 * pause_ns).min(throttle_limits.pause_ns_max);
                }
                row.0 += 1;
                if row.0 <= throttle_limits.failures_free {
                    pause_ns = 0;
                }
                (row.1, row.2) = (now_ns, now_ns + pause_ns);
                login_throttle.failed(from, now_ns);
            }
        }
        assert!(waited > 1_000 && passed > 1_000, "{waited} {passed}");
    }
}
