//! Which instruments a person means.

use crate::output::Failure;
use touchline_gateway::config::Symbols;
use touchline_transport::shm::Images;
use touchline_types::InstrumentDefinition;

/// The instruments that are meant, by ascending venue id; at least one.
///
/// # Errors
/// There is none; the nearest names are said.
pub fn find(images: &Images, wanted: &str) -> Result<Vec<InstrumentDefinition>, Failure> {
    let mut all: Vec<_> = images
        .instruments()
        .filter_map(|instrument| images.definition(instrument))
        .collect();
    all.sort_by_key(|definition| definition.security_id);
    let found = matching(&all, wanted)?;
    if found.is_empty() {
        return Err(unknown(&all, wanted));
    }
    Ok(found)
}

/// How an instrument is called: by its symbol, or by the venue's id where that is all there is.
pub fn label(definition: &InstrumentDefinition) -> String {
    match definition.symbol.is_empty() {
        true => definition.security_id.to_string(),
        false => definition.symbol.to_string(),
    }
}

/// One whose symbol or id it is; else all that it fits as a pattern.
fn matching(
    all: &[InstrumentDefinition],
    wanted: &str,
) -> Result<Vec<InstrumentDefinition>, Failure> {
    let is_it = |definition: &&InstrumentDefinition| label(definition) == wanted;
    let has_id = |definition: &&InstrumentDefinition| definition.security_id.to_string() == wanted;
    if let Some(one) = all.iter().find(is_it).or_else(|| all.iter().find(has_id)) {
        return Ok(vec![*one]);
    }
    let pattern = Symbols::new(vec![wanted.to_owned()]).map_err(Failure::usage)?;
    let fits = |definition: &&InstrumentDefinition| pattern.admit(&label(definition));
    Ok(all.iter().filter(fits).copied().collect())
}

fn unknown(all: &[InstrumentDefinition], wanted: &str) -> Failure {
    let mut names: Vec<_> = all.iter().map(label).collect();
    let known = names.len();
    if known == 0 {
        return Failure::run(
            "the bus has no instrument yet; try again when its publisher has received definitions",
        );
    }
    names.sort_by_cached_key(|name| distance(&name.to_uppercase(), &wanted.to_uppercase()));
    names.truncate(NAMED_MAX);
    Failure::run(format!(
        "{wanted}: no such instrument among the {known} of the bus; the nearest are {}",
        names.join(", ")
    ))
}

const NAMED_MAX: usize = 5;

/// How many letters have to be put in, taken out or exchanged to make one of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (done, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = done + 1;
        for (at, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = exchanged.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_types::{Depth, Instrument, Symbol};

    const DEPTH: Depth = Depth {
        direct: 10,
        implied: 2,
    };

    fn instruments(symbols: &[&str]) -> Vec<InstrumentDefinition> {
        let named = |(index, symbol): (usize, &&str)| InstrumentDefinition {
            symbol: Symbol::new(symbol.as_bytes()),
            ..InstrumentDefinition::unknown(Instrument(index as u32), 100 + index as i64, DEPTH)
        };
        symbols.iter().enumerate().map(named).collect()
    }

    #[test]
    fn a_symbol_an_id_or_a_pattern_finds_what_it_means() {
        let all = instruments(&["ESU4", "ESU4-ESZ4", "", "101"]);
        let found = |wanted: &str| {
            let found = matching(&all, wanted).expect("a pattern");
            found.iter().map(label).collect::<Vec<_>>()
        };
        assert_eq!(found("ESU4"), ["ESU4"], "not what only begins so");
        assert_eq!(found("ES*"), ["ESU4", "ESU4-ESZ4"]);
        assert_eq!(found("102"), ["102"], "an instrument that is not defined");
        assert_eq!(found("100"), ["ESU4"], "by its id");
        assert_eq!(found("101"), ["101"], "a symbol comes before an id");
        assert!(found("NQ*").is_empty());
        assert!(matching(&all, "").is_err());
    }

    #[test]
    fn who_is_not_found_hears_the_nearest() {
        let all = instruments(&["ZQA0", "ESU4", "NQU4", "ESZ4", "GEM5", "CLX9", "6EU4"]);
        let Failure::Run(said) = unknown(&all, "esu5") else {
            panic!("exit status 1");
        };
        assert!(
            said.contains("among the 7 of the bus") && said.contains("ESU4, ESZ4"),
            "{said}"
        );
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
