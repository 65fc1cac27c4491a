//! Commands that chores run: success, or an error that says what to do.

use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// The cargo that runs this chore, in the checkout.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command whose output is shown.
///
/// # Errors
/// It cannot be run; it fails: `failed` says what that means.
pub fn run(command: &mut Command, failed: &str) -> Result<()> {
    match passes(command)? {
        true => Ok(()),
        false => bail!("{failed}; see above"),
    }
}

/// Whether a command succeeds; its output is shown.
///
/// # Errors
/// It cannot be run.
pub fn passes(command: &mut Command) -> Result<bool> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot run {:?}", command.get_program()))?;
    Ok(status.success())
}

/// Whether a command is there and succeeds, without its output.
pub fn is_there(command: &mut Command) -> bool {
    let ran = command.stdin(Stdio::null()).output();
    ran.is_ok_and(|output| output.status.success())
}

/// Standard output of a command; `None` if the command is missing.
///
/// # Errors
/// The command fails; the error has its output.
pub fn said(command: &mut Command) -> Result<Option<String>> {
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output.with_context(|| format!("{command:?}"))?,
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        bail!("{command:?} failed:\n{out}{error}");
    }
    Ok(Some(text(&output.stdout)))
}

/// Standard output of a command that must be there.
///
/// # Errors
/// The command is missing or fails.
pub fn must(command: &mut Command) -> Result<String> {
    said(command)?.with_context(|| format!("{:?} is missing", command.get_program()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_succeeds_or_the_error_has_its_output() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert_eq!(must(&mut shell("echo one")).unwrap(), "one\n");
        let failed = must(&mut shell("echo two; echo three >&2; exit 1")).unwrap_err();
        assert!(
            failed.to_string().ends_with("failed:\ntwo\nthree\n"),
            "{failed}"
        );
        let missing = || Command::new("touchline-no-such-program");
        assert_eq!(said(&mut missing()).unwrap(), None);
        let named = must(&mut missing()).unwrap_err().to_string();
        assert!(named.contains("touchline-no-such-program"), "{named}");
        assert!(is_there(&mut shell("true")) && !is_there(&mut shell("false")));
        assert!(!is_there(&mut missing()));
        run(&mut shell("true"), "it is not true").unwrap();
        let failed = run(&mut shell("false"), "it is not true").unwrap_err();
        assert_eq!(failed.to_string(), "it is not true; see above");
        assert!(passes(&mut missing()).is_err());
    }
}
