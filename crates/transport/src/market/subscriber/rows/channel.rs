//! Treatment of messages of the channel, which concern every book.

use super::{OrdersHeld, Row, Rows, Verdict};
use crate::market::channel_image::is_before;
use touchline_types::native::Body;
use touchline_types::{ChannelState, Validity};

impl Rows {
    /// A reset or a loss changes every row; a heartbeat, a download or a group's status none.
    pub(super) fn judge_channel(&mut self, body: &Body<'_>, end: u64) -> Verdict {
        let told = match body {
            Body::Reset => self.channel.reset,
            Body::Gap(_) => self.channel.gap.map(|(position, _)| position),
            Body::Download(_) => return self.judge_download(end),
            Body::Channel(state) => return self.judge_state(state, end),
            Body::TradingStatus(status) => return self.judge_group(&status.group, end),
            _ => return Verdict::Deliver,
        };
        let is_published =
            self.ahead_until.is_some() && told.is_some_and(|told| !is_before(told, end));
        if is_published {
            // Every book is newer: the message would set them back.
            return Verdict::Skip;
        }
        // A reset leaves books empty and live, a loss leaves them unchanged and not live; either
        // empties the order books.
        let held = matches!(body, Body::Reset) || !self.live_only;
        let orders = match held {
            true => OrdersHeld::Held,
            false => self.orders_missing(),
        };
        self.orders_refused_from = usize::MAX;
        for row in self.rows.iter_mut().chain([&mut self.unseen]) {
            row.book_held = match body {
                Body::Reset => true,
                _ => row.book_held && held,
            };
            row.orders = orders;
            row.change_with(body);
        }
        match self.ahead_until {
            // mutant: image: books are not published once the channel state is known
            Some(until) if is_before(end, until) => Verdict::DeliverAndRejoin,
            _ if self.channel_unknown => Verdict::DeliverAndRejoin,
            _ => Verdict::Deliver,
        }
    }

    /// The status of a group that a snapshot contained, or an older one, is not repeated.
    fn judge_group(&self, group: &[u8; 6], end: u64) -> Verdict {
        let mut taken = self.groups.iter().flatten();
        let taken = taken.find(|(taken, _)| taken == group);
        match taken.is_some_and(|(_, position)| !is_before(*position, end)) {
            true => Verdict::Skip,
            false => Verdict::Deliver,
        }
    }

    /// A phase reported with the tables is not repeated, nor an earlier one.
    fn judge_download(&mut self, end: u64) -> Verdict {
        match self.channel.download {
            // mutant: bus: a joining reader receives a download twice
            Some((told, _)) if !is_before(told, end) => Verdict::Skip,
            _ if self.channel_unknown => Verdict::DeliverAndRejoin,
            _ => Verdict::Deliver,
        }
    }

    /// For live books only: withheld books are handed out as snapshots once the channel is live again.
    fn judge_state(&mut self, state: &ChannelState, end: u64) -> Verdict {
        if let Some((told, _)) = self.channel.state
            && !is_before(told, end)
        {
            return Verdict::Skip;
        }
        self.channel.state = Some((end, *state));
        let was = std::mem::replace(&mut self.state, *state);
        let is_away = self.is_away;
        let back = |was, is| !is_away && was != Validity::Live && is == Validity::Live;
        let is_back = back(was.price, state.price) || back(was.orders, state.orders);
        match self.channel_unknown || self.live_only && is_back {
            true => Verdict::DeliverAndRejoin,
            false => Verdict::Deliver,
        }
    }
}

impl Row {
    /// A reset or a loss of the channel.
    pub(super) fn change_with(&mut self, body: &Body<'_>) {
        match body {
            Body::Reset => {
                self.price_validity = Validity::Live;
                self.orders_validity = Validity::Live;
            }
            Body::Gap(gap) => {
                if self.price_validity == Validity::Live {
                    self.price_validity = Validity::Gapped;
                }
                self.orders_validity = gap.orders;
            }
            _ => {}
        }
    }
}
