//! Published validities, while the publisher has ended or is stalled: none is visible as live, and those of live books are
//! handed out when it resumes.

use super::{Rows, Verdict};
use touchline_types::{ChannelState, Instrument, Validity};

impl Rows {
    /// [`judge`](Rows::judge) while the publisher has ended or is stalled.
    pub fn judge_away(&mut self, judge: impl FnOnce(&mut Rows) -> Verdict) -> Verdict {
        self.is_away = true;
        let verdict = judge(self);
        self.is_away = false;
        verdict
    }

    /// Visible validity before that of the channel.
    #[inline]
    pub(super) fn unless_away(&self, own: Validity) -> Validity {
        match self.is_away && own == Validity::Live {
            true => Validity::Stale,
            false => own,
        }
    }

    /// State of the channel as published, if it was reported.
    pub fn published_state(&self) -> Option<ChannelState> {
        let is_reported = self.channel.state.is_some() || self.is_doubted();
        is_reported.then_some(self.state)
    }

    /// Whether an instrument's price book and order book were published as live; `None` beyond the last instrument.
    pub fn is_live(&self, instrument: Instrument) -> Option<(bool, bool)> {
        let row = self.rows.get(instrument.index())?;
        let is_live = |validity| row.wanted && validity == Validity::Live;
        Some((is_live(row.price_validity), is_live(row.orders_validity)))
    }
}
