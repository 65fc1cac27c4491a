//! Requirements of a program: shared libraries, and the version of glibc.

use crate::command::must;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Libraries of glibc, those of versions before 2.34 included, and that of gcc which glibc loads: present on every Linux
/// with glibc.
const OF_GLIBC: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "ld-linux-",
    "libgcc_s.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
];

/// Libraries of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Shared libraries by name; empty for a static program.
    pub libraries: Vec<String>,
    /// Lowest version of glibc with every symbol; `None` for a static program.
    pub glibc: Option<(u32, u32)>,
}

impl Needs {
    /// Requirements of a program, from `objdump`, which comes with every C compiler.
    ///
    /// # Errors
    /// objdump is missing, or the program needs more than glibc.
    pub fn of(program: &Path) -> Result<Needs> {
        let said = must(Command::new("objdump").arg("-p").arg(program));
        let needs = Needs::read(&said.context("objdump is of binutils")?);
        let other = needs
            .libraries
            .iter()
            .find(|library| !OF_GLIBC.iter().any(|known| library.starts_with(known)));
        if let Some(library) = other {
            bail!(
                "the program needs {library}, which is missing on some hosts; link it statically"
            );
        }
        Ok(needs)
    }

    fn read(text: &str) -> Needs {
        let words = |line: &str| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let mut needs = Needs::default();
        for line in text.lines().map(words) {
            if let [key, library] = &line[..]
                && key == "NEEDED"
            {
                needs.libraries.push(library.clone());
            }
            // `0x069691b4 0x00 02 GLIBC_2.34`; a version with three numbers is older than any with two here.
            let version = line.last().and_then(|word| word.strip_prefix("GLIBC_"));
            let version = version.and_then(|version| version.split_once('.'));
            if let Some((major, minor)) = version
                && let (Ok(major), Ok(minor)) = (major.parse(), minor.parse())
            {
                needs.glibc = needs.glibc.max(Some((major, minor)));
            }
        }
        needs
    }

    /// Format of Debian's control file, with a trailing comma.
    pub fn debian(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!("libc6 (>= {major}.{minor}), libgcc-s1, "),
            None => String::new(),
        }
    }

    /// Text for users.
    pub fn describe(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!(
                "needs glibc {major}.{minor} or later, and these shared libraries only: {}",
                self.libraries.join(", ")
            ),
            None => "static: needs no shared library".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_required_version_is_used() {
        let text = "\
Dynamic Section:
  NEEDED               libm.so.6
  NEEDED               libc.so.6
Version References:
  required from libm.so.6:
    0x06969189 0x00 06 GLIBC_2.29
  required from libc.so.6:
    0x09691a75 0x00 03 GLIBC_2.2.5
    0x069691b4 0x00 02 GLIBC_2.34
    0x09691972 0x00 09 GLIBC_2.3.2
";
        let needs = Needs::read(text);
        assert_eq!(needs.libraries, ["libm.so.6", "libc.so.6"]);
        assert_eq!(needs.debian(), "libc6 (>= 2.34), libgcc-s1, ");
        assert!(needs.describe().contains("glibc 2.34"));
        assert_eq!(Needs::read("Dynamic Section:\n"), Needs::default());
    }
}
