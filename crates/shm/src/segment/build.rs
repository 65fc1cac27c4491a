//! Build of a program, which its locks name.

use std::fmt;
use std::sync::OnceLock;

/// Build of this program, once it was stated.
static STATED: OnceLock<Build> = OnceLock::new();

/// Build of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// Version.
    pub version: String,
    /// Commit.
    pub commit: String,
    /// Profile of the compiler: `release`, `dist`, or another.
    pub profile: String,
}

/// `0.1.0 (3c27d24ab1), profile release`.
impl fmt::Display for Build {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Build {
            version,
            commit,
            profile,
        } = self;
        write!(out, "{version} ({commit}), profile {profile}")
    }
}

impl Build {
    /// States the build of this program: every lock that it takes from now on names it. The first statement counts.
    pub fn state(self) {
        let _ = STATED.set(self);
    }

    /// The build of this program, if it was stated.
    pub(super) fn stated() -> Option<Build> {
        STATED.get().cloned()
    }

    /// The profile, unless it is one of those for use, `release` and `dist`: figures of another say little about those.
    pub fn unusual_profile(&self) -> Option<&str> {
        let profile = self.profile.as_str();
        (!matches!(profile, "release" | "dist")).then_some(profile)
    }

    /// Three words.
    pub(super) fn signature(&self) -> String {
        let word = |text: &str| match text {
            "" => "unknown".to_owned(),
            text => printable(text).replace(' ', "_"),
        };
        let Build {
            version,
            commit,
            profile,
        } = self;
        [version, commit, profile].map(|text| word(text)).join(" ")
    }

    pub(super) fn parse(signature: &str) -> Option<Build> {
        let mut words = signature.split_ascii_whitespace().map(printable);
        Some(Build {
            version: words.next()?,
            commit: words.next()?,
            profile: words.next()?,
        })
    }
}

/// A text of another process on one line, in ASCII.
pub(super) fn printable(text: &str) -> String {
    let shown = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    text.chars().take(100).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_read_back_and_damaged_text_is_not() {
        let build = Build {
            version: "0.1.0".to_owned(),
            commit: "3c27d24ab1-modified".to_owned(),
            profile: "dev".to_owned(),
        };
        assert_eq!(
            build.to_string(),
            "0.1.0 (3c27d24ab1-modified), profile dev"
        );
        assert_eq!(build.unusual_profile(), Some("dev"));
        assert_eq!(Build::parse(&build.signature()), Some(build));
        for profile in ["release", "dist"] {
            let build = Build::parse(&format!("1 2 {profile}")).expect("a build");
            assert_eq!(build.unusual_profile(), None);
        }
        assert_eq!(Build::parse("0.1.0 3c27d24ab1"), None);
        let strange = Build {
            version: String::new(),
            commit: "a b\n\x1b".to_owned(),
            profile: "p".to_owned(),
        };
        assert_eq!(strange.signature(), "unknown a_b?? p");
    }
}
