//! Summary at the end of a replay.

use super::print::feed_name;
use crate::format::{count, counted, duration, rate, share};
use std::fmt::{Display, Formatter, Result, Write};
use touchline_feed::cme::{CmeFeed, Counters, FeedType, Join, Line};
use touchline_gateway::Pipeline;
use touchline_gateway::venues::cme::ChannelConfig;
use touchline_gateway::venues::cme::CmeReport;
use touchline_instruments::Instruments;
use touchline_net::Skipped;
use touchline_net::frame::tunnel_of_port;
use touchline_transport::Publish;
use touchline_types::Validity;
use touchline_wire::sbe::UtcTime;

/// Summary of a replay, at most 80 columns wide.
pub struct Summary<'a> {
    channel: &'a ChannelConfig,
    report: &'a CmeReport,
    skipped: Skipped,
    feed: &'a CmeFeed,
    instruments: &'a Instruments,
    path: &'a touchline_gateway::Counters,
    join: Join,
}

/// Label of each of the feed's counters in its table; other counters are listed by name if they are
/// not 0.
const ARBITRATION: [(&str, &str); 8] = [
    ("packets_delivered", "processed, each once"),
    ("packets_duplicate", "second copies dropped"),
    ("packets_buffered", "waited behind a gap"),
    ("packets_late", "came after their gap was given up"),
    ("packets_invalid", "invalid, counted as not received"),
    ("packets_out_of_window", "beyond the window"),
    ("packets_old_epoch", "from before the last sequence reset"),
    ("packets_lost", "lost on both lines"),
];
const RECOVERY: [(&str, &str); 8] = [
    ("gaps", "gaps given up"),
    ("numbering_restarts", "sequence resets"),
    ("channel_resets", "channel resets"),
    ("instrument_gaps", "books emptied by a gap of their own"),
    ("snapshots_used", "snapshots that replaced a book"),
    ("snapshots_too_old", "snapshots too old for what was queued"),
    (
        "order_snapshots_used",
        "snapshots that replaced an order book",
    ),
    ("snapshot_cycles", "snapshot cycles seen complete"),
];
/// Counters of these two tables that are shown even if 0.
const ALWAYS: [&str; 5] = [
    "packets_delivered",
    "packets_duplicate",
    "packets_lost",
    "gaps",
    "instrument_gaps",
];
/// Counters shown by other parts of the summary.
const ELSEWHERE: [&str; 9] = [
    "packets_a",
    "packets_b",
    "packets_snapshot",
    "packets_definition",
    "packets_first_a",
    "packets_first_b",
    "packets_different",
    "messages",
    "messages_unknown",
];

const VALIDITIES: [Validity; 4] = [
    Validity::Live,
    Validity::Gapped,
    Validity::Recovering,
    Validity::Natural,
];

impl<'a> Summary<'a> {
    /// The summary of a finished replay.
    pub fn new<P: Publish>(
        channel: &'a ChannelConfig,
        report: &'a CmeReport,
        skipped: Skipped,
        pipeline: &'a Pipeline<CmeFeed, P>,
        join: Join,
    ) -> Summary<'a> {
        Summary {
            channel,
            report,
            skipped,
            feed: pipeline.feed(),
            instruments: pipeline.instruments(),
            path: pipeline.counters(),
            join,
        }
    }

    fn write_head(&self, f: &mut Formatter<'_>) -> Result {
        let ChannelConfig { id, label, .. } = self.channel;
        writeln!(f, "channel {id}, {label}")?;
        if let Some((first, last)) = self.report.span_ns {
            let span = duration(last - first);
            writeln!(f, "from {} over {span}", UtcTime(first))?;
        }
        Ok(())
    }

    fn write_packets(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "\n{:<20}{:>14}{:>14}", "packets", "line A", "line B")?;
        let feeds = [
            FeedType::Incremental,
            FeedType::Snapshot,
            FeedType::SnapshotOrders,
            FeedType::Definition,
        ];
        for feed in feeds {
            let [a, b] = [Line::A, Line::B]
                .map(|line| self.report.packets.get(&(feed, line)).copied().unwrap_or(0));
            if a + b > 0 || feed == FeedType::Incremental {
                let name = feed_name(feed);
                writeln!(f, "  {name:<18}{:>14}{:>14}", count(a), count(b))?;
            }
        }
        let Counters {
            packets_first_a: a,
            packets_first_b: b,
            ..
        } = *self.feed.counters();
        let (a, b) = (share(a, a + b), share(b, a + b));
        writeln!(f, "  {:<18}{a:>14}{b:>14}", "first copy")
    }

    fn write_counters(&self, f: &mut Formatter<'_>) -> Result {
        for (title, table) in [("arbitration", &ARBITRATION[..]), ("recovery", &RECOVERY)] {
            writeln!(f, "\n{title}")?;
            for (name, words) in table {
                let value = self.counter(name);
                if value > 0 || ALWAYS.contains(name) {
                    row(f, value, words)?;
                }
            }
        }
        Ok(())
    }

    fn write_instruments(&self, f: &mut Formatter<'_>) -> Result {
        let instruments = self.instruments.iter();
        let (mut prices, mut orders) = ([0; VALIDITIES.len()], [0; VALIDITIES.len()]);
        for instrument in instruments {
            for (counts, validity) in [
                (&mut prices, self.feed.validity(instrument)),
                (&mut orders, self.feed.orders_validity(instrument)),
            ] {
                let at = VALIDITIES.iter().position(|each| *each == validity);
                counts[at.unwrap_or(0)] += 1;
            }
        }
        let total = counted(self.instruments.len() as u64, "instrument");
        write!(f, "\n{total:<20}")?;
        VALIDITIES
            .iter()
            .try_for_each(|validity| write!(f, "{:>12}", validity.name()))?;
        let mut rows = vec![("price books", prices)];
        if self.feed.orders_seen() {
            rows.push(("order books", orders));
        }
        for (name, counts) in rows {
            write!(f, "\n  {name:<18}")?;
            counts
                .iter()
                .try_for_each(|number| write!(f, "{:>12}", count(*number)))?;
        }
        f.write_char('\n')?;
        let [_live, not_live @ ..] = prices;
        let mut feeds = self.report.packets.keys().map(|(feed, _)| *feed);
        if self.join == Join::Snapshot
            && not_live.iter().any(|number| *number > 0)
            && !feeds.any(|feed| feed == FeedType::Snapshot)
        {
            f.write_str(
                "  no snapshots in the captures: --join natural fills books with their updates\n",
            )?;
        }
        Ok(())
    }

    fn write_messages(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "\nmessages by template")?;
        for template in self.feed.templates().counts() {
            let name = template.name.unwrap_or("unknown, skipped by its size");
            let words = format!("{:>5}  {name}", template.template_id);
            row(f, template.messages, &words)?;
        }
        let unlisted = self.feed.templates().unlisted();
        if unlisted > 0 {
            row(
                f,
                unlisted,
                "of further unknown templates, skipped by their size",
            )?;
        }
        Ok(())
    }

    fn write_updates(&self, f: &mut Formatter<'_>) -> Result {
        let path = self.path;
        writeln!(f, "\npublished")?;
        row(f, path.events, "events")?;
        row(f, path.book_updates, "price-book updates")?;
        row(f, path.books_locked, "of them with a locked book")?;
        row(f, path.books_crossed, "of them with a crossed book")?;
        row(f, path.order_updates, "order-book updates")?;
        row(f, path.trades, "trades")?;
        row(f, path.statistics, "statistics")
    }

    /// Unusual findings, usually none.
    fn write_oddities(&self, f: &mut Formatter<'_>) -> Result {
        let mut odd = String::new();
        for (destination, packets) in &self.report.unrouted {
            let question = match tunnel_of_port(destination.port()) {
                Some(tunnel) => format!("{tunnel}; capture behind the end of the tunnel"),
                None => "is this the right channel?".to_owned(),
            };
            let words = format!(
                "packets to {destination}: the channel has no such group;\n\
                 {:16}{question}",
                ""
            );
            row(&mut odd, *packets, &words)?;
        }
        if let Some(copies) = self.report.differing {
            let words = format!(
                "packets whose other copy has different bytes, the last one\n\
                 {:16}number {} of line {}, from {}",
                "", copies.number, copies.line, copies.source
            );
            row(&mut odd, copies.packets, &words)?;
        }
        for (frames, why) in self.skipped.reasons() {
            row(&mut odd, frames, &format!("frames skipped: {why}"))?;
        }
        for (info, value) in self.feed.counters().values() {
            let tables = ARBITRATION.iter().chain(&RECOVERY);
            let is_told = ELSEWHERE.contains(&info.name)
                || tables.into_iter().any(|(name, _)| *name == info.name);
            if !is_told {
                row_if_any(&mut odd, value, info.name)?;
            }
        }
        row_if_any(&mut odd, self.path.events_cut, "events_cut")?;
        if !odd.is_empty() {
            write!(f, "\nalso counted\n{odd}")?;
        }
        Ok(())
    }

    fn write_times(&self, f: &mut Formatter<'_>) -> Result {
        let times = &self.report.packet_ns;
        if !times.is_empty() {
            let at = |quantile| duration(times.value_at_quantile(quantile));
            writeln!(
                f,
                "\ntime per packet, {} processed in order of arrival",
                count(times.len())
            )?;
            writeln!(
                f,
                "  p50 {}   p99 {}   p99.9 {}   max {}",
                at(0.5),
                at(0.99),
                at(0.999),
                duration(times.max())
            )?;
        }
        let seconds = self.report.elapsed.as_secs_f64();
        let (packets, messages) = (self.report.routed(), self.feed.counters().messages);
        writeln!(
            f,
            "\n{} and {} in {}, reading included: {}, {}",
            counted(packets, "packet"),
            counted(messages, "message"),
            duration(self.report.elapsed.as_nanos() as u64),
            rate(packets, seconds),
            rate(messages, seconds)
        )?;
        match &self.report.lateness {
            Some(lateness) => writeln!(f, "{lateness}"),
            None => Ok(()),
        }
    }

    fn counter(&self, name: &str) -> u64 {
        let mut values = self.feed.counters().values();
        let found = values.find(|(info, _)| info.name == name);
        found.map_or(0, |(_, value)| value)
    }
}

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write_head(f)?;
        self.write_packets(f)?;
        self.write_counters(f)?;
        self.write_instruments(f)?;
        self.write_messages(f)?;
        self.write_updates(f)?;
        self.write_oddities(f)?;
        self.write_times(f)
    }
}

fn row(f: &mut impl Write, value: u64, words: &str) -> Result {
    writeln!(f, "{:>14}  {words}", count(value))
}

fn row_if_any(f: &mut impl Write, value: u64, words: &str) -> Result {
    if value > 0 {
        row(f, value, words)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_summary_is_a_counter() {
        let tables = ARBITRATION.iter().chain(&RECOVERY).map(|(name, _)| *name);
        for name in tables.chain(ALWAYS).chain(ELSEWHERE) {
            let known = Counters::TABLE.iter().any(|info| info.name == name);
            assert!(known, "{name}");
        }
    }
}
