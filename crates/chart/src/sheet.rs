//! A sheet of line charts: one SVG file.

use crate::axis::{Axis, Scale};
use crate::{colour, escape};
use std::fmt::Write;

/// Size of a panel, and its margins, pixels.
const WIDTH: f64 = 540.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 124.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;

/// A line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, ascending in x.
    pub points: Vec<(f64, f64)>,
}

/// A chart of a sheet.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Heading.
    pub title: &'static str,
    /// Label of the horizontal axis.
    pub x: &'static str,
    /// Label of the vertical axis, above it.
    pub y: &'static str,
    /// Scale of both axes.
    pub scale: Scale,
    /// The lines.
    pub series: Vec<Series>,
}

/// Panels of a row.
const COLUMNS: usize = 2;

/// Draws panels in rows of two.
pub fn sheet(panels: &[Panel]) -> String {
    let width = WIDTH * COLUMNS.min(panels.len()) as f64;
    let height = HEIGHT * panels.len().div_ceil(COLUMNS) as f64;
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' \
         font-family='system-ui, sans-serif' font-size='12' fill='#222'>\n\
         <rect width='100%' height='100%' fill='#fff'/>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let (row, column) = (index / COLUMNS, index % COLUMNS);
        let (x, y) = (WIDTH * column as f64, HEIGHT * row as f64);
        let _ = writeln!(svg, "<g transform='translate({x} {y})'>");
        draw(&mut svg, panel);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, panel: &Panel) {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = Axis::of(panel.scale, points().map(|point| point.0), LEFT, right);
    let y = Axis::of(panel.scale, points().map(|point| point.1), bottom, TOP);
    text(svg, (LEFT, 16.0), "start' font-weight='600", panel.title);
    text(svg, (LEFT, 32.0), "start' fill='#666", panel.y);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    text(svg, (middle, HEIGHT - 10.0), "middle", panel.x);
    for value in x.marks() {
        let at = x.at(value);
        line(svg, (at, TOP), (at, bottom));
        text(svg, (at, bottom + 16.0), "middle", &number(value));
    }
    for value in y.marks() {
        let at = y.at(value);
        line(svg, (LEFT, at), (right, at));
        text(svg, (LEFT - 6.0, at + 4.0), "end", &number(value));
    }
    for (index, series) in panel.series.iter().enumerate() {
        let colour = colour(index);
        let places = series
            .points
            .iter()
            .map(|point| (x.at(point.0), y.at(point.1)));
        let path: Vec<String> = places
            .clone()
            .map(|(a, b)| format!("{a:.1},{b:.1}"))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>",
            path.join(" ")
        );
        for (a, b) in places {
            let _ = writeln!(
                svg,
                "<circle cx='{a:.1}' cy='{b:.1}' r='3' fill='{colour}'/>"
            );
        }
    }
    legend(svg, panel);
}

/// Names of the lines beside them, the highest line first.
fn legend(svg: &mut String, panel: &Panel) {
    let left = WIDTH - RIGHT + 12.0;
    for (row, (index, series)) in panel.series.iter().enumerate().rev().enumerate() {
        let at = TOP + 16.0 + 18.0 * row as f64;
        let _ = writeln!(
            svg,
            "<path d='M{left} {at}h14' stroke='{}' stroke-width='3'/>",
            colour(index)
        );
        text(svg, (left + 20.0, at + 4.0), "start", &series.name);
    }
}

/// A mark, rounded to hide binary fractions.
fn number(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        svg,
        "<path d='M{:.1} {:.1}L{:.1} {:.1}' stroke='#ddd'/>",
        from.0, from.1, to.0, to.1
    );
}

/// Text at a place. `anchor` may end with further attributes.
fn text(svg: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x='{:.1}' y='{:.1}' text-anchor='{anchor}'>{}</text>",
        at.0,
        at.1,
        escape(text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_has_a_panel_beside_the_other_and_names_its_lines() {
        let panel = Panel {
            title: "latency",
            x: "one in",
            y: "µs",
            scale: Scale::Log,
            series: vec![Series {
                name: "a<b".to_owned(),
                points: vec![(1.0, 10.0), (100.0, 20.0)],
            }],
        };
        let drawn = sheet(&[panel.clone(), panel.clone(), panel]);
        assert!(drawn.starts_with("<svg xmlns=") && drawn.ends_with("</svg>\n"));
        assert!(drawn.contains("width='1080' height='640'"), "{drawn}");
        assert_eq!(drawn.matches("a&lt;b").count(), 3);
        assert_eq!(drawn.matches("<circle").count(), 6);
    }
}
