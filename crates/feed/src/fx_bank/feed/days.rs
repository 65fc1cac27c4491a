//! Days of the pairs of a feed.

use super::FxBankFeed;
use crate::Batch;
use touchline_fx_days::Dates;
use touchline_fx_events::desk::Day;

impl FxBankFeed {
    /// Gives each pair the day of the wall clock, if it has another one: before the messages of its instant.
    pub(super) fn begin_days(&mut self) {
        let wall_ns = self.time.wall_ns;
        if !self.days.are_due(wall_ns) {
            return;
        }
        let Some((began_ns, rolls)) = self.days.renew(wall_ns) else {
            return;
        };
        let stream = &mut self.settings.stream;
        for pair in 0..stream.setup().pairs.len() {
            let of = &stream.setup().pairs[pair];
            let has = Dates {
                trade: of.trade_date,
                spot: of.spot_date,
            };
            if let Some(Dates { trade, spot }) = rolls.changed(pair, wall_ns, has) {
                stream.begin_day(began_ns.min(wall_ns), &Day { pair, trade, spot });
                self.has_begun = true;
            }
        }
    }

    /// Withdraws the quotes that ended with their day. False if there are none.
    pub(super) fn withdraw_old(&mut self, batch: &mut Batch) -> bool {
        if !std::mem::take(&mut self.has_begun) {
            return false;
        }
        for pair in 0..self.pairs() {
            self.pass_on(pair, batch);
        }
        batch.packet_info.receive_ns = self.time.wall_ns;
        !batch.events.is_empty() || !batch.quotes.is_empty()
    }
}
