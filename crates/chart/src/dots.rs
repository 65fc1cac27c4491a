//! Values of a subject as dots on one line, as a range is read.

use crate::axis::{Axis, Scale};
use crate::{RIGHT, WIDTH, colour, escape, legend};
use std::fmt::Write;

/// A chart of dots, one line a subject.
#[derive(Clone, Debug)]
pub struct DotChart {
    /// Label of the values.
    pub unit: &'static str,
    /// Scale of the values.
    pub scale: Scale,
    /// Format of a value.
    pub text: fn(f64) -> String,
    /// Names of the dots, in the order of the rows.
    pub parts: Vec<String>,
    /// Name of each row, and its values.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

const ROW: f64 = 28.0;
const NAME: f64 = 190.0;
const BOTTOM: f64 = 24.0;

impl DotChart {
    /// The chart.
    pub fn draw(&self) -> String {
        let values = || {
            self.rows
                .iter()
                .flat_map(|(_, values)| values.iter().flatten())
        };
        let axis = Axis::of(self.scale, values().copied(), NAME, WIDTH - 2.0 * RIGHT);
        let bottom = self.rows.len() as f64 * ROW + 8.0;
        let mut svg = format!(
            "<svg viewBox='0 0 {WIDTH} {}' role=img aria-label='{}'>",
            bottom + BOTTOM,
            escape(self.unit)
        );
        for value in axis.marks() {
            let (at, text) = (axis.at(value), (self.text)(value));
            let is_zero = self.scale == Scale::Linear && value == 0.0;
            let class = if is_zero { "zero" } else { "grid" };
            let _ = write!(
                svg,
                "<line class='{class}' x1='{at:.1}' x2='{at:.1}' y1='4' y2='{bottom}'/>\
                 <text x={at:.1} y={:.1} text-anchor=middle>{}</text>",
                bottom + 16.0,
                escape(&text)
            );
        }
        for (number, (name, values)) in self.rows.iter().enumerate() {
            self.row(
                &mut svg,
                &axis,
                8.0 + (number as f64 + 0.5) * ROW,
                name,
                values,
            );
        }
        svg + "</svg>" + &legend(&self.parts)
    }

    fn row(&self, svg: &mut String, axis: &Axis, y: f64, name: &str, values: &[Option<f64>]) {
        let _ = write!(
            svg,
            "<text x={} y={:.1} text-anchor=end>{}</text>",
            NAME - 12.0,
            y + 4.0,
            escape(name)
        );
        let known = || values.iter().flatten().map(|value| axis.at(*value));
        let (least, most) = (
            known().fold(f64::INFINITY, f64::min),
            known().fold(0.0, f64::max),
        );
        if least < most {
            let _ = write!(
                svg,
                "<line class='range' x1='{least:.1}' x2='{most:.1}' y1='{y:.1}' y2='{y:.1}'/>"
            );
        }
        for (part, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let _ = write!(
                svg,
                "<circle cx='{:.1}' cy='{y:.1}' r='5' fill='{}'><title>{}: {}</title></circle>",
                axis.at(*value),
                colour(part),
                escape(self.parts.get(part).map_or("", String::as_str)),
                escape(&(self.text)(*value))
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that is not known has no dot; names are escaped.
    #[test]
    fn a_row_has_a_dot_for_each_known_value() {
        let chart = DotChart {
            unit: "ticks",
            scale: Scale::Linear,
            text: |value| value.to_string(),
            parts: vec!["filled".to_owned(), "rejected".to_owned()],
            rows: vec![
                ("a<b".to_owned(), vec![Some(-1.0), Some(2.0)]),
                ("c".to_owned(), vec![None, Some(0.5)]),
            ],
        };
        let drawn = chart.draw();
        assert_eq!(
            (
                drawn.matches("<circle").count(),
                drawn.matches("class='range'").count()
            ),
            (3, 1)
        );
        assert!(drawn.contains("a&lt;b") && drawn.contains("class='zero'"));
        assert_eq!(
            drawn.matches("<svg").count(),
            drawn.matches("</svg>").count()
        );
    }
}
