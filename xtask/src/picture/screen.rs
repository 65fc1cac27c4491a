//! Output of a command on a terminal, as rows of coloured text.

use anyhow::{Result, bail};
use std::ops::RangeInclusive;

/// One line of the screen.
pub type Row = Vec<Span>;

/// Span of text with one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The text, never empty.
    pub text: String,
    /// Style.
    pub look: Look,
}

/// Style of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// `ESC[1m`.
    pub bold: bool,
    /// `ESC[2m`.
    pub dim: bool,
    /// `ESC[7m`: text and background colours are swapped.
    pub reverse: bool,
    /// Number of the terminal's colour, 0 to 15: black, red, green, yellow, blue, magenta, cyan, white, then the bright
    /// ones.
    pub colour: Option<u8>,
    /// Number of the background colour.
    pub background: Option<u8>,
}

/// Splits the output into rows.
///
/// # Errors
/// An escape sequence other than those of [`Look`], such as a cursor movement.
pub fn rows(printed: &str) -> Result<Vec<Row>> {
    let mut look = Look::default();
    printed
        .lines()
        .map(|line| row(line.trim_end_matches('\r'), &mut look))
        .collect()
}

/// The selected rows; a dim mark replaces omitted ones.
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
        paint(look, codes)?;
        push(&mut row, text, *look);
    }
    Ok(row)
}

fn paint(look: &mut Look, codes: &str) -> Result<()> {
    let mut codes = codes.split(';');
    while let Some(code) = codes.next() {
        let number = if code.is_empty() { Ok(0) } else { code.parse() };
        match number {
            Ok(0) => *look = Look::default(),
            Ok(1) => look.bold = true,
            Ok(2) => look.dim = true,
            // Italics and underlines are ignored.
            Ok(3 | 4 | 23 | 24) => {}
            Ok(7) => look.reverse = true,
            Ok(22) => (look.bold, look.dim) = (false, false),
            Ok(27) => look.reverse = false,
            Ok(38) => look.colour = Some(indexed(&mut codes)?),
            Ok(48) => look.background = Some(indexed(&mut codes)?),
            Ok(39) => look.colour = None,
            Ok(49) => look.background = None,
            Ok(number @ 30..=37) => look.colour = Some(number - 30),
            Ok(number @ 40..=47) => look.background = Some(number - 40),
            Ok(number @ 90..=97) => look.colour = Some(number - 90 + 8),
            Ok(number @ 100..=107) => look.background = Some(number - 100 + 8),
            _ => bail!("the command uses colour code {code}, which pictures do not support"),
        }
    }
    Ok(())
}

/// The colour after `38` or `48`: `5;N` with N up to 15.
fn indexed<'a>(codes: &mut impl Iterator<Item = &'a str>) -> Result<u8> {
    let (kind, number) = (codes.next(), codes.next());
    match (kind, number.map(str::parse)) {
        (Some("5"), Some(Ok(number @ 0..=15))) => Ok(number),
        _ => bail!("the command uses more than the terminal's 16 colours"),
    }
}

fn push(row: &mut Row, text: &str, look: Look) {
    if !text.is_empty() {
        let text = text.to_owned();
        row.push(Span { text, look });
    }
}

/// The row truncated to `columns` columns, with a mark in the last one if truncated.
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
    fn colours_follow_the_escape_sequences() {
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
    fn colours_of_text_and_background_are_read_in_every_form() {
        let look = |codes: &str| rows(&format!("\x1b[{codes}mx")).unwrap()[0][0].look;
        assert_eq!(look("31").colour, Some(1));
        assert_eq!(look("97").colour, Some(15));
        assert_eq!(look("38;5;9").colour, Some(9));
        assert_eq!(look("44").background, Some(4));
        assert_eq!(look("48;5;12").background, Some(12));
        assert!(look("1;7;36").reverse && look("1;7;36").bold);
        assert_eq!(look("31;39;44;49;1;22;7;27"), Look::default());
    }

    #[test]
    fn cursor_movements_are_refused() {
        for printed in [
            "a\x1b[2Kb",
            "\x1b[1A",
            "\x1b[38;5;16mx",
            "\x1b[38;2;1;2;3mx",
            "\x1b",
        ] {
            assert!(rows(printed).is_err(), "{printed:?}");
        }
    }

    #[test]
    fn omitted_rows_are_marked() {
        let rows = rows("1\n2\n345678\n4\n5").unwrap();
        let shown = |lines, columns| plain(&excerpt(rows.clone(), &lines, columns));
        assert_eq!(shown(1..=usize::MAX, 6), ["1", "2", "345678", "4", "5"]);
        assert_eq!(shown(2..=3, 5), ["⋮", "2", "3456…", "⋮"]);
        assert_eq!(shown(4..=5, 5), ["⋮", "4", "5"]);
    }
}
