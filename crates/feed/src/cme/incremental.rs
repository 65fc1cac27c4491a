//! The messages of the incremental feed, template by template.

mod book;
mod statistics;

use super::channel::Channel;
use crate::Output;
use touchline_types::{Event, TradingStatus};
use touchline_wire::mdp3::*;

/// Start of a message's event, and whether the message ends it.
pub(super) struct Ending {
    pub transact_ns: u64,
    pub indicator: MatchEventIndicator,
}

/// The end marker of a message that has the two fields.
macro_rules! ending {
    ($message:ident) => {
        Some(Ending {
            transact_ns: $message.transact_time(),
            indicator: $message.match_event_indicator(),
        })
    };
}
pub(super) use ending;

impl Channel {
    /// Turns a valid packet of the incremental feed into events.
    #[inline]
    pub fn incremental(&mut self, packet: &Packet<'_>, out: &mut Output<'_>) {
        self.counters.packets_delivered += 1;
        for message in packet.messages() {
            self.counters.messages += 1;
            self.templates.count(message);
            if let Some(ending) = self.message(message, out) {
                self.progress.message(ending.indicator.end_of_event());
                if !self.progress.event_open() {
                    out.push(Event::EndOfEvent {
                        transact_ns: ending.transact_ns,
                    });
                }
            }
        }
    }

    /// One message; `None` for messages without an event.
    #[inline]
    fn message(&mut self, raw: CheckedMessage<'_>, out: &mut Output<'_>) -> Option<Ending> {
        match raw.header.template_id {
            MdIncrementalRefreshBook46::TEMPLATE_ID => self.book46(raw, out),
            MdIncrementalRefreshBook32::TEMPLATE_ID => self.book32(raw, out),
            MdIncrementalRefreshOrderBook47::TEMPLATE_ID => self.order_book47(raw, out),
            MdIncrementalRefreshTradeSummary48::TEMPLATE_ID => self.trades48(raw, out),
            MdIncrementalRefreshVolume37::TEMPLATE_ID => self.volumes37(raw, out),
            _ => self.rarer_message(raw, out),
        }
    }

    /// Message types without a function of their own on the hot path.
    #[inline(never)]
    fn rarer_message(&mut self, raw: CheckedMessage<'_>, out: &mut Output<'_>) -> Option<Ending> {
        match raw.header.template_id {
            MdIncrementalRefreshBookLongQty64::TEMPLATE_ID => self.book64(raw, out),
            MdIncrementalRefreshOrderBook43::TEMPLATE_ID => self.order_book43(raw, out),
            MdIncrementalRefreshTrade36::TEMPLATE_ID => self.trades36(raw, out),
            MdIncrementalRefreshTradeSummary42::TEMPLATE_ID => self.trades42(raw, out),
            MdIncrementalRefreshTradeSummaryLongQty65::TEMPLATE_ID => self.trades65(raw, out),
            MdIncrementalRefreshVolumeLongQty66::TEMPLATE_ID => self.volumes66(raw, out),
            MdIncrementalRefreshDailyStatistics33::TEMPLATE_ID => self.statistics33(raw, out),
            MdIncrementalRefreshDailyStatistics49::TEMPLATE_ID => self.statistics49(raw, out),
            MdIncrementalRefreshSessionStatistics35::TEMPLATE_ID => self.statistics35(raw, out),
            MdIncrementalRefreshSessionStatistics51::TEMPLATE_ID => self.statistics51(raw, out),
            MdIncrementalRefreshSessionStatisticsLongQty67::TEMPLATE_ID => {
                self.statistics67(raw, out)
            }
            MdIncrementalRefreshLimitsBanding34::TEMPLATE_ID => self.limits34(raw, out),
            MdIncrementalRefreshLimitsBanding50::TEMPLATE_ID => self.limits50(raw, out),
            ChannelReset4::TEMPLATE_ID => self.channel_reset(raw, out),
            SecurityStatus30::TEMPLATE_ID => self.security_status(raw, out),
            SecurityStatusWorkup60::TEMPLATE_ID => self.workup_status(raw, out),
            QuoteRequest39::TEMPLATE_ID => {
                let message = QuoteRequest39::of(raw);
                ending!(message)
            }
            CollateralMarketValue62::TEMPLATE_ID => {
                let message = CollateralMarketValue62::of(raw);
                ending!(message)
            }
            _ => self.definition_or_other(raw, out),
        }
    }

    /// Definitions on the incremental feed have no event time.
    fn definition_or_other(
        &mut self,
        raw: CheckedMessage<'_>,
        out: &mut Output<'_>,
    ) -> Option<Ending> {
        if let Some(definition) = self.definition(raw, out) {
            return Some(Ending {
                transact_ns: definition.last_update_ns,
                indicator: definition.indicator,
            });
        }
        let is_known = Message::is_known(raw.header.template_id);
        self.counters.messages_unknown += u64::from(!is_known);
        None
    }

    /// Every book of every instrument is empty and complete from the next message on. Source: CME
    /// client systems wiki, "Channel Reset".
    fn channel_reset(&mut self, raw: CheckedMessage<'_>, out: &mut Output<'_>) -> Option<Ending> {
        let message = ChannelReset4::of(raw);
        self.counters.channel_resets += 1;
        let point = (self.progress.packet(), self.progress.sending_ns());
        self.reset(point, Some(message.transact_time()), out);
        ending!(message)
    }

    fn security_status(&mut self, raw: CheckedMessage<'_>, out: &mut Output<'_>) -> Option<Ending> {
        let message = SecurityStatus30::of(raw);
        // A status message does not add an instrument.
        let instrument = message
            .security_id()
            .and_then(|id| out.instruments.find_security(i64::from(id)));
        if message.security_id().is_none() || instrument.is_some() {
            let status = TradingStatus {
                instrument,
                group: fixed(message.security_group().as_bytes()),
                status: message
                    .security_trading_status()
                    .map_or(255, |status| status.0),
                reason: message.halt_reason().0,
                event: message.security_trading_event().0,
            };
            out.push(Event::Status(status, message.transact_time()));
        }
        ending!(message)
    }

    fn workup_status(&mut self, raw: CheckedMessage<'_>, out: &mut Output<'_>) -> Option<Ending> {
        let message = SecurityStatusWorkup60::of(raw);
        if let Some(instrument) = out
            .instruments
            .find_security(i64::from(message.security_id()))
        {
            let status = TradingStatus {
                instrument: Some(instrument),
                group: [0; 6],
                status: message.security_trading_status().0,
                reason: message.halt_reason().0,
                event: message.security_trading_event().0,
            };
            out.push(Event::Status(status, message.transact_time()));
        }
        ending!(message)
    }
}

/// Text padded with zeros.
fn fixed<const LEN: usize>(text: &[u8]) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    for (place, byte) in bytes.iter_mut().zip(text) {
        *place = *byte;
    }
    bytes
}
