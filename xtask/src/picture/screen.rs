//! What a command sent to its terminal, as rows of painted text.

use anyhow::{Result, bail};
use std::ops::RangeInclusive;

/// One line of the screen.
pub type Row = Vec<Span>;

/// A stretch of text of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text, never empty.
    pub text: String,
    /// How it looks.
    pub look: Look,
}

/// How text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// `ESC[1m`.
    pub bold: bool,
    /// `ESC[2m`.
    pub dim: bool,
    /// The terminal's colour by its number, 1 to 6: red, green, yellow, blue, magenta, cyan.
    pub colour: Option<u8>,
}

/// Splits what was printed into rows.
///
/// # Errors
/// An escape sequence other than those of [`Look`]: what moves the cursor has no rows.
pub fn rows(printed: &str) -> Result<Vec<Row>> {
    let mut look = Look::default();
    printed
        .lines()
        .map(|line| row(line.trim_end_matches('\r'), &mut look))
        .collect()
}

/// The rows to be shown; where something is left out there stands a dim mark.
pub fn excerpt(rows: Vec<Row>, lines: &RangeInclusive<usize>, columns: usize) -> Vec<Row> {
    let total = rows.len();
    let shown = rows.into_iter().enumerate();
    let shown = shown.filter(|(index, _)| lines.contains(&(index + 1)));
    let mut excerpt: Vec<Row> = shown.map(|(_, row)| cut(row, columns)).collect();
    if *lines.start() > 1 {
        excerpt.insert(0, vec![mark("⋮")]);
    }
    if *lines.end() < total {
        excerpt.push(vec![mark("⋮")]);
    }
    excerpt
}

fn row(line: &str, look: &mut Look) -> Result<Row> {
    let mut pieces = line.split('\x1b');
    let mut row = Row::new();
    push(&mut row, pieces.next().unwrap_or_default(), *look);
    for piece in pieces {
        let painted = piece
            .strip_prefix('[')
            .and_then(|rest| rest.split_once('m'));
        let Some((codes, text)) = painted else {
            let start: String = piece.chars().take(8).collect();
            bail!("the command moves the cursor (ESC{start}); only colours can be drawn");
        };
        for code in codes.split(';') {
            paint(look, code)?;
        }
        push(&mut row, text, *look);
    }
    Ok(row)
}

fn paint(look: &mut Look, code: &str) -> Result<()> {
    match code {
        "" | "0" => *look = Look::default(),
        "1" => look.bold = true,
        "2" => look.dim = true,
        "31" | "32" | "33" | "34" | "35" | "36" => look.colour = code[1..].parse().ok(),
        "39" => look.colour = None,
        other => bail!("the command paints with code {other}, which a picture does not know"),
    }
    Ok(())
}

fn push(row: &mut Row, text: &str, look: Look) {
    if !text.is_empty() {
        let text = text.to_owned();
        row.push(Span { text, look });
    }
}

/// The row in `columns` columns, the last of them a mark if there is more.
fn cut(row: Row, columns: usize) -> Row {
    let width = |row: &Row| {
        row.iter()
            .map(|span| span.text.chars().count())
            .sum::<usize>()
    };
    if width(&row) <= columns {
        return row;
    }
    let mut left = columns.saturating_sub(1);
    let mut short = Row::new();
    for span in row {
        let text: String = span.text.chars().take(left).collect();
        left -= text.chars().count();
        push(&mut short, &text, span.look);
    }
    short.push(mark("…"));
    short
}

fn mark(text: &str) -> Span {
    let dim = Look {
        dim: true,
        ..Look::default()
    };
    Span {
        text: text.to_owned(),
        look: dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rows: &[Row]) -> Vec<String> {
        let text = |row: &Row| row.iter().map(|span| span.text.as_str()).collect();
        rows.iter().map(text).collect()
    }

    #[test]
    fn colours_begin_and_end_where_the_command_says() {
        let rows = rows("a\x1b[1;32mb\r\nc\x1b[0md\x1b[2me").unwrap();
        assert_eq!(plain(&rows), ["ab", "cde"]);
        let looks: Vec<_> = rows.concat().iter().map(|span| span.look).collect();
        let green = Look {
            bold: true,
            colour: Some(2),
            ..Look::default()
        };
        let dim = mark("").look;
        assert_eq!(looks, [Look::default(), green, green, Look::default(), dim]);
    }

    #[test]
    fn what_moves_the_cursor_is_refused() {
        for printed in ["a\x1b[2Kb", "\x1b[1A", "\x1b[38;5;7mx", "\x1b"] {
            assert!(rows(printed).is_err(), "{printed:?}");
        }
    }

    #[test]
    fn what_is_left_out_is_marked() {
        let rows = rows("1\n2\n345678\n4\n5").unwrap();
        let shown = |lines, columns| plain(&excerpt(rows.clone(), &lines, columns));
        assert_eq!(shown(1..=usize::MAX, 6), ["1", "2", "345678", "4", "5"]);
        assert_eq!(shown(2..=3, 5), ["⋮", "2", "3456…", "⋮"]);
        assert_eq!(shown(4..=5, 5), ["⋮", "4", "5"]);
    }
}
