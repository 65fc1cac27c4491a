//! Parts of a test in processes of their own: the test program, started again.

use std::path::{Path, PathBuf};
use std::process::Command;

const ROLE: &str = "TOUCHLINE_TEST_ROLE";
const FOLDER: &str = "TOUCHLINE_TEST_FOLDER";

/// Command that starts this test program again, to run only `test` with a role. Words of `before` run the program, as in
/// `unshare -rm`. The test asks [`role`] for its role, and has none in the run of all tests.
///
/// # Panics
/// This program has no file.
#[must_use]
pub fn with_role(before: &[&str], test: &str, role: &str, folder: &Path) -> Command {
    let program = std::env::current_exe().expect("a running program has a file");
    let mut command = match before {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.args(["--exact", test, "--nocapture"]);
    command.env(ROLE, role).env(FOLDER, folder);
    command
}

/// Role of this process and its folder.
#[must_use]
pub fn role() -> Option<(String, PathBuf)> {
    let folder = std::env::var_os(FOLDER)?;
    Some((std::env::var(ROLE).ok()?, folder.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folder;

    /// A test that is started again knows its role; in the run of all tests it has no role.
    #[test]
    fn a_role_is_played_in_the_process_that_has_it() {
        const TEST: &str = "role::tests::a_role_is_played_in_the_process_that_has_it";
        if let Some((role, folder)) = role() {
            std::fs::write(folder.join("said"), role).expect("the folder of the test");
            return;
        }
        let folder = Folder::new("role");
        for (before, name) in [(&[][..], "one"), (&["env", "-u", "USER"], "two")] {
            let output = with_role(before, TEST, name, &folder).output();
            assert!(output.expect("this program starts").status.success());
            let said = std::fs::read_to_string(folder.join("said"));
            assert_eq!(said.expect("it was written"), name);
        }
    }
}
