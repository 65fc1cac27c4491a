//! Selection of symbols: the filter of gateways, replays and readers.

use regex_lite::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use touchline_types::{Instrument, InstrumentDefinition};

/// Patterns of symbols: names in which `*` stands for any number of characters, and regular
/// expressions between slashes, which must match the whole name. Without a pattern every symbol is
/// selected.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Symbols(Vec<Pattern>);

/// One pattern, as written.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    /// Compiled regular expression.
    regex: Option<Regex>,
}

impl Pattern {
    fn new(text: String) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("an empty pattern matches no symbol".to_owned());
        }
        let inner = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let regex = match inner {
            None => None,
            Some(inner) => match Regex::new(&format!("^(?:{inner})$")) {
                Ok(regex) => Some(regex),
                Err(error) => {
                    return Err(format!("{text:?} is not a regular expression: {error}"));
                }
            },
        };
        Ok(Pattern { text, regex })
    }

    fn admits(&self, symbol: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(symbol),
            None => matches(&self.text, symbol),
        }
    }

    /// The security id, if the pattern is one.
    fn id(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// The symbol, if the pattern is the name of one.
    fn name(&self) -> Option<&str> {
        let is_name = self.regex.is_none() && !self.text.contains('*');
        is_name.then_some(self.text.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Symbols {
    /// Patterns; an empty list selects every symbol.
    ///
    /// # Errors
    /// An empty pattern, which selects no symbol, or an invalid regular expression.
    pub fn new(patterns: Vec<String>) -> Result<Self, String> {
        let patterns = patterns.into_iter().map(Pattern::new);
        patterns.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is no pattern: every symbol is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a symbol is selected.
    pub fn admit(&self, symbol: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.admits(symbol))
    }

    /// Whether an instrument is selected. An instrument without a symbol is selected by its security id, or if every symbol is.
    pub fn admit_instrument(&self, definition: &InstrumentDefinition) -> bool {
        if !definition.symbol.is_empty() {
            return self.admit(definition.symbol.as_str());
        }
        self.0.is_empty() || self.names_id(definition.security_id)
    }

    /// Whether a pattern is this security id.
    pub fn names_id(&self, security_id: i64) -> bool {
        self.0
            .iter()
            .any(|pattern| pattern.id() == Some(security_id))
    }

    /// The symbols, if each pattern is the name of one.
    pub fn names(&self) -> Option<Vec<&str>> {
        self.0.iter().map(Pattern::name).collect()
    }
}

/// Result of the filter for each instrument at its definition, so that the filter runs once. Before its definition an
/// instrument has no symbol, and is selected only if every symbol is.
#[derive(Debug)]
pub struct Admitted {
    symbols: Symbols,
    /// Result by instrument.
    rows: Vec<bool>,
}

impl Admitted {
    /// Allocates for `instruments_max` instruments; further ones need another allocation.
    pub fn new(symbols: Symbols, instruments_max: usize) -> Admitted {
        Admitted {
            symbols,
            rows: Vec::with_capacity(instruments_max),
        }
    }

    /// Whether every instrument is selected, with a definition or without.
    #[inline]
    pub fn is_all(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Stores the result for a defined or redefined instrument, and returns it. One that was selected by its id stays selected when its
    /// symbol is known.
    pub fn define(&mut self, definition: &InstrumentDefinition) -> bool {
        let index = definition.instrument.index();
        if index >= self.rows.len() {
            self.rows.resize(index + 1, false);
        }
        // mutant: instruments: an instrument that was selected by its id is lost with its symbol
        let stays = self.rows[index] && self.symbols.names_id(definition.security_id);
        self.rows[index] = stays || self.symbols.admit_instrument(definition);
        self.rows[index]
    }

    /// Forgets the instruments: another publisher gives other numbers.
    pub fn restart(&mut self) {
        self.rows.clear();
    }

    /// Whether an instrument is selected, by its last definition.
    #[inline]
    pub fn has(&self, instrument: Instrument) -> bool {
        self.is_all() || self.rows.get(instrument.index()).copied().unwrap_or(false)
    }
}

impl Serialize for Symbols {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|pattern| &pattern.text))
    }
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Whether all of `text` matches a pattern with `*`. On a mismatch only the last `*` takes one more
/// character, so the time is bounded by the product of the lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            (at, read) = (at + 1, read + 1);
        } else if let Some((star_at, taken)) = star {
            star = Some((star_at, taken + 1));
            (at, read) = (star_at + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Symbol};

    /// A pattern for any characters does not match an instrument with an unknown symbol, which may have none; its security id does.
    #[test]
    fn an_instrument_is_chosen_by_its_last_definition() {
        let depth = Depth {
            direct: 10,
            implied: 2,
        };
        let mut definition = InstrumentDefinition::unknown(Instrument(3), 7, depth);
        for (patterns, unnamed, named, renamed) in [
            (&[][..], true, true, true),
            (&["*"], false, true, true),
            (&["ES*"], false, true, false),
            // The security id: once selected by it, the instrument stays so.
            (&["7"], true, true, true),
            (&["7*", "/7/"], false, false, false),
        ] {
            let mut admitted = Admitted::new(symbols(patterns).expect("patterns"), 4);
            let mut step = |symbol: &[u8]| {
                definition.symbol = Symbol::new(symbol);
                let chosen = admitted.define(&definition);
                assert_eq!(admitted.has(Instrument(3)), chosen, "{patterns:?}");
                assert_eq!(admitted.has(Instrument(9)), patterns.is_empty());
                chosen
            };
            let steps = [step(b""), step(b"ESU4"), step(b"NQU4")];
            assert_eq!(steps, [unnamed, named, renamed], "{patterns:?}");
        }
    }

    fn symbols(patterns: &[&str]) -> Result<Symbols, String> {
        Symbols::new(patterns.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn a_regular_expression_must_fit_the_whole_name() {
        let chosen = symbols(&["/BTC-(PERPETUAL|[0-9]+[A-Z]{3}[0-9]{2})/", "ETH*"]).expect("two");
        for (name, admitted) in [
            ("BTC-PERPETUAL", true),
            ("BTC-27SEP19", true),
            ("BTC-27SEP19-9000-C", false),
            ("XBTC-PERPETUAL", false),
            ("ETH-PERPETUAL", true),
        ] {
            assert_eq!(chosen.admit(name), admitted, "{name}");
        }
        assert_eq!(chosen.names(), None);
        assert_eq!(
            symbols(&["A", "B/C"]).expect("names").names(),
            Some(vec!["A", "B/C"])
        );
        assert!(symbols(&["/(/"]).is_err_and(|text| text.contains("is not a regular expression")));
    }
}
