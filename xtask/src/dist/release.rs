//! Version, commit and platform of a release.

use super::Program;
use crate::command::must;
use anyhow::{Context, Result};
use std::env;
use std::path::Path;
use std::process::Command;

/// A release for one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `0.1.0` for the commit tagged `v0.1.0`; any other commit has its date and id appended, and sorts before it.
    pub version: String,
    /// Time of the commit, in seconds since 1970; every file of the release has this time.
    pub time_s: u64,
    /// The platform, as rustc names it.
    pub target: String,
}

impl Release {
    /// Release of the current commit; without git the time is `SOURCE_DATE_EPOCH`.
    ///
    /// # Errors
    /// Neither git nor the environment gives the time.
    pub fn of(root: &Path, target: &str) -> Result<Release> {
        let time_s = match env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time.parse().context("SOURCE_DATE_EPOCH: not a number of seconds")?,
            Err(_) => git(root, &["log", "-1", "--format=%ct"])
                .and_then(|time| time.parse().context("git log"))
                .context("no time of the commit; outside of a clone set SOURCE_DATE_EPOCH to seconds since 1970")?,
        };
        let number = env!("CARGO_PKG_VERSION");
        let tags = git(root, &["tag", "--points-at", "HEAD"]).unwrap_or_default();
        let is_tagged = tags.lines().any(|tag| tag == format!("v{number}"));
        let commit = git(root, &["rev-parse", "--short=9", "HEAD"]);
        let version = match commit {
            Ok(commit) if !is_tagged => {
                format!("{number}~git{}.{commit}", date(time_s).replace('-', ""))
            }
            _ => number.to_owned(),
        };
        Ok(Release {
            version,
            time_s,
            target: target.to_owned(),
        })
    }

    /// Name of the directory in the tarball of a program, and of the tarball.
    pub fn name(&self, of: Program) -> String {
        format!("{}-{}-{}", of.name(), self.version, self.target)
    }

    /// Name of the processor in Debian packages and in images.
    pub fn processor(&self) -> &'static str {
        match self.target.split('-').next() {
            Some("aarch64") => "arm64",
            _ => "amd64",
        }
    }

    /// Time in RFC 3339.
    pub fn time(&self) -> String {
        let (hour, minute, second) = (
            self.time_s / 3_600 % 24,
            self.time_s / 60 % 60,
            self.time_s % 60,
        );
        format!("{}T{hour:02}:{minute:02}:{second:02}Z", date(self.time_s))
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    let said = must(git.args(arguments).current_dir(root))?;
    Ok(said.trim().to_owned())
}

/// Day of a time, as `YYYY-MM-DD`: days to a civil date, as in
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn date(time_s: u64) -> String {
    let days = time_s / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_795_564_799), "2026-11-24");
        let release = Release {
            version: "0.1.0".to_owned(),
            time_s: 1_000_000_000,
            target: "aarch64-unknown-linux-gnu".to_owned(),
        };
        assert_eq!(release.time(), "2001-09-09T01:46:40Z");
        assert_eq!(release.processor(), "arm64");
        assert_eq!(
            release.name(Program::Lab),
            "touchline-lab-0.1.0-aarch64-unknown-linux-gnu"
        );
    }
}
