//! Build of the command: version, commit and commit date.

use touchline_client::monitor::Build;

/// Version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Commit of the build, with `-modified` appended if files differed from it; `None` if the commit is unknown, as in a
/// debug build.
pub const COMMIT: Option<&str> = option_env!("TOUCHLINE_COMMIT");

/// Profile of the build: `dev`, `release`, `dist`, or another.
pub const PROFILE: &str = env!("TOUCHLINE_PROFILE");

/// Version, commit and profile, for logs and metrics.
pub const fn fields() -> [(&'static str, &'static str); 3] {
    let commit = match COMMIT {
        Some(commit) => commit,
        None => "unknown",
    };
    [
        ("version", VERSION),
        ("commit", commit),
        ("profile", PROFILE),
    ]
}

/// The build, as this program states it to others.
pub fn build() -> Build {
    let [version, commit, profile] = fields().map(|(_, value)| value.to_owned());
    Build {
        version,
        commit,
        profile,
    }
}

/// Whether the commands and the measuring loops are optimised: in the profiles `release` and `dist`, not in a debug build.
#[cfg(feature = "lab")]
pub const IS_OPTIMISED: bool = option_env!("TOUCHLINE_OPTIMISED").is_some();

/// Note below the figures of a build that is not [`IS_OPTIMISED`].
#[cfg(feature = "lab")]
pub const NOT_OPTIMISED: &str =
    "NOT OPTIMISED: do not quote these figures; build with --profile dist";

/// Line of a demo whose build is of another profile than those for use; empty for those.
#[cfg(feature = "lab")]
pub fn profile_note() -> String {
    match build().unusual_profile() {
        Some(profile) => format!(
            "profile {profile}: do not quote the figures of this build; build with --release or --profile dist\n"
        ),
        None => String::new(),
    }
}

/// Version text of `--version`: `0.1.0 (3c27d24ab1 2026-11-24)`.
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
    fn the_long_version_has_the_commit_if_known() {
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
