//! Whether the venue is heard.

/// Activity: when something came last, and whether that is too long ago.
///
/// Invariant: it is told once that it is too long ago, and once that something came again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activity {
    heard_ns: u64,
    is_timed_out: bool,
}

impl Activity {
    /// A connection stands.
    pub fn begin(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
    }

    /// The connection is gone: nobody is expected to be heard.
    pub fn end(&mut self) {
        self.is_timed_out = false;
    }

    /// Something came. `true`: for the first time after too long.
    #[inline]
    pub fn heard(&mut self, now_ns: u64) -> bool {
        self.heard_ns = now_ns;
        std::mem::take(&mut self.is_timed_out)
    }

    /// Whether nothing came for this long; `true` once.
    pub fn is_too_long(&mut self, now_ns: u64, most_ns: u64) -> bool {
        let is_new = !self.is_timed_out && now_ns.saturating_sub(self.heard_ns) >= most_ns;
        self.is_timed_out |= is_new;
        is_new
    }

    /// Whether nothing came for too long.
    pub fn is_timed_out(&self) -> bool {
        self.is_timed_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_and_its_end_are_told_once_each() {
        let mut activity = Activity::default();
        activity.begin(100);
        assert!(!activity.is_too_long(109, 10));
        assert!(activity.is_too_long(110, 10) && !activity.is_too_long(111, 10));
        assert!(activity.is_timed_out());
        assert!(activity.heard(112) && !activity.heard(113));
        assert!(activity.is_too_long(123, 10), "and the next one again");
        activity.end();
        assert!(
            !activity.heard(124),
            "the connection that was silent is gone"
        );
    }
}
