//! Line charts with linear axes from zero, as static SVG.

use std::fmt::Write;

/// Size of a chart, and its margins, pixels.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;

/// Colours that are distinguishable on white, also with color blindness.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f",
];

/// A line of a chart.
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, ascending in x.
    pub points: Vec<(f64, f64)>,
}

/// A chart.
pub struct Chart {
    /// Heading.
    pub title: &'static str,
    /// Label of the horizontal axis.
    pub x: &'static str,
    /// Label of the vertical axis, above it.
    pub y: &'static str,
    /// The lines.
    pub series: Vec<Series>,
}

/// Draws charts in a row.
pub fn side_by_side(charts: &[Chart]) -> String {
    let width = WIDTH * charts.len() as f64;
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{HEIGHT}' viewBox='0 0 {width} {HEIGHT}' \
         font-family='system-ui, sans-serif' font-size='12' fill='#222'>\n\
         <rect width='100%' height='100%' fill='#fff'/>\n"
    );
    for (index, chart) in charts.iter().enumerate() {
        let _ = writeln!(svg, "<g transform='translate({} 0)'>", WIDTH * index as f64);
        draw(&mut svg, chart);
        svg += "</g>\n";
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, chart: &Chart) {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let x = Axis::of(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::of(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    text(svg, (LEFT, 16.0), "start' font-weight='600", chart.title);
    text(svg, (LEFT, 32.0), "start' fill='#666", chart.y);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    text(svg, (middle, HEIGHT - 10.0), "middle", chart.x);
    for value in x.ticks() {
        let at = x.at(value);
        line(svg, (at, TOP), (at, HEIGHT - BOTTOM));
        text(
            svg,
            (at, HEIGHT - BOTTOM + 16.0),
            "middle",
            &value.to_string(),
        );
    }
    for value in y.ticks() {
        let at = y.at(value);
        line(svg, (LEFT, at), (WIDTH - RIGHT, at));
        text(svg, (LEFT - 6.0, at + 4.0), "end", &value.to_string());
    }
    for (index, series) in chart.series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
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
    legend(svg, chart);
}

/// Names of the lines at the top left, the highest line first, where lines that rise leave room.
fn legend(svg: &mut String, chart: &Chart) {
    let rows = chart.series.len() as f64;
    let _ = writeln!(
        svg,
        "<rect x='{}' y='{}' width='104' height='{}' fill='#fff' fill-opacity='0.85'/>",
        LEFT + 6.0,
        TOP + 4.0,
        rows * 18.0 + 4.0
    );
    for (row, (index, series)) in chart.series.iter().enumerate().rev().enumerate() {
        let at = TOP + 16.0 + 18.0 * row as f64;
        let _ = writeln!(
            svg,
            "<path d='M{} {at}h20' stroke='{}' stroke-width='3'/>",
            LEFT + 12.0,
            COLOURS[index % COLOURS.len()]
        );
        text(svg, (LEFT + 38.0, at + 4.0), "start", &series.name);
    }
}

/// Linear axis from zero.
struct Axis {
    step: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Axis for these values, in steps of 1, 2 or 5 times a power of ten: at most eight.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let most = values.fold(0.0, f64::max).max(1e-9);
        let power = 10_f64.powf((most / 8.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let fits = |step: &f64| (most / step).ceil() <= 8.0;
        let step = steps.into_iter().find(fits).unwrap_or(10.0 * power);
        let most = (most / step).ceil() * step;
        Axis {
            step,
            most,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + value / self.most * (self.to - self.from)
    }

    /// Values of the marks, rounded to hide binary fractions.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (step, count) = (self.step, (self.most / self.step).round() as u32);
        (0..=count).map(move |index| (f64::from(index) * step * 1e6).round() / 1e6)
    }
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
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x='{:.1}' y='{:.1}' text-anchor='{anchor}'>{text}</text>",
        at.0, at.1
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An axis starts at zero, ends at or beyond the largest value, and has at most eight steps.
    #[test]
    fn axes_have_round_marks() {
        for (most, marks, last) in [
            (200.0, 5, 200.0),
            (16.0, 9, 16.0),
            (12.3, 8, 14.0),
            (0.05, 6, 0.05),
        ] {
            let axis = Axis::of([most].into_iter(), 0.0, 100.0);
            let ticks: Vec<f64> = axis.ticks().collect();
            assert_eq!(
                (ticks.len(), *ticks.last().unwrap()),
                (marks, last),
                "{most}: {ticks:?}"
            );
            assert_eq!((axis.at(0.0), axis.at(last)), (0.0, 100.0), "{most}");
        }
    }
}
