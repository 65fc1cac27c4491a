//! What a bus counts, as it holds at this moment.

use crate::format::age;
use std::time::Duration;
use touchline_gateway::live::OF_A_LIVE_GATEWAY;
use touchline_transport::shm::{CountersView, Description, Overview};

/// Counters that are older than this, of a process that writes them every 100 ms, are of one that hangs.
pub const LATE_AFTER: Duration = Duration::from_secs(2);

/// How far counters may be believed, by their age and by whether the process that wrote them lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// They are as they are now.
    Fresh(Duration),
    /// Their process lives, and has not written them for [`LATE_AFTER`] or longer.
    Late(Duration),
    /// Nobody writes them any more: they are the last figures, so old.
    Gone(Option<Duration>),
    /// Their process lives, and does not say when it wrote them.
    Unstated,
}

impl Freshness {
    /// Of counters that old, as far as they say so, whose process lives or not.
    pub fn of(age: Option<Duration>, is_written: bool) -> Freshness {
        match (is_written, age) {
            (false, age) => Freshness::Gone(age),
            (true, None) => Freshness::Unstated,
            (true, Some(age)) if age >= LATE_AFTER => Freshness::Late(age),
            (true, Some(age)) => Freshness::Fresh(age),
        }
    }

    /// Of the counters of a bus: written as long as the process that began them has the bus.
    pub fn of_bus(counters_file: &CountersView, overview: &Overview) -> Freshness {
        let pid = counters_file.origin().pid;
        let publisher = overview.publisher.as_ref();
        // 0 is a process that has not said who it is.
        let is_written = publisher.is_some_and(|publisher| [0, pid].contains(&publisher.pid));
        Freshness::of(counters_file.age(), is_written)
    }

    /// Whether they may be taken as what is now.
    pub fn is_fresh(self) -> bool {
        matches!(self, Freshness::Fresh(_) | Freshness::Unstated)
    }

    /// As a person reads it.
    pub fn text(self) -> String {
        let ago = |since: Duration| age(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        match self {
            Freshness::Fresh(since) => format!("written {} ago", ago(since)),
            Freshness::Late(since) => {
                format!(
                    "written {} ago: its process is stopped or stuck",
                    ago(since)
                )
            }
            Freshness::Gone(Some(since)) => {
                format!("writer gone since {}: last figures", ago(since))
            }
            Freshness::Gone(None) => "writer gone: last figures".to_owned(),
            Freshness::Unstated => "no time stated".to_owned(),
        }
    }
}

/// Each counter of a bus with its value. A gateway that is gone or stalled is not ready and has no live book, though
/// its last figures say so.
pub fn of_bus<'a>(
    counters_file: &'a CountersView,
    overview: &Overview,
) -> impl Iterator<Item = (&'a Description, u64)> + use<'a> {
    let is_live = overview.is_live();
    counters_file.counters().map(move |(what, value)| {
        let holds = is_live || !OF_A_LIVE_GATEWAY.contains(&what.name.as_str());
        (what, if holds { value } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_believed_while_their_process_lives_and_writes() {
        let age = |ms| Some(Duration::from_millis(ms));
        for (age, is_written, is_fresh, text) in [
            (age(100), true, true, "written 100 ms ago"),
            (
                age(2_000),
                true,
                false,
                "written 2.00 s ago: its process is stopped or stuck",
            ),
            (
                age(100),
                false,
                false,
                "writer gone since 100 ms: last figures",
            ),
            (None, false, false, "writer gone: last figures"),
            (None, true, true, "no time stated"),
        ] {
            let freshness = Freshness::of(age, is_written);
            assert_eq!(
                (freshness.is_fresh(), freshness.text()),
                (is_fresh, text.to_owned())
            );
        }
    }
}
