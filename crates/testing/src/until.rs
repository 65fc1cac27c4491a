//! Waiting for a condition.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Limit of a wait that only a hang exceeds: on a loaded host, work of milliseconds may take seconds.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Result of one check of a condition.
pub trait Condition {
    /// Value of a condition that holds.
    type Value;
    /// State seen while the condition does not hold.
    type Seen: Debug;

    /// The value, or the state seen instead.
    fn result(self) -> Result<Self::Value, Self::Seen>;
}

impl Condition for bool {
    type Value = ();
    type Seen = bool;

    fn result(self) -> Result<(), bool> {
        if self { Ok(()) } else { Err(false) }
    }
}

impl<T> Condition for Option<T> {
    type Value = T;
    type Seen = Option<()>;

    fn result(self) -> Result<T, Option<()>> {
        self.ok_or(None)
    }
}

impl<T, E: Debug> Condition for Result<T, E> {
    type Value = T;
    type Seen = E;

    fn result(self) -> Result<T, E> {
        self
    }
}

/// Looks until the condition holds, and returns its value. The first looks follow each other at once, later ones after up to 2 ms.
///
/// # Panics
/// The condition does not hold within `limit`; the message has `what` and the last seen value. The last check is after
/// the limit.
#[track_caller]
pub fn until<C: Condition>(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> C,
) -> C::Value {
    let start = Instant::now();
    loop {
        let elapsed = start.elapsed();
        match condition().result() {
            Ok(value) => return value,
            Err(seen) => assert!(
                elapsed < limit,
                "not within {limit:?}: {what}; seen: {seen:?}"
            ),
        }
        let pause = elapsed / 16;
        std::thread::sleep(pause.clamp(Duration::from_micros(100), Duration::from_millis(2)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_the_first_look_that_holds_is_returned() {
        let mut looks = 0;
        let third = until("the third look", PATIENCE, || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(third, 3);
        until("truth", Duration::ZERO, || true);
    }

    #[test]
    #[should_panic(expected = "not within 2ms: a line; seen: \"nothing\"")]
    fn the_last_seen_value_is_in_the_message() {
        until("a line", Duration::from_millis(2), || {
            Err::<(), _>("nothing")
        });
    }
}
