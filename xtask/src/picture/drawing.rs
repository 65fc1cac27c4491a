//! Rows of painted text as an SVG that looks like a terminal.

use super::screen::{Look, Row};
use std::fmt::Write;

/// Size of a character's cell and of the margin, pixels. The width is 0.6 of the font size, as in
/// nearly every monospaced font; `textLength` holds the others to it.
const CELL: (f64, f64) = (8.4, 19.0);
const FONT_SIZE: f64 = 14.0;
const MARGIN: f64 = 18.0;

const BACKGROUND: &str = "#11151c";
const TEXT: &str = "#d3dae6";
const FAINT: &str = "#7d8899";
/// Red, green, yellow, blue, magenta, cyan.
const COLOURS: [&str; 6] = [
    "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea",
];

/// Draws a command and what it printed.
pub fn svg(prompt: &str, rows: &[Row]) -> String {
    let prompt = format!("$ {prompt}");
    let columns = rows.iter().map(columns).max().unwrap_or(0);
    let columns = columns.max(prompt.chars().count()) as f64;
    let lines = rows.len() as f64 + 2.0;
    let (width, height) = (
        columns * CELL.0 + 2.0 * MARGIN,
        lines * CELL.1 + 2.0 * MARGIN,
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="{FONT_SIZE}">"#
    );
    let _ = writeln!(
        svg,
        r#"<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>"#
    );
    text(&mut svg, 0, 0, &prompt, FAINT, false);
    for (line, row) in rows.iter().enumerate() {
        let mut column = 0;
        for span in row {
            text(
                &mut svg,
                column,
                line + 2,
                &span.text,
                fill(span.look),
                span.look.bold,
            );
            column += span.text.chars().count();
        }
    }
    svg + "</svg>\n"
}

/// One stretch of text; blanks around it are a matter of its place.
fn text(svg: &mut String, column: usize, line: usize, text: &str, fill: &str, bold: bool) {
    let shown = text.trim_start();
    let column = column + text.chars().count() - shown.chars().count();
    let shown = shown.trim_end();
    if shown.is_empty() {
        return;
    }
    let x = MARGIN + column as f64 * CELL.0;
    let y = MARGIN + line as f64 * CELL.1 + FONT_SIZE;
    let length = shown.chars().count() as f64 * CELL.0;
    let weight = if bold { r#" font-weight="bold""# } else { "" };
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" textLength="{length:.1}" fill="{fill}"{weight} xml:space="preserve">{}</text>"#,
        escaped(shown)
    );
}

fn fill(look: Look) -> &'static str {
    let colour = look.colour.and_then(|number| number.checked_sub(1));
    match colour.and_then(|index| COLOURS.get(usize::from(index))) {
        Some(colour) => colour,
        None if look.dim => FAINT,
        None => TEXT,
    }
}

fn columns(row: &Row) -> usize {
    row.iter().map(|span| span.text.chars().count()).sum()
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::screen::rows;
    use super::*;
    use roxmltree::Document;

    /// The drawing is read back as XML: each stretch of text with its place and fill.
    #[test]
    fn what_was_printed_stands_in_the_drawing() {
        let drawing = svg("a <b>", &rows("  x &\x1b[31m y<z  \x1b[0m\n\nend").unwrap());
        let document = Document::parse(&drawing).expect("well-formed");
        let texts: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .map(|node| {
                (
                    node.text().unwrap_or_default(),
                    node.attribute("x").unwrap_or_default(),
                    node.attribute("y").unwrap_or_default(),
                    node.attribute("fill").unwrap_or_default(),
                )
            })
            .collect();
        assert_eq!(
            texts,
            [
                ("$ a <b>", "18.0", "32.0", FAINT),
                ("x &", "34.8", "70.0", TEXT),
                ("y<z", "68.4", "70.0", COLOURS[0]),
                ("end", "18.0", "108.0", TEXT),
            ]
        );
    }

    #[test]
    fn the_drawing_is_as_wide_as_its_longest_line() {
        let drawing = svg("ls", &rows("12345678901234567890").unwrap());
        assert!(drawing.contains(r#"width="204""#), "{drawing}");
    }
}
