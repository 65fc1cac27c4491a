//! Formats of a log line: text, JSON, and text with journald's priority.

use super::events::{Event, Level};
use std::fmt::Write;
use touchline_client::words::{Visible, is_visible};
use touchline_wire::sbe::UtcTime;

/// Format of the log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// `2026-01-01T00:00:00.000000000Z WARN gap bus=cme-340 first=1200 last=1217`
    #[default]
    Text,
    /// One JSON object a line, with the same names.
    Json,
}

/// Value of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// A number, also in JSON.
    Number(u64),
    /// Text, quoted if it has characters other than letters, digits and `.:/-_+@,`.
    Text(String),
}

/// A field of a line.
pub type Field = (&'static str, Value);

/// A line to be written.
#[derive(Debug)]
pub struct Line<'a> {
    /// Nanoseconds since 1970 UTC.
    pub time_ns: u64,
    /// Event of the line.
    pub event: &'static Event,
    /// Fields of every line of this process, such as the name of its bus.
    pub context: &'a [Field],
    /// Fields of this line.
    pub fields: &'a [Field],
    /// Lines of this event left out since the last one.
    pub repeated: u64,
}

impl Line<'_> {
    /// The line with its line feed. `is_journal`: for journald, which reads a priority at the start of the line and
    /// adds the time itself.
    pub fn write(&self, format: Format, is_journal: bool) -> String {
        let mut out = String::new();
        if is_journal {
            let _ = write!(out, "<{}>", self.event.level.priority());
        }
        match format {
            Format::Text => self.text(&mut out, is_journal),
            Format::Json => self.json(&mut out),
        }
        out.push('\n');
        out
    }

    /// The fields in the order of the line.
    fn fields(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let repeated = (self.repeated > 0).then_some(("repeated", Value::Number(self.repeated)));
        let fix = self.event.fix().map(|fix| ("fix", Value::from(fix)));
        let own = self.context.iter().chain(self.fields).cloned();
        own.chain(repeated).chain(fix)
    }

    fn text(&self, out: &mut String, is_journal: bool) {
        if !is_journal {
            let _ = write!(out, "{} ", UtcTime(self.time_ns));
        }
        let _ = write!(out, "{} {}", self.event.level.word(), self.event.name);
        for (name, value) in self.fields() {
            let _ = write!(out, " {name}=");
            match value {
                Value::Number(number) => {
                    let _ = write!(out, "{number}");
                }
                Value::Text(text) => push_text(out, &text),
            }
        }
    }

    fn json(&self, out: &mut String) {
        let level = self.event.level.word().to_lowercase();
        let time = UtcTime(self.time_ns).to_string();
        let mut object = vec![
            ("time", serde_json::Value::from(time)),
            ("level", serde_json::Value::from(level)),
            ("event", serde_json::Value::from(self.event.name)),
        ];
        let fields = self.fields().map(|(name, value)| match value {
            Value::Number(number) => (name, serde_json::Value::from(number)),
            Value::Text(text) => (name, text.into()),
        });
        object.extend(fields);
        // Written field by field to keep the order of the text.
        for (at, (name, value)) in object.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(out, "{before}\"{name}\":");
            push_json(out, &value.to_string());
        }
        out.push('}');
    }
}

/// A value of JSON, with escapes of its own for the letters that JSON leaves as they are and that steer a terminal.
fn push_json(out: &mut String, value: &str) {
    for letter in value.chars() {
        match is_visible(letter) {
            true => out.push(letter),
            false => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

/// Text without quotes if it is unambiguous, else quoted with escapes.
fn push_text(out: &mut String, text: &str) {
    let is_plain = |letter: char| letter.is_alphanumeric() || ".:/-_+@,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        out.push_str(text);
        return;
    }
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    let _ = write!(out, "\"{}\"", Visible(&quoted));
}

impl Level {
    /// Word in a line.
    pub fn word(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warn => "WARN",
            Level::Info => "INFO",
        }
    }

    /// The priority of syslog and journald (`sd-daemon(3)`).
    fn priority(self) -> u8 {
        match self {
            Level::Error => 3,
            Level::Warn => 4,
            Level::Info => 6,
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::events;

    fn line(fields: &[Field], repeated: u64) -> Line<'_> {
        Line {
            time_ns: 1_767_225_600_000_000_001,
            event: &events::GAP,
            context: &[],
            fields,
            repeated,
        }
    }

    #[test]
    fn text_is_level_event_and_fields() {
        let fields = [
            ("channel", Value::from(998)),
            ("line", Value::from("both")),
            ("first", Value::from(1_200)),
            ("last", Value::from(1_217)),
            ("action", Value::from("snapshot")),
        ];
        let said = line(&fields, 0).write(Format::Text, false);
        assert_eq!(
            said,
            "2026-01-01T00:00:00.000000001Z WARN gap channel=998 line=both first=1200 last=1217 action=snapshot\n"
        );
        let said = line(&fields, 17).write(Format::Text, false);
        assert!(said.ends_with("action=snapshot repeated=17\n"), "{said}");
    }

    #[test]
    fn lines_for_journald_have_a_priority_and_no_time() {
        let fields = [("first", Value::from(1))];
        let said = |event, format| {
            let line = Line {
                event,
                ..line(&fields, 0)
            };
            line.write(format, true)
        };
        assert_eq!(said(&events::GAP, Format::Text), "<4>WARN gap first=1\n");
        assert!(said(&events::FAILED, Format::Text).starts_with("<3>ERROR failed first=1"));
        assert!(said(&events::READY, Format::Text).starts_with("<6>INFO ready first=1"));
        let json = said(&events::GAP, Format::Json);
        assert!(
            json.starts_with("<4>{\"time\":\"2026-01-01T00:00:00."),
            "{json}"
        );
    }

    #[test]
    fn field_text_is_escaped() {
        for (text, written) in [
            ("eth0", "eth0"),
            ("239.0.0.1:5000", "239.0.0.1:5000"),
            ("", "\"\""),
            ("two words", "\"two words\""),
            ("a=b", "\"a=b\""),
            ("say \"no\" \\", "\"say \\\"no\\\" \\\\\""),
            (
                "no\n2026-01-01T00:00:00Z INFO ready\u{1b}[2J\r\u{202e}\0",
                "\"no\\n2026-01-01T00:00:00Z INFO ready\\u{1b}[2J\\r\\u{202e}\\u{0}\"",
            ),
        ] {
            let fields = [("reason", Value::from(text))];
            let said = line(&fields, 0).write(Format::Text, true);
            assert_eq!(said, format!("<4>WARN gap reason={written}\n"));
        }
    }

    #[test]
    fn json_is_one_object_with_the_names_of_the_text() {
        let fields = [
            ("first", Value::from(1_200)),
            (
                "reason",
                Value::from("no\n\"way\" \u{1b}[2J\u{202e}\u{e0001}"),
            ),
        ];
        let said = line(&fields, 3).write(Format::Json, false);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.trim_end().chars().all(is_visible), "{said}");
        let parsed: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
        assert_eq!(
            parsed,
            serde_json::json!({
                "time": "2026-01-01T00:00:00.000000001Z", "level": "warn", "event": "gap",
                "first": 1_200, "reason": "no\n\"way\" \u{1b}[2J\u{202e}\u{e0001}", "repeated": 3
            })
        );
    }
}
