//! Exposure of a parent: the only place that prevents trading twice.

/// Quantities of a parent, units.
///
/// Invariant: done + out <= quantity + late, where late is the quantity that banks filled of ended orders, or beyond an order by
/// the desk's word. Without late fills, done + out never exceeds the parent's quantity, even with unknown orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    quantity: i64,
    done: i64,
    out: i64,
    late: i64,
}

impl Exposure {
    /// Exposure without orders.
    pub fn new(quantity: i64) -> Exposure {
        let exposure = Exposure {
            quantity,
            done: 0,
            out: 0,
            late: 0,
        };
        exposure.check();
        exposure
    }

    /// Quantity of the parent.
    pub fn quantity(&self) -> i64 {
        self.quantity
    }

    /// Filled.
    pub fn done(&self) -> i64 {
        self.done
    }

    /// Open quantity of orders: sent, unknown or disputed.
    pub fn out(&self) -> i64 {
        self.out
    }

    /// Filled by banks after the end of an order, or beyond it.
    pub fn late(&self) -> i64 {
        self.late
    }

    /// Available for new orders.
    pub fn open(&self) -> i64 {
        (self.quantity - self.done - self.out).max(0)
    }

    /// Moves quantity from open to out for a new order.
    pub fn send(&mut self, quantity: i64) {
        // mutant: fx: an order exceeds the open quantity
        assert!(
            0 < quantity && quantity <= self.open(),
            "an order is made from the open quantity of its parent"
        );
        self.out += quantity;
        self.check();
    }

    /// Books a fill; `is_late`: the order had ended. The desk may book beyond an order, which then ends at once.
    pub fn fill(&mut self, quantity: i64, is_late: bool) {
        self.done += quantity;
        match is_late {
            true => self.late += quantity,
            false => self.out -= quantity,
        }
        self.check_sum();
    }

    /// Releases the unfilled quantity of an ended order; below zero if it was filled beyond.
    pub fn release(&mut self, quantity: i64) {
        self.out -= quantity;
        self.late += (-quantity).max(0);
        self.check();
    }

    fn check(&self) {
        assert!(
            self.out >= 0 && self.done >= 0,
            "filled and open quantities of a parent are not negative"
        );
        self.check_sum();
    }

    fn check_sum(&self) {
        assert!(
            self.done + self.out <= self.quantity + self.late,
            "a parent trades at most its quantity and late fills"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "an order is made from the open quantity of its parent")]
    fn more_than_is_open_is_never_sent() {
        let mut exposure = Exposure::new(5);
        exposure.send(3);
        exposure.fill(2, false);
        exposure.send(3);
    }

    #[test]
    #[should_panic(expected = "a parent trades at most its quantity and late fills")]
    fn more_than_was_sent_is_never_filled() {
        let mut exposure = Exposure::new(5);
        exposure.done = 5;
        exposure.out = 1;
        exposure.check();
    }

    /// A quantity that the desk books beyond an order opens no quantity and does not count as sent.
    #[test]
    fn fills_beyond_an_order_are_allowed_for() {
        let mut exposure = Exposure::new(5);
        exposure.send(3);
        exposure.fill(4, false);
        exposure.release(-1);
        assert_eq!(
            (exposure.done(), exposure.out(), exposure.open()),
            (4, 0, 1)
        );
    }

    #[test]
    fn late_fills_are_allowed_for_and_open_nothing() {
        let mut exposure = Exposure::new(5);
        exposure.send(5);
        exposure.release(5);
        exposure.send(5);
        exposure.fill(3, true);
        assert_eq!(
            (exposure.done(), exposure.out(), exposure.open()),
            (3, 5, 0)
        );
    }
}
