//! The send path of an engine that spins without work is kept in the processor's caches: a market is quiet, and then it is not.

use super::carry::{Core, put_fields};
use crate::execution::edge::{Link, Output};
use touchline_fx_events::event::Message;
use touchline_types::ReceiveTime;

/// Time between two warm-ups.
pub(super) const WARM_SEND_NS: u64 = 50_000;

impl<O: Output, L: Link> Core<O, L> {
    /// Writes the last order once more, to the next bank in turn whose session is up, into the buffer of the session; nothing leaves.
    pub fn warm_send(&mut self, time: ReceiveTime) {
        let orders = self.engine.trading().orders();
        let Some(last) = orders.count().checked_sub(1) else {
            return;
        };
        let message = Message::Order(orders.get(last).terms);
        let banks = self.banks.len();
        let mut turns = (0..banks).map(|turn| (self.warmed_next + turn) % banks);
        let Some(bank) = turns.find(|bank| self.banks[*bank].session.is_up()) else {
            return;
        };
        self.warmed_next = bank + 1;
        let wall = self.wall(time);
        let labels = &self.engine.setup().labels;
        let session = &mut self.banks[bank].session;
        session.warm_send("D", |encoder| {
            put_fields(labels, &message, (time, wall), encoder);
        });
    }
}
