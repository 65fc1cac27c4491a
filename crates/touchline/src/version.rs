//! Which build of the command this is: version, commit and the date of the commit.

/// Version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Commit that the command was built from, with `-modified` behind it if files differed from it; `None` if the commit is
/// not known, as in a debug build.
pub const COMMIT: Option<&str> = option_env!("TOUCHLINE_COMMIT");

/// What `--version` prints behind the name: `0.1.0 (3c27d24ab1 2026-11-24)`.
pub const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("TOUCHLINE_BUILD"),
    ")"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_has_the_commit_where_that_is_known() {
        let build = LONG.strip_prefix(VERSION).expect("the version first");
        let build = build
            .strip_prefix(" (")
            .and_then(|text| text.strip_suffix(')'));
        let build = build.expect("the build in brackets");
        match COMMIT {
            Some(commit) => {
                let date = build.strip_prefix(commit).expect("the commit");
                let is_date = |text: &str| text.len() == 10 && text.split('-').count() == 3;
                assert!(date.strip_prefix(' ').is_some_and(is_date), "{build}");
            }
            None => assert!(["debug build", "commit not known"].contains(&build)),
        }
    }
}
