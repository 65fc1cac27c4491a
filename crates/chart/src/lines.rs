//! Lines over two axes.

use crate::axis::{Axis, Scale};
use crate::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, axis_names, colour, escape, head};
use std::fmt::Write;

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, rising in x.
    pub points: Vec<(f64, f64)>,
    /// Number of its colour.
    pub colour: usize,
    /// Whether the line is drawn with dashes.
    pub is_dashed: bool,
}

/// A chart of lines; the horizontal axis is logarithmic.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// Label of the horizontal axis.
    pub x: &'static str,
    /// Label of the vertical axis.
    pub y: &'static str,
    /// Format of a value of the horizontal axis.
    pub x_text: fn(f64) -> String,
    /// Format of a value of the vertical axis.
    pub y_text: fn(f64) -> String,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// The lines.
    pub lines: Vec<Line>,
}

impl LineChart {
    /// The chart.
    pub fn draw(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let x = Axis::of(
            Scale::Log,
            points().map(|point| point.0),
            LEFT,
            WIDTH - RIGHT,
        );
        let y = Axis::of(
            self.y_scale,
            points().map(|point| point.1),
            HEIGHT - BOTTOM,
            TOP,
        );
        let mut svg = head(self.y);
        for value in x.marks() {
            let (at, text) = (x.at(value), (self.x_text)(value));
            let bottom = HEIGHT - BOTTOM;
            let _ = write!(
                svg,
                "<line class='grid' x1='{at:.1}' x2='{at:.1}' y1='{TOP}' y2='{bottom}'/>"
            );
            let _ = write!(
                svg,
                "<text x={at:.1} y={:.1} text-anchor=middle>{}</text>",
                bottom + 18.0,
                escape(&text)
            );
        }
        for value in y.marks() {
            let (at, text) = (y.at(value), (self.y_text)(value));
            let _ = write!(
                svg,
                "<line class='grid' x1='{LEFT}' x2='{}' y1='{at:.1}' y2='{at:.1}'/>",
                WIDTH - RIGHT
            );
            let _ = write!(
                svg,
                "<text x={} y={:.1} text-anchor=end>{}</text>",
                LEFT - 6.0,
                at + 4.0,
                escape(&text)
            );
        }
        if self.y_scale == Scale::Linear {
            let at = y.at(0.0);
            let _ = write!(
                svg,
                "<line class='zero' x1='{LEFT}' x2='{}' y1='{at:.1}' y2='{at:.1}'/>",
                WIDTH - RIGHT
            );
        }
        axis_names(&mut svg, self.x, self.y);
        for line in &self.lines {
            draw_line(&mut svg, line, &x, &y);
        }
        svg + "</svg>" + &self.legend()
    }

    fn legend(&self) -> String {
        let mut legend = String::from("<p class=legend>");
        // Several lines of one subject have one key.
        for line in self.lines.chunk_by(|one, other| one.name == other.name) {
            let line = &line[0];
            let dash = if line.is_dashed {
                " stroke-dasharray='5 3'"
            } else {
                ""
            };
            let _ = write!(
                legend,
                "<span><svg class=key viewBox='0 0 24 8'><path d='M0 4H24' stroke='{}' stroke-width='3'{dash}/></svg>{}</span> ",
                colour(line.colour),
                escape(&line.name)
            );
        }
        legend + "</p>"
    }
}

fn draw_line(svg: &mut String, line: &Line, x: &Axis, y: &Axis) {
    let places: Vec<(f64, f64)> = line
        .points
        .iter()
        .map(|(a, b)| (x.at(*a), y.at(*b)))
        .collect();
    let path: Vec<String> = places
        .iter()
        .map(|(a, b)| format!("{a:.1},{b:.1}"))
        .collect();
    let dash = if line.is_dashed {
        " stroke-dasharray='5 3'"
    } else {
        ""
    };
    let stroke = colour(line.colour);
    let _ = write!(
        svg,
        "<polyline points='{}' fill=none stroke='{stroke}' stroke-width='2'{dash}><title>{}</title></polyline>",
        path.join(" "),
        escape(&line.name)
    );
    if places.len() <= 40 {
        for (a, b) in places {
            let _ = write!(svg, "<circle cx={a:.1} cy={b:.1} r=3 fill='{stroke}'/>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_lines_and_is_closed() {
        let chart = LineChart {
            x: "rate",
            y: "latency",
            x_text: |value| value.to_string(),
            y_text: |value| value.to_string(),
            y_scale: Scale::Log,
            lines: vec![Line {
                name: "a<b".to_owned(),
                points: vec![(1.0, 10.0), (100.0, 20.0)],
                colour: 0,
                is_dashed: true,
            }],
        };
        let drawn = chart.draw();
        assert!(drawn.contains("a&lt;b") && !drawn.contains("a<b"));
        assert_eq!(
            drawn.matches("<svg").count(),
            drawn.matches("</svg>").count()
        );
        assert_eq!(drawn.matches("<circle").count(), 2);
        // A value without quotes takes the slash with it, and the element stays open.
        let ends: Vec<&str> = drawn.split("/>").collect();
        assert!(ends.len() > 5);
        let (_, before) = ends.split_last().expect("there are some");
        assert!(before.iter().all(|text| text.ends_with('\'')), "{drawn}");
    }
}
