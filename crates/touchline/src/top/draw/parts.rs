//! Publisher and readers: totals, books, rates, lines and gaps, latencies, readers.

use super::market::{Parts, state_style};
use super::style::{BAD, BOLD, CARE, DIM, GOOD};
use super::table::{Column, Table};
use crate::format::{bytes, count, counted, duration};
use crate::top::model::{Condition, Count, Latency, Picture, Points, Reader, STATES};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Throughput and losses in one line, most important first.
pub fn totals_line(picture: &Picture, width: u16) -> Line<'static> {
    let mut parts = Parts::new(width);
    let rate = |text: f64, noun: &str| format!("{} {noun}/s", count(text.round() as u64));
    let updates = picture.rates.iter().find(|rate| rate.name == "updates");
    if let Some(updates) = updates {
        parts.add(rate(updates.per_second, "updates"), BOLD);
    }
    write_losses(&mut parts, picture);
    let packets = picture
        .rates
        .iter()
        .filter(|rate| rate.name.starts_with("packets"));
    let packets: Vec<f64> = packets.map(|rate| rate.per_second).collect();
    if !packets.is_empty() {
        parts.add(rate(packets.iter().sum(), "packets"), Style::new());
    }
    let of_banks = ["quotes of banks", "composites"];
    for rate_of in picture
        .rates
        .iter()
        .filter(|rate| of_banks.contains(&rate.name))
    {
        parts.add(rate(rate_of.per_second, rate_of.name), BOLD);
    }
    let packet = picture
        .latencies
        .iter()
        .find(|latency| latency.name == "packet_ns");
    if let Some([Some(p50), Some(p99), ..]) = packet.map(Latency::latest) {
        let both = format!("packet p50 {}, p99 {}", duration(p50), duration(p99));
        match parts.has_room(&both) {
            true => parts.add(both, Style::new()),
            false => parts.add(format!("packet p99 {}", duration(p99)), Style::new()),
        }
    }
    if parts.is_empty() {
        parts.add(
            "the publisher of this bus writes no counters".to_owned(),
            DIM,
        );
    }
    parts.line()
}

/// Gaps, lost packets, and drops of the host.
fn write_losses(parts: &mut Parts, picture: &Picture) {
    let line = |name: &str| picture.lines.iter().find(|line| line.name == name);
    let (gaps, lost) = (line("gaps"), line("lost"));
    if let Some(lost) = lost {
        let packets = counted(lost.total, "packet");
        let text = match gaps {
            Some(gaps) if gaps.total > 0 => {
                format!("{packets} lost in {}", counted(gaps.total, "gap"))
            }
            _ => format!("{packets} lost"),
        };
        parts.add(text, bad_style(lost.recent, lost.total));
    } else if let Some(gaps) = gaps {
        parts.add(
            counted(gaps.total, "gap"),
            bad_style(gaps.recent, gaps.total),
        );
    }
    let has_dropped = |line: &&Count| line.name.contains("drop") && line.total > 0;
    for line in picture.lines.iter().filter(has_dropped) {
        let text = format!("{} {}", count(line.total), line.name);
        parts.add(text, bad_style(line.recent, line.total));
    }
}

/// Style of a fault: red if there were some in the last interval.
pub fn bad_style(recent: u64, total: u64) -> Style {
    match (recent, total) {
        (1.., _) => BAD,
        (0, 1..) => CARE,
        (0, 0) => DIM,
    }
}

/// Books by state, and slow readers.
pub fn books_line(picture: &Picture, width: u16) -> Line<'static> {
    let mut parts = Parts::new(width);
    let unseen = picture.books[STATES.len()];
    let states = STATES.iter().zip(picture.books);
    let mut noun = "books ";
    for (state, books) in states.filter(|(_, books)| *books > 0) {
        let text = format!("{noun}{} {}", count(books as u64), state.name());
        parts.add(text, state_style(*state));
        noun = "";
    }
    if unseen > 0 {
        parts.add(
            format!("{noun}{} without a book", count(unseen as u64)),
            DIM,
        );
    } else if picture.books.iter().all(|books| *books == 0) {
        parts.add("no book yet".to_owned(), DIM);
    }
    if let Some(lag_ns) = picture.link_lag_ns {
        parts.add(format!("link lag {}", duration(lag_ns)), DIM);
    }
    write_readers(&mut parts, picture);
    parts.line()
}

/// Slow readers by name, then the number of readers.
fn write_readers(parts: &mut Parts, picture: &Picture) {
    for reader in &picture.readers {
        let share = reader.lag_share * 100.0;
        let (text, style) = match &reader.condition {
            Condition::Slow => (
                format!("slow: {} {share:.0}% behind", reader.name),
                BAD.patch(BOLD),
            ),
            Condition::HasLost => (format!("has lost: {}", reader.name), CARE),
            Condition::Unreadable(_) | Condition::Dead | Condition::Well => continue,
        };
        parts.add(text, style);
    }
    for receiver in &picture.slow_receivers {
        parts.add(format!("slow receiver: {}", receiver.address), CARE);
    }
    let is_there = |reader: &&Reader| reader.condition != Condition::Dead;
    let named = picture.readers.iter().filter(is_there).count();
    let total = named + picture.unnamed_readers;
    if total > 0 {
        parts.add(counted(total as u64, "reader"), Style::new());
    }
}

/// Rates, with as much history as fits; `widths` are the minimum ones of the numbers.
pub fn rate_rows(picture: &Picture, width: u16, widths: [usize; 2]) -> Vec<Line<'static>> {
    let mut table = Table::new(vec![
        Column::left("flow", 0),
        Column::right("per second", 1).at_least(widths[0]),
        Column::right("total", 2).at_least(widths[1]),
    ]);
    for rate in &picture.rates {
        let (per_second, total) = match rate.name {
            "bytes" => (bytes(rate.per_second as u64), bytes(rate.total)),
            _ => (per_second(rate.per_second), count(rate.total)),
        };
        table.push(
            Style::new(),
            [rate.name.to_owned(), per_second, total]
                .map(Span::raw)
                .to_vec(),
        );
    }
    if picture.rates.is_empty() {
        return vec![Line::styled(
            " no counters: the publisher of this bus writes none",
            DIM,
        )];
    }
    let room = usize::from(width.saturating_sub(table.width(width) + 2));
    let mut lines = table.lines(width);
    for (line, rate) in lines.iter_mut().skip(1).zip(&picture.rates) {
        let skipped = rate.past.len().saturating_sub(room);
        let past = sparks(rate.past.iter().skip(skipped).copied());
        line.push_span("  ");
        line.push_span(Span::styled(past, GOOD));
    }
    lines
}

/// A rate, with a decimal if it is small.
fn per_second(rate: f64) -> String {
    match rate {
        0.05..9.95 => format!("{rate:.1}"),
        _ => count(rate as u64),
    }
}

/// Packets of the lines, and losses.
pub fn line_rows(picture: &Picture, width: u16) -> Vec<Line<'static>> {
    count_rows("lines and gaps", picture, width, [7, 11])
}

/// Counts of the last interval and in total, under this head; `widths` are the minimum ones of the numbers.
pub fn count_rows(
    head: &str,
    picture: &Picture,
    width: u16,
    widths: [usize; 2],
) -> Vec<Line<'static>> {
    let mut table = Table::new(vec![
        Column::left(head, 0),
        Column::right("now", 2).at_least(widths[0]),
        Column::right("total", 1).at_least(widths[1]),
    ]);
    for line in &picture.lines {
        let style = match (line.is_bad, line.total) {
            (true, _) => bad_style(line.recent, line.total),
            (false, 0) => DIM,
            (false, _) => Style::new(),
        };
        let cells = [line.name.clone(), count(line.recent), count(line.total)];
        table.push(style, cells.map(Span::raw).to_vec());
    }
    table.lines(width)
}

/// Latencies of the last interval and in total if both fit, else one of them.
pub fn latency_rows(picture: &Picture, width: u16, totals: bool) -> Vec<Line<'static>> {
    let all = match picture.is_since_reset {
        true => "since reset",
        false => "since start",
    };
    let both = latency_table(picture, &[("interval", false), (all, true)], 0);
    if both.width(u16::MAX) <= width {
        return both.lines(width);
    }
    let one = if totals {
        (all, true)
    } else {
        ("interval", false)
    };
    latency_table(picture, &[one], 3).lines(width)
}

/// Table of these windows; totals are marked.
fn latency_table(picture: &Picture, windows: &[(&str, bool)], rank: u8) -> Table {
    let mut columns = vec![Column::left("latency", 0)];
    for (window, _) in windows {
        columns.push(Column::right(*window, rank).at_least(11));
        let quantiles = ["p50", "p99", "p99.9", "max"].into_iter().zip([1, 1, 2, 2]);
        columns.extend(quantiles.map(|(name, rank)| Column::right(name, rank).at_least(7)));
    }
    let mut table = Table::new(columns);
    for latency in &picture.latencies {
        let mut cells = vec![Span::raw(latency.name.clone())];
        for (_, is_total) in windows {
            let points = if *is_total {
                &latency.total
            } else {
                &latency.recent
            };
            let style = if points.count == 0 { DIM } else { Style::new() };
            cells.push(Span::styled(count(points.count), style));
            cells.extend(quantiles(latency, points).map(|text| Span::styled(text, style)));
        }
        table.push(Style::new(), cells);
    }
    table
}

/// p50, p99, p99.9 and the maximum.
fn quantiles(latency: &Latency, points: &Points) -> [String; 4] {
    points.at.map(|value| match value {
        None => "-".to_owned(),
        Some(value) if latency.unit == "ns" => duration(value),
        Some(value) => count(value),
    })
}

/// Readers, slowest first.
pub fn reader_rows(picture: &Picture, width: u16) -> Vec<Line<'static>> {
    let mut table = Table::new(vec![
        Column::left("reader", 0),
        Column::left("condition", 1),
        Column::right("lag", 3).at_least(9),
        Column::right("of ring", 1),
        Column::right("lost", 1).at_least(7),
        Column::right("overruns", 3),
        Column::right("p50", 4).at_least(7),
        Column::right("p99", 4).at_least(7),
        Column::right("p99.9", 6).at_least(7),
        Column::right("per second", 5),
        Column::right("net p50", 7).at_least(7),
        Column::right("net p99", 7).at_least(7),
        Column::right("process", 8),
    ]);
    for reader in &picture.readers {
        let (style, cells) = reader_cells(reader);
        table.push(style, cells.into_iter().map(Span::raw).collect());
    }
    let mut lines = table.lines(width);
    for reader in &picture.readers {
        if let Condition::Unreadable(why) = &reader.condition {
            lines.push(Line::styled(format!(" {}: {why}", reader.name), BAD));
        }
    }
    for receiver in &picture.slow_receivers {
        let text = format!(
            " {} of {}: {} wait for it, slow {} times so far",
            receiver.address,
            receiver.relay,
            bytes(receiver.queued_bytes),
            count(receiver.times)
        );
        lines.push(Line::styled(text, CARE));
    }
    if picture.unnamed_readers > 0 {
        let number = counted(picture.unnamed_readers as u64, "reader");
        lines.push(Line::styled(
            format!(" {number} without a name, waited for"),
            DIM,
        ));
    }
    lines
}

fn reader_cells(reader: &Reader) -> (Style, Vec<String>) {
    let (style, condition) = match &reader.condition {
        Condition::Unreadable(_) => (BAD, "unreadable"),
        Condition::Dead => (DIM, "died"),
        Condition::Well => (Style::new(), "well"),
        Condition::HasLost => (CARE, "has lost"),
        Condition::Slow => (BAD.patch(BOLD), "slow"),
    };
    let mut cells = vec![reader.name.clone(), condition.to_owned()];
    if !matches!(reader.condition, Condition::Unreadable(_)) {
        let shown = |value: Option<u64>| value.map_or("-".to_owned(), duration);
        let [p50, p99, p99_9, _] = reader.consumed.at.map(shown);
        let [net_p50, net_p99, ..] = reader.received.at.map(shown);
        cells.extend([
            bytes(reader.lag_bytes),
            format!("{:.0}%", reader.lag_share * 100.0),
            count(reader.lost),
            count(reader.overruns),
            p50,
            p99,
            p99_9,
            count(reader.per_second as u64),
            net_p50,
            net_p99,
            reader.pid.to_string(),
        ]);
    }
    (style, cells)
}

/// Sparkline: the maximum is a full block, zero is a dot.
fn sparks(values: impl Iterator<Item = u64> + Clone) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.clone().max().unwrap_or(0).max(1);
    let block = |value: u64| match value {
        0 => '·',
        _ => BLOCKS[(value as f64 / highest as f64 * 7.0).round() as usize],
    };
    values.map(block).collect()
}

/// Scorecard of the banks in the selected instrument; empty for a bus that is not a composite.
pub fn score_rows(picture: &Picture, width: u16) -> Vec<Line<'static>> {
    if picture.scores.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(vec![
        Column::left("bank", 0),
        Column::right("at best bid", 1),
        Column::right("ask", 1).at_least(6),
        Column::right("spread", 2).at_least(6),
        Column::right("quotes/s", 3).at_least(8),
        Column::right("session up", 4).at_least(10),
    ]);
    for score in &picture.scores {
        let [bid, ask] = score.best.map(|share| format!("{:.1}%", 100.0 * share));
        let spread = score
            .spread
            .map_or("-".to_owned(), |ticks| format!("{ticks:.2}"));
        let quotes = format!("{:.1}", score.quotes_per_second);
        let cells = [
            score.bank.clone(),
            bid,
            ask,
            spread,
            quotes,
            duration(score.up_ns),
        ];
        table.push(Style::new(), cells.map(Span::raw).to_vec());
    }
    table.lines(width)
}
