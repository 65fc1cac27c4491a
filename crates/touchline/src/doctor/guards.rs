//! Guards of a trading configuration: which values mean off.

use super::finding::Status;
use super::rules::Check;
use crate::output::Failure;
use std::path::Path;
use touchline_fx::guards;

const WHY: &str =
    "a guard that is off protects from nothing: a typo, a wrong price or an old quote is traded";

/// Checks the guards of a file.
///
/// # Errors
/// The file cannot be read, or is not TOML.
pub fn check(path: &Path) -> Result<Check, Failure> {
    let name = path.display();
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{name}: {what}; give a configuration of fx run, fx compose or a gateway"
        ))
    };
    let text = touchline_credentials::read_config(path).map_err(Failure::usage)?;
    let scope = guards::scope_of(&text).ok_or_else(|| wrong(&"not TOML"))?;
    let check = |status, seen, fix| Check {
        name: "guards",
        status,
        seen,
        why: WHY,
        fix,
    };
    if let Err(missing) = guards::check(&text, scope).none_or(()) {
        let fix = Some("state them; `touchline fx preset` prints values".to_owned());
        return Ok(check(Status::Bad, format!("{name}: {missing}"), fix));
    }
    let off = guards::off(&text);
    Ok(match off.is_empty() {
        true => check(Status::Ok, format!("{name}: no guard is off"), None),
        false => check(
            Status::Warn,
            format!("{name}: {} off: {}", off.len(), off.join("; ")),
            Some(
                "give a limit, or leave it off on purpose; `touchline fx preset` prints values"
                    .to_owned(),
            ),
        ),
    })
}
