//! Records: fields of an output in order, as JSON or CSV. This module alone defines how outputs write prices,
//! quantities and texts.

use std::fmt::{Display, Write};
use std::path::Path;
use touchline_types::{Decimal, InstrumentDefinition, Level, Price, Quantity};

/// Prices of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prices {
    /// As the venue sends them.
    Venue,
    /// As traders quote them: with the display factor applied.
    Display,
}

impl Prices {
    /// Prices selected by `--display`.
    pub fn displayed(display: bool) -> Prices {
        match display {
            true => Prices::Display,
            false => Prices::Venue,
        }
    }

    /// The price in the format of this output.
    pub fn of(self, definition: &InstrumentDefinition, price: Price) -> Price {
        match (self, definition.reference.display_factor) {
            (Prices::Display, Some(factor)) => factor.display_nearest(price),
            _ => price,
        }
    }
}

/// Format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `.csv`: a header, then one record a line (RFC 4180, with a line feed alone); an absent value is empty.
    Csv,
    /// `.jsonl`: one object a line; an absent value is `null`.
    JsonLines,
}

impl Form {
    /// The format for a file name.
    ///
    /// # Errors
    /// The extension is not one of a format.
    pub fn of(path: &Path) -> Result<Form, String> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Form::Csv),
            Some("jsonl") => Ok(Form::JsonLines),
            _ => Err(format!(
                "{}: the extension sets the format of a series; give a file name that ends with .csv or .jsonl",
                path.display()
            )),
        }
    }
}

/// One record being written: fields in the order of the calls.
pub struct Record<'a> {
    line: &'a mut String,
    form: Form,
    is_first: bool,
}

impl<'a> Record<'a> {
    /// Starts a record.
    pub fn new(line: &'a mut String, form: Form) -> Record<'a> {
        if form == Form::JsonLines {
            line.push('{');
        }
        Record {
            line,
            form,
            is_first: true,
        }
    }

    /// Starts a JSON object.
    pub fn json(line: &'a mut String) -> Record<'a> {
        Record::new(line, Form::JsonLines)
    }

    /// A number that every reader parses exactly, or a flag: unquoted in JSON.
    pub fn number(&mut self, name: &str, value: impl Display) {
        self.name(name);
        let _ = write!(self.line, "{value}");
    }

    /// [`Self::number`] for an optional value.
    pub fn optional(&mut self, name: &str, value: Option<impl Display>) {
        match (self.form, value) {
            (_, Some(value)) => self.number(name, value),
            (Form::Csv, None) => self.name(name),
            (Form::JsonLines, None) => self.number(name, "null"),
        }
    }

    /// A 64-bit number: a string in JSON, because many readers round large numbers.
    pub fn exact(&mut self, name: &str, value: impl Display) {
        self.name(name);
        let _ = match self.form {
            Form::Csv => write!(self.line, "{value}"),
            Form::JsonLines => write!(self.line, "\"{value}\""),
        };
    }

    /// [`Self::exact`] for an optional value.
    pub fn exact_or_none(&mut self, name: &str, value: Option<impl Display>) {
        match value {
            Some(value) => self.exact(name, value),
            None => self.optional(name, None::<u8>),
        }
    }

    /// A price as the shortest plain decimal, in JSON a string.
    pub fn price(&mut self, name: &str, price: Price) {
        self.exact_or_none(name, (!price.is_null()).then_some(price));
    }

    /// A quantity in units of ten to the `exponent`: in JSON a number if it is whole, else a decimal string, so that no
    /// reader rounds it.
    pub fn quantity(&mut self, name: &str, quantity: Quantity, exponent: i8) {
        self.decimal(name, decimal(quantity, exponent));
    }

    /// An exact number: in JSON a number if it is whole, else a decimal string, so that no reader rounds it.
    pub fn decimal(&mut self, name: &str, value: Option<Decimal>) {
        match value {
            Some(whole) if whole.is_whole() => self.number(name, whole),
            other => self.exact_or_none(name, other),
        }
    }

    /// A constant word, which needs no escape.
    pub fn word(&mut self, name: &str, word: &'static str) {
        self.exact(name, word);
    }

    /// Text of a venue, quoted if the format requires it.
    pub fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        match self.form {
            Form::Csv if text.contains([',', '"', '\n', '\r']) => {
                let _ = write!(self.line, "\"{}\"", text.replace('"', "\"\""));
            }
            Form::Csv => self.line.push_str(text),
            Form::JsonLines => {
                let quoted = serde_json::to_string(text);
                self.line.push_str(quoted.as_deref().unwrap_or("null"));
            }
        }
    }

    /// An instrument's symbol, if it has one.
    pub fn symbol(&mut self, definition: &InstrumentDefinition) {
        match definition.symbol.as_str() {
            "" => self.optional("symbol", None::<u8>),
            symbol => self.text("symbol", symbol),
        }
    }

    /// The best level as `[price, quantity]`, or `null`. For JSON only.
    pub fn best(&mut self, name: &str, best: Option<Level>, exponent: i8) {
        let Some(level) = best else {
            return self.optional(name, None::<u8>);
        };
        self.list(name, |list| {
            list.price(level.price);
            list.quantity(level.quantity, exponent);
        });
    }

    /// A list. For JSON only: a CSV cell holds one value.
    pub fn list(&mut self, name: &str, write: impl FnOnce(&mut List<'_>)) {
        assert!(self.form == Form::JsonLines, "one value a cell of CSV");
        self.name(name);
        List::write(self.line, write);
    }

    /// Ends the record.
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

/// A JSON list being written: values in the order of the calls, in the format of [`Record`].
pub struct List<'a> {
    line: &'a mut String,
    is_first: bool,
}

impl List<'_> {
    fn write(line: &mut String, write: impl FnOnce(&mut List<'_>)) {
        line.push('[');
        write(&mut List {
            line: &mut *line,
            is_first: true,
        });
        line.push(']');
    }

    /// A number that every reader parses exactly.
    pub fn number(&mut self, value: impl Display) {
        self.separate();
        let _ = write!(self.line, "{value}");
    }

    /// A 64-bit number or a constant word: a string.
    pub fn exact(&mut self, value: impl Display) {
        self.separate();
        let _ = write!(self.line, "\"{value}\"");
    }

    /// An absent value.
    pub fn null(&mut self) {
        self.number("null");
    }

    /// A price.
    pub fn price(&mut self, price: Price) {
        match price.is_null() {
            true => self.null(),
            false => self.exact(price),
        }
    }

    /// A quantity in units of ten to the `exponent`.
    pub fn quantity(&mut self, quantity: Quantity, exponent: i8) {
        self.decimal(decimal(quantity, exponent));
    }

    /// An exact number, as [`Record::decimal`] writes it.
    pub fn decimal(&mut self, value: Option<Decimal>) {
        match value {
            None => self.null(),
            Some(whole) if whole.is_whole() => self.number(whole),
            Some(part) => self.exact(part),
        }
    }

    /// A nested list.
    pub fn list(&mut self, write: impl FnOnce(&mut List<'_>)) {
        self.separate();
        List::write(self.line, write);
    }

    /// A nested object.
    pub fn record(&mut self, write: impl FnOnce(&mut Record<'_>)) {
        self.separate();
        let mut record = Record::json(self.line);
        write(&mut record);
        record.end();
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.line.push(',');
        }
    }
}

fn decimal(quantity: Quantity, exponent: i8) -> Option<Decimal> {
    (!quantity.is_null()).then_some(Decimal {
        mantissa: quantity.0,
        exponent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, DisplayFactor, Instrument};

    /// A price that is not a multiple of 10⁻⁹ is rounded to the nearest one, as in clients.
    #[test]
    fn prices_have_the_display_factor_where_that_was_asked_for() {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut definition = InstrumentDefinition::unknown(Instrument(0), 1, depth);
        let venue = Price(450_025_000_000_000);
        assert_eq!(
            Prices::Display.of(&definition, venue),
            venue,
            "none is stated"
        );
        definition.reference.display_factor = DisplayFactor::new(1, 100);
        assert_eq!(
            Prices::Display.of(&definition, venue),
            Price(4_500_250_000_000)
        );
        assert_eq!(
            Prices::displayed(true).of(&definition, Price(150)),
            Price(2)
        );
        assert_eq!(Prices::displayed(false).of(&definition, venue), venue);
        assert_eq!(Prices::Display.of(&definition, Price::NULL), Price::NULL);
    }

    #[test]
    fn the_file_extension_selects_the_format_and_others_are_refused() {
        assert_eq!(Form::of(Path::new("a/q.csv")), Ok(Form::Csv));
        assert_eq!(Form::of(Path::new("q.b.jsonl")), Ok(Form::JsonLines));
        for other in ["q.json", "q", "-", "q.CSV", ".csv", "csv"] {
            let refused = Form::of(Path::new(other)).expect_err(other);
            assert!(refused.contains(".csv or .jsonl"), "{refused}");
        }
    }

    #[test]
    fn missing_values_are_empty_or_null_and_venue_names_are_quoted() {
        let write = |form| {
            let mut line = String::new();
            let mut record = Record::new(&mut line, form);
            record.number("n", 1);
            record.exact("d", "0.5");
            record.exact_or_none("e", None::<u8>);
            record.text("s", "A,\"B\"");
            record.optional("t", None::<u8>);
            record.price("p", Price(-1));
            record.end();
            line
        };
        assert_eq!(write(Form::Csv), "1,0.5,,\"A,\"\"B\"\"\",,-0.000000001");
        assert_eq!(
            write(Form::JsonLines),
            "{\"n\":1,\"d\":\"0.5\",\"e\":null,\"s\":\"A,\\\"B\\\"\",\"t\":null,\"p\":\"-0.000000001\"}"
        );
    }

    #[test]
    fn integer_quantities_are_numbers_and_others_strings() {
        let cases = [
            (12, 0, "12"),
            (0, -8, "0"),
            (150_000_000, -8, "\"1.5\""),
            (200_000_000, -8, "2"),
            (3, 2, "300"),
            (-5, -1, "\"-0.5\""),
            (i64::MAX, -8, "null"),
        ];
        for (mantissa, exponent, text) in cases {
            let mut line = String::new();
            let mut record = Record::json(&mut line);
            record.quantity("q", Quantity(mantissa), exponent);
            record.list("l", |list| list.quantity(Quantity(mantissa), exponent));
            record.end();
            assert_eq!(line, format!("{{\"q\":{text},\"l\":[{text}]}}"));
        }
    }

    #[test]
    fn each_field_of_a_best_level_may_be_absent() {
        let level = Level {
            price: Price(250_000_000),
            quantity: Quantity::NULL,
            orders: 3,
            known: true,
        };
        let other = Level {
            price: Price::NULL,
            quantity: Quantity(7),
            ..level
        };
        let mut line = String::new();
        let mut record = Record::json(&mut line);
        record.best("a", None, 0);
        record.best("b", Some(level), 0);
        record.best("c", Some(other), -1);
        record.end();
        assert_eq!(
            line,
            "{\"a\":null,\"b\":[\"0.25\",null],\"c\":[null,\"0.7\"]}"
        );
    }

    #[test]
    fn lists_may_contain_lists_and_objects() {
        let mut line = String::new();
        let mut record = Record::json(&mut line);
        record.list("l", |list| {
            list.null();
            list.list(|_| {});
            list.record(|record| record.word("w", "x"));
            list.record(|_| {});
        });
        record.end();
        assert_eq!(line, "{\"l\":[null,[],{\"w\":\"x\"},{}]}");
    }
}
