//! Charts as static SVG: lines over two axes, and stacked bars.

use std::fmt::Write;

/// Size of a chart in the units of its view box.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;

/// Colours that are distinguishable on white, also with color blindness; after the last, dashes distinguish lines.
pub const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f",
];

/// Colour of a series.
pub fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its points, rising in x.
    pub points: Vec<(f64, f64)>,
    /// Number of its colour.
    pub colour: usize,
    /// Whether it is drawn with dashes.
    pub is_dashed: bool,
}

/// A chart of lines, both axes logarithmic.
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
    /// The lines.
    pub lines: Vec<Line>,
}

/// Scale of an axis.
#[derive(Clone, Copy)]
struct Axis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Whole decades around the values.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0 && value.is_finite()) {
            least = least.min(value);
            most = most.max(value);
        }
        if most == 0.0 {
            (least, most) = (1.0, 10.0);
        }
        let least = 10_f64.powf(least.log10().floor());
        let most = 10_f64.powf(most.log10().ceil()).max(least * 10.0);
        Axis {
            least,
            most,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.max(self.least) / self.least).log10() / (self.most / self.least).log10();
        self.from + part.min(1.0) * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        let (least, most) = (self.least, self.most);
        (0..)
            .map(move |power| least * 10_f64.powi(power))
            .take_while(move |value| *value <= most * 1.001)
    }
}

impl LineChart {
    /// The chart.
    pub fn draw(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter());
        let x = Axis::of(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let y = Axis::of(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut svg = head(self.y);
        for value in x.decades() {
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
        for value in y.decades() {
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
        axis_names(&mut svg, self.x, self.y);
        for line in &self.lines {
            draw_line(&mut svg, line, &x, &y);
        }
        svg + "</svg>" + &self.legend()
    }

    fn legend(&self) -> String {
        let mut legend = String::from("<p class=legend>");
        for line in &self.lines {
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
        svg += "</svg>";
        if self.parts.len() > 1 {
            svg += "<p class=legend>";
            for (part, name) in self.parts.iter().enumerate() {
                let _ = write!(
                    svg,
                    "<span><svg class=key viewBox='0 0 24 8'><rect width=24 height=8 fill='{}'/></svg>{}</span> ",
                    colour(part),
                    escape(name)
                );
            }
            svg += "</p>";
        }
        svg
    }
}

fn head(label: &str) -> String {
    format!(
        "<svg viewBox='0 0 {WIDTH} {HEIGHT}' role=img aria-label='{}'>",
        escape(label)
    )
}

fn axis_names(svg: &mut String, x: &str, y: &str) {
    let _ = write!(
        svg,
        "<text class=axis x={:.0} y={} text-anchor=middle>{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0,
        escape(x)
    );
    let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
    let _ = write!(
        svg,
        "<text class=axis x=14 y={middle:.0} text-anchor=middle transform='rotate(-90 14 {middle:.0})'>{}</text>",
        escape(y)
    );
}

/// Text escaped for a page.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\'' => safe.push_str("&#39;"),
            '"' => safe.push_str("&quot;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_covers_whole_decades() {
        let axis = Axis::of([350.0, 12_000.0].into_iter(), 0.0, 300.0);
        assert_eq!((axis.least, axis.most), (100.0, 100_000.0));
        assert_eq!(axis.at(100.0), 0.0);
        assert!((axis.at(1_000.0) - 100.0).abs() < 1e-6);
        assert_eq!(axis.decades().count(), 4);
        // An empty chart does not divide by zero.
        let empty = Axis::of([].into_iter(), 0.0, 1.0);
        assert!(empty.at(0.0).is_finite());
    }

    #[test]
    fn a_chart_names_its_lines_and_is_closed() {
        let chart = LineChart {
            x: "rate",
            y: "latency",
            x_text: |value| value.to_string(),
            y_text: |value| value.to_string(),
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
