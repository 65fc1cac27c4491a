//! Parser of a page of metrics, by the rules of its format.

use std::collections::{BTreeMap, BTreeSet};

/// A parsed page; a violation of the text format fails the test.
pub struct Page {
    kinds: BTreeMap<String, String>,
    pub samples: Vec<Sample>,
}

#[derive(Debug)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Page {
    pub fn read(text: &str) -> Page {
        let mut page = Page {
            kinds: BTreeMap::new(),
            samples: Vec::new(),
        };
        let (mut family, mut helped) = (String::new(), BTreeSet::new());
        assert!(text.ends_with('\n'), "the last line has an end");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help
                    .split_once(' ')
                    .unwrap_or_else(|| panic!("no help: {line}"));
                assert!(is_name(name) && !help.is_empty(), "{line}");
                assert!(helped.insert(name.to_owned()), "twice: {line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect(line);
                assert!(helped.contains(name), "type before help: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                family = name.to_owned();
                let other = page.kinds.insert(family.clone(), kind.to_owned());
                assert_eq!(other, None, "a family in two parts: {line}");
            } else {
                let sample = Sample::read(line);
                let suffixes: &[&str] = match page.kinds.get(&family).map(String::as_str) {
                    Some("histogram") => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let suffix = sample.name.strip_prefix(&family);
                assert!(
                    suffix.is_some_and(|suffix| suffixes.contains(&suffix)),
                    "outside its family: {line}"
                );
                page.samples.push(sample);
            }
        }
        let series: BTreeSet<_> = page
            .samples
            .iter()
            .map(|sample| (&sample.name, &sample.labels))
            .collect();
        assert_eq!(series.len(), page.samples.len(), "a series is there twice");
        page
    }

    pub fn value(&self, name: &str, bus: &str) -> Option<f64> {
        self.labelled(name, &[("bus", bus)])
    }

    pub fn labelled(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let owned = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
        let labels: BTreeMap<_, _> = labels.iter().map(owned).collect();
        let mut samples = self.samples.iter();
        let found = samples.find(|sample| sample.name == name && sample.labels == labels);
        found.map(|sample| sample.value)
    }

    pub fn alone(&self, name: &str) -> f64 {
        let found = self
            .samples
            .iter()
            .find(|sample| sample.name == name && sample.labels.is_empty());
        found.unwrap_or_else(|| panic!("no {name}")).value
    }

    pub fn buses(&self) -> Vec<String> {
        let buses = self
            .samples
            .iter()
            .filter_map(|sample| sample.labels.get("bus"));
        buses
            .collect::<BTreeSet<_>>()
            .into_iter()
            .cloned()
            .collect()
    }

    /// Its buckets ascend to its count, its median is that of `p50`, and its sum is plausible.
    pub fn check_histogram(&self, name: &str, bus: &str, p50_ns: &serde_json::Value) {
        let bucket = format!("{name}_bucket");
        let of_bus = |sample: &&Sample| sample.name == bucket && sample.labels["bus"] == bus;
        let buckets: Vec<(f64, f64)> = self
            .samples
            .iter()
            .filter(of_bus)
            .map(|sample| (sample.labels["le"].parse().expect("a bound"), sample.value))
            .collect();
        assert_eq!(buckets.len(), 26);
        assert!(
            buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
            "{buckets:?}"
        );
        assert_eq!(
            (buckets[0].0, buckets[24].0, buckets[25].0),
            (1e-7, 10.0, f64::INFINITY)
        );
        let count = self.value(&format!("{name}_count"), bus).expect("a count");
        assert_eq!(buckets[25].1, count);
        let p50 = p50_ns.as_f64().expect("a median") / 1e9;
        let half = buckets
            .iter()
            .find(|(_, below)| *below >= count / 2.0)
            .expect("the last is all");
        assert!(p50 <= half.0 && p50 * 2.6 >= half.0, "{p50} in {half:?}");
        let sum = self.value(&format!("{name}_sum"), bus).expect("a sum");
        assert!(sum > 0.0 && sum >= p50 * count / 2.0, "{sum}");
    }
}

impl Sample {
    fn read(line: &str) -> Sample {
        let (series, value) = line
            .rsplit_once(' ')
            .unwrap_or_else(|| panic!("no value: {line}"));
        let value = value
            .parse()
            .unwrap_or_else(|_| panic!("no number: {line}"));
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect(line)),
            None => (series, ""),
        };
        assert!(is_name(name), "{line}");
        let labels = labels
            .split(',')
            .filter(|label| !label.is_empty())
            .map(|label| {
                let (name, value) = label
                    .split_once("=\"")
                    .unwrap_or_else(|| panic!("no label: {line}"));
                let value = value.strip_suffix('"').expect(line);
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
                assert!(is_name(name) && value.chars().all(plain), "{line}");
                (name.to_owned(), value.to_owned())
            });
        Sample {
            name: name.to_owned(),
            labels: labels.collect(),
            value,
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}
