//! Trades, volumes, statistics and limits. Their entries have a RptSeq like levels; the value is published in any
//! state of the book, since no snapshot repeats it.

use super::{Ending, ending};
use crate::Output;
use crate::cme::channel::Channel;
use crate::cme::normalise::{Count, aggressor, statistic_kind, update_action};
use crate::cme::queue::Work;
use touchline_types::{Event, Instrument, Price, Statistic, StatisticKind, Trade, UpdateAction};
use touchline_wire::mdp3::*;

/// A message whose entries each have a RptSeq and publish a value: `$entries` converts an entry (`$channel`, `$entry`,
/// `$instrument`) of an event that began at `$begun_ns`.
macro_rules! entries_message {
    ($name:ident, $view:ident, |$channel:ident, $entry:ident, $instrument:ident, $begun_ns:ident| $entries:expr) => {
        pub(super) fn $name(
            &mut self,
            raw: CheckedMessage<'_>,
            out: &mut Output<'_>,
        ) -> Option<Ending> {
            let message = $view::of(raw);
            let $begun_ns = message.transact_time();
            for $entry in message.no_md_entries() {
                let (id, number) = ($entry.security_id(), $entry.rpt_seq());
                if let Some($instrument) = self.number(id, number, $begun_ns, out) {
                    let $channel = &mut *self;
                    for event in $entries {
                        if !self.has_negative(&event) {
                            out.events.push(event);
                        }
                    }
                }
            }
            ending!(message)
        }
    };
}

macro_rules! trade_message {
    ($name:ident, $view:ident, $trade_id:ident) => {
        entries_message!($name, $view, |channel, entry, instrument, begun_ns| [
            Event::Trade(
                Trade {
                    instrument,
                    orders: Into::<Option<i32>>::into(entry.number_of_orders()).unwrap_or(-1),
                    price: channel.price(entry.md_entry_px()),
                    quantity: channel.quantity(entry.md_entry_size()),
                    aggressor: entry.aggressor_side().and_then(aggressor),
                    action: update_action(entry.md_update_action()).unwrap_or(UpdateAction::New),
                    trade_id: trade_id(entry.$trade_id()),
                },
                begun_ns
            )
        ]);
    };
}

macro_rules! volume_message {
    ($name:ident, $view:ident) => {
        entries_message!($name, $view, |channel, entry, instrument, begun_ns| [
            Event::Statistic(
                Statistic {
                    instrument,
                    kind: StatisticKind::Volume,
                    action: update_action(entry.md_update_action()).unwrap_or(UpdateAction::New),
                    price: Price::NULL,
                    quantity: channel.quantity(entry.md_entry_size()),
                },
                begun_ns
            )
        ]);
    };
}

macro_rules! statistics_message {
    ($name:ident, $view:ident) => {
        entries_message!($name, $view, |channel, entry, instrument, begun_ns| [
            Event::Statistic(
                Statistic {
                    instrument,
                    kind: statistic_kind(entry.md_entry_type().0),
                    action: update_action(entry.md_update_action()).unwrap_or(UpdateAction::New),
                    price: channel.price(entry.md_entry_px()),
                    quantity: channel.quantity(entry.md_entry_size()),
                },
                begun_ns
            )
        ]);
    };
}

macro_rules! limits_message {
    ($name:ident, $view:ident) => {
        entries_message!($name, $view, |channel, entry, instrument, begun_ns| [
            (StatisticKind::HighLimit, entry.high_limit_price()),
            (StatisticKind::LowLimit, entry.low_limit_price()),
            (StatisticKind::PriceBand, entry.max_price_variation()),
        ]
        .map(|(kind, price)| Statistic {
            instrument,
            kind,
            // A null withdraws the limit.
            action: if price.is_some() {
                UpdateAction::New
            } else {
                UpdateAction::Delete
            },
            price: channel.price(price),
            quantity: touchline_types::Quantity::NULL,
        })
        .map(|statistic| Event::Statistic(statistic, begun_ns)));
    };
}

impl Channel {
    trade_message!(trades36, MdIncrementalRefreshTrade36, trade_id);
    trade_message!(
        trades42,
        MdIncrementalRefreshTradeSummary42,
        md_trade_entry_id
    );
    trade_message!(
        trades48,
        MdIncrementalRefreshTradeSummary48,
        md_trade_entry_id
    );
    trade_message!(
        trades65,
        MdIncrementalRefreshTradeSummaryLongQty65,
        md_trade_entry_id
    );
    volume_message!(volumes37, MdIncrementalRefreshVolume37);
    volume_message!(volumes66, MdIncrementalRefreshVolumeLongQty66);
    statistics_message!(statistics33, MdIncrementalRefreshDailyStatistics33);
    statistics_message!(statistics49, MdIncrementalRefreshDailyStatistics49);
    statistics_message!(statistics35, MdIncrementalRefreshSessionStatistics35);
    statistics_message!(statistics51, MdIncrementalRefreshSessionStatistics51);
    statistics_message!(statistics67, MdIncrementalRefreshSessionStatisticsLongQty67);
    limits_message!(limits34, MdIncrementalRefreshLimitsBanding34);
    limits_message!(limits50, MdIncrementalRefreshLimitsBanding50);

    /// Processes the RptSeq of an entry that changes no book.
    fn number(
        &mut self,
        security_id: i32,
        rpt_seq: u32,
        transact_ns: u64,
        out: &mut Output<'_>,
    ) -> Option<Instrument> {
        let instrument = self.instrument(security_id, out)?;
        if !self.take_next(instrument, rpt_seq, self.progress.packet(), out) {
            self.number_entry(instrument, Work::Nothing, rpt_seq, transact_ns, out);
        }
        Some(instrument)
    }
}

/// A trade id of any width; 0 if absent.
fn trade_id(id: impl Count) -> u64 {
    id.count()
        .ok()
        .flatten()
        .and_then(|id| u64::try_from(id).ok())
        .unwrap_or(0)
}
