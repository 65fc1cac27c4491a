//! A recorder: its state and what to do, the place of its tape and of the disk, rates and losses.

use super::market::Parts;
use super::parts::{count_rows, rate_rows};
use super::style::{BAD, BOLD, CARE, DIM, GOOD};
use super::{TWO_COLUMNS, below, rows_of, wrapped};
use crate::format::{age, bytes, count, share};
use crate::top::model::{Picture, Recorder, RecorderState};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Time without a sync after which an operator should look at the disk; the alert has the same number.
const DURABLE_AGE_NS_HIGH: u64 = 10_000_000_000;
/// Lag of the buses from which an operator should look; the alert has the same number.
const LAG_BYTES_HIGH: u64 = 1 << 20;

/// Draws a recorder below the heading.
pub fn draw_recorder(
    frame: &mut Frame<'_>,
    area: Rect,
    (picture, recorder): (&Picture, &Recorder),
) {
    let style = recorder_style(recorder.state);
    let text = wrapped(&explanation(recorder), area.width).into_iter();
    let mut lines: Vec<Line<'static>> = text.map(|line| Line::styled(line, style)).collect();
    lines.extend(place_lines(recorder, area.width));
    let height = lines.len() as u16 + 1;
    frame.render_widget(Paragraph::new(lines), rows_of(area, height));
    let rest = below(area, height);
    let (left, right) = match area.width {
        TWO_COLUMNS.. => (rest.width / 2, rest.width / 2 - 1),
        _ => (rest.width, rest.width),
    };
    let flow = rate_rows(picture, left, [12, 14]);
    let events = count_rows("events", picture, right, [7, 11]);
    let areas = match area.width {
        TWO_COLUMNS.. => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(1)
            .areas(rest),
        _ => Layout::vertical([
            Constraint::Length(flow.len() as u16 + 1),
            Constraint::Fill(1),
        ])
        .areas::<2>(rest),
    };
    for (lines, area) in [flow, events].into_iter().zip(areas) {
        frame.render_widget(Paragraph::new(lines), area);
    }
}

/// Style of a state.
pub fn recorder_style(state: RecorderState) -> Style {
    match state {
        RecorderState::Recording => GOOD,
        RecorderState::Waiting => CARE,
        _ => BAD,
    }
}

/// Meaning of the state, and the operator's action.
fn explanation(recorder: &Recorder) -> String {
    let old = recorder.age.map_or(String::new(), |since| {
        age(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    });
    match recorder.state {
        RecorderState::Died => format!(
            "The recorder died {old} ago; these are its last values. Start it again: it continues the tape, and the time without it is a gap."
        ),
        RecorderState::Stalled => format!(
            "Counters were written {old} ago: the process is stopped or hangs; these are its last values."
        ),
        RecorderState::Failed => "A write or a sync has failed, or the directory was removed: the recorder tries again each second. Its log has the reason (record_failed).".to_owned(),
        RecorderState::Full => format!(
            "The next segment has no space (error {}): free some, or limit the tape.",
            recorder.errno
        ),
        RecorderState::Behind => "The disk takes no records: messages wait in the rings of the buses, and are overrun when these are full.".to_owned(),
        RecorderState::Waiting => "No bus is there yet: start its gateway.".to_owned(),
        RecorderState::Recording => match recorder.buses {
            1 => "Records 1 bus or line.".to_owned(),
            buses => format!("Records {buses} buses or lines."),
        },
    }
}

/// The tape and the disk.
fn place_lines(recorder: &Recorder, width: u16) -> [Line<'static>; 2] {
    let mut tape = Parts::new(width);
    tape.add(format!("segment {}", count(recorder.segment)), BOLD);
    tape.add(format!("position {}", bytes(recorder.position)), BOLD);
    let style = match recorder.durable_age_ns {
        0..=DURABLE_AGE_NS_HIGH => DIM,
        _ => BAD,
    };
    let mut synced = format!("not on the disk {}", bytes(recorder.unsynced_bytes));
    // Time counts only while records wait.
    if recorder.durable_age_ns > 0 {
        synced += &format!(", no sync for {}", age(recorder.durable_age_ns));
    }
    tape.add(synced, style);
    let mut disk = Parts::new(width);
    let style = match recorder.lag_bytes {
        0..=LAG_BYTES_HIGH => DIM,
        _ => BAD,
    };
    disk.add(
        format!("behind the buses {}", bytes(recorder.lag_bytes)),
        style,
    );
    disk.add(format!("free {}", bytes(recorder.free_bytes)), DIM);
    let (from, to) = recorder.compressed;
    if from > 0 {
        let text = format!("compressed {} to {}", bytes(from), share(to, from));
        disk.add(text, DIM);
    }
    [tape.line(), disk.line()]
}
