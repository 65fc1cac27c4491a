//! Time that an input spends in each stage of the path, by a clock that the owner supplies: the core has none.
//!
//! ```text
//! quotes ─► composite ─► limits ─► plan ─► orders ─► journal ─► sent
//! └────────────── the core ──────────────────────┘  └── the owner ──┘
//! ```

/// A stage of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The bank's book has the quotes.
    Quotes,
    /// The composite is computed again.
    Composite,
    /// Limits of each bank: session, cool-down, doubt, rate, credit, collar.
    Limits,
    /// The plan of a parent.
    Plan,
    /// Orders of the plan.
    Orders,
    /// Records of the orders are in the journal.
    Journal,
    /// The last byte of the orders is in the kernel.
    Sent,
}

/// Number of stages.
pub const STAGES: usize = 7;

/// Stopwatch of the path; without a clock it costs a comparison a stage.
#[derive(Debug, Clone, Default)]
pub struct Stopwatch {
    clock: Option<fn() -> u64>,
    began: u64,
    last: u64,
    spent: [u64; STAGES],
}

impl Stopwatch {
    /// A stopwatch of a clock; the times have the clock's unit.
    pub fn of(clock: fn() -> u64) -> Stopwatch {
        Stopwatch {
            clock: Some(clock),
            ..Stopwatch::default()
        }
    }

    /// Begins an input.
    #[inline]
    pub fn begin(&mut self) {
        if let Some(clock) = self.clock {
            self.began = clock();
            self.last = self.began;
            self.spent = [0; STAGES];
        }
    }

    /// Adds the time since the last lap to a stage. A step plans each parent, so a stage may have several.
    #[inline]
    pub fn lap(&mut self, stage: Stage) {
        if let Some(clock) = self.clock {
            let now = clock();
            self.spent[stage as usize] += now.wrapping_sub(self.last);
            self.last = now;
        }
    }

    /// Time in each stage, in the order of the path.
    pub fn spent(&self) -> &[u64; STAGES] {
        &self.spent
    }

    /// Begin of the input, and the last lap.
    pub fn span(&self) -> (u64, u64) {
        (self.began, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    fn tick() -> u64 {
        NOW.set(NOW.get() + 10);
        NOW.get()
    }

    /// Laps of one stage add up, and all stages add up to the span.
    #[test]
    fn stages_add_up_to_the_span() {
        let mut stages = Stopwatch::of(tick);
        stages.begin();
        for stage in [
            Stage::Quotes,
            Stage::Limits,
            Stage::Plan,
            Stage::Limits,
            Stage::Sent,
        ] {
            stages.lap(stage);
        }
        assert_eq!(stages.spent(), &[10, 0, 20, 10, 0, 0, 10]);
        let (began, last) = stages.span();
        assert_eq!(stages.spent().iter().sum::<u64>(), last - began);
        stages.begin();
        assert_eq!(stages.spent(), &[0; STAGES]);
    }

    /// Without a clock no time is measured.
    #[test]
    fn without_a_clock_nothing_is_measured() {
        let mut stages = Stopwatch::default();
        stages.begin();
        stages.lap(Stage::Plan);
        assert_eq!((stages.spent(), stages.span()), (&[0; STAGES], (0, 0)));
    }
}
