//! Where the wall clock came to by the start of a run, or by being set.

/// A step of the clock behind which its date need not be that of today.
const STEP_NS: u64 = 86_400_000_000_000;

/// The time of the wall clock to which it did not come by its own pace: that of the start, or behind a step of a day or more.
#[derive(Debug, Default)]
pub(super) struct Landing {
    /// 0 before the first look at the clock.
    pub at_ns: u64,
    /// It was a step.
    pub is_step: bool,
}

impl Landing {
    /// The clock was set, to this time.
    pub fn stepped(&mut self, step_ns: i64, wall_ns: u64) {
        if step_ns.unsigned_abs() >= STEP_NS {
            *self = Landing {
                at_ns: wall_ns,
                is_step: true,
            };
        }
    }
}
