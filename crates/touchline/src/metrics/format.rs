//! Text format of Prometheus: families of samples, each family complete and once.
//!
//! Rules: <https://prometheus.io/docs/instrumenting/exposition_formats/>, text format 0.0.4.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Maximum number of families. A gateway has a few hundred.
const FAMILIES_MAX: usize = 1024;

/// Type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; starts at 0 again when its process restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values up to a bound, their number, and their sum.
    Histogram,
}

/// A page being written: samples arrive bus by bus, and are printed family by family.
#[derive(Debug, Default)]
pub struct Page {
    families: BTreeMap<String, Family>,
    refused: u64,
}

#[derive(Debug)]
struct Family {
    kind: Kind,
    help: String,
    samples: String,
}

/// A family that accepts samples.
#[derive(Debug)]
pub struct Samples<'a> {
    name: &'a str,
    text: &'a mut String,
}

impl Page {
    /// The family of this name; `None`, and counted, if the name is invalid, the family has another
    /// type, or there are too many families.
    ///
    /// The first call for a family sets its help text.
    pub fn family<'a>(&'a mut self, name: &'a str, kind: Kind, help: &str) -> Option<Samples<'a>> {
        let is_known = self.families.contains_key(name);
        if !is_name(name) || (!is_known && self.families.len() == FAMILIES_MAX) {
            self.refused += 1;
            return None;
        }
        let family = self.families.entry(name.to_owned());
        let family = family.or_insert_with(|| Family {
            kind,
            help: escaped(help),
            samples: String::new(),
        });
        if family.kind != kind {
            self.refused += 1;
            return None;
        }
        let text = &mut family.samples;
        Some(Samples { name, text })
    }

    /// Number of rejected families.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The page as text, families by name.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, family) in &self.families {
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let _ = writeln!(text, "# HELP {name} {}", family.help);
            let _ = writeln!(text, "# TYPE {name} {kind}");
            text.push_str(&family.samples);
        }
        text
    }
}

impl Samples<'_> {
    /// Adds one sample.
    pub fn add(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.suffixed("", labels, value);
    }

    /// Adds one sample of a histogram: name with `_bucket`, `_count` or `_sum`.
    pub fn suffixed(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        for (number, (label, value)) in labels.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

/// The characters of the format, without the colon, which is reserved for rules, and without
/// capitals, which we do not use.
fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase();
    let other = |c: char| first(c) || c.is_ascii_digit() || c == '_';
    name.starts_with(first) && name.chars().all(other)
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    text.replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_of_a_family_are_written_together_once() {
        let mut page = Page::default();
        for bus in ["b", "a"] {
            for name in ["z_total", "y_total"] {
                let family = page.family(name, Kind::Counter, "What it is.");
                family.expect("a name").add(&[("bus", bus)], 7);
            }
        }
        let text = "\
# HELP y_total What it is.
# TYPE y_total counter
y_total{bus=\"b\"} 7
y_total{bus=\"a\"} 7
# HELP z_total What it is.
# TYPE z_total counter
z_total{bus=\"b\"} 7
z_total{bus=\"a\"} 7
";
        assert_eq!(page.to_text(), text);
        assert_eq!(page.refused(), 0);
    }

    #[test]
    fn invalid_names_and_labels_are_refused() {
        let mut page = Page::default();
        for name in ["", "1a", "a b", "a{", "a\n", "A", "_a", "a:b", "ä"] {
            assert!(page.family(name, Kind::Gauge, "").is_none(), "{name:?}");
        }
        assert!(page.family("a", Kind::Gauge, "").is_some());
        assert!(page.family("a", Kind::Counter, "").is_none());
        assert_eq!(page.refused(), 10);
        for number in 1..FAMILIES_MAX {
            assert!(
                page.family(&format!("a{number}"), Kind::Gauge, "")
                    .is_some()
            );
        }
        assert!(page.family("one_more", Kind::Gauge, "").is_none());
        assert!(page.family("a", Kind::Gauge, "").is_some());
    }

    #[test]
    fn texts_cannot_leave_their_line() {
        let mut page = Page::default();
        let family = page.family("a", Kind::Gauge, "one\ntwo \\n");
        family
            .expect("a name")
            .add(&[("x", "\"}\n\\"), ("y", "")], 0.5);
        let text = page.to_text();
        assert!(text.starts_with("# HELP a one\\ntwo \\\\n\n"), "{text}");
        assert!(
            text.ends_with("\na{x=\"\\\"}\\n\\\\\",y=\"\"} 0.5\n"),
            "{text}"
        );
    }
}
