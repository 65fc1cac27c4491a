//! Target platforms that need a standard library and a C compiler besides those of the host.

use crate::command::must;
use anyhow::Result;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target platform, and what installs its tools.
pub struct Cross<'a> {
    /// Its name in rustc.
    pub target: &'a str,
    /// Its C compiler: dependencies contain C code.
    pub c_compiler: &'a str,
    /// Packages of Debian with that compiler.
    pub packages: &'a str,
}

impl Cross<'_> {
    /// The missing tool, with the command that installs it.
    ///
    /// # Errors
    /// rustc does not start.
    pub fn missing(&self) -> Result<Option<String>> {
        let path = env::var_os("PATH").unwrap_or_default();
        Ok(self.missing_in(&self.libraries()?, &path))
    }

    /// Folder of the target's standard library, whether or not it is installed.
    fn libraries(&self) -> Result<PathBuf> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut rustc = Command::new(rustc);
        rustc.args(["--print", "target-libdir", "--target", self.target]);
        Ok(must(&mut rustc)?.trim().into())
    }

    fn missing_in(&self, libraries: &Path, path: &OsStr) -> Option<String> {
        let Cross {
            target,
            c_compiler,
            packages,
        } = self;
        if !libraries.is_dir() {
            return Some(format!(
                "no standard library; try 'rustup target add {target}'"
            ));
        }
        let is_there = env::split_paths(path).any(|folder| folder.join(c_compiler).is_file());
        (!is_there).then(|| format!("no C compiler; try 'apt-get install {packages}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use touchline_testing::Folder;

    #[test]
    fn a_missing_tool_is_named_with_the_command_that_installs_it() {
        let cross = Cross {
            target: "some-target",
            c_compiler: "some-gcc",
            packages: "some-tools",
        };
        let folder = Folder::new("cross");
        let none = cross.missing_in(&folder.join("none"), folder.as_os_str());
        assert!(none.unwrap().contains("rustup target add some-target"));
        let no_compiler = cross.missing_in(&folder, folder.as_os_str());
        assert!(no_compiler.unwrap().contains("some-tools"));
        fs::write(folder.join("some-gcc"), "").unwrap();
        assert_eq!(cross.missing_in(&folder, folder.as_os_str()), None);
    }
}
