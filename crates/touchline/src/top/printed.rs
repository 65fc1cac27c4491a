//! One frame as text.

use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style};
use ratatui::{Frame, Terminal};

/// A frame of this size as text, without its last line, which lists keys, without trailing blanks and empty lines.
pub fn text(
    (columns, rows): (u16, u16),
    is_styled: bool,
    draw: impl FnOnce(&mut Frame<'_>),
) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows));
    let Ok(_) = terminal.draw(draw);
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(columns));
    let cells = cells.take(usize::from(rows.saturating_sub(1)));
    let mut lines: Vec<String> = cells.map(|row| line(row, is_styled)).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A row of cells as text, with styles if `is_styled`.
fn line(cells: &[Cell], is_styled: bool) -> String {
    let is_blank =
        |cell: &Cell| cell.symbol() == " " && !cell.modifier.contains(Modifier::REVERSED);
    let end = cells
        .iter()
        .rposition(|cell| !is_blank(cell))
        .map_or(0, |last| last + 1);
    let mut text = String::new();
    let plain = Style::new()
        .fg(Color::Reset)
        .add_modifier(Modifier::empty());
    let mut styled = plain;
    for cell in &cells[..end] {
        let style = Style::new().fg(cell.fg).add_modifier(cell.modifier);
        if is_styled
            && style != styled
            && (!is_blank(cell) || styled.add_modifier.contains(Modifier::REVERSED))
        {
            text += &codes(style);
            styled = style;
        }
        text += cell.symbol();
    }
    if styled != plain {
        text += "\x1b[0m";
    }
    text
}

/// Escape sequence that selects this style.
fn codes(style: Style) -> String {
    let mut codes = String::from("\x1b[0");
    for (modifier, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::REVERSED, 7),
    ] {
        if style.add_modifier.contains(modifier) {
            codes += &format!(";{code}");
        }
    }
    let colour = match style.fg {
        Some(Color::Red) => ";31",
        Some(Color::Green) => ";32",
        Some(Color::Yellow) => ";33",
        _ => "",
    };
    codes + colour + "m"
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::text::{Line, Span};

    #[test]
    fn styles_are_those_of_the_words_and_blanks_at_the_end_are_left_out() {
        let draw = |frame: &mut Frame<'_>| {
            let bold = Style::new().add_modifier(Modifier::BOLD).fg(Color::Green);
            let line = Line::from(vec![
                Span::raw("a "),
                Span::styled("b", bold),
                Span::raw(" c"),
            ]);
            frame.render_widget(line, frame.area());
        };
        assert_eq!(text((10, 3), false, draw), "a b c\n");
        assert_eq!(text((10, 3), true, draw), "a \x1b[0;1;32mb \x1b[0mc\n");
    }
}
