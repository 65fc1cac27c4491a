//! Stacked bars.

use crate::axis::{Axis, Scale};
use crate::{BOTTOM, WIDTH, colour, escape, legend};
use std::fmt::Write;

/// A bar chart with one stacked bar for each subject.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// Label of the values.
    pub unit: &'static str,
    /// Format of a value.
    pub text: fn(f64) -> String,
    /// Names of the parts, in the order of the bars.
    pub parts: Vec<String>,
    /// Name of each bar, and its parts.
    pub bars: Vec<(String, Vec<f64>)>,
}

const BAR: f64 = 22.0;
const NAME: f64 = 190.0;

impl BarChart {
    /// The chart.
    pub fn draw(&self) -> String {
        let sum = |parts: &[f64]| parts.iter().sum::<f64>();
        let sums = self.bars.iter().map(|(_, parts)| sum(parts));
        let axis = Axis::of(Scale::Linear, sums, NAME, WIDTH - 90.0);
        let bottom = self.bars.len() as f64 * (BAR + 8.0) + 8.0;
        let mut svg = format!(
            "<svg viewBox='0 0 {WIDTH} {}' role=img aria-label='{}'>",
            bottom + BOTTOM,
            escape(self.unit)
        );
        self.marks(&mut svg, &axis, bottom);
        for (number, (name, parts)) in self.bars.iter().enumerate() {
            let top = 8.0 + number as f64 * (BAR + 8.0);
            let _ = write!(
                svg,
                "<text x={} y={:.1} text-anchor=end>{}</text>",
                NAME - 8.0,
                top + 15.0,
                escape(name)
            );
            let (mut left, mut before) = (NAME, 0.0);
            for (part, value) in parts.iter().enumerate() {
                before += value;
                let width = axis.at(before) - left;
                let _ = write!(
                    svg,
                    "<rect x={left:.1} y={top:.1} width={width:.1} height={BAR} fill='{}'><title>{}: {}</title></rect>",
                    colour(part),
                    escape(self.parts.get(part).map_or("", String::as_str)),
                    escape(&(self.text)(*value))
                );
                left += width;
            }
            let _ = write!(
                svg,
                "<text x={:.1} y={:.1}>{}</text>",
                left + 6.0,
                top + 15.0,
                escape(&(self.text)(sum(parts)))
            );
        }
        svg + "</svg>" + &legend(&self.parts)
    }

    /// Marks of the axis with their values. Counts have no mark between whole numbers.
    fn marks(&self, svg: &mut String, axis: &Axis, bottom: f64) {
        let is_whole = |value: f64| (value - value.round()).abs() < 1e-9;
        let mut values = self.bars.iter().flat_map(|(_, parts)| parts);
        let are_counts = values.all(|value| is_whole(*value));
        for value in axis.marks().filter(|value| !are_counts || is_whole(*value)) {
            let (at, text) = (axis.at(value), (self.text)(value));
            let class = if value == 0.0 { "zero" } else { "grid" };
            let _ = write!(
                svg,
                "<line class='{class}' x1='{at:.1}' x2='{at:.1}' y1='4' y2='{bottom}'/>\
                 <text x={at:.1} y={:.1} text-anchor=middle>{}</text>",
                bottom + 16.0,
                escape(&text)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The axis has marks with values, from which the length of a bar is read; an axis of counts has marks at whole numbers only.
    #[test]
    fn bars_have_an_axis_with_marks() {
        let marks = |values: &[f64]| {
            let bar = |value: &f64| ("LP01".to_owned(), vec![*value]);
            let chart = BarChart {
                unit: "orders",
                text: |value| format!("<{value:.1}>"),
                parts: vec!["filled".to_owned()],
                bars: values.iter().map(bar).collect(),
            };
            let drawn = chart.draw();
            let texts = drawn.split("text-anchor=middle>&lt;").skip(1);
            let texts = texts.map(|text| text.split("&gt;").next().unwrap_or_default().to_owned());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(marks(&[1.0]), ["0.0", "1.0"]);
        assert_eq!(marks(&[2.0, 3.0]), ["0.0", "1.0", "2.0", "3.0"]);
        assert_eq!(
            marks(&[0.55]),
            ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
        );
        assert_eq!(marks(&[0.0]), ["0.0", "1.0"]);
        assert_eq!(marks(&[]), ["0.0", "1.0"]);
    }
}
