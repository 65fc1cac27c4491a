//! Summary of a simulator run.

use super::test_transport::TestTransport;
use crate::format::{bytes, count, counted, duration, rate};
use std::fmt::Write;
use touchline_lab::capture::{Feed, Line};
use touchline_lab::cme::live::Live;
use touchline_lab::cme::replay_server::ReplayServer;
use touchline_lab::fault::stream::FAULT_NAMES;
use touchline_lab::pacing::Pacer;

/// Totals of the playback.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Packets sent, before faults.
    pub packets: u64,
    /// Packets of captures to other hosts than the channel's; not sent.
    pub left_out: u64,
    /// Number of complete passes.
    pub passes: u64,
}

/// Packets by feed and line, and the faults applied to them.
pub fn lanes(transport: &TestTransport) -> String {
    let counts = transport.counts();
    let mut text = format!(
        "{:<22}{:>14}{:>14}{:>14}\n",
        "packets sent", "line A", "line B", "lost on both"
    );
    for feed in Feed::ALL {
        let [a, b] = Line::BOTH.map(|line| count(counts.sent[line as usize][feed as usize]));
        let lost = count(counts.lost_on_both[feed as usize]);
        let _ = writeln!(text, "  {:<20}{a:>14}{b:>14}{lost:>14}", name(feed));
    }
    let struck = FAULT_NAMES.iter().zip(counts.struck);
    let mut struck = struck.filter(|(_, lines)| *lines != [0, 0]).peekable();
    if struck.peek().is_some() {
        text += "faults\n";
    }
    for (fault, [a, b]) in struck {
        let _ = writeln!(text, "  {fault:<20}{:>14}{:>14}", count(a), count(b));
    }
    let unsent = transport.unsent();
    if unsent.full > 0 {
        let full = counted(unsent.full, "packet");
        let _ = writeln!(
            text,
            "{full} not sent: the kernel's queue was full; send less, or on fewer lines"
        );
    }
    if unsent.down > 0 {
        let down = counted(unsent.down, "packet");
        let _ = writeln!(text, "{down} not sent: the interface was down or gone");
    }
    if unsent.nowhere > 0 {
        let nowhere = counted(unsent.nowhere, "packet");
        let _ = writeln!(
            text,
            "{nowhere} not sent: config.xml has no address for their feed and line"
        );
    }
    let _ = writeln!(text, "{} of payload", bytes(transport.bytes()));
    text
}

/// Summary of the market.
pub fn market(live: &Live, elapsed_ns: u64) -> String {
    let mut text = format!(
        "{} and {} of the incremental feed in {}: {} events\n",
        counted(live.events(), "event"),
        counted(live.incremental_packets(), "packet"),
        duration(elapsed_ns),
        rate(live.events(), elapsed_ns as f64 / 1e9),
    );
    if live.exchanges_before() > 0 {
        let times = counted(live.exchanges_before(), "time");
        let _ = writeln!(text, "the exchange started again {times}");
    }
    if live.restarts() > 0 {
        let times = counted(live.restarts(), "time");
        let _ = writeln!(
            text,
            "the schedule was restarted {times} because it was more than a second behind; use a lower rate of events"
        );
    }
    text
}

/// Summary of TCP replay, if it was served.
pub fn replay(server: Option<&ReplayServer>) -> String {
    let Some(server) = server else {
        return String::new();
    };
    let totals = server.totals();
    format!(
        "TCP replay: {}, {} served with {}, {} refused\n",
        counted(totals.connections, "connection"),
        count(totals.served),
        counted(totals.packets, "packet"),
        count(totals.refused),
    )
}

/// Summary of the playback.
pub fn playback(totals: &Totals, elapsed_ns: u64) -> String {
    let mut text = format!(
        "{} in {}: {}; captures sent completely {}\n",
        counted(totals.packets, "packet"),
        duration(elapsed_ns),
        rate(totals.packets, elapsed_ns as f64 / 1e9),
        counted(totals.passes, "time"),
    );
    if totals.left_out > 0 {
        let left_out = counted(totals.left_out, "packet");
        let _ = writeln!(text, "{left_out} to hosts outside the channel: not sent");
    }
    text
}

/// Lateness of packets.
pub fn lateness(pacer: &Pacer) -> String {
    let late = pacer.late_ns();
    let at = |quantile| duration(late.value_at_quantile(quantile));
    format!(
        "late: {} in the median, {} at 99 %, {} at 99.9 %, {} at most\n",
        at(0.5),
        at(0.99),
        at(0.999),
        duration(late.max()),
    )
}

fn name(feed: Feed) -> &'static str {
    match feed {
        Feed::Incremental => "incremental",
        Feed::Definitions => "definitions",
        Feed::Snapshot => "snapshots",
        Feed::OrderSnapshot => "order snapshots",
    }
}
