//! Which symbols are chosen.

use regex_lite::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Patterns of symbols: names in which `*` stands for any characters, none too, and between slashes
/// regular expressions, which must fit the whole name. No pattern at all means every symbol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Symbols(Vec<Pattern>);

/// One pattern, as it was written.
#[derive(Debug, Clone)]
struct Pattern {
    text: String,
    /// Of a regular expression.
    regex: Option<Regex>,
}

impl Pattern {
    fn new(text: String) -> Result<Pattern, String> {
        if text.is_empty() {
            return Err("an empty pattern admits no symbol".to_owned());
        }
        let inner = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'));
        let regex = match inner {
            None => None,
            Some(inner) => match Regex::new(&format!("^(?:{inner})$")) {
                Ok(regex) => Some(regex),
                Err(error) => {
                    return Err(format!("{text:?} is no regular expression: {error}"));
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

    /// The one symbol that it names, if it names one.
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
    /// Patterns; none at all admit every symbol.
    ///
    /// # Errors
    /// An empty pattern, which admits nothing, or a regular expression that is none.
    pub fn new(patterns: Vec<String>) -> Result<Self, String> {
        let patterns = patterns.into_iter().map(Pattern::new);
        patterns.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is no pattern, that is, whether every symbol is to be published.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a symbol is to be published.
    pub fn admit(&self, symbol: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.admits(symbol))
    }

    /// The symbols, where each pattern is the name of one.
    pub fn names(&self) -> Option<Vec<&str>> {
        self.0.iter().map(Pattern::name).collect()
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

/// Whether all of `text` fits a pattern with `*`. On a mismatch only the last `*` takes one more
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
        assert!(symbols(&["/(/"]).is_err_and(|text| text.contains("no regular expression")));
    }
}
