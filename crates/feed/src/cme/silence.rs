//! Silence of the incremental feed, and of a whole channel: no packet of any of its groups, lines, snapshots and definitions
//! included.
//!
//! The groups of snapshots and definitions repeat without end, whether the market is open, quiet or closed. So a channel whose
//! groups repeat is never silent for long, and the limit follows from the rate at which they do. The incremental feed alone
//! shows much less: its heartbeats are half a minute apart.

use super::counters::Counters;
use super::settings::{FeedType, Settings};
use crate::health::{ChannelHealth, Condition};

/// Times the longest interval between two packets of the repeating groups, below which no silence is declared.
const INTERVALS: u64 = 2;

/// An interval is remembered for this many times its length, and at least for [`MEMORY_MIN_NS`].
const MEMORY: u64 = 16;

/// Longest cycle of which pauses of any length are remembered: a long burst comes between two of them.
const MEMORY_MIN_NS: u64 = 120_000_000_000;

/// Intervals that would raise the limit, of about the same length and each within the memory of the one before, which are the groups'
/// new rate rather than interruptions. None of them is an outage: the first packet after it is the next one of its group, and the
/// incremental feed has lost no packet in it.
const CONFIRMATIONS: u32 = 8;

/// Times the longest interval, and part of the shortest limit, for which packets must have come before their rate is known. Short:
/// until then only the incremental feed's own timeout ends the books of a dead exchange.
const LEARNED: u64 = 4;

/// When packets of the channel came, and how long their absence is normal. All times are of the monotonic clock.
///
/// Invariant: no time is later than the packet that was recorded last.
#[derive(Debug)]
pub struct Silence {
    /// Shortest limit; `u64::MAX`: no limit at all.
    setting_ns: u64,
    /// Limit of the incremental feed alone.
    stale_ns: u64,
    /// Last packet of the incremental feed; 0 before the first.
    activity_ns: u64,
    /// First packet of a repeating group since their rate was last unknown; 0 if none came.
    begun_ns: u64,
    /// Last packet of a repeating group.
    repeated_ns: u64,
    /// Last packet of a repeating group that came after at least half of the longest interval.
    confirmed_ns: u64,
    /// Longest interval between two packets of the repeating groups.
    longest_ns: u64,
    /// The rate is known: packets came for long enough.
    is_known: bool,
    /// Last interval that would have raised the limit, and how many in a row were like it.
    interruption: Interruption,
    /// Last packet of each repeating group, by its number: a cycle begins with 1.
    numbers: [u32; 3],
    /// Highest number of the incremental feed that arrived.
    newest: u32,
    /// The same when the last packet of a repeating group arrived.
    newest_repeated: u32,
    /// First number of the last loss of the incremental feed.
    lost: u32,
    /// First snapshot that shows a later number, since the last packet of the incremental feed; 0 if none does.
    ahead_ns: u64,
}

/// An interval that would raise the limit.
#[derive(Clone, Copy, Debug, Default)]
struct Interruption {
    length_ns: u64,
    ended_ns: u64,
    alike: u32,
    /// Highest number of the incremental feed that had arrived when it began, and when it ended.
    newest: [u32; 2],
}

impl Interruption {
    /// Whether a loss that begins with this number shows that the venue went on sending.
    fn has(&self, lost: u32) -> bool {
        let [before, after] = self.newest;
        lost > before && lost <= after.saturating_add(1)
    }
}

impl Silence {
    /// A channel that was not heard yet.
    pub fn new(settings: &Settings) -> Silence {
        Silence {
            setting_ns: settings.silence_ns,
            stale_ns: settings.stale_ns,
            activity_ns: 0,
            begun_ns: 0,
            repeated_ns: 0,
            confirmed_ns: 0,
            longest_ns: 0,
            is_known: false,
            interruption: Interruption::default(),
            numbers: [0; 3],
            newest: 0,
            newest_repeated: 0,
            lost: 0,
            ahead_ns: 0,
        }
    }

    /// Limit of the channel as its groups repeat now; `None` while they do not, or their rate is unknown.
    pub fn limit_ns(&self) -> Option<u64> {
        let limit_ns = self.longest_ns.saturating_mul(INTERVALS);
        (self.is_known && self.setting_ns < u64::MAX).then(|| limit_ns.max(self.setting_ns))
    }

    /// How long an interval of this length is remembered.
    fn memory_ns(length_ns: u64) -> u64 {
        length_ns.saturating_mul(MEMORY).max(MEMORY_MIN_NS)
    }

    /// Packet `number` of a group that repeats came.
    pub fn repeated(&mut self, feed: FeedType, number: u32, now_ns: u64) {
        if self.setting_ns == u64::MAX {
            return;
        }
        let has_skipped = self.skips(feed, number);
        self.interval(has_skipped, now_ns);
        self.newest_repeated = self.newest;
    }

    /// Whether packets of the group are missing before this one.
    fn skips(&mut self, feed: FeedType, number: u32) -> bool {
        let last = match feed {
            FeedType::Snapshot => &mut self.numbers[0],
            FeedType::SnapshotOrders => &mut self.numbers[1],
            _ => &mut self.numbers[2],
        };
        let before = std::mem::replace(last, number.max(*last));
        if number == 1 {
            *last = 1;
        }
        before > 0 && number > before.saturating_add(1)
    }

    fn interval(&mut self, has_skipped: bool, now_ns: u64) {
        let interval_ns = now_ns.saturating_sub(self.repeated_ns);
        let is_first = self.begun_ns == 0;
        self.repeated_ns = now_ns;
        if is_first {
            (self.begun_ns, self.confirmed_ns) = (now_ns, now_ns);
            return;
        }
        let longest_ns = self.longest_ns.max(self.setting_ns / INTERVALS);
        match interval_ns > longest_ns {
            true if self.is_known => self.interrupted(interval_ns, has_skipped, now_ns),
            // An outage at the start, or the first pause of slow groups: only a second one is their rate.
            true if self.interruption.alike == 0 => {
                self.begun_ns = now_ns;
                self.interrupted(interval_ns, has_skipped, now_ns);
            }
            _ => self.learn(interval_ns, now_ns),
        }
        let learned_ns = self.longest_ns.saturating_mul(LEARNED);
        let learned_ns = learned_ns.max(self.setting_ns / LEARNED);
        self.is_known |= now_ns - self.begun_ns >= learned_ns;
        assert!(
            self.begun_ns <= self.repeated_ns && self.confirmed_ns <= self.repeated_ns,
            "silence: times of earlier packets are not later than {now_ns} ns"
        );
    }

    fn learn(&mut self, interval_ns: u64, now_ns: u64) {
        if interval_ns >= self.longest_ns / 2 {
            self.longest_ns = self.longest_ns.max(interval_ns);
            self.confirmed_ns = now_ns;
        } else if now_ns - self.confirmed_ns >= Silence::memory_ns(self.longest_ns) {
            self.longest_ns /= 2;
            self.confirmed_ns = now_ns;
        }
    }

    /// The groups paused for longer than ever: an outage, an interruption, or the first pauses of a lower rate.
    #[cold]
    fn interrupted(&mut self, length_ns: u64, has_skipped: bool, now_ns: u64) {
        let before = self.interruption;
        let is_alike = length_ns.abs_diff(before.length_ns) <= length_ns / 4;
        let began_ns = now_ns - length_ns;
        let since_ns = began_ns.saturating_sub(before.ended_ns);
        let is_soon = since_ns <= Silence::memory_ns(length_ns);
        self.interruption = Interruption {
            length_ns,
            ended_ns: now_ns,
            alike: match is_alike && is_soon && before.alike > 0 {
                true => before.alike + 1,
                false => 1,
            },
            newest: [self.newest_repeated, self.newest],
        };
        // mutant: feed: outages are the rate of the groups
        if has_skipped || self.interruption.has(self.lost) {
            self.interruption.alike = 0;
        }
        match self.interruption.alike >= CONFIRMATIONS {
            true => self.learn(length_ns, now_ns),
            false => self.confirmed_ns = now_ns,
        }
    }

    /// A snapshot shows that the venue has sent packet `sequence` of the incremental feed, which was not processed.
    pub fn note_ahead(&mut self, sequence: u32, now_ns: u64) {
        // One that waits behind a gap did arrive.
        if self.ahead_ns == 0 && sequence > self.newest {
            self.ahead_ns = now_ns;
        }
    }

    /// A new packet of the incremental feed arrived: the feed goes on.
    #[inline]
    pub fn arrived(&mut self, sequence: u32) {
        self.newest = self.newest.max(sequence);
        self.ahead_ns = 0;
    }

    /// Packets of the incremental feed from this one on are missing on all lines. If the gap is noticed after an interruption, the interruption
    /// was an outage.
    #[cold]
    pub fn missed(&mut self, first: u32) {
        self.lost = first;
        if self.interruption.has(first) {
            self.interruption.alike = 0;
        }
    }

    /// A packet of the incremental feed was processed that had arrived at this time; it may have waited behind a gap.
    #[inline]
    pub fn processed(&mut self, arrived_ns: u64) {
        self.activity_ns = arrived_ns;
    }

    /// The numbers of the incremental feed began again.
    pub fn restarted(&mut self) {
        (self.newest, self.newest_repeated, self.lost) = (0, 0, 0);
        self.ahead_ns = 0;
    }

    /// Time of the next limit that is not passed.
    pub fn next_ns(&self, health: &ChannelHealth) -> Option<u64> {
        let next = [self.feed_timeout_ns(health), self.silent_ns(health)];
        next.into_iter().flatten().min()
    }

    /// Raises the condition of each limit that is passed.
    pub fn expire(&self, now_ns: u64, health: &mut ChannelHealth, counters: &mut Counters) {
        let is_passed = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| now_ns >= at_ns);
        if is_passed(self.silent_ns(health)) {
            health.raise(Condition::ChannelSilent);
            counters.channel_silences += 1;
            counters.channel_silent = 1;
        }
        if is_passed(self.feed_timeout_ns(health)) {
            health.raise(Condition::FeedTimeout);
            counters.feed_timeouts += 1;
        }
    }

    /// A packet showed that no packet of the incremental feed was missed.
    pub fn end(health: &mut ChannelHealth, counters: &mut Counters) {
        health.clear(Condition::ChannelSilent);
        counters.channel_silent = 0;
    }

    /// When the incremental feed times out: by the venue's heartbeats, or earlier if snapshots show that it goes on elsewhere.
    fn feed_timeout_ns(&self, health: &ChannelHealth) -> Option<u64> {
        let is_expected = self.activity_ns > 0 && !health.has(Condition::FeedTimeout);
        let behind_ns = self.behind_ns().unwrap_or(u64::MAX);
        is_expected.then(|| {
            let timeout_ns = self.activity_ns.saturating_add(self.stale_ns);
            timeout_ns.min(behind_ns)
        })
    }

    /// When the incremental feed is silent although the venue sends it.
    fn behind_ns(&self) -> Option<u64> {
        let limit_ns = self.limit_ns()?;
        (self.ahead_ns > 0).then(|| self.ahead_ns.saturating_add(limit_ns))
    }

    /// When the channel is silent. `None` while the venue's own limit is the only one: the groups do not repeat, or ceased to while
    /// the incremental feed went on.
    fn silent_ns(&self, health: &ChannelHealth) -> Option<u64> {
        let limit_ns = self.limit_ns()?;
        let is_expected = self.activity_ns > 0 && !health.has(Condition::ChannelSilent);
        let is_repeating = self.activity_ns.saturating_sub(self.repeated_ns) < limit_ns;
        let heard_ns = self.repeated_ns.max(self.activity_ns);
        (is_expected && is_repeating).then(|| heard_ns.saturating_add(limit_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A channel that was not heard yet, with this setting.
    fn channel(silence_ns: u64) -> Silence {
        Silence::new(&Settings {
            silence_ns,
            ..Settings::default()
        })
    }

    /// When it is silent, if the last packet of the incremental feed came at this time.
    fn silent_ns(silence: &mut Silence, activity_ns: u64) -> Option<u64> {
        silence.activity_ns = activity_ns;
        silence.silent_ns(&ChannelHealth::default())
    }

    /// Packets at this interval, milliseconds, after the last one.
    fn repeat(silence: &mut Silence, every_ms: u64, times: u64) {
        for _ in 0..times {
            let last_ns = silence.repeated_ns.max(MS);
            let number = silence.numbers[0] + 1;
            silence.repeated(FeedType::Snapshot, number, last_ns + every_ms * MS);
        }
    }

    fn limit_ms(silence: &Silence) -> Option<u64> {
        silence.limit_ns().map(|limit_ns| limit_ns / MS)
    }

    #[test]
    fn the_limit_is_the_setting_once_packets_came_for_a_quarter_of_it() {
        let mut silence = channel(1_000 * MS);
        repeat(&mut silence, 10, 25);
        assert_eq!(limit_ms(&silence), None, "240 ms of packets");
        assert_eq!(silent_ns(&mut silence, 1), None);
        repeat(&mut silence, 10, 1);
        assert_eq!(limit_ms(&silence), Some(1_000));
        let due_ns = silence.repeated_ns + 1_000 * MS;
        assert_eq!(silent_ns(&mut silence, 1), Some(due_ns));
        let later_ns = silence.repeated_ns + 300 * MS;
        let due_ns = later_ns + 1_000 * MS;
        assert_eq!(silent_ns(&mut silence, later_ns), Some(due_ns));
    }

    #[test]
    fn slow_groups_have_a_limit_of_twice_their_longest_interval() {
        let mut silence = channel(1_000 * MS);
        for cycle in 1..20 {
            // A cycle in a burst, each three seconds.
            repeat(&mut silence, 1, 50);
            repeat(&mut silence, 3_000, 1);
            let expected_ms = (cycle >= 5).then_some(6_000);
            assert_eq!(limit_ms(&silence), expected_ms, "cycle {cycle}");
        }
        // The rate rises: the limit follows.
        repeat(&mut silence, 100, 4_000);
        assert_eq!(limit_ms(&silence), Some(1_000));
    }

    /// Cycles of a burst at each 10 ms and a pause of three seconds: the first eight pauses are interruptions.
    #[test]
    fn pauses_of_three_seconds_are_learned_whatever_the_length_of_the_bursts() {
        for (burst_ms, alarms) in [(500, 8), (7_000, 8), (60_000, 8)] {
            let mut silence = channel(1_000 * MS);
            let mut passed = 0;
            for _ in 0..50 {
                repeat(&mut silence, 10, burst_ms / 10);
                let limit_ms = limit_ms(&silence);
                passed += u64::from(limit_ms.is_some_and(|limit_ms| limit_ms <= 3_000));
                repeat(&mut silence, 3_000, 1);
            }
            assert_eq!(passed, alarms, "bursts of {burst_ms} ms");
            assert_eq!(limit_ms(&silence), Some(6_000), "bursts of {burst_ms} ms");
        }
    }

    #[test]
    fn an_outage_at_the_start_is_not_the_rate_of_the_groups() {
        for before in [1, 2, 20] {
            let mut silence = channel(1_000 * MS);
            repeat(&mut silence, 10, before);
            repeat(&mut silence, 30_000, 1);
            repeat(&mut silence, 10, 24);
            assert_eq!(limit_ms(&silence), None, "{before} packets before");
            repeat(&mut silence, 10, 1);
            assert_eq!(
                limit_ms(&silence),
                Some(1_000),
                "{before} packets before the outage"
            );
        }
    }

    #[test]
    fn interruptions_are_not_the_rate_of_the_groups() {
        let mut silence = channel(1_000 * MS);
        repeat(&mut silence, 10, 200);
        for pause_ms in [30_000, 900, 5_000, 1_500, 9_000, 600, 60_000, 3_000] {
            repeat(&mut silence, pause_ms, 1);
            repeat(&mut silence, 10, 200);
            assert_eq!(limit_ms(&silence), Some(1_000), "after {pause_ms} ms");
        }
    }

    /// A venue may slow down its cycles when it closes.
    #[test]
    fn equal_pauses_in_a_row_are_the_rate_of_the_groups() {
        let mut silence = channel(1_000 * MS);
        repeat(&mut silence, 10, 200);
        repeat(&mut silence, 2_000, 7);
        assert_eq!(limit_ms(&silence), Some(1_000));
        repeat(&mut silence, 2_000, 1);
        assert_eq!(limit_ms(&silence), Some(4_000));
    }

    /// All lines fail for 1.5 s, again and again: the limit of the channel stays what its groups' rate makes it.
    #[test]
    fn alike_outages_are_not_the_rate_of_the_groups() {
        for shown_by in ["a group", "a loss before", "a loss after", "nothing"] {
            let mut silence = channel(1_000 * MS);
            silence.arrived(1);
            repeat(&mut silence, 10, 200);
            for outage in 1..40 {
                silence.arrived(silence.newest + 1);
                let next = silence.newest + 1;
                if shown_by == "a loss before" {
                    silence.arrived(next + 30);
                    silence.missed(next);
                }
                let skipped = if shown_by == "a group" { 150 } else { 1 };
                let number = silence.numbers[0] + skipped;
                let now_ns = silence.repeated_ns + 1_500 * MS;
                silence.repeated(FeedType::Snapshot, number, now_ns);
                if shown_by == "a loss after" {
                    silence.arrived(next + 30);
                    silence.missed(next);
                }
                repeat(&mut silence, 10, 200);
                let is_learned = shown_by == "nothing" && outage >= CONFIRMATIONS;
                let expected_ms = if is_learned { 3_000 } else { 1_000 };
                assert_eq!(
                    limit_ms(&silence),
                    Some(expected_ms),
                    "outage {outage}, shown by {shown_by}"
                );
            }
        }
    }

    /// Losses beside the pauses of slow groups, and cycles that begin again, are not outages.
    #[test]
    fn pauses_beside_losses_are_learned() {
        let mut silence = channel(1_000 * MS);
        repeat(&mut silence, 10, 200);
        for _ in 0..CONFIRMATIONS {
            silence.arrived(silence.newest + 9);
            silence.missed(silence.newest - 8);
            repeat(&mut silence, 10, 5);
            silence.arrived(silence.newest + 1);
            silence.numbers[0] = 0;
            repeat(&mut silence, 3_000, 1);
            silence.arrived(silence.newest + 1);
            repeat(&mut silence, 10, 5);
        }
        assert_eq!(limit_ms(&silence), Some(6_000));
    }

    #[test]
    fn without_repeating_groups_there_is_no_limit() {
        let mut silence = channel(1_000 * MS);
        assert_eq!(silent_ns(&mut silence, 5 * MS), None, "heartbeats alone");
        repeat(&mut silence, 10, 200);
        let ceased_ns = silence.repeated_ns;
        assert!(silent_ns(&mut silence, ceased_ns + 999 * MS).is_some());
        assert_eq!(
            silent_ns(&mut silence, ceased_ns + 1_000 * MS),
            None,
            "the incremental feed goes on without them"
        );
        repeat(&mut silence, 10, 1);
        assert!(silent_ns(&mut silence, ceased_ns).is_some());
        let mut disabled = channel(u64::MAX);
        repeat(&mut disabled, 10, 200);
        assert_eq!(disabled.limit_ns(), None);
        assert_eq!(silent_ns(&mut disabled, 1), None);
    }

    #[test]
    fn a_snapshot_ahead_counts_until_the_incremental_feed_goes_on() {
        let mut silence = channel(1_000 * MS);
        repeat(&mut silence, 10, 200);
        assert_eq!(silence.behind_ns(), None);
        silence.arrived(7);
        silence.note_ahead(7, 4_000 * MS);
        assert_eq!(silence.behind_ns(), None, "it waits behind a gap");
        silence.note_ahead(8, 5_000 * MS);
        silence.note_ahead(9, 5_500 * MS);
        assert_eq!(silence.behind_ns(), Some(6_000 * MS));
        silence.processed(4_900 * MS);
        assert_eq!(silence.behind_ns(), Some(6_000 * MS), "it had waited");
        silence.arrived(9);
        assert_eq!(silence.behind_ns(), None);
        silence.restarted();
        silence.note_ahead(1, 7_000 * MS);
        assert_eq!(silence.behind_ns(), Some(8_000 * MS));
    }
}
