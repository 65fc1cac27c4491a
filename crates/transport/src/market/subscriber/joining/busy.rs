//! How long joining comes back to images that are being changed. Nothing waits meanwhile: this is time
//! between polls.

use std::time::{Duration, Instant};

/// Longest time at such images, all of them together. A publisher that lost its processor in the middle of
/// a change gets it back within this, mostly.
pub const MAX: Duration = Duration::from_millis(10);

/// Time that joining spent at images that were being changed.
#[derive(Debug, Default)]
pub struct Busy {
    /// The first and the last attempt at the image that is next.
    attempts: Option<(Instant, Instant)>,
    /// Time at those before it.
    spent: Duration,
}

impl Busy {
    /// Another attempt has failed; whether it was the last one.
    pub fn is_over(&mut self, now: Instant) -> bool {
        let (first, last) = self.attempts.get_or_insert((now, now));
        *last = now;
        self.spent + now.duration_since(*first) >= MAX
    }

    /// Joining goes on.
    pub fn end(&mut self) {
        if let Some((first, last)) = self.attempts.take() {
            self.spent += last.duration_since(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_images_together_have_so_much_time() {
        let (mut busy, start) = (Busy::default(), Instant::now());
        let at = |tenths: u32| start + MAX * tenths / 10;
        assert!(!busy.is_over(at(0)) && !busy.is_over(at(6)));
        busy.end();
        busy.end();
        // What was between the two does not count.
        assert!(!busy.is_over(at(1_000)) && !busy.is_over(at(1_003)) && busy.is_over(at(1_004)));
        busy.end();
        assert!(busy.is_over(at(2_000)), "nothing is left for any other");
        let mut late = Busy::default();
        assert!(!late.is_over(at(0)), "there are two attempts");
        assert!(late.is_over(at(70_000)), "and the second may be the last");
    }
}
