//! What a program needs of the host that runs it: shared libraries, and of the C library which version.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Libraries of glibc, and that of gcc which glibc itself loads: every Linux that has glibc has them.
const OF_GLIBC: [&str; 4] = ["libc.so.6", "libm.so.6", "ld-linux-", "libgcc_s.so.1"];

/// What a program is linked with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Shared libraries, as the program names them; none of a static program.
    pub libraries: Vec<String>,
    /// Lowest version of glibc that has every symbol; none of a static program.
    pub glibc: Option<(u32, u32)>,
}

impl Needs {
    /// Of a program, by the word of `objdump`, which comes with every C compiler.
    ///
    /// # Errors
    /// When objdump is missing, or needs more than glibc.
    pub fn of(program: &Path) -> Result<Needs> {
        let output = Command::new("objdump")
            .arg("-p")
            .arg(program)
            .output()
            .context("cannot run objdump; install binutils")?;
        if !output.status.success() {
            bail!("objdump: {}", String::from_utf8_lossy(&output.stderr));
        }
        let needs = Needs::read(&String::from_utf8_lossy(&output.stdout));
        let other = needs
            .libraries
            .iter()
            .find(|library| !OF_GLIBC.iter().any(|known| library.starts_with(known)));
        if let Some(library) = other {
            bail!("the program needs {library}, which not every host has; link it statically");
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
            // `0x069691b4 0x00 02 GLIBC_2.34`; a version of three numbers is older than any of two here.
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

    /// As Debian's control file writes it, with a comma behind it.
    pub fn debian(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!("libc6 (>= {major}.{minor}), libgcc-s1, "),
            None => String::new(),
        }
    }

    /// For a person.
    pub fn describe(&self) -> String {
        match self.glibc {
            Some((major, minor)) => format!(
                "needs glibc {major}.{minor} or later, and of shared libraries {} alone",
                self.libraries.join(", ")
            ),
            None => "static: needs no library of the host".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_that_is_asked_for_counts() {
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
