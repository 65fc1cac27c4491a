//! Views that `cargo xtask codegen` generates are checked with a second, slow decoder, which must agree with them.
//!
//! The [`oracle`] reads a message with the schema alone. [`differential`] compares it, field by field,
//! with the generated views: on random messages of every template and version, and on every packet of the captures.
//! [`examples`] holds the oracle itself against messages that others encoded, [`schemas`] the reader of schemas
//! against schemas that must be taken and that must be refused.
//!
//! Published schemas and captures are not part of the repository: the variables `TOUCHLINE_SCHEMAS` and
//! `TOUCHLINE_CAPTURES` name their folders, and a test that needs them says so when it is skipped.

mod append_only;
mod differential;
mod examples;
mod oracle;
mod schemas;

use std::path::{Path, PathBuf};

/// CME's templates in `schemas`, oldest first.
fn cme_templates(schemas: &Path) -> Vec<PathBuf> {
    let files = files(&schemas.join("cme"), "xml");
    let is_templates = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("templates_"))
    };
    let templates: Vec<PathBuf> = files.into_iter().filter(is_templates).collect();
    assert!(
        !templates.is_empty(),
        "no templates below {}",
        schemas.display()
    );
    templates
}

/// Files in `folder` whose names end in `.ending`.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(&format!(".{ending}")))
        .collect();
    files.sort();
    files
}
