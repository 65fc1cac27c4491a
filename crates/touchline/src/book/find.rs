//! Instruments selected by an argument.

use crate::missing::nearest;
use crate::output::Failure;
use touchline_client::{Error, Instrument, SecurityId, Snapshot};

/// The selected instruments, by ascending security id, at least one: the one with this symbol or security id, else all
/// that match the pattern.
///
/// # Errors
/// No instrument matches; the error names the nearest symbol.
pub fn find(snapshot: &Snapshot, wanted: &str) -> Result<Vec<Instrument>, Failure> {
    let current = |found: Result<Instrument, Error>| {
        let found = found.ok()?;
        snapshot
            .instruments()
            .find(|instrument| *instrument == found)
    };
    let by_id = || wanted.parse().map(|id| snapshot.instrument(SecurityId(id)));
    let one = current(snapshot.instrument(wanted));
    if let Some(one) = one.or_else(|| current(by_id().ok()?)) {
        return Ok(vec![one]);
    }
    let found = match snapshot.matching([wanted]) {
        Ok(found) => found,
        Err(error) => return Err(Failure::usage(error.to_string())),
    };
    match found.is_empty() {
        true => Err(unknown(snapshot, wanted)),
        false => Ok(found),
    }
}

/// Label of an instrument: its symbol, or its security id if it has no symbol.
pub fn label(snapshot: &Snapshot, instrument: Instrument) -> String {
    match (snapshot.symbol(instrument), snapshot.definition(instrument)) {
        ("?", Ok(definition)) => definition.security_id.to_string(),
        (symbol, _) => symbol.to_owned(),
    }
}

fn unknown(snapshot: &Snapshot, wanted: &str) -> Failure {
    let names: Vec<_> = snapshot
        .instruments()
        .map(|instrument| label(snapshot, instrument))
        .collect();
    if names.is_empty() {
        return Failure::run(
            "the bus has no instrument yet; try again when its publisher has received definitions",
        );
    }
    let meant = nearest(wanted, names.iter().map(String::as_str));
    let meant = match meant {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("{} is one of them", names[0]),
    };
    Failure::run(format!(
        "{wanted}: no such instrument among the {} of the bus; {meant}",
        names.len()
    ))
}
