//! The rows of each part.

use super::{BAD, BOLD, CARE, DIM, GOOD};
use crate::format::{bytes, count, duration};
use crate::top::model::{Condition, Latency, Picture, Points, Reader, STATES};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use touchline_types::Validity;

/// What flows; the past of each as long as there is room for it, and totals if there is room for both.
pub fn rate_rows(picture: &Picture, width: u16) -> Vec<Line<'static>> {
    const TOTALS: u16 = 60;
    let totals = |text: &str| match width >= TOTALS {
        true => format!("{text:>14}"),
        false => String::new(),
    };
    let head = format!(" {:<15}{:>12}{}", "flow", "a second", totals("in all"));
    let past_width = usize::from(width).saturating_sub(head.len() + 1);
    let mut rows = vec![title(head)];
    for rate in &picture.rates {
        let (per_second, total) = match rate.name {
            "bytes" => (bytes(rate.per_second as u64), bytes(rate.total)),
            _ => (count(rate.per_second as u64), count(rate.total)),
        };
        let skipped = rate.past.len().saturating_sub(past_width);
        let past = sparks(rate.past.iter().skip(skipped).copied());
        let text = format!(" {:<15}{per_second:>12}{} ", rate.name, totals(&total));
        rows.push(Line::from(vec![Span::raw(text), Span::styled(past, GOOD)]));
    }
    if picture.rates.is_empty() {
        rows.push(Line::styled(
            " nothing is counted: the bus has no board",
            DIM,
        ));
    }
    rows
}

/// What lines brought, and what was lost.
pub fn line_rows(picture: &Picture) -> Vec<Line<'static>> {
    let mut rows = vec![title(format!(
        "{:<16}{:>8}{:>10}",
        "lines and gaps", "now", "in all"
    ))];
    for line in &picture.lines {
        let style = match (line.is_bad, line.recent, line.total) {
            (true, 1.., _) => BAD,
            (true, 0, 1..) => CARE,
            (_, _, 0) => DIM,
            _ => Style::new(),
        };
        let text = format!(
            "{:<16}{:>8}{:>10}",
            cut(&line.name, 16),
            count(line.recent),
            count(line.total)
        );
        rows.push(Line::styled(text, style));
    }
    rows
}

/// How many books may be trusted how far.
pub fn books_line(picture: &Picture) -> Line<'static> {
    let mut spans = vec![Span::styled(" books ", BOLD)];
    let unseen = picture.books[STATES.len()];
    let states = STATES.iter().zip(picture.books);
    for (state, books) in states.filter(|(_, books)| *books > 0) {
        let style = match state {
            Validity::Live | Validity::Natural => GOOD,
            Validity::Closed => DIM,
            Validity::Recovering | Validity::Gapped | Validity::Stale => CARE,
        };
        let text = format!(" {} {} ", count(books as u64), state.name());
        spans.push(Span::styled(text, style));
    }
    if unseen > 0 {
        let text = format!(" {} without an image", count(unseen as u64));
        spans.push(Span::styled(text, DIM));
    }
    if picture.books.iter().all(|books| *books == 0) {
        spans.push(Span::styled(" none yet", DIM));
    }
    Line::from(spans)
}

/// The last interval and all of it, if there is room for both; else one of them.
pub fn latency_rows(picture: &Picture, width: u16, totals: bool) -> Vec<Line<'static>> {
    const BOTH: u16 = 112;
    const SLIM: u16 = 70;
    let all = match picture.is_since_reset {
        true => "since reset",
        false => "since start",
    };
    let name_width = if width >= SLIM { 24 } else { 14 };
    let both = width >= BOTH;
    let shown = [(!totals || both, "interval"), (totals || both, all)];
    let mut head = vec![Span::raw(format!(" {:<name_width$}", "latency"))];
    for (_, window) in shown.iter().filter(|(is_shown, _)| *is_shown) {
        let text = format!(
            "{window:>12}{:>8}{:>8}{:>8}{:>8}",
            "p50", "p99", "p99.9", "max"
        );
        head.push(Span::raw(text));
    }
    let mut rows = vec![Line::from(head).style(BOLD)];
    for latency in &picture.latencies {
        let name = cut(&latency.name, name_width - 1);
        let mut spans = vec![Span::raw(format!(" {name:<name_width$}"))];
        let windows = [latency.recent, latency.total];
        for (window, (is_shown, _)) in windows.iter().zip(shown) {
            let style = if window.count == 0 { DIM } else { Style::new() };
            let text = format!("{:>12}{}", count(window.count), columns(latency, window));
            if is_shown {
                spans.push(Span::styled(text, style));
            }
        }
        rows.push(Line::from(spans));
    }
    if picture.latencies.is_empty() {
        rows.push(Line::styled(" no histogram", DIM));
    }
    rows
}

/// How much of a reader there is room for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    Slim,
    Wide,
    /// With the times from the packet's receive stamp.
    Widest,
}

impl Room {
    fn of(width: u16) -> Room {
        match width {
            0..100 => Room::Slim,
            100..118 => Room::Wide,
            118.. => Room::Widest,
        }
    }
}

/// Readers, the slowest first.
pub fn reader_rows(picture: &Picture, width: u16) -> Vec<Line<'static>> {
    let room = Room::of(width);
    let mut head = format!(
        " {:<16}{:>7}{:>11}{:>6}{:>12}{:>8}",
        "reader", "pid", "lag", "ring", "lost", "overrun"
    );
    head += &match room {
        Room::Slim => format!("{:>9}{:>9}", "p50", "p99"),
        _ => format!("{:>12}{:>9}{:>9}{:>9}", "a second", "p50", "p99", "p99.9"),
    };
    if room == Room::Widest {
        head += &format!("{:>9}{:>9}", "net p50", "net p99");
    }
    let mut rows = vec![title(head)];
    rows.extend(
        picture
            .readers
            .iter()
            .map(|reader| reader_row(reader, room)),
    );
    if picture.unnamed_readers > 0 {
        let number = count(picture.unnamed_readers as u64);
        let text = format!(" {number} without a name, waited for");
        rows.push(Line::styled(text, DIM));
    }
    rows
}

fn reader_row(reader: &Reader, room: Room) -> Line<'static> {
    let name = cut(&reader.name, 15);
    let style = match &reader.condition {
        Condition::Unreadable(why) => {
            return Line::styled(format!(" {name:<16}{why}"), BAD);
        }
        Condition::Dead => DIM,
        Condition::Well => Style::new(),
        Condition::HasLost => CARE,
        Condition::Slow => BAD.patch(BOLD),
    };
    let pid = match reader.condition {
        Condition::Dead => "died".to_owned(),
        _ => reader.pid.to_string(),
    };
    let mut text = format!(
        " {name:<16}{pid:>7}{:>11}{:>5.0}%{:>12}{:>8}",
        bytes(reader.lag_bytes),
        reader.lag_share * 100.0,
        count(reader.lost),
        count(reader.overruns),
    );
    let shown = |value: Option<u64>| value.map_or("-".to_owned(), duration);
    let [p50, p99, p99_9, _] = reader.consumed.at.map(shown);
    let per_second = count(reader.per_second as u64);
    text += &match room {
        Room::Slim => format!("{p50:>9}{p99:>9}"),
        _ => format!("{per_second:>12}{p50:>9}{p99:>9}{p99_9:>9}"),
    };
    if room == Room::Widest {
        let [p50, p99, ..] = reader.received.at.map(shown);
        text += &format!("{p50:>9}{p99:>9}");
    }
    Line::styled(text, style)
}

/// p50, p99, p99.9 and the largest, in eight columns each.
fn columns(latency: &Latency, points: &Points) -> String {
    let shown = |value: Option<u64>| match value {
        None => "-".to_owned(),
        Some(value) if latency.unit == "ns" => duration(value),
        Some(value) => count(value),
    };
    points
        .at
        .map(|value| format!("{:>8}", shown(value)))
        .concat()
}

fn title(text: impl Into<String>) -> Line<'static> {
    Line::styled(text.into(), BOLD)
}

/// The highest is a whole block, nothing is a dot.
fn sparks(values: impl Iterator<Item = u64> + Clone) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.clone().max().unwrap_or(0).max(1);
    let block = |value: u64| match value {
        0 => '·',
        _ => BLOCKS[(value as f64 / highest as f64 * 7.0).round() as usize],
    };
    values.map(block).collect()
}

/// The beginning of a name that is too long.
fn cut(name: &str, width: usize) -> String {
    match name.chars().count() > width {
        true => name.chars().take(width - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}
