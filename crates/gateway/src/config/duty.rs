//! Settings of the gateway's thread: processor, idle strategy, timers.

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::Duration;
use touchline_settings::{read_duration, within};
use touchline_transport::{BackOff, Idle};

/// The duty cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Duty {
    /// Processor that the thread is bound to; chosen by the system if absent.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "processor"
    )]
    pub loop_cpu_affinity: Option<usize>,
    /// Idle strategy.
    pub idle: IdleKind,
    /// Maximum sleep of an idle round, 0..=100 ms, for `idle` of `sleep` or `backoff`.
    #[serde(with = "LoopSleep")]
    pub loop_sleep: Duration,
    /// Reads the data of the instruments of the last packets while none comes, so that it stays in the caches; has an effect with
    /// `idle` of `spin` only.
    pub keep_warm: bool,
    /// Interval of the timers, 1 us..=100 ms: gap timeouts, silence, and all work besides packets.
    #[serde(with = "LoopTimer")]
    pub loop_timer_freq: Duration,
    /// Interval after which a heartbeat is published if nothing else was, milliseconds,
    /// 10..=60,000.
    #[serde(deserialize_with = "within::<_, _, 10, 60_000>")]
    pub heartbeat_ms: u64,
    /// Feed timeout: books are stale after this time without a packet of the incremental feed,
    /// milliseconds, 0..=3,600,000; 0 disables it.
    #[serde(deserialize_with = "within::<_, _, 0, 3_600_000>")]
    pub stale_after_ms: u64,
    /// Channel silence: books are stale after this time without a packet of any group of a channel whose snapshots or definitions
    /// repeat, or after twice the longest interval between these, milliseconds, 0..=3,600,000; 0 disables it. Live only.
    #[serde(deserialize_with = "within::<_, _, 0, 3_600_000>")]
    pub channel_silence_ms: u64,
}

/// Idle strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleKind {
    /// Polls again at once: lowest latency, needs its own processor.
    Spin,
    /// Yields to other threads.
    Yield,
    /// Spins, yields, then sleeps increasingly long, up to `loop_sleep`.
    BackOff,
    /// Sleeps for `loop_sleep`.
    Sleep,
}

impl Duty {
    /// Interval between two reads of an instrument's data; `None` if it is not kept warm.
    pub fn warm_every(&self) -> Option<Duration> {
        // All of them in 64 us; each takes some 0.1 us, by which a packet may be polled later.
        let is_spinning = matches!(self.idle, IdleKind::Spin);
        (self.keep_warm && is_spinning).then_some(Duration::from_micros(2))
    }

    /// The idle strategy of these settings.
    pub fn idle(&self) -> Idle {
        match self.idle {
            IdleKind::Spin => Idle::BusySpin,
            IdleKind::Yield => Idle::Yield,
            IdleKind::Sleep => Idle::Sleep(self.loop_sleep),
            IdleKind::BackOff => {
                let usual = BackOff::default();
                Idle::BackOff(BackOff {
                    sleep_min: usual.sleep_min.min(self.loop_sleep),
                    sleep_max: self.loop_sleep,
                    ..usual
                })
            }
        }
    }
}

impl Default for Duty {
    fn default() -> Self {
        Self {
            loop_cpu_affinity: None,
            idle: IdleKind::BackOff,
            loop_sleep: Duration::from_micros(500),
            keep_warm: false,
            loop_timer_freq: Duration::from_millis(1),
            heartbeat_ms: 1_000,
            stale_after_ms: 45_000,
            channel_silence_ms: 1_000,
        }
    }
}

fn write_duration(duration: Duration) -> String {
    let ns = duration.as_nanos() as u64;
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let fits = |(unit_ns, _): &(u64, &str)| ns > 0 && ns.is_multiple_of(*unit_ns);
    let (unit_ns, unit) = UNITS.into_iter().find(fits).unwrap_or((1, "ns"));
    format!("{}{unit}", ns / unit_ns)
}

/// Deserializes a duration in a range; refused while parsing, so that the error names the place.
fn duration_within<'de, D: Deserializer<'de>>(
    deserializer: D,
    least: Duration,
    most: Duration,
) -> Result<Duration, D::Error> {
    let duration = deserializer.deserialize_str(DurationVisitor)?;
    if (least..=most).contains(&duration) {
        return Ok(duration);
    }
    Err(D::Error::custom(format_args!(
        "{} is not in the range {} to {}",
        write_duration(duration),
        write_duration(least),
        write_duration(most)
    )))
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration in quotes with its unit, such as \"500us\" or \"1s\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Duration, E> {
        read_duration(text).map_err(E::custom)
    }
}

/// Longest sleep, and longest interval of the timers: a silence is noticed this late at most.
const ROUND_MAX: Duration = Duration::from_millis(100);

/// Format of `loop_sleep`.
struct LoopSleep;

impl LoopSleep {
    fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&write_duration(*value))
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        duration_within(deserializer, Duration::ZERO, ROUND_MAX)
    }
}

/// Format of `loop_timer_freq`.
struct LoopTimer;

impl LoopTimer {
    fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        LoopSleep::serialize(value, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let least = Duration::from_micros(1);
        duration_within(deserializer, least, ROUND_MAX)
    }
}

fn processor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    within::<D, usize, 0, 4_095>(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_with_their_unit() {
        for (text, ns) in [
            ("0ns", 0),
            ("500ns", 500),
            ("20us", 20_000),
            ("1ms", 1_000_000),
            ("1s", 1_000_000_000),
        ] {
            let duration = read_duration(text).expect("a duration");
            assert_eq!(duration.as_nanos(), ns);
            assert_eq!(write_duration(duration), text);
        }
        assert_eq!(read_duration("1500 us"), Ok(Duration::from_micros(1_500)));
        for wrong in [
            "",
            "5",
            "ms",
            "-1ms",
            "1.5ms",
            "1m",
            "18446744073709551615s",
        ] {
            assert!(read_duration(wrong).is_err(), "{wrong}");
        }
    }
}
