//! Stacked bars.

use crate::{WIDTH, colour, escape, legend};
use std::fmt::Write;

/// A chart of bars, one a subject, each of parts.
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
        let most = self
            .bars
            .iter()
            .map(|(_, parts)| sum(parts))
            .fold(0.0, f64::max)
            .max(1e-9);
        let height = self.bars.len() as f64 * (BAR + 8.0) + 8.0;
        let room = WIDTH - NAME - 90.0;
        let mut svg = format!(
            "<svg viewBox='0 0 {WIDTH} {height}' role=img aria-label='{}'>",
            escape(self.unit)
        );
        for (number, (name, parts)) in self.bars.iter().enumerate() {
            let top = 8.0 + number as f64 * (BAR + 8.0);
            let _ = write!(
                svg,
                "<text x={} y={:.1} text-anchor=end>{}</text>",
                NAME - 8.0,
                top + 15.0,
                escape(name)
            );
            let mut left = NAME;
            for (part, value) in parts.iter().enumerate() {
                let width = value / most * room;
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
}
