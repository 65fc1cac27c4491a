//! A step of a story: a time, a word, and fields in their order.

use crate::format::utc;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt::{self, Write};
use touchline_types::text::Visible;

/// A step.
#[derive(Debug, Clone)]
pub struct Step {
    at_ns: u64,
    name: String,
    fields: Vec<(String, Value)>,
}

impl Step {
    /// A step without fields.
    pub fn new(at_ns: u64, name: &str) -> Step {
        Step {
            at_ns,
            name: name.to_owned(),
            fields: Vec::new(),
        }
    }

    /// The step of an engine's line: its event is the word unless one is given.
    pub fn of_line(at_ns: u64, name: Option<&str>, line: &str) -> Step {
        let fields = serde_json::from_str(line).map_or(Vec::new(), |Ordered(fields)| fields);
        let mut step = Step::new(at_ns, name.unwrap_or_default());
        for (key, value) in fields {
            match (key.as_str(), name) {
                ("t", _) => {}
                ("event", None) => step.name = value.as_str().unwrap_or_default().to_owned(),
                _ => step.fields.push((key, value)),
            }
        }
        step
    }

    /// Its time.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Adds a field.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Step {
        self.fields.push((key.to_owned(), value.into()));
        self
    }

    /// Adds a field, if there is a value.
    pub fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Step {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Appends a line for people.
    pub fn text(&self, out: &mut String) {
        let is_of_plan = matches!(
            self.name.as_str(),
            "entry" | "limit" | "left_out" | "hit" | "recomputed"
        );
        let indent = if is_of_plan { "  " } else { "" };
        let name = format!("{indent}{}", self.name);
        // Writing into a string does not fail.
        let _ = write!(out, "{}  {name:<12}", utc(self.at_ns));
        for (key, value) in &self.fields {
            let _ = match value {
                Value::String(text) => write!(out, " {key}={}", Visible(text)),
                other => write!(out, " {key}={other}"),
            };
        }
        out.push('\n');
    }

    /// Appends a JSON object in a line.
    pub fn json(&self, out: &mut String) {
        let _ = write!(out, "{{\"t\":{},\"step\":\"{}\"", self.at_ns, self.name);
        for (key, value) in &self.fields {
            let _ = write!(out, ",{}:{value}", Value::from(key.as_str()));
        }
        out.push_str("}\n");
    }
}

/// Fields of a JSON object in their order.
struct Ordered(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ordered, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Ordered;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Ordered(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
