//! Summary of a simulator run.

use crate::format::{count, counted, duration, rate};
use std::fmt::Write;
use touchline_lab::deribit::Exchange;
use touchline_lab::pacing::Pacer;

/// Events, clients, messages and injected faults.
pub fn text(exchange: &Exchange, pacer: &Pacer) -> String {
    let (totals, served) = (exchange.totals(), exchange.served());
    let elapsed_ns = pacer.elapsed_ns();
    let mut text = format!(
        "{} in {}: {} events\n",
        counted(totals.events, "event"),
        duration(elapsed_ns),
        rate(totals.events, elapsed_ns as f64 / 1e9),
    );
    for (name, number) in [
        ("connections", served.connections),
        ("turned away", served.turned_away),
        ("let go, too slow", served.given_up),
        ("logons", totals.logons),
        ("logons refused", totals.logons_refused),
        ("requests", totals.requests),
        ("requests refused", totals.requests_refused),
        ("snapshots", totals.snapshots),
        ("changes of books", totals.increments),
        ("trades", totals.trades),
    ] {
        let _ = writeln!(text, "  {name:<20}{:>14}", count(number));
    }
    let happened = exchange.venue().faults.happened;
    let faults = [
        ("skipped", happened.skipped),
        ("malformed", happened.malformed),
        ("disconnected", happened.disconnected),
        ("silences", happened.silences),
        ("slow", happened.slow),
        ("snapshots late", happened.snapshots_late),
        ("snapshots never", happened.snapshots_never),
        ("logons refused", happened.logons_refused),
        ("requests refused", happened.requests_refused),
    ];
    if faults.iter().any(|(_, number)| *number > 0) {
        text += "faults\n";
    }
    for (name, number) in faults.iter().filter(|(_, number)| *number > 0) {
        let _ = writeln!(text, "  {name:<20}{:>14}", count(*number));
    }
    text
}
