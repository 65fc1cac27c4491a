//! Attempts to connect: the pauses between them, and the failures that are reported.

use touchline_net::Backoff;
use touchline_net::stream::Error;
use touchline_session::Failures;
use touchline_types::ReceiveTime;

/// Interval at which attempts that fail for the same reason are logged.
const FAILED_AGAIN_NS: u64 = 60_000_000_000;
/// A bank that must be cut gets the longest pause.
const FAILURES_OF_A_CUT: u32 = 16;

/// Attempts that failed and sessions that soon ended, since the last session that lasted.
pub(super) struct Attempts {
    /// Backoff whose longest pause is as configured, or longer while the session ends for the same reason.
    backoff: Backoff,
    /// The longest pause as configured.
    longest_ns: u64,
    /// Sessions that ended for the same reason, in a row.
    repeated: Failures,
    /// Why the last attempt failed, until it was reported.
    failed: Option<Error>,
    /// The last reported failure, and when.
    told: Option<(Error, u64)>,
}

impl Attempts {
    /// Pauses from the shortest to the longest.
    pub fn new(shortest_ns: u64, longest_ns: u64) -> Attempts {
        Attempts {
            backoff: Backoff::new(shortest_ns, longest_ns),
            longest_ns,
            repeated: Failures::default(),
            failed: None,
            told: None,
        }
    }

    /// The session opens or closes by its hours: earlier failures do not count.
    pub fn forget(&mut self) {
        self.backoff.set_longest_ns(self.longest_ns);
        self.backoff.succeeded();
        self.repeated = Failures::default();
        (self.failed, self.told) = (None, None);
    }

    /// Whether the next attempt is due.
    pub fn is_due(&self, mono_ns: u64) -> bool {
        self.backoff.is_due(mono_ns)
    }

    /// The session logged on: the next failure is news.
    pub fn logged_on(&mut self) {
        self.told = None;
    }

    /// Notes that a connection failed. A bank that cannot be reached may be back at any time.
    pub fn failed(&mut self, why: Error, time: ReceiveTime) {
        self.wait(time, self.longest_ns);
        self.failed = Some(why);
    }

    /// Notes that a session that was up for this time has ended, by us or by the bank. Returns how often it ended for
    /// this reason in a row, if the log must report this.
    ///
    /// A bank that accepts and soon closes would otherwise cost a handshake after each of the shortest pauses.
    pub fn ended(
        &mut self,
        why: &str,
        up_ns: Option<u64>,
        is_cut: bool,
        time: ReceiveTime,
    ) -> Option<u32> {
        if up_ns.is_some_and(|up_ns| up_ns >= self.backoff.longest_ns()) {
            self.backoff.succeeded();
        }
        if is_cut {
            self.backoff.set_failures(FAILURES_OF_A_CUT);
        }
        let count = self.repeated.add(why, up_ns.unwrap_or(0));
        self.wait(time, self.repeated.pause_max_ns(self.longest_ns));
        count
    }

    /// The failure of the last attempt, and the number of attempts, unless the same one was reported less than a minute before.
    pub fn take_failure(&mut self, time: ReceiveTime) -> Option<(Error, u32)> {
        let why = self.failed.take()?;
        let is_known = self.told.is_some_and(|(told, at_ns)| {
            told == why && time.mono_ns < at_ns.saturating_add(FAILED_AGAIN_NS)
        });
        if is_known {
            return None;
        }
        self.told = Some((why, time.mono_ns));
        Some((why, self.backoff.failures()))
    }

    /// Time until the next attempt, milliseconds.
    pub fn retry_ms(&self, time: ReceiveTime) -> u64 {
        self.backoff.left_ns(time.mono_ns) / 1_000_000
    }

    /// Pauses before the next attempt, longer after each that failed.
    fn wait(&mut self, time: ReceiveTime, longest_ns: u64) {
        assert!(
            longest_ns >= self.longest_ns,
            "a pause is not limited below the configured longest one"
        );
        self.backoff.set_longest_ns(longest_ns);
        self.backoff.failed(time.mono_ns);
    }
}
