//! A picture as a frame of the terminal. What does not fit is left out from the bottom of each part; nothing
//! here looks at a bus.

mod parts;
#[cfg(test)]
mod tests;

use super::model::{Ladder, Picture, State};
use crate::format::{bytes, count};
use parts::{books_line, latency_rows, line_rows, rate_rows, reader_rows};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use touchline_types::Validity;

/// What is shown beside the picture: what a person is doing.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Which bus this is of how many.
    pub place: (usize, usize),
    /// Time between two looks, in milliseconds.
    pub interval_ms: u64,
    /// Nothing is looked at.
    pub is_paused: bool,
    /// What is being typed after `/`.
    pub typing: Option<String>,
    /// What is to be said in the last line.
    pub note: Option<String>,
    /// Where there is no room for both, latencies in all, not those of the last interval.
    pub totals: bool,
    /// The keys are shown.
    pub help: bool,
}

/// From here on rates, latencies and readers stand beside the ladder.
const WIDE: u16 = 158;
/// A ladder's width.
const LADDER_WIDTH: u16 = 80;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const GOOD: Style = Style::new().fg(Color::Green);
const BAD: Style = Style::new().fg(Color::Red);
const CARE: Style = Style::new().fg(Color::Yellow);

/// Draws all of it.
pub fn draw(frame: &mut Frame<'_>, picture: &Picture, around: &Around) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]);
    let [head, body, foot] = rows.areas(frame.area());
    frame.render_widget(heading(picture, around), head);
    match (&picture.last_error, &picture.overview) {
        (Some(last_error), _) => frame.render_widget(said(last_error), body),
        (None, None) => {}
        (None, Some(_)) => draw_body(frame, body, picture, around),
    }
    frame.render_widget(footing(around), foot);
    if around.help {
        draw_help(frame, body);
    }
}

/// Rates beside lines; latencies; readers; the ladder beside or below them.
fn draw_body(frame: &mut Frame<'_>, area: Rect, picture: &Picture, around: &Around) {
    let (left, right) = match area.width >= WIDE {
        true => {
            let columns = [Constraint::Fill(1), Constraint::Length(LADDER_WIDTH)];
            let [left, right] = Layout::horizontal(columns).spacing(1).areas(area);
            (left, Some(right))
        }
        false => (area, None),
    };
    let flows = (picture.rates.len().max(picture.lines.len()) + 1) as u16;
    let readers = picture.readers.len() + usize::from(picture.unnamed_readers > 0);
    // Of a small screen, each part has its share, and the ladder what is left.
    let room = left.height.saturating_sub(flows);
    let shares = if right.is_some() { 2 } else { 3 };
    let latencies = (picture.latencies.len() as u16 + 1).min((room / shares).max(3));
    let readers = match readers {
        0 => 0,
        some => (some as u16 + 1).min((room / shares).max(3)),
    };
    let rows = Layout::vertical([
        Constraint::Length(flows),
        Constraint::Length(1),
        Constraint::Length(latencies),
        Constraint::Length(readers),
        Constraint::Fill(1),
    ]);
    let [flows, books, latencies, readers, rest] = rows.areas(left);
    draw_flows(frame, flows, picture);
    frame.render_widget(books_line(picture), books);
    draw_latencies(frame, latencies, picture, around.totals);
    draw_readers(frame, readers, picture);
    draw_ladder(frame, right.unwrap_or(rest), picture);
}

fn draw_flows(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let columns = [Constraint::Fill(3), Constraint::Length(34)];
    let [rates, lines] = Layout::horizontal(columns).spacing(1).areas(area);
    let flows = rate_rows(picture, rates.width);
    frame.render_widget(Paragraph::new(flows), rates);
    frame.render_widget(Paragraph::new(line_rows(picture)), lines);
}

/// A row for each histogram of the publisher, in the order of the path: of the last interval and in all, and
/// where there is no room for both, of all if `totals` says so. Of use to other screens, too.
pub fn draw_latencies(frame: &mut Frame<'_>, area: Rect, picture: &Picture, totals: bool) {
    let rows = latency_rows(picture, area.width, totals);
    frame.render_widget(Paragraph::new(rows), area);
}

/// A row for each reader, the slowest first. Of use to other screens, too.
pub fn draw_readers(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let rows = reader_rows(picture, area.width);
    frame.render_widget(Paragraph::new(rows), area);
}

fn heading(picture: &Picture, around: &Around) -> Line<'static> {
    let style = match picture.state {
        State::Ready => GOOD,
        State::Recovering | State::Starting => CARE,
        State::Gone | State::Stalled | State::Unseen => BAD,
    };
    let mut spans = vec![
        Span::styled(format!(" {} ", picture.bus), BOLD),
        Span::styled(picture.state.name(), style),
    ];
    if let Some(overview) = &picture.overview {
        let who = match &overview.publisher {
            Some(holder) => format!("pid {}, up {}", holder.pid, uptime(picture.uptime_ns)),
            None => "books are as it left them".to_owned(),
        };
        let ring = bytes(overview.ring_bytes);
        let text = format!("  {who}, epoch {}, ring {ring}", overview.generation);
        spans.push(Span::raw(text));
    }
    if around.is_paused {
        spans.push(Span::styled("  paused", CARE));
    }
    if around.place.1 > 1 {
        let (place, of) = around.place;
        spans.push(Span::styled(format!("  bus {place} of {of}"), DIM));
    }
    Line::from(spans)
}

/// Seconds matter for a minute, minutes for a day.
fn uptime(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

fn footing(around: &Around) -> Line<'static> {
    if let Some(typed) = &around.typing {
        return Line::from(format!(" instrument: {typed}_"));
    }
    if let Some(note) = &around.note {
        return Line::styled(format!(" {note}"), CARE);
    }
    let interval = around.interval_ms;
    let text = format!(
        " q quit  ? keys  Tab bus  up/down / instrument  p pause  r reset  +/- {interval} ms"
    );
    Line::styled(text, DIM)
}

fn said(last_error: &str) -> Paragraph<'static> {
    let wrap = ratatui::widgets::Wrap { trim: false };
    Paragraph::new(Line::styled(format!(" {last_error}"), BAD)).wrap(wrap)
}

fn draw_ladder(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let Some(ladder) = &picture.ladder else {
        let text = Line::styled(" no instrument yet", DIM);
        frame.render_widget(text, area);
        return;
    };
    frame.render_widget(Paragraph::new(ladder_rows(ladder, picture)), area);
}

/// What is not live is grey, and says so in its heading.
fn ladder_rows(ladder: &Ladder, picture: &Picture) -> Vec<Line<'static>> {
    let is_live = ladder.validity == Some(Validity::Live);
    let place = format!(
        "  {} of {}",
        count(ladder.place as u64),
        count(picture.instruments as u64)
    );
    let mut rows = Vec::with_capacity(ladder.lines.len());
    for (number, line) in ladder.lines.iter().enumerate() {
        rows.push(match (number, line.split_once('|')) {
            (0, _) => {
                let style = if is_live { GOOD } else { CARE };
                let said = match ladder.validity {
                    None | Some(Validity::Live) => "",
                    Some(_) => ": not to be traded on",
                };
                let heading = Span::styled(format!("{line}{said}"), style.patch(BOLD));
                Line::from(vec![heading, Span::styled(place.clone(), DIM)])
            }
            (1, _) | (_, None) => Line::styled(line.clone(), DIM),
            // mutant: top: a book that is not live is drawn like one that is
            (_, Some(_)) if !is_live => Line::styled(line.clone(), DIM),
            (_, Some((bid, ask))) => Line::from(vec![
                Span::styled(bid.to_owned(), GOOD),
                Span::raw("|"),
                Span::styled(ask.to_owned(), BAD),
            ]),
        });
    }
    rows
}

const HELP: [&str; 13] = [
    " q, Esc, Ctrl-C   quit",
    " Tab, Shift-Tab   next bus, the one before",
    " up, down         another instrument; PgUp and PgDn ten further",
    " /                an instrument by its symbol, a part of it, or its id",
    " + -              look less often, more often",
    " p, space         pause and go on",
    " t                latencies: interval or in all, where one of them fits",
    " r                totals and latencies in all begin now",
    " ?                these keys",
    "",
    " Readers: red is far behind or losing messages, yellow has lost some.",
    " Their times are from published to consumed; net, from the packet's",
    " receive stamp.",
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let width = area.width.min(74);
    let height = area.height.min(HELP.len() as u16 + 2);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let block = ratatui::widgets::Block::bordered().title(" keys ");
    let lines = HELP.map(Line::from).to_vec();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
