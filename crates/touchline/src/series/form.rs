//! The forms of a series, by the ending of its name, and how a value is written in each.

use std::fmt::Write;
use std::path::Path;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.csv`: a head, then a row a line (RFC 4180, with a line feed alone); what is not there is empty.
    Csv,
    /// `.jsonl`: one object a line; what is not there is `null`.
    JsonLines,
}

impl Form {
    /// The form of a file.
    ///
    /// # Errors
    /// Its name has another ending.
    pub fn of(path: &Path) -> Result<Form, String> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Form::Csv),
            Some("jsonl") => Ok(Form::JsonLines),
            // mutant: series: the ending of a name says nothing
            _ => Err(format!(
                "{}: the ending says the form of a series; give a file that ends with .csv or .jsonl",
                path.display()
            )),
        }
    }
}

/// One row while it is written: a value behind the other.
pub struct Row<'a> {
    line: &'a mut String,
    form: Form,
    is_first: bool,
}

impl<'a> Row<'a> {
    /// Begins a row.
    pub fn new(line: &'a mut String, form: Form) -> Row<'a> {
        if form == Form::JsonLines {
            line.push('{');
        }
        Row {
            line,
            form,
            is_first: true,
        }
    }

    /// A number that every reader takes exactly: in JSON as it is.
    pub fn number(&mut self, name: &str, value: impl std::fmt::Display) {
        self.name(name);
        let _ = write!(self.line, "{value}");
    }

    /// The same, of one that may not be there.
    pub fn optional(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        match (self.form, value) {
            (_, Some(value)) => self.number(name, value),
            (Form::Csv, None) => self.name(name),
            (Form::JsonLines, None) => self.number(name, "null"),
        }
    }

    /// A decimal, or a time: in JSON a string, which no reader rounds.
    pub fn decimal(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        self.name(name);
        let _ = match (self.form, value) {
            (Form::Csv, None) => Ok(()),
            (Form::Csv, Some(value)) => write!(self.line, "{value}"),
            (Form::JsonLines, None) => write!(self.line, "null"),
            (Form::JsonLines, Some(value)) => write!(self.line, "\"{value}\""),
        };
    }

    /// Text of a venue, in quotes where the form needs them.
    pub fn text(&mut self, name: &str, text: Option<&str>) {
        self.name(name);
        match (self.form, text) {
            (Form::Csv, None) => {}
            (Form::Csv, Some(text)) if text.contains([',', '"', '\n', '\r']) => {
                let _ = write!(self.line, "\"{}\"", text.replace('"', "\"\""));
            }
            (Form::Csv, Some(text)) => self.line.push_str(text),
            (Form::JsonLines, None) => self.line.push_str("null"),
            (Form::JsonLines, Some(text)) => {
                let quoted = serde_json::to_string(text);
                self.line.push_str(quoted.as_deref().unwrap_or("null"));
            }
        }
    }

    /// Ends the row.
    pub fn end(self) {
        if self.form == Form::JsonLines {
            self.line.push('}');
        }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.line.push(',');
        }
        if self.form == Form::JsonLines {
            let _ = write!(self.line, "\"{name}\":");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_form_and_another_is_refused_with_what_to_do() {
        assert_eq!(Form::of(Path::new("a/q.csv")), Ok(Form::Csv));
        assert_eq!(Form::of(Path::new("q.b.jsonl")), Ok(Form::JsonLines));
        for other in ["q.json", "q", "-", "q.CSV", ".csv", "csv"] {
            let refused = Form::of(Path::new(other)).expect_err(other);
            assert!(refused.contains(".csv or .jsonl"), "{refused}");
        }
    }

    #[test]
    fn what_is_not_there_is_empty_or_null_and_names_of_venues_are_quoted() {
        let write = |form| {
            let mut line = String::new();
            let mut row = Row::new(&mut line, form);
            row.number("n", 1);
            row.decimal("d", Some("0.5"));
            row.decimal("e", None::<u8>);
            row.text("s", Some("A,\"B\""));
            row.text("t", None);
            row.end();
            line
        };
        assert_eq!(write(Form::Csv), "1,0.5,,\"A,\"\"B\"\"\",");
        assert_eq!(
            write(Form::JsonLines),
            "{\"n\":1,\"d\":\"0.5\",\"e\":null,\"s\":\"A,\\\"B\\\"\",\"t\":null}"
        );
    }
}
