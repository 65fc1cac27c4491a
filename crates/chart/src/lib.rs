//! Charts of the reports as static SVG, and the frame of a page with them: one self-contained HTML file without a script.
//!
//! # Never
//! Knows what a figure means; refers to anything outside its page.
//!
//! # Path
//! Beside it: reports of the load test and of FX execution, and pictures of benchmarks are drawn here.
//!
//! # Tests
//! Beside the code: axes, escaped names, elements that are closed.

#![forbid(unsafe_code)]

mod axis;
mod bars;
mod dots;
mod lines;
mod sheet;

pub use axis::{Axis, Scale};
pub use bars::BarChart;
pub use dots::DotChart;
pub use lines::{Line, LineChart};
pub use sheet::{Panel, Series, sheet};

use std::fmt::Write;

/// Size of a chart in the units of its view box.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 96.0;
/// Half of the widest number below an axis: the last one is centred at its end.
const RIGHT: f64 = 28.0;
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

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2.2rem}svg{width:100%;height:auto;font-size:12px}\
svg text{fill:#444}.axis{font-weight:600}.grid{stroke:#ddd}.zero{stroke:#888}.range{stroke:#bbb;stroke-width:3}h3{font-size:1rem;margin:1.2rem 0 .3rem}.legend span{margin-right:1rem;white-space:nowrap}\
.key{width:24px;height:8px;margin-right:5px;vertical-align:middle}table{border-collapse:collapse;font-size:13px}\
td,th{padding:.2rem .6rem;border-bottom:1px solid #e5e5e5;text-align:right;white-space:nowrap}\
td:first-child,th:first-child,td.text{text-align:left;white-space:normal}.warning{background:#fff3cd;padding:.5rem .8rem}\
.scroll{overflow-x:auto}.empty{color:#666;font-style:italic}.about th{text-align:left;font-weight:600}.about td{overflow-wrap:anywhere}\
.sum td{font-weight:600;border-top:2px solid #888}\
@page{size:A4 landscape;margin:12mm}@media print{body{max-width:none;margin:0;padding:0;font-size:10pt}table{font-size:7.5pt}td,th{padding:.12rem .3rem}\
.scroll{overflow:visible}thead{display:table-header-group}tr,svg,.figure,.warning,li{break-inside:avoid}h2,h3{break-after:avoid}svg{max-height:11cm}\
.warning{border:1px solid #888}}";

/// Begin of a page: style, title and heading. `</html>` ends it.
pub fn begin_page(title: &str, heading: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{}</title><style>{STYLE}</style><h1>{}</h1>",
        escape(title),
        escape(heading)
    )
}

/// Appends a section: heading, a sentence if there is one, and its contents.
pub fn section(page: &mut String, heading: &str, text: &str, body: &str) {
    // Writing into a string does not fail.
    let _ = write!(page, "<h2>{}</h2>", escape(heading));
    if !text.is_empty() {
        let _ = write!(page, "<p>{}</p>", escape(text));
    }
    page.push_str(body);
}

/// Keys of series by name, in the order of their colours; none for a single series.
fn legend(names: &[String]) -> String {
    if names.len() < 2 {
        return String::new();
    }
    let mut legend = String::from("<p class=legend>");
    for (series, name) in names.iter().enumerate() {
        let _ = write!(
            legend,
            "<span><svg class=key viewBox='0 0 24 8'><rect width=24 height=8 fill='{}'/></svg>{}</span> ",
            colour(series),
            escape(name)
        );
    }
    legend + "</p>"
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

/// A number with k or M.
pub fn si(value: f64) -> String {
    let (value, unit) = match value {
        value if value >= 1e6 => (value / 1e6, " M"),
        value if value >= 1e3 => (value / 1e3, " k"),
        value => (value, ""),
    };
    let digits = usize::from(value < 100.0 && value.fract() >= 0.05);
    format!("{value:.digits$}{unit}")
}

/// Nanoseconds with a unit.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => return format!("{ns:.0} ns"),
    };
    let digits = usize::from(value < 99.95);
    let text = format!("{value:.digits$}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [10.0, 1_500.0, 30_000.0, 1_700_000.0].map(si),
            ["10", "1.5 k", "30 k", "1.7 M"]
        );
        assert_eq!(
            [350.0, 8_700.0, 2e6, 3e9].map(time),
            ["350 ns", "8.7 µs", "2 ms", "3 s"]
        );
    }
}
