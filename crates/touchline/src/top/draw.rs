//! Draws a picture as a frame of the terminal. A part that does not fit is left out completely. This module does not
//! read the bus.

mod engine;
mod market;
mod parts;
mod recorder;
mod style;
mod table;
#[cfg(test)]
mod tests;

use super::model::{Picture, State};
use crate::format::bytes;
use engine::{draw_engine, engine_style};
use market::{Parts, draw_ladder, draw_list, ladder_width, list_height};
use parts::{books_line, latency_rows, line_rows, rate_rows, reader_rows, score_rows, totals_line};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};
use recorder::{draw_recorder, recorder_style};
use style::{BAD, BOLD, CARE, DIM, GOOD};
use touchline_client::monitor::Build;

/// State of the user interface, drawn with the picture.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Place of this bus among all.
    pub place: (usize, usize),
    /// Interval of samples, in milliseconds.
    pub interval_ms: u64,
    /// No samples are taken.
    pub is_paused: bool,
    /// Text being typed after `/`.
    pub typing: Option<String>,
    /// Introduction above everything else, until a key is pressed.
    pub introduction: Option<String>,
    /// Selected page.
    pub page: Page,
    /// Latency totals instead of those of the last interval, if only one fits.
    pub totals: bool,
    /// The list of keys is shown.
    pub help: bool,
    /// Without colours.
    pub no_colour: bool,
}

/// Page of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    /// Instruments and the selected one; banks first of an engine.
    #[default]
    Market,
    /// Rates, lines and gaps, latencies, readers; flow first of an engine.
    Publisher,
}

impl Page {
    /// The other page.
    pub fn other(self) -> Page {
        match self {
            Page::Market => Page::Publisher,
            Page::Publisher => Page::Market,
        }
    }
}

/// Smallest terminal: room for a list and a ladder.
const SIZE_MIN: (u16, u16) = (60, 15);
/// Minimum width for a ladder beside the list; below it the ladder is under the list.
const WIDE: u16 = 110;
/// Minimum height for the publisher's parts under the market.
const HIGH: u16 = 32;

/// Draws the whole frame.
pub fn draw(frame: &mut Frame<'_>, picture: &Picture, around: &Around) {
    let area = frame.area();
    if area.width < SIZE_MIN.0 || area.height < SIZE_MIN.1 {
        frame.render_widget(too_small(area), area);
    } else {
        draw_all(frame, area, picture, around);
    }
    if around.no_colour {
        for cell in &mut frame.buffer_mut().content {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }
}

fn too_small(area: Rect) -> Paragraph<'static> {
    let (width, height) = SIZE_MIN;
    let text = format!(
        "this terminal has {}x{} characters; top needs {width}x{height}",
        area.width, area.height
    );
    Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true })
}

fn draw_all(frame: &mut Frame<'_>, area: Rect, picture: &Picture, around: &Around) {
    let introduction = around.introduction.as_deref().unwrap_or_default();
    let introduction = wrapped(introduction, area.width);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(introduction.len() as u16),
        Constraint::Fill(1),
        Constraint::Length(1),
    ]);
    let [head, above, body, foot] = rows.areas(area);
    frame.render_widget(heading(picture, around, area.width), head);
    let lines = introduction
        .into_iter()
        .map(|line| Line::styled(line, CARE));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
    match (&picture.last_error, &picture.engine, &picture.recorder) {
        (Some(last_error), ..) => frame.render_widget(said(last_error), body),
        (None, Some(engine), _) => draw_engine(frame, body, (picture, engine), around),
        (None, None, Some(recorder)) => draw_recorder(frame, body, (picture, recorder)),
        (None, None, None) if picture.overview.is_some() => {
            draw_body(frame, body, picture, around);
        }
        (None, None, None) => {}
    }
    frame.render_widget(footing(picture, around, area.width), foot);
    if around.help {
        draw_help(frame, body);
    }
}

/// Wraps text at words.
fn wrapped(text: &str, width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= usize::from(width) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!(" {word}")),
        }
    }
    lines
}

/// Draws totals, then the market, then the publisher's parts if both fit.
fn draw_body(frame: &mut Frame<'_>, area: Rect, picture: &Picture, around: &Around) {
    let [totals, books, rest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(area);
    frame.render_widget(totals_line(picture, area.width), totals);
    frame.render_widget(books_line(picture, area.width), books);
    match around.page {
        Page::Publisher => draw_publisher(frame, rest, picture, around),
        Page::Market if area.height < HIGH => draw_market(frame, rest, picture),
        Page::Market => {
            let wanted = publisher_height(picture, rest.width, around);
            let parts = wanted.min(rest.height / 2);
            let rows = [Constraint::Fill(1), Constraint::Length(parts)];
            let [market, publisher] = Layout::vertical(rows).spacing(1).areas(rest);
            draw_market(frame, market, picture);
            draw_publisher(frame, publisher, picture, around);
        }
    }
}

fn draw_market(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let [list, ladder] = match area.width >= WIDE {
        true => {
            let ladder = Constraint::Length(ladder_width(picture, area.width));
            Layout::horizontal([Constraint::Fill(1), ladder])
                .spacing(2)
                .areas(area)
        }
        false => {
            // A short list leaves the ladder more than half.
            let left = area.height.saturating_sub(list_height(picture));
            let ladder = Constraint::Length(left.max((area.height / 2).min(14)));
            Layout::vertical([Constraint::Fill(1), ladder]).areas(area)
        }
    };
    draw_list(frame, list, picture);
    draw_ladder(frame, ladder, picture);
}

/// Draws rates beside lines and gaps, latencies, readers; in two columns on a wide screen.
fn draw_publisher(frame: &mut Frame<'_>, area: Rect, picture: &Picture, around: &Around) {
    let [left, right] = match area.width >= WIDE {
        true => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]),
        false => Layout::horizontal([Constraint::Fill(1), Constraint::Length(GAPS_WIDTH)]),
    }
    .spacing(1)
    .areas(area);
    let latencies = |width| latency_rows(picture, width, around.totals);
    let readers = |width| {
        let readers = match picture.readers.len() + picture.unnamed_readers {
            0 => Vec::new(),
            _ => reader_rows(picture, width),
        };
        let mut scores = score_rows(picture, width);
        scores.extend(readers);
        scores
    };
    match area.width {
        WIDE.. => {
            let rates = rate_rows(picture, left.width, RATE_WIDTHS);
            stack(frame, left, [rates, latencies(left.width)]);
            let gaps = line_rows(picture, right.width);
            stack(frame, right, [gaps, readers(right.width)]);
        }
        TWO_COLUMNS.. => {
            let rates = rate_rows(picture, left.width, RATE_WIDTHS);
            let gaps = line_rows(picture, right.width);
            let flows = rates.len().max(gaps.len()) as u16;
            frame.render_widget(Paragraph::new(rates), rows_of(left, flows));
            frame.render_widget(Paragraph::new(gaps), rows_of(right, flows));
            let rest = below(area, flows);
            stack(frame, rest, [latencies(area.width), readers(area.width)]);
        }
        _ => {
            let mut rates = rate_rows(picture, area.width, RATE_WIDTHS);
            rates.extend(line_rows(picture, area.width));
            let mut others = latencies(area.width);
            others.extend(readers(area.width));
            stack(frame, area, [rates, others]);
        }
    }
}

/// Minimum widths of a rate and of its total.
const RATE_WIDTHS: [usize; 2] = [11, 15];
/// Minimum width for rates beside lines and gaps.
const TWO_COLUMNS: u16 = 76;
/// Columns of lines and gaps beside rates.
const GAPS_WIDTH: u16 = 46;

/// The first rows of an area.
fn rows_of(area: Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    Rect { height, ..area }
}

/// An area without its first rows.
fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// Draws two parts, one below the other. If both do not fit, each gets a share.
fn stack(frame: &mut Frame<'_>, area: Rect, [first, second]: [Vec<Line<'static>>; 2]) {
    let (wanted, other) = (first.len() as u16, second.len() as u16);
    let gap = u16::from(wanted + other < area.height && other > 0);
    let room = area.height.saturating_sub(gap);
    let share = match wanted + other <= room {
        true => wanted,
        false => wanted.min((room / 2).max(room.saturating_sub(other))),
    };
    let rows = [Constraint::Length(share), Constraint::Fill(1)];
    let [above, below] = Layout::vertical(rows).spacing(gap).areas(area);
    frame.render_widget(Paragraph::new(first), above);
    frame.render_widget(Paragraph::new(second), below);
}

/// Rows of the publisher's parts.
fn publisher_height(picture: &Picture, width: u16, around: &Around) -> u16 {
    let rates = picture.rates.len().max(1) + 1;
    let gaps = picture.lines.len() + 1;
    let latencies = latency_rows(picture, width, around.totals).len();
    let readers = match picture.readers.len() + picture.unnamed_readers {
        0 => 0,
        some => some + 2,
    };
    let readers = readers + score_rows(picture, width).len();
    let rows = match width >= WIDE {
        true => (rates + 1 + latencies).max(gaps + 1 + readers),
        false => rates.max(gaps) + latencies + readers,
    };
    rows as u16
}

fn heading(picture: &Picture, around: &Around, width: u16) -> Line<'static> {
    let recorder = picture.recorder.as_ref();
    let of_recorder = recorder.map(|recorder| recorder.state);
    let (state, style) = match (&picture.engine, picture.state) {
        (Some(engine), _) => (engine.state.name(), engine_style(engine.state)),

        (None, state @ State::Ready) => (state.name(), GOOD),
        (None, state @ (State::Recovering | State::Starting | State::Silent)) => {
            (state.name(), CARE)
        }
        (None, state) => (state.name(), BAD),
    };
    let of_recorder = of_recorder.map(|state| (state.name(), recorder_style(state)));
    let (state, style) = of_recorder.unwrap_or((state, style));
    let mut parts = Parts::new(width);
    parts.add(picture.bus.clone(), BOLD);
    parts.add(state.to_owned(), style.patch(BOLD));
    if around.is_paused {
        parts.add("paused".to_owned(), CARE);
    }
    let build = match (&picture.engine, &picture.overview) {
        (Some(engine), _) => engine.build.as_ref(),
        (None, None) => recorder.and_then(|recorder| recorder.build.as_ref()),
        (None, overview) => overview
            .as_ref()
            .and_then(|overview| overview.build.as_ref()),
    };
    if let Some(profile) = build.and_then(Build::unusual_profile) {
        parts.add(format!("profile {profile}"), CARE);
    }
    let engine = picture.engine.as_ref().map(|engine| engine.pid);
    let process = engine.or(recorder.map(|recorder| recorder.pid));
    if let Some(pid) = process.filter(|pid| *pid > 0) {
        let up = uptime(picture.uptime_ns);
        parts.add(format!("process {pid}, up {up}"), Style::new());
    }
    if let Some(overview) = &picture.overview {
        let who = match &overview.publisher {
            Some(holder) => format!("process {}, up {}", holder.pid, uptime(picture.uptime_ns)),
            None => "books are as the publisher left them".to_owned(),
        };
        parts.add(who, Style::new());
    }
    if around.place.1 > 1 {
        let (place, of) = around.place;
        parts.add(format!("bus {place} of {of}"), DIM);
    }
    if let Some(overview) = &picture.overview {
        parts.add(format!("ring {}", bytes(overview.ring_bytes)), DIM);
        parts.add(format!("generation {}", overview.generation), DIM);
    }
    parts.line()
}

/// Uptime: seconds in the first minute, minutes in the first day.
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

fn footing(picture: &Picture, around: &Around, width: u16) -> Line<'static> {
    let mut parts = Parts::new(width);
    if let Some(typed) = &around.typing {
        parts.add(format!("symbols with: {typed}_"), BOLD);
        parts.add("Enter keeps the filter".to_owned(), DIM);
        parts.add("Esc shows all".to_owned(), DIM);
        return parts.line();
    }
    let is_engine = picture.engine.is_some() || picture.recorder.is_some();
    let page = match (around.page, is_engine) {
        (Page::Market, false) => "Enter publisher",
        (Page::Publisher, false) => "Enter instruments",
        (Page::Market, true) => "Enter flow",
        (Page::Publisher, true) => "Enter banks",
    };
    // Most important first; the rest is left out.
    let mut hints = vec!["q quit".to_owned(), "? keys".to_owned()];
    if picture.recorder.is_none() {
        hints.push(page.to_owned());
    }
    if !is_engine {
        hints.extend(["/ filter", "s sort", "Up Down choose"].map(str::to_owned));
    }
    hints.push("p pause".to_owned());
    if around.place.1 > 1 {
        hints.push("Tab next bus".to_owned());
    }
    hints.push(format!("+ - interval {} ms", around.interval_ms));
    for hint in hints {
        parts.add(hint, DIM);
    }
    parts.line()
}

fn said(last_error: &str) -> Paragraph<'static> {
    let wrap = ratatui::widgets::Wrap { trim: false };
    Paragraph::new(Line::styled(format!(" {last_error}"), BAD)).wrap(wrap)
}

/// Lines of at most 56 characters, to fit the smallest terminal.
const HELP: [&str; 13] = [
    "q, Esc, Ctrl-C  quit",
    "Up, Down        choose an instrument; PgUp, PgDn, Home,",
    "                End go further",
    "/               filter: type a part of the symbol",
    "s, S            sort by the next column; reverse order",
    "Enter           instruments, or publisher and readers",
    "Tab, Shift-Tab  next bus, previous bus",
    "p, space        pause, go on",
    "+, -            longer, shorter interval",
    "t, r            latencies in total; totals from now on",
    "12i, 12+i       quantity: implied; direct and implied",
    "red             slow reader, loss now; yellow: before",
    "?               close this help",
];

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let width = area.width.min(60);
    let height = area.height.min(HELP.len() as u16 + 2);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let block = ratatui::widgets::Block::bordered().title(" keys ");
    let lines = HELP.map(|line| Line::from(format!(" {line}"))).to_vec();
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}
