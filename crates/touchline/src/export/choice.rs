//! Tables and schemas of the command line, by name.

use clap::builder::PossibleValuesParser;
use touchline_export::dbn::Schema;
use touchline_export::tables::Table;

/// Chooses all.
const ALL: &str = "all";

/// Names of tables.
pub fn tables() -> PossibleValuesParser {
    let names = Table::ALL.iter().map(|table| table.name());
    PossibleValuesParser::new(names.chain([ALL]))
}

/// Names of schemas.
pub fn schemas() -> PossibleValuesParser {
    let names = Schema::ALL.iter().map(|schema| schema.name());
    PossibleValuesParser::new(names.chain([ALL]))
}

/// The chosen ones, each once.
pub fn chosen<T: Copy>(names: &[String], all: &[T], name: impl Fn(T) -> &'static str) -> Vec<T> {
    let is_chosen = |of: &T| names.iter().any(|given| given == ALL || given == name(*of));
    all.iter().copied().filter(is_chosen).collect()
}
