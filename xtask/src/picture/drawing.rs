//! Rows of coloured text as an SVG that looks like a terminal.

use super::screen::{Look, Row};
use std::fmt::Write;

/// Size of a character cell and of the margin, pixels. The width is 0.6 of the font size, as in
/// nearly every monospaced font; `textLength` enforces it for the others.
const CELL: (f64, f64) = (8.4, 19.0);
const FONT_SIZE: f64 = 14.0;
const MARGIN: f64 = 18.0;

const BACKGROUND: &str = "#11151c";
const TEXT: &str = "#d3dae6";
const FAINT: &str = "#7d8899";
/// The terminal's 16 colours.
const COLOURS: [&str; 16] = [
    "#2b3240", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#d3dae6",
    "#7d8899", "#ffa198", "#9be9a8", "#f2cc60", "#a5d6ff", "#e2c5ff", "#a5f3fc", "#f0f6fc",
];

/// Frames in a loop, each for the same time.
pub struct Film {
    /// Rows of each frame; a single frame is a still picture.
    pub frames: Vec<Vec<Row>>,
    /// Time of each frame, milliseconds.
    pub frame_ms: u64,
}

/// Draws a command and its output.
pub fn svg(prompt: &str, film: &Film) -> String {
    let prompt = format!("$ {prompt}");
    let rows = film.frames.iter().flatten();
    let columns = rows.map(columns).max().unwrap_or(0);
    let columns = columns.max(prompt.chars().count()) as f64;
    let rows = film.frames.iter().map(Vec::len).max().unwrap_or(0);
    let lines = rows as f64 + 2.0;
    let (width, height) = (
        columns * CELL.0 + 2.0 * MARGIN,
        lines * CELL.1 + 2.0 * MARGIN,
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="{FONT_SIZE}">"#
    );
    if film.frames.len() > 1 {
        svg += &style(film);
    }
    let _ = writeln!(
        svg,
        r#"<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>"#
    );
    text(&mut svg, 0, 0, &prompt, FAINT, false);
    let row = |frame: &[Row], line: usize| frame.get(line).cloned().unwrap_or_default();
    let still: Vec<bool> = (0..rows)
        .map(|line| {
            let mut frames = film.frames.iter().map(|frame| row(frame, line));
            let first = frames.next();
            frames.all(|frame| Some(frame) == first)
        })
        .collect();
    let Some(first) = film.frames.first() else {
        return svg + "</svg>\n";
    };
    for line in (0..rows).filter(|line| still[*line]) {
        paint(&mut svg, line, &row(first, line));
    }
    for (number, frame) in film.frames.iter().enumerate() {
        if film.frames.len() > 1 {
            let _ = writeln!(svg, r#"<g class="f f{number}">"#);
            for line in (0..rows).filter(|line| !still[*line]) {
                paint(&mut svg, line, &row(frame, line));
            }
            svg += "</g>\n";
        }
    }
    svg + "</svg>\n"
}

/// Shows the frames in turn. A viewer with reduced motion, or without animations, shows the first.
fn style(film: &Film) -> String {
    let frames = film.frames.len() as u64;
    let whole = frames * film.frame_ms;
    let mut style = format!(
        "<style>@keyframes f{{0%{{visibility:visible}}{share:.4}%{{visibility:hidden}}}}.f{{visibility:hidden;animation:f {whole}ms step-end infinite}}.f0{{visibility:visible}}",
        share = 100.0 / frames as f64
    );
    for number in 1..frames {
        let _ = write!(
            style,
            ".f{number}{{animation-delay:{}ms}}",
            number * film.frame_ms
        );
    }
    style + "@media (prefers-reduced-motion: reduce){.f{animation:none}}</style>\n"
}

fn paint(svg: &mut String, line: usize, row: &Row) {
    let mut column = 0;
    for span in row {
        let (fill, behind) = colours(span.look);
        if let Some(behind) = behind {
            let count = span.text.chars().count();
            background(svg, column, line + 2, count, behind);
        }
        text(svg, column, line + 2, &span.text, fill, span.look.bold);
        column += span.text.chars().count();
    }
}

fn background(svg: &mut String, column: usize, line: usize, columns: usize, fill: &str) {
    let x = MARGIN + column as f64 * CELL.0;
    let y = MARGIN + line as f64 * CELL.1 - 1.0;
    let (width, height) = (columns as f64 * CELL.0, CELL.1);
    let _ = writeln!(
        svg,
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
    );
}

/// One span of text; its position replaces the blanks around it.
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

/// Colour of the text, and of its background if any.
fn colours(look: Look) -> (&'static str, Option<&'static str>) {
    let named = |number: u8| COLOURS.get(usize::from(number)).copied();
    let text = look.colour.and_then(named);
    let text = text.unwrap_or(if look.dim { FAINT } else { TEXT });
    let behind = look.background.and_then(named);
    match look.reverse {
        true => (behind.unwrap_or(BACKGROUND), Some(text)),
        false => (text, behind),
    }
}

fn columns(row: &Row) -> usize {
    row.iter().map(|span| span.text.chars().count()).sum()
}

/// Escapes text for XML.
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

    fn film(frames: &[&str]) -> Film {
        Film {
            frames: frames.iter().map(|text| rows(text).unwrap()).collect(),
            frame_ms: 500,
        }
    }

    /// Parses the drawing as XML: each span of text with its position and fill.
    #[test]
    fn the_drawing_contains_the_output() {
        let drawing = svg("a <b>", &film(&["  x &\x1b[31m y<z  \x1b[0m\n\nend"]));
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
                ("y<z", "68.4", "70.0", COLOURS[1]),
                ("end", "18.0", "108.0", TEXT),
            ]
        );
        assert!(!drawing.contains("<style>"), "one frame does not move");
    }

    #[test]
    fn changed_rows_are_in_each_frame_and_unchanged_ones_drawn_once() {
        let drawing = svg("top", &film(&["head\n1", "head\n2", "head\n3"]));
        let document = Document::parse(&drawing).expect("well-formed");
        let of = |class: &str| {
            let frame = document
                .descendants()
                .find(|node| node.attribute("class") == Some(class))
                .expect(class);
            let texts = frame.descendants().filter(|node| node.has_tag_name("text"));
            let texts: Vec<_> = texts.filter_map(|node| node.text()).collect();
            texts
        };
        for (class, text) in [("f f0", "1"), ("f f1", "2"), ("f f2", "3")] {
            assert_eq!(of(class), [text]);
        }
        assert_eq!(drawing.matches(">head<").count(), 1);
        assert!(drawing.contains("animation:f 1500ms step-end infinite"));
        assert!(drawing.contains(".f2{animation-delay:1000ms}"));
    }

    #[test]
    fn a_background_is_a_box_behind_its_text() {
        let drawing = svg("top", &film(&["a\x1b[7mb\x1b[27;44mc"]));
        let document = Document::parse(&drawing).expect("well-formed");
        let boxes: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("rect") && node.attribute("x").is_some())
            .filter_map(|node| Some((node.attribute("x")?, node.attribute("fill")?)))
            .collect();
        assert_eq!(boxes, [("26.4", TEXT), ("34.8", COLOURS[4])]);
        assert!(drawing.contains(&format!(r#"fill="{BACKGROUND}" xml:space="preserve">b<"#)));
    }

    #[test]
    fn the_drawing_is_as_wide_as_its_longest_line() {
        let drawing = svg("ls", &film(&["12345678901234567890"]));
        assert!(drawing.contains(r#"width="204""#), "{drawing}");
    }
}
