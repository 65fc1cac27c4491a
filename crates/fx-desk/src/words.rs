//! Terms of an order in words, for programs in other languages: the words of `touchline fx send`.

use crate::error::Error;
use touchline_fx_events::lines::names::{lifetime_name, side_name, style_name};
use touchline_fx_events::parents::Lifetime;
use touchline_fx_events::plan::Style;
use touchline_types::Side;

/// Side of an order: `buy`, `sell`.
///
/// # Errors
/// Another word.
pub fn side(word: &str) -> Result<Side, Error> {
    of("side", word, &[Side::Bid, Side::Ask], side_name)
}

/// Lifetime of an order: `gtd`, `ioc`, `fok`.
///
/// # Errors
/// Another word.
pub fn lifetime(word: &str) -> Result<Lifetime, Error> {
    let all = [
        Lifetime::Deadline,
        Lifetime::Immediate,
        Lifetime::AllOrNothing,
    ];
    of("tif", word, &all, lifetime_name)
}

/// Style of an order: `best`, `full`, `sweep`.
///
/// # Errors
/// Another word.
pub fn style(word: &str) -> Result<Style, Error> {
    of(
        "style",
        word,
        &[Style::Best, Style::Full, Style::Sweep],
        style_name,
    )
}

fn of<T: Copy>(what: &str, word: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, Error> {
    let found = all.iter().find(|one| name(**one) == word);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        Error::Word(format!(
            "{what} {word:?} is unknown: give {}",
            names.join(", ")
        ))
    })
}
